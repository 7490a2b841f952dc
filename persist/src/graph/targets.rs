//! What an object refers to, without knowing its type.

use std::any::{Any, TypeId};
use std::sync::Arc;

use crate::codec::{AnyObject, Buffer, Encoder, Link, Referent, SaveLinks};
use crate::env::{AnyContext, Env};
use crate::reflect::TraitName;
use crate::{Limits, Result};

/// Lists the strong references of objects by encoding them, which shows them through `&`.
pub(crate) struct Targets<'e> {
    buffer: Buffer,
    env: Env<'e>,
    found: TargetAddresses,
}

struct TargetAddresses {
    /// Addresses.
    targets: Vec<usize>,
}

impl<'e> Targets<'e> {
    pub(crate) fn new(context: Option<&'e dyn AnyContext>) -> Self {
        let limits = Limits {
            bytes: u64::MAX,
            text: usize::MAX,
            empty_elements: usize::MAX,
            depth: u32::MAX,
            ..Limits::DEFAULT
        };
        Self::within(Env::new(&limits, context))
    }

    /// Lists no more of an object than what these limits let it encode.
    pub(crate) fn within(env: Env<'e>) -> Self {
        let limits = Limits { lock_wait: std::time::Duration::ZERO, ..env.limits };
        Self {
            buffer: Buffer::new(),
            env: env.within(limits).to_list(),
            found: TargetAddresses { targets: Vec::new() },
        }
    }

    /// The addresses that an object holds; some may stand there twice.
    /// Of an object that is borrowed or locked there are none.
    pub(crate) fn of(&mut self, object: &dyn AnyObject) -> &[usize] {
        self.of_all([object])
    }

    /// Like [`of`](Self::of), for several objects.
    pub(crate) fn of_all<'o>(
        &mut self,
        objects: impl IntoIterator<Item = &'o dyn AnyObject>,
    ) -> &[usize] {
        self.found.targets.clear();
        for object in objects {
            // What refuses to be encoded shows what stands before.
            self.buffer.clear();
            let encode = |out: &mut Encoder<'_>| object.encode_object(out);
            let _ = self.buffer.append(&self.env, &mut self.found, encode);
        }
        &self.found.targets
    }
}

impl SaveLinks for TargetAddresses {
    fn link(&mut self, address: usize, link: Link, _: &dyn Referent) -> Result<u64> {
        if !link.weak {
            self.targets.push(address);
        }
        Ok(1)
    }

    fn class(&mut self, _: TypeId, _: TraitName, _: &dyn Fn() -> String) -> Result<u64> {
        Ok(1)
    }

    fn foreign_class(&mut self, _: &Arc<dyn Any + Send + Sync>, _: usize) -> Result<u64> {
        Ok(1)
    }

    fn charge(&mut self, _: usize, _: u64, _: &Limits) -> Result<()> {
        Ok(())
    }
}

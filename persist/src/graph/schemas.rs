//! The schemas of the saves that a program has loaded.

use std::sync::{Arc, Mutex};

use crate::format::Definition;
use crate::platform::held;
use crate::schema::Matched;
use crate::{Limits, Result};

/// Schemas that are kept, each of that many bytes of definitions at most: a program loads saves of few versions at a time.
const MOST: usize = 8;
const MOST_BYTES: usize = 64 << 10;

/// The schemas of the last loads, matched with the program's classes. The next save of the same schema is not
/// matched again.
///
/// A clone remembers nothing, and a registry that changes forgets all.
#[derive(Default)]
pub(super) struct Schemas {
    /// The last one that was asked for comes first.
    known: Mutex<Vec<(MatchKey, Arc<Matched>)>>,
}

/// What a matching depends on besides the program.
struct MatchKey {
    /// The bodies of the definitions: two saves have one schema if all their bytes are the same.
    definitions: Vec<Box<[u8]>>,
    /// A definition within these may be beyond others.
    limits: Limits,
    root: Option<(usize, usize)>,
    drop_unknown: bool,
}

impl MatchKey {
    fn is_of(&self, definitions: &[Definition<'_>]) -> bool {
        self.definitions.len() == definitions.len()
            && self.definitions.iter().zip(definitions).all(|(known, it)| **known == *it.body)
    }
}

impl Schemas {
    /// The matching of these definitions, which `matching` makes if they are not known.
    pub(super) fn matched(
        &self,
        definitions: &[Definition<'_>],
        (limits, drop_unknown): (&Limits, bool),
        root: Option<(usize, usize)>,
        matching: impl FnOnce() -> Result<Matched>,
    ) -> Result<Arc<Matched>> {
        let mut known = held(&self.known);
        let is_meant = |(key, _): &(MatchKey, _)| {
            (key.root, key.drop_unknown) == (root, drop_unknown)
                && key.limits == *limits
                && key.is_of(definitions)
        };
        if let Some(found) = known.iter().position(is_meant) {
            let found = known.remove(found);
            let matched = found.1.clone();
            known.insert(0, found);
            return Ok(matched);
        }
        let matched = Arc::new(matching()?);
        let size: usize = definitions.iter().map(|definition| definition.body.len()).sum();
        if size > MOST_BYTES {
            return Ok(matched);
        }
        let definitions = definitions.iter().map(|definition| definition.body.into()).collect();
        let key = MatchKey { definitions, limits: *limits, root, drop_unknown };
        known.insert(0, (key, matched.clone()));
        known.truncate(MOST);
        Ok(matched)
    }
}

impl Clone for Schemas {
    fn clone(&self) -> Self {
        Self::default()
    }
}

//! A cache of the schemas of loaded saves.

use std::sync::{Arc, Mutex};

use crate::format::Definition;
use crate::platform::held;
use crate::schema::Matched;
use crate::{Limits, LoadOptions, Result};

/// Maximum number of cached schemas, and of the bytes of definitions of each. A program loads saves of few versions at
/// a time.
const MAX_SCHEMAS: usize = 8;
const MAX_BYTES: usize = 64 << 10;

/// The schemas of the last loads, matched with the program's classes. Another save with one of these schemas is not
/// matched again.
///
/// A clone starts empty, and a change of the registry clears the cache.
#[derive(Default)]
pub(super) struct Schemas {
    /// The most recently used schema comes first.
    known: Mutex<Vec<(MatchKey, Arc<Matched>)>>,
}

/// The inputs of a matching besides the program.
struct MatchKey {
    /// The bodies of the definitions. Two saves have one schema if all these bytes are equal.
    definitions: Vec<Box<[u8]>>,
    /// The limits of the load: a definition that passes these may exceed others.
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
    /// Returns the matching of these definitions from the cache, or calls `matching` and caches its result.
    pub(super) fn matched(
        &self,
        definitions: &[Definition<'_>],
        limits: &Limits,
        options: LoadOptions,
        root: Option<(usize, usize)>,
        matching: impl FnOnce() -> Result<Matched>,
    ) -> Result<Arc<Matched>> {
        let mut known = held(&self.known);
        let is_meant = |(key, _): &(MatchKey, _)| {
            (key.root, key.drop_unknown) == (root, options.drop_unknown)
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
        if size > MAX_BYTES {
            return Ok(matched);
        }
        let definitions = definitions.iter().map(|definition| definition.body.into()).collect();
        let drop_unknown = options.drop_unknown;
        let key = MatchKey { definitions, limits: *limits, root, drop_unknown };
        known.insert(0, (key, matched.clone()));
        known.truncate(MAX_SCHEMAS);
        Ok(matched)
    }
}

impl Clone for Schemas {
    fn clone(&self) -> Self {
        Self::default()
    }
}

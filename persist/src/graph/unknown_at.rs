//! The class of unknown content with the path to the value that it belongs to.

use std::any::Any;
use std::sync::{Arc, OnceLock};

use super::Registry;
use crate::codec::UnknownAt;
#[cfg(feature = "world")]
use crate::codec::{Encoder, Stop, UnknownPiece, UnknownStep, count};
use crate::schema::Stored;

/// Returns the schema that has the class, and its index. A save that needs the class defines it from there.
///
/// No registry has the class: a program has no value of it.
pub(crate) fn unknown_at() -> Option<(&'static Arc<dyn Any + Send + Sync>, usize)> {
    static SCHEMA: OnceLock<Option<(Arc<dyn Any + Send + Sync>, usize)>> = OnceLock::new();
    let found = SCHEMA.get_or_init(|| {
        let mut registry = Registry::default();
        let class = registry.register_value::<UnknownAt>().ok()?;
        let schema: Arc<Stored> = registry.program().layout().clone();
        Some((schema, class))
    });
    found.as_ref().map(|(schema, class)| (schema, *class))
}

/// Writes the number of the class, and unknown content with a path as a value of it.
#[cfg(feature = "world")]
pub(crate) fn encode_unknown_at(
    path: &[UnknownStep],
    pieces: &[UnknownPiece],
    out: &mut Encoder<'_>,
) -> Result<(), Stop> {
    let Some((schema, class)) = unknown_at() else { return Err(out.no_field()) };
    let number = out.ask(|links| links.unknown_class(schema, class))?;
    count::encode(number, out)?;
    UnknownAt::encode(path, pieces, out)
}

//! [`to_value`].

use super::links::FieldLinks;
use crate::codec::{Buffer, Encoder};
use crate::graph::Registry;
use crate::schema::Reader;
use crate::{Limits, Persist, Result, Value};

/// Returns a value without its type, for example to insert it into a list by a path.
///
/// # Example
///
/// ```
/// # #[cfg(feature = "history")] {
/// use persist::{History, Persist, field, to_value};
///
/// #[derive(Persist)]
/// struct Drawing { shapes: Vec<Shape> }
///
/// #[derive(Persist, Clone, PartialEq, Debug)]
/// struct Shape { x: f32, name: String }
///
/// let (mut drawing, mut history) = (Drawing { shapes: vec![] }, History::new(100));
/// let shape = Shape { x: 2.5, name: "Circle".into() };
/// history.insert_element(&mut drawing, field!(Drawing.shapes), 0, to_value(&shape)?)?;
/// assert_eq!(drawing.shapes, [shape]);
/// # }
/// # Ok::<(), persist::Error>(())
/// ```
///
/// # Errors
///
/// Returns [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) if the value holds shared pointers or trait
/// objects, and the errors of a type that cannot be saved.
pub fn to_value<T: Persist>(value: &T) -> Result<Value> {
    let mut registry = Registry::new();
    let class = registry.register_value::<T>()?;
    let (mut buffer, mut links) = (Buffer::new(), FieldLinks::new(&registry));
    let write = |out: &mut Encoder<'_>| out.value(value);
    let bytes = buffer.encode_with(&registry.env(), &mut links, write)?;
    let layout = registry.program().layout();
    let mut values = Reader::new(&Limits::DEFAULT, bytes.len() as u64);
    values.whole(layout, layout.root(class), bytes, &Limits::DEFAULT)
}

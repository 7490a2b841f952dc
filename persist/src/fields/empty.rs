//! [`Registry::empty`]: empty values of classes, which an editor puts into lists and options.

use super::links::FieldLinks;
use crate::codec::{Buffer, Encoder};
use crate::graph::Registry;
use crate::schema::Cursor;
use crate::{Error, ErrorKind, Result, Value};

impl Registry {
    /// Creates an empty value of a registered class, with the `default` and `empty` values of its fields.
    ///
    /// An editor uses it as a new element of a list, or as the content of an option that was `None`.
    ///
    /// ```
    /// use persist::{Persist, Saves};
    ///
    /// #[derive(Persist)]
    /// struct Lamp {
    ///     #[persist(empty = 5.0)]
    ///     radius: f32,
    /// }
    ///
    /// let saves = Saves::new();
    /// saves.register::<Lamp>()?;
    /// let lamp = saves.registry().empty("Lamp")?;
    /// assert_eq!(lamp.as_record().and_then(|lamp| lamp.get("radius")?.as_f64()), Some(5.0));
    /// # Ok::<(), persist::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::NotFound`] if no class of this name is registered, [`ErrorKind::Unsupported`] if the class
    /// holds shared pointers, and an error if the class refuses to create an empty value.
    pub fn empty(&self, class: &str) -> Result<Value> {
        let program = self.program();
        let found = self.named(class).and_then(|index| Some((index, program.targets[index]?)));
        let Some((index, target)) = found else {
            let message = format!("no class `{class}` is registered; register it first");
            return Err(Error::new(ErrorKind::NotFound, message));
        };
        let (mut buffer, mut links) = (Buffer::new(), FieldLinks::new(self));
        let prototypes = self.prototypes();
        let write = |out: &mut Encoder<'_>| (target.access.encode_empty)(&prototypes, out);
        let read = buffer
            .encode_with(&self.env(), &mut links, write)
            .and_then(|bytes| Ok(Cursor::of_class(program.layout(), index, bytes).read()?.0));
        read.map_err(|error| error.in_class(class))
    }
}

//! What a path leads to in a value: the innermost field that lies somewhere, and its bytes.

use std::any::Any;

use super::links::FieldLinks;
use super::path::{Step, Steps};
use crate::codec::{Buffer, ClassAccess, Portable};
use crate::graph::Registry;
use crate::names::suggest;
use crate::schema::Cursor;
use crate::{Error, ErrorKind, Result, Value};

/// A way from a value inwards: each class with the index of a field.
type Hops = Vec<(&'static dyn ClassAccess, usize)>;

/// More bytes than these are not kept from one use to the next.
const MOST_KEPT: usize = 4 << 10;

/// The memory that a part takes, for the next one.
#[derive(Default)]
pub(crate) struct Room {
    path: Hops,
    buffer: Buffer,
    /// Bytes that are to be put into a part.
    pub(super) new: Vec<u8>,
}

impl Room {
    /// Gives back what is more than most parts need.
    pub(crate) fn trim(&mut self) {
        if self.buffer.size() > MOST_KEPT || self.new.capacity() > MOST_KEPT {
            *self = Self::default();
        }
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.buffer.into_bytes()
    }
}

/// The innermost field on a path that can be reached where it lies.
pub(crate) struct Part<'p> {
    /// Index of the class of the whole value.
    pub(super) class: usize,
    pub(super) room: &'p mut Room,
    /// Class, variant and index of the field; `None` if it is the component itself.
    place: Option<(usize, usize, usize)>,
    pub(super) steps: &'p [Step],
    /// How many steps led to it.
    taken: usize,
}

impl<'p> Part<'p> {
    pub(crate) fn find(
        room: &'p mut Room,
        registry: &Registry,
        root: &dyn Portable,
        steps: &'p [Step],
    ) -> Result<Self> {
        let Room { path, buffer, .. } = room;
        path.clear();
        let mut owner: &dyn Any = root;
        let mut entry = registry.entry(owner);
        let Some((root_class, _)) = entry else {
            return Err(Error::new(ErrorKind::NotFound, "its class is not registered"));
        };
        let mut value = owner;
        let mut place = None;
        for step in steps {
            let Some((class, target)) = entry else { break };
            let Step::Field(name) = step else { break };
            let variant = target.access.variant(value).unwrap_or(0);
            let of_variant = target.class.variants().get(variant);
            let fields = of_variant.map_or(target.class.fields(), |variant| variant.fields);
            let Some(field) = fields.iter().position(|field| field.name == name) else {
                let variant = of_variant.map_or(String::new(), |of| format!("::{}", of.name));
                let class = target.class.name();
                let message = format!(
                    "{class}{variant} has no field `{name}`{}",
                    suggest(name, fields.iter().map(|field| field.name))
                );
                let missing = Steps(&steps[..=path.len()]).to_string();
                return Err(Error::new(ErrorKind::NotFound, message).in_field(&missing));
            };
            // Of a time no part can be reached: it is found in the bytes.
            let Some(inner) = target.access.field(value, field) else { break };
            path.push((target.access, field));
            place = Some((class, variant, field));
            (owner, value) = (value, inner);
            // A `with` module stores something else.
            if fields[field].has_module {
                break;
            }
            entry = if path.len() < steps.len() { registry.entry(value) } else { None };
        }
        let mut links = FieldLinks::new(registry);
        let write = |out: &mut crate::codec::Encoder<'_>| match path.last() {
            Some((access, field)) => access.encode_field(owner, *field, out),
            None => root.encode(out),
        };
        let taken = path.len();
        buffer
            .encode_with(&registry.env(), &mut links, write)
            .map_err(|error| error.in_field(&Steps(&steps[..taken]).to_string()))?;
        Ok(Self { class: root_class, room, place, steps, taken })
    }

    /// The classes that lead to it, each with a field.
    pub(super) fn path(&self) -> &[(&'static dyn ClassAccess, usize)] {
        &self.room.path
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        self.room.buffer.bytes()
    }

    /// At what the rest of the path leads to.
    pub(super) fn cursor<'c>(&'c self, registry: &'c Registry) -> Result<Cursor<'c, 'c>> {
        let layout = registry.program().layout();
        let cursor = match self.place {
            Some(place) => Cursor::of_field(layout, place, self.bytes()),
            None => Some(Cursor::of_class(layout, self.class, self.bytes())),
        };
        let cursor =
            cursor.ok_or_else(|| Error::new(ErrorKind::NotFound, "the class has no such field"))?;
        follow(cursor, self.steps, self.taken)
    }

    pub(crate) fn value(&self, registry: &Registry) -> Result<Value> {
        let value = self.cursor(registry)?.read();
        value
            .map(|(value, _)| value)
            .map_err(|error| error.in_field(&Steps(self.steps).to_string()))
    }
}

/// Continues from the part that some of the steps have led to.
pub(super) fn follow<'s, 'b>(
    mut cursor: Cursor<'s, 'b>,
    steps: &[Step],
    taken: usize,
) -> Result<Cursor<'s, 'b>> {
    for (i, step) in steps.iter().enumerate().skip(taken) {
        let result = match step {
            Step::Field(name) => cursor.field(name),
            Step::Index(index) => cursor.index(*index),
            Step::Key(key) => key.parse().and_then(|key| cursor.key(&key)),
        };
        result.map_err(|error| error.in_field(&Steps(&steps[..=i]).to_string()))?;
    }
    Ok(cursor)
}

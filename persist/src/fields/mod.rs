//! Reading, changing and comparing fields of values by their paths.
//!
//! A [`FieldChange`] is the record of an edit: an undo reverts it and a journal stores it. It can be applied to any
//! value whose class is registered: a component or a resource of a world, or a document.
//!
//! | files | part |
//! | --- | --- |
//! | `path`, `paths`, `typed_path` | paths, their caches, and paths that the compiler checks |
//! | this file, `links`, `empty` | the innermost part on a path; its encode and decode; empty parts |
//! | `peek` | a field, of whose large containers only some elements are read |
//! | `to_value` | values that are passed to a path |
//! | `change`, `bytes` | a change with the bytes before and after it |
//! | `compare` | the changes between two contents |
//! | `changed` | changes as views of a target see them |
//! | `number` | numbers, changed in place |
//! | `owner`, `object_name`, `shared_name`, `prints`, `edited_world`, `sendable` | what worlds and histories share |

mod bytes;
mod change;
#[cfg(feature = "history")]
mod changed;
#[cfg(feature = "history")]
mod compare;
#[cfg(feature = "history")]
mod edited_world;
mod empty;
mod links;
#[cfg(feature = "world")]
mod number;
#[cfg(feature = "history")]
mod object_name;
mod owner;
mod path;
mod paths;
#[cfg(any(feature = "history", feature = "world"))]
mod peek;
#[cfg(feature = "history")]
mod prints;
mod sendable;
#[cfg_attr(
    not(feature = "world"),
    expect(dead_code, unreachable_pub, reason = "a world makes names")
)]
pub(crate) mod shared_name;
#[cfg(any(feature = "history", feature = "world"))]
mod to_value;
pub(crate) mod typed_path;

use std::any::Any;

use crate::codec::{Buffer, ClassAccess, FieldAccess, ListAccess, MapAccess, Portable};
use crate::graph::Registry;
use crate::names::suggest;
use crate::schema::Cursor;
use crate::{Error, ErrorKind, Result, Value};
#[cfg(not(any(feature = "history", feature = "world")))]
use links::FieldLinks;
use path::located;

#[cfg(feature = "history")]
pub(crate) use bytes::Bytes;
#[cfg(feature = "history")]
pub use change::Merge;
pub(crate) use change::Request;
#[cfg(feature = "world")]
pub(crate) use change::after_load;
#[cfg(feature = "history")]
pub(crate) use change::{ChangeState, awaken};
pub use change::{Direction, FieldChange, FieldEdit};
#[cfg(feature = "history")]
pub use changed::{Changed, ChangedField, ElementEdit, key_at, value_at};
#[cfg(feature = "history")]
pub(crate) use compare::{compared, content_of};
#[cfg(feature = "history")]
pub(crate) use edited_world::{EditedWorld, NumberedBytes, ObjectChange};
#[cfg(any(feature = "history", feature = "world"))]
pub(crate) use links::FieldLinks;
#[cfg(feature = "world")]
pub(crate) use number::{NumberField, ReplacedNumber};
#[cfg(feature = "history")]
pub(crate) use object_name::ObjectName;
pub use owner::Owner;
#[cfg(feature = "history")]
pub(crate) use paths::AsText;
pub(crate) use paths::IntoFieldPath;
#[cfg(any(feature = "history", feature = "world"))]
pub use peek::Peek;
#[cfg(feature = "history")]
pub(crate) use prints::{Print, print_value};
pub use sendable::Sendable;
#[cfg(any(feature = "history", feature = "world"))]
pub use to_value::to_value;

#[cfg(all(feature = "history", feature = "world"))]
pub(crate) use {change::validate, number::NumberFields, prints::hash_of};

// The crate root re-exports it, and documents it there.
#[doc(hidden)]
pub use path::{FieldPath, PathStep};

/// The schema of a part: class, variant and index of a field, and the depth of the part in its nested elements.
#[cfg(feature = "history")]
type SchemaKey = ((usize, usize, usize), usize);

/// Buffers that are reused from one part to the next.
#[derive(Default)]
pub(crate) struct PartBuffers {
    hops: Vec<AccessStep>,
    buffer: Buffer,
    /// The bytes that a change puts into a part.
    new: Vec<u8>,
}

/// The innermost part on a path that can be borrowed: a field, an element of a list or a value of a map.
pub(crate) struct FieldPart<'p> {
    registry: &'p Registry,
    /// The index of the class of the whole value.
    class: usize,
    buffers: &'p mut PartBuffers,
    /// How the part is encoded and decoded; `None` for the whole value.
    access: Option<&'static FieldAccess>,
    /// Class, variant and index of the last field on the path, and the depth of the part in its nested elements.
    place: Option<(usize, usize, usize)>,
    depth: usize,
    steps: &'p [PathStep],
    /// The number of elements of the lists whose elements the part lies in.
    elements: u32,
    /// The number of steps that led to the part. The other steps are followed in its bytes.
    taken: usize,
}

/// A value whose fields are read and changed, with the registry that knows its class.
pub(crate) struct Root<'r> {
    pub registry: &'r Registry,
    pub value: &'r mut dyn Portable,
    pub buffers: &'r mut PartBuffers,
}

/// One step from a value to a part of it.
enum AccessStep {
    Field(&'static ClassAccess, usize),
    Element(&'static dyn ListAccess, usize),
    /// The value of a map, with its encoded key.
    Value(&'static dyn MapAccess, Vec<u8>),
}

/// The steps from a class to a field or an element, while a comparison walks a value.
#[cfg(feature = "history")]
struct Trail<'c> {
    class: &'c str,
    steps: Vec<PathStep>,
    /// The number of elements of the lists that the steps lead through.
    elements: u32,
}

#[cfg(feature = "history")]
impl<'c> Trail<'c> {
    /// Starts at these steps.
    fn new(class: &'c str, steps: &[PathStep], elements: u32) -> Self {
        Self { class, steps: steps.to_vec(), elements }
    }

    fn enter(&mut self, name: &'static str) {
        self.steps.push(PathStep::Field(name.into()));
    }

    fn enter_element(&mut self, index: u64) {
        self.steps.push(PathStep::Index(index));
    }

    /// Enters the value of a key of a map, by the step that a path with this key has.
    fn enter_key(&mut self, key: &Value) {
        self.steps.push(PathStep::from_key(key));
    }

    fn leave(&mut self) {
        self.steps.pop();
    }
}

/// Larger buffers are freed after a use, so that one large field does not take memory for ever.
const MAX_BUFFER: usize = 4 << 10;

impl PartBuffers {
    /// Frees buffers that are larger than most parts need.
    fn trim(&mut self) {
        if self.buffer.size() > MAX_BUFFER || self.new.capacity() > MAX_BUFFER {
            *self = Self::default();
        }
    }

    #[cfg(feature = "history")]
    fn into_bytes(self) -> Vec<u8> {
        self.buffer.into_bytes()
    }
}

impl<'p> FieldPart<'p> {
    /// Follows a path as far as it leads through structs, enums, lists and maps.
    fn reach<'v>(
        buffers: &'p mut PartBuffers,
        registry: &'p Registry,
        root: &'v dyn Portable,
        steps: &'p [PathStep],
    ) -> Result<(Self, &'v dyn Any)> {
        buffers.hops.clear();
        let mut value: &dyn Any = root;
        let Some((class, _)) = registry.entry(value) else {
            bail!(ErrorKind::NotFound, "its class is not registered");
        };
        let (access, place, depth, elements, taken) = (None, None, 0, 0, 0);
        let mut part =
            Self { registry, class, buffers, access, place, depth, steps, elements, taken };
        for step in steps {
            let inner = match step {
                PathStep::Field(name) => part.field(value, name)?,
                PathStep::Index(index) => match part.access.and_then(FieldAccess::map) {
                    Some(map) => part.entry(map, value, &Value::U64(*index)),
                    None => part.element(value, *index),
                },
                PathStep::Key(key) => match (part.access.and_then(FieldAccess::map), key.parse()) {
                    (Some(map), Ok(key)) => part.entry(map, value, &key),
                    _ => None,
                },
            };
            let Some(inner) = inner else { break };
            value = inner;
            part.taken += 1;
        }
        Ok((part, value))
    }

    /// Moves to a field of the part; `None` if it can only be found in the bytes.
    fn field<'v>(&mut self, value: &'v dyn Any, name: &str) -> Result<Option<&'v dyn Any>> {
        // With a `with` module, the stored type is another one, and its fields are only in the bytes.
        let is_stored_so = self.access.is_none_or(|access| !access.has_adapter());
        let Some((class, target)) = self.registry.entry(value).filter(|_| is_stored_so) else {
            return Ok(None);
        };
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
            let error = Error::new(ErrorKind::NotFound, message);
            return Err(located(&self.steps[..=self.taken])(error));
        };
        let access = target.access.access(variant, field);
        // The parts of a time cannot be borrowed, and are found in the bytes.
        let (Some(access), Some(inner)) = (access, target.access.field(value, field)) else {
            return Ok(None);
        };
        self.buffers.hops.push(AccessStep::Field(target.access, field));
        (self.access, self.place, self.depth) = (Some(access), Some((class, variant, field)), 0);
        Ok(Some(inner))
    }

    /// Moves to an element of the part; `None` if it can only be found in the bytes.
    fn element<'v>(&mut self, value: &'v dyn Any, index: u64) -> Option<&'v dyn Any> {
        let (list, index) = (self.list()?, usize::try_from(index).ok()?);
        let element = list.get(value, index)?;
        self.buffers.hops.push(AccessStep::Element(list, index));
        let len = list.len(value).and_then(|len| u32::try_from(len).ok());
        self.elements = self.elements.saturating_add(len.unwrap_or(u32::MAX));
        self.access = Some(list.element());
        self.depth += 1;
        Some(element)
    }

    /// Moves to the value of a key of the part; `None` if it can only be found in the bytes.
    fn entry<'v>(
        &mut self,
        map: &'static dyn MapAccess,
        value: &'v dyn Any,
        key: &Value,
    ) -> Option<&'v dyn Any> {
        let key = self.start_of(&[]).ok()?.key_bytes(key)?;
        let found = map.get(value, &key)?;
        self.buffers.hops.push(AccessStep::Value(map, key));
        self.access = Some(map.value());
        self.depth += 1;
        Some(found)
    }

    /// Returns how the part is encoded and decoded; `None` for the whole value.
    #[cfg(feature = "history")]
    fn access(&self) -> Option<&'static FieldAccess> {
        self.access
    }

    /// Returns the schema of the part's bytes; `None` for the whole value.
    #[cfg(feature = "history")]
    fn key(&self) -> Option<SchemaKey> {
        self.place.map(|place| (place, self.depth))
    }

    fn is_end(&self) -> bool {
        self.taken == self.steps.len()
    }

    fn is_whole(&self) -> bool {
        self.access.is_none()
    }

    /// Returns the access to the elements if the part is a list.
    fn list(&self) -> Option<&'static dyn ListAccess> {
        self.access?.list()
    }

    /// Returns [`list`](Self::list) if the path ends at the list.
    fn whole_list(&self) -> Option<&'static dyn ListAccess> {
        self.list().filter(|_| self.is_end())
    }

    /// Encodes `value`, which is the part.
    fn encode(&mut self, root: &dyn Portable, value: &dyn Any) -> Result<()> {
        let (mut links, access) = (FieldLinks::new(self.registry), self.access);
        let write = |out: &mut crate::codec::Encoder<'_>| match access {
            Some(access) => access.encode(value, out),
            None => root.encode(out),
        };
        let written = self.buffers.buffer.encode_with(&self.registry.env(), &mut links, write);
        written.map(drop).map_err(located(&self.steps[..self.taken]))
    }

    /// Finds the part at the end of a path, and encodes it.
    pub(crate) fn find(
        buffers: &'p mut PartBuffers,
        registry: &'p Registry,
        root: &dyn Portable,
        steps: &'p [PathStep],
    ) -> Result<Self> {
        let (mut part, value) = Self::reach(buffers, registry, root, steps)?;
        part.encode(root, value)?;
        Ok(part)
    }

    /// Borrows the part mutably, with its access; `None` for the whole value.
    fn reach_mut<'v>(
        &self,
        root: &'v mut dyn Portable,
    ) -> Option<(&'static FieldAccess, &'v mut dyn Any)> {
        let mut value: &mut dyn Any = root;
        for hop in &self.buffers.hops {
            value = match hop {
                AccessStep::Field(access, field) => access.field_mut(value, *field)?,
                AccessStep::Element(list, index) => list.get_mut(value, *index)?,
                AccessStep::Value(map, key) => map.get_mut(value, key)?,
            };
        }
        Some((self.access?, value))
    }

    fn bytes(&self) -> &[u8] {
        self.buffers.buffer.bytes()
    }

    /// Returns a cursor at the end of the path, after following the remaining steps in the bytes.
    fn cursor(&self) -> Result<Cursor<'_, '_>> {
        follow(self.start()?, self.steps, self.taken)
    }

    fn start(&self) -> Result<Cursor<'_, '_>> {
        self.start_of(self.bytes())
    }

    /// Returns a cursor at the start of the part's bytes.
    fn start_of<'b>(&self, bytes: &'b [u8]) -> Result<Cursor<'p, 'b>> {
        let layout = self.registry.program().layout();
        let mut cursor = match self.place {
            Some(place) => Cursor::of_field(layout, place, bytes),
            None => Some(Cursor::of_class(layout, self.class, bytes)),
        };
        for _ in 0..self.depth {
            cursor = cursor.and_then(Cursor::of_element);
        }
        cursor.ok_or_else(|| error!(ErrorKind::NotFound, "the class has no such field"))
    }

    pub(crate) fn value(&self) -> Result<Value> {
        self.cursor()?.read().map(|(value, _)| value).map_err(located(self.steps))
    }
}

/// Follows the steps from `taken` on with a cursor.
fn follow<'s, 'b>(
    mut cursor: Cursor<'s, 'b>,
    steps: &[PathStep],
    taken: usize,
) -> Result<Cursor<'s, 'b>> {
    for (i, step) in steps.iter().enumerate().skip(taken) {
        let result = match step {
            PathStep::Field(name) => cursor.field(name),
            PathStep::Index(index) => cursor.index(*index),
            PathStep::Key(key) => key.parse().and_then(|key| cursor.key(&key)),
        };
        result.map_err(located(&steps[..=i]))?;
    }
    Ok(cursor)
}

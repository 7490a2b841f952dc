//! Values of classes that the program does not have.

use std::any::Any;
use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;

use crate::codec::{
    AsValue, Decoder, Encoder, Fail, Persist, Phase, Pointed, Pointee, Prototypes, Shared, Slot,
    Stop, Visitor, WeakShared, Within, count,
};
use crate::reflect::{Holder, Kind};
use crate::{Error, ErrorKind, Result};

/// A value of a class that the program does not have, kept as it is in the save.
///
/// A stand-in for unknown classes holds one: see `#[persist::dynamic]`. It is
/// written back as the original, with the objects that it refers to.
#[derive(Clone, Default)]
pub struct Unknown {
    class: Option<ForeignClass>,
    /// The holder of its record, if it has one of its own.
    pub(crate) holder: Option<Holder>,
    bytes: Vec<u8>,
    /// What cannot be copied to another save, in order.
    parts: RefCell<Vec<Part>>,
}

/// A class of the save that a value comes from.
#[derive(Clone)]
pub(crate) struct ForeignClass {
    pub(crate) name: String,
    /// The schema of that save.
    pub(crate) schema: Rc<dyn Any>,
    /// Index of the class in it.
    pub(crate) index: usize,
}

/// A part of the bytes that means something in one save only.
#[derive(Clone)]
pub(crate) struct Part {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) content: Content,
}

#[derive(Clone)]
pub(crate) enum Content {
    /// The id of an object.
    Reference { weak: bool, target: Option<Kept> },
    /// The number of a class, by its index in the schema.
    Class(usize),
}

#[derive(Clone)]
pub(crate) enum Kept {
    Strong(Shared),
    Weak(WeakShared),
}

impl Unknown {
    pub(crate) fn new(class: ForeignClass, bytes: Vec<u8>, parts: Vec<Part>) -> Self {
        Self { class: Some(class), holder: None, bytes, parts: RefCell::new(parts) }
    }

    /// Name of the class; empty if this was not loaded.
    #[must_use]
    pub fn class(&self) -> &str {
        self.class.as_ref().map_or("", |class| &class.name)
    }

    /// Bytes of the value in the save that it comes from.
    #[must_use]
    pub fn size(&self) -> usize {
        self.bytes.len()
    }

    pub(crate) fn foreign(&self) -> Result<&ForeignClass> {
        self.class.as_ref().ok_or_else(|| {
            Error::new(
                ErrorKind::Unsupported,
                "an `Unknown` that was not loaded cannot be saved; keep stand-ins as they were loaded",
            )
        })
    }

    /// Writes the number of the class in the save that is being written.
    pub(crate) fn encode_class(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
        let class = self.foreign();
        match class.and_then(|class| out.links().foreign_class(&class.schema, class.index)) {
            Ok(number) => count::encode(number, out),
            Err(error) => Err(out.refuse(error)),
        }
    }

    /// Writes the value as it was, but for ids and numbers.
    pub(crate) fn encode(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
        let class = match self.foreign() {
            Ok(class) => class,
            Err(error) => return Err(out.refuse(error)),
        };
        let before = out.links().enter_cell(Within::Cell);
        let result = self.encode_parts(class, out);
        out.links().leave_cell(before);
        result
    }

    fn encode_parts(&self, class: &ForeignClass, out: &mut Encoder<'_>) -> Result<(), Stop> {
        let mut done = 0;
        for part in self.parts.borrow().iter() {
            out.bytes(&self.bytes[done..part.start])?;
            done = part.end;
            let number = match &part.content {
                Content::Reference { weak, target } => link(target.as_ref(), *weak, out),
                Content::Class(index) => out.links().foreign_class(&class.schema, *index),
            };
            match number {
                Ok(number) => count::encode(number, out)?,
                Err(error) => return Err(out.refuse(error)),
            }
        }
        out.bytes(&self.bytes[done..])
    }
}

fn link(target: Option<&Kept>, weak: bool, out: &mut Encoder<'_>) -> Result<u64> {
    let target = match target {
        Some(Kept::Strong(target)) => Some(target.clone()),
        Some(Kept::Weak(target)) => target.upgrade(),
        None => None,
    };
    let Some(target) = target else { return Ok(0) };
    let pointed = target.object().seen_pointee().map_or(Pointed::Anything, Pointed::At);
    out.links().link(target.address(), weak, pointed, &|| target.clone())
}

/// Saved and loaded only as what a stand-in holds.
impl Persist for Unknown {
    const LEAF: bool = false;

    fn kind() -> Kind {
        Kind::Unit
    }

    fn name() -> String {
        String::from("Unknown")
    }

    fn prototype(_: &Prototypes<'_>) -> Result<Self> {
        Ok(Self::default())
    }

    fn encode_tail(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
        if out.links().only_lists() { self.encode(out) } else { Err(out.refuse(alone())) }
    }

    fn decode(_: &[u8], input: &mut Decoder<'_>) -> Result<Self, Fail> {
        Err(input.refuse(alone()))
    }

    fn visit(&mut self, visitor: &mut Visitor<'_>) -> Result<()> {
        if visitor.leaves_cells() { Ok(()) } else { self.visit_shared(visitor) }
    }

    /// Which of its references lay in cells the save does not say; here all do.
    fn visit_shared(&self, visitor: &mut Visitor<'_>) -> Result<()> {
        let mut dropped = Vec::new();
        for part in self.parts.borrow_mut().iter_mut() {
            if let Content::Reference { target, .. } = &mut part.content {
                if visitor.phase() == Phase::Dismantle {
                    dropped.push(target.take());
                } else {
                    visitor.reference(part)?;
                }
            }
        }
        drop(dropped);
        Ok(())
    }
}

#[cold]
fn alone() -> Error {
    Error::new(
        ErrorKind::Unsupported,
        "an `Unknown` is saved only in the stand-in of a `#[persist::dynamic(unknown = Type)]` trait, as its one field, behind a pointer or box to the trait",
    )
}

impl Pointee for Unknown {
    type As = AsValue;
}

impl Slot for Part {
    fn connect(&mut self, object: &Shared, _: Option<&dyn Any>) -> bool {
        // Class and holder of the target have been compared with those in the schema.
        if let Content::Reference { weak, target } = &mut self.content {
            *target = Some(match weak {
                true => Kept::Weak(object.downgrade()),
                false => Kept::Strong(object.clone()),
            });
        }
        true
    }
}

impl fmt::Debug for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Unknown({}, {} bytes)", self.class(), self.bytes.len())
    }
}

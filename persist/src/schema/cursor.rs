//! A way into the bytes of a value, to one of its parts.

use std::collections::HashSet;
use std::ops::Range;

use super::layout::Shape;
use super::walk::{dynamic, fault, skip, tag};
use super::{FieldSchema, Form, KindSchema, Reader, Stored, Strict, WriteTarget};
use super::{write_class, write_value};
use crate::codec::{Decoder, Fail, NoLinks, count};
use crate::env::Env;
use crate::names::suggest;
use crate::value::Value;
use crate::{Error, ErrorKind, Limits, Result};

/// A part of a value: where its bytes begin, and what they mean.
#[derive(Clone, Copy)]
pub(crate) struct Cursor<'s, 'b> {
    stored: &'s Stored,
    pub(super) at: At<'s>,
    pub(super) bytes: &'b [u8],
    pub(super) start: usize,
}

/// What the bytes of a part mean.
#[derive(Clone, Copy)]
pub(super) enum At<'s> {
    Class(usize),
    /// A kind that is no class, and its node.
    Kind(&'s KindSchema, usize),
}

impl<'s> At<'s> {
    pub(super) fn of(kind: &'s KindSchema, node: usize) -> Self {
        match kind {
            KindSchema::Class(class) => Self::Class(*class),
            kind => Self::Kind(kind, node),
        }
    }
}

impl<'s, 'b> Cursor<'s, 'b> {
    /// At a value of a class.
    pub(crate) fn of_class(stored: &'s Stored, class: usize, bytes: &'b [u8]) -> Self {
        Self { stored, at: At::Class(class), bytes, start: 0 }
    }

    /// At a field of a struct (`variant` is 0) or of a variant; `None` if there is none.
    pub(crate) fn of_field(
        stored: &'s Stored,
        (class, variant, field): (usize, usize, usize),
        bytes: &'b [u8],
    ) -> Option<Self> {
        let fields = fields(&stored[class].form, variant)?;
        let at = At::of(&fields.get(field)?.kind, stored.first(class, variant) + field);
        Some(Self { stored, at, bytes, start: 0 })
    }

    /// Makes the bytes those of an element of the list, or of a value of the map, that it is at; `None` if it is none.
    pub(crate) fn of_element(self) -> Option<Self> {
        let At::Kind(kind, node) = self.at else { return None };
        let first = self.part(node);
        let at = match kind {
            KindSchema::List(inner) | KindSchema::Array(inner, _) => At::of(inner, first),
            KindSchema::Map(kinds) => At::of(&kinds.1, first + 1),
            _ => return None,
        };
        Some(Self { at, ..self })
    }

    /// A key of the map that it is at, as it is stored; `None` if it is none, or not such a key.
    pub(crate) fn key_bytes(&self, key: &Value) -> Option<Vec<u8>> {
        let At::Kind(KindSchema::Map(kinds), _) = self.at else { return None };
        let mut bytes = Vec::new();
        let mut target = Strict::new(self.stored, &Limits::DEFAULT, &|_, _| Ok(()));
        write_value(&mut target, self.stored, &kinds.0, key, &mut bytes).ok()?;
        Some(bytes)
    }

    /// Goes over the next field of a struct, which begins where it is; where its bytes are.
    ///
    /// # Errors
    ///
    /// If it cannot be a value.
    pub(crate) fn pass_field(&mut self, class: usize, field: usize) -> Result<Range<usize>> {
        let start = self.start;
        self.skip(self.stored.first(class, 0) + field)?;
        Ok(start..self.start)
    }

    /// Goes over these bytes if they are the next ones.
    pub(crate) fn pass_bytes(&mut self, bytes: &[u8]) -> bool {
        let is_next = self.rest().starts_with(bytes);
        self.start += if is_next { bytes.len() } else { 0 };
        is_next
    }

    /// The bytes from where it is on.
    pub(crate) fn rest(&self) -> &'b [u8] {
        self.bytes.get(self.start..).unwrap_or_default()
    }

    /// Reads on from where it is.
    pub(super) fn take<T>(
        &mut self,
        take: impl FnOnce(&mut Decoder<'_>) -> Result<T, Fail>,
    ) -> Result<T> {
        let mut links = NoLinks::default();
        let mut input = Decoder::new(self.rest(), &Env::DEFAULT, &mut links);
        let taken = take(&mut input).map_err(fault)?;
        self.start = self.bytes.len() - input.rest().len();
        Ok(taken)
    }

    pub(super) fn skip(&mut self, node: usize) -> Result<()> {
        let stored = self.stored;
        if let Some(width) = stored.node(node).width()
            && width <= self.rest().len()
        {
            self.start += width;
            return Ok(());
        }
        self.take(|input| skip(node, stored, input, &mut Vec::new()))
    }

    /// Passes `count` values, however many are said to have no bytes at all.
    pub(super) fn skip_many(&mut self, node: usize, count: u64) -> Result<()> {
        if let Some(width) = self.stored.node(node).width() {
            let all = usize::try_from(count).ok().and_then(|count| count.checked_mul(width));
            if let Some(all) = all.filter(|all| *all <= self.rest().len()) {
                self.start += all;
                return Ok(());
            }
        }
        for _ in 0..count {
            let before = self.start;
            self.skip(node)?;
            if self.start == before {
                break;
            }
        }
        Ok(())
    }

    /// Goes through what is around a part without a name of its own: an option, a box of a trait object.
    pub(super) fn open(&mut self) -> Result<()> {
        let stored = self.stored;
        loop {
            self.at = match self.at {
                At::Class(class) => match &stored[class].form {
                    Form::Value(kind) => At::of(kind, stored.first(class, 0)),
                    _ => return Ok(()),
                },
                At::Kind(KindSchema::Option(inner), node) => {
                    if !self.take(|input| input.value::<bool>())? {
                        return Err(missing("it is none, which has no parts"));
                    }
                    At::of(inner, self.part(node))
                }
                At::Kind(KindSchema::Dynamic(_), _) => {
                    At::Class(self.take(|input| dynamic(stored, input))?)
                }
                At::Kind(..) => return Ok(()),
            };
        }
    }

    /// The node of the first part of a kind that has some.
    pub(super) fn part(&self, node: usize) -> usize {
        match self.stored.node(node).shape {
            Shape::Option(part)
            | Shape::List(part)
            | Shape::Map(part)
            | Shape::Array(part, _)
            | Shape::Tuple { first: part, .. } => part,
            _ => node,
        }
    }

    /// Goes to the field of this name.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`] if there is none.
    pub(crate) fn field(&mut self, name: &str) -> Result<()> {
        self.open()?;
        let stored = self.stored;
        let class = match self.at {
            At::Class(class) => class,
            At::Kind(KindSchema::Tuple(_), _) => {
                return match name.parse() {
                    Ok(index) => self.index(index),
                    Err(_) => Err(self.no_part(&format!("field `{name}`"))),
                };
            }
            At::Kind(..) => return Err(self.no_part(&format!("field `{name}`"))),
        };
        let form = &stored[class].form;
        let variant = if form.tag_width() > 0 { self.take(|input| tag(form, input))? } else { 0 };
        let fields = fields(form, variant).unwrap_or_default();
        let Some(field) = fields.iter().position(|field| field.name == name) else {
            return Err(no_field(&stored[class].form, &stored[class].name, variant, name));
        };
        let first = stored.first(class, variant);
        (first..first + field).try_for_each(|node| self.skip(node))?;
        self.at = At::of(&fields[field].kind, first + field);
        Ok(())
    }

    /// Goes to the element of this index, or the value of this key.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`] if there is none.
    pub(crate) fn index(&mut self, index: u64) -> Result<()> {
        self.open()?;
        let (kind, node) = match self.at {
            At::Kind(KindSchema::Map(_), _) => return self.key(&Value::U64(index)),
            At::Kind(kind, node) => (kind, node),
            At::Class(_) => return Err(self.no_part(&format!("element [{index}]"))),
        };
        let count = match kind {
            KindSchema::List(_) => self.take(count::decode)?,
            KindSchema::Array(_, len) => *len as u64,
            KindSchema::Tuple(parts) => parts.len() as u64,
            _ => return Err(self.no_part(&format!("element [{index}]"))),
        };
        let Some(place) = usize::try_from(index).ok().filter(|_| index < count) else {
            let kind = kind.display(self.stored);
            return Err(missing(&format!("{kind} of {count} has no element [{index}]")));
        };
        let first = self.part(node);
        self.at = match kind {
            KindSchema::Tuple(parts) => {
                (first..first + place).try_for_each(|node| self.skip(node))?;
                At::of(&parts[place], first + place)
            }
            KindSchema::List(inner) | KindSchema::Array(inner, _) => {
                self.skip_many(first, index)?;
                At::of(inner, first)
            }
            _ => return Ok(()),
        };
        Ok(())
    }

    /// Goes to the value of this key of a map.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`] if there is none.
    pub(crate) fn key(&mut self, key: &Value) -> Result<()> {
        self.open()?;
        let At::Kind(KindSchema::Map(kinds), node) = self.at else {
            return Err(self.no_part(&format!("element [{key}]")));
        };
        let Some(wanted) = self.key_bytes(key) else {
            let kind = kinds.0.display(self.stored);
            return Err(missing(&format!("the map has no key [{key}]; its keys are {kind}")));
        };
        let first = self.part(node);
        for _ in 0..self.take(count::decode)? {
            let start = self.start;
            self.skip(first)?;
            if self.bytes[start..self.start] == wanted {
                self.at = At::of(&kinds.1, first + 1);
                return Ok(());
            }
            self.skip(first + 1)?;
        }
        Err(missing(&format!("the map has no key [{key}]")))
    }

    /// The element of a set, or key of a map, whose bytes stand twice.
    pub(crate) fn twice(mut self) -> Option<Value> {
        self.open().ok()?;
        let At::Kind(kind, node) = self.at else { return None };
        let (key, parts) = match kind {
            KindSchema::Set(key) => (&**key, 1),
            KindSchema::Map(parts) => (&parts.0, 2),
            _ => return None,
        };
        let count = self.take(count::decode).ok()?;
        let first = self.part(node);
        let mut seen = HashSet::new();
        for _ in 0..count {
            let start = self.start;
            self.skip(first).ok()?;
            if !seen.insert(&self.bytes[start..self.start]) {
                (self.start, self.at) = (start, At::of(key, first));
                return self.read().ok().map(|(value, _)| value);
            }
            (first + 1..first + parts).try_for_each(|node| self.skip(node)).ok()?;
        }
        None
    }

    /// Where the bytes of the part are.
    ///
    /// # Errors
    ///
    /// If it cannot be a value.
    pub(crate) fn range(&self) -> Result<Range<usize>> {
        let mut behind = *self;
        behind.skip(match self.at {
            At::Class(class) => self.stored.root(class),
            At::Kind(_, node) => node,
        })?;
        Ok(self.start..behind.start)
    }

    /// Reads the part; also where its bytes are.
    ///
    /// # Errors
    ///
    /// If it cannot be a value.
    pub(crate) fn read(&self) -> Result<(Value, Range<usize>)> {
        let mut links = NoLinks::default();
        let rest = self.rest();
        let mut input = Decoder::new(rest, &Env::DEFAULT, &mut links);
        let mut reader = Reader::new(&Limits::DEFAULT, rest.len() as u64);
        let value = match self.at {
            At::Class(class) => reader.class(self.stored, class, &mut input),
            At::Kind(kind, node) => reader.value(self.stored, (kind, node), &mut input),
        }?;
        Ok((value, self.start..self.bytes.len() - input.rest().len()))
    }

    /// Appends a value as one of the kind of the part.
    ///
    /// # Errors
    ///
    /// With the path of the field, if something does not fit.
    pub(crate) fn write(
        &self,
        target: &mut dyn WriteTarget,
        value: &Value,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        match self.at {
            At::Class(class) => write_class(target, self.stored, class, value, out),
            At::Kind(kind, _) => write_value(target, self.stored, kind, value, out),
        }
    }

    #[cold]
    pub(super) fn no_part(&self, part: &str) -> Error {
        let kind = match self.at {
            At::Class(class) => self.stored[class].name.clone(),
            At::Kind(kind, _) => kind.display(self.stored),
        };
        missing(&format!("{kind} has no {part}"))
    }
}

/// The fields of a struct (`variant` is 0) or of a variant.
fn fields(form: &Form, variant: usize) -> Option<&[FieldSchema]> {
    match form {
        Form::Struct(fields) => Some(fields),
        Form::Enum(variants) => variants.get(variant).map(|variant| &*variant.fields),
        Form::Value(_) => None,
    }
}

#[cold]
fn no_field(form: &Form, class: &str, index: usize, name: &str) -> Error {
    let variant = match form {
        Form::Enum(variants) => variants.get(index).map(|variant| &variant.name),
        _ => None,
    };
    let of = variant.map_or(String::new(), |variant| format!("::{variant}"));
    let known = fields(form, index).unwrap_or_default().iter().map(|field| &*field.name);
    missing(&format!("{class}{of} has no field `{name}`{}", suggest(name, known)))
}

#[cold]
pub(super) fn missing(message: &str) -> Error {
    Error::new(ErrorKind::NotFound, message)
}

//! Class definitions: how a save states its own schema.

use std::mem::discriminant;
use std::sync::Arc;

use crate::codec::{Decoder, Fail, count};
use crate::reflect::{ClassId, Holder, Integer};
use crate::schema::{ClassSchema, FieldSchema, Form, KindSchema, VariantSchema};

use super::{BLOCK_SIZE, DEFINITION_HEAD, SEPARATOR, WEAK};
use crate::{Error, ErrorKind};

const FORM_STRUCT: u8 = 0;
const FORM_ENUM: u8 = 1;
const FORM_VALUE: u8 = 2;

/// The bit of a field's flags that says that a number follows.
const FIELD_ID: u8 = 0x01;

/// Kinds may nest this deep in a definition, on both sides.
pub(crate) const KIND_DEPTH: u32 = 64;

pub(super) const OPTION: u8 = 16;
pub(super) const LIST: u8 = 17;
pub(super) const SET: u8 = 18;
pub(super) const MAP: u8 = 19;
pub(super) const ARRAY: u8 = 20;
pub(super) const TUPLE: u8 = 21;
pub(super) const CLASS: u8 = 22;
pub(super) const REFERENCE: u8 = 23;
pub(super) const DYNAMIC: u8 = 24;
pub(super) const TRAIT_REFERENCE: u8 = 25;
pub(super) const HANDLE: u8 = 26;
pub(super) const UNKNOWN: u8 = 27;
pub(super) const COMPACT: u8 = 28;

/// The kinds without parts; a kind's tag is its index.
pub(crate) const SCALARS: [KindSchema; 16] = [
    KindSchema::Unit,
    KindSchema::Bool,
    KindSchema::Char,
    KindSchema::U8,
    KindSchema::U16,
    KindSchema::U32,
    KindSchema::U64,
    KindSchema::U128,
    KindSchema::I8,
    KindSchema::I16,
    KindSchema::I32,
    KindSchema::I64,
    KindSchema::I128,
    KindSchema::F32,
    KindSchema::F64,
    KindSchema::Text,
];

/// The largest length of one record or definition: a block with it and what
/// was before it still has a length of 32 bits.
const LONGEST_ITEM: usize = u32::MAX as usize - 2 * BLOCK_SIZE;

pub(super) fn item_length(length: usize, class: &str) -> Result<u32, Error> {
    match u32::try_from(length) {
        Ok(bytes) if length <= LONGEST_ITEM => Ok(bytes),
        _ => Err(Error::new(
            ErrorKind::TooLarge,
            format!(
                "{class} record of {length} bytes is over {LONGEST_ITEM}, the most that one record can have; split the value into objects"
            ),
        )),
    }
}

/// Appends a definition whose body is there, with what stands around it in a save.
pub(super) fn push(body: &[u8], out: &mut Vec<u8>) -> Result<(), Error> {
    let length = item_length(body.len(), "a class")?;
    out.reserve(DEFINITION_HEAD + body.len() + 1);
    out.push(0);
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(body);
    out.push(SEPARATOR);
    Ok(())
}

/// Appends the definition; `number` gives the file's number of a class, which is held
/// by value, or the target of a reference.
pub(super) fn write(
    class: &ClassSchema,
    number: &dyn Fn(usize, Option<Holder>) -> u64,
    out: &mut Vec<u8>,
) {
    out.extend_from_slice(&class.id.0.to_le_bytes());
    write_text(&class.name, out);
    count::push(u64::from(class.version), out);
    match &class.form {
        Form::Struct(fields) => {
            out.push(FORM_STRUCT);
            write_fields(fields, number, out);
        }
        Form::Enum(variants) => {
            out.push(FORM_ENUM);
            count::push(variants.len() as u64, out);
            for variant in variants {
                write_text(&variant.name, out);
                write_fields(&variant.fields, number, out);
            }
        }
        Form::Value(kind) => {
            out.push(FORM_VALUE);
            write_kind(kind, number, out);
        }
    }
}

fn write_text(text: &str, out: &mut Vec<u8>) {
    count::push(text.len() as u64, out);
    out.extend_from_slice(text.as_bytes());
}

fn write_fields(
    fields: &[FieldSchema],
    number: &dyn Fn(usize, Option<Holder>) -> u64,
    out: &mut Vec<u8>,
) {
    count::push(fields.len() as u64, out);
    for field in fields {
        write_text(&field.name, out);
        match field.id {
            Some(id) => {
                out.push(FIELD_ID);
                count::push(u64::from(id), out);
            }
            None => out.push(0),
        }
        write_kind(&field.kind, number, out);
    }
}

fn write_kind(kind: &KindSchema, number: &dyn Fn(usize, Option<Holder>) -> u64, out: &mut Vec<u8>) {
    match kind {
        KindSchema::Option(inner) => write_tagged(OPTION, inner, number, out),
        KindSchema::List(inner) => write_tagged(LIST, inner, number, out),
        KindSchema::Set(inner) => write_tagged(SET, inner, number, out),
        KindSchema::Map(parts) => {
            write_tagged(MAP, &parts[0], number, out);
            write_kind(&parts[1], number, out);
        }
        KindSchema::Array(inner, len) => {
            out.push(ARRAY);
            count::push(*len as u64, out);
            write_kind(inner, number, out);
        }
        KindSchema::Tuple(parts) => {
            out.push(TUPLE);
            count::push(parts.len() as u64, out);
            for part in &parts[..] {
                write_kind(part, number, out);
            }
        }
        KindSchema::Class(class) => {
            out.push(CLASS);
            count::push(number(*class, None), out);
        }
        KindSchema::Reference { holder, weak, class } => {
            out.push(REFERENCE);
            out.push(holder.code() | if *weak { WEAK } else { 0 });
            count::push(number(*class, Some(*holder)), out);
        }
        KindSchema::Dynamic(name) => {
            out.push(DYNAMIC);
            write_text(name, out);
        }
        KindSchema::TraitReference { holder, weak, name } => {
            out.push(TRAIT_REFERENCE);
            out.push(holder.code() | if *weak { WEAK } else { 0 });
            write_text(name, out);
        }
        KindSchema::Handle(name) => {
            out.push(HANDLE);
            write_text(name, out);
        }
        KindSchema::Unknown => out.push(UNKNOWN),
        KindSchema::Compact(integer) => out.extend_from_slice(&[COMPACT, plain_tag(*integer)]),
        scalar => {
            let is_it = |kind: &KindSchema| discriminant(kind) == discriminant(scalar);
            let tag = SCALARS.iter().position(is_it).unwrap_or_default();
            out.push(u8::try_from(tag).unwrap_or_default());
        }
    }
}

/// The tag of the kind of an integer that is not compact.
fn plain_tag(integer: Integer) -> u8 {
    match integer {
        Integer::U16 => 4,
        Integer::U32 => 5,
        Integer::U64 => 6,
        Integer::I16 => 9,
        Integer::I32 => 10,
        Integer::I64 => 11,
    }
}

fn write_tagged(
    tag: u8,
    inner: &KindSchema,
    number: &dyn Fn(usize, Option<Holder>) -> u64,
    out: &mut Vec<u8>,
) {
    out.push(tag);
    write_kind(inner, number, out);
}

/// Why a definition cannot be read, and where in it.
pub(super) struct Bad {
    /// The class, if its name was read.
    pub(super) class: String,
    pub(super) field: String,
    pub(super) why: Why,
}

pub(super) enum Why {
    /// The bytes are none of a definition.
    Fail(Fail),
    /// Against a rule of the format.
    Rule(String),
    /// A number that this library does not know; what it is.
    Unknown { what: &'static str, tag: u8 },
}

impl Bad {
    // Boxed: kinds are read recursively, and a result is on the stack at each level.
    fn new(why: Why) -> Box<Self> {
        Box::new(Self { class: String::new(), field: String::new(), why })
    }

    fn rule(rule: impl Into<String>) -> Box<Self> {
        Self::new(Why::Rule(rule.into()))
    }

    /// Puts a name before the path of the field.
    fn in_field(mut self: Box<Self>, name: &str) -> Box<Self> {
        let dot = if name.is_empty() || self.field.is_empty() { "" } else { "." };
        self.field = format!("{name}{dot}{}", self.field);
        self
    }
}

impl From<Fail> for Box<Bad> {
    fn from(fail: Fail) -> Self {
        Bad::new(Why::Fail(fail))
    }
}

/// Reads a definition; class numbers become indices, checked by the caller.
pub(super) fn read(input: &mut Decoder<'_>) -> Result<ClassSchema, Box<Bad>> {
    let id = ClassId(input.value()?);
    let name = input.value::<String>()?;
    match read_form(input) {
        Ok((version, form)) => Ok(ClassSchema { id, name, version, form }),
        Err(mut bad) => {
            bad.class = name;
            Err(bad)
        }
    }
}

fn read_form(input: &mut Decoder<'_>) -> Result<(u32, Form), Box<Bad>> {
    let version = u32::try_from(count::decode(input)?)
        .ok()
        .filter(|version| *version > 0)
        .ok_or_else(|| Bad::rule("the version of a class is 0 or over 4294967295"))?;
    let form = match input.value::<u8>()? {
        FORM_STRUCT => Form::Struct(read_fields(input)?),
        FORM_ENUM => {
            let count = elements(input)?;
            if count == 0 || count > 1 << 16 {
                return Err(Bad::rule(format!("an enum has {count} variants, not 1 to 65536")));
            }
            let mut variants = Vec::new();
            for _ in 0..count {
                let name = input.value::<String>()?;
                match read_fields(input) {
                    Ok(fields) => variants.push(VariantSchema { name, fields }),
                    Err(bad) => return Err(bad.in_field(&name)),
                }
            }
            unique("variants", variants.iter().map(|variant| &variant.name))?;
            Form::Enum(variants)
        }
        FORM_VALUE => Form::Value(read_kind(input, KIND_DEPTH)?),
        tag => return Err(Bad::new(Why::Unknown { what: "form", tag })),
    };
    Ok((version, form))
}

/// A count of things of at least one byte each.
fn elements(input: &mut Decoder<'_>) -> Result<usize, Fail> {
    let count = input.count()?;
    if count > input.rest().len() { Err(Fail::Count) } else { Ok(count) }
}

fn read_fields(input: &mut Decoder<'_>) -> Result<Vec<FieldSchema>, Box<Bad>> {
    let count = elements(input)?;
    let mut fields = Vec::new();
    for _ in 0..count {
        let name = input.value::<String>()?;
        match read_field(input) {
            Ok((id, kind)) => fields.push(FieldSchema { name, id, kind }),
            Err(bad) => return Err(bad.in_field(&name)),
        }
    }
    unique("fields", fields.iter().map(|field| &field.name))?;
    Ok(fields)
}

/// What follows the name of a field.
fn read_field(input: &mut Decoder<'_>) -> Result<(Option<u32>, KindSchema), Box<Bad>> {
    let id = match input.value::<u8>()? {
        0 => None,
        FIELD_ID => {
            let id = count::decode(input)?;
            let id = u32::try_from(id).map_err(|_| {
                Bad::rule(format!("the number of a field is {id}, over 4294967295"))
            })?;
            Some(id)
        }
        tag => return Err(Bad::new(Why::Unknown { what: "flags", tag })),
    };
    Ok((id, read_kind(input, KIND_DEPTH)?))
}

fn unique<'n>(what: &str, names: impl Iterator<Item = &'n String>) -> Result<(), Box<Bad>> {
    let mut seen = std::collections::HashSet::new();
    for name in names {
        if !seen.insert(name) {
            return Err(Bad::rule(format!("two {what} have one name")).in_field(name));
        }
    }
    Ok(())
}

fn read_kind(input: &mut Decoder<'_>, depth: u32) -> Result<KindSchema, Box<Bad>> {
    let depth = depth
        .checked_sub(1)
        .ok_or_else(|| Bad::rule(format!("kinds are nested deeper than {KIND_DEPTH}")))?;
    let tag = input.value::<u8>()?;
    if let Some(scalar) = SCALARS.get(usize::from(tag)) {
        return Ok(scalar.clone());
    }
    let inner = |input: &mut Decoder<'_>| read_kind(input, depth).map(Arc::new);
    Ok(match tag {
        OPTION => KindSchema::Option(inner(input)?),
        LIST => KindSchema::List(inner(input)?),
        SET => KindSchema::Set(inner(input)?),
        MAP => {
            let key = read_kind(input, depth)?;
            KindSchema::Map(Arc::new([key, read_kind(input, depth)?]))
        }
        ARRAY => {
            let len = input.count()?;
            KindSchema::Array(inner(input)?, len)
        }
        TUPLE => {
            let count = elements(input)?;
            let mut parts = Vec::new();
            for _ in 0..count {
                parts.push(read_kind(input, depth)?);
            }
            KindSchema::Tuple(parts.into())
        }
        tag => return read_named(tag, input),
    })
}

/// Reads what follows the tag of a kind without kinds inside. Apart, as kinds are read
/// recursively: what it needs would be on the stack at each level.
#[inline(never)]
fn read_named(tag: u8, input: &mut Decoder<'_>) -> Result<KindSchema, Box<Bad>> {
    Ok(match tag {
        CLASS => KindSchema::Class(class_index(input)?),
        REFERENCE => {
            let (holder, weak) = read_holder(input)?;
            KindSchema::Reference { holder, weak, class: class_index(input)? }
        }
        DYNAMIC => KindSchema::Dynamic(input.value::<String>()?.into()),
        TRAIT_REFERENCE => {
            let (holder, weak) = read_holder(input)?;
            KindSchema::TraitReference { holder, weak, name: input.value::<String>()?.into() }
        }
        HANDLE => KindSchema::Handle(input.value::<String>()?.into()),
        UNKNOWN => KindSchema::Unknown,
        COMPACT => {
            let tag = input.value::<u8>()?;
            let integer = Integer::ALL.into_iter().find(|integer| plain_tag(*integer) == tag);
            let Some(integer) = integer else {
                return Err(Bad::new(Why::Unknown { what: "a compact kind", tag }));
            };
            KindSchema::Compact(integer)
        }
        tag => return Err(Bad::new(Why::Unknown { what: "kind", tag })),
    })
}

/// Reads the holder of a reference, and whether it is weak.
fn read_holder(input: &mut Decoder<'_>) -> Result<(Holder, bool), Box<Bad>> {
    let code = input.value::<u8>()?;
    match Holder::from_code(code & !WEAK).filter(|holder| *holder != Holder::VALUE) {
        Some(holder) => Ok((holder, code & WEAK != 0)),
        None => Err(Bad::new(Why::Unknown { what: "a reference in holder", tag: code })),
    }
}

/// Numbers in a file begin with 1.
fn class_index(input: &mut Decoder<'_>) -> Result<usize, Box<Bad>> {
    input.count()?.checked_sub(1).ok_or_else(|| Bad::rule("a kind is of class number 0"))
}

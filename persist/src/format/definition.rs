//! Class definitions: how a save states its own schema.

use crate::codec::{Decoder, Fail, count};
use crate::reflect::{ClassId, Holder};
use crate::schema::{ClassSchema, FieldSchema, Form, KindSchema, VariantSchema};

use super::WEAK;

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

/// The kinds without parts; a kind's tag is its index.
pub(super) const SCALARS: [KindSchema; 16] = [
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

/// Appends the definition; `number` gives the file's number of a class.
pub(super) fn write(class: &ClassSchema, number: &dyn Fn(usize) -> u64, out: &mut Vec<u8>) {
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

fn write_fields(fields: &[FieldSchema], number: &dyn Fn(usize) -> u64, out: &mut Vec<u8>) {
    count::push(fields.len() as u64, out);
    for field in fields {
        write_text(&field.name, out);
        out.push(0);
        write_kind(&field.kind, number, out);
    }
}

fn write_kind(kind: &KindSchema, number: &dyn Fn(usize) -> u64, out: &mut Vec<u8>) {
    match kind {
        KindSchema::Option(inner) => write_tagged(OPTION, inner, number, out),
        KindSchema::List(inner) => write_tagged(LIST, inner, number, out),
        KindSchema::Set(inner) => write_tagged(SET, inner, number, out),
        KindSchema::Map(parts) => {
            write_tagged(MAP, &parts.0, number, out);
            write_kind(&parts.1, number, out);
        }
        KindSchema::Array(inner, len) => {
            out.push(ARRAY);
            count::push(*len as u64, out);
            write_kind(inner, number, out);
        }
        KindSchema::Tuple(parts) => {
            out.push(TUPLE);
            count::push(parts.len() as u64, out);
            for part in parts {
                write_kind(part, number, out);
            }
        }
        KindSchema::Class(class) => {
            out.push(CLASS);
            count::push(number(*class), out);
        }
        KindSchema::Reference { holder, weak, class } => {
            out.push(REFERENCE);
            out.push(holder.code() | if *weak { WEAK } else { 0 });
            count::push(number(*class), out);
        }
        scalar => {
            let tag = SCALARS.iter().position(|kind| kind == scalar).unwrap_or_default();
            out.push(u8::try_from(tag).unwrap_or_default());
        }
    }
}

fn write_tagged(tag: u8, inner: &KindSchema, number: &dyn Fn(usize) -> u64, out: &mut Vec<u8>) {
    out.push(tag);
    write_kind(inner, number, out);
}

/// Why a definition cannot be read.
pub(super) enum Bad {
    /// Malformed.
    Fail(Fail),
    /// A tag that this library does not know.
    Unknown { what: &'static str, tag: u8, field: String },
}

impl From<Fail> for Bad {
    fn from(fail: Fail) -> Self {
        Self::Fail(fail)
    }
}

/// Reads a definition; class numbers become indices, checked by the caller.
pub(super) fn read(input: &mut Decoder<'_>) -> Result<ClassSchema, Bad> {
    let id = ClassId(input.value()?);
    let name = input.value::<String>()?;
    let version = u32::try_from(count::decode(input)?).map_err(|_| Fail::Value)?;
    if version == 0 {
        return Err(Fail::Value.into());
    }
    let form = match input.value::<u8>()? {
        FORM_STRUCT => Form::Struct(read_fields(input, "")?),
        FORM_ENUM => {
            let count = elements(input)?;
            if count == 0 || count > 1 << 16 {
                return Err(Fail::Value.into());
            }
            let mut variants = Vec::new();
            for _ in 0..count {
                let name = input.value::<String>()?;
                let fields = read_fields(input, &name)?;
                variants.push(VariantSchema { name, fields });
            }
            unique(variants.iter().map(|variant| &variant.name))?;
            Form::Enum(variants)
        }
        FORM_VALUE => Form::Value(read_kind(input, KIND_DEPTH, "")?),
        tag => return Err(Bad::Unknown { what: "class form", tag, field: String::new() }),
    };
    Ok(ClassSchema { id, name, version, form, empty: false })
}

/// A count of things of at least one byte each.
fn elements(input: &mut Decoder<'_>) -> Result<usize, Fail> {
    let count = input.count()?;
    if count > input.rest().len() { Err(Fail::Count) } else { Ok(count) }
}

fn read_fields(input: &mut Decoder<'_>, variant: &str) -> Result<Vec<FieldSchema>, Bad> {
    let count = elements(input)?;
    let mut fields = Vec::new();
    for _ in 0..count {
        let name = input.value::<String>()?;
        let path = if variant.is_empty() { name.clone() } else { format!("{variant}.{name}") };
        match input.value::<u8>()? {
            0 => {}
            FIELD_ID => drop(count::decode(input)?),
            tag => return Err(Bad::Unknown { what: "field flag", tag, field: path }),
        }
        let kind = read_kind(input, KIND_DEPTH, &path)?;
        fields.push(FieldSchema { name, kind });
    }
    unique(fields.iter().map(|field| &field.name))?;
    Ok(fields)
}

fn unique<'n>(names: impl Iterator<Item = &'n String>) -> Result<(), Fail> {
    let mut seen = std::collections::HashSet::new();
    for name in names {
        if !seen.insert(name) {
            return Err(Fail::Duplicate);
        }
    }
    Ok(())
}

fn read_kind(input: &mut Decoder<'_>, depth: u32, field: &str) -> Result<KindSchema, Bad> {
    let depth = depth.checked_sub(1).ok_or(Fail::Depth)?;
    let tag = input.value::<u8>()?;
    if let Some(scalar) = SCALARS.get(usize::from(tag)) {
        return Ok(scalar.clone());
    }
    let inner = |input: &mut Decoder<'_>| read_kind(input, depth, field).map(Box::new);
    Ok(match tag {
        OPTION => KindSchema::Option(inner(input)?),
        LIST => KindSchema::List(inner(input)?),
        SET => KindSchema::Set(inner(input)?),
        MAP => {
            let key = *inner(input)?;
            KindSchema::Map(Box::new((key, *inner(input)?)))
        }
        ARRAY => {
            let len = input.count()?;
            KindSchema::Array(inner(input)?, len)
        }
        TUPLE => {
            let count = elements(input)?;
            let mut parts = Vec::new();
            for _ in 0..count {
                parts.push(*inner(input)?);
            }
            KindSchema::Tuple(parts)
        }
        CLASS => KindSchema::Class(class_index(input)?),
        REFERENCE => {
            let code = input.value::<u8>()?;
            let Some(holder) =
                Holder::from_code(code & !WEAK).filter(|holder| *holder != Holder::Value)
            else {
                return Err(Bad::Unknown { what: "holder", tag: code, field: field.to_owned() });
            };
            KindSchema::Reference { holder, weak: code & WEAK != 0, class: class_index(input)? }
        }
        tag => return Err(Bad::Unknown { what: "kind", tag, field: field.to_owned() }),
    })
}

/// Numbers in a file begin with 1.
fn class_index(input: &mut Decoder<'_>) -> Result<usize, Fail> {
    input.count()?.checked_sub(1).ok_or(Fail::Value)
}

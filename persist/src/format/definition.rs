//! Class definitions: the schema that a save holds of itself.

use std::collections::HashSet;
use std::mem::discriminant;
use std::sync::Arc;

use byteorder::{ByteOrder, LittleEndian};

use super::{BLOCK_SIZE, DEFINITION_HEAD, SEPARATOR, WEAK, damaged};
use crate::codec::{Decoder, Fail, NoLinks, count};
use crate::env::Env;
use crate::reflect::{ClassId, Holder, Integer};
use crate::schema::{ClassSchema, FieldSchema, Form, KindSchema, VariantSchema};
use crate::{Error, ErrorKind, Limits, Result};

const FORM_STRUCT: u8 = 0;
const FORM_ENUM: u8 = 1;
const FORM_VALUE: u8 = 2;

/// The bit of a form which says that the lowest version that may read the class follows.
const SINCE: u8 = 0x80;

/// The bit of a form which says that the id of the class follows. Without it, the id is the hash of the name.
const OWN_ID: u8 = 0x40;

/// The bit of a field's flags which says that the field's number follows.
const FIELD_ID: u8 = 0x01;

/// Maximum nesting of kinds in a definition, for writers and readers. It bounds the recursion of the reader.
pub const KIND_DEPTH: u32 = 64;

const OPTION: u8 = 16;
const LIST: u8 = 17;
const SET: u8 = 18;
const MAP: u8 = 19;
const ARRAY: u8 = 20;
const TUPLE: u8 = 21;
const CLASS: u8 = 22;
const REFERENCE: u8 = 23;
const DYNAMIC: u8 = 24;
const TRAIT_REFERENCE: u8 = 25;
const HANDLE: u8 = 26;
const UNKNOWN: u8 = 27;
const COMPACT: u8 = 28;

/// The kinds without parts. The tag of such a kind is its index here.
pub const SCALARS: [KindSchema; 16] = [
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

/// Maximum length of one record or definition. A block with it and the items before it then still has a length of 32
/// bits.
const LONGEST_ITEM: usize = u32::MAX as usize - 2 * BLOCK_SIZE;

pub(super) fn item_length(length: usize, class: &str) -> Result<u32> {
    match u32::try_from(length) {
        Ok(bytes) if length <= LONGEST_ITEM => Ok(bytes),
        _ => Err(error!(
            ErrorKind::TooLarge,
            "{class} record of {length} bytes is over {LONGEST_ITEM}, the most that one record can have; split the value into objects"
        )),
    }
}

/// Returns the number that a class has in the file. The class is held by value, or by a reference in a holder.
type NumberOf<'n> = &'n dyn Fn(usize, Option<Holder>) -> u64;

/// Appends the definition of a class, whose mentioned classes have the numbers of `number`.
pub(super) fn push(class: &ClassSchema, number: NumberOf<'_>, out: &mut Vec<u8>) -> Result<()> {
    let start = out.len();
    out.extend_from_slice(&[0; DEFINITION_HEAD]);
    write(class, number, out);
    let length = item_length(out.len() - start - DEFINITION_HEAD, "a class")?;
    LittleEndian::write_u32(&mut out[start + 1..], length);
    out.push(SEPARATOR);
    Ok(())
}

fn write(class: &ClassSchema, number: NumberOf<'_>, out: &mut Vec<u8>) {
    write_text(&class.name, out);
    count::push(u64::from(class.version), out);
    // A hash is eight bytes that no compression makes shorter: in a small save of many classes, a tenth of the bytes.
    let id = Some(class.id).filter(|id| *id != ClassId::from_name(&class.name));
    let push_form = |form: u8, out: &mut Vec<u8>| {
        let bit = |is_set: bool, bit: u8| if is_set { bit } else { 0 };
        out.push(form | bit(id.is_some(), OWN_ID) | bit(class.since.is_some(), SINCE));
        id.into_iter().for_each(|id| out.extend_from_slice(&id.0.to_le_bytes()));
        class.since.into_iter().for_each(|since| count::push(u64::from(since), out));
    };
    match &class.form {
        Form::Struct(fields) => {
            push_form(FORM_STRUCT, out);
            write_fields(fields, number, out);
        }
        Form::Enum(variants) => {
            push_form(FORM_ENUM, out);
            count::push(variants.len() as u64, out);
            for variant in variants {
                write_text(&variant.name, out);
                write_fields(&variant.fields, number, out);
            }
        }
        Form::Value(kind) => {
            push_form(FORM_VALUE, out);
            write_kind(kind, number, out);
        }
    }
}

fn write_text(text: &str, out: &mut Vec<u8>) {
    count::push(text.len() as u64, out);
    out.extend_from_slice(text.as_bytes());
}

fn write_fields(fields: &[FieldSchema], number: NumberOf<'_>, out: &mut Vec<u8>) {
    count::push(fields.len() as u64, out);
    for field in fields {
        write_text(&field.name, out);
        out.push(if field.id.is_some() { FIELD_ID } else { 0 });
        field.id.into_iter().for_each(|id| count::push(u64::from(id), out));
        write_kind(&field.kind, number, out);
    }
}

fn write_kind(kind: &KindSchema, number: NumberOf<'_>, out: &mut Vec<u8>) {
    let holder_code = |holder: Holder, weak: bool| holder.code() | if weak { WEAK } else { 0 };
    match kind {
        KindSchema::Option(_) => out.push(OPTION),
        KindSchema::List(_) => out.push(LIST),
        KindSchema::Set(_) => out.push(SET),
        KindSchema::Map(_) => out.push(MAP),
        KindSchema::Array(_, len) => {
            out.push(ARRAY);
            count::push(*len as u64, out);
        }
        KindSchema::Tuple(parts) => {
            out.push(TUPLE);
            count::push(parts.len() as u64, out);
        }
        KindSchema::Class(class) => {
            out.push(CLASS);
            count::push(number(*class, None), out);
        }
        KindSchema::Reference { holder, weak, class } => {
            out.extend([REFERENCE, holder_code(*holder, *weak)]);
            count::push(number(*class, Some(*holder)), out);
        }
        KindSchema::Dynamic(name) => {
            out.push(DYNAMIC);
            write_text(name, out);
        }
        KindSchema::TraitReference { holder, weak, name } => {
            out.extend([TRAIT_REFERENCE, holder_code(*holder, *weak)]);
            write_text(name, out);
        }
        KindSchema::Handle(name) => {
            out.push(HANDLE);
            write_text(name, out);
        }
        KindSchema::Unknown => out.push(UNKNOWN),
        KindSchema::Compact(integer) => out.extend([COMPACT, scalar_tag(&(*integer).into())]),
        scalar => out.push(scalar_tag(scalar)),
    }
    kind.parts().iter().for_each(|part| write_kind(part, number, out));
}

fn scalar_tag(scalar: &KindSchema) -> u8 {
    let is_match = |kind: &KindSchema| discriminant(kind) == discriminant(scalar);
    let tag = SCALARS.iter().position(is_match).unwrap_or_default();
    u8::try_from(tag).unwrap_or_default()
}

/// Reads a definition from its body, which ends at offset `end` of the save. Class numbers become indices, which the
/// caller checks.
pub(super) fn read(body: &[u8], end: usize, limits: &Limits) -> Result<ClassSchema> {
    let mut links = NoLinks::default();
    let env = Env::bare(limits);
    let mut input = Decoder::new(body, &env, &mut links);
    let mut name = String::new();
    let result = read_class(&mut input, &mut name);
    let at = end - input.rest().len();
    let error = match result {
        Ok(class) if input.rest().is_empty() => return Ok(class),
        Ok(_) => damaged(at, "a definition is longer than its content"),
        // The unknown number is the last byte that was read.
        Err(error) if error.kind() == ErrorKind::UnknownKind => {
            let (subject, dot, field) = match error.field() {
                Some(field) => ("field", ".", field),
                None => ("class", "", ""),
            };
            let message = format!(
                "the save describes {subject} {name}{dot}{field} by {}, which this version of the library does not know; load it with a newer version of the program",
                error.message()
            );
            error.reworded(message).at(at.saturating_sub(1) as u64)
        }
        Err(error) => damaged(at, &format!("a definition is malformed ({})", error.message()))
            .in_field(error.field().unwrap_or_default()),
    };
    Err(if name.is_empty() { error } else { error.in_class(name) })
}

/// Returns the error for a violated rule of the format.
fn bad(rule: impl Into<String>) -> Error {
    Error::new(ErrorKind::Damaged, rule)
}

/// Returns the error for a number that this library does not know.
fn unknown(what: &str, tag: u8) -> Error {
    error!(ErrorKind::UnknownKind, "{what} {tag:#x}")
}

fn read_class(input: &mut Decoder<'_>, name: &mut String) -> Result<ClassSchema> {
    *name = input.value::<String>()?;
    let version = u32::try_from(count::decode(input)?)
        .ok()
        .filter(|version| *version > 0)
        .ok_or_else(|| bad("the version of a class is 0 or over 4294967295"))?;
    let tag = input.value::<u8>()?;
    let form = tag & !(SINCE | OWN_ID);
    if !matches!(form, FORM_STRUCT | FORM_ENUM | FORM_VALUE) {
        return Err(unknown("form", tag));
    }
    let id = read_id(name, tag & OWN_ID != 0, input)?;
    let since = match tag & SINCE {
        0 => None,
        _ => Some(read_since(version, input)?),
    };
    let form = match form {
        FORM_STRUCT => Form::Struct(read_fields(input)?),
        FORM_ENUM => {
            let count = elements(input)?;
            if count == 0 || count > 1 << 16 {
                return Err(bad(format!("an enum has {count} variants, not 1 to 65536")));
            }
            let mut variants = Vec::new();
            for _ in 0..count {
                let name = input.value::<String>()?;
                let fields = read_fields(input).map_err(|error| error.in_field(&name))?;
                variants.push(VariantSchema { name, fields });
            }
            unique("variants", variants.iter().map(|variant| &variant.name))?;
            Form::Enum(variants)
        }
        _ => Form::Value(read_kind(input, KIND_DEPTH)?),
    };
    Ok(ClassSchema { id, name: name.clone(), version, since, form })
}

/// Reads the id of a class of this name, if it `is_stored`.
fn read_id(name: &str, is_stored: bool, input: &mut Decoder<'_>) -> Result<ClassId> {
    let by_name = ClassId::from_name(name);
    if !is_stored {
        return Ok(by_name);
    }
    let id = ClassId(input.value()?);
    if id == by_name {
        return Err(bad("the id of a class is stored, and is the hash of its name"));
    }
    Ok(id)
}

/// Reads the lowest version that may read a class of this version.
fn read_since(version: u32, input: &mut Decoder<'_>) -> Result<u32> {
    let since = count::decode(input)?;
    let since = u32::try_from(since).ok().filter(|since| (1..=version).contains(since));
    since.ok_or_else(|| bad("the lowest version that may read a class is 0 or over its own"))
}

/// Reads a count of elements that take at least one byte each. So a count that exceeds the bytes left is malformed.
fn elements(input: &mut Decoder<'_>) -> Result<usize, Fail> {
    let count = input.count()?;
    if count > input.rest().len() { Err(Fail::Count) } else { Ok(count) }
}

fn read_fields(input: &mut Decoder<'_>) -> Result<Vec<FieldSchema>> {
    let mut fields = Vec::new();
    for _ in 0..elements(input)? {
        let name = input.value::<String>()?;
        let (id, kind) = read_field(input).map_err(|error| error.in_field(&name))?;
        fields.push(FieldSchema { name, id, kind });
    }
    unique("fields", fields.iter().map(|field| &field.name))?;
    Ok(fields)
}

/// Reads the number and kind of a field, which follow its name.
fn read_field(input: &mut Decoder<'_>) -> Result<(Option<u32>, KindSchema)> {
    let id = match input.value::<u8>()? {
        0 => None,
        FIELD_ID => {
            let id = count::decode(input)?;
            let over = |_| bad(format!("the number of a field is {id}, over 4294967295"));
            Some(u32::try_from(id).map_err(over)?)
        }
        tag => return Err(unknown("flags", tag)),
    };
    Ok((id, read_kind(input, KIND_DEPTH)?))
}

fn unique<'n>(what: &str, names: impl Iterator<Item = &'n String>) -> Result<()> {
    let mut seen = HashSet::new();
    for name in names {
        if !seen.insert(name) {
            return Err(bad(format!("two {what} have one name")).in_field(name));
        }
    }
    Ok(())
}

fn read_kind(input: &mut Decoder<'_>, depth: u32) -> Result<KindSchema> {
    let depth = depth
        .checked_sub(1)
        .ok_or_else(|| bad(format!("kinds are nested deeper than {KIND_DEPTH}")))?;
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
            let mut parts = Vec::new();
            for _ in 0..elements(input)? {
                parts.push(read_kind(input, depth)?);
            }
            KindSchema::Tuple(parts.into())
        }
        tag => return read_named(tag, input),
    })
}

/// Reads the rest of a kind without kinds inside. It is a separate function because kinds are read recursively: its
/// local variables would take stack at each level.
#[inline(never)]
fn read_named(tag: u8, input: &mut Decoder<'_>) -> Result<KindSchema> {
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
            let is_match = |integer: &Integer| scalar_tag(&(*integer).into()) == tag;
            let integer = Integer::ALL.into_iter().find(is_match);
            KindSchema::Compact(integer.ok_or_else(|| unknown("a compact kind", tag))?)
        }
        tag => return Err(unknown("kind", tag)),
    })
}

/// Reads the holder of a reference, and whether it is weak.
fn read_holder(input: &mut Decoder<'_>) -> Result<(Holder, bool)> {
    let code = input.value::<u8>()?;
    match Holder::from_code(code & !WEAK).filter(|holder| holder.parts().is_some()) {
        Some(holder) => Ok((holder, code & WEAK != 0)),
        None => Err(unknown("a reference in holder", code)),
    }
}

/// Reads a class number as an index. Numbers in a file begin with 1.
fn class_index(input: &mut Decoder<'_>) -> Result<usize> {
    input.count()?.checked_sub(1).ok_or_else(|| bad("a kind is of class number 0"))
}

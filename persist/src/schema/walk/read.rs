//! Stored bytes as values without their types.
//!
//! With an explicit stack, and bounded by [`levels`](crate::value::levels) all the same: a tree
//! is dropped by recursion.

use std::mem::size_of;
use std::sync::Arc;

use super::{Budget, Checks, Walk};
use crate::codec::{Decoder, Fail, NoLinks, count};
use crate::env::Env;
use crate::reflect::Integer;
use crate::schema::{
    FieldSchema, Form, FrameParts, KindSchema, Stored, WalkFrame, fault, is_key, surplus,
};
use crate::value::{Field, HandleValue, Inspection, Origin, Record, Seen, Value};
use crate::{Error, ErrorKind, Limits, ObjectId, Persist, Result};

/// Bytes that the trees of a save may always take.
const FREE_MEMORY: u64 = 64 << 20;

/// How many times [`Limits::expansion`] trees may take: a byte may become a record of its own,
/// with a field.
const TIMES_EXPANSION: u64 = 4;

/// Reads values of one save; keeps what they have in common.
pub struct Reader {
    /// For each class, where one of its values was read.
    names: Vec<Option<Arc<RecordNames>>>,
    /// For each class with conversions that are due, what notes that a migration reads its records.
    inspections: Vec<Option<Arc<Inspection>>>,
    /// Counts elements without bytes, over the whole save.
    budget: Budget,
    /// Bytes that trees may still take, and those that they could take.
    room: u64,
    max: u64,
}

impl Reader {
    /// The allowance for a save, or a record, of this many bytes.
    pub fn new(limits: &Limits, bytes: u64) -> Self {
        let mut reader = Self {
            names: Vec::new(),
            inspections: Vec::new(),
            budget: Budget::BUILT,
            room: 0,
            max: 0,
        };
        reader.allow(limits, bytes);
        reader
    }

    /// Notes what migrations read of the records of these classes, from now on.
    pub(in crate::schema) fn inspect(&mut self, inspections: Vec<Option<Arc<Inspection>>>) {
        self.inspections = inspections;
    }

    /// Continues with values of other classes.
    pub fn forget_classes(&mut self) {
        self.names.clear();
    }

    /// Allows as much memory as `bytes` bytes of a save may take, from now on.
    pub fn allow(&mut self, limits: &Limits, bytes: u64) {
        let times = limits.expansion.saturating_mul(TIMES_EXPANSION);
        self.max = bytes.saturating_mul(times).max(FREE_MEMORY);
        self.room = self.max;
    }

    /// Reads the payload of a record of a stored class.
    ///
    /// # Errors
    ///
    /// Returns an error if the bytes are no value of the class.
    pub fn payload(
        &mut self,
        stored: &Stored,
        class: usize,
        payload: &[u8],
        limits: &Limits,
    ) -> Result<Value> {
        let numbers = stored.page_numbers(class, payload)?;
        self.in_page(stored, stored.root(class), (payload, numbers.as_deref()), limits)
    }

    /// Reads a value of a stored kind, by its node; the bytes are those of the value.
    ///
    /// # Errors
    ///
    /// Returns an error if the bytes are no value of the class.
    pub fn whole(
        &mut self,
        stored: &Stored,
        node: usize,
        payload: &[u8],
        limits: &Limits,
    ) -> Result<Value> {
        self.in_page(stored, node, (payload, None), limits)
    }

    fn in_page(
        &mut self,
        stored: &Stored,
        node: usize,
        (payload, numbers): (&[u8], Option<&[u64]>),
        limits: &Limits,
    ) -> Result<Value> {
        let mut links = NoLinks::default();
        let env = Env::bare(limits);
        let mut input = Decoder::new(payload, &env, &mut links).in_page(numbers);
        let result = self.value(stored, node, &mut input);
        let left = input.rest().len();
        let result = match result {
            Ok(_) if left > 0 => Err(surplus(left)),
            result => result,
        };
        result.map_err(|error| error.at((payload.len() - left) as u64))
    }

    /// Reads a value of a stored kind, by its node.
    pub(in crate::schema) fn value(
        &mut self,
        stored: &Stored,
        node: usize,
        input: &mut Decoder<'_>,
    ) -> Result<Value> {
        let mut walk = Walk::new(stored, input, Checks::Each);
        walk.budget = self.budget;
        let value = self.parts(&mut walk, stored, node, input);
        self.budget = walk.budget;
        value.map_err(|error| error.in_field(&walk.path()))
    }

    /// Reads a value, whose open parts are on a stack of their own.
    fn parts<'d>(
        &mut self,
        walk: &mut Walk<'_, 'd>,
        stored: &Stored,
        mut node: usize,
        input: &mut Decoder<'d>,
    ) -> Result<Value> {
        let mut open: Vec<PartialValue> = Vec::new();
        loop {
            let previous = input.rest();
            if stored.node(node).kind.has_parts() {
                let step = walk.step(node, input, &mut |_, _, _| true);
                node = step.map_err(|fail| walk.error(fail, input))?;
            }
            let mut whole = None;
            if let Some(last) = walk.open.get(open.len()) {
                open.push(PartialValue::new(self, stored, node, last)?);
            } else {
                input.go_back(previous);
                whole = Some(leaf(&stored.node(node).kind, input).map_err(fault)?);
            }
            let next = walk.next(input).map_err(|fail| walk.error(fail, input))?;
            loop {
                if let Some(part) = whole {
                    let Some(last) = open.last_mut() else { return Ok(part) };
                    last.put(part, self)?;
                }
                // The walk has closed the frames above, so their values are complete.
                if open.len() <= walk.open.len() {
                    break;
                }
                whole = open.pop().map(PartialValue::whole);
            }
            node = next.ok_or_else(|| fault(Fail::Value))?;
        }
    }

    /// Allows all values that were read so far as much memory as `bytes` bytes of a save may take.
    pub(crate) fn allow_in_all(&mut self, limits: &Limits, bytes: u64) {
        let used = self.max - self.room;
        self.allow(limits, bytes);
        self.room = self.max.saturating_sub(used);
    }

    /// The names in values of a class, which these share.
    pub(in crate::schema) fn names(&mut self, stored: &Stored, class: usize) -> Arc<RecordNames> {
        if self.names.len() <= class {
            self.names.resize(stored.len(), None);
        }
        self.names[class].get_or_insert_with(|| Arc::new(RecordNames::new(stored, class))).clone()
    }

    /// Counts the memory of values, and other work on them as if it were memory.
    pub(crate) fn charge(&mut self, count: usize, size: usize) -> Result<()> {
        let bytes = (count as u64).saturating_mul(size as u64);
        match self.room.checked_sub(bytes) {
            Some(room) => {
                self.room = room;
                Ok(())
            }
            None => Err(too_large(self.max)),
        }
    }
}

pub(in crate::schema) struct RecordNames {
    class: Arc<str>,
    /// The variants of an enum; a struct has one without a name.
    pub variants: Vec<VariantNames>,
}

pub(in crate::schema) struct VariantNames {
    name: Option<Arc<str>>,
    /// With their numbers.
    pub fields: Vec<(Arc<str>, Option<u32>)>,
}

impl RecordNames {
    fn new(stored: &Stored, class: usize) -> Self {
        let names = |name: Option<&str>, fields: &[FieldSchema]| VariantNames {
            name: name.map(Into::into),
            fields: fields.iter().map(|field| ((&*field.name).into(), field.id)).collect(),
        };
        let variants = match &stored[class].form {
            Form::Struct(fields) => vec![names(None, fields)],
            Form::Enum(variants) => {
                variants.iter().map(|it| names(Some(&it.name), &it.fields)).collect()
            }
            Form::Value(_) => Vec::new(),
        };
        Self { class: (&*stored[class].name).into(), variants }
    }
}

/// A value whose parts are being read, and those that are.
enum PartialValue {
    Option(Option<Value>),
    Seq {
        /// How many are known to have bytes that are there; they are charged.
        sure: usize,
        values: Vec<Value>,
        /// Bytes that each takes here.
        size: usize,
    },
    Map {
        entries: Vec<(Value, Value)>,
        /// The key whose value is next.
        key: Option<Value>,
    },
    Tuple(Vec<Value>),
    Fields {
        names: Arc<RecordNames>,
        variant: usize,
        record: Record,
    },
    /// The record of a trait object whose class is a bare value.
    Bare(Record),
}

impl PartialValue {
    /// A value that a walk has opened.
    fn new(reader: &mut Reader, stored: &Stored, node: usize, frame: &WalkFrame) -> Result<Self> {
        let kind = &stored.node(node).kind;
        // Not more than there are bytes, or than fit into memory.
        let count = usize::try_from(frame.count).unwrap_or(usize::MAX);
        Ok(match (kind, frame.parts) {
            (KindSchema::Class(class), FrameParts::Fields) => {
                let (names, variant) = (reader.names(stored, *class), frame.variant());
                let own = names.variants.get(variant).ok_or_else(|| fault(Fail::Value))?;
                reader.charge(count, size_of::<Field>())?;
                let mut record = Record::new(names.class.clone());
                record.variant.clone_from(&own.name);
                record.fields = Vec::with_capacity(count);
                record.set_origin(Some(*class));
                record.version = stored[*class].version;
                record.inspection = reader.inspections.get(*class).cloned().flatten();
                Self::Fields { names, variant, record }
            }
            (KindSchema::Class(class), _) => {
                // No library writes one. It would lose its class, so that it becomes a field.
                let mut record = Record::new(reader.names(stored, *class).class.clone());
                record.set_origin(Some(*class));
                Self::Bare(record)
            }
            (KindSchema::Option(_), _) => {
                reader.charge(1, size_of::<Value>())?;
                Self::Option(None)
            }
            (KindSchema::Map(_), _) => Self::Map { entries: Vec::new(), key: None },
            (KindSchema::Tuple(_), _) => {
                reader.charge(count, size_of::<Value>())?;
                Self::Tuple(Vec::with_capacity(count))
            }
            _ => {
                let has_bytes = stored.node(frame.first()).size.min > 0;
                let is_sure = has_bytes && !matches!(kind, KindSchema::Array(..));
                let is_set = matches!(kind, KindSchema::Set(_));
                let sure = if is_sure { count } else { 0 };
                let size = size_of::<Value>() + if is_set { size_of::<&[u8]>() } else { 0 };
                // The walk counts elements without bytes.
                let size = if has_bytes { size } else { 0 };
                reader.charge(sure, size)?;
                Self::Seq { sure, values: Vec::with_capacity(sure), size }
            }
        })
    }

    /// Adds the next part.
    fn put(&mut self, part: Value, reader: &mut Reader) -> Result<()> {
        match self {
            Self::Option(value) => *value = Some(part),
            Self::Seq { sure, values, size } => {
                if values.len() >= *sure {
                    reader.charge(1, *size)?;
                }
                values.push(part);
            }
            Self::Map { key: key @ None, .. } => *key = Some(part),
            Self::Map { entries, key } => {
                reader.charge(1, 2 * size_of::<Value>() + size_of::<&[u8]>())?;
                entries.extend(key.take().map(|key| (key, part)));
            }
            Self::Tuple(values) => values.push(part),
            Self::Fields { names, variant, record } => {
                let (place, own) = (record.len(), &names.variants[*variant]);
                let (name, number) = own.fields[place].clone();
                let place = Some(place);
                record.fields.push(Field {
                    name,
                    number,
                    value: part,
                    origin: Origin::Written,
                    since: 0,
                    place,
                    seen: Seen::default(),
                });
            }
            Self::Bare(record) => record.push("", part),
        }
        Ok(())
    }

    /// The value, when all of its parts are there.
    fn whole(self) -> Value {
        match self {
            Self::Option(value) => Value::Option(value.map(Box::new)),
            Self::Seq { values, .. } => Value::Seq(values),
            Self::Map { entries, .. } => Value::Map(entries),
            Self::Tuple(values) => Value::Tuple(values),
            Self::Fields { record, .. } => Value::from(record),
            Self::Bare(record) => Value::Struct(record),
        }
    }
}

/// Reads a value that a walk has taken in one step.
#[inline(never)]
fn leaf(kind: &KindSchema, input: &mut Decoder<'_>) -> Result<Value, Fail> {
    Ok(match kind {
        KindSchema::Bool => Value::Bool(input.value()?),
        KindSchema::Char => Value::Char(input.value()?),
        KindSchema::U8 => Value::U8(input.value()?),
        KindSchema::U16 => Value::U16(input.value()?),
        KindSchema::U32 => Value::U32(input.value()?),
        KindSchema::U64 => Value::U64(input.value()?),
        KindSchema::U128 => Value::U128(input.value()?),
        KindSchema::I8 => Value::I8(input.value()?),
        KindSchema::I16 => Value::I16(input.value()?),
        KindSchema::I32 => Value::I32(input.value()?),
        KindSchema::I64 => Value::I64(input.value()?),
        KindSchema::I128 => Value::I128(input.value()?),
        KindSchema::F32 => Value::F32(input.value()?),
        KindSchema::F64 => Value::F64(input.value()?),
        KindSchema::Compact(Integer::U16) => Value::U16(Persist::__decode_compact(input)?),
        KindSchema::Compact(Integer::U32) => Value::U32(Persist::__decode_compact(input)?),
        KindSchema::Compact(Integer::U64) => Value::U64(Persist::__decode_compact(input)?),
        KindSchema::Compact(Integer::I16) => Value::I16(Persist::__decode_compact(input)?),
        KindSchema::Compact(Integer::I32) => Value::I32(Persist::__decode_compact(input)?),
        KindSchema::Compact(Integer::I64) => Value::I64(Persist::__decode_compact(input)?),
        KindSchema::Text => Value::Text(input.value()?),
        KindSchema::Reference { .. } | KindSchema::TraitReference { .. } => {
            Value::Ref(ObjectId::new(count::decode(input)?))
        }
        KindSchema::Handle(arena) => {
            let previous = input.rest();
            Value::Handle(match (input.value()?, input.value()?) {
                (0_u8, 0) => HandleValue::Null,
                (1, bits) if is_key(arena, bits) => HandleValue::Live(bits),
                (2, bits) => HandleValue::Dead(bits),
                _ => {
                    input.go_back(previous);
                    return Err(Fail::Value);
                }
            })
        }
        KindSchema::Option(_) => {
            input.value::<bool>()?;
            Value::Option(None)
        }
        // Of bytes; any other would have been opened.
        KindSchema::List(_) | KindSchema::Set(_) => {
            let count = input.count()?;
            Value::Bytes(input.take(count)?.to_vec())
        }
        KindSchema::Array(_, len) => Value::Bytes(input.take(*len)?.to_vec()),
        _ => Value::Unit,
    })
}

#[cold]
fn too_large(max: u64) -> Error {
    Error::new(
        ErrorKind::TooLarge,
        format!(
            "the values of the save take over {max} bytes without their types, the limit for a save of its size; raise `Limits::expansion`"
        ),
    )
}

//! Stored bytes as values without their types.
//!
//! With an explicit stack, and bounded by [`levels`](crate::value::levels) all the same: a tree
//! is dropped by recursion.

use std::mem::size_of;
use std::sync::Arc;

use super::walk::{WalkFrame, check_count, dynamic, fault, left_behind, path, tag};
use super::{FieldSchema, Form, KindSchema, Stored};
use crate::codec::{Decoder, Fail, LoadLinks, NoLinks, count};
use crate::env::Env;
use crate::reflect::Integer;
use crate::types::{Arena as _, WorldObjects};
use crate::value::{Field, HandleValue, Origin, Record, Value, levels, too_deep};
use crate::{Error, ErrorKind, Limits, ObjectId, Result};

/// Bytes that the trees of a save may always take.
const FREE_MEMORY: u64 = 64 << 20;

/// How many times [`Limits::expansion`] trees may take: a byte may become a record of its own,
/// with a field.
const TIMES_EXPANSION: u64 = 4;

/// Reads values of one save; keeps what they have in common.
pub(crate) struct Reader {
    /// For each class, where one of its values was read.
    names: Vec<Option<Arc<RecordNames>>>,
    /// Counts elements without bytes, over the whole save.
    empty: NoLinks,
    /// Bytes that trees may still take, and those that they could take.
    room: u64,
    most: u64,
}

impl Reader {
    /// The allowance for a save, or a record, of this many bytes.
    pub(crate) fn new(limits: &Limits, bytes: u64) -> Self {
        let mut reader = Self { names: Vec::new(), empty: NoLinks::default(), room: 0, most: 0 };
        reader.allow(limits, bytes);
        reader
    }

    /// Continues with values of other classes.
    pub(crate) fn forget_classes(&mut self) {
        self.names.clear();
    }

    /// Allows as much memory as `bytes` bytes of a save may take, from now on.
    pub(crate) fn allow(&mut self, limits: &Limits, bytes: u64) {
        let times = limits.expansion.saturating_mul(TIMES_EXPANSION);
        self.most = bytes.saturating_mul(times).max(FREE_MEMORY);
        self.room = self.most;
    }

    /// Reads the payload of a record of a stored class.
    pub(crate) fn payload(
        &mut self,
        stored: &Stored,
        class: usize,
        payload: &[u8],
        limits: &Limits,
    ) -> Result<Value> {
        self.whole(stored, stored.root(class), payload, limits)
    }

    /// Reads a value of a stored kind, by its node; the bytes are those of the value.
    pub(crate) fn whole(
        &mut self,
        stored: &Stored,
        node: usize,
        payload: &[u8],
        limits: &Limits,
    ) -> Result<Value> {
        let mut links = NoLinks::default();
        let env = Env::bare(limits);
        let mut input = Decoder::new(payload, &env, &mut links);
        let result = self.value(stored, node, &mut input);
        let left = input.rest().len();
        let result = match result {
            Ok(_) if left > 0 => Err(left_behind(left)),
            result => result,
        };
        result.map_err(|error| error.at((payload.len() - left) as u64))
    }

    /// Reads a value of a stored kind, by its node.
    pub(super) fn value(
        &mut self,
        stored: &Stored,
        node: usize,
        input: &mut Decoder<'_>,
    ) -> Result<Value> {
        let mut open = Vec::new();
        let value = ValueReader { reader: self, stored, input }.parts(node, &mut open);
        value.map_err(|error| error.in_field(&path(open.iter().map(|open| &open.frame))))
    }

    /// Allows all values that were read so far as much memory as `bytes` bytes of a save may take.
    pub(crate) fn allow_in_all(&mut self, limits: &Limits, bytes: u64) {
        let used = self.most - self.room;
        self.allow(limits, bytes);
        self.room = self.most.saturating_sub(used);
    }

    /// The names in values of a class, which these share.
    pub(super) fn names(&mut self, stored: &Stored, class: usize) -> Arc<RecordNames> {
        if self.names.len() <= class {
            self.names.resize(stored.len(), None);
        }
        self.names[class].get_or_insert_with(|| Arc::new(RecordNames::of(stored, class))).clone()
    }

    /// Counts the memory of values, and other work on them as if it were memory.
    pub(crate) fn charge(&mut self, count: usize, size: usize) -> Result<()> {
        let bytes = (count as u64).saturating_mul(size as u64);
        match self.room.checked_sub(bytes) {
            Some(room) => {
                self.room = room;
                Ok(())
            }
            None => Err(too_large(self.most)),
        }
    }
}

pub(super) struct RecordNames {
    class: Arc<str>,
    /// Of a struct one, without a name.
    pub(super) variants: Vec<VariantNames>,
}

pub(super) struct VariantNames {
    name: Option<Arc<str>>,
    /// With their numbers.
    pub(super) fields: Vec<(Arc<str>, Option<u32>)>,
}

impl RecordNames {
    fn of(stored: &Stored, class: usize) -> Self {
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

/// A value that is being read.
struct ValueReader<'r, 'i, 'd> {
    reader: &'r mut Reader,
    stored: &'r Stored,
    input: &'i mut Decoder<'d>,
}

impl<'r, 'd> ValueReader<'r, '_, 'd> {
    fn read_compact<T: crate::Persist>(&mut self) -> Result<T> {
        T::__decode_compact(self.input).map_err(fault)
    }

    fn read<T: crate::Persist>(&mut self) -> Result<T> {
        self.input.value().map_err(fault)
    }

    /// Reads a value. What is open is on a stack of its own: a value may nest deeper than the
    /// calls of a small thread.
    fn parts(&mut self, node: usize, open: &mut Vec<ReadFrame<'r, 'd>>) -> Result<Value> {
        let mut whole = self.begin(node, open)?;
        loop {
            let Some(last) = open.last_mut() else {
                // A value is whole, or open.
                return whole.ok_or_else(|| fault(Fail::Value));
            };
            if let Some(part) = whole.take() {
                last.put(part, self)?;
            }
            last.before = self.input.rest();
            whole = match last.frame.next() {
                Some(part) => self.begin(part, open)?,
                None => open.pop().map(ReadFrame::whole).transpose()?,
            };
        }
    }

    /// Reads a value without parts, or opens one whose parts are next.
    fn begin(
        &mut self,
        mut node: usize,
        open: &mut Vec<ReadFrame<'r, 'd>>,
    ) -> Result<Option<Value>> {
        let stored = self.stored;
        let (kind, first) = loop {
            let (kind, first) = (&stored.node(node).kind, stored.node(node).first());
            match kind {
                KindSchema::Class(class) if matches!(stored[*class].form, Form::Value(_)) => {
                    node = stored.first(*class, 0);
                }
                _ => break (kind, first),
            }
        };
        if !kind.has_parts() {
            return self.scalar(kind).map(Some);
        }
        if open.len() >= levels(self.input.limits()) {
            return Err(too_deep(self.input.limits()));
        }
        let least = |node: usize| stored.node(node).size.least;
        let (frame, partial) = match kind {
            KindSchema::Class(class) => self.class(*class)?,
            KindSchema::Dynamic(_) => self.dynamic()?,
            KindSchema::Option(_) => {
                if !self.read::<bool>()? {
                    return Ok(Some(Value::Option(None)));
                }
                self.reader.charge(1, size_of::<Value>())?;
                (WalkFrame::One(Some(first)), PartialValue::Option(None))
            }
            KindSchema::List(part) | KindSchema::Set(part) => {
                let count = self.count(least(first))?;
                let is_set = matches!(kind, KindSchema::Set(_));
                if **part == KindSchema::U8 && count > 0 {
                    return self.bytes(count, is_set).map(Some);
                }
                let sure = if least(first) == 0 { 0 } else { count };
                self.elements(first, count, sure, is_set)?
            }
            KindSchema::Map(_) => {
                let count = self.count(least(first).saturating_add(least(first + 1)))? as u64;
                let frame = WalkFrame::Entries { key: first, next: 0, count };
                (frame, PartialValue::Map { entries: Vec::new(), key: None, seen: Vec::new() })
            }
            KindSchema::Array(part, len) if **part == KindSchema::U8 && *len > 0 => {
                return self.bytes(*len, false).map(Some);
            }
            KindSchema::Array(_, len) => self.elements(first, *len, 0, false)?,
            KindSchema::Tuple(parts) => {
                let len = parts.len();
                self.reader.charge(len, size_of::<Value>())?;
                (
                    WalkFrame::Parts { first, len, next: 0 },
                    PartialValue::Tuple(Vec::with_capacity(len)),
                )
            }
            // Parts that a program did not have: a list of trait objects.
            _ => {
                let count = self.count(1)?;
                self.elements(first, count, count, false)?
            }
        };
        open.push(ReadFrame { frame, partial, before: self.input.rest() });
        Ok(None)
    }

    /// Reads a count of elements of at least `least` bytes each.
    fn count(&mut self, least: u32) -> Result<usize> {
        let count = count::decode(self.input).map_err(fault)?;
        check_count(count, u64::from(least), self.input).map_err(fault)?;
        usize::try_from(count).map_err(|_| fault(Fail::Count))
    }

    fn bytes(&mut self, count: usize, is_set: bool) -> Result<Value> {
        let bytes = self.input.take(count).map_err(fault)?;
        if is_set {
            self.reader.charge(count, size_of::<&[u8]>())?;
            check_different(bytes.chunks(1).collect())?;
        }
        Ok(Value::Bytes(bytes.to_vec()))
    }

    /// Opens elements; the bytes of `sure` of them are known to be present.
    fn elements(
        &mut self,
        part: usize,
        count: usize,
        sure: usize,
        is_set: bool,
    ) -> Result<(WalkFrame<'r>, PartialValue<'d>)> {
        self.reader.charge(sure, size_of::<Value>())?;
        let (values, seen) = (Vec::with_capacity(sure), is_set.then(Vec::new));
        let frame = WalkFrame::Elements { node: part, next: 0, count: count as u64 };
        Ok((frame, PartialValue::Seq { sure, values, seen }))
    }

    fn class(&mut self, class: usize) -> Result<(WalkFrame<'r>, PartialValue<'d>)> {
        let stored = self.stored;
        let (form, mut variant) = (&stored[class].form, 0);
        if form.tag_width() > 0 {
            variant = tag(form, self.input).map_err(fault)?;
        }
        let names = self.reader.names(stored, class);
        let own = names.variants.get(variant).ok_or_else(|| fault(Fail::Value))?;
        let (fields, first) = (stored.fields(class, variant), stored.first(class, variant));
        self.reader.charge(fields.len(), size_of::<Field>())?;
        let record = Record {
            class: names.class.clone(),
            variant: own.name.clone(),
            fields: Vec::with_capacity(fields.len()),
            origin: Some(class),
        };
        let frame = WalkFrame::Fields { fields, first, next: 0 };
        Ok((frame, PartialValue::Fields { names, variant, record }))
    }

    /// Opens a trait object: the record of its class.
    fn dynamic(&mut self) -> Result<(WalkFrame<'r>, PartialValue<'d>)> {
        let class = dynamic(self.stored, self.input).map_err(fault)?;
        if let Form::Value(_) = self.stored[class].form {
            // No library writes one. It would lose its class, so that it becomes a field.
            let mut record = Record::new(self.reader.names(self.stored, class).class.clone());
            record.origin = Some(class);
            return Ok((WalkFrame::One(Some(self.stored.root(class))), PartialValue::Bare(record)));
        }
        self.class(class)
    }

    /// Reads a value that no others lie in.
    #[inline(never)]
    fn scalar(&mut self, kind: &KindSchema) -> Result<Value> {
        Ok(match kind {
            KindSchema::Bool => Value::Bool(self.read()?),
            KindSchema::Char => Value::Char(self.read()?),
            KindSchema::U8 => Value::U8(self.read()?),
            KindSchema::U16 => Value::U16(self.read()?),
            KindSchema::U32 => Value::U32(self.read()?),
            KindSchema::U64 => Value::U64(self.read()?),
            KindSchema::U128 => Value::U128(self.read()?),
            KindSchema::I8 => Value::I8(self.read()?),
            KindSchema::I16 => Value::I16(self.read()?),
            KindSchema::I32 => Value::I32(self.read()?),
            KindSchema::I64 => Value::I64(self.read()?),
            KindSchema::I128 => Value::I128(self.read()?),
            KindSchema::F32 => Value::F32(self.read()?),
            KindSchema::F64 => Value::F64(self.read()?),
            KindSchema::Compact(integer) => match integer {
                Integer::U16 => Value::U16(self.read_compact()?),
                Integer::U32 => Value::U32(self.read_compact()?),
                Integer::U64 => Value::U64(self.read_compact()?),
                Integer::I16 => Value::I16(self.read_compact()?),
                Integer::I32 => Value::I32(self.read_compact()?),
                Integer::I64 => Value::I64(self.read_compact()?),
            },
            KindSchema::Text => Value::Text(self.read()?),
            KindSchema::Reference { .. } | KindSchema::TraitReference { .. } => {
                Value::Ref(ObjectId::new(count::decode(self.input).map_err(fault)?))
            }
            KindSchema::Handle(arena) => Value::Handle(self.handle(arena)?),
            _ => Value::Unit,
        })
    }

    fn handle(&mut self, arena: &str) -> Result<HandleValue> {
        let before = self.input.rest();
        let is_key =
            |bits: u64| arena != WorldObjects::NAME || WorldObjects::from_bits(bits).is_some();
        match (self.read::<u8>()?, self.read::<u64>()?) {
            (0, 0) => Ok(HandleValue::Null),
            (1, bits) if is_key(bits) => Ok(HandleValue::Live(bits)),
            (2, bits) => Ok(HandleValue::Dead(bits)),
            _ => {
                self.input.go_back(before);
                Err(fault(Fail::Value))
            }
        }
    }
}

/// Checks that no key of a map and no element of a set stands twice, by their bytes.
fn check_different(mut seen: Vec<&[u8]>) -> Result<()> {
    seen.sort_unstable();
    if seen.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err(fault(Fail::Duplicate));
    }
    Ok(())
}

/// A value some of whose parts are read.
struct ReadFrame<'r, 'd> {
    frame: WalkFrame<'r>,
    partial: PartialValue<'d>,
    /// What was left before the next part.
    before: &'d [u8],
}

/// What the parts of a value make, and those that are read.
enum PartialValue<'d> {
    Option(Option<Value>),
    Seq {
        /// How many are known to have bytes that are there; they are charged.
        sure: usize,
        values: Vec<Value>,
        /// The bytes of each element of a set.
        seen: Option<Vec<&'d [u8]>>,
    },
    Map {
        entries: Vec<(Value, Value)>,
        /// The key whose value is next.
        key: Option<Value>,
        /// The bytes of each key.
        seen: Vec<&'d [u8]>,
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

impl<'d> ReadFrame<'_, 'd> {
    /// Adds the next part.
    fn put(&mut self, part: Value, run: &mut ValueReader<'_, '_, 'd>) -> Result<()> {
        let bytes = &self.before[..self.before.len() - run.input.rest().len()];
        match &mut self.partial {
            PartialValue::Option(value) => *value = Some(part),
            PartialValue::Seq { sure, values, seen } => {
                if let Some(seen) = seen {
                    run.reader.charge(1, size_of::<&[u8]>())?;
                    seen.push(bytes);
                }
                if bytes.is_empty() {
                    LoadLinks::charge(&mut run.reader.empty, 1, 0, run.input.limits())?;
                } else if values.len() >= *sure {
                    run.reader.charge(1, size_of::<Value>())?;
                }
                values.push(part);
            }
            PartialValue::Map { key: key @ None, seen, .. } => {
                seen.push(bytes);
                *key = Some(part);
            }
            PartialValue::Map { entries, key, seen } => {
                if bytes.is_empty() && seen.last().is_some_and(|key| key.is_empty()) {
                    LoadLinks::charge(&mut run.reader.empty, 1, 0, run.input.limits())?;
                }
                run.reader.charge(1, 2 * size_of::<Value>() + size_of::<&[u8]>())?;
                entries.extend(key.take().map(|key| (key, part)));
            }
            PartialValue::Tuple(values) => values.push(part),
            PartialValue::Fields { names, variant, record } => {
                let (place, own) = (record.len(), &names.variants[*variant]);
                let (name, number) = own.fields[place].clone();
                let place = Some(place);
                record.fields.push(Field {
                    name,
                    number,
                    value: part,
                    origin: Origin::Written,
                    place,
                });
            }
            PartialValue::Bare(record) => record.push("", part),
        }
        Ok(())
    }

    /// The value, when all of its parts are there.
    fn whole(self) -> Result<Value> {
        Ok(match self.partial {
            PartialValue::Option(value) => Value::Option(value.map(Box::new)),
            PartialValue::Seq { values, seen, .. } => {
                check_different(seen.unwrap_or_default())?;
                Value::Seq(values)
            }
            PartialValue::Map { entries, seen, .. } => {
                check_different(seen)?;
                Value::Map(entries)
            }
            PartialValue::Tuple(values) => Value::Tuple(values),
            PartialValue::Fields { record, .. } => Value::from(record),
            PartialValue::Bare(record) => Value::Struct(record),
        })
    }
}

#[cold]
fn too_large(most: u64) -> Error {
    Error::new(
        ErrorKind::TooLarge,
        format!(
            "the values of the save take over {most} bytes without their types, the limit for a save of its size; raise `Limits::expansion`"
        ),
    )
}

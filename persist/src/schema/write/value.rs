use super::Target;
use super::shown::{short, shown};
use crate::codec::count;
use crate::schema::{ClassSchema, FieldSchema, Form, KindSchema};
use crate::value::{NESTING, Record, Value, too_deep};
use crate::{Error, ErrorKind, Result};

/// Appends a value as one of a class.
///
/// # Errors
///
/// With the path of the field, if something does not fit.
pub(crate) fn write_class(
    target: &mut dyn Target,
    classes: &[ClassSchema],
    class: usize,
    value: &Value,
    out: &mut Vec<u8>,
) -> Result<()> {
    Run { target, classes, out, depth: NESTING + 1 }.class(class, value)
}

/// Appends a value as one of a kind.
///
/// # Errors
///
/// With the path of the field, if something does not fit.
pub(crate) fn write_value(
    target: &mut dyn Target,
    classes: &[ClassSchema],
    kind: &KindSchema,
    value: &Value,
    out: &mut Vec<u8>,
) -> Result<()> {
    Run { target, classes, out, depth: NESTING + 1 }.value(kind, value)
}

pub(super) struct Run<'r> {
    pub(super) target: &'r mut dyn Target,
    classes: &'r [ClassSchema],
    pub(super) out: &'r mut Vec<u8>,
    depth: u32,
}

/// The parts of a value that has some, whatever it is.
enum Parts<'v> {
    Values(&'v [Value]),
    Bytes(&'v [u8]),
    /// Pairs of key and value.
    Entries(&'v [(Value, Value)]),
}

impl Parts<'_> {
    fn of(value: &Value) -> Option<Parts<'_>> {
        Some(match value {
            Value::Seq(values) | Value::Tuple(values) => Parts::Values(values),
            Value::Bytes(bytes) => Parts::Bytes(bytes),
            Value::Map(entries) => Parts::Entries(entries),
            _ => return None,
        })
    }

    fn len(&self) -> usize {
        match self {
            Self::Values(values) => values.len(),
            Self::Bytes(bytes) => bytes.len(),
            Self::Entries(entries) => entries.len(),
        }
    }
}

impl Run<'_> {
    fn value(&mut self, kind: &KindSchema, value: &Value) -> Result<()> {
        self.depth = self.depth.checked_sub(1).ok_or_else(too_deep)?;
        let result = match kind {
            KindSchema::Option(inner) => self.option(inner, value),
            KindSchema::List(part) => self.list(kind, part, value),
            KindSchema::Set(part) => self.set(kind, part, value),
            KindSchema::Array(part, len) => self.array(kind, part, *len, value),
            KindSchema::Tuple(parts) => self.tuple(kind, parts, value),
            KindSchema::Map(parts) => self.map(kind, parts, value),
            KindSchema::Class(class) => self.class(*class, value),
            KindSchema::Dynamic(_) => self.dynamic(kind, value),
            KindSchema::Unknown => self.unknown(kind, value),
            _ => self.scalar(kind, value),
        };
        self.depth += 1;
        result
    }

    #[inline(never)]
    fn option(&mut self, inner: &KindSchema, value: &Value) -> Result<()> {
        let value = match value {
            Value::Option(None) => {
                self.out.push(0);
                return Ok(());
            }
            Value::Option(Some(value)) => value,
            // What is there is present.
            value => value,
        };
        self.out.push(1);
        self.value(inner, value)
    }

    /// The parts of a value, of which there must be `wanted`, if that is given.
    fn parts<'v>(
        &self,
        kind: &KindSchema,
        wanted: Option<usize>,
        value: &'v Value,
    ) -> Result<Parts<'v>> {
        let Some(parts) = Parts::of(value) else { return Err(self.mismatch(kind, value)) };
        match wanted {
            Some(wanted) if wanted != parts.len() => {
                let (value, kind) = (shown(value), kind.display(self.classes));
                Err(Error::new(
                    ErrorKind::KindMismatch,
                    format!("the value is {value}, {kind} has {wanted} parts"),
                ))
            }
            _ => Ok(parts),
        }
    }

    #[inline(never)]
    fn list(&mut self, kind: &KindSchema, part: &KindSchema, value: &Value) -> Result<()> {
        let parts = self.parts(kind, None, value)?;
        count::push(parts.len() as u64, self.out);
        self.elements(part, &parts, &mut |_| {})
    }

    #[inline(never)]
    fn set(&mut self, kind: &KindSchema, part: &KindSchema, value: &Value) -> Result<()> {
        let parts = self.parts(kind, None, value)?;
        count::push(parts.len() as u64, self.out);
        let mut starts = Vec::with_capacity(parts.len());
        let first = self.out.len();
        self.elements(part, &parts, &mut |end| starts.push(end))?;
        let mut start = first;
        let ranges = starts.into_iter().map(|end| (std::mem::replace(&mut start, end), end));
        self.check_different(ranges.collect(), "an element")
    }

    #[inline(never)]
    fn array(
        &mut self,
        kind: &KindSchema,
        part: &KindSchema,
        len: usize,
        value: &Value,
    ) -> Result<()> {
        let parts = self.parts(kind, Some(len), value)?;
        self.elements(part, &parts, &mut |_| {})
    }

    /// Appends elements of one kind; `ended` is told where each ends.
    fn elements(
        &mut self,
        kind: &KindSchema,
        parts: &Parts<'_>,
        ended: &mut dyn FnMut(usize),
    ) -> Result<()> {
        if let (Parts::Bytes(bytes), KindSchema::U8) = (parts, kind) {
            let start = self.out.len() + 1;
            self.out.extend_from_slice(bytes);
            (start..start + bytes.len()).for_each(ended);
            return Ok(());
        }
        for i in 0..parts.len() {
            self.part(kind, parts, i).map_err(|error| error.in_element(i))?;
            ended(self.out.len());
        }
        Ok(())
    }

    fn part(&mut self, kind: &KindSchema, parts: &Parts<'_>, i: usize) -> Result<()> {
        match parts {
            Parts::Values(values) => self.value(kind, &values[i]),
            Parts::Bytes(bytes) => self.value(kind, &Value::U8(bytes[i])),
            Parts::Entries(entries) => {
                let (key, value) = &entries[i];
                let (KindSchema::Tuple(kinds), [first, second]) = (kind, [key, value]) else {
                    return Err(self.wanted("a key with its value", kind));
                };
                let [first_kind, second_kind] = &kinds[..] else {
                    return Err(self.wanted("a key with its value", kind));
                };
                self.value(first_kind, first).map_err(|error| error.in_field("0"))?;
                self.value(second_kind, second).map_err(|error| error.in_field("1"))
            }
        }
    }

    #[inline(never)]
    fn tuple(&mut self, kind: &KindSchema, kinds: &[KindSchema], value: &Value) -> Result<()> {
        if kinds.is_empty() && matches!(value, Value::Unit) {
            return Ok(());
        }
        let parts = self.parts(kind, Some(kinds.len()), value)?;
        for (i, kind) in kinds.iter().enumerate() {
            self.part(kind, &parts, i).map_err(|error| error.in_field(&i.to_string()))?;
        }
        Ok(())
    }

    #[inline(never)]
    fn map(
        &mut self,
        kind: &KindSchema,
        kinds: &(KindSchema, KindSchema),
        value: &Value,
    ) -> Result<()> {
        let parts = self.parts(kind, None, value)?;
        count::push(parts.len() as u64, self.out);
        let mut keys = Vec::with_capacity(parts.len());
        for i in 0..parts.len() {
            let (key, value) = match &parts {
                Parts::Entries(entries) => (&entries[i].0, &entries[i].1),
                Parts::Values(values) => match &values[i] {
                    Value::Tuple(pair) | Value::Seq(pair) if pair.len() == 2 => {
                        (&pair[0], &pair[1])
                    }
                    other => {
                        let error = self.wanted(&shown(other), kind);
                        return Err(error.in_element(i));
                    }
                },
                Parts::Bytes(_) => return Err(self.mismatch(kind, value)),
            };
            let start = self.out.len();
            self.value(&kinds.0, key)
                .map_err(|error| error.in_field("key").in_field(&format!("[{i}]")))?;
            keys.push((start, self.out.len()));
            self.value(&kinds.1, value).map_err(|error| error.in_element(i))?;
        }
        self.check_different(keys, "a key")
    }

    /// Checks that no element of a set, or key of a map, stands twice.
    fn check_different(&self, mut ranges: Vec<(usize, usize)>, what: &str) -> Result<()> {
        let out = &self.out[..];
        ranges.sort_unstable_by_key(|(start, end)| &out[*start..*end]);
        let twice =
            |pair: &[(usize, usize)]| out[pair[0].0..pair[0].1] == out[pair[1].0..pair[1].1];
        if ranges.windows(2).any(twice) {
            return Err(Error::new(
                ErrorKind::InvalidValue,
                format!("{what} stands twice; remove one"),
            ));
        }
        Ok(())
    }

    #[inline(never)]
    fn class(&mut self, class: usize, value: &Value) -> Result<()> {
        let classes = self.classes;
        let form = &classes[class].form;
        match (form, value) {
            (Form::Value(kind), value) => self.value(kind, value),
            (Form::Struct(fields), Value::Struct(record)) => {
                self.target.check_class(class, record)?;
                self.fields(class, 0, fields, record)
            }
            (Form::Enum(variants), Value::Enum(record)) => {
                self.target.check_class(class, record)?;
                let variant = self.tag(class, record.variant().unwrap_or_default())?;
                self.fields(class, variant, &variants[variant].fields, record)
            }
            // A variant without fields may be given by its name.
            (Form::Enum(variants), Value::Text(name)) => {
                let variant = self.tag(class, name)?;
                let record = Record::of_variant(&*classes[class].name, &**name);
                self.fields(class, variant, &variants[variant].fields, &record)
            }
            _ => Err(self.wanted(&shown(value), &KindSchema::Class(class))),
        }
    }

    /// Appends the tag of a variant.
    fn tag(&mut self, class: usize, name: &str) -> Result<usize> {
        let known = &self.classes[class];
        let index =
            self.target.variant(class, name).and_then(|i| Some((i, u16::try_from(i).ok()?)));
        let Some((variant, tag)) = index else {
            let class = &known.name;
            return Err(Error::new(
                ErrorKind::NotFound,
                format!("{class} has no variant {}", short(name)),
            ));
        };
        self.out.extend_from_slice(&tag.to_le_bytes()[..known.form.tag_width()]);
        Ok(variant)
    }

    #[inline(never)]
    fn fields(
        &mut self,
        class: usize,
        variant: usize,
        fields: &[FieldSchema],
        record: &Record,
    ) -> Result<()> {
        let mut found = 0;
        for (i, field) in fields.iter().enumerate() {
            let result = match self.target.find(class, variant, i, record) {
                Some(value) => {
                    found += 1;
                    self.value(&field.kind, &value.value)
                }
                None => self.target.missing(class, variant, i, self.out),
            };
            if let Err(error) = result {
                return Err(error.in_field(&field.name));
            }
        }
        self.target.check_rest(class, variant, found, record)
    }

    #[inline(never)]
    fn dynamic(&mut self, kind: &KindSchema, value: &Value) -> Result<()> {
        let Some(record) = value.as_record() else { return Err(self.mismatch(kind, value)) };
        let class = self.target.class_of(record)?;
        let number = self.target.number(class);
        count::push(number, self.out);
        match (&self.classes[class].form, record.get("")) {
            (Form::Value(kind), Some(value)) => self.value(kind, value),
            (Form::Value(_), None) => Err(self.wanted(&shown(value), kind)),
            _ => self.class(class, value),
        }
    }

    #[inline(never)]
    fn unknown(&mut self, kind: &KindSchema, value: &Value) -> Result<()> {
        let Value::Seq(values) = value else { return Err(self.mismatch(kind, value)) };
        count::push(values.len() as u64, self.out);
        for (i, value) in values.iter().enumerate() {
            let result = match self.target.kept(value, self.out) {
                Ok(false) => self.dynamic(kind, value),
                result => result.map(drop),
            };
            result.map_err(|error| error.in_element(i))?;
        }
        Ok(())
    }

    #[cold]
    pub(super) fn mismatch(&self, kind: &KindSchema, value: &Value) -> Error {
        self.wanted(&shown(value), kind)
    }

    #[cold]
    fn wanted(&self, what: &str, kind: &KindSchema) -> Error {
        let kind = kind.display(self.classes);
        Error::new(ErrorKind::KindMismatch, format!("the value is {what}, {kind} is wanted"))
    }
}

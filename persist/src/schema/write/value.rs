use super::Target;
use super::open::{Found, Items, Open};
use super::shown::{short, shown};
use crate::codec::count;
use crate::schema::{ClassSchema, Form, KindSchema};
use crate::value::{Record, Value, levels, too_deep};
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
    Run { target, classes, out }.all(As::Class(class), value)
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
    Run { target, classes, out }.all(As::Kind(kind), value)
}

/// What a value is to be written as.
#[derive(Clone, Copy)]
pub(super) enum As<'r> {
    Kind(&'r KindSchema),
    Class(usize),
    /// A trait object of one of these kinds.
    Dynamic(&'r KindSchema),
}

pub(super) struct Run<'r> {
    pub(super) target: &'r mut dyn Target,
    pub(super) classes: &'r [ClassSchema],
    pub(super) out: &'r mut Vec<u8>,
}

impl<'r> Run<'r> {
    /// Appends a value. What is open is on a stack of its own: a value may nest deeper than the
    /// calls of a small thread.
    pub(super) fn all(&mut self, of: As<'r>, value: &'r Value) -> Result<()> {
        let mut open = Vec::new();
        let result = self.parts(of, value, &mut open);
        result.map_err(|error| open.iter().rev().fold(error, |error, open| open.locate(error)))
    }

    fn parts(&mut self, of: As<'r>, value: &'r Value, open: &mut Vec<Open<'r>>) -> Result<()> {
        self.begin(of, Found::Value(value), open)?;
        while let Some(last) = open.last_mut() {
            if let Some((of, part)) = last.next(self)? {
                self.begin(of, part, open)?;
            } else if let Some(last) = open.pop() {
                last.end(self)?;
            }
        }
        Ok(())
    }

    /// Appends a value without parts, or the beginning of one whose parts are next.
    fn begin(&mut self, of: As<'r>, found: Found<'r>, open: &mut Vec<Open<'r>>) -> Result<()> {
        let value = match (found, of) {
            (Found::Value(value), _) => value,
            (Found::Byte(byte), of) => {
                // No byte lies in it in its turn.
                let (target, out) = (&mut *self.target, &mut *self.out);
                return Run { target, classes: self.classes, out }.all(of, &Value::U8(byte));
            }
            (Found::Entry(entry), As::Kind(KindSchema::Tuple(kinds))) if kinds.len() == 2 => {
                open.push(Open::Tuple { kinds, items: Items::Entry(entry), begun: 0 });
                return Ok(());
            }
            (Found::Entry(_), As::Kind(kind) | As::Dynamic(kind)) => {
                return Err(self.wanted("a key with its value", kind));
            }
            (Found::Entry(_), As::Class(class)) => {
                return Err(self.wanted("a key with its value", &KindSchema::Class(class)));
            }
        };
        if let As::Kind(kind) = of
            && !kind.has_parts()
        {
            return self.scalar(kind, value);
        }
        if open.len() >= levels(self.target.limits()) {
            return Err(too_deep(self.target.limits()));
        }
        let begun = match of {
            As::Kind(KindSchema::Class(class)) => self.class(*class, value)?,
            As::Class(class) => self.class(class, value)?,
            As::Kind(kind @ KindSchema::Dynamic(_)) | As::Dynamic(kind) => {
                self.dynamic(kind, value)?
            }
            As::Kind(kind) => self.kind(kind, value)?,
        };
        open.extend(begun);
        Ok(())
    }

    /// Begins a value of a kind whose parts are no fields.
    fn kind(&mut self, kind: &'r KindSchema, value: &'r Value) -> Result<Option<Open<'r>>> {
        Ok(Some(match kind {
            KindSchema::Option(inner) => {
                let value = match value {
                    Value::Option(None) => {
                        self.out.push(0);
                        return Ok(None);
                    }
                    Value::Option(Some(value)) => value,
                    // What is there is present.
                    value => value,
                };
                self.out.push(1);
                Open::One { part: Some((As::Kind(inner), value)) }
            }
            KindSchema::List(part) | KindSchema::Set(part) => {
                let items = self.items(kind, None, value)?;
                count::push(items.len() as u64, self.out);
                let is_set = matches!(kind, KindSchema::Set(_));
                return self.elements(part, items, is_set);
            }
            KindSchema::Array(part, len) => {
                let items = self.items(kind, Some(*len), value)?;
                return self.elements(part, items, false);
            }
            KindSchema::Tuple(kinds) if kinds.is_empty() && matches!(value, Value::Unit) => {
                return Ok(None);
            }
            KindSchema::Tuple(kinds) => {
                let items = self.items(kind, Some(kinds.len()), value)?;
                Open::Tuple { kinds, items, begun: 0 }
            }
            KindSchema::Map(kinds) => {
                let items = self.items(kind, None, value)?;
                count::push(items.len() as u64, self.out);
                let keys = Vec::with_capacity(items.len());
                Open::Map { kind, kinds, items, begun: 0, value: None, start: 0, keys }
            }
            _ => {
                let Value::Seq(values) = value else { return Err(self.mismatch(kind, value)) };
                count::push(values.len() as u64, self.out);
                Open::Unknown { kind, values, begun: 0 }
            }
        }))
    }

    /// The parts of a value; there must be `wanted`, if that is given.
    fn items(
        &self,
        kind: &KindSchema,
        wanted: Option<usize>,
        value: &'r Value,
    ) -> Result<Items<'r>> {
        let Some(items) = Items::of(value) else { return Err(self.mismatch(kind, value)) };
        match wanted {
            Some(wanted) if wanted != items.len() => {
                let (value, kind) = (shown(value), kind.display(self.classes));
                Err(Error::new(
                    ErrorKind::KindMismatch,
                    format!("the value is {value}, {kind} has {wanted} parts"),
                ))
            }
            _ => Ok(items),
        }
    }

    fn elements(
        &mut self,
        kind: &'r KindSchema,
        items: Items<'r>,
        is_set: bool,
    ) -> Result<Option<Open<'r>>> {
        let start = self.out.len();
        if let (Items::Bytes(bytes), KindSchema::U8) = (&items, kind) {
            self.out.extend_from_slice(bytes);
            if is_set {
                let ranges = (start..self.out.len()).map(|at| (at, at + 1));
                self.check_different(ranges.collect(), "an element")?;
            }
            return Ok(None);
        }
        let starts = is_set.then(Vec::new);
        Ok(Some(Open::Elements { kind, items, begun: 0, starts }))
    }

    /// Checks that no element of a set, or key of a map, stands twice.
    pub(super) fn check_different(
        &self,
        mut ranges: Vec<(usize, usize)>,
        what: &str,
    ) -> Result<()> {
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

    fn class(&mut self, class: usize, value: &'r Value) -> Result<Option<Open<'r>>> {
        if self.target.stored(class, value, self.out)? {
            return Ok(None);
        }
        let classes = self.classes;
        let form = &classes[class].form;
        let (variant, fields, record) = match (form, value) {
            (Form::Value(kind), value) => {
                return Ok(Some(Open::One { part: Some((As::Kind(kind), value)) }));
            }
            (Form::Struct(fields), Value::Struct(record)) => {
                self.target.check_class(class, record)?;
                (0, fields, record)
            }
            (Form::Enum(variants), Value::Enum(record)) => {
                self.target.check_class(class, record)?;
                let variant = self.tag(class, record.variant().unwrap_or_default())?;
                (variant, &variants[variant].fields, record)
            }
            // A variant without fields may be given by its name.
            (Form::Enum(variants), Value::Text(name)) => {
                let variant = self.tag(class, name)?;
                for (i, field) in variants[variant].fields.iter().enumerate() {
                    let missing = self.target.missing(class, variant, i, self.out);
                    missing.map_err(|error| error.in_field(&field.name))?;
                }
                let record = Record::of_variant(&*classes[class].name, &**name);
                self.target.check_rest(class, variant, 0, &record)?;
                return Ok(None);
            }
            _ => return Err(self.wanted(&shown(value), &KindSchema::Class(class))),
        };
        Ok(Some(Open::Fields { class, variant, fields, record, begun: 0, found: 0 }))
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

    fn dynamic(&mut self, kind: &KindSchema, value: &'r Value) -> Result<Option<Open<'r>>> {
        let Some(record) = value.as_record() else { return Err(self.mismatch(kind, value)) };
        let class = self.target.class_of(record)?;
        let number = self.target.number(class);
        count::push(number, self.out);
        match (&self.classes[class].form, record.get("")) {
            (Form::Value(kind), Some(value)) => {
                Ok(Some(Open::One { part: Some((As::Kind(kind), value)) }))
            }
            (Form::Value(_), None) => Err(self.wanted(&shown(value), kind)),
            _ => self.class(class, value),
        }
    }

    #[cold]
    pub(super) fn mismatch(&self, kind: &KindSchema, value: &Value) -> Error {
        self.wanted(&shown(value), kind)
    }

    #[cold]
    pub(super) fn wanted(&self, what: &str, kind: &KindSchema) -> Error {
        let kind = kind.display(self.classes);
        Error::new(ErrorKind::KindMismatch, format!("the value is {what}, {kind} is wanted"))
    }
}

//! The naive twin: what the values of an older save must become.

use std::collections::BTreeMap;

use persist::save::LoadEvent;
use persist::{ErrorKind, LoadOptions};

use super::edits::{Changed, Edit, Edits, Fields, How};
use super::model::{Form, Kind, Schema, Value, is_float, width};

/// The bounds of a kind; of those of 128 bits not all.
pub(crate) fn bounds(tag: u8) -> (i128, i128) {
    let bits = 8 * width(tag).min(15);
    if tag <= 7 { (0, (1 << bits) - 1) } else { (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) }
}

/// How often what was done to which field of which class.
pub(crate) type Findings = BTreeMap<(LoadEvent, String, String), u64>;

pub(crate) struct Twin<'t> {
    pub(crate) edits: &'t Edits<'t>,
    pub(crate) options: LoadOptions,
    pub(crate) findings: Findings,
    pub(crate) errors: Vec<ErrorKind>,
    /// Objects that a load makes.
    pub(crate) objects: u64,
    /// True while the value has a place that lasts: no list, set or key leads to it.
    pub(crate) lasts: bool,
}

/// Where a value stands.
#[derive(Clone)]
struct Place {
    class: String,
    field: String,
}

impl Twin<'_> {
    /// The value that the program must have; a save with an error gives none.
    pub(crate) fn world(&mut self, value: &Value) -> Value {
        self.lasts = true;
        self.class("World", value)
    }

    /// Findings name the class as the program does.
    fn find(&mut self, change: LoadEvent, class: &str, field: &str) {
        let mut names = self.edits.names.iter();
        let class =
            names.find(|(_, stored)| *stored == class).map_or(class, |(name, _)| name.as_str());
        *self.findings.entry((change, class.to_owned(), field.to_owned())).or_insert(0) += 1;
    }

    fn schema(&self) -> &Schema {
        self.edits.program
    }

    /// Does something with a value that has a lasting place, or none.
    fn within<R>(&mut self, lasts: bool, inside: impl FnOnce(&mut Self) -> R) -> R {
        let outer = std::mem::replace(&mut self.lasts, lasts);
        let found = inside(self);
        self.lasts = outer;
        found
    }

    fn class(&mut self, name: &str, value: &Value) -> Value {
        let edits = self.edits;
        let stored = edits.names[name].clone();
        match (&edits.classes[name], value, &self.schema().get(name).form) {
            (Changed::Struct(old), Value::Parts(values), Form::Struct(new)) => {
                let new = new.clone();
                Value::Parts(self.fields(&stored, None, old, &new, values))
            }
            (Changed::Enum(old), Value::Variant(number, values), Form::Enum(new)) => {
                let new = new.clone();
                let (variant, fields, target) = &old[*number];
                match target {
                    Some(target) => {
                        let new = &new[*target].fields;
                        let values = self.fields(&stored, Some(&variant.name), fields, new, values);
                        Value::Variant(*target, values)
                    }
                    None => {
                        let Some(other) = new.iter().position(|variant| variant.other) else {
                            self.errors.push(ErrorKind::NotFound);
                            return Value::Variant(0, vec![]);
                        };
                        self.find(LoadEvent::Replaced, &stored, &variant.name);
                        Value::Variant(other, vec![])
                    }
                }
            }
            (Changed::Bare(edit), value, Form::Bare(kind)) => {
                if !self.is_same(&edit.stored, &kind.clone()) {
                    self.find(LoadEvent::Converted, &stored, "");
                }
                self.convert(edit, value, &Place { class: stored, field: String::new() })
            }
            (_, value, _) => panic!("{value:?} is no {name}"),
        }
    }

    fn fields(
        &mut self,
        class: &str,
        variant: Option<&str>,
        old: &Fields,
        new: &[super::model::Field],
        values: &[Value],
    ) -> Vec<Value> {
        let path = |name: &str| match variant {
            Some(variant) => format!("{variant}.{name}"),
            None => name.to_owned(),
        };
        let mut found: Vec<Option<Value>> = vec![None; new.len()];
        for ((field, of), value) in old.iter().zip(values) {
            let place = Place { class: class.to_owned(), field: path(&field.name) };
            match of {
                Some((target, edit)) => {
                    if !self.is_same(&field.kind, &new[*target].kind) {
                        self.find(LoadEvent::Converted, class, &place.field);
                    }
                    found[*target] = Some(self.convert(edit, value, &place));
                }
                None if self.lasts && !self.options.drop_unknown => {
                    self.find(LoadEvent::Kept, class, &place.field);
                }
                None => self.find(LoadEvent::Dropped, class, &place.field),
            }
        }
        let found = found.into_iter().zip(new);
        found
            .map(|(value, field)| {
                value.unwrap_or_else(|| {
                    self.find(LoadEvent::Defaulted, class, &path(&field.name));
                    field.default.clone().expect("only fields with a default are left out")
                })
            })
            .collect()
    }

    /// True if kinds differ at most inside of classes.
    fn is_same(&self, stored: &Kind, wanted: &Kind) -> bool {
        match (stored, wanted) {
            (Kind::Option(a), Kind::Option(b)) | (Kind::List(a), Kind::List(b)) => {
                self.is_same(a, b)
            }
            (Kind::Array(a, n), Kind::Array(b, m)) => n == m && self.is_same(a, b),
            (Kind::Map(a, c), Kind::Map(b, d)) => self.is_same(a, b) && self.is_same(c, d),
            (Kind::Tuple(a), Kind::Tuple(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| self.is_same(a, b))
            }
            (Kind::Class(a), Kind::Class(b)) => self.edits.names.get(b) == Some(a),
            (Kind::Reference(a, c), Kind::Reference(b, d)) => {
                a == b && self.edits.names.get(d) == Some(c)
            }
            (a, b) => a == b,
        }
    }

    fn fail(&mut self, kind: ErrorKind) -> Value {
        self.errors.push(kind);
        Value::None
    }

    fn convert(&mut self, edit: &Edit, value: &Value, place: &Place) -> Value {
        match (&edit.how, value) {
            (How::Number(tag), value) => self.number(value, *tag, place),
            (How::Text, value) => value.clone(),
            (How::Option(_), Value::None) => Value::None,
            (How::Option(inner), Value::Some(value)) => {
                Value::Some(Box::new(self.convert(inner, value, place)))
            }
            (How::Elements(inner, wanted), Value::List(values)) => {
                if wanted.is_some_and(|wanted| wanted != values.len()) {
                    return self.fail(ErrorKind::InvalidValue);
                }
                let convert = |this: &mut Self| {
                    values.iter().map(|value| this.convert(inner, value, place)).collect()
                };
                Value::List(self.within(false, convert))
            }
            (How::Map(key_edit, value_edit, is_map), value) => {
                let is_list = matches!(value, Value::List(_));
                let entries: Vec<(Value, Value)> = match value {
                    Value::Map(entries) => entries.clone(),
                    Value::List(pairs) => {
                        let pair = |pair: &Value| match pair {
                            Value::Parts(parts) => (parts[0].clone(), parts[1].clone()),
                            other => panic!("{other:?} is no pair"),
                        };
                        pairs.iter().map(pair).collect()
                    }
                    other => panic!("{other:?} is no map"),
                };
                let mut found: Vec<(Value, Value)> = Vec::new();
                for (key, value) in entries {
                    let key = self.within(false, |this| this.convert(key_edit, &key, place));
                    if *is_map && found.iter().any(|(known, _)| *known == key) {
                        self.fail(ErrorKind::InvalidValue);
                    }
                    // A list of pairs is a list, before and after.
                    let lasts = self.lasts && *is_map && !is_list;
                    let value = self.within(lasts, |this| this.convert(value_edit, &value, place));
                    found.push((key, value));
                }
                if *is_map {
                    return Value::Map(found);
                }
                Value::List(found.into_iter().map(|(k, v)| Value::Parts(vec![k, v])).collect())
            }
            (How::Tuple(parts), Value::Parts(values)) => {
                let parts = parts.iter().zip(values);
                Value::Parts(parts.map(|(part, v)| self.convert(part, v, place)).collect())
            }
            (How::Class(name), value) => self.class(name, value),
            (How::Reference(inner), Value::Reference(value)) => {
                self.objects += 1;
                let How::Class(name) = &inner.how else { panic!("{inner:?} is no class") };
                Value::Reference(Box::new(self.within(true, |this| this.class(name, value))))
            }
            (How::Some(inner), value) => Value::Some(Box::new(self.convert(inner, value, place))),
            (How::One(inner), value) => {
                Value::List(vec![self.within(false, |this| this.convert(inner, value, place))])
            }
            (How::Share(inner), value) => {
                self.objects += 1;
                let share = |this: &mut Self| this.convert(inner, value, place);
                Value::Reference(Box::new(self.within(false, share)))
            }
            (How::Present(_), Value::None) => self.fail(ErrorKind::InvalidValue),
            (How::Present(inner), Value::Some(value))
            | (How::Inline(inner), Value::Reference(value)) => self.convert(inner, value, place),
            (How::Unwrap(inner), Value::Parts(values)) => self.convert(inner, &values[0], place),
            (How::Wrap(inner), value) => Value::Parts(vec![self.convert(inner, value, place)]),
            (How::Variant, Value::Text(text)) => match &**text {
                "North" => Value::Variant(0, vec![]),
                "South" | "Down" => Value::Variant(1, vec![]),
                "East" => Value::Variant(2, vec![]),
                _ => self.fail(ErrorKind::InvalidValue),
            },
            (How::Struct(name, parts), Value::Parts(values)) => {
                let Form::Struct(fields) = &self.schema().get(name).form else {
                    panic!("{name} is no struct")
                };
                // The fields are z, y, x; the parts are x and y.
                let kinds = [fields[2].kind.clone(), fields[1].kind.clone()];
                let default = fields[0].default.clone().expect("it has one");
                self.find(LoadEvent::Defaulted, name, "z");
                let mut found = Vec::new();
                for (i, (part, value)) in parts.iter().zip(values).enumerate() {
                    if !self.is_same(&part.stored, &kinds[i]) {
                        self.find(LoadEvent::Converted, name, &i.to_string());
                    }
                    let place = Place { class: name.clone(), field: i.to_string() };
                    found.push(self.convert(part, value, &place));
                }
                let [x, y] = [0, 1].map(|i| found[i].clone());
                Value::Parts(vec![default, y, x])
            }
            (how, value) => panic!("{value:?} for {how:?}"),
        }
    }

    #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "on purpose")]
    fn number(&mut self, value: &Value, wanted: u8, place: &Place) -> Value {
        let (found, exact) = match value {
            Value::Whole(number) if is_float(wanted) => {
                let nearest = if wanted == 13 { f64::from(*number as f32) } else { *number as f64 };
                // All that is tried is far below what a float can hold.
                (Value::Float(nearest.to_bits()), nearest as i128 == *number)
            }
            Value::Whole(number) => {
                let (mut least, mut most) = bounds(wanted);
                if width(wanted) == 16 {
                    least = if wanted == 7 { 0 } else { i128::MIN };
                    most = i128::MAX;
                }
                let nearest = (*number).clamp(least, most);
                (Value::Whole(nearest), nearest == *number)
            }
            Value::Float(bits) if wanted == 13 => {
                let nearest = f64::from(f64::from_bits(*bits) as f32);
                (Value::Float(nearest.to_bits()), nearest.to_bits() == *bits)
            }
            value => (value.clone(), true),
        };
        if !exact && self.options.clamp {
            self.find(LoadEvent::Clamped, &place.class, &place.field);
        } else if !exact {
            return self.fail(ErrorKind::InvalidValue);
        }
        found
    }
}

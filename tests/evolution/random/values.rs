//! Values of the older save.

use rand::Rng;
use rand::seq::SliceRandom;

use super::edits::{Changed, Edit, Edits, Fields, How};
use super::model::{Kind, Value, is_float};
use super::twin::bounds;

impl Edits<'_> {
    /// A value of a stored kind; mostly one that can become the program's.
    pub(crate) fn value(&mut self, edit: &Edit, deep: u32) -> Value {
        let odd = self.rng.gen_ratio(1, 300);
        let length = |this: &mut Self| this.rng.gen_range(0..if deep > 3 { 2 } else { 4 });
        match &edit.how {
            How::Number(tag) => self.number(&edit.stored, *tag, odd),
            How::Text => self.text(),
            How::Option(inner) => match self.rng.gen_bool(0.3) {
                true => Value::None,
                false => Value::Some(Box::new(self.value(inner, deep + 1))),
            },
            How::Present(_) if odd => Value::None,
            How::Present(inner) => Value::Some(Box::new(self.value(inner, deep + 1))),
            How::Elements(inner, wanted) => {
                let count = match (&edit.stored, wanted) {
                    (Kind::Array(_, count), _) => *count,
                    (_, Some(count)) if !odd => *count,
                    _ => length(self),
                };
                Value::List((0..count).map(|_| self.value(inner, deep + 1)).collect())
            }
            How::Map(key, value, unique) => {
                let count = length(self);
                let mut entries: Vec<(Value, Value)> = Vec::new();
                for _ in 0..count {
                    let entry = (self.value(key, deep + 1), self.value(value, deep + 1));
                    let is_new = entries.iter().all(|(key, _)| *key != entry.0);
                    let is_list = matches!(edit.stored, Kind::List(_));
                    if is_new || (is_list && odd && *unique) {
                        entries.push(entry);
                    }
                }
                if matches!(edit.stored, Kind::Map(..)) {
                    return Value::Map(entries);
                }
                let pair = |(key, value)| Value::Parts(vec![key, value]);
                Value::List(entries.into_iter().map(pair).collect())
            }
            How::Tuple(parts) | How::Struct(_, parts) => {
                Value::Parts(parts.iter().map(|part| self.value(part, deep + 1)).collect())
            }
            How::Class(name) => self.class_value(name, deep + 1),
            How::Reference(inner) | How::Inline(inner) => {
                Value::Reference(Box::new(self.value(inner, deep + 1)))
            }
            How::Some(inner) | How::One(inner) | How::Share(inner) | How::Wrap(inner) => {
                self.value(inner, deep + 1)
            }
            How::Unwrap(inner) => Value::Parts(vec![self.value(inner, deep + 1)]),
            How::Variant => {
                let names = ["North", "South", "Down", "East"];
                let name = if odd { "West" } else { names.choose(&mut self.rng).expect("one") };
                Value::Text(name.to_owned())
            }
        }
    }

    fn class_value(&mut self, name: &str, deep: u32) -> Value {
        match self.classes[name].clone() {
            Changed::Struct(fields) if name == "Tree" && deep > 6 => {
                let values = fields.iter().map(|(field, of)| match (&field.kind, of) {
                    (Kind::List(_), Some(_)) => Value::List(vec![]),
                    (_, Some((_, edit))) => self.value(edit, deep),
                    (kind, None) => self.any(kind),
                });
                Value::Parts(values.collect())
            }
            Changed::Struct(fields) => Value::Parts(self.field_values(&fields, deep)),
            Changed::Enum(variants) => {
                let mut number = self.rng.gen_range(0..variants.len());
                if variants[number].2.is_none() && name == "Side" && !self.rng.gen_ratio(1, 100) {
                    number = variants.iter().position(|v| v.2.is_some()).expect("one");
                }
                Value::Variant(number, self.field_values(&variants[number].1, deep))
            }
            Changed::Bare(edit) => self.value(&edit, deep),
        }
    }

    fn field_values(&mut self, fields: &Fields, deep: u32) -> Vec<Value> {
        fields
            .iter()
            .map(|(field, of)| match of {
                Some((_, edit)) => self.value(edit, deep),
                None => self.any(&field.kind),
            })
            .collect()
    }

    /// A value of a kind that the program does not have.
    fn any(&mut self, kind: &Kind) -> Value {
        match kind {
            Kind::Number(_) => Value::Whole(self.rng.gen_range(0..100)),
            Kind::Text => self.text(),
            Kind::Option(inner) => Value::Some(Box::new(self.any(inner))),
            Kind::List(inner) => Value::List((0..3).map(|_| self.any(inner)).collect()),
            Kind::Tuple(parts) => Value::Parts(parts.iter().map(|part| self.any(part)).collect()),
            kind => panic!("no {kind:?} was dropped"),
        }
    }

    fn text(&mut self) -> Value {
        let length = *[0, 1, 3, 8, 300].choose(&mut self.rng).expect("one");
        Value::Text((0..length).map(|_| self.rng.gen_range('a'..='ö')).collect())
    }

    fn number(&mut self, stored: &Kind, wanted: u8, odd: bool) -> Value {
        let Kind::Number(tag) = stored else { panic!("{stored:?}") };
        if is_float(*tag) {
            let whole = f64::from(self.rng.gen_range(-2000_i32..2000));
            let number = if odd && *tag == 14 { whole * 0.1 } else { whole / 8.0 };
            return Value::Float(number.to_bits());
        }
        let (least, most) = bounds(*tag);
        let (wanted_least, wanted_most) =
            if is_float(wanted) { (-(1 << 20), 1 << 20) } else { bounds(wanted) };
        let both = (least.max(wanted_least), most.min(wanted_most));
        let (least, most) = if odd { (least, most) } else { both };
        Value::Whole(match self.rng.gen_range(0..4) {
            0 => least,
            1 => most,
            2 => self.rng.gen_range(least..=most),
            _ => self.rng.gen_range(least.max(-9)..=most.min(9)),
        })
    }
}

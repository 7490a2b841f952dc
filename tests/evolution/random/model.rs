//! Kinds, classes and values as plain data, and their bytes by the rules of the format.

use persist_tests::support::forge::{self, Item};

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Kind {
    /// By its tag, 3 to 14.
    Number(u8),
    Text,
    Option(Box<Kind>),
    List(Box<Kind>),
    Map(Box<Kind>, Box<Kind>),
    Array(Box<Kind>, usize),
    Tuple(Vec<Kind>),
    Class(String),
    /// To a class, by the holder.
    Reference(u8, String),
}

pub(crate) fn option(kind: Kind) -> Kind {
    Kind::Option(Box::new(kind))
}

pub(crate) fn list(kind: Kind) -> Kind {
    Kind::List(Box::new(kind))
}

pub(crate) fn class(name: &str) -> Kind {
    Kind::Class(name.to_owned())
}

#[derive(Clone, Debug)]
pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) aliases: Vec<&'static str>,
    pub(crate) id: Option<u32>,
    pub(crate) default: Option<Value>,
    pub(crate) kind: Kind,
}

#[derive(Clone, Debug)]
pub(crate) struct Variant {
    pub(crate) name: String,
    pub(crate) aliases: Vec<&'static str>,
    pub(crate) other: bool,
    pub(crate) fields: Vec<Field>,
}

#[derive(Clone, Debug)]
pub(crate) enum Form {
    Struct(Vec<Field>),
    Enum(Vec<Variant>),
    Bare(Kind),
}

#[derive(Clone, Debug)]
pub(crate) struct Class {
    pub(crate) name: String,
    pub(crate) form: Form,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Whole(i128),
    /// By its bits, widened.
    Float(u64),
    Text(String),
    None,
    Some(Box<Value>),
    List(Vec<Value>),
    Map(Vec<(Value, Value)>),
    /// A tuple, or the fields of a struct.
    Parts(Vec<Value>),
    Variant(usize, Vec<Value>),
    Reference(Box<Value>),
}

/// The classes of a program or a save.
#[derive(Clone, Debug, Default)]
pub(crate) struct Schema {
    pub(crate) classes: Vec<Class>,
}

impl Schema {
    pub(crate) fn get(&self, name: &str) -> &Class {
        self.classes.iter().find(|class| class.name == name).expect("a class of the schema")
    }

    fn number(&self, name: &str) -> u64 {
        let place = self.classes.iter().position(|class| class.name == name);
        place.expect("a class of the schema") as u64 + 1
    }

    fn kind(&self, kind: &Kind, out: &mut Vec<u8>) {
        match kind {
            Kind::Number(tag) => out.push(*tag),
            Kind::Text => out.push(0x0f),
            Kind::Option(inner) => {
                out.push(0x10);
                self.kind(inner, out);
            }
            Kind::List(inner) => {
                out.push(0x11);
                self.kind(inner, out);
            }
            Kind::Map(key, value) => {
                out.push(0x13);
                self.kind(key, out);
                self.kind(value, out);
            }
            Kind::Array(inner, length) => {
                out.push(0x14);
                forge::count(*length as u64, out);
                self.kind(inner, out);
            }
            Kind::Tuple(parts) => {
                out.push(0x15);
                forge::count(parts.len() as u64, out);
                parts.iter().for_each(|part| self.kind(part, out));
            }
            Kind::Class(name) => {
                out.push(0x16);
                forge::count(self.number(name), out);
            }
            Kind::Reference(holder, name) => {
                out.extend([0x17, *holder]);
                forge::count(self.number(name), out);
            }
        }
    }

    fn fields(&self, fields: &[Field], out: &mut Vec<u8>) {
        forge::count(fields.len() as u64, out);
        for field in fields {
            out.extend(forge::text(&field.name));
            out.push(u8::from(field.id.is_some()));
            field.id.iter().for_each(|id| forge::count(u64::from(*id), out));
            self.kind(&field.kind, out);
        }
    }

    fn definition(&self, class: &Class) -> Item {
        let mut out = forge::head(&class.name);
        match &class.form {
            Form::Struct(fields) => {
                out.push(0);
                self.fields(fields, &mut out);
            }
            Form::Enum(variants) => {
                out.push(1);
                forge::count(variants.len() as u64, &mut out);
                for variant in variants {
                    out.extend(forge::text(&variant.name));
                    self.fields(&variant.fields, &mut out);
                }
            }
            Form::Bare(kind) => {
                out.push(2);
                self.kind(kind, &mut out);
            }
        }
        Item::Definition(out)
    }

    /// A save of one value of a class, as an object or by itself.
    pub(crate) fn save(&self, name: &str, value: &Value, holder: u8) -> Vec<u8> {
        let mut objects = vec![(self.number(name), holder, Vec::new())];
        let mut payload = Vec::new();
        self.encode(&Kind::Class(name.to_owned()), value, &mut payload, &mut objects);
        objects[0].2 = payload;
        let mut items: Vec<Item> =
            self.classes.iter().map(|class| self.definition(class)).collect();
        for (id, (class, holder, payload)) in (1..).zip(objects) {
            items.push(forge::record(class, holder, id, &payload));
        }
        forge::save(&items)
    }

    fn encode(
        &self,
        kind: &Kind,
        value: &Value,
        out: &mut Vec<u8>,
        objects: &mut Vec<(u64, u8, Vec<u8>)>,
    ) {
        match (kind, value) {
            (Kind::Number(tag), value) => out.extend(number_bytes(*tag, value)),
            (Kind::Text, Value::Text(text)) => out.extend(forge::text(text)),
            (Kind::Option(_), Value::None) => out.push(0),
            (Kind::Option(inner), Value::Some(value)) => {
                out.push(1);
                self.encode(inner, value, out, objects);
            }
            (Kind::List(inner), Value::List(values)) => {
                forge::count(values.len() as u64, out);
                values.iter().for_each(|value| self.encode(inner, value, out, objects));
            }
            (Kind::Array(inner, length), Value::List(values)) => {
                assert_eq!(values.len(), *length);
                values.iter().for_each(|value| self.encode(inner, value, out, objects));
            }
            (Kind::Map(key_kind, value_kind), Value::Map(entries)) => {
                forge::count(entries.len() as u64, out);
                for (key, value) in entries {
                    self.encode(key_kind, key, out, objects);
                    self.encode(value_kind, value, out, objects);
                }
            }
            (Kind::Tuple(parts), Value::Parts(values)) => {
                let parts = parts.iter().zip(values);
                parts.for_each(|(part, value)| self.encode(part, value, out, objects));
            }
            (Kind::Class(name), value) => match (&self.get(name).form, value) {
                (Form::Struct(fields), Value::Parts(values)) => {
                    let fields = fields.iter().zip(values);
                    fields.for_each(|(field, v)| self.encode(&field.kind, v, out, objects));
                }
                (Form::Enum(variants), Value::Variant(number, values)) => {
                    out.push(u8::try_from(*number).expect("few variants"));
                    let fields = variants[*number].fields.iter().zip(values);
                    fields.for_each(|(field, v)| self.encode(&field.kind, v, out, objects));
                }
                (Form::Bare(kind), value) => self.encode(kind, value, out, objects),
                (form, value) => panic!("{value:?} is no {form:?}"),
            },
            (Kind::Reference(holder, name), Value::Reference(value)) => {
                let place = objects.len();
                objects.push((self.number(name), *holder, Vec::new()));
                let mut payload = Vec::new();
                self.encode(&Kind::Class(name.clone()), value, &mut payload, objects);
                objects[place].2 = payload;
                forge::count(place as u64 + 1, out);
            }
            (kind, value) => panic!("{value:?} is no {kind:?}"),
        }
    }
}

pub(crate) fn width(tag: u8) -> usize {
    [1, 2, 4, 8, 16, 1, 2, 4, 8, 16, 4, 8][usize::from(tag) - 3]
}

pub(crate) fn is_float(tag: u8) -> bool {
    tag >= 13
}

#[allow(clippy::cast_possible_truncation, reason = "what it is a float of is an f32")]
fn number_bytes(tag: u8, value: &Value) -> Vec<u8> {
    match value {
        Value::Whole(number) => number.to_le_bytes()[..width(tag)].to_vec(),
        Value::Float(bits) if tag == 13 => (f64::from_bits(*bits) as f32).to_le_bytes().to_vec(),
        Value::Float(bits) => bits.to_le_bytes().to_vec(),
        value => panic!("{value:?} is no number"),
    }
}

//! The schemas of a lock as plain data: read from its text, changed, written again, and saves of random values of
//! them, made by the rules of the format alone.

use std::collections::BTreeSet;

use persist::{Record, Value};
use rand::Rng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64;

use super::forge::{self, Item};

/// The words of the kinds without parts, by their tags.
const WORDS: [&str; 16] = [
    "()", "bool", "char", "u8", "u16", "u32", "u64", "u128", "i8", "i16", "i32", "i64", "i128",
    "f32", "f64", "String",
];

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// By its tag.
    Plain(u8),
    Option(Box<Kind>),
    List(Box<Kind>),
    Set(Box<Kind>),
    Map(Box<Kind>, Box<Kind>),
    Array(Box<Kind>, usize),
    Tuple(Vec<Kind>),
    Class(String),
    /// In an `Rc<RefCell<_>>`, strong or weak.
    Reference(bool, String),
    Unknown,
}

#[derive(Clone, Debug)]
pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) number: Option<u32>,
    pub(crate) kind: Kind,
}

#[derive(Clone, Debug)]
pub(crate) enum Form {
    Struct(Vec<Field>),
    Enum(Vec<(String, Vec<Field>)>),
    Bare(Kind),
}

#[derive(Clone, Debug)]
pub(crate) struct Class {
    pub(crate) name: String,
    pub(crate) version: u32,
    pub(crate) form: Form,
}

/// What a version of a lock says; all its objects are in `Rc<RefCell<_>>`.
#[derive(Clone, Debug)]
pub(crate) struct Schema {
    pub(crate) classes: Vec<Class>,
    pub(crate) objects: Vec<String>,
}

impl Kind {
    /// Visits the kind and those inside.
    pub(crate) fn visit(&mut self, visit: &mut dyn FnMut(&mut Kind)) {
        visit(self);
        match self {
            Self::Option(part) | Self::List(part) | Self::Set(part) | Self::Array(part, _) => {
                part.visit(visit);
            }
            Self::Map(key, value) => {
                key.visit(visit);
                value.visit(visit);
            }
            Self::Tuple(parts) => parts.iter_mut().for_each(|part| part.visit(visit)),
            _ => {}
        }
    }
}

impl Form {
    /// Visits the kinds that it has.
    pub(crate) fn kinds(&mut self, visit: &mut dyn FnMut(&mut Kind)) {
        match self {
            Self::Struct(fields) => fields.iter_mut().for_each(|field| visit(&mut field.kind)),
            Self::Enum(variants) => {
                let fields = variants.iter_mut().flat_map(|(_, fields)| fields);
                fields.for_each(|field| visit(&mut field.kind));
            }
            Self::Bare(kind) => visit(kind),
        }
    }
}

fn at<'r>(record: &'r Record, name: &str) -> &'r Value {
    record.get(name).expect("the field")
}

/// Reads a kind of a lock.
fn kind(value: &Value) -> Kind {
    let part = |value: &Value| Box::new(kind(value));
    match value {
        Value::Unit => Kind::Plain(0),
        Value::Text(word) if word == "Unknown" => Kind::Unknown,
        Value::Text(word) => {
            let tag = WORDS.iter().position(|known| known == word).expect("a kind");
            Kind::Plain(u8::try_from(tag).expect("a tag"))
        }
        Value::Option(Some(inner)) => Kind::Option(part(inner)),
        Value::Seq(parts) => match &parts[..] {
            [inner] => Kind::List(part(inner)),
            parts => {
                let length = parts[1].as_u64().expect("a length");
                Kind::Array(part(&parts[0]), usize::try_from(length).expect("a length"))
            }
        },
        Value::Map(parts) => Kind::Map(part(&parts[0].0), part(&parts[0].1)),
        Value::Tuple(parts) => Kind::Tuple(parts.iter().map(kind).collect()),
        Value::Struct(class) => Kind::Class(class.class().to_owned()),
        Value::Enum(of) if of.variant() == Some("Set") => Kind::Set(part(at(of, "of"))),
        Value::Enum(of) => {
            assert_eq!(at(of, "holder").as_text(), Some("Rc<RefCell>"));
            let class = at(of, "to").as_record().expect("a class").class();
            Kind::Reference(of.variant() == Some("Weak"), class.to_owned())
        }
        _ => panic!("{value}"),
    }
}

fn fields(value: &Value) -> Vec<Field> {
    let Value::Map(fields) = value else { panic!("{value}") };
    let field = |(key, of): &(Value, Value)| {
        let (name, number) = match key {
            Value::Tuple(parts) => (&parts[0], parts[1].as_u64()),
            name => (name, None),
        };
        let number = number.map(|number| u32::try_from(number).expect("a number"));
        Field { name: name.as_text().expect("a name").to_owned(), number, kind: kind(of) }
    };
    fields.iter().map(field).collect()
}

fn class(record: &Record) -> Class {
    let form = match (record.get("fields"), record.get("variants"), record.get("value")) {
        (Some(list), ..) => Form::Struct(fields(list)),
        (_, Some(Value::Map(variants)), _) => {
            let variant = |(name, list): &(Value, Value)| {
                (name.as_text().expect("a name").to_owned(), fields(list))
            };
            Form::Enum(variants.iter().map(variant).collect())
        }
        (.., value) => Form::Bare(kind(value.expect("a kind"))),
    };
    let version = at(record, "version").as_u64().expect("a version");
    let name = at(record, "name").as_text().expect("a name").to_owned();
    Class { name, version: u32::try_from(version).expect("a version"), form }
}

impl Schema {
    /// Reads a lock of one version.
    pub(crate) fn parse(text: &str) -> Self {
        let mut schema = Self { classes: Vec::new(), objects: Vec::new() };
        let lock: Value = text.parse().expect("a value");
        let lock = lock.as_record().expect("a lock");
        let version = at(lock, "versions").as_seq().expect("versions")[0].as_record();
        for entry in at(version.expect("a version"), "schemas").as_seq().expect("entries") {
            let record = entry.as_record().expect("an entry");
            match record.class() {
                "Class" => schema.classes.push(class(record)),
                "Object" => {
                    assert_eq!(at(record, "holder").as_text(), Some("Rc<RefCell>"));
                    let class = at(record, "class").as_record().expect("a class").class();
                    schema.objects.push(class.to_owned());
                }
                _ => {}
            }
        }
        schema
    }

    /// The lock that has this as its one version.
    pub(crate) fn text(&self) -> String {
        let fields = |fields: &[Field]| {
            let field = |field: &Field| {
                let Field { name, number, kind } = field;
                let key = match number {
                    Some(number) => format!("({name:?}, {number})"),
                    None => format!("{name:?}"),
                };
                format!("{key}: {},", word(kind))
            };
            format!("{{ {} }}", fields.iter().map(field).collect::<String>())
        };
        let class = |Class { name, version, form }: &Class| {
            let id = forge::id_of(name);
            let form = match form {
                Form::Struct(list) => format!("fields: {}", fields(list)),
                Form::Enum(variants) => {
                    let variant = |(name, list): &(String, Vec<Field>)| {
                        format!("{name:?}: {},", fields(list))
                    };
                    format!("variants: {{ {} }}", variants.iter().map(variant).collect::<String>())
                }
                Form::Bare(kind) => format!("value: {}", word(kind)),
            };
            format!("Class {{ name: {name:?}, id: \"{id:#x}\", version: {version}, {form} }},\n")
        };
        let object =
            |name: &String| format!("Object {{ class: {name} {{}}, holder: \"Rc<RefCell>\" }},\n");
        let schemas = self.classes.iter().map(class).chain(self.objects.iter().map(object));
        let schemas: String = schemas.collect();
        format!(
            "Lock {{ format: 3, versions: [Version {{ name: \"0.1.0\", after: [], schemas: [\n{schemas}] }}] }}"
        )
    }

    pub(crate) fn class(&self, name: &str) -> &Class {
        self.classes.iter().find(|class| class.name == name).expect("a class of the schema")
    }

    fn number(&self, name: &str) -> u64 {
        self.classes.iter().position(|class| class.name == name).expect("a class") as u64 + 1
    }

    fn kind(&self, kind: &Kind, out: &mut Vec<u8>) {
        let (tag, parts): (u8, Vec<&Kind>) = match kind {
            Kind::Plain(tag) => (*tag, vec![]),
            Kind::Option(part) => (0x10, vec![part]),
            Kind::List(part) => (0x11, vec![part]),
            Kind::Set(part) => (0x12, vec![part]),
            Kind::Map(key, value) => (0x13, vec![key, value]),
            Kind::Array(part, length) => {
                out.push(0x14);
                forge::count(*length as u64, out);
                return self.kind(part, out);
            }
            Kind::Tuple(parts) => {
                out.push(0x15);
                forge::count(parts.len() as u64, out);
                return parts.iter().for_each(|part| self.kind(part, out));
            }
            Kind::Class(name) => {
                out.push(0x16);
                return forge::count(self.number(name), out);
            }
            Kind::Reference(is_weak, name) => {
                out.extend([0x17, if *is_weak { 0x91 } else { 0x11 }]);
                return forge::count(self.number(name), out);
            }
            Kind::Unknown => (0x1b, vec![]),
        };
        out.push(tag);
        parts.into_iter().for_each(|part| self.kind(part, out));
    }

    fn fields(&self, fields: &[Field], out: &mut Vec<u8>) {
        forge::count(fields.len() as u64, out);
        for field in fields {
            out.extend(forge::text(&field.name));
            out.push(u8::from(field.number.is_some()));
            field.number.iter().for_each(|number| forge::count(u64::from(*number), out));
            self.kind(&field.kind, out);
        }
    }

    fn definition(&self, class: &Class) -> Item {
        let mut out = forge::text(&class.name);
        forge::count(u64::from(class.version), &mut out);
        match &class.form {
            Form::Struct(fields) => {
                out.push(0);
                self.fields(fields, &mut out);
            }
            Form::Enum(variants) => {
                out.push(1);
                forge::count(variants.len() as u64, &mut out);
                for (name, fields) in variants {
                    out.extend(forge::text(name));
                    self.fields(fields, &mut out);
                }
            }
            Form::Bare(kind) => {
                out.push(2);
                self.kind(kind, &mut out);
            }
        }
        Item::Definition(out)
    }

    /// A save of random objects.
    pub(crate) fn save(&self, rng: &mut Pcg64) -> Vec<u8> {
        let mut maker = Maker { schema: self, rng, objects: Vec::new(), marker: 1000 };
        for _ in 0..2 {
            let object = maker.schema.objects.choose(maker.rng).expect("an object").clone();
            maker.object(&object, forge::ADDED, 0);
        }
        let objects = std::mem::take(&mut maker.objects);
        let mut items: Vec<Item> =
            self.classes.iter().map(|class| self.definition(class)).collect();
        for (id, (class, holder, payload)) in (1..).zip(objects) {
            items.push(forge::record(self.number(&class), holder, id, &payload));
        }
        forge::save(&items)
    }
}

/// A kind as a lock has it.
fn word(kind: &Kind) -> String {
    match kind {
        Kind::Plain(0) => String::from("()"),
        Kind::Plain(tag) => format!("{:?}", WORDS[usize::from(*tag)]),
        Kind::Option(part) => format!("some({})", word(part)),
        Kind::List(part) => format!("[{}]", word(part)),
        Kind::Set(part) => format!("kind::Set {{ of: {} }}", word(part)),
        Kind::Map(key, value) => format!("{{ {}: {} }}", word(key), word(value)),
        Kind::Array(part, length) => format!("[{}, {length}]", word(part)),
        Kind::Tuple(parts) if parts.is_empty() => String::from("(,)"),
        Kind::Tuple(parts) => {
            format!("({})", parts.iter().map(|part| word(part) + ",").collect::<String>())
        }
        Kind::Class(name) => format!("{name} {{}}"),
        Kind::Reference(is_weak, name) => {
            let word = if *is_weak { "Weak" } else { "Strong" };
            format!("kind::{word} {{ holder: \"Rc<RefCell>\", to: {name} {{}} }}")
        }
        Kind::Unknown => String::from("\"Unknown\""),
    }
}

/// Values with all that a load may stumble over: boundaries, duplicates, every variant; and numbers and texts that
/// stand there once, so that each that is lost is missed.
struct Maker<'m> {
    schema: &'m Schema,
    rng: &'m mut Pcg64,
    objects: Vec<(String, u8, Vec<u8>)>,
    marker: u32,
}

impl Maker<'_> {
    fn object(&mut self, class: &str, holder: u8, deep: u32) -> u64 {
        let known = self.objects.iter().position(|(known, ..)| known == class);
        if let Some(known) = known
            && (deep > 3 || self.rng.gen_ratio(1, 3))
        {
            return known as u64 + 1;
        }
        let at = self.objects.len();
        self.objects.push((class.to_owned(), holder, Vec::new()));
        let mut payload = Vec::new();
        self.value(&Kind::Class(class.to_owned()), deep + 1, &mut payload);
        self.objects[at].2 = payload;
        at as u64 + 1
    }

    fn value(&mut self, kind: &Kind, deep: u32, out: &mut Vec<u8>) {
        match kind {
            Kind::Plain(tag) => self.plain(*tag, out),
            Kind::Option(part) => {
                let is_some = deep < 6 && self.rng.gen_bool(0.7);
                out.push(u8::from(is_some));
                if is_some {
                    self.value(part, deep + 1, out);
                }
            }
            Kind::List(part) => {
                let count = self.count(deep);
                let mut values: Vec<Vec<u8>> =
                    (0..count).map(|_| self.one(part, deep + 1)).collect();
                // Equal ones.
                if self.rng.gen_ratio(1, 3) {
                    values.extend(values.first().cloned());
                }
                forge::count(values.len() as u64, out);
                out.extend(values.concat());
            }
            Kind::Set(part) => {
                let values = self.distinct(part, deep);
                forge::count(values.len() as u64, out);
                out.extend(values.concat());
            }
            Kind::Map(key, value) => {
                let keys = self.distinct(key, deep);
                forge::count(keys.len() as u64, out);
                for key in keys {
                    out.extend(key);
                    self.value(value, deep + 1, out);
                }
            }
            Kind::Array(part, length) => (0..*length).for_each(|_| self.value(part, deep + 1, out)),
            Kind::Tuple(parts) => parts.iter().for_each(|part| self.value(part, deep + 1, out)),
            Kind::Class(name) => match self.schema.class(name).form.clone() {
                Form::Struct(fields) => self.fields(&fields, deep, out),
                Form::Enum(variants) => {
                    let at = self.rng.gen_range(0..variants.len());
                    out.push(u8::try_from(at).expect("few variants"));
                    self.fields(&variants[at].1, deep, out);
                }
                Form::Bare(kind) => self.value(&kind, deep, out),
            },
            Kind::Reference(is_weak, name) => {
                let known = self.objects.iter().position(|(known, ..)| known == name);
                let id = match (is_weak, known) {
                    // What weak pointers alone lead to is in no save.
                    (true, None) => 0,
                    (true, Some(known)) => known as u64 + 1,
                    (false, _) => self.object(name, forge::MET, deep),
                };
                forge::count(id, out);
            }
            Kind::Unknown => out.push(0),
        }
    }

    fn fields(&mut self, fields: &[Field], deep: u32, out: &mut Vec<u8>) {
        fields.iter().for_each(|field| self.value(&field.kind, deep + 1, out));
    }

    fn one(&mut self, kind: &Kind, deep: u32) -> Vec<u8> {
        let mut out = Vec::new();
        self.value(kind, deep, &mut out);
        out
    }

    fn count(&mut self, deep: u32) -> usize {
        if deep > 5 { 0 } else { self.rng.gen_range(0..4) }
    }

    fn distinct(&mut self, kind: &Kind, deep: u32) -> Vec<Vec<u8>> {
        let count = self.count(deep);
        let values: BTreeSet<Vec<u8>> = (0..count).map(|_| self.one(kind, deep + 1)).collect();
        values.into_iter().collect()
    }

    fn plain(&mut self, tag: u8, out: &mut Vec<u8>) {
        self.marker += 1;
        let marker = self.marker;
        let choice = self.rng.gen_range(0..8);
        match tag {
            0 => {}
            1 => out.push(u8::from(self.rng.r#gen::<bool>())),
            2 => {
                let c = *['a', '0', 'ö', '\u{10ffff}'].choose(self.rng).expect("one");
                out.extend(u32::from(c).to_le_bytes());
            }
            13 => {
                let number = match choice {
                    0 => 0.0,
                    1 => f32::MAX,
                    2 => f32::NAN,
                    3 => -0.5,
                    _ => 0.25 + f32::from(u16::try_from(marker % 60_000).expect("small")),
                };
                out.extend(number.to_le_bytes());
            }
            14 => {
                let number = match choice {
                    0 => 0.0,
                    1 => f64::MAX,
                    2 => f64::INFINITY,
                    3 => 0.1,
                    _ => 0.75 + f64::from(marker),
                };
                out.extend(number.to_le_bytes());
            }
            15 => out.extend(match choice {
                0 => forge::text(""),
                1 => forge::text("Calm"),
                2 => forge::text("7"),
                _ => forge::text(&format!("text {marker}")),
            }),
            tag => {
                let width = 1 << ((tag - 3) % 5);
                let is_signed = tag >= 8;
                let mut bytes = match choice {
                    0 => vec![0; width],
                    1 => vec![255; width],
                    2 if is_signed => [vec![0; width - 1], vec![0x80]].concat(),
                    3 if is_signed => [vec![255; width - 1], vec![0x7f]].concat(),
                    4 => [vec![1], vec![0; width - 1]].concat(),
                    _ => u128::from(marker).to_le_bytes()[..width].to_vec(),
                };
                bytes.truncate(width);
                out.extend(bytes);
            }
        }
    }
}

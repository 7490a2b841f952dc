//! The schemas of a lock as plain data: read from its text, changed, written again, and saves of random values of
//! them, made by the rules of the format alone.

use std::collections::BTreeSet;

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

/// Reads a kind, and returns what follows it.
fn kind(text: &str) -> (Kind, &str) {
    let inner = |text| {
        let (found, rest) = kind(text);
        (Box::new(found), &rest[1..])
    };
    if let Some(rest) = text.strip_prefix("()") {
        return (Kind::Plain(0), rest);
    }
    if let Some(mut rest) = text.strip_prefix('(') {
        let mut parts = Vec::new();
        loop {
            rest = rest.trim_start_matches([',', ' ']);
            if let Some(rest) = rest.strip_prefix(')') {
                return (Kind::Tuple(parts), rest);
            }
            let (part, after) = kind(rest);
            parts.push(part);
            rest = after;
        }
    }
    if let Some(rest) = text.strip_prefix('[') {
        let (part, rest) = kind(rest);
        let (length, rest) = rest[2..].split_once(']').expect("an array");
        return (Kind::Array(Box::new(part), length.parse().expect("a length")), rest);
    }
    for (before, is_weak) in [("Rc<RefCell<", false), ("Weak<RefCell<", true)] {
        if let Some(rest) = text.strip_prefix(before) {
            let (class, rest) = rest.split_once(">>").expect("a pointer");
            return (Kind::Reference(is_weak, class.to_owned()), rest);
        }
    }
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    let (word, rest) = text.split_at(end);
    let (of, after) = (|| rest.strip_prefix('<').map(inner), rest);
    match word {
        "Option" => of().map(|(part, rest)| (Kind::Option(part), rest)),
        "Vec" => of().map(|(part, rest)| (Kind::List(part), rest)),
        "Set" => of().map(|(part, rest)| (Kind::Set(part), rest)),
        "Map" => {
            let (key, rest) = kind(&rest[1..]);
            let (value, rest) = kind(&rest[2..]);
            Some((Kind::Map(Box::new(key), Box::new(value)), &rest[1..]))
        }
        "Unknown" => Some((Kind::Unknown, after)),
        word => match WORDS.iter().position(|known| *known == word) {
            Some(tag) => Some((Kind::Plain(u8::try_from(tag).expect("a tag")), after)),
            None => Some((Kind::Class(word.to_owned()), after)),
        },
    }
    .expect("a kind")
}

fn field(line: &str) -> Field {
    let (name, text) = line.trim().split_once(": ").expect("a field");
    let (name, number) = match name.split_once(" #") {
        Some((name, number)) => (name, Some(number.parse().expect("a number"))),
        None => (name, None),
    };
    let (kind, rest) = kind(text);
    assert_eq!(rest, "", "{line}");
    Field { name: name.to_owned(), number, kind }
}

impl Schema {
    /// Reads a lock of one version.
    pub(crate) fn parse(text: &str) -> Self {
        let mut schema = Self { classes: Vec::new(), objects: Vec::new() };
        for line in text.lines() {
            if let Some(rest) = line.strip_prefix("class ") {
                let (name, rest) = rest.split_once(", id ").expect("an id");
                let (_, rest) = rest.split_once(", version ").expect("a version");
                let (version, form) = rest.split_once(", ").expect("a form");
                let form = match form.split_once(' ') {
                    None if form == "struct" => Form::Struct(Vec::new()),
                    None => Form::Enum(Vec::new()),
                    Some((_, text)) => Form::Bare(kind(text).0),
                };
                let version = version.parse().expect("a version");
                schema.classes.push(Class { name: name.to_owned(), version, form });
            } else if let Some(rest) = line.strip_prefix("object ") {
                let name = rest.strip_suffix(" in Rc<RefCell>").expect("that holder alone");
                schema.objects.push(name.to_owned());
            } else if let Some(name) = line.strip_prefix("  variant ") {
                if let Some(Class { form: Form::Enum(variants), .. }) = schema.classes.last_mut() {
                    variants.push((name.to_owned(), Vec::new()));
                }
            } else if line.starts_with("  ") {
                match schema.classes.last_mut().map(|class| &mut class.form) {
                    Some(Form::Struct(fields)) => fields.push(field(line)),
                    Some(Form::Enum(variants)) => {
                        variants.last_mut().expect("a variant").1.push(field(line));
                    }
                    form => panic!("{line} of {form:?}"),
                }
            }
        }
        schema
    }

    /// The lock that has this as its one version.
    pub(crate) fn text(&self) -> String {
        let mut text = String::from(
            "# persist.lock, format 1; written by the test with PERSIST_LOCK=update, the versions before stay as they are\n\nversion 0.1.0\n",
        );
        let fields = |fields: &[Field], indent: &str, text: &mut String| {
            for field in fields {
                let number = field.number.map_or_else(String::new, |number| format!(" #{number}"));
                text.push_str(&format!("{indent}{}{number}: {}\n", field.name, word(&field.kind)));
            }
        };
        for class in &self.classes {
            let Class { name, version, form } = class;
            let form_word = match form {
                Form::Struct(_) => String::from("struct"),
                Form::Enum(_) => String::from("enum"),
                Form::Bare(kind) => format!("value {}", word(kind)),
            };
            let id = forge::id_of(name);
            text.push_str(&format!("\nclass {name}, id {id:#x}, version {version}, {form_word}\n"));
            match form {
                Form::Struct(list) => fields(list, "  ", &mut text),
                Form::Enum(variants) => {
                    for (name, list) in variants {
                        text.push_str(&format!("  variant {name}\n"));
                        fields(list, "    ", &mut text);
                    }
                }
                Form::Bare(_) => {}
            }
        }
        text.push('\n');
        self.objects
            .iter()
            .for_each(|name| text.push_str(&format!("object {name} in Rc<RefCell>\n")));
        text
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
        let mut out = forge::id_of(&class.name).to_le_bytes().to_vec();
        out.extend(forge::text(&class.name));
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
        Kind::Plain(tag) => WORDS[usize::from(*tag)].to_owned(),
        Kind::Option(part) => format!("Option<{}>", word(part)),
        Kind::List(part) => format!("Vec<{}>", word(part)),
        Kind::Set(part) => format!("Set<{}>", word(part)),
        Kind::Map(key, value) => format!("Map<{}, {}>", word(key), word(value)),
        Kind::Array(part, length) => format!("[{}; {length}]", word(part)),
        Kind::Tuple(parts) => {
            let words: Vec<String> = parts.iter().map(word).collect();
            format!("({}{})", words.join(", "), if parts.len() < 2 { "," } else { "" })
        }
        Kind::Class(name) => name.clone(),
        Kind::Reference(is_weak, name) => {
            format!("{}<RefCell<{name}>>", if *is_weak { "Weak" } else { "Rc" })
        }
        Kind::Unknown => String::from("Unknown"),
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

//! A dump of a save with the meaning of every byte, written from the rules of
//! the format and sharing no code with the library.

use std::fmt::Write as _;

/// A line or more for each part: offset, bytes, meaning.
pub(crate) fn dump(save: &[u8]) -> String {
    let mut dump = Dump { save, at: 0, start: 0, text: String::new(), classes: Vec::new() };
    dump.header();
    let (mut records, mut block) = (0, 1);
    while dump.peek() != 0x7f {
        let tag = dump.number(1);
        let length = dump.number(4);
        dump.line(&format!("block of {length} bytes, tag {tag:#04x}"));
        let end = dump.at + to_usize(length);
        if tag == 4 {
            // What it repeats is dumped where it stood first.
            dump.at = end;
            dump.line("the definitions once more");
        }
        while dump.at < end {
            records += u64::from(dump.item());
        }
        dump.checksum(&format!("of block {block}"));
        block += 1;
    }
    dump.number(1);
    dump.line("trailer");
    for (what, expected) in [
        ("records", records),
        ("definitions", dump.classes.len() as u64),
        ("bytes", save.len() as u64),
    ] {
        let found = dump.number(8);
        assert_eq!(found, expected, "{what} in the trailer");
        dump.line(&format!("{what}: {found}"));
    }
    dump.checksum("of the trailer");
    assert_eq!(dump.at, save.len());
    dump.text
}

struct Dump<'s> {
    save: &'s [u8],
    at: usize,
    /// Where the line begins.
    start: usize,
    text: String,
    classes: Vec<Class>,
}

#[derive(Clone)]
struct Class {
    name: String,
    form: u8,
    /// A struct and a bare value have one.
    variants: Vec<(String, Vec<(String, Kind)>)>,
}

#[derive(Clone)]
enum Kind {
    Scalar(u8),
    /// Of the kind of this tag.
    Compact(u8),
    Of(u8, Vec<Kind>),
    Array(usize, Box<Kind>),
    Class(usize),
    Reference(u8, usize),
    /// A trait object in a box, a reference to one in a holder, or a handle: the tag,
    /// and the name of the trait or arena.
    Named(u8, u8, String),
}

const SCALARS: [(&str, usize); 16] = [
    ("()", 0),
    ("bool", 1),
    ("char", 4),
    ("u8", 1),
    ("u16", 2),
    ("u32", 4),
    ("u64", 8),
    ("u128", 16),
    ("i8", 1),
    ("i16", 2),
    ("i32", 4),
    ("i64", 8),
    ("i128", 16),
    ("f32", 4),
    ("f64", 8),
    ("text", 0),
];

fn to_usize(number: u64) -> usize {
    usize::try_from(number).expect("a size")
}

impl Dump<'_> {
    fn peek(&self) -> u8 {
        self.save[self.at]
    }

    fn take(&mut self, length: usize) -> &[u8] {
        self.at += length;
        &self.save[self.at - length..self.at]
    }

    fn number(&mut self, width: usize) -> u64 {
        self.take(width).iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
    }

    /// A number in as few bytes as it needs.
    fn compact(&mut self) -> u64 {
        let first = self.number(1);
        if first <= 247 { first } else { self.number(to_usize(first) - 247) }
    }

    fn count(&mut self) -> usize {
        to_usize(self.compact())
    }

    fn string(&mut self) -> String {
        let length = self.count();
        String::from_utf8(self.take(length).to_vec()).expect("UTF-8")
    }

    /// Ends a line: the bytes since the one before, and what they mean.
    fn line(&mut self, meaning: &str) {
        let bytes = &self.save[self.start..self.at];
        let rows = if bytes.is_empty() { vec![bytes] } else { bytes.chunks(16).collect() };
        for (i, row) in rows.into_iter().enumerate() {
            let hex: Vec<String> = row.iter().map(|byte| format!("{byte:02x}")).collect();
            let meaning = if i == 0 { meaning } else { "" };
            let line = format!("{:04x}  {:47}  {meaning}", self.start + 16 * i, hex.join(" "));
            writeln!(self.text, "{}", line.trim_end()).expect("a string");
        }
        self.start = self.at;
    }

    fn checksum(&mut self, of: &str) {
        self.number(4);
        self.line(&format!("checksum {of}"));
    }

    fn header(&mut self) {
        self.take(8);
        self.line("magic");
        let format = self.number(2);
        self.line(&format!("format {format}"));
        let flags = self.number(2);
        self.line(&format!("flags {flags:#x}"));
        let length = self.number(4);
        self.line(&format!("{length} bytes of header fields"));
        let end = self.at + to_usize(length);
        while self.at < end {
            let tag = self.number(1);
            let length = to_usize(self.number(4));
            let text = String::from_utf8_lossy(self.take(length)).into_owned();
            self.line(&format!("  field {tag}: {text}"));
        }
        self.checksum("of the header");
    }

    /// True for a record.
    fn item(&mut self) -> bool {
        let class = self.count();
        let is_record = class > 0;
        if is_record {
            let (holder, id) = (self.number(1), self.count());
            let length = to_usize(self.number(4));
            let name = &self.classes[class - 1].name;
            let meaning = format!(
                "  record of class {class}, {name}, holder {holder:#04x}, object #{id}, {length} bytes"
            );
            self.line(&meaning);
            let end = self.at + length;
            self.value("", &Kind::Class(class - 1), 2);
            assert_eq!(self.at, end, "the payload of object #{id}");
        } else {
            let length = to_usize(self.number(4));
            self.line(&format!("  definition of class {}, {length} bytes", self.classes.len() + 1));
            let end = self.at + length;
            self.definition();
            assert_eq!(self.at, end, "the definition");
        }
        assert_eq!(self.number(1), 0x1e);
        self.line("    separator");
        is_record
    }

    fn definition(&mut self) {
        let name = self.string();
        self.line(&format!("    name {name}"));
        let version = self.count();
        self.line(&format!("    version {version}"));
        let form = self.peek();
        self.take(1);
        let mut variants = Vec::new();
        if form & 0x40 != 0 {
            let id = self.number(8);
            self.line(&format!("    id {id:#x}"));
        }
        let form = form & !0x40;
        match form {
            0 => {
                self.line("    struct");
                variants.push((String::new(), self.fields("    ")));
            }
            1 => {
                let count = self.count();
                self.line(&format!("    enum of {count} variants"));
                for _ in 0..count {
                    let name = self.string();
                    self.line(&format!("    variant {name}"));
                    variants.push((name, self.fields("      ")));
                }
            }
            _ => {
                let kind = self.kind();
                self.line(&format!("    bare value: {}", show(&kind)));
                variants.push((String::new(), vec![(String::new(), kind)]));
            }
        }
        self.classes.push(Class { name, form, variants });
    }

    fn fields(&mut self, indent: &str) -> Vec<(String, Kind)> {
        let count = self.count();
        self.line(&format!("{indent}{count} fields"));
        let mut fields = Vec::new();
        for _ in 0..count {
            let name = self.string();
            assert_eq!(self.number(1), 0, "the flags of {name}");
            let kind = self.kind();
            self.line(&format!("{indent}  {name}: {}", show(&kind)));
            fields.push((name, kind));
        }
        fields
    }

    fn kind(&mut self) -> Kind {
        let tag = self.peek();
        self.take(1);
        match tag {
            0x00..=0x0f => Kind::Scalar(tag),
            0x10..=0x12 => Kind::Of(tag, vec![self.kind()]),
            0x13 => Kind::Of(tag, vec![self.kind(), self.kind()]),
            0x14 => Kind::Array(self.count(), Box::new(self.kind())),
            0x15 => {
                let count = self.count();
                Kind::Of(tag, (0..count).map(|_| self.kind()).collect())
            }
            0x16 => Kind::Class(self.count() - 1),
            0x17 => {
                let holder = self.peek();
                self.take(1);
                Kind::Reference(holder, self.count())
            }
            0x18 | 0x1a => Kind::Named(tag, 0, self.string()),
            0x1c => {
                let plain = self.peek();
                self.take(1);
                Kind::Compact(plain)
            }
            0x19 => {
                let holder = self.peek();
                self.take(1);
                Kind::Named(tag, holder, self.string())
            }
            _ => panic!("kind {tag:#x}"),
        }
    }

    fn scalar(&mut self, tag: u8) -> String {
        let (word, width) = SCALARS[usize::from(tag)];
        let bits =
            self.take(width).iter().rev().fold(0, |bits, byte| bits << 8 | u128::from(*byte));
        let unused = 128 - 8 * u32::try_from(width.max(1)).expect("a width");
        match tag {
            0x00 => word.into(),
            0x01..=0x02 => format!("{word} {bits:#x}"),
            0x0d => format!("{word} {:?}", f32::from_bits(u32::try_from(bits).expect("32 bits"))),
            0x0e => format!("{word} {:?}", f64::from_bits(u64::try_from(bits).expect("64 bits"))),
            0x08..=0x0c => format!("{word} {}", (bits << unused).cast_signed() >> unused),
            _ => format!("{word} {bits}"),
        }
    }

    /// Walks over a value; parts that are structs get lines of their own.
    fn value(&mut self, name: &str, kind: &Kind, depth: usize) {
        let indent = "  ".repeat(depth);
        if let Kind::Class(class) = kind {
            let class = self.classes[*class].clone();
            let mut variant = 0;
            if class.form == 1 {
                variant = to_usize(self.number(if class.variants.len() > 256 { 2 } else { 1 }));
                self.line(&format!(
                    "{indent}{name} = {}::{}",
                    class.name, class.variants[variant].0
                ));
            } else if !name.is_empty() {
                self.line(&format!("{indent}{name} = {}", class.name));
            }
            for (name, kind) in &class.variants[variant].1 {
                self.value(name, kind, depth + 1);
            }
            return;
        }
        let parts: Vec<(String, &Kind)> = match kind {
            Kind::Scalar(0x0f) => {
                let text: String = self.string().chars().take(40).collect();
                return self.line(&format!("{indent}{name} = {text:?}"));
            }
            Kind::Scalar(tag) => {
                let shown = self.scalar(*tag);
                return self.line(&format!("{indent}{name} = {shown}"));
            }
            Kind::Compact(tag) => {
                let number = self.compact();
                let half = (number >> 1).cast_signed();
                let signed = if number.is_multiple_of(2) { half } else { -half - 1 };
                let word = SCALARS[usize::from(*tag)].0;
                let shown = if *tag < 8 { number.to_string() } else { signed.to_string() };
                return self.line(&format!("{indent}{name} = compact {word} {shown}"));
            }
            Kind::Named(0x18, ..) => {
                let class = self.count();
                self.line(&format!("{indent}{name} of class {class}"));
                return self.value(name, &Kind::Class(class - 1), depth + 1);
            }
            Kind::Named(0x1a, ..) => {
                let (state, bits) = (self.number(1), self.number(8));
                return self.line(&format!("{indent}{name} = handle {state}, {bits:#x}"));
            }
            Kind::Reference(..) | Kind::Named(..) => {
                let id = self.count();
                return self.line(&format!("{indent}{name} = object #{id}"));
            }
            Kind::Of(0x15, parts) => {
                parts.iter().enumerate().map(|(i, part)| (i.to_string(), part)).collect()
            }
            Kind::Array(length, part) => {
                (0..*length).map(|i| (format!("[{i}]"), &**part)).collect()
            }
            Kind::Of(_, parts) => {
                let count = self.count();
                (0..count)
                    .flat_map(|i| parts.iter().map(move |part| (format!("[{i}]"), part)))
                    .collect()
            }
            Kind::Class(_) => return,
        };
        let count = parts.len();
        self.line(&format!("{indent}{name}: {count} parts"));
        for (name, kind) in parts {
            self.value(&name, kind, depth + 1);
        }
    }
}

fn show(kind: &Kind) -> String {
    match kind {
        Kind::Scalar(tag) => SCALARS[usize::from(*tag)].0.into(),
        Kind::Compact(tag) => format!("compact {}", SCALARS[usize::from(*tag)].0),
        Kind::Of(tag, parts) => {
            let word = ["option", "list", "set", "map", "array", "tuple"][usize::from(*tag - 0x10)];
            let parts: Vec<String> = parts.iter().map(show).collect();
            format!("{word} of {}", parts.join(", "))
        }
        Kind::Array(length, part) => format!("array of {length} times {}", show(part)),
        Kind::Class(class) => format!("class {}", class + 1),
        Kind::Reference(holder, class) => format!("reference {holder:#04x} to class {class}"),
        Kind::Named(0x18, _, name) => format!("trait object {name}"),
        Kind::Named(0x19, holder, name) => {
            format!("reference {holder:#04x} to trait object {name}")
        }
        Kind::Named(_, _, name) => format!("handle of {name}"),
    }
}

//! A save of a schema that the fuzzer's bytes choose, with values that fit it.

use crate::block;
use crate::schema::{CLASSES, Choices, Class, Fields, Form, HOLDERS, Kind};

const TEXTS: [&str; 6] = ["", "North", "Down", "17", "x", "a longer text that is on the heap"];

/// Enough for every path, and few enough for thousands of saves in a second.
const MAX_OBJECTS: usize = 24;
const MAX_BYTES: usize = 16 << 10;
const MAX_VALUES: usize = 4 << 10;

fn text(text: &str, out: &mut Vec<u8>) {
    out.push(u8::try_from(text.len()).expect("short"));
    out.extend_from_slice(text.as_bytes());
}

struct Maker<'c, 'b> {
    choices: &'c mut Choices<'b>,
    classes: Vec<Class>,
    /// Class and holder of each object. Objects from the index `done` on have no record yet.
    objects: Vec<(u8, u8)>,
    records: Vec<u8>,
    /// Values so far: a class may hold itself, and more than once.
    values: usize,
}

/// A save by these choices.
pub fn save(choices: &mut Choices<'_>) -> Vec<u8> {
    let mut classes: Vec<Class> = Vec::new();
    for _ in 0..=choices.below(6) {
        let name = choices.one_of(&CLASSES);
        if classes.iter().all(|class| class.name != name) {
            let class = choices.class(name);
            classes.push(class);
        }
    }
    let mut maker = Maker { choices, classes, objects: Vec::new(), records: Vec::new(), values: 0 };
    let mut content = maker.definitions();
    maker.write_records();
    content.append(&mut maker.records);
    let (at, byte) = (maker.choices.byte(), maker.choices.byte());
    // Sometimes one byte near the end is replaced.
    if byte > 200 && !content.is_empty() {
        let at = content.len() - 1 - usize::from(at) % content.len();
        content[at] = byte;
    }
    block::seal(&content)
}

impl Maker<'_, '_> {
    fn number(&self, class: u8) -> u8 {
        class % u8::try_from(self.classes.len()).expect("few")
    }

    fn definitions(&self) -> Vec<u8> {
        let mut out = Vec::new();
        for class in &self.classes {
            let mut body = Vec::new();
            text(class.name, &mut body);
            body.push(class.version);
            match &class.form {
                Form::Struct(fields) => {
                    body.push(0);
                    self.fields(fields, &mut body);
                }
                Form::Enum(variants) => {
                    body.extend([1, u8::try_from(variants.len()).expect("few")]);
                    for (name, fields) in variants {
                        text(name, &mut body);
                        self.fields(fields, &mut body);
                    }
                }
                Form::Bare(kind) => {
                    body.push(2);
                    self.kind(kind, &mut body);
                }
            }
            item(&[0], &body, &mut out);
        }
        out
    }

    fn fields(&self, fields: &Fields, out: &mut Vec<u8>) {
        out.push(u8::try_from(fields.len()).expect("few"));
        for (name, id, kind) in fields {
            text(name, out);
            match id {
                Some(id) => out.extend([1, *id]),
                None => out.push(0),
            }
            self.kind(kind, out);
        }
    }

    fn kind(&self, kind: &Kind, out: &mut Vec<u8>) {
        match kind {
            Kind::Plain(tag) => out.push(*tag),
            Kind::Of(tag, part) => {
                out.push(*tag);
                self.kind(part, out);
            }
            Kind::Map(key, value) => {
                out.push(0x13);
                self.kind(key, out);
                self.kind(value, out);
            }
            Kind::Array(length, part) => {
                out.extend([0x14, *length]);
                self.kind(part, out);
            }
            Kind::Tuple(parts) => {
                out.extend([0x15, u8::try_from(parts.len()).expect("few")]);
                parts.iter().for_each(|part| self.kind(part, out));
            }
            Kind::Class(class) => out.extend([0x16, 1 + self.number(*class)]),
            Kind::Reference(holder, class) => {
                out.extend([0x17, *holder, 1 + self.number(*class)]);
            }
            Kind::Dynamic => {
                out.push(0x18);
                text("Tool", out);
            }
            Kind::DynamicReference(holder) => {
                out.extend([0x19, *holder]);
                text("Tool", out);
            }
            Kind::Handle => {
                out.push(0x1a);
                text("things", out);
            }
            Kind::Unknown => out.push(0x1b),
        }
    }

    fn write_records(&mut self) {
        let classes = std::mem::take(&mut self.classes);
        self.classes =
            classes.iter().map(|class| Class { form: Form::Struct(vec![]), ..*class }).collect();
        // A save of one value, or of added objects.
        let is_value = self.choices.below(3) == 0;
        for _ in 0..=self.choices.below(if is_value { 1 } else { 3 }) {
            let holder = if is_value { 0x80 } else { 0x80 | self.choices.one_of(&HOLDERS) };
            let class = if self.choices.below(3) > 0 { 0 } else { self.choices.byte() };
            let class = self.number(class);
            self.objects.push((class, holder));
        }
        let mut done = 0;
        while let Some(&(class, holder)) = self.objects.get(done) {
            done += 1;
            let id = u8::try_from(done).expect("few");
            self.record(&classes, class, holder, id);
            // A record of unknown fields of the object.
            if self.choices.below(8) == 7 {
                let class = self.choices.byte();
                self.record(&classes, self.number(class), 0, id);
            }
        }
    }

    fn record(&mut self, classes: &[Class], class: u8, holder: u8, id: u8) {
        let mut payload = Vec::new();
        self.class_value(classes, class, 0, &mut payload);
        item(&[1 + class, holder, id], &payload, &mut self.records);
    }

    fn class_value(&mut self, classes: &[Class], class: u8, depth: u8, out: &mut Vec<u8>) {
        if depth > 60 || self.values > MAX_VALUES {
            return;
        }
        let fields = |this: &mut Self, fields: &Fields, out: &mut Vec<u8>| {
            fields.iter().for_each(|(.., kind)| this.value(classes, kind, depth + 1, out));
        };
        match &classes[usize::from(class)].form {
            Form::Struct(of) => fields(self, of, out),
            Form::Enum(variants) => {
                let tag = self.choices.below(u8::try_from(variants.len()).expect("few"));
                out.push(tag);
                fields(self, &variants[usize::from(tag)].1, out);
            }
            Form::Bare(kind) => self.value(classes, kind, depth + 1, out),
        }
    }

    fn value(&mut self, classes: &[Class], kind: &Kind, depth: u8, out: &mut Vec<u8>) {
        self.values += 1;
        if depth > 60 || self.values > MAX_VALUES {
            return;
        }
        // Large values get no more parts.
        let room = if depth > 8 || out.len() + self.records.len() > MAX_BYTES { 0 } else { 3 };
        match kind {
            Kind::Plain(0) => {}
            Kind::Plain(1) => out.push(self.choices.below(2)),
            Kind::Plain(2) => out.extend([b'a' + self.choices.below(26), 0, 0, 0]),
            Kind::Plain(0x0f) => text(self.choices.one_of(&TEXTS), out),
            Kind::Plain(tag) => {
                let width = [1, 2, 4, 8, 16, 1, 2, 4, 8, 16, 4, 8][usize::from(*tag) - 3];
                let low = self.choices.byte();
                // Small, or of any size.
                let fill = if low == 0xff { self.choices.byte() } else { 0 };
                out.push(low);
                out.resize(out.len() + width - 1, fill);
            }
            Kind::Of(0x10, part) => {
                let is_some = room.min(self.choices.below(2));
                out.push(is_some.min(1));
                if is_some > 0 {
                    self.value(classes, part, depth + 1, out);
                }
            }
            Kind::Of(_, part) => {
                let count = self.choices.below(room + 1);
                out.push(count);
                (0..count).for_each(|_| self.value(classes, part, depth + 1, out));
            }
            Kind::Map(key, value) => {
                let count = self.choices.below(room + 1);
                out.push(count);
                for _ in 0..count {
                    self.value(classes, key, depth + 1, out);
                    self.value(classes, value, depth + 1, out);
                }
            }
            Kind::Array(length, part) => {
                (0..*length).for_each(|_| self.value(classes, part, depth + 1, out));
            }
            Kind::Tuple(parts) => {
                parts.iter().for_each(|part| self.value(classes, part, depth + 1, out));
            }
            Kind::Class(class) => self.class_value(classes, self.number(*class), depth, out),
            Kind::Reference(holder, class) => {
                let class = self.number(*class);
                let id = self.object(*holder, Some(class));
                out.push(id);
            }
            Kind::DynamicReference(holder) => {
                let id = self.object(*holder, None);
                out.push(id);
            }
            Kind::Dynamic => {
                let class = self.choices.byte();
                let class = self.number(class);
                out.push(1 + class);
                self.class_value(classes, class, depth + 1, out);
            }
            Kind::Handle => {
                let state = self.choices.below(3);
                out.push(state);
                let bits = if state == 0 { 0 } else { self.choices.byte() };
                out.extend(u64::from(bits).to_le_bytes());
            }
            Kind::Unknown => {
                let count = self.choices.below(room.min(2) + 1);
                out.push(count);
                for _ in 0..count {
                    let class = self.choices.byte();
                    let class = self.number(class);
                    out.push(1 + class);
                    self.class_value(classes, class, depth + 1, out);
                }
            }
        }
    }

    /// The id of an object in this holder: a new one, or an existing one.
    fn object(&mut self, holder: u8, class: Option<u8>) -> u8 {
        let (weak, held) = (holder & 0x80 != 0, holder & 0x7f);
        let choice = self.choices.byte();
        if weak && choice % 4 == 0 {
            return 0;
        }
        let fits =
            |&(of, other): &(u8, u8)| other & 0x7f == held && class.is_none_or(|class| class == of);
        let existing = self.objects.iter().rposition(fits).filter(|_| choice % 2 == 0);
        let place = existing.unwrap_or_else(|| {
            if self.objects.len() < MAX_OBJECTS {
                let class = class.unwrap_or_else(|| self.number(choice / 2));
                self.objects.push((class, held));
                self.objects.len() - 1
            } else {
                // It may be an object of the wrong class.
                self.objects.iter().position(fits).unwrap_or_default()
            }
        });
        u8::try_from(place + 1).expect("few")
    }
}

fn item(head: &[u8], body: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(head);
    out.extend(u32::try_from(body.len()).expect("short").to_le_bytes());
    out.extend_from_slice(body);
    out.push(0x1e);
}

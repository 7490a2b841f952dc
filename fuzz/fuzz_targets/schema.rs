//! A schema that the fuzzer's bytes choose.

/// Names that the programs of this target know, some by an alias, and some that none knows.
pub const CLASSES: [&str; 8] = ["Case", "Gem", "Side", "Level", "Rope", "Tree", "Vec<u32>", "Gone"];
const FIELDS: [&str; 22] = [
    "number", "gems", "gem", "jewel", "maybe", "sides", "map", "other", "next", "tool", "tools",
    "rope", "handle", "text", "three", "pair", "level", "carat", "name", "0", "1", "gone",
];
const VARIANTS: [&str; 6] = ["North", "South", "Down", "West", "East", "Gone"];
pub const HOLDERS: [u8; 8] = [0x10, 0x11, 0x91, 0x13, 0x20, 0x21, 0x23, 0xa3];

pub enum Kind {
    /// Without parts: units, numbers, texts.
    Plain(u8),
    /// Options, lists, sets.
    Of(u8, Box<Kind>),
    Map(Box<Kind>, Box<Kind>),
    Array(u8, Box<Kind>),
    Tuple(Vec<Kind>),
    Class(u8),
    Reference(u8, u8),
    Dynamic,
    DynamicReference(u8),
    Handle,
    Unknown,
}

pub type Fields = Vec<(&'static str, Option<u8>, Kind)>;

pub enum Form {
    Struct(Fields),
    Enum(Vec<(&'static str, Fields)>),
    Bare(Kind),
}

pub struct Class {
    pub name: &'static str,
    pub version: u8,
    pub form: Form,
}

/// The fuzzer's bytes, then zeros.
pub struct Choices<'b>(pub &'b [u8]);

impl Choices<'_> {
    pub fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    /// Less than `end`.
    pub fn below(&mut self, end: u8) -> u8 {
        self.byte() % end.max(1)
    }

    pub fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[usize::from(self.byte()) % all.len()]
    }

    fn kind(&mut self, deep: u8) -> Kind {
        let part = |this: &mut Self| Box::new(this.kind(deep + 1));
        match self.below(if deep > 4 { 0x10 } else { 0x1c }) {
            tag @ 0..=0x0f => Kind::Plain(tag),
            tag @ 0x10..=0x12 => Kind::Of(tag, part(self)),
            0x13 => Kind::Map(part(self), part(self)),
            0x14 => Kind::Array(self.below(4), part(self)),
            0x15 => Kind::Tuple((0..self.below(4)).map(|_| self.kind(deep + 1)).collect()),
            0x16 => Kind::Class(self.byte()),
            0x17 => Kind::Reference(self.one_of(&HOLDERS), self.byte()),
            0x18 => Kind::Dynamic,
            0x19 => Kind::DynamicReference(self.one_of(&HOLDERS)),
            0x1a => Kind::Handle,
            _ => Kind::Unknown,
        }
    }

    fn fields(&mut self) -> Fields {
        let mut fields = Fields::new();
        for _ in 0..self.below(7) {
            let name = self.one_of(&FIELDS);
            let id = Some(self.below(12)).filter(|id| *id < 4);
            // A duplicate name would be refused before anything else is read.
            if fields.iter().all(|(other, ..)| *other != name) {
                fields.push((name, id, self.kind(0)));
            }
        }
        fields
    }

    pub fn class(&mut self, name: &'static str) -> Class {
        let form = match self.below(4) {
            0 | 1 => Form::Struct(self.fields()),
            2 => {
                let mut variants = vec![(self.one_of(&VARIANTS), self.fields())];
                for _ in 0..self.below(4) {
                    let name = self.one_of(&VARIANTS);
                    if variants.iter().all(|(other, _)| *other != name) {
                        variants.push((name, self.fields()));
                    }
                }
                Form::Enum(variants)
            }
            _ => Form::Bare(self.kind(0)),
        };
        Class { name, version: 1 + self.below(4), form }
    }
}

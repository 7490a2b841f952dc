//! The code inside of newtypes and tuple structs.
//!
//! A load takes a value out of such a class, or puts it into one, by position. So the attributes of its fields are code
//! of the fields that hold the class, too.

use std::collections::HashMap;

use super::code::{ClassCode, ConvertCode, FieldCode, kind_text, path};
use crate::schema::{ClassSchema, FieldSchema, Form, KindSchema};

/// How deep newtypes may lie in one another.
const DEEPEST: usize = 4;

/// The classes of a version or of the program, and what each does to values.
#[derive(Clone, Copy)]
pub(super) struct Newtypes<'n> {
    pub(super) classes: &'n [ClassSchema],
    pub(super) code: &'n HashMap<usize, ClassCode>,
}

/// A field of one side: its kind, and what stands on it.
#[derive(Clone, Copy)]
pub(super) struct FieldSide<'n> {
    of: Newtypes<'n>,
    kind: &'n KindSchema,
    code: Option<&'n FieldCode>,
}

/// How a field is stored on two sides: as another type, by what stands on it, or on a newtype that only one of them
/// has.
pub(super) fn modules(
    then: FieldSide<'_>,
    now: FieldSide<'_>,
    is_one: impl Fn(usize, usize) -> bool,
) -> (Option<String>, Option<String>) {
    let (olds, news) = (then.kind.classes(), now.kind.classes());
    let is_dropped = |old: usize| !news.iter().any(|new| is_one(old, *new));
    let is_new = |new: usize| !olds.iter().any(|old| is_one(*old, new));
    (then.module(is_dropped), now.module(is_new))
}

impl FieldSide<'_> {
    fn module(self, is_alone: impl Fn(usize) -> bool) -> Option<String> {
        let own = self.code.map_or(&[][..], |code| &code.attributes).iter();
        let inside = self.of.within(self.kind).into_iter().filter(|class| is_alone(*class));
        let attributes = own.chain(inside.flat_map(|class| self.of.attributes(class)));
        FieldCode { attributes: attributes.cloned().collect(), ..FieldCode::default() }.module()
    }
}

impl<'n> Newtypes<'n> {
    pub(super) fn field(self, kind: &'n KindSchema, code: Option<&'n FieldCode>) -> FieldSide<'n> {
        FieldSide { of: self, kind, code }
    }

    /// The fields of a class, if they have positions for names.
    fn parts(&self, class: usize) -> Option<&'n [FieldSchema]> {
        let Form::Struct(fields) = &self.classes[class].form else { return None };
        let is_position = |(i, field): (usize, &FieldSchema)| field.name == i.to_string();
        let is_tuple = !fields.is_empty() && fields.iter().enumerate().all(is_position);
        is_tuple.then_some(fields)
    }

    fn of_field(&self, class: usize, field: usize) -> Option<&'n FieldCode> {
        self.code.get(&class)?.fields.get(&field.to_string())
    }

    /// Such classes in a kind, and in those; each after what holds it.
    pub(super) fn within(&self, kind: &KindSchema) -> Vec<usize> {
        let (mut found, mut first) = (kind.classes(), 0);
        found.retain(|class| self.parts(*class).is_some());
        for _ in 0..DEEPEST {
            let fields = found[first..].iter().filter_map(|class| self.parts(*class)).flatten();
            let inside: Vec<usize> = fields.flat_map(|field| field.kind.classes()).collect();
            first = found.len();
            let is_new = |class: &usize| self.parts(*class).is_some() && !found.contains(class);
            let inside: Vec<usize> = inside.into_iter().filter(is_new).collect();
            found.extend(inside);
        }
        found
    }

    /// Returns the attributes that restore the fields of such a class.
    fn attributes(&self, class: usize) -> impl Iterator<Item = &'n String> {
        let fields = 0..self.parts(class).map_or(0, <[_]>::len);
        let codes = fields.filter_map(move |field| self.of_field(class, field));
        codes.flat_map(|code| &code.attributes).filter(|it| !it.starts_with("default"))
    }

    /// Returns the code of a class, with the conversions of newtypes in its fields.
    pub(super) fn with_inner(&self, class: &ClassSchema, code: &ClassCode) -> ClassCode {
        let mut code = code.clone();
        let mut enter = |variant: Option<&str>, fields: &[FieldSchema]| {
            for field in fields {
                let converts = self.converts(&field.kind);
                if !converts.is_empty() {
                    let of_field = code.fields.entry(path(variant, &field.name)).or_default();
                    of_field.converts.extend(converts);
                }
            }
        };
        match &class.form {
            Form::Struct(fields) => enter(None, fields),
            Form::Enum(variants) => {
                variants.iter().for_each(|variant| enter(Some(&variant.name), &variant.fields));
            }
            Form::Value(_) => {}
        }
        code
    }

    /// Returns the conversions of the classes in a kind, as conversions of the kind without these classes.
    pub(super) fn converts(&self, kind: &KindSchema) -> Vec<ConvertCode> {
        self.converts_within(kind, DEEPEST)
    }

    fn converts_within(&self, kind: &KindSchema, deep: usize) -> Vec<ConvertCode> {
        let Some(deep) = deep.checked_sub(1) else { return Vec::new() };
        let (text, mut found) = (kind_text(kind, self.classes), Vec::new());
        for class in kind.classes() {
            let Some(parts) = self.parts(class) else { continue };
            let mut kinds: Vec<String> =
                parts.iter().map(|part| kind_text(&part.kind, self.classes)).collect();
            for (field, part) in parts.iter().enumerate() {
                let own = self.of_field(class, field).map_or(&[][..], |code| &code.converts);
                let inner = self.converts_within(&part.kind, deep);
                for convert in own.iter().chain(&inner) {
                    let now = std::mem::replace(&mut kinds[field], convert.takes.clone());
                    let bare = match &kinds[..] {
                        [only] => only.clone(),
                        all => format!("({})", all.join(", ")),
                    };
                    let takes = replaced(&text, &self.classes[class].name, &bare);
                    // A bare value is of no version of the class.
                    found.push(ConvertCode { takes, by: convert.by.clone(), until: None });
                    kinds[field] = now;
                }
            }
        }
        found
    }
}

/// Replaces a class in a kind by another kind.
fn replaced(text: &str, class: &str, kind: &str) -> String {
    let is_word = |letter: char| letter.is_alphanumeric() || "_.:".contains(letter);
    let mut created = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(class) {
        let (previous, after) = (&rest[..at], &rest[at + class.len()..]);
        let is_whole = !previous.ends_with(is_word) && !after.starts_with(is_word);
        created.push_str(previous);
        created.push_str(if is_whole { kind } else { class });
        rest = after;
    }
    created + rest
}

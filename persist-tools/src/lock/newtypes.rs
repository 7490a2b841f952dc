//! The code inside of newtypes and other classes that come and go around a value.
//!
//! A load takes a value out of such a class, or puts it into one, by position. So the attributes of its fields are code
//! of the fields that hold the class, too.

use persist::__tools::{ClassSchema, FieldSchema, Form, KindSchema};

use super::code::{kind_text, last_part, path};
use super::{ClassCode, FieldCode, FieldSide, InnerCode, Newtypes};

/// Levels of classes in one another. Schemas are the program's own, and a type cannot hold itself without a pointer or
/// a list.
const MAX_LEVELS: usize = 16;

/// Returns how a field is stored on two sides: the attributes of the field, or those in classes around its parts, each
/// in its place.
///
/// A class that both sides have is compared by itself: it stands for its code.
pub(super) fn modules(
    then: FieldSide<'_>,
    now: FieldSide<'_>,
    is_one: impl Fn(usize, usize) -> bool,
) -> (Option<String>, Option<String>) {
    let (olds, news) = (then.of.within(then.kind), now.of.within(now.kind));
    let name = |old: usize, new: usize| {
        let has_code = then.of.has_attributes(old) || now.of.has_attributes(new);
        if has_code { now.of.classes[new].name.clone() } else { String::from("_") }
    };
    let of_old = |old: usize| {
        let new = news.iter().find(|new| is_one(old, **new))?;
        Some(name(old, *new))
    };
    let of_new = |new: usize| {
        let old = olds.iter().find(|old| is_one(**old, new))?;
        Some(name(*old, new))
    };
    (then.module(&of_old), now.module(&of_new))
}

impl FieldSide<'_> {
    fn module(self, shared: &dyn Fn(usize) -> Option<String>) -> Option<String> {
        let own = self.code.and_then(FieldCode::module);
        own.or_else(|| {
            Some(self.of.attributes(self.kind, shared, MAX_LEVELS)).filter(|text| text != "_")
        })
    }
}

/// The attributes of several parts, each in its place.
fn joined(parts: impl Iterator<Item = String>) -> String {
    match &parts.collect::<Vec<_>>()[..] {
        [only] => only.clone(),
        all if all.iter().all(|part| part == "_") => String::from("_"),
        all => format!("({})", all.join(", ")),
    }
}

impl<'n> Newtypes<'n> {
    pub(super) fn field(self, kind: &'n KindSchema, code: Option<&'n FieldCode>) -> FieldSide<'n> {
        FieldSide { of: self, kind, code }
    }

    /// The fields of a class, if their names are positions.
    pub(super) fn parts(&self, class: usize) -> Option<&'n [FieldSchema]> {
        let Form::Struct(fields) = &self.classes[class].form else { return None };
        let is_position = |(i, field): (usize, &FieldSchema)| field.name == i.to_string();
        let is_tuple = !fields.is_empty() && fields.iter().enumerate().all(is_position);
        is_tuple.then_some(fields)
    }

    fn of_field(&self, class: usize, field: usize) -> Option<&'n FieldCode> {
        self.code.get(&class)?.fields.get(&field.to_string())
    }

    fn has_attributes(&self, class: usize) -> bool {
        let fields = 0..self.parts(class).map_or(0, <[_]>::len);
        fields.filter_map(|field| self.of_field(class, field)).any(|code| code.module().is_some())
    }

    /// Returns the classes in a kind, and those in the fields of newtypes and tuple structs among them.
    pub(super) fn within(&self, kind: &KindSchema) -> Vec<usize> {
        let (mut found, mut first) = (kind.classes(), 0);
        while first < found.len() {
            let fields = found[first..].iter().filter_map(|class| self.parts(*class)).flatten();
            let inside: Vec<usize> = fields.flat_map(|field| field.kind.classes()).collect();
            first = found.len();
            for class in inside {
                if !found.contains(&class) {
                    found.push(class);
                }
            }
        }
        found
    }

    /// Returns the attributes that restore the parts of a kind, each in its place: `(with = seconds, _)`. A container
    /// stands for its elements.
    fn attributes(
        &self,
        kind: &KindSchema,
        shared: &dyn Fn(usize) -> Option<String>,
        levels: usize,
    ) -> String {
        use KindSchema as K;
        let Some(levels) = levels.checked_sub(1) else { return String::from("_") };
        let of = |kind: &KindSchema| self.attributes(kind, shared, levels);
        match kind {
            K::Option(part) | K::List(part) | K::Set(part) | K::Array(part, _) => of(part),
            K::Map(parts) => joined(parts.iter().map(of)),
            K::Tuple(parts) => joined(parts.iter().map(of)),
            K::Class(class) | K::Reference { class, .. } => {
                if let Some(name) = shared(*class) {
                    return name;
                }
                if let Form::Value(kind) = &self.classes[*class].form {
                    return of(kind);
                }
                let Some(parts) = self.parts(*class) else { return String::from("_") };
                let parts = parts.iter().enumerate().map(|(field, part)| {
                    let own = self.of_field(*class, field).and_then(FieldCode::module);
                    own.unwrap_or_else(|| of(&part.kind))
                });
                joined(parts)
            }
            _ => String::from("_"),
        }
    }

    /// Returns the code of a class, with the kinds of its fields and the functions of the classes in them.
    pub(super) fn with_inner(
        &self,
        class: &ClassSchema,
        code: &ClassCode,
        has_class: impl Fn(&ClassSchema) -> bool,
    ) -> ClassCode {
        let mut code = code.clone();
        let mut enter = |variant: Option<&str>, fields: &[FieldSchema]| {
            for field in fields {
                let of_field = code.fields.entry(path(variant, &field.name)).or_default();
                let classes = self.within(&field.kind);
                of_field.kind = kind_text(&field.kind, self.classes);
                of_field.is_nameable = classes.iter().all(|class| has_class(&self.classes[*class]));
                of_field.inner =
                    classes.into_iter().flat_map(|class| self.functions(class)).collect();
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

    /// Returns the functions by which a class migrates and converts its content.
    fn functions(&self, class: usize) -> Vec<InnerCode> {
        let Some(code) = self.code.get(&class) else { return Vec::new() };
        let inner = |attribute, function: &str| InnerCode {
            class: self.classes[class].name.clone(),
            attribute,
            function: last_part(function).to_owned(),
        };
        let steps = code.steps().into_values().map(|function| inner("migrate", function));
        let converts = code.fields.values().flat_map(|field| &field.converts);
        let converts = converts.filter_map(|convert| convert.function());
        steps.chain(converts.map(|function| inner("convert", function))).collect()
    }
}

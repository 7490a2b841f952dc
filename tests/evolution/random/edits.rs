//! Random edits: the schema of an older save, and how each of its values becomes the
//! program's.

use std::collections::HashMap;

use rand::Rng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64;

use super::model::{Class, Field, Form, Kind, Schema, Variant, is_float, option};
use super::program::old_name;

/// What the stored kind is, and how its value becomes the wanted one.
#[derive(Clone, Debug)]
pub(crate) struct Edit {
    pub(crate) stored: Kind,
    pub(crate) how: How,
}

#[derive(Clone, Debug)]
pub(crate) enum How {
    Number(u8),
    Text,
    Option(Box<Edit>),
    /// Of lists and arrays; the length of a wanted array.
    Elements(Box<Edit>, Option<usize>),
    /// Of maps and lists of pairs.
    Map(Box<Edit>, Box<Edit>, bool),
    Tuple(Vec<Edit>),
    /// A class as it is now in the save; its name in the program.
    Class(String),
    Reference(Box<Edit>),
    /// A value to an option, a list, an object.
    Some(Box<Edit>),
    One(Box<Edit>),
    Share(Box<Edit>),
    /// Back from them.
    Present(Box<Edit>),
    Inline(Box<Edit>),
    /// Out of a newtype of the save, and into one of the program.
    Unwrap(Box<Edit>),
    Wrap(Box<Edit>),
    /// A text to a variant.
    Variant,
    /// A tuple to a struct by position.
    Struct(String, Vec<Edit>),
}

/// Stored fields, and which of the program's each is.
pub(crate) type Fields = Vec<(Field, Option<(usize, Edit)>)>;

#[derive(Clone, Debug)]
pub(crate) enum Changed {
    Struct(Fields),
    /// Stored variants, and which of the program's each is.
    Enum(Vec<(Variant, Fields, Option<usize>)>),
    Bare(Edit),
}

/// The classes of the save.
pub(crate) struct Edits<'p> {
    pub(crate) rng: Pcg64,
    pub(crate) program: &'p Schema,
    /// How likely a part changes, of 100.
    rate: u32,
    /// By their names in the program: their names in the save.
    pub(crate) names: HashMap<String, String>,
    pub(crate) classes: HashMap<String, Changed>,
    /// Those that the program does not have, such as newtypes.
    extra: Vec<Class>,
}

impl<'p> Edits<'p> {
    pub(crate) fn new(rng: Pcg64, program: &'p Schema) -> Self {
        let mut this = Self {
            rng,
            program,
            rate: 0,
            names: HashMap::new(),
            classes: HashMap::new(),
            extra: Vec::new(),
        };
        // Sometimes a change alone, sometimes many.
        this.rate = *[1, 5, 20, 50].choose(&mut this.rng).expect("one");
        for class in &program.classes {
            let old = old_name(&class.name).filter(|_| this.chance());
            this.names.insert(class.name.clone(), old.unwrap_or(&class.name).to_owned());
        }
        for class in &program.classes {
            let changed = match &class.form {
                Form::Struct(fields) if class.name == "Level" => {
                    let edit = this.edit(&fields[0].kind, 2);
                    Changed::Struct(vec![(stored(&fields[0], "0", &edit), Some((0, edit)))])
                }
                Form::Struct(fields) => Changed::Struct(this.fields(fields)),
                Form::Enum(variants) => Changed::Enum(this.variants(variants)),
                Form::Bare(Kind::List(inner)) => {
                    let inner = this.edit(inner, 2);
                    Changed::Bare(Edit {
                        stored: Kind::List(Box::new(inner.stored.clone())),
                        how: How::Elements(Box::new(inner), None),
                    })
                }
                Form::Bare(kind) => panic!("a bare {kind:?}"),
            };
            this.classes.insert(class.name.clone(), changed);
        }
        this
    }

    pub(crate) fn chance(&mut self) -> bool {
        self.rng.gen_ratio(self.rate, 100)
    }

    /// The schema of the save.
    pub(crate) fn schema(&mut self) -> Schema {
        let mut classes: Vec<Class> = self.extra.clone();
        for (name, changed) in &self.classes {
            let fields = |fields: &Fields| fields.iter().map(|(field, _)| field.clone()).collect();
            let form = match changed {
                Changed::Struct(list) => Form::Struct(fields(list)),
                Changed::Enum(variants) => Form::Enum(
                    variants
                        .iter()
                        .map(|(variant, list, _)| Variant {
                            fields: fields(list),
                            ..variant.clone()
                        })
                        .collect(),
                ),
                Changed::Bare(edit) => Form::Bare(edit.stored.clone()),
            };
            classes.push(Class { name: self.names[name].clone(), form });
        }
        classes.sort_by(|a, b| a.name.cmp(&b.name));
        classes.shuffle(&mut self.rng);
        Schema { classes }
    }

    fn fields(&mut self, fields: &[Field]) -> Fields {
        let mut found = Fields::new();
        for (place, field) in fields.iter().enumerate() {
            if field.default.is_some() && self.chance() {
                continue;
            }
            let mut name = field.name.clone();
            let mut id = field.id;
            if !field.aliases.is_empty() && self.chance() {
                name = (*field.aliases.choose(&mut self.rng).expect("one")).to_owned();
            } else if id.is_some() && self.chance() {
                name = format!("was_{name}");
            } else if self.chance() {
                id = None;
            }
            let edit = self.edit(&field.kind, 3);
            let field = Field { id, ..stored(field, &name, &edit) };
            found.push((field, Some((place, edit))));
        }
        while self.chance() {
            let kind = match self.rng.gen_range(0..4) {
                0 => Kind::Text,
                1 => option(Kind::Number(6)),
                2 => Kind::List(Box::new(Kind::Tuple(vec![Kind::Number(3), Kind::Text]))),
                _ => Kind::Number(12),
            };
            let name = format!("gone_{}", found.len());
            found.push((Field { name, aliases: vec![], id: None, default: None, kind }, None));
        }
        if self.chance() {
            found.shuffle(&mut self.rng);
        }
        found
    }

    fn variants(&mut self, variants: &[Variant]) -> Vec<(Variant, Fields, Option<usize>)> {
        let mut found = Vec::new();
        for (place, variant) in variants.iter().enumerate() {
            let mut variant = variant.clone();
            if !variant.aliases.is_empty() && self.chance() {
                variant.name = variant.aliases[0].to_owned();
            }
            // One of those may be another of the same, as when a variant was split.
            if !variant.aliases.is_empty() && self.chance() {
                let mut twin = variant.clone();
                let taken = twin.name == twin.aliases[0];
                let new = &variants[place].name;
                twin.name = if taken { new.clone() } else { twin.aliases[0].to_owned() };
                let fields = self.fields(&variant.fields);
                found.push((twin, fields, Some(place)));
            }
            let fields = self.fields(&variant.fields);
            found.push((variant, fields, Some(place)));
        }
        while self.chance() {
            let name = format!("Gone{}", found.len());
            let fields = if self.rng.gen_bool(0.5) { vec![] } else { self.fields(&[]) };
            let variant = Variant { name, aliases: vec![], other: false, fields: vec![] };
            found.push((variant, fields, None));
        }
        if self.chance() {
            found.shuffle(&mut self.rng);
        }
        found
    }

    /// An edit of a kind of the program.
    fn edit(&mut self, wanted: &Kind, deep: u32) -> Edit {
        // A list of what holds it ends in an empty one.
        let is_kids = *wanted == Kind::List(Box::new(Kind::Class("Tree".into())));
        if deep > 0
            && !is_kids
            && self.chance()
            && let Some(edit) = self.wrapping(wanted, deep - 1)
        {
            return edit;
        }
        self.plain(wanted, deep)
    }

    /// One that takes the value out of something, or puts it in.
    fn wrapping(&mut self, wanted: &Kind, deep: u32) -> Option<Edit> {
        match self.rng.gen_range(0..6) {
            0 => {
                let inner = self.edit(wanted, deep);
                // No newtype becomes another one.
                if inner.crosses(&|how| matches!(how, How::Wrap(_))) {
                    return None;
                }
                let name = format!("Newtype{}", self.extra.len());
                let kind = inner.stored.clone();
                let field =
                    Field { name: "0".into(), aliases: vec![], id: None, default: None, kind };
                self.extra.push(Class { name: name.clone(), form: Form::Struct(vec![field]) });
                Some(Edit { stored: Kind::Class(name), how: How::Unwrap(Box::new(inner)) })
            }
            1 if !matches!(wanted, Kind::Option(_)) && !is_list_of_options(wanted) => {
                let inner = self.edit(wanted, deep);
                let stored = option(inner.stored.clone());
                Some(Edit { stored, how: How::Present(Box::new(inner)) })
            }
            2 => {
                let Kind::Option(part) = wanted else { return None };
                let inner = self.edit(part, deep);
                let is_option = matches!(self.stripped(&inner.stored), Kind::Option(_));
                let stored = inner.stored.clone();
                (!is_option).then(|| Edit { stored, how: How::Some(Box::new(inner)) })
            }
            3 => {
                let Kind::List(part) = wanted else { return None };
                let inner = self.edit(part, deep);
                let stored = inner.stored.clone();
                // What has elements is taken element by element.
                let has_elements = matches!(
                    self.core(&stored),
                    Kind::List(_) | Kind::Array(..) | Kind::Map(..) | Kind::Option(_)
                );
                (!has_elements).then(|| Edit { stored, how: How::One(Box::new(inner)) })
            }
            4 if !holds_reference(wanted) && !matches!(wanted, Kind::Option(_)) => {
                let inner = self.plain(wanted, deep);
                let holder = *[0x10, 0x11, 0x13, 0x20, 0x23, 0x24].choose(&mut self.rng)?;
                let name = match &inner.stored {
                    Kind::Class(name) => name.clone(),
                    kind => {
                        let name = format!("Bare{}", self.extra.len());
                        let form = Form::Bare(kind.clone());
                        self.extra.push(Class { name: name.clone(), form });
                        name
                    }
                };
                let stored = Kind::Reference(holder, name);
                Some(Edit { stored, how: How::Inline(Box::new(inner)) })
            }
            5 => {
                let Kind::Reference(_, name) = wanted else { return None };
                let inner = match &self.program.get(name).form {
                    Form::Bare(kind) => self.edit(kind, deep),
                    _ => self.edit(&Kind::Class(name.clone()), deep),
                };
                let is_reference = self.is_reference(&inner.stored);
                let stored = inner.stored.clone();
                (!is_reference).then(|| Edit { stored, how: How::Share(Box::new(inner)) })
            }
            _ => None,
        }
    }

    /// One of the same shape.
    fn plain(&mut self, wanted: &Kind, deep: u32) -> Edit {
        let boxed = |edit: &Edit| Box::new(edit.stored.clone());
        match wanted {
            Kind::Number(tag) => {
                let mut stored = *tag;
                if self.chance() {
                    let last = if is_float(*tag) { 14 } else { 12 };
                    stored = self.rng.gen_range(3..=last);
                }
                Edit { stored: Kind::Number(stored), how: How::Number(*tag) }
            }
            Kind::Text => Edit { stored: Kind::Text, how: How::Text },
            Kind::Option(part) => {
                let part = self.edit(part, deep);
                Edit { stored: Kind::Option(boxed(&part)), how: How::Option(Box::new(part)) }
            }
            Kind::List(part) => {
                if let Kind::Tuple(parts) = &**part
                    && self.chance()
                {
                    let [key, value] = [0, 1].map(|i| self.edit(&parts[i], 0));
                    let stored = Kind::Map(boxed(&key), boxed(&value));
                    return Edit { stored, how: How::Map(Box::new(key), Box::new(value), false) };
                }
                let is_kids = **part == Kind::Class("Tree".into());
                let part = self.edit(part, if is_kids { 0 } else { deep });
                let stored = match !is_kids && self.chance() {
                    true => Kind::Array(boxed(&part), self.rng.gen_range(0..4)),
                    false => Kind::List(boxed(&part)),
                };
                Edit { stored, how: How::Elements(Box::new(part), None) }
            }
            Kind::Array(part, length) => {
                let part = self.edit(part, deep);
                let stored = match self.chance() {
                    true => Kind::List(boxed(&part)),
                    false => Kind::Array(boxed(&part), *length),
                };
                Edit { stored, how: How::Elements(Box::new(part), Some(*length)) }
            }
            Kind::Map(key, value) => {
                let (key, value) = (self.edit(key, 0), self.edit(value, deep));
                let stored = match self.chance() {
                    true => super::model::list(Kind::Tuple(vec![*boxed(&key), *boxed(&value)])),
                    false => Kind::Map(boxed(&key), boxed(&value)),
                };
                Edit { stored, how: How::Map(Box::new(key), Box::new(value), true) }
            }
            Kind::Tuple(parts) => {
                let parts: Vec<Edit> = parts.iter().map(|part| self.edit(part, deep)).collect();
                let stored = parts.iter().map(|part| part.stored.clone()).collect();
                Edit { stored: Kind::Tuple(stored), how: How::Tuple(parts) }
            }
            Kind::Class(name) => self.class(name, deep),
            Kind::Reference(holder, name) => {
                let stored = Kind::Reference(*holder, self.names[name].clone());
                let form = &self.program.get(name).form;
                let inner = match form {
                    Form::Bare(_) => {
                        Edit { stored: Kind::Class(name.clone()), how: How::Class(name.clone()) }
                    }
                    _ => self.same_class(name),
                };
                Edit { stored, how: How::Reference(Box::new(inner)) }
            }
        }
    }

    fn same_class(&self, name: &str) -> Edit {
        Edit { stored: Kind::Class(self.names[name].clone()), how: How::Class(name.to_owned()) }
    }

    fn class(&mut self, name: &str, deep: u32) -> Edit {
        if !self.chance() {
            return self.same_class(name);
        }
        match name {
            "Side" => Edit { stored: Kind::Text, how: How::Variant },
            "Level" => {
                let inner = self.edit(&Kind::Number(5), deep);
                if inner.crosses(&|how| matches!(how, How::Unwrap(_))) {
                    return self.same_class(name);
                }
                Edit { stored: inner.stored.clone(), how: How::Wrap(Box::new(inner)) }
            }
            "Spot" => {
                let Form::Struct(fields) = &self.program.get(name).form else { panic!("a struct") };
                let kinds = [fields[2].kind.clone(), fields[1].kind.clone()];
                let parts: Vec<Edit> = kinds.iter().map(|kind| self.edit(kind, deep)).collect();
                let stored = parts.iter().map(|part| part.stored.clone()).collect();
                let how = How::Struct(name.to_owned(), parts);
                Edit { stored: Kind::Tuple(stored), how }
            }
            _ => self.same_class(name),
        }
    }

    /// Without newtypes.
    fn stripped(&self, kind: &Kind) -> Kind {
        match self.newtype(kind) {
            Some(inner) => self.stripped(&inner),
            None => kind.clone(),
        }
    }

    /// A pointer, or an option of one: it would have to become another pointer.
    fn is_reference(&self, kind: &Kind) -> bool {
        match self.stripped(kind) {
            Kind::Option(inner) => self.is_reference(&inner),
            kind => matches!(kind, Kind::Reference(..)),
        }
    }

    /// Without newtypes and pointers.
    fn core(&self, kind: &Kind) -> Kind {
        if let Some(inner) = self.newtype(kind) {
            return self.core(&inner);
        }
        match kind {
            Kind::Reference(_, name) => {
                match self.extra.iter().find(|class| class.name == *name).map(|class| &class.form) {
                    Some(Form::Bare(kind)) => self.core(kind),
                    _ if name == "Vec<u32>" => Kind::List(Box::new(Kind::Number(5))),
                    _ => kind.clone(),
                }
            }
            kind => kind.clone(),
        }
    }

    fn newtype(&self, kind: &Kind) -> Option<Kind> {
        let Kind::Class(name) = kind else { return None };
        let class = self.extra.iter().find(|class| class.name == *name)?;
        match &class.form {
            Form::Struct(fields) => Some(fields[0].kind.clone()),
            _ => None,
        }
    }
}

impl Edit {
    /// True if this is done to the value itself, and not to its parts.
    fn crosses(&self, is: &dyn Fn(&How) -> bool) -> bool {
        let goes_on = match &self.how {
            How::Unwrap(inner)
            | How::Wrap(inner)
            | How::Some(inner)
            | How::Present(inner)
            | How::One(inner)
            | How::Share(inner)
            | How::Inline(inner) => inner.crosses(is),
            _ => false,
        };
        is(&self.how) || goes_on
    }
}

fn stored(field: &Field, name: &str, edit: &Edit) -> Field {
    Field { name: name.to_owned(), kind: edit.stored.clone(), ..field.clone() }
}

fn holds_reference(kind: &Kind) -> bool {
    match kind {
        Kind::Reference(..) => true,
        Kind::Option(part) | Kind::List(part) => holds_reference(part),
        _ => false,
    }
}

fn is_list_of_options(kind: &Kind) -> bool {
    matches!(kind, Kind::List(part) if matches!(**part, Kind::Option(_)))
}

//! Checks the names and values in a path against the classes of a save, before its values are visited.

use std::collections::{BTreeSet, HashSet};

use persist::Value;
use persist_tools::{ClassSchema, FieldSchema, Form, KindSchema, VariantSchema};

use crate::condition::{Comparison, Operator};
use crate::exit::{Failure, Result};
use crate::found::each_object;
use crate::input::Save;
use crate::path::{Path, Start, Step, beginning};
use crate::pattern::{is_match, listed, nearest, one_of};
use crate::shown::short;
use crate::values::{innermost, integer, is_number, key_text, parts, words};
use crate::world;

/// The class of the objects of a world.
const OBJECT: &str = "persist.Object";

/// The most kinds that are followed. Few programs have more fields, and of a hostile save the check ends here.
const MAX_KINDS: usize = 4_096;

/// The most kinds that a message names.
const MAX_NAMED: usize = 3;

/// The most classes that name one another as the form of their values.
const MAX_NESTED: usize = 64;

type Check<T> = std::result::Result<T, String>;

/// Returns an error if a path names a field, variant or component that no class has at its place, or compares values
/// that are never alike.
pub(crate) fn check(path: &Path, save: &Save<'_>) -> Check<()> {
    let schema = Schema(save.classes());
    // Unknown content has the id of its object, but a class of its own.
    let is_open = matches!(path.start, Start::Object(_)) && save.counts().kept > 0;
    let mut kinds = Kinds { is_open, ..Kinds::default() };
    for (index, (class, count)) in schema.0.iter().zip(save.by_class()).enumerate() {
        let is_start = match &path.start {
            Start::Object(id) => save.kind_of(*id).is_some_and(|(_, class)| class == index),
            Start::Classes(names, _) => names.contains(&class.name),
            Start::Worlds => class.name == world::CLASS,
            Start::Root => count.records > 0,
        };
        if is_start {
            kinds.add_class(index, schema);
        }
    }
    schema.steps(&path.steps, kinds).map(drop)
}

/// Returns an error if no class in some saves has a field with a name, and no map a key.
pub(crate) fn check_field(name: &str, saves: &mut [&mut Save<'_>]) -> Result<()> {
    let is_field = |class: &ClassSchema| fields_of(class).any(|field| *field.name == *name);
    if saves.iter().any(|save| save.classes().iter().any(is_field)) {
        return Ok(());
    }
    let (mut known, mut is_key) = (BTreeSet::new(), false);
    for save in &mut *saves {
        let fields = save.classes().iter().flat_map(fields_of);
        known.extend(fields.map(|field| field.name.clone()));
        each_object(save, &mut |found| {
            let mut open = vec![&*found.value];
            while let Some(value) = open.pop() {
                open.extend(parts(value).into_iter().map(|(_, part)| part));
                let Value::Map(entries) = value else { continue };
                let keys = entries.iter().filter_map(|(key, _)| words(key));
                for key in keys.take(MAX_KINDS.saturating_sub(known.len())) {
                    known.insert(key);
                }
                is_key |= entries.iter().any(|(key, _)| is_key_named(key, name));
            }
            Ok(!is_key)
        })?;
        if is_key {
            return Ok(());
        }
    }
    let near = match nearest(name, known.iter().map(String::as_str)) {
        Some(near) => format!("did you mean `{near}`?"),
        None => String::from("`persist schema` lists the fields"),
    };
    let name = beginning(name);
    Err(Failure::new(format!("no class has a field `{name}`, and no map has such a key; {near}")))
}

/// Returns whether a key of a map is written as a name.
pub(crate) fn is_key_named(key: &Value, name: &str) -> bool {
    words(key).is_some_and(|word| word == name)
}

/// The kind of the values at a place.
#[derive(Clone, Copy)]
enum Place<'c> {
    /// A struct or enum.
    Class(usize),
    /// A reference to a value of a class.
    Reference(usize),
    /// An enum at a variant.
    Variant(usize, &'c VariantSchema),
    /// Any other kind, but no option.
    Plain(&'c KindSchema),
}

/// The kinds of the values that some steps lead to.
#[derive(Default)]
struct Kinds<'c> {
    places: Vec<Place<'c>>,
    seen: HashSet<(usize, usize)>,
    /// Whether there may be values of other kinds.
    is_open: bool,
}

impl<'c> Kinds<'c> {
    fn add(&mut self, place: Place<'c>) {
        let key = match place {
            Place::Class(class) => (0, class),
            Place::Reference(class) => (1, class),
            Place::Variant(_, variant) => (2, std::ptr::from_ref(variant).addr()),
            Place::Plain(kind) => (3, std::ptr::from_ref(kind).addr()),
        };
        if self.places.len() >= MAX_KINDS {
            self.is_open = true;
        } else if self.seen.insert(key) {
            self.places.push(place);
        }
    }

    fn add_class(&mut self, mut class: usize, schema: Schema<'c>) {
        for _ in 0..MAX_NESTED {
            match schema.0.get(class).map(|class| &class.form) {
                Some(Form::Value(KindSchema::Class(inner))) => class = *inner,
                Some(Form::Value(kind)) => return self.add_kind(kind, schema),
                Some(_) => return self.add(Place::Class(class)),
                None => break,
            }
        }
        self.is_open = true;
    }

    fn add_kind(&mut self, mut kind: &'c KindSchema, schema: Schema<'c>) {
        while let KindSchema::Option(inner) = kind {
            kind = inner;
        }
        match kind {
            KindSchema::Class(class) => match schema.0.get(*class).map(|class| &class.form) {
                // No class lies in itself but through a pointer, unless the save is hostile.
                Some(Form::Value(KindSchema::Class(_) | KindSchema::Option(_))) => {
                    self.is_open = true;
                }
                _ => self.add_class(*class, schema),
            },
            KindSchema::Reference { class, .. } => self.add(Place::Reference(*class)),
            KindSchema::TraitReference { .. } | KindSchema::Dynamic(_) | KindSchema::Unknown => {
                self.is_open = true;
            }
            kind => self.add(Place::Plain(kind)),
        }
    }

    fn add_fields(&mut self, fields: &'c [FieldSchema], schema: Schema<'c>) {
        fields.iter().for_each(|field| self.add_kind(&field.kind, schema));
    }
}

/// The classes of a save.
#[derive(Clone, Copy)]
struct Schema<'c>(&'c [ClassSchema]);

impl<'c> Schema<'c> {
    /// Returns the kinds at the end of some steps.
    fn steps(self, steps: &[Step], mut from: Kinds<'c>) -> Check<Kinds<'c>> {
        for step in steps {
            from = self.step(step, from)?;
        }
        Ok(from)
    }

    fn step(self, step: &Step, from: Kinds<'c>) -> Check<Kinds<'c>> {
        let mut to = Kinds { is_open: from.is_open, ..Kinds::default() };
        match step {
            Step::Field(name) => return self.field(name, &from),
            Step::Variant(name) => return self.variant(name, &from),
            Step::Component(name) => return self.component(name, &from),
            Step::Where(condition) => {
                let tested = self.tested(from);
                for comparison in condition.any.iter().flatten() {
                    let start = Kinds {
                        places: tested.places.clone(),
                        seen: HashSet::new(),
                        is_open: tested.is_open,
                    };
                    self.comparison(comparison, &self.steps(&comparison.left, start)?)?;
                }
                return Ok(tested);
            }
            Step::All => from.places.iter().for_each(|place| self.add_parts(*place, &mut to)),
            Step::Key(_) | Step::Slice(_) => {
                if let Step::Key(key) = step {
                    self.key(key, &from)?;
                }
                for place in &from.places {
                    if self.is_list(*place) {
                        self.add_parts(*place, &mut to);
                    }
                }
            }
            Step::Below(_) => {
                let classes = self.0.iter().enumerate();
                let mut objects = classes.filter(|(_, class)| class.name == OBJECT);
                if from.places.iter().any(|place| self.is_in_world(*place))
                    && let Some((object, _)) = objects.next()
                {
                    to.add(Place::Class(object));
                }
            }
        }
        Ok(to)
    }

    /// Returns an error if maps whose keys are enums have no key for a word.
    fn key(self, key: &Value, from: &Kinds<'c>) -> Check<()> {
        let Some(name) = words(key).filter(|_| !from.is_open) else { return Ok(()) };
        let mut keys = Kinds::default();
        for place in &from.places {
            match self.plain(*place) {
                Some(KindSchema::Map(parts)) => keys.add_kind(&parts[0], self),
                _ => return Ok(()),
            }
        }
        let variants = self.variants(&keys.places);
        let is_other = |place: &Place<'c>| !matches!(self.form(*place), Some(Form::Enum(_)));
        if keys.is_open
            || keys.places.iter().any(is_other)
            || variants.is_empty()
            || variants.iter().any(|(_, variant)| *variant.name == *name)
        {
            return Ok(());
        }
        let lacking = self.lacking(&keys.places, "variant", &name);
        Err(format!("{lacking}; {}", one_of(&name, &variant_names(&variants))))
    }

    fn name(self, class: usize) -> &'c str {
        self.0.get(class).map_or("?", |class| &*class.name)
    }

    fn form(self, place: Place<'c>) -> Option<&'c Form> {
        match place {
            Place::Class(class) | Place::Reference(class) => Some(&self.0.get(class)?.form),
            _ => None,
        }
    }

    /// The kind that a place has, or that its reference leads to.
    fn plain(self, place: Place<'c>) -> Option<&'c KindSchema> {
        match (place, self.form(place)) {
            (Place::Plain(kind), _) | (_, Some(Form::Value(kind))) => Some(kind),
            _ => None,
        }
    }

    fn is_in_world(self, place: Place<'c>) -> bool {
        matches!(place, Place::Class(class) | Place::Reference(class)
            if [world::CLASS, OBJECT].contains(&self.name(class)))
    }

    fn is_list(self, place: Place<'c>) -> bool {
        matches!(
            self.plain(place),
            Some(
                KindSchema::List(_)
                    | KindSchema::Set(_)
                    | KindSchema::Array(..)
                    | KindSchema::Map(_)
                    | KindSchema::Tuple(_)
            )
        )
    }

    fn is_bool(self, place: Place<'c>) -> bool {
        matches!(self.plain(place), Some(KindSchema::Bool))
    }

    fn fields(self, place: Place<'c>) -> Vec<&'c FieldSchema> {
        match place {
            Place::Variant(_, variant) => variant.fields.iter().collect(),
            Place::Class(class) | Place::Reference(class) => {
                self.0.get(class).map(|class| fields_of(class).collect()).unwrap_or_default()
            }
            Place::Plain(_) => Vec::new(),
        }
    }

    /// Adds the kinds of the fields, elements and values of a place.
    fn add_parts(self, place: Place<'c>, to: &mut Kinds<'c>) {
        match self.plain(place) {
            Some(KindSchema::List(part) | KindSchema::Set(part) | KindSchema::Array(part, _)) => {
                to.add_kind(part, self);
            }
            Some(KindSchema::Map(parts)) => to.add_kind(&parts[1], self),
            Some(KindSchema::Tuple(parts)) => {
                parts.iter().for_each(|part| to.add_kind(part, self));
            }
            Some(_) => {}
            None => match place {
                Place::Variant(_, variant) => to.add_fields(&variant.fields, self),
                place => {
                    for field in self.fields(place) {
                        to.add_kind(&field.kind, self);
                    }
                }
            },
        }
    }

    /// The kinds of the values for which a condition is tested.
    fn tested(self, from: Kinds<'c>) -> Kinds<'c> {
        let mut to = Kinds { is_open: from.is_open, ..Kinds::default() };
        for place in from.places {
            if self.is_list(place) { self.add_parts(place, &mut to) } else { to.add(place) }
        }
        to
    }

    fn field(self, name: &str, from: &Kinds<'c>) -> Check<Kinds<'c>> {
        let mut to = Kinds { is_open: from.is_open, ..Kinds::default() };
        for place in &from.places {
            for field in self.fields(*place).into_iter().filter(|field| *field.name == *name) {
                to.add_kind(&field.kind, self);
            }
            if let Some(KindSchema::Tuple(parts)) = self.plain(*place)
                && let Some(part) = name.parse::<usize>().ok().and_then(|at| parts.get(at))
            {
                to.add_kind(part, self);
            }
        }
        if !to.places.is_empty() || to.is_open || from.places.is_empty() {
            return Ok(to);
        }
        let names = self.field_names(&from.places);
        let lacking = self.lacking(&from.places, "field", name);
        Err(match from.places.iter().find(|place| self.is_list(**place)) {
            _ if !names.is_empty() => format!("{lacking}; {}", one_of(name, &names)),
            Some(place) => match self.plain(*place) {
                Some(KindSchema::Map(_)) => format!("{lacking}; write `[{}]`", beginning(name)),
                _ => format!("{lacking}; write `[*].{}`", beginning(name)),
            },
            None => lacking,
        })
    }

    /// The names of the fields at some places, each once.
    fn field_names(self, places: &[Place<'c>]) -> Vec<&'c str> {
        let fields = places.iter().flat_map(|place| self.fields(*place));
        distinct(fields.map(|field| &*field.name))
    }

    /// The variants of the enums at some places.
    fn variants(self, places: &[Place<'c>]) -> Vec<(usize, &'c VariantSchema)> {
        let mut found = Vec::new();
        for place in places {
            match (*place, self.form(*place)) {
                (Place::Variant(class, variant), _) => found.push((class, variant)),
                (Place::Class(class) | Place::Reference(class), Some(Form::Enum(variants))) => {
                    found.extend(variants.iter().map(|variant| (class, variant)));
                }
                _ => {}
            }
        }
        found
    }

    fn variant(self, name: &str, from: &Kinds<'c>) -> Check<Kinds<'c>> {
        let mut to = Kinds { is_open: from.is_open, ..Kinds::default() };
        let variants = self.variants(&from.places);
        for (class, variant) in variants.iter().filter(|(_, variant)| *variant.name == *name) {
            to.add(Place::Variant(*class, variant));
        }
        if !to.places.is_empty() || to.is_open || from.places.is_empty() {
            return Ok(to);
        }
        let lacking = self.lacking(&from.places, "variant", name);
        Err(match variants.is_empty() {
            true => format!("{lacking}; it is no enum"),
            false => format!("{lacking}; {}", one_of(name, &variant_names(&variants))),
        })
    }

    fn component(self, name: &str, from: &Kinds<'c>) -> Check<Kinds<'c>> {
        if from.is_open || from.places.is_empty() {
            return Ok(Kinds { is_open: true, ..Kinds::default() });
        }
        if !from.places.iter().any(|place| self.is_in_world(*place)) {
            return self.field(name, from);
        }
        let mut to = Kinds { is_open: name == "*", ..Kinds::default() };
        let is_exact = self.0.iter().any(|class| *class.name == *name);
        for (index, class) in self.0.iter().enumerate() {
            if is_match(name, &class.name, is_exact) {
                to.add_class(index, self);
            }
        }
        if to.is_open || !to.places.is_empty() {
            return Ok(to);
        }
        let names = self.0.iter().map(|class| &*class.name);
        let names = distinct(names.filter(|name| !name.starts_with("persist.")));
        let near = one_of(name, &names);
        Err(format!("the save has no component `{}`; {near}", beginning(name)))
    }

    fn comparison(self, comparison: &Comparison, left: &Kinds<'c>) -> Check<()> {
        let Comparison { operator, right, text, .. } = comparison;
        let takes = |place: &Place<'c>| self.takes(*place, *operator, right);
        if left.is_open || left.places.is_empty() || left.places.iter().any(takes) {
            return Ok(());
        }
        let text = if text == "." { "the value".into() } else { beginning(text) };
        let is_equality = matches!(operator, Operator::Equal | Operator::NotEqual);
        let is_reference = matches!(left.places[0], Place::Reference(_));
        let kinds: Vec<String> = match &*left.places {
            [Place::Reference(class)] => vec![format!("a reference to {}", self.name(*class))],
            places => self.described(places).iter().map(|name| with_article(name)).collect(),
        };
        let is = format!("{text} is {}", kinds.join(" or "));
        let variants = self.variants(&left.places);
        if let (Some(name), false, true) = (words(right), variants.is_empty(), is_equality) {
            let lacking = self.lacking(&left.places, "variant", &name);
            return Err(format!("{lacking}; {}", one_of(&name, &variant_names(&variants))));
        }
        if *operator == Operator::Contains {
            return Err(match left.places[0] {
                Place::Plain(KindSchema::Text) => {
                    format!("{is}, and {}; put texts into quotes", described(right))
                }
                _ => format!("{is}, and `~` compares texts alone"),
            });
        }
        if !is_equality && self.takes(left.places[0], Operator::Equal, right) {
            return Err(format!("{is}, which has no order; compare it by == or !="));
        }
        let fields = self.field_names(&left.places);
        let advice = match right {
            _ if is_reference && !fields.is_empty() => {
                format!("compare it with an id, as #17, or one of its fields: {}", listed(&fields))
            }
            _ if !fields.is_empty() && variants.is_empty() => {
                format!("compare one of its fields: {}", listed(&fields))
            }
            _ if left.places.iter().all(|place| self.is_list(*place)) => {
                format!("compare its elements, as `{text}[*]`")
            }
            _ if left.places.iter().all(|place| self.takes(*place, *operator, &Value::U8(0))) => {
                "compare it with a number; fields cannot be compared with one another".into()
            }
            Value::Text(_) if left.places.iter().all(|place| self.is_bool(*place)) => {
                "compare it with true or false".into()
            }
            _ if matches!(left.places[0], Place::Plain(KindSchema::Text)) => {
                "put texts into quotes".into()
            }
            _ => String::from("values of different kinds are never equal and have no order"),
        };
        Err(format!("{is}, and {}; {advice}", described(right)))
    }

    /// Returns whether a comparison with a value may hold for a value of a kind.
    fn takes(self, place: Place<'c>, operator: Operator, right: &Value) -> bool {
        let is_text = matches!(right, Value::Text(_) | Value::Char(_));
        let is_equality = matches!(operator, Operator::Equal | Operator::NotEqual);
        if operator == Operator::Contains {
            return is_text && matches!(place, Place::Plain(KindSchema::Text));
        }
        // `none` is also asked for to know whether there is a value at all.
        if matches!(right, Value::Option(None)) {
            return is_equality;
        }
        let right = innermost(right);
        let is_word = words(right).is_some();
        match place {
            Place::Reference(_) => is_equality && matches!(right, Value::Ref(_)),
            Place::Class(_) | Place::Variant(..) => {
                let variants = self.variants(&[place]);
                let is_variant = words(right)
                    .is_some_and(|name| variants.iter().any(|(_, it)| *it.name == *name));
                is_equality
                    && match right {
                        Value::Struct(_) => variants.is_empty(),
                        Value::Enum(record) if !record.is_empty() => !variants.is_empty(),
                        _ => is_variant,
                    }
            }
            Place::Plain(kind) => match kind {
                KindSchema::Text => is_text || is_equality && is_word,
                KindSchema::Char => is_text,
                KindSchema::Bool => {
                    is_equality && words(right).is_some_and(|it| it == "true" || it == "false")
                }
                KindSchema::Unit => is_equality && matches!(right, Value::Unit),
                KindSchema::Handle(_) => is_equality && matches!(right, Value::Handle(_)),
                KindSchema::List(_) | KindSchema::Set(_) | KindSchema::Array(..) => {
                    is_equality && matches!(right, Value::Seq(_) | Value::Bytes(_))
                }
                KindSchema::Tuple(_) => is_equality && matches!(right, Value::Tuple(_)),
                KindSchema::Map(_) => is_equality && matches!(right, Value::Map(_)),
                _ => is_number(right),
            },
        }
    }

    /// The kinds of some places, as a message names them.
    fn described(self, places: &[Place<'c>]) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for place in places {
            let name = match (*place, self.plain(*place)) {
                (_, Some(KindSchema::List(_) | KindSchema::Set(_) | KindSchema::Array(..))) => {
                    String::from("a list")
                }
                (_, Some(KindSchema::Map(_))) => String::from("a map"),
                (_, Some(KindSchema::Tuple(_))) => String::from("a tuple"),
                (_, Some(KindSchema::Text)) => String::from("a text"),
                (_, Some(kind)) => with_article(&kind.display(self.0)),
                (Place::Variant(class, variant), _) => {
                    format!("{}::{}", self.name(class), variant.name)
                }
                (Place::Class(class) | Place::Reference(class), _) => self.name(class).to_owned(),
                (Place::Plain(kind), None) => kind.display(self.0),
            };
            if names.contains(&name) {
                continue;
            }
            if names.len() == MAX_NAMED {
                names.push(String::from(".."));
                break;
            }
            names.push(name);
        }
        names
    }

    /// Says that the values at some places have no part with a name.
    fn lacking(self, places: &[Place<'c>], part: &str, name: &str) -> String {
        let name = beginning(name);
        match &*self.described(places) {
            [only] => format!("{only} has no {part} `{name}`"),
            several => format!("none of {} has a {part} `{name}`", several.join(", ")),
        }
    }
}

fn fields_of(class: &ClassSchema) -> impl Iterator<Item = &FieldSchema> {
    let (fields, variants): (&[FieldSchema], &[VariantSchema]) = match &class.form {
        Form::Struct(fields) => (fields, &[]),
        Form::Enum(variants) => (&[], variants),
        Form::Value(_) => (&[], &[]),
    };
    fields.iter().chain(variants.iter().flat_map(|variant| &variant.fields))
}

/// Describes a value that a person typed.
fn described(value: &Value) -> String {
    let shown = match value {
        Value::Text(text) if !text.contains('`') => format!("`{}`", beginning(text)),
        value if integer(value).is_some() => format!("`{}`", key_text(value)),
        value => format!("`{}`", short(value)),
    };
    let kind = match value {
        Value::Text(_) => "a text",
        Value::Char(_) => "a character",
        Value::Bool(_) => "a bool",
        Value::Ref(_) => "a reference",
        Value::Option(_) => "an option",
        value if is_number(value) => "a number",
        _ => "a value of another kind",
    };
    format!("{shown} is {kind}")
}

fn with_article(name: &str) -> String {
    match name {
        name if name.starts_with("a ") || name.starts_with("an ") || name == ".." => {
            name.to_owned()
        }
        name if name.starts_with(['a', 'e', 'i', 'o', 'A', 'E', 'I', 'O']) => format!("an {name}"),
        name => format!("a {name}"),
    }
}

fn variant_names<'c>(variants: &[(usize, &'c VariantSchema)]) -> Vec<&'c str> {
    distinct(variants.iter().map(|(_, variant)| &*variant.name))
}

/// Names in their order, each once.
fn distinct<'n>(names: impl Iterator<Item = &'n str>) -> Vec<&'n str> {
    let mut seen = HashSet::new();
    names.filter(|name| seen.insert(*name)).collect()
}

//! The classes of a save as Rust types that load it.

mod kinds;
mod names;
mod standard;

use std::cell::Cell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Write;

use persist::Value;
use persist::debug::escape;
use persist::reflect::ClassId;
use persist_tools::{ClassSchema, FieldSchema, Form, KindSchema};

use crate::exit::Result;
use crate::found::each_world;
use crate::input::Save;
use crate::paged::PagedWorld;
use crate::world::World;

use kinds::{Needs, cycles, each, has_compact, held, holds_class, kinds, mentions, parts_of};
use names::{FreeNames, last_word, trait_name};
use standard::{Standard, known_classes, standard};

/// Characters of a type: a hostile save has some that would fill a disk.
const LONGEST: usize = 1000;

/// Levels of a type, below which the compiler has trouble.
const DEEPEST: usize = 32;

/// Elements of arrays in a type. Larger arrays do not fit into memory.
const MAX_ELEMENTS: usize = 1 << 24;

/// Parts of a tuple that can be saved.
const MAX_PARTS: usize = 12;

/// Rust types that load a save, as far as it shows them.
pub(crate) fn types(save: &mut Save<'_>) -> Result<String> {
    let of_worlds = of_worlds(save)?;
    let types = Types::of(save.classes(), of_worlds);
    let mut text = String::from("use persist::Persist;\n");
    let mut unavailable = Vec::new();
    for (class, schema) in types.classes.iter().enumerate() {
        match types.names.get(&class) {
            Some(name) => types.class(class, schema, name, &mut text),
            None => unavailable.push(&schema.name),
        }
    }
    types.traits(&mut text);
    types.arenas(&mut text);
    for (is_used, float, bits) in [(&types.f32, "f32", "F32"), (&types.f64, "f64", "F64")] {
        if is_used.get() {
            text.push_str(&KEY.replace("FLOAT", float).replace("NAME", bits));
        }
    }
    if !unavailable.is_empty() {
        text.push_str("\n// Of the library, or of types that stand for themselves:\n");
        for name in unavailable {
            line(&mut text, format_args!("// {}", escape::line(name)));
        }
    }
    Ok(text)
}

/// A key that is a float.
const KEY: &str = "
/// A float that is compared by its bits.
#[derive(Persist, Clone, Copy)]
#[persist(transparent)]
pub struct NAME(pub FLOAT);

impl std::cmp::Ord for NAME {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl std::cmp::PartialOrd for NAME {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl std::cmp::PartialEq for NAME {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl std::cmp::Eq for NAME {}

impl std::hash::Hash for NAME {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.0.to_bits().hash(state);
    }
}
";

/// Adds a line; writing to a `String` cannot fail.
fn line(text: &mut String, line: std::fmt::Arguments<'_>) {
    let _ = writeln!(text, "{line}");
}

/// The types of a save, each with a name of its own.
struct Types<'d> {
    classes: &'d [ClassSchema],
    /// The names of the classes that are written out.
    names: HashMap<usize, String>,
    /// The strongly connected components that classes hold one another in.
    cycles: Vec<usize>,
    needs: Vec<Needs>,
    components: HashSet<&'d str>,
    /// The names of traits and arenas in saves, with those here.
    traits: BTreeMap<&'d str, String>,
    arenas: BTreeMap<&'d str, String>,
    /// Whether floats are keys.
    f32: Cell<bool>,
    f64: Cell<bool>,
}

impl<'d> Types<'d> {
    fn of(
        classes: &'d [ClassSchema],
        (components, resources): (HashSet<String>, HashSet<String>),
    ) -> Self {
        let known = known_classes();
        let mut free = FreeNames::of_types();
        let mut free = |name: &str| free.find(name, true);
        let mut names = HashMap::new();
        for (class, schema) in classes.iter().enumerate() {
            let is_writable = match &schema.form {
                Form::Struct(_) => true,
                Form::Enum(variants) => variants.iter().any(|variant| !variant.name.is_empty()),
                _ => false,
            };
            let is_known = known.iter().any(|(known, _)| known.is(schema))
                || standard(schema).is_some()
                || schema.name.starts_with("persist.");
            if is_writable && !is_known {
                let name = match schema.name.contains('<') {
                    true => schema.name.replace(['.', ':'], "_"),
                    false => last_word(&schema.name).to_owned(),
                };
                names.insert(class, free(&name));
            }
        }
        let (mut traits, mut arenas) = (BTreeMap::new(), BTreeMap::new());
        // Classes of the library are skipped: components and resources have traits of the library.
        let own = classes.iter().filter(|class| !class.name.starts_with("persist."));
        for kind in own.flat_map(kinds) {
            each(kind, &mut |kind| match kind {
                KindSchema::TraitReference { name, .. } | KindSchema::Dynamic(name) => {
                    let (name, _) = trait_name(name);
                    if !name.is_empty() && !traits.contains_key(name) {
                        traits.insert(name, free(last_word(name)));
                    }
                }
                KindSchema::Handle(name)
                    if !arenas.contains_key(&**name) && kind.display(&[]) != "ObjectId" =>
                {
                    arenas.insert(&**name, free(last_word(name)));
                }
                _ => {}
            });
        }
        let known_of = |of: &HashSet<String>| {
            classes.iter().map(|class| &*class.name).filter(|name| of.contains(*name)).collect()
        };
        let (components, resources) = (known_of(&components), known_of(&resources));
        let mut types = Self {
            classes,
            names,
            cycles: cycles(classes),
            needs: vec![Needs::default(); classes.len()],
            components,
            traits,
            arenas,
            f32: Cell::new(false),
            f64: Cell::new(false),
        };
        types.find_needs(&resources);
        types
    }

    /// Finds the needs of each class, from all places that hold it.
    fn find_needs(&mut self, resources: &HashSet<&str>) {
        let mut open: Vec<(usize, Needs)> = Vec::new();
        for (class, schema) in self.classes.iter().enumerate() {
            let name = &*schema.name;
            let send = self.components.contains(name) || resources.contains(name);
            open.push((class, Needs { send, ..Needs::default() }));
        }
        let mut is_seen = vec![false; self.classes.len()];
        while let Some((class, needs)) = open.pop() {
            let Some(schema) = self.classes.get(class) else { continue };
            let all = self.needs[class].and(needs);
            if std::mem::replace(&mut is_seen[class], true) && all == self.needs[class] {
                continue;
            }
            self.needs[class] = all;
            for kind in kinds(schema) {
                mentions(kind, all, &mut |class, needs| open.push((class, needs)));
            }
        }
    }

    fn class(&self, class: usize, schema: &ClassSchema, name: &str, out: &mut String) {
        let Needs { key, copy, .. } = self.needs[class];
        let mut derives = vec!["Persist"];
        derives.extend(copy.then_some("Clone, Copy"));
        derives.extend(key.then_some("PartialEq, Eq, PartialOrd, Ord, Hash"));
        line(out, format_args!("\n#[derive({})]", derives.join(", ")));
        let mut attributes = Vec::new();
        if self.components.contains(&*schema.name) {
            attributes.push("component".to_owned());
        }
        // A name that is empty cannot be written; its id stands for it.
        if schema.name != name && !schema.name.is_empty() {
            attributes.push(format!("class = {:?}", schema.name));
        }
        let id = ClassId::from_name(if schema.name.is_empty() { name } else { &schema.name });
        if schema.id != id {
            attributes.push(format!("id = {:#x}", schema.id.0));
        }
        if schema.version != 1 {
            attributes.push(format!("version = {}", schema.version));
        }
        attributes.extend(schema.since.map(|since| format!("since = {since}")));
        attribute(&attributes, "", out);
        match &schema.form {
            Form::Struct(fields) => {
                out.push_str(&format!("pub struct {name}"));
                let is_tuple = self.fields(class, fields, "pub ", "", out);
                out.push_str(if is_tuple { ";\n" } else { "\n" });
            }
            Form::Enum(variants) => {
                line(out, format_args!("pub enum {name} {{"));
                let empty = self.empty_variant(class, schema);
                let mut names = FreeNames::default();
                for (number, variant) in variants.iter().enumerate() {
                    if variant.name.is_empty() {
                        line(out, format_args!("    // A variant without a name is left out."));
                        continue;
                    }
                    let known = names.find(&variant.name, true);
                    let mut attributes = Vec::new();
                    attributes.extend((empty == Some(number)).then(|| "empty".to_owned()));
                    if known != variant.name {
                        attributes.push(format!("rename = {:?}", variant.name));
                    }
                    attribute(&attributes, "    ", out);
                    out.push_str(&format!("    {known}"));
                    if !variant.fields.is_empty() {
                        self.fields(class, &variant.fields, "", "    ", out);
                    }
                    out.push_str(",\n");
                }
                out.push_str("}\n");
            }
            _ => {}
        }
    }

    /// The variant that an empty value has, if it must be said: all hold the enum itself.
    fn empty_variant(&self, class: usize, schema: &ClassSchema) -> Option<usize> {
        let Form::Enum(variants) = &schema.form else { return None };
        let named = || variants.iter().enumerate().filter(|(_, it)| !it.name.is_empty());
        let holds = |kind: &KindSchema, all: bool| {
            let mut is_held = false;
            let mut visit = |other| is_held |= self.cycles.get(other) == self.cycles.get(class);
            if all {
                mentions(kind, Needs::default(), &mut |it, _| visit(it));
            } else {
                held(kind, true, &mut visit);
            }
            is_held
        };
        let is_flat =
            |all: bool, fields: &[FieldSchema]| !fields.iter().any(|field| holds(&field.kind, all));
        if named().any(|(_, it)| it.fields.is_empty() || is_flat(true, &it.fields)) {
            return None;
        }
        let finite = named().find(|(_, it)| is_flat(false, &it.fields));
        finite.or_else(|| named().next()).map(|(number, _)| number)
    }

    /// Writes the fields of a struct or variant; true if they have no names.
    fn fields(
        &self,
        class: usize,
        fields: &[FieldSchema],
        visibility: &str,
        indent: &str,
        out: &mut String,
    ) -> bool {
        let mut numbers = HashSet::new();
        let written: Vec<_> = fields
            .iter()
            .map(|field| {
                let mut attributes = Vec::new();
                // A duplicate number is left out.
                attributes.extend(
                    field.id.filter(|id| numbers.insert(*id)).map(|id| format!("id = {id}")),
                );
                if has_compact(&field.kind) {
                    attributes.push("compact".into());
                }
                let has_name = !field.name.is_empty() || field.id.is_some();
                let place = Place { class: Some(class), needs: self.needs[class] };
                (attributes, self.kind(&field.kind, place, 0).filter(|_| has_name))
            })
            .collect();
        let is_whole = written.iter().all(|(_, kind)| kind.is_some());
        if is_whole && is_tuple(fields) {
            let kinds = written.into_iter().map(|(attributes, kind)| {
                let attributes = attributes.join(", ");
                let attribute = match &*attributes {
                    "" => String::new(),
                    _ => format!("#[persist({attributes})] "),
                };
                format!("{attribute}{visibility}{}", kind.unwrap_or_default())
            });
            out.push_str(&format!("({})", kinds.collect::<Vec<_>>().join(", ")));
            return true;
        }
        out.push_str(" {\n");
        let mut names = FreeNames::default();
        for (field, (mut attributes, kind)) in fields.iter().zip(written) {
            let Some(kind) = kind else {
                let (name, kind) = (escape::line(&field.name), field.kind.display(self.classes));
                let kind = escape::line(&kind);
                line(out, format_args!("{indent}    // No type here has the field {name}: {kind}"));
                continue;
            };
            let known = names.find(&field.name, false);
            if known.trim_start_matches("r#") != field.name && !field.name.is_empty() {
                attributes.insert(0, format!("rename = {:?}", field.name));
            }
            attribute(&attributes, &format!("{indent}    "), out);
            line(out, format_args!("{indent}    {visibility}{known}: {kind},"));
        }
        out.push_str(&format!("{indent}}}"));
        false
    }

    fn traits(&self, out: &mut String) {
        let mut send = HashSet::new();
        for (class, schema) in
            self.classes.iter().enumerate().filter(|(it, _)| self.needs[*it].send)
        {
            if self.names.contains_key(&class) {
                for kind in kinds(schema) {
                    each(kind, &mut |kind| {
                        if let KindSchema::Dynamic(name) = kind {
                            send.insert(trait_name(name).0);
                        }
                    });
                }
            }
        }
        for (name, known) in &self.traits {
            let named = if name == known { String::new() } else { format!("(name = {name:?})") };
            let send = if send.contains(name) { ": Send" } else { "" };
            line(
                out,
                format_args!(
                    "\n/// Implement it for its classes, and register each by `register_as`."
                ),
            );
            line(out, format_args!("#[persist::dynamic{named}]\npub trait {known}{send} {{}}"));
        }
    }

    fn arenas(&self, out: &mut String) {
        for (name, known) in &self.arenas {
            line(
                out,
                format_args!("\n/// What handles lead to; give it the type of the program's keys."),
            );
            line(out, format_args!("pub struct {known};\n\nimpl persist::Arena for {known} {{"));
            line(
                out,
                format_args!("    type Key = u64;\n    const NAME: &'static str = {name:?};\n"),
            );
            line(out, format_args!("    fn to_bits(key: u64) -> u64 {{\n        key\n    }}\n"));
            line(
                out,
                format_args!(
                    "    fn from_bits(bits: u64) -> Option<u64> {{\n        Some(bits)\n    }}\n}}"
                ),
            );
        }
    }

    /// Returns the type of a kind, or `None` if no type meets the needs of the place.
    fn kind(&self, kind: &KindSchema, place: Place, depth: usize) -> Option<String> {
        use KindSchema as K;
        if depth > DEEPEST {
            return None;
        }
        let Needs { key, copy, .. } = place.needs;
        let of = |kind: &KindSchema, place: Place| self.kind(kind, place, depth + 1);
        let inner = |kind: &KindSchema| of(kind, place);
        let as_key = Place { needs: Needs { key: true, ..place.needs }, ..place };
        // The elements of a list may have the class itself as their type.
        let in_list = |place: Place| Place { class: None, ..place };
        let text = match kind {
            K::Option(part) => format!("Option<{}>", inner(part)?),
            K::List(part) if !copy => format!("Vec<{}>", of(part, in_list(place))?),
            K::Set(part) if !copy => {
                let set = if key { "BTreeSet" } else { "HashSet" };
                format!("std::collections::{set}<{}>", of(part, in_list(as_key))?)
            }
            K::Map(parts) if !copy => {
                let map = if key { "BTreeMap" } else { "HashMap" };
                let (name, value) =
                    (of(&parts[0], in_list(as_key))?, of(&parts[1], in_list(place))?);
                format!("std::collections::{map}<{name}, {value}>")
            }
            K::Array(part, len) if *len <= MAX_ELEMENTS => format!("[{}; {len}]", inner(part)?),
            K::Tuple(parts) if parts.len() <= MAX_PARTS => {
                let parts = parts.iter().map(inner).collect::<Option<Vec<_>>>()?;
                format!("({}{})", parts.join(", "), if parts.len() == 1 { "," } else { "" })
            }
            K::Class(class) => self.value(*class, place, depth + 1)?,
            K::Reference { holder, weak, class } if !key && !copy => {
                let (outer, cell) = parts_of(holder, *weak);
                let needs = Needs { copy: cell == "Cell", ..place.needs };
                let target = self.target(*class, &cell, Place { class: None, needs }, depth + 1)?;
                pointer((&outer, &cell), &target, place.needs.send)?
            }
            K::TraitReference { holder, weak, name } if !key && !copy => {
                let (outer, cell) = parts_of(holder, *weak);
                let may_be = !["Cell", "OnceCell", "OnceLock"].contains(&&*cell);
                let may_send = !place.needs.send || trait_name(name).1.contains("Sync");
                let object = self.object(name).filter(|_| may_be && may_send)?;
                pointer((&outer, &cell), &object, place.needs.send)?
            }
            K::Dynamic(name) if !key && !copy => format!("Box<{}>", self.object(name)?),
            K::Handle(name) => match self.arenas.get(&**name) {
                Some(arena) => format!("persist::Handle<{arena}>"),
                None => "persist::ObjectId".into(),
            },
            K::Text if copy => return None,
            K::F32 | K::F64 if key => {
                let (is_used, name) =
                    if *kind == K::F32 { (&self.f32, "F32") } else { (&self.f64, "F64") };
                is_used.set(true);
                name.into()
            }
            K::List(_)
            | K::Set(_)
            | K::Map(_)
            | K::Array(..)
            | K::Tuple(_)
            | K::Reference { .. } => return None,
            K::TraitReference { .. } | K::Dynamic(_) | K::Unknown => return None,
            scalar => scalar.display(self.classes).trim_start_matches("compact ").to_owned(),
        };
        (text.len() <= LONGEST).then_some(text)
    }

    /// The type of a class that is part of another value.
    fn value(&self, class: usize, place: Place, depth: usize) -> Option<String> {
        let schema = self.classes.get(class)?;
        if let Some(name) = self.names.get(&class) {
            let is_cycle =
                place.class.is_some_and(|outer| self.cycles[outer] == self.cycles[class]);
            return match is_cycle {
                true if place.needs.copy => None,
                true => Some(format!("Box<{name}>")),
                false => Some(name.clone()),
            };
        }
        if let Some((_, path)) = known_classes().iter().find(|(known, _)| known.is(schema)) {
            return Some((*path).to_owned());
        }
        if let Some(Standard { path, parts, is_range }) = standard(schema) {
            let Needs { key, copy, .. } = place.needs;
            if is_range
                && (key
                    || copy
                    || path.ends_with("Inclusive") && parts.iter().any(|it| holds_class(it)))
            {
                return None;
            }
            let parts = parts.iter().map(|part| self.kind(part, place, depth + 1));
            return Some(format!("{path}<{}>", parts.collect::<Option<Vec<_>>>()?.join(", ")));
        }
        match &schema.form {
            Form::Value(kind) => self.kind(kind, place, depth + 1),
            Form::Struct(_) if schema.name == "persist.World" => {
                let Needs { key, copy, .. } = place.needs;
                (!key && !copy).then(|| "persist::World".into())
            }
            _ => None,
        }
    }

    /// The type of a class that a pointer leads to, through a cell or none.
    fn target(&self, class: usize, cell: &str, place: Place, depth: usize) -> Option<String> {
        let schema = self.classes.get(class)?;
        match (&schema.form, cell) {
            // Such a cell is part of the class.
            (Form::Value(KindSchema::Option(part)), "OnceCell" | "OnceLock") => {
                self.kind(part, place, depth)
            }
            (Form::Value(kind), _) => self.named(&schema.name, kind, place, depth),
            _ => self.value(class, place, depth),
        }
    }

    /// The type of this name, which is all of its class, if it is of the standard library; else that of the kind.
    fn named(&self, name: &str, kind: &KindSchema, place: Place, depth: usize) -> Option<String> {
        let Needs { copy, send, .. } = place.needs;
        let as_key = Place { needs: Needs { key: true, ..place.needs }, ..place };
        let (outer, inner) = name.split_once('<').unwrap_or((name, ""));
        Some(match (outer, kind) {
            ("str", KindSchema::Text) => "str".into(),
            (name, KindSchema::List(part)) if name.starts_with('[') => {
                format!("[{}]", self.kind(part, place, depth)?)
            }
            ("VecDeque" | "LinkedList", KindSchema::List(part)) if !copy => {
                format!("std::collections::{outer}<{}>", self.kind(part, place, depth)?)
            }
            ("BTreeSet", KindSchema::Set(part)) if !copy => {
                format!("std::collections::BTreeSet<{}>", self.kind(part, as_key, depth)?)
            }
            ("BTreeMap", KindSchema::Map(parts)) if !copy => {
                let (key, value) =
                    (self.kind(&parts[0], as_key, depth)?, self.kind(&parts[1], place, depth)?);
                format!("std::collections::BTreeMap<{key}, {value}>")
            }
            ("RefCell" | "Mutex" | "RwLock", kind) if !copy && depth < DEEPEST => {
                let module = if outer == "RefCell" { "cell" } else { "sync" };
                let inner = inner.strip_suffix('>').unwrap_or(inner);
                let inner = self.named(inner, kind, place, depth + 1)?;
                if send && module == "cell" {
                    return None;
                }
                format!("std::{module}::{outer}<{inner}>")
            }
            _ => return self.kind(kind, place, depth),
        })
    }

    /// A trait object.
    fn object(&self, name: &str) -> Option<String> {
        let (name, markers) = trait_name(name);
        self.traits.get(name).map(|known| format!("dyn {known}{markers}"))
    }
}

/// Where a type stands.
#[derive(Clone, Copy)]
struct Place {
    /// The class that it is part of, unless a list or a pointer is between.
    class: Option<usize>,
    needs: Needs,
}

/// A pointer, by the whole names of the standard library, around its target.
fn pointer((outer, cell): (&str, &str), target: &str, must_send: bool) -> Option<String> {
    let outer = match outer {
        "Rc" | "Weak" if must_send => return None,
        "Rc" => "std::rc::Rc",
        "Weak" => "std::rc::Weak",
        "Arc" => "std::sync::Arc",
        _ => "std::sync::Weak",
    };
    Some(match cell {
        "" => format!("{outer}<{target}>"),
        "RefCell" | "Cell" | "OnceCell" if must_send => return None,
        "RefCell" | "Cell" | "OnceCell" => format!("{outer}<std::cell::{cell}<{target}>>"),
        _ => format!("{outer}<std::sync::{cell}<{target}>>"),
    })
}

/// The classes of the components in the worlds of a save, and of their resources.
fn of_worlds(save: &mut Save<'_>) -> Result<(HashSet<String>, HashSet<String>)> {
    let class = |value: &'_ Value| value.as_record().map(|record| record.class().to_owned());
    let (mut components, mut resources) = (HashSet::new(), HashSet::new());
    each_world(save, &|_| false, &mut |found, save| {
        if let Some(world) = PagedWorld::of(&found.value, found.object.id(), save) {
            components.extend(world.component_classes(save)?);
        }
        if let Some(world) = World::of(&found.value) {
            components.extend(world.objects.iter().flat_map(|it| it.components).filter_map(class));
            resources.extend(world.resources.iter().filter_map(class));
        }
        Ok(true)
    })?;
    Ok((components, resources))
}

fn is_tuple(fields: &[FieldSchema]) -> bool {
    !fields.is_empty() && fields.iter().enumerate().all(|(i, field)| field.name == i.to_string())
}

/// Writes attributes on a line of their own, if there are some.
fn attribute(attributes: &[String], indent: &str, out: &mut String) {
    if !attributes.is_empty() {
        line(out, format_args!("{indent}#[persist({})]", attributes.join(", ")));
    }
}

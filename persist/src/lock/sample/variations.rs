use std::collections::{HashMap, VecDeque};

use super::ends::Ends;
use super::scalars;
use crate::lock::section::Section;
use crate::schema::{FieldSchema, Form, KindSchema, Texts};

/// Where a value leaves a choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Site {
    /// By the address of the kind in the section.
    Kind(usize),
    /// The variant of an enum.
    Class(usize),
}

impl Site {
    pub(super) fn of(kind: &KindSchema) -> Self {
        Self::Kind(address(kind))
    }
}

/// Where a kind stands in the section.
pub(super) fn address(kind: &KindSchema) -> usize {
    std::ptr::from_ref(kind).addr()
}

/// A choice of a list: two elements that are equal.
pub(super) const EQUAL: usize = usize::MAX;

/// What is chosen where: the number of the elements or [`EQUAL`], 1 for `Some`, the number of a boundary
/// value, from 1, or of what a reference leads to, from 1; the index of a variant or of a class.
pub(super) type Choices = HashMap<Site, usize>;

/// An object with something other than usual in it.
pub(super) struct Variation {
    /// Index of its type.
    pub(super) object: usize,
    pub(super) choices: Vec<(Site, usize)>,
    /// The place and what is there.
    pub(super) what: String,
    /// True if the program may refuse the value although the schema allows it.
    pub(super) boundary: bool,
}

/// All variations of a section, and what they are of.
#[derive(Default)]
pub(super) struct Varied {
    pub(super) variations: Vec<Variation>,
    /// The places of texts that are to be names of variants.
    pub(super) named: Vec<String>,
    /// For each class the object type in which it is varied.
    pub(super) classes: HashMap<usize, usize>,
}

/// Every choice in every class that objects hold by value, each once.
pub(super) fn all(section: &Section, names: &[String], ends: &Ends, texts: &Texts) -> Varied {
    let (next, found) = (VecDeque::new(), Varied::default());
    let mut search = Search { section, names, ends, texts, object: 0, next, found };
    for (object, (class, _)) in section.objects.iter().enumerate() {
        if ends.objects[object].is_none() {
            continue;
        }
        search.object = object;
        search.reach(*class, &Vec::new());
        while let Some((class, route)) = search.next.pop_front() {
            search.class(class, &route);
        }
    }
    search.found
}

/// The choices on the way to a value.
type Route = Vec<(Site, usize)>;

struct Search<'s> {
    section: &'s Section,
    names: &'s [String],
    ends: &'s Ends,
    texts: &'s Texts,
    object: usize,
    /// Classes on the way from the object; none twice on one way.
    next: VecDeque<(usize, Route)>,
    found: Varied,
}

fn with(route: &Route, site: Site, choice: usize) -> Route {
    let mut route = route.clone();
    route.push((site, choice));
    route
}

impl Search<'_> {
    fn reach(&mut self, class: usize, route: &Route) {
        let classes = &mut self.found.classes;
        if self.ends.classes[class].is_some() && !classes.contains_key(&class) {
            classes.insert(class, self.object);
            if !self.section.is_world(class) {
                self.next.push_back((class, route.clone()));
            }
        }
    }

    fn vary(&mut self, route: &Route, site: Site, choice: usize, what: String, boundary: bool) {
        let choices = with(route, site, choice);
        self.found.variations.push(Variation { object: self.object, choices, what, boundary });
    }

    fn class(&mut self, class: usize, route: &Route) {
        let (schema, name) = (&self.section.classes[class], &self.names[class]);
        match &schema.form {
            Form::Struct(fields) => self.fields(fields, name, route),
            Form::Value(kind) => self.kind(kind, name, route),
            Form::Enum(variants) => {
                for (i, variant) in variants.iter().enumerate() {
                    if !variant.fields.iter().all(|field| self.is_there(&field.kind)) {
                        continue;
                    }
                    let place = format!("{name}::{}", variant.name);
                    self.vary(route, Site::Class(class), i, place.clone(), false);
                    let route = with(route, Site::Class(class), i);
                    self.fields(&variant.fields, &place, &route);
                }
            }
        }
    }

    fn is_there(&self, kind: &KindSchema) -> bool {
        self.ends.kind(self.section, kind).is_some()
    }

    fn fields(&mut self, fields: &[FieldSchema], place: &str, route: &Route) {
        for field in fields {
            self.kind(&field.kind, &format!("{place}.{}", field.name), route);
        }
    }

    fn kind(&mut self, kind: &KindSchema, place: &str, route: &Route) {
        let section = self.section;
        let site = Site::of(kind);
        match kind {
            KindSchema::Option(inner) => {
                self.vary(route, site, 0, format!("{place} without a value"), false);
                if self.is_there(inner) {
                    self.vary(route, site, 1, format!("{place} with a value"), false);
                    self.kind(inner, place, &with(route, site, 1));
                }
            }
            KindSchema::List(inner) => {
                self.elements(&[&**inner], site, place, route);
                if self.is_there(inner) {
                    self.vary(route, site, EQUAL, format!("{place} with equal elements"), true);
                }
            }
            KindSchema::Set(inner) => self.elements(&[&**inner], site, place, route),
            KindSchema::Map(parts) => self.elements(&[&parts.0, &parts.1], site, place, route),
            KindSchema::Array(inner, len) if *len > 0 => self.kind(inner, place, route),
            KindSchema::Tuple(parts) => {
                for (i, part) in parts.iter().enumerate() {
                    self.kind(part, &format!("{place}.{i}"), route);
                }
            }
            KindSchema::Class(class) => self.reach(*class, route),
            KindSchema::Reference { weak: true, .. } => {
                self.vary(route, site, 0, format!("{place} without a target"), false);
                self.vary(route, site, 1, format!("{place} with a target"), false);
            }
            KindSchema::TraitReference { weak, name, holder } => {
                if *weak {
                    self.vary(route, site, 0, format!("{place} without a target"), false);
                }
                for (i, object) in section.objects_of(name, *holder).enumerate() {
                    if self.ends.objects[object].is_some() {
                        let class = &self.names[section.objects[object].0];
                        self.vary(route, site, i + 1, format!("{place} to a {class}"), false);
                    }
                }
            }
            KindSchema::Dynamic(name) => {
                for (i, class) in section.classes_of(name).iter().enumerate() {
                    if self.ends.classes[*class].is_some() {
                        let name = &self.names[*class];
                        self.vary(route, site, i, format!("{place} as a {name}"), false);
                        self.reach(*class, &with(route, site, i));
                    }
                }
            }
            KindSchema::Handle(_) => {
                for choice in 1..=3 {
                    let (name, _) = scalars::handle(choice);
                    self.vary(route, site, choice, format!("{place} as {name}"), true);
                }
            }
            KindSchema::Text if let Some(names) = self.texts.get(&address(kind)) => {
                for (i, name) in names.iter().enumerate() {
                    self.vary(route, site, i + 1, format!("{place} = {name:?}"), false);
                }
                self.found.named.push(place.to_owned());
            }
            scalar => {
                for (i, (name, _)) in scalars::boundaries(scalar).iter().enumerate() {
                    self.vary(route, site, i + 1, format!("{place} = {name}"), true);
                }
            }
        }
    }

    fn elements(&mut self, parts: &[&KindSchema], site: Site, place: &str, route: &Route) {
        self.vary(route, site, 0, format!("{place} without elements"), true);
        if parts.iter().all(|part| self.is_there(part)) {
            self.vary(route, site, 3, format!("{place} with several elements"), true);
            let route = with(route, site, 1);
            parts.iter().for_each(|part| self.kind(part, place, &route));
        }
    }
}

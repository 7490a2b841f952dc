use std::collections::{HashMap, HashSet, VecDeque};

use super::ends::Ends;
use super::scalars::{HANDLES, boundaries};
use crate::lock::section::{Section, address};
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
    /// The place, and what stands in it.
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

/// What the program reads of the values of a version. Without more: all, and each class as one of its own.
#[derive(Default)]
pub(in crate::lock) struct Reads {
    /// The object types that it does not have.
    pub(in crate::lock) unknown: HashSet<usize>,
    /// The kinds of the fields that none of its fields has as its source, by their addresses.
    pub(in crate::lock) unread: HashSet<usize>,
    /// The fields in which classes become something else than anywhere else.
    pub(in crate::lock) apart: HashSet<usize>,
}

/// Every choice in every class that objects hold by value, each once where the program reads it, and once more in each
/// field where the class becomes something else.
pub(super) fn all(
    section: &Section,
    names: &[String],
    ends: &Ends,
    texts: &Texts,
    reads: &Reads,
) -> Varied {
    let mut search = Search {
        section,
        names,
        ends,
        texts,
        reads,
        object: 0,
        apart: None,
        next: VecDeque::new(),
        later: Some(Vec::new()),
        seen: HashSet::new(),
        inlined: vec![false; section.classes.len()],
        found: Varied::default(),
    };
    let there = (0..section.objects.len()).filter(|object| ends.objects[*object].is_some());
    let (unknown, known): (Vec<usize>, Vec<usize>) =
        there.partition(|object| reads.unknown.contains(object));
    known.into_iter().for_each(|object| search.object(object));
    // Then what is not read: its classes may be found nowhere else.
    let read: HashSet<usize> = search.found.classes.keys().copied().collect();
    for later in search.later.take().unwrap_or_default() {
        search.object = later.object;
        search.kind(later.kind, &later.place, &later.route);
        search.go_on();
    }
    unknown.into_iter().for_each(|object| search.object(object));
    let inlined = section.inside(std::mem::take(&mut search.inlined));
    search.found.classes.retain(|class, _| read.contains(class) || !inlined[*class]);
    search.found
}

/// The choices on the way to a value.
type Route = Vec<(Site, usize)>;

/// A class on the way from the object; none twice on one way.
struct Next {
    class: usize,
    place: String,
    route: Route,
    /// The field in which it becomes something else.
    apart: Option<usize>,
}

/// A field that is not read.
struct Later<'s> {
    object: usize,
    kind: &'s KindSchema,
    place: String,
    route: Route,
}

struct Search<'s> {
    section: &'s Section,
    names: &'s [String],
    ends: &'s Ends,
    texts: &'s Texts,
    reads: &'s Reads,
    object: usize,
    /// The field around, by the address of its kind, if classes become something else there.
    apart: Option<usize>,
    next: VecDeque<Next>,
    /// What is not read, until it is its turn.
    later: Option<Vec<Later<'s>>>,
    /// The classes that were met, in such fields or elsewhere.
    seen: HashSet<(Option<usize>, usize)>,
    /// Classes whose objects the program may read as values.
    inlined: Vec<bool>,
    found: Varied,
}

fn with(route: &Route, site: Site, choice: usize) -> Route {
    let mut route = route.clone();
    route.push((site, choice));
    route
}

impl<'s> Search<'s> {
    fn object(&mut self, object: usize) {
        self.object = object;
        let (class, _) = self.section.objects[object];
        self.reach(class, &self.names[class], &Vec::new());
        self.go_on();
    }

    fn go_on(&mut self) {
        while let Some(next) = self.next.pop_front() {
            self.apart = next.apart;
            self.class(next.class, &next.place, &next.route);
        }
        self.apart = None;
    }

    fn reach(&mut self, class: usize, place: &str, route: &Route) {
        if self.ends.classes[class].is_some() && self.seen.insert((self.apart, class)) {
            self.found.classes.entry(class).or_insert(self.object);
            if !self.section.is_world(class) {
                let place = if self.apart.is_some() { place } else { &self.names[class] };
                let (place, route) = (place.to_owned(), route.clone());
                self.next.push_back(Next { class, place, route, apart: self.apart });
            }
        }
    }

    fn vary(&mut self, route: &Route, site: Site, choice: usize, what: String, boundary: bool) {
        let choices = with(route, site, choice);
        self.found.variations.push(Variation { object: self.object, choices, what, boundary });
    }

    fn class(&mut self, class: usize, name: &str, route: &Route) {
        let section = self.section;
        // What stands behind the name of a field is a part.
        let colons = if self.apart.is_some() { "." } else { "::" };
        match &section.classes[class].form {
            Form::Struct(fields) => self.fields(fields, name, route),
            Form::Value(kind) => self.kind(kind, name, route),
            Form::Enum(variants) => {
                for (i, variant) in variants.iter().enumerate() {
                    if !variant.fields.iter().all(|field| self.is_there(&field.kind)) {
                        continue;
                    }
                    let place = format!("{name}{colons}{}", variant.name);
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

    fn fields(&mut self, fields: &'s [FieldSchema], place: &str, route: &Route) {
        let around = self.apart;
        for FieldSchema { kind, name, .. } in fields {
            let (at, place) = (address(kind), format!("{place}.{name}"));
            match &mut self.later {
                Some(later) if self.reads.unread.contains(&at) => {
                    later.push(Later { object: self.object, kind, place, route: route.clone() });
                }
                _ => {
                    self.apart = around.or(Some(at).filter(|at| self.reads.apart.contains(at)));
                    self.kind(kind, &place, route);
                    self.apart = around;
                }
            }
        }
    }

    fn kind(&mut self, kind: &'s KindSchema, place: &str, route: &Route) {
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
            KindSchema::Map(parts) => self.elements(&[&parts[0], &parts[1]], site, place, route),
            KindSchema::Array(inner, len) if *len > 0 => self.kind(inner, place, route),
            KindSchema::Tuple(parts) => {
                for (i, part) in parts.iter().enumerate() {
                    self.kind(part, &format!("{place}.{i}"), route);
                }
            }
            KindSchema::Class(class) => self.reach(*class, place, route),
            KindSchema::Reference { weak: true, .. } => {
                self.vary(route, site, 0, format!("{place} without a target"), false);
                self.vary(route, site, 1, format!("{place} with a target"), false);
            }
            KindSchema::Reference { weak: false, class, holder } => {
                let object = section.objects.binary_search(&(*class, *holder));
                let is_unknown = object.is_ok_and(|object| self.reads.unknown.contains(&object));
                self.inlined[*class] |= is_unknown && self.later.is_some();
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
                        self.reach(*class, place, &with(route, site, i));
                    }
                }
            }
            KindSchema::Handle(_) => {
                for (choice, (name, _)) in HANDLES.into_iter().enumerate().skip(1) {
                    self.vary(route, site, choice, format!("{place} as {name}"), true);
                }
            }
            KindSchema::Text if self.texts.contains_key(&address(kind)) => {
                for (i, name) in self.texts[&address(kind)].iter().enumerate() {
                    self.vary(route, site, i + 1, format!("{place} = {name:?}"), false);
                }
                self.found.named.push(place.to_owned());
            }
            scalar => {
                for (i, (name, _)) in boundaries(scalar).iter().enumerate() {
                    self.vary(route, site, i + 1, format!("{place} = {name}"), true);
                }
            }
        }
    }

    fn elements(&mut self, parts: &[&'s KindSchema], site: Site, place: &str, route: &Route) {
        self.vary(route, site, 0, format!("{place} without elements"), true);
        if parts.iter().all(|part| self.is_there(part)) {
            self.vary(route, site, 3, format!("{place} with several elements"), true);
            let route = with(route, site, 1);
            parts.iter().for_each(|part| self.kind(part, place, &route));
        }
    }
}

//! Finds the program's class for each stored class: by number, name, alias, place, or as an instance of a generic
//! class.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, OnceLock};

use super::instances::{Candidates, NamedClasses};
use super::pairing::{StoredNames, pair};
use super::program::Sides;
use super::{ClassSchema, FieldSchema, Form, KindSchema, Program, ProgramClass, Stored};
use crate::reflect::{Class, FieldRecord, Holder};

/// The program's class for each class of a save. All saves of one schema share it.
pub(crate) struct Matched {
    pub stored: Arc<Stored>,
    /// The program's class for each stored one.
    pub resolved: Arc<[Option<usize>]>,
    candidates: Candidates,
    pointers: PointerPairs,
    /// For each class, whether its records are as the program would write them.
    pub(super) identical: Vec<bool>,
    /// The schema with the pointers of the save, if the program has others.
    pub(super) as_stored: Option<Arc<Stored>>,
    /// True if no class that a trait object may be of has changed.
    pub(super) dynamic_same: bool,
    /// For each class of the program the first stored one that becomes it.
    first: OnceLock<HashMap<usize, usize>>,
}

/// Two classes or holders in the same place of a save and of the program.
enum Counterparts {
    /// A class of the save, and one of the program.
    Classes(usize, usize, Meeting),
    /// Pointers to trait objects, in these holders.
    Traits(Holder, Holder),
}

impl Counterparts {
    /// Filters the pairs from fields of an older version: a migration may move those, so differing pointers prove
    /// nothing.
    fn of_migrated(self) -> Option<Self> {
        match self {
            Self::Classes(class, target, Meeting::Pointers(stored, expected))
                if stored != expected =>
            {
                Some(Self::Classes(class, target, Meeting::Value))
            }
            Self::Traits(..) => None,
            pair => Some(pair),
        }
    }
}

/// Where classes of both sides meet.
#[derive(Clone, Copy, PartialEq)]
enum Meeting {
    /// In a value.
    Value,
    /// Behind a pointer, or where a class alone says what it is.
    Object,
    /// Behind pointers in these holders: the stored one, and the program's.
    Pointers(Holder, Holder),
}

impl Matched {
    /// Matches the classes of a save; that of the record `root` is a value of the program's class.
    pub(crate) fn new(
        stored: Vec<ClassSchema>,
        program: &Program,
        root: Option<(usize, usize)>,
        drop_unknown: bool,
    ) -> Self {
        let resolved = stored.iter().map(|class| program.find_by_name(class)).collect();
        let stored = Arc::new(Stored::new(stored));
        let (candidates, identical) = (Candidates::new(), Vec::new());
        let (pointers, first) = (PointerPairs::default(), OnceLock::new());
        let dynamic_same = true;
        let mut this = Self {
            stored,
            as_stored: None,
            resolved,
            candidates,
            pointers,
            identical,
            dynamic_same,
            first,
        };
        // Pointers are compared where classes match, and records are identical only after their pointers have been
        // moved.
        this.resolve_all(program, root);
        this.pointers.note_all(&this.stored, program);
        this.move_pointers(program);
        this.identical = this.identical(program, drop_unknown);
        let is_same = |class: usize| this.identical[class] || this.resolved[class].is_none();
        this.dynamic_same = (0..this.stored.len()).all(is_same);
        this
    }

    /// The holder that objects of a stored class in this one have in the program.
    pub(crate) fn holder(&self, class: usize, stored: Holder, program: &Program) -> Holder {
        if stored == Holder::VALUE {
            return stored;
        }
        self.pointers.of_class(class, stored, self.resolved[class], program)
    }

    /// True if two kinds have different pointers to one class in one place.
    pub(super) fn has_other_pointer(&self, stored: &KindSchema, expected: &KindSchema) -> bool {
        let mut found = false;
        in_pairs(stored, expected, &mut |pair| {
            found |= match pair {
                Counterparts::Classes(class, target, Meeting::Pointers(stored, expected)) => {
                    stored != expected && self.resolved[class] == Some(target)
                }
                Counterparts::Classes(..) => false,
                Counterparts::Traits(stored, expected) => stored != expected,
            };
        });
        found
    }

    /// Reads the schema as if it had the pointers of the program.
    fn move_pointers(&mut self, program: &Program) {
        let holder = |class: Option<usize>, stored: Holder| match class {
            Some(class) => self.holder(class, stored, program),
            None => self.pointers.of_trait(stored),
        };
        let is_other = |kind: &KindSchema| match kind {
            KindSchema::Reference { holder: stored, class, .. } => {
                holder(Some(*class), *stored) != *stored
            }
            KindSchema::TraitReference { holder: stored, .. } => holder(None, *stored) != *stored,
            _ => false,
        };
        // Nearly all saves have the pointers of the program. Their schema is not copied.
        if !self.stored.any_kind(is_other) {
            return;
        }
        let mut classes = self.stored.classes().to_vec();
        classes.iter_mut().for_each(|class| class.set_holders(&holder));
        let moved = Arc::new(Stored::new(classes));
        self.as_stored = Some(std::mem::replace(&mut self.stored, moved));
    }

    pub(super) fn resolve(&self, class: usize) -> Option<usize> {
        self.resolved[class]
    }

    /// The first stored class that becomes this one of the program: each value that a migration makes asks for it.
    pub(super) fn first_stored(&self, target: usize) -> Option<usize> {
        let first = self.first.get_or_init(|| {
            let mut first = HashMap::new();
            for (class, target) in self.resolved.iter().enumerate() {
                target.map(|target| first.entry(target).or_insert(class));
            }
            first
        });
        first.get(&target).copied()
    }

    /// Returns, for each stored instance of a generic class that the program does not have, the program's instances
    /// that its objects may become.
    pub(super) fn candidates(&self) -> &Candidates {
        &self.candidates
    }

    /// True if the two kinds differ at most in the fields of classes inside.
    pub(super) fn is_compatible(&self, stored: &KindSchema, compiled: &KindSchema) -> bool {
        // The classes of a trait are looked up for each value, so the name of the trait may change.
        stored.is_like(compiled, false, &mut |a, b| self.resolved[a] == Some(b))
    }

    /// True if values of a stored class may become those of the program's, where they stand in
    /// the same place. An instance of a generic class may become another: its fields decide.
    pub(super) fn is_related(&self, class: usize, program: &Program, target: usize) -> bool {
        let is_called = |target: ProgramClass| target.class.is_called(&self.stored[class].name);
        self.resolved[class] == Some(target) || program.targets[target].is_some_and(is_called)
    }

    fn set(&mut self, class: usize, target: usize) {
        Arc::make_mut(&mut self.resolved)[class] = Some(target);
    }

    /// Matches the classes that names alone do not match.
    fn resolve_all(&mut self, program: &Program, root: Option<(usize, usize)>) {
        if let Some((class, value)) = root
            && self.resolved[class].is_none()
            && self.is_related(class, program, value)
        {
            self.set(class, value);
        }
        let all = self.stored.clone();
        let named = NamedClasses::new(&all, program, &self.resolved);
        let mut candidates = named.candidates();
        let mut found: Vec<Counterparts> = Vec::new();
        if !candidates.is_empty() {
            let unknown = named.unknown(&candidates);
            let kinds = named.unknown_fields().flat_map(Sides::kinds);
            kinds.for_each(|(old, new)| in_pairs(old, new, &mut |it| found.push(it)));
            // Classes that no unknown data refers to belong to the program.
            for class in (0..self.stored.len()).filter(|class| !unknown.contains(class)) {
                self.enter(class, &mut candidates);
            }
        }
        if let Some((class, value)) = root {
            found.push(Counterparts::Classes(class, value, Meeting::Object));
        }
        for class in 0..self.stored.len() {
            let object = |target| Counterparts::Classes(class, target, Meeting::Object);
            found.extend(self.resolved[class].map(object));
        }
        // Classes may hold each other, so the fields of each pair are compared once.
        let mut seen = HashSet::new();
        while let Some(pair) = found.pop() {
            let (class, target, meeting) = match pair {
                Counterparts::Classes(class, target, meeting) => (class, target, meeting),
                Counterparts::Traits(stored, expected) => {
                    self.pointers.note(None, stored, expected);
                    continue;
                }
            };
            let forms = (&all[class].form, &program.classes[target].form);
            let is_related = self.is_related(class, program, target);
            if self.resolved[class].is_none() && meeting != Meeting::Value {
                // The place decides what a bare value is: a `Vec<u32>` where the program has a `Vec<u64>`.
                if let (Form::Value(_), Form::Value(_)) = forms {
                    self.set(class, target);
                } else if is_related {
                    // So it is the program's, too.
                    self.enter(class, &mut candidates);
                    let again = |target| Counterparts::Classes(class, target, meeting);
                    found.extend(self.resolved[class].map(again));
                }
            }
            if let Meeting::Pointers(stored, expected) = meeting
                && self.resolved[class] == Some(target)
            {
                self.pointers.note(Some(class), stored, expected);
            }
            let is_field = is_related || self.resolved[class] == Some(target);
            if is_field && seen.insert((class, target)) {
                let is_migrated = program.targets[target]
                    .is_some_and(|target| is_older(all[class].version, target.class));
                let sides = program.sides(&all[class], target).into_iter();
                let kinds = sides.flat_map(Sides::kinds);
                kinds.for_each(|(old, new)| {
                    in_pairs(old, new, &mut |it| {
                        found.extend(if is_migrated { it.of_migrated() } else { Some(it) });
                    });
                });
                if let (Form::Value(old), Form::Value(new)) = forms {
                    in_pairs(old, new, &mut |it| found.push(it));
                }
            }
        }
    }

    /// Matches a stored instance of a generic class with the program's only instance of that class.
    fn enter(&mut self, class: usize, candidates: &mut Candidates) {
        let Some(found) = candidates.remove(&class) else { return };
        // With several instances, a guess would be silent: the load refuses the object instead.
        if let [target] = found[..] {
            self.set(class, target);
        }
        self.candidates.insert(class, found);
    }

    /// For each class, whether its records are as the program would write them; those that may
    /// have kept something are not, if that is to be dropped.
    fn identical(&self, program: &Program, drop_unknown: bool) -> Vec<bool> {
        let stored = &self.stored;
        let keeps = |schema: &ClassSchema| schema.kinds().any(|kind| *kind == KindSchema::Unknown);
        let unknown = UnknownClasses::new(stored);
        // A class with the program's own schema may hold unknown data that the program knows by now. A kept variant
        // once stayed unknown under its `alias`, since its enum was not rewritten.
        let is_same = |(class, schema): (usize, &ClassSchema)| {
            self.is_same(schema, program, self.resolved[class])
                && !(keeps(schema)
                    && (drop_unknown
                        || unknown.has_copies(schema)
                        || self.knows(class, program, &unknown)))
        };
        let mut identical: Vec<bool> = stored.iter().enumerate().map(is_same).collect();
        // A value of an unknown class in an option is kept beside the record, with `None` in its place.
        if self.resolved.contains(&None) {
            for (class, schema) in stored.iter().enumerate() {
                let mut visit =
                    |kind: &KindSchema| identical[class] &= !program.is_optional_dynamic(kind);
                schema.kinds().for_each(|kind| kind.visit(&mut visit));
            }
        }
        // A class that holds a changed class is changed, too, transitively.
        let (mut holders, mut dynamic) = (vec![Vec::new(); stored.len()], Vec::new());
        for (class, schema) in stored.iter().enumerate() {
            schema.kinds().for_each(|kind| {
                kind.visit(&mut |kind| match kind {
                    KindSchema::Class(inner) => holders[*inner].push(class),
                    KindSchema::Dynamic(_) => dynamic.push(class),
                    _ => {}
                });
            });
        }
        let mut changed: Vec<usize> =
            (0..stored.len()).filter(|class| !identical[*class]).collect();
        while let Some(class) = changed.pop() {
            // Taken out, so that each holder is visited once for each class: linear in the schema.
            let mut found = std::mem::take(&mut holders[class]);
            if self.resolved[class].is_some() {
                // A trait object may be of any class that the program has.
                found.append(&mut dynamic);
            }
            for holder in found {
                if std::mem::replace(&mut identical[holder], false) {
                    changed.push(holder);
                }
            }
        }
        identical
    }

    /// True if the program's class has the variant or field of some unknown data, or declares it `removed`.
    fn knows(&self, class: usize, program: &Program, unknown: &UnknownClasses<'_>) -> bool {
        let target = self.resolved[class].and_then(|target| program.targets[target]);
        let Some(target) = target.map(|target| target.class) else { return false };
        let knows = |records: &[FieldRecord], removed: &[&str]| {
            removed.iter().any(|name| unknown.fields.has_name(name))
                || records.iter().any(|record| unknown.fields.may_be(record))
        };
        knows(target.fields(), target.removed)
            || target.removed.iter().any(|name| unknown.variants.contains(name))
            || target.variants().iter().any(|variant| {
                let mut names = variant.aliases.iter().chain([&variant.name]);
                names.any(|name| unknown.variants.contains(name))
                    || knows(variant.fields, variant.removed)
            })
    }

    /// True if the bare values behind the pointers in two kinds are of the same kinds.
    fn has_same_values(&self, old: &KindSchema, new: &KindSchema, program: &Program) -> bool {
        old.is_like(
            new,
            false,
            &mut |a, b| match (&self.stored[a].form, &program.classes[b].form) {
                (Form::Value(old), Form::Value(new)) => self.is_compatible(old, new),
                _ => true,
            },
        )
    }

    /// True if a class has the bytes of the program's, but for the classes inside.
    fn is_same(&self, stored: &ClassSchema, program: &Program, target: Option<usize>) -> bool {
        let Some(target) = target else { return false };
        let class = program.targets[target].map(|target| target.class);
        // Fields of the same names may mean something else in another version.
        let is_other = |class: &Class| {
            is_older(stored.version, class)
                || stored.version > class.version
                || is_converted(stored.version, class)
        };
        if class.is_some_and(is_other) {
            return false;
        }
        let compiled = &program.classes[target].form;
        if let (Form::Value(stored), Form::Value(compiled)) = (&stored.form, compiled) {
            return self.is_compatible(stored, compiled);
        }
        let sides = program.sides(stored, target);
        let is_same = |(i, side): (usize, &Sides<'_>)| {
            let Some(new) = side.new.filter(|new| new.variant == i) else { return false };
            let pairing = pair(side.old, new.records);
            // A field that names its kinds also asks for the bare values behind its pointers.
            let mut named = pairing.sources.iter().zip(new.records).zip(new.fields);
            let is_taken = named.all(|((source, record), new)| match source {
                Some(source) if record.names_its_kinds() => {
                    self.has_same_values(&side.old[*source].kind, &new.kind, program)
                }
                _ => true,
            });
            side.old.len() == new.fields.len()
                && pairing.is_in_order()
                && side.kinds().all(|(a, b)| self.is_compatible(a, b))
                && is_taken
        };
        let count = if let Form::Enum(variants) = compiled { variants.len() } else { 1 };
        sides.len() == count && sides.iter().enumerate().all(is_same)
    }
}

/// The variants and fields that stand in a save as classes of their own.
struct UnknownClasses<'s> {
    variants: HashSet<&'s str>,
    fields: StoredNames<'s>,
    /// True if two may be one field.
    doubled: bool,
}

impl<'s> UnknownClasses<'s> {
    fn new(stored: &'s [ClassSchema]) -> Self {
        let variants = stored.iter().filter_map(ClassSchema::unknown_variant);
        let mut classes = Self {
            variants: variants.map(|variant| &*variant.name).collect(),
            fields: StoredNames::default(),
            doubled: false,
        };
        let (mut names, mut numbers) = (HashSet::new(), HashSet::new());
        for class in stored {
            let Some((owner, field)) = class.unknown_field() else { continue };
            classes.doubled |= !names.insert(&class.name)
                || field.id.is_some_and(|number| !numbers.insert((owner, number)));
            classes.fields.insert(field);
        }
        classes
    }

    /// True if one of them may be a copy of a field of the class, or of another of them.
    fn has_copies(&self, class: &ClassSchema) -> bool {
        let is_copy = |field: &FieldSchema| self.fields.has(field.id, &field.name);
        self.doubled
            || match &class.form {
                Form::Struct(fields) => fields.iter().any(is_copy),
                Form::Enum(variants) => {
                    variants.iter().flat_map(|variant| &variant.fields).any(is_copy)
                }
                Form::Value(_) => false,
            }
    }
}

/// True if records of this version of a class must be migrated.
pub(super) fn is_older(version: u32, class: &Class) -> bool {
    version < class.version && !class.migration.is_empty()
}

/// True if a field takes values of this version of a class through a function, whatever their kind is.
pub(super) fn is_converted(version: u32, class: &Class) -> bool {
    let variants = class.variants().iter().flat_map(|variant| variant.fields);
    let mut converts = class.fields().iter().chain(variants).flat_map(|field| field.converts);
    converts.any(|old| old.version.is_some_and(|last| version <= last))
}

/// Returns the element if there is exactly one.
fn only(mut found: impl Iterator<Item = usize>) -> Option<usize> {
    let first = found.next()?;
    found.next().is_none().then_some(first)
}

/// The classes and pointers that stand in the same place of two kinds.
fn in_pairs(stored: &KindSchema, expected: &KindSchema, found: &mut dyn FnMut(Counterparts)) {
    use KindSchema as K;
    match (stored, expected) {
        (K::Option(_), K::Option(_))
        | (K::List(_) | K::Set(_) | K::Array(..), K::List(_) | K::Set(_) | K::Array(..))
        | (K::Map(_), K::Map(_))
        | (K::Tuple(_), K::Tuple(_)) => {
            let parts = stored.parts().iter().zip(expected.parts());
            parts.for_each(|(a, b)| in_pairs(a, b, found));
        }
        (
            K::Reference { class: a, holder, .. },
            K::Reference { class: b, holder: holder_b, .. },
        ) if holder.may_become(*holder_b) => {
            found(Counterparts::Classes(*a, *b, Meeting::Pointers(*holder, *holder_b)));
        }
        (K::TraitReference { holder, .. }, K::TraitReference { holder: holder_b, .. }) => {
            found(Counterparts::Traits(*holder, *holder_b));
        }
        (
            K::Class(a) | K::Reference { class: a, .. },
            K::Class(b) | K::Reference { class: b, .. },
        ) => found(Counterparts::Classes(*a, *b, Meeting::Value)),
        // Conversions put a value into an option or a list, and take it out of an option. Classes meet there too.
        (a, K::Option(b) | K::List(b)) => in_pairs(a, b, found),
        (K::Option(a), b) => in_pairs(a, b, found),
        _ => {}
    }
}

impl Program {
    /// The class that a stored one is: of the same id, else of an alias, else the one instance
    /// that the program has of a generic class.
    pub fn find(&self, stored: &ClassSchema) -> Option<usize> {
        self.find_by_name(stored).or_else(|| self.find_instance(stored))
    }

    /// The program's instances of a generic class: what objects and trait objects of another
    /// stored instance may become.
    pub(super) fn candidates(&self, stored: &ClassSchema) -> Vec<usize> {
        if self.removed.contains(&stored.name) {
            return Vec::new();
        }
        let all = (0..self.targets.len()).filter(|class| self.is_instance(*class, stored));
        let (registered, values): (Vec<_>, Vec<_>) = all.partition(|class| {
            self.objects.contains_key(class) || self.implementors.contains(class)
        });
        // Objects exist only of registered classes. The others are classes of fields.
        if registered.is_empty() { values } else { registered }
    }

    /// True if a class and the stored one are instances of one generic class.
    pub(super) fn is_instance(&self, class: usize, stored: &ClassSchema) -> bool {
        self.targets[class].is_some_and(|ProgramClass { class, .. }| {
            class.is_generic() && class.is_called(&stored.name)
        })
    }

    pub(super) fn find_instance(&self, stored: &ClassSchema) -> Option<usize> {
        only(self.candidates(stored).into_iter())
    }

    fn find_by_name(&self, stored: &ClassSchema) -> Option<usize> {
        let by_id = self.classes.iter().position(|class| class.id == stored.id);
        let by_alias = || {
            let targets = self.targets.iter().enumerate();
            let has_alias = |target: &Option<ProgramClass>| {
                target.is_some_and(|target| target.class.aliases.contains(&&*stored.name))
            };
            only(targets.filter(|(_, target)| has_alias(target)).map(|(class, _)| class))
        };
        // An unknown class gets a number if another class of its name has its id.
        let by_name = || {
            let found = self.classes.iter().position(|class| class.name == stored.name);
            found.filter(|_| stored.id.is_numbered(&stored.name))
        };
        // Arguments of a generic class are renamed with their classes.
        let by_arguments = || {
            if !stored.name.contains(['<', '[', '(']) {
                return None;
            }
            let name = self.with_new_names(&stored.name);
            self.classes.iter().position(|class| class.name == name)
        };
        by_id.or_else(by_alias).or_else(by_name).or_else(by_arguments)
    }

    /// The name of a generic class with the older names in it replaced.
    fn with_new_names(&self, name: &str) -> String {
        let new_name = |part: &str| {
            let mut targets = self.classes.iter().zip(&self.targets);
            let found = targets.find(|(_, target)| {
                target.is_some_and(|target| target.class.aliases.contains(&part))
            });
            found.map(|(class, _)| class.name.split('<').next().unwrap_or_default())
        };
        let is_part = |letter: char| !"<>()[],; &".contains(letter);
        let mut result = String::new();
        let mut rest = name;
        while let Some(first) = rest.chars().next() {
            let end = if is_part(first) {
                rest.find(|letter| !is_part(letter)).unwrap_or(rest.len())
            } else {
                first.len_utf8()
            };
            let (part, after) = rest.split_at(end);
            result.push_str(new_name(part).unwrap_or(part));
            rest = after;
        }
        result
    }
}

/// The pointers of the program that stand in the places of stored ones.
#[derive(Default)]
struct PointerPairs {
    /// By stored class and holder.
    classes: HashMap<(usize, Holder), HashSet<Holder>>,
    /// Pointers to trait objects, by their stored holder.
    traits: HashMap<Holder, HashSet<Holder>>,
    /// The stored holders that pointers to a class name, and those to trait objects.
    named: HashMap<usize, HashSet<Holder>>,
    named_of_traits: HashSet<Holder>,
    /// The holders in which the program has trait objects, if the save has such pointers.
    of_traits: HashSet<Holder>,
}

impl PointerPairs {
    /// Notes two pointers in one place; both are to trait objects if there is no class.
    fn note(&mut self, class: Option<usize>, stored: Holder, expected: Holder) {
        if !stored.may_become(expected) {
            return;
        }
        let known = match class {
            Some(class) => self.classes.entry((class, stored)).or_default(),
            None => self.traits.entry(stored).or_default(),
        };
        known.insert(expected);
    }

    /// Notes the pointers in the classes of a save, and in which holders the program has trait objects if the save has
    /// pointers to some.
    fn note_all(&mut self, stored: &[ClassSchema], program: &Program) {
        for kind in stored.iter().flat_map(ClassSchema::kinds) {
            kind.visit(&mut |kind| match kind {
                KindSchema::Reference { holder, class, .. } => {
                    self.named.entry(*class).or_default().insert(*holder);
                }
                KindSchema::TraitReference { holder, .. } => {
                    self.named_of_traits.insert(*holder);
                }
                _ => {}
            });
        }
        if self.named_of_traits.is_empty() {
            return;
        }
        for kind in program.classes.iter().flat_map(ClassSchema::kinds) {
            kind.visit(&mut |kind| {
                if let KindSchema::TraitReference { holder, .. } = kind {
                    self.of_traits.insert(*holder);
                }
            });
        }
    }

    /// Returns the holder in which the program has the objects of a stored class that becomes `target`.
    fn of_class(
        &self,
        class: usize,
        stored: Holder,
        target: Option<usize>,
        program: &Program,
    ) -> Holder {
        let Some(target) = target else {
            // Objects of unknown classes take the holder of the trait pointers to them.
            let is_named = self.named_of_traits.contains(&stored);
            return if is_named { self.of_trait(stored) } else { stored };
        };
        let registered = program.objects.get(&target).map_or(&[][..], |holders| holders);
        let of_traits = self.traits.get(&stored);
        let of_traits = of_traits.filter(|_| program.implementors.contains(&target));
        let said = self.classes.get(&(class, stored)).into_iter().chain(of_traits).flatten();
        // The fields decide, if they agree.
        match common(said) {
            Some(holder) if registered.contains(&holder) => return holder,
            _ => {}
        }
        let moved = nearest(stored, registered.iter());
        if moved == stored || self.names(class, stored) {
            return moved;
        }
        // No pointer may lead to a record that is in another holder than the pointer says.
        let mut named = self.named.get(&class).into_iter().flatten();
        let is_claimed = named
            .any(|other| self.of_class(class, *other, Some(target), program) == moved)
            || self.named_of_traits.iter().any(|other| self.of_trait(*other) == moved);
        if is_claimed { stored } else { moved }
    }

    /// True if some pointer of the save leads to objects of a class in this holder, or to trait objects, which may be
    /// of any class.
    fn names(&self, class: usize, stored: Holder) -> bool {
        self.named.get(&class).is_some_and(|named| named.contains(&stored))
            || self.named_of_traits.contains(&stored)
    }

    /// The holder that pointers to trait objects have now.
    fn of_trait(&self, stored: Holder) -> Holder {
        let said = self.traits.get(&stored).and_then(|said| common(said.iter()));
        said.unwrap_or_else(|| nearest(stored, self.of_traits.iter()))
    }
}

/// The stored holder if it is among these, else the one of them that it may become: with a cell, if it has one.
fn nearest<'h>(stored: Holder, holders: impl Iterator<Item = &'h Holder> + Clone) -> Holder {
    if holders.clone().any(|holder| *holder == stored) {
        return stored;
    }
    let all = holders.filter(|holder| stored.may_become(**holder));
    let alike = all.clone().filter(|holder| holder.is_built() == stored.is_built());
    common(alike).or_else(|| common(all)).unwrap_or(stored)
}

/// Returns the holder if all are equal.
fn common<'h>(mut holders: impl Iterator<Item = &'h Holder>) -> Option<Holder> {
    let first = holders.next()?;
    holders.all(|holder| holder == first).then_some(*first)
}

impl ClassSchema {
    /// Gives the pointers in all fields another holder: those to a class, or to a trait.
    fn set_holders(&mut self, holder: &dyn Fn(Option<usize>, Holder) -> Holder) {
        let set = |kind: &mut KindSchema| *kind = kind.with_holders(holder);
        match &mut self.form {
            Form::Struct(fields) => fields.iter_mut().for_each(|field| set(&mut field.kind)),
            Form::Enum(variants) => {
                let fields = variants.iter_mut().flat_map(|variant| &mut variant.fields);
                fields.for_each(|field| set(&mut field.kind));
            }
            Form::Value(kind) => set(kind),
        }
    }
}

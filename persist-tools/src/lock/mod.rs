//! The lock: a test that says which changes break old saves, without keeping any old save.
//!
//! `persist.lock` is a folder that a project checks in. It has a text file for every released version, with its
//! schemas: the registered classes, the classes of each trait, and which of them are objects. A test of one line
//! compares them with the program and loads a sample save of each version, which the library makes from the schema
//! alone. So a developer hears of a broken save before players do.
//!
//! | | |
//! | --- | --- |
//! | [`assert_lock!`](crate::assert_lock) | the test |
//! | [`Lock`], [`Values`] | the folder: loaded, compared, updated; sample saves of its versions |
//! | [`SaveCheck`] | which locked versions a save is of |
//! | [`LockReport`], [`Difference`], [`Verdict`], [`Note`] | what changed, what it means, and the attribute to paste |
//!
//! ```
//! # use persist::Persist;
//! # use persist::save::Registry;
//! # #[derive(Persist)] struct Hero { name: String }
//! // #[test]
//! fn old_saves_load() {
//!     persist_tools::assert_lock!(my_game::registry());
//! }
//!
//! mod my_game {
//! #   use super::Hero;
//!     /// All that the game registers.
//!     pub fn registry() -> persist::save::Registry {
//!         let mut registry = persist::save::Registry::new();
//!         registry.register::<Hero>().unwrap();
//!         registry
//!     }
//! }
//! # fn main() {}
//! ```
//!
//! The test fails until there is a lock. `PERSIST_LOCK=update cargo test old_saves_load` writes the schemas of the
//! version in `Cargo.toml` into a file of its own; once per release is enough, before the release. Versions that are
//! there stay as they are, so branches of a project merge without a conflict.
//!
//! | `PERSIST_LOCK` | |
//! | --- | --- |
//! | not set, or `check` | fails if the saves of a locked version do not load, or lose something; other changes are printed |
//! | `update` | then adds the program's schemas as those of its version; writes nothing if the check fails |
//! | `replace` | as `update`, but replaces the schemas of its version; for a version that is not released yet |
//! | `locked` | as `check`, and fails if that is not done; for the build of a release |
//!
//! # What is meant to be lost
//!
//! A change is [safe](Verdict::Safe) only if nothing that any locked version can hold is lost or changed. You accept a
//! loss in the code, and a load then drops the content: `#[persist(removed = "hp")]` on a struct, an enum or a variant,
//! and [`Registry::declare_removed_class`] for a class. Another kind of a field is accepted with a
//! `#[persist(convert = function)]`.
//!
//! # What it finds
//!
//! ```
//! use persist::Persist;
//! use persist_tools::lock::{Lock, Verdict};
//! use persist::save::Registry;
//!
//! mod then {
//!     #[derive(persist::Persist)]
//!     pub struct Hero { pub hp: u32, pub name: String }
//! }
//!
//! #[derive(Persist)]
//! struct Hero { health: u32, name: String, mana: f32 }
//!
//! // The lock of release 0.1.0.
//! let mut registry = Registry::new();
//! registry.register::<then::Hero>()?;
//! let mut lock = Lock::new();
//! lock.update("0.1.0", &registry)?;
//!
//! // The program of today.
//! let mut registry = Registry::new();
//! registry.register::<Hero>()?;
//! let report = lock.compare(&registry);
//! assert!(!report.loads());
//!
//! let [renamed, new] = report.differences() else { panic!("two changes") };
//! assert_eq!(renamed.verdict, Verdict::NeedsAlias);
//! assert_eq!(renamed.attribute.as_deref(), Some("#[persist(alias = \"hp\")]"));
//! assert_eq!(renamed.above.as_deref(), Some("health: u32"));
//! assert_eq!(new.verdict, Verdict::NeedsDefault);
//! assert_eq!(new.above.as_deref(), Some("mana: f32"));
//! # Ok::<(), persist::Error>(())
//! ```

// A map of the files.
//
// - This file: a lock, and the records that several files use: a version with its classes, what is compared and loaded,
//   and how kinds fit each other.
// - The folder: `folder`, `text` (the text of a version), `code` (the attributes of a version), `saved` (a save against
//   the versions).
// - The comparison: `compare/` finds the changes of a version, `newtypes` the code inside of newtypes, `report` has the
//   result.
// - The samples: `sample/` makes a save of a version from its schema, `sample::load` loads it.
// - `check` is the test.

pub(crate) mod check;
mod code;
mod compare;
mod folder;
mod newtypes;
mod report;
mod sample;
mod saved;
mod text;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fmt;
use std::path::Path;
use std::rc::Rc;
use std::str::FromStr;

use persist::__tools::{Cell, ClassSchema, FieldSchema, KindSchema, Pointer, Texts};
use persist::reflect::Holder;
use persist::save::{Registry, ReportRow};
use persist::{Error, ErrorKind, Result, Value, World};

use self::sample::SampleObject;

pub use self::report::{Difference, Note, Verdict};
pub use self::sample::Values;
pub use self::saved::SaveCheck;

/// The schemas of the released versions of a program: a `persist.lock`.
///
/// It is a folder of text files, one for each version, so that branches add theirs without a conflict. A version says
/// which others were the newest when it was locked: those came before it, with what they came after, and no order is
/// assumed of any two others.
///
/// The text of a file is that of a [`Value`], and that of a lock with one version.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lock {
    sections: Vec<Section>,
}

impl Lock {
    /// A lock without versions.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads a lock from its folder: each file whose name ends in `.txt`.
    ///
    /// # Errors
    ///
    /// Returns an error if the folder cannot be read ([`ErrorKind::NotFound`], [`ErrorKind::Io`]) or is a file
    /// ([`ErrorKind::Unsupported`]). A file in it that is no lock of the version that it is named after is
    /// [`ErrorKind::Damaged`], with the file and the place.
    pub fn load(folder: impl AsRef<Path>) -> Result<Self> {
        folder::load(folder.as_ref())
    }

    /// Writes each version that is not as its file into that file, which is replaced whole. Other files stay.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Io`]; [`ErrorKind::Unsupported`] if a file cannot have the name of a version.
    pub fn save(&self, folder: impl AsRef<Path>) -> Result<()> {
        folder::save(self, folder.as_ref())
    }

    /// The versions, each after those that it came after.
    pub fn versions(&self) -> impl Iterator<Item = &str> {
        self.sections.iter().map(|section| &*section.version)
    }

    /// The versions that no other came after: the newest of each branch.
    fn newest(&self) -> impl Iterator<Item = &Section> {
        let named: HashSet<&String> = self.sections.iter().flat_map(|it| &it.after).collect();
        self.sections.iter().filter(move |section| !named.contains(&section.version))
    }

    /// Makes the schemas of a program those of a version: a new one, which came after all others, or one that no other
    /// came after, which is replaced. True if the lock is not as it was.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unsupported`] if the version is locked with other schemas, and others came after it: those of a
    /// released version never change.
    pub fn update(&mut self, version: &str, registry: &Registry) -> Result<bool> {
        let entries = text::entries(registry);
        let place = self.sections.iter().position(|known| known.version == version);
        if place.is_some_and(|place| self.sections[place].entries == entries) {
            return Ok(false);
        }
        if place.is_some()
            && let Some(later) = self.sections.iter().find(|it| it.after.contains(version))
        {
            bail!(
                ErrorKind::Unsupported,
                "version {version} is locked, and {} was locked after it; a released version does not change, so raise the version of the program",
                later.version
            );
        }
        let after = match place {
            Some(place) => self.sections[place].after.clone(),
            None => self.newest().map(|newest| newest.version.clone()).collect(),
        };
        let section = text::section(version, after, entries).map_err(|what| {
            error!(ErrorKind::Unsupported, "the program cannot be locked: {what}")
        })?;
        match place {
            Some(place) => self.sections[place] = section,
            None => self.sections.push(section),
        }
        Ok(true)
    }

    /// True if this version is locked with the schemas of the program.
    #[must_use]
    pub fn is_current(&self, version: &str, registry: &Registry) -> bool {
        let section = self.sections.iter().find(|section| section.version == version);
        section.is_some_and(|section| section.entries == text::entries(registry))
    }

    /// Compares every version with a program, and loads samples of it: whether old saves load, and
    /// what to do about it.
    ///
    /// It finds neither that a type of the same kind now means something else, nor that a hook now refuses values that
    /// were valid: schemas do not show that.
    #[must_use]
    pub fn compare(&self, registry: &Registry) -> LockReport {
        let mut report = LockReport::default();
        let now = text::entries(registry);
        report.newest = self.newest().map(|section| section.version.clone()).collect();
        report.is_current = self.newest().any(|section| section.entries == now);
        let with_parts = registry.with_objects_of(&World::TRAITS, PART);
        let versions = compare::Versions::new(&self.sections, registry.program());
        let mut found = Compared::default();
        for (at, section) in self.sections.iter().enumerate() {
            let is_same = at.checked_sub(1).is_some_and(|previous| {
                self.sections[previous].entries == section.entries && versions.are_one(previous, at)
            });
            if !is_same {
                let is_newest = self.newest().any(|newest| newest.entries == section.entries);
                found =
                    compare::compare(section, (&versions, at), is_newest, registry, &with_parts);
            }
            report.add(&section.version, (&found.differences, &found.notes), &found.not_tested);
        }
        report.sort();
        report
    }

    /// Adds what the programs of the versions do to saves of this one.
    fn add_downgrades(&self, report: &mut LockReport, registry: &Registry) {
        report.downgrades = Some(Vec::new());
        for section in &self.sections {
            let found = compare::downgrades(section, registry.program());
            report.add_downgrades(&section.version, &found);
        }
        report.sort();
    }

    /// Makes a save that the program may have written when it had this version: a few objects of each type, in
    /// format 1, from the schema alone.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`] if the lock does not have the version; [`ErrorKind::TooLarge`] or
    /// [`ErrorKind::TooDeep`] if a class has no small values.
    ///
    /// # Example
    ///
    /// ```
    /// # use persist_tools::lock::{Lock, Values};
    /// # use persist::save::Registry;
    /// # use persist::{Persist, SaveManager, Saves};
    /// # #[derive(Persist)] struct Hero { name: String }
    /// let saves = Saves::new();
    /// saves.register::<Hero>()?;
    /// let mut lock = Lock::new();
    /// lock.update("0.1.0", &saves.registry())?;
    ///
    /// let save = lock.sample("0.1.0", Values::Plain)?;
    /// let loaded = saves.from_slice::<SaveManager>(&save)?;
    /// assert!(loaded.iter::<Hero>().any(|hero| hero.borrow().name == "a"));
    /// # Ok::<(), persist::Error>(())
    /// ```
    pub fn sample(&self, version: &str, values: Values) -> Result<Vec<u8>> {
        let section = self.sections.iter().find(|section| section.version == version);
        let Some(section) = section else {
            bail!(ErrorKind::NotFound, "the lock does not have version {version}");
        };
        let has_boundaries = values == Values::Boundary;
        let (reads, none) = (ProgramReads::default(), HashSet::new());
        Samples::new(section, &reads, &none, has_boundaries)?.save(Some(values), &HashSet::new())
    }
}

impl fmt::Display for Lock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:#}", text::write(&self.sections))
    }
}

impl FromStr for Lock {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Ok(Self { sections: text::read(text)? })
    }
}

/// The code of a class in one version.
#[derive(Clone, Debug, Default, PartialEq)]
struct ClassCode {
    /// `migrate` and `validate`, as they stand in the source.
    attributes: Vec<String>,
    /// The names of `removed` fields and variants. A field of a variant follows the name of the variant.
    removed: Vec<String>,
    /// By the name of the field, after that of its variant.
    fields: BTreeMap<String, FieldCode>,
}

/// The code of a field in one version.
#[derive(Clone, Debug, Default, PartialEq)]
struct FieldCode {
    /// `with` and its like, and `default`, as they stand in the source.
    attributes: Vec<String>,
    converts: Vec<ConvertCode>,
    /// The kind of the field. This and what follows is derived from the schema, and not written to the lock.
    kind: String,
    /// True if the program has all classes in the kind, so that its attributes can name it.
    is_nameable: bool,
    /// The functions of the classes in the kind.
    inner: Vec<InnerCode>,
}

/// A function by which a class inside of a field changes its content.
#[derive(Clone, Debug, PartialEq)]
struct InnerCode {
    class: String,
    /// `migrate` or `convert`.
    attribute: &'static str,
    /// Its name, without modules.
    function: String,
}

/// One part of a `convert`.
#[derive(Clone, Debug, PartialEq)]
struct ConvertCode {
    /// The kind that it takes.
    takes: String,
    /// The function; `None` if the kind is taken as it is.
    by: Option<String>,
    /// The last version of the class that stored the kind.
    until: Option<u32>,
}

/// The entries of a version, by the texts that identify them.
type SectionEntries = BTreeMap<String, Value>;

/// The schemas of one version of the program, in the order of the entries of its text.
#[derive(Clone, Debug)]
struct Section {
    version: String,
    /// The versions that were the newest of each branch when it was locked.
    after: BTreeSet<String>,
    /// The entries that the other fields were read from.
    entries: SectionEntries,
    classes: Vec<ClassSchema>,
    /// Indices of the classes that each trait has.
    traits: Vec<(String, Vec<usize>)>,
    /// Class and holder of what may be an object, ascending.
    objects: Vec<(usize, Holder)>,
    /// The code of each class in the version.
    code: HashMap<usize, ClassCode>,
}

/// The holder in which samples have components and resources. Programs have no use for it.
const PART: Holder = Holder::new(Pointer::Rc, Cell::RwLock);

impl PartialEq for Section {
    fn eq(&self, other: &Self) -> bool {
        (&self.version, &self.after, &self.entries)
            == (&other.version, &other.after, &other.entries)
    }
}

impl Section {
    /// This section with the components and resources of worlds as objects, so that samples can have them.
    fn with_parts(&self) -> Self {
        let mut section = self.clone();
        let parts = World::TRAITS.iter().flat_map(|of| self.classes_of(of));
        section.objects.extend(parts.map(|class| (*class, PART)));
        section.objects.sort_unstable();
        section.objects.dedup();
        section
    }

    /// True for the class of worlds.
    fn is_world(&self, class: usize) -> bool {
        self.classes[class].name == World::CLASS
    }

    /// The classes that some of these hold by value, at any depth, and these.
    fn inside(&self, mut found: Vec<bool>) -> Vec<bool> {
        let mut next: Vec<usize> = (0..found.len()).filter(|class| found[*class]).collect();
        while let Some(class) = next.pop() {
            for (_, held) in self.held_by(class) {
                if !std::mem::replace(&mut found[held], true) {
                    next.push(held);
                }
            }
        }
        found
    }

    /// The classes that a class holds by value, each with the field that does.
    fn held_by(&self, class: usize) -> Vec<(&str, usize)> {
        let mut held = Vec::new();
        for (field, kind) in self.classes[class].named_kinds() {
            kind.visit(&mut |kind| match kind {
                KindSchema::Class(class) => held.push((field, *class)),
                KindSchema::Dynamic(of) => {
                    held.extend(self.classes_of(of).iter().map(|class| (field, *class)));
                }
                _ => {}
            });
        }
        held
    }

    /// The classes of a trait.
    fn classes_of(&self, of: &str) -> &[usize] {
        self.traits.iter().find(|(name, _)| name == of).map_or(&[], |(_, classes)| classes)
    }

    /// The object types in a holder whose class has the trait.
    fn objects_of(&self, of: &str, holder: Holder) -> impl Iterator<Item = usize> {
        let classes = self.classes_of(of).iter();
        classes.filter_map(move |class| self.objects.binary_search(&(*class, holder)).ok())
    }
}

/// Whether old saves load: what [`Lock::compare`] finds.
///
/// Its [`Display`](fmt::Display) is a page for the developer, with the lines to paste.
#[derive(Clone, Debug, Default)]
pub struct LockReport {
    differences: Vec<Difference>,
    notes: Vec<Note>,
    not_tested: Vec<NotTested>,
    /// How many versions were compared, and the newest of each branch.
    versions: usize,
    newest: Vec<String>,
    is_current: bool,
    /// The way back to each version, if the check asked for it.
    downgrades: Option<Vec<Difference>>,
}

impl LockReport {
    /// Adds what was found out about a version.
    fn add(
        &mut self,
        version: &str,
        (differences, notes): (&[Difference], &[String]),
        not_tested: &[NotTested],
    ) {
        self.versions += 1;
        merge(&mut self.differences, differences, version);
        for new in not_tested {
            match self.not_tested.iter_mut().find(|known| known.class == new.class) {
                Some(known) => known.is_excused &= new.is_excused,
                None => self.not_tested.push(new.clone()),
            }
        }
        for text in notes {
            let known = self.notes.iter().position(|known| known.text == *text);
            let at = known.unwrap_or_else(|| {
                self.notes.push(Note { versions: Vec::new(), text: text.clone() });
                self.notes.len() - 1
            });
            self.notes[at].versions.push(version.to_owned());
        }
    }

    /// Puts what is worst first.
    fn sort(&mut self) {
        self.differences.sort_by_key(|difference| std::cmp::Reverse(difference.verdict));
        if let Some(downgrades) = &mut self.downgrades {
            downgrades.sort_by_key(|difference| std::cmp::Reverse(difference.verdict));
        }
    }

    /// Adds what the program of a version does to saves of this one.
    fn add_downgrades(&mut self, version: &str, found: &[Difference]) {
        merge(self.downgrades.get_or_insert_default(), found, version);
    }

    /// True unless the program of a version guesses what a save of this one means.
    fn may_downgrade(&self) -> bool {
        !self.downgrades.iter().flatten().any(|found| found.verdict.is_bad())
    }
}

/// Adds what was found out about a version to what is known.
fn merge(all: &mut Vec<Difference>, found: &[Difference], version: &str) {
    for new in found {
        let known = all.iter().position(|known| known.is_same(new));
        let at = known.unwrap_or_else(|| {
            all.push(new.clone());
            all.len() - 1
        });
        all[at].versions.push(version.to_owned());
    }
}

/// A class whose samples all do not load, though nothing says that old saves do not.
#[derive(Clone, Debug)]
struct NotTested {
    class: String,
    /// True if the program refuses the samples of its own schema, too: no change of the class is the reason.
    is_excused: bool,
}

/// The result of comparing a version.
#[derive(Default)]
struct Compared {
    differences: Vec<Difference>,
    notes: Vec<String>,
    not_tested: Vec<NotTested>,
}

/// The values of a version that the program reads. The default is all of them, with each class as itself.
#[derive(Default)]
struct ProgramReads {
    /// The texts that are to be names of variants, by their nodes; others are anything.
    texts: Texts,
    /// The object types that it does not have.
    unknown: HashSet<usize>,
    /// The nodes of the fields that none of its fields has as its source.
    ignored: HashSet<usize>,
    /// The nodes of the fields in which classes become something else than anywhere else.
    separate: HashSet<usize>,
    /// The values that the program gives as samples, by the nodes of their fields.
    samples: HashMap<usize, Value>,
}

/// The samples of one version.
struct Samples<'s> {
    section: &'s Section,
    /// By their ids, from 1.
    objects: Vec<SampleObject>,
    /// The object types without a sample: they have no value that ends, or need one that is skipped.
    missing: Vec<usize>,
    /// The places of texts that are names of variants.
    named: Vec<String>,
    /// The classes that are tested.
    classes: HashSet<usize>,
    /// True if some variations would make the sample too large.
    is_cut: bool,
}

/// Fields by their numbers, or by their names if one of two has no number.
struct KnownFields<'f> {
    by_number: HashMap<u32, usize>,
    by_name: HashMap<&'f str, usize>,
    /// Names of the fields without a number.
    unnumbered: HashMap<&'f str, usize>,
}

impl<'f> KnownFields<'f> {
    fn new(fields: &'f [FieldSchema]) -> Self {
        let all = || fields.iter().enumerate().rev();
        let unnumbered = all().filter(|(_, field)| field.id.is_none());
        Self {
            by_number: all().filter_map(|(at, field)| Some((field.id?, at))).collect(),
            by_name: all().map(|(at, field)| (&*field.name, at)).collect(),
            unnumbered: unnumbered.map(|(at, field)| (&*field.name, at)).collect(),
        }
    }

    /// The first that is the same field.
    fn find(&self, field: &FieldSchema) -> Option<usize> {
        let name = &*field.name;
        let Some(number) = field.id else { return self.by_name.get(name).copied() };
        let found = [self.by_number.get(&number), self.unnumbered.get(name)];
        found.into_iter().flatten().min().copied()
    }
}

/// The results of loading the samples of a version.
#[derive(Default)]
struct Loads {
    /// The samples that do not load, each with its error.
    failures: Vec<(String, Rc<Error>)>,
    notes: Vec<String>,
    /// True if some values of the loaded classes were not loaded.
    is_cut: bool,
    /// The boundary values that the program refuses, and why.
    refused: Vec<(String, String)>,
    /// The places of texts that were names of variants, as they must be.
    named: Vec<String>,
    /// The classes with a sample that was loaded.
    tested: HashSet<usize>,
    /// The classes that have samples; no object holds the others.
    reached: HashSet<usize>,
    /// The classes whose samples all do not load though no failure says why, and whether the program refuses those of
    /// its own schemas, too.
    not_tested: Vec<(usize, bool)>,
    /// The rows of the load reports.
    rows: Vec<ReportRow>,
}

/// The classes of a version or of the program, and the code of each.
#[derive(Clone, Copy)]
struct Newtypes<'n> {
    classes: &'n [ClassSchema],
    code: &'n HashMap<usize, ClassCode>,
}

/// A field of one side: its kind and its own code.
#[derive(Clone, Copy)]
struct FieldSide<'n> {
    of: Newtypes<'n>,
    kind: &'n KindSchema,
    code: Option<&'n FieldCode>,
}

/// How the values of one kind fit another, as far as the kinds show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fit {
    /// Each becomes one of the other.
    Whole,
    /// Some may not be one of the other.
    Narrower,
}

/// How the values of one kind fit another. The classes in them are compared by themselves.
fn fit(old: &KindSchema, new: &KindSchema) -> Fit {
    use KindSchema as K;
    let parts = |at_best: Fit| {
        let parts = old.parts().iter().zip(new.parts());
        parts.map(|(old, new)| fit(old, new)).fold(at_best, Fit::max)
    };
    match (old, new) {
        (K::Option(_), K::Option(_))
        | (K::List(_) | K::Set(_) | K::Array(..), K::List(_))
        | (K::Set(_), K::Set(_))
        | (K::Array(..), K::Array(..))
        | (K::Map(_), K::Map(_)) => parts(Fit::Whole),
        (K::List(_) | K::Set(_) | K::Array(..), K::Set(_) | K::Array(..)) => parts(Fit::Narrower),
        (K::Tuple(a), K::Tuple(b)) if a.len() == b.len() => parts(Fit::Whole),
        (old, K::Option(new)) => fit(old, new),
        (K::Class(_), K::Class(_))
        | (K::Reference { .. }, K::Reference { .. })
        | (K::TraitReference { .. }, K::TraitReference { .. })
        | (K::Dynamic(_), K::Dynamic(_)) => Fit::Whole,
        (old, new) if old == new || old.is_number_in(new) => Fit::Whole,
        _ => Fit::Narrower,
    }
}

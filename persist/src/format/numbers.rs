//! The numbers by which the records of a save refer to its classes.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};

use super::definition;
use crate::platform::held;
use crate::reflect::{ClassId, Holder};
use crate::schema::{ClassSchema, KindSchema, Program, Stored, is_same_class};
use crate::{Error, ErrorKind, Result};

/// The numbers of the classes in a save that is being written, and the definitions that are not written yet.
#[derive(Default)]
pub(crate) struct ClassNumbers {
    /// The numbers by the index of the program's class, or 0 for classes without one.
    own: Vec<u64>,
    /// Numbers of classes of unknown data from other saves, by the address of the schema and the index. Entries with a
    /// holder are for targets of references in unknown data, whose objects are in the program's form.
    unknown: HashMap<(usize, usize, Option<Holder>), u64>,
    /// The schemas of those classes. They are held so that no other schema gets the address of one.
    schemas: Vec<Arc<Stored>>,
    /// Ids of the classes of unknown data in this save.
    ids: HashSet<ClassId>,
    /// The last number that an id of such a class has, by the name of the class.
    last_numbers: HashMap<String, u32>,
    /// The definitions that are not written yet, and their number.
    pending: Vec<u8>,
    count: u64,
    /// The ids of the classes, by their numbers.
    by_number: Vec<ClassId>,
    /// The error of a definition that was too long, or of a name that too many classes have.
    failed: Option<Error>,
    last: u64,
}

/// A class that has just got a number. The address is that of its schema, if the class is one of unknown data.
type Fresh<'c> = (Cow<'c, ClassSchema>, Option<usize>);

impl ClassNumbers {
    /// Removes the classes for another save, and keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.own.clear();
        self.unknown.clear();
        self.schemas.clear();
        self.ids.clear();
        self.last_numbers.clear();
        self.pending.clear();
        self.by_number.clear();
        (self.count, self.failed, self.last) = (0, None, 0);
    }

    /// Returns the id of the class of this number.
    pub(crate) fn id(&self, number: u64) -> Option<ClassId> {
        let place = usize::try_from(number).ok()?.checked_sub(1)?;
        self.by_number.get(place).copied()
    }

    /// Returns the number of a class of the program. A class without one gets a new number, and so do all classes that
    /// it mentions.
    pub(crate) fn number(&mut self, class: usize, classes: &[ClassSchema]) -> u64 {
        // Each record calls this.
        if let Some(&number) = self.own.get(class).filter(|number| **number != 0) {
            return number;
        }
        let mut fresh = Vec::new();
        let number = self.assign(class, classes, &mut fresh);
        self.define(&fresh);
        number
    }

    fn assign<'c>(
        &mut self,
        class: usize,
        classes: &'c [ClassSchema],
        fresh: &mut Vec<Fresh<'c>>,
    ) -> u64 {
        if self.own.len() < classes.len() {
            self.own.resize(classes.len(), 0);
        }
        let (mut next, mut at) = (vec![class], 0);
        while let Some(&class) = next.get(at) {
            at += 1;
            if self.own[class] == 0 {
                self.last += 1;
                self.own[class] = self.last;
                self.by_number.push(classes[class].id);
                fresh.push((Cow::Borrowed(&classes[class]), None));
                for kind in classes[class].kinds() {
                    let targets = mentioned(kind, &mut next);
                    next.extend(targets.into_iter().map(|(target, _)| target));
                }
            }
        }
        self.own[class]
    }

    /// Returns the number of a class of unknown data. If the program has the same class, it is the number of that.
    pub(crate) fn unknown(&mut self, schema: &Arc<Stored>, class: usize, program: &Program) -> u64 {
        let address = Arc::as_ptr(schema).addr();
        if !self.schemas.iter().any(|known| Arc::ptr_eq(known, schema)) {
            self.schemas.push(schema.clone());
        }
        let classes = &program.classes[..];
        let (mut next, mut at, mut fresh) = (vec![class], 0, Vec::new());
        while let Some(&class) = next.get(at) {
            at += 1;
            if self.unknown.contains_key(&(address, class, None)) {
                continue;
            }
            let Some(stored) = schema.schema(class) else { continue };
            let own = classes.iter().position(|own| own.id == stored.id);
            let is_same = |own: &usize| {
                class < schema.len() && is_same_class((schema, class), (classes, *own))
            };
            if let Some(own) = own.filter(is_same) {
                let number = self.assign(own, classes, &mut fresh);
                self.unknown.insert((address, class, None), number);
                continue;
            }
            let is_free = |id: &ClassId| {
                let mut numbered =
                    classes.iter().zip(&self.own).filter(|(_, number)| **number != 0);
                !self.ids.contains(id)
                    && own.is_none_or(|own| classes[own].id != *id)
                    && !numbered.any(|(class, _)| class.id == *id)
            };
            // If a class of this name with other fields is in the save already, this one gets another id. A load finds
            // it by its name.
            let mut id = stored.id;
            if !is_free(&id) {
                let last = self.last_numbers.entry(stored.name.clone()).or_default();
                let mut numbered = (*last + 1..)
                    .map_while(|number| Some((number, ClassId::numbered(&stored.name, number)?)));
                match numbered.find(|(_, id)| is_free(id)) {
                    Some(found) => (*last, id) = found,
                    None => drop(self.failed.get_or_insert_with(|| too_many(&stored.name, *last))),
                }
            }
            self.last += 1;
            self.unknown.insert((address, class, None), self.last);
            self.ids.insert(id);
            self.by_number.push(id);
            let own_id = ClassSchema { id, ..stored.clone().into_owned() };
            fresh.push((Cow::Owned(own_id), Some(address)));
            for kind in stored.kinds() {
                for (target, holder) in mentioned(kind, &mut next) {
                    // The load noted which objects it converted to the program's form.
                    match program
                        .find(&schema[target])
                        .filter(|_| schema.is_created(target, holder))
                    {
                        Some(own) => {
                            let number = self.assign(own, classes, &mut fresh);
                            self.unknown.insert((address, target, Some(holder)), number);
                        }
                        None => next.push(target),
                    }
                }
            }
        }
        self.define(&fresh);
        self.unknown.get(&(address, class, None)).copied().unwrap_or(0)
    }

    /// Writes the definitions of new classes, when all classes that they mention have numbers.
    fn define(&mut self, fresh: &[Fresh<'_>]) {
        for (class, schema) in fresh {
            let number = |class: usize, holder: Option<Holder>| match schema {
                None => self.own[class],
                Some(schema) => {
                    let of = |holder| self.unknown.get(&(*schema, class, holder));
                    of(holder).or_else(|| of(None)).copied().unwrap_or(0)
                }
            };
            let result = definition::push(class, &number, &mut self.pending);
            self.count += 1;
            self.failed = self.failed.take().or(result.err());
        }
    }

    /// Returns true if some definitions are not written yet.
    #[inline]
    pub(super) fn has_definitions(&self) -> bool {
        self.count > 0
    }

    /// Appends the definitions that are not written yet, in order, and returns their number.
    pub(super) fn take_definitions(&mut self, out: &mut Vec<u8>) -> Result<u64> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        out.extend_from_slice(&self.pending);
        self.pending.clear();
        Ok(std::mem::take(&mut self.count))
    }
}

/// A cache of the numbers with which saves begin, for the classes of their first records.
///
/// A clone starts empty, and a change of the registry clears the cache.
#[derive(Default)]
pub(crate) struct FirstNumbers(Mutex<Vec<(usize, Arc<ClassNumbers>)>>);

impl FirstNumbers {
    /// Maximum number of cached entries. Most programs save values of few classes.
    const MAX_CACHED: usize = 16;

    /// Returns the number of a class of the program. If `numbers` is empty, it is filled from the cache first.
    pub(crate) fn number(
        &self,
        numbers: &mut ClassNumbers,
        class: usize,
        classes: &[ClassSchema],
    ) -> u64 {
        if numbers.last == 0 {
            let first = self.first(class, classes);
            numbers.own.clone_from(&first.own);
            numbers.pending.clone_from(&first.pending);
            numbers.by_number.clone_from(&first.by_number);
            (numbers.count, numbers.last) = (first.count, first.last);
        }
        numbers.number(class, classes)
    }

    fn first(&self, class: usize, classes: &[ClassSchema]) -> Arc<ClassNumbers> {
        let mut cached = held(&self.0);
        if let Some((_, first)) = cached.iter().find(|(of, _)| *of == class) {
            return first.clone();
        }
        let mut numbers = ClassNumbers::default();
        numbers.number(class, classes);
        let first = Arc::new(numbers);
        cached.truncate(Self::MAX_CACHED - 1);
        cached.insert(0, (class, first.clone()));
        first
    }
}

impl Clone for FirstNumbers {
    fn clone(&self) -> Self {
        Self::default()
    }
}

#[cold]
fn too_many(name: &str, count: u32) -> Error {
    error!(
        ErrorKind::TooLarge,
        "the save would hold the unknown data of more than {count} classes named {name}; save fewer loaded values together, or load them with `LoadOptions::drop_unknown`"
    )
}

/// Adds the classes that a kind mentions by value to `found`, and returns those that it refers to.
fn mentioned(kind: &KindSchema, found: &mut Vec<usize>) -> Vec<(usize, Holder)> {
    let mut targets = Vec::new();
    kind.visit(&mut |kind| match kind {
        KindSchema::Class(class) => found.push(*class),
        KindSchema::Reference { class, holder, .. } => targets.push((*class, *holder)),
        _ => {}
    });
    targets
}

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use super::definition;
use crate::Result;
use crate::reflect::{ClassId, Holder};
use crate::schema::{ClassSchema, KindSchema, Program, Stored, is_same_class};

/// The numbers of the classes in a save that is being written.
#[derive(Default)]
pub(crate) struct ClassNumbers {
    /// By index of the program's class; 0 where it has none yet.
    own: Vec<u64>,
    /// Numbers of classes that were kept from other saves, by the address of the schema and
    /// the index.
    foreign: HashMap<(usize, usize), u64>,
    /// Numbers of the classes that references of kept values lead to, where the objects are the
    /// program's.
    targets: HashMap<(usize, usize, Holder), u64>,
    /// Holds on to those schemas, whose addresses are taken.
    schemas: Vec<Arc<Stored>>,
    /// Ids of the kept classes in this save.
    ids: HashSet<ClassId>,
    /// The definitions of the classes that got the first numbers, as long as they are not written.
    first: Option<Arc<First>>,
    /// Classes that just got a number, in order.
    fresh: Vec<Fresh>,
    /// The bodies of definitions that are not written yet, one after the other, and where each ends.
    bodies: Vec<u8>,
    ends: Vec<usize>,
    last: u64,
}

enum Fresh {
    Own(usize),
    /// With the id that it has in this save.
    Foreign(Arc<Stored>, usize, ClassId),
}

impl ClassNumbers {
    /// Forgets the classes, for another save; keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.own.clear();
        self.foreign.clear();
        self.targets.clear();
        self.schemas.clear();
        self.ids.clear();
        self.first = None;
        self.fresh.clear();
        self.bodies.clear();
        self.ends.clear();
        self.last = 0;
    }

    /// The number of a class of the program; a new one for it and for all it mentions.
    pub(crate) fn number(&mut self, class: usize, classes: &[ClassSchema]) -> u64 {
        // Each record asks.
        if let Some(&number) = self.own.get(class).filter(|number| **number != 0) {
            return number;
        }
        let number = self.assign(class, classes);
        self.define(classes);
        number
    }

    fn assign(&mut self, class: usize, classes: &[ClassSchema]) -> u64 {
        if self.own.len() < classes.len() {
            self.own.resize(classes.len(), 0);
        }
        let (mut next, mut targets) = (vec![class], Vec::new());
        let mut at = 0;
        while let Some(&class) = next.get(at) {
            at += 1;
            if self.own[class] == 0 {
                self.last += 1;
                self.own[class] = self.last;
                self.fresh.push(Fresh::Own(class));
                for kind in classes[class].kinds() {
                    mentioned(kind, &mut next, &mut targets);
                    next.extend(targets.drain(..).map(|(target, _)| target));
                }
            }
        }
        self.own[class]
    }

    /// The number of a class that was kept from another save: that of the program's
    /// class if it is the same, else a new one.
    pub(crate) fn foreign(&mut self, schema: &Arc<Stored>, class: usize, program: &Program) -> u64 {
        self.assign_foreign(schema, class, program);
        self.define(&program.classes);
        let key = (Arc::as_ptr(schema).addr(), class);
        self.foreign.get(&key).copied().unwrap_or(0)
    }

    fn assign_foreign(&mut self, schema: &Arc<Stored>, class: usize, program: &Program) {
        let classes = &program.classes[..];
        let address = Arc::as_ptr(schema).addr();
        let (mut next, mut targets) = (vec![class], Vec::new());
        let mut at = 0;
        while let Some(&class) = next.get(at) {
            at += 1;
            if self.foreign.contains_key(&(address, class)) {
                continue;
            }
            if !self.schemas.iter().any(|known| Arc::ptr_eq(known, schema)) {
                self.schemas.push(schema.clone());
            }
            let Some(stored) = schema.schema(class) else { continue };
            let own = classes.iter().position(|own| own.id == stored.id);
            let is_whole = class < schema.len();
            if let Some(own) =
                own.filter(|own| is_whole && is_same_class((schema, class), (classes, *own)))
            {
                let number = self.assign(own, classes);
                self.foreign.insert((address, class), number);
                continue;
            }
            let is_free = |id: &ClassId| {
                let mut numbered =
                    classes.iter().zip(&self.own).filter(|(_, number)| **number != 0);
                !self.ids.contains(id)
                    && own.is_none_or(|own| classes[own].id != *id)
                    && !numbered.any(|(class, _)| class.id == *id)
            };
            // A class of the same name and another form; a load finds it by its name.
            let others = (1_u32..).map(|i| ClassId::of(&format!("{}#{i}", stored.name)));
            let id = std::iter::once(stored.id).chain(others).find(is_free).unwrap_or(stored.id);
            self.last += 1;
            self.foreign.insert((address, class), self.last);
            self.ids.insert(id);
            self.fresh.push(Fresh::Foreign(schema.clone(), class, id));
            for kind in stored.kinds() {
                mentioned(kind, &mut next, &mut targets);
                for (target, holder) in targets.drain(..) {
                    // The load says which objects are in the program's form.
                    match program.find(&schema[target]).filter(|_| schema.is_made(target, holder)) {
                        Some(own) => {
                            let number = self.assign(own, classes);
                            self.targets.insert((address, target, holder), number);
                        }
                        None => next.push(target),
                    }
                }
            }
        }
    }

    /// Writes the bodies of the fresh classes, when all that they mention have numbers.
    fn define(&mut self, classes: &[ClassSchema]) {
        for fresh in self.fresh.drain(..) {
            match fresh {
                Fresh::Own(class) => {
                    let number = |class: usize, _: Option<Holder>| self.own[class];
                    definition::write(&classes[class], &number, &mut self.bodies);
                }
                Fresh::Foreign(schema, class, id) => {
                    let address = Arc::as_ptr(&schema).addr();
                    let number = |class, holder: Option<Holder>| {
                        let own = holder.and_then(|of| self.targets.get(&(address, class, of)));
                        own.or_else(|| self.foreign.get(&(address, class))).copied().unwrap_or(0)
                    };
                    let Some(class) = schema.schema(class) else { continue };
                    let class = ClassSchema { id, ..class.into_owned() };
                    definition::write(&class, &number, &mut self.bodies);
                }
            }
            self.ends.push(self.bodies.len());
        }
    }

    /// True if there are definitions that are not written yet.
    #[inline]
    pub(super) fn has_definitions(&self) -> bool {
        self.first.is_some() || !self.ends.is_empty()
    }

    /// Appends the definitions that are not written yet, in order, and returns how many they are.
    pub(super) fn take_definitions(&mut self, out: &mut Vec<u8>) -> Result<u64> {
        let mut count = 0;
        if let Some(first) = self.first.take() {
            out.extend_from_slice(&first.definitions);
            count = first.count;
        }
        let mut start = 0;
        for end in self.ends.drain(..) {
            definition::push(&self.bodies[start..end], out)?;
            start = end;
            count += 1;
        }
        self.bodies.clear();
        Ok(count)
    }
}

/// What every save has that begins with a record of one class.
struct First {
    class: usize,
    own: Vec<u64>,
    last: u64,
    definitions: Vec<u8>,
    count: u64,
}

/// The numbers with which saves begin, for the classes of their first records.
///
/// A clone remembers nothing, and a registry that changes forgets all.
#[derive(Default)]
pub(crate) struct FirstNumbers(Mutex<Vec<Arc<First>>>);

impl FirstNumbers {
    /// How many are kept: most programs save few classes by themselves.
    const MOST: usize = 16;

    /// The number of a class of the program, in a save that has none yet if `numbers` is empty.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::TooLarge`](crate::ErrorKind::TooLarge) for a definition beyond what a record can have.
    pub(crate) fn number(
        &self,
        numbers: &mut ClassNumbers,
        class: usize,
        classes: &[ClassSchema],
    ) -> Result<u64> {
        if numbers.last == 0 {
            let first = self.first(class, classes)?;
            numbers.own.clear();
            numbers.own.extend_from_slice(&first.own);
            numbers.last = first.last;
            numbers.first = Some(first);
        }
        Ok(numbers.number(class, classes))
    }

    fn first(&self, class: usize, classes: &[ClassSchema]) -> Result<Arc<First>> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(first) = kept.iter().find(|first| first.class == class) {
            return Ok(first.clone());
        }
        let mut numbers = ClassNumbers::default();
        numbers.number(class, classes);
        let mut definitions = Vec::new();
        let count = numbers.take_definitions(&mut definitions)?;
        let ClassNumbers { own, last, .. } = numbers;
        let first = Arc::new(First { class, own, last, definitions, count });
        kept.truncate(Self::MOST - 1);
        kept.insert(0, first.clone());
        Ok(first)
    }
}

impl Clone for FirstNumbers {
    fn clone(&self) -> Self {
        Self::default()
    }
}

/// Adds the classes that a kind mentions by value, and those that it refers to.
fn mentioned(kind: &KindSchema, found: &mut Vec<usize>, targets: &mut Vec<(usize, Holder)>) {
    kind.visit(&mut |kind| match kind {
        KindSchema::Class(class) => found.push(*class),
        KindSchema::Reference { class, holder, .. } => targets.push((*class, *holder)),
        _ => {}
    });
}

//! Adding values of other saves to a save.

use std::collections::HashMap;
use std::collections::hash_map::Entry as MapEntry;

use persist::__tools::{ClassSchema, KindSchema, Stored, same_classes};
use persist::reflect::ClassId;
use persist::{Error, ErrorKind, Result, Value};

use crate::Document;

/// The classes of a save, while values of other saves are added with their classes.
///
/// The save gets all new classes at the end, by [`end`](Self::end). Adding them one by one would cost a pass over all
/// classes for each.
pub(crate) struct Adoption {
    classes: Vec<ClassSchema>,
    /// The first class of each id.
    by_id: HashMap<ClassId, usize>,
}

impl Adoption {
    pub(crate) fn from_document(save: &Document) -> Self {
        let mut this = Self { classes: save.save.stored.to_vec(), by_id: HashMap::new() };
        for (index, class) in this.classes.iter().enumerate() {
            this.by_id.entry(class.id).or_insert(index);
        }
        this
    }

    /// Converts a value of another save to a value of this save, and adds the classes that it needs. `known` maps the
    /// indices of the other save's classes to indices here, for classes that earlier calls have found.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::Unsupported`] if a class has the same id but another definition here. No class is added
    /// then.
    pub(crate) fn adopt(
        &mut self,
        value: &mut Value,
        classes: &[ClassSchema],
        known: &mut HashMap<usize, usize>,
    ) -> Result<()> {
        let mut next = Vec::new();
        value.each_mut(&mut |value| {
            next.extend(value.as_record().and_then(persist::Record::origin));
        });
        let (mut found, mut added) = (Vec::new(), Vec::new());
        while let Some(index) = next.pop() {
            let is_known = known.contains_key(&index);
            let Some(class) = classes.get(index).filter(|_| !is_known) else { continue };
            let Some(own) = self.by_id.get(&class.id) else {
                known.insert(index, self.classes.len() + added.len());
                found.push(index);
                added.push(class);
                class.kinds().for_each(|kind| {
                    kind.visit(&mut |kind| match kind {
                        KindSchema::Class(class) | KindSchema::Reference { class, .. } => {
                            next.push(*class);
                        }
                        _ => {}
                    });
                });
                continue;
            };
            // Pairs that are known to be equal are not compared again for each class that refers to them.
            let mut is_new = |own: usize, index: usize| match known.entry(index) {
                MapEntry::Occupied(known) => (*known.get() == own).then_some(false),
                MapEntry::Vacant(new) => {
                    new.insert(own);
                    found.push(index);
                    Some(true)
                }
            };
            if !same_classes((&self.classes, *own), (classes, index), &mut is_new) {
                found.iter().for_each(|index| _ = known.remove(index));
                let message = format!(
                    "the save has another form of class {}; let its program replay the journal",
                    class.name
                );
                return Err(Error::new(ErrorKind::Unsupported, message));
            }
        }
        let index = |class: usize| known.get(&class).copied().unwrap_or(class);
        for class in added {
            self.by_id.entry(class.id).or_insert(self.classes.len());
            self.classes.push(class.renumbered(&index));
        }
        value.each_mut(&mut |value| {
            if let Some(record) = value.as_record_mut() {
                record.set_origin(record.origin().map(index));
            }
        });
        Ok(())
    }

    /// Sets the classes of the save.
    pub(crate) fn end(self, save: &mut Document) {
        if self.classes.len() > save.save.stored.len() {
            // All classes are now defined before the first record, since any record may use the new ones.
            save.save.defined = vec![0; self.classes.len()];
            save.save.stored = Stored::new(self.classes);
        }
    }
}

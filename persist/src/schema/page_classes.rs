//! [`PageClasses`]: the list of classes of a page that is written.

use std::any::TypeId;

use hashbrown::HashMap;

use crate::codec::count;
use crate::reflect::TraitName;

/// The classes of a page, in the order in which its objects need them.
#[derive(Default)]
pub(crate) struct PageClasses {
    /// The numbers of the classes in the page, by those in the save.
    by_number: HashMap<u64, u64>,
    /// The numbers of the classes in the save.
    numbers: Vec<u64>,
    /// The types of the classes, with the trait as which their values are stored.
    types: Vec<(TypeId, TraitName)>,
    has_unknown: bool,
}

impl PageClasses {
    /// Returns the number in the page of a class by its number in the save. `of` is its type, if the program has it.
    pub(crate) fn number(&mut self, number: u64, of: Option<(TypeId, TraitName)>) -> u64 {
        let Self { by_number, numbers, types, has_unknown } = self;
        *has_unknown |= of.is_none();
        *by_number.entry(number).or_insert_with(|| {
            numbers.push(number);
            types.extend(of);
            numbers.len() as u64
        })
    }

    /// Returns the types of the classes; `None` if there is unknown content, whose references and classes may have other
    /// ids in another save.
    pub(crate) fn into_types(self) -> Option<Vec<(TypeId, TraitName)>> {
        (!self.has_unknown).then_some(self.types)
    }

    /// Returns the head of the page: the ids of its classes, and the number of its objects.
    pub(crate) fn head(&self, objects: u32, id: impl Fn(u64) -> u64) -> Vec<u8> {
        let mut head = Vec::new();
        count::push(self.numbers.len() as u64, &mut head);
        self.numbers.iter().for_each(|number| head.extend_from_slice(&id(*number).to_le_bytes()));
        count::push(objects.into(), &mut head);
        head
    }
}

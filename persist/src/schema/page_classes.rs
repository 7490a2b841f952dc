//! [`PageClasses`]: the list of classes of a page that is written.

use hashbrown::HashMap;

use crate::codec::count;

/// The classes of a page, in the order in which its objects need them.
#[derive(Default)]
pub(crate) struct PageClasses {
    /// The numbers of the classes in the page, by those in the save.
    by_number: HashMap<u64, u64>,
    /// The numbers of the classes in the save.
    numbers: Vec<u64>,
}

impl PageClasses {
    /// Returns the number in the page of a class by its number in the save.
    pub(crate) fn number(&mut self, number: u64) -> u64 {
        let numbers = &mut self.numbers;
        *self.by_number.entry(number).or_insert_with(|| {
            numbers.push(number);
            numbers.len() as u64
        })
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

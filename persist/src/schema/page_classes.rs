//! [`PageClasses`]: the list of classes of a page that is written.

use crate::codec::count;

/// The classes of a page, in the order in which its objects need them.
#[derive(Default)]
pub(crate) struct PageClasses {
    /// The numbers of the classes in the page, by those in the save; 0 for others.
    by_number: Vec<u64>,
    /// The numbers of the classes in the save.
    numbers: Vec<u64>,
}

impl PageClasses {
    /// Returns the number in the page of a class by its number in the save.
    pub(crate) fn number(&mut self, number: u64) -> u64 {
        let place = usize::try_from(number).unwrap_or(usize::MAX);
        if self.by_number.len() <= place {
            self.by_number.resize(place + 1, 0);
        }
        let own = &mut self.by_number[place];
        if *own == 0 {
            self.numbers.push(number);
            *own = self.numbers.len() as u64;
        }
        *own
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

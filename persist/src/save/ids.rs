//! Which objects a save has: a few bytes for each.

use crate::reflect::Holder;

/// The classes and holders of the objects of a save, by their ids: 4 bytes for each id from 1 to the number of objects,
/// and 12 for each object with another id.
pub(super) struct SavedIds {
    /// The bits of an [`KnownObject`] by id, from 1 on: as numbers, so that what is not used takes no memory.
    near: Vec<u32>,
    /// SavedIds beyond those, in two halves.
    far: Vec<([u32; 2], KnownObject)>,
    /// True if the far ids are in ascending order, as they are if the objects of a world were written.
    is_sorted: bool,
    /// True if a reference was met that is wrong, or may be.
    has_doubt: bool,
    /// References that are not checked yet: a few at a time, as each is a miss of the cache in a large save, and the
    /// processor waits for several at once. It was 70 % of the time.
    waiting: Vec<(u64, KnownObject)>,
    /// So that nothing is optimized away.
    touched: u32,
}

/// References that are checked together.
const TOGETHER: usize = 64;

/// The class and the holder of an object; or, if it is not known yet, those that references to it say. All bits 0 if
/// nothing is known.
#[derive(Clone, Copy, PartialEq, Eq)]
struct KnownObject(u32);

impl KnownObject {
    const KNOWN: u32 = 1 << 31;
    /// A strong reference leads to it.
    const WANTED: u32 = 1 << 30;
    const HOLDER: u32 = 26;
    /// Any class; there are fewer classes.
    const ANY: u32 = (1 << Self::HOLDER) - 1;

    fn new(flag: u32, class: u32, holder: Holder) -> Self {
        // The pointer is 0 to 2, the cell 0 to 6. Never 0, so that no object is as if nothing was known.
        let (pointer, cell) = (u32::from(holder.code() >> 4), u32::from(holder.code() & 7));
        let holder = if pointer == 0 { 15 } else { (pointer - 1) * 7 + cell + 1 };
        Self(flag | holder << Self::HOLDER | class)
    }

    fn is_known(self) -> bool {
        self.0 & Self::KNOWN != 0
    }

    fn class(self) -> u32 {
        self.0 & Self::ANY
    }

    fn holder(self) -> Holder {
        let code = (self.0 >> Self::HOLDER & 15).saturating_sub(1);
        let code = if code == 14 { 0 } else { ((code / 7 + 1) << 4) | (code % 7) };
        u8::try_from(code).ok().and_then(Holder::from_code).unwrap_or(Holder::VALUE)
    }

    /// True if what this says of an object and what a reference says is the same, as far as both say something.
    fn agrees(self, other: Self) -> bool {
        let (class, other_class) = (self.class(), other.class());
        self.holder() == other.holder()
            && (class == other_class || class == Self::ANY || other_class == Self::ANY)
    }
}

impl SavedIds {
    /// For about this many objects.
    pub(super) fn new(objects: u64) -> Self {
        let near = usize::try_from(objects).unwrap_or(0);
        Self {
            near: vec![0; near],
            far: Vec::new(),
            is_sorted: true,
            has_doubt: false,
            waiting: Vec::with_capacity(TOGETHER),
            touched: 0,
        }
    }

    /// Takes an object; false if it is known that another has its id.
    pub(super) fn insert(&mut self, id: u64, class: u32, holder: Holder) -> bool {
        let object = KnownObject::new(KnownObject::KNOWN, class, holder);
        match self.near_mut(id) {
            Some(place) => {
                let before = KnownObject(std::mem::replace(place, object.0));
                self.has_doubt |= before.0 != 0 && !before.agrees(object);
                !before.is_known()
            }
            None => {
                let id = halves(id);
                self.is_sorted &= self.far.last().is_none_or(|(last, _)| *last < id);
                let is_twice = self.far.last().is_some_and(|(last, _)| *last == id);
                self.far.push((id, object));
                !is_twice
            }
        }
    }

    /// Takes a reference, which is checked now or when its object is known.
    #[inline]
    pub(super) fn refer(&mut self, id: u64, weak: bool, class: Option<usize>, holder: Holder) {
        let class = class.map_or(Some(KnownObject::ANY), |class| u32::try_from(class).ok());
        // Of classes beyond the most there are no records.
        let class = class.filter(|class| *class <= KnownObject::ANY).unwrap_or(KnownObject::ANY);
        self.waiting.push((
            id,
            KnownObject::new(if weak { 0 } else { KnownObject::WANTED }, class, holder),
        ));
        if self.waiting.len() == TOGETHER {
            self.check();
        }
    }

    /// Checks the references that wait.
    fn check(&mut self) {
        let mut waiting = std::mem::take(&mut self.waiting);
        for (id, _) in &waiting {
            self.touched ^= self.near_mut(*id).map_or(0, |place| *place);
        }
        waiting.drain(..).for_each(|(id, said)| self.check_one(id, said));
        self.waiting = waiting;
    }

    fn check_one(&mut self, id: u64, said: KnownObject) {
        let Some(place) = self.near_mut(id) else {
            let is_right = match self.get(id) {
                Some((class, holder)) => KnownObject::new(0, class, holder).agrees(said),
                // A weak one may lead nowhere; others may be to objects that come later.
                None => id == 0 && said.0 & KnownObject::WANTED == 0,
            };
            self.has_doubt |= !is_right;
            return;
        };
        let before = KnownObject(*place);
        if before.0 == 0 {
            *place = said.0;
        } else if !before.agrees(said) {
            self.has_doubt = true;
        } else if !before.is_known() {
            let class = before.class().min(said.class());
            let wanted = (before.0 | said.0) & KnownObject::WANTED;
            *place = KnownObject::new(wanted, class, said.holder()).0;
        }
    }

    #[inline]
    fn near_mut(&mut self, id: u64) -> Option<&mut u32> {
        self.near.get_mut(usize::try_from(id.wrapping_sub(1)).unwrap_or(usize::MAX))
    }

    /// The class and the holder of an object.
    pub(super) fn get(&self, id: u64) -> Option<(u32, Holder)> {
        let place = usize::try_from(id.wrapping_sub(1)).unwrap_or(usize::MAX);
        let object = match self.near.get(place) {
            Some(object) => Some(KnownObject(*object)),
            None if self.is_sorted => {
                let place = self.far.binary_search_by_key(&halves(id), |(id, _)| *id).ok();
                place.map(|place| self.far[place].1)
            }
            None => None,
        };
        object.filter(|object| object.is_known()).map(|object| (object.class(), object.holder()))
    }

    /// Sorts the objects when all are known; an id that two have is an error.
    pub(super) fn sort(&mut self) -> Result<(), u64> {
        self.check();
        if !self.is_sorted {
            self.far.sort_unstable_by_key(|(id, _)| *id);
            self.is_sorted = true;
            if let Some(twice) = self.far.windows(2).find(|pair| pair[0].0 == pair[1].0) {
                let [high, low] = twice[0].0;
                return Err(u64::from(high) << 32 | u64::from(low));
            }
        }
        Ok(())
    }

    /// True if every reference that was taken leads to an object of its class and holder, when all are known.
    pub(super) fn are_sure(&mut self) -> bool {
        self.check();
        let is_missing = |object: &u32| {
            object & (KnownObject::KNOWN | KnownObject::WANTED) == KnownObject::WANTED
        };
        !self.has_doubt && !self.near.iter().any(is_missing)
    }
}

/// So that 12 bytes are enough.
#[expect(clippy::cast_possible_truncation, reason = "the halves of a number")]
fn halves(id: u64) -> [u32; 2] {
    [(id >> 32) as u32, id as u32]
}

const _: () = assert!(size_of::<([u32; 2], KnownObject)>() == 12);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reflect::{Cell, Pointer};

    const RC: Holder = Holder::new(Pointer::Rc, Cell::RefCell);
    const ARC: Holder = Holder::new(Pointer::Arc, Cell::OnceLock);

    #[test]
    fn holders_and_classes_come_back() {
        for pointer in [Pointer::Rc, Pointer::Arc] {
            for cell in [Cell::None, Cell::RefCell, Cell::RwLock, Cell::OnceLock] {
                let object = KnownObject::new(KnownObject::KNOWN, 7, Holder::new(pointer, cell));
                assert_eq!((object.class(), object.holder()), (7, Holder::new(pointer, cell)));
            }
        }
        assert_eq!(KnownObject::new(KnownObject::KNOWN, 0, Holder::VALUE).holder(), Holder::VALUE);
    }

    #[test]
    fn references_to_later_objects_are_checked_when_those_come() {
        let mut ids = SavedIds::new(3);
        ids.refer(2, false, Some(1), RC);
        ids.refer(2, false, None, RC);
        ids.refer(0, true, Some(1), RC);
        assert!(!ids.are_sure());
        assert!(ids.insert(2, 1, RC) && ids.are_sure());
        ids.refer(3, true, Some(1), RC);
        assert!(ids.are_sure(), "a weak reference may lead nowhere");
        assert!(ids.insert(3, 1, ARC) && !ids.are_sure());
    }

    #[test]
    fn ids_beyond_the_count_are_found_too() {
        let mut ids = SavedIds::new(1);
        assert!(ids.insert(1 << 40, 4, ARC) && ids.insert(9, 5, RC));
        assert_eq!(ids.get(9), None);
        assert_eq!(ids.sort(), Ok(()));
        assert_eq!(ids.get(9), Some((5, RC)));
        assert_eq!(ids.get(1 << 40), Some((4, ARC)));
        assert!(ids.insert(9, 5, RC));
        assert_eq!(ids.sort(), Err(9));
    }
}

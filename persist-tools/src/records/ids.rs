//! The objects that a save has, by their ids: what references are checked against.

use persist::reflect::Holder;
use persist::{ObjectId, Result};

/// The classes and holders of the objects of a save, by id.
///
/// It takes 4 bytes for each id from 1 to the number of objects, and 12 bytes for each object with a greater id.
pub struct SavedIds {
    /// The bits of a [`KnownObject`] for each id from 1 on. They are plain numbers, so that `vec![0; n]` gets zeroed
    /// pages from the system and unused ids take no memory.
    near: Vec<u32>,
    /// Objects with greater ids, each id in two halves.
    far: Vec<([u32; 2], KnownObject)>,
    /// True if the far ids are in ascending order, which is the order that a world is written in.
    is_sorted: bool,
    /// True if some reference is wrong, or may be.
    has_doubt: bool,
    /// References that are not checked yet. They are checked in batches: in a large save each check is a cache miss,
    /// and the processor can wait for several misses at once. Single checks took 70 % of the time.
    waiting: Vec<(u64, KnownObject)>,
    /// Combines the words that a batch loads ahead, so that the compiler does not remove the loads.
    touched: u32,
}

/// The number of references that are checked in a batch.
const TOGETHER: usize = 64;

/// The class and the holder of an object. For an object that has not been read yet, they are taken from the references
/// to it. All bits are 0 if nothing is known.
#[derive(Clone, Copy, PartialEq, Eq)]
struct KnownObject(u32);

impl KnownObject {
    const KNOWN: u32 = 1 << 31;
    /// A strong reference leads to the object, so it must exist.
    const REQUIRED: u32 = 1 << 30;
    const HOLDER: u32 = 26;
    /// The class number for any class, greater than the number of classes.
    const ANY: u32 = (1 << Self::HOLDER) - 1;

    fn new(flag: u32, class: u32, holder: Holder) -> Self {
        // The pointer is 0 to 2 and the cell 0 to 6, packed into 4 bits. The result is never 0, which means unknown.
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

    /// Returns true if both agree on the holder and, where both know it, the class.
    fn agrees(self, other: Self) -> bool {
        let (class, other_class) = (self.class(), other.class());
        self.holder() == other.holder()
            && (class == other_class || class == Self::ANY || other_class == Self::ANY)
    }
}

impl SavedIds {
    /// Creates a table for about this many objects.
    pub fn new(objects: u64) -> Self {
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

    /// Adds an object. Returns false if another object is known to have its id; [`sort`](Self::sort) finds the others.
    #[inline]
    pub fn insert(&mut self, id: u64, class: u32, holder: Holder) -> bool {
        let object = KnownObject::new(KnownObject::KNOWN, class, holder);
        match self.near_mut(id) {
            Some(place) => {
                let previous = KnownObject(std::mem::replace(place, object.0));
                self.has_doubt |= previous.0 != 0 && !previous.agrees(object);
                !previous.is_known()
            }
            None => {
                let id = halves(id);
                self.is_sorted &= self.far.last().is_none_or(|(last, _)| *last < id);
                let is_duplicate = self.far.last().is_some_and(|(last, _)| *last == id);
                self.far.push((id, object));
                !is_duplicate
            }
        }
    }

    /// Adds a reference. It is checked against its object, or the object against it once that is added.
    #[inline]
    pub fn refer(&mut self, id: u64, weak: bool, class: Option<usize>, holder: Holder) {
        let class = class.map_or(Some(KnownObject::ANY), |class| u32::try_from(class).ok());
        // A class number above the maximum has no records.
        let class = class.filter(|class| *class <= KnownObject::ANY).unwrap_or(KnownObject::ANY);
        self.waiting.push((
            id,
            KnownObject::new(if weak { 0 } else { KnownObject::REQUIRED }, class, holder),
        ));
        if self.waiting.len() == TOGETHER {
            self.check();
        }
    }

    /// Checks the waiting references. The first loop loads all their words, so that the cache misses overlap.
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
                // A null weak reference is right. A reference to another id may lead to an object that comes later.
                None => id == 0 && said.0 & KnownObject::REQUIRED == 0,
            };
            self.has_doubt |= !is_right;
            return;
        };
        let known = KnownObject(*place);
        if known.0 == 0 {
            *place = said.0;
        } else if !known.agrees(said) {
            self.has_doubt = true;
        } else if !known.is_known() {
            let class = known.class().min(said.class());
            let required = (known.0 | said.0) & KnownObject::REQUIRED;
            *place = KnownObject::new(required, class, said.holder()).0;
        }
    }

    #[inline]
    fn near_mut(&mut self, id: u64) -> Option<&mut u32> {
        self.near.get_mut(usize::try_from(id.wrapping_sub(1)).unwrap_or(usize::MAX))
    }

    /// Returns the class and the holder of an object.
    pub fn get(&self, id: u64) -> Option<(u32, Holder)> {
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

    /// Returns the holder of an object and the index of its class; `None` if there is none.
    pub fn object(&self, id: ObjectId) -> Option<(Holder, usize)> {
        self.get(id.get()).map(|(class, holder)| (holder, class as usize))
    }

    /// Sorts the far objects once all are known.
    ///
    /// # Errors
    ///
    /// Returns an id that two objects have.
    pub fn sort(&mut self) -> Result<(), u64> {
        self.check();
        if !self.is_sorted {
            self.far.sort_unstable_by_key(|(id, _)| *id);
            self.is_sorted = true;
            if let Some(pair) = self.far.windows(2).find(|pair| pair[0].0 == pair[1].0) {
                let [high, low] = pair[0].0;
                return Err(u64::from(high) << 32 | u64::from(low));
            }
        }
        Ok(())
    }

    /// Returns true if every reference leads to an object of its class and holder. Call it once all objects are known.
    pub fn are_sure(&mut self) -> bool {
        self.check();
        let is_missing = |object: &u32| {
            object & (KnownObject::KNOWN | KnownObject::REQUIRED) == KnownObject::REQUIRED
        };
        !self.has_doubt && !self.near.iter().any(is_missing)
    }
}

/// Splits an id into two halves, so that a far entry has an alignment of 4 and takes 12 bytes instead of 16.
#[expect(clippy::cast_possible_truncation, reason = "the halves of a number")]
fn halves(id: u64) -> [u32; 2] {
    [(id >> 32) as u32, id as u32]
}

const _: () = assert!(size_of::<([u32; 2], KnownObject)>() == 12);

#[cfg(test)]
mod tests {
    use super::*;
    use persist::__tools::{Cell, Pointer};

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

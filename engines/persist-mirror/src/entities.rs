//! Fields that hold entities of the engine: they are stored as ids of objects.
//!
//! In the mirror, a handle is no entity: its bits are the number of an object. So the mirror may be saved, edited and
//! copied anywhere, also on another thread, and only a value on its way between engine and mirror has its handles
//! translated. That happens within one call on one thread, so the table is a variable of the thread: the context of
//! the save is the program's own.

use std::cell::RefCell;
use std::mem;

use hashbrown::HashMap;
use persist::ObjectId;

use crate::{Entity, Ids};

thread_local! {
    static TRANSLATION: RefCell<Option<(Way, Ids)>> = const { RefCell::new(None) };
    static LOST: RefCell<Lost> = RefCell::new(Lost::default());
}

/// The references of one value to entities that are not saved.
#[derive(Default)]
struct Lost {
    /// How many there are.
    count: u32,
    /// The numbers that tell them apart: by the bits of the entity where it is stored, by the dead id where it is
    /// restored.
    numbers: HashMap<u64, u32>,
    /// Whether they are restored as entities that differ.
    are_apart: bool,
}

impl Lost {
    fn number(&mut self, of: u64) -> u32 {
        self.count = self.count.saturating_add(1);
        let next = u32::try_from(self.numbers.len() + 1).unwrap_or(u32::MAX);
        *self.numbers.entry(of).or_insert(next)
    }
}

/// Where a value goes whose handles are translated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// From the engine into the mirror: a handle is an entity where it is stored.
    In,
    /// From the mirror to the engine: a handle is an entity where it is restored.
    Out,
    /// Nowhere: a handle is that of the mirror.
    Within,
    /// Nowhere, and the objects are counted for which handles stand.
    Find,
}

/// Calls a function while handles are translated by a table.
pub(crate) fn translated<R>(way: Way, ids: &mut Ids, run: impl FnOnce() -> R) -> R {
    /// Takes the table back, also after a panic.
    struct Back<'i>(&'i mut Ids, Option<(Way, Ids)>);

    impl Drop for Back<'_> {
        fn drop(&mut self) {
            let outer = self.1.take();
            if let Some((_, ids)) = TRANSLATION.with(|translation| translation.replace(outer)) {
                *self.0 = ids;
            }
        }
    }

    let outer = TRANSLATION.with(|translation| translation.replace(Some((way, mem::take(ids)))));
    let _back = Back(ids, outer);
    run()
}

/// Within [`translated`], calls a function while handles go another way.
pub(crate) fn turned<R>(way: Way, run: impl FnOnce() -> R) -> R {
    /// Sets the way back, also after a panic.
    struct Back(Option<Way>);

    fn turn(way: Way) -> Option<Way> {
        let set = |(set, _): &mut (Way, Ids)| mem::replace(set, way);
        TRANSLATION.with_borrow_mut(|translation| translation.as_mut().map(set))
    }

    impl Drop for Back {
        fn drop(&mut self) {
            self.0.map(turn);
        }
    }

    let _back = Back(turn(way));
    run()
}

/// Calls a function, and counts the references to entities that are not saved, which it stores or restores.
pub(crate) fn counting_lost<R>(run: impl FnOnce() -> R) -> (R, u32) {
    LOST.with_borrow_mut(|lost| {
        (lost.count, lost.are_apart) = (0, false);
        if !lost.numbers.is_empty() {
            lost.numbers.clear();
        }
    });
    let result = run();
    (result, LOST.with_borrow(|lost| lost.count))
}

/// Calls a function that stores a value of the mirror, and returns the objects for which its handles stand.
pub(crate) fn found_objects(run: impl FnOnce()) -> Vec<ObjectId> {
    counting_lost(|| translated(Way::Find, &mut Ids::default(), run));
    LOST.with_borrow(|lost| lost.numbers.keys().filter_map(|id| ObjectId::new(*id)).collect())
}

/// Numbers what was stored by its bits, since a hash map has it in another order in each run.
pub(crate) fn sort_lost() {
    LOST.with_borrow_mut(|lost| {
        let mut all: Vec<u64> = lost.numbers.keys().copied().collect();
        all.sort_unstable();
        lost.numbers.extend(all.into_iter().zip(1..));
    });
}

/// From now on, references that lead nowhere are restored as entities that differ, as keys of maps have to.
pub(crate) fn set_lost_apart() {
    LOST.with_borrow_mut(|lost| (lost.count, lost.are_apart) = (0, true));
}

/// Neither half of the bits is one that an engine does not allow: hecs has no generation 0, and bevy a lowest or highest
/// index that is none.
const INDICES: u64 = (1 << 32) - 2;

/// What is stored of an entity: the id of its object. An entity that is not saved becomes a dead id, which tells it from
/// the other ones of its component, or from all if the table [remembers](Ids::remember_unsaved) it.
#[must_use]
pub fn store(entity: Entity) -> ObjectId {
    TRANSLATION.with_borrow_mut(|translation| match translation {
        Some((Way::In, ids)) => ids.object(entity).unwrap_or_else(|| {
            let number = LOST.with_borrow_mut(|lost| lost.number(entity.bits));
            ids.unsaved(entity).unwrap_or_else(|| dead(u64::from(number)))
        }),
        other => {
            let object = number(entity.bits).unwrap_or(ObjectId::NOWHERE);
            let is_counted = object.is_dead() || matches!(other, Some((Way::Find, _)));
            if is_counted && object != ObjectId::NOWHERE {
                LOST.with_borrow_mut(|lost| lost.number(object.get()));
            }
            object
        }
    })
}

/// A dead id.
pub(crate) fn dead(number: u64) -> ObjectId {
    ObjectId::new(number | !(u64::MAX >> 1)).unwrap_or(ObjectId::NOWHERE)
}

/// The bits of the entity that was stored.
///
/// # Errors
///
/// Returns which of the engine's entities that never live takes its place, if it was not saved or is gone: 0 is the empty
/// one. Others come only where keys of a map would be the same otherwise.
pub fn restore(object: ObjectId) -> Result<u64, u32> {
    TRANSLATION.with_borrow(|translation| match translation {
        Some((Way::Out, ids)) => ids.any_entity(object).ok_or_else(|| {
            if object == ObjectId::NOWHERE {
                return 0;
            }
            LOST.with_borrow_mut(|lost| {
                let number = lost.number(object.get());
                if lost.are_apart { number } else { 0 }
            })
        }),
        _ => handle(object).ok_or(0),
    })
}

/// The handle that stands for an object in the mirror.
fn handle(object: ObjectId) -> Option<u64> {
    let number = object.get() - 1;
    let generation = u32::try_from(number / INDICES + 1).ok()?;
    Some((u64::from(generation) << 32) | (number % INDICES + 1))
}

/// The object for which a handle in the mirror stands.
fn number(bits: u64) -> Option<ObjectId> {
    let generation = (bits >> 32).checked_sub(1)?;
    let index = (bits & u64::from(u32::MAX)).checked_sub(1).filter(|index| *index < INDICES)?;
    ObjectId::new(generation * INDICES + index + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_object_has_a_handle_in_the_mirror() {
        let numbers = [1, 2, INDICES - 1, INDICES, INDICES + 1, 3 * INDICES, 1 << 62, 3 << 62];
        for id in numbers.map(|number| ObjectId::new(number).unwrap()) {
            let bits = handle(id).unwrap();
            assert_eq!(number(bits), Some(id));
            assert!(bits >> 32 > 0 && !matches!(bits & 0xFFFF_FFFF, 0 | 0xFFFF_FFFF), "{bits:#x}");
        }
        assert_eq!(handle(ObjectId::NOWHERE), None);
        assert_eq!([0, 1, 1 << 32, u64::MAX].map(number), [None; 4]);
    }

    #[test]
    fn entities_that_are_not_saved_have_an_id_of_their_own_where_that_is_asked_for() {
        let [camera, lamp] =
            [3, 4].map(|index| Entity { index, bits: (1 << 32) | u64::from(index) });
        let mut ids = Ids::default();
        let (stored, lost) =
            counting_lost(|| translated(Way::In, &mut ids, || [lamp, camera, lamp].map(store)));
        assert_eq!((stored, lost), ([1, 2, 1].map(dead), 3));
        sort_lost();
        let stored = translated(Way::In, &mut ids, || [lamp, camera, lamp].map(store));
        assert_eq!(stored, [2, 1, 2].map(dead));
        ids.remember_unsaved();
        let stored = translated(Way::In, &mut ids, || [camera, lamp, camera].map(store));
        assert!(stored[0].is_dead() && stored[0] != stored[1] && stored[0] == stored[2]);
        let restored = translated(Way::Out, &mut ids, || stored.map(restore));
        assert_eq!(restored, [camera, lamp, camera].map(|entity| Ok(entity.bits)));
        let (away, lost) =
            counting_lost(|| translated(Way::Out, &mut Ids::default(), || stored.map(restore)));
        assert_eq!((away, lost), ([Err(0); 3], 3), "another run does not know them");
        set_lost_apart();
        let away = translated(Way::Out, &mut Ids::default(), || stored.map(restore));
        assert_eq!(away, [Err(1), Err(2), Err(1)], "as keys they differ");
        // In the mirror it is a handle, too.
        let bits = stored.map(|object| handle(object).unwrap());
        assert_eq!(bits.map(|bits| number(bits).unwrap()), stored);
    }

    #[test]
    fn the_table_comes_back_after_a_panic() {
        let mut ids = Ids::default();
        let (object, entity) = (ObjectId::new(7).unwrap(), Entity { index: 3, bits: 3 });
        ids.insert(object, entity);
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            translated(Way::In, &mut ids, || {
                assert_eq!(store(entity), object);
                std::panic::resume_unwind(Box::new(()));
            })
        }));
        assert!(result.is_err());
        assert_eq!(ids.object(entity), Some(object));
        assert_eq!(translated(Way::Out, &mut ids, || restore(object)), Ok(3));
    }
}

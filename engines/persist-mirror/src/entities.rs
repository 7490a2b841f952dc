//! Translates entities in fields, which are stored as the ids of their objects.
//!
//! In the mirror, the bits of an entity handle encode the id of an object. So the mirror can be saved, edited and
//! copied on any thread without the engine. Handles are translated only when a value is copied between engine and
//! mirror. A copy happens within one call on one thread, so the table is a thread-local variable. The context of the
//! save, which could hold the table as well, belongs to the program.

use std::cell::RefCell;
use std::mem;

use hashbrown::HashMap;
use persist::ObjectId;

use crate::{Entity, Ids};

thread_local! {
    static TRANSLATION: RefCell<Option<(Mode, Ids)>> = const { RefCell::new(None) };
    static LOST: RefCell<Lost> = RefCell::new(Lost::default());
}

/// The references of one value to entities that are not saved.
#[derive(Default)]
struct Lost {
    /// The number of references.
    count: u32,
    /// A number for each entity, by its bits when a value is stored, and by its dead id when it is restored.
    numbers: HashMap<u64, u32>,
    /// Whether each is restored as another placeholder entity.
    are_distinct: bool,
}

impl Lost {
    fn number(&mut self, bits: u64) -> u32 {
        self.count = self.count.saturating_add(1);
        let next = u32::try_from(self.numbers.len() + 1).unwrap_or(u32::MAX);
        *self.numbers.entry(bits).or_insert(next)
    }
}

/// How [`store`] and [`restore`] translate the handles of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// The value is copied into the mirror: `store` receives entities of the engine.
    In,
    /// The value is copied to the engine: `restore` returns entities of the engine.
    Out,
    /// The value stays in the mirror: its handles encode objects, and are not translated.
    Within,
    /// The value stays in the mirror, and `store` collects the objects that its handles encode.
    Find,
}

/// Calls a function while handles are translated with a table.
pub(crate) fn translated<R>(mode: Mode, ids: &mut Ids, run: impl FnOnce() -> R) -> R {
    /// Restores the table when dropped, so that a panic does not lose it.
    struct Back<'i>(&'i mut Ids, Option<(Mode, Ids)>);

    impl Drop for Back<'_> {
        fn drop(&mut self) {
            let outer = self.1.take();
            if let Some((_, ids)) = TRANSLATION.with(|translation| translation.replace(outer)) {
                *self.0 = ids;
            }
        }
    }

    let outer = TRANSLATION.with(|translation| translation.replace(Some((mode, mem::take(ids)))));
    let _back = Back(ids, outer);
    run()
}

/// Within [`translated`], calls a function in another mode.
pub(crate) fn in_mode<R>(mode: Mode, run: impl FnOnce() -> R) -> R {
    /// Restores the mode when dropped, even after a panic.
    struct Back(Option<Mode>);

    fn replace_mode(mode: Mode) -> Option<Mode> {
        let set = |(set, _): &mut (Mode, Ids)| mem::replace(set, mode);
        TRANSLATION.with_borrow_mut(|translation| translation.as_mut().map(set))
    }

    impl Drop for Back {
        fn drop(&mut self) {
            self.0.map(replace_mode);
        }
    }

    let _back = Back(replace_mode(mode));
    run()
}

/// Calls a function, and counts the references to unsaved entities that it stores or restores.
pub(crate) fn counting_lost<R>(run: impl FnOnce() -> R) -> (R, u32) {
    LOST.with_borrow_mut(|lost| {
        (lost.count, lost.are_distinct) = (0, false);
        if !lost.numbers.is_empty() {
            lost.numbers.clear();
        }
    });
    let result = run();
    (result, LOST.with_borrow(|lost| lost.count))
}

/// Calls a function that stores a value of the mirror, and returns the objects that the value's handles encode.
pub(crate) fn found_objects(run: impl FnOnce()) -> Vec<ObjectId> {
    counting_lost(|| translated(Mode::Find, &mut Ids::default(), run));
    LOST.with_borrow(|lost| lost.numbers.keys().filter_map(|id| ObjectId::new(*id)).collect())
}

/// Renumbers the entities in the order of their bits, since hash maps iterate in another order in each run.
pub(crate) fn sort_lost() {
    LOST.with_borrow_mut(|lost| {
        let mut all: Vec<u64> = lost.numbers.keys().copied().collect();
        all.sort_unstable();
        lost.numbers.extend(all.into_iter().zip(1..));
    });
}

/// Restores lost references as distinct placeholder entities from now on, as keys of maps require.
pub(crate) fn set_lost_distinct() {
    LOST.with_borrow_mut(|lost| (lost.count, lost.are_distinct) = (0, true));
}

/// The number of indices used per generation in an encoded handle.
///
/// The engines reserve some bit patterns, which encoded handles avoid: hecs has no generation 0, and Bevy reserves the
/// lowest or highest index.
const INDICES: u64 = (1 << 32) - 2;

/// Returns the id of an entity's object, as which the entity is stored.
///
/// An entity that is not saved gets a dead id, distinct within its component, or within the program if the table
/// [remembers](Ids::remember_unsaved) unsaved entities.
#[must_use]
pub fn store(entity: Entity) -> ObjectId {
    TRANSLATION.with_borrow_mut(|translation| match translation {
        Some((Mode::In, ids)) => ids.object(entity).unwrap_or_else(|| {
            let number = LOST.with_borrow_mut(|lost| lost.number(entity.bits));
            ids.unsaved(entity).unwrap_or_else(|| dead(u64::from(number)))
        }),
        other => {
            let object = number(entity.bits).unwrap_or(ObjectId::NULL);
            let is_counted = object.is_dead() || matches!(other, Some((Mode::Find, _)));
            if is_counted && object != ObjectId::NULL {
                LOST.with_borrow_mut(|lost| lost.number(object.get()));
            }
            object
        }
    })
}

/// Returns the dead id with a number: the highest bit marks it.
pub(crate) fn dead(number: u64) -> ObjectId {
    ObjectId::new(number | !(u64::MAX >> 1)).unwrap_or(ObjectId::NULL)
}

/// Returns the bits of the entity whose object was stored.
///
/// # Errors
///
/// Returns the number of a placeholder entity if the entity was not saved or has been removed: 0 is the engine's empty
/// entity. Other numbers occur only if keys of a map would be equal otherwise.
pub fn restore(object: ObjectId) -> Result<u64, u32> {
    TRANSLATION.with_borrow(|translation| match translation {
        Some((Mode::Out, ids)) => ids.any_entity(object).ok_or_else(|| {
            if object == ObjectId::NULL {
                return 0;
            }
            LOST.with_borrow_mut(|lost| {
                let number = lost.number(object.get());
                if lost.are_distinct { number } else { 0 }
            })
        }),
        _ => handle(object).ok_or(0),
    })
}

/// Encodes an object as the bits of a handle in the mirror.
fn handle(object: ObjectId) -> Option<u64> {
    let number = object.get() - 1;
    let generation = u32::try_from(number / INDICES + 1).ok()?;
    Some((u64::from(generation) << 32) | (number % INDICES + 1))
}

/// Decodes the object from the bits of a handle in the mirror.
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
        assert_eq!(handle(ObjectId::NULL), None);
        assert_eq!([0, 1, 1 << 32, u64::MAX].map(number), [None; 4]);
    }

    #[test]
    fn entities_that_are_not_saved_have_an_id_of_their_own_where_that_is_asked_for() {
        let [camera, lamp] =
            [3, 4].map(|index| Entity { index, bits: (1 << 32) | u64::from(index) });
        let mut ids = Ids::default();
        let (stored, lost) =
            counting_lost(|| translated(Mode::In, &mut ids, || [lamp, camera, lamp].map(store)));
        assert_eq!((stored, lost), ([1, 2, 1].map(dead), 3));
        sort_lost();
        let stored = translated(Mode::In, &mut ids, || [lamp, camera, lamp].map(store));
        assert_eq!(stored, [2, 1, 2].map(dead));
        ids.remember_unsaved();
        let stored = translated(Mode::In, &mut ids, || [camera, lamp, camera].map(store));
        assert!(stored[0].is_dead() && stored[0] != stored[1] && stored[0] == stored[2]);
        let restored = translated(Mode::Out, &mut ids, || stored.map(restore));
        assert_eq!(restored, [camera, lamp, camera].map(|entity| Ok(entity.bits)));
        let (other_run, lost) =
            counting_lost(|| translated(Mode::Out, &mut Ids::default(), || stored.map(restore)));
        assert_eq!((other_run, lost), ([Err(0); 3], 3), "another run does not know them");
        set_lost_distinct();
        let other_run = translated(Mode::Out, &mut Ids::default(), || stored.map(restore));
        assert_eq!(other_run, [Err(1), Err(2), Err(1)], "as keys they differ");
        // A dead id can be encoded as a handle of the mirror as well.
        let bits = stored.map(|object| handle(object).unwrap());
        assert_eq!(bits.map(|bits| number(bits).unwrap()), stored);
    }

    #[test]
    fn the_table_comes_back_after_a_panic() {
        let mut ids = Ids::default();
        let (object, entity) = (ObjectId::new(7).unwrap(), Entity { index: 3, bits: 3 });
        ids.insert(object, entity);
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            translated(Mode::In, &mut ids, || {
                assert_eq!(store(entity), object);
                std::panic::resume_unwind(Box::new(()));
            })
        }));
        assert!(result.is_err());
        assert_eq!(ids.object(entity), Some(object));
        assert_eq!(translated(Mode::Out, &mut ids, || restore(object)), Ok(3));
    }
}

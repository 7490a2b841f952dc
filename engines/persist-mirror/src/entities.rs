//! Fields that hold entities of the engine: they are stored as ids of objects.
//!
//! In the mirror, a handle is no entity: its bits are the number of an object. So the mirror may be saved, edited and
//! copied anywhere, also on another thread, and only a value on its way between engine and mirror has its handles
//! translated. That happens within one call on one thread, so the table is a variable of the thread: the context of
//! the save is the program's own.

use std::cell::{Cell, RefCell};
use std::mem;

use persist::ObjectId;

use crate::{Entity, Ids};

thread_local! {
    static TRANSLATION: RefCell<Option<(Way, Ids)>> = const { RefCell::new(None) };
    /// How many of the handles that were stored are of entities that are not saved.
    static UNSAVED: Cell<u32> = const { Cell::new(0) };
}

/// Where a value goes whose handles are translated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// From the engine into the mirror: a handle is an entity where it is stored.
    In,
    /// From the mirror to the engine: a handle is an entity where it is restored.
    Out,
    /// To another run of the program, which does not know the entities that are not saved.
    Away,
    /// Nowhere: a handle is that of the mirror.
    Within,
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

/// Calls a function, and counts the handles that it stores whose entities are not saved.
pub(crate) fn counting_unsaved<R>(run: impl FnOnce() -> R) -> (R, u32) {
    UNSAVED.set(0);
    let result = run();
    (result, UNSAVED.get())
}

/// Neither half of the bits is one that an engine does not allow: hecs has no generation 0, and bevy a lowest or highest
/// index that is none.
const INDICES: u64 = (1 << 32) - 2;

/// What is stored of an entity: the id of its object. An entity that is not saved becomes [`ObjectId::NOWHERE`], or a
/// dead id if the table [remembers](Ids::remember_unsaved) it.
#[must_use]
pub fn store(entity: Entity) -> ObjectId {
    TRANSLATION.with_borrow_mut(|translation| match translation {
        Some((Way::In, ids)) => ids.object(entity).unwrap_or_else(|| {
            UNSAVED.set(UNSAVED.get().saturating_add(1));
            ids.unsaved(entity)
        }),
        _ => number(entity.bits).unwrap_or(ObjectId::NOWHERE),
    })
}

/// The bits of the entity that was stored; `None` if it was not saved, or is gone.
#[must_use]
pub fn restore(object: ObjectId) -> Option<u64> {
    TRANSLATION.with_borrow(|translation| match translation {
        Some((Way::Out, ids)) => ids.any_entity(object),
        Some((Way::Away, _)) if object.is_dead() => None,
        _ => handle(object),
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
        assert_eq!(translated(Way::In, &mut ids, || store(camera)), ObjectId::NOWHERE);
        ids.remember_unsaved();
        let stored = translated(Way::In, &mut ids, || [camera, lamp, camera].map(store));
        assert!(stored[0].is_dead() && stored[0] != stored[1] && stored[0] == stored[2]);
        let restored = translated(Way::Out, &mut ids, || stored.map(restore));
        assert_eq!(restored, [camera, lamp, camera].map(|entity| Some(entity.bits)));
        let away = translated(Way::Away, &mut ids, || stored.map(restore));
        assert_eq!(away, [None; 3], "another run does not know them");
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
        assert_eq!(translated(Way::Out, &mut ids, || restore(object)), Some(3));
    }
}

//! Fields that hold entities of the engine: they are stored as ids of objects.
//!
//! In the mirror, a handle is no entity: its bits are the number of an object. So the mirror may be saved, edited and
//! copied anywhere, also on another thread, and only a value on its way between engine and mirror has its handles
//! translated. That happens within one call on one thread, so the table is a variable of the thread: the context of
//! the save is the program's own.

use std::cell::RefCell;
use std::mem;

use persist::ObjectId;

use crate::{Entity, Ids};

thread_local! {
    static TRANSLATION: RefCell<Option<(Way, Ids)>> = const { RefCell::new(None) };
}

/// Where a value goes whose handles are translated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// From the engine into the mirror: a handle is an entity where it is stored.
    In,
    /// From the mirror to the engine: a handle is an entity where it is restored.
    Out,
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

/// Within [`translated`], calls a function while handles go into the mirror.
pub(crate) fn inward<R>(run: impl FnOnce() -> R) -> R {
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

    let _back = Back(turn(Way::In));
    run()
}

/// Neither half of the bits is one that an engine does not allow: hecs has no generation 0, and bevy a lowest or highest
/// index that is none.
const INDICES: u64 = (1 << 32) - 2;

/// What is stored of an entity: the id of its object. An entity that is not saved becomes [`ObjectId::NOWHERE`].
#[must_use]
pub fn store(entity: Entity) -> ObjectId {
    let found = TRANSLATION.with_borrow(|translation| match translation {
        Some((Way::In, ids)) => ids.object(entity),
        _ => number(entity.bits),
    });
    found.unwrap_or(ObjectId::NOWHERE)
}

/// The bits of the entity that was stored; `None` if it was not saved, or is gone.
#[must_use]
pub fn restore(object: ObjectId) -> Option<u64> {
    TRANSLATION.with_borrow(|translation| match translation {
        Some((Way::Out, ids)) => ids.entity(object).map(|entity| entity.bits),
        _ => handle(object),
    })
}

/// The handle that stands for an object in the mirror.
fn handle(object: ObjectId) -> Option<u64> {
    let number = object.get() - 1;
    (!object.is_dead()).then_some(((number / INDICES + 1) << 32) | (number % INDICES + 1))
}

/// The object for which a handle in the mirror stands.
fn number(bits: u64) -> Option<ObjectId> {
    let generation = (bits >> 32).checked_sub(1)?;
    let index = (bits & u64::from(u32::MAX)).checked_sub(1).filter(|index| *index < INDICES)?;
    let id = ObjectId::new(generation * INDICES + index + 1)?;
    (!id.is_dead()).then_some(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_object_has_a_handle_in_the_mirror() {
        let numbers = [1, 2, INDICES - 1, INDICES, INDICES + 1, 3 * INDICES, 1 << 62];
        for id in numbers.map(|number| ObjectId::new(number).unwrap()) {
            let bits = handle(id).unwrap();
            assert_eq!(number(bits), Some(id));
            assert!(bits >> 32 > 0 && !matches!(bits & 0xFFFF_FFFF, 0 | 0xFFFF_FFFF), "{bits:#x}");
        }
        assert_eq!(handle(ObjectId::NOWHERE), None);
        assert_eq!([0, 1, 1 << 32, u64::MAX].map(number), [None; 4]);
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

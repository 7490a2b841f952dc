//! The values of a map were swapped when its keys, of variants that were
//! reordered since, encode in another order than they were stored in.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

use persist::{Persist, SaveManager};

macro_rules! version {
    ($module:ident: $($variant:ident),+) => {
        mod $module {
            use super::{BTreeSet, HashMap, Persist, Rc, RefCell};

            #[derive(Persist, Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
            #[persist(class = "Mark")]
            pub(super) enum Mark {
                $($variant),+
            }

            #[derive(Persist)]
            #[persist(class = "World")]
            pub(super) struct World {
                pub(super) by_marks: HashMap<BTreeSet<Mark>, Rc<RefCell<String>>>,
            }
        }
    };
}

version!(old: B, A, C);
version!(new: A, B, C);

#[test]
fn every_key_keeps_its_object() {
    let marks = [old::Mark::A, old::Mark::B, old::Mark::C];
    let by_marks = (1..8_u32)
        .map(|bits| {
            let set: BTreeSet<_> =
                (0..3).filter(|i| bits >> i & 1 == 1).map(|i| marks[i]).collect();
            let mut names: Vec<String> = set.iter().map(|mark| format!("{mark:?}")).collect();
            names.sort();
            (set, Rc::new(RefCell::new(names.concat())))
        })
        .collect();
    let mut manager = SaveManager::new();
    manager.add(&Rc::new(RefCell::new(old::World { by_marks }))).unwrap();
    let save = manager.to_vec().unwrap();

    let manager = SaveManager::new();
    manager.register::<new::World>().unwrap();
    let loaded = manager.from_slice(&save).unwrap();
    let world = loaded.first::<new::World>().unwrap();
    assert_eq!(world.borrow().by_marks.len(), 7);
    for (set, name) in &world.borrow().by_marks {
        let names: String = set.iter().map(|mark| format!("{mark:?}")).collect();
        assert_eq!(*name.borrow(), names);
    }
}

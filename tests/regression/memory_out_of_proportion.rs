//! Small saves that asked for gigabytes: large elements in one byte each, boxes and
//! pointers of empty objects.

use std::cell::RefCell;
use std::rc::Rc;

use persist::{ErrorKind, Limits, Persist, SaveManager};

#[derive(Persist)]
struct Wide {
    slots: Vec<Option<[u64; 1000]>>,
}

#[test]
fn large_elements_are_bounded_on_both_sides() {
    let wide = |len| Rc::new(RefCell::new(Wide { slots: vec![None; len] }));
    let mut manager = SaveManager::new();
    manager.add(&wide(8000)).unwrap();
    assert!(manager.to_vec().is_ok());

    let mut manager = SaveManager::new();
    manager.add(&wide(20_000)).unwrap();
    assert_eq!(manager.to_vec().unwrap_err().kind(), ErrorKind::TooLarge);
    let wider = manager.saves().clone().limits(Limits::new().expansion(10_000));
    let save = wider.to_vec(&manager).unwrap();
    assert!(wider.from_slice::<SaveManager>(&save).is_ok());
    assert_eq!(manager.from_slice(&save).map(drop).unwrap_err().kind(), ErrorKind::TooLarge);
}

#[derive(Persist)]
struct Part {
    data: [u64; 1000],
}

#[derive(Persist)]
struct Whole {
    parts: [Rc<RefCell<Part>>; 16],
}

#[test]
fn empty_objects_count_with_what_they_point_to() {
    let part = Rc::new(RefCell::new(Part { data: [0; 1000] }));
    let mut manager = SaveManager::new();
    for _ in 0..2000 {
        let parts = std::array::from_fn(|_| part.clone());
        manager.add(&Rc::new(RefCell::new(Whole { parts }))).unwrap();
    }
    // Each `Whole` is made with 16 empty parts, 128 KB, before its pointers are known.
    let error = manager.to_vec().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooLarge);
    assert!(error.message().ends_with("raise `Limits::expansion`"), "{error}");
}

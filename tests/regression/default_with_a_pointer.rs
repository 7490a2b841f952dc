//! The default of an added field held a pointer, and the error spoke of the
//! bare codec instead of the field.

use std::cell::RefCell;
use std::rc::Rc;

use persist::{ErrorKind, Persist, SaveManager};

#[derive(Persist)]
#[persist(class = "Hero")]
struct Old {
    level: u32,
}

#[derive(Persist)]
#[persist(class = "Hero")]
struct Hero {
    level: u32,
    #[persist(default)]
    pet: Rc<RefCell<u8>>,
}

#[test]
fn a_default_with_a_pointer_is_refused_by_field() {
    let mut manager = SaveManager::new();
    manager.add(&Rc::new(RefCell::new(Old { level: 1 }))).unwrap();
    let save = manager.to_vec().unwrap();

    let mut manager = SaveManager::new();
    manager.register::<Hero>().unwrap();
    let error = manager.from_slice(&save).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert_eq!((error.class(), error.field()), (Some("Hero"), Some("pet")));
    assert!(error.message().contains("its default holds a shared pointer"), "{error}");

    let whole = Rc::new(RefCell::new(Hero { level: 2, pet: Rc::default() }));
    manager.add(&whole).unwrap();
    let save = manager.to_vec().unwrap();
    let loaded = manager.from_slice(&save).map(|loaded| loaded.len());
    assert_eq!(loaded.ok(), Some(2));
}

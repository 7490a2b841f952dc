//! What `save` accepted and `load` then refused: keys that differ only in what
//! is not saved, deep keys, boxes without bytes in maps, wide values in boxes.

use std::collections::{HashMap, HashSet};

use persist::{ErrorKind, Persist};

#[derive(Persist, PartialEq, Eq, Hash)]
struct Key {
    id: u32,
    #[persist(skip)]
    cache: u32,
}

#[test]
fn keys_that_would_be_lost_are_refused() {
    let keys = HashSet::from([Key { id: 1, cache: 1 }, Key { id: 1, cache: 2 }]);
    let error = persist::to_vec(&keys).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidValue);
    assert!(error.message().contains("differ only in what is not saved"), "{error}");
}

#[derive(Persist, PartialEq, Eq, Hash)]
struct Deep {
    inner: Option<Box<Deep>>,
}

#[test]
fn a_deep_key_is_refused_on_both_sides_or_on_none() {
    for levels in 120..130 {
        let key =
            (0..levels).fold(Deep { inner: None }, |deep, _| Deep { inner: Some(deep.into()) });
        match persist::to_vec(&HashSet::from([key])) {
            Ok(save) => assert_eq!(persist::from_slice::<HashSet<Deep>>(&save).unwrap().len(), 1),
            Err(error) => assert_eq!(error.kind(), ErrorKind::TooDeep),
        }
    }
}

#[derive(Persist, Default)]
struct NoBytes {
    #[persist(skip)]
    cache: u32,
}

#[test]
fn a_map_of_boxes_without_bytes_is_refused() {
    let map: HashMap<u8, Box<NoBytes>> = (0..200).map(|i| (i, Box::default())).collect();
    assert_eq!(map[&0].cache, 0);
    assert_eq!(persist::to_vec(&map).unwrap_err().kind(), ErrorKind::Unsupported);
}

#[derive(Persist)]
struct Fat {
    data: [u64; 8192],
    next: Option<Box<Fat>>,
}

#[test]
fn wide_values_take_a_level_each_and_little_stack() {
    let fat = |levels| {
        let one = || Fat { data: [7; 8192], next: None };
        (1..levels).fold(Box::new(one()), |next, _| Box::new(Fat { next: Some(next), ..one() }))
    };
    let save = persist::to_vec(&fat(100)).unwrap();
    let run = move || persist::from_slice::<Box<Fat>>(&save).unwrap().data[0];
    let loaded = std::thread::Builder::new().stack_size(8 << 20).spawn(run).unwrap().join();
    assert_eq!(loaded.unwrap(), 7);
    assert_eq!(persist::to_vec(&fat(200)).unwrap_err().kind(), ErrorKind::TooDeep);
}

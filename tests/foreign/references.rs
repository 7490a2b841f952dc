//! Shared objects in lists and maps of other crates.

use std::cell::RefCell;
use std::rc::{Rc, Weak};

use arrayvec::ArrayVec;
use indexmap::IndexMap;
use persist::{Persist, SaveManager};
use smallvec::{SmallVec, smallvec};
use thin_vec::ThinVec;
use tinyvec::TinyVec;

#[derive(Persist, Default)]
struct Node {
    name: String,
    parent: Option<Weak<RefCell<Node>>>,
    small: SmallVec<[Rc<RefCell<Node>>; 2]>,
    array: ArrayVec<Rc<RefCell<Node>>, 4>,
    thin: ThinVec<Rc<RefCell<Node>>>,
    tiny: TinyVec<[Option<Rc<RefCell<Node>>>; 1]>,
    by_name: IndexMap<String, Rc<RefCell<Node>>>,
    hashed: hashbrown_0_16::HashMap<String, Rc<RefCell<Node>>>,
    parts: SmallVec<[Part; 1]>,
    unchanging: Option<Rc<SmallVec<[u8; 4]>>>,
}

/// A class with a hook, inside of a list.
#[derive(Persist, Default)]
#[persist(after_load = Part::loaded)]
struct Part {
    weight: u8,
    #[persist(skip)]
    doubled: u8,
}

impl Part {
    fn loaded(&mut self) {
        self.doubled = 2 * self.weight;
    }
}

fn node(name: &str) -> Rc<RefCell<Node>> {
    Rc::new(RefCell::new(Node { name: name.into(), ..Node::default() }))
}

#[test]
fn pointers_in_lists_and_maps_lead_to_the_same_objects_after_a_load() {
    let (root, a, b, c) = (node("root"), node("a"), node("b"), node("c"));
    {
        let mut root = root.borrow_mut();
        root.small = smallvec![a.clone(), b.clone(), c.clone()];
        root.array.push(b.clone());
        root.array.push(a.clone());
        root.thin.push(c.clone());
        root.tiny.push(Some(a.clone()));
        root.tiny.push(None);
        // Not in the order of the keys.
        root.by_name =
            ["z", "a", "m"].map(String::from).into_iter().zip([a.clone(), b, c]).collect();
        root.hashed = root.by_name.iter().map(|(k, v)| (k.clone(), v.clone())).collect();
        root.parts = smallvec![Part { weight: 3, doubled: 0 }, Part { weight: 4, doubled: 0 }];
        root.unchanging = Some(Rc::new(smallvec![1, 2, 3]));
    }
    a.borrow_mut().parent = Some(Rc::downgrade(&root));

    let mut manager = SaveManager::new();
    manager.add(&root).unwrap();
    let bytes = manager.to_vec().unwrap();

    let manager = SaveManager::new();
    manager.register::<Node>().unwrap();
    let loaded = manager.from_slice(&bytes).unwrap();
    let loaded_root = loaded.first::<Node>().unwrap();
    let root = loaded_root.borrow();
    let names = |nodes: &[Rc<RefCell<Node>>]| {
        nodes.iter().map(|node| node.borrow().name.clone()).collect::<String>()
    };
    assert_eq!(names(&root.small), "abc");
    assert_eq!(names(&root.array), "ba");
    assert_eq!(names(&root.thin), "c");
    assert!(Rc::ptr_eq(&root.small[0], &root.array[1]));
    assert!(Rc::ptr_eq(&root.small[2], &root.thin[0]));
    assert!(Rc::ptr_eq(&root.small[0], root.tiny[0].as_ref().unwrap()));
    assert!(root.tiny[1].is_none());
    assert!(root.by_name.keys().eq(&["z", "a", "m"]));
    assert_eq!(names(&root.by_name.values().cloned().collect::<Vec<_>>()), "abc");
    for (key, value) in &root.by_name {
        assert!(Rc::ptr_eq(value, &root.hashed[key]));
    }
    assert_eq!(root.parts.iter().map(|part| part.doubled).collect::<Vec<_>>(), [6, 8]);
    assert_eq!(root.unchanging.as_ref().unwrap()[..], [1, 2, 3]);
    let parent = root.small[0].borrow().parent.as_ref().unwrap().upgrade().unwrap();
    assert!(Rc::ptr_eq(&parent, &loaded_root));
}

//! Every pointer around every cell, and trait objects, to load arbitrary bytes as.

use std::cell::{Cell, OnceCell, RefCell};
use std::rc::{self, Rc};
use std::sync::{self, Arc, LazyLock, Mutex, OnceLock, RwLock};

use persist::{Persist, SaveManager, Saves};

#[derive(Persist, Clone, Copy)]
pub struct Gem {
    carat: u16,
}

/// All holders, strong and weak.
#[derive(Persist)]
pub struct Vault {
    plain: Option<Rc<Gem>>,
    cell: Option<Rc<Cell<Gem>>>,
    once: Vec<Rc<OnceCell<Gem>>>,
    lock: Vec<Arc<RwLock<Vault>>>,
    mutex: Option<Arc<Mutex<Vault>>>,
    once_lock: Option<Arc<OnceLock<Node>>>,
    text: Vec<Rc<str>>,
    list: Option<Arc<[Gem]>>,
    nested: Option<Rc<Rc<RefCell<Gem>>>>,
    weak: (rc::Weak<Gem>, sync::Weak<Mutex<Vault>>, rc::Weak<str>, sync::Weak<[Gem]>),
    tree: Option<Rc<Node>>,
    tools: Tools,
}

/// Objects without a cell, which lead to each other.
#[derive(Persist)]
pub struct Node {
    parent: RefCell<rc::Weak<Node>>,
    children: RefCell<Vec<Rc<Node>>>,
    left: Option<Rc<Node>>,
    up: rc::Weak<Node>,
    first: OnceCell<Rc<Node>>,
    late: OnceLock<rc::Weak<Node>>,
    vault: Option<Arc<Mutex<Vault>>>,
}

#[persist::dynamic]
pub trait Tool {}

#[derive(Persist)]
pub struct Tools {
    boxed: Vec<Box<dyn Tool>>,
    one: Option<Box<dyn Tool>>,
    plain: Option<Rc<dyn Tool>>,
    cell: Vec<Rc<RefCell<dyn Tool>>>,
    lock: Option<Arc<RwLock<dyn Tool>>>,
    weak: Vec<sync::Weak<Mutex<dyn Tool>>>,
}

#[derive(Persist)]
pub struct Rope {
    hook: Option<Box<dyn Tool>>,
    to: Option<Rc<dyn Tool>>,
}

#[derive(Persist)]
pub enum Light {
    Torch(Rc<Gem>),
    Lamp { oil: Cell<u32>, shade: Option<Rc<RefCell<dyn Tool>>> },
}

impl Tool for Rope {}
impl Tool for Light {}
impl Tool for Vault {}

fn saves() -> Saves {
    let saves = Saves::new();
    saves.register_as::<Rope, dyn Tool>().expect("the classes are sound");
    saves.register_as::<Light, dyn Tool>().expect("the classes are sound");
    saves.register_as::<Vault, dyn Tool>().expect("the classes are sound");
    saves.register::<Vault>().expect("the classes are sound");
    saves
}

/// Registering everything is what takes longest.
static SAVES: LazyLock<Saves> = LazyLock::new(saves);

/// Loads the bytes; what loads must save, load and save again to equal bytes.
/// Cycles are cut, but for those that cells which can be set once close.
pub fn load(save: &[u8]) {
    let load = |save: &[u8]| SAVES.from_slice::<SaveManager>(save);
    if let Ok(loaded) = load(save) {
        let cycles = loaded.strong_cycles();
        assert!(cycles.len() <= loaded.len());
        if !loaded.is_empty() {
            let first = loaded.to_vec().expect("what loads can be saved");
            let again = load(&first).expect("what was saved loads");
            assert_eq!(again.to_vec().expect("it can be saved again"), first);
            again.dismantle();
            load(&first).expect("once more").dismantle();
        }
        loaded.dismantle();
    }
    // Cycles behind the value are the program's to cut, and leak here.
    drop(SAVES.from_slice::<Vault>(save));
}

/// A save with some of everything, from which the changes begin.
pub fn sample() -> Vec<u8> {
    let gem = Rc::new(Gem { carat: 1 });
    let node = |children: Vec<Rc<Node>>, left: Option<Rc<Node>>| Node {
        parent: rc::Weak::new().into(),
        children: children.into(),
        up: left.as_ref().map(Rc::downgrade).unwrap_or_default(),
        left,
        first: OnceCell::new(),
        late: OnceLock::new(),
        vault: None,
    };
    let leaf = Rc::new(node(Vec::new(), None));
    let tree = Rc::new(node(vec![leaf.clone(), leaf.clone()], Some(leaf.clone())));
    *leaf.parent.borrow_mut() = Rc::downgrade(&tree);
    assert!(tree.first.set(leaf.clone()).is_ok() && leaf.late.set(Rc::downgrade(&tree)).is_ok());
    let plain: Rc<dyn Tool> = Rc::new(Rope { hook: None, to: None });
    let hook: Box<dyn Tool> = Box::new(Light::Torch(gem.clone()));
    let lamp = || Light::Lamp { oil: Cell::new(3), shade: None };
    let cell: Rc<RefCell<dyn Tool>> = Rc::new(RefCell::new(lamp()));
    let lit = Light::Lamp { oil: Cell::new(3), shade: Some(cell.clone()) };
    let empty = || Vault {
        plain: None,
        cell: None,
        once: Vec::new(),
        lock: Vec::new(),
        mutex: None,
        once_lock: None,
        text: Vec::new(),
        list: None,
        nested: None,
        weak: (
            rc::Weak::new(),
            sync::Weak::new(),
            Rc::downgrade(&"".into()),
            Arc::downgrade(&[].into()),
        ),
        tree: None,
        tools: Tools {
            boxed: Vec::new(),
            one: None,
            plain: None,
            cell: Vec::new(),
            lock: None,
            weak: Vec::new(),
        },
    };
    let text: Rc<str> = "text".into();
    let mutex = Arc::new(Mutex::new(empty()));
    let lock: Arc<RwLock<dyn Tool>> = Arc::new(RwLock::new(Rope { hook: None, to: None }));
    let as_tool: Arc<Mutex<dyn Tool>> = mutex.clone();
    let list: Arc<[Gem]> = [Gem { carat: 5 }].into();
    let vault = Rc::new(RefCell::new(Vault {
        cell: Some(Rc::new(Cell::new(*gem))),
        once: vec![Rc::new(OnceCell::from(*gem)), Rc::new(OnceCell::new())],
        lock: vec![Arc::new(RwLock::new(empty()))],
        once_lock: Some(Arc::new(OnceLock::from(node(vec![tree.clone()], None)))),
        nested: Some(Rc::new(Rc::new(RefCell::new(*gem)))),
        weak: (
            Rc::downgrade(&gem),
            Arc::downgrade(&mutex),
            Rc::downgrade(&text),
            Arc::downgrade(&list),
        ),
        plain: Some(gem),
        mutex: Some(mutex.clone()),
        text: vec![text.clone(), text],
        list: Some(list),
        tree: Some(tree),
        tools: Tools {
            boxed: vec![
                Box::new(Rope { hook: Some(hook), to: Some(plain.clone()) }),
                Box::new(lit),
            ],
            one: Some(Box::new(lamp())),
            plain: Some(plain),
            cell: vec![cell.clone(), cell],
            lock: Some(lock),
            weak: vec![Arc::downgrade(&as_tool)],
        },
    }));
    let mut manager = SAVES.manager();
    manager.add(&vault).expect("every pointer");
    let save = manager.to_vec().expect("every pointer");
    load(&save);
    assert!(manager.from_slice(&save).is_ok());
    save
}

//! What the fixture `pointers` holds: every pointer around every cell, and trait objects.

#![allow(clippy::arc_with_non_send_sync, reason = "nothing forbids it")]

use std::cell::{Cell, OnceCell, RefCell};
use std::rc::{self, Rc};
use std::sync::{self, Arc, Mutex, OnceLock, RwLock};

use persist::{Persist, SaveManager};

#[derive(Persist, Debug, PartialEq, Clone, Copy, Default)]
#[persist(class = "quest.Gem")]
pub struct Gem {
    pub carat: u16,
}

/// A pointer twice, and a weak one to the same target.
#[derive(Persist)]
#[persist(class = "quest.Pair", bound = "S: Persist, W: Persist")]
pub struct Pair<S, W> {
    pub one: S,
    pub two: S,
    pub weak: W,
}

type Rcs<P> = Pair<Rc<P>, rc::Weak<P>>;
type Arcs<P> = Pair<Arc<P>, sync::Weak<P>>;

fn rcs<P: ?Sized>(one: Rc<P>) -> Rcs<P> {
    Pair { two: one.clone(), weak: Rc::downgrade(&one), one }
}

fn arcs<P: ?Sized>(one: Arc<P>) -> Arcs<P> {
    Pair { two: one.clone(), weak: Arc::downgrade(&one), one }
}

impl<P: ?Sized> Rcs<P> {
    fn check(&self) -> &P {
        let weak = self.weak.upgrade().expect("its target is held");
        assert!(Rc::ptr_eq(&self.one, &self.two) && Rc::ptr_eq(&self.one, &weak));
        &self.one
    }
}

impl<P: ?Sized> Arcs<P> {
    fn check(&self) -> &P {
        let weak = self.weak.upgrade().expect("its target is held");
        assert!(Arc::ptr_eq(&self.one, &self.two) && Arc::ptr_eq(&self.one, &weak));
        &self.one
    }
}

/// Every cell behind each pointer, and what has no size.
#[allow(clippy::type_complexity, reason = "every pointer in one place")]
#[derive(Persist)]
#[persist(class = "quest.Vault")]
pub struct Vault {
    rc: (Rcs<Gem>, Rcs<RefCell<Gem>>, Rcs<Cell<Gem>>, Rcs<Mutex<Gem>>, Rcs<RwLock<Gem>>),
    rc_once: (Rcs<OnceCell<Gem>>, Rcs<OnceLock<Gem>>, Rcs<OnceCell<u8>>),
    arc: (Arcs<Gem>, Arcs<RefCell<Gem>>, Arcs<Cell<Gem>>, Arcs<Mutex<Gem>>, Arcs<RwLock<Gem>>),
    arc_once: (Arcs<OnceCell<Gem>>, Arcs<OnceLock<Gem>>, Arcs<OnceLock<u8>>),
    unsized_rc: (Rcs<str>, Rcs<[u16]>, Rcs<[Rc<str>]>),
    unsized_arc: (Arcs<str>, Arcs<[Gem]>),
    plain: (Rc<String>, Arc<Vec<u8>>, Rc<u64>, Arc<Option<Gem>>, Rc<[u8; 3]>, Rc<()>),
    nested: (Rc<Rc<RefCell<Gem>>>, Arc<sync::Weak<Mutex<Gem>>>, Rc<Cell<(u8, bool)>>),
    gone: (rc::Weak<Gem>, sync::Weak<RwLock<Gem>>, rc::Weak<str>, Option<sync::Weak<[Gem]>>),
}

impl Vault {
    fn new() -> Self {
        let gem = |carat| Gem { carat };
        let text: Rc<str> = "ruby".into();
        let cell = Rc::new(RefCell::new(gem(2)));
        let mutex = Arc::new(Mutex::new(gem(9)));
        Self {
            rc: (
                rcs(Rc::new(gem(1))),
                rcs(cell.clone()),
                rcs(Rc::new(Cell::new(gem(3)))),
                rcs(Rc::new(Mutex::new(gem(4)))),
                rcs(Rc::new(RwLock::new(gem(5)))),
            ),
            rc_once: (
                rcs(Rc::new(OnceCell::from(gem(6)))),
                rcs(Rc::new(OnceLock::from(gem(7)))),
                rcs(Rc::new(OnceCell::new())),
            ),
            arc: (
                arcs(Arc::new(gem(8))),
                arcs(Arc::new(RefCell::new(gem(10)))),
                arcs(Arc::new(Cell::new(gem(11)))),
                arcs(mutex.clone()),
                arcs(Arc::new(RwLock::new(gem(12)))),
            ),
            arc_once: (
                arcs(Arc::new(OnceCell::from(gem(13)))),
                arcs(Arc::new(OnceLock::from(gem(14)))),
                arcs(Arc::new(OnceLock::new())),
            ),
            unsized_rc: (
                rcs(text.clone()),
                rcs([1, 2, 0xffff].into()),
                rcs([text.clone(), "jade".into(), text].into()),
            ),
            unsized_arc: (arcs("".into()), arcs([gem(15), gem(16)].into())),
            plain: (
                Rc::new("opal".into()),
                Arc::new(vec![1, 2, 3]),
                Rc::new(u64::MAX),
                Arc::new(Some(gem(17))),
                Rc::new([7, 8, 9]),
                Rc::new(()),
            ),
            nested: (
                Rc::new(cell),
                Arc::new(Arc::downgrade(&mutex)),
                Rc::new(Cell::new((18, true))),
            ),
            gone: (rc::Weak::new(), sync::Weak::new(), Rc::downgrade(&"".into()), None),
        }
    }

    pub fn check(&self) {
        let carats = [
            self.rc.0.check().carat,
            self.rc.1.check().borrow().carat,
            self.rc.2.check().get().carat,
            self.rc.3.check().lock().expect("a gem").carat,
            self.rc.4.check().read().expect("a gem").carat,
            self.rc_once.0.check().get().expect("a gem").carat,
            self.rc_once.1.check().get().expect("a gem").carat,
            self.arc.0.check().carat,
            self.arc.3.check().lock().expect("a gem").carat,
            self.arc.1.check().borrow().carat,
            self.arc.2.check().get().carat,
            self.arc.4.check().read().expect("a gem").carat,
            self.arc_once.0.check().get().expect("a gem").carat,
            self.arc_once.1.check().get().expect("a gem").carat,
        ];
        assert_eq!(carats, std::array::from_fn(|i| u16::try_from(i + 1).expect("small")));
        assert!(self.rc_once.2.check().get().is_none() && self.arc_once.2.check().get().is_none());
        let text = &self.unsized_rc.0;
        let texts = self.unsized_rc.2.check();
        assert_eq!((text.check(), self.unsized_rc.1.check()), ("ruby", &[1, 2, 0xffff][..]));
        assert!(Rc::ptr_eq(&texts[0], &text.one) && Rc::ptr_eq(&texts[2], &text.one));
        assert_eq!(&*texts[1], "jade");
        assert_eq!(self.unsized_arc.0.check(), "");
        assert_eq!(*self.unsized_arc.1.check(), [Gem { carat: 15 }, Gem { carat: 16 }]);
        let (text, list, number, option, array, unit) = &self.plain;
        assert_eq!((&***text, &***list, **number), ("opal", &[1, 2, 3][..], u64::MAX));
        assert_eq!((**option, **array, **unit), (Some(Gem { carat: 17 }), [7, 8, 9], ()));
        assert!(Rc::ptr_eq(&*self.nested.0, &self.rc.1.one));
        assert!(self.nested.1.ptr_eq(&self.arc.3.weak));
        assert_eq!(self.nested.2.get(), (18, true));
        assert!(self.gone.0.upgrade().is_none() && self.gone.1.upgrade().is_none());
        assert!(self.gone.2.upgrade().is_none() && self.gone.3.is_none());
    }
}

/// The tree of the Rust Book, chapter 15.
#[derive(Persist)]
#[persist(class = "quest.Node")]
pub struct Node {
    value: i32,
    parent: RefCell<rc::Weak<Node>>,
    children: RefCell<Vec<Rc<Node>>>,
}

fn tree() -> Rc<Node> {
    let node = |value, children: Vec<Rc<Node>>| {
        let parent = RefCell::new(rc::Weak::new());
        let node = Rc::new(Node { value, parent, children: RefCell::new(children) });
        for child in &*node.children.borrow() {
            *child.parent.borrow_mut() = Rc::downgrade(&node);
        }
        node
    };
    node(5, vec![node(3, vec![node(9, vec![])]), node(4, vec![])])
}

/// One of a strong circle.
#[derive(Persist)]
#[persist(class = "quest.Guard")]
pub struct Guard {
    name: Arc<str>,
    relief: RwLock<Option<Arc<Guard>>>,
    watch: Option<Arc<Mutex<Watch>>>,
}

#[derive(Persist)]
#[persist(class = "quest.Watch")]
pub struct Watch {
    guards: Vec<Arc<Guard>>,
}

/// Two guards that relieve each other, in a watch that holds both.
fn watch() -> Arc<Mutex<Watch>> {
    let watch = Arc::new(Mutex::new(Watch { guards: Vec::new() }));
    let guard = |name: &str| {
        Arc::new(Guard { name: name.into(), relief: None.into(), watch: Some(watch.clone()) })
    };
    let (bob, eve) = (guard("Bob"), guard("Eve"));
    *bob.relief.write().expect("a guard") = Some(eve.clone());
    *eve.relief.write().expect("a guard") = Some(bob.clone());
    watch.lock().expect("a watch").guards.extend([bob, eve]);
    watch
}

#[persist::dynamic(name = "quest.Tool")]
pub trait Tool {
    fn use_up(&self) -> u32;
}

#[derive(Persist)]
#[persist(class = "quest.Rope")]
pub struct Rope {
    metres: u32,
    hook: Option<Box<dyn Tool>>,
}

#[derive(Persist)]
#[persist(class = "quest.Light")]
pub enum Light {
    Torch(Rc<Gem>),
    Lamp { oil: Cell<u32> },
}

impl Tool for Rope {
    fn use_up(&self) -> u32 {
        self.metres + self.hook.as_ref().map_or(0, |hook| hook.use_up())
    }
}

impl Tool for Light {
    fn use_up(&self) -> u32 {
        match self {
            Self::Torch(gem) => gem.carat.into(),
            Self::Lamp { oil } => oil.get(),
        }
    }
}

/// Trait objects in every holder.
#[allow(clippy::type_complexity, reason = "every pointer in one place")]
#[derive(Persist)]
#[persist(class = "quest.Chest")]
pub struct Chest {
    boxed: Vec<Box<dyn Tool>>,
    bare: (Rcs<dyn Tool>, Arcs<dyn Tool>),
    ref_cells: (Rcs<RefCell<dyn Tool>>, Arcs<RefCell<dyn Tool>>),
    locks: (Rcs<Mutex<dyn Tool>>, Arcs<Mutex<dyn Tool>>, Rcs<RwLock<dyn Tool>>),
    shelf: Arcs<RwLock<dyn Tool>>,
    in_box: Rc<RefCell<Box<dyn Tool>>>,
    /// The same as one of above, by its type.
    lamp: Rc<RefCell<Light>>,
    none: (Option<Box<dyn Tool>>, rc::Weak<dyn Tool>, sync::Weak<Mutex<dyn Tool>>),
}

impl Chest {
    fn new() -> Self {
        let rope = |metres| Rope { metres, hook: None };
        let lamp = |oil| Light::Lamp { oil: Cell::new(oil) };
        let shared_lamp = Rc::new(RefCell::new(lamp(4)));
        let hook: Box<dyn Tool> = Box::new(rope(30));
        let light = Light::Torch(Rc::new(Gem { carat: 2 }));
        Self {
            boxed: vec![Box::new(Rope { metres: 10, hook: Some(hook) }), Box::new(light)],
            bare: (rcs::<dyn Tool>(Rc::new(lamp(1))), arcs::<dyn Tool>(Arc::new(rope(2)))),
            ref_cells: (
                rcs::<RefCell<dyn Tool>>(shared_lamp.clone()),
                arcs::<RefCell<dyn Tool>>(Arc::new(RefCell::new(rope(8)))),
            ),
            locks: (
                rcs::<Mutex<dyn Tool>>(Rc::new(Mutex::new(rope(16)))),
                arcs::<Mutex<dyn Tool>>(Arc::new(Mutex::new(lamp(32)))),
                rcs::<RwLock<dyn Tool>>(Rc::new(RwLock::new(lamp(64)))),
            ),
            shelf: arcs::<RwLock<dyn Tool>>(Arc::new(RwLock::new(rope(128)))),
            in_box: Rc::new(RefCell::new(Box::new(rope(256)))),
            lamp: shared_lamp,
            none: (
                None,
                rc::Weak::<Rope>::new() as rc::Weak<dyn Tool>,
                sync::Weak::<Mutex<Rope>>::new() as sync::Weak<Mutex<dyn Tool>>,
            ),
        }
    }

    pub fn check(&self) {
        let boxed: Vec<u32> = self.boxed.iter().map(|tool| tool.use_up()).collect();
        assert_eq!(boxed, [40, 2]);
        let used = [
            self.bare.0.check().use_up(),
            self.bare.1.check().use_up(),
            self.ref_cells.0.check().borrow().use_up(),
            self.ref_cells.1.check().borrow().use_up(),
            self.locks.0.check().lock().expect("a tool").use_up(),
            self.locks.1.check().lock().expect("a tool").use_up(),
            self.locks.2.check().read().expect("a tool").use_up(),
            self.shelf.check().read().expect("a tool").use_up(),
            self.in_box.borrow().use_up(),
        ];
        assert_eq!(used, [1, 2, 4, 8, 16, 32, 64, 128, 256]);
        let lamp: Rc<RefCell<dyn Tool>> = self.lamp.clone();
        assert!(Rc::ptr_eq(&lamp, &self.ref_cells.0.one));
        assert!(self.none.0.is_none() && self.none.1.upgrade().is_none());
        assert!(self.none.2.upgrade().is_none());
    }
}

/// Registers what the fixture holds, and adds it.
pub fn prepare(saves: &mut SaveManager, filled: bool) -> persist::Result<()> {
    saves.register_as::<Rope, dyn Tool>()?;
    saves.register_as::<Light, dyn Tool>()?;
    saves.saves().register_pointer::<Rc<RefCell<Vault>>>()?;
    saves.saves().register_pointer::<Arc<Mutex<Chest>>>()?;
    saves.saves().register_pointer::<Rc<Node>>()?;
    saves.saves().register_pointer::<Arc<Mutex<Watch>>>()?;
    if filled {
        saves.add(&Rc::new(RefCell::new(Vault::new())))?;
        saves.add(&Arc::new(Mutex::new(Chest::new())))?;
        saves.add(&tree())?;
        saves.add(&watch())?;
    }
    Ok(())
}

/// Checks the two structures that lead back to where they began.
pub fn check_circles(root: &Rc<Node>, watch: &Arc<Mutex<Watch>>) {
    let children = root.children.borrow();
    let values: Vec<i32> = children.iter().map(|child| child.value).collect();
    assert_eq!((root.value, &values[..]), (5, &[3, 4][..]));
    for child in &*children {
        assert!(Rc::ptr_eq(&child.parent.borrow().upgrade().expect("the root"), root));
    }
    let grandchild = &children[0].children.borrow()[0];
    assert_eq!(grandchild.value, 9);
    let parent = grandchild.parent.borrow().upgrade().expect("a parent");
    assert!(Rc::ptr_eq(&parent, &children[0]) && root.parent.borrow().upgrade().is_none());

    let guards = watch.lock().expect("a watch").guards.clone();
    let [bob, eve] = &guards[..] else { panic!("two guards") };
    assert_eq!((&*bob.name, &*eve.name), ("Bob", "Eve"));
    for (guard, other) in [(bob, eve), (eve, bob)] {
        let relief = guard.relief.read().expect("a guard").clone();
        assert!(Arc::ptr_eq(&relief.expect("the other"), other));
        assert!(guard.watch.as_ref().is_some_and(|of| Arc::ptr_eq(of, watch)));
    }
}

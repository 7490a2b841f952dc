//! The floor and `persist`.

use std::cell::RefCell;
use std::rc::Rc;

use persist::{Loaded, SaveManager};

use super::Contender;
use super::data::{World, compare, cut, deep_copy};

/// Loads by copying the graph in memory, and has nothing to save.
pub(crate) struct DeepCopy<'w> {
    original: &'w World,
    copy: Option<World>,
}

impl<'w> DeepCopy<'w> {
    pub(crate) fn new(original: &'w World) -> Self {
        Self { original, copy: None }
    }
}

impl Contender for DeepCopy<'_> {
    fn save(&mut self) {}

    fn size(&self) -> Option<usize> {
        None
    }

    fn load(&mut self) {
        self.copy = Some(deep_copy(self.original));
    }

    fn check(&self) -> Result<(), String> {
        let copy = self.copy.as_ref().ok_or("nothing was copied")?;
        compare(copy, self.original)
    }

    fn free(&mut self) {
        if let Some(copy) = self.copy.take() {
            cut(&copy);
        }
    }

    fn forget(&mut self) {}
}

/// A manager that is kept, with the world as its one object.
pub(crate) struct Persist<'w> {
    original: &'w World,
    manager: SaveManager,
    bytes: Vec<u8>,
    loaded: Option<(Loaded<SaveManager>, Rc<RefCell<World>>)>,
}

impl<'w> Persist<'w> {
    pub(crate) fn new(original: &'w World) -> Self {
        // A root has to be shared, and the others borrow the original.
        let root = World { bodies: original.bodies.clone() };
        let mut manager = SaveManager::new();
        manager.add(&Rc::new(RefCell::new(root))).expect("its class can be registered");
        Self { original, manager, bytes: Vec::new(), loaded: None }
    }
}

impl Contender for Persist<'_> {
    fn save(&mut self) {
        self.bytes = self.manager.to_vec().expect("it can be saved");
    }

    fn size(&self) -> Option<usize> {
        Some(self.bytes.len())
    }

    fn load(&mut self) {
        let loaded = self.manager.from_slice(&self.bytes).expect("it has just been saved");
        let world = loaded.first().expect("the save begins with the world");
        self.loaded = Some((loaded, world));
    }

    fn check(&self) -> Result<(), String> {
        let (_, world) = self.loaded.as_ref().ok_or("nothing was loaded")?;
        compare(&world.borrow(), self.original)
    }

    /// As a program does it: the list of what was loaded goes first, the graph
    /// later.
    fn free(&mut self) {
        if let Some((loaded, world)) = self.loaded.take() {
            drop(loaded);
            cut(&world.borrow());
        }
    }

    fn forget(&mut self) {
        self.bytes = Vec::new();
    }
}

//! `fyrox-core`, the part of an engine that saves graphs: its `Visitor`.

use fyrox_core::visitor::{Visit, Visitor};

use super::Contender;
use super::data::{World, compare, cut};

pub(crate) struct Fyrox<'w> {
    original: &'w World,
    /// A copy of the original, since a `Visitor` needs mutable access.
    root: World,
    bytes: Vec<u8>,
    loaded: Option<World>,
}

impl<'w> Fyrox<'w> {
    pub(crate) fn new(original: &'w World) -> Self {
        let root = World { bodies: original.bodies.clone() };
        Self { original, root, bytes: Vec::new(), loaded: None }
    }
}

impl Contender for Fyrox<'_> {
    fn save(&mut self) {
        let mut visitor = Visitor::new();
        self.root.visit("World", &mut visitor).expect("it can be saved");
        self.bytes = visitor.save_binary_to_vec().expect("it can be saved");
    }

    fn size(&self) -> Option<usize> {
        Some(self.bytes.len())
    }

    fn load(&mut self) {
        let mut visitor = Visitor::load_binary_from_memory(&self.bytes).expect("it was saved");
        let mut world = World::default();
        world.visit("World", &mut visitor).expect("it was saved");
        self.loaded = Some(world);
    }

    fn check(&self) -> Result<(), String> {
        compare(self.loaded.as_ref().ok_or("nothing was loaded")?, self.original)
    }

    fn free(&mut self) {
        if let Some(world) = self.loaded.take() {
            cut(&world);
        }
    }

    fn forget(&mut self) {
        self.bytes = Vec::new();
    }
}

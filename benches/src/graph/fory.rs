//! `fory`, the other crate that carries graphs.

use std::cell::RefCell;
use std::rc::Rc;

use fory::{ForyStruct, RcWeak};

use super::Contender;
use super::data::{Body, Link, World, compare, cut, without_links};

/// With its fastest settings: both sides must know the very same types. The
/// bounds would refuse graphs of these sizes.
fn settings() -> fory::ForyBuilder {
    fory::Fory::builder()
        .xlang(false)
        .compatible(false)
        .track_ref(true)
        .max_dyn_depth(u32::MAX)
        .max_graph_memory_bytes(usize::MAX)
}

/// The graph as it is. It cannot load cycles of strong references.
pub(crate) struct Fory<'w> {
    original: &'w World,
    fory: fory::Fory,
    bytes: Vec<u8>,
    loaded: Option<World>,
}

impl<'w> Fory<'w> {
    pub(crate) fn new(original: &'w World) -> Self {
        let mut fory = settings().build();
        fory.register::<World>(1).expect("the number is free");
        fory.register::<Body>(2).expect("the number is free");
        Self { original, fory, bytes: Vec::new(), loaded: None }
    }
}

impl Contender for Fory<'_> {
    fn save(&mut self) {
        self.bytes = self.fory.serialize(self.original).expect("it can be saved");
    }

    fn size(&self) -> Option<usize> {
        Some(self.bytes.len())
    }

    fn load(&mut self) {
        self.loaded = Some(self.fory.deserialize(&self.bytes).expect("it has just been saved"));
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

/// [`World`] with weak references: fory loads cycles only of those.
#[derive(ForyStruct)]
struct WeakWorld {
    bodies: Vec<Rc<RefCell<WeakBody>>>,
}

#[derive(ForyStruct)]
struct WeakBody {
    number: u32,
    name: String,
    x: f64,
    y: f64,
    z: f64,
    mass: f64,
    speed_x: f32,
    speed_y: f32,
    speed_z: f32,
    damage: u16,
    kind: u8,
    asleep: bool,
    far: RcWeak<RefCell<WeakBody>>,
    near: RcWeak<RefCell<WeakBody>>,
}

impl WeakWorld {
    fn new(world: &World) -> Self {
        let copy = |body: &Rc<RefCell<Body>>| {
            let body = body.borrow();
            Rc::new(RefCell::new(without_links!(WeakBody, body)))
        };
        let bodies: Vec<_> = world.bodies.iter().map(copy).collect();
        let link = |link: &Link| {
            let target = link.as_ref().map(|target| target.borrow().number as usize);
            target.map_or_else(RcWeak::new, |target| RcWeak::from(&bodies[target]))
        };
        for (from, to) in world.bodies.iter().zip(&bodies) {
            let from = from.borrow();
            let mut to = to.borrow_mut();
            to.far = link(&from.far);
            to.near = link(&from.near);
        }
        Self { bodies }
    }

    /// The same graph with strong references.
    fn strong(&self) -> Result<World, String> {
        let copy = |body: &Rc<RefCell<WeakBody>>| {
            let body = body.borrow();
            Rc::new(RefCell::new(without_links!(Body, body)))
        };
        let bodies: Vec<_> = self.bodies.iter().map(copy).collect();
        let link = |link: &RcWeak<RefCell<WeakBody>>| {
            let Some(target) = link.upgrade() else { return Ok(None) };
            let place = target.borrow().number as usize;
            match self.bodies.get(place) {
                Some(body) if Rc::ptr_eq(body, &target) => Ok(Some(bodies[place].clone())),
                _ => Err(format!("a body {place} that is not of the world")),
            }
        };
        for (from, to) in self.bodies.iter().zip(&bodies) {
            let from = from.borrow();
            let mut to = to.borrow_mut();
            to.far = link(&from.far)?;
            to.near = link(&from.near)?;
        }
        Ok(World { bodies })
    }
}

/// The graph with weak references, which need no cutting.
pub(crate) struct ForyWeak<'w> {
    original: &'w World,
    weak: WeakWorld,
    fory: fory::Fory,
    bytes: Vec<u8>,
    loaded: Option<WeakWorld>,
}

impl<'w> ForyWeak<'w> {
    pub(crate) fn new(original: &'w World) -> Self {
        let mut fory = settings().build();
        fory.register::<WeakWorld>(1).expect("the number is free");
        fory.register::<WeakBody>(2).expect("the number is free");
        let weak = WeakWorld::new(original);
        Self { original, weak, fory, bytes: Vec::new(), loaded: None }
    }
}

impl Contender for ForyWeak<'_> {
    fn save(&mut self) {
        self.bytes = self.fory.serialize(&self.weak).expect("it can be saved");
    }

    fn size(&self) -> Option<usize> {
        Some(self.bytes.len())
    }

    fn load(&mut self) {
        self.loaded = Some(self.fory.deserialize(&self.bytes).expect("it has just been saved"));
    }

    fn check(&self) -> Result<(), String> {
        let strong = self.loaded.as_ref().ok_or("nothing was loaded")?.strong()?;
        let result = compare(&strong, self.original);
        cut(&strong);
        result
    }

    fn free(&mut self) {
        drop(self.loaded.take());
    }

    fn forget(&mut self) {
        self.bytes = Vec::new();
    }
}

//! The contenders of this library: hand-written commands, and fields of a world.

use std::marker::PhantomData;

use persist::history::{CommandEdit, Merge, Proof};
use persist::{
    Command, Component, FieldPath, History, ObjectId, Persist, Result, Value, World, field,
};

use super::subject::{Document, EDITS, OBJECTS, Subject, Transform, transform};

/// A command by hand.
pub(crate) struct ByCommand {
    document: Document,
    history: History<Document>,
}

/// Holds the value that is not in the document.
struct Set {
    object: usize,
    x: f32,
}

impl Set {
    fn swap(&mut self, document: &mut Document) {
        std::mem::swap(&mut document.objects[self.object].x, &mut self.x);
    }
}

impl Command<Document> for Set {
    fn apply(&mut self, edit: &mut CommandEdit<'_, Document>) -> Result<()> {
        self.swap(edit.target());
        Ok(())
    }

    fn undo(&mut self, document: &mut Document) -> Result<()> {
        self.swap(document);
        Ok(())
    }

    fn merge(&mut self, next: &Self) -> Result<Merge> {
        // This command holds the value from before both.
        Ok(if next.object == self.object { Merge::Yes } else { Merge::No })
    }
}

impl ByCommand {
    pub(crate) fn new() -> Self {
        Self { document: Document::new(), history: History::new(None) }
    }
}

impl Subject for ByCommand {
    fn clear(&mut self) {
        self.history.clear(&mut self.document).expect("no transaction is open");
    }

    fn set(&mut self, object: usize, x: f32) {
        self.history.apply(&mut self.document, Set { object, x }).expect("it is there");
    }

    fn drag(&mut self) {
        let drag = self.history.begin_drag("");
        (0..EDITS).for_each(|n| self.set(0, n as f32));
        self.history.end_drag(drag);
    }

    fn undo(&mut self) -> bool {
        self.history.undo(&mut self.document).expect("it can be undone")
    }

    fn redo(&mut self) -> bool {
        self.history.redo(&mut self.document).expect("it can be redone")
    }

    fn x(&self, object: usize) -> f32 {
        self.document.objects[object].x
    }

    fn entries(&self) -> usize {
        self.history.entries().len()
    }

    fn bytes(&self) -> Option<usize> {
        Some(self.history.entries().map(|entry| entry.bytes).sum())
    }
}

/// A component that has the field to be set.
pub(crate) trait Movable: Component {
    fn new(object: usize) -> Self;
    fn path() -> FieldPath;
    fn x(&self) -> f32;
    fn x_mut(&mut self) -> &mut f32;
}

impl Movable for Transform {
    fn new(object: usize) -> Self {
        transform(object)
    }

    fn path() -> FieldPath {
        field!(Transform.x)
    }

    fn x(&self) -> f32 {
        self.x
    }

    fn x_mut(&mut self) -> &mut f32 {
        &mut self.x
    }
}

/// A component of 20 fields.
#[derive(Persist)]
pub(crate) struct Creature {
    name: String,
    level: u32,
    health: i32,
    most_health: i32,
    mana: i32,
    speed: f32,
    strength: f32,
    is_hostile: bool,
    team: u8,
    transform: Transform,
    x: f32,
    velocity: (f32, f32, f32),
    target: Option<u32>,
    sight: f32,
    hearing: f32,
    items: Vec<u32>,
    gold: u64,
    age: f64,
    mood: u8,
    seed: u64,
}

impl Component for Creature {}

impl Movable for Creature {
    fn new(object: usize) -> Self {
        let transform = transform(object);
        Self {
            name: format!("Creature{object}"),
            level: 3,
            health: 70,
            most_health: 100,
            mana: 20,
            speed: 1.5,
            strength: 12.0,
            is_hostile: true,
            team: 2,
            transform,
            x: transform.x,
            velocity: (1.0, 0.0, 0.5),
            target: Some(7),
            sight: 30.0,
            hearing: 10.0,
            items: (0..8).collect(),
            gold: 250,
            age: 12.5,
            mood: 1,
            seed: object as u64,
        }
    }

    fn path() -> FieldPath {
        field!(Creature.x)
    }

    fn x(&self) -> f32 {
        self.x
    }

    fn x_mut(&mut self) -> &mut f32 {
        &mut self.x
    }
}

/// Another class of components; a world has some.
#[derive(Persist)]
struct Other<const N: u8>(f32);

impl<const N: u8> Component for Other<N> {}

/// Fields of the objects of a world.
pub(crate) struct OfWorld<T> {
    world: World,
    history: History,
    objects: Vec<ObjectId>,
    path: FieldPath,
    set: fn(&mut Self, ObjectId, f32) -> Result<()>,
    of: PhantomData<T>,
}

impl<T: Movable> OfWorld<T> {
    /// Fields that are set by their path.
    pub(crate) fn by_path() -> Self {
        Self::new(|this, object, x| {
            let old = this.history.set(&mut this.world, object, &this.path, x)?;
            debug_assert_ne!(old, Value::F32(x), "it gets another value");
            Ok(())
        })
    }

    /// Components that are handed out, and compared with what they were.
    pub(crate) fn by_edit() -> Self {
        Self::new(|this, object, x| {
            this.history.edit(&mut this.world, "", |edit| {
                *edit.get_mut::<T>(object)?.x_mut() = x;
                Ok(())
            })
        })
    }

    fn new(set: fn(&mut Self, ObjectId, f32) -> Result<()>) -> Self {
        let mut world = World::new();
        let others = [
            World::register_component::<Other<0>>,
            World::register_component::<Other<1>>,
            World::register_component::<Other<2>>,
            World::register_component::<Other<3>>,
            World::register_component::<Other<4>>,
            World::register_component::<Other<5>>,
            World::register_component::<Other<6>>,
            World::register_component::<Other<7>>,
            World::register_component::<Other<8>>,
            World::register_component::<Other<9>>,
        ];
        for register in others {
            register(&mut world).expect("a class");
        }
        let objects = (0..OBJECTS).map(|n| {
            let object = world.spawn("Object");
            world.attach(object, T::new(n)).expect("it is there");
            object
        });
        let objects = objects.collect();
        let mut history = History::new(None);
        history.set_proof(Proof::Off);
        Self { world, history, objects, path: T::path(), set, of: PhantomData }
    }
}

impl<T: Movable> Subject for OfWorld<T> {
    fn clear(&mut self) {
        self.history.clear(&mut self.world).expect("no transaction is open");
    }

    fn set(&mut self, object: usize, x: f32) {
        let object = self.objects[object];
        (self.set)(self, object, x).expect("it is there");
    }

    fn drag(&mut self) {
        let drag = self.history.begin_drag("");
        (0..EDITS).for_each(|n| self.set(0, n as f32));
        self.history.end_drag(drag);
    }

    fn undo(&mut self) -> bool {
        self.history.undo(&mut self.world).expect("it can be undone")
    }

    fn redo(&mut self) -> bool {
        self.history.redo(&mut self.world).expect("it can be redone")
    }

    fn x(&self, object: usize) -> f32 {
        self.world.get::<T>(self.objects[object]).map_or(0.0, T::x)
    }

    fn entries(&self) -> usize {
        self.history.entries().len()
    }

    fn bytes(&self) -> Option<usize> {
        Some(self.history.entries().map(|entry| entry.bytes).sum())
    }
}

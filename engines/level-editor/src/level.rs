//! The components and resources of a level.

use persist::{ObjectId, Persist, Result, Saves, World, history};

/// Returns saves with the classes of levels.
pub fn saves() -> Result<Saves> {
    let saves = Saves::new().application("level-editor", env!("CARGO_PKG_VERSION"))?;
    saves.register_component::<Place>()?;
    saves.register_component::<Sprite>()?;
    saves.register_component::<Lamp>()?;
    saves.register_component::<Door>()?;
    saves.register_component::<Patrol>()?;
    saves.register_resource::<Settings>()?;
    Ok(saves)
}

/// The position of an object, relative to its parent.
#[derive(Persist, Clone, Copy, Default)]
#[persist(component)]
pub struct Place {
    pub x: f32,
    pub y: f32,
}

/// A filled rectangle.
#[derive(Persist)]
#[persist(component)]
pub struct Sprite {
    #[persist(range = 1.0..=4000.0)]
    pub width: f32,
    #[persist(range = 1.0..=4000.0)]
    pub height: f32,
    #[persist(color)]
    pub color: [u8; 3],
}

/// A light around an object.
#[derive(Persist)]
#[persist(component)]
pub struct Lamp {
    #[persist(range = 8.0..=400.0, help = "How far the light reaches, in pixels")]
    pub radius: f32,
    #[persist(color)]
    pub color: [u8; 3],
    #[persist(label = "is lit")]
    pub is_on: bool,
}

/// A door to another object.
#[derive(Persist, Default)]
#[persist(component)]
pub struct Door {
    #[persist(label = "leads to")]
    pub leads_to: Option<ObjectId>,
    pub lock: Lock,
}

/// The lock of a door.
#[derive(Persist, Default)]
pub enum Lock {
    #[default]
    #[persist(empty)]
    Open,
    Key {
        name: String,
    },
    Code(u16),
}

/// A patrol from point to point, relative to the parent of the guard.
#[derive(Persist)]
#[persist(component)]
pub struct Patrol {
    pub points: Vec<Place>,
    #[persist(range = 0.0..=200.0, help = "In pixels per second")]
    pub speed: f32,
    /// The point to which the guard walks. The game changes it, so the inspector hides it.
    #[persist(hidden)]
    pub next: u32,
}

/// The settings of a level, a resource of the world.
#[derive(Persist)]
pub struct Settings {
    pub title: String,
    #[persist(color)]
    pub background: [u8; 3],
    #[persist(range = 0.0..=64.0, help = "Drags end on multiples of it; 0 for none")]
    pub grid: f32,
}

impl Default for Settings {
    fn default() -> Self {
        Self { title: String::from("Untitled"), background: [24, 28, 34], grid: 8.0 }
    }
}

/// Returns the position of an object in the level.
pub fn position(world: &World, object: ObjectId) -> Place {
    let mut at = Place::default();
    for object in std::iter::successors(Some(object), |object| world.parent(*object)) {
        if let Some(place) = world.get::<Place>(object) {
            at = Place { x: at.x + place.x, y: at.y + place.y };
        }
    }
    at
}

/// An edit of a level.
pub type Edit<'e> = history::Edit<'e, World>;

/// An entry of the menu "Add": a name, and a function that spawns the object at a place.
pub type Template = (&'static str, fn(&mut Edit<'_>, Place) -> Result<ObjectId>);

pub const TEMPLATES: [Template; 4] = [
    ("Wall", |edit, place| {
        edit.spawn_with(
            "Wall",
            (place, Sprite { width: 96.0, height: 16.0, color: [120, 124, 132] }),
        )
    }),
    ("Lamp", |edit, place| {
        let lamp = Lamp { radius: 72.0, color: [255, 214, 130], is_on: true };
        edit.spawn_with(
            "Lamp",
            (place, Sprite { width: 12.0, height: 12.0, color: lamp.color }, lamp),
        )
    }),
    ("Door", |edit, place| {
        let sprite = Sprite { width: 40.0, height: 16.0, color: [150, 98, 52] };
        edit.spawn_with("Door", (place, sprite, Door::default()))
    }),
    ("Guard", |edit, place| {
        let sprite = Sprite { width: 20.0, height: 20.0, color: [176, 58, 64] };
        let end = Place { x: place.x + 120.0, y: place.y };
        edit.spawn_with(
            "Guard",
            (place, sprite, Patrol { points: vec![place, end], speed: 40.0, next: 1 }),
        )
    }),
];

/// Fills a new level with an example.
pub fn sample(edit: &mut Edit<'_>) -> Result<()> {
    edit.insert_resource(Settings { title: String::from("The keep"), ..Settings::default() })?;
    let place = |x, y| Place { x, y };
    let stone = |width, height| Sprite { width, height, color: [120, 124, 132] };

    let hall = edit.spawn_with(
        "Hall",
        (place(-136.0, 0.0), Sprite { width: 240.0, height: 200.0, color: [52, 56, 64] }),
    )?;
    let yard = edit.spawn_with(
        "Yard",
        (place(152.0, 0.0), Sprite { width: 240.0, height: 200.0, color: [44, 62, 48] }),
    )?;
    for (room, name) in [(hall, "Hall"), (yard, "Yard")] {
        for (side, y) in [("north", -108.0), ("south", 108.0)] {
            let wall =
                edit.spawn_with(&format!("{name} {side}"), (place(0.0, y), stone(256.0, 16.0)))?;
            edit.set_parent(wall, Some(room))?;
        }
    }
    let door = edit.spawn_with(
        "Gate",
        (place(8.0, 0.0), Sprite { width: 24.0, height: 64.0, color: [150, 98, 52] }),
    )?;
    edit.attach(
        door,
        Door { leads_to: Some(yard), lock: Lock::Key { name: String::from("brass") } },
    )?;
    for (room, name, x) in [(hall, "Torch", -64.0), (hall, "Candle", 56.0)] {
        let lamp = Lamp { radius: 64.0, color: [255, 214, 130], is_on: true };
        let lamp = edit.spawn_with(
            name,
            (place(x, -40.0), Sprite { width: 12.0, height: 12.0, color: lamp.color }, lamp),
        )?;
        edit.set_parent(lamp, Some(room))?;
    }
    let points = vec![place(-64.0, 56.0), place(64.0, 56.0), place(64.0, -56.0)];
    let guard = (
        place(-64.0, 56.0),
        Sprite { width: 20.0, height: 20.0, color: [176, 58, 64] },
        Patrol { points, speed: 40.0, next: 1 },
    );
    let guard = edit.spawn_with("Guard", guard)?;
    edit.set_parent(guard, Some(yard))
}

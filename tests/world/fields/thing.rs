//! A component with everything in it.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};

use persist::{Component, ObjectId, Persist};

#[derive(Persist, Clone, Debug, PartialEq)]
#[persist(class = "game.Thing")]
pub(crate) struct Thing {
    #[persist(rename = "place")]
    pub position: Place,
    pub level: u16,
    pub alive: bool,
    pub letter: char,
    pub name: String,
    pub mood: Mood,
    pub pet: Option<Pet>,
    pub boxed: Box<Place>,
    pub cell: RefCell<Place>,
    pub items: Vec<Item>,
    pub grid: [[f64; 2]; 2],
    pub pair: (u8, Place),
    pub prices: BTreeMap<String, i64>,
    pub by_slot: HashMap<Slot, u8>,
    pub by_number: BTreeMap<i8, String>,
    pub length: Metres,
    pub number: Number,
    pub friend: Option<ObjectId>,
    #[persist(with = backwards)]
    pub secret: Secret,
    #[persist(skip)]
    pub cache: Vec<u8>,
}

#[derive(Persist, Clone, Debug, PartialEq)]
pub(crate) struct Place {
    pub x: f32,
    pub y: f32,
}

#[derive(Persist, Clone, Debug, PartialEq)]
pub(crate) enum Mood {
    Calm,
    Angry { cause: Place, at: Option<ObjectId> },
}

#[derive(Persist, Clone, Debug, PartialEq)]
pub(crate) struct Pet {
    pub name: String,
    pub at: Place,
}

#[derive(Persist, Clone, Debug, PartialEq)]
pub(crate) struct Item {
    pub count: u32,
    pub spots: Vec<i16>,
}

#[derive(Persist, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Slot {
    Head,
    Hand,
}

#[derive(Persist, Clone, Debug, PartialEq)]
#[persist(transparent)]
pub(crate) struct Metres(pub f32);

#[derive(Persist, Clone, Debug, PartialEq)]
pub(crate) struct Number(pub u64);

/// A class of its own, stored as something else.
#[derive(Persist, Clone, Debug, Default, PartialEq)]
pub(crate) struct Secret(pub String);

mod backwards {
    use super::Secret;

    pub(super) type Stored = String;

    pub(super) fn store(secret: &Secret) -> Stored {
        secret.0.chars().rev().collect::<String>().chars().rev().collect()
    }

    pub(super) fn restore(stored: Stored) -> Result<Secret, String> {
        if stored.contains('!') {
            return Err("it is too loud".into());
        }
        Ok(Secret(stored))
    }
}

impl Component for Thing {}

impl Thing {
    pub(crate) fn sample() -> Self {
        let place = |x, y| Place { x, y };
        Self {
            position: place(1.0, 2.0),
            level: 3,
            alive: true,
            letter: 'a',
            name: "Ada".into(),
            mood: Mood::Angry { cause: place(3.0, 4.0), at: None },
            pet: Some(Pet { name: "Rex".into(), at: place(5.0, 6.0) }),
            boxed: Box::new(place(7.0, 8.0)),
            cell: RefCell::new(place(9.0, 10.0)),
            items: vec![Item { count: 1, spots: vec![] }, Item { count: 2, spots: vec![4, 5] }],
            grid: [[1.0, 2.0], [3.0, 4.0]],
            pair: (1, place(11.0, 12.0)),
            prices: [("long sword".into(), 50), ("axe".into(), 20)].into(),
            by_slot: [(Slot::Head, 5), (Slot::Hand, 6)].into(),
            by_number: [(3, "drei".into()), (-3, "minus drei".into())].into(),
            length: Metres(1.5),
            number: Number(9),
            friend: None,
            secret: Secret("hidden".into()),
            cache: vec![1, 2, 3],
        }
    }
}

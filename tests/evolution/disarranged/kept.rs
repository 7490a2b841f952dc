//! What a program does not know, and keeps, comes back to the one that does.

use std::rc::Rc;

use persist::{Component, Persist, SaveManager, Saves, Unknown, World};
use persist_tests::support::disarranged::check;

use super::{Shared, seeds, shared};

#[persist::dynamic(unknown = Missing)]
trait Item {}

#[derive(Persist)]
struct Missing {
    unknown: Unknown,
}

impl From<Unknown> for Missing {
    fn from(unknown: Unknown) -> Self {
        Self { unknown }
    }
}

impl AsRef<Unknown> for Missing {
    fn as_ref(&self) -> &Unknown {
        &self.unknown
    }
}

impl Item for Missing {}

#[derive(Persist)]
struct Person {
    name: String,
    age: u16,
    chest: Vec<Box<dyn Item>>,
    hand: Option<Shared<dyn Item>>,
}

#[derive(Persist)]
struct Sword {
    sharp: u8,
    length: f32,
}

/// Of a mod, as what it refers to.
#[derive(Persist)]
struct Laser {
    charge: u32,
    owner: Option<Shared<Person>>,
    lens: Rc<Lens>,
    modes: Vec<Mode>,
}

#[derive(Persist)]
struct Lens {
    focus: f64,
    next: Option<Rc<Lens>>,
}

#[derive(Persist)]
enum Mode {
    Off,
    Beam { power: i16, wide: bool },
}

impl Item for Sword {}
impl Item for Laser {}

fn game() -> SaveManager {
    let saves = Saves::new();
    saves.register::<Person>().unwrap();
    saves.register_as::<Sword, dyn Item>().unwrap();
    saves.manager()
}

fn modded() -> SaveManager {
    let manager = game();
    manager.register_as::<Laser, dyn Item>().unwrap();
    manager
}

#[test]
fn items_of_a_mod_survive_a_day_without_it() {
    let person = |name: &str| {
        let (name, chest, hand) = (name.into(), Vec::new(), None);
        shared(Person { name, age: 40, chest, hand })
    };
    let laser = |charge, owner| {
        let next = Some(Rc::new(Lens { focus: -0.5, next: None }));
        let modes = vec![Mode::Off, Mode::Beam { power: -300, wide: true }];
        Laser { charge, owner, lens: Rc::new(Lens { focus: 2.0, next }), modes }
    };
    let (ada, bob) = (person("Ada"), person("Bob"));
    let gun: Shared<dyn Item> = shared(laser(7, Some(bob.clone())));
    ada.borrow_mut().chest =
        vec![Box::new(Sword { sharp: 9, length: 1.5 }), Box::new(laser(70_000, None))];
    ada.borrow_mut().hand = Some(gun.clone());
    bob.borrow_mut().hand = Some(gun);
    let mut manager = modded();
    manager.add(&ada).unwrap();
    manager.add(&bob).unwrap();
    let save = manager.to_vec().unwrap();
    let tally = seeds(|seed| {
        check(&save, seed, |save| {
            let first = game().from_slice(save)?;
            // What was kept is still of the other schema: the mod's program converts it.
            let second = modded().from_slice(&first.to_vec()?)?;
            let reports = vec![first.report().clone(), second.report().clone()];
            Ok((second.to_vec()?, reports))
        })
    });
    assert!(tally.moved > 80 && tally.wider > 30 && tally.narrower > 20, "{tally:?}");
    bob.borrow_mut().hand = None;
    ada.borrow_mut().hand = None;
}

mod newer {
    use super::*;

    #[derive(Persist)]
    #[persist(class = "Hero")]
    pub(super) struct Hero {
        pub(super) name: String,
        pub(super) mood: (u16, i32),
        pub(super) level: u32,
        pub(super) perks: Vec<Perk>,
        pub(super) rest: u8,
    }

    #[derive(Persist)]
    #[persist(class = "Perk")]
    pub(super) enum Perk {
        Fast,
        Strong { by: u16 },
        Lucky(i8, String),
    }
}

mod older {
    use super::*;

    #[derive(Persist)]
    #[persist(class = "Hero")]
    pub(super) struct Hero {
        level: u32,
        name: String,
        perks: Vec<Perk>,
    }

    #[derive(Persist)]
    #[persist(class = "Perk")]
    pub(super) enum Perk {
        Fast,
        #[persist(other)]
        Other(Unknown),
    }
}

#[test]
fn fields_and_variants_that_an_older_program_keeps_come_back() {
    let hero = newer::Hero {
        name: "Ada".into(),
        mood: (300, -5),
        level: 12,
        perks: vec![
            newer::Perk::Lucky(-3, "charm".into()),
            newer::Perk::Fast,
            newer::Perk::Strong { by: 200 },
        ],
        rest: 3,
    };
    let mut manager = SaveManager::new();
    manager.add(&shared(hero)).unwrap();
    let save = manager.to_vec().unwrap();
    let tally = seeds(|seed| {
        check(&save, seed, |save| {
            let manager = SaveManager::new();
            manager.register::<older::Hero>()?;
            let loaded = manager.from_slice(save)?;
            let kept = loaded.to_vec()?;
            let manager = SaveManager::new();
            manager.register::<newer::Hero>()?;
            let loaded = manager.from_slice(&kept)?;
            // The reports differ by the classes of what is kept; the bytes are what counts.
            Ok((loaded.to_vec()?, Vec::new()))
        })
    });
    assert!(tally.moved > 40 && tally.wider > 20 && tally.narrower > 20, "{tally:?}");
}

#[derive(Persist)]
struct Position {
    x: i32,
    y: i32,
}

#[derive(Persist)]
struct Health {
    now: u16,
    most: u32,
    healed: Vec<u64>,
}

impl Component for Position {}
impl Component for Health {}

#[test]
fn components_of_a_mod_survive_a_day_without_it() -> persist::Result<()> {
    let mut world = World::new();
    for number in 0..40_u16 {
        let orc = world.spawn("Orc");
        world.attach(orc, Position { x: i32::from(number) - 20, y: 70_000 })?;
        world.attach(orc, Health { now: number, most: 100, healed: vec![1, number.into()] })?;
    }
    let save = persist::to_vec(&world)?;
    let tally = seeds(|seed| {
        check(&save, seed, |save| {
            let poor = Saves::new();
            poor.register_component::<Position>()?;
            let first = poor.from_slice::<World>(save)?;
            let kept = poor.to_vec(&first)?;
            let saves = Saves::new();
            saves.register_component::<Position>()?;
            saves.register_component::<Health>()?;
            let second = saves.from_slice::<World>(&kept)?;
            let reports = vec![first.report().clone(), second.report().clone()];
            Ok((saves.to_vec(&second)?, reports))
        })
    });
    assert!(tally.moved > 40 && tally.wider > 20 && tally.narrower > 20, "{tally:?}");
    Ok(())
}

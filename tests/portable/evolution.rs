//! Saves of other versions of a program.

use persist::{Persist, Saves};

mod old {
    #[derive(persist::Persist)]
    #[persist(class = "portable.Unit")]
    pub(crate) struct Unit {
        pub(crate) name: String,
        pub(crate) hp: u16,
        pub(crate) gold: i32,
        pub(crate) place: (f32, f32),
    }
}

mod newer {
    #[derive(persist::Persist)]
    #[persist(class = "portable.Unit")]
    pub(crate) struct Unit {
        pub(crate) health: u32,
        pub(crate) gold: i64,
        pub(crate) place: (f32, f32),
    }
}

#[derive(Persist, Clone, Debug, PartialEq)]
#[persist(class = "portable.Unit")]
struct Unit {
    #[persist(default = 1)]
    level: u8,
    #[persist(alias = "hp")]
    health: u32,
    name: String,
    gold: i64,
}

fn old_save() -> Vec<u8> {
    let unit = old::Unit { name: "Ada".into(), hp: 20, gold: -7, place: (1.5, 2.5) };
    persist::to_vec(&unit).unwrap()
}

pub(crate) fn an_older_save_loads() {
    let unit: Unit = persist::from_slice(&old_save()).unwrap();
    assert_eq!(unit, Unit { level: 1, health: 20, name: "Ada".into(), gold: -7 });
}

pub(crate) fn what_a_program_does_not_know_goes_back() {
    let saves = Saves::new();
    let mut unit = saves.from_slice::<Unit>(&old_save()).unwrap();
    unit.gold = 8;
    let save = saves.to_vec(&unit).unwrap();
    let back: newer::Unit = persist::from_slice(&save).unwrap();
    assert_eq!((back.health, back.gold, back.place), (20, 8, (1.5, 2.5)));
}

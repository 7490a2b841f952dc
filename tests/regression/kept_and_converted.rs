//! What an attack on older saves found: a `convert` that was passed over for still older saves, kept
//! parts that stayed against `drop_unknown`, or went to another variant, or were lost from a small
//! struct.

use persist::save::LoadEvent;
use persist::{LoadOptions, Persist, Saves};

#[derive(Persist)]
#[persist(class = "Purse")]
struct OldPurse {
    coins: u16,
}

#[derive(Persist)]
struct Purse {
    #[persist(convert(in_silver, few_in_silver))]
    coins: u64,
}

fn in_silver(gold: u32) -> u64 {
    u64::from(gold) * 20
}

fn few_in_silver(gold: u16) -> u64 {
    in_silver(gold.into())
}

#[test]
fn a_still_older_number_goes_through_a_convert_of_its_own() {
    let save = persist::to_vec(&OldPurse { coins: 3 }).unwrap();
    assert_eq!(persist::from_slice::<Purse>(&save).unwrap().coins, 60);
}

mod modded {
    #[derive(persist::Persist)]
    #[persist(class = "Case")]
    pub(super) struct Case {
        pub(super) a: u8,
        pub(super) b: u16,
    }

    #[derive(persist::Persist)]
    #[persist(class = "Shape")]
    pub(super) enum Shape {
        Circle {
            radius: u8,
            colour: u8,
        },
        Square {
            side: u8,
            #[persist(default)]
            colour: u8,
        },
    }
}

#[derive(Persist, Default)]
struct Case {
    a: u8,
}

#[derive(Persist)]
enum Shape {
    Circle { radius: u8 },
    Square { side: u8 },
}

#[test]
fn a_field_that_is_unknown_in_a_small_struct_is_kept_and_dropped_on_request() {
    let save = persist::to_vec(&modded::Case { a: 1, b: 2 }).unwrap();
    let saves = Saves::new();
    let kept = saves.to_vec(&saves.from_slice::<Case>(&save).unwrap()).unwrap();
    assert_eq!(persist::from_slice::<modded::Case>(&kept).unwrap().b, 2);

    let saves = saves.load_options(LoadOptions::new().drop_unknown(true));
    let case = saves.from_slice::<Case>(&kept).unwrap();
    let changes: Vec<LoadEvent> = case.report().rows().iter().map(|row| row.event).collect();
    assert_eq!(changes, [LoadEvent::Dropped]);
    let dropped = saves.to_vec(&case).unwrap();
    assert_eq!(dropped, persist::to_vec(&Case { a: 1 }).unwrap());
}

#[test]
fn what_is_kept_of_one_variant_is_not_given_to_another() {
    let save = persist::to_vec(&modded::Shape::Circle { radius: 1, colour: 7 }).unwrap();
    let mut shape = Saves::new().from_slice::<Shape>(&save).unwrap();
    *shape = Shape::Circle { radius: 2 };
    let same = persist::to_vec(&shape).unwrap();
    let modded::Shape::Circle { radius: 2, colour: 7 } = persist::from_slice(&same).unwrap() else {
        panic!("a circle with its colour")
    };
    *shape = Shape::Square { side: 2 };
    let other = persist::to_vec(&shape).unwrap();
    let modded::Shape::Square { side: 2, colour: 0 } = persist::from_slice(&other).unwrap() else {
        panic!("a square with the default colour")
    };
}

//! A migration that moved a value was refused if an earlier program had kept something of that
//! value: the kept part is of no class that the program has.

#![allow(clippy::unwrap_used, reason = "the helper is part of the tests")]

use persist::{Persist, Record, Value};

/// One program: its first version, and the second one, which has lists of both.
macro_rules! program {
    ($name:ident { $($pet:tt)* } { $($mood:tt)* }) => {
        #[allow(dead_code, unused_imports, reason = "not all keep something, or are a first one")]
        mod $name {
            use persist::{Persist, Unknown};

            use super::gather;

            #[derive(Persist, Debug)]
            pub(super) struct Pet {
                $($pet)*
            }

            #[derive(Persist, Debug)]
            pub(super) enum Mood {
                $($mood)*
            }

            #[derive(Persist)]
            #[persist(class = "Hero")]
            pub(super) struct First {
                pub(super) pet: Pet,
                pub(super) mood: Option<Mood>,
            }

            #[derive(Persist, Debug)]
            #[persist(class = "Hero", version = 2, migrate(1 = gather))]
            pub(super) struct Second {
                pub(super) pets: Vec<Pet>,
                pub(super) moods: Vec<Option<Mood>>,
            }
        }
    };
}

program! { modded
    { pub(super) name: String, pub(super) mana: u16, pub(super) home: Option<Box<Pet>> }
    { Calm, Wild { since: u8 } }
}

program! { plain
    { pub(super) name: String, #[persist(unknown)] pub(super) rest: Unknown }
    { Calm, #[persist(other)] Other(Unknown) }
}

program! { renamed
    { #[persist(alias = "mana")] magic: u32, name: String, #[persist(unknown)] rest: Unknown }
    { Calm, #[persist(alias = "Wild")] Mad { since: u8 }, #[persist(other)] Other(Unknown) }
}

fn gather(hero: &mut Record, _from: u32) {
    for (one, several) in [("pet", "pets"), ("mood", "moods")] {
        let found: Vec<Value> = hero.take(one).into_iter().collect();
        hero.set(several, Value::Seq(found));
    }
}

fn through<From: Persist, To: Persist>(value: &From) -> To {
    persist::from_slice(&persist::to_vec(value).unwrap()).unwrap()
}

/// A save of the first version, by a program that knows little.
fn kept() -> plain::First {
    let home = modded::Pet { name: "Cid".into(), mana: 1, home: None };
    let pet = modded::Pet { name: "Bo".into(), mana: 300, home: Some(Box::new(home)) };
    through(&modded::First { pet, mood: Some(modded::Mood::Wild { since: 7 }) })
}

const ALL: &str = r#"[Pet { name: "Bo", mana: 300, home: Some(Pet { name: "Cid", mana: 1, home: None }) }] [Some(Wild { since: 7 })]"#;

#[test]
fn what_is_kept_of_a_moved_value_moves_along() {
    let plain: plain::Second = through(&kept());
    let names: Vec<&str> = plain.pets[0].rest.names().collect();
    assert_eq!(names, ["Pet.mana", "Pet.home"]);
    let back: modded::Second = through(&plain);
    assert_eq!(format!("{:?} {:?}", back.pets, back.moods), ALL);
}

#[test]
fn what_was_kept_of_a_moved_value_is_found_by_a_program_that_knows_it() {
    let all: modded::Second = through(&kept());
    assert_eq!(format!("{:?} {:?}", all.pets, all.moods), ALL);

    let renamed: renamed::Second = through(&kept());
    let found = format!("{:?} {:?}", renamed.pets, renamed.moods);
    assert!(
        found.starts_with("[Pet { magic: 300, name: \"Bo\", rest: Unknown(Pet.home, "),
        "{found}"
    );
    assert!(found.ends_with("[Some(Mad { since: 7 })]"), "{found}");
    let back: plain::Second = through(&renamed);
    assert_eq!(back.pets[0].name, "Bo");
}

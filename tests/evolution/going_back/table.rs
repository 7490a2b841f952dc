//! The rows of the table of `docs/reference/going-back.md`: what an older program does with a change, and what comes back
//! to the newer one.

use persist::save::LoadEvent;
use persist::{Component, Error, ErrorKind, Persist, Record, Saves, World};

use crate::matrix::harness::{LENIENT, load, manager, pass, row, save, try_load};

/// Two programs: their classes of one name.
macro_rules! programs {
    ({ $($old:tt)* } { $($new:tt)* }) => {
        mod old {
            #[allow(unused_imports, reason = "not all need it")]
            use super::*;

            #[derive(persist::Persist, Clone, Debug, PartialEq)]
            $($old)*
        }

        mod new {
            #[allow(unused_imports, reason = "not all need it")]
            use super::*;

            #[derive(persist::Persist, Clone, Debug, PartialEq)]
            $($new)*
        }
    };
}

/// What the older program says to a save.
fn refused<Old: Persist>(save: &[u8]) -> Error {
    try_load::<Old>(save, LENIENT).map(drop).unwrap_err()
}

mod renamed {
    use super::*;

    programs! {
        {
            pub(super) struct Hero { #[persist(default = 1)] pub(super) hp: u32 }
        }
        {
            pub(super) struct Hero { #[persist(alias = "hp")] pub(super) health: u32 }
        }
    }

    #[test]
    fn a_renamed_field() {
        let first = save(new::Hero { health: 77 });
        let second = pass::<old::Hero>(&first, |hero| assert_eq!(hero.hp, 1));
        assert_eq!(load::<new::Hero>(&second).0.borrow().health, 77);
        let second = pass::<old::Hero>(&first, |hero| hero.hp = 5);
        assert_eq!(load::<new::Hero>(&second).0.borrow().health, 5);
    }
}

mod added {
    use super::*;

    programs! {
        {
            pub(super) struct Hero { pub(super) name: String }
        }
        {
            pub(super) struct Hero {
                pub(super) name: String,
                #[persist(default = 3)] pub(super) mana: u32,
            }
        }
    }

    #[test]
    fn an_added_field() {
        let first = save(new::Hero { name: "Ada".into(), mana: 9 });
        let second = pass::<old::Hero>(&first, |hero| hero.name = "Bob".into());
        let (hero, _) = load::<new::Hero>(&second);
        assert_eq!(*hero.borrow(), new::Hero { name: "Bob".into(), mana: 9 });
    }
}

mod removed {
    use super::*;

    programs! {
        {
            pub(super) struct Hero {
                pub(super) name: String,
                #[persist(default = 5)] pub(super) gold: u32,
            }
        }
        {
            pub(super) struct Hero { pub(super) name: String }
        }
    }

    #[derive(Persist, Debug)]
    #[persist(class = "Hero")]
    struct Needs {
        gold: u32,
    }

    #[test]
    fn a_removed_field() {
        let first = save(new::Hero { name: "Ada".into() });
        let second = pass::<old::Hero>(&first, |hero| {
            assert_eq!(hero.gold, 5);
            hero.gold = 6;
        });
        let (hero, rows) = load::<new::Hero>(&second);
        assert_eq!(hero.borrow().name, "Ada");
        assert_eq!(rows, [row(LoadEvent::Kept, "Hero", "gold", 1)]);
        let third = pass::<new::Hero>(&second, |_| {});
        assert_eq!(load::<old::Hero>(&third).0.borrow().gold, 6);

        let error = refused::<Needs>(&first);
        assert_eq!((error.kind(), error.field()), (ErrorKind::MissingField, Some("gold")));
    }
}

mod widened {
    use super::*;

    programs! {
        {
            pub(super) struct Hero { pub(super) ammo: u16 }
        }
        {
            pub(super) struct Hero { pub(super) ammo: u32 }
        }
    }

    #[test]
    fn a_wider_number() {
        let second = pass::<old::Hero>(&save(new::Hero { ammo: 300 }), |hero| hero.ammo += 1);
        assert_eq!(load::<new::Hero>(&second).0.borrow().ammo, 301);
        let error = refused::<old::Hero>(&save(new::Hero { ammo: 70_000 }));
        assert_eq!((error.class(), error.field()), (Some("Hero"), Some("ammo")));
    }
}

mod converted {
    use super::*;

    programs! {
        {
            pub(super) struct Hero { pub(super) rank: u8 }
        }
        {
            pub(super) struct Hero {
                #[persist(convert = rank_of)] pub(super) rank: String,
            }
        }
    }

    fn rank_of(rank: u8) -> String {
        format!("rank {rank}")
    }

    #[test]
    fn another_kind() {
        let error = refused::<old::Hero>(&save(new::Hero { rank: "captain".into() }));
        assert_eq!((error.kind(), error.field()), (ErrorKind::KindMismatch, Some("rank")));
        assert_eq!(load::<new::Hero>(&save(old::Hero { rank: 3 })).0.borrow().rank, "rank 3");
    }
}

mod other_unit {
    use super::*;

    programs! {
        {
            pub(super) struct Purse { pub(super) money: u64 }
        }
        {
            #[persist(version = 2, since = 2)]
            pub(super) struct Purse {
                #[persist(convert(1 = to_gold))] pub(super) money: u32,
            }
        }
    }

    fn to_gold(cents: u64) -> u32 {
        u32::try_from(cents / 100).unwrap_or(u32::MAX)
    }

    #[test]
    fn another_unit_with_since() {
        let error = refused::<old::Purse>(&save(new::Purse { money: 250 }));
        assert_eq!((error.kind(), error.class()), (ErrorKind::NewerFormat, Some("Purse")));
        assert_eq!(load::<new::Purse>(&save(old::Purse { money: 250 })).0.borrow().money, 2);
    }
}

mod renamed_class {
    use super::*;

    programs! {
        {
            pub(super) struct Hero { pub(super) name: String }
        }
        {
            #[persist(alias = "Hero")]
            pub(super) struct Champion { pub(super) name: String }
        }
    }

    #[derive(Persist, Debug)]
    #[persist(class = "Game")]
    struct Game<H: Persist> {
        hero: H,
    }

    #[test]
    fn a_renamed_class() {
        let first = save(new::Champion { name: "Ada".into() });
        let loaded = manager::<old::Hero>(LENIENT).from_slice(&first).unwrap();
        assert_eq!(loaded.report().kept(), 1);
        let second = loaded.to_vec().unwrap();
        assert_eq!(load::<new::Champion>(&second).0.borrow().name, "Ada");

        let hero = new::Champion { name: "Ada".into() };
        let value = persist::to_vec(&hero).unwrap();
        let error = persist::from_slice::<old::Hero>(&value).unwrap_err();
        assert!(error.to_string().contains("Champion"), "{error}");
        let error = refused::<Game<old::Hero>>(&save(Game { hero }));
        assert!(error.to_string().contains("Champion"), "{error}");
    }
}

mod added_variant {
    use super::*;

    programs! {
        {
            pub(super) enum Rune {
                Fire,
                #[persist(other)]
                Other(persist::Unknown),
            }
        }
        {
            pub(super) enum Rune { Fire, Frost(u8) }
        }
    }

    #[derive(Persist, Debug)]
    #[persist(class = "Rune")]
    enum Closed {
        Fire,
    }

    #[test]
    fn an_added_variant() {
        let first = save(new::Rune::Frost(3));
        let second = pass::<old::Rune>(&first, |rune| assert_ne!(*rune, old::Rune::Fire));
        assert_eq!(*load::<new::Rune>(&second).0.borrow(), new::Rune::Frost(3));
        let error = refused::<Closed>(&first);
        assert!(error.to_string().contains("Frost"), "{error}");
        assert!(matches!(*load::<Closed>(&save(new::Rune::Fire)).0.borrow(), Closed::Fire));
    }
}

mod added_class {
    use super::*;

    programs! {
        {
            pub(super) struct Hero { pub(super) name: String }
        }
        {
            pub(super) struct Familiar { pub(super) power: u32 }
        }
    }

    impl Component for old::Hero {}
    impl Component for new::Familiar {}

    #[test]
    fn an_added_class() {
        let first = save(new::Familiar { power: 4 });
        let loaded = manager::<old::Hero>(LENIENT).from_slice(&first).unwrap();
        let second = loaded.to_vec().unwrap();
        assert_eq!(load::<new::Familiar>(&second).0.borrow().power, 4);

        let (newer, older) = (Saves::new(), Saves::new());
        newer.register_component::<new::Familiar>().unwrap();
        older.register_component::<old::Hero>().unwrap();
        let mut world = World::new();
        let ada = world.spawn("Ada");
        world.attach(ada, new::Familiar { power: 4 }).unwrap();
        let first = newer.to_vec(&world).unwrap();
        let second = older.to_vec(&older.from_slice::<World>(&first).unwrap()).unwrap();
        let world = newer.from_slice::<World>(&second).unwrap();
        assert_eq!(world.get::<new::Familiar>(ada), Some(&new::Familiar { power: 4 }));
    }
}

mod migrated {
    use super::*;

    programs! {
        {
            pub(super) struct Hero {
                #[persist(default)] pub(super) first: String,
                #[persist(default)] pub(super) last: String,
            }
        }
        {
            #[persist(version = 2, migrate(1 = join))]
            pub(super) struct Hero { pub(super) name: String }
        }
    }

    #[derive(Persist, Debug)]
    #[persist(class = "Hero", version = 2, since = 2, migrate(1 = join))]
    struct Closed {
        name: String,
    }

    fn join(hero: &mut Record, _: u32) {
        let mut text = |name| {
            let text = hero.take(name);
            text.and_then(|text| text.as_text().map(str::to_owned)).unwrap_or_default()
        };
        let name = format!("{} {}", text("first"), text("last"));
        hero.set("name", name);
    }

    #[test]
    fn a_migration() {
        let first = save(new::Hero { name: "Ada Love".into() });
        let second = pass::<old::Hero>(&first, |hero| assert_eq!(hero.first, ""));
        let (hero, rows) = load::<new::Hero>(&second);
        assert_eq!(hero.borrow().name, "Ada Love");
        assert!(rows.contains(&row(LoadEvent::Restored, "Hero", "name", 1)), "{rows:?}");

        let error = refused::<old::Hero>(&save(Closed { name: "Ada Love".into() }));
        assert_eq!((error.kind(), error.class()), (ErrorKind::NewerFormat, Some("Hero")));
        let old = save(old::Hero { first: "Ada".into(), last: "Love".into() });
        assert_eq!(load::<Closed>(&old).0.borrow().name, "Ada Love");
    }
}

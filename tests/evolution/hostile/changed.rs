//! True saves with changed bytes and items, through all that a load does in its slow paths.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::{Rc, Weak};
use std::time::{Duration, Instant};

use persist::{LoadOptions, Persist, Record, SaveManager, Unknown};
use persist_tests::support::short_or_long;
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64;

use super::{Shared, load, manager, shared};
use persist_tests::support::forge::{ADDED, Forged, Item, MET, restamp, try_load};

mod old {
    use super::*;

    #[derive(Persist)]
    pub(super) struct Gem {
        pub(super) carat: u16,
        pub(super) lost: String,
    }

    #[derive(Persist)]
    #[persist(class = "Side")]
    pub(super) enum Side {
        North,
        South(u8, Option<Shared<Case>>),
    }

    #[derive(Persist)]
    #[persist(class = "Case")]
    pub(super) struct Case {
        pub(super) number: u64,
        pub(super) gems: Vec<Shared<Gem>>,
        pub(super) gem: Gem,
        pub(super) maybe: Option<u8>,
        pub(super) sides: Vec<Side>,
        pub(super) map: BTreeMap<String, u32>,
        pub(super) other: Weak<RefCell<Case>>,
        pub(super) next: Option<Shared<Case>>,
        pub(super) gone: Vec<(u8, Option<Shared<Gem>>)>,
        pub(super) text: String,
    }
}

mod new {
    use super::*;

    #[derive(Persist)]
    #[persist(version = 2, migrate(1 = migrate))]
    pub(super) struct Gem {
        pub(super) heavy: u32,
    }

    fn migrate(record: &mut Record, _: u32) {
        record.rename("carat", "heavy");
    }

    #[derive(Persist)]
    #[persist(class = "Side")]
    pub(super) enum Side {
        North,
        #[persist(other)]
        Other(Unknown),
    }

    #[derive(Persist)]
    #[persist(class = "Case")]
    pub(super) struct Case {
        pub(super) next: Option<Shared<Case>>,
        pub(super) gems: Vec<Gem>,
        pub(super) gem: Shared<Gem>,
        pub(super) number: u16,
        pub(super) maybe: Vec<u16>,
        pub(super) other: Weak<RefCell<Case>>,
        pub(super) sides: Vec<Side>,
        pub(super) map: Vec<(String, u8)>,
        #[persist(convert = length)]
        pub(super) text: u64,
        #[persist(default = String::from("more"))]
        pub(super) more: String,
    }

    #[allow(clippy::needless_pass_by_value, reason = "a `convert` function owns what it gets")]
    fn length(old: String) -> u64 {
        old.len() as u64
    }

    /// Knows nearly nothing, so that nearly all is kept.
    #[derive(Persist)]
    #[persist(class = "Case")]
    pub(super) struct Little {
        pub(super) next: Option<Shared<Little>>,
        pub(super) gem: GemWithRest,
    }

    #[derive(Persist)]
    #[persist(class = "Gem")]
    pub(super) struct GemWithRest {
        #[persist(unknown)]
        pub(super) rest: Unknown,
    }
}

fn original() -> Vec<u8> {
    let gem = |carat| old::Gem { carat, lost: "lost".into() };
    let one = shared(gem(5));
    let case = |next| {
        shared(old::Case {
            number: 300,
            gems: vec![one.clone(), shared(gem(6)), one.clone()],
            gem: gem(7),
            maybe: Some(3),
            sides: vec![old::Side::North, old::Side::South(3, None)],
            map: [("a".into(), 1), ("b".into(), 2)].into(),
            other: Weak::new(),
            next,
            gone: vec![(1, Some(one.clone())), (2, None)],
            text: "text".into(),
        })
    };
    let last = case(None);
    let first = case(Some(last.clone()));
    last.borrow_mut().other = Rc::downgrade(&first);
    first.borrow_mut().sides.push(old::Side::South(9, Some(last)));
    let mut manager = SaveManager::new();
    manager.add(&first).unwrap();
    manager.to_vec().unwrap()
}

/// The same, behind a program that knows nearly nothing.
fn kept() -> Vec<u8> {
    let loaded = manager::<new::Little>().from_slice(&original()).unwrap();
    let save = loaded.to_vec().unwrap();
    let parsed = Forged::parse(&save);
    let is_kept = |item: &&Item| matches!(item, Item::Record { holder: 0, .. });
    assert!(parsed.items.iter().filter(is_kept).count() > 5);
    save
}

fn all_ways(save: &[u8]) {
    let options = [
        LoadOptions::default(),
        LoadOptions::new().clamp(true).fill(true),
        LoadOptions::new().clamp(true).drop_unknown(true),
    ];
    for options in options {
        again::<new::Case>(save, options);
        again::<new::Little>(save, options);
        again::<old::Case>(save, options);
    }
}

/// What can be loaded can be saved, and then loaded again.
fn again<T: Persist>(save: &[u8], options: LoadOptions) {
    let saves = manager::<T>().saves().clone().load_options(options);
    if let Ok(loaded) = saves.from_slice::<SaveManager>(save) {
        let circles = loaded.strong_cycles();
        if let Ok(save) = loaded.to_vec() {
            let loaded = saves.from_slice::<SaveManager>(&save).unwrap();
            assert_eq!(loaded.strong_cycles().len(), circles.len());
            loaded.dismantle();
        }
    }
}

#[test]
fn the_originals_are_loaded_in_all_ways() {
    for save in [original(), kept()] {
        let loaded = manager::<new::Case>().from_slice(&save).unwrap();
        {
            let case = loaded.first::<new::Case>().unwrap();
            let case = case.borrow();
            assert_eq!((case.number, case.text, &*case.more), (300, 4, "more"));
            let heavy: Vec<u32> = case.gems.iter().map(|gem| gem.heavy).collect();
            assert_eq!((heavy, case.gem.borrow().heavy), (vec![5, 6, 5], 7));
            assert_eq!(case.maybe, [3]);
            assert_eq!(case.map, [("a".into(), 1), ("b".into(), 2)]);
            let next = case.next.as_ref().unwrap();
            assert!(next.borrow().other.upgrade().is_some());
            assert!(matches!(case.sides[..], [new::Side::North, new::Side::Other(_), _]));
        }
        all_ways(&save);
        let loaded = manager::<old::Case>().from_slice(&save).unwrap();
        let case = loaded.first::<old::Case>().unwrap();
        assert_eq!(case.borrow().gone.len(), 2);
        assert!(matches!(case.borrow().sides[2], old::Side::South(9, Some(_))));
        assert_eq!((&*case.borrow().gem.lost, case.borrow().gem.carat), ("lost", 7));
    }
    let rest = new::GemWithRest { rest: Unknown::default() };
    let little = new::Little { next: None, gem: rest };
    assert!(little.next.is_none() && little.gem.rest.is_empty());
}

#[test]
fn changed_bytes_never_panic() {
    let mut rng = Pcg64::seed_from_u64(7);
    let start = Instant::now();
    for original in [original(), kept()] {
        for _ in 0..short_or_long(100, 800) {
            let mut save = original.clone();
            for _ in 0..rng.gen_range(1..4) {
                let at = rng.gen_range(16..save.len() - 29);
                save[at] = match rng.gen_range(0..4) {
                    0 => rng.r#gen(),
                    1 => save[at].wrapping_add(1),
                    2 => save[at] ^ 1 << rng.gen_range(0..8),
                    _ => rng.gen_range(0..4),
                };
            }
            restamp(&mut save);
            all_ways(&save);
        }
    }
    assert!(start.elapsed() < Duration::from_secs(240), "{:?}", start.elapsed());
}

#[test]
fn changed_items_never_panic() {
    let mut rng = Pcg64::seed_from_u64(8);
    for original in [original(), kept()].map(|save| Forged::parse(&save)) {
        for _ in 0..short_or_long(100, 600) {
            let mut forged = original.clone();
            let at = rng.gen_range(0..forged.items.len());
            match rng.gen_range(0..7) {
                0 => {
                    let content = forged.items[at].content();
                    content.truncate(rng.gen_range(0..=content.len()));
                }
                1 => drop(forged.items.remove(at)),
                2 => forged.items.push(forged.items[at].clone()),
                3 => {
                    let other = rng.gen_range(0..forged.items.len());
                    forged.items.swap(at, other);
                }
                4 => {
                    let extra = rng.gen_range(0..9);
                    forged.items[at].content().extend(vec![1; extra]);
                }
                _ => {
                    let ids = forged.items.len() as u64;
                    if let Item::Record { class, holder, id, .. } = &mut forged.items[at] {
                        match rng.gen_range(0..4) {
                            0 => *id = rng.gen_range(1..=ids),
                            1 => *holder = *[0, MET, ADDED, 0x23].get(rng.gen_range(0..4)).unwrap(),
                            2 => *class = rng.gen_range(1..12),
                            _ => *holder = 0,
                        }
                    }
                }
            }
            all_ways(&forged.build());
        }
    }
}

#[test]
fn memory_is_in_proportion() {
    for save in [original(), kept()] {
        for length in (0..save.len()).step_by(7) {
            // Most are cut short; none takes more than it may.
            let _ = try_load(save[..length].to_vec(), load::<new::Case>);
        }
        try_load(save, load::<new::Case>).unwrap();
    }
}

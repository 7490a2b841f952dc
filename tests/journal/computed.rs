//! What `after_load` computes is right after each way in which a value can change.

use std::collections::BTreeMap;

use persist::{
    Component, Error, ErrorKind, History, ObjectId, Persist, Result, Saves, Session, World, field,
};

use rand::{Rng, SeedableRng};
use rand_pcg::Lcg64Xsh32;

#[derive(Persist, Default)]
#[persist(after_load = Bag::weigh, validate = Bag::check)]
struct Bag {
    items: Vec<u32>,
    #[persist(skip)]
    sum: u64,
}

impl Component for Bag {}

impl Bag {
    fn of(items: &[u32]) -> Self {
        let mut bag = Self { items: items.to_vec(), sum: 0 };
        bag.weigh();
        bag
    }

    fn weigh(&mut self) {
        self.sum = self.naive();
    }

    fn naive(&self) -> u64 {
        self.items.iter().map(|item| u64::from(*item)).sum()
    }

    fn check(&self) -> Result<(), String> {
        if self.items.len() < 9 { Ok(()) } else { Err("the bag is full".into()) }
    }
}

/// Bags in a list and under the keys of a map, and what they weigh together.
#[derive(Persist, Default)]
#[persist(after_load = Camp::weigh)]
struct Camp {
    name: String,
    bags: Vec<Bag>,
    by_name: BTreeMap<String, Bag>,
    #[persist(skip)]
    total: u64,
}

impl Camp {
    fn all(&self) -> impl Iterator<Item = &Bag> {
        self.bags.iter().chain(self.by_name.values())
    }

    fn weigh(&mut self) {
        self.total = self.all().map(|bag| bag.sum).sum();
    }

    fn check(&self, what: &str) {
        assert!(self.all().all(|bag| bag.sum == bag.naive()), "{what}");
        assert_eq!(self.total, self.all().map(Bag::naive).sum::<u64>(), "{what}");
    }
}

fn no_room() -> Error {
    Error::new(ErrorKind::Refused, "no room")
}

#[test]
fn what_a_document_computes_is_right_after_each_change() -> Result<()> {
    for seed in 0..30 {
        let mut rng = Lcg64Xsh32::seed_from_u64(seed);
        let folder = tempfile::tempdir().expect("a folder");
        let paths = (folder.path().join("camp.sav"), folder.path().join("camp.journal"));
        let open = || {
            Session::<Camp>::with(Saves::new(), History::new(50))
                .open(&paths.0, &paths.1)
                .map(|(session, _)| session)
        };
        let mut session = open()?;
        session.edit("Begin", |camp| {
            camp.bags = vec![Bag::of(&[1, 2]), Bag::of(&[3])];
            camp.by_name.insert("blue".into(), Bag::of(&[4]));
            Ok(())
        })?;
        for step in 0..80 {
            let number = rng.gen_range(0..100_u32);
            let kind = rng.gen_range(0..15);
            match kind {
                0..=2 => drop(session.undo()?),
                3 => drop(session.redo()?),
                // The closure leaves the sums as they are.
                4 => session.edit("Add", |camp| {
                    camp.bags.push(Bag { items: vec![number], sum: 0 });
                    Ok(())
                })?,
                5 => drop(session.edit_at(field!(Camp.bags[0]), "Put", |bag: &mut Bag| {
                    bag.items.push(number);
                    Ok(())
                })),
                6 => drop(session.set_field(field!(Camp.bags[0].items[0]), number)),
                7 => drop(session.set_field(field!(Camp.name), format!("camp {number}"))?),
                8 => drop(session.edit("Fail", |camp| {
                    camp.bags.push(Bag::of(&[number]));
                    camp.weigh();
                    Err::<(), _>(no_room())
                })),
                // `validate` may refuse it.
                9 => drop(session.edit("Fill", |camp| {
                    camp.bags.iter_mut().for_each(|bag| bag.items.extend([number; 4]));
                    Ok(())
                })),
                10 => session.edit("Name", |camp| {
                    camp.by_name.insert(format!("{}", number % 3), Bag::of(&[number]));
                    Ok(())
                })?,
                11 => {
                    session.begin("Both")?;
                    drop(session.set_field(field!(Camp.bags[0].items[0]), number));
                    session.edit("Take", |camp| {
                        camp.bags.truncate(1);
                        Ok(())
                    })?;
                    if rng.r#gen() { session.commit()? } else { session.rollback()? }
                }
                12 => drop(session.save()?),
                _ => {
                    drop(session);
                    session = open()?;
                }
            }
            session.target().check(&format!("seed {seed}, step {step}, kind {kind}"));
        }
    }
    Ok(())
}

#[test]
fn what_components_and_resources_compute_is_right_after_each_change() -> Result<()> {
    for seed in 0..30 {
        let mut rng = Lcg64Xsh32::seed_from_u64(seed);
        let folder = tempfile::tempdir().expect("a folder");
        let paths = (folder.path().join("camp.sav"), folder.path().join("camp.journal"));
        let open = || {
            let saves = Saves::new();
            saves.register_component::<Bag>()?;
            saves.register_resource::<Camp>()?;
            Session::<World>::with(saves, History::new(50))
                .open(&paths.0, &paths.1)
                .map(|(session, _)| session)
        };
        let mut session = open()?;
        session.edit("Begin", |edit| {
            for _ in 0..3 {
                let id = edit.spawn("Bag")?;
                edit.attach(id, Bag::of(&[1, 2]))?;
            }
            let mut camp = Camp { bags: vec![Bag::of(&[5])], ..Camp::default() };
            camp.weigh();
            edit.insert_resource(camp)
        })?;
        for step in 0..80 {
            let number = rng.gen_range(0..100_u32);
            let all: Vec<ObjectId> = session.world().objects().collect();
            let some = (!all.is_empty()).then(|| all[rng.gen_range(0..all.len())]);
            let kind = rng.gen_range(0..13);
            match (kind, some) {
                (0..=2, _) => drop(session.undo()?),
                (3, _) => drop(session.redo()?),
                (4, Some(id)) => drop(session.edit("Put", |edit| {
                    edit.get_mut::<Bag>(id)?.items.push(number);
                    Ok(())
                })),
                (5, Some(id)) => drop(session.set(id, field!(Bag.items[0]), number)),
                (6, Some(id)) => drop(session.edit("Fail", |edit| {
                    edit.set(id, field!(Bag.items[0]), number)?;
                    edit.get_mut::<Bag>(id)?.items.clear();
                    edit.get_mut::<Bag>(id)?.weigh();
                    Err::<(), _>(no_room())
                })),
                (7, _) => drop(session.edit("Camp", |edit| {
                    edit.resource_mut::<Camp>()?.bags.push(Bag { items: vec![number], sum: 7 });
                    Ok(())
                })),
                (8, Some(id)) => drop(session.edit("Lose", |edit| edit.detach::<Bag>(id))),
                (9, Some(id)) => drop(session.edit("Remove", |edit| edit.remove(id))),
                (10, Some(id)) => {
                    session.begin("Both")?;
                    drop(session.set(id, field!(Bag.items[0]), number));
                    if rng.r#gen() { session.commit()? } else { session.rollback()? }
                }
                (11, _) => drop(session.save()?),
                _ => {
                    drop(session);
                    session = open()?;
                }
            }
            let what = format!("seed {seed}, step {step}, kind {kind}");
            for id in session.world().objects() {
                let bag = session.world().get::<Bag>(id);
                assert!(bag.is_none_or(|bag| bag.sum == bag.naive()), "{what}");
            }
            session.world().resource::<Camp>().into_iter().for_each(|camp| camp.check(&what));
        }
    }
    Ok(())
}

#[derive(Default)]
struct Prices(u32);

#[derive(Persist, Default)]
#[persist(context = Prices, after_load = Ware::price)]
struct Ware {
    count: u32,
    #[persist(skip)]
    price: u32,
}

impl Ware {
    fn price(&mut self, prices: &Prices) {
        self.price = self.count * prices.0;
    }
}

/// Without its context a hook is an error, and the edit is rolled back.
#[test]
fn an_edit_whose_hook_has_no_context_changes_nothing() -> Result<()> {
    let (mut ware, mut history) = (Ware { count: 2, price: 6 }, History::new(9));
    let edit = |ware: &mut Ware| {
        ware.count = 3;
        Ok(())
    };
    for _ in 0..2 {
        let edited = history.edit(&mut ware, "Buy", edit).expect_err("no context");
        assert_eq!((edited.kind(), ware.count), (ErrorKind::WrongContext, 2));
        let set = history.set_field(&mut ware, field!(Ware.count), 3).expect_err("no context");
        assert_eq!((set.kind(), ware.count), (ErrorKind::WrongContext, 2));
    }
    assert!(history.poison().is_none() && !history.can_undo());
    Ok(())
}

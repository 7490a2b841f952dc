//! Removed variants of an enum whose values are keys of maps and elements of sets.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use std::cell::RefCell;
use std::rc::Rc;

use persist::save::LoadEvent;
use persist::world::{ExternalIds, Prefab};
use persist::{
    Component, ErrorKind, History, Persist, SaveManager, Saves, Session, Unknown, World,
};
use persist_tests::support::{shared, short_or_long};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg32;

mod old {
    use super::*;

    #[derive(Persist, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    #[persist(class = "Item")]
    pub(super) enum Item {
        Ore,
        Sword { power: u8 },
        Bow,
        Spear,
    }

    #[derive(Persist, Debug, PartialEq)]
    #[persist(class = "Bag")]
    pub(super) struct Bag {
        pub(super) counts: BTreeMap<Item, u32>,
        pub(super) prices: HashMap<Item, u32>,
        pub(super) seen: BTreeSet<Item>,
        pub(super) known: HashSet<Item>,
    }
}

macro_rules! newer {
    ($name:ident, #[$removed:meta]) => {
        mod $name {
            use super::*;

            #[derive(Persist, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
            #[$removed]
            pub(super) enum Item {
                Ore,
                #[persist(other)]
                Other,
            }

            #[derive(Persist, Debug, PartialEq)]
            pub(super) struct Bag {
                pub(super) counts: BTreeMap<Item, u32>,
                pub(super) prices: HashMap<Item, u32>,
                pub(super) seen: BTreeSet<Item>,
                pub(super) known: HashSet<Item>,
            }
        }
    };
}

newer!(newer, #[persist(class = "Item")]);
newer!(meant, #[persist(removed = "Sword", removed = "Bow", removed = "Spear")]);

fn items() -> Vec<old::Item> {
    use old::Item::*;
    vec![Ore, Sword { power: 1 }, Sword { power: 2 }, Bow, Spear]
}

fn bag() -> old::Bag {
    old::Bag {
        counts: items().into_iter().zip(1..).collect(),
        prices: items().into_iter().zip(1..).collect(),
        seen: items().into_iter().collect(),
        known: items().into_iter().collect(),
    }
}

#[test]
fn keys_and_elements_that_would_become_one_are_dropped_with_a_row_each() {
    let save = persist::to_vec(&bag()).unwrap();
    let loaded = Saves::new().from_slice::<newer::Bag>(&save).unwrap();
    // The first one stays.
    let entries = [(newer::Item::Ore, 1), (newer::Item::Other, 2)];
    assert_eq!(loaded.counts, BTreeMap::from(entries));
    assert_eq!(loaded.prices.len(), 2);
    assert_eq!(loaded.seen, BTreeSet::from([newer::Item::Ore, newer::Item::Other]));
    assert_eq!(loaded.known.len(), 2);
    let rows = loaded.report().rows().iter();
    let rows = rows.map(|row| (row.event, row.field.as_deref().unwrap_or(""), row.count));
    let expected = [
        (LoadEvent::Replaced, "Sword", 4),
        (LoadEvent::Dropped, "Sword", 4),
        (LoadEvent::Dropped, "Bow", 4),
        (LoadEvent::Dropped, "Spear", 4),
    ];
    assert_eq!(rows.collect::<Vec<_>>(), expected, "{}", loaded.report());
    assert_eq!(loaded.report().counts().lost, 12);
    insta::assert_snapshot!(loaded.report());
    let again = persist::to_vec(&*loaded).unwrap();
    assert_eq!(persist::from_slice::<newer::Bag>(&again).unwrap(), *loaded);
}

#[test]
fn keys_that_are_declared_removed_are_no_loss() {
    let loaded = Saves::new().from_slice::<meant::Bag>(&persist::to_vec(&bag()).unwrap()).unwrap();
    assert_eq!(loaded.counts.values().collect::<Vec<_>>(), [&1, &2]);
    assert_eq!(loaded.report().counts().lost, 0, "{}", loaded.report());
}

#[test]
fn a_key_that_the_save_has_itself_stays_wherever_it_stands() {
    #[derive(Persist, PartialEq, Eq, PartialOrd, Ord)]
    #[persist(class = "Item")]
    enum OldItem {
        Bow,
        Other,
        Spear,
    }
    type Nested<I> = BTreeMap<Option<(I, u8)>, Vec<BTreeSet<I>>>;
    let items = || [OldItem::Bow, OldItem::Other, OldItem::Spear];
    let sets = |count: usize| (0..count).map(|_| BTreeSet::from(items())).collect();
    let old: Nested<OldItem> =
        items().into_iter().zip(1..).map(|(item, count)| (Some((item, 7)), sets(count))).collect();
    let loaded: Nested<newer::Item> = persist::from_slice(&persist::to_vec(&old).unwrap()).unwrap();
    let other = || BTreeSet::from([newer::Item::Other]);
    assert_eq!(loaded, Nested::from([(Some((newer::Item::Other, 7)), vec![other(), other()])]));
}

#[test]
#[allow(clippy::mutable_key_type, reason = "what it refers to is not compared")]
fn unknown_values_are_compared_by_content() {
    #[derive(Persist)]
    #[persist(class = "Item")]
    enum KeptItem {
        Ore,
        #[persist(other)]
        Other(Unknown),
    }
    let load = || {
        let items: Vec<KeptItem> =
            persist::from_slice(&persist::to_vec(&items()).unwrap()).unwrap();
        let unknown = items.into_iter().filter_map(|item| match item {
            KeptItem::Ore => None,
            KeptItem::Other(unknown) => Some(unknown),
        });
        unknown.collect::<Vec<_>>()
    };
    let (once, twice) = (load(), load());
    assert_eq!((once.len(), &once), (4, &twice));
    let hashed: HashSet<Unknown> = once.iter().chain(&twice).cloned().collect();
    let ordered: BTreeSet<Unknown> = once.into_iter().chain(twice).collect();
    assert_eq!((hashed.len(), ordered.len()), (4, 4));
}

/// The game without the mod, which keeps what it does not know.
mod keeping {
    use super::*;

    #[derive(Persist, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Clone)]
    #[persist(class = "Item")]
    pub(super) enum Item {
        Ore,
        #[persist(other)]
        Other(Unknown),
    }

    #[derive(Persist, Debug, PartialEq)]
    #[persist(class = "Bag")]
    pub(super) struct Bag {
        pub(super) counts: BTreeMap<Item, u32>,
        pub(super) prices: HashMap<Item, u32>,
        pub(super) seen: BTreeSet<Item>,
        pub(super) known: HashSet<Item>,
    }
}

#[test]
fn kept_keys_and_elements_stay_entries_of_their_own_and_go_back() {
    let save = persist::to_vec(&bag()).unwrap();
    let loaded = Saves::new().from_slice::<keeping::Bag>(&save).unwrap();
    assert_eq!((loaded.counts.len(), loaded.prices.len()), (5, 5));
    assert_eq!((loaded.seen.len(), loaded.known.len()), (5, 5));
    assert_eq!(loaded.report().counts().lost, 0, "{}", loaded.report());
    // The order of the hashed ones does not depend on the hasher.
    let again = persist::to_vec(&*loaded).unwrap();
    for _ in 0..10 {
        let other = persist::from_slice::<keeping::Bag>(&save).unwrap();
        assert_eq!(other, *loaded);
        assert_eq!(persist::to_vec(&other).unwrap(), again);
    }
    let twice = persist::from_slice::<keeping::Bag>(&again).unwrap();
    assert_eq!(twice, *loaded);
    assert_eq!(persist::to_vec(&twice).unwrap(), again);
    assert_eq!(persist::from_slice::<old::Bag>(&again).unwrap(), bag());
    // A program without a field in the variant drops what another one has kept.
    let dropped = Saves::new().from_slice::<newer::Bag>(&again).unwrap();
    assert_eq!((dropped.counts.len(), dropped.prices.len()), (2, 2));
    assert_eq!(dropped.report().counts().lost, 12, "{}", dropped.report());
}

#[test]
fn kept_keys_of_removed_variants_that_hold_nothing_any_more_are_dropped() {
    #[derive(Persist, Debug, PartialEq, Eq, PartialOrd, Ord)]
    #[persist(class = "Item", removed = "Sword", removed = "Bow")]
    enum NewItem {
        Ore,
        #[persist(other)]
        Other(Unknown),
    }
    let old: BTreeMap<old::Item, u32> = items().into_iter().zip(1..).collect();
    let save = persist::to_vec(&old).unwrap();
    let loaded = Saves::new().from_slice::<BTreeMap<NewItem, u32>>(&save).unwrap();
    assert_eq!(loaded.values().collect::<Vec<_>>(), [&1, &2, &5]);
    assert_eq!(loaded.report().counts().lost, 0, "{}", loaded.report());
}

/// Keys in tuples, structs and options, in the compact form, and of maps whose values a module stores.
mod forms {
    use super::*;

    pub(super) mod text {
        #[allow(dead_code, reason = "the derive names it")]
        pub(crate) type Stored = String;

        pub(crate) fn store(number: &u32) -> String {
            number.to_string()
        }

        #[allow(clippy::needless_pass_by_value, reason = "the derive calls it so")]
        pub(crate) fn restore(text: String) -> Result<u32, std::num::ParseIntError> {
            text.parse()
        }
    }

    macro_rules! forms {
        ($name:ident, $item:ident) => {
            pub(super) mod $name {
                use super::*;
                use $item::Item;

                #[derive(Persist, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
                #[persist(class = "Place")]
                pub(crate) struct Place {
                    pub(crate) level: u16,
                    pub(crate) item: Item,
                }

                #[derive(Persist, Debug, PartialEq)]
                #[persist(class = "Forms")]
                pub(crate) struct Forms {
                    pub(crate) nested: BTreeMap<(Option<Item>, u8), Vec<BTreeSet<Item>>>,
                    pub(crate) places: HashMap<Place, u8>,
                    #[persist(compact)]
                    pub(crate) compact: HashMap<(u32, Item), u32>,
                    #[persist(compact)]
                    pub(crate) small: BTreeMap<(u32, Item), u32>,
                    #[persist(with = "HashMap<_, super::text>")]
                    pub(crate) texts: HashMap<Item, u32>,
                    #[persist(with = "BTreeMap<_, super::text>")]
                    pub(crate) ordered: BTreeMap<Item, u32>,
                }
            }
        };
    }

    use super::old as former;

    forms!(old, former);
    forms!(keeping, kept);
    use super::keeping as kept;
}

#[test]
fn kept_keys_go_back_in_every_form_of_maps() {
    use forms::old::{Forms, Place};
    let place = |(level, item)| Place { level, item };
    let old = Forms {
        nested: (items().into_iter().map(Some).chain([None]))
            .map(|item| ((item, 7), vec![items().into_iter().collect(), BTreeSet::new()]))
            .collect(),
        places: (1..).zip(items()).map(place).zip(1..).collect(),
        compact: (1000..).zip(items()).zip(1..).collect(),
        small: (1000..).zip(items()).zip(1..).collect(),
        texts: items().into_iter().zip(1..).collect(),
        ordered: items().into_iter().zip(1..).collect(),
    };
    let save = persist::to_vec(&old).unwrap();
    let loaded = Saves::new().from_slice::<forms::keeping::Forms>(&save).unwrap();
    assert_eq!(loaded.report().counts().lost, 0, "{}", loaded.report());
    let again = persist::to_vec(&*loaded).unwrap();
    let other = persist::from_slice::<forms::keeping::Forms>(&save).unwrap();
    assert_eq!(persist::to_vec(&other).unwrap(), again);
    assert_eq!(persist::from_slice::<Forms>(&again).unwrap(), old);
}

type Owner = Rc<RefCell<String>>;

#[derive(Persist)]
#[persist(class = "Shop")]
struct OldShop {
    owners: HashMap<old::Item, Owner>,
    heirs: BTreeMap<old::Item, Owner>,
}

#[derive(Persist)]
#[persist(class = "Shop")]
struct Shop {
    owners: HashMap<keeping::Item, Owner>,
    heirs: BTreeMap<keeping::Item, Owner>,
}

#[test]
fn objects_at_kept_keys_stay_where_they_are() {
    let owners: Vec<Owner> = (0..5).map(|i| shared(format!("owner {i}"))).collect();
    let owners = || items().into_iter().zip(owners.iter().cloned());
    let shop = shared(OldShop { owners: owners().collect(), heirs: owners().collect() });
    let mut manager = SaveManager::new();
    manager.add(&shop).unwrap();
    let mut save = manager.to_vec().unwrap();
    for _ in 0..5 {
        let manager = SaveManager::new();
        manager.register::<Shop>().unwrap();
        let loaded = manager.from_slice(&save).unwrap();
        let shop = loaded.first::<Shop>().unwrap();
        for (key, owner) in &shop.borrow().owners {
            assert!(Rc::ptr_eq(owner, &shop.borrow().heirs[key]));
        }
        save = loaded.to_vec().unwrap();
    }
    let manager = SaveManager::new();
    manager.register::<OldShop>().unwrap();
    let loaded = manager.from_slice(&save).unwrap();
    let shop = loaded.first::<OldShop>().unwrap();
    for (i, item) in items().iter().enumerate() {
        assert_eq!(*shop.borrow().owners[item].borrow(), format!("owner {i}"));
        assert!(Rc::ptr_eq(&shop.borrow().owners[item], &shop.borrow().heirs[item]));
    }
}

impl Component for old::Bag {}
impl Component for keeping::Bag {}

#[test]
fn kept_keys_of_components_survive_edits_journals_and_prefabs() {
    let folder = tempfile::tempdir().unwrap();
    let [path, journal, prefab] =
        ["a.sav", "a.journal", "a.prefab"].map(|name| folder.path().join(name));
    let mut world = World::new();
    let ada = world.spawn("Ada");
    world.attach(ada, bag()).unwrap();
    persist::save(&path, &world).unwrap();

    let saves = Saves::new();
    saves.register_component::<keeping::Bag>().unwrap();
    let open =
        || Session::<World>::with(saves.clone(), History::new(16)).open(&path, &journal).unwrap().0;
    let mut session = open();
    session.set(ada, "Bag:counts[\"Ore\"]", 100).unwrap();
    session.set(ada, "Bag:prices[\"Ore\"]", 200).unwrap();
    drop(session);
    let mut session = open();
    let changed = |session: &Session<World>| {
        let bag = session.world().get::<keeping::Bag>(ada).unwrap();
        (bag.counts[&keeping::Item::Ore], bag.prices[&keeping::Item::Ore], bag.prices.len())
    };
    assert_eq!(changed(&session), (100, 200, 5));
    session.undo().unwrap();
    assert_eq!(changed(&session), (100, 1, 5));
    session.save().unwrap();
    drop(session);
    saves
        .file(&prefab)
        .save(&saves.file(&path).load::<World>().unwrap().prefab(ada).unwrap())
        .unwrap();

    let saves = Saves::new();
    saves.register_component::<old::Bag>().unwrap();
    let mut expected = bag();
    expected.counts.insert(old::Item::Ore, 100);
    let mut world = saves.file(&path).load::<World>().unwrap().into_inner();
    assert_eq!(world.get::<old::Bag>(ada).unwrap(), &expected);
    let prefab = saves.file(&prefab).load::<Prefab>().unwrap();
    let copy = world.instantiate(&prefab, ExternalIds::Keep).unwrap();
    assert_eq!(world.get::<old::Bag>(copy).unwrap(), &expected);
}

#[test]
fn random_maps_lose_nothing_where_they_are_kept_and_a_row_each_where_not() {
    use old::Item::{Bow, Ore, Spear, Sword};
    type Map<I> = (HashMap<(I, bool), BTreeSet<I>>, BTreeMap<I, u8>);
    let mut random = Pcg32::seed_from_u64(13);
    for _ in 0..short_or_long(200, 2000) {
        let mut item = || match random.gen_range(0..8) {
            0 | 1 => Ore,
            2 => Bow,
            3 => Spear,
            power => Sword { power },
        };
        let (length, of_set) = (item_count(&item()), item_count(&item()));
        let set = |item: &mut dyn FnMut() -> old::Item| (0..of_set).map(|_| item()).collect();
        let hashed = (0..length).map(|i| ((item(), i % 2 == 0), set(&mut item))).collect();
        let old: Map<old::Item> = (hashed, (0..length).map(|i| (item(), i)).collect());
        let save = persist::to_vec(&old).unwrap();

        let kept = Saves::new().from_slice::<Map<keeping::Item>>(&save).unwrap();
        assert_eq!(kept.report().counts().lost, 0, "{}", kept.report());
        let again = persist::to_vec(&*kept).unwrap();
        assert_eq!(persist::from_slice::<Map<old::Item>>(&again).unwrap(), old);

        // By hand: of the keys that become one the first stays, and each of the others is a row.
        let plain = |item: &old::Item| match item {
            Ore => newer::Item::Ore,
            _ => newer::Item::Other,
        };
        let found = Saves::new().from_slice::<Map<newer::Item>>(&save).unwrap();
        let keys: BTreeSet<newer::Item> = old.1.keys().map(plain).collect();
        assert_eq!(found.1.keys().collect::<Vec<_>>(), keys.iter().collect::<Vec<_>>());
        let first = old.1.iter().find(|(item, _)| **item != Ore).map(|(_, value)| value);
        assert_eq!(found.1.get(&newer::Item::Other), first);
        let keys: HashSet<_> =
            old.0.keys().map(|(item, is_even)| (plain(item), *is_even)).collect();
        assert_eq!(
            found.0.keys().map(|(item, is_even)| (item, *is_even)).collect::<HashSet<_>>(),
            keys.iter().map(|(item, is_even)| (item, *is_even)).collect()
        );
        let lost = old.0.len() - found.0.len() + old.1.len() - found.1.len();
        let dropped = found.report().rows().iter().filter(|row| row.event == LoadEvent::Dropped);
        let dropped: u64 = dropped.map(|row| row.count).sum();
        assert!(dropped >= lost as u64, "{dropped} {lost} {}", found.report());
    }
}

/// A number of elements that an item stands for.
fn item_count(item: &old::Item) -> u8 {
    match item {
        old::Item::Sword { power } => *power,
        _ => 0,
    }
}

#[test]
fn an_unknown_key_that_refers_to_an_object_is_refused() {
    #[derive(Persist)]
    #[persist(class = "Item")]
    enum Held {
        Ore,
        Gem(Owner),
    }
    let save = persist::to_vec(&vec![Held::Ore, Held::Gem(shared(String::from("Ada")))]).unwrap();
    let error = persist::from_slice::<BTreeSet<keeping::Item>>(&save).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    insta::assert_snapshot!(error);
    // In a list it can.
    assert_eq!(persist::from_slice::<Vec<keeping::Item>>(&save).unwrap().len(), 2);
}

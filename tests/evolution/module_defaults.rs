//! Defaults of fields that are stored as another type: they stand in the field as they are. What stores the field never
//! sees them, since it may refuse them or make another value of them.

#![allow(clippy::unwrap_used, reason = "the helpers are part of the tests")]

use std::cell::RefCell;
use std::rc::Rc;

use persist::save::LoadEvent;
use persist::{Component, Persist, SaveManager, Saves, World};
use serde::{Deserialize, Serialize};

use persist_tests::support::shared;

/// A picture by its name. There is none of the name `missing`, so that nothing stored leads to this one.
#[derive(Clone, Debug, PartialEq)]
struct Icon {
    name: String,
    /// Not stored: 1 in each that comes from a module.
    pixels: u32,
}

impl Icon {
    fn missing() -> Self {
        Self { name: "missing".into(), pixels: 99 }
    }

    fn of(name: &str) -> Self {
        Self { name: name.into(), pixels: 1 }
    }
}

impl Default for Icon {
    fn default() -> Self {
        Self::missing()
    }
}

impl TryFrom<String> for Icon {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        icon::restore(name)
    }
}

impl From<&Icon> for String {
    fn from(icon: &Icon) -> Self {
        icon::store(icon)
    }
}

impl Serialize for Icon {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        icon::store(self).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Icon {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        icon::restore(String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

mod icon {
    use super::Icon;

    pub(super) type Stored = String;

    pub(super) fn store(icon: &Icon) -> String {
        icon.name.clone()
    }

    pub(super) fn restore(name: String) -> Result<Icon, String> {
        if name == "missing" {
            Err(format!("no icon {name}"))
        } else {
            Ok(Icon { name, pixels: 1 })
        }
    }
}

/// As bytes, from an iterator.
mod letters {
    use super::{Icon, icon};

    pub(super) type Item = u8;

    pub(super) fn store(icon: &Icon) -> impl ExactSizeIterator<Item = &u8> {
        icon.name.as_bytes().iter()
    }

    pub(super) fn restore(bytes: Vec<u8>) -> Result<Icon, String> {
        icon::restore(String::from_utf8(bytes).map_err(|error| error.to_string())?)
    }
}

/// A pair of what is stored and of nothing, for any type.
struct Paired<T>(std::marker::PhantomData<T>);

impl<T: Persist + Clone> persist::With<(Icon, T)> for Paired<T> {
    type Stored = (String, T);
    type Error = String;

    fn store(value: &(Icon, T)) -> impl std::borrow::Borrow<Self::Stored> {
        (icon::store(&value.0), value.1.clone())
    }

    fn restore((name, value): Self::Stored) -> Result<(Icon, T), String> {
        icon::restore(name).map(|icon| (icon, value))
    }
}

/// The types of an older program, which have no icons.
mod old {
    use std::cell::RefCell;
    use std::rc::Rc;

    use persist::Persist;

    #[derive(Persist)]
    pub(super) struct Item {
        pub(super) number: u8,
        pub(super) note: String,
    }

    #[derive(Persist)]
    pub(super) struct Slot<T> {
        pub(super) item: T,
    }

    #[derive(Persist)]
    pub(super) enum Place {
        Chest { number: u8 },
        Ground(u8),
    }

    #[derive(Persist)]
    pub(super) struct Hero {
        pub(super) level: u8,
    }

    #[derive(Persist)]
    pub(super) struct Bag {
        pub(super) first: Item,
        pub(super) items: Vec<Item>,
        pub(super) shared: Rc<RefCell<Item>>,
        pub(super) count: u8,
    }

    #[derive(Persist)]
    #[persist(component)]
    pub(super) struct Health {
        pub(super) points: u32,
    }
}

#[derive(Persist, Debug, PartialEq)]
struct Item {
    #[persist(with = icon, default = Icon::missing())]
    before: Icon,
    number: u8,
    #[persist(with = "Option<icon>", default = Some(Icon::missing()))]
    maybe: Option<Icon>,
    #[persist(with = "Vec<icon>", default = vec![Icon::missing(), Icon::of("a")])]
    list: Vec<Icon>,
    note: String,
    #[persist(with_iter = letters, default)]
    letters: Icon,
    #[persist(via = "String", default = "Icon::missing")]
    via: Icon,
    #[persist(serde, default)]
    serde: Icon,
}

fn item(number: u8) -> Item {
    Item {
        before: Icon::missing(),
        number,
        maybe: Some(Icon::missing()),
        list: vec![Icon::missing(), Icon::of("a")],
        note: format!("note {number}"),
        letters: Icon::missing(),
        via: Icon::missing(),
        serde: Icon::missing(),
    }
}

fn old_item(number: u8) -> old::Item {
    old::Item { number, note: format!("note {number}") }
}

#[derive(Persist, Debug, PartialEq)]
struct Slot<T: Persist + Clone + Default> {
    #[persist(with = icon, default = Icon::missing())]
    icon: Icon,
    item: T,
    #[persist(with = Paired<T>, default = (Icon::missing(), T::default()))]
    pair: (Icon, T),
}

#[derive(Persist, Debug, PartialEq)]
enum Place {
    Ground(u8, #[persist(with = icon, default)] Icon),
    Chest {
        #[persist(with = icon, default = Icon { pixels: 7, ..Icon::missing() })]
        icon: Icon,
        number: u8,
    },
}

#[derive(Persist, Debug, PartialEq)]
#[persist(default)]
struct Hero {
    #[persist(with = icon)]
    icon: Icon,
    level: u8,
    #[persist(with = icon, default = Icon { pixels: 3, ..Icon::missing() })]
    own: Icon,
    #[persist(via = "String")]
    via: Icon,
    gold: u32,
}

impl Default for Hero {
    fn default() -> Self {
        let icon = |pixels| Icon { pixels, ..Icon::missing() };
        Self { icon: icon(5), level: 1, own: icon(6), via: icon(8), gold: 30 }
    }
}

/// Nothing can be moved out of it, and a skipped field has its value from the default too.
#[derive(Persist, Debug, PartialEq)]
#[persist(class = "Hero", default)]
struct Dropped {
    level: u8,
    #[persist(with = icon)]
    icon: Icon,
    #[persist(skip)]
    cache: Vec<u8>,
    #[persist(skip, default = 4)]
    own: u8,
}

impl Default for Dropped {
    fn default() -> Self {
        Self { level: 1, icon: Icon { pixels: 5, ..Icon::missing() }, cache: vec![1], own: 9 }
    }
}

impl Drop for Dropped {
    fn drop(&mut self) {
        self.level = 0;
    }
}

/// Its first field is wanted later, an object is a value now, and values are objects.
#[derive(Persist, Debug, PartialEq)]
struct Bag {
    count: u32,
    items: Vec<Rc<RefCell<Item>>>,
    #[persist(with = icon, default)]
    icon: Icon,
    first: Item,
    shared: Item,
}

#[derive(Persist, Debug, PartialEq)]
#[persist(component)]
struct Health {
    #[persist(with = icon, default)]
    icon: Icon,
    points: u32,
}

fn load<Old: Persist, New: Persist>(old: &Old) -> New {
    persist::from_slice(&persist::to_vec(old).unwrap()).unwrap()
}

#[test]
fn the_default_of_a_field_of_a_module_stands_in_it_as_it_is() {
    assert_eq!(load::<_, Item>(&old_item(3)), item(3));
    let list: Vec<Item> = load(&(0..50).map(old_item).collect::<Vec<_>>());
    assert_eq!(list, (0..50).map(item).collect::<Vec<_>>());

    // What the save has goes through the module.
    let save = persist::to_vec(&Item { before: Icon::of("sword"), ..item(4) }).unwrap();
    let error = persist::from_slice::<Item>(&save).unwrap_err();
    assert!(error.message().contains("no icon missing"), "{error}");
}

#[test]
fn the_default_of_a_module_in_a_generic_type_stands_in_the_field_as_it_is() {
    let slot: Slot<u16> = load(&old::Slot { item: 7_u16 });
    assert_eq!(slot, Slot { icon: Icon::missing(), item: 7, pair: (Icon::missing(), 0) });
    let slot: Slot<String> = load(&old::Slot { item: String::from("x") });
    assert_eq!(slot.pair, (Icon::missing(), String::new()));
}

#[test]
fn the_default_of_a_module_in_a_variant_stands_in_the_field_as_it_is() {
    let places: Vec<Place> =
        load(&vec![old::Place::Ground(1), old::Place::Chest { number: 2 }, old::Place::Ground(3)]);
    let icon = Icon { pixels: 7, ..Icon::missing() };
    let chest = Place::Chest { icon, number: 2 };
    let ground = |number| Place::Ground(number, Icon::missing());
    assert_eq!(places, [ground(1), chest, ground(3)]);
}

#[test]
fn a_field_of_a_module_has_that_of_the_default_of_its_type_as_it_is() {
    let hero: Hero = load(&old::Hero { level: 4 });
    let own = Icon { pixels: 3, ..Icon::missing() };
    assert_eq!(hero, Hero { level: 4, own: own.clone(), ..Hero::default() });
    let heroes: Vec<Rc<RefCell<Hero>>> = {
        let old = Rc::new(RefCell::new(old::Hero { level: 4 }));
        load(&vec![Rc::clone(&old), old])
    };
    assert_eq!(*heroes[1].borrow(), Hero { level: 4, own, ..Hero::default() });

    let dropped: Dropped = load(&old::Hero { level: 4 });
    assert_eq!(dropped.icon, Icon { pixels: 5, ..Icon::missing() });
    assert_eq!((dropped.level, &dropped.cache[..], dropped.own), (4, &[1][..], 4));
    // And with all fields in the save.
    let mut whole = Dropped::default();
    whole.icon = Icon::of("cap");
    let save = persist::to_vec(&whole);
    let dropped: Dropped = persist::from_slice(&save.unwrap()).unwrap();
    assert_eq!((&dropped.icon, &dropped.cache[..], dropped.own), (&Icon::of("cap"), &[1][..], 4));
}

#[test]
fn a_default_of_a_module_stands_in_values_that_become_objects_and_in_objects_that_become_values() {
    let old = old::Bag {
        first: old_item(1),
        items: (2..9).map(old_item).collect(),
        shared: Rc::new(RefCell::new(old_item(9))),
        count: 7,
    };
    let bag: Bag = load(&old);
    let items = (2..9).map(|number| Rc::new(RefCell::new(item(number)))).collect();
    let expected = Bag { count: 7, items, icon: Icon::missing(), first: item(1), shared: item(9) };
    assert_eq!(bag, expected);
}

#[test]
fn a_default_of_a_module_stands_in_the_components_of_a_world_and_is_reported() {
    let mut world = World::new();
    let rats = [0, 1, 2].map(|points| world.spawn_with("Rat", (old::Health { points },)).unwrap());
    let save = persist::to_vec(&world).unwrap();
    let saves = Saves::new();
    saves.register_component::<Health>().unwrap();
    let loaded = saves.from_slice::<World>(&save).unwrap();
    let rows = loaded.report().rows().iter();
    let defaulted = rows.filter(|row| row.event == LoadEvent::Defaulted).count();
    assert_eq!(defaulted, 1);
    let world = loaded.into_inner();
    for (rat, points) in rats.into_iter().zip(0..) {
        assert_eq!(*world.get::<Health>(rat).unwrap(), Health { icon: Icon::missing(), points });
    }
}

#[test]
fn an_error_behind_a_default_of_a_module_names_the_field_that_is_wrong() {
    #[derive(Persist)]
    #[persist(class = "Item")]
    struct Strict {
        #[persist(with = icon, default)]
        before: Icon,
        number: std::num::NonZeroU8,
    }

    let save = persist::to_vec(&old_item(0)).unwrap();
    let error = persist::from_slice::<Strict>(&save).map(drop).unwrap_err();
    assert_eq!(error.field(), Some("number"), "{error}");
}

impl Component for among_others::old::Chest {}
impl Component for among_others::Prizes {}

/// Elements that are skipped, and keys that are dropped, beside fields with such a default.
mod among_others {
    use std::collections::BTreeMap;

    use persist::Persist;
    use rand::Rng;
    use rand_pcg::Pcg64Mcg;

    use super::{Icon, icon};

    pub(super) mod old {
        use std::collections::BTreeMap;

        #[derive(persist::Persist, Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        #[persist(class = "Sort")]
        pub(crate) enum Sort {
            Ring,
            Rope,
            Torch,
            Cloak,
        }

        #[derive(persist::Persist, Clone, Debug)]
        #[persist(class = "Thing")]
        pub(crate) struct Thing {
            pub(crate) last: u8,
            pub(crate) sort: Sort,
            pub(crate) first: String,
        }

        #[derive(persist::Persist, Clone, Debug, Default)]
        #[persist(class = "Chest")]
        pub(crate) struct Chest {
            pub(crate) things: Vec<Thing>,
            pub(crate) by_sort: BTreeMap<Sort, Thing>,
            pub(crate) end: u8,
        }
    }

    #[derive(Persist, Debug, PartialEq)]
    pub(super) enum Sort {
        Ring,
        Rope,
    }

    #[derive(Persist, Debug, PartialEq, Eq, PartialOrd, Ord)]
    #[persist(class = "Sort")]
    pub(super) enum Key {
        Ring,
        #[persist(other)]
        Other,
    }

    /// In another order than it is stored, so that pieces of it are moved.
    #[derive(Persist, Debug, PartialEq)]
    pub(super) struct Thing {
        first: String,
        #[persist(with = icon, default = Icon::missing())]
        icon: Icon,
        sort: Sort,
        #[persist(with = "Option<icon>", default = Some(Icon::missing()))]
        second: Option<Icon>,
        last: u8,
    }

    /// As above, of any sort.
    #[derive(Persist, Debug, PartialEq)]
    #[persist(class = "Thing")]
    pub(super) struct Prize {
        #[persist(with = icon, default = Icon::missing())]
        icon: Icon,
        first: String,
        last: u8,
    }

    #[derive(Persist, Debug, PartialEq)]
    pub(super) struct Chest {
        #[persist(skip_failed)]
        things: Vec<Thing>,
        #[persist(with = icon, default = Icon::missing())]
        icon: Icon,
        end: u8,
    }

    #[derive(Persist, Debug, PartialEq)]
    #[persist(class = "Chest")]
    pub(super) struct Prizes {
        by_sort: BTreeMap<Key, Prize>,
        #[persist(with = icon, default = Icon::missing())]
        icon: Icon,
        end: u8,
    }

    const SORTS: [old::Sort; 4] =
        [old::Sort::Ring, old::Sort::Rope, old::Sort::Torch, old::Sort::Cloak];

    pub(super) fn random(random: &mut Pcg64Mcg) -> old::Chest {
        let thing = |random: &mut Pcg64Mcg| old::Thing {
            last: random.r#gen(),
            sort: SORTS[random.gen_range(0..4)],
            first: "x".repeat(random.gen_range(0..5)),
        };
        let keys: Vec<_> = SORTS.into_iter().filter(|_| random.r#gen()).collect();
        // Of 248 elements a count takes a byte more.
        let length = if random.gen_ratio(1, 8) { 246..254 } else { 0..7 };
        old::Chest {
            things: (0..random.gen_range(length)).map(|_| thing(random)).collect(),
            by_sort: keys.into_iter().map(|sort| (sort, thing(random))).collect(),
            end: random.r#gen(),
        }
    }

    /// What is to be loaded of a chest.
    pub(super) fn expected(chest: &old::Chest) -> (Chest, Prizes) {
        let things = chest.things.iter().filter_map(|thing| {
            let sort = match thing.sort {
                old::Sort::Ring => Sort::Ring,
                old::Sort::Rope => Sort::Rope,
                _ => return None,
            };
            let (icon, second) = (Icon::missing(), Some(Icon::missing()));
            Some(Thing { first: thing.first.clone(), icon, sort, second, last: thing.last })
        });
        let mut by_sort = BTreeMap::new();
        for (sort, thing) in &chest.by_sort {
            let key = if *sort == old::Sort::Ring { Key::Ring } else { Key::Other };
            let (icon, first) = (Icon::missing(), thing.first.clone());
            by_sort.entry(key).or_insert(Prize { icon, first, last: thing.last });
        }
        let (icon, end) = (Icon::missing(), chest.end);
        (Chest { things: things.collect(), icon: icon.clone(), end }, Prizes { by_sort, icon, end })
    }
}

#[test]
fn defaults_stand_as_they_are_beside_elements_that_are_skipped_and_keys_that_are_dropped() {
    let mut random = rand_pcg::Pcg64Mcg::new(43);
    for round in 0..500 {
        let chest = among_others::random(&mut random);
        let save = persist::to_vec(&chest).unwrap();
        let (things, prizes) = among_others::expected(&chest);
        // Two programs: their classes have the names of one save.
        let [saves, others] = [Saves::new(), Saves::new()];
        let what = format!("{round}: {chest:?}");
        assert_eq!(*saves.from_slice::<among_others::Chest>(&save).unwrap(), things, "{what}");
        assert_eq!(*others.from_slice::<among_others::Prizes>(&save).unwrap(), prizes, "{what}");

        // As an object, and as a component.
        let mut manager = SaveManager::new();
        manager.add(&shared(chest.clone())).unwrap();
        let save = manager.to_vec().unwrap();
        let manager = SaveManager::new();
        manager.register::<among_others::Chest>().unwrap();
        let loaded = manager.from_slice(&save).unwrap();
        assert_eq!(*loaded.first::<among_others::Chest>().unwrap().borrow(), things, "{what}");

        let mut world = World::new();
        let ada = world.spawn("Ada");
        world.attach(ada, chest).unwrap();
        let save = Saves::new().to_vec(&world).unwrap();
        others.register_component::<among_others::Prizes>().unwrap();
        let loaded = others.from_slice::<World>(&save).unwrap();
        assert_eq!(*loaded.get::<among_others::Prizes>(ada).unwrap(), prizes, "{what}");
    }
}

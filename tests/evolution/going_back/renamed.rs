//! A renamed field whose old side has a default.

use persist::save::LoadEvent;
use persist::{Component, Loaded, Persist, Saves, Unknown, World};
use persist_tests::support::short_or_long;
use proptest::prelude::{Just, ProptestConfig, Strategy, any, prop_oneof, proptest};

use crate::matrix::harness::{STRICT, load, pass, row, save, try_load};

/// One release of the class.
trait Release: Persist + Default {
    /// The name of the field, then those that it had before.
    const NAMES: &[&str];
    const DEFAULT: u32;

    fn value(&mut self) -> &mut u32;
}

/// The three releases of one class, whose field was `hp`, then `health`, then `vitality`.
macro_rules! releases {
    ($name:ident { $($room:tt)* }) => {
        mod $name {
            #[allow(unused_imports, reason = "some have no room")]
            use super::*;

            #[derive(Persist, Debug, Default)]
            #[persist(class = "Hero")]
            pub(super) struct First {
                pub(super) name: String,
                #[persist(default = 1)]
                pub(super) hp: u32,
                $($room)*
            }

            #[derive(Persist, Debug, Default)]
            #[persist(class = "Hero")]
            pub(super) struct Second {
                pub(super) name: String,
                #[persist(alias = "hp", default = 2)]
                pub(super) health: u32,
                $($room)*
            }

            #[derive(Persist, Debug, Default)]
            #[persist(class = "Hero")]
            pub(super) struct Third {
                $($room)*
                #[persist(alias = "health", alias = "hp", default = 3)]
                pub(super) vitality: u32,
                pub(super) name: String,
            }

            impl Release for First {
                const NAMES: &[&str] = &["hp"];
                const DEFAULT: u32 = 1;

                fn value(&mut self) -> &mut u32 {
                    &mut self.hp
                }
            }

            impl Release for Second {
                const NAMES: &[&str] = &["health", "hp"];
                const DEFAULT: u32 = 2;

                fn value(&mut self) -> &mut u32 {
                    &mut self.health
                }
            }

            impl Release for Third {
                const NAMES: &[&str] = &["vitality", "health", "hp"];
                const DEFAULT: u32 = 3;

                fn value(&mut self) -> &mut u32 {
                    &mut self.vitality
                }
            }
        }
    };
}

releases!(bare {});
releases!(roomy {
    #[persist(unknown)]
    pub(super) rest: Unknown,
});

fn value<T: Persist>(save: &[u8]) -> Loaded<T> {
    Saves::new().from_slice(save).unwrap()
}

/// A program that loads a value, changes it, and saves it.
fn pass_value<T: Persist>(save: &[u8], change: impl FnOnce(&mut T)) -> Vec<u8> {
    let saves = Saves::new();
    let mut loaded = saves.from_slice::<T>(save).unwrap();
    change(&mut loaded);
    saves.to_vec(&loaded).unwrap()
}

#[test]
fn a_made_up_default_does_not_replace_the_kept_value() {
    let first = save(bare::Second { health: 77, ..Default::default() });
    let second = pass::<bare::First>(&first, |hero| assert_eq!(hero.hp, 1));
    let (hero, rows) = load::<bare::Second>(&second);
    assert_eq!(hero.borrow().health, 77);
    assert_eq!(rows, [row(LoadEvent::Restored, "Hero", "health", 1)]);
    // Nothing was lost.
    let (hero, _) = try_load::<bare::Second>(&second, STRICT).unwrap();
    assert_eq!(hero.borrow().health, 77);
    // The next save is as if nobody had gone back.
    assert_eq!(pass::<bare::Second>(&second, |_| {}), first);
}

#[test]
fn of_values_and_of_unknown_fields_too() {
    let first = persist::to_vec(&bare::Second { health: 77, ..Default::default() }).unwrap();
    let second = pass_value::<bare::First>(&first, |hero| assert_eq!(hero.hp, 1));
    assert_eq!(value::<bare::Second>(&second).health, 77);

    let first = persist::to_vec(&roomy::Second { health: 77, ..Default::default() }).unwrap();
    let mut second: roomy::First = persist::from_slice(&first).unwrap();
    assert_eq!(second.rest.names().collect::<Vec<_>>(), ["Hero.health"]);
    second.name = "Ada".into();
    let second = persist::to_vec(&second).unwrap();
    let hero = persist::from_slice::<roomy::Second>(&second).unwrap();
    assert_eq!((hero.health, &*hero.name, hero.rest.is_empty()), (77, "Ada", true));
}

#[test]
fn a_value_that_the_older_program_chose_wins() {
    let first = save(bare::Second { health: 77, ..Default::default() });
    let second = pass::<bare::First>(&first, |hero| hero.hp = 50);
    let (hero, rows) = load::<bare::Second>(&second);
    assert_eq!(hero.borrow().health, 50);
    assert_eq!(rows, [row(LoadEvent::Superseded, "Hero", "health", 1)]);
    // It stays chosen, also if it becomes what the default was.
    let third = pass::<bare::First>(&second, |hero| hero.hp = 1);
    assert_eq!(load::<bare::Second>(&third).0.borrow().health, 1);
}

#[test]
fn the_older_program_may_save_many_times() {
    let first = save(roomy::Second { health: 77, ..Default::default() });
    let mut last = first.clone();
    let mut lengths = Vec::new();
    for _ in 0..5 {
        last = pass::<roomy::First>(&last, |hero| {
            assert_eq!(hero.hp, 1);
            assert_eq!(hero.rest.names().count(), 1);
        });
        lengths.push(last.len());
    }
    assert!(lengths.iter().all(|length| *length == lengths[0]), "{lengths:?}");
    assert_eq!(load::<roomy::Second>(&last).0.borrow().health, 77);
    last = pass::<roomy::Second>(&last, |_| {});
    assert_eq!(last, first);
}

#[test]
fn over_three_versions() {
    fn check<First: Persist, Second: Persist, Third: Persist>(
        third: Third,
        health: fn(&Second) -> u32,
        vitality: fn(&Third) -> u32,
        set: [fn(&mut First); 2],
        set_second: fn(&mut Second),
    ) {
        let newest = save(third);
        let first = pass::<First>(&newest, set[0]);
        // What the first one made up is still made up in the second, under another name.
        let second = pass::<Second>(&first, |hero| assert_eq!(health(hero), 1));
        for save in [&first, &second, &pass::<First>(&second, |_| {})] {
            assert_eq!(vitality(&load::<Third>(save).0.borrow()), 77);
        }
        let chosen = pass::<Second>(&first, set_second);
        assert_eq!(vitality(&load::<Third>(&chosen).0.borrow()), 60);
        let chosen = pass::<Second>(&pass::<First>(&newest, set[1]), |_| {});
        assert_eq!(vitality(&load::<Third>(&chosen).0.borrow()), 50);
    }
    check::<bare::First, bare::Second, bare::Third>(
        bare::Third { vitality: 77, ..Default::default() },
        |hero| hero.health,
        |hero| hero.vitality,
        [|_| {}, |hero| hero.hp = 50],
        |hero| hero.health = 60,
    );
    check::<roomy::First, roomy::Second, roomy::Third>(
        roomy::Third { vitality: 77, ..Default::default() },
        |hero| hero.health,
        |hero| hero.vitality,
        [|_| {}, |hero| hero.hp = 50],
        |hero| hero.health = 60,
    );
}

#[test]
fn a_made_up_value_that_another_program_does_not_have_is_no_choice() {
    // The second release makes one up, the first one does not know it, and the second one is back.
    let mut save = save(roomy::Third { vitality: 77, ..Default::default() });
    for _ in 0..2 {
        save = pass::<roomy::Second>(&save, |_| {});
        save = pass::<roomy::First>(&save, |hero| assert_eq!(hero.rest.names().count(), 1));
    }
    save = pass::<roomy::Second>(&save, |_| {});
    assert_eq!(load::<roomy::Third>(&save).0.borrow().vitality, 77);
}

/// What a save has of the field, under the names of different releases.
#[derive(Clone, Debug)]
struct Model {
    /// What the last release saved, and whether it had made that up.
    last: (&'static str, u32, bool),
    /// What it kept of others, the last one first.
    kept: Vec<(&'static str, u32)>,
}

impl Model {
    /// What a release shows, and saves if nobody changes it.
    fn load<R: Release>(&mut self) -> u32 {
        let is_known = |name: &str| R::NAMES.contains(&name);
        let (name, value, is_made_up) = self.last;
        if !is_made_up && !is_known(name) {
            self.kept.insert(0, (name, value));
        }
        // Of what it keeps for others the release knows its own name best.
        let own = self.kept.iter().find(|(name, _)| *name == R::NAMES[0]);
        let known = own.or(self.kept.iter().find(|(name, _)| is_known(name)));
        let (value, is_made_up) = match (known, is_known(name)) {
            (_, true) if !is_made_up => (value, false),
            (Some((_, kept)), _) => (*kept, false),
            (None, true) => (value, true),
            (None, false) => (R::DEFAULT, true),
        };
        self.kept.retain(|(name, _)| !is_known(name));
        // If nothing is kept, there is nothing that it could hide.
        self.last = (R::NAMES[0], value, is_made_up && !self.kept.is_empty());
        value
    }

    fn choose(&mut self, choice: u32) {
        let (_, value, is_made_up) = &mut self.last;
        *is_made_up &= *value == choice;
        *value = choice;
    }
}

/// A load, perhaps a change, and a save of one release.
#[derive(Clone, Debug)]
struct Visit {
    release: usize,
    choice: Option<u32>,
    saves: usize,
}

fn visits() -> impl Strategy<Value = Vec<Visit>> {
    let choice = prop_oneof![3 => Just(None), 2 => (1_u32..6).prop_map(Some)];
    let visit = (0_usize..3, choice, 1_usize..3);
    let visit = visit.prop_map(|(release, choice, saves)| Visit { release, choice, saves });
    proptest::collection::vec(visit, 1..12)
}

type Change<'c, T> = &'c mut dyn FnMut(&mut T);

fn in_object<T: Release>(save: &[u8], change: Change<'_, T>) -> Vec<u8> {
    pass::<T>(save, |hero| change(hero))
}

fn in_value<T: Release>(save: &[u8], change: Change<'_, T>) -> Vec<u8> {
    pass_value::<T>(save, |hero| change(hero))
}

impl Component for roomy::First {}
impl Component for roomy::Second {}
impl Component for roomy::Third {}

fn in_world<T: Release + Component>(save: &[u8], change: Change<'_, T>) -> Vec<u8> {
    let saves = Saves::new();
    saves.register_component::<T>().unwrap();
    let mut world = saves.from_slice::<World>(save).unwrap();
    let hero = world.find("hero").unwrap();
    change(world.get_mut::<T>(hero).unwrap());
    saves.to_vec(&world).unwrap()
}

fn world<T: Release + Component>(hero: T) -> Vec<u8> {
    let saves = Saves::new();
    saves.register_component::<T>().unwrap();
    let mut world = World::new();
    let id = world.spawn("hero");
    world.attach(id, hero).unwrap();
    saves.to_vec(&world).unwrap()
}

/// How a release passes a save on.
type Pass<T> = fn(&[u8], Change<'_, T>) -> Vec<u8>;

type Passes<A, B, C> = (Pass<A>, Pass<B>, Pass<C>);

fn visit<T: Release>(pass: Pass<T>, model: &mut Model, visit: &Visit, save: &[u8]) -> Vec<u8> {
    let mut save = save.to_vec();
    for _ in 0..visit.saves {
        let expected = model.load::<T>();
        save = pass(&save, &mut |hero| {
            assert_eq!(*hero.value(), expected, "{model:?} before {visit:?}");
            *hero.value() = visit.choice.unwrap_or(expected);
        });
        model.choose(visit.choice.unwrap_or(expected));
    }
    save
}

fn check<A: Release, B: Release, C: Release>(
    visits: &[Visit],
    first: &dyn Fn(C) -> Vec<u8>,
    (a, b, c): Passes<A, B, C>,
) {
    let mut newest = C::default();
    *newest.value() = 77;
    let mut model = Model { last: (C::NAMES[0], 77, false), kept: Vec::new() };
    let mut save = first(newest);
    for next in visits {
        save = match next.release {
            0 => visit(a, &mut model, next, &save),
            1 => visit(b, &mut model, next, &save),
            _ => visit(c, &mut model, next, &save),
        };
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: short_or_long(64, 512), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn each_release_shows_what_the_rules_say(visits in visits(), has_room in any::<bool>()) {
        if has_room {
            use roomy::{First, Second, Third};
            let objects: Passes<First, Second, Third> = (in_object, in_object, in_object);
            check(&visits, &|hero| save(hero), objects);
            let values: Passes<First, Second, Third> = (in_value, in_value, in_value);
            check(&visits, &|hero| persist::to_vec(&hero).unwrap(), values);
            let worlds: Passes<First, Second, Third> = (in_world, in_world, in_world);
            check(&visits, &|hero| world(hero), worlds);
        } else {
            use bare::{First, Second, Third};
            let objects: Passes<First, Second, Third> = (in_object, in_object, in_object);
            check(&visits, &|hero| save(hero), objects);
            let values: Passes<First, Second, Third> = (in_value, in_value, in_value);
            check(&visits, &|hero| persist::to_vec(&hero).unwrap(), values);
        }
    }
}

//! Components and resources of worlds: samples have them as objects of their own.

use persist::save::Registry;
use persist::{Component, Persist, Record, SaveManager, Saves, World};
use persist_tools::lock::{LockReport, Values};

use super::{locked, registry};

/// Versions of a component `Health`.
macro_rules! components {
    ($($version:ident { $item:item })*) => {
        $(mod $version {
            #[allow(unused_imports)]
            use super::*;
            #[derive(persist::Persist)]
            $item
            impl Component for Health {}
        })*
    };
}

components! {
    plain {
        pub(super) struct Health { points: u32, name: String }
    }
    converted {
        pub(super) struct Health { #[persist(convert = to_text)] points: String, name: String }
    }
    fussy {
        pub(super) struct Health { #[persist(convert = small)] points: u8, name: String }
    }
    migrated {
        #[persist(version = 2, migrate(1 = to_2))]
        pub(super) struct Health { life: u32, name: String }
    }
    forgotten {
        #[persist(version = 2, migrate(1 = does_nothing))]
        pub(super) struct Health { points: u32 }
    }
    forgotten_for_good {
        #[persist(version = 2, migrate(1 = does_nothing), removed = "name")]
        pub(super) struct Health { points: u32 }
    }
}

fn to_text(old: u32) -> String {
    old.to_string()
}

fn small(old: u32) -> Result<u8, String> {
    u8::try_from(old).map_err(|error| error.to_string())
}

fn to_2(health: &mut Record, _from: u32) {
    health.rename("points", "life");
}

fn does_nothing(_: &mut Record, _: u32) {}

fn component<T: Component>() -> Registry {
    let saves = Saves::new();
    saves.register_component::<T>().unwrap();
    Registry::clone(&saves.registry())
}

fn report<Then: Component, Now: Component>() -> LockReport {
    locked(&component::<Then>()).compare(&component::<Now>())
}

#[test]
fn samples_show_what_becomes_of_components() {
    let converted = report::<plain::Health, converted::Health>();
    insta::assert_snapshot!(converted.to_string());
    let migrated = report::<plain::Health, migrated::Health>();
    insta::assert_snapshot!(migrated.to_string());
    // What a `convert` refuses it means to refuse.
    let fussy = report::<plain::Health, fussy::Health>();
    insta::assert_snapshot!(fussy.to_string());
    let forgotten = report::<plain::Health, forgotten::Health>();
    insta::assert_snapshot!(forgotten.to_string());
    assert!(report::<plain::Health, forgotten_for_good::Health>().loads());
}

#[derive(Persist)]
struct Score {
    points: u32,
}

#[derive(Persist)]
#[persist(class = "Score")]
struct SmallScore {
    points: u8,
}

#[test]
fn samples_show_what_becomes_of_resources() {
    let resource = |register: fn(&mut Registry) -> persist::Result<()>| {
        let mut registry = Registry::new();
        register(&mut registry).unwrap();
        registry
    };
    let lock = locked(&resource(Registry::register_resource::<Score>));
    let report = lock.compare(&resource(Registry::register_resource::<SmallScore>));
    insta::assert_snapshot!(report.to_string());
}

#[derive(Persist)]
struct Game {
    name: String,
    world: World,
    second: Vec<World>,
}

#[test]
fn a_world_in_a_field_is_as_it_was() {
    let saves = Saves::new();
    saves.register::<Game>().unwrap();
    saves.register_component::<plain::Health>().unwrap();
    let lock = locked(&saves.registry());
    let report = lock.compare(&saves.registry());
    assert!(report.loads() && report.is_current() && report.notes().is_empty(), "{report}");
    for values in [Values::Plain, Values::Boundary] {
        saves.from_slice::<SaveManager>(&lock.sample("0.1.0", values).unwrap()).unwrap();
    }
    let saves = Saves::new();
    saves.register::<Game>().unwrap();
    saves.register_component::<converted::Health>().unwrap();
    let report = lock.compare(&saves.registry());
    assert!(report.loads() && report.notes().is_empty(), "{report}");
}

#[derive(Persist)]
#[persist(class = "Game")]
struct BrokenGame {
    name: String,
    level: u32,
}

#[derive(Persist)]
#[persist(class = "Game")]
struct OldGame {
    name: String,
}

#[test]
fn a_component_class_that_is_none_any_more_is_kept_whatever_else_breaks() {
    let saves = Saves::new();
    saves.register_component::<plain::Health>().unwrap();
    saves.register::<OldGame>().unwrap();
    let lock = locked(&saves.registry());
    let mut now = registry::<BrokenGame>();
    now.register::<plain::Health>().unwrap();
    insta::assert_snapshot!(lock.compare(&now).to_string());
}

//! Fields of components by their paths: read, set, refused.

mod paths;
mod refused;
mod thing;
mod twin;

use std::ops::{Range, RangeInclusive};
use std::time::Duration;

use persist::{Component, ObjectId, Persist, Saves, Value, World, field};
use thing::{Item, Mood, Place, Slot, Thing};

/// A world with one thing.
fn world() -> persist::Result<(World, ObjectId)> {
    let mut world = World::new();
    let ada = world.spawn("Ada");
    world.attach(ada, Thing::sample())?;
    Ok((world, ada))
}

#[test]
fn a_field_is_read_by_its_own_kind_and_set_with_the_old_value_back() -> persist::Result<()> {
    let (mut world, ada) = world()?;
    assert_eq!(world.get_field(ada, "game.Thing:place.x")?, Value::F32(1.0));
    assert_eq!(world.set_field(ada, "game.Thing:place.x", 5.0_f32)?, Value::F32(1.0));
    assert_eq!(world.get::<Thing>(ada).map(|thing| thing.position.x), Some(5.0));
    assert_eq!(world.set_field(ada, "game.Thing:level", 7)?, Value::U16(3));
    assert_eq!(world.set_field(ada, "game.Thing:name", "Bob")?, Value::from("Ada"));
    let expected = Thing {
        position: Place { x: 5.0, y: 2.0 },
        level: 7,
        name: "Bob".into(),
        ..Thing::sample()
    };
    assert_eq!(world.get::<Thing>(ada), Some(&expected));
    Ok(())
}

#[test]
fn a_path_goes_through_whatever_may_be_in_a_component() -> persist::Result<()> {
    let (mut world, ada) = world()?;
    for (path, new) in [
        ("boxed.y", Value::F32(9.0)),
        ("cell.y", Value::F32(9.5)),
        ("pet.at.x", Value::F32(8.0)),
        ("mood.cause.y", Value::F32(7.0)),
        ("items[1].count", Value::U32(70)),
        ("items[1].spots[0]", Value::I16(-4)),
        ("grid[1][0]", Value::F64(0.5)),
        ("pair.1.x", Value::F32(6.0)),
        ("pair[0]", Value::U8(200)),
        ("prices[\"long sword\"]", Value::I64(-1)),
        ("prices[axe]", Value::I64(-2)),
        ("by_slot[Hand]", Value::U8(1)),
        ("by_slot[Slot::Head]", Value::U8(2)),
        ("by_number[3]", Value::from("three")),
        ("by_number[-3]", Value::from("minus three")),
        ("length", Value::F32(2.5)),
        ("number.0", Value::U64(11)),
        ("friend", Value::from(Some(ada))),
        ("secret", Value::from("text")),
    ] {
        let path = format!("game.Thing:{path}");
        world.set_field(ada, &path, new.clone())?;
        let now = world.get_field(ada, &path)?;
        match new.as_object_id() {
            Some(_) => assert_eq!(now.as_object_id(), new.as_object_id(), "{path}"),
            None => assert_eq!(now, new, "{path}"),
        }
    }
    let thing = world.get::<Thing>(ada).expect("it is there");
    assert_eq!(thing.boxed.y, 9.0);
    assert_eq!(thing.cell.borrow().y, 9.5);
    assert_eq!(thing.pet.as_ref().map(|pet| pet.at.x), Some(8.0));
    assert_eq!(thing.mood, Mood::Angry { cause: Place { x: 3.0, y: 7.0 }, at: None });
    assert_eq!(thing.items[1], Item { count: 70, spots: vec![-4, 5] });
    assert_eq!(thing.grid, [[1.0, 2.0], [0.5, 4.0]]);
    assert_eq!((thing.pair.0, thing.pair.1.x), (200, 6.0));
    assert_eq!(thing.prices.values().copied().collect::<Vec<_>>(), [-2, -1]);
    assert_eq!((thing.by_slot[&Slot::Hand], thing.by_slot[&Slot::Head]), (1, 2));
    assert_eq!(
        thing.by_number.values().map(String::as_str).collect::<Vec<_>>(),
        ["minus three", "three"]
    );
    assert_eq!((thing.length.0, thing.number.0), (2.5, 11));
    assert_eq!(thing.friend, Some(ada));
    assert_eq!(thing.secret.0, "text");
    Ok(())
}

#[test]
fn a_whole_component_is_a_value_and_goes_back() -> persist::Result<()> {
    let (mut world, ada) = world()?;
    let whole = world.get_field(ada, "game.Thing")?;
    assert_eq!(world.get_field(ada, "game.Thing:")?, whole);
    let record = whole.as_record().expect("a struct");
    assert_eq!(record.class(), "game.Thing");
    assert_eq!(record.get("level"), Some(&Value::U16(3)));
    assert_eq!(record.get("cache"), None, "it is skipped");

    let mut other = Thing::sample();
    other.level = 99;
    other.items.clear();
    if let Some(thing) = world.get_mut::<Thing>(ada) {
        *thing = other.clone();
    }
    let was = world.set_field(ada, "game.Thing", whole)?;
    assert_eq!(was.as_record().and_then(|record| record.get("level")), Some(&Value::U16(99)));
    assert_eq!(world.get::<Thing>(ada), Some(&Thing::sample()));
    Ok(())
}

#[test]
fn an_enum_goes_to_another_variant_by_its_name_or_whole() -> persist::Result<()> {
    let (mut world, ada) = world()?;
    let angry = world.set_field(ada, "game.Thing:mood", "Calm")?;
    assert_eq!(world.get::<Thing>(ada).map(|thing| thing.mood.clone()), Some(Mood::Calm));
    world.set_field(ada, "game.Thing:mood", angry)?;
    assert_eq!(world.get::<Thing>(ada), Some(&Thing::sample()));
    Ok(())
}

#[test]
fn a_map_is_set_whole_in_any_order_of_its_keys() -> persist::Result<()> {
    let (mut world, ada) = world()?;
    let entry = |name: &str, price: i64| (Value::from(name), Value::from(price));
    let prices = Value::Map(vec![entry("z", 1), entry("a", 2), entry("m", 3)]);
    world.set_field(ada, "game.Thing:prices", prices)?;
    assert_eq!(world.get_field(ada, "game.Thing:prices[m]")?, Value::I64(3));
    let twice = Value::Map(vec![entry("z", 1), entry("z", 2)]);
    let error = world.set_field(ada, "game.Thing:prices", twice).expect_err("twice");
    assert_eq!(error.message(), "a key stands twice; remove one");
    assert_eq!(world.get::<Thing>(ada).map(|thing| thing.prices.len()), Some(3));
    Ok(())
}

#[test]
fn an_option_becomes_some_and_none() -> persist::Result<()> {
    let (mut world, ada) = world()?;
    let pet = world.set_field(ada, "game.Thing:pet", Value::Option(None))?;
    assert!(world.get::<Thing>(ada).is_some_and(|thing| thing.pet.is_none()));
    let Value::Option(Some(pet)) = pet else { panic!("it was there") };
    world.set_field(ada, "game.Thing:pet", *pet)?;
    assert_eq!(world.get::<Thing>(ada), Some(&Thing::sample()));
    Ok(())
}

#[test]
fn numbers_take_the_width_of_the_field() -> persist::Result<()> {
    let (mut world, ada) = world()?;
    // What an editor has is an `f64` or an `i64`.
    world.set_field(ada, "game.Thing:place.x", 0.1)?;
    assert_eq!(world.get_field(ada, "game.Thing:place.x")?, Value::F32(0.1));
    world.set_field(ada, "game.Thing:place.x", 5)?;
    assert_eq!(world.get_field(ada, "game.Thing:place.x")?, Value::F32(5.0));
    world.set_field(ada, "game.Thing:place.x", f64::INFINITY)?;
    world.set_field(ada, "game.Thing:grid", vec![vec![0.1_f32, 1.0], vec![2.0, 3.0]])?;
    assert_eq!(world.get_field(ada, "game.Thing:grid[0][0]")?, Value::F64(f64::from(0.1_f32)));
    world.set_field(ada, "game.Thing:level", 8.0)?;
    world.set_field(ada, "game.Thing:items[0].count", 5_u64)?;
    assert_eq!(world.get_field(ada, "game.Thing:items[0].count")?, Value::U32(5));
    Ok(())
}

#[test]
fn what_elements_of_a_list_skip_stays() -> persist::Result<()> {
    #[derive(Persist)]
    struct Bag {
        items: Vec<Drawn>,
    }
    #[derive(Persist)]
    struct Drawn {
        count: u32,
        name: String,
        #[persist(skip)]
        picture: u32,
    }
    impl Component for Bag {}
    let mut world = World::new();
    let ada = world.spawn("Ada");
    let drawn = |picture| Drawn { count: 1, name: "a".into(), picture };
    world.attach(ada, Bag { items: vec![drawn(1), drawn(2), drawn(3)] })?;
    world.set_field(ada, field!(Bag.items[1].count), 9)?;
    let bag = world.get::<Bag>(ada).expect("it is there");
    let all: Vec<_> = bag.items.iter().map(|item| (item.count, item.picture)).collect();
    assert_eq!(all, [(1, 1), (9, 2), (1, 3)]);
    Ok(())
}

#[test]
fn a_method_of_one_component_sets_fields_of_others() -> persist::Result<()> {
    #[derive(Persist)]
    struct Push;
    impl Component for Push {
        fn on_update(&mut self, scope: &mut persist::ComponentScope<'_>) {
            let object = scope.object();
            scope.world.set_field(object, field!(Thing.position.x), 77.0).expect("it is free");
            let error = scope.world.get_field(object, "Push").expect_err("it runs");
            assert_eq!(error.kind(), persist::ErrorKind::Borrowed);
        }
    }
    let (mut world, ada) = world()?;
    world.attach(ada, Push)?;
    world.update(0.1);
    assert_eq!(world.get::<Thing>(ada).map(|thing| thing.position.x), Some(77.0));
    Ok(())
}

#[test]
fn trait_objects_of_registered_classes_are_gone_through() -> persist::Result<()> {
    #[persist::dynamic]
    trait Shape: Send {
        fn area(&self) -> f64;
    }
    #[derive(Persist)]
    struct Square {
        side: f64,
    }
    impl Shape for Square {
        fn area(&self) -> f64 {
            self.side * self.side
        }
    }
    #[derive(Persist)]
    struct Drawing {
        shapes: Vec<Box<dyn Shape>>,
    }
    impl Component for Drawing {}

    let mut world = World::new();
    let ada = world.spawn("Ada");
    world.attach(ada, Drawing { shapes: vec![Box::new(Square { side: 2.0 })] })?;
    let error = world.get_field(ada, "Drawing:shapes[0].side").expect_err("not registered");
    assert_eq!(error.kind(), persist::ErrorKind::Unsupported);

    let saves = Saves::new();
    saves.register_as::<Square, dyn Shape>()?;
    saves.register_component::<Drawing>()?;
    let folder = tempfile::tempdir().expect("a folder");
    saves.file(folder.path().join("a.sav")).save(&world)?;
    let mut world = saves.file(folder.path().join("a.sav")).load::<World>()?.into_inner();
    world.set_field(ada, "Drawing:shapes[0].side", 3)?;
    assert_eq!(world.get::<Drawing>(ada).map(|drawing| drawing.shapes[0].area()), Some(9.0));
    Ok(())
}

#[test]
fn a_path_goes_into_ranges_and_times() -> persist::Result<()> {
    #[derive(Persist)]
    struct Clock {
        played: Duration,
        turns: Range<u8>,
        hours: RangeInclusive<u8>,
    }
    impl Component for Clock {}

    let mut world = World::new();
    let ada = world.spawn("Ada");
    let clock = Clock { played: Duration::new(5, 7), turns: 1..4, hours: 8..=16 };
    world.attach(ada, clock)?;
    for (path, old, new) in [
        ("Clock:played.seconds", Value::U64(5), Value::U64(90)),
        ("Clock:played.nanoseconds", Value::U32(7), Value::U32(8)),
        ("Clock:turns.end", Value::U8(4), Value::U8(9)),
        ("Clock:hours.start", Value::U8(8), Value::U8(7)),
    ] {
        assert_eq!(world.set_field(ada, path, new.clone())?, old, "{path}");
        assert_eq!(world.get_field(ada, path)?, new, "{path}");
    }
    let error = world.set_field(ada, "Clock:played.nanoseconds", 1_000_000_000_u32).unwrap_err();
    assert_eq!(error.kind(), persist::ErrorKind::InvalidValue, "{error}");
    let clock = world.get::<Clock>(ada).unwrap();
    assert_eq!((clock.played, &clock.turns), (Duration::new(90, 8), &(1..9)));
    assert_eq!(clock.hours, 7..=16);

    let mut history = persist::History::new(9);
    history.edit(&mut world, "wait", |edit| {
        let clock = edit.get_mut::<Clock>(ada)?;
        clock.played += Duration::from_millis(1_500);
        clock.turns.start = 2;
        clock.hours = 0..=24;
        Ok(())
    })?;
    history.undo(&mut world)?;
    let clock = world.get::<Clock>(ada).unwrap();
    assert_eq!((clock.played, &clock.turns), (Duration::new(90, 8), &(1..9)));
    assert_eq!(clock.hours, 7..=16);
    history.redo(&mut world)?;
    let clock = world.get::<Clock>(ada).unwrap();
    assert_eq!((clock.played, &clock.turns), (Duration::new(91, 500_000_008), &(2..9)));
    assert_eq!(clock.hours, 0..=24);
    Ok(())
}

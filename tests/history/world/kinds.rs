//! Fields of every kind, set by paths and by hand.

use persist::{Component, Persist, Record, Result, Saves, Value, World};

use super::scene::{
    Item, Light, Metres, Mood, Number, Pair, Pet, Place, Slot, Speed, Tag, Thing, saved_and_loaded,
    with,
};
use super::stage::{kind, there_and_back};

#[test]
fn a_path_through_options_lists_arrays_maps_tuples_and_enums_goes_back() -> Result<()> {
    let (mut world, mut history, ada) = with(Thing::sample());
    let friend = world.spawn("Bob");
    let mut tired = Record::with_variant("Mood", "Tired");
    tired.set("0", 3_u8);
    for (path, value) in [
        ("place.x", Value::F32(9.0)),
        ("level", Value::U16(9)),
        ("ratio", Value::F64(-0.25)),
        ("name", Value::from("Eve")),
        ("mood.cause.y", Value::F32(7.0)),
        ("mood.at", Value::from(Some(friend))),
        ("mood", Value::from("Calm")),
        ("mood", tired.into()),
        ("pet.at.x", Value::F32(8.0)),
        ("pet.name", Value::from("a name that is longer than the one before")),
        ("pet", Value::Option(None)),
        ("items[1].count", Value::U32(70_000)),
        ("items[1].spots[0]", Value::I16(-400)),
        ("items", Value::Seq(Vec::new())),
        ("grid[1][0]", Value::F64(0.5)),
        ("pair.1.x", Value::F32(6.0)),
        ("pair[0]", Value::U8(200)),
        ("prices[\"long sword\"]", Value::I64(-1)),
        ("prices", Value::Map(vec![(Value::from("bow"), Value::I64(3))])),
        ("by_slot[Hand]", Value::U8(1)),
        ("length", Value::F32(2.5)),
        ("number.0", Value::U64(u64::MAX)),
        ("secret", Value::from("txet")),
    ] {
        let path = format!("game.Thing:{path}");
        there_and_back(&mut world, &mut history, |edit| edit.set(ada, &path, value))?;
    }
    let thing = world.get::<Thing>(ada).expect("it is there");
    assert_eq!((&*thing.secret.0, &thing.mood), ("text", &Mood::Tired(3)));
    history.go_to(&mut world, 0)?;
    assert_eq!(world.get(ada), Some(&Thing::sample()));
    Ok(())
}

#[test]
fn a_path_that_leads_nowhere_any_more_is_an_error_of_the_undo_and_nothing_changes() -> Result<()> {
    let (mut world, mut history, ada) = with(Thing::sample());
    history.set(&mut world, ada, "game.Thing:items[1].count", 5)?;
    history.set(&mut world, ada, "game.Thing:mood.cause.x", 5.0)?;
    let thing = world.get_mut::<Thing>(ada).expect("it is there");
    let (items, mood) = (std::mem::take(&mut thing.items), thing.mood.clone());
    thing.mood = Mood::Calm;
    let broken = thing.clone();
    for _ in 0..2 {
        let error = history.undo(&mut world).expect_err("the mood has no cause");
        assert_eq!(error.kind(), persist::ErrorKind::NotFound);
        assert_eq!(error.object(), Some(ada.get()));
        assert_eq!(world.get(ada), Some(&broken));
        assert_eq!(history.position(), 2);
    }
    world.get_mut::<Thing>(ada).expect("it is there").mood = mood;
    assert!(history.undo(&mut world)?);
    assert_eq!(kind(history.undo(&mut world)), persist::ErrorKind::WrongTarget);
    world.get_mut::<Thing>(ada).expect("it is there").items = items;
    assert!(history.undo(&mut world)?);
    assert_eq!(world.get(ada), Some(&Thing::sample()));
    Ok(())
}

#[test]
fn whatever_a_program_changes_in_a_component_goes_back() -> Result<()> {
    let (mut world, mut history, ada) = with(Thing::sample());
    let friend = world.spawn("Bob");
    let place = Place { x: -1.0, y: -2.0 };
    let changes: [&dyn Fn(&mut Thing); 20] = [
        &|thing| thing.position = place.clone(),
        &|thing| thing.level = u16::MAX,
        &|thing| thing.ratio = f64::INFINITY,
        &|thing| thing.name.clear(),
        &|thing| thing.mood = Mood::Calm,
        &|thing| thing.mood = Mood::Tired(1),
        &|thing| thing.mood = Mood::Tired(2),
        &|thing| thing.mood = Mood::Angry { cause: place.clone(), at: Some(friend) },
        &|thing| thing.pet = None,
        &|thing| thing.pet = Some(Pet { name: "Cat".into(), at: place.clone() }),
        &|thing| thing.items.push(Item { count: 3, spots: vec![1; 300], picture: 0 }),
        &|thing| thing.items.swap(0, 2),
        &|thing| thing.items[2].spots.push(9),
        &|thing| thing.grid[1] = [0.0, -0.0],
        &|thing| thing.pair.1.y = 3.0,
        &|thing| thing.prices.extend([("bow".into(), 7)]),
        &|thing| thing.prices.retain(|item, _| item != "axe"),
        &|thing| thing.by_slot.retain(|slot, _| *slot == Slot::Head),
        &|thing| (thing.length, thing.number) = (Metres(-1.0), Number(0)),
        &|thing| thing.secret.0 = "another".into(),
    ];
    for change in changes {
        there_and_back(&mut world, &mut history, |edit| {
            change(edit.get_mut(ada)?);
            Ok(())
        })?;
    }
    history.go_to(&mut world, 0)?;
    assert_eq!(world.get(ada), Some(&Thing::sample()));
    Ok(())
}

#[test]
fn a_hash_map_that_is_filled_in_another_order_has_not_changed() -> Result<()> {
    #[derive(Persist)]
    struct Numbers(std::collections::HashMap<u32, u32>);
    impl Component for Numbers {}
    let (mut world, mut history, ada) = with(Numbers((0..100).map(|n| (n, n)).collect()));
    history.edit(&mut world, "", |edit| {
        edit.get_mut::<Numbers>(ada)?.0 = (0..100).rev().map(|n| (n, n)).collect();
        Ok(())
    })?;
    assert!(history.entries().len() == 0);
    Ok(())
}

#[test]
fn components_that_are_no_structs_with_names_go_back() -> Result<()> {
    let (mut world, mut history, ada) = with(Speed(1.0));
    world.attach(ada, Pair(1, "one".into()))?;
    world.attach(ada, Tag)?;
    world.attach(ada, Light::Off)?;
    there_and_back(&mut world, &mut history, |edit| {
        edit.get_mut::<Speed>(ada)?.0 = 2.0;
        Ok(())
    })?;
    there_and_back(&mut world, &mut history, |edit| edit.set(ada, "Speed:0", 3.0))?;
    there_and_back(&mut world, &mut history, |edit| {
        *edit.get_mut::<Pair>(ada)? = Pair(2, "two".into());
        Ok(())
    })?;
    there_and_back(&mut world, &mut history, |edit| edit.set(ada, "Pair:1", "three"))?;
    there_and_back(&mut world, &mut history, |edit| {
        *edit.get_mut::<Light>(ada)? = Light::On { brightness: 0.5 };
        Ok(())
    })?;
    there_and_back(&mut world, &mut history, |edit| edit.set(ada, "Light:brightness", 0.75))?;
    there_and_back(&mut world, &mut history, |edit| edit.set(ada, "Light", "Off"))?;
    history.edit(&mut world, "", |edit| {
        *edit.get_mut::<Tag>(ada)? = Tag;
        Ok(())
    })?;
    assert_eq!(history.entries().len(), 7, "there is nothing in a tag that could change");
    history.go_to(&mut world, 0)?;
    assert_eq!(world.get(ada), Some(&Pair(1, "one".into())));
    assert_eq!(world.get(ada), Some(&Light::Off));
    Ok(())
}

#[persist::dynamic]
trait Shape: Send {
    fn area(&self) -> f64;
}

#[derive(Persist)]
struct Square {
    side: f64,
}

#[derive(Persist)]
struct Circle {
    radius: f64,
    name: String,
}

impl Shape for Square {
    fn area(&self) -> f64 {
        self.side * self.side
    }
}

impl Shape for Circle {
    fn area(&self) -> f64 {
        3.0 * self.radius * self.radius
    }
}

#[derive(Persist)]
struct Drawing {
    main: Box<dyn Shape>,
    others: Vec<Box<dyn Shape>>,
}

impl Component for Drawing {}

#[test]
fn fields_with_trait_objects_go_back_to_the_class_that_they_were() -> Result<()> {
    let mut world = World::new();
    let ada = world.spawn("Ada");
    world.attach(ada, Drawing { main: Box::new(Square { side: 2.0 }), others: Vec::new() })?;
    let saves = Saves::new();
    saves.register_as::<Square, dyn Shape>()?;
    saves.register_as::<Circle, dyn Shape>()?;
    saves.register_component::<Drawing>()?;
    let mut world = saved_and_loaded(&saves, &world);
    let mut history = persist::History::new(100);

    let circle = |radius| Box::new(Circle { radius, name: "round".into() });
    let areas = |world: &World| {
        let drawing = world.get::<Drawing>(ada).expect("it is there");
        let others: Vec<f64> = drawing.others.iter().map(|shape| shape.area()).collect();
        (drawing.main.area(), others)
    };
    history.edit(&mut world, "", |edit| {
        edit.get_mut::<Drawing>(ada)?.main = circle(1.0);
        Ok(())
    })?;
    history.edit(&mut world, "", |edit| {
        edit.get_mut::<Drawing>(ada)?.others = vec![circle(2.0), Box::new(Square { side: 1.0 })];
        Ok(())
    })?;
    history.set(&mut world, ada, "Drawing:main.radius", 10.0)?;
    history.edit(&mut world, "", |edit| edit.move_element(ada, "Drawing:others", 0, 1))?;
    history.set(&mut world, ada, "Drawing:others[0].side", 5.0)?;
    let states = [
        (4.0, vec![]),
        (3.0, vec![]),
        (3.0, vec![12.0, 1.0]),
        (300.0, vec![12.0, 1.0]),
        (300.0, vec![1.0, 12.0]),
        (300.0, vec![25.0, 12.0]),
    ];
    for position in [0, 5, 2, 4, 1, 3, 5, 0] {
        history.go_to(&mut world, position)?;
        assert_eq!(areas(&world), states[position], "at {position}");
    }
    Ok(())
}

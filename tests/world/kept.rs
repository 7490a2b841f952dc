//! Components whose classes the program does not have, or has in another form.

use std::sync::{Arc, Mutex};

use persist::{Component, ComponentScope, LoadOptions, ObjectId, Persist, Result, Saves, World};

use super::actor::{log, logged};
use super::park::Park as _;

#[derive(Persist, Debug, PartialEq)]
struct Body {
    mass: u32,
}

#[derive(Persist, Debug, PartialEq)]
struct Item {
    name: String,
}

/// Of a mod that is switched off at times.
#[derive(Persist, Debug)]
struct Magic {
    power: u32,
    item: Arc<Mutex<Item>>,
    from: ObjectId,
}

/// Another one.
#[derive(Persist, Debug, PartialEq)]
struct Curse(u8);

impl Component for Body {}

impl Component for Magic {
    fn on_start(&mut self, _: &mut ComponentScope<'_>) {
        log(format!("start {}", self.power));
    }
}

impl Component for Curse {
    fn on_start(&mut self, _: &mut ComponentScope<'_>) {
        log("start curse");
    }
}

fn item(name: &str) -> Arc<Mutex<Item>> {
    Arc::new(Mutex::new(Item { name: name.into() }))
}

fn poor() -> Saves {
    let saves = Saves::new();
    saves.register_component::<Body>().expect("a component class");
    saves
}

fn rich() -> Saves {
    let saves = poor();
    saves.register_component::<Magic>().expect("a component class");
    saves.register_component::<Curse>().expect("a component class");
    saves
}

/// An object with magic before and a curse behind its body, and one with magic alone; both share an item.
fn enchanted() -> (World, [ObjectId; 2]) {
    let mut world = World::new();
    let [ada, ring] = ["Ada", "ring"].map(|name| world.spawn(name));
    let item = item("shared");
    let magic = |power| Magic { power, item: item.clone(), from: ada };
    world.attach(ada, magic(1)).expect("there");
    world.attach(ada, Body { mass: 70 }).expect("there");
    world.attach(ada, Curse(9)).expect("there");
    world.attach(ring, magic(2)).expect("there");
    (world, [ada, ring])
}

/// The world behind a session without the mod, in which something is done.
fn through_a_poor_session(world: &World, play: impl FnOnce(&mut World)) -> Result<World> {
    let save = rich().to_vec(world)?;
    let poor = poor();
    let mut kept = poor.from_slice::<World>(&save)?;
    play(&mut kept);
    let save = poor.to_vec(&kept)?;
    Ok(rich().from_slice::<World>(&save)?.into_inner())
}

#[test]
fn unknown_components_come_back_in_their_places_with_what_they_point_to() -> Result<()> {
    let (world, [ada, ring]) = enchanted();
    let again = through_a_poor_session(&world, |kept| {
        assert_eq!(kept.classes(ada), ["Magic", "Body", "Curse"]);
        assert_eq!(kept.classes(ring), ["Magic"]);
        assert!(kept.get::<Magic>(ada).is_none());
        kept.get_mut::<Body>(ada).expect("there").mass = 80;
    })?;
    assert_eq!(again.classes(ada), ["Magic", "Body", "Curse"]);
    assert_eq!(again.get(ada), Some(&Body { mass: 80 }));
    assert_eq!(again.get(ada), Some(&Curse(9)));
    let [one, other] = [ada, ring].map(|object| again.get::<Magic>(object).expect("back"));
    assert_eq!((one.power, other.power), (1, 2));
    assert_eq!((one.from, other.from), (ada, ada));
    assert!(Arc::ptr_eq(&one.item, &other.item), "they share it again");
    assert_eq!(one.item.lock().unwrap().name, "shared");
    Ok(())
}

#[test]
fn unknown_components_keep_their_places_when_others_come_and_go() -> Result<()> {
    let (world, [ada, _]) = enchanted();
    let again = through_a_poor_session(&world, |kept| {
        kept.detach::<Body>(ada);
        assert_eq!(kept.classes(ada), ["Magic", "Curse"]);
        kept.attach(ada, Body { mass: 1 }).expect("there");
        kept.park(ada).expect("there");
        kept.unpark(ada).expect("parked");
    })?;
    assert_eq!(again.classes(ada), ["Magic", "Curse", "Body"]);
    Ok(())
}

#[test]
fn unknown_components_go_with_their_objects() -> Result<()> {
    let (world, [ada, ring]) = enchanted();
    let again = through_a_poor_session(&world, |kept| {
        kept.remove(ada);
    })?;
    assert_eq!(again.query::<&Curse>().count(), 0);
    let magic = again.get::<Magic>(ring).expect("back");
    assert_eq!((magic.power, magic.from), (2, ada), "an id that leads nowhere now");
    assert!(!again.contains(ada));
    Ok(())
}

#[test]
fn an_unknown_component_is_replaced_when_its_class_is_attached() -> Result<()> {
    let (world, [ada, _]) = enchanted();
    let again = through_a_poor_session(&world, |kept| {
        kept.attach(ada, Curse(1)).expect("there");
        assert_eq!(kept.classes(ada), ["Magic", "Body", "Curse"]);
        kept.detach::<Curse>(ada);
        assert_eq!(kept.classes(ada), ["Magic", "Body"]);
    });
    assert_eq!(again?.classes(ada), ["Magic", "Body"]);
    Ok(())
}

#[test]
fn a_component_that_was_started_is_not_started_again_after_a_session_without_its_class()
-> Result<()> {
    let (mut world, [ada, ring]) = enchanted();
    world.update(0.1);
    assert_eq!(logged(), ["start 1", "start curse", "start 2"]);
    let bob = world.spawn("Bob");
    world.attach(bob, Curse(1))?;
    let mut again = through_a_poor_session(&world, |kept| {
        kept.detach::<Body>(ada);
        kept.update(0.1);
    })?;
    again.update(0.1);
    assert_eq!(logged(), ["start curse"], "Bob's, which waited");
    assert_eq!(again.classes(ring), ["Magic"]);
    Ok(())
}

#[test]
fn unknown_components_are_stand_ins_and_stay_where_unknown_fields_are_dropped() -> Result<()> {
    let (world, [ada, ring]) = enchanted();
    let save = rich().to_vec(&world)?;
    let poor = poor().load_options(LoadOptions::new().drop_unknown(true));
    let kept = poor.from_slice::<World>(&save)?.into_inner();
    assert_eq!(kept.classes(ada), ["Magic", "Body", "Curse"]);
    assert_eq!(kept.classes(ring), ["Magic"]);
    Ok(())
}

mod renamed {
    use persist::{Component, Persist};

    /// What `Body` became.
    #[derive(Persist, Debug, PartialEq)]
    #[persist(class = "Shape", alias = "Body")]
    pub(super) struct Shape {
        #[persist(alias = "mass")]
        pub(super) weight: u64,
        #[persist(default = 3)]
        pub(super) sides: u8,
    }

    impl Component for Shape {}
}

#[test]
fn a_component_class_evolves_like_any_other() -> Result<()> {
    let (world, [ada, ring]) = enchanted();
    let save = rich().to_vec(&world)?;
    let saves = Saves::new();
    saves.register_component::<renamed::Shape>()?;
    saves.register_component::<Magic>()?;
    let mut again = saves.from_slice::<World>(&save)?;
    let shape = renamed::Shape { weight: 70, sides: 3 };
    assert_eq!(again.get(ada), Some(&shape));
    assert_eq!(again.classes(ada), ["Magic", "Shape", "Curse"]);
    assert_eq!(again.get::<Magic>(ring).map(|magic| magic.power), Some(2));
    let save = saves.to_vec(&again)?;
    again = saves.from_slice(&save)?;
    assert_eq!(again.get(ada), Some(&shape));
    Ok(())
}

#[test]
fn a_component_that_was_kept_under_an_old_name_is_replaced_too() -> Result<()> {
    let (world, [ada, _]) = enchanted();
    let save = rich().to_vec(&world)?;
    let mut kept = Saves::new().from_slice::<World>(&save)?.into_inner();
    assert_eq!(kept.classes(ada), ["Magic", "Body", "Curse"]);
    kept.attach(ada, renamed::Shape { weight: 1, sides: 4 })?;
    assert_eq!(kept.classes(ada), ["Magic", "Curse", "Shape"]);
    Ok(())
}

#[test]
fn what_is_kept_may_go_to_another_thread_and_is_saved_where_its_objects_are() -> Result<()> {
    let mut world = World::new();
    let orc = world.spawn("Orc");
    let item = item("shared");
    for name in ["one", "other"] {
        let object = world.spawn(name);
        world.attach(object, Magic { power: 3, item: Arc::clone(&item), from: orc })?;
    }
    let rich = Saves::new();
    rich.register_component::<Magic>()?;
    let save = rich.to_vec(&world)?;

    let poor = Saves::new();
    let kept = poor.from_slice::<World>(&save)?.into_inner();
    let back = std::thread::spawn(move || {
        let error = Saves::new().to_vec(&kept).map(drop);
        (error.map_err(|error| error.kind()), kept)
    });
    let (error, kept) = back.join().expect("it does not panic");
    assert_eq!(error, Err(persist::ErrorKind::Unsupported));
    let again = poor.to_vec(&kept)?;
    let again = rich.from_slice::<World>(&again)?.into_inner();
    let items: Vec<_> = again.query::<&Magic>().map(|magic| Arc::clone(&magic.item)).collect();
    assert!(items.len() == 2 && Arc::ptr_eq(&items[0], &items[1]));

    // One that is dropped elsewhere frees its objects here, when more are kept.
    std::thread::spawn(move || drop(kept)).join().expect("it does not panic");
    let kept = poor.from_slice::<World>(&save)?.into_inner();
    assert!(poor.to_vec(&kept).is_ok());
    Ok(())
}

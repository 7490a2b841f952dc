//! Worlds: fields by their paths, objects, components, prefabs, saves that contradict themselves.

use persist::world::Activity;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU8;
use std::sync::{Arc, Mutex};

use persist::world::Prefab;
use persist::{
    Component, ComponentScope, History, Loaded, ObjectId, Persist, Record, Result, Saves, Unknown,
    Value, World,
};
use persist_tests::support::parent;
use persist_tools::Document;

use crate::messages::table::Table;

#[derive(Persist, Clone)]
#[persist(class = "game.Thing")]
struct Thing {
    place: Place,
    level: u16,
    mood: Mood,
    pet: Option<Place>,
    items: Vec<Place>,
    names: Vec<String>,
    grid: [f64; 2],
    pair: (u8, Place),
    prices: BTreeMap<String, i64>,
    set: BTreeSet<u8>,
    bytes: Vec<NonZeroU8>,
    friend: Option<ObjectId>,
}

#[derive(Persist, Clone)]
struct Place {
    x: f32,
}

#[derive(Persist, Clone)]
enum Mood {
    Calm,
    Angry { cause: Place },
}

#[derive(Persist)]
struct Holder {
    level: u8,
    shared: Option<Arc<Mutex<u32>>>,
    #[persist(unknown)]
    rest: Unknown,
}

#[persist::dynamic]
trait Tool: Send {}

#[derive(Persist)]
struct Hammer(u8);

impl Tool for Hammer {}

#[persist::dynamic(unknown = Absent)]
trait Item: Send {}

#[derive(Persist)]
struct Absent {
    unknown: Unknown,
}

impl From<Unknown> for Absent {
    fn from(unknown: Unknown) -> Self {
        Self { unknown }
    }
}

impl AsRef<Unknown> for Absent {
    fn as_ref(&self) -> &Unknown {
        &self.unknown
    }
}

impl Item for Absent {}

#[derive(Persist)]
struct Coin(u8);

impl Item for Coin {}

#[derive(Persist)]
struct Purse {
    item: Box<dyn Item>,
}

impl Component for Purse {}

#[derive(Persist)]
struct Belt {
    tool: Box<dyn Tool>,
}

#[derive(Persist)]
#[persist(validate = Range::check)]
struct Range {
    low: i32,
    high: i32,
}

impl Range {
    fn check(&self) -> std::result::Result<(), String> {
        if self.low <= self.high { Ok(()) } else { Err(format!("{} > {}", self.low, self.high)) }
    }
}

#[derive(Persist)]
#[persist(before_save = Shy::hide)]
struct Shy {
    saves: u32,
}

impl Shy {
    fn hide(&mut self) {
        self.saves += 1;
    }
}

#[derive(Persist)]
struct Globe {
    inside: World,
}

/// Does in its methods what a test says.
#[derive(Persist)]
struct Actor {
    #[persist(skip)]
    update: Option<fn(&mut ComponentScope<'_>)>,
    #[persist(skip)]
    release: Option<fn(&mut ComponentScope<'_>)>,
}

impl Component for Thing {}
impl Component for Holder {}
impl Component for Belt {}
impl Component for Range {}
impl Component for Shy {}
impl Component for Globe {}

impl Component for Actor {
    fn on_update(&mut self, scope: &mut ComponentScope<'_>) {
        if let Some(script) = self.update {
            script(scope);
        }
    }

    fn on_release(&mut self, scope: &mut ComponentScope<'_>) {
        if let Some(script) = self.release {
            script(scope);
        }
    }
}

thread_local! {
    static TABLE: RefCell<Option<Table>> = const { RefCell::new(None) };
}

fn thing() -> Thing {
    let place = || Place { x: 1.0 };
    Thing {
        place: place(),
        level: 3,
        mood: Mood::Angry { cause: place() },
        pet: None,
        items: vec![place(), place()],
        names: vec!["Ada".into()],
        grid: [1.0, 2.0],
        pair: (1, place()),
        prices: [("axe".into(), 20)].into(),
        set: [1, 2].into(),
        bytes: vec![NonZeroU8::MIN],
        friend: None,
    }
}

fn world() -> (World, ObjectId) {
    let mut world = World::new();
    let ada = world.spawn("Ada");
    world.attach(ada, thing()).unwrap();
    (world, ada)
}

#[test]
fn paths_that_are_none() {
    let (world, ada) = world();
    let mut table = Table::new();
    for (what, path) in [
        ("nothing", ""),
        ("a class in backticks without a colon", "`game.Thing`.place"),
        ("an open backtick", "`game.Thing"),
        ("no name", "game.Thing:place."),
        ("a colon in a name", "game.Thing:place:x"),
        ("a name behind a key", "game.Thing:items[0]x"),
        ("an open bracket", "game.Thing:items[0"),
        ("a key of two words", "game.Thing:prices[long sword]"),
    ] {
        table.add(what, world.get_field(ada, path));
    }
    insta::assert_snapshot!(table.text());
}

#[test]
fn fields_that_are_not_there() {
    let (mut world, ada) = world();
    let mut table = Table::new();
    for path in [
        "plaec.x",
        "volume",
        "place.z",
        "place.x.y",
        "mood.calm",
        "items[2].x",
        "items.first",
        "grid[2]",
        "pair.2",
        "pair.last",
        "prices[bow]",
        "prices[3]",
        "place[0]",
        "level[0]",
        "level[one]",
        "pet.x",
    ] {
        table.add(path, world.get_field(ada, format!("game.Thing:{path}")));
    }
    table.add("a class that nobody knows", world.get_field(ada, "Other:x"));
    table.add("a class that is misspelt", world.get_field(ada, "game.Thign:level"));
    table.add("a dot after the class", world.get_field(ada, "game.Thing.place.x"));
    table.add("a resource that is not there", world.get_field(None, "Score:points"));
    world.insert_resource(Place { x: 1.0 }).unwrap();
    table.add("a resource that is misspelt", world.get_field(None, "Plaec:x"));
    let bob = world.spawn("Bob");
    table.add("an object without the class", world.get_field(bob, "game.Thing:level"));
    world.remove(bob);
    table.add("an object that is gone", world.get_field(bob, "game.Thing:level"));
    table.add("an object that is gone, in a field", world.set_field(ada, "game.Thing:friend", bob));
    insta::assert_snapshot!(table.text());
}

#[test]
fn values_that_do_not_fit() {
    let (mut world, ada) = world();
    let mut table = Table::new();
    for (what, path, value) in [
        ("a negative level", "level", Value::I32(-1)),
        ("a text", "level", Value::from("7")),
        ("a number in an option", "level", Value::from(Some(7))),
        ("a number that is none", "level", Value::from(None::<u8>)),
        ("a list", "level", Value::Seq(vec![1_u8.into(), 2_u16.into()])),
        ("bytes", "level", Value::Bytes(vec![1, 2])),
        ("a tuple", "level", Value::Tuple(vec![1_u8.into()])),
        ("a map", "level", Value::Map(vec![("a".into(), 1_u8.into())])),
        ("a struct", "level", Record::new("Place").into()),
        ("an enum", "level", Record::with_variant("Mood", "Calm").into()),
        ("a number that is a struct", "place", Value::F32(1.0)),
        ("another struct", "place", Record::new("Other").into()),
        ("a struct without its field", "place", Record::new("Place").into()),
        ("a struct with another field", "place", {
            let mut place = Record::new("Place");
            place.set("x", 1.0_f32);
            place.set("z", 1.0_f32);
            place.into()
        }),
        ("a variant that is not there", "mood", Value::from("Sad")),
        ("a variant with fields, by its name", "mood", Value::from("Angry")),
        ("an array of one", "grid", vec![1.0].into()),
        (
            "a map in an array",
            "grid",
            Value::Map(vec![(1_u8.into(), 1.0.into()), (2_u8.into(), 1.0.into())]),
        ),
        ("a map in a list of structs", "items", Value::Map(vec![(1_u8.into(), 1.0.into())])),
        ("an element twice", "set", vec![7, 7].into()),
        (
            "a key twice",
            "prices",
            Value::Map(vec![("a".into(), 1_i64.into()), ("a".into(), 2_i64.into())]),
        ),
        ("a zero", "bytes[0]", 0.into()),
        ("a text too long", "names[0]", Value::from("x".repeat((64 << 20) + 1))),
    ] {
        table.add(what, world.set_field(ada, format!("game.Thing:{path}"), value));
    }
    world.attach(ada, Range { low: 1, high: 5 }).unwrap();
    table.add("what validate refuses", world.set_field(ada, "Range:low", 9));
    insta::assert_snapshot!(table.text());
}

#[test]
fn pointers_out_of_reach() {
    let mut world = World::new();
    let ada = world.spawn("Ada");
    let holder = |shared| Holder { level: 1, shared, rest: Unknown::default() };
    world.attach(ada, holder(Some(Arc::new(Mutex::new(1))))).unwrap();
    let mut table = Table::new();
    table.add("a pointer", world.get_field(ada, "Holder:shared"));
    world.attach(ada, holder(None)).unwrap();
    table.add("a pointer that is set", world.set_field(ada, "Holder:shared", ada));
    world.attach(ada, Belt { tool: Box::new(Hammer(1)) }).unwrap();
    table.add("a class that is not registered", world.get_field(ada, "Belt:tool"));

    let mut world = World::new();
    let ada = world.spawn("Ada");
    world.attach(ada, Purse { item: Box::new(Coin(1)) }).unwrap();
    let saves = Saves::new();
    saves.register_component::<Purse>().unwrap();
    saves.register_as::<Coin, dyn Item>().unwrap();
    let save = saves.to_vec(&world).unwrap();
    let saves = Saves::new();
    saves.register_component::<Purse>().unwrap();
    let world = saves.from_slice::<World>(&save).unwrap().into_inner();
    table.add("what the program does not know", world.get_field(ada, "Purse:item"));
    insta::assert_snapshot!(table.text());
}

#[test]
fn objects_and_components() {
    let (mut world, ada) = world();
    let mut table = Table::new();
    let bob = world.spawn_in(ada, "Bob").unwrap();
    table.add("a class that is not registered", world.attach_class(ada, "game.Other"));
    table.add("its own parent", world.set_parent(ada, Some(ada)));
    table.add("a parent below", world.set_parent(ada, Some(bob)));
    table.add("a component twice", world.query_mut::<(&Thing, &mut Thing)>().map(drop));
    table.add(
        "a component twice that nobody has",
        world.query_mut::<(&Range, &mut Range)>().map(drop),
    );
    world.remove(ada);
    table.add("an object that is gone", world.set_activity(ada, Activity::Paused));
    insta::assert_snapshot!(table.text());
}

#[test]
fn what_cannot_be_done_while_a_method_runs() {
    TABLE.set(Some(Table::new()));
    let mut world = World::new();
    let ada = world.spawn("Ada");
    let script: fn(&mut ComponentScope<'_>) = |scope| {
        let object = scope.object();
        let world = &mut *scope.world;
        let saves = Saves::new();
        saves.register_component::<Actor>().unwrap();
        TABLE.with_borrow_mut(|table| {
            let table = table.as_mut().unwrap();
            table.add("a field of what runs", world.get_field(object, "Actor:x"));
            table.add("a save", saves.to_vec(&*world));
            let removed = History::new(1).edit(world, "", |edit| edit.remove(object));
            table.add("a removal that can be undone", removed);
        });
    };
    world.attach(ada, Actor { update: Some(script), release: None }).unwrap();
    world.update(1.0);
    world.detach::<Actor>(ada);
    let script: fn(&mut ComponentScope<'_>) = |scope| {
        let object = scope.object();
        let result = scope.world.spawn_in(object, "heir");
        TABLE.with_borrow_mut(|table| table.as_mut().unwrap().add("a spawn at the end", result));
    };
    world.attach(ada, Actor { update: None, release: Some(script) }).unwrap();
    drop(world);
    insta::assert_snapshot!(TABLE.take().unwrap().text());
}

#[test]
fn prefabs() {
    let mut world = World::new();
    let mut table = Table::new();
    let saves = Saves::new();
    [world.spawn("Ada"), world.spawn("Bob")].into_iter().for_each(|_| ());
    let save = saves.to_vec(&world).unwrap();
    table.add("two at the top", saves.from_slice::<Prefab>(&save));
    let ada = world.find("Ada").unwrap();
    world.attach(ada, Shy { saves: 0 }).unwrap();
    table.add("a component with a hook", world.prefab(ada));
    let bob = world.find("Bob").unwrap();
    world.attach(bob, Globe { inside: World::new() }).unwrap();
    table.add("a world in a component", world.prefab(bob));
    insta::assert_snapshot!(table.text());
}

#[test]
fn snapshots_that_are_refused() {
    let (mut world, mut table) = (World::new(), Table::new());
    let other = World::new().snapshot().unwrap();
    table.add("one of another world", world.restore(&other));
    world.insert_resource(Belt { tool: Box::new(Hammer(1)) }).unwrap();
    table.add("a trait object that is not registered", world.snapshot());
    world.insert_resource(Holder { level: 1, shared: None, rest: Unknown::default() }).unwrap();
    world.remove_resource::<Belt>();
    table.add("a shared pointer", world.snapshot());
    let object = world.spawn("Earth");
    world.attach(object, Globe { inside: World::new() }).unwrap();
    table.add("a world in a component", world.snapshot());
    insta::assert_snapshot!(table.text());
}

/// A world whose save was changed as a value.
fn changed(world: &World, change: impl FnOnce(&mut Record, &mut Vec<Value>)) -> Result<World> {
    let saves = Saves::new();
    saves.register_component::<Range>()?;
    let save = saves.to_vec(world)?;
    let mut document = Document::from_slice(&save)?;
    let Some(Value::Struct(root)) = document.root_mut() else { panic!("a world") };
    let Some(Value::Seq(mut objects)) = root.take("objects") else { panic!("a list") };
    change(root, &mut objects);
    root.set("objects", Value::Seq(objects));
    saves.from_slice::<World>(&document.to_vec()?).map(Loaded::into_inner)
}

fn part(objects: &mut [Value], at: usize) -> &mut Record {
    objects[at].as_record_mut().unwrap()
}

#[test]
fn saves_that_contradict_themselves() {
    let mut world = World::new();
    let [a, b, c] = ["a", "b", "c"].map(|name| world.spawn(name));
    world.attach(a, Range { low: 1, high: 2 }).unwrap();
    world.set_parent(c, Some(a)).unwrap();
    world.set_activity(b, Activity::Paused).unwrap();
    world.insert_resource(Place { x: 1.0 }).unwrap();
    let mut table = Table::new();
    let mut add = |what: &str, change: fn(&mut Record, &mut Vec<Value>)| {
        table.add(what, changed(&world, change));
    };
    add("too many ids", |world, _| drop(world.set("last_id", u64::MAX)));
    add("an id that was not given", |_, objects| {
        part(objects, 2).set("id", 4_u64);
    });
    add("an id twice", |_, objects| objects.push(objects[2].clone()));
    add("a name twice", |_, objects| drop(part(objects, 1).set("name", "a")));
    add("two components of a class", |_, objects| {
        let components = part(objects, 0).get_mut("components");
        let Some(Value::Seq(components)) = components else { panic!("a list") };
        components.push(components[0].clone());
    });
    add("no parent", |_, objects| drop(part(objects, 2).set("parent", parent(9, 0))));
    add("an index twice", |_, objects| drop(part(objects, 1).set("parent", parent(1, 0))));
    add("an index beyond", |_, objects| drop(part(objects, 2).set("parent", parent(1, 4))));
    add("a cycle", |_, objects| {
        part(objects, 0).set("parent", parent(2, 0));
        part(objects, 1).set("parent", parent(1, 1));
    });
    add("a resource twice", |world, _| {
        let Some(Value::Seq(resources)) = world.get_mut("resources") else { panic!("a list") };
        resources.push(resources[0].clone());
    });
    insta::assert_snapshot!(table.text());
}

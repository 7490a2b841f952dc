//! Saves of worlds that were changed or are malicious, with true checksums.

use persist::world::Activity;
use persist::{
    Component, ComponentScope, ErrorKind, Limits, ObjectId, Persist, Record, Result, Saves, Value,
    World,
};
use persist_tests::support::{parent, short_or_long};
use persist_tools::Document;

use persist_tests::support::forge::{Forged, Item, restamp, try_load};

#[derive(Persist, Debug, PartialEq)]
struct Place {
    x: u8,
    near: Option<ObjectId>,
}

#[derive(Persist, Debug, PartialEq)]
struct Note(String);

#[derive(Persist, Debug, PartialEq)]
struct Score(u16);

impl Component for Place {}

impl Component for Note {
    fn on_update(&mut self, scope: &mut ComponentScope<'_>) {
        scope.world.spawn(&self.0);
    }
}

fn saves() -> Saves {
    let saves = Saves::new();
    saves.register_component::<Place>().expect("a component class");
    saves.register_component::<Note>().expect("a component class");
    saves.register_resource::<Score>().expect("a resource class");
    saves
}

fn small() -> Vec<u8> {
    let mut world = World::new();
    let [a, b, c] = ["a", "b", "c"].map(|name| world.spawn(name));
    world.attach(a, Place { x: 1, near: Some(c) }).expect("there");
    world.attach(a, Note("n".into())).expect("there");
    world.attach(c, Note("m".into())).expect("there");
    world.set_parent(c, Some(a)).expect("there");
    world.set_activity(b, Activity::Paused).expect("there");
    world.insert_resource(Score(3)).expect("a resource");
    saves().to_vec(&world).expect("a save")
}

/// Loads a world, and if that is one, goes on with it; true if it is.
fn survives(save: &[u8]) -> bool {
    let loaded = saves().from_slice::<World>(save);
    let mut world = match loaded {
        Ok(loaded) => loaded,
        Err(error) => {
            assert!(!error.message().is_empty());
            return false;
        }
    };
    let once = saves().to_vec(&world).expect("what was loaded can be saved");
    let again = saves().from_slice::<World>(&once).expect("and loaded");
    let twice = saves().to_vec(&again).expect("and saved again");
    assert!(once == twice, "another world comes back");
    for object in world.objects().collect::<Vec<_>>() {
        let found = world.name(object).and_then(|name| world.find(name));
        assert_eq!(found, Some(object));
        let parent = world.parent(object);
        assert!(parent.is_none_or(|parent| world.children(parent).contains(&object)));
    }
    world.update(0.1);
    let new = world.spawn("new");
    assert_eq!(world.objects().last(), Some(new));
    for root in world.roots().collect::<Vec<_>>() {
        world.remove(root);
    }
    assert!(world.objects().len() == 0);
    true
}

#[test]
fn every_flipped_bit_under_a_true_checksum_is_survived() {
    let save = small();
    let mut accepted = 0;
    // Each byte, and in the long form each of its bits.
    for bit in (0..save.len() * 8).step_by(short_or_long(7, 1)) {
        let mut changed = save.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        restamp(&mut changed);
        accepted += usize::from(survives(&changed));
    }
    // Else the checksums were not made right.
    assert!(accepted > save.len() / short_or_long(70, 10), "{accepted} of {}", save.len() * 8);
}

#[test]
fn every_byte_of_the_world_may_be_any_telling_one() {
    let whole = Forged::parse(&small());
    let Some(Item::Record { payload, .. }) = whole.items.last() else { panic!("a record") };
    let mut accepted = 0;
    for at in 0..payload.len() {
        for byte in short_or_long(&[0, 2, 0x80, 255][..], &[0, 1, 2, 3, 0x7f, 0x80, 247, 248, 255])
        {
            let mut changed = whole.clone();
            changed.items.last_mut().expect("a record").content()[at] = *byte;
            accepted += usize::from(survives(&changed.build()));
        }
    }
    assert!(accepted > payload.len() / short_or_long(3, 1), "{accepted}");
}

#[test]
fn every_prefix_is_refused() {
    let save = small();
    for length in 0..save.len() {
        assert!(!survives(&save[..length]), "{length} bytes");
    }
    let whole = Forged::parse(&save);
    assert!(whole.build() == save, "it is forged as it is");
    let content = whole.content();
    for length in 1..content.len() {
        assert!(!survives(&whole.around(&content[..length], [0, 0])), "{length} bytes");
    }
    let Some(Item::Record { payload, .. }) = whole.items.last() else { panic!("a record") };
    for length in 0..payload.len() {
        let mut cut = whole.clone();
        cut.items.last_mut().expect("a record").content().truncate(length);
        assert!(!survives(&cut.build()), "{length} bytes of the record");
    }
}

/// The small world, whose objects were changed.
fn changed(change: impl FnOnce(&mut Record, &mut Vec<Value>)) -> Result<()> {
    let mut document = Document::from_slice(&small())?;
    let Some(Value::Struct(root)) = document.root_mut() else { panic!("a world") };
    let Some(Value::Seq(mut objects)) = root.take("objects") else { panic!("a list") };
    change(root, &mut objects);
    root.set("objects", Value::Seq(objects));
    let save = document.to_vec()?;
    assert_eq!(survives(&save), saves().from_slice::<World>(&save).is_ok());
    saves().from_slice::<World>(&save).map(drop)
}

fn part(objects: &mut [Value], at: usize) -> &mut Record {
    match &mut objects[at] {
        Value::Struct(object) => object,
        other => panic!("an object, not {other:?}"),
    }
}

fn refused(what: &str, change: impl FnOnce(&mut Record, &mut Vec<Value>)) {
    let error = changed(change).expect_err(what);
    assert_eq!(error.kind(), ErrorKind::InvalidValue, "{what}: {error}");
}

#[test]
fn objects_that_contradict_each_other_are_refused() -> Result<()> {
    changed(|_, _| ())?;
    refused("an object twice", |_, objects| objects.push(objects[2].clone()));
    refused("an id twice", |_, objects| {
        part(objects, 1).set("id", 1_u64);
    });
    refused("a name twice", |_, objects| drop(part(objects, 1).set("name", "a")));
    refused("objects out of order", |_, objects| objects.swap(0, 1));
    for id in [4_u64, 1 << 61, 1 << 62] {
        refused("an id that was not given", |_, objects| {
            part(objects, 2).set("id", id);
        });
    }
    for id in [0_u64, 1 << 63, 1 << 63 | 2] {
        refused("a dead id", |_, objects| drop(part(objects, 1).set("id", id)));
    }
    refused("two components of a class", |_, objects| {
        let components = part(objects, 0).get_mut("components");
        let Some(Value::Seq(components)) = components else { panic!("a list") };
        components.push(components[0].clone());
    });
    Ok(())
}

#[test]
fn a_tree_that_is_none_is_refused() -> Result<()> {
    // Each is the place of an object, with the id of its parent and its index there. The third is a child of the first.
    type Parents = [(usize, u64, u32)];
    let set = |objects: &mut [Value], parents: &Parents| {
        for (at, object, index) in parents {
            part(objects, *at).set("parent", parent(*object, *index));
        }
    };
    let refused = |what: &str, parents: &Parents| refused(what, |_, objects| set(objects, parents));
    changed(|_, objects| set(objects, &[(1, 1, 1)]))?;
    changed(|_, objects| set(objects, &[(1, 1, 1), (2, 1, 0)]))?;
    for object in [0, 9, 1 << 61, 1 << 63, u64::MAX] {
        refused("a parent that is not there", &[(1, object, 0)]);
    }
    refused("two children at one index", &[(1, 1, 0)]);
    refused("two last children", &[(1, 1, 1), (2, 1, 1)]);
    for index in [1, 2, 1 << 20, u32::MAX] {
        refused("an index beyond the only child", &[(2, 1, index)]);
    }
    refused("a gap between children", &[(1, 1, 2)]);
    refused("an object below itself", &[(1, 2, 0)]);
    refused("a root below itself", &[(0, 1, 1)]);
    refused("a circle of two", &[(0, 2, 0), (1, 1, 1)]);
    refused("a circle of three", &[(0, 2, 0), (1, 3, 0)]);
    refused("a circle beside a root", &[(1, 3, 0), (2, 2, 0)]);
    Ok(())
}

#[test]
fn a_counter_that_cannot_be_is_refused_and_one_that_can_leaves_room() -> Result<()> {
    for counter in [0, 2, (1 << 61) + 1, 1 << 62, u64::MAX] {
        refused("a wrong counter", |world, _| drop(world.set("last_id", counter)));
    }
    // `survives` spawns in it.
    changed(|world, _| drop(world.set("last_id", 1_u64 << 61)))
}

#[test]
fn more_components_are_not_started_than_there_are() -> Result<()> {
    changed(|_, objects| drop(part(objects, 0).set("waiting", u32::MAX)))
}

/// One of many classes.
#[derive(Persist)]
struct Filler<const N: usize>(u8);

impl<const N: usize> Component for Filler<N> {}

macro_rules! fillers {
    ($do:ident $(, $with:expr)*) => {
        $do!($($with,)* 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31)
    };
}

fn with_fillers() -> Saves {
    let saves = Saves::new();
    macro_rules! register {
        ($($n:literal)*) => { $(saves.register_component::<Filler<$n>>().expect("a class");)* };
    }
    fillers!(register);
    saves
}

fn load_fillers(save: &[u8]) -> Result<()> {
    with_fillers().from_slice::<World>(save).map(drop)
}

/// A world of objects with ids far from each other, made by hand; the last one has one component of every class.
fn sparse(count: u32, step: u64) -> Vec<u8> {
    let mut world = World::new();
    let object = world.spawn("o");
    macro_rules! attach {
        ($($n:literal)*) => { $(world.attach(object, Filler::<$n>(7)).expect("there");)* };
    }
    fillers!(attach);
    let mut forged = Forged::parse(&with_fillers().to_vec(&world).expect("a save"));
    let payload = forged.items.last_mut().expect("a record").content();
    // Behind the counter, the count of objects, and the id, name, parent, activity and count of waiting ones
    // of the first.
    let components = payload[8 + 1 + 1 + 2 + 1 + 1 + 1..payload.len() - 1].to_vec();
    let mut made = (step * u64::from(count)).to_le_bytes().to_vec();
    persist_tests::support::forge::count(u64::from(count), &mut made);
    for n in 1..=count {
        persist_tests::support::forge::count(step * u64::from(n), &mut made);
        made.extend(persist_tests::support::forge::text(&n.to_string()));
        made.extend([0, 0, 0]);
        if n < count {
            made.push(0);
        }
    }
    made.extend(components);
    made.push(0);
    *payload = made;
    forged.build()
}

#[test]
fn ids_far_apart_take_no_memory_out_of_proportion() {
    for step in [1, 4096, 1 << 40] {
        try_load(sparse(2_000, step), load_fillers).expect("a world");
    }
}

#[test]
fn many_columns_over_sparse_objects_count_as_memory() {
    let save = sparse(300_000, 4096);
    let mut error = None;
    let used = allocation_counter::measure(|| {
        let saves = with_fillers().limits(Limits::new().expansion(1));
        error = saves.from_slice::<World>(&save).map(drop).err();
    });
    let error = error.expect("over the limit");
    assert_eq!(error.kind(), ErrorKind::TooLarge, "{error}");
    assert!(used.bytes_max < (64 << 20) + 64 * save.len() as u64, "{} bytes", used.bytes_max);
}

#[test]
fn components_in_ever_another_order_take_no_memory_out_of_proportion() {
    let mut world = World::new();
    for n in 0..2_000_u32 {
        let object = world.spawn("o");
        macro_rules! attach {
            ($world:expr, $($m:literal)*) => {
                $(if n >> ($m % 11) & 1 == 0 {
                    $world.attach(object, Filler::<$m>(7)).expect("there");
                })*
                $(if n >> ($m % 11) & 1 == 1 {
                    $world.attach(object, Filler::<$m>(7)).expect("there");
                })*
            };
        }
        fillers!(attach, world);
    }
    let save = with_fillers().to_vec(&world).expect("a save");
    try_load(save, load_fillers).expect("a world");
}

//! What is refused, in which words, and that nothing has changed then.

use std::collections::BTreeSet;
use std::num::NonZeroU8;
use std::sync::{Arc, Mutex};

use persist::{Component, ErrorKind, ObjectId, Persist, Unknown, Value, World};

use super::thing::Thing;
use super::world;

#[test]
fn what_is_missing_is_named_with_object_class_and_path() -> persist::Result<()> {
    let (mut world, ada) = world()?;
    let others =
        "it has `place`, `level`, `alive`, `letter`, `name`, `mood`, `pet`, `boxed` and 11 more";
    for (path, missing, message) in [
        ("place.z", "place.z", "Place has no field `z`; it has `x`, `y`"),
        ("place.x.y", "place.x.y", "f32 has no field `y`"),
        ("cache", "cache", &format!("game.Thing has no field `cache`; {others}")),
        ("position.x", "position", &format!("game.Thing has no field `position`; {others}")),
        ("mood.calm", "mood.calm", "Mood::Angry has no field `calm`; it has `cause`, `at`"),
        ("items[2].count", "items[2]", "Vec<Item> of 2 has no element [2]"),
        (
            "items[1].weight",
            "items[1].weight",
            "Item has no field `weight`; it has `count`, `spots`",
        ),
        ("grid[0][2]", "grid[0][2]", "[f64; 2] of 2 has no element [2]"),
        ("pair.2", "pair.2", "(u8, Place) of 2 has no element [2]"),
        ("prices[bow]", "prices[\"bow\"]", "the map has no key [\"bow\"]"),
        ("prices[3]", "prices[3]", "the map has no key [3u64]; its keys are String"),
        ("place[0]", "place[0]", "Place has no element [0]"),
        ("secret.0", "secret.0", "String has no field `0`"),
    ] {
        let text = format!("game.Thing:{path}");
        let error = world.get_field(ada, &text).expect_err(path);
        assert_eq!(error.kind(), ErrorKind::NotFound, "{path}: {error}");
        assert_eq!(error.object(), Some(ada.get()), "{path}");
        assert_eq!(error.class(), Some("game.Thing"), "{path}");
        assert_eq!(error.field(), Some(missing), "{error}");
        assert_eq!(error.message(), message);
        if path == "prices[bow]" {
            // A new key is inserted.
            world.set_field(ada, &text, 1)?;
            assert_eq!(world.get_field(ada, &text)?, Value::I64(1));
            continue;
        }
        let error = world.set_field(ada, &text, 1).expect_err(path);
        assert_eq!((error.kind(), error.message()), (ErrorKind::NotFound, message));
    }
    world.set_field(ada, "game.Thing:pet", Value::Option(None))?;
    let error = world.get_field(ada, "game.Thing:pet.name").expect_err("there is no pet");
    assert_eq!(
        error.to_string(),
        "it is none, which has no parts (object #1, class game.Thing, field pet.name)"
    );
    let error = world.get_field(ada, "Other:x").expect_err("no such class");
    assert_eq!((error.kind(), error.class()), (ErrorKind::NotFound, Some("Other")));
    let error = world.set_field(ada, "game.Thing.place.x", 1).expect_err("a dot after the class");
    assert_eq!((error.kind(), error.class()), (ErrorKind::NotFound, Some("game.Thing.place.x")));
    assert_eq!(
        error.message(),
        "there is no class `game.Thing.place.x`, but there is `game.Thing`; write `game.Thing:place.x`, with a colon after the class"
    );
    let error = world.get_field(ada, "game.Other.x").expect_err("no such class");
    assert!(error.message().starts_with("no component class `game.Other.x`"), "{error}");
    world.insert_resource(Thing::sample())?;
    let error = world.get_field(None, "game.Thing.place").expect_err("a dot after the class");
    assert!(error.message().contains("write `game.Thing:place`"), "{error}");
    world.remove_resource::<Thing>();
    let bob = world.spawn("Bob");
    let error = world.get_field(bob, "game.Thing:place").expect_err("he has none");
    assert_eq!(
        error.to_string(),
        "the object `Bob` has no game.Thing; attach one (object #2, class game.Thing)"
    );
    world.remove(bob);
    let error = world.get_field(bob, "game.Thing:place").expect_err("he is gone");
    assert_eq!((error.kind(), error.object()), (ErrorKind::NotFound, Some(bob.get())));
    Ok(())
}

#[test]
fn what_does_not_fit_is_refused_and_nothing_changes() -> persist::Result<()> {
    let (mut world, ada) = world()?;
    for (path, value, field) in [
        ("level", Value::I32(-1), "level"),
        ("level", Value::I32(65_536), "level"),
        ("level", Value::F64(1.5), "level"),
        ("level", Value::from("7"), "level"),
        ("level", Value::from(Some(7)), "level"),
        ("place.x", Value::F64(1e300), "place.x"),
        ("place.x", Value::I64(16_777_217), "place.x"),
        ("place", Value::F32(1.0), "place"),
        ("place", persist::Record::new("Place").into(), "place.x"),
        ("alive", Value::U8(1), "alive"),
        ("mood", Value::from("Sad"), "mood"),
        ("items[0].spots", vec![1, 70_000].into(), "items[0].spots[1]"),
        ("grid", vec![1.0].into(), "grid"),
        ("friend", Value::U64(7), "friend"),
        ("", Value::U8(1), ""),
    ] {
        let error = world.set_field(ada, format!("game.Thing:{path}"), value).expect_err(path);
        assert!(
            matches!(
                error.kind(),
                ErrorKind::KindMismatch | ErrorKind::MissingField | ErrorKind::NotFound
            ),
            "{path}: {error}"
        );
        assert_eq!(error.field().unwrap_or_default(), field, "{error}");
        assert_eq!(error.object(), Some(ada.get()));
        assert_eq!(world.get::<Thing>(ada), Some(&Thing::sample()), "{path}");
    }
    let error = world.set_field(ada, "game.Thing:level", 70_000).expect_err("too large");
    assert_eq!(
        error.to_string(),
        "the value is 70000i32, u16 is wanted (object #1, class game.Thing, field level)"
    );
    let error = world.set_field(ada, "game.Thing:friend", 1).expect_err("a number");
    assert_eq!(error.message(), "the value is 1i32, ObjectId is wanted");
    Ok(())
}

#[test]
fn an_id_of_an_object_that_is_not_there_is_refused() -> persist::Result<()> {
    let (mut world, ada) = world()?;
    let bob = world.spawn("Bob");
    world.set_field(ada, "game.Thing:friend", bob)?;
    world.set_field(ada, "game.Thing:mood.at", Some(bob))?;
    world.remove(bob);
    for path in ["game.Thing:friend", "game.Thing:mood.at"] {
        let error = world.set_field(ada, path, bob).expect_err("he is gone");
        assert_eq!(error.kind(), ErrorKind::NotFound);
        assert_eq!(
            error.message(),
            "object #2 is not in the world; set the id of one that is, or of none"
        );
    }
    // A stale id elsewhere does not get in the way.
    world.set_field(ada, "game.Thing:mood.cause.x", 1.0)?;
    assert_eq!(world.get::<Thing>(ada).and_then(|thing| thing.friend), Some(bob));
    world.set_field(ada, "game.Thing:friend", None::<ObjectId>)?;
    world.set_field(ada, "game.Thing:friend", ada)?;
    assert_eq!(world.get_field(ada, "game.Thing:friend")?.as_object_id(), Some(ada));
    Ok(())
}

#[derive(Persist, Debug, PartialEq)]
#[persist(validate = Checked::check)]
struct Checked {
    low: i32,
    high: i32,
    inner: Vec<Even>,
    bytes: Vec<NonZeroU8>,
    set: BTreeSet<u8>,
    #[persist(skip)]
    cache: u8,
}

#[derive(Persist, Debug, PartialEq)]
#[persist(validate = Even::check)]
struct Even(u8);

impl Checked {
    fn check(&self) -> Result<(), String> {
        if self.low <= self.high { Ok(()) } else { Err(format!("{} > {}", self.low, self.high)) }
    }
}

impl Even {
    fn check(&self) -> Result<(), &'static str> {
        if self.0.is_multiple_of(2) { Ok(()) } else { Err("it is odd") }
    }
}

impl Component for Checked {}

#[test]
fn what_the_type_or_its_validate_refuses_is_undone() -> persist::Result<()> {
    let mut world = World::new();
    let ada = world.spawn("Ada");
    let sample = || Checked {
        low: 1,
        high: 5,
        inner: vec![Even(2), Even(4)],
        bytes: [1, 2, 3].map(|n| NonZeroU8::new(n).expect("not 0")).to_vec(),
        set: [1, 2].into(),
        cache: 9,
    };
    world.attach(ada, sample())?;
    for (path, value, kind, message) in [
        ("low", 6.into(), ErrorKind::Refused, "`validate` of Checked refused: 6 > 5"),
        ("inner[1].0", 3.into(), ErrorKind::Refused, "`validate` of Even refused: it is odd"),
        (
            "bytes[2]",
            0.into(),
            ErrorKind::InvalidValue,
            "0 is no NonZeroU8; use another number, or for old saves keep u8 as the type, or give the class a `version` and a `migrate` that puts another number there",
        ),
        (
            "bytes",
            vec![7, 8, 0].into(),
            ErrorKind::InvalidValue,
            "0 is no NonZeroU8; use another number, or for old saves keep u8 as the type, or give the class a `version` and a `migrate` that puts another number there",
        ),
        ("set", vec![7, 7].into(), ErrorKind::InvalidValue, "an element stands twice; remove one"),
    ] {
        let value: Value = value;
        let error = world.set_field(ada, format!("Checked:{path}"), value).expect_err(path);
        assert_eq!((error.kind(), error.message()), (kind, message));
        assert_eq!(world.get::<Checked>(ada), Some(&sample()), "{path}");
    }
    world.set_field(ada, "Checked:high", 50)?;
    world.set_field(ada, "Checked:low", 6)?;
    let error = world.set_field(ada, "Checked:high", 1).expect_err("it is below");
    assert_eq!(error.class(), Some("Checked"));
    Ok(())
}

#[test]
fn a_with_module_may_refuse() -> persist::Result<()> {
    let (mut world, ada) = world()?;
    let error = world.set_field(ada, "game.Thing:secret", "help!").expect_err("too loud");
    assert_eq!(error.kind(), ErrorKind::Refused);
    assert_eq!(world.get::<Thing>(ada), Some(&Thing::sample()));
    Ok(())
}

#[test]
fn shared_pointers_and_what_is_unknown_are_out_of_reach() -> persist::Result<()> {
    #[derive(Persist)]
    struct Holder {
        count: u8,
        shared: Arc<Mutex<u32>>,
        all: Vec<Part>,
        #[persist(unknown)]
        rest: Unknown,
    }
    #[derive(Persist)]
    struct Part {
        level: u8,
        owner: Option<Arc<Mutex<u32>>>,
    }
    impl Component for Holder {}
    let mut world = World::new();
    let ada = world.spawn("Ada");
    let shared = Arc::new(Mutex::new(1));
    let all = vec![Part { level: 1, owner: None }, Part { level: 2, owner: Some(shared.clone()) }];
    world.attach(ada, Holder { count: 1, shared, all, rest: Unknown::default() })?;
    for path in ["Holder:shared", "Holder", "Holder:all", "Holder:all[1]"] {
        let error = world.get_field(ada, path).expect_err(path);
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{path}: {error}");
        let error = world.set_field(ada, path, 1).expect_err(path);
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{path}: {error}");
    }
    // What lies beside them is reached.
    world.set_field(ada, "Holder:all[1].level", 3)?;
    world.set_field(ada, "Holder:all[0].level", 9)?;
    let error = world.set_field(ada, "Holder:all[0].owner", ada).expect_err("a pointer");
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    world.set_field(ada, "Holder:count", 2)?;
    let holder = world.get::<Holder>(ada).expect("it is there");
    assert_eq!(
        (holder.count, holder.all[0].level, *holder.shared.lock().expect("nobody panicked")),
        (2, 9, 1)
    );
    assert!(holder.rest.is_empty() && holder.all[0].owner.is_none());
    Ok(())
}

//! One answer for each save: the loads of the library, `Document`, `verify`, and the reader that was written from
//! docs/reference/format.md alone.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::Cursor;
use std::process::Command;
use std::rc::{Rc, Weak};

use persist::{Error, ErrorKind, Limits, LoadOptions, Persist, Saves, World};
use persist_tests::support::fixture_types::{load_and_save, path};
use persist_tests::support::forge::restamp;
use persist_tests::support::paged::{blocks, pages};
use persist_tests::support::short_or_long;
use persist_tools::{Document, verify};

use crate::damaged::Random;
use crate::verified::Maker;

/// How a program loads a save, and the name of that.
type Load = (&'static str, fn(&[u8]) -> persist::Result<()>);

/// A save of which all readers are asked.
struct Case {
    save: Vec<u8>,
    /// The save that was changed, and how.
    what: String,
    /// How programs load the save: each may accept no more than `verify` does.
    loads: Vec<Load>,
}

/// The answers of `reader.py` to many saves; `None` without Python. A limit of the reader is no answer.
fn read_by_page(saves: &[Case]) -> Option<Vec<Result<(), String>>> {
    let folder = tempfile::tempdir().expect("a folder");
    let name = |index: usize| format!("{index}.sav");
    for (index, case) in saves.iter().enumerate() {
        std::fs::write(folder.path().join(name(index)), &case.save).expect("a file");
    }
    let reader = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/reference/reader.py");
    let mut python = Command::new("python3");
    let python = python.current_dir(folder.path()).args([reader, "--check"]);
    let output = match python.args((0..saves.len()).map(name)).output() {
        Ok(output) => output,
        Err(error) => {
            eprintln!("no python3: {error}");
            return None;
        }
    };
    let mut answers = BTreeMap::new();
    for (stream, is_good) in [(&output.stdout, true), (&output.stderr, false)] {
        for line in String::from_utf8_lossy(stream).lines() {
            let (file, answer) = line.split_once(": ").unwrap_or_else(|| panic!("{line}"));
            let answer = if is_good { Ok(()) } else { Err(answer.to_owned()) };
            assert!(answers.insert(file.to_owned(), answer).is_none(), "{line}");
        }
    }
    assert_eq!(answers.len(), saves.len(), "each file has one line");
    Some((0..saves.len()).filter_map(|index| answers.remove(&name(index))).collect())
}

fn is_limit(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::TooDeep | ErrorKind::TooLarge)
}

/// Compares the answers; returns how many saves were accepted. Of a few thousand at a time: their names are arguments.
fn compare(cases: &[Case]) -> usize {
    cases.chunks(4000).map(compare_some).sum()
}

fn compare_some(cases: &[Case]) -> usize {
    let by_page = read_by_page(cases);
    let (mut accepted, mut faults) = (0, Vec::new());
    for (index, Case { save, what, loads }) in cases.iter().enumerate() {
        let document = Document::from_slice(save).map(|_| ());
        let verified = verify(Cursor::new(save), &Limits::DEFAULT).map(|_| ());
        accepted += usize::from(verified.is_ok());
        let mut fault = |who: &str, answer: &dyn std::fmt::Debug| {
            faults.push(format!("{what}: {who} says {answer:?}, and verify {verified:?}"));
        };
        if document.is_ok() != verified.is_ok() {
            fault("Document", &document);
        }
        let is_over = verified.as_ref().is_err_and(is_limit);
        if let Some(answer) = by_page.as_ref().map(|answers| &answers[index]) {
            let is_over =
                is_over || answer.as_ref().is_err_and(|why| why.contains("this reader's limit"));
            if !is_over && answer.is_ok() != verified.is_ok() {
                fault("reader.py", answer);
            }
        }
        for (how, load) in loads {
            let loaded = load(save);
            if loaded.is_ok() && verified.is_err() && !is_over {
                fault(how, &loaded);
            }
            // A program without classes keeps all as it is.
            let is_value = |error: &Error| error.message().starts_with("the save holds one value");
            let refuses = loaded.as_ref().is_err_and(|error| !is_limit(error) && !is_value(error));
            if *how == "all unknown" && refuses && verified.is_ok() {
                fault(how, &loaded);
            }
        }
    }
    let count = faults.len();
    faults.truncate(40);
    assert!(faults.is_empty(), "{count} of {}:\n{}", cases.len(), faults.join("\n"));
    accepted
}

/// Changes a few bytes, with right checksums.
fn changed(save: &[u8], random: &mut Random) -> Vec<u8> {
    let mut changed = save.to_vec();
    for _ in 0..=random.below(2) {
        let at = random.below(changed.len());
        changed[at] = match random.below(3) {
            0 => changed[at] ^ 1,
            1 => changed[at].wrapping_add(1),
            _ => random.telling_byte(),
        };
    }
    restamp(&mut changed);
    changed
}

/// A manager of a program that has none of the classes.
fn all_unknown(save: &[u8]) -> persist::Result<()> {
    Saves::new().manager().from_slice(save).map(drop)
}

fn all_dropped(save: &[u8]) -> persist::Result<()> {
    let options = LoadOptions::new().drop_unknown(true);
    Saves::new().load_options(options).manager().from_slice(save).map(drop)
}

#[test]
fn changed_fixtures_have_one_answer() {
    let typed: [Load; 5] = [
        ("players", |save| load_and_save("players", save).map(drop)),
        ("values", |save| load_and_save("values", save).map(drop)),
        ("graph", |save| load_and_save("graph", save).map(drop)),
        ("pointers", |save| load_and_save("pointers", save).map(drop)),
        ("compact", |save| load_and_save("compact", save).map(drop)),
    ];
    let unknown: [Load; 2] = [("all unknown", all_unknown), ("all dropped", all_dropped)];
    let mut saves: Vec<_> = typed.map(|load| (load.0, [&[load], &unknown[..]].concat())).into();
    for name in [
        "../evolution/v1",
        "../evolution/v3",
        "../evolution/v5",
        "../journals/saved",
        "../compressed/lz4",
    ] {
        saves.push((name, unknown.into()));
    }
    let mut random = Random(0x5eed_0031);
    let mut cases = Vec::new();
    for (name, loads) in saves {
        let save = std::fs::read(path(name)).expect("a fixture");
        for round in 0..short_or_long(400, 20_000) {
            let save = if round == 0 { save.clone() } else { changed(&save, &mut random) };
            cases.push(Case {
                save,
                what: format!("{name}, change {round}"),
                loads: loads.clone(),
            });
        }
    }
    let accepted = compare(&cases);
    assert!(accepted > cases.len() / 20, "{accepted} of {} were accepted", cases.len());
}

#[test]
fn made_saves_have_one_answer() {
    let mut maker = Maker::new(0x5eed_0032);
    let mut random = Random(0x5eed_0033);
    let mut cases = Vec::new();
    for round in 0..short_or_long(3_000, 200_000) {
        let save = maker.save();
        let save = if round % 2 == 0 { save } else { changed(&save, &mut random) };
        let loads: Vec<Load> = vec![("all unknown", all_unknown), ("all dropped", all_dropped)];
        cases.push(Case { save, what: format!("made {round}"), loads });
    }
    let accepted = compare(&cases);
    assert!(accepted > cases.len() / 20, "{accepted} of {} were accepted", cases.len());
}

/// An object with a world in it.
#[derive(Persist)]
struct Level {
    name: String,
    world: World,
}

#[derive(Persist)]
struct Spot {
    x: f32,
    names: Vec<String>,
}

impl persist::Component for Spot {}

fn with_spots() -> Saves {
    let saves = Saves::new();
    saves.register_component::<Spot>().expect("a component class");
    saves
}

fn spots(objects: u16) -> World {
    let mut world = World::new();
    for at in 0..objects {
        let spot = Spot { x: f32::from(at), names: vec!["n".repeat(60); usize::from(at % 3)] };
        world.spawn_with("", (spot,)).expect("it is new");
    }
    world
}

#[test]
fn worlds_in_pages_have_one_answer() {
    let saves = with_spots();
    let of_world = saves.to_vec(&spots(1_500)).expect("a save");
    let mut manager = saves.manager();
    for objects in [1_400, 3, 1_300] {
        let level = Level { name: "level".into(), world: spots(objects) };
        manager.add(&Rc::new(RefCell::new(level))).expect("an object");
    }
    let of_levels = manager.to_vec().expect("a save");
    let unknown: [Load; 2] = [("all unknown", all_unknown), ("all dropped", all_dropped)];
    let typed: [Load; 2] = [
        ("a world", |save| with_spots().from_slice::<World>(save).map(drop)),
        ("levels", |save| {
            let saves = with_spots();
            saves.register::<Level>()?;
            saves.manager().from_slice(save).map(drop)
        }),
    ];
    let mut random = Random(0x5eed_0046);
    let mut cases = Vec::new();
    for (save, load) in [of_world, of_levels].into_iter().zip(typed) {
        assert!(!pages(&save).is_empty());
        // Mostly the heads of blocks and of records are changed, and the index after the pages.
        let heads: Vec<usize> = blocks(&save).iter().map(|block| block.whole.start).collect();
        for round in 0..short_or_long(250, 20_000) {
            let mut changed = save.clone();
            for _ in 0..=random.below(2) {
                let head = heads[random.below(heads.len())];
                let at = (head + random.below(90)).min(changed.len() - 1);
                changed[at] = match random.below(3) {
                    0 => changed[at] ^ 1,
                    1 => changed[at].wrapping_add(1),
                    _ => random.telling_byte(),
                };
            }
            if round > 0 {
                restamp(&mut changed);
            }
            let save = if round == 0 { save.clone() } else { changed };
            let loads = [&[load], &unknown[..]].concat();
            cases.push(Case { save, what: format!("pages of {}, change {round}", load.0), loads });
        }
    }
    let accepted = compare(&cases);
    assert!(accepted >= 2, "{accepted} of {} were accepted", cases.len());
}

mod newer {
    use super::*;

    #[derive(Persist)]
    pub(super) struct Weather {
        pub(super) name: String,
        pub(super) by_day: BTreeMap<u8, bool>,
        pub(super) sign: char,
        pub(super) next: Weak<RefCell<Weather>>,
    }

    #[derive(Persist)]
    #[persist(component)]
    pub(super) struct Storm {
        pub(super) name: String,
        pub(super) by_day: BTreeMap<u8, bool>,
        pub(super) sign: Option<char>,
    }

    #[derive(Persist)]
    pub(super) struct Game {
        pub(super) day: u32,
        pub(super) weather: Vec<Rc<RefCell<Weather>>>,
        pub(super) signs: std::collections::BTreeSet<Option<char>>,
        pub(super) paused: bool,
        pub(super) site: Site,
        pub(super) sites: BTreeMap<u8, Option<Site>>,
        pub(super) sign: Option<Box<dyn super::Sign>>,
    }

    #[derive(Persist)]
    pub(super) struct Site {
        pub(super) x: u8,
        #[persist(default)]
        pub(super) name: String,
    }
}

#[derive(Persist)]
struct Game {
    day: u32,
    paused: bool,
    site: Site,
    sites: BTreeMap<u8, Option<Site>>,
    sign: Option<Box<dyn Sign>>,
}

#[derive(Persist)]
struct Site {
    x: u8,
}

/// A save of a newer program: a value, or an object.
fn newer_saves() -> [Vec<u8>; 2] {
    let rain = Rc::new(RefCell::new(weather("rain")));
    rain.borrow_mut().next = Rc::downgrade(&rain);
    let game = || newer::Game {
        day: 3,
        weather: vec![rain.clone(), Rc::new(RefCell::new(weather("snow")))],
        signs: [None, Some('a'), Some('b')].into(),
        paused: true,
        site: newer::Site { x: 1, name: "one".into() },
        sites: [(2, Some(newer::Site { x: 3, name: "two".into() })), (4, None)].into(),
        sign: Some(Box::new(storm("sign"))),
    };
    let saves = Saves::new();
    saves.register_as::<newer::Storm, dyn Sign>().expect("a class");
    let mut manager = saves.manager();
    manager.add(&Rc::new(RefCell::new(game()))).expect("an object");
    [saves.to_vec(&game()).expect("a value"), manager.to_vec().expect("objects")]
}

fn dropping() -> Saves {
    Saves::new().load_options(LoadOptions::new().drop_unknown(true))
}

fn objects(saves: &Saves, save: &[u8]) -> persist::Result<()> {
    let manager = saves.manager();
    manager.register::<Game>()?;
    manager.from_slice(save).map(drop)
}

#[persist::dynamic]
trait Sign: Send + Sync {}

impl Sign for newer::Storm {}

/// One component that the program has, beside what it does not have.
#[derive(Persist)]
#[persist(component, class = "Walls")]
struct Walls {
    height: u16,
    sign: Option<Box<dyn Sign>>,
}

fn weather(name: &str) -> newer::Weather {
    newer::Weather {
        name: name.into(),
        by_day: [(1, true), (4, false)].into(),
        sign: '☔',
        next: Weak::new(),
    }
}

fn storm(name: &str) -> newer::Storm {
    newer::Storm { name: name.into(), by_day: [(1, true), (4, false)].into(), sign: Some('☔') }
}

/// A world with components, resources and trait objects of classes that the program does not have.
fn newer_world() -> Vec<u8> {
    let saves = Saves::new();
    saves.register_as::<newer::Storm, dyn Sign>().expect("a class");
    let mut world = World::new();
    let street = world.spawn("street");
    for height in 0..2 {
        let sign = Some(Box::new(storm("sign")) as Box<dyn Sign>);
        let house = world.spawn_in(street, "house").expect("a house");
        world.attach(house, Walls { height, sign }).expect("walls");
        world.attach(house, storm("rain")).expect("rain");
    }
    world.insert_resource(storm("snow")).expect("a resource");
    saves.to_vec(&world).expect("a save")
}

fn world_without_weather(save: &[u8]) -> persist::Result<()> {
    let saves = Saves::new();
    saves.register_component::<Walls>()?;
    saves.from_slice::<World>(save).map(drop)
}

fn world_without_anything(save: &[u8]) -> persist::Result<()> {
    Saves::new().from_slice::<World>(save).map(drop)
}

/// Fields and records that a program does not know are checked by their own schema, whether they are kept or dropped.
#[test]
fn unknown_content_is_checked_as_known_content_is() {
    let [value, object] = newer_saves();
    let of_value: [Load; 3] = [
        ("alone", |save| persist::from_slice::<Game>(save).map(drop)),
        ("kept", |save| Saves::new().from_slice::<Game>(save).map(drop)),
        ("dropped", |save| dropping().from_slice::<Game>(save).map(drop)),
    ];
    let of_object: [Load; 3] = [
        ("kept objects", |save| objects(&Saves::new(), save)),
        ("dropped objects", |save| objects(&dropping(), save)),
        ("all unknown", all_unknown),
    ];
    let mut cases = Vec::new();
    let of_world: [Load; 3] = [
        ("some unknown", world_without_weather),
        ("no component known", world_without_anything),
        ("as a prefab", |save| Saves::new().from_slice::<persist::world::Prefab>(save).map(drop)),
    ];
    // What the older programs write of it has the unknown fields under their paths.
    let kept_value = Saves::new().from_slice::<Game>(&value).expect("a value");
    let kept_value = Saves::new().to_vec(&kept_value).expect("a save");
    let manager = Saves::new().manager();
    manager.register::<Game>().expect("a class");
    let kept_object = manager.from_slice(&object).and_then(|loaded| loaded.to_vec());
    let saves = Saves::new();
    saves.register_component::<Walls>().expect("a component");
    let kept_world = saves.from_slice::<World>(&newer_world()).expect("a world").into_inner();
    let kept_world = saves.to_vec(&kept_world).expect("a save");
    for save in [&kept_value, &kept_world] {
        assert!(save.windows(17).any(|bytes| bytes == b"persist.UnknownAt"));
    }
    let saves = [
        ("value", value, of_value),
        ("object", object, of_object),
        ("world", newer_world(), of_world),
        ("value of an older program", kept_value, of_value),
        ("object of an older program", kept_object.expect("a save"), of_object),
        ("world of an older program", kept_world, of_world),
    ];
    for (name, save, loads) in saves {
        for (how, load) in loads {
            load(&save).unwrap_or_else(|error| panic!("{how}: {error}"));
        }
        // Behind the magic and the version.
        for at in 10..save.len() {
            for byte in [0, 1, 2, 5, 0x7f, 0x80, 0xff, save[at] ^ 1] {
                let mut changed = save.clone();
                changed[at] = byte;
                restamp(&mut changed);
                let what = format!("the {name} with byte {at} {byte:#x}");
                cases.push(Case { save: changed, what, loads: loads.into() });
            }
        }
    }
    let accepted = compare(&cases);
    assert!(accepted > 100, "{accepted} of {} were accepted", cases.len());
}

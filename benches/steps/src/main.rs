//! Loads files with a long list, for `callgrind` to count the instructions: `persist-steps NAME LENGTH`.
//!
//! Without a name it prints all rows: the lists that a file can lengthen, and the code that reads them. `.ci/steps`
//! runs each at two lengths and compares: a list that is searched once for each of its elements takes 16 times as many
//! instructions at four times the length. [`measured`] is what is counted; the code before it makes the file.

#[path = "../../../tests/support/forge.rs"]
#[allow(dead_code, unused_imports, unreachable_pub, reason = "the tests use the rest")]
mod forge;

use std::cell::RefCell;
use std::hint::black_box;
use std::io::Cursor;
use std::path::Path;
use std::rc::Rc;

use forge::{ADDED, Forged, Item, class, counted, one_of, record, text};
use persist::history::Proof;
use persist::save::Registry;
use persist::storage::{Memory, Storage as _};
use persist::world::{ExternalIds, Prefab};
use persist::{
    History, Limits, ObjectId, Persist, Record, SaveManager, Saves, Session, Unknown, Value, World,
    field,
};
use persist_tools::lock::Lock;
use persist_tools::{Document, JournalListing, usage, verify};

/// Counted by its name.
#[inline(never)]
fn measured(run: impl FnOnce()) {
    run();
}

/// Makes a file with a list of this length, and measures the code that reads it.
type Row = fn(usize);

const ROWS: [(&str, Row); 45] = [
    ("kept records of an object", |n| objects::<Sword>(&unknown_records(n))),
    ("unknown parts of a value", |n| value::<Bag>(&unknown_parts("Bag", n))),
    ("unknown parts that are migrated", |n| value::<Chest>(&unknown_parts("Chest", n))),
    ("fields of a class", |n| objects::<Sword>(&fields_of_a_class(n))),
    ("fields of a class that is migrated", |n| objects::<Blade>(&fields_of_a_class(n))),
    ("fields of a class, as a document", |n| document(&fields_of_a_class(n))),
    ("fields of a record in another order", reversed_fields),
    ("classes", |n| objects::<Sword>(&classes(n))),
    ("classes, as a document", |n| document(&classes(n))),
    ("variants of an enum", |n| value::<State>(&variants(n))),
    ("variants of an enum, as a document", |n| document(&variants(n))),
    ("objects", |n| objects::<Sword>(&swords(n))),
    ("objects, as a document", |n| document(&swords(n))),
    ("objects, verified", |n| verified(&swords(n))),
    ("objects, salvaged", salvaged),
    ("values of an enum with many variants, salvaged", |n| {
        let mut save = values_of_variants(n);
        let in_trailer = save.len() - 5;
        save[in_trailer] ^= 0xff;
        measured(|| drop(black_box(Document::salvage(&save).unwrap())));
    }),
    ("names of a world", |n| world(&save(&named(n, |i| format!("a{}", i * 7919 % n))))),
    ("names of a world that end with their number", |n| world(&save(&named(n, |_| "a".into())))),
    ("names of a world that look like others", |n| {
        world(&save(&named(n, |i| format!("a{}", "1".repeat(i % 9)))))
    }),
    ("children of an object", |n| world(&save(&children(n)))),
    ("objects below each other", |n| world(&save(&chain(n)))),
    ("unknown components of an object", |n| world(&with_copies(n, "components"))),
    ("unknown resources", |n| world(&with_copies(n, "resources"))),
    ("a prefab", prefab),
    ("edits of a journal", |n| opened(&attached(n))),
    ("edits of a journal that are undone", undone),
    ("changes of a journal's edit", |n| opened(&one_edit(n))),
    ("edits of a journal, as a listing", |n| {
        replayed(&edits(n, |edit, at, i| edit.set(at, "Health:points", i).map(drop)));
    }),
    ("classes of a journal, as a listing", classes_of_a_journal),
    ("classes that a journal brings, as a listing", classes_that_a_journal_brings),
    ("objects that are spawned in a journal, as a listing", |n| {
        replayed(&edits(n, |edit, _, i| edit.spawn(&format!("b{i}")).map(drop)));
    }),
    ("objects that are renamed in a journal, as a listing", |n| {
        replayed(&edits(n, |edit, at, i| edit.rename(at, &format!("b{i}")).map(drop)));
    }),
    ("children that are moved in a journal, as a listing", |n| {
        replayed(&edits_of(n, children(n), |edit, at, _| {
            edit.set_parent_at(at, edit.parent(at), 0)
        }));
    }),
    ("children that leave in a journal, as a listing", |n| {
        replayed(&edits_of(n, children(n), |edit, at, _| edit.set_parent(at, None)));
    }),
    ("children that are removed in a journal, as a listing", |n| {
        replayed(&edits_of(n, children(n), |edit, at, _| edit.remove(at)));
    }),
    ("elements that a drag sets", elements_that_a_drag_sets),
    ("elements that an edit removes", |n| {
        let (mut path, mut history) = (path(n), History::new(None));
        measured(|| remove_some(&mut path, &mut history));
    }),
    ("elements that an undo inserts", |n| {
        let (mut path, mut history) = (path(n), History::new(None));
        remove_some(&mut path, &mut history);
        measured(|| assert!(history.undo(&mut path).unwrap()));
        assert_eq!(path.points.len(), 16 * n);
    }),
    ("objects that are removed one by one", |n| removed(roots(n), false)),
    ("objects that are removed one by one, undone", |n| removed(roots(n), true)),
    ("children that are removed one by one", |n| removed(children(n), false)),
    ("children that are removed one by one, undone", |n| removed(children(n), true)),
    ("versions of a lock", versions_of_a_lock),
    ("a prefab as a file", |n| {
        let (children, root) = (children(n), 1);
        let prefab = children.prefab(ObjectId::new(root).unwrap()).unwrap();
        let bytes = prefab.as_bytes().to_vec();
        measured(|| drop(black_box(Document::from_slice(&bytes).unwrap())));
    }),
    ("fields of a text", |n| {
        let fields: Vec<String> = (0..n).map(|i| format!("f{i}: {i}u32")).collect();
        let text = format!("Sword {{ {} }}", fields.join(", "));
        measured(|| drop(black_box(text.parse::<Value>().unwrap())));
    }),
];

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, wanted, length] = &arguments[..] else {
        ROWS.iter().for_each(|(name, _)| println!("{name}"));
        return;
    };
    let found = ROWS.iter().find(|(name, _)| name == wanted);
    let (_, row) = found.unwrap_or_else(|| panic!("there is no list `{wanted}`"));
    row(length.parse().expect("a length"));
}

#[derive(Persist)]
struct Sword {
    power: u8,
}

#[derive(Persist)]
#[persist(class = "Sword", version = 2, migrate(1 = Blade::migrate))]
struct Blade {
    power: u8,
    #[persist(default)]
    edge: u8,
}

impl Blade {
    fn migrate(record: &mut Record, _: u32) {
        record.set("edge", 3_u8);
    }
}

#[derive(Persist)]
struct Bag {
    #[persist(unknown)]
    rest: Unknown,
}

#[derive(Persist)]
#[persist(version = 2, migrate(1 = Chest::migrate))]
struct Chest {
    #[persist(unknown)]
    rest: Unknown,
    #[persist(default)]
    gold: u8,
}

impl Chest {
    fn migrate(record: &mut Record, _: u32) {
        record.set("gold", 3_u8);
    }
}

#[derive(Persist)]
enum State {
    V0,
    #[persist(other)]
    Other,
}

#[derive(Persist)]
#[persist(component)]
struct Health {
    points: u32,
}

/// It belongs to a mod that is off when the save is loaded.
#[derive(Persist)]
#[persist(component)]
struct Mana {
    points: u32,
}

#[derive(Persist)]
struct Rule {
    points: u32,
}

const U8: &[u8] = &[0x03];

fn objects<T: Persist>(save: &[u8]) {
    let manager = SaveManager::new();
    manager.register::<T>().unwrap();
    measured(|| drop(black_box(manager.from_slice(save).unwrap())));
}

fn value<T: Persist>(save: &[u8]) {
    measured(|| drop(black_box(persist::from_slice::<T>(save).unwrap())));
}

fn document(save: &[u8]) {
    measured(|| {
        let document = Document::from_slice(save).unwrap();
        black_box(document.to_vec().unwrap());
        black_box(document.to_string());
    });
}

fn verified(save: &[u8]) {
    measured(|| {
        black_box(verify(Cursor::new(save), &Limits::DEFAULT).unwrap());
        black_box(usage(Cursor::new(save), &Limits::DEFAULT).unwrap());
    });
}

fn world(save: &[u8]) {
    let saves = Saves::new();
    saves.register_component::<Health>().unwrap();
    measured(|| {
        let world = saves.from_slice::<World>(save).unwrap();
        black_box(saves.to_vec(&world).unwrap());
    });
}

fn unknown_records(count: usize) -> Vec<u8> {
    let sword = [class("Sword", &[("power", U8)]), class("Sword.old", &[("old", U8)])];
    let unknown = (0..count).map(|_| record(2, 0, 1, &[7]));
    let items = sword.into_iter().chain([record(1, ADDED, 1, &[1])]).chain(unknown);
    forge::save(&items.collect::<Vec<_>>())
}

fn unknown_parts(owner: &str, count: usize) -> Vec<u8> {
    let classes =
        [class(owner, &[("rest", &[0x1b])]), class(&format!("{owner}.old"), &[("old", U8)])];
    let parts = std::iter::repeat_n([2, 7], count).flatten();
    one_of(&classes, &counted(count as u64).into_iter().chain(parts).collect::<Vec<u8>>())
}

fn fields_of_a_class(count: usize) -> Vec<u8> {
    let names: Vec<String> = (0..count).map(|i| format!("f{i}")).collect();
    let fields: Vec<(&str, &[u8])> =
        names.iter().map(|name| (&**name, U8)).chain([("power", U8)]).collect();
    let payload = vec![1; count + 1];
    forge::save(&[class("Sword", &fields), record(1, ADDED, 1, &payload)])
}

fn reversed_fields(count: usize) {
    let mut document = Document::from_slice(&fields_of_a_class(count)).unwrap();
    let entry = document.entries_mut().next().unwrap();
    let fields = entry.value.as_record().unwrap().fields();
    let mut fields: Vec<String> = fields.map(|(name, value)| format!("{name}: {value}")).collect();
    fields.reverse();
    entry.value = format!("Sword {{ {} }}", fields.join(", ")).parse().unwrap();
    measured(|| drop(black_box(document.to_vec().unwrap())));
}

fn classes(count: usize) -> Vec<u8> {
    let mut items: Vec<Item> = (0..count).map(|i| class(&format!("c{i}"), &[("x", U8)])).collect();
    items.push(class("Sword", &[("power", U8)]));
    items.push(record(count as u64 + 1, ADDED, 1, &[1]));
    forge::save(&items)
}

fn variants(count: usize) -> Vec<u8> {
    let mut of = [&text("State")[..], &[1, 1], &counted(count as u64)].concat();
    for i in 0..count {
        of.extend(text(&format!("V{i}")));
        of.push(0);
    }
    one_of(&[Item::Definition(of)], &[0, 0])
}

/// A list of values of an enum with as many variants, all of the last one, with an option in it.
fn values_of_variants(count: usize) -> Vec<u8> {
    let variants = count.min(60_000);
    let head = [&text("State")[..], &[1, 1]].concat();
    let mut of = [head, counted(variants as u64)].concat();
    for i in 0..variants {
        of.extend(text(&format!("V{i}")));
        of.extend(forge::fields(&[("x", U8)]));
    }
    let list = class("List", &[("all", &[0x11, 0x16, 2])]);
    let width = if variants > 256 { 2 } else { 1 };
    let value = [&(variants as u64 - 1).to_le_bytes()[..width], &[7]].concat();
    let payload = [counted(count as u64), value.repeat(count)].concat();
    one_of(&[list, Item::Definition(of)], &payload)
}

fn swords(count: usize) -> Vec<u8> {
    let mut manager = SaveManager::new();
    for _ in 0..count {
        manager.add(&Rc::new(RefCell::new(Sword { power: 3 }))).unwrap();
    }
    manager.to_vec().unwrap()
}

fn salvaged(count: usize) {
    let mut save = swords(count);
    let in_trailer = save.len() - 5;
    save[in_trailer] ^= 0xff;
    measured(|| drop(black_box(Document::salvage(&save).unwrap())));
}

fn save(world: &World) -> Vec<u8> {
    persist::to_vec(world).unwrap()
}

fn named(count: usize, name: impl Fn(usize) -> String) -> World {
    let mut world = World::new();
    (0..count).for_each(|i| _ = world.spawn(&name(i)));
    world
}

/// One object with others right below it, each with a component.
fn children(count: usize) -> World {
    let mut world = World::new();
    let parent = world.spawn("parent");
    for _ in 0..count {
        let child = world.spawn_in(parent, "").unwrap();
        world.attach(child, Health { points: 1 }).unwrap();
    }
    world
}

/// Objects without a parent, each with a component.
fn roots(count: usize) -> World {
    let mut world = World::new();
    (0..count).for_each(|_| _ = world.spawn_with("a", (Health { points: 1 },)).unwrap());
    world
}

fn chain(count: usize) -> World {
    let mut world = World::new();
    let mut last = world.spawn("");
    (0..count).for_each(|_| last = world.spawn_in(last, "").unwrap());
    world
}

/// A world one of whose lists has many copies of its element, of a class that the program does not have.
fn with_copies(count: usize, list: &str) -> Vec<u8> {
    let mut world = World::new();
    let object = world.spawn("");
    world.attach(object, Mana { points: 1 }).unwrap();
    world.insert_resource(Rule { points: 1 }).unwrap();
    let mut document = Document::from_slice(&save(&world)).unwrap();
    let Value::Struct(root) = &mut document.entries_mut().next().unwrap().value else { panic!() };
    let list = match list {
        "resources" => root.get_mut("resources"),
        _ => match root.get_mut("objects") {
            Some(Value::Seq(objects)) => match &mut objects[0] {
                Value::Struct(object) => object.get_mut(list),
                _ => None,
            },
            _ => None,
        },
    };
    let Some(Value::Seq(list)) = list else { panic!("a list") };
    let element = list[0].clone();
    list.resize(count, element);
    document.to_vec().unwrap()
}

fn prefab(count: usize) {
    let world = children(count);
    let prefab: Prefab = world.prefab(ObjectId::new(1).unwrap()).unwrap();
    let mut other = named(count, |_| "parent".into());
    measured(|| _ = black_box(other.instantiate(&prefab, ExternalIds::Clear).unwrap()));
}

/// A session of a world, and its files.
struct Played {
    files: Memory,
}

const SAVE: &str = "a.sav";
const JOURNAL: &str = "a.journal";

fn session(files: &Memory) -> Session<World> {
    let saves = Saves::new().storage(files.clone());
    saves.register_component::<Health>().unwrap();
    Session::with(saves, History::new(None)).open(SAVE, JOURNAL).unwrap().0
}

type Edit<'e> = persist::history::Edit<'e, World>;

fn edits_of(
    count: usize,
    mut world: World,
    edit: impl Fn(&mut Edit<'_>, ObjectId, u32) -> persist::Result<()>,
) -> Played {
    let files = Memory::default();
    let saves = Saves::new().storage(files.clone());
    saves.register_component::<Health>().unwrap();
    // A world lies in pages from 64 KiB on, which is another way: both lengths take it.
    world.spawn(&"x".repeat(1 << 16));
    saves.file(SAVE).save(&world).unwrap();
    let mut session = session(&files);
    let objects: Vec<ObjectId> = session.target().objects().skip(1).take(count).collect();
    for (number, object) in (0..).zip(&objects) {
        session.edit("", |change| edit(change, *object, number)).unwrap();
    }
    session.flush().unwrap();
    Played { files }
}

/// Edits of objects with a name and a component.
fn edits(
    count: usize,
    edit: impl Fn(&mut Edit<'_>, ObjectId, u32) -> persist::Result<()>,
) -> Played {
    let mut world = named(count + 1, |i| format!("c{i}"));
    for object in world.objects().skip(1).collect::<Vec<_>>() {
        world.attach(object, Health { points: 1_000_000 }).unwrap();
    }
    edits_of(count, world, edit)
}

/// Edits that attach a component, each to an object.
fn attached(count: usize) -> Played {
    edits_of(count, named(count + 1, |_| String::new()), |edit, at, _| {
        edit.attach(at, Health { points: 2 })
    })
}

fn undone(count: usize) {
    let played = attached(count);
    let mut undone = session(&played.files);
    while undone.undo().unwrap() {}
    undone.flush().unwrap();
    drop(undone);
    opened(&played);
}

/// A session with one edit of many changes.
fn one_edit(count: usize) -> Played {
    let played = edits_of(0, named(count + 1, |_| String::new()), |_, _, _| Ok(()));
    let mut session = session(&played.files);
    let objects: Vec<ObjectId> = session.target().objects().skip(1).collect();
    let all = |edit: &mut Edit<'_>| {
        objects.iter().try_for_each(|object| edit.attach(*object, Health { points: 2 }))
    };
    session.edit("", all).unwrap();
    session.flush().unwrap();
    played
}

fn opened(played: &Played) {
    measured(|| drop(black_box(session(&played.files))));
}

fn read(files: &Memory, path: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    files.open(Path::new(path)).unwrap().read_to_end(&mut bytes).unwrap();
    bytes
}

fn replayed(played: &Played) {
    replay(&read(&played.files, SAVE), &read(&played.files, JOURNAL));
}

fn replay(save: &[u8], journal: &[u8]) {
    let path = std::env::temp_dir().join(format!("persist-steps-{}.journal", std::process::id()));
    std::fs::write(&path, journal).unwrap();
    let mut document = Document::from_slice(save).unwrap();
    measured(|| {
        let listing = JournalListing::read(&path).unwrap();
        let replayed = listing.replay(&mut document, listing.events.len()).unwrap();
        assert!(replayed.stopped.is_none(), "{:?}", replayed.stopped);
        black_box(document.to_vec().unwrap());
    });
    std::fs::remove_file(path).unwrap();
}

/// As many edits as the journal has classes besides those of the program.
fn classes_of_a_journal(count: usize) {
    let played = edits(count, |edit, at, i| edit.set(at, "Health:points", i).map(drop));
    let journal = read(&played.files, JOURNAL);
    let more: Vec<Item> = (0..count).map(|i| class(&format!("c{i}"), &[("x", U8)])).collect();
    replay(&read(&played.files, SAVE), &with_classes(&journal, more, |_, _| {}));
}

/// Edits that attach components, each of a class that the save does not have.
fn classes_that_a_journal_brings(count: usize) {
    const U32: &[u8] = &[0x05];
    let played = attached(count);
    let name = |i: usize| format!("c{i:05}");
    let more = (0..count).map(|i| class(&name(i), &[("points", U32)])).collect();
    let rename = |frame: &mut Vec<u8>, number: usize| {
        if let Some(at) = frame.windows(6).position(|bytes| bytes == b"Health") {
            frame[at..at + 6].copy_from_slice(name(number % count).as_bytes());
        }
    };
    replay(&read(&played.files, SAVE), &with_classes(&read(&played.files, JOURNAL), more, rename));
}

/// A journal with more definitions of classes before those of its world.
fn with_classes(journal: &[u8], more: Vec<Item>, change: impl Fn(&mut Vec<u8>, usize)) -> Vec<u8> {
    const HEADER: usize = 48;
    const HEAD: usize = 15;
    let (mut at, mut changed, mut is_done) = (HEADER, journal[..HEADER].to_vec(), false);
    let mut number = 0;
    while at < journal.len() {
        let length = u32::from_le_bytes(journal[at..at + 4].try_into().unwrap()) as usize;
        let mut content = journal[at + HEAD..][..length].to_vec();
        let places = content.windows(8).rposition(|bytes| bytes == b"\x89PST\r\n\x1a\n");
        let place = places.filter(|_| !is_done && content.windows(6).any(|it| it == b"Health"));
        if let Some(start) = place {
            let is_end = |end: &usize| {
                let length = end - start;
                length > 29
                    && content[start..start + length - 29 + 25]
                        .ends_with(&(length as u64).to_le_bytes())
            };
            let end = (start..=content.len()).find(is_end).expect("its trailer");
            let mut forged = Forged::parse(&content[start..end]);
            forged.items.splice(0..0, more.iter().cloned());
            let built = forged.build();
            let from = start - counted((end - start) as u64).len();
            let new = [counted(built.len() as u64), built].concat();
            content.splice(from..end, new);
            is_done = true;
        } else {
            change(&mut content, number);
            number += 1;
        }
        let mut frame = (content.len() as u32).to_le_bytes().to_vec();
        frame.extend(&journal[at + 4..at + HEAD]);
        frame.extend(&content);
        forge::stamp(&mut frame, 0);
        changed.extend(frame);
        at += HEAD + length + 4;
    }
    assert!(is_done, "the journal has classes");
    changed
}

fn versions_of_a_lock(count: usize) {
    let mut registry = Registry::new();
    registry.register::<Sword>().unwrap();
    let mut lock = Lock::new();
    for i in 0..count {
        lock.update(&format!("{i}.0.0"), &registry).unwrap();
    }
    let text = lock.to_string();
    measured(|| drop(black_box(text.parse::<Lock>().unwrap())));
}

#[derive(Persist)]
struct Route {
    points: Vec<u64>,
}

/// A document with a list that is longer than the number of its changes.
fn path(n: usize) -> Route {
    Route { points: (0..16 * n as u64).collect() }
}

/// Removes every 16th element.
fn remove_some(path: &mut Route, history: &mut History<Route>) {
    history.set_proof(Proof::Off);
    let removed = history.edit(path, "Delete", |path| {
        path.points.retain(|point| point % 16 != 3);
        Ok(())
    });
    removed.unwrap();
}

/// Removes all objects but the first: every third one from the back, and then the others from the front.
fn removed(mut world: World, is_undone: bool) {
    let objects: Vec<ObjectId> = world.objects().skip(1).collect();
    let rest = objects.iter().enumerate().filter(|(at, _)| at % 3 > 0);
    let order = objects.iter().step_by(3).rev().chain(rest.map(|(_, object)| object));
    let mut history = History::new(None);
    history.set_proof(Proof::Off);
    let mut remove = || {
        let remove_all = |edit: &mut Edit<'_>| order.clone().try_for_each(|id| edit.remove(*id));
        history.edit(&mut world, "Delete", remove_all).unwrap();
    };
    if !is_undone {
        return measured(remove);
    }
    remove();
    measured(|| assert!(history.undo(&mut world).unwrap()));
    assert_eq!(world.objects().len(), objects.len() + 1);
}

/// Paints each element by itself, as the pointer passes over it.
fn elements_that_a_drag_sets(n: usize) {
    let (mut path, mut history) = (path(n), History::new(None));
    history.set_proof(Proof::Off);
    measured(|| {
        let drag = history.begin_drag("Paint");
        for at in 0..n {
            history.set_field(&mut path, field!(Route.points[at]), 7_u64).unwrap();
        }
        history.end_drag(drag);
    });
}

//! Worlds in pages: what is wrong with a page or its index, and what a salvage says.

use persist::codec::{Decoder, Encoder, Fail, Parts, Prototypes, Stop, decode};
use persist::reflect::Kind;
use persist::save::LoadPolicy;
use persist::{Component, LoadOptions, Persist, Result, Saves, Value, World};
use persist_tests::support::forge::restamp;
use persist_tests::support::paged::{SavedPage, blocks, pages, replaced, with_page};
use persist_tools::{Document, verify};

use crate::messages::table::Table;

#[derive(Persist)]
struct Note {
    text: String,
}

impl Component for Note {}

fn saves() -> Saves {
    let saves = Saves::new();
    saves.register_component::<Note>().expect("a component class");
    saves
}

fn world(objects: usize) -> World {
    let mut world = World::new();
    for _ in 0..objects {
        world.spawn_with("", (Note { text: "n".repeat(100) },)).expect("it is new");
    }
    world
}

/// The errors of a load and of `verify`.
fn add(table: &mut Table, what: &str, save: &[u8]) {
    table.add(what, saves().from_slice::<World>(save));
    let verified = verify(std::io::Cursor::new(save), &persist::Limits::DEFAULT);
    table.add(&format!("{what}: verify"), verified);
}

/// A save whose pages are those of its index by their digests, although a page was changed.
fn with_digest(save: &[u8], page: &SavedPage, payload: &[u8]) -> Vec<u8> {
    let old = save[page.block.end - 4..page.block.end].to_vec();
    let mut changed = with_page(save, page, payload);
    let new = changed[page.block.end - 4..page.block.end].to_vec();
    let head = blocks(&changed).into_iter().rfind(|block| block.tag == 1).expect("the head");
    let places = changed[head.content.clone()].windows(4);
    let at = head.content.start + places.into_iter().position(|at| at == old).expect("an index");
    changed[at..at + 4].copy_from_slice(&new);
    restamp(&mut changed);
    changed
}

#[test]
fn pages_and_indexes() {
    let save = saves().to_vec(&world(1_500)).expect("a save");
    let all = pages(&save);
    let payload = save[all[1].payload.clone()].to_vec();
    let mut table = Table::new();

    let mut other = payload.clone();
    *other.last_mut().expect("bytes") ^= 1;
    add(&mut table, "another page than that of the index", &with_page(&save, &all[1], &other));
    let mut other = payload.clone();
    other[1] ^= 1;
    add(&mut table, "a class that is not defined", &with_digest(&save, &all[1], &other));
    let mut other = payload.clone();
    // The number of objects, after the list of one class.
    let objects = 1 + 8;
    assert_eq!(other[objects], 249);
    other[objects + 1] -= 1;
    add(&mut table, "another number of objects", &with_digest(&save, &all[1], &other));
    let mut other = payload;
    other.truncate(objects);
    other.push(0);
    add(&mut table, "no objects", &with_page(&save, &all[1], &other));

    let contents = |page: &SavedPage| save[page.block.start + 5..page.block.end - 4].to_vec();
    let both = all[0].block.start..all[1].block.end;
    let one = [contents(&all[0]), contents(&all[1])].concat();
    add(&mut table, "two pages in a block", &replaced(&save, both, &[one]));
    // The last page stands after the head.
    let last = all.last().expect("a page");
    let head = blocks(&save).into_iter().rfind(|block| block.tag == 1).expect("the head");
    assert_eq!(last.block.end, head.whole.start);
    let blocks = [save[head.content.clone()].to_vec(), contents(last)];
    let place = last.block.start..head.whole.end;
    add(&mut table, "a page after its record", &replaced(&save, place, &blocks));
    // The record is its head of 7 bytes, the last id, no objects, the index, and no resources.
    let content = &save[head.content];
    let mut empty = [&content[..16], &[0, 0, 0x1e]].concat();
    empty[3..7].copy_from_slice(&11_u32.to_le_bytes());
    add(&mut table, "an index without entries", &replaced(&save, head.whole, &[empty]));
    insta::assert_snapshot!(table.text());
}

#[test]
fn objects_beside_pages() {
    let save = saves().to_vec(&world(1_500)).expect("a save");
    let mut document = Document::from_slice(&save).expect("a document");
    let root = document.root_mut().and_then(Value::as_record_mut).expect("a world");
    let Some(Value::Seq(objects)) = root.get_mut("objects") else { panic!("a list") };
    objects[7].as_record_mut().expect("an object").set("id", "seven");
    let mut table = Table::new();
    table.add("an object without an id", document.to_vec());

    // The head gets an object without components, which ends with the byte of an empty list.
    let head = blocks(&save).into_iter().rfind(|block| block.tag == 1).expect("the head");
    let content = &save[head.content];
    let object = [1, 1, 0, 0, 0, 0, 0];
    let list = 7 + 8;
    assert_eq!(content[list], 0);
    let mut with = [&content[..list], &object, &content[list + 1..]].concat();
    let payload = u32::try_from(with.len() - 8).expect("short");
    with[3..7].copy_from_slice(&payload.to_le_bytes());
    let with = replaced(&save, head.whole, &[with]);
    table.add("objects in both places", saves().from_slice::<World>(&with));

    let entry = [1_u8, 1, 0, 0, 0, 0, 0];
    let bytes = [&[0; 8][..], &[0, 1], &entry, &[0]].concat();
    table.add("a page without a save", decode::<World>(&bytes));
    insta::assert_snapshot!(table.text());
}

/// Lists a world that it does not write.
struct Careless {
    world: World,
}

impl Persist for Careless {
    fn persist_kind() -> Kind {
        u8::persist_kind()
    }

    fn persist_empty(_: &Prototypes<'_>) -> Result<Self> {
        Ok(Self { world: World::new() })
    }

    fn persist_encode(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
        out.value(&1_u8)
    }

    fn persist_decode(input: &mut Decoder<'_>) -> Result<Self, Fail> {
        input.value::<u8>()?;
        Ok(Self { world: World::new() })
    }

    fn persist_parts(parts: &mut Parts<'_, Self>) -> Result<()> {
        parts.part("world", |it| &it.world, |it| &mut it.world)
    }
}

#[derive(Persist)]
struct Game {
    careless: Careless,
    world: World,
}

#[test]
fn a_world_that_is_listed_and_not_written() {
    let mut table = Table::new();
    let game = Game { careless: Careless { world: world(1_500) }, world: world(1) };
    table.add("listed, not written", saves().to_vec(&game));
    insta::assert_snapshot!(table.text());
}

#[test]
fn what_a_salvage_loses() {
    let save = saves().to_vec(&world(3_000)).expect("a save");
    let all = pages(&save);
    let options = LoadOptions::new().policy(LoadPolicy::Salvage);
    let salvage = |save: &[u8]| {
        let saves = saves().load_options(options);
        let loaded = saves.from_slice::<World>(save).expect("it is salvaged");
        loaded.report().salvage().expect("it was damaged").to_string()
    };
    let mut table = Table::new();
    let mut damaged = save.clone();
    damaged[all[1].payload.start + 30] ^= 1;
    table.line("one page", &salvage(&damaged));
    damaged[all[3].payload.start + 30] ^= 1;
    table.line("two pages", &salvage(&damaged));
    table.line("a cut", &salvage(&save[..all[2].block.end]));
    for (what, children) in [("a parent of one", 1), ("a parent of many", 900)] {
        let mut world = world(3_000);
        let ids: Vec<_> = world.objects().collect();
        for child in ids.iter().rev().take(children) {
            world.set_parent(*child, Some(ids[0])).expect("it is there");
        }
        let mut damaged = saves().to_vec(&world).expect("a save");
        let first = pages(&damaged)[0].payload.start;
        damaged[first + 30] ^= 1;
        table.line(what, &salvage(&damaged));
    }
    insta::assert_snapshot!(table.text());
}

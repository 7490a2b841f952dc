//! Pages as they lie in a save.

use std::io::Cursor;

use persist::save::Compression;
use persist::{Limits, ObjectId, Result, SaveOptions, World};
use persist_tools::verify;

use super::{Note, Place, blocks, grow, pages, place, saves, state, world_of};

#[test]
fn a_small_world_lies_in_its_record_and_a_large_one_in_pages() -> Result<()> {
    let saves = saves();
    for (objects, is_paged) in
        [(0, false), (1, false), (1_000, false), (3_000, true), (20_000, true)]
    {
        let world = world_of(objects)?;
        let save = saves.to_vec(&world)?;
        let found = pages(&save);
        assert_eq!(!found.is_empty(), is_paged, "{objects} objects");
        if is_paged {
            assert_eq!(found.iter().map(|page| page.objects).sum::<u64>(), objects as u64);
        }
        let loaded = saves.from_slice::<World>(&save)?;
        assert_eq!(state(&loaded), state(&world));
        assert!(saves.to_vec(&*loaded)? == save, "{objects} objects");
        let verified = verify(Cursor::new(&save), &Limits::DEFAULT)?;
        assert_eq!((verified.objects, verified.pages), (1, found.len() as u64));
    }
    Ok(())
}

/// Removes an object, if it has not gone with its parent.
fn drop_object(world: &mut World, id: ObjectId) {
    if world.contains(id) {
        assert!(world.remove(id));
    }
}

/// The ends of pages follow from the ids and sizes of the objects alone, by the rule in `format.md`.
#[test]
fn pages_end_by_the_rule_of_the_format() -> Result<()> {
    let mut world = world_of(9_000)?;
    // Gaps of ids, over the end of a row and of a cell.
    let gone: Vec<ObjectId> = world.objects().skip(3_000).take(2_500).collect();
    gone.into_iter().for_each(|id| drop_object(&mut world, id));
    let far: Vec<ObjectId> = (0..70_000).map(|_| world.spawn("")).collect();
    far.iter().take(69_000).for_each(|id| drop_object(&mut world, *id));
    let save = saves().to_vec(&world)?;
    let found = pages(&save);
    assert!(found.len() > 4);
    let ids: Vec<u64> = world.objects().map(ObjectId::get).collect();
    let mut next = 0;
    for (at, page) in found.iter().enumerate() {
        assert_eq!(page.first, ids[next], "page {at}");
        next += usize::try_from(page.objects).expect("few");
        let Some(following) = ids.get(next) else { break };
        let (last, bytes) = (ids[next - 1], page.payload.len());
        let ends_row = last / 4_096 != following / 4_096 && bytes >= 16 << 10;
        let ends_cell = last / 65_536 != following / 65_536;
        // The payload has the list of classes, too.
        assert!(bytes >= 64 << 10 || ends_row || ends_cell, "page {at} of {bytes} bytes");
        assert!(bytes < (64 << 10) + 200, "page {at} of {bytes} bytes");
    }
    assert_eq!(next, ids.len());
    Ok(())
}

#[test]
fn a_change_of_one_object_changes_its_page_alone() -> Result<()> {
    let saves = saves();
    let mut world = world_of(20_000)?;
    let before = saves.to_vec(&world)?;
    let of_before = pages(&before);
    let ids: Vec<ObjectId> = world.objects().collect();
    for at in [1, 4_095, 11_111, 19_999] {
        let old = world.get_mut::<Place>(ids[at]).map(|place| std::mem::replace(&mut place.x, 0.5));
        let after = saves.to_vec(&world)?;
        let changed = pages(&after)
            .into_iter()
            .zip(&of_before)
            .filter(|(new, old)| after[new.block.clone()] != before[old.block.clone()]);
        let changed: Vec<u64> = changed.map(|(new, _)| new.first).collect();
        let of_object =
            of_before.iter().rfind(|page| page.first <= ids[at].get()).map(|page| page.first);
        assert_eq!(changed, Vec::from_iter(of_object.filter(|_| old.is_some())), "object {at}");
        if let (Some(old), Some(place)) = (old, world.get_mut::<Place>(ids[at])) {
            place.x = old;
        }
    }
    Ok(())
}

#[test]
fn a_larger_object_moves_no_end_of_a_page_outside_of_its_cell() -> Result<()> {
    let saves = saves();
    let mut world = World::new();
    let far: Vec<ObjectId> = (0..58_000).map(|_| world.spawn("")).collect();
    far.iter().for_each(|id| drop_object(&mut world, *id));
    let ids = grow(&mut world, 20_000)?;
    let before = saves.to_vec(&world)?;
    let of_before = pages(&before);
    world.attach(ids[2], Note { text: "y".repeat(70_000), whom: None })?;
    // A new object comes into the last page.
    world.spawn("Elf");
    let after = saves.to_vec(&world)?;
    let of_after = pages(&after);
    let is_kept = |page: &super::SavedPage| {
        of_before.iter().any(|old| before[old.block.clone()] == after[page.block.clone()])
    };
    let next_cell = of_after.iter().position(|page| page.first >= 65_536).expect("two cells");
    let last = of_after.len() - 1;
    assert!(next_cell > 2 && last > next_cell + 3);
    assert!(!is_kept(&of_after[0]) && !is_kept(&of_after[last]));
    assert!(of_after[next_cell..last].iter().all(is_kept));
    Ok(())
}

/// An object stores its parent, so the page of a parent does not depend on its children.
#[test]
fn another_child_changes_its_own_page_alone() -> Result<()> {
    let saves = saves();
    let mut world = world_of(20_000)?;
    let first = world.objects().next().expect("objects");
    let before = saves.to_vec(&world)?;
    let of_before = pages(&before);
    let child = world.spawn_in(first, "Elf")?;
    let after = saves.to_vec(&world)?;
    let of_after = pages(&after);
    assert_eq!(of_after.len(), of_before.len());
    let last = of_before.len() - 1;
    for (at, (old, new)) in of_before.iter().zip(&of_after).enumerate() {
        let is_same = before[old.block.clone()] == after[new.block.clone()];
        assert_eq!(is_same, at < last, "page {at}");
    }
    // An object in the middle that gets a parent changes its page, and no other.
    let middle = world.objects().nth(9_999).expect("objects");
    world.set_parent(middle, Some(child))?;
    let moved = saves.to_vec(&world)?;
    let changed = pages(&moved).into_iter().zip(&of_after);
    let changed = changed.filter(|(new, old)| moved[new.block.clone()] != after[old.block.clone()]);
    let changed: Vec<u64> = changed.map(|(new, _)| new.first).collect();
    assert_eq!(changed.len(), 1);
    assert!(changed[0] <= middle.get());
    Ok(())
}

#[test]
fn pages_of_one_state_have_the_same_bytes_whatever_was_done_before() -> Result<()> {
    let saves = saves();
    let direct = world_of(12_000)?;
    let mut detoured = World::new();
    grow(&mut detoured, 12_000)?;
    detoured.insert_resource(Note { text: "of all".into(), whom: None })?;
    let loaded = saves.from_slice::<World>(&saves.to_vec(&detoured)?)?;
    let mut detoured = loaded.into_inner();
    let ids: Vec<ObjectId> = detoured.objects().collect();
    for at in (0..12_000).step_by(17).filter(|at| at % 7 != 0) {
        detoured.detach::<Place>(ids[at]);
        detoured.attach(ids[at], place(at))?;
        if at % 3 == 0 {
            let note = detoured.get::<Note>(ids[at]).cloned().expect("it has one");
            detoured.detach::<Note>(ids[at]);
            detoured.attach(ids[at], note)?;
        }
    }
    let [one, other] = [saves.to_vec(&direct)?, saves.to_vec(&detoured)?];
    for (one_page, other_page) in pages(&one).iter().zip(pages(&other)) {
        assert!(one[one_page.block.clone()] == other[other_page.block], "{}", one_page.first);
    }
    assert!(one == other);
    Ok(())
}

/// A page names its classes itself, so the rest of the save does not matter.
#[test]
fn pages_do_not_depend_on_what_else_is_saved() -> Result<()> {
    #[derive(persist::Persist)]
    struct Game {
        world: World,
        notes: Vec<(Note, String)>,
    }
    let saves = saves();
    let alone = saves.to_vec(&world_of(6_000)?)?;
    let game = Game { world: world_of(6_000)?, notes: Vec::new() };
    let inside = saves.to_vec(&game)?;
    let [alone, inside] = [&alone, &inside].map(|save| {
        pages(save).into_iter().map(|page| save[page.payload].to_vec()).collect::<Vec<_>>()
    });
    assert!(!alone.is_empty() && alone == inside);
    Ok(())
}

#[test]
fn compression_and_snapshots_change_no_digest() -> Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    let plain = saves().to_vec(&world_of(8_000)?)?;
    let head = |save: &[u8]| {
        let document = persist_tools::Document::from_slice(save)?;
        document.to_vec()
    };
    for compression in [Compression::None, Compression::Lz4, Compression::Zstd(3)] {
        let saves = saves().save_options(SaveOptions::new().compression(compression));
        let path = folder.path().join(format!("{compression:?}.sav"));
        saves.file(&path).save(&world_of(8_000)?)?;
        let save = std::fs::read(&path).expect("written");
        verify(Cursor::new(&save), &Limits::DEFAULT)?;
        assert_eq!(state(&*saves.file(&path).load::<World>()?), state(&world_of(8_000)?));
        // A document is cut into the same pages.
        assert!(head(&save)? == save, "{compression:?}");
        let path = folder.path().join(format!("{compression:?}_2.sav"));
        saves.file(&path).save_in_background(&world_of(8_000)?)?.wait()?;
        let other = std::fs::read(&path).expect("written");
        assert!(blocks(&other).len() == blocks(&save).len());
        verify(Cursor::new(&other), &Limits::DEFAULT)?;
    }
    assert!(head(&plain)? == plain);
    Ok(())
}

fn fixture() -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/worlds/pages.sav")
}

/// The bytes are a promise: those of the fixture are written, and loaded.
#[test]
fn the_bytes_of_pages_are_those_of_the_fixture() -> Result<()> {
    let fixture = std::fs::read(fixture()).expect("`write_fixture` makes it");
    let world = world_of(2_600)?;
    assert!(saves().to_vec(&world)? == fixture);
    assert_eq!(pages(&fixture).len(), 2);
    assert_eq!(state(&*saves().from_slice::<World>(&fixture)?), state(&world));
    Ok(())
}

#[test]
#[ignore = "it writes the fixture"]
fn write_fixture() -> Result<()> {
    std::fs::create_dir_all(fixture().parent().expect("a folder")).expect("a folder");
    std::fs::write(fixture(), saves().to_vec(&world_of(2_600)?)?).expect("it is written");
    Ok(())
}

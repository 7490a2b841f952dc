//! Damaged worlds: what is lost is counted against the pages that a reader of its own finds.

use std::io::Cursor;

use persist::save::{LoadPolicy, Salvage};
use persist::{Error, ErrorKind, Limits, LoadOptions, ObjectId, Result, Saves, World};
use persist_tests::support::forge::restamp;
use persist_tests::support::short_or_long;
use persist_tools::{Document, verify};

use super::{SavedPage, blocks, count, pages, replaced, saves, state, with_page, world_of};

fn salvaging() -> Saves {
    saves().load_options(LoadOptions::new().policy(LoadPolicy::Salvage))
}

fn rescued(save: &[u8]) -> Result<(World, Salvage)> {
    let loaded = salvaging().from_slice::<World>(save)?;
    let salvage = loaded.report().salvage().cloned().expect("it was damaged");
    Ok((loaded.into_inner(), salvage))
}

/// The ids of a world that lie in no page of these firsts.
fn outside(world: &World, all: &[SavedPage], lost: &[u64]) -> Vec<ObjectId> {
    let page_of = |id: &ObjectId| all.iter().rfind(|page| page.first <= id.get());
    let is_lost = |id: &ObjectId| page_of(id).is_some_and(|page| lost.contains(&page.first));
    world.objects().filter(|id| !is_lost(id)).collect()
}

/// Checks a rescued world: all objects but those of the lost pages are there, with their components and parents.
fn check(world: &World, found: &World, all: &[SavedPage], lost: &[u64]) {
    let left = outside(world, all, lost);
    assert!(found.objects().eq(left.iter().copied()), "{lost:?}");
    let expected = state(world).into_iter().filter(|(id, ..)| left.contains(id));
    for (mut expected, found) in expected.zip(state(found)) {
        expected.3 = expected.3.filter(|parent| left.contains(parent));
        assert_eq!(found, expected);
    }
}

#[test]
fn a_flipped_byte_costs_the_page_that_it_is_in() -> Result<()> {
    let world = world_of(12_000)?;
    let save = saves().to_vec(&world)?;
    let all = pages(&save);
    assert!(all.len() > 5);
    let middle = |page: &SavedPage| page.block.start + page.block.len() / 2;
    // The first and the last bytes of a block, and one between.
    let some = [&all[0], &all[3], &all[all.len() - 1]];
    let places = some.into_iter().flat_map(|page| {
        let std::ops::Range { start, end } = page.block.clone();
        [start, start + 4, start + 7, middle(page), end - 5, end - 1].map(|at| (at, page.first))
    });
    for (at, first) in places {
        let mut damaged = save.clone();
        damaged[at] ^= 0x10;
        let error = saves().from_slice::<World>(&damaged).map(drop).expect_err("damage");
        assert!(error.is_damage(), "byte {at}: {error}");
        let (found, salvage) = rescued(&damaged)?;
        check(&world, &found, &all, &[first]);
        let lost: Vec<(u64, u64)> =
            salvage.lost_pages.iter().map(|page| (page.first.get(), page.objects.into())).collect();
        let page = all.iter().find(|page| page.first == first).expect("a page");
        assert_eq!(lost, [(first, page.objects)], "byte {at}");
        assert_eq!((salvage.objects, salvage.lost, salvage.lost_head), (1, Some(0), false));
        assert_eq!(found.resource::<super::Note>().map(|note| &*note.text), Some("of all"));
        if at != middle(page) {
            continue;
        }
        // The document has the same objects, and is a whole save.
        let (document, of_document) = Document::salvage(&damaged)?;
        assert_eq!(of_document.as_ref(), Some(&salvage));
        let again = saves().from_slice::<World>(&document.to_vec()?)?;
        assert_eq!(state(&again), state(&found));
    }
    Ok(())
}

#[test]
fn several_lost_pages_cost_their_objects_alone() -> Result<()> {
    let world = world_of(20_000)?;
    let save = saves().to_vec(&world)?;
    let all = pages(&save);
    for lost in [&[0, 1][..], &[2, 5, 7], &[all.len() - 1]] {
        let mut damaged = save.clone();
        lost.iter().for_each(|page: &usize| damaged[all[*page].payload.start + 40] ^= 1);
        let (found, salvage) = rescued(&damaged)?;
        let firsts: Vec<u64> = lost.iter().map(|page| all[*page].first).collect();
        check(&world, &found, &all, &firsts);
        assert_eq!(salvage.lost_pages.len(), lost.len());
        assert_eq!(
            salvage.places,
            lost.windows(2).filter(|pair| pair[1] > pair[0] + 1).count() + 1
        );
    }
    Ok(())
}

/// A world of four parents, in the first, second, third and last of its pages, each with children in all pages.
fn families() -> Result<(World, Vec<u8>, Vec<SavedPage>)> {
    let mut world = World::new();
    let ids = (0..12_000).map(|at| world.spawn_with("Orc", (super::place(at),)));
    let ids = ids.collect::<Result<Vec<ObjectId>>>()?;
    let parents = [0, 3_000, 6_000, 11_999].map(|at| ids[at]);
    for (at, id) in ids.iter().enumerate().filter(|(_, id)| !parents.contains(id)) {
        // At the front, so that the order of the children is not that of their ids.
        if at % 5 < 4 {
            world.set_parent_at(*id, Some(parents[at % 5]), 0)?;
        }
    }
    let save = saves().to_vec(&world)?;
    let all = pages(&save);
    Ok((world, save, all))
}

/// The page of an object.
fn page_of(all: &[SavedPage], id: ObjectId) -> usize {
    all.iter().rposition(|page| page.first <= id.get()).expect("a page")
}

#[test]
fn children_of_lost_parents_are_counted_and_others_keep_their_order() -> Result<()> {
    let (world, save, all) = families()?;
    let parents: Vec<ObjectId> =
        world.roots().filter(|id| !world.children(*id).is_empty()).collect();
    let in_pages: Vec<usize> = parents.iter().map(|id| page_of(&all, *id)).collect();
    assert!(in_pages.len() == 4 && in_pages.is_sorted_by(|a, b| a < b), "{in_pages:?}");
    for lost in 0..all.len() {
        let mut damaged = save.clone();
        damaged[all[lost].payload.start + 40] ^= 1;
        let (found, salvage) = rescued(&damaged)?;
        let is_left = |id: &ObjectId| page_of(&all, *id) != lost;
        let mut orphans = Vec::new();
        for parent in &parents {
            let left = world.children(*parent).iter().copied().filter(is_left);
            match is_left(parent) {
                true => assert_eq!(found.children(*parent), left.collect::<Vec<_>>()),
                false => orphans.extend(left),
            }
        }
        assert_eq!(salvage.orphans, orphans.len() as u64, "page {lost}");
        assert!(orphans.iter().all(|orphan| found.parent(*orphan).is_none()));

        // Another salvage puts them below a new object.
        let (document, of_document) = Document::salvage_under(&damaged, "Recovered")?;
        assert_eq!(of_document, Some(salvage));
        let mut gathered = saves().from_slice::<World>(&document.to_vec()?)?.into_inner();
        let recovered = gathered.find("Recovered");
        assert_eq!(recovered.is_some(), !orphans.is_empty(), "page {lost}");
        if let Some(recovered) = recovered {
            orphans.sort_unstable();
            assert_eq!(gathered.children(recovered), orphans);
            assert_eq!(gathered.parent(recovered), None);
            // The id is one that the world had not given, and it does not give it again.
            assert_eq!(recovered.get(), 12_001);
            assert_eq!(gathered.spawn("").get(), 12_002);
        }
        for parent in parents.iter().filter(|parent| is_left(parent)) {
            assert_eq!(gathered.children(*parent), found.children(*parent));
        }
    }
    Ok(())
}

#[test]
fn the_object_of_orphans_has_a_name_of_its_own() -> Result<()> {
    let (mut world, ..) = families()?;
    let last = world.objects().last().expect("objects");
    let names = ["Recovered", "Recovered1", "Recovered3"].map(|name| world.spawn(name));
    let save = saves().to_vec(&world)?;
    let all = pages(&save);
    let mut damaged = save.clone();
    damaged[all[0].payload.start + 40] ^= 1;
    for (name, expected) in
        [("Recovered", "Recovered2"), ("Recovered3", "Recovered2"), ("Lost", "Lost"), ("7", "7")]
    {
        let (document, salvage) = Document::salvage_under(&damaged, name)?;
        let found = saves().from_slice::<World>(&document.to_vec()?)?;
        let recovered = found.find(expected).expect(name);
        assert!(recovered > names[2] && names[2] > last);
        assert_eq!(Some(found.children(recovered).len() as u64), salvage.map(|it| it.orphans));
    }
    // A world that has lost its head numbers its objects far above those that are known.
    let end = all[all.len() - 1].block.end;
    let (document, salvage) = Document::salvage_under(&save[..end], "")?;
    assert!(salvage.is_some_and(|salvage| salvage.lost_head && salvage.orphans == 0));
    assert_eq!(saves().from_slice::<World>(&document.to_vec()?)?.objects().len(), 12_003);
    Ok(())
}

/// A cut save has lost its head, which comes after the pages.
#[test]
fn a_cut_world_has_the_objects_of_its_whole_pages() -> Result<()> {
    let world = world_of(12_000)?;
    let save = saves().to_vec(&world)?;
    let all = pages(&save);
    let ends = all.iter().flat_map(|page| [page.block.end - 1, page.block.end, page.block.end + 3]);
    for at in ends.chain([save.len() - 30]) {
        let cut = &save[..at];
        let whole = all.iter().filter(|page| page.block.end <= at).count();
        if whole == 0 {
            assert!(rescued(cut).is_err());
            continue;
        }
        let (found, salvage) = rescued(cut)?;
        let lost: Vec<u64> = all[whole..].iter().map(|page| page.first).collect();
        check(&world, &found, &all, &lost);
        assert_eq!(salvage.lost_head, at < save.len() - 30, "cut at {at}");
        // No id is given twice.
        let mut found = found;
        let new = found.spawn("");
        assert!(new > *world.objects().collect::<Vec<_>>().last().expect("objects"));
    }
    Ok(())
}

#[test]
fn each_byte_of_a_small_paged_world_can_be_damaged() -> Result<()> {
    let world = world_of(2_600)?;
    let save = saves().to_vec(&world)?;
    let all = pages(&save);
    assert!(!all.is_empty());
    for at in (0..save.len()).step_by(short_or_long(397, 7)) {
        let mut damaged = save.clone();
        damaged[at] ^= 0x55;
        let loaded = saves().from_slice::<World>(&damaged);
        assert!(loaded.is_err(), "byte {at}");
        let Ok((found, salvage)) = rescued(&damaged) else { continue };
        let lost: Vec<u64> = salvage.lost_pages.iter().map(|page| page.first.get()).collect();
        let in_page = all.iter().find(|page| page.block.contains(&at));
        match in_page {
            Some(page) => assert_eq!(lost, [page.first], "byte {at}"),
            None => assert!(lost.is_empty(), "byte {at}"),
        }
        check(&world, &found, &all, &lost);
    }
    Ok(())
}

/// All readers refuse a save whose checksums are right and whose pages are not.
fn refused(save: &[u8], what: &str) -> Error {
    let error = saves().from_slice::<World>(save).map(drop).expect_err(what);
    let by_verify = verify(Cursor::new(save), &Limits::DEFAULT).map(drop).expect_err(what);
    assert!(Document::from_slice(save).is_err(), "{what}");
    let is_fault = |error: &Error| {
        matches!(
            error.kind(),
            ErrorKind::Damaged
                | ErrorKind::InvalidValue
                | ErrorKind::Truncated
                | ErrorKind::NewerFormat
        )
    };
    assert!(is_fault(&error) && is_fault(&by_verify), "{what}: {error}; {by_verify}");
    error
}

#[test]
fn pages_that_contradict_their_index_are_refused() -> Result<()> {
    let save = saves().to_vec(&world_of(6_000)?)?;
    let all = pages(&save);
    let payload = save[all[1].payload.clone()].to_vec();
    assert!(saves().from_slice::<World>(&with_page(&save, &all[1], &payload)).is_ok());
    let (classes, width) = count(&payload);
    assert_eq!((classes, width), (2, 1));

    // Another value in the page: its digest is not that of the index.
    let mut other = payload.clone();
    *other.last_mut().expect("bytes") ^= 1;
    refused(&with_page(&save, &all[1], &other), "another page");
    // A class that is not defined, and one twice.
    let mut other = payload.clone();
    other[1] ^= 1;
    refused(&with_page(&save, &all[1], &other), "an unknown class");
    let mut other = payload.clone();
    other.copy_within(1..9, 9);
    refused(&with_page(&save, &all[1], &other), "a class twice");

    // Two pages in the place of each other.
    let [one, two] =
        [0, 1].map(|page: usize| save[all[page].block.start + 5..all[page].block.end - 4].to_vec());
    let both = all[0].block.start..all[1].block.end;
    assert_eq!(all[0].block.end, all[1].block.start);
    assert!(replaced(&save, both.clone(), &[one.clone(), two.clone()]) == save);
    refused(&replaced(&save, both.clone(), &[two.clone(), one.clone()]), "pages in another order");
    refused(&replaced(&save, both, &[[one.clone(), two].concat()]), "pages in one block");
    let mut again = replaced(&save, all[0].block.clone(), &[one.clone(), one]);
    let trailer = again.len() - 29;
    again[trailer + 1] += 1;
    restamp(&mut again);
    refused(&again, "a page twice");
    Ok(())
}

/// An index whose numbers are changed one by one, with right checksums.
#[test]
fn an_index_with_other_numbers_is_refused() -> Result<()> {
    let save = saves().to_vec(&world_of(6_000)?)?;
    let all = pages(&save);
    let head = blocks(&save).into_iter().rfind(|block| block.tag == 1).expect("the head");
    // The index begins with the number of pages and the first id, which is 1.
    let content = &save[head.content.clone()];
    let number = u8::try_from(all.len()).expect("few");
    let index = content.windows(2).position(|bytes| bytes == [number, 1]).expect("an index");
    let mut refusals = 0;
    let end = index + 1 + 9 * all.len();
    for at in index..end {
        for bit in [1, 0x40] {
            let mut changed = save.clone();
            changed[head.content.start + at] ^= bit;
            restamp(&mut changed);
            refused(&changed, &format!("byte {at} of the head, {bit}"));
            refusals += 1;
        }
    }
    assert!(refusals > 40);
    Ok(())
}

#[test]
fn a_page_without_its_record_is_refused() -> Result<()> {
    let save = saves().to_vec(&world_of(6_000)?)?;
    let all = pages(&save);
    // The page says that it is of another object.
    let mut other = save.clone();
    let at = all[0].payload.start - 5;
    assert_eq!(other[at], 1);
    other[at] = 9;
    restamp(&mut other);
    let error = refused(&other, "a page of no object");
    assert_eq!(error.kind(), ErrorKind::Damaged);
    Ok(())
}

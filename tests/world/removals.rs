//! Many objects that are removed one by one, and come back, in any order: what is left stays in order.

use persist::history::Proof;
use persist::{History, ObjectId, Persist, Result, Saves, World};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64;

#[derive(Persist, Debug, PartialEq)]
#[persist(component)]
struct Place {
    x: u64,
}

#[derive(Persist, Debug, PartialEq)]
#[persist(component)]
struct Note {
    text: String,
    whom: Option<ObjectId>,
}

/// More objects than two pages of the columns have, all at the top or below one parent.
fn crowd(parent: Option<&str>) -> (World, Vec<ObjectId>) {
    let mut world = World::new();
    let parent = parent.map(|name| world.spawn(name));
    let ids = (0..10_000).map(|at| {
        let whom = Some(parent.unwrap_or(ObjectId::NULL));
        let note = || Note { text: format!("{at}"), whom };
        let id = match at % 3 {
            0 => world.spawn_with("Orc", (Place { x: at }, note())),
            1 => world.spawn_with("", (Place { x: at },)),
            _ => world.spawn_with("Elf", (note(),)),
        };
        let id = id.expect("two components");
        world.set_parent(id, parent).expect("a tree");
        id
    });
    let ids = ids.collect();
    (world, ids)
}

fn saves() -> Saves {
    let saves = Saves::new();
    saves.register_component::<Place>().expect("a class");
    saves.register_component::<Note>().expect("a class");
    saves
}

/// Checks that all ways to read the objects have them in order. Returns the save.
fn checked(world: &World) -> Result<Vec<u8>> {
    let save = saves().to_vec(world)?;
    let again = saves().from_slice::<World>(&save)?;
    assert!(saves().to_vec(&*again)? == save, "a save of the loaded world is another one");
    assert!(world.objects().is_sorted() && world.objects().eq(again.objects()));
    let rows = |world: &World| {
        let rows = world.query::<(ObjectId, Option<&Place>, Option<&Note>)>();
        let text = |note: &Note| note.text.clone();
        rows.map(|(id, place, note)| (id, place.map(|it| it.x), note.map(text))).collect::<Vec<_>>()
    };
    assert!(rows(world) == rows(&again));
    assert!(world.query::<&Place>().eq(again.query::<&Place>()));
    for (id, place, note) in rows(world) {
        assert_eq!(world.get::<Place>(id).map(|place| place.x), place);
        assert_eq!(world.get::<Note>(id).map(|note| note.text.clone()), note);
    }
    Ok(save)
}

/// The orders in which objects are removed.
fn orders(ids: &[ObjectId]) -> [Vec<ObjectId>; 4] {
    let mut shuffled = ids.to_vec();
    shuffled.shuffle(&mut Pcg64::seed_from_u64(7));
    let back = ids.iter().rev().copied().collect();
    let inward = ids.iter().zip(ids.iter().rev()).flat_map(|(front, back)| [*front, *back]);
    let inward = inward.take(ids.len()).collect();
    [ids.to_vec(), back, shuffled, inward]
}

#[test]
fn objects_stay_in_order_when_many_others_are_removed_one_by_one() -> Result<()> {
    for parent in [None, Some("top")] {
        let (_, ids) = crowd(parent);
        for order in orders(&ids) {
            let (mut world, _) = crowd(parent);
            let before = world.snapshot()?;
            let save = checked(&world)?;
            for removed in order.chunks(3_000) {
                removed.iter().for_each(|id| assert!(world.remove(*id)));
                checked(&world)?;
                let after = world.snapshot()?;
                world.restore(&before)?;
                assert!(checked(&world)? == save);
                world.restore(&after)?;
                // The first change after a read, and a read in order that may change values.
                for place in world.query_mut::<&mut Place>()? {
                    place.x += 1;
                }
                let last = world.spawn_with("Orc", (Place { x: 0 },))?;
                checked(&world)?;
                world.remove(last);
                for (id, place) in world.query_mut::<(ObjectId, &mut Place)>()? {
                    assert!(!removed.contains(&id) || place.x == 0);
                    place.x -= 1;
                }
                checked(&world)?;
            }
            assert_eq!(world.objects().len(), usize::from(parent.is_some()));
        }
    }
    Ok(())
}

#[test]
fn objects_that_were_removed_one_by_one_come_back_in_their_places() -> Result<()> {
    for parent in [None, Some("top")] {
        let (_, ids) = crowd(parent);
        for order in orders(&ids) {
            let (mut world, _) = crowd(parent);
            let before = checked(&world)?;
            let mut history = History::new(None);
            history.set_proof(Proof::Off);
            let (some, rest) = order.split_at(6_000);
            for removed in [some, rest] {
                history.edit(&mut world, "Remove", |edit| {
                    removed.iter().try_for_each(|id| edit.remove(*id))
                })?;
            }
            assert!(history.undo(&mut world)?);
            let half = checked(&world)?;
            assert!(history.undo(&mut world)?);
            assert!(checked(&world)? == before);
            assert!(history.redo(&mut world)?);
            assert!(checked(&world)? == half);
            assert!(history.redo(&mut world)?);
            assert_eq!(world.objects().len(), usize::from(parent.is_some()));
            while history.undo(&mut world)? {}
            assert!(checked(&world)? == before);
        }
    }
    Ok(())
}

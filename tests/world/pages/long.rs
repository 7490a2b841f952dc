//! Components and resources with long lists: damage costs the numbers in its pieces of 64 KiB.

use persist::save::LoadPolicy;
use persist::{Component, LoadOptions, ObjectId, Persist, Result, Saves, World};
use rand::{Rng, SeedableRng};
use rand_pcg::Lcg64Xsh32;

use super::{state, world_of};

#[derive(Persist, Debug, PartialEq, Clone)]
struct Terrain {
    name: String,
    heights: Vec<u32>,
}

impl Component for Terrain {}

const HEIGHTS: u32 = 120_000;

fn terrain(name: &str, first: u32) -> Terrain {
    Terrain { name: name.into(), heights: (first..first + HEIGHTS).collect() }
}

fn saves() -> Saves {
    let saves = super::saves();
    saves.register_component::<Terrain>().expect("a component class");
    saves.register_resource::<Terrain>().expect("a resource class");
    saves.load_options(LoadOptions::new().policy(LoadPolicy::Salvage))
}

/// A world with a long resource, and an object with a long component among others.
fn world() -> Result<(World, ObjectId)> {
    let mut world = world_of(3000)?;
    let hill = world.spawn("Hill");
    world.attach(hill, terrain("hill", 1_000_000))?;
    for _ in 0..500 {
        world.spawn("Tree");
    }
    world.insert_resource(terrain("all", 2_000_000))?;
    Ok((world, hill))
}

/// Checks that all heights are as they were, or 0 in a stretch of at most 64 KiB around one of them.
fn check(found: &Terrain, whole: &Terrain, damaged: u32) {
    assert_eq!((&found.name, found.heights.len()), (&whole.name, whole.heights.len()));
    let lost: Vec<u32> = (0_u32..)
        .zip(found.heights.iter().zip(&whole.heights))
        .filter_map(|(at, (found, whole))| (found != whole).then_some(at))
        .collect();
    assert!(lost.iter().all(|at| found.heights[*at as usize] == 0));
    assert!(lost.contains(&damaged) && lost.len() <= 65_536 / 4 + 1, "{} lost", lost.len());
    assert_eq!(lost.last().map(|last| last - lost[0] + 1), u32::try_from(lost.len()).ok());
}

#[test]
fn damage_to_a_long_list_of_a_world_costs_the_numbers_in_its_piece() -> Result<()> {
    let (world, hill) = world()?;
    let save = saves().to_vec(&world)?;
    let mut rng = Lcg64Xsh32::seed_from_u64(21);
    for round in 0..16 {
        let is_component = round % 2 == 0;
        let at = rng.gen_range(20_000..HEIGHTS - 20_000);
        let number = at + if is_component { 1_000_000 } else { 2_000_000 };
        let word = number.to_le_bytes();
        let place = save.windows(4).position(|bytes| bytes == word).expect("it is there");
        let mut damaged = save.clone();
        damaged[place] ^= 1 << rng.gen_range(0..8);
        let loaded = saves().from_slice::<World>(&damaged)?;
        let found = loaded.report().salvage().expect("it was damaged");
        assert_eq!((found.lost_pages.len(), found.lost_head, found.lost), (0, false, Some(0)));
        let [part] = &found.damaged_parts[..] else { panic!("{found:?}") };
        assert!(part.is_zeroed && part.fields.contains("heights["), "{part}");
        assert_eq!(state(&loaded), state(&world));
        let of = |world: &World| {
            let terrain = if is_component { world.get(hill) } else { world.resource::<Terrain>() };
            terrain.cloned().expect("it is whole")
        };
        check(&of(&loaded), &of(&world), at);
        let other = if is_component { loaded.resource() } else { loaded.get::<Terrain>(hill) };
        let whole = if is_component { world.resource() } else { world.get::<Terrain>(hill) };
        assert!(other == whole && whole.is_some());
    }
    Ok(())
}

/// Pages that are retained from an earlier save have checksums of their pieces, too.
#[test]
fn a_retained_long_page_is_saved_with_the_same_bytes() -> Result<()> {
    let (mut world, hill) = world()?;
    let folder = tempfile::tempdir().expect("a folder");
    let saves = saves();
    let file = saves.file(folder.path().join("world.sav"));
    let content = |save: &[u8]| {
        let header = 16 + u32::from_le_bytes([save[12], save[13], save[14], save[15]]) as usize;
        save[header + 4..save.len() - 29].to_vec()
    };
    for round in 0..4 {
        file.save_in_background(&world)?.wait()?;
        let written = std::fs::read(file.path()?).expect("it was written");
        assert_eq!(content(&written), content(&saves.to_vec(&world)?), "round {round}");
        let mut twin = world_of(3000)?;
        let other = twin.spawn("Hill");
        twin.attach(other, world.get::<Terrain>(hill).cloned().expect("it is there"))?;
        for _ in 0..500 {
            twin.spawn("Tree");
        }
        twin.insert_resource(world.resource::<Terrain>().cloned().expect("it is there"))?;
        assert_eq!(content(&written), content(&saves.to_vec(&twin)?), "round {round}");
        if round == 1 {
            world.get_mut::<Terrain>(hill).expect("it is there").heights[77] = 5;
        }
        if round == 2 {
            world.resource_mut::<Terrain>().expect("it is there").heights[77] = 5;
        }
    }
    Ok(())
}

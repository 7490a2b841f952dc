//! A save that holds the unknown data of many others numbers the classes that share a name. The program that has the
//! class recognised only the first thousand of them.

use persist::{Persist, Result, Unknown};
use persist_tests::support::forge::{self, Item, VALUE};

/// The program without the mod, and a list that it collects from many saves.
mod without {
    use super::{Persist, Unknown};

    #[derive(Persist)]
    #[persist(class = "Chunk")]
    pub(super) struct Chunk {
        #[persist(unknown)]
        pub(super) rest: Unknown,
    }
}

#[derive(Persist)]
#[persist(class = "Chunk")]
struct Chunk {
    ore: Ore,
}

#[derive(Persist, Debug, PartialEq)]
#[persist(class = "Ore")]
struct Ore {
    amount: u32,
}

#[test]
fn each_of_many_classes_of_one_name_is_recognised() -> Result<()> {
    let amounts = 0..1_200;
    let chunks = amounts.clone().map(|amount| {
        let save = persist::to_vec(&Chunk { ore: Ore { amount } })?;
        persist::from_slice(&save)
    });
    let world = chunks.collect::<Result<Vec<without::Chunk>>>()?;

    let chunks: Vec<Chunk> = persist::from_slice(&persist::to_vec(&world)?)?;
    let found: Vec<u32> = chunks.iter().map(|chunk| chunk.ore.amount).collect();
    assert_eq!(found, amounts.collect::<Vec<u32>>());
    Ok(())
}

/// A save of a chunk whose ore is made of this many classes, all of one name.
fn chunk_of(classes: u64) -> Vec<u8> {
    let mut veins = forge::counted(classes);
    let mut items = Vec::new();
    for number in 1..=classes {
        veins.extend(
            [&forge::text(&number.to_string())[..], &[0, 0x16], &forge::counted(number)].concat(),
        );
        items.push(forge::with_id(number, "Vein", 1, 0, &[0]));
    }
    items.push(Item::Definition([forge::head("Ore"), vec![0], veins].concat()));
    let ore = [&[0x16], &forge::counted(classes + 1)[..]].concat();
    items.push(forge::class("Chunk", &[("ore", &ore)]));
    items.push(forge::record(classes + 2, VALUE, 1, &[]));
    forge::save(&items)
}

#[test]
fn more_classes_of_one_name_than_a_load_recognises_are_not_saved() -> Result<()> {
    let world = |classes| -> Result<[without::Chunk; 2]> {
        let save = chunk_of(classes);
        Ok([persist::from_slice(&save)?, persist::from_slice(&save)?])
    };
    let saved = persist::to_vec(&world(99_999)?)?;
    persist::from_slice::<[without::Chunk; 2]>(&saved)?;
    let error = persist::to_vec(&world(100_000)?).unwrap_err();
    insta::assert_snapshot!("too_many", error);
    Ok(())
}

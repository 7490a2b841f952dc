//! Fields without bytes, many of them in many records: what is migrated or kept of them is work
//! that the save does not pay for.

use std::time::{Duration, Instant};

use persist::{ErrorKind, Persist, Record};

use super::load;
use persist_tests::support::forge::{ADDED, Item, class, record, save};

/// A unit.
const NOTHING: &[u8] = &[0x00];

#[derive(Persist)]
#[persist(class = "Case", version = 2, migrate(1 = nothing))]
struct Migrated {}

fn nothing(_: &mut Record, _: u32) {}

#[derive(Persist)]
#[persist(class = "Case")]
struct Kept {}

#[derive(Persist)]
#[persist(class = "Case")]
struct Room {
    #[persist(unknown)]
    rest: persist::Unknown,
}

#[derive(Persist)]
#[persist(class = "Case")]
struct Other {
    #[persist(default)]
    list: Vec<u8>,
}

/// So many records of a class with fields of these names.
fn records(count: u64, names: &[String]) -> Vec<u8> {
    let fields: Vec<(&str, &[u8])> = names.iter().map(|name| (&**name, NOTHING)).collect();
    let mut items: Vec<Item> = vec![class("Case", &fields)];
    items.extend((1..=count).map(|id| record(1, ADDED, id, &[])));
    save(&items)
}

#[test]
fn many_records_of_many_empty_fields_are_refused_in_time() {
    let names: Vec<String> = (0..5000).map(|i| format!("f{i}")).collect();
    let long: Vec<String> = (0..4).map(|i| format!("{i}{}", "x".repeat(200_000))).collect();
    for save in [records(20_000, &names), records(100_000, &long)] {
        let attacks = [load::<Migrated>, load::<Kept>, load::<Room>, load::<Other>];
        for attack in attacks {
            let start = Instant::now();
            let error = attack(&save).map_err(|error| error.kind());
            let time = start.elapsed();
            assert!(matches!(error, Ok(()) | Err(ErrorKind::TooLarge)), "{error:?}");
            assert!(time < Duration::from_secs(10), "{time:?}");
        }
    }
}

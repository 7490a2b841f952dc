//! Lists that a file can lengthen: a load takes time in proportion to them. `.ci/steps` counts the instructions for each
//! such list. Here a load must end within the half minute of [`in_time`], forty times what it takes. One that searches a
//! list once for each element takes longer.

use std::time::Duration;

use persist::save::LoadEvent;
use persist::{Persist, Record, Result, SaveManager, Saves, Unknown};
use persist_tests::support::forge::{ADDED, class, counted, one_of, record, save, value};
use persist_tools::Document;

const U8: &[u8] = &[0x03];

#[derive(Persist)]
struct Sword {
    power: u8,
}

/// Has a field of its own for what it does not know.
#[derive(Persist)]
struct Bag {
    #[persist(unknown)]
    _rest: Unknown,
}

/// The same, whose older records are migrated.
#[derive(Persist)]
#[persist(version = 2, migrate(1 = Chest::migrate))]
struct Chest {
    #[persist(unknown)]
    _rest: Unknown,
    #[persist(default)]
    _gold: u8,
}

impl Chest {
    fn migrate(record: &mut Record, _: u32) {
        record.set("_gold", 3_u8);
    }
}

/// Loads within half a minute.
fn in_time(save: Vec<u8>, load: fn(&[u8]) -> Result<()>) -> Result<()> {
    let (sender, receiver) = std::sync::mpsc::channel();
    // The receiver is gone when it was too late.
    let _running = std::thread::spawn(move || drop(sender.send(load(&save))));
    receiver.recv_timeout(Duration::from_secs(30)).expect("an answer within half a minute")
}

fn object<T: Persist>(save: &[u8]) -> Result<()> {
    let manager = SaveManager::new();
    manager.register::<T>()?;
    manager.from_slice(save).map(drop)
}

/// A sword with this many values that were kept of it, all of one field.
fn kept_records(count: usize) -> Vec<u8> {
    let sword = [class("Sword", &[("power", U8)]), class("Sword.old", &[("old", U8)])];
    let kept = (0..count).map(|_| record(2, 0, 1, &[7]));
    let items = sword.into_iter().chain([record(1, ADDED, 1, &[1])]).chain(kept);
    save(&items.collect::<Vec<_>>())
}

/// A value with this many unknown parts of two bytes.
fn unknown_parts(owner: &str, count: usize) -> Vec<u8> {
    let classes =
        [class(owner, &[("_rest", &[0x1b])]), class(&format!("{owner}.old"), &[("old", U8)])];
    let parts = std::iter::repeat_n([2, 7], count).flatten();
    one_of(&classes, &counted(count as u64).into_iter().chain(parts).collect::<Vec<u8>>())
}

#[test]
fn values_that_were_kept_of_an_object_take_time_in_proportion() {
    in_time(kept_records(300_000), object::<Sword>).unwrap();
}

#[test]
fn unknown_parts_of_a_value_take_time_in_proportion() {
    in_time(unknown_parts("Bag", 400_000), value::<Bag>).unwrap();
    in_time(unknown_parts("Chest", 100_000), value::<Chest>).unwrap();
}

#[test]
fn fields_of_a_record_in_another_order_take_time_in_proportion() {
    const COUNT: usize = 150_000;
    let names: Vec<String> = (0..COUNT).map(|i| format!("f{i}")).collect();
    let fields: Vec<(&str, &[u8])> = names.iter().map(|name| (&**name, U8)).collect();
    let save = one_of(&[class("Sword", &fields)], &[1; COUNT]);
    let write = |save: &[u8]| {
        let mut document = Document::from_slice(save)?;
        let entry = document.entries_mut().next().expect("a value");
        let fields = entry.value.as_record().expect("a struct").fields();
        let mut fields: Vec<_> =
            fields.map(|(name, value)| (name.to_owned(), value.clone())).collect();
        fields.reverse();
        let mut sword = Record::new("Sword");
        sword.extend(fields);
        entry.value = sword.into();
        // With the sums of the long block come the definitions once more.
        assert!(document.to_vec()?.len() > save.len());
        Ok(())
    };
    in_time(save, write).unwrap();
}

#[test]
fn rows_that_a_program_adds_to_a_report_take_time_in_proportion() {
    let add = |_: &[u8]| {
        let saves = Saves::new();
        let loaded = saves.from_slice::<Vec<u8>>(&persist::to_vec(&vec![1_u8])?)?;
        let mut report = loaded.report().clone();
        for index in (0..100_000).chain(0..100_000) {
            report.add(LoadEvent::Dropped, "Vec<u8>", &format!("element {index}"), None);
        }
        assert_eq!(report.rows().len(), 100_000);
        assert!(report.rows().iter().all(|row| row.count == 2));
        Ok(())
    };
    in_time(Vec::new(), add).unwrap();
}

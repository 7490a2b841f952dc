//! Tests of requests that are awaited, blocked on, cancelled, or late.

use std::time::{Duration, Instant};

use object_store::memory::InMemory;
use object_store::throttle::{ThrottleConfig, ThrottledStore};
use persist::save::Lineage;
use persist::{ErrorKind, Saves};
use persist_cloud::{Cloud, CloudOptions, Synced};

use crate::block_on;
use crate::memory::slots_on;
use crate::slot_store::{read, save};

/// Creates a store whose answers take a given time.
fn slow(wait: Duration) -> ThrottledStore<InMemory> {
    let config = ThrottleConfig {
        wait_get_per_call: wait,
        wait_put_per_call: wait,
        ..ThrottleConfig::default()
    };
    ThrottledStore::new(InMemory::new(), config)
}

#[test]
fn any_executor_awaits_a_request() {
    let slots = slots_on(InMemory::new(), CloudOptions::new());
    let version = block_on(slots.put_if("Ada", None, save(1))).unwrap();
    // Poll once, with a waker that does nothing.
    let found = futures_util::FutureExt::now_or_never(slots.get("Bob"));
    assert!(found.is_none_or(|found| found.unwrap().is_none()));
    assert_eq!(block_on(slots.get("Ada")).unwrap(), Some((save(1), version)));
    // Inside an async context, a program may block on a request and drop the cloud.
    block_on(async move { drop((slots.get("Ada").wait().unwrap(), slots)) });
}

#[test]
fn a_request_that_takes_too_long_is_an_error() {
    let options = CloudOptions::new().deadline(Duration::from_millis(100));
    let slots = slots_on(slow(Duration::from_secs(60)), options);
    let start = Instant::now();
    let error = slots.get("Ada").wait().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io);
    assert_eq!(
        error.message(),
        "there was no answer within 0.1 s; try again, and look first whether a write has happened"
    );
    assert!(start.elapsed() < Duration::from_secs(10));
}

#[test]
fn a_request_that_is_dropped_is_cancelled() {
    let slots = slots_on(slow(Duration::from_millis(200)), CloudOptions::new());
    drop(slots.put_if("Ada", None, save(1)));
    std::thread::sleep(Duration::from_millis(900));
    assert_eq!(read(&slots, "Ada"), None);
}

#[test]
fn bytes_that_are_not_a_save_are_refused_before_they_are_sent() {
    let slots = slots_on(slow(Duration::from_secs(60)), CloudOptions::new());
    let error = slots.put_if("Ada", None, vec![1, 2, 3]).wait().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotASave);
    let error = slots.get("..").wait().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidValue);
}

fn device(name: &str) -> Saves {
    Saves::new().device(name).unwrap()
}

#[test]
fn a_saved_value_continues_the_previous_save() {
    let slots = slots_on(InMemory::new(), CloudOptions::new());
    let saves = device("server");
    let first = slots.save("Ada", None, &saves, &1_u32).wait().unwrap();
    let (value, stored) = block_on(slots.load::<u32>("Ada", &saves)).unwrap().unwrap();
    assert_eq!((*value, &stored), (1, &first));
    let second = block_on(slots.save("Ada", Some(&stored), &saves, &2_u32)).unwrap();
    assert_eq!(second.header.compare(&first.header), Lineage::Newer);
    assert_eq!(slots.list().wait().unwrap(), [second]);
    // Another server was first.
    let late = slots.save("Ada", Some(&first), &saves, &3_u32).wait().unwrap_err();
    assert_eq!(late.kind(), ErrorKind::Conflict);
    assert!(block_on(slots.load::<u32>("Bob", &saves)).unwrap().is_none());
    let wrong = block_on(slots.load::<String>("Ada", &saves)).unwrap_err();
    assert_ne!(wrong.kind(), ErrorKind::Io);
}

#[test]
fn a_device_pulls_what_a_server_saves_and_pushes_what_follows() {
    for server in [device("server"), Saves::new()] {
        let slots = slots_on(InMemory::new(), CloudOptions::new());
        let folder = tempfile::tempdir().unwrap();
        let deck = device("deck").slots(folder.path());
        let local = deck.as_store().unwrap();
        slots.save("Ada", None, &server, &1_u32).wait().unwrap();
        assert_eq!(Cloud::sync((&local, "Ada"), (&slots, "Ada")).unwrap(), Synced::Pulled);
        deck.slot("Ada").save(&2_u32).unwrap();
        assert_eq!(Cloud::sync((&local, "Ada"), (&slots, "Ada")).unwrap(), Synced::Pushed);
        let (value, stored) = block_on(slots.load::<u32>("Ada", &server)).unwrap().unwrap();
        assert_eq!(*value, 2);
        slots.save("Ada", Some(&stored), &server, &3_u32).wait().unwrap();
        assert_eq!(Cloud::sync((&local, "Ada"), (&slots, "Ada")).unwrap(), Synced::Pulled);
        assert_eq!(*deck.slot("Ada").load::<u32>().unwrap(), 3);
    }
}

#[test]
fn a_device_without_a_name_does_not_pull() {
    let slots = slots_on(InMemory::new(), CloudOptions::new());
    slots.put_if("Ada", None, save(1)).wait().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let store = Saves::new().slots(folder.path()).as_store().unwrap();
    let error = Cloud::sync((&store, "Ada"), (&slots, "Ada")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidValue);
}

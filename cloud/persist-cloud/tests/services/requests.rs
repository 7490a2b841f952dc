//! Requests: awaited, waited for, cancelled, late.

use std::time::{Duration, Instant};

use object_store::memory::InMemory;
use object_store::throttle::{ThrottleConfig, ThrottledStore};
use persist::ErrorKind;
use persist_cloud::CloudOptions;

use crate::block_on;
use crate::memory::slots_on;
use crate::slot_store::{read, save};

/// A store whose answers take this long.
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
    let slots = slots_on(InMemory::new(), CloudOptions::default());
    let version = block_on(slots.put_if("Ada", None, save(1))).unwrap();
    // One that knows nothing of the thread that does it.
    let found = futures_util::FutureExt::now_or_never(slots.get("Bob"));
    assert!(found.is_none_or(|found| found.unwrap().is_none()));
    assert_eq!(block_on(slots.get("Ada")).unwrap(), Some((save(1), version)));
    // Waiting is possible where futures are polled, and so is dropping the cloud.
    block_on(async move { drop((slots.get("Ada").wait().unwrap(), slots)) });
}

#[test]
fn a_request_that_takes_too_long_is_an_error() {
    let options = CloudOptions { deadline: Duration::from_millis(100), ..CloudOptions::default() };
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
    let slots = slots_on(slow(Duration::from_millis(200)), CloudOptions::default());
    drop(slots.put_if("Ada", None, save(1)));
    std::thread::sleep(Duration::from_millis(900));
    assert_eq!(read(&slots, "Ada"), None);
}

#[test]
fn what_is_no_save_is_refused_before_it_is_sent() {
    let slots = slots_on(slow(Duration::from_secs(60)), CloudOptions::default());
    let error = slots.put_if("Ada", None, vec![1, 2, 3]).wait().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotASave);
    let error = slots.get("..").wait().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidValue);
}

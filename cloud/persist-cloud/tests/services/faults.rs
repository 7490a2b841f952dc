//! Tests every fault at every request of every call.

use std::thread;
use std::time::Duration;

use persist::storage::{SlotStore, SlotVersion};
use persist::{ErrorKind, Result};
use persist_cloud::{Cloud, CloudOptions, CloudSlots};

use object_store::aws::AmazonS3;

use crate::proxy::{Fault, LATE, Proxy};
use crate::s3_server::Server;
use crate::slot_store::{read, save};

/// A call, whether the slot exists before it, and the save of the slot after it.
struct Call {
    name: &'static str,
    exists: bool,
    run: fn(&CloudSlots, &SlotVersion) -> Result<()>,
    after: Option<u32>,
}

const CALLS: [Call; 4] = [
    Call {
        name: "create",
        exists: false,
        run: |slots, _| slots.put_if("Ada", None, save(2)).wait().map(drop),
        after: Some(2),
    },
    Call {
        name: "replace",
        exists: true,
        run: |slots, first| slots.put_if("Ada", Some(first), save(2)).wait().map(drop),
        after: Some(2),
    },
    Call {
        name: "delete",
        exists: true,
        run: |slots, first| slots.delete("Ada", first).wait(),
        after: None,
    },
    Call {
        name: "get and list",
        exists: true,
        run: |slots, first| {
            let (save, version) = slots.get("Ada").wait()?.unwrap();
            assert!(save == self::save(1) && version == *first);
            assert_eq!(slots.list().wait()?[0].version, *first);
            Ok(())
        },
        after: Some(1),
    },
];

/// Injects each fault once, so that the next attempt succeeds, and each lasting fault into all later requests.
///
/// Each call has its own client, proxy and players.
fn matrix(client: fn(&Server, &Proxy) -> AmazonS3, faults: &[Fault], lasting: &[Fault]) {
    let server = &Server::start();
    thread::scope(|scope| {
        for call in &CALLS {
            scope.spawn(move || row(call, client, server, faults, lasting));
        }
    });
}

fn row(
    call: &Call,
    client: fn(&Server, &Proxy) -> AmazonS3,
    server: &Server,
    faults: &[Fault],
    lasting: &[Fault],
) {
    let proxy = Proxy::default();
    let client = client(server, &proxy);
    let options = CloudOptions::new().attempts(3).deadline(Duration::from_secs(20));
    let cloud = Cloud::object_store(std::sync::Arc::new(client), call.name, options).unwrap();
    let mut player = 0;
    for (list, lasts) in [(faults, false), (lasting, true)] {
        for &fault in list {
            for number in 1.. {
                player += 1;
                let slots = cloud.player(&player.to_string()).unwrap();
                proxy.plan(&[]);
                let first = SlotVersion::from_save(&save(1));
                if call.exists {
                    slots.put_if("Ada", None, save(1)).wait().unwrap();
                }
                let faults = number..if lasts { number + 50 } else { number + 1 };
                proxy.plan(&faults.map(|at| (at, fault)).collect::<Vec<_>>());
                let result = (call.run)(&slots, &first);
                let has_fired = proxy.requests() >= number;
                proxy.plan(&[]);
                let what =
                    format!("{}, {fault:?} at {number}, lasts {lasts}: {result:?}", call.name);
                judge(call, &slots, &result, &what);
                if fault == Fault::Reorder && has_fired && !call.name.starts_with("get") {
                    // A delayed request must not change an acknowledged save.
                    let known = read(&slots, "Ada");
                    let next = known.map(|(_, version)| version);
                    let settled = slots.put_if("Ada", next.as_ref(), save(3)).wait();
                    thread::sleep(LATE + Duration::from_millis(100));
                    if settled.is_ok() {
                        assert_eq!(read(&slots, "Ada").map(|(n, _)| n), Some(3), "{what}");
                    }
                }
                if !has_fired {
                    assert!(result.is_ok(), "{what}");
                    break;
                }
                let passes = !lasts && fault != Fault::Error412;
                assert!(!passes || result.is_ok(), "{what}");
            }
        }
    }
}

/// Asserts that the result of the call is true of the slot.
fn judge(call: &Call, slots: &CloudSlots, result: &Result<()>, what: &str) {
    let previous = call.exists.then_some(1);
    let found = read(slots, "Ada").map(|(number, _)| number);
    match result {
        Ok(()) => assert_eq!(found, call.after, "{what}"),
        Err(error) if error.kind() == ErrorKind::Conflict => assert_eq!(found, previous, "{what}"),
        Err(_) => assert!(found == previous || found == call.after, "{what}: {found:?}"),
    }
    // The writer reads the slot, and continues.
    let version = read(slots, "Ada").map(|(_, version)| version);
    if result.is_err() && call.name != "get and list" {
        let next = SlotStore::put_if(slots, "Ada", version.as_ref(), &save(9));
        // An earlier request may still be in flight, and win over this one.
        assert!(next.is_ok() || next.is_err_and(|e| e.kind() == ErrorKind::Conflict), "{what}");
    }
}

#[test]
fn no_fault_loses_what_was_acknowledged() {
    let lasting = [Fault::DropRequest, Fault::DropAnswer, Fault::Error500, Fault::Error412];
    matrix(Server::client, &Fault::ALL, &lasting);
}

/// A client that retries by itself gets status 412 if its first request succeeded and the answer was lost.
#[test]
fn no_fault_loses_what_a_client_that_tries_again_acknowledged() {
    let faults = [Fault::DropAnswer, Fault::Error500Late, Fault::Reorder];
    matrix(Server::patient_client, &faults, &[]);
}

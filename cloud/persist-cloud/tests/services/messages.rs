//! Snapshots of every error message of this crate.

use std::sync::Arc;
use std::time::Duration;

use object_store::ObjectStoreExt;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::throttle::{ThrottleConfig, ThrottledStore};
use persist::storage::SlotVersion;
use persist::{Error, Limits, Result};
use persist_cloud::{Cloud, CloudOptions, CloudSlots};
use tokio_postgres::NoTls;

use crate::block_on;
use crate::memory::slots_on;
use crate::postgres_server::Server;
use crate::proxy::Proxy;
use crate::s3_server;
use crate::slot_store::save;

#[path = "../../../../tests/documents/messages/table.rs"]
#[allow(dead_code, reason = "it is of another workspace")]
mod table;

use table::Table;

const ONCE: CloudOptions = CloudOptions::new().attempts(1);

/// Creates slots in memory, with a save and its backup.
fn two_saves(options: CloudOptions) -> (Arc<InMemory>, CloudSlots, [SlotVersion; 2]) {
    let store = Arc::new(InMemory::new());
    let cloud = Cloud::object_store(Arc::clone(&store) as Arc<_>, "game", options).unwrap();
    let slots = cloud.player("7").unwrap();
    let first = slots.put_if("Ada", None, save(1)).wait().unwrap();
    let second = slots.put_if("Ada", Some(&first), save(2)).wait().unwrap();
    (store, slots, [first, second])
}

fn put(store: &InMemory, at: &Path, bytes: &[u8]) {
    block_on(store.put(at, bytes.to_vec().into())).unwrap();
}

/// Returns the path of the object of the current save.
fn save_of(store: &InMemory) -> Path {
    let pointer = block_on(async { store.get(&pointer()).await.unwrap().bytes().await }).unwrap();
    let pointer = std::str::from_utf8(&pointer).unwrap();
    let line = pointer.lines().nth(2).unwrap();
    Path::from("game/7/saves/Ada").join(line.split_once(' ').unwrap().1)
}

/// Replaces the name of the object, which is random, in the error message.
fn without_name<T>(result: Result<T>, object: &Path) -> Result<T> {
    result.map_err(|error| {
        let message = error.message().replace(object.filename().unwrap(), "<object>");
        Error::new(error.kind(), message)
    })
}

fn pointer() -> Path {
    Path::from("game/7/slots/Ada")
}

#[test]
fn writers_that_are_late() {
    let mut table = Table::new();
    let (_, slots, [first, _]) = two_saves(ONCE);
    table.add("put after another", slots.put_if("Ada", Some(&first), save(3)).wait());
    table.add("create what is there", slots.put_if("Ada", None, save(3)).wait());
    table.add("replace what is not there", slots.put_if("Bob", Some(&first), save(3)).wait());
    table.add("delete an old version", slots.delete("Ada", &first).wait());
    insta::assert_snapshot!(table.text());
}

#[test]
fn objects_that_were_changed_by_others() {
    let mut table = Table::new();
    let (store, slots, [first, _]) = two_saves(ONCE);
    let at = save_of(&store);
    let mut row = |what: &str| table.add(what, without_name(slots.get("Ada").wait(), &at));
    put(&store, &at, &save(3));
    row("another save");
    put(&store, &at, b"");
    row("no bytes");
    block_on(store.delete(&at)).unwrap();
    row("no object");
    put(&store, &pointer(), b"persist slot 1\n");
    row("a pointer that is cut short");
    put(&store, &pointer(), &[b'x'; 200_000]);
    row("a pointer that is too long");
    table.add("put over it", slots.put_if("Ada", Some(&first), save(4)).wait());
    insta::assert_snapshot!(table.text());
}

#[test]
fn limits_of_services() {
    let mut table = Table::new();
    let limits = Limits::new().bytes(50);
    let (store, _, _) = two_saves(ONCE);
    let small = ONCE.limits(limits);
    let cloud = Cloud::object_store(Arc::clone(&store) as Arc<_>, "game", small).unwrap();
    let result = cloud.player("7").unwrap().get("Ada").wait();
    table.add("get a save beyond the limit", without_name(result, &save_of(&store)));
    if let Some(server) = Server::shared() {
        let cloud = |options| Cloud::postgres(Server::config(server.port()), NoTls, options);
        let slots = |options| cloud(options).unwrap().player("limits").unwrap();
        slots(ONCE).put_if("Ada", None, save(1)).wait().unwrap();
        table.add("get it from a database", slots(small).get("Ada").wait());
        insta::assert_snapshot!(table.text());
    }
}

#[test]
fn services_that_cannot_be_used_or_do_not_answer() {
    let mut table = Table::new();
    let server = s3_server::Server::start();
    let slots = slots_on(server.client_without_conditions(&Proxy::default()), ONCE);
    table.add("a store that replaces on no condition", slots.put_if("Ada", None, save(1)).wait());

    let wait = Duration::from_secs(60);
    let config = ThrottleConfig { wait_get_per_call: wait, ..ThrottleConfig::default() };
    let options = ONCE.deadline(Duration::from_millis(50));
    let slow = slots_on(ThrottledStore::new(InMemory::new(), config), options);
    table.add("a store that is too slow", slow.get("Ada").wait());

    let (store, _, _) = two_saves(ONCE);
    put(&store, &pointer(), b"");
    let options = ONCE.attempts(90).deadline(Duration::from_millis(50));
    let cloud = Cloud::object_store(store, "game", options).unwrap();
    table.add("one that fails until it is late", cloud.player("7").unwrap().get("Ada").wait());

    let config = "host=127.0.0.1 port=1 user=nobody dbname=nothing".parse().unwrap();
    let database = Cloud::postgres(config, NoTls, ONCE).unwrap();
    table.add("a database that is not there", database.player("7").unwrap().get("Ada").wait());
    table.add("a player that has no name", database.player(""));
    insta::assert_snapshot!(table.text());
}

#[test]
fn requests_that_are_awaited_twice() {
    let mut table = Table::new();
    let (_, slots, _) = two_saves(ONCE);
    let mut refused = slots.get("../Ada");
    table.add("a name that leads elsewhere", block_on(&mut refused));
    table.add("again", block_on(refused));
    insta::assert_snapshot!(table.text());
}

#[test]
fn databases_that_were_changed_by_others() {
    let Some(server) = Server::shared() else { return };
    let mut table = Table::new();
    let cloud = Cloud::postgres(Server::config(server.port()), NoTls, ONCE).unwrap();
    let slots = cloud.player("changed").unwrap();
    let first = slots.put_if("Ada", None, save(1)).wait().unwrap();
    let mut change = |what: &str, set: &str| {
        server.execute(&format!("UPDATE persist_saves SET {set} WHERE player = 'changed'"));
        table.add(what, slots.get("Ada").wait());
    };
    change("another save", r"save = '\x00'");
    change("no save", "save = NULL");
    change("a large object that is not there", "large = 1");
    change("a version that is none", "version = 'x'");
    table.add("put over it", slots.put_if("Ada", Some(&first), save(2)).wait());
    insta::assert_snapshot!(table.text());
}

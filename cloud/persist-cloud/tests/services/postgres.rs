//! Tests on a server of PostgreSQL on this machine.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use persist::save::SlotInfo;
use persist::storage::{SlotStore, SlotVersion};
use persist::{ErrorKind, Persist, Result, Saves};
use persist_cloud::{Cloud, CloudOptions, CloudSlots};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio_postgres::NoTls;

use crate::postgres_server::Server;
use crate::slot_store::{self, Store, read, save};

fn cloud(port: u16, options: CloudOptions) -> Cloud {
    Cloud::postgres(Server::config(port), NoTls, options).unwrap()
}

/// Returns the slots of a player with a unique id.
fn new_player(cloud: &Cloud) -> CloudSlots {
    cloud.player(&new_id()).unwrap()
}

fn new_id() -> String {
    static PLAYERS: AtomicU32 = AtomicU32::new(0);
    format!("player {}", PLAYERS.fetch_add(1, Ordering::Relaxed))
}

#[test]
fn postgres_meets_the_contract_of_slot_stores() {
    let Some(server) = Server::shared() else { return };
    for backups in [0, 2] {
        let cloud = cloud(server.port(), CloudOptions::new().backups(backups));
        let empty = || -> Store { Arc::new(new_player(&cloud)) };
        slot_store::check(&empty);
        slot_store::no_writer_overwrites_another(&empty(), 8, 10);
        slot_store::a_large_save_comes_back_byte_for_byte(&*empty(), 9 << 20);
    }
}

#[test]
fn old_rows_and_large_objects_are_removed() {
    let Some(server) = Server::shared() else { return };
    for size in [100, 9 << 20] {
        let cloud = cloud(server.port(), CloudOptions::new().backups(2));
        let slots = cloud.player(&format!("rows {size}")).unwrap();
        let numbered = |number: u8| persist::to_vec(&vec![number; size]).unwrap();
        let count = |what: &str| {
            let of = format!("FROM persist_saves WHERE player = 'rows {size}'");
            server.query(&format!("SELECT count({what}) {of}"))[0].parse::<u32>().unwrap()
        };
        let mut versions: Vec<SlotVersion> = Vec::new();
        let puts = if size == 100 { 25 } else { 5 };
        for number in 0..puts {
            versions.push(slots.put_if("Ada", versions.last(), numbered(number)).wait().unwrap());
        }
        let current = versions.pop().unwrap();
        versions.reverse();
        assert_eq!(slots.backups("Ada").wait().unwrap(), versions[..2]);
        for (version, number) in versions.iter().zip((0..puts - 1).rev()).take(3) {
            let backup = slots.get_backup("Ada", version).wait().unwrap();
            assert_eq!(backup, (number + 3 >= puts).then(|| numbered(number)));
        }
        assert_eq!(count("save") + count("large"), 3);
        assert_eq!(count("*"), u32::from(puts).min(16));
        slots.delete("Ada", &current).wait().unwrap();
        assert_eq!(count("save") + count("large"), 0);
        let orphans = "SELECT count(*) FROM pg_largeobject_metadata WHERE oid NOT IN \
            (SELECT large FROM persist_saves WHERE large IS NOT NULL)";
        assert_eq!(server.query(orphans), ["0"]);
    }
}

#[derive(Persist)]
struct Shown {
    chapter: String,
    deaths: u32,
}

#[test]
fn headers_are_columns() {
    let Some(server) = Server::shared() else { return };
    let slots = cloud(server.port(), CloudOptions::new()).player("columns").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("game.sav");
    let saves = Saves::new().application("Quest", "1.0").unwrap().device("deck").unwrap();
    let shown = Shown { chapter: "The \"Mill\"".into(), deaths: 3 };
    let info = SlotInfo::new("Act 1").play_time(Duration::from_secs(90)).thumbnail([7, 7]);
    saves.file(&path).info(info.value(&shown).unwrap()).save(&1_u32).unwrap();
    slots.put_if("Ada", None, std::fs::read(path).unwrap()).wait().unwrap();
    // Texts with NUL, which PostgreSQL cannot store, are only in the save.
    let remote = saves.application("a\0b", "1\0").unwrap().store(Arc::new(slots.clone()));
    remote.slot("zero").info(SlotInfo::new("a\0b")).save(&1_u32).unwrap();
    slots.put_if("none", None, save(1)).wait().unwrap();
    let column = |what: &str, slot: &str| {
        let of = format!("FROM persist_saves WHERE player = 'columns' AND slot = '{slot}'");
        server.query(&format!("SELECT {what} {of}")).remove(0)
    };
    assert_eq!(
        column("generation || ' ' || application || ' ' || application_version", "Ada"),
        "1 Quest 1.0"
    );
    assert_eq!(column("devices", "Ada"), r#"{"deck": 1}"#);
    let metadata = "metadata - 'saved_at'";
    assert_eq!(
        column(metadata, "Ada"),
        r#"{"title": "Act 1", "value": {"deaths": 3, "chapter": "The \"Mill\""}, "play_time": 90.0}"#
    );
    assert_eq!(
        column("abs(extract(epoch FROM now()) - (metadata->>'saved_at')::float) < 3600", "Ada"),
        "t"
    );
    for what in ["metadata", "application", "application_version"] {
        assert_eq!(column(what, "zero"), "NULL", "{what}");
    }
    assert_eq!(column("metadata", "none"), "NULL");
    assert_eq!(slots.list().wait().unwrap().len(), 3);
}

#[test]
fn what_was_acknowledged_outlives_a_crash_of_the_server() {
    // A separate server: the crash would disturb other tests.
    let Some(server) = Server::start() else { return };
    let options = CloudOptions::new().attempts(10);
    let slots = cloud(server.port(), options).player("7").unwrap();
    let mut version = None;
    for number in 0..20 {
        version = Some(slots.put_if("Ada", version.as_ref(), save(number)).wait().unwrap());
        if number % 7 == 6 {
            server.crash();
            assert_eq!(read(&slots, "Ada"), Some((number, version.unwrap())));
        }
    }
}

/// Partitions the table as the README shows.
#[test]
fn a_partitioned_table_meets_the_contract_of_slot_stores() {
    let Some(server) = Server::start() else { return };
    let whole = "PRIMARY KEY (player, slot, number)\n)";
    assert!(persist_cloud::POSTGRES_TABLE.contains(whole));
    let in_parts = format!("{whole} PARTITION BY HASH (player)");
    server.execute("DROP TABLE persist_saves");
    server.execute(&persist_cloud::POSTGRES_TABLE.replace(whole, &in_parts));
    for part in 0..4 {
        server.execute(&format!(
            "CREATE TABLE persist_saves_{part} PARTITION OF persist_saves \
            FOR VALUES WITH (MODULUS 4, REMAINDER {part})"
        ));
    }
    let cloud = cloud(server.port(), CloudOptions::new());
    slot_store::check(&|| Arc::new(new_player(&cloud)));
    let parts = "SELECT count(DISTINCT tableoid) FROM persist_saves";
    assert_ne!(server.query(parts), ["1"]);
    let storage = "SELECT attstorage FROM pg_attribute WHERE attname = 'save' \
        AND attrelid = 'persist_saves_0'::regclass";
    assert_eq!(server.query(storage), ["e"]);
}

#[test]
fn a_database_without_the_table_says_so() {
    let Some(server) = Server::start() else { return };
    server.execute("DROP TABLE persist_saves");
    let slots = cloud(server.port(), CloudOptions::new()).player("7").unwrap();
    let error = slots.get("Ada").wait().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io);
    let said = "cannot read from the database: ERROR: relation \"persist_saves\" does not exist";
    assert_eq!(error.message(), said);
}

/// A fault that the proxy injects into the bytes of one read.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    /// The bytes are lost, and the connection is closed.
    Drop,
    /// Half of the bytes arrive, then the connection is closed.
    Truncate,
    /// The bytes arrive late.
    Delay,
    /// The bytes arrive, then the connection is closed: the answer is lost.
    Close,
}

/// Forwards connections, and injects a fault into the read with a given number.
async fn forward(listener: TcpListener, server: u16, number: Arc<AtomicU32>, fault: Fault) {
    loop {
        let Ok((client, _)) = listener.accept().await else { return };
        let Ok(server) = TcpStream::connect(("127.0.0.1", server)).await else { return };
        let (from_client, to_client) = client.into_split();
        let (from_server, to_server) = server.into_split();
        let number = Arc::clone(&number);
        tokio::spawn(async move {
            // When one direction ends, both are dropped, which closes the connection.
            tokio::select! {
                () = pump(from_client, to_server, &number, fault) => {}
                () = pump(from_server, to_client, &number, fault) => {}
            }
        });
    }
}

async fn pump(
    mut from: tokio::net::tcp::OwnedReadHalf,
    mut to: tokio::net::tcp::OwnedWriteHalf,
    left: &AtomicU32,
    fault: Fault,
) {
    let mut bytes = vec![0; 64 << 10];
    while let Ok(length @ 1..) = from.read(&mut bytes).await {
        // The count is 1 before the chosen read. It continues below 0 after it.
        let is_chosen = left.fetch_sub(1, Ordering::SeqCst) == 1;
        let length = match fault {
            Fault::Drop if is_chosen => return,
            Fault::Truncate if is_chosen => length / 2,
            _ => length,
        };
        if is_chosen && fault == Fault::Delay {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        let is_sent = to.write_all(&bytes[..length]).await.is_ok();
        if !is_sent || is_chosen && [Fault::Truncate, Fault::Close].contains(&fault) {
            return;
        }
    }
}

/// Tests every fault at every network read of a call, in both directions.
#[test]
fn no_fault_of_the_network_loses_what_the_database_acknowledged() {
    let Some(server) = Server::shared() else { return };
    thread::scope(|scope| {
        for fault in [Fault::Drop, Fault::Truncate, Fault::Delay, Fault::Close] {
            scope.spawn(move || {
                for call in ["create", "replace", "delete"] {
                    let mut number = 1;
                    while comes_to(server, call, fault, number) {
                        number += 1;
                    }
                    assert!(number > 8, "{call} takes {number} reads");
                }
            });
        }
    });
}

/// Makes a call with a fault at one read; returns false if the call has fewer reads.
fn comes_to(server: &Server, call: &str, fault: Fault, number: u32) -> bool {
    let player = new_id();
    let slots = cloud(server.port(), CloudOptions::new()).player(&player).unwrap();
    let first = (call != "create").then(|| slots.put_if("Ada", None, save(1)).wait().unwrap());
    let left = Arc::new(AtomicU32::new(number));
    let runtime = Runtime::new().unwrap();
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
    let port = listener.local_addr().unwrap().port();
    runtime.spawn(forward(listener, server.port(), Arc::clone(&left), fault));
    let through = cloud(port, CloudOptions::new()).player(&player).unwrap();
    let result: Result<()> = match call {
        "delete" => through.delete("Ada", &first.unwrap()).wait(),
        _ => through.put_if("Ada", first.as_ref(), save(2)).wait().map(drop),
    };
    let what = format!("{call}, {fault:?} at {number}: {result:?}");
    assert!(result.is_ok(), "{what}");
    let found = read(&slots, "Ada").map(|(number, _)| number);
    assert_eq!(found, (call != "delete").then_some(2), "{what}");
    // The count is 0 or less if the read with the fault happened.
    !(1..=number).contains(&left.load(Ordering::SeqCst))
}

/// A transaction that a killed client has left open does not block others.
#[test]
fn a_client_that_is_killed_in_a_write_leaves_the_old_save() {
    let Some(server) = Server::shared() else { return };
    let cloud = cloud(server.port(), CloudOptions::new());
    let slots = new_player(&cloud);
    let first = slots.put_if("Ada", None, save(1)).wait().unwrap();
    for pause in [0, 1, 2, 5, 10, 20] {
        let request = slots.put_if("Ada", Some(&first), save(2));
        thread::sleep(Duration::from_millis(pause));
        drop(request);
        let (number, version) = read(&slots, "Ada").unwrap();
        if number == 2 {
            slots.put_if("Ada", Some(&version), save(1)).wait().unwrap();
        }
    }
    let version = read(&slots, "Ada").unwrap().1;
    let store: &dyn SlotStore = &slots;
    let last = store.put_if("Ada", Some(&version), &save(3));
    // The last cancelled write may have succeeded meanwhile.
    assert!(last.is_ok() || last.is_err_and(|error| error.kind() == ErrorKind::Conflict));
}

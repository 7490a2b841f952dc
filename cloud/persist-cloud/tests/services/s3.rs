//! Tests on a server of S3 on this machine.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use persist::ErrorKind;
use persist::storage::SlotStore;
use persist_cloud::{Cloud, CloudOptions};

use crate::memory::slots_on;
use crate::proxy::Proxy;
use crate::s3_server::Server;
use crate::slot_store::{self, Store, save};

#[test]
fn s3_meets_the_contract_of_slot_stores() {
    let server = Server::start();
    let proxy = Proxy::default();
    let store = Arc::new(server.patient_client(&proxy));
    let cloud = Cloud::object_store(store, "game", CloudOptions::new()).unwrap();
    let player = AtomicU32::new(0);
    let empty = || -> Store {
        let number = player.fetch_add(1, Ordering::Relaxed);
        Arc::new(cloud.player(&number.to_string()).unwrap())
    };
    slot_store::check(&empty);
    slot_store::no_writer_overwrites_another(&empty(), 8, 10);
    slot_store::a_large_save_comes_back_byte_for_byte(&*empty(), 9 << 20);
}

#[test]
fn two_programs_do_not_overwrite_each_other() {
    let server = Server::start();
    let [one, other] =
        [0, 1].map(|_| slots_on(server.client(&Proxy::default()), CloudOptions::new()));
    let first = one.put_if("Ada", None, save(1)).wait().unwrap();
    other.put_if("Ada", Some(&first), save(2)).wait().unwrap();
    let error = one.put_if("Ada", Some(&first), save(3)).wait().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
}

#[test]
fn a_store_without_conditional_puts_is_refused() {
    let server = Server::start();
    let client = server.client_without_conditions(&Proxy::default());
    let store = slots_on(client, CloudOptions::new());
    let error = SlotStore::put_if(&store, "Ada", None, &save(1)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
}

//! Tests the contract of slot stores on running services, with every fault of a network.

#![allow(clippy::unwrap_used, clippy::cast_possible_truncation, reason = "these are tests")]

mod faults;
mod memory;
mod messages;
mod postgres;
mod postgres_server;
mod proxy;
mod requests;
mod s3;
mod s3_server;
mod s3_service;
/// The contract tests of slot stores, which folders pass as well.
#[path = "../../../../tests/support/slot_store.rs"]
#[allow(
    missing_docs,
    unreachable_pub,
    clippy::missing_panics_doc,
    reason = "it is of another workspace"
)]
mod slot_store;
mod sweep;
mod sync;
mod values;

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

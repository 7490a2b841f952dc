//! Saves of many players, in services that are reached from anywhere.
//!
//! A folder is enough for one machine. When many servers save for many players, the saves belong into a service that
//! keeps copies of them, and replaces one only for a writer that has seen it. `Cloud` is such a place: an object store
//! (`Cloud::object_store`, feature `object-store`), or a database (`Cloud::postgres`, feature `postgres`).
//!
//! ```
//! use std::sync::Arc;
//!
//! use persist::ErrorKind;
//! use persist_cloud::{Cloud, CloudOptions};
//!
//! # #[cfg(feature = "object-store")] {
//! // In a program: S3, Google Cloud Storage, Azure, and what else speaks S3.
//! let store = Arc::new(object_store::memory::InMemory::new());
//! let cloud = Cloud::object_store(store, "game", CloudOptions::new())?;
//!
//! let slots = cloud.player("player-7")?;
//! let first = slots.put_if("Ada", None, persist::to_vec(&1_u32)?).wait()?; // or `.await?`
//!
//! // Two servers continue the first save. Only one of them can replace it.
//! slots.put_if("Ada", Some(&first), persist::to_vec(&2_u32)?).wait()?;
//! let late = slots.put_if("Ada", Some(&first), persist::to_vec(&3_u32)?).wait().unwrap_err();
//! assert_eq!(late.kind(), ErrorKind::Conflict);
//!
//! let (save, _version) = slots.get("Ada").wait()?.unwrap();
//! assert_eq!(persist::from_slice::<u32>(&save)?, 2);
//! # }
//! # Ok::<(), persist::Error>(())
//! ```
//!
//! `CloudSlots` implements [`SlotStore`](persist::storage::SlotStore), too: code that takes a `&dyn SlotStore` runs on
//! a folder in development and on a service in production. [`Saves::store`](persist::Saves::store) saves values there as
//! in a folder: `Saves::new().store(Arc::new(slots)).slot("main").save(&game)?`.
//!
//! # Blocking and async
//!
//! A call checks the save on the thread of the caller, and returns a `Request`. Input and output run on a thread of
//! the `Cloud`. A `Request` is a future for any executor; `Request::wait` blocks. A request that is dropped is
//! cancelled. `CloudSlots::save` and `CloudSlots::load` are for values that are saved and loaded by an async server.
//!
//! Requests that fail for a moment are tried again, after random pauses that grow. After `CloudOptions::deadline` a
//! request is an error. A write may have happened then: `CloudSlots::get` shows it.
//!
//! # Which services
//!
//! The service must replace on a condition. As of `object_store` 0.14:
//!
//! | service | conditional write | durable when `Ok` |
//! | --- | --- | --- |
//! | S3, R2, MinIO | ETag by `If-Match`: the default `S3ConditionalPut::ETagMatch` | in several places |
//! | Google Cloud Storage, Azure | by generation, by ETag | in several places |
//! | `InMemory` | yes | no, it is for tests |
//! | `LocalFileSystem` | creates only: refused, use [`SlotFolder`](persist::storage::SlotFolder) | |
//! | `HttpStore` | no: refused | |
//! | PostgreSQL | in a transaction | on its disk, and on standbys as it is configured |

#![forbid(unsafe_code)]

#[cfg(any(feature = "object-store", feature = "postgres"))]
mod cloud;
#[cfg(feature = "postgres")]
mod database;
#[cfg(any(feature = "object-store", feature = "postgres"))]
mod engine;
#[cfg(any(feature = "object-store", feature = "postgres"))]
mod failure;
#[cfg(feature = "postgres")]
mod json;
#[cfg(feature = "object-store")]
mod objects;
#[cfg(feature = "object-store")]
mod pointer;
#[cfg(any(feature = "object-store", feature = "postgres"))]
mod request;
#[cfg(any(feature = "object-store", feature = "postgres"))]
mod sync;

#[cfg(any(feature = "object-store", feature = "postgres"))]
pub use cloud::{Cloud, CloudOptions, CloudSlots, Swept};
#[cfg(any(feature = "object-store", feature = "postgres"))]
pub use request::Request;
#[cfg(any(feature = "object-store", feature = "postgres"))]
pub use sync::{Resolution, Sides, Synced};

/// The table of saves in PostgreSQL, as the statements that make it; feature `postgres`.
///
/// Run them once, as `migrations/1-saves.sql` of this crate or by a client. The README says how to partition the table.
#[cfg(feature = "postgres")]
pub const POSTGRES_TABLE: &str = include_str!("../migrations/1-saves.sql");

/// The page of the guide, whose code is tested.
#[cfg(all(doctest, feature = "object-store", feature = "postgres"))]
#[doc = include_str!("../../../docs/guide/14-when-one-machine-is-not-enough.md")]
mod guide {}

/// The README, whose code is compiled.
#[cfg(all(doctest, feature = "object-store", feature = "postgres"))]
#[doc = include_str!("../README.md")]
mod readme {}

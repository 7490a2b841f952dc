//! Stores the saves of many players in an object store or in PostgreSQL.
//!
//! A folder is enough for one machine. When many servers save for many players, the saves belong in a service that
//! replicates them, and that replaces a save only for a writer that has read it. A `Cloud` connects to such a service:
//! an object store (`Cloud::object_store`, feature `object-store`) or a database (`Cloud::postgres`, feature
//! `postgres`).
//!
//! ```
//! use std::sync::Arc;
//!
//! use persist::ErrorKind;
//! use persist_cloud::{Cloud, CloudOptions};
//!
//! # #[cfg(feature = "object-store")] {
//! // In a program: S3, Google Cloud Storage, Azure, or any other service with the S3 protocol.
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
//! `CloudSlots` also implements [`SlotStore`](persist::storage::SlotStore). Code that takes a `&dyn SlotStore` runs on
//! a folder in development and on a service in production. [`Saves::store`](persist::Saves::store) saves values to a
//! service as it does to a folder: `Saves::new().store(Arc::new(slots)).slot("main").save(&game)?`.
//!
//! # Blocking and async
//!
//! A call checks the save on the caller's thread and returns a `Request`. Input and output run on a thread of the
//! `Cloud`. A `Request` is a future for any executor; `Request::wait` blocks. Dropping a request cancels it. An async
//! server saves and loads values with `CloudSlots::save` and `CloudSlots::load`.
//!
//! Transient failures are retried with random, exponentially growing pauses. A request returns an error after
//! `CloudOptions::deadline`. The write may have happened nevertheless: `CloudSlots::get` shows whether it has.
//!
//! # Which services
//!
//! The service must support conditional writes. As of `object_store` 0.14:
//!
//! | service | conditional write | durable when `Ok` |
//! | --- | --- | --- |
//! | S3, R2, MinIO | ETag by `If-Match`: the default `S3ConditionalPut::ETagMatch` | in several places |
//! | Google Cloud Storage, Azure | by generation, by ETag | in several places |
//! | `InMemory` | yes | no, for tests only |
//! | `LocalFileSystem` | only creates: refused, use [`SlotFolder`](persist::storage::SlotFolder) | |
//! | `HttpStore` | no: refused | |
//! | PostgreSQL | in a transaction | on its disk, and on the standbys that its configuration names |

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

/// The SQL statements that create the table of saves in PostgreSQL; feature `postgres`.
///
/// Run them once, from a client or as the migration `migrations/1-saves.sql` of this crate. The README shows how to
/// partition the table.
#[cfg(feature = "postgres")]
pub const POSTGRES_TABLE: &str = include_str!("../migrations/1-saves.sql");

/// The page of the guide, included so that its code is tested.
#[cfg(all(doctest, feature = "object-store", feature = "postgres"))]
#[doc = include_str!("../../../docs/guide/14-when-one-machine-is-not-enough.md")]
mod guide {}

/// The README, included so that its code is compiled.
#[cfg(all(doctest, feature = "object-store", feature = "postgres"))]
#[doc = include_str!("../README.md")]
mod readme {}

//! Keeps the state of games, editors and simulations alive.
//!
//! `#[derive(Persist)]` gives a type a table of field records; from that one
//! table come saving and loading, graphs of shared objects, saves that describe
//! themselves, and fields reached by name. In order of importance:
//!
//! 1. No save is lost: not by a crash, not by a changed type, not silently.
//! 2. Any bytes give `Ok` or a typed [`Error`], in safe Rust only.
//! 3. As fast as the fastest codecs that write rows.
//! 4. A small surface: a derive, a manager, a few functions.
//!
//! # Example
//!
//! ```
//! use std::cell::RefCell;
//! use std::rc::Rc;
//!
//! use persist::{Persist, SaveManager};
//!
//! #[derive(Persist)]
//! struct Hero {
//!     name: String,
//!     #[persist(default = 1)]
//!     level: u32,
//!     friends: Vec<Rc<RefCell<Hero>>>,
//! }
//!
//! # let folder = tempfile::tempdir().unwrap();
//! # let path = folder.path().join("slot1.sav");
//! let ada = Rc::new(RefCell::new(Hero { name: "Ada".into(), level: 3, friends: vec![] }));
//! let bob = Rc::new(RefCell::new(Hero { name: "Bob".into(), level: 2, friends: vec![ada.clone()] }));
//! ada.borrow_mut().friends.push(bob);
//!
//! let mut saves = SaveManager::new();
//! saves.add(&ada)?;
//! saves.save(&path)?;
//!
//! // Another run of the program begins with the classes that it knows.
//! let mut saves = SaveManager::new();
//! saves.register::<Hero>()?;
//! let loaded = saves.load(&path)?;
//! let ada = loaded.first::<Hero>()?;
//! let bob = ada.borrow().friends[0].clone();
//! assert_eq!(bob.borrow().name, "Bob");
//! assert!(Rc::ptr_eq(&bob.borrow().friends[0], &ada));
//! # ada.borrow_mut().friends.clear();
//! # Ok::<(), persist::Error>(())
//! ```
//!
//! # The rooms
//!
//! Each uses only those below it.
//!
//! | | |
//! | --- | --- |
//! | [`lock`] | the schemas of released versions, and whether their saves still load |
//! | `history` | [`History`], [`Edit`], [`Command`]: undo, redo and the journal |
//! | `save` | [`SaveManager`], [`Slot`], [`Loaded`], [`LoadReport`], [`Document`], and [`save()`], [`load`] for one value |
//! | `world` | [`World`], [`Component`], [`Query`]: objects made of components |
//! | [`storage`] | files that are replaced whole, their backups, damaged ones |
//! | `graph` | ids, references, the saver's work list, the loader's passes, the [`Registry`] |
//! | `format` | the file: header, definitions, records, trailer |
//! | `schema` | the schema of a save against that of the program |
//! | `types` | the standard library's types, [`Handle`] and [`Remap`] |
//! | [`codec`] | values to bytes and back: [`Persist`], [`Reflect`] |
//! | [`reflect`] | what a type looks like: [`Kind`], [`FieldRecord`], [`Class`] |
//! | `value` | data without its type: [`Value`], [`Record`] |
//!
//! The bytes are described in `docs/format.md`, the reasons in `docs/design.md`.
//!
//! # Features
//!
//! None is on by default.
//!
//! | feature | adds |
//! | --- | --- |
//! | `directories` | `slots_folder`: the folder where the system keeps the saves of a program |
//! | `lz4` | `Compression::Lz4`: smaller saves, in safe Rust |
//! | `zstd` | `Compression::Zstd`: smaller still; compiles a C library, which needs a C compiler |
//! | `serde` | `Serialize` and `Deserialize` for [`Value`], [`Record`], [`HandleValue`] and [`ObjectId`] |

#![forbid(unsafe_code)]
// docs.rs shows which items need a feature.
#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod codec;
mod error;
mod format;
mod graph;
mod history;
mod limits;
pub mod lock;
mod object_id;
mod options;
pub mod reflect;
mod save;
mod schema;
pub mod storage;
mod types;
mod value;
mod world;

pub use codec::{Persist, Pointee, Reflect, Unknown};
pub use error::{Error, ErrorKind, Result};
pub use format::{Compression, FORMAT_VERSION, Header, Lineage};
pub use graph::{Counted, Registry};
pub use history::{
    Command, CommandContext, Edit, End, Flush, History, HistoryEntry, HistoryEvent, JournalInfo,
    Label, Merge, OnMissing, Poison, Proof, Recovered, Session, SessionOptions, Stopped,
    Subscription, Torn, Transaction, Verb,
};
pub use limits::Limits;
pub use object_id::ObjectId;
pub use options::{LoadOptions, LoadPolicy};
pub use persist_derive::{Persist, dynamic};
pub use reflect::{Class, ClassId, FieldRecord, Kind};
#[cfg(feature = "directories")]
pub use save::slots_folder;
pub use save::{
    BackgroundSave, Comparison, Document, Entry, Finding, Health, Keep, LoadReport, Loaded,
    Progress, Salvage, SaveManager, SaveOutcome, Slot, Slots, dump, from_slice, load, save,
    save_mut, to_vec, to_vec_mut,
};
pub use schema::Change;
pub use types::{Arena, Handle, Missing, Remap};
pub use value::{HandleValue, Record, Value};
pub use world::{
    Activity, Component, ComponentId, Context, FieldPath, IntoFieldPath, Outside, Prefab, Query,
    QueryIter, Reference, SharedQuery, World,
};

/// What the derive's code calls; not for programs.
#[doc(hidden)]
pub mod __private {
    pub use crate::__dynamic;
    pub use crate::codec::index::{Nth, short};
    pub use crate::codec::row::{Part, Row, checked, decode_row, encode_row, reach};
    pub use crate::codec::{
        ArcTo, AsTrait, AsValue, Content, Conversion, Decoder, Dynamic, Encoder, Fail, FieldAccess,
        FieldNames, FieldStep, Implements, Outcome, Persist, Phase, Pointee, Portable, Prototypes,
        RcTo, Reflect, StandIn, Stop, TraitObject, TypeSet, Visitor, kind_of_class, replaced,
        restored,
    };
    pub use crate::error::Error;
    pub use crate::reflect::{
        Argument, Body, Class, FieldRecord, Kind, Migration, Prototype, VariantRecord,
    };
    pub use crate::world::{Identifier, TypedPath};
    pub use persist_derive::__at_one_place as at_one_place;
    pub use std;
    pub use std::any::Any;
    pub use std::default::Default;
    pub use std::mem::{offset_of, swap};
    pub use std::option::Option;
    pub use std::primitive::{bool, str, u8, u16, usize};
    pub use std::result::Result;
    pub use std::string::String;
}

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
//! # Modules
//!
//! The root has what most programs write; the rest is in the module it belongs to.
//!
//! | | |
//! | --- | --- |
//! | [`save`](mod@save) | saving and loading: reports, slots, backups, salvage, the registry of classes |
//! | [`world`] | objects made of components, with names, a tree and a life cycle |
//! | [`history`] | undo, redo, and the journal from which a crashed program recovers |
//! | [`lock`] | the schemas of released versions, and whether their saves still load |
//! | [`storage`] | where files live, and how to replace the file system |
//! | [`codec`] | one value to bytes and back, and what an `impl Persist` by hand needs |
//! | [`reflect`] | the tables of a type: classes, field records, kinds |
//!
//! The bytes are described in `docs/reference/format.md`, the reasons in `docs/internals/design.md`.
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
//! | `serde` | `Serialize` and `Deserialize` for [`Value`], [`Record`], [`HandleValue`](reflect::HandleValue) and [`ObjectId`] |

#![forbid(unsafe_code)]
// docs.rs shows which items need a feature.
#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod codec;
mod error;
mod format;
mod graph;
pub mod history;
mod limits;
pub mod lock;
mod object_id;
mod options;
pub mod reflect;
pub mod save;
mod schema;
pub mod storage;
mod types;
mod value;
pub mod world;

pub use error::{Error, ErrorKind, Result};
pub use limits::Limits;
pub use object_id::ObjectId;
pub use options::LoadOptions;
pub use persist_derive::{Persist, dynamic};
pub use types::{Arena, Handle};
pub use value::{Record, Value};

#[doc(inline)]
pub use codec::Persist;
#[doc(inline)]
pub use codec::dynamic::Unknown;
#[doc(inline)]
pub use history::{Command, History, Session};
#[doc(inline)]
pub use save::{Document, Loaded, SaveManager, from_slice, load, save, to_vec};
#[doc(inline)]
pub use storage::commit::SaveOptions;
#[doc(inline)]
pub use world::{Component, Context, FieldPath, Reference, World};

/// What the derive's code calls; not for programs.
#[doc(hidden)]
pub mod __private {
    pub use crate::__dynamic;
    pub use crate::codec::content::Content;
    pub use crate::codec::convert::{Conversion, convert};
    pub use crate::codec::decoder::restored;
    pub use crate::codec::dynamic::{
        ArcTo, AsTrait, Dynamic, Implements, Portable, RcTo, StandIn, TraitObject,
    };
    pub use crate::codec::field::{FieldAccess, replaced};
    pub use crate::codec::field_names::{FieldNames, FieldStep};
    pub use crate::codec::index::{Nth, short};
    pub use crate::codec::persist::kind_of_class;
    pub use crate::codec::row::{Part, Row, checked, decode_row, encode_row, reach};
    pub use crate::codec::type_set::TypeSet;
    pub use crate::codec::visitor::{Outcome, Phase, Visitor};
    pub use crate::codec::{Decoder, Encoder, Fail, Persist, Pointee, Prototypes, Reflect, Stop};
    pub use crate::error::Error;
    pub use crate::lock::check::{Mode, check, check_file};
    pub use crate::reflect::class::{Argument, Body, Migrate, Migration, Prototype};
    pub use crate::reflect::{Class, FieldRecord, Kind, VariantRecord};
    pub use crate::world::typed_path::{Identifier, TypedPath};
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

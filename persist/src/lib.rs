//! Saves the state of games, editors and simulations, and loads it after a crash and after your types changed.
//!
//! `#[derive(Persist)]` gives a type a table of field records: name, offset, size and kind. Saves, object graphs, old
//! saves, undo, crash recovery and tools that look inside a save all use that one table.
//!
//! # Save and load
//!
//! ```
//! #[derive(persist::Persist)]
//! struct Hero { name: String, level: u32 }
//!
//! # let folder = tempfile::tempdir().unwrap();
//! # let path = folder.path().join("slot1.sav");
//! persist::save(&path, &Hero { name: "Ada".into(), level: 3 })?;
//!
//! let hero: Hero = persist::load(&path)?;
//! assert_eq!((hero.name.as_str(), hero.level), ("Ada", 3));
//! # Ok::<(), persist::Error>(())
//! ```
//!
//! After a crash or a power cut the file is the old save or the new one. [`to_vec`] and [`from_slice`] work in memory.
//! The page [Which call do I need](../../../docs/guide/which-call.md) of the guide has all other calls in four tables.
//!
//! # Slots, settings, background
//!
//! ```
//! # use std::time::Duration;
//! # use persist::{Persist, Saves, save::SlotInfo};
//! # #[derive(Persist)] struct Game { day: u32 }
//! # let temporary = tempfile::tempdir().unwrap();
//! # let (folder, path) = (temporary.path(), temporary.path().join("game.sav"));
//! # let (game, played, png) = (Game { day: 1 }, Duration::from_secs(5400), vec![0x89, b'P', b'N', b'G']);
//! # let info = SlotInfo::new("The Cave");
//! // Values: what most games have.
//! let saves = Saves::new();                                 // Send + Sync + Clone: classes, settings, the worker; clones share them
//! let slots = saves.slots(&folder);                         // borrows nothing mutably; two menus may hold one
//! slots.slot("Ada's farm").info(SlotInfo::new("The Mill").play_time(played).thumbnail(png)).save(&game)?;
//! let saving = slots.auto(3).info(info).save_in_background(&game)?;     // never waits
//! let mut game = slots.slot("Ada's farm").load::<Game>()?;  // Loaded<Game>: Deref, DerefMut, From<Game>; report(), recovery(), info()
//! game.day += 1;
//! slots.slot("Ada's farm").save(&game)?;                    // a Loaded<Game>: unknown content goes with it
//! let plain: Game = game.into_inner();                      // and is given up here, on purpose
//! for slot in slots.list()? { println!("{slot}"); }         // name, title, time, play time, health: a line a player can read
//! saves.file(&path).save(&plain)?;                          // a path has the same handle as a slot
//! # saving.wait()?;
//! # assert_eq!(slots.auto(3).load::<Game>()?.info().title, "The Cave");
//! # assert_eq!(saves.file(&path).load::<Game>()?.day, 2);
//! # Ok::<(), persist::Error>(())
//! ```
//!
//! # Objects
//!
//! ```
//! # use std::{cell::RefCell, rc::Rc};
//! # use persist::{Persist, SaveManager, Saves};
//! # #[derive(Persist)] struct Hero { name: String }
//! # let ada = Rc::new(RefCell::new(Hero { name: "Ada".into() }));
//! # let folder = tempfile::tempdir().unwrap();
//! # let (path, slots) = (folder.path().join("heroes.sav"), Saves::new().slots(folder.path()));
//! // Objects: the manager is a list of objects, one call writes one file.
//! let mut manager = SaveManager::new();                     // or saves.manager(); holds `Rc`s, so it stays on its thread
//! manager.add(&ada)?;
//! manager.save(&path)?;
//! let loaded = manager.load(&path)?;                        // Loaded<SaveManager>: a list again, unknown content in it; first(), iter(), add, save
//! slots.slot("quick").save(&manager)?;
//! # assert_eq!(loaded.first::<Hero>()?.borrow().name, "Ada");
//! # assert_eq!(slots.slot("quick").load::<SaveManager>()?.len(), 1);
//! # Ok::<(), persist::Error>(())
//! ```
//!
//! # A graph with a cycle
//!
//! ```
//! use std::{cell::RefCell, rc::Rc};
//! use persist::{Persist, SaveManager};
//!
//! #[derive(Persist)]
//! struct Person { name: String, friends: Vec<Rc<RefCell<Person>>> }
//!
//! # let folder = tempfile::tempdir().unwrap();
//! # let path = folder.path().join("friends.sav");
//! let ada = Rc::new(RefCell::new(Person { name: "Ada".into(), friends: vec![] }));
//! let bob = Rc::new(RefCell::new(Person { name: "Bob".into(), friends: vec![ada.clone()] }));
//! ada.borrow_mut().friends.push(bob);
//!
//! let mut manager = SaveManager::new();
//! manager.add(&ada)?; // Bob is saved too: Ada points to him
//! manager.save(&path)?;
//!
//! let loaded = manager.load(&path)?; // a new program first calls `manager.register::<Person>()?`
//! let ada = loaded.first::<Person>()?;
//! let bob = ada.borrow().friends[0].clone();
//! assert!(Rc::ptr_eq(&bob.borrow().friends[0], &ada));
//! # loaded.dismantle();
//! # Ok::<(), persist::Error>(())
//! ```
//!
//! # Add a field: old saves load
//!
//! ```
//! mod version_1 {
//!     #[derive(persist::Persist)]
//!     pub struct Hero { pub hp: u16 }
//! }
//!
//! #[derive(persist::Persist)]
//! struct Hero {
//!     #[persist(alias = "hp")] // renamed, and wider
//!     health: u32,
//!     #[persist(default = 1)] // added
//!     level: u32,
//! }
//!
//! let old = persist::to_vec(&version_1::Hero { hp: 20 })?;
//! let hero: Hero = persist::from_slice(&old)?;
//! assert_eq!((hero.health, hero.level), (20, 1));
//! # Ok::<(), persist::Error>(())
//! ```
//!
//! In a test, `assert_lock!` of the crate `persist-tools` reports the changes that lose or break old saves, before you
//! ship them.
//!
//! # Undo and crash recovery
//!
//! With the feature `history`, and `world` for the target of this example:
//!
#![cfg_attr(all(feature = "history", feature = "world"), doc = "```")]
#![cfg_attr(not(all(feature = "history", feature = "world")), doc = "```ignore")]
//! use persist::{History, Saves, Session, World};
//!
//! # let folder = tempfile::tempdir().unwrap();
//! # let (level, journal) = (folder.path().join("a.sav"), folder.path().join("a.journal"));
//! let open = || Session::<World>::with(Saves::new(), History::new(256)).open(&level, &journal);
//!
//! let (mut session, _) = open()?;
//! let door = session.edit("Add door", |edit| edit.spawn("Door"))?;
//! drop(session); // a crash: the edit is in the journal, but was never saved
//!
//! let (mut session, _) = open()?;
//! assert!(session.target().contains(door));
//! session.undo()?; // also works on edits from before the crash
//! session.save()?;
//! # Ok::<(), persist::Error>(())
//! ```
//!
//! # Modules
//!
//! The root has the items that most programs use.
//!
//! | module | contents |
//! | --- | --- |
//! | [`save`](mod@save) | reports, slots, backups, salvage, devices, the registry of classes |
//! | `world` | objects made of components, with names, a tree and a life cycle; needs the feature `world` |
//! | `history` | undo, redo, and the journal from which a crashed program recovers; needs the feature `history` |
//! | `debug` | live values as text for people; needs the feature `debug` |
//! | [`storage`] | where files live, and how to replace the file system |
//! | [`codec`] | one value to bytes and back, and what an `impl Persist` by hand needs |
//! | [`reflect`] | the tables of a type: classes, field records, kinds |
//!
//! The folder `docs` of the repository has a guide, a reference of attributes, conversions, errors and the format, and
//! pages on design, reliability and measured performance. To change the library, begin with `docs/internals/design.md`:
//! it names the private modules (`schema`, `graph`, `format`, `fields`, `types`), whose `mod.rs` are maps.
//!
//! # Features
//!
//! None is on by default. The crate `persist-tools` has the test of released versions, for `[dev-dependencies]`, and
//! reads saves and journals without the types of their program.
//!
//! | feature | adds |
//! | --- | --- |
//! | `world` | `World`: objects made of components, with names, a tree and a life cycle |
//! | `history` | `History` and `Session`: undo, redo and a journal, for values of any type, and with `world` for worlds |
//! | `debug` | `debug::tree`: a live value as text, as `persist dump` prints it; turns `world` on |
//! | `conformance` | `storage::conformance`, which tests a `Storage` of your own, for `[dev-dependencies]` |
//! | `directories` | `slots_folder`: the folder where the system keeps the saves of a program |
//! | `lz4` | `Compression::Lz4`: smaller saves, in safe Rust |
//! | `zstd` | `Compression::Zstd`: smaller still; compiles a C library, which needs a C compiler |
//! | `tracing` | events for a log: a backup was loaded, a save failed in the background, a load lost parts, a journal was replayed, a save was slow |
//! | `serde` | Fields with `#[persist(serde)]`, `serde::Saved`; `Serialize` and `Deserialize` for [`Value`], [`Record`], [`HandleValue`](reflect::HandleValue) and [`ObjectId`] |
//! | `glam-0_30`, `uuid`, `rand_pcg-0_9`, ... | types of other crates as fields; page 8 of the guide lists them |

#![forbid(unsafe_code)]
// docs.rs shows which items need a feature.
#![cfg_attr(docsrs, feature(doc_cfg))]

// First, since its macros must be defined before they are used.
#[macro_use]
mod error;

pub mod codec;
#[cfg(feature = "debug")]
pub mod debug;
mod derive;
mod env;
#[cfg(any(feature = "history", feature = "world"))]
mod fields;
mod format;
mod graph;
#[cfg(feature = "history")]
pub mod history;
mod limits;
mod names;
mod object_id;
mod options;
mod platform;
pub mod reflect;
pub mod save;
mod schema;
#[cfg(feature = "serde")]
pub mod serde;
mod sorting;
pub mod storage;
mod trace;
mod types;
mod value;
#[cfg(feature = "world")]
pub mod world;

pub use derive::{Persist, dynamic};
pub use error::{Error, ErrorKind, Result};
pub use limits::Limits;
pub use object_id::ObjectId;
pub use options::LoadOptions;
pub use types::{Arena, Handle};
pub use value::{Record, Value};

#[doc(inline)]
pub use codec::Persist;
#[doc(inline)]
pub use codec::unknown::Unknown;
#[doc(inline)]
pub use codec::with::With;
#[cfg(any(feature = "history", feature = "world"))]
pub use fields::to_value;
#[cfg(any(feature = "history", feature = "world"))]
#[doc(inline)]
pub use fields::{FieldPath, Peek};
#[cfg(feature = "history")]
#[doc(inline)]
pub use history::{Command, History, Session};
#[doc(inline)]
pub use save::{Loaded, SaveManager, Saves, from_slice, load, save, to_vec};
#[doc(inline)]
pub use storage::save_files::commit::SaveOptions;
#[cfg(feature = "world")]
#[doc(inline)]
pub use world::{Component, ComponentScope, Reference, World};

/// Reports at compile time that the features with field paths are missing.
#[cfg(not(any(feature = "history", feature = "world")))]
#[doc(hidden)]
#[macro_export]
macro_rules! field {
    ($($path:tt)*) => {
        ::std::compile_error!(
            "`field!` needs the feature `history` or `world`: write `features = [\"history\"]` for `persist` in `Cargo.toml`"
        )
    };
}

/// Takes the place of what `#[persist(component)]` names where the feature `world` is off. The compile error names the
/// feature.
#[cfg(not(feature = "world"))]
mod needs_feature_world {
    #[diagnostic::on_unimplemented(
        message = "`#[persist(component)]` needs the feature `world`",
        label = "a component of a world",
        note = "write `features = [\"world\"]` for `persist` in `Cargo.toml`"
    )]
    pub trait FeatureWorld {}

    /// Is implemented by no type.
    pub trait NeedsFeatureWorld: FeatureWorld {}

    /// Accepts every type.
    pub const fn assert_sendable<T>() {}
}

/// Exports the items that derived code and the command use; not for programs.
#[doc(hidden)]
pub mod __private {
    pub use crate::codec::boxed::{boxed, on_stack, out_of_line};
    pub use crate::codec::class::{SAMPLE, kind_of_class};
    pub use crate::codec::content::CellContent;
    pub use crate::codec::convert::{FieldConversion, convert, converted};
    pub use crate::codec::field_access::{FieldAccess, FieldNames, FieldStep};
    pub use crate::codec::index::{Nth, short};
    pub use crate::codec::layout::Layout;
    pub use crate::codec::object::Shared;
    pub use crate::codec::persist::{checked, decode_row, encode_row};
    pub use crate::codec::row::{Row, reach};
    pub use crate::codec::trait_object::{
        AsTrait, Dynamic, Implements, Portable, StandIn, TraitObject,
    };
    pub use crate::codec::type_set::{FieldCodec, TypeSet};
    pub use crate::codec::visitor::{Outcome, Phase, Visitor};
    pub use crate::codec::{Decoder, Encoder, Fail, Persist, Pointee, Prototypes, Reflect, Stop};
    pub use crate::env::Env;
    pub use crate::error::Error;
    #[cfg(any(feature = "history", feature = "world"))]
    pub use crate::fields::typed_path::{ConstantPath, Identifier, TypedPath};
    #[cfg(not(feature = "world"))]
    pub use crate::needs_feature_world::{NeedsFeatureWorld as Component, assert_sendable};
    pub use crate::reflect::class::{
        Argument, Body, Migrate, MigrationSteps, OldKind, Prototype, TypeCode,
    };
    pub use crate::reflect::{Class, EditorHints, FieldRecord, Kind, VariantRecord};
    pub use crate::save::Prepared;
    pub use crate::save::Saves;
    pub use crate::save::objects::content::{Sink, WriteContent, prepare_parts, write_parts};
    pub use crate::types::foreign::{StoredAs, reach_stored, refuse, unknown_bits};
    pub use crate::types::save_as::{SaveAs, SavedPart, is_plain, same_type};
    #[cfg(feature = "world")]
    pub use crate::world::{Component, assert_sendable, read_name, write_name};
    pub use crate::{__coerce, __dynamic};
    pub use persist_derive::__at_one_place as at_one_place;
    pub use persist_derive::__call as a_string_is_the_path_of_a_function_and_a_text_needs_into;
    pub use std;
    pub use std::any::Any;
    pub use std::boxed::Box;
    pub use std::default::Default;
    pub use std::mem::{offset_of, size_of, swap};
    pub use std::option::Option;
    pub use std::primitive::{bool, f64, str, u8, u16, usize};
    pub use std::result::Result;
    pub use std::string::String;

    pub mod with {
        pub use crate::codec::compact::Compact;
        pub use crate::codec::skip::{SkipFailed, Skipping};
        #[cfg(not(feature = "serde"))]
        pub use crate::codec::with::NeedsFeatureSerde as Serde;
        pub use crate::codec::with::{
            Adapter, By, DefaultValue, Lift, Module, Same, Through, Via, empty, empty_via,
            is_missing, put_each, restore_into, restore_into_with_context,
        };
        #[cfg(feature = "serde")]
        pub use crate::serde::Serde;
        pub use crate::types::Items;
    }

    pub mod pod {
        pub use crate::codec::pod::*;
    }
}

/// Exports what only the crate `persist-tools` of the same version may use; not for programs.
#[doc(hidden)]
pub mod __tools {
    pub use crate::codec::pages::PageEntry;
    pub use crate::env::{Env, Trial};
    #[cfg(any(feature = "history", feature = "world"))]
    pub use crate::fields::{Direction, FieldChange, FieldEdit, Owner, PathStep};
    #[cfg(feature = "history")]
    pub use crate::fields::{key_at, value_at};
    #[cfg(feature = "history")]
    pub use crate::format::Digest;
    pub use crate::format::{
        BlockReader, DamagedSave, Item, KIND_DEPTH, Plain, RecordLocation, SCALARS, Sealer,
        StreamBlock, Trailer, Writer, check_count, damaged, read_definitions, scan, too_many,
    };
    #[cfg(feature = "history")]
    pub use crate::history::change::{Change, ChangeKind};
    #[cfg(feature = "history")]
    pub use crate::history::journal::JournalScan;
    #[cfg(feature = "history")]
    pub use crate::history::journal::frame::{Frame, FrameKind, FrameReader};
    #[cfg(feature = "history")]
    pub use crate::history::journal::stored::{
        StoredDone, StoredEvicted, StoredProgram, StoredStep, place, read, wrong,
    };
    #[cfg(feature = "history")]
    pub use crate::history::journal::{StoredCommand, StoredEntry, StoredStacks};
    #[cfg(feature = "history")]
    pub use crate::history::merging::Merging;
    pub use crate::names::is_near;
    pub use crate::reflect::class::Body;
    pub use crate::reflect::holder::{Cell, Pointer};
    pub use crate::reflect::integer::Integer;
    pub use crate::save::objects::content::read_on_trial;
    pub use crate::save::record_writer::{RecordHead, RecordWriter, WrittenObjects};
    pub use crate::save::salvage::{is_damaged, salvaged};
    pub use crate::save::untyped::{Entry, UntypedSave, write_file};
    pub use crate::schema::{
        Checker, ClassSchema, EncodedPage, FieldPlace, FieldSchema, Form, KindSchema, LocalValue,
        Long, PageCutter, Pairing, Plans, Program, ProgramFields, Reader, Stored, Strict, Texts,
        UsageTree, VariantSchema, contested, find_variant, inner_first, is_same_class, length,
        missing_page, objects_in_page, page_entry, page_fault, page_head, page_index, pair,
        put_objects, replace_pages, rust_type, same_classes, texts_and_classes_by_place,
    };
    pub use crate::storage::patient::FILES;
    pub use crate::storage::save_files::commit::replace_file;
    pub use crate::storage::save_files::{read_file, read_save};
    pub use crate::types::{BITS_OF_NO_KEY, WorldObjects};
    pub use crate::value::{NameOf, write_name};
    #[cfg(feature = "world")]
    pub use crate::world::LAST_ID;
    #[cfg(feature = "world")]
    pub use crate::world::children::Children;
    #[cfg(all(feature = "history", feature = "world"))]
    pub use crate::world::objects::{ComponentPlace, Fragment, TreePosition, WorldChange};
}

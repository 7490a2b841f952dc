//! Saves and loads graphs: objects, and the shared pointers between them.
//!
//! An *object* is the target of an `Rc` or `Arc`. Each object is one record in the save, and a pointer to it is stored
//! as its id. A save turns pointers into ids, and a load turns ids into pointers.
//!
//! ```text
//!  save   objects --Links--> numbers, ids --codec--> records --format::Writer--> bytes
//!         ^ AddressMap, ObjectList, ObjectQueue
//!
//!  load   bytes --format::Scan--> records --create--> empty objects
//!         records --rewrite?--> payloads --fill--> objects, with placeholders where pointers will be
//!                                              \--> References: record, target, flags
//!         drafts --build--> objects --connect--> pointers --hooks, seal--> LoadedObjects
//! ```
//!
//! # Parts
//!
//! - Classes: `registry` (enter, check and look up classes), `schemas` (a cache of matched schemas).
//! - Save: `save` (the work list), `links` (numbers, ids and checks of references), `tables` with `identity` (addresses
//!   to numbers) and `object_list`, `targets` (lists what an object refers to).
//! - Load: `load` drives the passes, and `table` is the state that decoders see. `loading` has the objects by record,
//!   `references` the references to connect, `connect` points them at their objects. `rewrite` converts records,
//!   decides which unknown objects are kept and checks the load policy. `unknown` keeps unknown data, and `handles`
//!   renumbers handles. `fault` finds the field of an error. `outcome` is the result.
//! - Both: `components` (cycles and an order for building, by Tarjan's algorithm).
//!
//! # A save
//!
//! 1. The roots get numbers and enter the queue: the objects that the program added, or the root value.
//! 2. The next object of the queue is encoded into a record. Each pointer in it goes through [`links`]: an address that
//!    is new gets the next number and id, and its object enters the queue if the pointer is strong. Then the unknown
//!    data of the object is written.
//! 3. When the queue is empty, `Links::check` checks references whose targets' types were unknown before. It also
//!    refuses cycles of objects without cells, which a load could not build.
//!
//! The saver holds a pointer to each visited object until the end. Otherwise an address could be reused, and two
//! objects would become one.
//!
//! # A load
//!
//! 1. *Scan* (`format`): read checksums, definitions and record heads. The schema is matched with the program's
//!    classes.
//! 2. *Create*: make every object empty. An object with a cell is shared at once. One without a cell is a *draft*.
//! 3. *Fill*: decode each record, rewritten first if its form is not the program's. Each reference is checked, listed
//!    in `References`, and points to a *placeholder* of its target's type. Deferred records follow: objects of unknown
//!    classes, and objects that have become values. In a save of objects all unknown objects are kept, in a save of a
//!    value those that something refers to. Then unused objects are freed, and the load policy is checked.
//! 4. *Build*: share each draft after the targets that it holds outside of cells.
//! 5. *Connect*: visit the objects again, and point their references at the targets, in the order of decoding.
//! 6. *Hooks*: `validate` for all objects, then `after_load`.
//! 7. *Seal*: set the contents of once cells that close cycles, when nothing can fail any more.
//!
//! Passes 3 and 5 can be merged. `Loader::choose_strategy` chooses one of four, [`table::Strategy`]:
//!
//! | strategy | when | references are connected |
//! | --- | --- | --- |
//! | `AtOnce` | plain save, up to 16,384 records | while they are decoded |
//! | `InChunks` | plain save, more records, no root value, no hooks | after each 128 records |
//! | `AfterAll` | plain save, more records, a root value or hooks | when all records are decoded |
//! | `Rewritten` | all other saves | when all records are decoded, and unknown ones are kept |
//!
//! A save is *plain* if all records have the program's form, nothing is unknown, and every object has a cell. Chunks
//! exist because looking at a random target is a cache miss: one short loop touches the targets of a chunk, so that the
//! misses overlap. `docs/internals/decisions.md` explains the order of passes under "graph".
//!
//! # Words
//!
//! - *record*: an object in the save, or its index there. *number*: the index of an object in a running save.
//! - *holder*: the pointer and the cell around an object, such as `Rc<RefCell<_>>`. *bare*: outside of any cell.
//! - *once cell*: a cell that can be set only once, such as `OnceCell`. *draft*: an object that is not shared yet.
//! - *placeholder*: the object to which references point while they wait for their target.
//! - *stand-in*: the struct that represents the unknown classes of a trait, in `registry` and `unknown`.
//! - *unknown*: data of classes or fields that the program does not have. It is kept, and saved again.

mod components;
mod connect;
mod fault;
mod handles;
mod identity;
mod links;
mod load;
mod loading;
mod object_list;
mod outcome;
mod references;
mod registry;
mod rewrite;
mod save;
mod schemas;
mod table;
mod tables;
mod targets;
mod unknown;

pub use registry::{Registry, SharedPointer};

pub(crate) use components::Edges;
pub(crate) use load::Loader;
pub(crate) use outcome::{LoadOutcome, LoadedObjects};
pub(crate) use registry::Implementors;
pub(crate) use save::Saver;
pub(crate) use tables::SaveTables;
pub(crate) use targets::{Targets, free_unheld, is_unknown};

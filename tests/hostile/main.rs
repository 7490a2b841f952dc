//! Saves that were damaged or malicious: each is refused, or loads to something that saves again.

mod circles;
mod damaged;
mod limits;
mod long_lists;
mod made;
mod pointers;
mod readers;
mod references;
mod small_stacks;
mod values;
mod verified;

//! Saves of older programs in newer ones.

mod alternations;
mod attributes;
mod chains;
mod changes;
mod counted_pointers;
mod dangling;
mod disarranged;
mod game;
mod going_back;
mod hostile;
mod inner_records;
mod matrix;
mod meanings;
mod mod_switched_off;
mod module_defaults;
mod newtypes;
mod order;
mod random;
mod registration;
mod skipped_elements;
mod type_defaults;
mod types;
mod unknown_keys;
mod unknown_parts;

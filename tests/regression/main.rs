//! Bugs that were fixed, a file each.

mod default_with_a_pointer;
mod factory_of_a_value;
mod forgotten_registration;
mod markers_in_generics;
#[cfg(unix)]
mod save_onto_a_pipe;
mod with_module_of_its_own_type;

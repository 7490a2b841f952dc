//! What the derive writes: by index and by name, in hostile surroundings, and the bytes that must never change.

mod by_index;
mod compile_errors;
mod dump;
mod dynamic_hygiene;
mod golden;
mod hints;
mod hygiene;
mod hygiene_of_evolution;
mod in_place;
mod save_as;
mod savedata_sizes;
mod stored_as;

//! Objects and what leads to them: pointers, cycles, handles, trait objects and stand-ins.

mod chains;
mod handles;
mod held_by_unknown;
mod objects;
mod pointers;
mod sizes;
mod stand_ins;
mod trait_graph;
mod trait_objects;
mod trait_pointers;
mod without_cells;

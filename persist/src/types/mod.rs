//! The standard library's types as persistent values, a family a file.
//!
//! What is stored alike has one kind, whatever its Rust type: a `VecDeque` can
//! be loaded as a `Vec`, a `Cell<u8>` as a `u8`.

mod array;
mod cell;
mod map;
mod net;
mod number;
mod option;
mod range;
mod sequence;
mod set;
mod std_enum;
mod text;
mod time;
mod tuple;
mod wrapper;

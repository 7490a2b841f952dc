//! Values of every type: their bytes, as text, through serde, and without their types.

mod compact;
mod containers;
mod naive;
mod pod;
mod refused;
mod serde_fields;
mod text;
mod trees;
mod types;
mod with_serde;
mod without_types;

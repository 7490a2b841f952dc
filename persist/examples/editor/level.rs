//! The components of a level.

use persist::Persist;

/// Where an object is.
#[derive(Persist, Default)]
#[persist(component)]
pub struct Place {
    pub x: f64,
    pub y: f64,
}

/// The color of an object.
#[derive(Persist, Default)]
#[persist(component)]
pub enum Color {
    #[default]
    #[persist(empty)]
    White,
    Red,
    Mixed {
        red: u8,
        green: u8,
        blue: u8,
    },
}

/// The designers' names for an object.
#[derive(Persist, Default)]
#[persist(component)]
pub struct Tags {
    pub names: Vec<String>,
}

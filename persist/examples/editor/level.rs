//! What a level is made of.

use persist::Persist;

/// Where an object is.
#[derive(Persist, Default)]
#[persist(component)]
pub struct Place {
    pub x: f64,
    pub y: f64,
}

/// What it looks like.
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

/// What the designers call it.
#[derive(Persist, Default)]
#[persist(component)]
pub struct Tags {
    pub names: Vec<String>,
}

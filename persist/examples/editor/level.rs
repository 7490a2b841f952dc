//! What a level is made of.

use persist::{Component, Persist};

/// Where an object is.
#[derive(Persist, Default)]
pub struct Place {
    pub x: f64,
    pub y: f64,
}

/// What it looks like.
#[derive(Persist, Default)]
pub enum Color {
    #[default]
    #[persist(default)]
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
pub struct Tags {
    pub names: Vec<String>,
}

impl Component for Place {}
impl Component for Color {}
impl Component for Tags {}

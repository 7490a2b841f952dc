//! The document, and a command that changes it by code of its own.

use std::collections::BTreeMap;

use persist::history::CommandEdit;
use persist::{Command, Persist, Result};

#[derive(Persist, Default)]
pub(crate) struct Drawing {
    /// From the bottom to the top.
    pub(crate) shapes: Vec<Shape>,
    pub(crate) layers: BTreeMap<String, Layer>,
    pub(crate) selected: Vec<usize>,
    pub(crate) zoom: usize,
}

#[derive(Persist, Clone)]
pub(crate) struct Shape {
    pub(crate) place: (usize, usize),
    pub(crate) size: (usize, usize),
    pub(crate) ink: char,
    pub(crate) layer: String,
    pub(crate) name: String,
}

#[derive(Persist, Default)]
pub(crate) struct Layer {
    pub(crate) is_hidden: bool,
}

impl Drawing {
    pub(crate) fn shape(&self, index: usize) -> Result<&Shape> {
        self.shapes.get(index).ok_or_else(|| format!("there is no shape {index}").into())
    }
}

/// Moves all shapes to the left.
#[derive(Persist, Default)]
pub(crate) struct Align {
    /// Where each was.
    columns: Vec<usize>,
}

impl Command<Drawing> for Align {
    fn apply(&mut self, edit: &mut CommandEdit<'_, Drawing>) -> Result<()> {
        self.columns.clear();
        for shape in &mut edit.target().shapes {
            self.columns.push(std::mem::take(&mut shape.place.0));
        }
        Ok(())
    }

    fn undo(&mut self, drawing: &mut Drawing) -> Result<()> {
        for (shape, column) in drawing.shapes.iter_mut().zip(&self.columns) {
            shape.place.0 = *column;
        }
        Ok(())
    }
}

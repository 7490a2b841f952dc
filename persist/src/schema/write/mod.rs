//! Values without their types as bytes of a kind.
//!
//! A value need not be of the very kind: what it can be without loss is written,
//! such as a `u8` as a `u32`; the rest is an error.

mod open;
mod scalar;
mod shown;
mod strict;
mod value;

use super::KindSchema;
use crate::value::{Field, HandleValue, Record, Value};
use crate::{Limits, ObjectId, Result};

pub(crate) use strict::Strict;
pub(crate) use value::{write_class, write_value};

/// The classes that values are written as, and how records meet them.
///
/// Classes, variants and fields are given by their indices; `variant` is 0 for a struct.
pub(crate) trait Target {
    /// Checks that a record may be written as a class.
    ///
    /// # Errors
    ///
    /// If it is of another one.
    fn check_class(&self, class: usize, record: &Record) -> Result<()>;

    /// The variant of this name.
    fn variant(&self, class: usize, name: &str) -> Option<usize>;

    /// The record's field for one of a class.
    fn find<'r>(
        &self,
        class: usize,
        variant: usize,
        field: usize,
        record: &'r Record,
    ) -> Option<&'r Field>;

    /// Appends a field that the record does not have.
    ///
    /// # Errors
    ///
    /// If there must be one.
    fn missing(
        &mut self,
        class: usize,
        variant: usize,
        field: usize,
        out: &mut Vec<u8>,
    ) -> Result<()>;

    /// Checks the fields that the record has and the class does not; `found` of the
    /// class's are there.
    ///
    /// # Errors
    ///
    /// If there must be none.
    fn check_rest(&self, class: usize, variant: usize, found: usize, record: &Record)
    -> Result<()>;

    /// The class of a record that stands as a trait object.
    ///
    /// # Errors
    ///
    /// If there is none.
    fn class_of(&self, record: &Record) -> Result<usize>;

    /// The number that a class has in the save.
    fn number(&mut self, class: usize) -> u64;

    /// Appends a record in the form in which it was stored, if the target can make this class of
    /// that; else false.
    ///
    /// # Errors
    ///
    /// If it is not as it was.
    fn stored(&mut self, class: usize, value: &Value, out: &mut Vec<u8>) -> Result<bool> {
        let _ = (class, value, out);
        Ok(false)
    }

    /// Appends one of the parts of an [`Unknown`](crate::Unknown), if it is of a class that the
    /// target does not have; else false.
    ///
    /// # Errors
    ///
    /// If it is not as it was.
    fn kept(&mut self, part: &Value, out: &mut Vec<u8>) -> Result<bool> {
        let _ = (part, out);
        Ok(false)
    }

    /// The limits of what is written.
    fn limits(&self) -> &Limits;

    /// Checks that a text may be so long.
    ///
    /// # Errors
    ///
    /// If it may not.
    fn check_text(&self, length: usize) -> Result<()> {
        let _ = length;
        Ok(())
    }

    /// True if floats are rounded to those of the kind.
    fn rounds(&self) -> bool {
        false
    }

    /// Checks that a handle may lead there.
    ///
    /// # Errors
    ///
    /// If it may not.
    fn check_handle(&self, arena: &str, handle: HandleValue) -> Result<()> {
        let _ = (arena, handle);
        Ok(())
    }

    /// Checks that a reference of this kind may lead there.
    ///
    /// # Errors
    ///
    /// If it may not.
    fn check_reference(&self, kind: &KindSchema, id: Option<ObjectId>) -> Result<()>;
}

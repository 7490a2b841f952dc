//! Types without values, which take the place of a world and its changes where the feature `world` is off.
//!
//! No target is a [`NoWorld`], so what histories do for worlds alone is checked by the compiler and never runs.

use super::label::Verb;
use crate::codec::{Decoder, Encoder, Fail, Portable, Prototypes, Stop};
use crate::fields::{
    ChangeState, Changed, Direction, EditedWorld, FieldChange, NumberedBytes, ObjectChange,
    ObjectName, Owner, Print, Root,
};
use crate::graph::Registry;
use crate::reflect::Kind;
use crate::{ObjectId, Persist, Result};

/// The default target of a history, which then must be given.
pub enum NoWorld {}

/// The changes of objects that a target without a world has.
pub enum NoChange {}

pub(super) use self::{NoChange as WorldChange, NoWorld as World};

pub(super) fn verb_of(change: &NoChange) -> Verb {
    match *change {}
}

impl NoWorld {
    pub(super) const CLASS: &'static str = "persist.NoWorld";
}

impl EditedWorld for NoWorld {
    type Numbers = ();

    fn class_registry(&self) -> &Registry {
        match *self {}
    }

    fn identity(&self) -> u64 {
        match *self {}
    }

    fn last_id(&self) -> u64 {
        match *self {}
    }

    fn continue_ids_after(&mut self, _: u64) -> bool {
        match *self {}
    }

    fn object_name(&self, _: ObjectId) -> Option<ObjectName> {
        match *self {}
    }

    fn check_recordable(&self, _: &str) -> Result<()> {
        match *self {}
    }

    fn content(&self, _: Owner, _: &str) -> Result<Vec<u8>> {
        match *self {}
    }

    fn parked_contents(
        &self,
        _: Vec<(ObjectId, String)>,
    ) -> Result<Vec<(ObjectId, String, Vec<u8>)>> {
        match *self {}
    }

    fn decoded<R>(
        &self,
        _: (Owner, usize),
        _: NumberedBytes<'_>,
        _: impl FnOnce(&dyn Portable) -> Result<R>,
    ) -> Result<R> {
        match *self {}
    }

    fn with_root<R>(
        &mut self,
        _: Owner,
        _: &str,
        _: impl FnOnce(&mut Root<'_>) -> Result<R>,
    ) -> Result<R> {
        match *self {}
    }

    fn make<R>(
        &mut self,
        _: Owner,
        _: &str,
        _: impl FnOnce(&mut Root<'_>) -> Result<R>,
    ) -> Result<R> {
        match *self {}
    }

    fn refresh(&mut self, _: (Owner, &str), _: bool) -> Result<()> {
        match *self {}
    }

    fn put_number(&mut self, _: Owner, _: &FieldChange, _: Direction) -> bool {
        match *self {}
    }

    fn numbers(&mut self, _: usize, _: ObjectId) -> Option<()> {
        match *self {}
    }

    fn number_changes(&mut self, _: (usize, ObjectId), (): &()) -> Option<Vec<FieldChange>> {
        match *self {}
    }

    fn put_numbers(&mut self, _: (usize, ObjectId), (): &()) -> Option<()> {
        match *self {}
    }

    fn watch(&self) {
        match *self {}
    }

    fn take_touched(&mut self) -> Vec<Changed<'static>> {
        match *self {}
    }

    fn prints(&self, _: Option<&[ObjectId]>, _: &mut Vec<Print>) {
        match *self {}
    }
}

impl ObjectChange for NoChange {
    type World = NoWorld;

    fn apply(&mut self, _: &mut NoWorld, _: Owner, _: Direction) -> Result<()> {
        match *self {}
    }

    fn discard(&mut self, _: &mut NoWorld, _: Owner, _: bool) {
        match *self {}
    }

    fn has_end(&self) -> bool {
        match *self {}
    }

    fn size(&self) -> usize {
        match *self {}
    }

    fn held(&self, _: &NoWorld, _: Owner, _: bool) -> usize {
        match *self {}
    }

    fn class(&self) -> Option<&str> {
        match *self {}
    }

    fn set_class(&mut self, _: &str) {
        match *self {}
    }

    fn puts(&self, _: Direction) -> bool {
        match *self {}
    }

    fn content_mut(&mut self) -> Option<&mut Vec<u8>> {
        match *self {}
    }

    fn stored(&mut self, _: &NoWorld, _: Owner, _: ChangeState) -> Result<Self> {
        match *self {}
    }

    fn restore(
        &mut self,
        _: &mut NoWorld,
        _: (Owner, Option<&ObjectName>),
        _: ChangeState,
    ) -> Result<()> {
        match *self {}
    }
}

/// A journal of a world is refused here, at its first step that is not of a field.
impl Persist for NoChange {
    fn persist_kind() -> Kind {
        Kind::Unit
    }

    fn persist_empty(_: &Prototypes<'_>) -> Result<Self> {
        Err(Fail::Value.into())
    }

    fn persist_encode(&self, _: &mut Encoder<'_>) -> Result<(), Stop> {
        match *self {}
    }

    fn persist_decode(_: &mut Decoder<'_>) -> Result<Self, Fail> {
        Err(Fail::Value)
    }
}

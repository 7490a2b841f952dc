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

/// Methods of types without values. None of them can be called.
macro_rules! never {
    ($self:tt $([$($signature:tt)*])*) => { $( $($signature)* { match *$self {} } )* };
}

pub(super) fn verb_of(change: &NoChange) -> Verb {
    match *change {}
}

impl NoWorld {
    pub(super) const CLASS: &'static str = "persist.NoWorld";
}

impl EditedWorld for NoWorld {
    type Numbers = ();

    never! { self
        [fn class_registry(&self) -> &Registry]
        [fn identity(&self) -> u64]
        [fn last_id(&self) -> u64]
        [fn continue_ids_after(&mut self, _: u64) -> bool]
        [fn object_name(&self, _: ObjectId) -> Option<ObjectName>]
        [fn check_recordable(&self, _: &str) -> Result<()>]
        [fn content(&self, _: Owner, _: &str) -> Result<Vec<u8>>]
        [fn parked_contents(&self, _: Vec<(ObjectId, String)>)
            -> Result<Vec<(ObjectId, String, Vec<u8>)>>]
        [fn decoded<R>(&self, _: (Owner, usize), _: NumberedBytes<'_>,
            _: impl FnOnce(&dyn Portable) -> Result<R>) -> Result<R>]
        [fn with_root<R>(&mut self, _: Owner, _: &str,
            _: impl FnOnce(&mut Root<'_>) -> Result<R>) -> Result<R>]
        [fn make<R>(&mut self, _: Owner, _: &str,
            _: impl FnOnce(&mut Root<'_>) -> Result<R>) -> Result<R>]
        [fn refresh(&mut self, _: (Owner, &str), _: bool) -> Result<()>]
        [fn put_number(&mut self, _: Owner, _: &FieldChange, _: Direction) -> bool]
        [fn numbers(&mut self, _: usize, _: ObjectId) -> Option<()>]
        [fn number_changes(&mut self, _: (usize, ObjectId), (): &()) -> Option<Vec<FieldChange>>]
        [fn put_numbers(&mut self, _: (usize, ObjectId), (): &()) -> Option<()>]
        [fn watch(&self)]
        [fn take_touched(&mut self) -> Vec<Changed<'static>>]
        [fn prints(&self, _: Option<&[ObjectId]>, _: &mut Vec<Print>)]
    }
}

impl ObjectChange for NoChange {
    type World = NoWorld;

    never! { self
        [fn apply(&mut self, _: &mut NoWorld, _: Owner, _: Direction) -> Result<()>]
        [fn discard(&mut self, _: &mut NoWorld, _: Owner, _: bool)]
        [fn has_end(&self) -> bool]
        [fn size(&self) -> usize]
        [fn held(&self, _: &NoWorld, _: Owner, _: bool) -> usize]
        [fn class(&self) -> Option<&str>]
        [fn set_class(&mut self, _: &str)]
        [fn puts(&self, _: Direction) -> bool]
        [fn content_mut(&mut self) -> Option<&mut Vec<u8>>]
        [fn stored(&mut self, _: &NoWorld, _: Owner, _: ChangeState) -> Result<Self>]
        [fn restore(&mut self, _: &mut NoWorld, _: (Owner, Option<&ObjectName>), _: ChangeState)
            -> Result<()>]
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

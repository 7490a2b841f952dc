//! Ids of objects of a world, as fields.

use std::any::TypeId;

use super::Arena;
use super::whole_items;
use crate::codec::{
    Decoder, Encoder, Fail, Generic, Layout, Persist, Pointee, Prototypes, Remapped, Stop,
};
use crate::reflect::Kind;
use crate::{Error, ErrorKind, ObjectId, Result};

/// The arena of a world's objects, to which ids in saves lead.
pub struct WorldObjects;

impl Arena for WorldObjects {
    type Key = ObjectId;

    const NAME: &'static str = "persist.objects";

    fn to_bits(id: ObjectId) -> u64 {
        id.get()
    }

    fn from_bits(bits: u64) -> Option<ObjectId> {
        ObjectId::new(bits).filter(|id| !id.is_dead())
    }
}

/// The state of a stored id after the load.
enum CurrentId {
    Live(ObjectId),
    Cleared,
    Dead,
}

fn find(head: &[u8], input: &mut Decoder<'_>) -> Result<(u64, CurrentId), Fail> {
    let mut bad = false;
    let bits = u64::__decode_fixed(&head[1..], &mut bad);
    let found = match head[0] {
        0 if bits == 0 => return Ok((ObjectId::NULL.get(), CurrentId::Dead)),
        1 => input.links().handle(TypeId::of::<WorldObjects>(), bits),
        2 => Ok(Remapped::Dead),
        _ => return Err(Fail::Value),
    };
    let live = |bits| WorldObjects::from_bits(bits).map(CurrentId::Live);
    let found = found.and_then(|found| match found {
        Remapped::Live(new) => live(new).ok_or_else(|| no_id(new)),
        Remapped::Null => Ok(CurrentId::Cleared),
        Remapped::Dead => Ok(CurrentId::Dead),
    });
    match found {
        Ok(found) => Ok((bits, found)),
        Err(error) => {
            let arena = WorldObjects::NAME;
            input.links().refuse_handle(arena, bits);
            Err(input.refuse(error))
        }
    }
}

#[cold]
fn no_id(bits: u64) -> Error {
    error!(
        ErrorKind::InvalidValue,
        "{bits:#x} is no id of an object; the save is damaged or malicious"
    )
}

/// Stored like a [`Handle`](crate::Handle), so that ids differ from numbers and can be remapped. An id that loses its
/// object to a remap is dead, and in an `Option` it is `None`.
#[diagnostic::do_not_recommend]
impl Persist for ObjectId {
    const __LAYOUT: Layout = Layout { nullable: true, ..Layout::handle::<Self>() };

    whole_items!();

    fn persist_kind() -> Kind {
        Kind::Handle(WorldObjects::NAME)
    }

    fn persist_empty(_: &Prototypes<'_>) -> Result<Self> {
        Ok(Self::NULL)
    }

    #[inline(always)]
    fn __encode_head(&self, head: &mut [u8]) {
        let (state, bits) = match *self {
            Self::NULL => (0, 0),
            id if id.is_dead() => (2, id.get() & !Self::DEAD),
            id => (1, id.get()),
        };
        head[0] = state;
        head[1..].copy_from_slice(&bits.to_le_bytes());
    }

    #[inline(always)]
    fn __encode_tail(&self, _: &mut Encoder<'_>) -> Result<(), Stop> {
        Ok(())
    }

    fn __decode(head: &[u8], input: &mut Decoder<'_>) -> Result<Self, Fail> {
        let (bits, found) = find(head, input)?;
        Ok(match found {
            CurrentId::Live(id) => id,
            CurrentId::Cleared | CurrentId::Dead => Self::dead(bits),
        })
    }

    fn __decode_some(input: &mut Decoder<'_>) -> Result<Option<Self>, Fail> {
        let head = input.take(Self::HEAD)?;
        let (bits, found) = find(head, input)?;
        Ok(match found {
            CurrentId::Live(id) => Some(id),
            CurrentId::Cleared => None,
            CurrentId::Dead => Some(Self::dead(bits)),
        })
    }
}

#[diagnostic::do_not_recommend]
impl Pointee for ObjectId {
    type As = Self;
}

//! Saves and loads [`Unknown`]: its bytes stay as they were, except for the ids of objects and the numbers of classes.

use super::super::count;
use super::super::decoder::Decoder;
use super::super::encoder::{Encoder, Stop};
use super::super::fail::Fail;
use super::super::links::{Prototypes, Within};
use super::super::persist::Persist;
use super::super::pointer::Pointee;
use super::super::visitor::{Phase, Visitor};
use super::{Unknown, UnknownPartKind, UnknownPiece, UnknownTarget};
use crate::Result;
use crate::reflect::Kind;

impl UnknownPiece {
    /// Writes the number of the class in the save that is being written.
    pub(crate) fn encode_class(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
        let class = &self.class;
        let number = out.ask(|links| links.unknown_class(&class.schema, class.index))?;
        count::encode(number, out)
    }

    /// Writes the bytes by which two pieces are compared.
    fn encode_order(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
        let (name, bytes) = self.content();
        [name.as_bytes(), bytes].into_iter().try_for_each(|part| {
            count::encode(part.len() as u64, out)?;
            out.bytes(part)
        })
    }

    /// Writes the value as it was, except for ids and numbers.
    pub(crate) fn encode(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
        out.within(Within::Cell, |out| self.encode_parts(out))
    }

    fn encode_parts(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
        let mut done = 0;
        for part in self.parts().iter() {
            out.bytes(&self.bytes[done..part.start])?;
            done = part.end;
            let number = match &part.content {
                UnknownPartKind::Reference { weak, target } => link(target.as_ref(), *weak, out)?,
                UnknownPartKind::Class(index) => {
                    out.ask(|links| links.unknown_class(&self.class.schema, *index))?
                }
            };
            count::encode(number, out)?;
        }
        out.bytes(&self.bytes[done..])
    }
}

fn link(target: Option<&UnknownTarget>, weak: bool, out: &mut Encoder<'_>) -> Result<u64, Stop> {
    let Some(target) = target else { return Ok(0) };
    let target = match target.object() {
        Ok(Some(target)) => target,
        Ok(None) => return Ok(0),
        Err(error) => return Err(out.refuse(error)),
    };
    out.link(target.address(), weak, false, &target)
}

/// Stored as a count of pieces; each is the number of its class and its value.
#[diagnostic::do_not_recommend]
impl Persist for Unknown {
    fn persist_kind() -> Kind {
        Kind::Unknown
    }

    fn persist_empty(_: &Prototypes<'_>) -> Result<Self> {
        Ok(Self::default())
    }

    fn persist_encode(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
        out.count(self.pieces.len())?;
        let orders_keys = !self.pieces.is_empty() && out.ask(|links| Ok(links.orders_keys()))?;
        for piece in &self.pieces {
            if orders_keys {
                piece.encode_order(out)?;
                continue;
            }
            if !out.only_lists() {
                piece.encode_class(out)?;
            }
            piece.encode(out)?;
        }
        Ok(())
    }

    fn persist_decode(input: &mut Decoder<'_>) -> Result<Self, Fail> {
        let count = input.count()?;
        // Each piece takes at least one byte, for its class number.
        if count > input.rest().len() {
            return Err(Fail::Count);
        }
        let mut pieces = Vec::new();
        for _ in 0..count {
            let number = input.class_number()?;
            let rest = input.rest();
            match input.links().unknown(number, rest, true) {
                Ok((length, unknown)) => {
                    input.take(length)?;
                    if let Some(mut unknown) = unknown {
                        pieces.append(&mut unknown.pieces);
                    }
                }
                Err(error) => return Err(input.refuse(error)),
            }
        }
        Ok(Self { holder: None, pieces })
    }

    fn __visit(&mut self, visitor: &mut Visitor<'_>) -> Result<()> {
        if visitor.leaves_cells() { Ok(()) } else { self.__visit_shared(visitor) }
    }

    /// Visits all references. The save does not say which of them lay in cells, so all count as in cells.
    fn __visit_shared(&self, visitor: &mut Visitor<'_>) -> Result<()> {
        let mut dropped = Vec::new();
        for piece in &self.pieces {
            for part in piece.parts_mut().iter_mut() {
                if let UnknownPartKind::Reference { target, .. } = &mut part.content {
                    if visitor.phase() == Phase::Dismantle {
                        dropped.push(target.take());
                    } else {
                        visitor.reference(part)?;
                    }
                }
            }
        }
        drop(dropped);
        Ok(())
    }
}

#[diagnostic::do_not_recommend]
impl Pointee for Unknown {
    type As = Self;
}

use super::value::Run;
use crate::codec::count;
use crate::schema::KindSchema;
use crate::schema::number::{Fit, Number, Width};
use crate::types::{Arena as _, WorldObjects};
use crate::value::{HandleValue, Value};
use crate::{ObjectId, Result};

impl Run<'_> {
    /// Appends a value that no others lie in.
    #[inline(never)]
    pub(super) fn scalar(&mut self, kind: &KindSchema, value: &Value) -> Result<()> {
        if let Some(width) = Width::of(kind) {
            return self.number(kind, width, value);
        }
        match (kind, value) {
            (KindSchema::Unit, Value::Unit) => {}
            (KindSchema::Bool, Value::Bool(value)) => self.out.push(u8::from(*value)),
            (KindSchema::Char, Value::Char(value)) => {
                self.out.extend_from_slice(&u32::from(*value).to_le_bytes());
            }
            (KindSchema::Text, Value::Text(text)) => {
                self.target.check_text(text.len())?;
                count::push(text.len() as u64, self.out);
                self.out.extend_from_slice(text.as_bytes());
            }
            (KindSchema::Reference { .. } | KindSchema::TraitReference { .. }, Value::Ref(id)) => {
                self.target.check_reference(kind, *id)?;
                count::push(id.map_or(0, ObjectId::get), self.out);
            }
            // An object of a world is given by its id, too.
            (KindSchema::Handle(arena), Value::Ref(id)) if arena == WorldObjects::NAME => {
                return self.scalar(kind, &Value::Handle(object(*id)));
            }
            (KindSchema::Handle(arena), Value::Handle(handle)) => {
                self.target.check_handle(arena, *handle)?;
                let (state, bits) = match handle {
                    HandleValue::Null => (0, 0),
                    HandleValue::Live(bits) => (1, *bits),
                    HandleValue::Dead(bits) => (2, *bits),
                };
                self.out.push(state);
                self.out.extend_from_slice(&bits.to_le_bytes());
            }
            _ => return Err(self.mismatch(kind, value)),
        }
        Ok(())
    }

    /// Appends a number, if it is one of the kind too.
    fn number(&mut self, kind: &KindSchema, width: Width, value: &Value) -> Result<()> {
        let Some(number) = number(value) else { return Err(self.mismatch(kind, value)) };
        let start = self.out.len();
        let fit = width.write(number, self.out);
        // A NaN may lose some of its bits and fit nevertheless.
        let float = matches!(number, Number::Float(_)) && width.is_float();
        let lost = float && width.read(&self.out[start..]) != number;
        let is_exact = matches!(fit, Fit::Exact) && !lost;
        let is_rounded = || float && self.target.rounds() && is_in_range(number);
        if is_exact || is_rounded() { Ok(()) } else { Err(self.mismatch(kind, value)) }
    }
}

/// True if a float has a nearest one of any width: it is not larger than all of them.
#[expect(clippy::cast_possible_truncation, reason = "it is what is asked for")]
fn is_in_range(number: Number) -> bool {
    let Number::Float(bits) = number else { return false };
    let number = f64::from_bits(bits);
    number.is_finite() == (number as f32).is_finite()
}

/// The handle of an object of a world.
fn object(id: Option<ObjectId>) -> HandleValue {
    match id {
        None | Some(ObjectId::NOWHERE) => HandleValue::Null,
        Some(id) if id.is_dead() => HandleValue::Dead(id.get() & !ObjectId::DEAD),
        Some(id) => HandleValue::Live(id.get()),
    }
}

/// The number that a value is.
fn number(value: &Value) -> Option<Number> {
    Some(match value {
        Value::U8(number) => Number::Natural((*number).into()),
        Value::U16(number) => Number::Natural((*number).into()),
        Value::U32(number) => Number::Natural((*number).into()),
        Value::U64(number) => Number::Natural((*number).into()),
        Value::U128(number) => Number::Natural(*number),
        Value::I8(number) => Number::from(i128::from(*number)),
        Value::I16(number) => Number::from(i128::from(*number)),
        Value::I32(number) => Number::from(i128::from(*number)),
        Value::I64(number) => Number::from(i128::from(*number)),
        Value::I128(number) => Number::from(*number),
        Value::F32(number) => Width::F32.read(&number.to_le_bytes()),
        Value::F64(number) => Number::Float(number.to_bits()),
        _ => return None,
    })
}

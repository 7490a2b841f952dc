//! A fast path for numbers in structs: they are read and set in place, without encoding and without code of the
//! program.

use std::any::Any;
use std::marker::PhantomData;

use super::bytes::Bytes;
#[cfg(feature = "history")]
use super::change::FieldChange;
use super::change::FieldEdit;
#[cfg(feature = "history")]
use super::path::FieldPath;
use super::path::PathStep;
use crate::Value;
use crate::codec::ClassAccess;
use crate::graph::Registry;
use crate::reflect::{FieldRecord, Kind};

/// The steps from a value to a number in it.
pub(crate) struct NumberField {
    hops: Box<[(&'static ClassAccess, usize)]>,
    number: &'static dyn NumberAccess,
}

impl NumberField {
    /// Follows the steps of a path. Returns `None` if they do not lead through structs to a number. A number under a
    /// `validate` or `after_load` function, in a `with` field or in an enum cannot be set in place either.
    pub(crate) fn find(registry: &Registry, root: &dyn Any, steps: &[PathStep]) -> Option<Self> {
        let (root_class, _) = registry.entry(root)?;
        if registry.has_hooks(root_class) {
            return None;
        }
        let (mut value, mut hops, mut last) = (root, Vec::new(), None);
        for step in steps {
            let PathStep::Field(name) = step else { return None };
            let (_, target) = registry.entry(value)?;
            if !target.class.variants().is_empty() {
                return None;
            }
            let fields = target.class.fields();
            let field = fields.iter().position(|field| field.name == name)?;
            value = target.access.field(value, field)?;
            hops.push((target.access, field));
            last = fields.get(field).filter(|field| !field.has_module);
            last?;
        }
        let number = number_of(last?, value)?;
        Some(Self { hops: hops.into(), number })
    }

    /// Sets the number to a value; `None` if the value does not fit the type.
    pub(crate) fn set(&self, root: &mut dyn Any, value: &Value) -> Option<ReplacedNumber> {
        let (old, new) = self.number.set(self.reach(root)?, value)?;
        Some(ReplacedNumber { old, new, number: self.number })
    }

    /// Sets the number to its encoded bytes.
    #[cfg(feature = "history")]
    pub(crate) fn put(&self, root: &mut dyn Any, bytes: &[u8]) -> Option<()> {
        if bytes.len() != self.number.width() {
            return None;
        }
        self.number.swap(self.reach(root)?, bits_of(bytes)).map(drop)
    }

    #[cfg(feature = "history")]
    fn bits(&self, root: &dyn Any) -> Option<u64> {
        let mut value = root;
        for (access, field) in &self.hops {
            value = access.field(value, *field)?;
        }
        self.number.bits(value)
    }

    fn reach<'v>(&self, root: &'v mut dyn Any) -> Option<&'v mut dyn Any> {
        let mut value = root;
        for (access, field) in &self.hops {
            value = access.field_mut(value, *field)?;
        }
        Some(value)
    }
}

/// All fields of a class that consists of numbers and structs of numbers.
#[cfg(feature = "history")]
pub(crate) struct NumberFields(Vec<(FieldPath, NumberField)>);

/// The maximum number of fields. Values of larger classes are compared by their encoded bytes.
#[cfg(feature = "history")]
const MAX_NUMBERS: usize = 64;

#[cfg(feature = "history")]
impl NumberFields {
    /// Lists the fields of the class of a value; `None` if it has fields of other kinds.
    pub(crate) fn new(registry: &Registry, root: &dyn Any, class: &str) -> Option<Self> {
        let mut found = Self(Vec::new());
        let whole = FieldPath::new(class.to_owned());
        found.add(registry, root, root, &whole)?;
        (!found.0.is_empty()).then_some(found)
    }

    fn add(
        &mut self,
        registry: &Registry,
        root: &dyn Any,
        value: &dyn Any,
        path: &FieldPath,
    ) -> Option<()> {
        let (_, target) = registry.entry(value)?;
        if !target.class.variants().is_empty() {
            return None;
        }
        for (at, field) in target.class.fields().iter().enumerate() {
            let path = path.clone().field(field.name);
            let inner = target.access.field(value, at).filter(|_| !field.has_module)?;
            if registry.entry(inner).is_some() {
                self.add(registry, root, inner, &path)?;
                continue;
            }
            let number = NumberField::find(registry, root, path.steps())?;
            self.0.push((path, number));
            if self.0.len() > MAX_NUMBERS {
                return None;
            }
        }
        Some(())
    }

    pub(crate) fn bits(&self, root: &dyn Any) -> Option<Vec<u64>> {
        self.0.iter().map(|(_, number)| number.bits(root)).collect()
    }

    /// Returns the changes of the fields whose bits differ from the old ones.
    pub(crate) fn changes(&self, root: &dyn Any, old: &[u64]) -> Option<Vec<FieldChange>> {
        let mut found = Vec::new();
        for ((path, field), old) in self.0.iter().zip(old) {
            let new = field.bits(root)?;
            if *old != new {
                let how = ReplacedNumber { old: *old, new, number: field.number }.how();
                found.push(FieldChange { path: path.clone(), how, elements: 0 });
            }
        }
        Some(found)
    }

    pub(crate) fn put(&self, root: &mut dyn Any, bits: &[u64]) -> Option<()> {
        self.0.iter().zip(bits).try_for_each(|((_, field), bits)| {
            field.number.swap(field.reach(root)?, *bits).map(drop)
        })
    }
}

/// The operations on a type of numbers of at most 8 bytes.
trait NumberAccess: Sync {
    fn width(&self) -> usize;

    #[cfg(feature = "history")]
    fn bits(&self, place: &dyn Any) -> Option<u64>;

    /// Replaces a number, and returns its old bits.
    fn swap(&self, place: &mut dyn Any, bits: u64) -> Option<u64>;

    /// Replaces a number by a value, which may be a number of another width that fits. Returns the old and new bits.
    fn set(&self, place: &mut dyn Any, value: &Value) -> Option<(u64, u64)>;

    fn value(&self, bits: u64) -> Value;
}

/// A replaced number, as bits. It is converted to a change only if the edit is recorded.
pub(crate) struct ReplacedNumber {
    old: u64,
    new: u64,
    number: &'static dyn NumberAccess,
}

impl ReplacedNumber {
    #[inline]
    pub(crate) fn is_other(&self) -> bool {
        self.old != self.new
    }

    #[inline]
    pub(crate) fn how(&self) -> FieldEdit {
        let width = self.number.width();
        FieldEdit::Set {
            old: Bytes::of_bits(self.old, width),
            new: Bytes::of_bits(self.new, width),
        }
    }

    #[inline]
    pub(crate) fn old(&self) -> Value {
        self.number.value(self.old)
    }
}

struct NumberType<T>(PhantomData<fn() -> T>);

/// Converts the bytes of a number in a save to bits.
fn bits_of(bytes: &[u8]) -> u64 {
    let mut bits = [0; 8];
    bits[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(bits)
}

macro_rules! numbers {
    ($($type:ident $kind:ident: $value:ident => $of:expr),+ $(,)?) => {
        $(impl NumberAccess for NumberType<$type> {
            fn width(&self) -> usize {
                size_of::<$type>()
            }

            #[cfg(feature = "history")]
            fn bits(&self, place: &dyn Any) -> Option<u64> {
                Some(bits_of(&place.downcast_ref::<$type>()?.to_le_bytes()))
            }

            fn swap(&self, place: &mut dyn Any, bits: u64) -> Option<u64> {
                let place = place.downcast_mut::<$type>()?;
                let old = bits_of(&place.to_le_bytes());
                *place = <$type>::from_le_bytes(*bits.to_le_bytes().first_chunk()?);
                Some(old)
            }

            fn set(&self, place: &mut dyn Any, $value: &Value) -> Option<(u64, u64)> {
                let new: $type = if let Value::$kind(number) = $value { *number } else { $of? };
                let new = bits_of(&new.to_le_bytes());
                Some((self.swap(place, new)?, new))
            }

            fn value(&self, bits: u64) -> Value {
                let bytes = bits.to_le_bytes();
                Value::$kind(<$type>::from_le_bytes(bytes.first_chunk().copied().unwrap_or_default()))
            }
        })+

                fn number_of(field: &FieldRecord, value: &dyn Any) -> Option<&'static dyn NumberAccess> {
            Some(match field.kind() {
                $(Kind::$kind if value.is::<$type>() => const { &NumberType::<$type>(PhantomData) },)+
                _ => return None,
            })
        }
    };
}

numbers! {
    u8 U8: value => value.as_u64()?.try_into().ok(),
    u16 U16: value => value.as_u64()?.try_into().ok(),
    u32 U32: value => value.as_u64()?.try_into().ok(),
    u64 U64: value => value.as_u64(),
    i8 I8: value => value.as_i64()?.try_into().ok(),
    i16 I16: value => value.as_i64()?.try_into().ok(),
    i32 I32: value => value.as_i64()?.try_into().ok(),
    i64 I64: value => value.as_i64(),
    f32 F32: value => rounded(value),
    f64 F64: value => match value {
        Value::F32(number) => Some((*number).into()),
        _ => None,
    },
}

/// Rounds a float to the nearest `f32`; `None` if it is too large.
#[expect(clippy::cast_possible_truncation, reason = "it is what is asked for")]
fn rounded(value: &Value) -> Option<f32> {
    let Value::F64(number) = value else { return None };
    let rounded = *number as f32;
    (number.is_finite() == rounded.is_finite()).then_some(rounded)
}

//! Elements that cannot be loaded, in fields with `#[persist(skip_failed)]`.

use std::any::Any;
use std::marker::PhantomData;

use super::decoder::Decoder;
use super::encoder::{Encoder, Stop};
use super::fail::Fail;
use super::field_access::FieldAccess;
use super::persist::CALL;
use super::persist::Generic;
use super::persist::Persist;
use super::type_set::{FieldCodec, TypeSet};
use super::with::Adapter;
use crate::reflect::Kind;

/// Stores a container as it is. A load skips those of its elements that cannot be loaded.
pub enum SkipFailed {}

impl<T: Persist> Adapter<T> for SkipFailed {
    const MIN: usize = T::MIN;
    const IS_ADAPTER: bool = false;
    const PART: FieldCodec = FieldCodec {
        head: 0,
        fixed: false,
        min: T::MIN,
        leaf: T::LEAF,
        cost: CALL,
        on_stack: T::ON_STACK,
        reach: T::__reach,
        access: const { &FieldAccess { decode: decode_skipping::<T>, ..FieldAccess::new::<T>() } },
    };

    fn kind() -> Kind {
        T::persist_kind()
    }

    fn name() -> String {
        T::persist_name()
    }

    fn reach(types: &mut TypeSet) {
        T::__reach(types);
    }

    #[inline(always)]
    fn encode(value: &T, out: &mut Encoder<'_>) -> Result<(), Stop> {
        out.value(value)
    }

    #[inline(always)]
    fn decode(input: &mut Decoder<'_>) -> Result<T, Fail> {
        T::__decode_skipping(input)
    }
}

fn decode_skipping<T: Persist>(
    field: Option<&mut dyn Any>,
    input: &mut Decoder<'_>,
) -> Result<(), Fail> {
    let new = T::__decode_skipping(input)?;
    if let Some(field) = field {
        *field.downcast_mut().ok_or(Fail::Value)? = new;
    }
    Ok(())
}

/// Stores an element of a container that skips failed elements.
pub struct Skipping<A>(PhantomData<A>);

impl<T: 'static, A: Adapter<T>> Adapter<T> for Skipping<A> {
    const MIN: usize = A::MIN;
    const SKIPS: bool = true;
    const LEAF: bool = A::LEAF;
    const IS_ADAPTER: bool = A::IS_ADAPTER;

    fn kind() -> Kind {
        A::kind()
    }

    fn name() -> String {
        A::name()
    }

    fn reach(types: &mut TypeSet) {
        A::reach(types);
    }

    fn module() -> Option<&'static str> {
        A::module()
    }

    #[inline(always)]
    fn encode(value: &T, out: &mut Encoder<'_>) -> Result<(), Stop> {
        A::encode(value, out)
    }

    #[inline(always)]
    fn decode(input: &mut Decoder<'_>) -> Result<T, Fail> {
        A::decode(input)
    }

    #[inline(always)]
    fn decode_into(target: &mut T, input: &mut Decoder<'_>) -> Result<(), Fail> {
        A::decode_into(target, input)
    }
}

//! [`Form`], the type as which a component of the engine is stored in the mirror.

use std::fmt::Display;
use std::marker::PhantomData;

use persist::codec::{Buffer, decode};
use persist::{Component, Error, ErrorKind, Persist, Result};

use crate::entities::{Mode, counting_lost, set_lost_distinct, sort_lost};

/// How components of type `T` are stored in a mirror, and saved.
pub trait Form<T>: 'static {
    /// The component of the mirror.
    type Stored: Component;

    /// Converts a component to its stored form.
    fn store(component: &T) -> Self::Stored;

    /// Clones a stored component.
    fn copy(stored: &Self::Stored) -> Self::Stored;

    /// Converts a stored component back.
    ///
    /// # Errors
    ///
    /// Returns an error if the stored component is not valid for `T`.
    fn restore(stored: Self::Stored) -> Result<T>;
}

/// The form of a component that is stored unchanged.
#[derive(Debug)]
pub enum Itself {}

impl<T: Component + Clone> Form<T> for Itself {
    type Stored = T;

    #[inline]
    fn store(component: &T) -> T {
        component.clone()
    }

    #[inline]
    fn copy(stored: &T) -> T {
        stored.clone()
    }

    #[inline]
    fn restore(stored: T) -> Result<T> {
        Ok(stored)
    }
}

/// The form of a component that is stored as an `S`.
#[derive(Debug)]
pub struct As<S>(PhantomData<S>);

impl<T, S> Form<T> for As<S>
where
    T: TryFrom<S, Error: Display> + 'static,
    S: Component + Clone + for<'t> From<&'t T>,
{
    type Stored = S;

    fn store(component: &T) -> S {
        S::from(component)
    }

    fn copy(stored: &S) -> S {
        stored.clone()
    }

    fn restore(stored: S) -> Result<T> {
        T::try_from(stored).map_err(|error| Error::new(ErrorKind::Refused, error.to_string()))
    }
}

/// Copies a value with its handles translated, by encoding and decoding it.
///
/// Also returns the number of its references to entities that are not saved. With several of them, the value is encoded
/// again, with numbers that do not depend on the order of hash maps: equal worlds have equal saves.
pub(crate) fn translate<T: Persist>(value: &T, mode: Mode, buf: &mut Buffer) -> Result<(T, u32)> {
    let (bytes, stored) = counting_lost(|| buf.encode(value));
    let (value, restored) = if stored > 1 {
        bytes?;
        sort_lost();
        decode_counting(buf.encode(value)?)?
    } else {
        decode_counting(bytes?)?
    };
    Ok((value, if mode == Mode::In { stored } else { restored }))
}

/// Decodes a value, and counts its lost references.
///
/// All of them become the engine's empty entity, unless the value then fails to decode, as a map does whose keys are
/// equal. Then each becomes another placeholder entity.
fn decode_counting<T: Persist>(bytes: &[u8]) -> Result<(T, u32)> {
    let (value, lost) = counting_lost(|| decode(bytes));
    match value {
        Err(_) if lost > 0 => {
            set_lost_distinct();
            decode(bytes).map(|value| (value, lost))
        }
        value => value.map(|value| (value, lost)),
    }
}

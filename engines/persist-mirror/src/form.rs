//! As what a component of the engine is kept in the mirror.

use std::fmt::Display;
use std::marker::PhantomData;

use persist::codec::{Buffer, decode};
use persist::{Component, Error, ErrorKind, Persist, Result};

use crate::entities::{Way, counting_lost, set_lost_apart, sort_lost};

/// As what the components of type `T` are kept in a mirror, and saved.
pub trait Form<T>: 'static {
    /// The component of the mirror.
    type Stored: Component;

    /// What is kept of a component.
    fn store(component: &T) -> Self::Stored;

    /// A copy of what is kept.
    fn copy(stored: &Self::Stored) -> Self::Stored;

    /// The component that was stored.
    ///
    /// # Errors
    ///
    /// Returns why there is no such component.
    fn restore(stored: Self::Stored) -> Result<T>;
}

/// A component that is kept as it is.
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

/// A component that is kept as an `S`.
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

/// A copy of a value whose handles are translated: it goes through its bytes. Also how many of its references lead to
/// entities that are not saved.
pub(crate) fn translate<T: Persist>(value: &T, way: Way, buffer: &mut Buffer) -> Result<(T, u32)> {
    let (bytes, stored) = counting_lost(|| buffer.encode(value));
    let (value, restored) = if stored > 1 {
        bytes?;
        sort_lost();
        decode_apart(buffer.encode(value)?)?
    } else {
        decode_apart(bytes?)?
    };
    Ok((value, if way == Way::In { stored } else { restored }))
}

/// Decodes a value, and counts its references that lead nowhere. They are all the same, unless it does not take that.
fn decode_apart<T: Persist>(bytes: &[u8]) -> Result<(T, u32)> {
    let (value, lost) = counting_lost(|| decode(bytes));
    match value {
        Err(_) if lost > 0 => {
            set_lost_apart();
            decode(bytes).map(|value| (value, lost))
        }
        value => value.map(|value| (value, lost)),
    }
}

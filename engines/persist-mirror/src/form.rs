//! As what a component of the engine is kept in the mirror.

use std::fmt::Display;
use std::marker::PhantomData;

use persist::codec::{Buffer, decode};
use persist::{Component, Error, ErrorKind, Persist, Result};

use crate::entities::{Way, counting_unsaved, turned};

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

/// A copy of a value whose handles are translated: it goes through its bytes.
pub(crate) fn translate<T: Persist>(value: &T, buffer: &mut Buffer) -> Result<T> {
    let (bytes, unsaved) = counting_unsaved(|| buffer.encode(value));
    // Two of them are one to another run of the program, as keys of a map too.
    let is_same = |error: Error| {
        if error.kind() != ErrorKind::InvalidValue {
            return error;
        }
        let message = format!(
            "{}; entities that are not saved are all the same in a save: take them out of the keys of maps and out of \
             sets, or have them saved",
            error.message()
        );
        Error::new(error.kind(), message)
    };
    if unsaved < 2 {
        return decode(bytes?);
    }
    let bytes = bytes.map_err(is_same)?;
    turned(Way::Away, || decode::<T>(bytes)).map_err(is_same)?;
    decode(bytes)
}

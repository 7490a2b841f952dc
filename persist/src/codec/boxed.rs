//! Values that are too large for the stack: they are read and made in boxes.
//!
//! A function that returns a value has a copy of it on the stack, and several where nothing is optimized. A structure of
//! 256 KiB that goes through ten functions would take what a thread has. So a large value has a box of its own from the
//! beginning, its large fields have theirs meanwhile, and each move between boxes is a function that is never inlined.

/// Bytes of a value that are on the stack while it is read into a box; `fields` is that of its fields, the most of one.
#[must_use]
pub const fn on_stack<T>(fields: &[usize]) -> usize {
    if !is_bulky::<T>() {
        return size_of::<T>();
    }
    let (mut most, mut i) = (0, 0);
    while i < fields.len() {
        if fields[i] > most {
            most = fields[i];
        }
        i += 1;
    }
    most
}

/// True if values of the type are read into a box, and moved out of it at last: by value each function that returns one
/// has a copy on the stack, or several where nothing is optimized.
pub(crate) const fn is_bulky<T>() -> bool {
    size_of::<T>() > 4096
}

/// Moves a value into a box. A function of its own, whose copies are on the stack only then.
#[inline(never)]
pub fn boxed<T, E>(value: Result<T, E>) -> Result<Box<T>, E> {
    match value {
        Ok(value) => Ok(Box::new(value)),
        Err(error) => Err(error),
    }
}

/// Moves a value out of its box, likewise.
#[inline(never)]
pub(crate) fn unboxed<T, E>(value: Result<Box<T>, E>) -> Result<T, E> {
    match value {
        Ok(value) => Ok(*value),
        Err(error) => Err(error),
    }
}

/// Moves a value from its box into another type in a box, likewise.
#[inline(never)]
#[expect(clippy::boxed_local, reason = "it is there to be on the stack nowhere else")]
pub(crate) fn boxed_with<T, R>(value: Box<T>, wrap: impl FnOnce(T) -> R) -> Box<R> {
    Box::new(wrap(*value))
}

/// Makes something with what is on the stack only meanwhile.
#[inline(never)]
pub fn apart<R>(make: impl FnOnce() -> R) -> R {
    make()
}

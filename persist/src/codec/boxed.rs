//! Values that are too large for the stack. They are read and created in boxes.
//!
//! A function that returns a value has a copy of it on the stack, and several copies in builds without optimization. A
//! struct of 256 KiB that passes through ten functions would overflow the stack of a thread. So a large value lives in
//! a box from the beginning, and so does each of its large fields while it is read. Each move between boxes is a
//! function that is never inlined.

/// Returns how many bytes of a `T` are on the stack while it is read into a box. `fields` has that number for each of
/// its fields, and the largest one counts.
#[must_use]
pub const fn on_stack<T>(fields: &[usize]) -> usize {
    if !is_bulky::<T>() {
        return size_of::<T>();
    }
    let (mut max, mut i) = (0, 0);
    while i < fields.len() {
        if fields[i] > max {
            max = fields[i];
        }
        i += 1;
    }
    max
}

/// True if values of type `T` are read into a box and moved out of it at the end. Passed by value, each function that
/// returns one would have a copy on the stack, or several in builds without optimization.
pub(crate) const fn is_bulky<T>() -> bool {
    size_of::<T>() > 4096
}

/// Moves a value into a box. It is a function of its own so that its copies are on the stack only during the call.
#[inline(never)]
pub fn boxed<T, E>(value: Result<T, E>) -> Result<Box<T>, E> {
    match value {
        Ok(value) => Ok(Box::new(value)),
        Err(error) => Err(error),
    }
}

/// Moves a value out of its box. Like [`boxed`], it is never inlined.
#[inline(never)]
pub(crate) fn unboxed<T, E>(value: Result<Box<T>, E>) -> Result<T, E> {
    match value {
        Ok(value) => Ok(*value),
        Err(error) => Err(error),
    }
}

/// Moves a value from its box into a box of another type. Like [`boxed`], it is never inlined.
#[inline(never)]
#[expect(clippy::boxed_local, reason = "it is there to be on the stack nowhere else")]
pub(crate) fn boxed_with<T, R>(value: Box<T>, wrap: impl FnOnce(T) -> R) -> Box<R> {
    Box::new(wrap(*value))
}

/// Runs `make` in a frame of its own, so that its temporaries are on the stack only during the call.
#[inline(never)]
pub fn out_of_line<R>(make: impl FnOnce() -> R) -> R {
    make()
}

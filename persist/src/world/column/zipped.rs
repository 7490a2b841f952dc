//! Cursors of several columns that are iterated over together.

use std::iter::Zip;
use std::marker::PhantomData;

use super::cursor::QueryCursor;

/// Flattens nested pairs of zipped iterators to tuples. Zipped slices share one counter, so this is faster than
/// advancing each slice separately.
pub struct Flat<Z, T>(Z, PhantomData<fn() -> T>);

/// Nested pairs that flatten to a tuple `T`.
pub trait Unnest<T> {
    /// Returns the tuple.
    fn unnest(self) -> T;
}

impl<T, Z: Iterator<Item: Unnest<T>>> Iterator for Flat<Z, T> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        self.0.next().map(Unnest::unnest)
    }

    #[inline]
    fn fold<B, F: FnMut(B, T) -> B>(self, init: B, mut add: F) -> B {
        self.0.fold(init, |sum, item| add(sum, item.unnest()))
    }
}

macro_rules! zipped {
    ($run:ty) => { $run };
    ($run:ty, $next:ty $(, $rest:ty)*) => { zipped!(Zip<$run, $next> $(, $rest)*) };
}

macro_rules! zip {
    ($run:expr) => { $run };
    ($run:expr, $next:expr $(, $rest:expr)*) => { zip!($run.zip($next) $(, $rest)*) };
}

macro_rules! tuple {
    ($nest:pat, $($part:ident $at:tt $value:ident),+) => {
        impl<$($part),+> Unnest<($($part,)+)> for tuple!(@ $($part),+) {
            #[inline]
            fn unnest(self) -> ($($part,)+) {
                let $nest = self;
                ($($value,)+)
            }
        }

        impl<$($part: QueryCursor),+> QueryCursor for ($($part,)+) {
            type Item = ($($part::Item,)+);
            type Run = Flat<zipped!($($part::Run),+), Self::Item>;

            #[inline]
            fn empty() -> Self::Run {
                Flat(zip!($($part::empty()),+), PhantomData)
            }

            #[inline]
            fn has_page(&self, objects: usize) -> bool {
                true $(&& self.$at.has_page(objects))+
            }

            #[inline]
            fn page(&mut self) {
                $(self.$at.page();)+
            }

            #[inline]
            fn word(&mut self, word: usize, first: u64) -> u64 {
                // `&`, not `&&`: each cursor must advance, also if another has no bits.
                u64::MAX $(& self.$at.word(word, first))+
            }

            #[inline]
            fn is_all(&self, bits: u64) -> bool {
                true $(&& self.$at.is_all(bits))+
            }

            #[inline]
            fn run(&mut self, bits: u64, count: usize) -> Self::Run {
                Flat(zip!($(self.$at.run(bits, count)),+), PhantomData)
            }

            #[inline]
            fn item(&mut self, bit: u32) -> Option<Self::Item> {
                Some(($(self.$at.item(bit)?,)+))
            }
        }
    };
    (@ $part:ty) => { $part };
    (@ $part:ty, $next:ty $(, $rest:ty)*) => { tuple!(@ ($part, $next) $(, $rest)*) };
}

tuple!(a, A 0 a);
tuple!((a, b), A 0 a, B 1 b);
tuple!(((a, b), c), A 0 a, B 1 b, C 2 c);
tuple!((((a, b), c), d), A 0 a, B 1 b, C 2 c, D 3 d);
tuple!(((((a, b), c), d), e), A 0 a, B 1 b, C 2 c, D 3 d, E 4 e);
tuple!((((((a, b), c), d), e), f), A 0 a, B 1 b, C 2 c, D 3 d, E 4 e, F 5 f);
tuple!(((((((a, b), c), d), e), f), g), A 0 a, B 1 b, C 2 c, D 3 d, E 4 e, F 5 f, G 6 g);
tuple!((((((((a, b), c), d), e), f), g), h), A 0 a, B 1 b, C 2 c, D 3 d, E 4 e, F 5 f, G 6 g, H 7 h);

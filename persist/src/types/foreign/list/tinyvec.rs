//! `tinyvec`: an `ArrayVec` with more elements than its capacity is refused.

use tinyvec::{Array, ArrayVec, TinyVec};

use super::slice_list;

slice_list!(
    {A: Array<Item: Persist> + 'static} ArrayVec<A>, A::Item, |_| ArrayVec::new(),
    room: "ArrayVec", A::CAPACITY
);
slice_list!({A: Array<Item: Persist> + 'static} TinyVec<A>, A::Item, TinyVec::with_capacity);

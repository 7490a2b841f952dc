//! `smallvec`.

use smallvec::{Array, SmallVec};

use super::slice_list;

slice_list!({A: Array<Item: Persist> + 'static} SmallVec<A>, A::Item, SmallVec::with_capacity);

//! `thin-vec`.

use thin_vec::ThinVec;

use super::slice_list;

slice_list!({T: Persist} ThinVec<T>, T, ThinVec::with_capacity);

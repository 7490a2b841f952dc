//! Standard types behind a pointer without a cell: values that do not change.

use std::borrow::Cow;
use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet, LinkedList, VecDeque};
use std::ffi::OsString;
use std::hash::{BuildHasher, Hash};
use std::marker::PhantomData;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::num::{
    NonZeroI8, NonZeroI16, NonZeroI32, NonZeroI64, NonZeroI128, NonZeroIsize, NonZeroU8,
    NonZeroU16, NonZeroU32, NonZeroU64, NonZeroU128, NonZeroUsize, Saturating, Wrapping,
};
use std::ops::{
    ControlFlow, Range, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive,
};
use std::path::PathBuf;
use std::sync::atomic::{
    AtomicBool, AtomicI8, AtomicI16, AtomicI32, AtomicI64, AtomicIsize, AtomicU8, AtomicU16,
    AtomicU32, AtomicU64, AtomicUsize,
};
use std::time::{Duration, SystemTime};

use crate::codec::{CellContent, Persist, Pointee};

macro_rules! values {
    ($($ty:ty;)*) => {$(
        #[diagnostic::do_not_recommend]
        impl Pointee for $ty {
            type As = Self;
        }
    )*};
}

values! {
    (); bool; char; String; PathBuf; OsString; Ordering; Box<str>; Cow<'static, str>; Duration; SystemTime; RangeFull;
    u8; u16; u32; u64; u128; usize; i8; i16; i32; i64; i128; isize; f32; f64;
    NonZeroU8; NonZeroU16; NonZeroU32; NonZeroU64; NonZeroU128; NonZeroUsize;
    NonZeroI8; NonZeroI16; NonZeroI32; NonZeroI64; NonZeroI128; NonZeroIsize;
    AtomicBool; AtomicU8; AtomicU16; AtomicU32; AtomicU64; AtomicUsize;
    AtomicI8; AtomicI16; AtomicI32; AtomicI64; AtomicIsize;
    Ipv4Addr; Ipv6Addr; IpAddr; SocketAddrV4; SocketAddrV6; SocketAddr;
}

macro_rules! generics {
    ($($ty:ident)*) => {$(
        impl<T: Persist> Pointee for $ty<T> {
            type As = Self;
        }
    )*};
}

generics! {
    Option Vec VecDeque LinkedList Wrapping Saturating Reverse
    Range RangeFrom RangeTo RangeToInclusive
}

impl<T: Persist> Pointee for Box<[T]> {
    type As = Self;
}

impl<T: Persist, E: Persist> Pointee for Result<T, E> {
    type As = Self;
}

impl<B: Persist, C: Persist> Pointee for ControlFlow<B, C> {
    type As = Self;
}

impl<T: Persist + Clone> Pointee for Cow<'static, [T]> {
    type As = Self;
}

impl<C: ?Sized + CellContent> Pointee for Box<C> {
    type As = Self;
}

impl<T: ?Sized + 'static> Pointee for PhantomData<T> {
    type As = Self;
}

#[diagnostic::do_not_recommend]
impl<T: Persist, const N: usize> Pointee for [T; N] {
    type As = Self;
}

impl<T: Persist + PartialOrd> Pointee for RangeInclusive<T> {
    type As = Self;
}

impl<T: Persist + Ord> Pointee for BinaryHeap<T> {
    type As = Self;
}

impl<T: Persist + Ord> Pointee for BTreeSet<T> {
    type As = Self;
}

impl<K: Persist + Ord, V: Persist> Pointee for BTreeMap<K, V> {
    type As = Self;
}

impl<T, S> Pointee for HashSet<T, S>
where
    T: Persist + Eq + Hash,
    S: BuildHasher + Default + 'static,
{
    type As = Self;
}

impl<K, V, S> Pointee for HashMap<K, V, S>
where
    K: Persist + Eq + Hash,
    V: Persist,
    S: BuildHasher + Default + 'static,
{
    type As = Self;
}

macro_rules! tuples {
    ($($($part:ident)+;)*) => {$(
        #[diagnostic::do_not_recommend]
        impl<$($part: Persist),+> Pointee for ($($part,)+) {
            type As = Self;
        }
    )*};
}

tuples! {
    A; A B; A B C; A B C D; A B C D E; A B C D E F; A B C D E F G; A B C D E F G H;
    A B C D E F G H I; A B C D E F G H I J; A B C D E F G H I J K; A B C D E F G H I J K L;
}

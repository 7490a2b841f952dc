//! The naive twin of the codec: every type's bytes by simple pushes, written
//! from the rules of the format and sharing no code with the library; and the
//! check that holds the library against it.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::cmp::{self, Reverse};
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet, LinkedList, VecDeque};
use std::ffi::OsString;
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
    AtomicU32, AtomicU64, AtomicUsize, Ordering,
};
use std::sync::{Mutex, RwLock};
use std::time::{Duration, SystemTime};

use persist::codec::{Buffer, decode, decode_into};
use persist::{ErrorKind, Persist};
use persist_tests::support::disarranged::check_value;

/// A value that knows its bytes.
pub(crate) trait Naive {
    /// Pushes the bytes.
    fn naive(&self, out: &mut Vec<u8>);
}

/// The bytes of a value.
pub(crate) fn naive(value: &impl Naive) -> Vec<u8> {
    let mut out = Vec::new();
    value.naive(&mut out);
    out
}

/// One byte up to 247, else 247 + n and n bytes without leading zeros.
pub(crate) fn count(count: usize, out: &mut Vec<u8>) {
    if count <= 247 {
        out.push(u8::try_from(count).expect("at most 247"));
        return;
    }
    let mut bytes = Vec::new();
    let mut rest = count;
    while rest > 0 {
        bytes.push(u8::try_from(rest % 256).expect("a byte"));
        rest /= 256;
    }
    out.push(247 + u8::try_from(bytes.len()).expect("at most 8"));
    out.extend(bytes);
}

fn each<'t, T: Naive + 't>(items: impl Iterator<Item = &'t T>, out: &mut Vec<u8>) {
    for item in items {
        item.naive(out);
    }
}

macro_rules! numbers {
    ($($number:ty)*) => {$(
        impl Naive for $number {
            fn naive(&self, out: &mut Vec<u8>) {
                out.extend(self.to_le_bytes());
            }
        }
    )*};
}

numbers! { u8 u16 u32 u64 u128 i8 i16 i32 i64 i128 f32 f64 }

/// Types whose bytes are those of the value that an expression makes of them.
macro_rules! as_value {
    ($([$($param:ident $(: $bound:path)?),*] $ty:ty, $this:ident => $value:expr;)*) => {$(
        impl<$($param: Naive $(+ $bound)?),*> Naive for $ty {
            fn naive(&self, out: &mut Vec<u8>) {
                let $this = self;
                ($value).naive(out);
            }
        }
    )*};
}

as_value! {
    [] usize, this => u64::try_from(*this).expect("64 bits");
    [] isize, this => i64::try_from(*this).expect("64 bits");
    [] bool, this => if *this { 1_u8 } else { 0 };
    [] char, this => u32::from(*this);
    [] cmp::Ordering, this => *this as i8;
    [] Ipv4Addr, this => this.octets();
    [] Ipv6Addr, this => this.octets();
    [] SocketAddrV4, this => (*this.ip(), this.port());
    [] SocketAddrV6, this => (*this.ip(), this.port(), this.flowinfo(), this.scope_id());
    [] Duration, this => (this.as_secs(), this.subsec_nanos());
    [T] Wrapping<T>, this => this.0;
    [T] Saturating<T>, this => this.0;
    [T] Reverse<T>, this => this.0;
    [T] Box<T>, this => **this;
    [T: Copy] Cell<T>, this => this.get();
    [T] RefCell<T>, this => *this.borrow();
    [T] Mutex<T>, this => *this.lock().expect("not poisoned");
    [T] RwLock<T>, this => *this.read().expect("not poisoned");
}

macro_rules! non_zero {
    ($($ty:ty)*) => {$(
        impl Naive for $ty {
            fn naive(&self, out: &mut Vec<u8>) {
                self.get().naive(out);
            }
        }
    )*};
}

non_zero! {
    NonZeroU8 NonZeroU16 NonZeroU32 NonZeroU64 NonZeroU128 NonZeroUsize
    NonZeroI8 NonZeroI16 NonZeroI32 NonZeroI64 NonZeroI128 NonZeroIsize
}

macro_rules! atomics {
    ($($ty:ty)*) => {$(
        impl Naive for $ty {
            fn naive(&self, out: &mut Vec<u8>) {
                self.load(Ordering::SeqCst).naive(out);
            }
        }
    )*};
}

atomics! {
    AtomicBool AtomicU8 AtomicU16 AtomicU32 AtomicU64 AtomicUsize
    AtomicI8 AtomicI16 AtomicI32 AtomicI64 AtomicIsize
}

impl Naive for () {
    fn naive(&self, _: &mut Vec<u8>) {}
}

impl Naive for RangeFull {
    fn naive(&self, _: &mut Vec<u8>) {}
}

impl<T: ?Sized> Naive for PhantomData<T> {
    fn naive(&self, _: &mut Vec<u8>) {}
}

impl Naive for str {
    fn naive(&self, out: &mut Vec<u8>) {
        count(self.len(), out);
        out.extend(self.bytes());
    }
}

macro_rules! texts {
    ($($ty:ty, $this:ident => $text:expr;)*) => {$(
        impl Naive for $ty {
            fn naive(&self, out: &mut Vec<u8>) {
                let $this = self;
                let text: &str = $text;
                text.naive(out);
            }
        }
    )*};
}

texts! {
    String, this => this;
    Box<str>, this => this;
    Cow<'static, str>, this => this;
    PathBuf, this => this.to_str().expect("UTF-8");
    OsString, this => this.to_str().expect("UTF-8");
}

impl<T: Naive> Naive for Option<T> {
    fn naive(&self, out: &mut Vec<u8>) {
        match self {
            None => out.push(0),
            Some(value) => {
                out.push(1);
                value.naive(out);
            }
        }
    }
}

/// Enums with a tag and one field.
macro_rules! tagged {
    ($([$($param:ident)*] $ty:ty, $first:ident, $second:ident;)*) => {$(
        impl<$($param: Naive),*> Naive for $ty {
            fn naive(&self, out: &mut Vec<u8>) {
                match self {
                    Self::$first(value) => {
                        out.push(0);
                        value.naive(out);
                    }
                    Self::$second(value) => {
                        out.push(1);
                        value.naive(out);
                    }
                }
            }
        }
    )*};
}

tagged! {
    [T E] Result<T, E>, Ok, Err;
    [T E] ControlFlow<T, E>, Continue, Break;
    [] IpAddr, V4, V6;
    [] SocketAddr, V4, V6;
}

impl<T: Naive, const N: usize> Naive for [T; N] {
    fn naive(&self, out: &mut Vec<u8>) {
        each(self.iter(), out);
    }
}

macro_rules! sequences {
    ($($ty:ty)*) => {$(
        impl<T: Naive> Naive for $ty {
            fn naive(&self, out: &mut Vec<u8>) {
                count(self.len(), out);
                each(self.iter(), out);
            }
        }
    )*};
}

sequences! { Vec<T> VecDeque<T> LinkedList<T> Box<[T]> BTreeSet<T> }

impl<T: Naive + Clone> Naive for Cow<'static, [T]> {
    fn naive(&self, out: &mut Vec<u8>) {
        self.clone().into_owned().naive(out);
    }
}

impl<T: Naive + Ord> Naive for BinaryHeap<T> {
    fn naive(&self, out: &mut Vec<u8>) {
        let mut items: Vec<&T> = self.iter().collect();
        items.sort();
        count(items.len(), out);
        each(items.into_iter(), out);
    }
}

impl<K: Naive, V: Naive> Naive for BTreeMap<K, V> {
    fn naive(&self, out: &mut Vec<u8>) {
        count(self.len(), out);
        for (key, value) in self {
            key.naive(out);
            value.naive(out);
        }
    }
}

impl<K: Naive, V: Naive, S> Naive for HashMap<K, V, S> {
    fn naive(&self, out: &mut Vec<u8>) {
        let entries: BTreeMap<Vec<u8>, Vec<u8>> =
            self.iter().map(|(key, value)| (naive(key), naive(value))).collect();
        count(self.len(), out);
        out.extend(entries.into_iter().flat_map(|(key, value)| [key, value].concat()));
    }
}

impl<T: Naive, S> Naive for HashSet<T, S> {
    fn naive(&self, out: &mut Vec<u8>) {
        let items: BTreeSet<Vec<u8>> = self.iter().map(naive).collect();
        count(self.len(), out);
        out.extend(items.into_iter().flatten());
    }
}

macro_rules! ranges {
    ($($range:ident: $($bound:ident)+;)*) => {$(
        impl<T: Naive> Naive for $range<T> {
            fn naive(&self, out: &mut Vec<u8>) {
                $(self.$bound.naive(out);)+
            }
        }
    )*};
}

ranges! {
    Range: start end;
    RangeFrom: start;
    RangeTo: end;
    RangeToInclusive: end;
}

impl<T: Naive> Naive for RangeInclusive<T> {
    fn naive(&self, out: &mut Vec<u8>) {
        self.start().naive(out);
        self.end().naive(out);
    }
}

/// Nanoseconds since 1970 as one number, split by rounding down.
impl Naive for SystemTime {
    fn naive(&self, out: &mut Vec<u8>) {
        let signed = |time: Duration| i128::try_from(time.as_nanos()).expect("fits");
        let nanos = match self.duration_since(SystemTime::UNIX_EPOCH) {
            Ok(after) => signed(after),
            Err(before) => -signed(before.duration()),
        };
        i64::try_from(nanos.div_euclid(1_000_000_000)).expect("fits").naive(out);
        u32::try_from(nanos.rem_euclid(1_000_000_000)).expect("fits").naive(out);
    }
}

macro_rules! tuples {
    ($(($($part:ident $index:tt),+))*) => {$(
        impl<$($part: Naive),+> Naive for ($($part,)+) {
            fn naive(&self, out: &mut Vec<u8>) {
                $(self.$index.naive(out);)+
            }
        }
    )*};
}

tuples! {
    (A 0)
    (A 0, B 1)
    (A 0, B 1, C 2)
    (A 0, B 1, C 2, D 3)
    (A 0, B 1, C 2, D 3, E 4)
    (A 0, B 1, C 2, D 3, E 4, F 5)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11)
}

/// Bytes of a header without fields, and of the head of a block.
const BEFORE: usize = 20 + 5;

/// Takes a value through every path and holds its bytes against the twin's.
pub(crate) fn check<T: Persist + Naive>(value: &T, mut other: T, same: fn(&T, &T) -> bool) {
    let bytes = naive(value);
    assert_eq!(Buffer::new().encode(value).expect("encode"), bytes);
    assert!(bytes.len() >= T::__LAYOUT.min, "{} has fewer bytes than MIN", T::persist_name());

    let back: T = decode(&bytes).expect("decode");
    assert_eq!(naive(&back), bytes);
    assert!(same(&back, value));
    decode_into(&mut other, &bytes).expect("decode over another value");
    assert_eq!(naive(&other), bytes);
    assert!(same(&other, value));

    let save = persist::to_vec(value).expect("save");
    // The one record is at the end of the first block, before its separator.
    let length = save[BEFORE - 4..BEFORE].try_into().expect("4 bytes");
    let end = BEFORE + u32::from_le_bytes(length) as usize - 1;
    assert_eq!(save[end - bytes.len()..end], bytes);
    let back: T = persist::from_slice(&save).expect("load");
    assert!(same(&back, value));
    assert_eq!(persist::to_vec(&back).expect("save again"), save);
    // Some of them: each is loaded eight times.
    let sum = bytes.iter().fold(7_u64, |sum, byte| sum.wrapping_mul(31) + u64::from(*byte));
    if sum.is_multiple_of(16) {
        check_value::<T>(&save, sum);
    }

    // The bytes of a value are no other's beginning.
    for cut in (0..bytes.len()).step_by(1 + bytes.len() / 40) {
        assert!(decode::<T>(&bytes[..cut]).is_err(), "{cut} of {} bytes are a value", bytes.len());
        assert!(decode_into(&mut other, &bytes[..cut]).is_err());
    }
    let longer = [&bytes[..], &[0]].concat();
    assert_eq!(decode::<T>(&longer).err().map(|error| error.kind()), Some(ErrorKind::Damaged));
}

/// For types without an equality, or with one that ignores bits.
pub(crate) fn by_bytes<T: Naive>(a: &T, b: &T) -> bool {
    naive(a) == naive(b)
}

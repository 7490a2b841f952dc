//! What is measured of one data set.

use std::fmt::Debug;
use std::hint::black_box;

use crate::codecs::{Bitcode, Codec, Persist, Savefile, Wincode};
use crate::harness::{Contender, measure};

/// The first rows of each table are the rivals.
const RIVALS: usize = 3;

/// A figure of one data set, and its ratio to the best one of a rival.
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) figure: f64,
    pub(crate) ratio: f64,
}

/// The rows of one data set.
pub(crate) struct Rows {
    /// Microseconds of an encode.
    pub(crate) encode: Vec<Row>,
    /// Microseconds of a decode, the drop of the value included.
    pub(crate) decode: Vec<Row>,
    /// Bytes.
    pub(crate) size: Vec<Row>,
}

/// Measures one data set.
pub(crate) fn run<T>(value: &T, rounds: u32) -> Rows
where
    T: persist::Persist + Clone + PartialEq + Debug,
    Wincode: Codec<T>,
    Bitcode: Codec<T>,
    Savefile: Codec<T>,
{
    let bytes = checked::<T, Persist>(value);
    let wincode = checked::<T, Wincode>(value);
    let bitcode = checked::<T, Bitcode>(value);
    let savefile = checked::<T, Savefile>(value);
    let save = persist::to_vec(value).expect("it can be saved");
    assert!(persist::from_slice::<T>(&save).expect("it has just been saved") == *value);
    let mut existing = value.clone();
    load_into(&mut existing, &bytes);
    assert!(existing == *value);

    let mut copied = bytes.clone();
    let mut saved = save.clone();
    let mut saved_first = save.clone();
    let mut manager = persist::SaveManager::new();
    let encode = measure(
        vec![
            encode::<T, Wincode>(value),
            encode::<T, Bitcode>(value),
            encode::<T, Savefile>(value),
            encode::<T, Persist>(value),
            Contender::new("persist, whole save, manager kept", || {
                saved.clear();
                let size = manager.value_to_writer(&mut saved, black_box(value));
                black_box(size.expect("it can be saved"));
            }),
            Contender::new("persist, whole save, first of a program", || {
                saved_first.clear();
                let mut manager = persist::SaveManager::new();
                let size = manager.value_to_writer(&mut saved_first, black_box(value));
                black_box(size.expect("it can be saved"));
                black_box(saved_first.as_slice());
            }),
            Contender::new("crc32 of persist's bytes", || {
                black_box(crc32fast::hash(black_box(&bytes)));
            }),
            Contender::new("memcpy of persist's bytes (floor)", || {
                copied.copy_from_slice(black_box(&bytes));
                black_box(copied.as_slice());
            }),
        ],
        rounds,
    );
    let decode = measure(
        vec![
            decode::<T, Wincode>(&wincode),
            decode::<T, Bitcode>(&bitcode),
            decode::<T, Savefile>(&savefile),
            decode::<T, Persist>(&bytes),
            Contender::new("persist, whole load", || {
                let value: T = persist::from_slice(black_box(&save)).expect("it was saved");
                drop(black_box(value));
            }),
            Contender::new("persist, into the same value", || {
                load_into(black_box(&mut existing), black_box(&bytes));
            }),
            Contender::new("clone (floor)", || drop(black_box(black_box(value).clone()))),
        ],
        rounds,
    );
    let size = [
        ("wincode", wincode.len()),
        ("bitcode", bitcode.len()),
        ("savefile", savefile.len()),
        ("persist", bytes.len()),
        ("persist, whole save", save.len()),
    ];
    Rows { encode: rows(encode), decode: rows(decode), size: rows(size.map(bytes_of)) }
}

/// The bytes by codec `C`, once they have been seen to give the value back.
fn checked<T: PartialEq, C: Codec<T>>(value: &T) -> Vec<u8> {
    let bytes = C::default().encode(value).to_vec();
    assert!(C::default().decode(&bytes) == *value, "{} lost something", C::NAME);
    bytes
}

fn encode<'a, T, C: Codec<T> + 'a>(value: &'a T) -> Contender<'a> {
    let mut codec = C::default();
    Contender::new(C::NAME, move || {
        black_box(codec.encode(black_box(value)));
    })
}

fn decode<'a, T, C: Codec<T> + 'a>(bytes: &'a [u8]) -> Contender<'a> {
    let mut codec = C::default();
    Contender::new(C::NAME, move || drop(black_box(codec.decode(black_box(bytes)))))
}

fn load_into<T: persist::Persist>(target: &mut T, bytes: &[u8]) {
    persist::codec::decode_into(target, bytes).expect("it has just been encoded");
}

#[expect(clippy::cast_precision_loss, reason = "no data set has 2^52 bytes")]
fn bytes_of((name, bytes): (&'static str, usize)) -> (&'static str, f64) {
    (name, bytes as f64)
}

fn rows(figures: impl IntoIterator<Item = (&'static str, f64)>) -> Vec<Row> {
    let figures: Vec<_> = figures.into_iter().collect();
    let best = figures[..RIVALS].iter().map(|(_, figure)| *figure).fold(f64::INFINITY, f64::min);
    let row = |(name, figure)| Row { name, figure, ratio: figure / best };
    figures.into_iter().map(row).collect()
}

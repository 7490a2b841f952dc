//! How much compression spares and costs, in memory.

use std::hint::black_box;
use std::time::Duration;

use persist::save::Compression;
use persist::{Persist, Result, SaveOptions, Saves};

use crate::timed;

/// One data set under one compression.
pub(crate) struct Row {
    name: &'static str,
    compression: Compression,
    bytes: usize,
    save: Duration,
    load: Duration,
}

const ROUNDS: u32 = 20;

/// The compressions that this build has.
fn all() -> Vec<Compression> {
    vec![
        Compression::None,
        #[cfg(feature = "lz4")]
        Compression::Lz4,
        #[cfg(feature = "zstd")]
        Compression::Zstd(1),
        #[cfg(feature = "zstd")]
        Compression::Zstd(3),
        #[cfg(feature = "zstd")]
        Compression::Zstd(9),
    ]
}

/// The shortest of several times, with one `Saves` for all.
pub(crate) fn measure<T: Persist>(name: &'static str, value: &T) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for compression in all() {
        let saves = Saves::new().save_options(SaveOptions::new().compression(compression));
        let bytes = saves.to_vec(value)?;
        let mut row =
            Row { name, compression, bytes: bytes.len(), save: Duration::MAX, load: Duration::MAX };
        for _ in 0..ROUNDS {
            let (saved, time) = timed(|| saves.to_vec(black_box(value)));
            drop(saved?);
            row.save = row.save.min(time);
            let (loaded, time) = timed(|| persist::from_slice::<T>(black_box(&bytes)));
            drop(loaded?);
            row.load = row.load.min(time);
        }
        rows.push(row);
    }
    Ok(rows)
}

pub(crate) fn print(rows: &[Row]) {
    println!(
        "\ndata set    compression       bytes       save       load, in memory, best of {ROUNDS}"
    );
    for Row { name, compression, bytes, save, load } in rows {
        let [save, load] = [save, load].map(|time| time.as_secs_f64() * 1e3);
        let compression = format!("{compression:?}");
        println!("{name:<12}{compression:<12}{bytes:>11} {save:>7.2} ms {load:>7.2} ms");
    }
}

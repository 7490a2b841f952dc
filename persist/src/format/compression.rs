//! Compression of blocks.

/// How the blocks of a save are compressed. Each block is compressed on its own, so that damage in one does not spread.
///
/// This setting is for saving only: a save itself says how each of its blocks is compressed. Loading a save whose
/// compression needs a feature that the program was built without returns
/// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported). The message names the feature.
///
/// Equal states give equal bytes as long as the version of the compressing crate does not change.
///
/// The variants `Lz4` and `Zstd` exist only with their features: `persist = { version = "...", features = ["lz4"] }` in
/// `Cargo.toml`.
///
/// # Example
///
/// ```
/// use persist::save::Compression;
/// use persist::{SaveOptions, Saves};
///
/// # let compression = Compression::None;
/// # #[cfg(feature = "lz4")]
/// let compression = Compression::Lz4;
/// let saves = Saves::new().save_options(SaveOptions::new().compression(compression));
/// let save = saves.to_vec(&vec![7_u32; 10_000])?;
/// assert_eq!(persist::from_slice::<Vec<u32>>(&save)?, [7; 10_000]);
/// # Ok::<(), persist::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Compression {
    /// Blocks are not compressed.
    #[default]
    None,
    /// LZ4: compresses and decompresses fast, in safe Rust. Needs the feature `lz4`.
    #[cfg(feature = "lz4")]
    Lz4,
    /// Zstandard at a level from 1 (fast) to 22 (small). Level 3 is usual, and other numbers count as the nearest
    /// level.
    ///
    /// The result is smaller than with LZ4, and takes longer. Needs the feature `zstd`, which builds a library in C: it
    /// requires a C compiler, and the promise of safe Rust does not cover it.
    #[cfg(feature = "zstd")]
    Zstd(i32),
}

impl Compression {
    /// Returns the name in documents; `None` without compression.
    #[doc(hidden)]
    #[must_use]
    pub fn name(self) -> Option<&'static str> {
        match self {
            Self::None => None,
            #[cfg(feature = "lz4")]
            Self::Lz4 => Some("lz4"),
            #[cfg(feature = "zstd")]
            Self::Zstd(_) => Some("zstd"),
        }
    }

    /// Returns the compression of this name.
    #[doc(hidden)]
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            #[cfg(feature = "lz4")]
            "lz4" => Some(Self::Lz4),
            #[cfg(feature = "zstd")]
            "zstd" => Some(Self::Zstd(Self::USUAL_LEVEL)),
            _ => None,
        }
    }
}

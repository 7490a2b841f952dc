//! The lock of [`persist`]: a test that reports which changes lose or break the saves of released versions.
//!
//! Name this crate under `[dev-dependencies]`, so that it is in no release.
//!
//! | module | contents |
//! | --- | --- |
//! | [`lock`] | [`assert_lock!`]: the schemas of released versions, and whether their saves still load |
//!
//! ```
//! # use persist::{Persist, Saves};
//! # use persist_tools::lock::Lock;
//! #[derive(Persist)]
//! struct Hero { name: String }
//!
//! // In a test, `persist_tools::assert_lock!(registry)` does this, with the folder `persist.lock`.
//! let saves = Saves::new();
//! saves.register::<Hero>()?;
//! let mut lock = Lock::new();
//! lock.update("0.1.0", &saves.registry())?;
//! assert!(lock.compare(&saves.registry()).loads());
//! # Ok::<(), persist::Error>(())
//! ```

#![forbid(unsafe_code)]

// First, since its macros must be defined before they are used.
#[macro_use]
mod error;

pub mod lock;

/// Exports the items that `assert_lock!` and the command use; not for programs.
#[doc(hidden)]
pub mod __private {
    pub use crate::lock::check::{Mode, check, check_downgrades, check_file};
}

//! What a manager is told before it saves and loads.

use std::sync::Arc;

use super::SaveManager;
use super::manager::Disk;
use crate::codec::Buffer;
use crate::format::Compression;
use crate::storage::{SaveOptions, Storage};
use crate::{Error, ErrorKind, Limits, LoadOptions, Result};

impl SaveManager {
    /// Bounds on what is saved and loaded.
    pub fn set_limits(&mut self, limits: Limits) {
        self.limits = limits;
    }

    /// What loads do about saves that are not the program's own.
    pub fn set_load_options(&mut self, options: LoadOptions) {
        self.options = options;
    }

    /// How saves are compressed from now on; [`Compression::None`] unless this is called. Loads take any.
    pub fn set_compression(&mut self, compression: Compression) {
        self.compression = compression;
    }

    /// Where saves live, in place of the files of the system.
    pub fn set_storage(&mut self, storage: impl Storage + 'static) {
        self.storage = Disk(Arc::new(storage));
    }

    /// How saves are written: backups, and what to do about other programs.
    pub fn set_save_options(&mut self, options: SaveOptions) {
        self.save_options = options;
    }

    /// Name and version of the program, written into the header.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::TooLarge`] if one has more than 65,535 bytes.
    pub fn set_application(&mut self, name: &str, version: &str) -> Result<()> {
        for text in [name, version] {
            if text.len() > usize::from(u16::MAX) {
                return Err(Error::new(
                    ErrorKind::TooLarge,
                    format!(
                        "an application's name or version of {} bytes is over the limit of 65535",
                        text.len()
                    ),
                ));
            }
        }
        self.header.application = Some(name.to_owned());
        self.header.application_version = Some(version.to_owned());
        Ok(())
    }

    /// Gives the manager a buffer of this size. It doubles as records ask for it
    /// and is kept for the next save: at most about twice the largest record.
    pub fn set_buffer_size(&mut self, bytes: usize) {
        self.buffer = Buffer::with_size(bytes);
    }
}

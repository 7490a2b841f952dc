//! What a manager is told before it saves and loads.

use std::sync::Arc;

use super::SaveManager;
use super::manager::Disk;
use crate::format::LONGEST_DEVICE;
use crate::storage::{Patient, SaveOptions, Storage};
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

    pub(crate) fn load_options(&self) -> LoadOptions {
        self.options
    }

    /// Where saves live, in place of the files of the system.
    pub fn set_storage(&mut self, storage: impl Storage + 'static) {
        self.storage = Disk(Arc::new(Patient::new(storage)));
    }

    /// How saves are written: backups, compression, and what to do about other programs.
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

    /// Names the device, so that [`compare`](Self::compare) tells whether two devices have gone on from one save: every save
    /// made for a file counts in its header how many saves of the slot each device has made, as a version vector. It has the counts of the save that it
    /// replaces, and one more for this device. Without a name saves have no counts, or, where the save before has some,
    /// one more for the device without a name, which all such programs share.
    ///
    /// No two devices of a player may have one name. That of the host is mostly good; one that is drawn at random once, and
    /// kept with the settings of the program, always. Counts begin in an epoch that is drawn at random, too, so that the bytes of
    /// such files are not those of another run.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidValue`] if the name is empty, [`ErrorKind::TooLarge`] if it has more than 255 bytes.
    ///
    /// # Example
    ///
    /// ```
    /// use persist::SaveManager;
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let folder = folder.path();
    /// let mut saves = SaveManager::new();
    /// saves.set_device("steam-deck")?;
    /// saves.slots(folder).save("Ada")?;
    /// saves.slots(folder).save("Ada")?;
    /// assert!(saves.slots(folder).list()?[0].header.devices().eq([("steam-deck", 2)]));
    /// # Ok::<(), persist::Error>(())
    /// ```
    pub fn set_device(&mut self, name: &str) -> Result<()> {
        if name.is_empty() {
            return Err(Error::new(
                ErrorKind::InvalidValue,
                "the name of a device is empty; give it one that no other has",
            ));
        }
        if name.len() > LONGEST_DEVICE {
            return Err(Error::new(
                ErrorKind::TooLarge,
                format!(
                    "a device's name of {} bytes is over the limit of {LONGEST_DEVICE}; choose a shorter one",
                    name.len()
                ),
            ));
        }
        self.device = Some(name.to_owned());
        Ok(())
    }
}

use std::path::PathBuf;

use directories::ProjectDirs;

use crate::{Error, ErrorKind, Result};

/// The folder where the system keeps the saves of a program for this user, with the feature `directories`:
/// `~/.local/share/farm/saves`, `~/Library/Application Support/com.Acorn.Farm/saves` or
/// `AppData\Roaming\Acorn\Farm\data\saves`. It is not created.
///
/// # Errors
///
/// [`ErrorKind::NotFound`] if the user has no home folder.
///
/// # Example
///
/// ```no_run
/// let folder = persist::save::slots_folder("com", "Acorn", "Farm")?;
/// std::fs::create_dir_all(&folder)?;
/// let slots = persist::SaveManager::new().slots(&folder)?;
/// # Ok::<(), persist::Error>(())
/// ```
pub fn slots_folder(qualifier: &str, organization: &str, application: &str) -> Result<PathBuf> {
    match ProjectDirs::from(qualifier, organization, application) {
        Some(folders) => Ok(folders.data_dir().join("saves")),
        None => Err(Error::new(
            ErrorKind::NotFound,
            "the user has no home folder for saves; choose a folder yourself",
        )),
    }
}

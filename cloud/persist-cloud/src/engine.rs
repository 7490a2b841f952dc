//! Dispatches calls to the configured service, and retries them.

use persist::Result;
use persist::save::Header;
use persist::storage::{SlotVersion, StoredSlot};

use crate::CloudOptions;
#[cfg(feature = "postgres")]
use crate::database::{Database, Write};
#[cfg(feature = "postgres")]
use crate::failure::new_name;
use crate::failure::retry;
#[cfg(feature = "object-store")]
use crate::objects::Objects;

/// The service of a `Cloud`. Every method retries transient failures.
#[derive(Debug)]
pub(crate) enum Engine {
    #[cfg(feature = "object-store")]
    Objects(Objects),
    #[cfg(feature = "postgres")]
    Database(Database),
}

impl Engine {
    pub(crate) async fn get(
        &self,
        options: &CloudOptions,
        player: &str,
        slot: &str,
    ) -> Result<Option<(Vec<u8>, SlotVersion)>> {
        let limits = &options.limits;
        match self {
            #[cfg(feature = "object-store")]
            Self::Objects(objects) => retry(options, || objects.get(player, slot, limits)).await,
            #[cfg(feature = "postgres")]
            Self::Database(database) => retry(options, || database.get(player, slot, limits)).await,
        }
    }

    pub(crate) async fn put(
        &self,
        options: &CloudOptions,
        player: &str,
        slot: &str,
        expected: Option<SlotVersion>,
        save: Vec<u8>,
        header: &Header,
    ) -> Result<SlotVersion> {
        match self {
            #[cfg(feature = "object-store")]
            Self::Objects(objects) => {
                let put = objects.new_put(player, slot, expected, save, header);
                let dropped = retry(options, || put.attempt(options.backups)).await?;
                put.clean_up(dropped).await;
                Ok(put.version())
            }
            #[cfg(feature = "postgres")]
            Self::Database(database) => {
                let name = &*new_name();
                let (save, backups) = (&*save, options.backups);
                let write =
                    Write { player, slot, expected, save: Some((save, header)), name, backups };
                retry(options, || database.write(&write)).await?;
                Ok(SlotVersion::from_save(save))
            }
        }
    }

    pub(crate) async fn list(
        &self,
        options: &CloudOptions,
        player: &str,
    ) -> Result<Vec<StoredSlot>> {
        let limits = &options.limits;
        match self {
            #[cfg(feature = "object-store")]
            Self::Objects(objects) => retry(options, || objects.list(player, limits)).await,
            #[cfg(feature = "postgres")]
            Self::Database(database) => retry(options, || database.list(player, limits)).await,
        }
    }

    pub(crate) async fn delete(
        &self,
        options: &CloudOptions,
        player: &str,
        slot: &str,
        version: SlotVersion,
    ) -> Result<()> {
        match self {
            #[cfg(feature = "object-store")]
            Self::Objects(objects) => {
                let own = crate::failure::new_name();
                retry(options, || objects.delete(player, slot, &version, &own)).await
            }
            #[cfg(feature = "postgres")]
            Self::Database(database) => {
                let (expected, name) = (Some(version), &*new_name());
                let write = Write { player, slot, expected, save: None, name, backups: 0 };
                retry(options, || database.write(&write)).await
            }
        }
    }

    pub(crate) async fn backups(
        &self,
        options: &CloudOptions,
        player: &str,
        slot: &str,
    ) -> Result<Vec<SlotVersion>> {
        match self {
            #[cfg(feature = "object-store")]
            Self::Objects(objects) => retry(options, || objects.backups(player, slot)).await,
            #[cfg(feature = "postgres")]
            Self::Database(database) => retry(options, || database.backups(player, slot)).await,
        }
    }

    pub(crate) async fn get_version(
        &self,
        options: &CloudOptions,
        player: &str,
        slot: &str,
        version: &SlotVersion,
    ) -> Result<Option<Vec<u8>>> {
        let limits = &options.limits;
        match self {
            #[cfg(feature = "object-store")]
            Self::Objects(objects) => {
                retry(options, || objects.get_version(player, slot, version, limits)).await
            }
            #[cfg(feature = "postgres")]
            Self::Database(database) => {
                retry(options, || database.get_version(player, slot, version, limits)).await
            }
        }
    }
}

//! Removes orphans: saves that no pointer names, uploaded by writers that were killed or gave up.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use futures_util::{StreamExt, TryStreamExt, stream};
use object_store::path::{Path, PathPart};
use object_store::{ObjectMeta, ObjectStoreExt};
use percent_encoding::percent_decode_str;
use persist::storage::check_slot_name;
use persist::{Error, ErrorKind, Result};

use super::{AT_A_TIME, Objects, failed};
use crate::failure::{Attempt, Failure, new_name, retry};
use crate::pointer::Pointer;
use crate::{CloudOptions, Swept};

/// The number of listed objects that are held in memory at a time.
const OBJECTS: usize = 4096;

/// The saves of a slot that are older than the age of the sweep.
struct OldSaves {
    slot: String,
    saves: Vec<ObjectMeta>,
}

impl Objects {
    pub(crate) async fn sweep(&self, options: &CloudOptions, age: Duration) -> Result<Swept> {
        let mut swept = Swept::default();
        let Some(latest) = SystemTime::now().checked_sub(age) else { return Ok(swept) };
        let mut all = self.store.list(Some(&self.prefix)).try_chunks(OBJECTS);
        while let Some(saves) = all.next().await {
            // `try_chunks` drops the objects that were listed before an error. The next sweep finds them.
            let saves = saves.map_err(|error| failed("list", &self.prefix, &error.1).error)?;
            let mut slots: BTreeMap<Path, OldSaves> = BTreeMap::new();
            for meta in saves {
                if SystemTime::from(meta.last_modified) > latest {
                    continue;
                }
                if let Some((pointer, slot)) = self.slot_of(&meta.location) {
                    let new = || OldSaves { slot, saves: Vec::new() };
                    slots.entry(pointer).or_insert_with(new).saves.push(meta);
                }
            }
            let slots = stream::iter(slots).map(|(at, old)| self.sweep_slot(options, at, old));
            let mut slots = slots.buffer_unordered(AT_A_TIME);
            while let Some(slot) = slots.next().await {
                swept.objects += slot.objects;
                swept.bytes += slot.bytes;
                swept.failed += slot.failed;
            }
        }
        Ok(swept)
    }

    /// Returns the path of the pointer and the name of the slot that a save belongs to.
    ///
    /// Returns `None` if the object is not a save.
    fn slot_of(&self, save: &Path) -> Option<(Path, String)> {
        let parts: Vec<_> = save.prefix_match(&self.prefix)?.collect();
        let [player, saves, name, _] = parts.as_slice() else { return None };
        let slot = percent_decode_str(name.as_ref()).decode_utf8().ok()?;
        let is_own = saves.as_ref() == "saves"
            && check_slot_name(&slot).is_ok()
            && PathPart::from(&*slot) == *name;
        let pointer = self.prefix.clone().join(player.clone()).join("slots").join(name.clone());
        is_own.then(|| (pointer, slot.into_owned()))
    }

    async fn sweep_slot(&self, options: &CloudOptions, at: Path, old: OldSaves) -> Swept {
        let own = format!("sweep-{}", new_name());
        let mut swept = Swept::default();
        match retry(options, || self.orphans(&at, &old, &own)).await {
            Ok(orphans) => {
                for orphan in orphans {
                    match self.store.delete(&orphan.location).await {
                        Ok(()) => {
                            swept.objects += 1;
                            swept.bytes += orphan.size;
                        }
                        Err(object_store::Error::NotFound { .. }) => {}
                        Err(_) => swept.failed = 1,
                    }
                }
            }
            Err(_) => swept.failed = 1,
        }
        swept
    }

    /// Returns the saves that the pointer does not name, after making sure that it never will.
    ///
    /// A writer may have uploaded one of them, and be about to put its name into the pointer. So the sweep replaces the
    /// pointer by one with the same saves. Then that writer finds a newer version of the pointer, and gives up.
    async fn orphans<'o>(
        &self,
        at: &Path,
        old: &'o OldSaves,
        own: &str,
    ) -> Attempt<Vec<&'o ObjectMeta>> {
        let (mut pointer, seen) = match self.pointer(at).await? {
            Some((pointer, seen)) => (pointer, Some(seen)),
            None => (Pointer::new(&old.slot), None),
        };
        let is_named = |meta: &ObjectMeta| {
            let name = meta.location.filename().unwrap_or_default();
            pointer.generations.iter().any(|generation| generation.object == name)
        };
        let orphans: Vec<_> = old.saves.iter().filter(|meta| !is_named(meta)).collect();
        if orphans.is_empty() || pointer.has_noted(own) {
            return Ok(orphans);
        }
        pointer.note(own);
        match self.swap(at, &pointer, seen).await? {
            true => Ok(orphans),
            // It was replaced by a writer, or by this sweep if the answer was lost.
            false => {
                let what = format!("{at} was replaced; sweep again");
                Err(Failure::transient(Error::new(ErrorKind::Io, what)))
            }
        }
    }
}

//! Synchronizes a slot of this device with the same slot in another store.

use persist::save::{Header, Keep, Lineage};
use persist::storage::{SlotFolder, SlotStore, SlotVersion};
use persist::{ErrorKind, Result};

use crate::Cloud;

/// The maximum number of times that a sync compares the sides again because another device or program was faster.
const ROUNDS: u32 = 8;

/// The outcome of [`Cloud::sync`].
///
/// After `Pulled` and `Resolved` the local slot has a new save: load it before you save again.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::large_enum_variant, reason = "there is one for each sync")]
pub enum Synced {
    /// Neither side has a save.
    Nothing,
    /// Both sides have the same save. Nothing was written.
    Same,
    /// The local save was newer, and was copied to the remote slot.
    Pushed,
    /// The remote save was newer, and was copied to the local slot. The previous local save became a backup.
    Pulled,
    /// The saves had diverged. The local slot now has a save that continues both, and both are backups. The save was
    /// pushed to the remote slot; if that failed, the next sync pushes it.
    Resolved,
    /// The saves have diverged: each side has changes that the other lacks. Nothing was written.
    Diverged {
        /// The header of the local save, with its info and devices.
        local: Header,
        /// The header of the remote save.
        remote: Header,
    },
}

/// Two diverged saves of a slot, as passed to the function of [`Cloud::sync_with`].
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Sides<'s> {
    /// The newest local backup that both saves continue: the base of a three-way merge. `None` if no backup is one.
    pub base: Option<&'s [u8]>,
    /// The bytes of the local save.
    pub local: &'s [u8],
    /// The bytes of the remote save.
    pub remote: &'s [u8],
}

/// The decision about two diverged saves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resolution {
    /// Writes nothing, so that the program can ask the player: the sync returns [`Synced::Diverged`].
    Ask,
    /// Keeps one of the two saves.
    Keep(Keep),
    /// Replaces both saves by one that was merged from them, as the bytes of a save.
    Merged(Vec<u8>),
}

impl Cloud {
    /// Synchronizes a local slot with a remote one: pushes, pulls, or reports that they have diverged.
    ///
    /// ```
    /// # #[cfg(feature = "object-store")] {
    /// # use persist_cloud::CloudOptions;
    /// use persist::Saves;
    /// use persist_cloud::{Cloud, Synced};
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let folder = folder.path();
    /// # let store = std::sync::Arc::new(object_store::memory::InMemory::new());
    /// # let cloud = Cloud::object_store(store, "game", CloudOptions::new())?;
    /// let remote = cloud.player("7")?; // or any other `SlotStore`
    ///
    /// let saves = Saves::new().device("steam-deck")?; // each device needs a name of its own
    /// let slots = saves.slots(folder);
    /// slots.slot("Ada").save(&7_u32)?; // needs no network
    ///
    /// let local = slots.as_store()?;
    /// assert_eq!(Cloud::sync((&local, "Ada"), (&remote, "Ada"))?, Synced::Pushed);
    /// assert_eq!(Cloud::sync((&local, "Ada"), (&remote, "Ada"))?, Synced::Same);
    /// # }
    /// # Ok::<(), persist::Error>(())
    /// ```
    ///
    /// The version vectors in the headers decide: see [`Header::compare`]. Saving and loading the local slot needs no
    /// network. Call `sync` whenever the device may be online. It blocks, so call it on another thread; both stores can
    /// be sent there.
    ///
    /// Each side is replaced only if it still has the save that was compared. So devices that sync at the same time,
    /// and programs that save meanwhile, do not overwrite each other. If another writer was faster, the sync compares
    /// the sides again.
    ///
    /// A slot that exists on one side only is copied to the other. To delete a slot, delete it on both sides.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`SlotFolder::reconcile_if`], and as `get` and `put_if` of the remote store. The next
    /// call continues from the state that the failed one left. The local slot has its old save or the new one: load it
    /// before you save again.
    pub fn sync<R: SlotStore + ?Sized>(
        local: (&SlotFolder, &str),
        remote: (&R, &str),
    ) -> Result<Synced> {
        Self::sync_with(local, remote, |_| Ok(Resolution::Ask))
    }

    /// Synchronizes two slots like [`sync`](Self::sync), and lets a function decide about diverged saves.
    ///
    /// The function receives both saves and, if a local backup still has it, the save that both continue. It may merge
    /// them, or return the choice of the player. Keep several backups
    /// ([`SaveOptions::backups`](persist::SaveOptions::backups)) if you merge.
    ///
    /// ```
    /// # #[cfg(feature = "object-store")] {
    /// # use persist_cloud::CloudOptions;
    /// use persist::Saves;
    /// use persist_cloud::{Cloud, Resolution, Synced};
    ///
    /// # let store = std::sync::Arc::new(object_store::memory::InMemory::new());
    /// # let cloud = Cloud::object_store(store, "game", CloudOptions::new())?;
    /// # let remote = cloud.player("7")?;
    /// # let folders = [(); 2].map(|()| tempfile::tempdir().unwrap());
    /// # let deck = Saves::new().device("deck")?.slots(folders[0].path());
    /// # let laptop = Saves::new().device("laptop")?.slots(folders[1].path());
    /// // Both have 10 coins, and play on without a network.
    /// deck.slot("Ada").save(&10_u32)?;
    /// Cloud::sync((&deck.as_store()?, "Ada"), (&remote, "Ada"))?;
    /// Cloud::sync((&laptop.as_store()?, "Ada"), (&remote, "Ada"))?;
    /// deck.slot("Ada").save(&15_u32)?;
    /// laptop.slot("Ada").save(&12_u32)?;
    /// Cloud::sync((&deck.as_store()?, "Ada"), (&remote, "Ada"))?;
    ///
    /// let synced = Cloud::sync_with((&laptop.as_store()?, "Ada"), (&remote, "Ada"), |sides| {
    ///     let Some(base) = sides.base else { return Ok(Resolution::Ask) };
    ///     let coins = |save| persist::from_slice::<u32>(save);
    ///     let merged = coins(sides.local)? + coins(sides.remote)? - coins(base)?;
    ///     persist::to_vec(&merged).map(Resolution::Merged)
    /// })?;
    /// assert_eq!(synced, Synced::Resolved);
    /// assert_eq!(*laptop.slot("Ada").load::<u32>()?, 17);
    /// # }
    /// # Ok::<(), persist::Error>(())
    /// ```
    ///
    /// The function is called again if another device pushes a save meanwhile.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`sync`](Self::sync), and any error of the function; nothing is written in that case.
    pub fn sync_with<R: SlotStore + ?Sized>(
        local: (&SlotFolder, &str),
        remote: (&R, &str),
        mut resolve: impl FnMut(&Sides<'_>) -> Result<Resolution>,
    ) -> Result<Synced> {
        // The change of the local slot, if there was one. Later errors must not hide it: otherwise the program would
        // not load the new save, and would overwrite it.
        let mut done = None;
        for round in 1.. {
            match step(local, remote, &mut resolve) {
                Ok(Step::End(synced)) => return Ok(done.unwrap_or(synced)),
                Ok(Step::Next(synced)) => done = Some(synced),
                Err(error) if error.kind() == ErrorKind::Conflict && round < ROUNDS => {}
                Err(error) => return done.ok_or(error),
            }
        }
        unreachable!("the last round returns")
    }
}

enum Step {
    End(Synced),
    /// The local slot got a save that must be pushed in the next round.
    Next(Synced),
}

fn step<R: SlotStore + ?Sized>(
    (local, local_slot): (&SlotFolder, &str),
    (remote, remote_slot): (&R, &str),
    resolve: &mut impl FnMut(&Sides<'_>) -> Result<Resolution>,
) -> Result<Step> {
    // The slow side is read first, so that little time passes between reading the local side and writing it.
    let theirs = remote.get(remote_slot)?;
    let ours = local.get(local_slot)?;
    let push = |version: Option<&SlotVersion>, save: &[u8]| {
        remote.put_if(remote_slot, version, save)?;
        Ok(Step::End(Synced::Pushed))
    };
    let pull = |version: Option<&SlotVersion>, save: &[u8]| {
        let written = local.reconcile_if(local_slot, version, save, save)?;
        let is_identical = written == SlotVersion::from_save(save);
        Ok(if is_identical { Step::End(Synced::Pulled) } else { Step::Next(Synced::Pulled) })
    };
    let ((ours, our_version), (theirs, their_version)) = match (ours, theirs) {
        (None, None) => return Ok(Step::End(Synced::Nothing)),
        (Some((ours, _)), None) => return push(None, &ours),
        (None, Some((theirs, _))) => return pull(None, &theirs),
        (Some(ours), Some(theirs)) if ours.1 == theirs.1 => return Ok(Step::End(Synced::Same)),
        (Some(ours), Some(theirs)) => (ours, theirs),
    };
    let headers = (Header::read(&ours)?, Header::read(&theirs)?);
    match lineage(&headers.0, &headers.1) {
        Lineage::Newer => return push(Some(&their_version), &ours),
        Lineage::Older => return pull(Some(&our_version), &theirs),
        _ => {}
    }
    let base = base(local, local_slot, &headers)?;
    let sides = Sides { base: base.as_deref(), local: &ours, remote: &theirs };
    let resolution = resolve(&sides)?;
    let chosen = match &resolution {
        Resolution::Ask => {
            let (local, remote) = headers;
            return Ok(Step::End(Synced::Diverged { local, remote }));
        }
        Resolution::Keep(Keep::Local) => &ours,
        Resolution::Keep(Keep::Remote) => &theirs,
        Resolution::Merged(save) => save,
    };
    local.reconcile_if(local_slot, Some(&our_version), chosen, &theirs)?;
    Ok(Step::Next(Synced::Resolved))
}

/// Compares the local save with the remote one.
///
/// Saves without version vectors count as diverged: their generations alone do not show whether two devices diverged.
fn lineage(ours: &Header, theirs: &Header) -> Lineage {
    let is_counted = |header: &Header| header.devices().next().is_some();
    if is_counted(ours) || is_counted(theirs) { ours.compare(theirs) } else { Lineage::Diverged }
}

/// Returns the newest local backup that both saves continue.
fn base(
    local: &SlotFolder,
    slot: &str,
    (ours, theirs): &(Header, Header),
) -> Result<Option<Vec<u8>>> {
    let mut backups = local.backups(slot)?.into_iter();
    Ok(backups.find(|backup| {
        Header::read(backup).is_ok_and(|header| {
            [ours, theirs].iter().all(|side| lineage(&header, side) == Lineage::Older)
        })
    }))
}

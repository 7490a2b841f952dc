//! A slot of this device and the same slot elsewhere, brought together.

use persist::save::{Header, Keep, Lineage};
use persist::storage::{SlotFolder, SlotStore, SlotVersion};
use persist::{ErrorKind, Result};

use crate::Cloud;

/// How often a sync looks again because another device or program was faster.
const ROUNDS: u32 = 8;

/// What a sync has done; [`Cloud::sync`] returns it.
///
/// After `Pulled` and `Resolved` the local slot has another save: load it before you save again.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::large_enum_variant, reason = "there is one for each sync")]
pub enum Synced {
    /// Neither side has a save.
    Nothing,
    /// Both sides had the same save.
    Same,
    /// The local save was newer, and is remote now, too.
    Pushed,
    /// The remote save was newer, and is local now, too. The local one became a backup.
    Pulled,
    /// The two had diverged, and the local slot has a save that continues both. Both are backups. If the service could not be
    /// reached any more, the next sync pushes it.
    Resolved,
    /// Each side has what the other lacks. Nothing was written.
    Diverged {
        /// The header of the local save, with its info and devices.
        local: Header,
        /// That of the remote one.
        remote: Header,
    },
}

/// Two saves of a slot that have diverged, for whoever decides.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Sides<'s> {
    /// The newest backup that both continue: the base of a three-way merge. `None` if it is not kept any more.
    pub base: Option<&'s [u8]>,
    /// The local save.
    pub local: &'s [u8],
    /// The remote one.
    pub remote: &'s [u8],
}

/// What becomes of two saves that have diverged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resolution {
    /// Nothing yet: the player is asked.
    Ask,
    /// One of the two stays.
    Keep(Keep),
    /// A save that was made of both takes their place.
    Merged(Vec<u8>),
}

impl Cloud {
    /// Brings a local slot and a remote one together: pushes, pulls, or reports that they have diverged.
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
    /// The version vectors in the headers decide: see [`Header::compare`]. Call it whenever there may be a network: the local
    /// slot is saved and loaded without one. It blocks, so call it on a thread of its own; both stores may go there.
    ///
    /// Each side is replaced only if it still has the save that was compared. So devices that sync at once, and programs
    /// that save meanwhile, do not overwrite each other. If one of them is faster, the sync looks again.
    ///
    /// A slot that one side lacks is copied there. To delete a slot, delete it on both.
    ///
    /// # Errors
    ///
    /// Those of [`SlotFolder::reconcile_if`], and of `get` and `put_if` of the remote store. The next call continues, whatever was
    /// done. The local slot has the save that it had, or the one that it would have got: load it before you save again.
    pub fn sync<R: SlotStore + ?Sized>(
        local: (&SlotFolder, &str),
        remote: (&R, &str),
    ) -> Result<Synced> {
        Self::sync_with(local, remote, |_| Ok(Resolution::Ask))
    }

    /// Brings two slots together like [`sync`](Self::sync), and lets a function decide about saves that have diverged.
    ///
    /// It is called with both saves and, if a backup has it, the one that both continue. It may merge them, or return what the
    /// player has chosen. Keep several backups ([`SaveOptions::backups`](persist::SaveOptions::backups)) if you merge.
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
    /// It may be called more than once, with what another device has pushed meanwhile.
    ///
    /// # Errors
    ///
    /// Those of [`sync`](Self::sync), and what the function returns: nothing is written then.
    pub fn sync_with<R: SlotStore + ?Sized>(
        local: (&SlotFolder, &str),
        remote: (&R, &str),
        mut resolve: impl FnMut(&Sides<'_>) -> Result<Resolution>,
    ) -> Result<Synced> {
        // What has been done to the local slot. From then on no error hides it: else a program would save over it.
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
    /// The local slot has a save that is to be pushed.
    Next(Synced),
}

fn step<R: SlotStore + ?Sized>(
    (local, local_slot): (&SlotFolder, &str),
    (remote, remote_slot): (&R, &str),
    resolve: &mut impl FnMut(&Sides<'_>) -> Result<Resolution>,
) -> Result<Step> {
    // The slow one first, so that what was compared is still so.
    let theirs = remote.get(remote_slot)?;
    let ours = local.get(local_slot)?;
    let push = |version: Option<&SlotVersion>, save: &[u8]| {
        remote.put_if(remote_slot, version, save)?;
        Ok(Step::End(Synced::Pushed))
    };
    let take = |version: Option<&SlotVersion>, save: &[u8]| {
        let written = local.reconcile_if(local_slot, version, save, save)?;
        let is_as_it_is = written == SlotVersion::of(save);
        Ok(if is_as_it_is { Step::End(Synced::Pulled) } else { Step::Next(Synced::Pulled) })
    };
    let ((ours, our_version), (theirs, their_version)) = match (ours, theirs) {
        (None, None) => return Ok(Step::End(Synced::Nothing)),
        (Some((ours, _)), None) => return push(None, &ours),
        (None, Some((theirs, _))) => return take(None, &theirs),
        (Some(ours), Some(theirs)) if ours.1 == theirs.1 => return Ok(Step::End(Synced::Same)),
        (Some(ours), Some(theirs)) => (ours, theirs),
    };
    let headers = (Header::read(&ours)?, Header::read(&theirs)?);
    match lineage(&headers.0, &headers.1) {
        Lineage::Newer => return push(Some(&their_version), &ours),
        Lineage::Older => return take(Some(&our_version), &theirs),
        _ => {}
    }
    let base = base(local, local_slot, &headers)?;
    let sides = Sides { base: base.as_deref(), local: &ours, remote: &theirs };
    let resolution = resolve(&sides)?;
    let kept = match &resolution {
        Resolution::Ask => {
            let (local, remote) = headers;
            return Ok(Step::End(Synced::Diverged { local, remote }));
        }
        Resolution::Keep(Keep::Local) => &ours,
        Resolution::Keep(Keep::Remote) => &theirs,
        Resolution::Merged(save) => save,
    };
    local.reconcile_if(local_slot, Some(&our_version), kept, &theirs)?;
    Ok(Step::Next(Synced::Resolved))
}

/// How the local save relates to the remote one. Generations alone do not show that two devices have diverged.
fn lineage(ours: &Header, theirs: &Header) -> Lineage {
    let is_counted = |header: &Header| header.devices().next().is_some();
    if is_counted(ours) || is_counted(theirs) { ours.compare(theirs) } else { Lineage::Diverged }
}

/// The newest local backup that both saves continue.
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

//! Stores slots in an object store.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use futures_util::{StreamExt, TryStreamExt, stream};
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt, PutMode, PutOptions, PutPayload, UpdateVersion};
use persist::save::Header;
use persist::storage::{SlotVersion, StoredSlot};
use persist::{Error, ErrorKind, Limits};

use crate::failure::{Attempt, Failure, conflict, new_name};
use crate::pointer::{Generation, LONGEST, Pointer};

mod sweep;

/// The size of each part of a multipart upload, in bytes. S3 takes up to 10,000 parts of at least 5 MiB each.
const PART: usize = 8 << 20;

/// The number of concurrent requests in a listing or a sweep.
const AT_A_TIME: usize = 16;
/// The number of parts of an upload that are sent concurrently.
const PARTS_AT_A_TIME: usize = 4;

/// The number of bytes that are read first to find a header. Most headers are shorter.
const HEADER: u64 = 4 << 10;

/// An object store, and the prefix of the objects of all slots.
pub(crate) struct Objects {
    store: Arc<dyn ObjectStore>,
    prefix: Path,
}

impl fmt::Debug for Objects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}", self.store, self.prefix)
    }
}

/// A pointer that was read, and the version of its object, on which a later put is conditional.
type Found = (Pointer, UpdateVersion);

impl Objects {
    pub(crate) fn new(store: Arc<dyn ObjectStore>, prefix: &str) -> Self {
        Self { store, prefix: Path::from(prefix) }
    }

    fn pointers_of(&self, player: &str) -> Path {
        self.prefix.clone().join(player).join("slots")
    }

    fn object_of(&self, player: &str, slot: &str, generation: &Generation) -> Path {
        let saves = self.prefix.clone().join(player).join("saves");
        saves.join(slot).join(generation.object.as_str())
    }

    /// Reads the pointer at a path; returns `None` if it has never been written.
    async fn pointer(&self, at: &Path) -> Attempt<Option<Found>> {
        let found = match self.store.get(at).await {
            Err(object_store::Error::NotFound { .. }) => return Ok(None),
            found => found.map_err(|error| failed("read", at, &error))?,
        };
        let meta = found.meta.clone();
        let damaged = || {
            Failure::transient(Error::new(
                ErrorKind::Damaged,
                format!("{at} is not the pointer of a slot; restore the object"),
            ))
        };
        if meta.size > LONGEST {
            return Err(damaged());
        }
        let bytes = found.bytes().await.map_err(|error| failed("read", at, &error))?;
        let pointer = Pointer::read(&bytes).ok_or_else(damaged)?;
        let version = UpdateVersion { e_tag: meta.e_tag, version: meta.version };
        Ok(Some((pointer, version)))
    }

    async fn pointer_of(&self, player: &str, slot: &str) -> Attempt<Option<Found>> {
        self.pointer(&self.pointers_of(player).join(slot)).await
    }

    pub(crate) async fn get(
        &self,
        player: &str,
        slot: &str,
        limits: &Limits,
    ) -> Attempt<Option<(Vec<u8>, SlotVersion)>> {
        let found = self.pointer_of(player, slot).await?;
        let Some(current) = found.as_ref().and_then(|(pointer, _)| pointer.current()) else {
            return Ok(None);
        };
        let save = self.generation(player, slot, current, limits).await?;
        Ok(Some((save, current.version)))
    }

    pub(crate) async fn backups(&self, player: &str, slot: &str) -> Attempt<Vec<SlotVersion>> {
        let found = self.pointer_of(player, slot).await?;
        let generations = found.map(|(pointer, _)| pointer.generations).unwrap_or_default();
        Ok(generations.iter().skip(1).map(|generation| generation.version).collect())
    }

    pub(crate) async fn get_version(
        &self,
        player: &str,
        slot: &str,
        version: &SlotVersion,
        limits: &Limits,
    ) -> Attempt<Option<Vec<u8>>> {
        let found = self.pointer_of(player, slot).await?;
        let generations = found.map(|(pointer, _)| pointer.generations).unwrap_or_default();
        match generations.iter().find(|generation| generation.version == *version) {
            Some(generation) => self.generation(player, slot, generation, limits).await.map(Some),
            None => Ok(None),
        }
    }

    /// Reads a save, which another writer may have removed after the pointer was read.
    ///
    /// A missing save is therefore a transient failure: the next attempt finds the new pointer.
    async fn generation(
        &self,
        player: &str,
        slot: &str,
        generation: &Generation,
        limits: &Limits,
    ) -> Attempt<Vec<u8>> {
        let at = self.object_of(player, slot, generation);
        let size = generation.version.size();
        if size > limits.bytes {
            let max = limits.bytes;
            let what =
                format!("{at} has {size} bytes, over the limit of {max}; raise `Limits::bytes`");
            return Err(Error::new(ErrorKind::TooLarge, what).into());
        }
        let found = match self.store.get(&at).await {
            Err(error @ object_store::Error::NotFound { .. }) => {
                return Err(Failure::transient(missing(&at, &error)));
            }
            found => found.map_err(|error| failed("read", &at, &error))?,
        };
        let is_right = found.meta.size == size;
        let bytes = match is_right {
            true => found.bytes().await.map_err(|error| failed("read", &at, &error))?.to_vec(),
            false => Vec::new(),
        };
        if !is_right || SlotVersion::from_save(&bytes) != generation.version {
            let what = format!("{at} is not the save that was written; get a backup");
            return Err(Failure::transient(Error::new(ErrorKind::Damaged, what)));
        }
        Ok(bytes)
    }

    pub(crate) async fn list(&self, player: &str, limits: &Limits) -> Attempt<Vec<StoredSlot>> {
        let pointers = self.pointers_of(player);
        let slots: Vec<Path> = self
            .store
            .list(Some(&pointers))
            .map_ok(|meta| meta.location)
            .try_collect()
            .await
            .map_err(|error| failed("list", &pointers, &error))?;
        let slots = stream::iter(slots).map(|at| self.listed(player, at, limits));
        let mut slots: Vec<_> = slots
            .buffer_unordered(AT_A_TIME)
            .try_filter_map(async |slot| Ok(slot))
            .try_collect()
            .await?;
        slots.sort_unstable_by(|one, other| one.name.cmp(&other.name));
        Ok(slots)
    }

    /// Reads the listing of a slot by its pointer; returns `None` if the slot was deleted or its header is damaged.
    async fn listed(&self, player: &str, at: Path, limits: &Limits) -> Attempt<Option<StoredSlot>> {
        let Some((pointer, _)) = self.pointer(&at).await? else { return Ok(None) };
        let Some(Generation { version, .. }) = pointer.current() else { return Ok(None) };
        let object = self.object_of(player, &pointer.slot, &pointer.generations[0]);
        let header = self.header(&object, version.size(), limits).await?;
        let (name, version) = (pointer.slot.clone(), *version);
        Ok(header.map(|header| StoredSlot { name, header, size: version.size(), version }))
    }

    /// Reads the header of a save from its first bytes; returns `None` if the header is damaged.
    async fn header(&self, at: &Path, size: u64, limits: &Limits) -> Attempt<Option<Header>> {
        let mut length = HEADER.min(size);
        loop {
            let start = match self.store.get_range(at, 0..length).await {
                Err(error @ object_store::Error::NotFound { .. }) => {
                    return Err(Failure::transient(missing(at, &error)));
                }
                start => start.map_err(|error| failed("read", at, &error))?,
            };
            if start.len() as u64 != length {
                let what = format!("cannot read {at}: the answer is cut short");
                return Err(Failure::transient(Error::new(ErrorKind::Io, what)));
            }
            match Header::within(&*start, limits) {
                // The metadata, such as a thumbnail, is longer than what was read.
                Err(error) if error.kind() == ErrorKind::Truncated && length < size => {
                    length = size.min((u64::from(limits.metadata) + (512 << 10)).max(length * 2));
                }
                header => return Ok(header.ok()),
            }
        }
    }

    pub(crate) async fn delete(
        &self,
        player: &str,
        slot: &str,
        version: &SlotVersion,
        own: &str,
    ) -> Attempt<()> {
        let at = self.pointers_of(player).join(slot);
        let Some((mut pointer, seen)) = self.pointer(&at).await? else { return Ok(()) };
        match pointer.current() {
            None => return Ok(()),
            Some(_) if pointer.has_noted(own) => return Ok(()),
            Some(current) if current.version != *version => return Err(conflict(slot).into()),
            Some(_) => {}
        }
        // The pointer is emptied, not deleted: a delayed request of a writer could create a deleted object again.
        let generations = std::mem::take(&mut pointer.generations);
        pointer.note(own);
        if !self.swap(&at, &pointer, Some(seen)).await? {
            return self.swapped_by(&at, slot, own).await;
        }
        self.remove(player, slot, &generations).await;
        Ok(())
    }

    /// Replaces the pointer that was read; returns false if another writer has replaced it since.
    async fn swap(&self, at: &Path, new: &Pointer, seen: Option<UpdateVersion>) -> Attempt<bool> {
        let mode = match seen {
            None => PutMode::Create,
            Some(UpdateVersion { e_tag: None, version: None }) => {
                return Err(unconditional(at, "it gives objects no versions").into());
            }
            Some(seen) => PutMode::Update(seen),
        };
        let options = PutOptions { mode, ..PutOptions::default() };
        match self.store.put_opts(at, PutPayload::from(new.write()), options).await {
            Ok(_) => Ok(true),
            Err(
                object_store::Error::Precondition { .. }
                | object_store::Error::AlreadyExists { .. },
            ) => Ok(false),
            Err(error) => Err(failed("write", at, &error)),
        }
    }

    /// Reads the pointer to find out who replaced it: this write, whose answer was lost, or another writer.
    async fn swapped_by(&self, at: &Path, slot: &str, own: &str) -> Attempt<()> {
        match self.pointer(at).await? {
            Some((pointer, _)) if pointer.has_noted(own) => Ok(()),
            _ => Err(conflict(slot).into()),
        }
    }

    /// Removes objects that no pointer names. Errors are ignored: an orphan only takes up space until the next sweep.
    async fn remove(&self, player: &str, slot: &str, generations: &[Generation]) {
        for generation in generations {
            let _ = self.store.delete(&self.object_of(player, slot, generation)).await;
        }
    }

    pub(crate) fn new_put<'o>(
        &'o self,
        player: &'o str,
        slot: &'o str,
        expected: Option<SlotVersion>,
        save: Vec<u8>,
        header: &Header,
    ) -> Put<'o> {
        let object = format!("{:010}-{}", header.generation, new_name());
        let own = Generation { version: SlotVersion::from_save(&save), object };
        let payload = PutPayload::from(save);
        Put {
            objects: self,
            player,
            slot,
            expected,
            payload,
            own,
            seen: OnceLock::new(),
            is_uploaded: AtomicBool::new(false),
        }
    }
}

/// A put of a save, which may take several attempts.
pub(crate) struct Put<'o> {
    objects: &'o Objects,
    player: &'o str,
    slot: &'o str,
    expected: Option<SlotVersion>,
    payload: PutPayload,
    /// The save of this put. Its name shows a retry that an earlier attempt, whose answer was lost, has succeeded.
    own: Generation,
    /// The version of the pointer before the upload began.
    seen: OnceLock<Option<UpdateVersion>>,
    is_uploaded: AtomicBool,
}

impl Put<'_> {
    pub(crate) fn version(&self) -> SlotVersion {
        self.own.version
    }

    /// Writes the save, then the pointer; returns the generations that the pointer no longer names.
    pub(crate) async fn attempt(&self, backups: u32) -> Attempt<Vec<Generation>> {
        let Self { objects, player, slot, expected, own, .. } = self;
        let at = objects.pointers_of(player).join(*slot);
        let (mut pointer, seen) = match objects.pointer(&at).await? {
            Some((pointer, seen)) => (pointer, Some(seen)),
            None => (Pointer::new(slot), None),
        };
        // An earlier attempt has succeeded, and its answer was lost.
        if pointer.has_noted(&own.object) {
            return Ok(Vec::new());
        }
        if pointer.current().map(|current| current.version) != *expected {
            return self.lost(conflict(slot).into()).await;
        }
        // The pointer was replaced by an equal one, as a sweep does: the sweep may be removing this upload.
        if *self.seen.get_or_init(|| seen.clone()) != seen {
            return self.lost(conflict(slot).into()).await;
        }
        if !self.is_uploaded.load(Ordering::Relaxed) {
            self.upload().await?;
            self.is_uploaded.store(true, Ordering::Relaxed);
        }
        pointer.generations.insert(0, own.clone());
        let retained = usize::try_from(backups).unwrap_or(usize::MAX).saturating_add(1);
        let dropped = pointer.generations.split_off(retained.min(pointer.generations.len()));
        pointer.note(&own.object);
        if objects.swap(&at, &pointer, seen).await? {
            return Ok(dropped);
        }
        match objects.swapped_by(&at, slot, &own.object).await {
            Ok(()) => Ok(dropped),
            Err(failure) => self.lost(failure).await,
        }
    }

    /// Removes the save of a put that has lost to another writer.
    ///
    /// No delayed request of this put can make the pointer name that save: the pointer that it would replace no longer
    /// exists.
    async fn lost<T>(&self, failure: Failure) -> Attempt<T> {
        let Self { objects, player, slot, own, .. } = self;
        if !failure.is_transient && self.seen.get().is_some() {
            objects.remove(player, slot, std::slice::from_ref(own)).await;
        }
        Err(failure)
    }

    async fn upload(&self) -> Attempt<()> {
        let Self { objects, player, slot, own, payload, .. } = self;
        let at = objects.object_of(player, slot, own);
        let failed = |error: object_store::Error| failed("write", &at, &error);
        if payload.content_length() <= PART {
            return objects.store.put(&at, payload.clone()).await.map(drop).map_err(failed);
        }
        let mut upload = objects.store.put_multipart(&at).await.map_err(failed)?;
        let mut parts = Vec::new();
        for bytes in payload.clone() {
            for start in (0..bytes.len()).step_by(PART) {
                let part = bytes.slice(start..bytes.len().min(start + PART));
                parts.push(upload.put_part(part.into()));
            }
        }
        let sent =
            stream::iter(parts).buffer_unordered(PARTS_AT_A_TIME).try_for_each(async |()| Ok(()));
        let sent = match sent.await {
            Ok(()) => upload.complete().await.map(drop),
            Err(error) => Err(error),
        };
        if sent.is_err() {
            // The store keeps, and charges for, the parts of an upload that is neither completed nor aborted.
            let _ = upload.abort().await;
        }
        sent.map_err(failed)
    }

    pub(crate) async fn clean_up(&self, dropped: Vec<Generation>) {
        self.objects.remove(self.player, self.slot, &dropped).await;
    }
}

/// Converts an error of the store into a failure, which is transient unless access was denied.
fn failed(doing: &str, at: &Path, error: &object_store::Error) -> Failure {
    use object_store::Error::{NotImplemented, NotSupported, PermissionDenied, Unauthenticated};
    if let NotImplemented { .. } | NotSupported { .. } = error {
        return unconditional(at, &error.to_string()).into();
    }
    let is_transient = !matches!(error, PermissionDenied { .. } | Unauthenticated { .. });
    let error = Error::new(ErrorKind::Io, format!("cannot {doing} {at}: {error}"));
    Failure { error, is_transient }
}

#[cold]
fn missing(at: &Path, error: &object_store::Error) -> Error {
    Error::new(ErrorKind::Damaged, format!("the save {at} is gone, {error}; get a backup"))
}

#[cold]
fn unconditional(at: &Path, why: &str) -> Error {
    Error::new(
        ErrorKind::Unsupported,
        format!(
            "cannot write {at}, the store does not replace objects on a condition: {why}; use a store that does, or `SlotFolder` for files"
        ),
    )
}

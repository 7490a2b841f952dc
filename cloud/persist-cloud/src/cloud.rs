//! [`Cloud`], a service with the slots of many players, and [`CloudSlots`], the slots of one player.

use std::fmt;
use std::future::Future;
use std::io::Cursor;
use std::sync::Arc;
use std::time::Duration;

use persist::save::{Content, Header, Loadable};
use persist::storage::{SlotStore, SlotVersion, StoredSlot, check_slot_name};
use persist::{Error, ErrorKind, Limits, Loaded, Result, Saves};
use persist_tools::verify;
use tokio::runtime::{Builder, Runtime};
#[cfg(feature = "postgres")]
use tokio_postgres::{
    Socket,
    tls::{MakeTlsConnect, TlsConnect},
};

use crate::Request;
use crate::engine::Engine;

/// Options of a [`Cloud`]: how many backups it keeps, how often it retries, and its limits.
///
/// ```
/// use persist_cloud::CloudOptions;
///
/// let options = CloudOptions::new().backups(5);
/// assert_eq!((options.backups, options.attempts), (5, 5));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct CloudOptions {
    /// How many previous saves of a slot are kept as backups. Default 1.
    pub backups: u32,
    /// How many times a request is attempted if it fails with a transient error. Default 5.
    pub attempts: u32,
    /// How long a request may take, including all attempts. Default 30 s.
    pub deadline: Duration,
    /// The limits on the size and structure of the saves that are read and written.
    pub limits: Limits,
}

impl CloudOptions {
    /// The default options.
    pub const DEFAULT: Self = Self {
        backups: 1,
        attempts: 5,
        deadline: Duration::from_secs(30),
        limits: Limits::DEFAULT,
    };

    /// Creates the default options.
    #[must_use]
    pub const fn new() -> Self {
        Self::DEFAULT
    }

    /// Sets [`backups`](Self::backups).
    #[must_use]
    pub const fn backups(self, backups: u32) -> Self {
        Self { backups, ..self }
    }

    /// Sets [`attempts`](Self::attempts).
    #[must_use]
    pub const fn attempts(self, attempts: u32) -> Self {
        Self { attempts, ..self }
    }

    /// Sets [`deadline`](Self::deadline).
    #[must_use]
    pub const fn deadline(self, deadline: Duration) -> Self {
        Self { deadline, ..self }
    }

    /// Sets [`limits`](Self::limits).
    #[must_use]
    pub const fn limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }
}

impl Default for CloudOptions {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// A service that stores the slots of many players. Clones share its connections and its thread.
#[derive(Clone)]
pub struct Cloud(Arc<Shared>);

struct Shared {
    engine: Engine,
    options: CloudOptions,
    /// `None` only while this is dropped.
    runtime: Option<Runtime>,
}

impl Cloud {
    /// Stores slots in an object store, as objects whose names begin with `prefix/`; feature `object-store`.
    ///
    /// A slot is a small object, the *pointer*, at `prefix/PLAYER/slots/SLOT`. It names the objects of the save and of
    /// its backups, under `prefix/PLAYER/saves/SLOT/`. Every save is written to a new object with a unique name. Then
    /// the pointer is replaced if it is still the one that was read. Saves over 8 MiB are uploaded in parts.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::Io`] if the thread cannot be started.
    #[cfg(feature = "object-store")]
    pub fn object_store(
        store: Arc<dyn object_store::ObjectStore>,
        prefix: &str,
        options: CloudOptions,
    ) -> Result<Self> {
        Self::new(Engine::Objects(crate::objects::Objects::new(store, prefix)), options)
    }

    /// Stores slots in a table of PostgreSQL; feature `postgres`.
    ///
    /// Create the table once, by a migration that runs [`POSTGRES_TABLE`](crate::POSTGRES_TABLE). A `Cloud` opens up to
    /// 8 connections as it needs them. `tls` may be `tokio_postgres::NoTls` for a server on this machine, or a
    /// connector of another crate, such as `tokio-postgres-rustls`.
    ///
    /// ```no_run
    /// use persist_cloud::{Cloud, CloudOptions};
    ///
    /// let config = "host=127.0.0.1 user=game dbname=saves".parse()?;
    /// let cloud = Cloud::postgres(config, tokio_postgres::NoTls, CloudOptions::new())?;
    /// println!("{} slots", cloud.player("7")?.list().wait()?.len());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::Io`] if the thread cannot be started.
    #[cfg(feature = "postgres")]
    pub fn postgres<T>(
        config: tokio_postgres::Config,
        tls: T,
        options: CloudOptions,
    ) -> Result<Self>
    where
        T: MakeTlsConnect<Socket> + Clone + Send + Sync + 'static,
        T::Stream: Send,
        T::TlsConnect: Send,
        <T::TlsConnect as TlsConnect<Socket>>::Future: Send,
    {
        Self::new(Engine::Database(crate::database::Database::new(config, tls)), options)
    }

    fn new(engine: Engine, options: CloudOptions) -> Result<Self> {
        let mut runtime = Builder::new_multi_thread();
        runtime.worker_threads(1).thread_name("persist-cloud").enable_all();
        let runtime = runtime.build().map_err(|error| {
            Error::new(ErrorKind::Io, format!("cannot start a thread for the cloud: {error}"))
        })?;
        Ok(Self(Arc::new(Shared { engine, options, runtime: Some(runtime) })))
    }

    /// Returns the slots of a player, without sending a request yet.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::InvalidValue`] if the id is not a valid slot name: see [`check_slot_name`].
    pub fn player(&self, id: &str) -> Result<CloudSlots> {
        check_slot_name(id)?;
        Ok(CloudSlots { cloud: self.clone(), player: id.into() })
    }

    /// Removes orphaned saves of all players: uploads of writers that were killed or gave up.
    ///
    /// Only object stores have orphans. They only take up space, so one sweep a day is enough. Uploads younger than
    /// `age` are kept. Choose an age longer than any write takes, such as a day. With a shorter one, a writer at work
    /// may lose its upload, and its write fails with a conflict. An acknowledged save is never lost.
    ///
    /// A sweep lists all objects under the prefix, and reads the pointer of each slot that has saves older than `age`.
    /// It has no deadline. Dropping the request cancels it.
    ///
    /// ```
    /// # #[cfg(feature = "object-store")] {
    /// # use persist_cloud::{Cloud, CloudOptions};
    /// # let store = std::sync::Arc::new(object_store::memory::InMemory::new());
    /// # let cloud = Cloud::object_store(store, "game", CloudOptions::new())?;
    /// let day = std::time::Duration::from_secs(24 * 60 * 60);
    /// let swept = cloud.sweep(day).wait()?;
    /// println!("{} objects, {} bytes", swept.objects, swept.bytes);
    /// # }
    /// # Ok::<(), persist::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::Io`] if the list of objects cannot be read to its end. The next sweep finds the rest.
    pub fn sweep(&self, age: Duration) -> Request<Swept> {
        self.start(|shared| async move {
            match &shared.engine {
                #[cfg(feature = "object-store")]
                Engine::Objects(objects) => objects.sweep(&shared.options, age).await,
                // Transactions leave no orphans.
                #[cfg(feature = "postgres")]
                Engine::Database(_) => {
                    let _ = age;
                    Ok(Swept::default())
                }
            }
        })
    }

    fn start<T: Send + 'static, F: Future<Output = Result<T>> + Send + 'static>(
        &self,
        call: impl FnOnce(Arc<Shared>) -> F,
    ) -> Request<T> {
        let Some(runtime) = &self.0.runtime else {
            unreachable!("it is dropped with the last of its users")
        };
        Request::running(runtime.spawn(call(Arc::clone(&self.0))))
    }
}

/// The counts of objects that [`Cloud::sweep`] removed, and failed to remove.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Swept {
    /// The number of orphaned saves that were removed.
    pub objects: u64,
    /// The size of the removed saves, in bytes.
    pub bytes: u64,
    /// The number of slots whose pointer could not be read, or some of whose orphans could not be removed. The next
    /// sweep tries again.
    pub failed: u64,
}

impl fmt::Debug for Cloud {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Cloud").field(&self.0.engine).finish()
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // Tokio panics if a runtime is dropped (and waited for) inside an async context, or on its own thread.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// The slots of one player, as returned by [`Cloud::player`].
///
/// The inherent methods return a [`Request`], which you await or [`wait`](Request::wait) for. The methods of
/// [`SlotStore`] block: pass the slots to [`Saves::store`], and save, load and list as in a folder.
///
/// ```
/// # #[cfg(feature = "object-store")] {
/// # use std::sync::Arc;
/// # use persist_cloud::{Cloud, CloudOptions};
/// use persist::save::SlotInfo;
/// use persist::{Persist, Saves};
///
/// #[derive(Persist)]
/// struct Game { level: u32 }
///
/// # let store = Arc::new(object_store::memory::InMemory::new());
/// # let cloud = Cloud::object_store(store, "game", CloudOptions::new())?;
/// let slots = Saves::new().store(Arc::new(cloud.player("7")?));
/// slots.slot("main").info(SlotInfo::new("The Mill")).save(&Game { level: 1 })?;
/// assert_eq!(slots.list()?[0].info.title, "The Mill");
///
/// let mut game = slots.slot("main").load::<Game>()?;
/// game.level += 1;
/// slots.slot("main").save(&game)?; // `Conflict` if another server was first
/// # }
/// # Ok::<(), persist::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct CloudSlots {
    cloud: Cloud,
    player: Arc<str>,
}

impl CloudSlots {
    /// Reads the save of a slot and its version; returns `None` if the slot does not exist.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`SlotStore::get`].
    pub fn get(&self, slot: &str) -> Request<Option<(Vec<u8>, SlotVersion)>> {
        self.start(slot, |shared, player, slot| async move {
            let Shared { engine, options, .. } = &*shared;
            engine.get(options, &player, &slot).await
        })
    }

    /// Replaces the save of a slot if it still has this version; `None` creates the slot.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`SlotStore::put_if`], and [`ErrorKind::Unsupported`] if the service has no
    /// conditional writes.
    pub fn put_if(
        &self,
        slot: &str,
        version: Option<&SlotVersion>,
        save: Vec<u8>,
    ) -> Request<SlotVersion> {
        self.put(slot, version, save, |stored| stored.version)
    }

    /// Saves a value or objects into a slot if the slot still has the `previous` save; `None` creates the slot.
    ///
    /// The content is checked and encoded on this thread. Input and output run on the thread of the [`Cloud`], so that
    /// the request can be awaited. The new header continues the previous one: [`Cloud::sync`] on a device that has the
    /// previous save pulls the new one. It has neither metadata nor a time, like headers of [`Saves::to_vec_after`].
    ///
    /// ```
    /// # #[cfg(feature = "object-store")] {
    /// # use persist_cloud::{Cloud, CloudOptions, CloudSlots};
    /// use persist::{Persist, Saves};
    ///
    /// #[derive(Persist)]
    /// struct Game { level: u32, gold: u64 }
    ///
    /// async fn reward(slots: &CloudSlots, saves: &Saves) -> persist::Result<()> {
    ///     let Some((mut game, stored)) = slots.load::<Game>("main", saves).await? else { return Ok(()) };
    ///     game.gold += 10;
    ///     slots.save("main", Some(&stored), saves, &game).await?; // `Conflict` if another server was first
    ///     Ok(())
    /// }
    ///
    /// let saves = Saves::new();
    /// # let store = std::sync::Arc::new(object_store::memory::InMemory::new());
    /// # let slots = Cloud::object_store(store, "game", CloudOptions::new())?.player("7")?;
    /// let first = slots.save("main", None, &saves, &Game { level: 1, gold: 0 }).wait()?;
    /// assert_eq!(first.header.generation, 1);
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(reward(&slots, &saves))?;
    /// # assert_eq!(slots.list().wait()?[0].header.generation, 2);
    /// # }
    /// # Ok::<(), persist::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`put_if`](Self::put_if) and [`Saves::to_vec_after`]. Nothing is sent if the content
    /// has [no objects](ErrorKind::NoContent), or if a `validate` function [refuses](ErrorKind::Refused) it.
    pub fn save(
        &self,
        slot: &str,
        previous: Option<&StoredSlot>,
        saves: &Saves,
        content: impl Content,
    ) -> Request<StoredSlot> {
        match saves.to_vec_after(content, previous.map(|stored| &stored.header)) {
            Err(error) => Request::refused(error),
            Ok(save) => self.put(slot, previous.map(|old| &old.version), save, |stored| stored),
        }
    }

    /// Loads the value or objects of a slot; returns `None` if the slot does not exist.
    ///
    /// The [`StoredSlot`] is the `previous` save for the next [`save`](Self::save). The [`Loaded`] has the unknown
    /// content of the save: save the `Loaded` to keep it. The save is decoded on the thread that polls the future.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`get`](Self::get) and [`Saves::from_slice`].
    pub async fn load<T: Loadable>(
        &self,
        slot: &str,
        saves: &Saves,
    ) -> Result<Option<(Loaded<T>, StoredSlot)>> {
        let Some((save, version)) = self.get(slot).await? else { return Ok(None) };
        let header = Header::read(&save)?;
        let loaded = saves.from_slice(&save)?;
        let stored = StoredSlot { name: slot.into(), header, size: version.size(), version };
        Ok(Some((loaded, stored)))
    }

    /// Verifies a save, and writes it to a slot.
    fn put<V: Send + 'static>(
        &self,
        slot: &str,
        version: Option<&SlotVersion>,
        save: Vec<u8>,
        answer: impl FnOnce(StoredSlot) -> V + Send + 'static,
    ) -> Request<V> {
        let header = match verify(Cursor::new(&save), &self.cloud.0.options.limits) {
            Err(error) => return Request::refused(error),
            Ok(found) => found.header,
        };
        let version = version.copied();
        self.start(slot, move |shared, player, name| async move {
            let Shared { engine, options, .. } = &*shared;
            let version = engine.put(options, &player, &name, version, save, &header).await?;
            Ok(answer(StoredSlot { name, header, size: version.size(), version }))
        })
    }

    /// Lists the slots with their headers, sorted by name.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`SlotStore::list`].
    pub fn list(&self) -> Request<Vec<StoredSlot>> {
        self.start_any(|shared, player| async move {
            let Shared { engine, options, .. } = &*shared;
            engine.list(options, &player).await
        })
    }

    /// Deletes a slot and its backups if it still has this version.
    ///
    /// Returns `Ok` if the slot has been deleted already.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`SlotStore::delete`].
    pub fn delete(&self, slot: &str, version: &SlotVersion) -> Request<()> {
        let version = *version;
        self.start(slot, move |shared, player, slot| async move {
            let Shared { engine, options, .. } = &*shared;
            engine.delete(options, &player, &slot, version).await
        })
    }

    /// Lists the versions of the backups of a slot, newest first.
    ///
    /// ```
    /// # #[cfg(feature = "object-store")] {
    /// # use persist_cloud::{Cloud, CloudOptions};
    /// # let store = std::sync::Arc::new(object_store::memory::InMemory::new());
    /// # let slots = Cloud::object_store(store, "game", CloudOptions::new())?.player("7")?;
    /// let first = slots.put_if("Ada", None, persist::to_vec(&1_u32)?).wait()?;
    /// slots.put_if("Ada", Some(&first), persist::to_vec(&2_u32)?).wait()?;
    ///
    /// assert_eq!(slots.backups("Ada").wait()?, [first]);
    /// let backup = slots.get_backup("Ada", &first).wait()?.unwrap();
    /// assert_eq!(persist::from_slice::<u32>(&backup)?, 1);
    /// # }
    /// # Ok::<(), persist::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`get`](Self::get).
    pub fn backups(&self, slot: &str) -> Request<Vec<SlotVersion>> {
        self.start(slot, |shared, player, slot| async move {
            let Shared { engine, options, .. } = &*shared;
            engine.backups(options, &player, &slot).await
        })
    }

    /// Reads the save or backup that has this version; returns `None` if it is no longer kept.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`get`](Self::get).
    pub fn get_backup(&self, slot: &str, version: &SlotVersion) -> Request<Option<Vec<u8>>> {
        let version = *version;
        self.start(slot, move |shared, player, slot| async move {
            let Shared { engine, options, .. } = &*shared;
            engine.get_version(options, &player, &slot, &version).await
        })
    }

    fn start<T: Send + 'static, F: Future<Output = Result<T>> + Send + 'static>(
        &self,
        slot: &str,
        call: impl FnOnce(Arc<Shared>, Arc<str>, String) -> F,
    ) -> Request<T> {
        match check_slot_name(slot) {
            Err(error) => Request::refused(error),
            Ok(()) => self.start_any(|shared, player| call(shared, player, slot.to_owned())),
        }
    }

    fn start_any<T: Send + 'static, F: Future<Output = Result<T>> + Send + 'static>(
        &self,
        call: impl FnOnce(Arc<Shared>, Arc<str>) -> F,
    ) -> Request<T> {
        self.cloud.start(|shared| call(shared, Arc::clone(&self.player)))
    }
}

impl SlotStore for CloudSlots {
    fn get(&self, slot: &str) -> Result<Option<(Vec<u8>, SlotVersion)>> {
        Self::get(self, slot).wait()
    }

    fn put_if(
        &self,
        slot: &str,
        version: Option<&SlotVersion>,
        save: &[u8],
    ) -> Result<SlotVersion> {
        Self::put_if(self, slot, version, save.to_vec()).wait()
    }

    fn list(&self) -> Result<Vec<StoredSlot>> {
        Self::list(self).wait()
    }

    fn delete(&self, slot: &str, version: &SlotVersion) -> Result<()> {
        Self::delete(self, slot, version).wait()
    }
}

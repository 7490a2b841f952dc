//! Services with the slots of many players, and the slots of one.

use std::fmt;
use std::future::Future;
use std::io::Cursor;
use std::sync::Arc;
use std::time::Duration;

use persist::save::{Content, Header, Loadable, verify};
use persist::storage::{SlotStore, SlotVersion, StoredSlot, check_slot_name};
use persist::{Error, ErrorKind, Limits, Loaded, Result, Saves};
use tokio::runtime::{Builder, Runtime};
#[cfg(feature = "postgres")]
use tokio_postgres::{
    Socket,
    tls::{MakeTlsConnect, TlsConnect},
};

use crate::Request;
use crate::engine::Engine;

/// How a [`Cloud`] keeps saves, and how long it tries.
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
    /// How many earlier saves of a slot stay. Default 1.
    pub backups: u32,
    /// How often a request is made that fails for a moment. Default 5.
    pub attempts: u32,
    /// How long a request may take, with all attempts. Default 30 s.
    pub deadline: Duration,
    /// The bounds on what is read and written.
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

    /// Makes the default options.
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

/// A service that keeps the slots of many players. Clones share it.
#[derive(Clone)]
pub struct Cloud(Arc<Shared>);

struct Shared {
    engine: Engine,
    options: CloudOptions,
    /// `None` once it is dropped.
    runtime: Option<Runtime>,
}

impl Cloud {
    /// Keeps slots in an object store, in objects whose names begin with `prefix` and a slash; feature `object-store`.
    ///
    /// A slot is a small object, the *pointer*, at `prefix/PLAYER/slots/SLOT`. It names the object of the save and those of
    /// the backups, under `prefix/PLAYER/saves/SLOT/`. A save is written under a name that no other has. Then the pointer is
    /// replaced if it is still the one that was read. Saves of more than 8 MiB are uploaded in parts.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Io`] if the system does not give a thread.
    #[cfg(feature = "object-store")]
    pub fn object_store(
        store: Arc<dyn object_store::ObjectStore>,
        prefix: &str,
        options: CloudOptions,
    ) -> Result<Self> {
        Self::of(Engine::Objects(crate::objects::Objects::new(store, prefix)), options)
    }

    /// Keeps slots in a table of PostgreSQL; feature `postgres`.
    ///
    /// The table is [`POSTGRES_TABLE`](crate::POSTGRES_TABLE), which a migration of the program makes once. Up to 8
    /// connections are made when they are needed. `tls` may be `tokio_postgres::NoTls` for a server on this machine, or that of
    /// another crate.
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
    /// [`ErrorKind::Io`] if the system does not give a thread.
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
        Self::of(Engine::Database(crate::database::Database::new(config, tls)), options)
    }

    fn of(engine: Engine, options: CloudOptions) -> Result<Self> {
        let mut runtime = Builder::new_multi_thread();
        runtime.worker_threads(1).thread_name("persist-cloud").enable_all();
        let runtime = runtime.build().map_err(|error| {
            Error::new(ErrorKind::Io, format!("cannot start a thread for the cloud: {error}"))
        })?;
        Ok(Self(Arc::new(Shared { engine, options, runtime: Some(runtime) })))
    }

    /// The slots of a player. Nothing is asked of the service yet.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidValue`] for an id that is no name of a slot: see [`check_slot_name`].
    pub fn player(&self, id: &str) -> Result<CloudSlots> {
        check_slot_name(id)?;
        Ok(CloudSlots { cloud: self.clone(), player: id.into() })
    }

    /// Removes saves that no slot has, of all players: uploads of writers that were killed, or gave up.
    ///
    /// Only an object store has them. They take room and nothing else, so once a day is enough. A save that was uploaded
    /// less than `age` ago stays. Choose more than a write may take, such as a day. With less a writer at work may lose its
    /// upload, and its write is then a conflict; nothing that was acknowledged is ever lost.
    ///
    /// It lists all objects of the prefix, and reads the pointer of each slot whose save is older than `age`. Dropping the
    /// request ends it. It has no deadline.
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
    /// [`ErrorKind::Io`] if the objects cannot be listed to the end. The next sweep finds the rest.
    pub fn sweep(&self, age: Duration) -> Request<Swept> {
        self.start(|shared| async move {
            match &shared.engine {
                #[cfg(feature = "object-store")]
                Engine::Objects(objects) => objects.sweep(&shared.options, age).await,
                // A transaction leaves nothing.
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

/// What [`Cloud::sweep`] has removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Swept {
    /// How many saves that no slot has.
    pub objects: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Slots that could not be looked at, or not all of whose orphans could be removed. The next sweep tries again.
    pub failed: u64,
}

impl fmt::Debug for Cloud {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Cloud").field(&self.0.engine).finish()
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // To wait for its thread is not allowed where futures are polled, nor on that thread itself.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// The slots of one player.
///
/// Its own methods return a [`Request`], to be awaited or waited for. As a [`SlotStore`] it blocks: give it to
/// [`Saves::store`], and save, load and list as in a folder.
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
    /// Reads the save of a slot, and its version; `None` if there is no such slot.
    ///
    /// # Errors
    ///
    /// Those of [`SlotStore::get`].
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
    /// Those of [`SlotStore::put_if`]; [`ErrorKind::Unsupported`] if the service cannot replace on a condition.
    pub fn put_if(
        &self,
        slot: &str,
        version: Option<&SlotVersion>,
        save: Vec<u8>,
    ) -> Request<SlotVersion> {
        self.put(slot, version, save, |stored| stored.version)
    }

    /// Saves a value or objects into a slot if it still has the save that this one continues; `None` creates the slot.
    ///
    /// The content is checked and encoded on this thread. Input and output run on that of the [`Cloud`], so that the request
    /// can be awaited. The header follows the one before: [`Cloud::sync`] of a device that has that save pulls this one. It
    /// has neither metadata nor a time, as that of [`Saves::to_vec_after`].
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
    ///     let Some((mut game, before)) = slots.load::<Game>("main", saves).await? else { return Ok(()) };
    ///     game.gold += 10;
    ///     slots.save("main", Some(&before), saves, &game).await?; // `Conflict` if another server was first
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
    /// Returns the same errors as [`put_if`](Self::put_if) and [`Saves::to_vec_after`]: nothing is sent if the content has
    /// [no objects](ErrorKind::NoContent), or a `validate` function [refuses](ErrorKind::Refused) it.
    pub fn save(
        &self,
        slot: &str,
        before: Option<&StoredSlot>,
        saves: &Saves,
        content: impl Content,
    ) -> Request<StoredSlot> {
        match saves.to_vec_after(content, before.map(|before| &before.header)) {
            Err(error) => Request::refused(error),
            Ok(save) => self.put(slot, before.map(|before| &before.version), save, |stored| stored),
        }
    }

    /// Loads the value or objects of a slot, with what the next [`save`](Self::save) continues; `None` if there is no such
    /// slot.
    ///
    /// Unknown content is in the [`Loaded`]: save that, and it is in the slot again. The save is decoded where the future is
    /// polled.
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

    /// Checks a save, and puts it into a slot.
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

    /// Lists the slots by name, with their headers.
    ///
    /// # Errors
    ///
    /// Those of [`SlotStore::list`].
    pub fn list(&self) -> Request<Vec<StoredSlot>> {
        self.start_any(|shared, player| async move {
            let Shared { engine, options, .. } = &*shared;
            engine.list(options, &player).await
        })
    }

    /// Deletes a slot, with its backups, if it still has this version; one that is gone already is `Ok`.
    ///
    /// # Errors
    ///
    /// Those of [`SlotStore::delete`].
    pub fn delete(&self, slot: &str, version: &SlotVersion) -> Request<()> {
        let version = *version;
        self.start(slot, move |shared, player, slot| async move {
            let Shared { engine, options, .. } = &*shared;
            engine.delete(options, &player, &slot, version).await
        })
    }

    /// The versions of the backups of a slot, the newest first.
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
    /// Those of [`get`](Self::get).
    pub fn backups(&self, slot: &str) -> Request<Vec<SlotVersion>> {
        self.start(slot, |shared, player, slot| async move {
            let Shared { engine, options, .. } = &*shared;
            engine.backups(options, &player, &slot).await
        })
    }

    /// Reads the save or a backup of this version; `None` if there is none any more.
    ///
    /// # Errors
    ///
    /// Those of [`get`](Self::get).
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

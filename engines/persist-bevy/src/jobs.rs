//! Saves and loads of an app, one after the other, on threads of their own.

use std::fmt;
use std::fs;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use bevy_app::AppExit;
use bevy_ecs::change_detection::{DetectChangesMut, Mut};
use bevy_ecs::message::{Message, Messages};
use bevy_ecs::resource::Resource;
use bevy_ecs::world::World;
use persist::save::{BackgroundSave, LoadReport, SaveOutcome, ValueSaver};
use persist::{Error, ErrorKind, Persist, Result, SaveManager};
use persist_mirror::Mirror;

use crate::saves::{Saves, State, report_left_out};

/// Makes the metadata of a save, which is a save itself.
type Metadata = Arc<dyn Fn() -> Result<Vec<u8>> + Send + Sync>;

/// Makes the metadata of an automatic save.
pub(crate) type Describe = Arc<dyn Fn(&mut World) -> Metadata + Send + Sync>;

/// Asks for a save into a slot. It is taken at the end of the frame, written in the background, and answered by
/// [`SaveFinished`] or [`SaveFailed`].
///
/// ```
/// use bevy_ecs::prelude::*;
/// use persist::Persist;
/// use persist_bevy::SaveRequested;
///
/// #[derive(Persist, Clone)]
/// struct Info { place: String, screenshot: Vec<u8> }
///
/// fn quick_save(mut requests: MessageWriter<SaveRequested>) {
///     let info = Info { place: "The mill".into(), screenshot: vec![0; 100] };
///     requests.write(SaveRequested::slot("quick").metadata(info));
/// }
/// ```
#[derive(Message, Clone)]
pub struct SaveRequested {
    /// `None` for the next one that is saved automatically.
    slot: Option<String>,
    keep: u32,
    metadata: Option<Metadata>,
    /// Whether there is no save if nothing has changed.
    if_modified: bool,
    describe: Option<Describe>,
}

impl SaveRequested {
    /// Into the slot of this name.
    #[must_use]
    pub fn slot(name: impl Into<String>) -> Self {
        Self {
            slot: Some(name.into()),
            keep: 0,
            metadata: None,
            if_modified: false,
            describe: None,
        }
    }

    /// Into the next slot for automatic saves. That many of these are kept: see
    /// [`Slots::auto_save_value`](persist::save::Slots::auto_save_value).
    ///
    /// It is for timers and checkpoints of your own: unlike
    /// [`PersistPlugin::autosave`](crate::PersistPlugin::autosave), it also saves a world in which nothing has changed.
    ///
    /// ```
    /// use bevy_ecs::prelude::*;
    /// use persist_bevy::SaveRequested;
    ///
    /// #[derive(Message)]
    /// struct DoorOpened;
    ///
    /// fn checkpoint(mut doors: MessageReader<DoorOpened>, mut requests: MessageWriter<SaveRequested>) {
    ///     if doors.read().count() > 0 {
    ///         requests.write(SaveRequested::auto(3));
    ///     }
    /// }
    /// ```
    #[must_use]
    pub fn auto(keep: u32) -> Self {
        Self { slot: None, keep, metadata: None, if_modified: false, describe: None }
    }

    /// With this in its header, where a list of slots finds it without a load: a title, a time, the bytes of a screenshot.
    /// At most a MiB, if `Limits::metadata` is not raised.
    ///
    /// It is of this save alone. Those without have what [`Saves::manage`](crate::Saves::manage) set for all saves, or none.
    #[must_use]
    pub fn metadata<M: Persist + Send + Sync>(mut self, metadata: M) -> Self {
        self.metadata = Some(metadata_of(metadata));
        self
    }
}

impl fmt::Debug for SaveRequested {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { slot, keep, metadata, .. } = self;
        f.debug_struct("SaveRequested")
            .field("slot", slot)
            .field("keep", keep)
            .field("has_metadata", &metadata.is_some())
            .finish_non_exhaustive()
    }
}

pub(crate) fn metadata_of<M: Persist + Send + Sync>(metadata: M) -> Metadata {
    Arc::new(move || persist::to_vec(&metadata))
}

/// Asks for a load of a slot: it is read in the background, put into the world at the end of a frame, and answered by
/// [`LoadFinished`] or [`LoadFailed`]. All entities with [`Saved`](crate::Saved) are replaced, and the registered
/// resources that the save has.
#[derive(Message, Clone, Debug)]
pub struct LoadRequested {
    slot: String,
    keeps: bool,
}

impl LoadRequested {
    /// From the slot of this name.
    #[must_use]
    pub fn slot(name: impl Into<String>) -> Self {
        Self { slot: name.into(), keeps: false }
    }

    /// Entities whose objects are in the save, too, stay, and get its components, as an undo of the game wants it. They keep
    /// their other components, which the save knows nothing of. A save has nothing of entities that are not saved, though:
    /// references to them are [`Entity::PLACEHOLDER`](bevy_ecs::entity::Entity::PLACEHOLDER) as after any other load. Give
    /// such an entity the marker `Saved`, or use [`EditSession`](crate::EditSession), which keeps these references.
    #[must_use]
    pub fn keeping_entities(mut self) -> Self {
        self.keeps = true;
        self
    }
}

/// A save is written.
#[derive(Message, Clone, Debug)]
pub struct SaveFinished {
    /// The slot; also that of an automatic save.
    pub slot: String,
    /// The file.
    pub path: PathBuf,
    /// What became of it: one that another save of the slot replaced before it was written is none of its own.
    pub outcome: SaveOutcome,
}

/// A save was not taken or written; the slot has its old one.
#[derive(Message, Clone, Debug)]
pub struct SaveFailed {
    /// The slot; `None` for an automatic save that was given none.
    pub slot: Option<String>,
    /// Why.
    pub error: Arc<Error>,
}

/// A load is in the world.
#[derive(Message, Clone, Debug)]
pub struct LoadFinished {
    /// The slot.
    pub slot: String,
    /// What was not loaded as it was stored.
    pub report: Arc<LoadReport>,
}

/// A load was refused; the world is as it was.
#[derive(Message, Clone, Debug)]
pub struct LoadFailed {
    /// The slot.
    pub slot: String,
    /// Why.
    pub error: Arc<Error>,
}

/// How far the saves and loads of the app are.
#[derive(Resource, Clone, Copy, Debug, Default, PartialEq)]
pub struct SaveProgress {
    /// The part of all bytes that is written, from 0 to 1; `None` while nothing is saved.
    pub saving: Option<f32>,
    /// The part of the entities of a save that is read, from 0 to 1; `None` while nothing is loaded.
    pub loading: Option<f32>,
}

/// Saves now and then, in slots that rotate.
#[derive(Resource)]
pub(crate) struct Autosave {
    pub(crate) every: Duration,
    pub(crate) keep: u32,
    pub(crate) last: Instant,
    pub(crate) describe: Option<Describe>,
}

/// What was asked for.
#[derive(Clone)]
pub(crate) enum Request {
    Save(SaveRequested),
    Load(LoadRequested),
}

/// A save that is being written.
pub(crate) struct Job {
    save: BackgroundSave,
    slot: Option<String>,
}

/// What a thread does meanwhile.
pub(crate) struct Running {
    thread: JoinHandle<Option<Done>>,
    request: Request,
    loaded: Arc<AtomicU32>,
}

/// What a thread takes with it.
struct Work {
    saver: ValueSaver,
    mirror: Option<Mirror>,
    folder: PathBuf,
    request: Request,
    /// The part of a load that is done, as the bits of a number.
    loaded: Arc<AtomicU32>,
}

/// What a thread gives back.
struct Done {
    saver: ValueSaver,
    mirror: Option<Mirror>,
    result: Result<Outcome>,
}

pub(crate) enum Outcome {
    Taken(BackgroundSave),
    Loaded(Box<(persist::World, LoadReport)>),
}

impl Work {
    fn run(self) -> Done {
        let Self { mut saver, mirror, folder, request, loaded } = self;
        let result = match (&request, &mirror) {
            (Request::Save(save), Some(mirror)) => {
                let metadata = save.metadata.as_ref().map(|make| make());
                let set = |metadata| saver.replace_metadata(Some(metadata));
                let result =
                    metadata.transpose().and_then(|metadata| metadata.map(set).transpose());
                result.and_then(|before| {
                    let result;
                    (saver, result) = as_manager(mem::take(&mut saver), |saves| {
                        guarded(|| Self::save(saves, mirror, &folder, save))
                    });
                    if let Some(before) = before {
                        saver.replace_metadata(before)?;
                    }
                    result
                })
            }
            (Request::Save(_), None) => Err(Error::new(ErrorKind::NotFound, "no mirror to save")),
            (Request::Load(LoadRequested { slot, .. }), _) => {
                let path;
                (saver, path) = as_manager(saver, |saves| saves.slots(folder).path(slot));
                saver.watch_loads(move |progress| {
                    loaded.store(progress.fraction().to_bits(), Ordering::Relaxed);
                });
                let loaded = path.and_then(|path| guarded(|| saver.load_value(path)));
                loaded.map(|loaded| Outcome::Loaded(Box::new(loaded)))
            }
        };
        Done { saver, mirror, result }
    }

    fn save(
        saves: &mut SaveManager,
        mirror: &Mirror,
        folder: &Path,
        SaveRequested { slot, keep, .. }: &SaveRequested,
    ) -> Result<Outcome> {
        make_folder(folder);
        let mut slots = saves.slots(folder);
        let save = match slot {
            Some(slot) => slots.save_value_in_background(slot, mirror.world()),
            None => slots.auto_save_value_in_background(*keep, mirror.world()),
        };
        save.map(Outcome::Taken)
    }
}

/// Calls a function with a saver as a manager.
fn as_manager<R>(saver: ValueSaver, run: impl FnOnce(&mut SaveManager) -> R) -> (ValueSaver, R) {
    let mut manager = SaveManager::from(saver);
    let result = run(&mut manager);
    (manager.into(), result)
}

/// Calls code of the game; a panic costs this save or load alone.
fn guarded<R>(run: impl FnOnce() -> Result<R>) -> Result<R> {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| {
        Err(Error::new(ErrorKind::Refused, "a component panicked while it was saved or loaded"))
    })
}

impl State {
    pub(crate) fn path(&mut self, slot: &str) -> Result<PathBuf> {
        let folder = self.folder()?;
        self.manage(|saves| saves.slots(folder).path(slot))
    }

    /// The folder of the slots.
    pub(crate) fn folder(&self) -> Result<PathBuf> {
        let folder = self.folder.clone();
        folder.ok_or_else(|| {
            Error::new(ErrorKind::Refused, "no folder for slots: add `PersistPlugin` to the app")
        })
    }

    /// Waits until no thread has the mirror or the classes.
    pub(crate) fn settle(&mut self) {
        // The thread catches panics, and takes its work first of all.
        if let Some(Running { thread, request, .. }) = self.running.take()
            && let Ok(Some(done)) = thread.join()
        {
            self.take_back(done, request);
        }
    }

    fn take_back(&mut self, done: Done, request: Request) {
        self.saver = done.saver;
        if let Some(mirror) = done.mirror {
            self.mirror = mirror;
        }
        self.finished.push((request, done.result));
    }

    fn start(&mut self, world: &mut World, mut request: Request) {
        let folder = match self.folder() {
            Ok(folder) => folder,
            Err(error) => return self.finished.push((request, Err(error))),
        };
        let mirror = match &mut request {
            Request::Load(_) => None,
            Request::Save(save) => match self.copy(world) {
                Ok(()) if save.if_modified && !self.is_modified() => return,
                Ok(()) => {
                    if let Some(describe) = save.describe.take() {
                        save.metadata = Some(describe(world));
                    }
                    self.set_saved(true);
                    Some(mem::take(&mut self.mirror))
                }
                Err(error) => return self.finished.push((request, Err(error))),
            },
        };
        let saver = mem::take(&mut self.saver);
        let loaded = Arc::new(AtomicU32::new(0));
        let (request_of, loaded_of) = (request.clone(), Arc::clone(&loaded));
        let work = Work { saver, mirror, folder, request: request_of, loaded: loaded_of };
        // If no thread can be started, as on a web page, the work is still here.
        let work = Arc::new(Mutex::new(Some(work)));
        let take = |work: &Mutex<Option<Work>>| {
            work.lock().unwrap_or_else(PoisonError::into_inner).take().map(Work::run)
        };
        let theirs = Arc::clone(&work);
        match thread::Builder::new().name("persist".into()).spawn(move || take(&theirs)) {
            Ok(thread) => self.running = Some(Running { thread, request, loaded }),
            Err(_) => {
                if let Some(done) = take(&work) {
                    self.take_back(done, request);
                }
            }
        }
    }

    /// Says what became of a request.
    fn answer(&mut self, world: &mut World, request: Request, result: Result<Outcome>) {
        match (request, result) {
            (Request::Save(SaveRequested { slot, .. }), Ok(Outcome::Taken(save))) => {
                self.writing.push(Job { save, slot });
            }
            (Request::Save(SaveRequested { slot, .. }), Err(error)) => {
                self.set_saved(false);
                world.write_message(SaveFailed { slot, error: Arc::new(error) });
            }
            (Request::Load(LoadRequested { slot, keeps }), Ok(Outcome::Loaded(loaded))) => {
                let (loaded, mut report) = *loaded;
                match self.place(world, loaded, keeps) {
                    Ok(left_out) => {
                        report_left_out(&mut report, left_out);
                        world.write_message(LoadFinished { slot, report: Arc::new(report) });
                    }
                    Err(error) => {
                        world.write_message(LoadFailed { slot, error: Arc::new(error) });
                    }
                }
            }
            (Request::Load(LoadRequested { slot, .. }), Err(error)) => {
                world.write_message(LoadFailed { slot, error: Arc::new(error) });
            }
            // A save is taken and a load is loaded.
            (Request::Save(_), Ok(Outcome::Loaded(_)))
            | (Request::Load(_), Ok(Outcome::Taken(_))) => {}
        }
    }

    /// One frame. At the last one, all that was asked for is done.
    fn frame(&mut self, world: &mut World, is_last: bool) {
        loop {
            if self.running.as_ref().is_some_and(|running| is_last || running.thread.is_finished())
            {
                self.settle();
            }
            for (request, result) in mem::take(&mut self.finished) {
                self.answer(world, request, result);
            }
            if self.running.is_none()
                && let Some(request) = self.waiting.pop_front()
            {
                self.start(world, request);
            }
            if !is_last || (self.waiting.is_empty() && self.running.is_none()) {
                break;
            }
        }
        let (done, writing) =
            mem::take(&mut self.writing).into_iter().partition(|job| is_last || job.save.is_done());
        self.writing = writing;
        for Job { save, slot } in Vec::from_iter::<Vec<Job>>(done) {
            let path = save.path().to_owned();
            let of_path = || path.file_stem().map(|name| name.to_string_lossy().into_owned());
            let slot = slot.or_else(of_path);
            match save.wait() {
                Ok(outcome) => {
                    let slot = slot.unwrap_or_default();
                    world.write_message(SaveFinished { slot, path, outcome });
                }
                Err(error) => {
                    self.set_saved(false);
                    world.write_message(SaveFailed { slot, error: Arc::new(error) });
                }
            }
        }
    }

    fn progress(&self) -> SaveProgress {
        let is_load = |request: &Request| matches!(request, Request::Load(_));
        let is_waiting = self.waiting.iter().any(is_load);
        let loading = match &self.running {
            Some(running) if is_load(&running.request) => {
                Some(f32::from_bits(running.loaded.load(Ordering::Relaxed)))
            }
            _ => is_waiting.then_some(0.0),
        };
        let is_taking = self.running.as_ref().is_some_and(|running| !is_load(&running.request));
        let parts = self.writing.iter().map(|job| job.save.progress().fraction());
        let slowest = parts.reduce(f32::min);
        SaveProgress { saving: if is_taking { Some(0.0) } else { slowest }, loading }
    }
}

/// Makes the folder of the slots. If it cannot be made, the save says so, unless its storage is none of files.
pub(crate) fn make_folder(folder: &Path) {
    let _ = fs::create_dir_all(folder);
}

/// Does what was asked for.
pub(crate) fn run(world: &mut World) {
    let drain = |world: &mut World| -> Vec<Request> {
        let mut asked = Vec::new();
        if let Some(mut saves) = world.get_resource_mut::<Messages<SaveRequested>>() {
            asked.extend(saves.drain().map(Request::Save));
        }
        if let Some(mut loads) = world.get_resource_mut::<Messages<LoadRequested>>() {
            asked.extend(loads.drain().map(Request::Load));
        }
        asked
    };
    let mut asked = drain(world);
    if let Some(mut auto) = world.get_resource_mut::<Autosave>()
        && auto.last.elapsed() >= auto.every
    {
        auto.last = Instant::now();
        let describe = auto.describe.clone();
        let request =
            SaveRequested { if_modified: true, describe, ..SaveRequested::auto(auto.keep) };
        asked.push(Request::Save(request));
    }
    let is_last = world.get_resource::<Messages<AppExit>>().is_some_and(|exit| !exit.is_empty());
    let progress = world.resource_scope(|world, mut saves: Mut<'_, Saves>| {
        let state = saves.state();
        state.waiting.extend(asked);
        state.frame(world, is_last);
        state.progress()
    });
    world.resource_mut::<SaveProgress>().set_if_neq(progress);
}

//! Requests of an app to save and load, executed one after the other on background threads.

use std::fmt;
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
use persist::save::{BackgroundSave, LoadReport, SaveOutcome, Slot, SlotInfo};
use persist::{Error, ErrorKind, LoadOptions, Loaded, Result};
use persist_mirror::Mirror;

use crate::world_saves::{Settings, State, WorldSaves};

/// A function that creates the info of an automatic save.
pub(crate) type Describe = Arc<dyn Fn(&mut World) -> Result<SlotInfo> + Send + Sync>;

/// A message that requests a save into a slot.
///
/// The save is taken at the end of the frame and written in the background. A [`SaveFinished`] or [`SaveFailed`]
/// reports its result.
///
/// ```
/// use bevy_ecs::prelude::*;
/// use persist::save::SlotInfo;
/// use persist_bevy::SaveRequested;
///
/// fn quick_save(mut requests: MessageWriter<SaveRequested>) {
///     let screenshot = vec![0; 100]; // the bytes of a PNG
///     requests.write(SaveRequested::slot("quick").info(SlotInfo::new("The Mill").thumbnail(screenshot)));
/// }
/// ```
///
/// A world without saved entities and resources, as in a main menu, is not saved: the request fails with
/// [`NoContent`](persist::ErrorKind::NoContent).
#[derive(Message, Clone)]
pub struct SaveRequested {
    /// `None` for the next slot of the automatic saves.
    slot: Option<String>,
    keep: u32,
    info: SlotInfo,
    /// Whether the save is skipped if nothing has changed.
    if_modified: bool,
    describe: Option<Describe>,
}

impl SaveRequested {
    /// Requests a save into the slot with this name.
    #[must_use]
    pub fn slot(name: impl Into<String>) -> Self {
        Self { slot: Some(name.into()), ..Self::auto(0) }
    }

    /// Requests a save into the next slot for automatic saves, and keeps the last `keep` of them.
    ///
    /// See [`Slots::auto`](persist::save::Slots::auto). Use it for your own timers and checkpoints: unlike
    /// [`PersistPlugin::autosave`](crate::PersistPlugin::autosave), it also saves a world without changes.
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
        let info = SlotInfo::default();
        Self { slot: None, keep, info, if_modified: false, describe: None }
    }

    /// Sets the info of this save: a title, play time, thumbnail or value of the game, for a list of slots.
    ///
    /// The list shows the info without a load. The info may have up to 1 MiB, unless you raise
    /// [`Limits::metadata`](persist::Limits::metadata).
    #[must_use]
    pub fn info(self, info: SlotInfo) -> Self {
        Self { info, ..self }
    }

    fn to_slot(&self, settings: &Settings) -> Result<Slot> {
        let slots = settings.slots()?;
        let slot = match &self.slot {
            Some(name) => slots.slot(name),
            None => slots.auto(self.keep),
        };
        Ok(slot.info(self.info.clone()))
    }
}

impl fmt::Debug for SaveRequested {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { slot, keep, info, .. } = self;
        f.debug_struct("SaveRequested")
            .field("slot", slot)
            .field("keep", keep)
            .field("info", info)
            .finish_non_exhaustive()
    }
}

/// A message that requests a load of a slot.
///
/// The slot is read in the background, and applied to the world at the end of a frame. A [`LoadFinished`] or
/// [`LoadFailed`] reports the result. The load replaces all entities with [`Saved`](crate::Saved), and the registered
/// resources that the save has.
#[derive(Message, Clone, Debug)]
pub struct LoadRequested {
    slot: String,
    keeps: bool,
    options: Option<LoadOptions>,
}

impl LoadRequested {
    /// Requests a load of the slot with this name.
    #[must_use]
    pub fn slot(name: impl Into<String>) -> Self {
        Self { slot: name.into(), keeps: false, options: None }
    }

    /// Sets the options of this load, in place of the options of the settings.
    ///
    /// Use it to salvage a damaged save at the player's request.
    #[must_use]
    pub fn load_options(self, options: LoadOptions) -> Self {
        Self { options: Some(options), ..self }
    }

    /// Returns the slot. Its load stores its progress in `loaded`, as the bits of an `f32` from 0 to 1.
    fn to_slot(&self, settings: &Settings, loaded: Arc<AtomicU32>) -> Result<Slot> {
        let mut settings = settings.clone();
        settings.saves = settings.saves.watch_loads(move |progress| {
            loaded.store(progress.fraction().to_bits(), Ordering::Relaxed);
        });
        if let Some(options) = self.options {
            settings.saves = settings.saves.load_options(options);
        }
        Ok(settings.slots()?.slot(&self.slot))
    }

    /// Keeps the current entities whose objects are in the save, and replaces their components, as for an undo in a
    /// game.
    ///
    /// These entities also keep the components that are not saved. References to entities that are not saved become
    /// [`Entity::PLACEHOLDER`](bevy_ecs::entity::Entity::PLACEHOLDER), as in any load. To keep such references, mark
    /// the entities with `Saved`, or use [`EditSession`](crate::EditSession).
    #[must_use]
    pub fn keeping_entities(mut self) -> Self {
        self.keeps = true;
        self
    }
}

/// A message that a save was written.
#[derive(Message, Clone, Debug)]
pub struct SaveFinished {
    /// The name of the slot; `None` for an automatic save that a later save replaced before it was written.
    pub slot: Option<String>,
    /// The file of the slot.
    pub path: Option<PathBuf>,
    /// Whether the save was written, or replaced by a later save of the slot before it was written.
    pub outcome: SaveOutcome,
}

/// A message that a save failed. The slot still has its old save.
#[derive(Message, Clone, Debug)]
pub struct SaveFailed {
    /// The name of the slot; `None` for an automatic save that failed before it got a slot.
    pub slot: Option<String>,
    /// The error of the save.
    pub error: Arc<Error>,
}

/// A message that a load finished, and that the world has the loaded entities.
#[derive(Message, Clone, Debug)]
pub struct LoadFinished {
    /// The name of the slot.
    pub slot: String,
    /// The report of the load: the parts of the save that were converted, left out or unknown.
    pub report: Arc<LoadReport>,
}

/// A message that a load failed. The world is unchanged.
#[derive(Message, Clone, Debug)]
pub struct LoadFailed {
    /// The name of the slot.
    pub slot: String,
    /// The error of the load.
    pub error: Arc<Error>,
}

/// The progress of the saves and loads of the app.
#[derive(Resource, Clone, Copy, Debug, Default, PartialEq)]
pub struct SaveProgress {
    /// The fraction of the bytes that is written, from 0 to 1; `None` while nothing is being saved.
    pub saving: Option<f32>,
    /// The fraction of the entities that is read, from 0 to 1; `None` while nothing is being loaded.
    pub loading: Option<f32>,
}

/// The settings of automatic saves, and the time of the last one.
#[derive(Resource)]
pub(crate) struct Autosave {
    pub(crate) every: Duration,
    pub(crate) keep: u32,
    pub(crate) last: Instant,
    pub(crate) describe: Option<Describe>,
}

/// A requested save or load.
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

/// The request that a thread is executing.
pub(crate) struct Running {
    thread: JoinHandle<Option<Done>>,
    request: Request,
    loaded: Arc<AtomicU32>,
}

/// The work of a thread, with the data that it owns meanwhile.
#[expect(clippy::large_enum_variant, reason = "there is one at a time")]
enum Work {
    Save { mirror: Mirror, slot: Slot, settings: Settings },
    Load { slot: Slot },
}

/// The result of a thread, with the mirror that it returns after a save.
struct Done {
    mirror: Option<Mirror>,
    result: Result<Outcome>,
}

pub(crate) enum Outcome {
    Taken(BackgroundSave),
    Loaded(Box<Loaded<persist::World>>),
}

impl Work {
    fn run(self) -> Done {
        match self {
            Self::Save { mirror, slot, settings } => {
                let save = mirror.content(settings.allows_empty).and_then(|world| {
                    settings.create_folder();
                    guarded(|| slot.save_in_background(world))
                });
                Done { result: save.map(Outcome::Taken), mirror: Some(mirror) }
            }
            Self::Load { slot } => {
                let loaded = guarded(|| slot.load());
                Done { result: loaded.map(Box::new).map(Outcome::Loaded), mirror: None }
            }
        }
    }
}

/// Calls code of the game, and converts a panic into an error of this save or load.
fn guarded<R>(run: impl FnOnce() -> Result<R>) -> Result<R> {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| {
        Err(Error::new(ErrorKind::Refused, "a component panicked while it was saved or loaded"))
    })
}

impl State {
    /// Waits until no thread owns the mirror.
    pub(crate) fn settle(&mut self) {
        // The thread catches panics and always finds its work, so it returns the mirror.
        if let Some(Running { thread, request, .. }) = self.running.take()
            && let Ok(Some(done)) = thread.join()
        {
            self.complete(done, request);
        }
    }

    fn complete(&mut self, done: Done, request: Request) {
        if let Some(mirror) = done.mirror {
            self.mirror = mirror;
        }
        self.finished.push((request, done.result));
    }

    fn start(&mut self, settings: &Settings, world: &mut World, mut request: Request) {
        let loaded = Arc::new(AtomicU32::new(0));
        let work = match &mut request {
            Request::Load(load) => {
                load.to_slot(settings, Arc::clone(&loaded)).map(|slot| Some(Work::Load { slot }))
            }
            Request::Save(save) => self.begin_save(settings, world, save),
        };
        let work = match work {
            Ok(Some(work)) => work,
            Ok(None) => return,
            Err(error) => return self.finished.push((request, Err(error))),
        };
        // If no thread can be started, as in WebAssembly, the work is still here, and is done on this thread.
        let work = Arc::new(Mutex::new(Some(work)));
        let take = |work: &Mutex<Option<Work>>| {
            work.lock().unwrap_or_else(PoisonError::into_inner).take().map(Work::run)
        };
        let theirs = Arc::clone(&work);
        match thread::Builder::new().name("persist".into()).spawn(move || take(&theirs)) {
            Ok(thread) => self.running = Some(Running { thread, request, loaded }),
            Err(_) => {
                if let Some(done) = take(&work) {
                    self.complete(done, request);
                }
            }
        }
    }

    /// Copies the world for a save; returns `None` if the save is skipped because nothing has changed.
    fn begin_save(
        &mut self,
        settings: &Settings,
        world: &mut World,
        save: &mut SaveRequested,
    ) -> Result<Option<Work>> {
        self.copy(world)?;
        if save.if_modified && !self.is_modified() {
            return Ok(None);
        }
        if let Some(describe) = save.describe.take() {
            save.info = describe(world)?;
        }
        let slot = save.to_slot(settings)?;
        self.set_saved(true);
        let mirror = mem::take(&mut self.mirror);
        Ok(Some(Work::Save { mirror, slot, settings: settings.clone() }))
    }

    /// Applies the result of a request, and writes its message.
    fn answer(&mut self, world: &mut World, request: Request, result: Result<Outcome>) {
        match (request, result) {
            (Request::Save(SaveRequested { slot, .. }), Ok(Outcome::Taken(save))) => {
                self.writing.push(Job { save, slot });
            }
            (Request::Save(SaveRequested { slot, .. }), Err(error)) => {
                self.set_saved(false);
                world.write_message(SaveFailed { slot, error: Arc::new(error) });
            }
            (Request::Load(LoadRequested { slot, keeps, .. }), Ok(Outcome::Loaded(loaded))) => {
                match self.place(world, *loaded, keeps) {
                    Ok(report) => {
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
            // Unreachable: a save returns `Taken`, and a load returns `Loaded`.
            (Request::Save(_), Ok(Outcome::Loaded(_)))
            | (Request::Load(_), Ok(Outcome::Taken(_))) => {}
        }
    }

    /// Processes requests and results for one frame. The last frame of the app waits for all of them.
    fn frame(&mut self, settings: &Settings, world: &mut World, is_last: bool) {
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
                self.start(settings, world, request);
            }
            if !is_last || (self.waiting.is_empty() && self.running.is_none()) {
                break;
            }
        }
        if is_last && !self.writing.is_empty() {
            settings.wait_for_writes();
        }
        let (done, writing) =
            mem::take(&mut self.writing).into_iter().partition(|job| is_last || job.save.is_done());
        self.writing = writing;
        for Job { save, slot } in Vec::from_iter::<Vec<Job>>(done) {
            let path = save.path().map(Path::to_owned);
            let name = path.as_deref().and_then(Path::file_stem);
            let slot = slot.or_else(|| name.map(|name| name.to_string_lossy().into_owned()));
            match save.wait() {
                Ok(outcome) => {
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

/// The system that executes requested saves and loads.
pub(crate) fn run(world: &mut World) {
    let drain = |world: &mut World| -> Vec<Request> {
        let mut requests = Vec::new();
        if let Some(mut saves) = world.get_resource_mut::<Messages<SaveRequested>>() {
            requests.extend(saves.drain().map(Request::Save));
        }
        if let Some(mut loads) = world.get_resource_mut::<Messages<LoadRequested>>() {
            requests.extend(loads.drain().map(Request::Load));
        }
        requests
    };
    let mut requests = drain(world);
    if let Some(mut auto) = world.get_resource_mut::<Autosave>()
        && auto.last.elapsed() >= auto.every
    {
        auto.last = Instant::now();
        let describe = auto.describe.clone();
        let request =
            SaveRequested { if_modified: true, describe, ..SaveRequested::auto(auto.keep) };
        requests.push(Request::Save(request));
    }
    let is_last = world.get_resource::<Messages<AppExit>>().is_some_and(|exit| !exit.is_empty());
    let progress = world.resource_scope(|world, mut saves: Mut<'_, WorldSaves>| {
        let (settings, state) = saves.parts();
        state.waiting.extend(requests);
        state.frame(settings, world, is_last);
        state.progress()
    });
    world.resource_mut::<SaveProgress>().set_if_neq(progress);
}

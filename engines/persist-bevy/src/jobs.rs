//! Saves and loads of an app, one after the other, on threads of their own.

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

/// Makes the info of an automatic save.
pub(crate) type Describe = Arc<dyn Fn(&mut World) -> Result<SlotInfo> + Send + Sync>;

/// Asks for a save into a slot. It is taken at the end of the frame, written in the background, and answered by
/// [`SaveFinished`] or [`SaveFailed`].
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
/// A world in which nothing is to be saved, as in a main menu, is not saved: the error is
/// [`NoContent`](persist::ErrorKind::NoContent).
#[derive(Message, Clone)]
pub struct SaveRequested {
    /// `None` for the next one that is saved automatically.
    slot: Option<String>,
    keep: u32,
    info: SlotInfo,
    /// Whether there is no save if nothing has changed.
    if_modified: bool,
    describe: Option<Describe>,
}

impl SaveRequested {
    /// Into the slot of this name.
    #[must_use]
    pub fn slot(name: impl Into<String>) -> Self {
        Self { slot: Some(name.into()), ..Self::auto(0) }
    }

    /// Into the next slot for automatic saves. That many of these are kept: see
    /// [`Slots::auto`](persist::save::Slots::auto).
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
        let info = SlotInfo::default();
        Self { slot: None, keep, info, if_modified: false, describe: None }
    }

    /// Sets title, play time, thumbnail or a value of the game's own, which a list of slots shows without a load. It is the
    /// info of this save alone. At most 1 MiB, if [`Limits::metadata`](persist::Limits::metadata) is not raised.
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

/// Asks for a load of a slot: it is read in the background, put into the world at the end of a frame, and answered by
/// [`LoadFinished`] or [`LoadFailed`]. All entities with [`Saved`](crate::Saved) are replaced, and the registered
/// resources that the save has.
#[derive(Message, Clone, Debug)]
pub struct LoadRequested {
    slot: String,
    keeps: bool,
    options: Option<LoadOptions>,
}

impl LoadRequested {
    /// From the slot of this name.
    #[must_use]
    pub fn slot(name: impl Into<String>) -> Self {
        Self { slot: name.into(), keeps: false, options: None }
    }

    /// Sets what this load does about a save that is not the program's own, in place of what the settings say: such as a
    /// salvage of a damaged save, for which the player asks.
    #[must_use]
    pub fn load_options(self, options: LoadOptions) -> Self {
        Self { options: Some(options), ..self }
    }

    /// The slot; its load sets `loaded` to the part that is done, as the bits of a number.
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
    /// The slot; also that of an automatic save, unless another one replaced that before it was written.
    pub slot: Option<String>,
    /// The file of the slot.
    pub path: Option<PathBuf>,
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
#[expect(clippy::large_enum_variant, reason = "there is one at a time")]
enum Work {
    Save { mirror: Mirror, slot: Slot, settings: Settings },
    Load { slot: Slot },
}

/// What a thread gives back.
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
                    settings.make_folder();
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

/// Calls code of the game; a panic costs this save or load alone.
fn guarded<R>(run: impl FnOnce() -> Result<R>) -> Result<R> {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| {
        Err(Error::new(ErrorKind::Refused, "a component panicked while it was saved or loaded"))
    })
}

impl State {
    /// Waits until no thread has the mirror.
    pub(crate) fn settle(&mut self) {
        // The thread catches panics, and takes its work first of all.
        if let Some(Running { thread, request, .. }) = self.running.take()
            && let Ok(Some(done)) = thread.join()
        {
            self.take_back(done, request);
        }
    }

    fn take_back(&mut self, done: Done, request: Request) {
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

    /// Copies the world for a save; `None` if it is to be saved only if it has changed, and has not.
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
            // A save is taken and a load is loaded.
            (Request::Save(_), Ok(Outcome::Loaded(_)))
            | (Request::Load(_), Ok(Outcome::Taken(_))) => {}
        }
    }

    /// One frame. At the last one, all that was asked for is done.
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
    let progress = world.resource_scope(|world, mut saves: Mut<'_, WorldSaves>| {
        let (settings, state) = saves.parts();
        state.waiting.extend(asked);
        state.frame(settings, world, is_last);
        state.progress()
    });
    world.resource_mut::<SaveProgress>().set_if_neq(progress);
}

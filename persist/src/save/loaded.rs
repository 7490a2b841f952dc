//! What a load returns: the value or the objects, the unknown content, and the report.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use super::LoadReport;
use super::info::SlotInfo;
use super::objects::{SavedObjects, free_alone, free_loaded};
use super::output::{Continued, ContinuedSave, SaveLocation};
use super::source::Rescue;
use crate::codec::{KeptTarget, Unknown};
use crate::env::{SharedContext, shared};
use crate::graph::{Implementors, LoadedObjects};
use crate::platform::held;
use crate::storage::{Recovery, SlotVersion};
use crate::{ObjectId, Result};

/// A value or a list of objects that was loaded, with what the save holds beyond it.
///
/// It is used as the value itself. What the program does not know of the save, such as the fields of a mod that is
/// switched off, travels with it: a save of the `Loaded` writes it back.
///
/// ```
/// use persist::{Loaded, Persist, Saves};
///
/// mod newer {
///     #[derive(persist::Persist)]
///     pub struct Game { pub day: u32, pub weather: String }
/// }
///
/// #[derive(Persist)]
/// struct Game { day: u32 }
///
/// let save = persist::to_vec(&newer::Game { day: 1, weather: "rain".into() })?;
/// let saves = Saves::new();
/// let mut game: Loaded<Game> = saves.from_slice(&save)?;
/// game.day += 1;
/// let save = saves.to_vec(&game)?;
///
/// let game: newer::Game = persist::from_slice(&save)?;
/// assert_eq!((game.day, game.weather.as_str()), (2, "rain"));
/// # Ok::<(), persist::Error>(())
/// ```
///
/// A new value becomes a `Loaded` without unknown content by `from`, so that a program can keep both in one field:
/// `Loaded::from(Game::new())`. Assign a new game as a whole `Loaded`. `*loaded = Game::new()` replaces the value alone, and
/// leaves it with the unknown content of the old one.
///
/// It is `Send` and `Sync` where `T` is. Unknown content in shared objects stays on the thread that loaded them: a save on
/// another thread is [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) then.
pub struct Loaded<T> {
    /// In a box: a large value is not copied where the `Loaded` is moved.
    value: Box<T>,
    pub(super) unknown: UnknownContent,
    report: LoadReport,
    /// In a store: the slot and the version that a save continues.
    pub(super) version: Continued,
}

impl<T> Loaded<T> {
    pub(super) fn new(value: Box<T>, objects: LoadedObjects, report: LoadReport) -> Self {
        Self { unknown: UnknownContent::new(objects), ..Self::of_whole(value, report) }
    }

    /// One whose unknown content, if it has some, lies in the value.
    pub(super) fn of_whole(value: Box<T>, report: LoadReport) -> Self {
        Self { value, unknown: UnknownContent::default(), report, version: Continued::default() }
    }

    /// Adds what the report says of a damaged save.
    pub(super) fn rescued(mut self, rescue: Rescue) -> Self {
        self.report.rescue = rescue;
        self
    }

    /// What was defaulted, converted, dropped, kept as unknown, dangling or recovered.
    #[must_use]
    pub fn report(&self) -> &LoadReport {
        &self.report
    }

    /// What was done about a damaged or refused save; `None` for a value that was not loaded, or from a good save.
    #[must_use]
    pub fn recovery(&self) -> Option<&Recovery> {
        self.report.recovery()
    }

    /// Title, time, play time and thumbnail of the save; empty if it has none.
    #[must_use]
    pub fn info(&self) -> SlotInfo {
        self.report.header().info()
    }

    /// The value with the unknown content that lies in it, and without the rest.
    pub(super) fn into_value(self) -> Box<T> {
        self.value
    }

    /// Remembers the version of a save in a store, for the next save to continue.
    pub(super) fn remember(&self, location: SaveLocation, version: SlotVersion) {
        ContinuedSave::note(&mut held(&self.version), location, version);
    }
}

/// A value without unknown content, and with an empty report.
impl<T> From<T> for Loaded<T> {
    fn from(value: T) -> Self {
        Self::of_whole(Box::new(value), LoadReport::default())
    }
}

impl<T> Deref for Loaded<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> DerefMut for Loaded<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

impl<T: fmt::Debug> fmt::Debug for Loaded<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Loaded")
            .field("value", &self.value)
            .field("unknown", &self.unknown)
            .field("report", &self.report)
            .finish_non_exhaustive()
    }
}

/// What the program does not know of a value that was loaded, and of the objects that it leads to.
///
/// The pointers to the objects may be `Rc`s, and stay in a table of the thread that loaded them.
#[derive(Default)]
pub(crate) struct UnknownContent {
    of_value: Unknown,
    of_objects: Vec<(KeptTarget, ObjectId, Unknown)>,
    /// Weak pointers to all objects of the load, if unknown content holds some.
    all: Vec<KeptTarget>,
    /// With which those objects show what they hold.
    context: Option<SharedContext>,
    /// What empties those objects.
    implementors: Arc<Implementors>,
}

const AWAY: &str = "what the program does not know of a shared object stays on the thread that loaded it; save on that thread, or register the classes";

impl UnknownContent {
    fn new(mut objects: LoadedObjects) -> Self {
        let mut all = Vec::new();
        if objects.are_held_by_unknown() {
            all.extend(objects.iter().map(|(_, shared)| KeptTarget::new(shared, true)));
        }
        let of_value = std::mem::take(&mut objects.root_unknown);
        let mut kept = std::mem::take(&mut objects.unknown);
        let mut of_objects = Vec::new();
        if !kept.is_empty() {
            for (place, shared) in objects.iter() {
                let id = objects.id(place);
                if let Some(unknown) = kept.remove(&id) {
                    of_objects.push((KeptTarget::new(shared, true), id, unknown));
                }
            }
        }
        let (context, implementors) = (objects.context.clone(), objects.implementors.clone());
        // An older program may have led to objects that nothing holds now.
        free_loaded(objects);
        Self { of_value, of_objects, all, context, implementors }
    }

    /// The unknown content by the objects that are left, for a save.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) if there are some, on another thread.
    pub(super) fn objects(&self) -> Result<SavedObjects> {
        let mut objects = SavedObjects::of_value(self.of_value.clone());
        for (target, id, unknown) in &self.of_objects {
            if let Some(shared) = target.object().map_err(|error| error.reworded(AWAY.into()))? {
                objects.meet(&shared, *id, unknown.clone());
            }
        }
        Ok(objects)
    }
}

/// Frees what nothing else than unknown content leads to, after the value: it may be a cycle, or a long chain.
impl Drop for UnknownContent {
    fn drop(&mut self) {
        if self.all.is_empty() {
            return;
        }
        // Another thread has no pointers.
        let objects = self.all.iter().filter_map(|target| target.object().ok().flatten());
        let objects: Vec<_> = objects.collect();
        (self.of_value, self.of_objects) = <_>::default();
        free_alone(objects, shared(&self.context), &self.implementors);
    }
}

impl fmt::Debug for UnknownContent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of_objects = self.of_objects.iter().map(|(_, id, unknown)| (id, unknown));
        f.debug_map().entry(&"value", &self.of_value).entries(of_objects).finish()
    }
}

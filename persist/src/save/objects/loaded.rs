//! [`Loaded`]: the result of a load, with the value, the unknown content and the report.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use super::{SavedObjects, free_loaded, free_objects};
use crate::codec::{Unknown, UnknownTarget};
use crate::env::{SharedContext, shared};
use crate::graph::{Implementors, LoadedObjects};
use crate::platform::held;
use crate::save::SaveLocation;
use crate::save::info::SlotInfo;
use crate::save::output::{Continued, ContinuedSave};
use crate::save::{LoadReport, Rescue};
use crate::storage::{Recovery, SlotVersion};
use crate::{ObjectId, Result};

/// A loaded value or list of objects, with the unknown content of its save and a report about the load.
///
/// A `Loaded<T>` dereferences to `T`. It also holds the parts of the save that the program does not know, such as the
/// fields of a mod that is switched off. Saving the `Loaded` writes them back.
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
/// `Loaded::from(Game::new())` wraps a new value, without unknown content, so that a program can hold new and loaded
/// games in one field. To start a new game, assign a whole `Loaded`. `*loaded = Game::new()` replaces only the value,
/// and the new game would be saved with the unknown content of the old one.
///
/// A `Loaded<T>` is `Send` and `Sync` if `T` is. Unknown content of shared objects stays on the thread that loaded
/// them: if there is any, a save on another thread returns [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported).
pub struct Loaded<T> {
    /// The value is boxed so that moving the `Loaded` does not copy a large value.
    value: Box<T>,
    pub(in crate::save) unknown: UnknownContent,
    report: LoadReport,
    /// For slots of a store: the slot and the version that the next save continues.
    pub(in crate::save) version: Continued,
}

impl<T> Loaded<T> {
    pub(crate) fn new(value: Box<T>, objects: LoadedObjects, report: LoadReport) -> Self {
        Self { unknown: UnknownContent::new(objects), ..Self::of_whole(value, report) }
    }

    /// Creates a `Loaded` for a value that holds its unknown content itself, or has none.
    pub(crate) fn of_whole(value: Box<T>, report: LoadReport) -> Self {
        Self { value, unknown: UnknownContent::default(), report, version: Continued::default() }
    }

    /// Adds to the report how a damaged save was recovered.
    pub(in crate::save) fn rescued(mut self, rescue: Rescue) -> Self {
        self.report.rescue = rescue;
        self
    }

    /// Returns the report: what the load converted, defaulted, dropped, kept as unknown or recovered.
    #[must_use]
    pub fn report(&self) -> &LoadReport {
        &self.report
    }

    /// Returns how a damaged or refused save was recovered; `None` if the save was good or the value was not loaded.
    #[must_use]
    pub fn recovery(&self) -> Option<&Recovery> {
        self.report.recovery()
    }

    /// Returns title, time, play time and thumbnail of the save; empty if the save has no info.
    #[must_use]
    pub fn info(&self) -> SlotInfo {
        self.report.header().info()
    }

    /// Returns the value, with unknown content that the value holds itself, and drops the other unknown content.
    pub(super) fn into_value(self) -> Box<T> {
        self.value
    }

    /// Remembers the version of a save in a store, for the next save to continue.
    pub(in crate::save) fn remember(&self, location: SaveLocation, version: SlotVersion) {
        ContinuedSave::note(&mut held(&self.version), location, version);
    }
}

/// Wraps a value without unknown content and with an empty report.
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

/// Unknown content of a loaded value and of the objects that it leads to.
///
/// The pointers to the objects may be `Rc`s. They stay in a table of the thread that loaded them, so that this type is
/// `Send`.
#[derive(Default)]
pub(crate) struct UnknownContent {
    of_value: Unknown,
    of_objects: Vec<(UnknownTarget, ObjectId, Unknown)>,
    /// Weak pointers to all objects of the load, if unknown content holds any of them.
    all: Vec<UnknownTarget>,
    /// The context with which the objects are visited to find the pointers in them.
    context: Option<SharedContext>,
    /// The registered implementors of traits, to empty trait objects in those objects.
    implementors: Arc<Implementors>,
}

const AWAY: &str = "what the program does not know of a shared object stays on the thread that loaded it; save on that thread, or register the classes";

impl UnknownContent {
    fn new(mut objects: LoadedObjects) -> Self {
        let mut all = Vec::new();
        if objects.are_held_by_unknown() {
            all.extend(objects.iter().map(|(_, shared)| UnknownTarget::new(shared, true)));
        }
        let of_value = std::mem::take(&mut objects.root_unknown);
        let mut by_id = std::mem::take(&mut objects.unknown);
        let mut of_objects = Vec::new();
        if !by_id.is_empty() {
            for (place, shared) in objects.iter() {
                let id = objects.id(place);
                if let Some(unknown) = by_id.remove(&id) {
                    of_objects.push((UnknownTarget::new(shared, true), id, unknown));
                }
            }
        }
        let (context, implementors) = (objects.context.clone(), objects.implementors.clone());
        // Fields that only an older program had may have been the only ones to hold some objects.
        free_loaded(objects);
        Self { of_value, of_objects, all, context, implementors }
    }

    /// Returns the unknown content for a save, for those objects that are still alive.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) if objects have unknown content and this is
    /// not the thread that loaded them.
    pub(super) fn objects(&self) -> Result<SavedObjects> {
        let mut objects = SavedObjects::from_root_unknown(self.of_value.clone());
        for (target, id, unknown) in &self.of_objects {
            if let Some(shared) = target.object().map_err(|error| error.reworded(AWAY.into()))? {
                objects.insert_reached(&shared, *id, unknown.clone());
            }
        }
        Ok(objects)
    }
}

/// Frees the objects that only unknown content holds, after the value is dropped. They may form cycles or long chains.
impl Drop for UnknownContent {
    fn drop(&mut self) {
        if self.all.is_empty() {
            return;
        }
        // On another thread no pointers are found, and nothing is freed here.
        let objects = self.all.iter().filter_map(|target| target.object().ok().flatten());
        let objects: Vec<_> = objects.collect();
        (self.of_value, self.of_objects) = <_>::default();
        free_objects(objects, shared(&self.context), &self.implementors);
    }
}

impl fmt::Debug for UnknownContent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of_objects = self.of_objects.iter().map(|(_, id, unknown)| (id, unknown));
        f.debug_map().entry(&"value", &self.of_value).entries(of_objects).finish()
    }
}

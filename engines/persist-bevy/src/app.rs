//! [`PersistPlugin`], and [`PersistApp`], by which an app registers its types.

use std::any::TypeId;
use std::fmt::{self, Display};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bevy_app::{App, Last, Plugin};
use bevy_ecs::component::Component;
use bevy_ecs::query::ArchetypeFilter;
use bevy_ecs::resource::Resource;
use bevy_ecs::world::World;
use persist::codec::Pointee;
use persist::save::SlotInfo;
use persist::{Persist, Result, Saves};
use persist_mirror::{As, Itself};

use crate::filter::Filter;
use crate::jobs::{
    Autosave, Describe, LoadFailed, LoadFinished, LoadRequested, SaveFailed, SaveFinished,
    SaveProgress, SaveRequested, run,
};
use crate::types::Type;
use crate::world_saves::WorldSaves;

/// A plugin that saves and loads the entities with [`Saved`](crate::Saved), in the slots of a folder.
///
/// ```
/// use std::time::Duration;
///
/// use bevy_app::prelude::*;
/// use bevy_ecs::prelude::*;
/// use persist::Persist;
/// use persist_bevy::{PersistApp, PersistPlugin, Saved};
///
/// #[derive(Component, Persist, Clone)]
/// #[persist(component)]
/// #[require(Saved)]
/// struct Health(u32);
///
/// # let folder = tempfile::tempdir().unwrap();
/// # let saves = folder.path();
/// App::new()
///     .add_plugins(PersistPlugin::new(saves).autosave(Duration::from_secs(300), 3))
///     .persist_component::<Health>()
///     .add_systems(Startup, |mut commands: Commands| drop(commands.spawn(Health(3))))
///     .update();
/// ```
#[derive(Clone)]
pub struct PersistPlugin {
    folder: PathBuf,
    saves: Option<Saves>,
    allows_empty: bool,
    autosave: Option<(Duration, u32)>,
    describe: Option<Describe>,
}

impl PersistPlugin {
    /// Creates a plugin with the folder of the slots. The first save creates the folder.
    #[must_use]
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        let folder = folder.into();
        Self { folder, saves: None, allows_empty: false, autosave: None, describe: None }
    }

    /// Sets the settings of all saves and loads, and of each [`EditSession`](crate::EditSession) that is opened later.
    ///
    /// The types of the app are registered in this [`Saves`].
    ///
    /// ```
    /// use persist::{SaveOptions, Saves};
    /// use persist_bevy::PersistPlugin;
    ///
    /// let saves = Saves::new().application("Mill", "1.0")?.save_options(SaveOptions::new().backups(3));
    /// PersistPlugin::new("saves").saves(saves);
    /// # Ok::<(), persist::Error>(())
    /// ```
    #[must_use]
    pub fn saves(mut self, saves: Saves) -> Self {
        self.saves = Some(saves);
        self
    }

    /// Allows saves of a world without saved entities and resources.
    ///
    /// Without this, such a save fails with [`NoContent`](persist::ErrorKind::NoContent).
    #[must_use]
    pub fn allow_empty(mut self) -> Self {
        self.allows_empty = true;
        self
    }

    /// Saves automatically at an interval, and keeps the last `keep` of these saves.
    ///
    /// An autosave is skipped while no entity has [`Saved`](crate::Saved), or if nothing has changed since the last
    /// save or load, so that a main menu does not replace good saves. To choose the times yourself, write
    /// [`SaveRequested::auto`](crate::SaveRequested::auto).
    #[must_use]
    pub fn autosave(mut self, every: Duration, keep: u32) -> Self {
        self.autosave = Some((every, keep));
        self
    }

    /// Sets a function that returns the info of each [autosave](Self::autosave).
    ///
    /// [`SaveRequested::info`](crate::SaveRequested::info) sets the info of a requested save. The function is called
    /// when the save is taken, and the resource [`WorldSaves`] is not in the world during the call. If the function
    /// returns an error, nothing is saved, and [`SaveFailed`](crate::SaveFailed) has the error.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use bevy_ecs::prelude::*;
    /// use persist::save::SlotInfo;
    /// use persist_bevy::PersistPlugin;
    ///
    /// #[derive(Resource)]
    /// struct Place(String);
    ///
    /// PersistPlugin::new("saves")
    ///     .autosave(Duration::from_secs(300), 3)
    ///     .autosave_info(|world| Ok(SlotInfo::new(&world.resource::<Place>().0)));
    /// ```
    #[must_use]
    pub fn autosave_info(
        mut self,
        describe: impl Fn(&mut World) -> Result<SlotInfo> + Send + Sync + 'static,
    ) -> Self {
        self.describe = Some(Arc::new(describe));
        self
    }
}

impl fmt::Debug for PersistPlugin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { folder, autosave, .. } = self;
        f.debug_struct("PersistPlugin")
            .field("folder", folder)
            .field("autosave", autosave)
            .finish_non_exhaustive()
    }
}

impl Plugin for PersistPlugin {
    fn build(&self, app: &mut App) {
        app.init_resource::<WorldSaves>().init_resource::<SaveProgress>();
        let mut saves = app.world_mut().resource_mut::<WorldSaves>();
        if let Some(Err(error)) = self.saves.clone().map(|own| saves.set_saves(own)) {
            panic!("the saves of `PersistPlugin` do not take the types of the app: {error}");
        }
        saves.set_folder(self.folder.clone());
        if self.allows_empty {
            saves.set_allows_empty();
        }
        if let Some((every, keep)) = self.autosave {
            let describe = self.describe.clone();
            app.insert_resource(Autosave { every, keep, last: Instant::now(), describe });
        }
        app.add_message::<SaveRequested>()
            .add_message::<SaveFinished>()
            .add_message::<SaveFailed>()
            .add_message::<LoadRequested>()
            .add_message::<LoadFinished>()
            .add_message::<LoadFailed>()
            .add_systems(Last, run);
    }
}

/// Methods of [`App`] that register types.
///
/// A type that is not registered is not saved. If a loaded save has components of such a type, they are kept as unknown
/// content.
pub trait PersistApp {
    /// Registers a component type that is saved and loaded.
    ///
    /// The type must derive `Persist` and `Clone`, and have `#[persist(component)]`.
    ///
    /// # Panics
    ///
    /// Panics if another type is saved as the same class, or if the class cannot be saved for another reason.
    #[track_caller]
    fn persist_component<T: Component + persist::Component + Clone>(&mut self) -> &mut Self;

    /// Registers a component type `T` that is saved as another type `S`.
    ///
    /// Use it for a type of another crate, or for a type whose representation in memory should not be saved. `S` must
    /// derive `Persist` and `Clone`, and have `#[persist(component)]`.
    ///
    /// ```
    /// use bevy_app::App;
    /// use bevy_ecs::prelude::*;
    /// use persist::Persist;
    /// use persist_bevy::PersistApp;
    ///
    /// #[derive(Component)]
    /// struct Sprite { image: Handle } // of another crate
    /// # #[derive(Clone)] struct Handle(String);
    ///
    /// #[derive(Persist, Clone)]
    /// #[persist(component, class = "Sprite")]
    /// struct StoredSprite { path: String }
    ///
    /// impl From<&Sprite> for StoredSprite {
    ///     fn from(sprite: &Sprite) -> Self {
    ///         Self { path: sprite.image.0.clone() }
    ///     }
    /// }
    ///
    /// impl From<StoredSprite> for Sprite {
    ///     fn from(stored: StoredSprite) -> Self {
    ///         Self { image: Handle(stored.path) }
    ///     }
    /// }
    ///
    /// App::new().persist_component_as::<Sprite, StoredSprite>();
    /// ```
    ///
    /// # Panics
    ///
    /// Panics if another type is saved as the same class, or if the class cannot be saved for another reason.
    #[track_caller]
    fn persist_component_as<T, S>(&mut self) -> &mut Self
    where
        T: Component + TryFrom<S, Error: Display>,
        S: persist::Component + Clone + for<'t> From<&'t T>;

    /// Declares that components of a type, such as sprites, are deliberately not saved, so that no save warns of them.
    ///
    /// A save logs each unregistered component of saved entities once, and
    /// [`WorldSaves::warnings`](crate::WorldSaves::warnings) lists them. Components of Bevy's own crates are not
    /// reported. Bevy knows the names of components only with its feature `debug`, which is on by default.
    fn ignore_component<T: Component>(&mut self) -> &mut Self;

    /// Registers a resource that is saved and loaded.
    ///
    /// Its type must derive `Persist` and `Clone`. A load of a save without the resource keeps its current value.
    ///
    /// # Panics
    ///
    /// Panics if another type is saved as the same class, or if the class cannot be saved for another reason.
    #[track_caller]
    fn persist_resource<R: Resource + Persist + Pointee + Clone>(&mut self) -> &mut Self;

    /// Registers a [state](bevy_state::state::State) that is saved and loaded. Its type must derive `States` and
    /// `Persist`.
    ///
    /// A load sets [`NextState`](bevy_state::state::NextState), so that `OnExit` and `OnEnter` run in the next frame,
    /// before its `Update`, and see the loaded world. If the app is in that state already, neither runs. The loaded
    /// state replaces a pending transition. A save that is taken before the transition contains the loaded state. If
    /// the save lacks the state, the app stays in its current one.
    ///
    /// Computed states are derived from other states, and cannot be registered. A sub state starts with its default
    /// when a load enters its source state, unless the sub state is registered as well.
    /// [`EditSession`](crate::EditSession) neither records nor changes states.
    ///
    /// ```
    /// use bevy_app::prelude::*;
    /// use bevy_state::app::StatesPlugin;
    /// use bevy_state::prelude::*;
    /// use persist::Persist;
    /// use persist_bevy::{PersistApp, PersistWorld};
    ///
    /// #[derive(States, Persist, Clone, PartialEq, Eq, Hash, Debug, Default)]
    /// enum GameState {
    ///     #[default]
    ///     Village,
    ///     Dungeon { floor: u32 },
    /// }
    ///
    /// fn app() -> App {
    ///     let mut app = App::new();
    ///     app.add_plugins(StatesPlugin).init_state::<GameState>().persist_state::<GameState>();
    ///     app
    /// }
    ///
    /// let mut first = app();
    /// first.insert_state(GameState::Dungeon { floor: 3 });
    /// let save = first.world_mut().save_to_vec()?;
    ///
    /// let mut next = app();
    /// next.world_mut().load_from_slice(&save)?;
    /// next.update(); // `OnExit` of the village, `OnEnter` of the dungeon
    /// assert_eq!(next.world().resource::<State<GameState>>(), &GameState::Dungeon { floor: 3 });
    /// # Ok::<(), persist::Error>(())
    /// ```
    ///
    /// # Panics
    ///
    /// Panics if another type is saved as the same class, or if the class cannot be saved for another reason.
    #[cfg(feature = "state")]
    #[track_caller]
    fn persist_state<S>(&mut self) -> &mut Self
    where
        S: bevy_state::state::FreelyMutableState + Persist + Pointee;

    /// Saves the entities that pass a filter, as if they were marked with [`Saved`](crate::Saved).
    ///
    /// Several calls add several filters: an entity is saved if it passes one of them.
    ///
    /// ```
    /// use bevy_app::App;
    /// use bevy_ecs::prelude::*;
    /// use persist_bevy::PersistApp;
    ///
    /// #[derive(Component)]
    /// struct Enemy;
    /// #[derive(Component)]
    /// struct Ghost;
    ///
    /// App::new().persist_entities::<(With<Enemy>, Without<Ghost>)>();
    /// ```
    ///
    /// The filter runs when a save is taken, and before and after a load. An entity that passes it is marked with
    /// `Saved` until the filter runs again and the entity does not pass. Entities that you marked yourself stay marked.
    fn persist_entities<F: ArchetypeFilter + 'static>(&mut self) -> &mut Self;
}

#[track_caller]
fn add(app: &mut App, ty: Type) -> &mut App {
    app.init_resource::<WorldSaves>();
    let added = app.world_mut().resource_mut::<WorldSaves>().add(ty);
    if let Err(error) = added {
        panic!("`{}` cannot be saved: {error}", ty.name);
    }
    app
}

impl PersistApp for App {
    #[track_caller]
    fn persist_component<T: Component + persist::Component + Clone>(&mut self) -> &mut Self {
        add(self, Type::component::<T, Itself>())
    }

    #[track_caller]
    fn persist_component_as<T, S>(&mut self) -> &mut Self
    where
        T: Component + TryFrom<S, Error: Display>,
        S: persist::Component + Clone + for<'t> From<&'t T>,
    {
        add(self, Type::component::<T, As<S>>())
    }

    fn ignore_component<T: Component>(&mut self) -> &mut Self {
        self.init_resource::<WorldSaves>();
        let mut saves = self.world_mut().resource_mut::<WorldSaves>();
        saves.parts().1.types.ignored.push(TypeId::of::<T>());
        self
    }

    #[track_caller]
    fn persist_resource<R: Resource + Persist + Pointee + Clone>(&mut self) -> &mut Self {
        add(self, Type::resource::<R>())
    }

    #[cfg(feature = "state")]
    #[track_caller]
    fn persist_state<S>(&mut self) -> &mut Self
    where
        S: bevy_state::state::FreelyMutableState + Persist + Pointee,
    {
        add(self, crate::states::state::<S>())
    }

    fn persist_entities<F: ArchetypeFilter + 'static>(&mut self) -> &mut Self {
        self.init_resource::<WorldSaves>();
        let mut saves = self.world_mut().resource_mut::<WorldSaves>();
        let (_, state) = saves.parts();
        let filters = &mut state.types.filters;
        filters.retain(|known| known.id != TypeId::of::<F>());
        filters.push(Filter::new::<F>());
        self
    }
}

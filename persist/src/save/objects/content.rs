//! [`Content`] and [`Loadable`]: the types that can be saved and loaded.

use std::sync::Arc;

use super::{SavedObjects, free_loaded};
use crate::codec::{Buffer, Persist, Phase, Prototypes, Visitor};
use crate::env::{Env, SharedContext, Trial, shared};
use crate::format::{Compression, Header, Sealer, unpacked};
use crate::graph::{LoadOutcome, LoadedObjects, Loader, Registry};
use crate::save::output::Continued;
use crate::save::{LoadReport, Loaded, Prepared, SaveManager, Saves};
use crate::types::save_as::SaveAs;
use crate::types::{Remap, Renumber};
use crate::{Error, ErrorKind, Result};

/// The references that can be saved: to a value, to a [`Loaded`] value, or to a [`SaveManager`].
///
/// | content | what is saved |
/// | --- | --- |
/// | `&T` | the value, if no class in it has a `before_save` hook |
/// | `&mut T` | the value, after its `before_save` hooks have run |
/// | `&Loaded<T>`, `&mut Loaded<T>` | like `&T` and `&mut T`, with the unknown content of the load |
/// | `&SaveManager`, `&Loaded<SaveManager>` | the objects of the list, with everything that they lead to |
/// | `&Prefab` | the prefab, as a world of its own |
/// | `&Parts<'_>` | a struct of references under `#[persist(save_as = Owned)]`, as its `Owned` |
///
/// `&*loaded` is a `&T`: it saves the value without the unknown content.
///
/// This trait is sealed.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be saved",
    label = "not a reference to what can be saved",
    note = "pass a reference to a type that derives `Persist`, to a `Loaded` one or to a `SaveManager`: `save(&value)`"
)]
pub trait Content: WriteContent {}

impl<C: WriteContent> Content for C {}

/// The types that can be loaded: those that derive [`Persist`], [`SaveManager`] for a list of objects, and
/// [`Prefab`](crate::world::Prefab).
///
/// This trait is sealed.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be loaded",
    label = "does not derive `Persist`",
    note = "derive it: `#[derive(persist::Persist)]`; objects are loaded as a `SaveManager`"
)]
pub trait Loadable: ReadContent {}

impl<T: ReadContent> Loadable for T {}

/// How content is written. A save on a full disk is tried a second time, so `write` may be called twice.
pub trait WriteContent {
    /// Prepares the save before its first byte is written: registers the classes, runs the hooks of a value, and
    /// refuses content that must not be saved.
    ///
    /// # Errors
    ///
    /// Returns an error if a hook or the registry refuses.
    fn prepare(&mut self, saves: &Saves) -> Result<Prepared>;

    /// Writes the save.
    ///
    /// # Errors
    ///
    /// Returns an error if the content cannot be encoded, or its bytes cannot be written.
    fn write(&mut self, prepared: &Prepared, to: &mut Sink<'_, '_>) -> Result<()>;

    /// Returns the saves in stores that this one continues; `None` for content that was not loaded.
    fn continued(&self) -> Option<Continued> {
        None
    }
}

/// The destination of encoded content, with the settings of the save.
pub struct Sink<'s, 'o> {
    pub(crate) saves: &'s Saves,
    pub(crate) header: &'s Header,
    pub(crate) out: &'s mut Sealer<'o>,
    pub(crate) buffer: &'s mut Buffer,
}

/// Returns the context of the `Saves`; if it has none, that of the value.
fn context_of<T: Persist>(saves: &Saves, value: &T) -> Option<SharedContext> {
    saves.shared_context().or_else(|| (T::__LAYOUT.class_holder?.get)(value)?.context())
}

/// Runs the `validate` functions of a value, so that a value that a load would refuse is not saved.
fn validate<T: Persist>(saves: &Saves, prepared: &Prepared, value: &T) -> Result<()> {
    if !prepared.registry.validates_saves(prepared.class) {
        return Ok(());
    }
    let context = context_of(saves, value);
    let env = Env::new(saves.bounds(), shared(&context));
    let mut links = Prototypes::bare();
    value
        .__visit_shared(&mut Visitor::new(Phase::Validate, &env, &mut links))
        .map_err(|error| error.in_class(T::persist_name()))
}

fn check_no_hook<T: Persist>(prepared: &Prepared) -> Result<()> {
    if prepared.registry.traits(prepared.class).before_save {
        return Err(Error::new(
            ErrorKind::Unsupported,
            format!(
                "{} holds a class with a `before_save` hook, which needs `&mut`; save it as `&mut`, or keep it as an object of a `SaveManager`, as `Rc<RefCell<_>>`",
                T::persist_name()
            ),
        ));
    }
    Ok(())
}

/// Runs the `before_save` hooks of a value.
fn run_hooks<T: Persist>(saves: &Saves, value: &mut T) -> Result<()> {
    let context = context_of(saves, value);
    let env = Env::new(saves.bounds(), shared(&context));
    let mut links = Prototypes::bare();
    value
        .__visit(&mut Visitor::new(Phase::BeforeSave, &env, &mut links))
        .map_err(|error| error.in_class(T::persist_name()))
}

fn write_value<T: Persist>(
    value: &T,
    mut objects: SavedObjects,
    prepared: &Prepared,
    to: &mut Sink<'_, '_>,
) -> Result<()> {
    let context = context_of(to.saves, value);
    let env = Env::new(to.saves.bounds(), shared(&context));
    let saver = objects.saver_of_value(&prepared.registry, &env);
    saver.save_value(value, prepared.class, to.out, to.header, to.buffer)
}

impl<T: Persist> WriteContent for &T {
    fn prepare(&mut self, saves: &Saves) -> Result<Prepared> {
        let prepared = saves.register_value(*self)?;
        check_no_hook::<T>(&prepared)?;
        validate(saves, &prepared, *self)?;
        Ok(prepared)
    }

    fn write(&mut self, prepared: &Prepared, to: &mut Sink<'_, '_>) -> Result<()> {
        write_value(*self, SavedObjects::default(), prepared, to)
    }
}

impl<T: Persist> WriteContent for &mut T {
    fn prepare(&mut self, saves: &Saves) -> Result<Prepared> {
        run_hooks(saves, *self)?;
        let prepared = saves.register_value(&**self)?;
        validate(saves, &prepared, &**self)?;
        Ok(prepared)
    }

    fn write(&mut self, prepared: &Prepared, to: &mut Sink<'_, '_>) -> Result<()> {
        write_value(*self, SavedObjects::default(), prepared, to)
    }
}

impl<T: Persist> WriteContent for &Loaded<T> {
    fn prepare(&mut self, saves: &Saves) -> Result<Prepared> {
        (&***self).prepare(saves)
    }

    fn write(&mut self, prepared: &Prepared, to: &mut Sink<'_, '_>) -> Result<()> {
        write_value(&***self, self.unknown.objects()?, prepared, to)
    }

    fn continued(&self) -> Option<Continued> {
        Some(Arc::clone(&self.version))
    }
}

impl<T: Persist> WriteContent for &mut Loaded<T> {
    fn prepare(&mut self, saves: &Saves) -> Result<Prepared> {
        (&mut ***self).prepare(saves)
    }

    fn write(&mut self, prepared: &Prepared, to: &mut Sink<'_, '_>) -> Result<()> {
        (&**self).write(prepared, to)
    }

    fn continued(&self) -> Option<Continued> {
        Some(Arc::clone(&self.version))
    }
}

/// Prepares a struct of references, for which the derive implements [`WriteContent`]. Its parts are saved as the class
/// `P::Owned`.
///
/// # Errors
///
/// Returns an error if the registry or a `validate` function refuses.
pub fn prepare_parts<P: SaveAs<Owned: Persist>>(saves: &Saves, parts: &P) -> Result<Prepared> {
    let prepared = saves.register_type::<P::Owned>()?;
    check_no_hook::<P::Owned>(&prepared)?;
    if P::VALIDATES {
        // `validate` takes the owned type, and there is no such value. So the encoded parts are loaded, which
        // validates.
        return read_back(saves, prepared, parts);
    }
    if prepared.registry.validates_saves(prepared.class) {
        let context = saves.shared_context();
        let env = Env::new(saves.bounds(), shared(&context));
        let mut links = Prototypes::bare();
        parts
            .visit_parts(&mut Visitor::new(Phase::Validate, &env, &mut links))
            .map_err(|error| error.in_class(P::Owned::persist_name()))?;
    }
    Ok(prepared)
}

/// Encodes the parts in memory and loads them, so that a refusal comes before the save is written.
fn read_back<P: SaveAs<Owned: Persist>>(
    saves: &Saves,
    prepared: Prepared,
    parts: &P,
) -> Result<Prepared> {
    let (mut save, mut buffer, header) = (Vec::new(), Buffer::new(), Header::default());
    let mut out = Sealer::new(&mut save, Compression::None, saves.bounds());
    let mut sink = Sink { saves, header: &header, out: &mut out, buffer: &mut buffer };
    write_parts(parts, &prepared, &mut sink)?;
    let (_, objects, _) = decode::<P::Owned>(&saves.unwatched(), &prepared, &save, None, false)?;
    free_loaded(objects);
    Ok(prepared)
}

/// Writes a struct of references as the class `P::Owned`.
///
/// # Errors
///
/// Returns an error if a part cannot be encoded, or its bytes cannot be written.
pub fn write_parts<P: SaveAs>(parts: &P, prepared: &Prepared, to: &mut Sink<'_, '_>) -> Result<()> {
    let context = to.saves.shared_context();
    let env = Env::new(to.saves.bounds(), shared(&context));
    let mut objects = SavedObjects::default();
    let saver = objects.saver_of_value(&prepared.registry, &env);
    saver.save_parts(parts, prepared.class, to.out, to.header, to.buffer)
}

impl WriteContent for &SaveManager {
    fn prepare(&mut self, _: &Saves) -> Result<Prepared> {
        self.check_any()?;
        Ok(Prepared { registry: self.saves().registry(), class: 0 })
    }

    fn write(&mut self, prepared: &Prepared, to: &mut Sink<'_, '_>) -> Result<()> {
        let mut objects = self.objects_to_save()?;
        let context = to.saves.shared_context().or_else(|| self.saves().shared_context());
        let env = Env::new(to.saves.bounds(), shared(&context));
        let saver = objects.saver(&prepared.registry, &env);
        saver.save(to.out, to.header, to.buffer)
    }
}

impl WriteContent for &Loaded<SaveManager> {
    fn prepare(&mut self, saves: &Saves) -> Result<Prepared> {
        (&***self).prepare(saves)
    }

    fn write(&mut self, prepared: &Prepared, to: &mut Sink<'_, '_>) -> Result<()> {
        (&***self).write(prepared, to)
    }

    fn continued(&self) -> Option<Continued> {
        Some(Arc::clone(&self.version))
    }
}

/// How content is loaded.
pub trait ReadContent: Sized {
    /// Reads a save.
    fn read(saves: &Saves, save: &[u8], remap: Option<&mut Remap<'_>>) -> Result<Loaded<Self>>;

    /// Drops the unknown content that the value itself holds.
    fn drop_own_unknown(&mut self) {}
}

impl<T: Persist> ReadContent for T {
    fn read(saves: &Saves, save: &[u8], remap: Option<&mut Remap<'_>>) -> Result<Loaded<Self>> {
        let prepared = saves.register_type::<T>()?;
        let (value, objects, outcome) = decode(saves, &prepared, save, remap, true)?;
        Ok(Loaded::new(value, objects, LoadReport::new(outcome)))
    }
}

/// Reads the objects of a save, in the environment of the `Saves` after `change_env`.
fn read_objects(
    saves: &Saves,
    save: &[u8],
    remap: Option<&mut Remap<'_>>,
    change_env: impl FnOnce(Env<'_>) -> Env<'_>,
) -> Result<Loaded<SaveManager>> {
    let registry = saves.registry();
    let context = saves.shared_context();
    let env = change_env(Env::new(saves.bounds(), shared(&context)));
    let (mut objects, outcome) = unpacked(save, saves.bounds(), |save| {
        let remap = remap.map(|remap| remap as &mut dyn Renumber);
        Loader::new(&registry, &env, saves.loading(), save, remap, None)?.load()
    })?;
    objects.context.clone_from(&context);
    let report = LoadReport::new(outcome);
    let manager = SaveManager::of_loaded(saves.clone(), objects, &report);
    Ok(Loaded::of_whole(Box::new(manager), report))
}

/// Loads a sample that the lock test made up from a schema.
///
/// # Errors
///
/// Returns the errors of a load.
pub fn read_on_trial(saves: &Saves, sample: &[u8], trial: Trial) -> Result<Loaded<SaveManager>> {
    read_objects(saves, sample, None, |env| env.on_trial(trial))
}

impl ReadContent for SaveManager {
    fn read(saves: &Saves, save: &[u8], remap: Option<&mut Remap<'_>>) -> Result<Loaded<Self>> {
        read_objects(saves, save, remap, |env| env)
    }

    fn drop_own_unknown(&mut self) {
        self.drop_unknown();
    }
}

impl<T: Loadable> Loaded<T> {
    /// Returns the value, and drops the unknown content. The next save of the value does not contain it.
    #[must_use]
    pub fn into_inner(self) -> T {
        let mut value = self.into_value();
        value.drop_own_unknown();
        *value
    }
}

/// Decodes one value and the objects that it leads to.
pub(crate) fn decode<T: Persist>(
    saves: &Saves,
    prepared: &Prepared,
    save: &[u8],
    remap: Option<&mut Remap<'_>>,
    keeps_unknown: bool,
) -> Result<(Box<T>, LoadedObjects, LoadOutcome)> {
    let Prepared { registry, class } = prepared;
    let context = saves.shared_context();
    let env = Env::new(saves.bounds(), shared(&context)).watched(saves.watch());
    let (mut value, mut objects, outcome) = unpacked(save, &env.limits, |save| {
        let remap = remap.map(|remap| remap as &mut dyn Renumber);
        let loader = Loader::new(registry, &env, saves.loading(), save, remap, Some(*class))?;
        let loader = if keeps_unknown { loader } else { loader.without_unknown() };
        loader.load_value(*class, |input| input.boxed())
    })?;
    objects.context.clone_from(&context);
    connect(&mut *value, registry, context);
    Ok((value, objects, outcome))
}

/// Passes the registered classes to a value that looks up classes after its load.
pub(in crate::save) fn connect<T: Persist>(
    value: &mut T,
    registry: &Registry,
    context: Option<SharedContext>,
) {
    if let Some(value) = T::__LAYOUT.class_holder.and_then(|access| (access.get_mut)(value)) {
        value.connect(registry, context);
    }
}

//! Commands of the program as bytes.

use std::any::{Any, TypeId};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::marker::PhantomData;
use std::rc::Rc;

use super::SessionOptions;
use super::recorder::world;
use super::stored::StoredCommand;
use crate::codec::{Buffer, Decoder, NoVisitLinks, Phase, Visitor, left_over};
use crate::env::Env;
use crate::fields::{FieldLinks, Paths, Room};
use crate::format::{Compression, Header, Sealer, Writer};
use crate::graph::Registry;
use crate::history::command::{Command, Performed};
use crate::history::fields::RootOf;
use crate::history::step::{BoxedStep, Failure};
use crate::{Error, ErrorKind, Limits, Persist, Result, World};

/// What a command learns of the history that runs it.
pub(in crate::history) struct Around<T: 'static> {
    pub(in crate::history) classes: RefCell<CommandClasses<T>>,
    /// How the fields of the target are reached, once they are known.
    pub(in crate::history) root: Cell<Option<RootOf<T>>>,
    pub(in crate::history) paths: Paths,
    /// For changes of fields.
    pub(in crate::history) room: RefCell<Room>,
    /// Whether there is a journal.
    pub(super) is_journaled: Cell<bool>,
    /// How many classes of a world the saves have, which the next session knows.
    pub(super) registered: Cell<usize>,
    /// True while a journal is replayed.
    pub(in crate::history) is_replayed: Cell<bool>,
    /// The last id that a world had given when the edit began.
    pub(in crate::history) last_id: Cell<u64>,
}

impl<T: 'static> Default for Around<T> {
    fn default() -> Self {
        Self {
            classes: RefCell::default(),
            root: Cell::new(None),
            paths: Paths::default(),
            room: RefCell::default(),
            is_journaled: Cell::new(false),
            registered: Cell::new(0),
            is_replayed: Cell::new(false),
            last_id: Cell::new(0),
        }
    }
}

impl<T: 'static> Around<T> {
    pub(in crate::history) fn is_journaled(&self) -> bool {
        self.is_journaled.get()
    }

    /// Refuses a class of a world that a journal, if there is one, cannot hold.
    pub(in crate::history) fn check_journaled(&self, world: &World, class: &str) -> Result<()> {
        if !self.is_journaled() {
            return Ok(());
        }
        world.check_recordable(class)?;
        let number = world.registry().named(class);
        if number.is_some_and(|number| number < self.registered.get()) {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::WrongClass,
            "the class is not registered with the saves, and the journal could not be done again without it; register it before the session is opened",
        )
        .in_class(class))
    }

    /// There is no journal any more.
    pub(super) fn end_journal(&self) {
        self.is_journaled.set(false);
    }

    /// What is before a command is done, if there is a journal that wants to know.
    pub(in crate::history) fn before<C: Command<T>>(
        &self,
        command: &C,
        target: &T,
    ) -> Result<Option<Box<Before>>> {
        if !self.is_journaled() {
            return Ok(None);
        }
        let (_, command) = self.classes.borrow().encode(command)?;
        let last_id = world(target).map(World::last_id);
        Ok(Some(Box::new(Before { command, last_id })))
    }
}

/// What was before a command was done.
pub(in crate::history) struct Before {
    pub(super) command: Vec<u8>,
    /// The last id that the world had given.
    pub(super) last_id: Option<u64>,
}

/// The command classes that a journal can hold.
pub(in crate::history) struct CommandClasses<T: 'static> {
    pub(in crate::history) registry: Registry,
    by_type: HashMap<TypeId, usize>,
    by_class: HashMap<usize, Rc<dyn CommandClass<T>>>,
}

impl<T: 'static> Default for CommandClasses<T> {
    fn default() -> Self {
        Self { registry: Registry::new(), by_type: HashMap::new(), by_class: HashMap::new() }
    }
}

/// A class of commands.
pub(super) trait CommandClass<T: 'static> {
    fn encode(&self, command: &dyn Any, registry: &Registry) -> Result<Vec<u8>>;

    /// A command that is as it was, done or undone.
    fn restore(
        &self,
        stored: &StoredCommand,
        further: &mut Vec<BoxedStep<T>>,
        reading: &Reading<'_, T>,
    ) -> Result<BoxedStep<T>>;

    /// Does a command that changes its target directly as it was done first.
    fn replay(
        &self,
        stored: &StoredCommand,
        target: &mut T,
        reading: &Reading<'_, T>,
    ) -> Result<BoxedStep<T>, Failure>;
}

struct Of<C>(PhantomData<fn() -> C>);

impl<C: Command<T> + Persist, T: 'static> CommandClass<T> for Of<C> {
    fn encode(&self, command: &dyn Any, registry: &Registry) -> Result<Vec<u8>> {
        let Some(command) = command.downcast_ref::<C>() else { return Err(unregistered::<C>()) };
        let (mut buffer, mut links) = (Buffer::new(), FieldLinks::of_command(registry));
        buffer
            .append(&registry.env(), &mut links, |out| out.value(command))
            .map_err(|error| error.in_class(C::persist_name()))?;
        Ok(buffer.into_bytes())
    }

    fn restore(
        &self,
        stored: &StoredCommand,
        further: &mut Vec<BoxedStep<T>>,
        reading: &Reading<'_, T>,
    ) -> Result<BoxedStep<T>> {
        let command = reading.command::<C>(&stored.bytes)?;
        let (is_direct, around) = (stored.is_direct, Rc::clone(reading.around));
        let further = std::mem::take(further);
        Ok(Box::new(Performed { command, further, is_direct, before: None, around }))
    }

    fn replay(
        &self,
        stored: &StoredCommand,
        target: &mut T,
        reading: &Reading<'_, T>,
    ) -> Result<BoxedStep<T>, Failure> {
        let before = stored.before.as_ref().unwrap_or(&stored.bytes);
        let command = reading.command::<C>(before)?;
        let after = stored.before.is_some().then(|| reading.command::<C>(&stored.bytes));
        let after = after.transpose()?;
        let mut performed = Performed::new(command, reading.around);
        if !performed.perform(target, &mut None)? {
            return Err(Error::new(
                ErrorKind::Refused,
                format!(
                    "{} did something when it was done first, and nothing when it was done again; what it does may depend on its fields and its target alone",
                    C::persist_name()
                ),
            )
            .into());
        };
        performed.command = after.unwrap_or(performed.command);
        Ok(Box::new(performed))
    }
}

/// What commands are read with.
pub(super) struct Reading<'r, T: 'static> {
    pub(super) around: &'r Rc<Around<T>>,
    /// The classes of the program, and those of the program that wrote them if it is another.
    pub(super) registry: &'r Registry,
    pub(super) numbers: Option<&'r [Option<usize>]>,
}

impl<T: 'static> Reading<'_, T> {
    /// A command of the program's class.
    fn command<C: Persist>(&self, bytes: &[u8]) -> Result<C> {
        let mut links = FieldLinks::of_command(self.registry).numbered(self.numbers);
        let env = self.registry.env();
        let mut input = Decoder::new(bytes, &env, &mut links);
        let named = |error: Error| error.in_class(C::persist_name());
        let mut command = match input.value::<C>() {
            Ok(command) if input.rest().is_empty() => command,
            Ok(_) => return Err(named(left_over(input.rest().len()))),
            Err(fail) => return Err(named(input.take_error().unwrap_or_else(|| fail.into()))),
        };
        for phase in [Phase::Validate, Phase::AfterLoad] {
            let mut links = NoVisitLinks;
            command.__visit(&mut Visitor::new(phase, &env, &mut links)).map_err(named)?;
        }
        Ok(command)
    }
}

impl<T: 'static> CommandClasses<T> {
    /// The number and the bytes of a command.
    pub(super) fn encode<C: Command<T>>(&self, command: &C) -> Result<(u32, Vec<u8>)> {
        let class = self.by_type.get(&TypeId::of::<C>()).ok_or_else(unregistered::<C>)?;
        let codec = self.by_class.get(class).ok_or_else(unregistered::<C>)?;
        let number = u32::try_from(*class).map_err(|_| unregistered::<C>())?;
        Ok((number, codec.encode(command, &self.registry)?))
    }

    /// The class of this index.
    pub(super) fn class(&self, index: usize) -> Option<Rc<dyn CommandClass<T>>> {
        self.by_class.get(&index).cloned()
    }

    /// How many classes there are, with those that commands reach.
    pub(super) fn len(&self) -> usize {
        self.registry.program().classes.len()
    }
}

/// All classes of a registry, in their order, as a save without records.
pub(super) fn definitions(registry: &Registry) -> Result<Vec<u8>> {
    let (mut save, limits, mut buffer) = (Vec::new(), Limits::DEFAULT, Buffer::new());
    let mut sealer = Sealer::new(&mut save, Compression::None, &limits);
    let mut writer = Writer::new(&mut sealer, &Header::default(), &Env::DEFAULT, &mut buffer)?;
    for class in &registry.program().classes {
        writer.definition(class)?;
    }
    writer.finish(0)?;
    Ok(save)
}

#[cold]
fn unregistered<C>() -> Error {
    let name = std::any::type_name::<C>();
    let short = name.rsplit("::").next().unwrap_or(name);
    Error::new(
        ErrorKind::WrongClass,
        format!(
            "command {name} is not registered, and could not be done again from the journal; derive `Persist` for it and call `register::<{short}>()` on the `SessionOptions`"
        ),
    )
}

impl<T: 'static> SessionOptions<T> {
    /// Registers a class of commands, so that the journal can hold them and another run can replay them.
    ///
    /// The classes of trait objects in a command are registered by [`register_as`](Self::register_as). Commands cannot hold shared pointers.
    ///
    /// # Errors
    ///
    /// Those of [`Registry::register`].
    pub fn register<C: Command<T> + Persist>(self) -> Result<Self> {
        {
            let mut classes = self.history.around.classes.borrow_mut();
            let class = classes.registry.register_value::<C>()?;
            classes.by_type.insert(TypeId::of::<C>(), class);
            classes.by_class.insert(class, Rc::new(Of::<C>(PhantomData)));
        }
        Ok(self)
    }

    /// Registers class `C` as an implementor of a trait whose trait objects commands hold.
    ///
    /// # Errors
    ///
    /// Those of [`Registry::register_as`].
    pub fn register_as<C, D>(self) -> Result<Self>
    where
        C: Persist + crate::codec::Pointee,
        D: ?Sized + crate::codec::Implements<C>,
    {
        self.history.around.classes.borrow_mut().registry.register_as::<C, D>()?;
        Ok(self)
    }
}

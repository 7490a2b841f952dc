//! Commands of the program as bytes.

use std::any::{Any, TypeId};
use std::collections::HashMap;

use super::SessionOptions;
use super::stored::StoredCommand;
use crate::codec::{Buffer, Decoder, Phase, Prototypes, Visitor, left_over};
use crate::env::Env;
use crate::fields::FieldLinks;
use crate::format::{Compression, Header, Sealer, Writer};
use crate::graph::Registry;
use crate::history::command::{AnyCommand, Command, Performed};
use crate::history::step::{Failure, Step};
use crate::history::support::Support;
use crate::{Error, ErrorKind, Limits, Persist, Result};

/// What was before a command was done.
pub(in crate::history) struct Before {
    pub(in crate::history) command: Vec<u8>,
    /// The last id that the world had given.
    pub(in crate::history) last_id: Option<u64>,
}

/// The command classes that a journal can hold.
pub(in crate::history) struct CommandClasses<T: 'static> {
    pub(in crate::history) registry: Registry,
    by_type: HashMap<TypeId, usize>,
    by_class: HashMap<usize, CommandClass<T>>,
}

impl<T: 'static> Default for CommandClasses<T> {
    fn default() -> Self {
        Self { registry: Registry::new(), by_type: HashMap::new(), by_class: HashMap::new() }
    }
}

/// How a command is written; `None` if it is of another type.
type Encode = fn(&dyn Any, &Registry) -> Option<Result<Vec<u8>>>;

/// How a command is read.
type Read<T> = fn(&[u8], &Reading<'_>) -> Result<Box<Performed<T>>>;

/// A class of commands.
pub(super) struct CommandClass<T: 'static> {
    name: fn() -> String,
    encode: Encode,
    read: Read<T>,
}

impl<T: 'static> Clone for CommandClass<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: 'static> Copy for CommandClass<T> {}

impl<T: 'static> CommandClass<T> {
    fn of<C: Command<T> + Persist>() -> Self {
        Self {
            name: C::persist_name,
            encode: |command, registry| command.downcast_ref().map(|of| encode::<C>(of, registry)),
            read: |bytes, reading| Ok(Performed::new(reading.command::<C>(bytes)?)),
        }
    }

    /// A command as it was, without what it did through its context.
    pub(super) fn read(
        &self,
        stored: &StoredCommand,
        reading: &Reading<'_>,
    ) -> Result<Box<Performed<T>>> {
        let mut command = (self.read)(&stored.bytes, reading)?;
        command.is_direct = stored.is_direct;
        Ok(command)
    }

    /// Does a command that changes its target directly as it was done first.
    pub(super) fn replay(
        &self,
        stored: &StoredCommand,
        target: &mut T,
        support: &mut Support<T>,
        reading: &Reading<'_>,
    ) -> Result<Step<T>, Failure> {
        let before = stored.before.as_ref().unwrap_or(&stored.bytes);
        let mut command = (self.read)(before, reading)?;
        let after = stored.before.is_some().then(|| (self.read)(&stored.bytes, reading));
        let after = after.transpose()?;
        if !command.perform(target, support)? {
            return Err(Error::new(
                ErrorKind::Refused,
                format!(
                    "{} did something when it was done first, and nothing when it was done again; what it does may depend on its fields and its target alone",
                    (self.name)()
                ),
            )
            .into());
        }
        Ok(Step::Command(match after {
            Some(mut after) => {
                after.further = std::mem::take(&mut command.further);
                after.is_direct = command.is_direct;
                after
            }
            None => command,
        }))
    }
}

fn encode<C: Persist>(command: &C, registry: &Registry) -> Result<Vec<u8>> {
    let (mut buffer, mut links) = (Buffer::new(), FieldLinks::of_command(registry));
    buffer
        .append(&registry.env(), &mut links, |out| out.value(command))
        .map_err(|error| error.in_class(C::persist_name()))?;
    Ok(buffer.into_bytes())
}

/// What commands are read with.
pub(super) struct Reading<'r> {
    /// The classes of the program, and those of the program that wrote them if it is another.
    pub(super) registry: &'r Registry,
    pub(super) numbers: Option<&'r [Option<usize>]>,
}

impl Reading<'_> {
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
            let mut links = Prototypes::bare();
            command.__visit(&mut Visitor::new(phase, &env, &mut links)).map_err(named)?;
        }
        Ok(command)
    }
}

impl<T: 'static> CommandClasses<T> {
    /// The number and the bytes of a command.
    pub(in crate::history) fn encode(&self, command: &dyn AnyCommand<T>) -> Result<(u32, Vec<u8>)> {
        let name = command.type_name();
        let any: &dyn Any = command;
        let encoded = || {
            let number = self.by_type.get(&any.type_id())?;
            let class = self.by_class.get(number)?;
            Some((u32::try_from(*number).ok()?, (class.encode)(any, &self.registry)?))
        };
        let (number, bytes) = encoded().ok_or_else(|| unregistered(name))?;
        Ok((number, bytes?))
    }

    /// The class of this index.
    pub(super) fn class(&self, index: usize) -> Option<CommandClass<T>> {
        self.by_class.get(&index).copied()
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
fn unregistered(name: &str) -> Error {
    let short = name.rsplit("::").next().unwrap_or(name);
    Error::new(
        ErrorKind::WrongClass,
        format!(
            "command {name} is not registered, and could not be replayed from the journal; derive `Persist` for it and call `register::<{short}>()` on the `SessionOptions`"
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
    pub fn register<C: Command<T> + Persist>(mut self) -> Result<Self> {
        let classes = &mut self.history.support.classes;
        let class = classes.registry.register_value::<C>()?;
        classes.by_type.insert(TypeId::of::<C>(), class);
        classes.by_class.insert(class, CommandClass::of::<C>());
        Ok(self)
    }

    /// Registers class `C` as an implementor of a trait whose trait objects commands hold.
    ///
    /// # Errors
    ///
    /// Those of [`Registry::register_as`].
    pub fn register_as<C, D>(mut self) -> Result<Self>
    where
        C: Persist + crate::codec::Pointee,
        D: ?Sized + crate::codec::Implements<C>,
    {
        self.history.support.classes.registry.register_as::<C, D>()?;
        Ok(self)
    }
}

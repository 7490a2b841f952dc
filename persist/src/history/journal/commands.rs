//! Commands of the program as bytes.

use std::any::Any;
use std::collections::HashMap;

use super::StoredCommand;
use super::stored::StoredStep;
use crate::codec::Buffer;
use crate::env::Env;
use crate::fields::{ChangeState, FieldLinks, awaken};
use crate::format::{Compression, Header, Sealer, Writer};
use crate::graph::Registry;
use crate::history::change::step::restored_change;
use crate::history::edit::command::Command;
use crate::history::{Failure, Performed, Step, Support};
use crate::{Error, ErrorKind, Limits, Persist, Result};

/// The command classes that a journal can hold, by their numbers.
pub(in crate::history) type CommandClasses<T> = HashMap<usize, CommandClass<T>>;

type ReadCommand<T> = fn(&[u8], FieldLinks<'_>) -> Result<Box<Performed<T>>>;

pub(in crate::history) struct CommandClass<T: 'static> {
    name: fn() -> String,
    read: ReadCommand<T>,
}

impl<T: 'static> CommandClass<T> {
    pub(super) fn new<C: Command<T> + Persist>() -> Self {
        Self {
            name: C::persist_name,
            read: |bytes, links| Ok(Performed::new(command::<C>(bytes, links)?)),
        }
    }

    /// Decodes a command, without the steps that it did through its edit.
    pub(super) fn read(
        &self,
        stored: &StoredCommand,
        links: FieldLinks<'_>,
    ) -> Result<Box<Performed<T>>> {
        let mut command = (self.read)(&stored.bytes, links)?;
        command.is_direct = stored.is_direct;
        Ok(command)
    }

    /// Applies a command again that changes its target directly, in the state before it was first applied.
    pub(super) fn replay(
        &self,
        stored: &StoredCommand,
        target: &mut T,
        support: &mut Support<T>,
        links: FieldLinks<'_>,
    ) -> Result<Step<T>, Failure> {
        let previous = stored.before.as_ref().unwrap_or(&stored.bytes);
        let mut command = (self.read)(previous, links)?;
        let after = stored.before.is_some().then(|| (self.read)(&stored.bytes, links));
        let after = after.transpose()?;
        if !command.perform(target, support)? {
            return Err(Error::new(
                ErrorKind::Refused,
                format!(
                    "{} did something when it was done first, and nothing when it was redone; what it does may depend on its fields and its target alone",
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

/// Encodes a command, if it is of this type.
pub(super) fn encode<C: Persist>(
    command: &dyn Any,
    registry: &Registry,
) -> Option<Result<Vec<u8>>> {
    let command: &C = command.downcast_ref()?;
    let (mut buffer, mut links) = (Buffer::new(), FieldLinks::of_command(registry));
    let encoded = buffer.append(&registry.env(), &mut links, |out| out.value(command));
    let encoded = encoded.map_err(|error| error.in_class(C::persist_name()));
    Some(encoded.map(|()| buffer.into_bytes()))
}

/// Restores stored steps. `read` decodes a command without its further steps.
pub(super) fn restored<T: 'static>(
    stored: Vec<StoredStep>,
    target: &mut T,
    change_state: ChangeState,
    read: &mut dyn FnMut(StoredCommand) -> Result<Box<Performed<T>>>,
) -> Result<Vec<Step<T>>> {
    let restored = |step| match step {
        StoredStep::Change(change) => restored_change(*change, target, change_state),
        StoredStep::Command(mut command) => {
            let further =
                restored(std::mem::take(&mut command.further), target, change_state, read)?;
            let mut command = read(*command)?;
            command.further = further;
            Ok(Step::Command(command))
        }
    };
    stored.into_iter().map(restored).collect()
}

/// Decodes a command. If another version of the program wrote it, `links` has the classes of that version.
fn command<C: Persist>(bytes: &[u8], links: FieldLinks<'_>) -> Result<C> {
    let read = || {
        let mut command = links.decode(bytes, |input| input.value::<C>())?;
        awaken(&mut command, links.registry)?;
        Ok(command)
    };
    read().map_err(|error: Error| error.in_class(C::persist_name()))
}

/// Encodes all classes of a registry in their order, as a save without records.
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

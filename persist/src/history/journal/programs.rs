//! The classes of the program that wrote a journal, against those of the one that reads it.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::commands::{CommandClass, CommandClasses, Reading};
use super::frame::Kind;
use super::reader::Frame;
use super::stored::{StoredDone, StoredEntry, StoredProgram, StoredStep, read, wrong};
use crate::format::scan;
use crate::graph::Registry;
use crate::schema::{FieldSchema, Form, KindSchema, Plans, Source, Stored, transcode};
use crate::{Error, ErrorKind, Limits, LoadOptions, Result};

/// Brings what a journal holds on to the program's classes, by the same plans as saves.
pub(super) struct Programs<'p> {
    pub(super) commands: Classes<'p>,
    /// Of the components and resources of a world, if the target is one.
    world: Option<Classes<'p>>,
}

impl<'p> Programs<'p> {
    pub(super) fn new(
        commands: &'p Registry,
        world: Option<&'p Registry>,
        options: LoadOptions,
    ) -> Self {
        let world = world.map(|world| Classes::new(world, options));
        Self { commands: Classes::new(commands, options), world }
    }

    /// The classes of what has the fields that changes are of.
    pub(super) fn of_fields(&mut self) -> &mut Classes<'p> {
        self.world.as_mut().unwrap_or(&mut self.commands)
    }

    /// Reads which classes the frames are of from here on.
    pub(super) fn read(&mut self, program: &StoredProgram) -> Result<()> {
        self.commands.read(&program.commands)?;
        match &mut self.world {
            Some(world) if !program.world.is_empty() => world.read(&program.world),
            _ => Ok(()),
        }
    }

    /// Refuses a frame with something of a class that the program does not have.
    pub(super) fn check<T: 'static>(
        &mut self,
        frame: &Frame,
        commands: &CommandClasses<T>,
    ) -> Result<()> {
        let steps = match frame.kind {
            Kind::Program => return self.read(&read(&frame.payload)?),
            Kind::Entry => read::<StoredEntry>(&frame.payload)?.steps,
            Kind::Done => read::<StoredDone>(&frame.payload)?.steps,
            _ => return Ok(()),
        };
        steps.iter().try_for_each(|step| self.check_step(step, commands))
    }

    fn check_step<T: 'static>(
        &mut self,
        step: &StoredStep,
        commands: &CommandClasses<T>,
    ) -> Result<()> {
        match step {
            StoredStep::Command(command) => {
                self.command(command.class, commands)?;
                command.further.iter().try_for_each(|step| self.check_step(step, commands))
            }
            StoredStep::Change(change) => match change.class() {
                Some(class) => self.of_fields().known(class).map(drop),
                None => Ok(()),
            },
        }
    }

    /// The program's class of a command.
    pub(super) fn command<T: 'static>(
        &self,
        number: u32,
        commands: &CommandClasses<T>,
    ) -> Result<CommandClass<T>> {
        let class = self.commands.class(number)?;
        let name = &self.commands.registry.program().classes[class].name;
        commands.class(class).ok_or_else(|| unregistered(name))
    }
}

/// The classes of one registry.
pub(super) struct Classes<'p> {
    pub(super) registry: &'p Registry,
    options: LoadOptions,
    /// `None` before the journal says which classes it has.
    found: Option<Found<'p>>,
}

struct Found<'p> {
    plans: Box<Plans<'p>>,
    /// Which of the program's classes those of each number are.
    numbers: Vec<Option<usize>>,
    by_name: HashMap<String, usize>,
    /// True for each class whose bytes and paths mean the same in the program.
    same: Vec<bool>,
}

impl<'p> Classes<'p> {
    fn new(registry: &'p Registry, options: LoadOptions) -> Self {
        Self { registry, options, found: None }
    }

    fn read(&mut self, definitions: &[u8]) -> Result<()> {
        let scan = scan(definitions, &Limits::DEFAULT)?;
        if scan.records.len() > 0 {
            return Err(wrong("records among its classes"));
        }
        let count = scan.classes.len();
        let mut plans =
            Box::new(Plans::new(scan.classes, self.registry.program(), self.options, None));
        plans.aside = false;
        let numbers: Vec<_> = (0..count).map(|class| plans.resolve(class)).collect();
        let is_shifted =
            numbers.iter().enumerate().any(|(i, found)| found.is_some_and(|found| found != i));
        let by_name = plans.stored.iter().map(|class| class.name.clone()).zip(0..).collect();
        let found = Found { plans, numbers, by_name, same: Vec::new() };
        let same = (0..count).map(|class| self.is_class_same(&found, class, is_shifted)).collect();
        self.found = Some(Found { same, ..found });
        Ok(())
    }

    /// What commands of the journal are read with.
    pub(super) fn reading(&self) -> Reading<'_> {
        Reading { registry: self.registry, numbers: self.numbers() }
    }

    /// Which of the program's classes those of each number are, if that is not the same.
    pub(super) fn numbers(&self) -> Option<&[Option<usize>]> {
        self.found.as_ref().map(|found| &*found.numbers)
    }

    /// The program's class of a command.
    fn class(&self, number: u32) -> Result<usize> {
        let Some(found) = &self.found else { return Err(wrong("no classes")) };
        match found.numbers.get(number as usize) {
            Some(Some(class)) => Ok(*class),
            Some(None) => Err(unregistered(&found.plans.stored[number as usize].name)),
            None => Err(wrong("the number of a class that it does not define")),
        }
    }

    /// A value of a class in the form that the program has.
    pub(super) fn bring_on<'b>(&mut self, class: usize, bytes: &'b [u8]) -> Result<Cow<'b, [u8]>> {
        let env = self.registry.env();
        let Some(Found { plans, .. }) = &mut self.found else { return Err(wrong("no classes")) };
        if plans.is_identical(class) {
            return Ok(bytes.into());
        }
        let mut out = Vec::with_capacity(bytes.len() + bytes.len() / 4);
        let source = Source { class, id: 1, payload: bytes, kept: &[] };
        transcode(plans, &source, &|_, _, _| None, &mut 2, &env, &mut out).map_err(|error| {
            let name = &plans.stored[class].name;
            error.in_class(&**name)
        })?;
        Ok(out.into())
    }

    /// True if all bytes and paths mean the same in the program.
    pub(super) fn are_same(&self) -> bool {
        self.found.as_ref().is_some_and(|found| found.same.iter().all(|same| *same))
    }

    /// True if those of a class of this name do.
    pub(super) fn is_same(&self, name: &str) -> bool {
        let Some(found) = &self.found else { return false };
        found.by_name.get(name).is_some_and(|class| found.same[*class])
    }

    fn is_class_same(&self, found: &Found<'p>, class: usize, is_shifted: bool) -> bool {
        let Some(own) = found.numbers[class] else { return false };
        let is_moved = is_shifted && self.registry.traits(own).dynamic;
        let is_identical = found.plans.is_identical(class) && !is_moved;
        is_identical && self.has_same_names(found, class)
    }

    /// True if a class and those inside of it have the names that they have in the program, and so have their fields and
    /// variants. Steps know fields by their names, while equal bytes may be of fields that have other ones now.
    fn has_same_names(&self, found: &Found<'p>, class: usize) -> bool {
        let are_named = |stored: &[FieldSchema], own: &[FieldSchema]| {
            stored.iter().map(|field| &field.name).eq(own.iter().map(|field| &field.name))
        };
        let (mut met, mut next) = (HashSet::from([class]), vec![class]);
        while let Some(class) = next.pop() {
            let Some(own) = found.numbers[class] else { return false };
            let (stored, own) = (&found.plans.stored[class], &self.registry.program().classes[own]);
            let is_named = match (&stored.form, &own.form) {
                (Form::Struct(stored), Form::Struct(own)) => are_named(stored, own),
                (Form::Enum(stored), Form::Enum(own)) => {
                    stored.len() == own.len()
                        && stored.iter().zip(own).all(|(stored, own)| {
                            stored.name == own.name && are_named(&stored.fields, &own.fields)
                        })
                }
                (Form::Value(_), Form::Value(_)) => true,
                _ => false,
            };
            if !is_named || stored.name != own.name {
                return false;
            }
            for kind in stored.kinds() {
                kind.visit(&mut |kind| match kind {
                    KindSchema::Class(class) => next.extend(met.insert(*class).then_some(*class)),
                    KindSchema::Dynamic(name) => {
                        let of = self.registry.trait_classes().find(|(of, _)| **of == **name);
                        let is_of = |class: &usize| {
                            let own = found.numbers[*class];
                            own.zip(of.as_ref()).is_some_and(|(own, (_, of))| of.contains(&own))
                        };
                        let classes = (0..found.numbers.len()).filter(is_of);
                        next.extend(classes.filter(|class| met.insert(*class)));
                    }
                    _ => {}
                });
            }
        }
        true
    }

    /// The number of a class of this name, and the name that it has in the program.
    pub(super) fn known(&self, name: &str) -> Result<(usize, &'p str)> {
        let found = self.found.as_ref().ok_or_else(|| wrong("no classes"))?;
        let class = *found
            .by_name
            .get(name)
            .ok_or_else(|| wrong("the name of a class that it does not define"))?;
        let own = found.numbers[class].ok_or_else(|| unregistered_component(name))?;
        Ok((class, &self.registry.program().classes[own].name))
    }

    /// The classes that the journal has.
    pub(super) fn stored(&self) -> Result<Arc<Stored>> {
        let found = self.found.as_ref().ok_or_else(|| wrong("no classes"))?;
        Ok(Arc::clone(&found.plans.stored))
    }
}

#[cold]
fn unregistered_component(name: &str) -> Error {
    Error::new(
        ErrorKind::WrongClass,
        format!(
            "the journal has changes of class {name}, which is not registered; register it with the saves before the session is opened, or name it in an `alias`"
        ),
    )
}

#[cold]
pub(super) fn unregistered(name: &str) -> Error {
    Error::new(
        ErrorKind::WrongClass,
        format!(
            "the journal has a command of class {name}, which is not registered; call `register` with it on the `SessionOptions`"
        ),
    )
}

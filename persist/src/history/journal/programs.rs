//! The classes of the program that wrote a journal, against those of the one that reads it.

use std::borrow::Cow;

use super::commands::definitions;
use super::stored::{StoredProgram, wrong};
use crate::format::scan;
use crate::schema::{Plans, Source, transcode};
use crate::{Error, ErrorKind, Limits, LoadOptions, Registry, Result};

/// Brings what a journal holds on to the program's classes, by the same plans as saves.
pub(super) struct Programs<'p> {
    pub(super) registry: &'p Registry,
    options: LoadOptions,
    own: Vec<u8>,
    /// `None` before the journal says which classes it has.
    found: Option<Found<'p>>,
}

enum Found<'p> {
    /// Those of the program.
    Same,
    Other {
        plans: Box<Plans<'p>>,
        numbers: Vec<Option<usize>>,
    },
}

impl<'p> Programs<'p> {
    pub(super) fn new(registry: &'p Registry, options: LoadOptions) -> Result<Self> {
        Ok(Self { registry, options, own: definitions(registry)?, found: None })
    }

    /// Reads which classes the frames are of from here on.
    pub(super) fn read(&mut self, program: &StoredProgram) -> Result<()> {
        if program.commands == self.own {
            self.found = Some(Found::Same);
            return Ok(());
        }
        let scan = scan(&program.commands, &Limits::DEFAULT)?;
        if !scan.records.is_empty() {
            return Err(wrong("records among its classes"));
        }
        let count = scan.classes.len();
        let mut plans =
            Box::new(Plans::new(scan.classes, self.registry.program(), self.options, None));
        plans.aside = false;
        let numbers = (0..count).map(|class| plans.resolve(class)).collect();
        self.found = Some(Found::Other { plans, numbers });
        Ok(())
    }

    /// Which of the program's classes those of each number are, if that is not the same.
    pub(super) fn numbers(&self) -> Option<&[Option<usize>]> {
        match &self.found {
            Some(Found::Other { numbers, .. }) => Some(numbers),
            _ => None,
        }
    }

    /// The program's class of a command.
    pub(super) fn class(&self, number: u32) -> Result<usize> {
        let number = number as usize;
        let (class, name) = match &self.found {
            None => (None, None),
            Some(Found::Same) => {
                (Some(number), self.registry.program().classes.get(number).map(|of| &of.name))
            }
            Some(Found::Other { plans, numbers }) => {
                let name = (number < numbers.len()).then(|| &plans.stored[number].name);
                (numbers.get(number).copied().flatten(), name)
            }
        };
        match (class, name) {
            (_, None) => Err(wrong("the number of a class")),
            (Some(class), Some(_)) => Ok(class),
            (None, Some(name)) => Err(unregistered(name)),
        }
    }

    /// A value of a class in the form that the program has.
    pub(super) fn bring_on<'b>(&mut self, number: u32, bytes: &'b [u8]) -> Result<Cow<'b, [u8]>> {
        let class = number as usize;
        let Some(Found::Other { plans, .. }) = &mut self.found else { return Ok(bytes.into()) };
        if plans.is_identical(class) {
            return Ok(bytes.into());
        }
        let mut out = Vec::with_capacity(bytes.len() + bytes.len() / 4);
        let source = Source { class, id: 1, payload: bytes, kept: &[] };
        transcode(plans, &source, &|_, _, _| None, &mut 2, &Limits::DEFAULT, &mut out).map_err(
            |error| {
                let name = &plans.stored[class].name;
                error.in_class(&**name)
            },
        )?;
        Ok(out.into())
    }
}

#[cold]
pub(super) fn unregistered(name: &str) -> Error {
    Error::new(
        ErrorKind::WrongClass,
        format!(
            "the journal has a command of class {name}, which is not registered; call `register` with it on the history before the session is opened"
        ),
    )
}

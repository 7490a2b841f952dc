use std::fmt::Display;

use super::Slot;
use crate::{Error, ErrorKind, Limits, Result};

/// What a visit of a value is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Phase {
    /// Runs `before_save` hooks, outer values first.
    BeforeSave,
    /// Points every reference at its target.
    Connect,
    /// Runs `validate` functions, inner values first.
    Validate,
    /// Runs `after_load` hooks, inner values first.
    AfterLoad,
}

/// Walks through a value: its references and the hooks of its classes.
pub struct Visitor<'a> {
    phase: Phase,
    depth: u32,
    limits: &'a Limits,
    connect: &'a mut dyn FnMut(&mut dyn Slot) -> Result<()>,
}

impl<'a> Visitor<'a> {
    pub(crate) fn new(
        phase: Phase,
        limits: &'a Limits,
        connect: &'a mut dyn FnMut(&mut dyn Slot) -> Result<()>,
    ) -> Self {
        Self { phase, depth: limits.depth, limits, connect }
    }

    /// What this visit is for.
    #[must_use]
    pub fn phase(&self) -> Phase {
        self.phase
    }

    pub(crate) fn limits(&self) -> &'a Limits {
        self.limits
    }

    /// Visits a reference.
    ///
    /// # Errors
    ///
    /// If its target is not what it must be.
    pub fn reference(&mut self, slot: &mut dyn Slot) -> Result<()> {
        if self.phase == Phase::Connect { (self.connect)(slot) } else { Ok(()) }
    }

    /// Visits one level further in, within [`Limits::depth`].
    ///
    /// # Errors
    ///
    /// Beyond the limit, and whatever `visit` returns.
    pub fn nested(&mut self, visit: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        self.depth = self.depth.checked_sub(1).ok_or_else(|| {
            Error::new(ErrorKind::TooDeep, "the value is nested deeper than `Limits::depth`")
        })?;
        let result = visit(self);
        self.depth += 1;
        result
    }

    /// Runs a hook of class `class` if this visit is for `phase`.
    ///
    /// # Errors
    ///
    /// What the hook returns, with its name and class.
    pub fn hook<O: Outcome>(
        &mut self,
        phase: Phase,
        class: &str,
        run: impl FnOnce() -> O,
    ) -> Result<()> {
        if self.phase != phase {
            return Ok(());
        }
        run().into_result().map_err(|reason| {
            let name = match phase {
                Phase::BeforeSave => "before_save",
                Phase::Connect => "connect",
                Phase::Validate => "validate",
                Phase::AfterLoad => "after_load",
            };
            Error::new(ErrorKind::Refused, format!("`{name}` of {class} refused: {reason}"))
        })
    }
}

/// What a hook may return: nothing, or a `Result` whose error can be shown.
#[diagnostic::on_unimplemented(
    message = "a hook returns `()` or `Result<(), impl Display>`, not `{Self}`",
    label = "not what a hook may return"
)]
pub trait Outcome {
    /// The outcome, its error as text.
    ///
    /// # Errors
    ///
    /// The hook's own.
    fn into_result(self) -> Result<(), String>;
}

impl Outcome for () {
    fn into_result(self) -> Result<(), String> {
        Ok(())
    }
}

impl<E: Display> Outcome for Result<(), E> {
    fn into_result(self) -> Result<(), String> {
        self.map_err(|error| error.to_string())
    }
}

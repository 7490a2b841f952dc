use std::any::Any;
use std::fmt::Display;

use super::links::{Prototypes, ReferenceSlot, Within};
use super::page_source::PageSource;
use crate::env::Env;
use crate::reflect::Class;
use crate::{ErrorKind, Limits, Result};

/// The purpose of a visit of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Phase {
    /// Writes the pages of values that have them, before their record.
    Pages,
    /// Runs `before_save` hooks, outer values first.
    BeforeSave,
    /// Points every reference at its target.
    Connect,
    /// Runs `validate` functions, inner values first.
    Validate,
    /// Runs `after_load` hooks, inner values first.
    AfterLoad,
    /// Sets the cells whose content closes a cycle that could not be cut again.
    Seal,
    /// Empties every cell, which cuts cycles and chains.
    Dismantle,
}

impl Phase {
    fn name(self) -> &'static str {
        match self {
            Self::Pages => "pages",
            Self::BeforeSave => "before_save",
            Self::Connect => "connect",
            Self::Validate => "validate",
            Self::AfterLoad => "after_load",
            Self::Seal => "seal",
            Self::Dismantle => "dismantle",
        }
    }
}

/// Walks through a value, and visits its references and the hooks of its classes.
pub struct Visitor<'a> {
    phase: Phase,
    /// True if the contents of cells are left for later.
    bare: bool,
    depth: u32,
    /// The cell around the value that is being visited, while pages are written.
    within: Within,
    env: &'a Env<'a>,
    links: &'a mut dyn VisitLinks,
}

/// The interface between a visit and the load around it.
pub(crate) trait VisitLinks {
    /// Connects a reference, or notes it for later.
    fn reference(&mut self, slot: &mut dyn ReferenceSlot) -> Result<()> {
        let _ = slot;
        Ok(())
    }

    /// Sets aside the content of a cell that can be set once, when the visit reaches the cell.
    fn defer(&mut self, content: Option<Box<dyn Any>>) {
        let _ = content;
    }

    /// Returns the next of the contents that were set aside, in the same order.
    fn next_deferred(&mut self) -> Option<Box<dyn Any>> {
        None
    }

    /// True if a reference since the last call would close a cycle that could not be cut again.
    fn is_late(&mut self) -> bool {
        false
    }

    /// Writes the pages of a value, which lies in the place `within`.
    #[cfg_attr(not(feature = "world"), allow(dead_code, reason = "worlds have pages"))]
    fn pages(&mut self, source: &dyn PageSource, within: Within) -> Result<()> {
        let _ = (source, within);
        Ok(())
    }

    fn prototypes(&self) -> Prototypes<'_>;
}

/// Links of a visit that connects nothing. It runs hooks, or empties cells, which needs empty values.
impl VisitLinks for Prototypes<'_> {
    fn prototypes(&self) -> Prototypes<'_> {
        *self
    }
}

impl<'a> Visitor<'a> {
    pub(crate) fn new(phase: Phase, env: &'a Env<'a>, links: &'a mut dyn VisitLinks) -> Self {
        Self { phase, bare: false, depth: env.limits.depth, within: Within::Bare, env, links }
    }

    /// Reborrows the visitor.
    pub(super) fn reborrow(&mut self) -> Visitor<'_> {
        Visitor { links: &mut *self.links, ..*self }
    }

    /// Returns a visitor that skips the contents of cells.
    pub(crate) fn outside_of_cells(mut self) -> Self {
        self.bare = true;
        self
    }

    /// Returns the purpose of this visit.
    #[must_use]
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// True if the contents of cells are to be left for later.
    pub(crate) fn leaves_cells(&self) -> bool {
        self.bare
    }

    pub(crate) fn env(&self) -> &'a Env<'a> {
        self.env
    }

    pub(crate) fn limits(&self) -> &'a Limits {
        &self.env.limits
    }

    pub(crate) fn prototypes(&self) -> Prototypes<'_> {
        self.links.prototypes()
    }

    /// Sets aside the content of a cell that can be set once.
    pub(crate) fn defer(&mut self, content: Option<Box<dyn Any>>) {
        self.links.defer(content);
    }

    /// Returns the next content that was set aside, if there is one.
    pub(crate) fn next_deferred<T: Any>(&mut self) -> Option<T> {
        let content = self.links.next_deferred()?.downcast::<T>();
        content.ok().map(|content| *content)
    }

    /// Finishes the content of a cell that can be set once, before it is shared: connects its references and runs its
    /// hooks.
    ///
    /// Returns the content, unless it closes a cycle, which could not be cut again if the load failed. Such content is
    /// set aside until the load cannot fail any more.
    pub(crate) fn finish_once<T: Any>(
        &mut self,
        mut content: T,
        visit: fn(&mut T, &mut Self) -> Result<()>,
    ) -> Result<Option<T>> {
        visit(&mut content, self)?;
        let is_late = self.links.is_late();
        // Late content is not in its cell yet, so the later visit that runs `validate` would miss it.
        let phases: &[Phase] =
            if is_late { &[Phase::Validate, Phase::AfterLoad] } else { &[Phase::AfterLoad] };
        for phase in phases {
            self.phase = *phase;
            let result = visit(&mut content, self);
            self.phase = Phase::Connect;
            result?;
        }
        if is_late {
            self.links.defer(Some(Box::new(content)));
            return Ok(None);
        }
        self.links.defer(None);
        Ok(Some(content))
    }

    /// Visits a reference.
    pub fn reference(&mut self, slot: &mut dyn ReferenceSlot) -> Result<()> {
        if self.phase == Phase::Connect { self.links.reference(slot) } else { Ok(()) }
    }

    /// Writes the pages of a value.
    #[cfg(feature = "world")]
    pub(crate) fn pages(&mut self, source: &dyn PageSource) -> Result<()> {
        self.links.pages(source, self.within)
    }

    /// Visits the content of a cell of this sort through `&`.
    pub(crate) fn inside(
        &mut self,
        cell: Within,
        visit: impl FnOnce(&mut Self) -> Result<()>,
    ) -> Result<()> {
        let outer = self.within;
        self.within = outer.then(cell);
        let result = visit(self);
        self.within = outer;
        result
    }

    /// Visits one level of nesting further in, within [`Limits::depth`].
    pub fn nested(&mut self, visit: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        self.enter()?;
        let result = visit(self);
        self.depth += 1;
        result
    }

    /// Visits the elements of a collection. `next` visits the next element, and returns `None` after the last one. An
    /// error names the element by its index. Compiled once, for elements of all types.
    pub(crate) fn each(
        &mut self,
        next: &mut dyn FnMut(&mut Self) -> Option<Result<()>>,
    ) -> Result<()> {
        self.nested(|visitor| {
            let mut index = 0;
            while let Some(result) = next(visitor) {
                result.map_err(|error| error.in_element(index))?;
                index += 1;
            }
            Ok(())
        })
    }

    fn enter(&mut self) -> Result<()> {
        self.depth = self.depth.checked_sub(1).ok_or_else(|| {
            error!(ErrorKind::TooDeep, "the value is nested deeper than `Limits::depth`; raise it")
        })?;
        Ok(())
    }

    /// Refuses the `before_save` hook of a value that cannot be changed, if this visit runs such hooks.
    pub fn no_hook(&mut self, class: &Class) -> Result<()> {
        if self.phase != Phase::BeforeSave {
            return Ok(());
        }
        let class = class.name();
        Err(error!(
            ErrorKind::Unsupported,
            "`before_save` of {class} needs `&mut`, and a pointer without a cell gives none; hold the object in a cell, such as `Rc<RefCell<{class}>>`"
        ))
    }

    /// True if this is a visit for the hooks of a load that runs none.
    fn skips_hooks(&self) -> bool {
        matches!(self.phase, Phase::Validate | Phase::AfterLoad) && self.env.skips_hooks()
    }

    /// Runs a hook of class `class` if this visit is in phase `phase`.
    pub fn hook<O: Outcome>(
        &mut self,
        phase: Phase,
        class: &Class,
        run: impl FnOnce() -> O,
    ) -> Result<()> {
        if self.phase != phase || self.skips_hooks() {
            return Ok(());
        }
        run().into_result().map_err(|reason| {
            // The name of the class is built only here, since most hooks refuse nothing.
            let (name, class) = (phase.name(), class.name());
            error!(ErrorKind::Refused, "`{name}` of {class} refused: {reason}")
        })
    }

    /// Runs a hook like [`hook`](Self::hook), with the context.
    pub fn hook_with<C: Any, O: Outcome>(
        &mut self,
        phase: Phase,
        class: &Class,
        run: impl FnOnce(&C) -> O,
    ) -> Result<()> {
        if self.phase != phase || self.skips_hooks() {
            return Ok(());
        }
        let context =
            self.env.context().map_err(|error| error.in_hook(phase.name(), &class.name()))?;
        self.hook(phase, class, || run(context))
    }
}

/// Marks the return types of a hook or a `migrate`: nothing, or a `Result` whose error can be shown.
#[diagnostic::on_unimplemented(
    message = "a hook or `migrate` returns `()` or `Result<(), impl Display>`, not `{Self}`",
    label = "not what it may return"
)]
pub trait Outcome {
    /// Returns the outcome, with its error as text.
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

//! What all values of one save, load or edit have in common.

use std::any::{Any, type_name};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use crate::{Error, ErrorKind, Limits};

/// The bounds of a save, load or edit, and its context.
///
/// One stands outside of each, so that an encode of a value has one reference to both.
#[derive(Clone, Copy)]
pub struct Env<'a> {
    pub(crate) limits: Limits,
    pub(crate) context: Option<&'a dyn AnyContext>,
    /// True if references are only listed: nothing is written, and no code of the program runs for it.
    pub(crate) only_lists: bool,
    trial: Option<Trial>,
    watch: Option<&'a Watch>,
}

/// How a load of samples runs, which no program wrote: a panic in the program's code is an error of the object.
#[derive(Clone, Copy, PartialEq, Eq)]
#[cfg_attr(not(feature = "lock"), allow(dead_code, reason = "only the lock loads samples"))]
pub(crate) enum Trial {
    /// Without `validate` and `after_load`, which may refuse what no program would have saved.
    WithoutHooks,
    WithHooks,
}

/// A function that hears how far a load is: how much is done, of how much.
pub(crate) type Watch = dyn Fn(u64, u64) + Send + Sync;

/// A value of the program's own that its types reach while they are saved and loaded.
pub(crate) trait AnyContext: Any {
    /// The name of its type, for an error.
    fn type_name(&self) -> &'static str;
}

/// A context that several hold.
pub(crate) type SharedContext = Arc<dyn AnyContext + Send + Sync>;

/// The context itself.
pub(crate) fn shared(context: &Option<SharedContext>) -> Option<&dyn AnyContext> {
    match context {
        Some(context) => Some(&**context),
        None => None,
    }
}

impl<C: Any> AnyContext for C {
    fn type_name(&self) -> &'static str {
        type_name::<C>()
    }
}

impl<'a> Env<'a> {
    /// The default limits and no context.
    pub const DEFAULT: Self = Self {
        limits: Limits::DEFAULT,
        context: None,
        only_lists: false,
        trial: None,
        watch: None,
    };

    /// For a visit that frees what was loaded under any limits.
    pub(crate) const FREEING: Self = Self { limits: Limits::FREEING, ..Self::DEFAULT };

    pub(crate) fn new(limits: &Limits, context: Option<&'a dyn AnyContext>) -> Self {
        Self { limits: *limits, context, only_lists: false, trial: None, watch: None }
    }

    /// This one for a load that a function watches.
    pub(crate) fn watched(self, watch: Option<&'a Watch>) -> Self {
        Self { watch, ..self }
    }

    /// This one for a load of samples.
    #[cfg(feature = "lock")]
    pub(crate) fn on_trial(self, trial: Trial) -> Self {
        Self { trial: Some(trial), ..self }
    }

    /// True for a load of samples, whose report the lock alone reads.
    pub(crate) fn is_trial(&self) -> bool {
        self.trial.is_some()
    }

    /// True if the hooks of a load do not run.
    pub(crate) fn skips_hooks(&self) -> bool {
        self.trial == Some(Trial::WithoutHooks)
    }

    /// Runs what calls code of the program for one object.
    ///
    /// # Errors
    ///
    /// Returns the error of `run`; [`ErrorKind::Poisoned`] if it panics in a load of samples.
    pub(crate) fn guarded<R>(&self, run: impl FnOnce() -> Result<R, Error>) -> Result<R, Error> {
        if !self.is_trial() {
            return run();
        }
        catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| {
            let text = panic.downcast_ref::<String>().map(|text| &**text);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
            let text = text.unwrap_or("?");
            Err(Error::new(ErrorKind::Poisoned, format!("the program panicked: {text}")))
        })
    }

    /// Reports how far the load is.
    pub(crate) fn report(&self, done: usize, total: usize) {
        if let Some(watch) = self.watch {
            watch(done as u64, total as u64);
        }
    }

    /// No context: for what the library itself stores.
    pub(crate) fn bare(limits: &Limits) -> Self {
        Self::new(limits, None)
    }

    /// This one with other limits.
    pub(crate) fn within(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// This one for a run that lists references.
    pub(crate) fn to_list(self) -> Self {
        Self { only_lists: true, ..self }
    }

    /// The context, if it is a `C`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::WrongContext`] if there is none, or one of another type.
    pub fn context<C: Any>(&self) -> Result<&'a C, Error> {
        let context: Option<&'a dyn Any> = self.context.map(|context| context as _);
        context.and_then(<dyn Any>::downcast_ref).ok_or_else(|| self.no_context(type_name::<C>()))
    }

    #[cold]
    fn no_context(&self, wanted: &str) -> Error {
        let problem = match self.context {
            Some(context) => format!(
                "the context is of type `{}`, and one of type `{wanted}` is needed",
                context.type_name()
            ),
            None => format!("a context of type `{wanted}` is needed, and there is none"),
        };
        error!(
            ErrorKind::WrongContext,
            "{problem}; call `context` of the `Saves`, or `registry_mut().set_context` of the `World` that is edited"
        )
    }
}

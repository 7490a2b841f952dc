//! The environment that all values of one save, load or edit share.

use std::any::{Any, type_name};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use crate::{Error, ErrorKind, Limits};

/// Holds the limits and the context of a save, load or edit.
///
/// One value of it belongs to each, so that an encode needs one reference for both.
#[derive(Clone, Copy)]
pub struct Env<'a> {
    pub(crate) limits: Limits,
    pub(crate) context: Option<&'a dyn AnyContext>,
    /// True if references are only listed: nothing is written, and no code of the program runs for it.
    pub(crate) only_lists: bool,
    trial: Option<Trial>,
    #[cfg_attr(
        not(feature = "world"),
        allow(dead_code, reason = "a load of a world reports to it")
    )]
    watch: Option<&'a Watch>,
}

/// Says how a load of samples runs, which no program wrote. A panic in the program's code is then an error of the
/// object.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Trial {
    /// Hooks do not run: `validate` and `after_load` may refuse samples that no program would have saved.
    WithoutHooks,
    /// Hooks run.
    WithHooks,
}

/// A function that is notified of the progress of a load: the amount done, and the total.
pub(crate) type Watch = dyn Fn(u64, u64) + Send + Sync;

/// A value of the program's own that its types access while they are saved and loaded.
pub trait AnyContext: Any {
    /// Returns the name of the value's type, for an error.
    fn type_name(&self) -> &'static str;
}

/// A context with several owners.
#[allow(unreachable_pub, reason = "a hidden method of a public trait names it")]
pub type SharedContext = Arc<dyn AnyContext + Send + Sync>;

/// Borrows the context.
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
    /// The default limits, without a context.
    pub const DEFAULT: Self = Self {
        limits: Limits::DEFAULT,
        context: None,
        only_lists: false,
        trial: None,
        watch: None,
    };

    /// Limits for a visit that frees a value that was loaded under any limits.
    pub(crate) const FREEING: Self = Self { limits: Limits::FREEING, ..Self::DEFAULT };

    pub(crate) fn new(limits: &Limits, context: Option<&'a dyn AnyContext>) -> Self {
        Self { limits: *limits, context, only_lists: false, trial: None, watch: None }
    }

    /// Returns this environment for a load that a function watches.
    pub(crate) fn watched(self, watch: Option<&'a Watch>) -> Self {
        Self { watch, ..self }
    }

    /// Returns this environment for a load of samples.
    pub(crate) fn on_trial(self, trial: Trial) -> Self {
        Self { trial: Some(trial), ..self }
    }

    /// True for a load of samples, whose report only the lock reads.
    pub(crate) fn is_trial(&self) -> bool {
        self.trial.is_some()
    }

    /// True if the hooks of a load do not run.
    pub(crate) fn skips_hooks(&self) -> bool {
        self.trial == Some(Trial::WithoutHooks)
    }

    /// Runs a function that calls code of the program for one object.
    ///
    /// # Errors
    ///
    /// Returns the error of `run`, or [`ErrorKind::Poisoned`] if it panics in a load of samples.
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

    /// Reports the progress of the load.
    #[cfg(feature = "world")]
    pub(crate) fn report(&self, done: usize, total: usize) {
        if let Some(watch) = self.watch {
            watch(done as u64, total as u64);
        }
    }

    /// Creates an environment without a context, for the library's own data.
    pub fn bare(limits: &Limits) -> Self {
        Self::new(limits, None)
    }

    /// Returns this environment with other limits.
    pub(crate) fn within(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// Returns this environment for an encode that only lists references.
    pub(crate) fn to_list(self) -> Self {
        Self { only_lists: true, ..self }
    }

    /// Returns the context, if it is a `C`.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::WrongContext`] if there is no context, or one of another type.
    pub fn context<C: Any>(&self) -> Result<&'a C, Error> {
        let context: Option<&'a dyn Any> = self.context.map(|context| context as _);
        context.and_then(<dyn Any>::downcast_ref).ok_or_else(|| self.no_context(type_name::<C>()))
    }

    #[cold]
    fn no_context(&self, expected: &str) -> Error {
        let problem = match self.context {
            Some(context) => format!(
                "the context is of type `{}`, and one of type `{expected}` is needed",
                context.type_name()
            ),
            None => format!("a context of type `{expected}` is needed, and there is none"),
        };
        error!(
            ErrorKind::WrongContext,
            "{problem}; call `context` of the `Saves`, or `registry_mut().set_context` of the `World` that is edited"
        )
    }
}

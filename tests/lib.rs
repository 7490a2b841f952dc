//! Behaviour by behaviour.

/// True if loads are those of older saves: see `.ci/run`.
#[must_use]
pub fn is_plan_forced() -> bool {
    cfg!(persist_forced_plan) && std::env::var_os("PERSIST_FORCED_PLAN").is_some()
}

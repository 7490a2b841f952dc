use crate::storage::Replaced;

/// What has become of a save; the last two are of saves in the background.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SaveOutcome {
    /// It is in its place.
    Saved,
    /// It is in its place, and was not locked, since the system has no file locks there, as on some network drives. Another
    /// program that saved at the same moment was looked for twice, and is found unless it replaced the save in the
    /// instant between the second look and the end.
    SavedUnlocked,
    /// A newer save of the same file came before its turn.
    Superseded,
    /// It was cancelled; the save before is in its place.
    Cancelled,
}

impl SaveOutcome {
    pub(super) fn of<T>(replaced: &Replaced<T>) -> Self {
        if replaced.is_locked { Self::Saved } else { Self::SavedUnlocked }
    }
}

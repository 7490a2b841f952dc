//! What a load does about a save that is not the program's own.

/// How strict a load is, and what it does where a save does not say enough.
///
/// # Example
///
/// ```
/// use persist::save::LoadPolicy;
/// use persist::{LoadOptions, Saves};
///
/// let saves = Saves::new().load_options(LoadOptions::new().clamp(true));
/// # assert_eq!(LoadOptions::new().policy, LoadPolicy::Lenient);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LoadOptions {
    /// Whether a save must come back whole. Default [`LoadPolicy::Lenient`].
    pub policy: LoadPolicy,
    /// Numbers that do not fit the field's type any more become the nearest that does, and are
    /// reported; else they are an error. Default false.
    pub clamp: bool,
    /// Fields that the save does not have and that have no `default` are made empty, and reported;
    /// else they are an error. Default false.
    pub fill: bool,
    /// What the program does not know is dropped, and reported, instead of being kept for the next
    /// save. Only a stand-in and an `other` variant keep what they stand for, with the objects that
    /// it leads to: there must be some value in their place. Default false.
    pub drop_unknown: bool,
}

impl LoadOptions {
    /// Makes the default options.
    #[must_use]
    pub const fn new() -> Self {
        Self { policy: LoadPolicy::Lenient, clamp: false, fill: false, drop_unknown: false }
    }

    /// Sets [`policy`](Self::policy).
    #[must_use]
    pub const fn policy(self, policy: LoadPolicy) -> Self {
        Self { policy, ..self }
    }

    /// Sets [`clamp`](Self::clamp).
    #[must_use]
    pub const fn clamp(self, clamp: bool) -> Self {
        Self { clamp, ..self }
    }

    /// Sets [`fill`](Self::fill).
    #[must_use]
    pub const fn fill(self, fill: bool) -> Self {
        Self { fill, ..self }
    }

    /// Sets [`drop_unknown`](Self::drop_unknown).
    #[must_use]
    pub const fn drop_unknown(self, drop_unknown: bool) -> Self {
        Self { drop_unknown, ..self }
    }
}

/// Whether a save must come back whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LoadPolicy {
    /// A load is an error if anything was lost, kept for the next save or made up.
    ///
    /// The save must hold what the program knows, and nothing else. A field with a `default` may be missing, and values may
    /// be converted without loss. The backup of a damaged save is loaded under this policy, too;
    /// [`LoadReport::recovery`](crate::save::LoadReport::recovery) reports it.
    Strict,
    /// Loads what can be loaded; the report says what was done.
    #[default]
    Lenient,
    /// Loads every whole object of a damaged save that has no good backup.
    ///
    /// [`LoadReport::salvage`](crate::save::LoadReport::salvage) says what is lost. Pointers to lost objects are gone from
    /// options, lists and maps; an object that holds a bare one is lost with it.
    ///
    /// A save of several blocks has the definitions of its classes in front of their first objects, and all of them at its
    /// end. If a block and the end are lost, so are all objects of the classes defined in or after that block. One value with
    /// all that is in it is one object, in one block.
    ///
    /// This is the last resort, for the player to ask for: what comes back is not what was saved. The load takes the save or
    /// damaged backup with the most objects, which is kept as `name.damaged` before a save replaces it.
    /// Where no object is whole, the load is an error that says how many are lost.
    Salvage,
}

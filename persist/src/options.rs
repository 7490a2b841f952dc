//! How a load treats a save that differs from the program's types.

/// Says how strict a load is, and what it does where a save does not say enough.
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
    /// The strictness of a load. Default [`LoadPolicy::Lenient`].
    pub policy: LoadPolicy,
    /// If true, numbers that no longer fit the field's type become the nearest value that does, and are reported. If
    /// false, they are an error. Default false.
    pub clamp: bool,
    /// If true, fields that the save lacks and that have no `default` get an empty value, and are reported. If false,
    /// they are an error. Default false.
    pub fill: bool,
    /// If true, unknown content is dropped and reported, instead of being kept for the next save. Only a stand-in and
    /// an `other` variant keep their content, with the objects that it refers to, because there must be some value in
    /// their place. Default false.
    pub drop_unknown: bool,
}

impl LoadOptions {
    /// Creates the default options.
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

/// Says whether a save must come back whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LoadPolicy {
    /// The load fails if anything was lost, kept for the next save, or made up.
    ///
    /// The save must hold all fields of the program, and nothing else. A field with a `default` may be missing, and
    /// values may be converted without loss. The backup of a damaged save is also loaded under this policy;
    /// [`LoadReport::recovery`](crate::save::LoadReport::recovery) reports it.
    Strict,
    /// Loads as much as possible; the report lists the differences.
    #[default]
    Lenient,
    /// Loads every whole object of a damaged save that has no good backup.
    ///
    /// [`LoadReport::salvage`](crate::save::LoadReport::salvage) lists the losses. Pointers to lost objects are removed
    /// from options, lists and maps. An object that holds such a pointer directly is lost too.
    ///
    /// In a save of several blocks, the definitions of classes stand before their first objects, and once more all
    /// together at the end. If a block and the end are lost, so are all objects of the classes defined in or after that
    /// block. A value with everything in it is one object, in one block.
    ///
    /// Use this policy as a last resort, when the player asks for it, because the result differs from the saved state.
    /// The load takes the save or damaged backup with the most objects. It is kept as `name.damaged` before a save
    /// replaces it. If no object is whole, the load returns an error with the number of lost objects.
    Salvage,
}

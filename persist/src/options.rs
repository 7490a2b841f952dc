//! What a load does about a save that is not the program's own.

/// How strict a load is, and what it does where a save does not say enough.
///
/// # Example
///
/// ```
/// use persist::save::LoadPolicy;
/// use persist::{LoadOptions, SaveManager};
///
/// let mut saves = SaveManager::new();
/// saves.set_load_options(LoadOptions { clamp: true, ..LoadOptions::default() });
/// # assert_eq!(LoadOptions::default().policy, LoadPolicy::Lenient);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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

/// Whether a save must come back whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LoadPolicy {
    /// What was lost, kept aside or made up is an error: the save must hold what the program
    /// knows, and nothing else. A field with a `default` may be missing, and values may be converted
    /// without loss. Of a damaged save the backup is loaded all the same, whole:
    /// [`LoadReport::recovery`](crate::save::LoadReport::recovery) tells.
    Strict,
    /// What can be loaded is, and the report says what was done.
    #[default]
    Lenient,
    /// Of a damaged save without a good backup, too, every object whose block is whole is loaded, and
    /// [`LoadReport::salvage`](crate::save::LoadReport::salvage) says what is lost. Pointers to lost objects are gone from
    /// options, lists and maps; an object that holds a bare one is lost with it.
    ///
    /// A save of several blocks has the definitions of its classes in front of their first objects, and all of them at its
    /// end. If a block is lost and the end is, too, so are all objects of the classes defined in or behind that block. One value with
    /// all that is in it is one object, in one block.
    ///
    /// The last resort, and to be asked for by the player: what comes back is not what was saved. Of the save and its
    /// damaged backups the one with the most objects is taken, and kept as `name.damaged` before a save takes its place.
    /// Where no object is whole, the load is an error that says how many are lost.
    Salvage,
}

//! Maps old ids to new ones while a save is loaded.

use std::any::TypeId;
use std::fmt;

use super::Arena;
use crate::codec::Remapped;
use crate::{Error, ErrorKind, Result};

/// Gives the [`Handle`](crate::Handle)s of a save new ids while it is loaded.
///
/// ```
/// use std::collections::HashMap;
///
/// use persist::save::{Remap, UnmappedHandle};
/// use persist::{Arena, Handle, Saves};
///
/// struct Items;
///
/// impl Arena for Items {
///     type Key = u32;
///     const NAME: &'static str = "items";
///     fn to_bits(key: u32) -> u64 { key.into() }
///     fn from_bits(bits: u64) -> Option<u32> { bits.try_into().ok() }
/// }
///
/// let save = persist::to_vec(&vec![Handle::<Items>::new(1), Handle::new(2)])?;
/// let new = HashMap::from([(1, 41)]);
///
/// let mut remap = Remap::new();
/// remap.arena::<Items>(UnmappedHandle::Dead, |old| new.get(&old).copied());
/// let bag = remap.from_slice::<Vec<Handle<Items>>>(&Saves::new(), &save)?;
///
/// assert_eq!(bag[0].key(), Some(41));
/// assert!(bag[1].is_dead());
/// assert_eq!(bag.report().remapped(), 1);
/// assert_eq!(bag.report().rows()[0].event, persist::save::LoadEvent::Dead);
/// # Ok::<(), persist::Error>(())
/// ```
///
/// For each arena, a remap has a function from old keys to new ones, and a rule for ids without a new one. Here the ids
/// are known before the load; the example of [`Arena`] creates a new object for each id during the load.
///
/// A remap applies only to its own loads. [`Remap::load`] replaces [`Slot::load`](crate::save::Slot::load), and
/// [`Remap::from_slice`] replaces [`Saves::from_slice`](crate::Saves::from_slice). Other loads leave handles unchanged.
///
/// Null and dead handles stay unchanged, and so do handles into arenas without a function here. The function is called
/// once for each live handle, when the handle is read. It may be called for one id many times, and in a load that fails
/// later. Keys of maps and elements of sets get their new ids before the map or set is built. Unknown fields and
/// objects are kept with new ids.
#[derive(Default)]
pub struct Remap<'r> {
    arenas: Vec<ArenaMapping<'r>>,
}

/// Says how a load treats a handle whose old id has no new one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnmappedHandle {
    /// The load fails, with [`ErrorKind::MissingObject`].
    Error,
    /// The handle becomes null.
    Null,
    /// The handle becomes dead: it keeps its old id and never leads anywhere.
    Dead,
}

struct ArenaMapping<'r> {
    arena: TypeId,
    name: &'static str,
    unmapped: UnmappedHandle,
    /// Maps old bits to new ones.
    find: Box<dyn FnMut(u64) -> Option<u64> + 'r>,
}

impl<'r> Remap<'r> {
    /// Creates a remap without arenas.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Maps handles into an arena to new ids by a function, which replaces an earlier one for this arena. `unmapped`
    /// says how a handle is treated for which the function returns `None`.
    pub fn arena<A: Arena>(
        &mut self,
        unmapped: UnmappedHandle,
        mut find: impl FnMut(A::Key) -> Option<A::Key> + 'r,
    ) -> &mut Self {
        let arena = TypeId::of::<A>();
        self.arenas.retain(|entry| entry.arena != arena);
        let find = Box::new(move |bits| A::from_bits(bits).and_then(&mut find).map(A::to_bits));
        self.arenas.push(ArenaMapping { arena, name: A::NAME, unmapped, find });
        self
    }
}

/// A [`Remap`] of any lifetime, as a load uses it.
pub(crate) trait Renumber {
    /// Finds a remapped arena by name, where its type is unknown.
    fn arena(&self, name: &str) -> Option<(TypeId, &'static str)>;

    /// Returns the new state of a live handle; `None` if the handle stays unchanged.
    fn renumber(&mut self, arena: TypeId, bits: u64) -> Result<Option<Remapped>>;
}

impl Renumber for Remap<'_> {
    fn arena(&self, name: &str) -> Option<(TypeId, &'static str)> {
        let found = self.arenas.iter().find(|entry| entry.name == name);
        found.map(|entry| (entry.arena, entry.name))
    }

    fn renumber(&mut self, arena: TypeId, bits: u64) -> Result<Option<Remapped>> {
        let Some(entry) = self.arenas.iter_mut().find(|entry| entry.arena == arena) else {
            return Ok(None);
        };
        match ((entry.find)(bits), entry.unmapped) {
            (Some(new), _) => Ok(Some(Remapped::Live(new))),
            (None, UnmappedHandle::Null) => Ok(Some(Remapped::Null)),
            (None, UnmappedHandle::Dead) => Ok(Some(Remapped::Dead)),
            (None, UnmappedHandle::Error) => Err(missing(entry.name, bits)),
        }
    }
}

#[cold]
fn missing(arena: &str, bits: u64) -> Error {
    error!(
        ErrorKind::MissingObject,
        "the remap has no new id for handle {bits:#x} into arena {arena}; give it one, or pass `UnmappedHandle::Null` or `UnmappedHandle::Dead`"
    )
}

impl fmt::Debug for Remap<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.arenas.iter().map(|entry| (entry.name, entry.unmapped))).finish()
    }
}

//! Handles: keys of the program's arenas, to which a load may give new ids.

use std::any::TypeId;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;

use super::whole_items;
use crate::codec::{Decoder, Encoder, Fail, Layout, Persist, Pointee, Prototypes, Remapped, Stop};
use crate::reflect::Kind;
use crate::{Error, ErrorKind, Result};

/// A collection of the program whose objects have keys: a slot map, a table of generations, the entities of a world.
///
/// The program implements this trait on a marker type of its own, so that it can use keys of other crates. Fields are
/// [`Handle`]s into the arena. Most keys need two lines: `key.data().as_ffi()` and `KeyData::from_ffi(bits).into()` for
/// slotmap, `entity.to_bits().get()` and `Entity::from_bits(bits)` for hecs.
///
/// # Example
///
/// A level is merged into a running game, whose arena gives its monsters new ids.
///
/// ```
/// use std::collections::HashMap;
///
/// use persist::save::{Remap, UnmappedHandle};
/// use persist::{Arena, Handle, Persist, Saves};
///
/// #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
/// struct Id { slot: u32, generation: u32 }
///
/// /// An arena: what was in a slot before is known by its generation.
/// #[derive(Default)]
/// struct Slots { slots: Vec<(u32, Option<Monster>)> }
///
/// impl Slots {
///     fn insert(&mut self, monster: Option<Monster>) -> Id {
///         self.slots.push((1, monster));
///         Id { slot: self.slots.len() as u32 - 1, generation: 1 }
///     }
///
///     fn get_mut(&mut self, id: Id) -> Option<&mut Option<Monster>> {
///         let (generation, monster) = self.slots.get_mut(id.slot as usize)?;
///         (*generation == id.generation).then_some(monster)
///     }
/// }
///
/// struct Monsters;
///
/// impl Arena for Monsters {
///     type Key = Id;
///     const NAME: &'static str = "monsters";
///
///     fn to_bits(id: Id) -> u64 {
///         u64::from(id.generation) << 32 | u64::from(id.slot)
///     }
///
///     fn from_bits(bits: u64) -> Option<Id> {
///         let (slot, generation) = (bits as u32, (bits >> 32) as u32);
///         (generation > 0).then_some(Id { slot, generation })
///     }
/// }
///
/// #[derive(Persist)]
/// struct Monster { name: String, hates: Handle<Monsters> }
///
/// #[derive(Persist)]
/// struct Level { monsters: HashMap<Handle<Monsters>, Monster> }
///
/// // The level, as an editor saves it.
/// let [orc, elf] = [0, 1].map(|slot| Handle::new(Id { slot, generation: 1 }));
/// let monster = |name: &str, hates| Monster { name: name.into(), hates };
/// let level = Level { monsters: [(orc, monster("orc", elf)), (elf, monster("elf", orc))].into() };
/// let save = persist::to_vec(&level)?;
///
/// // A game that runs, with a monster in slot 0.
/// let mut game = Slots::default();
/// game.insert(Some(monster("dragon", Handle::null())));
///
/// // Every old id gets a slot in it as soon as it is met.
/// let mut new_ids = HashMap::new();
/// let mut remap = Remap::new();
/// remap.arena::<Monsters>(UnmappedHandle::Error, |old| {
///     Some(*new_ids.entry(old).or_insert_with(|| game.insert(None)))
/// });
/// let level = remap.from_slice::<Level>(&Saves::new(), &save)?;
/// assert_eq!(level.report().remapped(), 4);
/// drop(remap);
///
/// for (handle, monster) in level.into_inner().monsters {
///     let id = handle.key().expect("all are live");
///     *game.get_mut(id).expect("its slot is there") = Some(monster);
/// }
/// let orc = new_ids[&Id { slot: 0, generation: 1 }];
/// let hates = game.get_mut(orc).unwrap().as_ref().unwrap().hates.key().unwrap();
/// assert_eq!(game.get_mut(hates).unwrap().as_ref().unwrap().name, "elf");
/// # Ok::<(), persist::Error>(())
/// ```
///
/// Some key types, such as slotmap's, have a null key of their own. For such a key, return `None` from `from_bits`, and
/// use [`Handle::null`] in fields that lead nowhere. A null key in `Handle::new` would be a live handle, and a remap
/// would search for its object.
pub trait Arena: 'static {
    /// The key of an object.
    type Key: Copy + Eq + 'static;

    /// Name of the arena in saves, different for each arena of the program.
    const NAME: &'static str;

    /// Converts a key to a number; different keys give different numbers.
    fn to_bits(key: Self::Key) -> u64;

    /// Converts a number back to its key; returns `None` if no key has this number.
    fn from_bits(bits: u64) -> Option<Self::Key>;
}

/// Holds a key of an [`Arena`], as a field that is saved and loaded.
///
/// A handle is live, null or dead. A live handle has a key. A dead handle had a key once, for which the
/// [`Remap`](crate::types::Remap) of a load found no object. It keeps the number of its old key, for the program to
/// inspect, but never returns a key, and stays dead through other saves and loads.
///
/// Handles are compared by state and number, and a live handle never equals a dead one. So they may be keys of maps and
/// elements of sets.
///
/// A load without a `Remap` leaves every handle as it was saved. If the save lacks a field, the field's
/// [`default`](crate::Persist) counts as part of the save, and a live handle in it is remapped too.
///
/// # Example
///
/// ```
/// use persist::{Arena, Handle};
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
/// let handle = Handle::<Items>::new(7);
/// assert_eq!(handle.key(), Some(7));
/// assert_eq!(Handle::<Items>::default().key(), None);
/// assert_eq!(format!("{handle:?}"), "Handle<items>(live 0x7)");
/// ```
pub struct Handle<A: Arena> {
    state: HandleState,
    bits: u64,
    /// No arena is held, so a handle is `Send` and `Sync` for any arena type.
    arena: PhantomData<fn() -> A>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum HandleState {
    Null = 0,
    Live = 1,
    Dead = 2,
}

impl<A: Arena> Handle<A> {
    fn from_parts(state: HandleState, bits: u64) -> Self {
        Self { state, bits, arena: PhantomData }
    }

    /// Creates a live handle.
    #[must_use]
    pub fn new(key: A::Key) -> Self {
        Self::from_parts(HandleState::Live, A::to_bits(key))
    }

    /// Creates a handle that leads nowhere.
    #[must_use]
    pub fn null() -> Self {
        Self::from_parts(HandleState::Null, 0)
    }

    /// Returns the key; `None` if the handle is null or dead.
    #[must_use]
    pub fn key(&self) -> Option<A::Key> {
        if self.is_live() { A::from_bits(self.bits) } else { None }
    }

    /// True if the handle has a key. Only the arena knows whether it still has an object of that key.
    #[must_use]
    pub fn is_live(&self) -> bool {
        self.state == HandleState::Live
    }

    /// True if the handle never had a key, or a load cleared it.
    #[must_use]
    pub fn is_null(&self) -> bool {
        self.state == HandleState::Null
    }

    /// True if a load found no object for the handle.
    #[must_use]
    pub fn is_dead(&self) -> bool {
        self.state == HandleState::Dead
    }

    /// Returns the number of the key that a dead handle had; `None` if it is not dead.
    #[must_use]
    pub fn dead_bits(&self) -> Option<u64> {
        self.is_dead().then_some(self.bits)
    }

    /// Decodes a handle that was saved live, in the state that the load gives it.
    fn load(bits: u64, input: &mut Decoder<'_>) -> Result<Self, Fail> {
        let links = input.links();
        let found = check::<A>(bits, "holds").and_then(|()| links.handle(TypeId::of::<A>(), bits));
        let found = found.and_then(|found| match found {
            Remapped::Live(new) => {
                check::<A>(new, "gets").map(|()| Self::from_parts(HandleState::Live, new))
            }
            Remapped::Null => Ok(Self::null()),
            Remapped::Dead => Ok(Self::from_parts(HandleState::Dead, bits)),
        });
        match found {
            Ok(handle) => Ok(handle),
            Err(error) => {
                links.refuse_handle(A::NAME, bits);
                Err(input.refuse(error))
            }
        }
    }
}

/// Checks that the bits belong to a key. Equal keys must have equal bits, or their handles would differ.
fn check<A: Arena>(bits: u64, verb: &str) -> Result<()> {
    match A::from_bits(bits).map(A::to_bits) {
        Some(same) if same == bits => Ok(()),
        _ => Err(no_key(A::NAME, bits, verb)),
    }
}

/// The words by which a lock recognizes this error.
pub const BITS_OF_NO_KEY: &str = "are the bits of no key";

#[cold]
fn no_key(arena: &str, bits: u64, verb: &str) -> Error {
    let message = format!(
        "the save {verb} handle {bits:#x} into arena {arena}, which {BITS_OF_NO_KEY}; `from_bits` must undo `to_bits`, in the program that saved and in this one"
    );
    Error::new(ErrorKind::InvalidValue, message)
}

#[diagnostic::do_not_recommend]
impl<A: Arena> Persist for Handle<A> {
    const __LAYOUT: Layout = Layout::handle::<Self>();

    whole_items!();

    fn persist_kind() -> Kind {
        Kind::Handle(A::NAME)
    }

    fn persist_empty(_: &Prototypes<'_>) -> Result<Self> {
        Ok(Self::null())
    }

    #[inline(always)]
    fn __encode_head(&self, head: &mut [u8]) {
        head[0] = self.state as u8;
        head[1..].copy_from_slice(&self.bits.to_le_bytes());
    }

    #[inline(always)]
    fn __encode_tail(&self, _: &mut Encoder<'_>) -> Result<(), Stop> {
        Ok(())
    }

    #[inline]
    fn __decode(head: &[u8], input: &mut Decoder<'_>) -> Result<Self, Fail> {
        let mut bad = false;
        let bits = u64::__decode_fixed(&head[1..], &mut bad);
        match head[0] {
            0 if bits == 0 && !bad => Ok(Self::null()),
            1 if !bad => Self::load(bits, input),
            2 if !bad => Ok(Self::from_parts(HandleState::Dead, bits)),
            _ => Err(Fail::Value),
        }
    }
}

#[diagnostic::do_not_recommend]
impl<A: Arena> Pointee for Handle<A> {
    type As = Self;
}

// Implemented by hand, since a derive would require each trait of the arena.

impl<A: Arena> Clone for Handle<A> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<A: Arena> Copy for Handle<A> {}

/// Returns a null handle.
impl<A: Arena> Default for Handle<A> {
    fn default() -> Self {
        Self::null()
    }
}

impl<A: Arena> PartialEq for Handle<A> {
    fn eq(&self, other: &Self) -> bool {
        (self.state, self.bits) == (other.state, other.bits)
    }
}

impl<A: Arena> Eq for Handle<A> {}

impl<A: Arena> Hash for Handle<A> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.state, self.bits).hash(state);
    }
}

/// Orders null handles first, then live ones, then dead ones, each by their numbers.
impl<A: Arena> Ord for Handle<A> {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.state, self.bits).cmp(&(other.state, other.bits))
    }
}

impl<A: Arena> PartialOrd for Handle<A> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<A: Arena> fmt::Debug for Handle<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Handle<{}>", A::NAME)?;
        match self.state {
            HandleState::Null => write!(f, "(null)"),
            HandleState::Live => write!(f, "(live {:#x})", self.bits),
            HandleState::Dead => write!(f, "(dead {:#x})", self.bits),
        }
    }
}

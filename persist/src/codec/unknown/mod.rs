//! Unknown content: data of a save that the program has no class, field or variant for. It is stored unchanged and
//! returned to the next save.

mod path;
mod unknown_codec;

pub(crate) use path::{UnknownAt, UnknownPath, UnknownStep};

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::cmp::Ordering;
use std::collections::HashMap;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::links::ReferenceSlot;
use super::object::{Shared, WeakShared};
use crate::platform::held;
use crate::reflect::Holder;
use crate::reflect::class::KeepsUnknown;
use crate::{ErrorKind, Result};

/// Holds data of a save that the program lacks: a value of an unknown class, unknown fields, or an unknown variant.
///
/// ```
/// use persist::{Persist, Unknown};
///
/// mod newer {
///     #[derive(persist::Persist)]
///     pub struct Hero { pub name: String, pub mana: u32 }
/// }
///
/// #[derive(Persist)]
/// struct Hero {
///     name: String,
///     #[persist(unknown)]
///     rest: Unknown,
/// }
///
/// let save = persist::to_vec(&newer::Hero { name: "Ada".into(), mana: 7 })?;
/// let hero: Hero = persist::from_slice(&save)?;
/// assert_eq!(hero.rest.names().collect::<Vec<_>>(), ["Hero.mana"]);
///
/// let newer: newer::Hero = persist::from_slice(&persist::to_vec(&hero)?)?;
/// assert_eq!(newer.mana, 7);
/// # Ok::<(), persist::Error>(())
/// ```
///
/// The data is written unchanged to the next save, with the objects that it refers to. Three places can hold it:
///
/// - A stand-in for unknown classes of a trait: see `#[persist::dynamic]`.
/// - A field `#[persist(unknown)] rest: persist::Unknown` of a struct or variant, for the stored fields that the type
///   does not have.
/// - A variant `#[persist(other)] Other(persist::Unknown)`, for stored variants that the enum does not have.
///
/// Two `Unknown`s are equal if they hold the same [names](Self::names) in order and the same bytes. So an `Unknown` can
/// be in the key of a map and in an element of a set, and each unknown key stays an entry of its own. The bytes hold
/// the ids of objects and the numbers of classes as they are in the save of origin. In another save these ids and
/// numbers may differ.
///
/// An `Unknown` is `Send` and `Sync`. If it refers to shared objects, only the thread that loaded it can save it.
#[derive(Clone, Default)]
pub struct Unknown {
    /// The holder of its record, if it has a record of its own.
    pub(crate) holder: Option<Holder>,
    pub(crate) pieces: Vec<UnknownPiece>,
}

impl KeepsUnknown for Unknown {}

/// A value of a class of another save.
pub(crate) struct UnknownPiece {
    pub class: UnknownClass,
    /// The steps to the value that it belongs to, if that is a part of the object or value that holds this.
    pub path: Option<UnknownPath>,
    bytes: Vec<u8>,
    /// The parts whose bytes differ between saves, in order.
    parts: RwLock<Vec<UnknownPart>>,
}

/// A class of the save that a value comes from.
#[derive(Clone)]
pub(crate) struct UnknownClass {
    pub name: Arc<str>,
    /// The schema of the save.
    pub schema: Arc<dyn Any + Send + Sync>,
    /// Index of the class in the schema.
    pub index: usize,
    /// True for the copy of a default that this program synthesized for a field.
    pub is_synthesized: bool,
}

/// A part of the bytes that has a meaning in one save only.
#[derive(Clone)]
pub(crate) struct UnknownPart {
    pub start: usize,
    pub end: usize,
    pub content: UnknownPartKind,
}

#[derive(Clone)]
pub(crate) enum UnknownPartKind {
    /// The id of an object.
    Reference { weak: bool, target: Option<UnknownTarget> },
    /// The number of a class, as its index in the schema.
    Class(usize),
}

impl From<UnknownPiece> for Unknown {
    fn from(piece: UnknownPiece) -> Self {
        Self { holder: None, pieces: vec![piece] }
    }
}

impl Unknown {
    /// Returns the name of the unknown class, such as `Sword`, of the field, such as `Hero.mana`, or of the variant. It
    /// is the first name if there are several, and empty if there is no unknown content.
    #[must_use]
    pub fn class(&self) -> &str {
        self.pieces.first().map_or("", |piece| &piece.class.name)
    }

    /// Iterates over the names of all unknown content, as [`class`](Self::class) has them. Copies of made-up defaults,
    /// which are stored beside it, have no name.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let pieces = self.pieces.iter().filter(|piece| !piece.class.is_synthesized);
        pieces.map(|piece| &*piece.class.name)
    }

    /// True if there is no unknown content.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Returns the class of the component whose unknown fields it holds; `None` if it is a component itself.
    #[cfg(feature = "world")]
    pub(crate) fn component(&self) -> Option<&str> {
        match self.pieces.first()?.path.as_deref()? {
            [UnknownStep::Component(class), ..] => Some(class),
            _ => None,
        }
    }

    /// Returns the size of the unknown content in the save that it comes from, in bytes.
    #[must_use]
    pub fn size(&self) -> usize {
        self.pieces.iter().map(|piece| piece.bytes.len()).sum()
    }

    /// True if it holds strong references to objects.
    pub(crate) fn holds_objects(&self) -> bool {
        let is_held = |part: &UnknownPart| {
            matches!(part.content, UnknownPartKind::Reference { weak: false, target: Some(_) })
        };
        self.pieces.iter().any(|piece| piece.parts().iter().any(is_held))
    }

    /// Returns the one value that a stand-in holds.
    pub(crate) fn value(&self) -> Result<&UnknownPiece> {
        self.pieces.first().ok_or_else(|| {
            error!(
                ErrorKind::Unsupported,
                "an `Unknown` that was not loaded cannot be saved; keep stand-ins as they were loaded"
            )
        })
    }
}

impl PartialEq for Unknown {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Unknown {}

impl PartialOrd for Unknown {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Unknown {
    fn cmp(&self, other: &Self) -> Ordering {
        let [these, those] = [self, other].map(|it| it.pieces.iter().map(UnknownPiece::content));
        these.cmp(those)
    }
}

impl Hash for Unknown {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.pieces.len().hash(state);
        self.pieces.iter().for_each(|piece| piece.content().hash(state));
    }
}

thread_local! {
    /// The pieces that the running drop has still to free; `None` if none runs.
    static WAITING: RefCell<Option<Vec<UnknownPiece>>> = const { RefCell::new(None) };
}

/// Objects may refer to each other in a chain of any length. A drop inside of another leaves its pieces to the outer
/// one, so that the stack does not overflow.
impl Drop for Unknown {
    #[inline(never)] // or it is compiled wherever a value can be dropped
    fn drop(&mut self) {
        let mut pieces = std::mem::take(&mut self.pieces);
        if pieces.is_empty() {
            return;
        }
        let is_first = WAITING.try_with(|waiting| match &mut *waiting.borrow_mut() {
            Some(waiting) => {
                waiting.append(&mut pieces);
                false
            }
            waiting => {
                *waiting = Some(std::mem::take(&mut pieces));
                true
            }
        });
        if is_first == Ok(true) {
            let _end = DropGuard;
            while let Some(piece) = WAITING.with_borrow_mut(|waiting| waiting.as_mut()?.pop()) {
                drop(piece);
            }
        }
    }
}

/// Ends the drop, also if a value inside panics while it is dropped.
struct DropGuard;

impl Drop for DropGuard {
    fn drop(&mut self) {
        drop(WAITING.take());
    }
}

impl UnknownPiece {
    pub(crate) fn new(class: UnknownClass, bytes: Vec<u8>, parts: Vec<UnknownPart>) -> Self {
        Self { class, path: None, bytes, parts: RwLock::new(parts) }
    }

    /// Returns the content by which pieces are compared. Ids and numbers in the bytes belong to one save: equal ones
    /// mean the same there.
    fn content(&self) -> (&str, &[u8]) {
        (&self.class.name, &self.bytes)
    }

    fn parts(&self) -> RwLockReadGuard<'_, Vec<UnknownPart>> {
        self.parts.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn parts_mut(&self) -> RwLockWriteGuard<'_, Vec<UnknownPart>> {
        self.parts.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Clone for UnknownPiece {
    fn clone(&self) -> Self {
        let path = self.path.clone();
        Self { path, ..Self::new(self.class.clone(), self.bytes.clone(), self.parts().clone()) }
    }
}

impl ReferenceSlot for UnknownPart {
    fn connect(&mut self, object: &dyn Any, _: Option<&dyn Any>) -> bool {
        // Class and holder of the target were compared with those in the schema before.
        if let UnknownPartKind::Reference { weak, target } = &mut self.content {
            *target = object.downcast_ref().map(|object| UnknownTarget::new(object, *weak));
        }
        true
    }
}

impl fmt::Debug for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.names().collect();
        write!(f, "Unknown({}, {} bytes)", names.join(", "), self.size())
    }
}

/// A strong or weak pointer to an object.
#[derive(Clone)]
enum TargetPointer {
    Strong(Shared),
    Weak(WeakShared),
}

/// The target of a reference in unknown content.
///
/// The pointer may be an `Rc`, so it stays in a table of the thread that loaded it. This is its key, which may move to
/// any thread: an `Unknown` is `Send` and `Sync`.
pub(crate) struct UnknownTarget(Arc<TargetKey>);

struct TargetKey {
    home: Arc<OwnerThread>,
    number: u64,
}

/// Identifies the thread of a table.
#[derive(Default)]
struct OwnerThread {
    /// Keys that were dropped on other threads.
    dropped: Mutex<Vec<u64>>,
}

#[derive(Default)]
struct Pointers {
    home: Arc<OwnerThread>,
    pointers: RefCell<HashMap<u64, TargetPointer>>,
    last: Cell<u64>,
}

thread_local! {
    static POINTERS: Pointers = Pointers::default();
}

impl Pointers {
    fn hold(&self, pointer: TargetPointer) -> UnknownTarget {
        // Taken out first, since dropping a pointer may drop further keys.
        let dropped = std::mem::take(&mut *held(&self.home.dropped));
        for number in dropped {
            drop(self.take(number));
        }
        let number = self.last.get() + 1;
        self.last.set(number);
        self.pointers.borrow_mut().insert(number, pointer);
        UnknownTarget(Arc::new(TargetKey { home: Arc::clone(&self.home), number }))
    }

    fn take(&self, number: u64) -> Option<TargetPointer> {
        self.pointers.borrow_mut().remove(&number)
    }
}

impl UnknownTarget {
    pub(crate) fn new(object: &Shared, weak: bool) -> Self {
        let pointer = match weak {
            true => TargetPointer::Weak(object.downgrade()),
            false => TargetPointer::Strong(object.clone()),
        };
        POINTERS.with(|table| table.hold(pointer))
    }

    /// Passes the pointer in the table to `inspect`, if this is the table's thread.
    fn with_pointer<R>(&self, inspect: impl FnOnce(&Pointers, &TargetPointer) -> R) -> Option<R> {
        let found = POINTERS.try_with(|table| {
            if !Arc::ptr_eq(&table.home, &self.0.home) {
                return None;
            }
            let pointer = table.pointers.borrow().get(&self.0.number).cloned();
            pointer.map(|pointer| inspect(table, &pointer))
        });
        found.ok().flatten()
    }

    /// Returns the object; `None` if it was dropped.
    pub(crate) fn object(&self) -> Result<Option<Shared>> {
        let object = self.with_pointer(|_, pointer| match pointer {
            TargetPointer::Strong(object) => Some(object.clone()),
            TargetPointer::Weak(object) => object.upgrade(),
        });
        object.ok_or_else(|| {
            error!(
                ErrorKind::Unsupported,
                "a value of an unknown class refers to a shared object, which stays on the thread that loaded it; save on that thread, or register the class"
            )
        })
    }
}

/// Each clone holds the object on its own, so that the strong count shows how many there are.
impl Clone for UnknownTarget {
    fn clone(&self) -> Self {
        let again = self.with_pointer(|table, pointer| table.hold(pointer.clone()));
        again.unwrap_or_else(|| Self(Arc::clone(&self.0)))
    }
}

impl Drop for TargetKey {
    fn drop(&mut self) {
        let pointer = POINTERS.try_with(|table| {
            let is_home = Arc::ptr_eq(&table.home, &self.home);
            if is_home {
                table.take(self.number)
            } else {
                held(&self.home.dropped).push(self.number);
                None
            }
        });
        drop(pointer);
    }
}

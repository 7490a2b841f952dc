//! What a save has and the program does not: kept as it is, and given back to the next save.

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

/// What the program does not have, kept as it is in the save: a value of an unknown class, unknown
/// fields, or an unknown variant.
///
/// It stands in three places, and goes back to the next save as the original, with the objects that
/// it refers to:
///
/// - In a stand-in for unknown classes of a trait: see `#[persist::dynamic]`.
/// - In a field `#[persist(unknown)] rest: persist::Unknown` of a struct or variant, for the stored
///   fields that it does not have.
/// - In a variant `#[persist(other)] Other(persist::Unknown)`, for stored variants that the enum does
///   not have.
///
/// Two are equal if what they keep has the same [names](Self::names), in order, and the same bytes. So it can be in the
/// key of a map and in an element of a set: each unknown key stays an entry of its own. In the bytes, an object that
/// something refers to is its id in the save that it comes from, and the class of a trait object its number there. In
/// another save both may be others.
///
/// It is `Send` and `Sync`. If it refers to shared objects, only the thread that loaded it can save it.
#[derive(Clone, Default)]
pub struct Unknown {
    /// The holder of its record, if it has one of its own.
    pub(crate) holder: Option<Holder>,
    pub(crate) pieces: Vec<UnknownPiece>,
}

impl KeepsUnknown for Unknown {}

/// A value of a class of another save.
pub(crate) struct UnknownPiece {
    pub(crate) class: ForeignClass,
    pub(super) bytes: Vec<u8>,
    /// What cannot be copied to another save, in order.
    parts: RwLock<Vec<ForeignPart>>,
}

/// A class of the save that a value comes from.
#[derive(Clone)]
pub(crate) struct ForeignClass {
    pub(crate) name: Arc<str>,
    /// The schema of that save.
    pub(crate) schema: Arc<dyn Any + Send + Sync>,
    /// Index of the class in it.
    pub(crate) index: usize,
    /// True for the copy of a value that this program made up for a field.
    pub(crate) is_made_up: bool,
}

/// A part of the bytes that means something in one save only.
#[derive(Clone)]
pub(crate) struct ForeignPart {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) content: ForeignPartKind,
}

#[derive(Clone)]
pub(crate) enum ForeignPartKind {
    /// The id of an object.
    Reference { weak: bool, target: Option<KeptTarget> },
    /// The number of a class, by its index in the schema.
    Class(usize),
}

impl From<UnknownPiece> for Unknown {
    fn from(piece: UnknownPiece) -> Self {
        Self { holder: None, pieces: vec![piece] }
    }
}

impl Unknown {
    /// Name of the class, such as `Sword`, of the field, such as `Hero.mana`, or of the variant; of
    /// the first one, if there are several. Empty if nothing is kept.
    #[must_use]
    pub fn class(&self) -> &str {
        self.pieces.first().map_or("", |piece| &piece.class.name)
    }

    /// The names of all that is kept, as [`class`](Self::class) has them. Copies of made-up defaults, which are kept
    /// beside it, have none.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let kept = self.pieces.iter().filter(|piece| !piece.class.is_made_up);
        kept.map(|piece| &*piece.class.name)
    }

    /// True if nothing is kept.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Bytes of what is kept, in the save that it comes from.
    #[must_use]
    pub fn size(&self) -> usize {
        self.pieces.iter().map(|piece| piece.bytes.len()).sum()
    }

    /// True if it holds objects.
    pub(crate) fn holds_objects(&self) -> bool {
        let is_held = |part: &ForeignPart| {
            matches!(part.content, ForeignPartKind::Reference { weak: false, target: Some(_) })
        };
        self.pieces.iter().any(|piece| piece.parts().iter().any(is_held))
    }

    /// The one value that a stand-in holds.
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
    /// What the running drop has still to free; `None` if none runs.
    static WAITING: RefCell<Option<Vec<UnknownPiece>>> = const { RefCell::new(None) };
}

/// Kept objects may lead to each other in a chain of any length: a drop inside of another leaves
/// what it has to that one.
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

/// Ends the drop, also if a value inside panics in its own.
struct DropGuard;

impl Drop for DropGuard {
    fn drop(&mut self) {
        drop(WAITING.take());
    }
}

impl UnknownPiece {
    pub(crate) fn new(class: ForeignClass, bytes: Vec<u8>, parts: Vec<ForeignPart>) -> Self {
        Self { class, bytes, parts: RwLock::new(parts) }
    }

    /// What is compared. The ids and numbers in the bytes are those of one save: equal ones mean the same there.
    pub(super) fn content(&self) -> (&str, &[u8]) {
        (&self.class.name, &self.bytes)
    }

    pub(super) fn parts(&self) -> RwLockReadGuard<'_, Vec<ForeignPart>> {
        self.parts.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn parts_mut(&self) -> RwLockWriteGuard<'_, Vec<ForeignPart>> {
        self.parts.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Clone for UnknownPiece {
    fn clone(&self) -> Self {
        Self::new(self.class.clone(), self.bytes.clone(), self.parts().clone())
    }
}

impl ReferenceSlot for ForeignPart {
    fn connect(&mut self, object: &dyn Any, _: Option<&dyn Any>) -> bool {
        // Class and holder of the target have been compared with those in the schema.
        if let ForeignPartKind::Reference { weak, target } = &mut self.content {
            *target = object.downcast_ref().map(|object| KeptTarget::new(object, *weak));
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

/// A pointer to an object, or a weak one.
#[derive(Clone)]
enum KeptPointer {
    Strong(Shared),
    Weak(WeakShared),
}

/// What a kept reference leads to.
///
/// The pointer may be an `Rc`, so it lies in a table of the thread that loaded it. This is its key, which may go to any
/// thread: an `Unknown` is `Send` and `Sync`.
pub(crate) struct KeptTarget(Arc<TargetKey>);

struct TargetKey {
    home: Arc<OwnerThread>,
    number: u64,
}

/// The thread of a table.
#[derive(Default)]
struct OwnerThread {
    /// Keys that were dropped on other threads.
    gone: Mutex<Vec<u64>>,
}

#[derive(Default)]
struct Pointers {
    home: Arc<OwnerThread>,
    pointers: RefCell<HashMap<u64, KeptPointer>>,
    last: Cell<u64>,
}

thread_local! {
    static POINTERS: Pointers = Pointers::default();
}

impl Pointers {
    fn hold(&self, pointer: KeptPointer) -> KeptTarget {
        // What is dropped may drop keys of its own.
        let gone = std::mem::take(&mut *held(&self.home.gone));
        for number in gone {
            drop(self.take(number));
        }
        let number = self.last.get() + 1;
        self.last.set(number);
        self.pointers.borrow_mut().insert(number, pointer);
        KeptTarget(Arc::new(TargetKey { home: Arc::clone(&self.home), number }))
    }

    fn take(&self, number: u64) -> Option<KeptPointer> {
        self.pointers.borrow_mut().remove(&number)
    }
}

impl KeptTarget {
    pub(crate) fn new(object: &Shared, weak: bool) -> Self {
        let pointer = match weak {
            true => KeptPointer::Weak(object.downgrade()),
            false => KeptPointer::Strong(object.clone()),
        };
        POINTERS.with(|table| table.hold(pointer))
    }

    /// The pointer in the table, if this is its thread.
    fn look<R>(&self, look: impl FnOnce(&Pointers, &KeptPointer) -> R) -> Option<R> {
        let found = POINTERS.try_with(|table| {
            if !Arc::ptr_eq(&table.home, &self.0.home) {
                return None;
            }
            let pointer = table.pointers.borrow().get(&self.0.number).cloned();
            pointer.map(|pointer| look(table, &pointer))
        });
        found.ok().flatten()
    }

    /// The object; `None` if it is gone.
    pub(crate) fn object(&self) -> Result<Option<Shared>> {
        let object = self.look(|_, pointer| match pointer {
            KeptPointer::Strong(object) => Some(object.clone()),
            KeptPointer::Weak(object) => object.upgrade(),
        });
        object.ok_or_else(|| {
            error!(
                ErrorKind::Unsupported,
                "a value of an unknown class refers to a shared object, which stays on the thread that loaded it; save on that thread, or register the class"
            )
        })
    }
}

/// Each holds the object on its own, or it would not be seen how many do.
impl Clone for KeptTarget {
    fn clone(&self) -> Self {
        let again = self.look(|table, pointer| table.hold(pointer.clone()));
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
                held(&self.home.gone).push(self.number);
                None
            }
        });
        drop(pointer);
    }
}

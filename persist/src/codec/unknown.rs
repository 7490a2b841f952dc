//! What a save has and the program does not: kept as it is, and given back to the next save.

use std::any::{Any, TypeId};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::trait_object::{Caster, Implements, TraitObject, make_stand_in, reach_holder};
use super::{
    Decoder, Encoder, Fail, Made, Persist, Phase, Pointed, Pointee, Prototypes, Referent, Shared,
    Slot, Stop, TypeSet, Visitor, WeakShared, Within, count,
};
use crate::reflect::{Holder, Kind};
use crate::{Error, ErrorKind, Result};

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
/// It is `Send` and `Sync`. If it refers to shared objects, only the thread that loaded it can save it.
#[derive(Clone, Default)]
pub struct Unknown {
    /// The holder of its record, if it has one of its own.
    pub(crate) holder: Option<Holder>,
    pub(crate) pieces: Vec<Piece>,
}

/// A value of a class of another save.
pub(crate) struct Piece {
    pub(crate) class: ForeignClass,
    bytes: Vec<u8>,
    /// What cannot be copied to another save, in order.
    parts: RwLock<Vec<Part>>,
}

/// A class of the save that a value comes from.
#[derive(Clone)]
pub(crate) struct ForeignClass {
    pub(crate) name: Arc<str>,
    /// The schema of that save.
    pub(crate) schema: Arc<dyn Any + Send + Sync>,
    /// Index of the class in it.
    pub(crate) index: usize,
}

/// A part of the bytes that means something in one save only.
#[derive(Clone)]
pub(crate) struct Part {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) content: Content,
}

#[derive(Clone)]
pub(crate) enum Content {
    /// The id of an object.
    Reference { weak: bool, target: Option<Held> },
    /// The number of a class, by its index in the schema.
    Class(usize),
}

impl From<Piece> for Unknown {
    fn from(piece: Piece) -> Self {
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

    /// The names of all that is kept, as [`class`](Self::class) has them.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.pieces.iter().map(|piece| &*piece.class.name)
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

    /// The one value that a stand-in holds.
    pub(crate) fn value(&self) -> Result<&Piece> {
        self.pieces.first().ok_or_else(|| {
            Error::new(
                ErrorKind::Unsupported,
                "an `Unknown` that was not loaded cannot be saved; keep stand-ins as they were loaded",
            )
        })
    }
}

thread_local! {
    /// What the running drop has still to free; `None` if none runs.
    static WAITING: RefCell<Option<Vec<Piece>>> = const { RefCell::new(None) };
}

/// Kept objects may lead to each other in a chain of any length: a drop inside of another leaves
/// what it has to that one.
impl Drop for Unknown {
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
            let _end = End;
            while let Some(piece) = WAITING.with_borrow_mut(|waiting| waiting.as_mut()?.pop()) {
                drop(piece);
            }
        }
    }
}

/// Ends the drop, also if a value inside panics in its own.
struct End;

impl Drop for End {
    fn drop(&mut self) {
        drop(WAITING.take());
    }
}

impl Piece {
    pub(crate) fn new(class: ForeignClass, bytes: Vec<u8>, parts: Vec<Part>) -> Self {
        Self { class, bytes, parts: RwLock::new(parts) }
    }

    fn parts(&self) -> RwLockReadGuard<'_, Vec<Part>> {
        self.parts.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn parts_mut(&self) -> RwLockWriteGuard<'_, Vec<Part>> {
        self.parts.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes the number of the class in the save that is being written.
    pub(crate) fn encode_class(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
        let class = &self.class;
        let number = out.ask(|links| links.foreign_class(&class.schema, class.index))?;
        count::encode(number, out)
    }

    /// Writes the value as it was, but for ids and numbers.
    pub(crate) fn encode(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
        out.within(Within::Cell, |out| self.encode_parts(out))
    }

    fn encode_parts(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
        let mut done = 0;
        for part in self.parts().iter() {
            out.bytes(&self.bytes[done..part.start])?;
            done = part.end;
            let number = match &part.content {
                Content::Reference { weak, target } => link(target.as_ref(), *weak, out)?,
                Content::Class(index) => {
                    out.ask(|links| links.foreign_class(&self.class.schema, *index))?
                }
            };
            count::encode(number, out)?;
        }
        out.bytes(&self.bytes[done..])
    }
}

impl Clone for Piece {
    fn clone(&self) -> Self {
        Self::new(self.class.clone(), self.bytes.clone(), self.parts().clone())
    }
}

fn link(target: Option<&Held>, weak: bool, out: &mut Encoder<'_>) -> Result<u64, Stop> {
    let Some(target) = target else { return Ok(0) };
    let target = match target.object() {
        Ok(Some(target)) => target,
        Ok(None) => return Ok(0),
        Err(error) => return Err(out.refuse(error)),
    };
    out.link(target.address(), weak, false, &target)
}

impl Referent for Shared {
    fn pointed(&self) -> Pointed {
        self.object().seen_pointee().map_or(Pointed::Anything, Pointed::At)
    }

    fn share(&self) -> Shared {
        self.clone()
    }
}

/// A count of pieces, each the number of its class and its value.
#[diagnostic::do_not_recommend]
impl Persist for Unknown {
    fn persist_kind() -> Kind {
        Kind::Unknown
    }

    fn persist_empty(_: &Prototypes<'_>) -> Result<Self> {
        Ok(Self::default())
    }

    fn persist_encode(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
        count::encode(self.pieces.len() as u64, out)?;
        for piece in &self.pieces {
            if !out.only_lists() {
                piece.encode_class(out)?;
            }
            piece.encode(out)?;
        }
        Ok(())
    }

    fn persist_decode(input: &mut Decoder<'_>) -> Result<Self, Fail> {
        let count = input.count()?;
        // Each has a class number at least.
        if count > input.rest().len() {
            return Err(Fail::Count);
        }
        let mut pieces = Vec::new();
        for _ in 0..count {
            let number = count::decode(input)?;
            let rest = input.rest();
            match input.links().foreign(number, rest, true) {
                Ok((length, kept)) => {
                    input.take(length)?;
                    if let Some(mut kept) = kept {
                        pieces.append(&mut kept.pieces);
                    }
                }
                Err(error) => return Err(input.refuse(error)),
            }
        }
        Ok(Self { holder: None, pieces })
    }

    fn __visit(&mut self, visitor: &mut Visitor<'_>) -> Result<()> {
        if visitor.leaves_cells() { Ok(()) } else { self.__visit_shared(visitor) }
    }

    /// Which of its references lay in cells the save does not say; here all do.
    fn __visit_shared(&self, visitor: &mut Visitor<'_>) -> Result<()> {
        let mut dropped = Vec::new();
        for piece in &self.pieces {
            for part in piece.parts_mut().iter_mut() {
                if let Content::Reference { target, .. } = &mut part.content {
                    if visitor.phase() == Phase::Dismantle {
                        dropped.push(target.take());
                    } else {
                        visitor.reference(part)?;
                    }
                }
            }
        }
        drop(dropped);
        Ok(())
    }
}

#[diagnostic::do_not_recommend]
impl Pointee for Unknown {
    type As = Self;
}

impl Slot for Part {
    fn connect(&mut self, object: &Shared, _: Option<&dyn Any>) -> bool {
        // Class and holder of the target have been compared with those in the schema.
        if let Content::Reference { weak, target } = &mut self.content {
            *target = Some(Held::new(object, *weak));
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

/// The type that stands in for unknown classes of a trait.
pub struct StandIn<D: ?Sized> {
    pub(crate) class: StandInClass,
    /// In a box.
    pub(crate) boxed: fn(Unknown) -> Box<D>,
}

/// A class that stands in for unknown classes of objects.
#[derive(Clone)]
pub(crate) struct StandInClass {
    pub(crate) type_id: TypeId,
    /// Enters its class.
    pub(crate) enter: fn(&mut TypeSet),
    /// Enters its object type in a holder.
    pub(crate) reach: fn(Holder, &mut TypeSet),
    /// What a stand-in holds.
    pub(crate) unknown: fn(&dyn Any) -> Option<&Unknown>,
    /// An object that holds it.
    pub(crate) make: fn(Holder, Unknown) -> Made,
    /// A `Caster` to the trait.
    pub(crate) caster: Arc<dyn Any + Send + Sync>,
}

impl<D: ?Sized + TraitObject> StandIn<D> {
    /// That of type `T`.
    #[must_use]
    pub fn of<T>() -> Self
    where
        T: Persist + Pointee + From<Unknown> + AsRef<Unknown>,
        D: Implements<T>,
    {
        Self {
            class: StandInClass {
                type_id: TypeId::of::<T>(),
                enter: T::__reach,
                reach: reach_holder::<T>,
                unknown: |value| value.downcast_ref::<T>().map(AsRef::as_ref),
                make: make_stand_in::<T>,
                caster: Arc::new(Caster::<D>::of::<T>()),
            },
            boxed: |unknown| D::boxed(Box::new(T::from(unknown))),
        }
    }
}

/// A pointer to an object, or a weak one.
#[derive(Clone)]
enum Kept {
    Strong(Shared),
    Weak(WeakShared),
}

/// What a kept reference leads to.
///
/// The pointer may be an `Rc`, so it lies in a table of the thread that loaded it. This is its key, which may go to any
/// thread: an `Unknown` is `Send` and `Sync`.
pub(crate) struct Held(Arc<Key>);

struct Key {
    home: Arc<Home>,
    number: u64,
}

/// The thread of a table.
#[derive(Default)]
struct Home {
    /// Keys that were dropped on other threads.
    gone: Mutex<Vec<u64>>,
}

#[derive(Default)]
struct Pointers {
    home: Arc<Home>,
    pointers: RefCell<HashMap<u64, Kept>>,
    last: Cell<u64>,
}

thread_local! {
    static POINTERS: Pointers = Pointers::default();
}

impl Pointers {
    fn hold(&self, pointer: Kept) -> Held {
        // What is dropped may drop keys of its own.
        let gone = std::mem::take(&mut *lock(&self.home.gone));
        for number in gone {
            drop(self.take(number));
        }
        let number = self.last.get() + 1;
        self.last.set(number);
        self.pointers.borrow_mut().insert(number, pointer);
        Held(Arc::new(Key { home: Arc::clone(&self.home), number }))
    }

    fn take(&self, number: u64) -> Option<Kept> {
        self.pointers.borrow_mut().remove(&number)
    }
}

fn lock(gone: &Mutex<Vec<u64>>) -> std::sync::MutexGuard<'_, Vec<u64>> {
    gone.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Held {
    pub(crate) fn new(object: &Shared, weak: bool) -> Self {
        let pointer = match weak {
            true => Kept::Weak(object.downgrade()),
            false => Kept::Strong(object.clone()),
        };
        POINTERS.with(|table| table.hold(pointer))
    }

    /// The pointer in the table, if this is its thread.
    fn look<R>(&self, look: impl FnOnce(&Pointers, &Kept) -> R) -> Option<R> {
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
            Kept::Strong(object) => Some(object.clone()),
            Kept::Weak(object) => object.upgrade(),
        });
        object.ok_or_else(|| {
            Error::new(
                ErrorKind::Unsupported,
                "a value of an unknown class refers to a shared object, which stays on the thread that loaded it; save on that thread, or register the class",
            )
        })
    }
}

/// Each holds the object on its own, or it would not be seen how many do.
impl Clone for Held {
    fn clone(&self) -> Self {
        let again = self.look(|table, pointer| table.hold(pointer.clone()));
        again.unwrap_or_else(|| Self(Arc::clone(&self.0)))
    }
}

impl Drop for Key {
    fn drop(&mut self) {
        let pointer = POINTERS.try_with(|table| {
            let is_home = Arc::ptr_eq(&table.home, &self.home);
            if is_home {
                table.take(self.number)
            } else {
                lock(&self.home.gone).push(self.number);
                None
            }
        });
        drop(pointer);
    }
}

impl fmt::Debug for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Held({})", self.0.number)
    }
}

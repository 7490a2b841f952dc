use std::any::{Any, TypeId};
use std::fmt;
use std::sync::Arc;

use super::encoder::SaveLinks;
use super::fail::Fail;
use super::links::{Link, Pointed, Prototypes, Referent, Within, charge_empty};
use super::object::Shared;
use super::unknown::Unknown;
use super::weight::{large_box, levels};
use crate::env::Env;
use crate::reflect::{Class, Holder, TraitName};
use crate::{Error, ErrorKind, Limits, Result};

/// The bytes that values are read from.
pub struct Decoder<'a> {
    rest: &'a [u8],
    depth: u32,
    within: Within,
    env: &'a Env<'a>,
    links: &'a mut dyn LoadLinks,
    error: Option<Error>,
    /// The class of the value that was skipped last.
    skipped: Option<u64>,
    /// The field that is read, if it skips elements that cannot be loaded.
    skipping: Option<SkippingField>,
}

impl<'a> Decoder<'a> {
    pub(crate) fn new(rest: &'a [u8], env: &'a Env<'a>, links: &'a mut dyn LoadLinks) -> Self {
        Self {
            rest,
            depth: env.limits.depth,
            within: Within::Bare,
            env,
            links,
            error: None,
            skipped: None,
            skipping: None,
        }
    }

    pub(crate) fn take_error(&mut self) -> Option<Error> {
        self.error.take()
    }

    /// The bytes that are not read yet.
    #[inline(always)]
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Makes bytes that were taken the next ones again.
    pub(crate) fn go_back(&mut self, rest: &'a [u8]) {
        self.rest = rest;
    }

    /// Takes the next `len` bytes.
    ///
    /// # Errors
    ///
    /// [`Fail::End`] if fewer are left.
    #[inline(always)]
    pub fn take(&mut self, len: usize) -> Result<&'a [u8], Fail> {
        match self.rest.split_at_checked(len) {
            Some((taken, rest)) => {
                self.rest = rest;
                Ok(taken)
            }
            None => Err(Fail::End),
        }
    }

    /// Counts elements; see [`LoadLinks::charge`].
    #[inline(never)]
    pub(crate) fn charge(&mut self, empty: usize, memory: u64) -> Result<(), Fail> {
        let charged = self.links.charge(empty, memory, &self.env.limits);
        charged.map_err(|error| self.refuse(error))
    }

    /// What a reference to object `id` leads to; see [`LoadLinks::link`].
    pub(crate) fn link(&mut self, id: u64, weak: bool, pointed: Pointed) -> Result<Linked<'_>> {
        self.links.link(id, Pointing { weak, pointed, within: self.within })
    }

    /// What [`LoadLinks::plain_link`] finds.
    #[inline]
    pub(crate) fn plain_link(&mut self, id: u64, pointee: TypeId, weak: bool) -> Option<&Shared> {
        self.links.plain_link(id, pointee, weak, self.within)
    }

    /// Leaves the reason why this value cannot be loaded.
    ///
    /// Write `return Err(input.refuse(error))`.
    #[cold]
    pub fn refuse(&mut self, error: Error) -> Fail {
        self.error.get_or_insert(error);
        Fail::Refused
    }

    /// The context of the load: a value of the program's own; [`Encoder::context`](super::Encoder::context) has an example.
    ///
    /// # Errors
    ///
    /// A [`Fail`] if the load has none, or one of another type; the error then says so.
    pub fn context<C: Any>(&mut self) -> Result<&'a C, Fail> {
        self.env.context().map_err(|error| self.refuse(error))
    }

    /// Leaves that a value was skipped, since its class, of this number in the
    /// save, is not registered for a trait.
    #[cold]
    pub(crate) fn unregistered(&mut self, class: u64, error: Error) -> Fail {
        self.refuse(error);
        self.skipped = Some(class);
        Fail::Unregistered
    }

    /// Takes the last skipped value for `None`.
    #[cold]
    pub(crate) fn forgive(&mut self) {
        if let Some(class) = self.skipped.take() {
            self.error = None;
            self.links.became_none(class);
        }
    }

    /// Decodes references that lie in a cell of this sort.
    pub(crate) fn within<R>(
        &mut self,
        cell: Within,
        decode: impl FnOnce(&mut Self) -> Result<R, Fail>,
    ) -> Result<R, Fail> {
        let before = self.within;
        self.within = before.then(cell);
        let result = decode(self);
        self.within = before;
        result
    }

    /// Decodes one level further in, within [`Limits::depth`].
    ///
    /// # Errors
    ///
    /// [`Fail::Depth`] beyond the limit, and whatever `decode` returns.
    #[inline(always)]
    pub fn nested<T>(
        &mut self,
        decode: impl FnOnce(&mut Self) -> Result<T, Fail>,
    ) -> Result<T, Fail> {
        self.nested_in::<(), T>(decode)
    }

    /// Passes the bytes of a field of a class if they stand for its default, which the save does not have.
    pub(crate) fn pass_default(&mut self, class: TypeId, variant: usize, field: usize) -> bool {
        let length = self.links.default_at(self.rest.len(), (class, variant, field));
        length.is_some_and(|length| self.take(length).is_ok())
    }

    /// How many levels are left, for a reader that counts them by itself.
    #[cfg_attr(not(feature = "serde"), expect(dead_code, reason = "what serde reads counts so"))]
    pub(crate) fn depth(&self) -> u32 {
        self.depth
    }

    /// Sets how many levels are left.
    #[cfg_attr(not(feature = "serde"), expect(dead_code, reason = "what serde reads counts so"))]
    pub(crate) fn set_depth(&mut self, depth: u32) {
        self.depth = depth;
    }

    /// Decodes inside of an `I`: one level, and one more for every 2 KiB of it,
    /// which is on the stack meanwhile.
    #[inline(always)]
    pub(crate) fn nested_in<I, T>(
        &mut self,
        decode: impl FnOnce(&mut Self) -> Result<T, Fail>,
    ) -> Result<T, Fail> {
        self.deeper(const { levels(size_of::<I>()) }, decode)
    }

    /// Decodes that many levels further in.
    #[inline(always)]
    pub(super) fn deeper<T>(
        &mut self,
        levels: u32,
        decode: impl FnOnce(&mut Self) -> Result<T, Fail>,
    ) -> Result<T, Fail> {
        let Some(depth) = self.depth.checked_sub(levels) else { return Err(Fail::Depth) };
        self.depth = depth;
        let result = decode(self);
        self.depth += levels;
        result
    }

    /// Counts a value that is about to be put into a box, and takes `least` bytes or more.
    #[inline(always)]
    pub(crate) fn charge_box<T>(&mut self, least: usize) -> Result<(), Fail> {
        match large_box::<T>(least) {
            Some(bytes) => self.charge(0, bytes),
            None => Ok(()),
        }
    }

    /// Reads a field whose elements are skipped if they cannot be loaded.
    #[doc(hidden)]
    #[allow(clippy::missing_errors_doc, reason = "not for programs")]
    pub fn in_skipping_field<T>(
        &mut self,
        (class, variant, field): (&'static Class, usize, usize),
        decode: impl FnOnce(&mut Self) -> Result<T, Fail>,
    ) -> Result<T, Fail> {
        self.skipping = Some(SkippingField { class, variant, field });
        let result = decode(self);
        self.skipping = None;
        result
    }

    /// The field that is read, for its container; what is inside is no part of it.
    pub(crate) fn take_skipping(&mut self) -> Option<SkippingField> {
        self.skipping.take()
    }

    /// Names the element of a list or set that an adapter could not read, which the bytes do not show.
    #[cold]
    pub(crate) fn failed_element(&mut self, fail: Fail, index: usize) -> Fail {
        match self.error.take() {
            Some(error) => self.refuse(error.in_field(&format!("[{index}]"))),
            None => fail,
        };
        fail
    }

    /// Continues after an element that failed, if its field says so and the bytes are sound. It began at `start`, after
    /// `pending` references.
    #[cold]
    pub(crate) fn skip_failed(
        &mut self,
        fail: Fail,
        field: Option<SkippingField>,
        index: Option<usize>,
        (start, pending): (&'a [u8], usize),
    ) -> Result<(), Fail> {
        let Some(field) = field else { return Err(fail) };
        let kept = self.error.take();
        let may_skip = match fail {
            Fail::Value | Fail::Unregistered => true,
            Fail::Refused => kept.as_ref().is_some_and(|error| is_of_value(error.kind())),
            _ => false,
        };
        if !may_skip {
            self.error = kept;
            return Err(fail);
        }
        let error = kept.unwrap_or_else(|| fail.into());
        let element = FailedElement { field, index, bytes: start, pending, error: &error };
        match self.links.skip_failed(&element) {
            Ok(Some(length)) => {
                self.go_back(start);
                self.take(length).map(drop)
            }
            Ok(None) => {
                self.refuse(error);
                Err(fail)
            }
            Err(damage) => Err(self.refuse(damage)),
        }
    }

    pub(crate) fn env(&self) -> &'a Env<'a> {
        self.env
    }

    pub(crate) fn limits(&self) -> &'a Limits {
        &self.env.limits
    }

    /// Who knows the objects of the save.
    pub(crate) fn links(&mut self) -> &mut dyn LoadLinks {
        self.links
    }
}

/// A field whose elements are skipped if they cannot be loaded.
#[derive(Clone, Copy)]
pub(crate) struct SkippingField {
    pub(crate) class: &'static Class,
    pub(crate) variant: usize,
    pub(crate) field: usize,
}

/// An element that could not be loaded.
pub(crate) struct FailedElement<'f> {
    pub(crate) field: SkippingField,
    /// Its place in the list, set or map; `None` in an option.
    pub(crate) index: Option<usize>,
    /// The bytes from its beginning on.
    pub(crate) bytes: &'f [u8],
    /// How many references were set aside before it.
    pub(crate) pending: usize,
    pub(crate) error: &'f Error,
}

/// True for an error about a value, and not about damage, limits or the program.
pub(crate) fn is_of_value(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::InvalidValue | ErrorKind::Refused | ErrorKind::NotFound)
}

/// Knows the objects that the references of a save name.
///
/// A decode gets a stand-in of the right type at once; the real target is put
/// in its place by the pass that connects, which meets the references in the
/// order in which they were decoded.
///
/// What only a whole save has, such as cells and new ids for handles, is left out where it is not implemented.
pub(crate) trait LoadLinks {
    /// Sets a reference to `id` aside and returns an object of its target's type.
    fn link(&mut self, id: u64, pointing: Pointing) -> Result<Linked<'_>>;

    /// Like [`link`](Self::link), for a pointer to a `pointee`, if nothing is amiss. If what this returns is of
    /// another type, [`unlink`](Self::unlink) and [`link`](Self::link) are called.
    fn plain_link(
        &mut self,
        id: u64,
        pointee: TypeId,
        weak: bool,
        within: Within,
    ) -> Option<&Shared> {
        let _ = (id, pointee, weak, within);
        None
    }

    /// Forgets the reference that was set aside last.
    fn unlink(&mut self) {}

    /// How to make trait objects of class number `number` of the save for trait `of`.
    fn class(&mut self, number: u64, of: TraitName) -> Result<Implementor<'_>>;

    /// How many of these bytes a value of class number `number` takes, which the program does not have; and the value,
    /// if it is to be kept.
    fn foreign(&mut self, number: u64, rest: &[u8], keep: bool)
    -> Result<(usize, Option<Unknown>)>;

    /// The new id of an old handle into the arena of type `arena`.
    fn handle(&mut self, arena: TypeId, bits: u64) -> Result<Remapped> {
        let _ = arena;
        Ok(Remapped::Live(bits))
    }

    /// Says that a value became `None`: its class, of this number, is not registered for the trait that was asked for.
    fn became_none(&mut self, class: u64) {
        let _ = class;
    }

    /// How many bytes an element takes that could not be loaded; forgets its references and reports it. `None` where
    /// that is not known.
    fn skip_failed(&mut self, element: &FailedElement<'_>) -> Result<Option<usize>> {
        let _ = element;
        Ok(None)
    }

    /// Says that a handle ends the decode, whose error can name its field.
    fn refuse_handle(&mut self, arena: &'static str, bits: u64) {
        let _ = (arena, bits);
    }

    /// How many bytes stand for the default of a field, of this type, variant and index, which the save does not have;
    /// `left` bytes are not read yet.
    fn default_at(&self, left: usize, field: (TypeId, usize, usize)) -> Option<usize> {
        let _ = (left, field);
        None
    }

    /// What makes empty values.
    fn prototypes(&self) -> Prototypes<'_>;

    /// Counts elements, as [`SaveLinks::charge`] does.
    fn charge(&mut self, empty: usize, memory: u64, limits: &Limits) -> Result<()>;

    /// What the object with this id is, for an error.
    fn describe(&self, id: u64) -> String {
        let _ = id;
        String::new()
    }

    /// True if the object with this id is there, and is none that a pointer with this holder leads to: of another
    /// holder, or of another class, unless the pointer is to trait objects of any.
    fn is_elsewhere(&self, id: u64, holder: Holder, of_trait: bool) -> bool {
        let _ = (id, holder, of_trait);
        false
    }

    /// References set aside so far.
    fn pending(&self) -> usize {
        0
    }

    /// Reorders the references set aside since `start`: first those of
    /// `ranges[0]`, then those of `ranges[1]`, ...
    fn reorder(&mut self, start: usize, ranges: &[std::ops::Range<usize>]) {
        let _ = (start, ranges);
    }
}

/// What a decoded reference leads to.
pub(crate) enum Linked<'l> {
    /// Nothing: it is weak, and its target is not there.
    Nobody,
    /// An object of the target's type, or the target itself.
    To {
        /// The object.
        object: &'l Shared,
        /// How it becomes a trait object of the trait that was asked for, as
        /// [`Implementor::Known`] has it.
        caster: Option<&'l dyn Any>,
    },
    /// An object of a class that is not registered for the trait that was asked for.
    Unregistered {
        /// Number of the class.
        class: u64,
        /// Says so.
        error: Error,
    },
}

/// What is known of a class as the implementor of a trait.
pub(crate) enum Implementor<'l> {
    /// A `Caster` of the trait.
    Known(&'l dyn Any),
    /// The class is not registered for the trait; its name.
    Unknown(String),
}

/// A reference as a load meets it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pointing {
    /// True if it does not keep its target alive.
    pub weak: bool,
    /// What is known of the target.
    pub pointed: Pointed,
    /// Where the reference is in the object that holds it.
    pub within: Within,
}

/// What becomes of an old handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Remapped {
    /// It has this new id.
    Live(u64),
    /// It leads nowhere.
    Null,
    /// It keeps its old id, and never leads anywhere again.
    Dead,
}

/// The links of the bare codec, which has none.
#[derive(Default)]
pub(crate) struct NoLinks {
    empty_elements: usize,
}

impl NoLinks {
    /// Elements without bytes so far.
    pub(crate) fn empty_elements(&self) -> usize {
        self.empty_elements
    }

    #[cold]
    fn error<T>(what: &str) -> Result<T> {
        Err(error!(
            ErrorKind::Unsupported,
            "{what} only inside a whole save; use `persist::save` or `Saves`"
        ))
    }
}

impl SaveLinks for NoLinks {
    fn link(&mut self, _: usize, _: Link, _: &dyn Referent) -> Result<u64> {
        Self::error("a shared pointer has an id")
    }

    fn class(&mut self, _: TypeId, _: TraitName, _: &dyn Fn() -> String) -> Result<u64> {
        Self::error("the class of a trait object has a number")
    }

    fn foreign_class(&mut self, _: &Arc<dyn Any + Send + Sync>, _: usize) -> Result<u64> {
        Self::error("the class of a trait object has a number")
    }

    fn charge(&mut self, empty: usize, _: u64, limits: &Limits) -> Result<()> {
        charge_empty(&mut self.empty_elements, empty, limits)
    }
}

/// The links of keys and elements that are encoded to be put in order.
#[derive(Default)]
pub(crate) struct KeyLinks {
    bare: NoLinks,
    /// True if they hold something unknown, whose bytes in the save are others.
    pub(crate) hold_unknown: bool,
}

impl KeyLinks {
    /// Elements without bytes so far.
    pub(crate) fn empty_elements(&self) -> usize {
        self.bare.empty_elements()
    }
}

impl SaveLinks for KeyLinks {
    fn link(&mut self, address: usize, link: Link, target: &dyn Referent) -> Result<u64> {
        SaveLinks::link(&mut self.bare, address, link, target)
    }

    fn class(&mut self, class: TypeId, of: TraitName, name: &dyn Fn() -> String) -> Result<u64> {
        SaveLinks::class(&mut self.bare, class, of, name)
    }

    fn foreign_class(&mut self, schema: &Arc<dyn Any + Send + Sync>, index: usize) -> Result<u64> {
        self.bare.foreign_class(schema, index)
    }

    fn orders_keys(&mut self) -> bool {
        self.hold_unknown = true;
        true
    }

    fn charge(&mut self, empty: usize, memory: u64, limits: &Limits) -> Result<()> {
        SaveLinks::charge(&mut self.bare, empty, memory, limits)
    }
}

impl LoadLinks for NoLinks {
    fn link(&mut self, _: u64, _: Pointing) -> Result<Linked<'_>> {
        Self::error("a shared pointer has an id")
    }

    fn class(&mut self, _: u64, _: TraitName) -> Result<Implementor<'_>> {
        Self::error("the class of a trait object has a number")
    }

    fn foreign(&mut self, _: u64, _: &[u8], _: bool) -> Result<(usize, Option<Unknown>)> {
        Self::error("the class of a trait object has a number")
    }

    fn prototypes(&self) -> Prototypes<'_> {
        Prototypes::bare()
    }

    fn charge(&mut self, empty: usize, _: u64, limits: &Limits) -> Result<()> {
        charge_empty(&mut self.empty_elements, empty, limits)
    }
}

impl fmt::Debug for Decoder<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Decoder").field("bytes_left", &self.rest.len()).finish_non_exhaustive()
    }
}

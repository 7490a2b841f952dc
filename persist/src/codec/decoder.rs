use std::any::{Any, TypeId};
use std::fmt;
use std::sync::Arc;

use super::encoder::SaveLinks;
use super::fail::Fail;
use super::links::{Link, Pointed, Prototypes, Referent, Within, charge_empty};
use super::object::Shared;
#[cfg(feature = "world")]
use super::pages::PageEntry;
use super::unknown::Unknown;
use super::{large_box, levels};
use crate::env::Env;
use crate::reflect::{Class, Holder, TraitName};
use crate::{Error, ErrorKind, Limits, Result};

/// Reads values from bytes.
pub struct Decoder<'a> {
    rest: &'a [u8],
    depth: u32,
    within: Within,
    env: &'a Env<'a>,
    links: &'a mut dyn LoadLinks,
    error: Option<Error>,
    /// The class of the last skipped value.
    skipped: Option<u64>,
    /// The field that is being read, if it has `skip_failed`.
    skipping: Option<SkippingField>,
    /// In a page, the numbers that its classes have in the save.
    numbers: Option<&'a [u64]>,
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
            numbers: None,
        }
    }

    /// Returns a decoder of a page, whose classes have these numbers in the save.
    pub(crate) fn in_page(mut self, numbers: Option<&'a [u64]>) -> Self {
        self.numbers = numbers;
        self
    }

    /// Returns a decoder of a value inside of a cell.
    #[cfg(feature = "world")]
    pub(crate) fn inside(mut self, within: Within) -> Self {
        self.within = within;
        self
    }

    /// Returns the numbers in the save of the classes of the page that is being read.
    pub(crate) fn numbers(&self) -> Option<&'a [u64]> {
        self.numbers
    }

    /// Reads a page of the record that is being read.
    #[cfg(feature = "world")]
    pub(crate) fn page(
        &mut self,
        entry: &PageEntry,
        read: &mut dyn FnMut(&mut Decoder<'_>) -> Result<(), Fail>,
    ) -> Result<(), Fail> {
        let result = self.links.read_page(entry, self.within, read);
        result.map_err(|error| self.refuse(error))
    }

    pub(crate) fn take_error(&mut self) -> Option<Error> {
        self.error.take()
    }

    /// Returns the bytes that are not read yet.
    #[inline(always)]
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Moves back to bytes that were already taken.
    pub(crate) fn go_back(&mut self, rest: &'a [u8]) {
        self.rest = rest;
    }

    /// Takes the next `len` bytes.
    ///
    /// # Errors
    ///
    /// Returns [`Fail::End`] if fewer bytes are left.
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

    /// Resolves a reference to object `id`; see [`LoadLinks::link`].
    pub(crate) fn link(&mut self, id: u64, weak: bool, pointed: Pointed) -> Result<Linked<'_>> {
        self.links.link(id, Pointing { weak, pointed, within: self.within })
    }

    /// Resolves a reference to an object of a known type; see [`LoadLinks::plain_link`].
    #[inline]
    pub(crate) fn plain_link(&mut self, id: u64, pointee: TypeId, weak: bool) -> Option<&Shared> {
        self.links.plain_link(id, pointee, weak, self.within)
    }

    /// Records the reason why this value cannot be loaded.
    ///
    /// Use it as `return Err(input.refuse(error))`.
    #[cold]
    pub fn refuse(&mut self, error: Error) -> Fail {
        self.error.get_or_insert(error);
        Fail::Refused
    }

    /// Returns the context of the load: a value of the program's own. [`Encoder::context`](super::Encoder::context) has
    /// an example.
    ///
    /// # Errors
    ///
    /// Returns a [`Fail`] if the load has no context, or one of another type. The error of the load then says so.
    pub fn context<C: Any>(&mut self) -> Result<&'a C, Fail> {
        self.env.context().map_err(|error| self.refuse(error))
    }

    /// Records that a value was skipped because its class, of this number in the save, is not registered for a trait.
    #[cold]
    pub(crate) fn unregistered(&mut self, class: u64, error: Error) -> Fail {
        self.refuse(error);
        self.skipped = Some(class);
        Fail::Unregistered
    }

    /// Accepts the last skipped value as `None`.
    #[cold]
    pub(crate) fn forgive(&mut self) {
        if let Some(class) = self.skipped.take() {
            self.error = None;
            self.links.became_none(class);
        }
    }

    /// Decodes references inside of a cell of this sort.
    pub(crate) fn within<R>(
        &mut self,
        cell: Within,
        decode: impl FnOnce(&mut Self) -> Result<R, Fail>,
    ) -> Result<R, Fail> {
        let outer = self.within;
        self.within = outer.then(cell);
        let result = decode(self);
        self.within = outer;
        result
    }

    /// Decodes one level of nesting further in, within [`Limits::depth`].
    ///
    /// # Errors
    ///
    /// Returns [`Fail::Depth`] beyond the limit, and any failure of `decode`.
    #[inline(always)]
    pub fn nested<T>(
        &mut self,
        decode: impl FnOnce(&mut Self) -> Result<T, Fail>,
    ) -> Result<T, Fail> {
        self.nested_in::<(), T>(decode)
    }

    /// Skips the bytes of a field that stand for its default, which the save lacks. Returns false if the save has the
    /// field.
    pub(crate) fn pass_default(&mut self, class: TypeId, variant: usize, field: usize) -> bool {
        let length = self.links.default_at(self.rest.len(), (class, variant, field));
        length.is_some_and(|length| self.take(length).is_ok())
    }

    /// Returns how many levels of nesting are left, for a reader that counts them by itself.
    #[cfg_attr(not(feature = "serde"), expect(dead_code, reason = "what serde reads counts so"))]
    pub(crate) fn depth(&self) -> u32 {
        self.depth
    }

    /// Sets how many levels of nesting are left.
    #[cfg_attr(not(feature = "serde"), expect(dead_code, reason = "what serde reads counts so"))]
    pub(crate) fn set_depth(&mut self, depth: u32) {
        self.depth = depth;
    }

    /// Decodes inside of an `I`: one level of nesting, and one more for every 2 KiB of it, which is on the stack
    /// meanwhile.
    #[inline(always)]
    pub(crate) fn nested_in<I, T>(
        &mut self,
        decode: impl FnOnce(&mut Self) -> Result<T, Fail>,
    ) -> Result<T, Fail> {
        self.deeper(const { levels(size_of::<I>()) }, decode)
    }

    /// Decodes that many levels of nesting further in.
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

    /// Counts a value before it is put into a box. It takes at least `min` bytes.
    #[inline(always)]
    pub(crate) fn charge_box<T>(&mut self, min: usize) -> Result<(), Fail> {
        match large_box::<T>(min) {
            Some(bytes) => self.charge(0, bytes),
            None => Ok(()),
        }
    }

    /// Reads a field with `skip_failed`, whose elements are skipped if they cannot be loaded.
    #[doc(hidden)]
    #[allow(clippy::missing_errors_doc, reason = "not for programs")]
    pub fn in_skipping_field<T>(
        &mut self,
        class: &'static Class,
        variant: usize,
        field: usize,
        decode: impl FnOnce(&mut Self) -> Result<T, Fail>,
    ) -> Result<T, Fail> {
        self.skipping = Some(SkippingField { class, variant, field });
        let result = decode(self);
        self.skipping = None;
        result
    }

    /// Takes the field that is being read, for its container. Values inside the container are no longer part of it.
    pub(crate) fn take_skipping(&mut self) -> Option<SkippingField> {
        self.skipping.take()
    }

    /// Names the element of a list or set that an adapter could not read. The bytes alone do not show its index.
    #[cold]
    pub(crate) fn failed_element(&mut self, fail: Fail, index: usize) -> Fail {
        match self.error.take() {
            Some(error) => self.refuse(error.in_field(&format!("[{index}]"))),
            None => fail,
        };
        fail
    }

    /// Continues after an element that failed, if its field has `skip_failed` and the bytes are sound. The element
    /// began at `start`, after `pending` references.
    #[cold]
    pub(crate) fn skip_failed(
        &mut self,
        fail: Fail,
        field: Option<SkippingField>,
        index: Option<usize>,
        (start, pending): (&'a [u8], usize),
    ) -> Result<(), Fail> {
        let Some(field) = field else { return Err(fail) };
        let reported = self.error.take();
        // Any other failure is damage or a limit, and skipping the element would hide it.
        let may_skip = match fail {
            Fail::Value | Fail::Unregistered => true,
            Fail::Refused => reported.as_ref().is_some_and(|error| is_of_value(error.kind())),
            _ => false,
        };
        if !may_skip {
            self.error = reported;
            return Err(fail);
        }
        let error = reported.unwrap_or_else(|| fail.into());
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

    /// Returns the links, which know the objects of the save.
    pub(crate) fn links(&mut self) -> &mut dyn LoadLinks {
        self.links
    }
}

/// A field with `skip_failed`: its elements are skipped if they cannot be loaded.
#[derive(Clone, Copy)]
pub(crate) struct SkippingField {
    pub class: &'static Class,
    pub variant: usize,
    pub field: usize,
}

/// An element that could not be loaded.
pub(crate) struct FailedElement<'f> {
    pub field: SkippingField,
    /// Index in the list, set or map; `None` in an option.
    pub index: Option<usize>,
    /// All bytes from the beginning of the element on.
    pub bytes: &'f [u8],
    /// Number of references set aside before it.
    pub pending: usize,
    pub error: &'f Error,
}

/// True for an error that is about a value, rather than about damage, limits or the program.
pub(crate) fn is_of_value(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::InvalidValue | ErrorKind::Refused | ErrorKind::NotFound)
}

/// Resolves the references of a save to objects.
///
/// A decode gets a placeholder of the right type at once. The connecting pass puts the real target in its place. It
/// visits the references in the order in which they were decoded.
///
/// The default methods suit links without a whole save, which has no cells and no new ids for handles.
pub(crate) trait LoadLinks {
    /// Sets a reference to `id` aside for the connecting pass, and returns an object of its target's type.
    fn link(&mut self, id: u64, pointing: Pointing) -> Result<Linked<'_>>;

    /// Resolves a pointer to a `pointee` without the checks of [`link`](Self::link). `None` means that `link` must be
    /// called. If the returned object is of another type, the caller calls [`unlink`](Self::unlink) and then
    /// [`link`](Self::link).
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

    /// Forgets the last reference that was set aside.
    fn unlink(&mut self) {}

    /// Finds how class number `number` of the save becomes trait objects of trait `of`.
    fn class(&mut self, number: u64, of: TraitName) -> Result<Implementor<'_>>;

    /// Returns how many of the bytes a value of class number `number` takes, which the program lacks. With `keep`, also
    /// returns the value.
    fn unknown(&mut self, number: u64, rest: &[u8], keep: bool)
    -> Result<(usize, Option<Unknown>)>;

    /// Reads a page of the record that is being read, whose place in it is `within`.
    #[cfg(feature = "world")]
    fn read_page(
        &mut self,
        entry: &PageEntry,
        within: Within,
        read: &mut dyn FnMut(&mut Decoder<'_>) -> Result<(), Fail>,
    ) -> Result<()> {
        let _ = (entry, within, read);
        NoLinks::error("a page is read")
    }

    /// Returns the new id of an old handle into the arena of type `arena`.
    fn handle(&mut self, arena: TypeId, bits: u64) -> Result<Remapped> {
        let _ = arena;
        Ok(Remapped::Live(bits))
    }

    /// Reports that a value became `None` because its class, of this number, is not registered for the trait.
    fn became_none(&mut self, class: u64) {
        let _ = class;
    }

    /// Returns how many bytes an element takes that could not be loaded. It forgets the element's references and
    /// reports it. `None` if the length is unknown.
    fn skip_failed(&mut self, element: &FailedElement<'_>) -> Result<Option<usize>> {
        let _ = element;
        Ok(None)
    }

    /// Reports that a handle ends the decode, so that the error can name its field.
    fn refuse_handle(&mut self, arena: &'static str, bits: u64) {
        let _ = (arena, bits);
    }

    /// Returns how many bytes stand for the default of a field that the save lacks. The field is given by type, variant
    /// and index; `left` bytes are not read yet.
    fn default_at(&self, left: usize, field: (TypeId, usize, usize)) -> Option<usize> {
        let _ = (left, field);
        None
    }

    /// Returns the prototypes, which create empty values.
    fn prototypes(&self) -> Prototypes<'_>;

    /// Counts elements, like [`SaveLinks::charge`].
    fn charge(&mut self, empty: usize, memory: u64, limits: &Limits) -> Result<()>;

    /// Describes the object with this id, for an error.
    fn describe(&self, id: u64) -> String {
        let _ = id;
        String::new()
    }

    /// True if the object with this id exists, and a pointer with this holder cannot lead to it. Then it has another
    /// holder or, unless the pointer is to any trait objects (`of_trait`), another class.
    fn is_elsewhere(&self, id: u64, holder: Holder, of_trait: bool) -> bool {
        let _ = (id, holder, of_trait);
        false
    }

    /// Returns the number of references set aside so far.
    fn pending(&self) -> usize {
        0
    }

    /// Reorders the references set aside since `start`: first those of `ranges[0]`, then those of `ranges[1]`, and so
    /// on.
    fn reorder(&mut self, start: usize, ranges: &[std::ops::Range<usize>]) {
        let _ = (start, ranges);
    }
}

/// The result of resolving a reference.
pub(crate) enum Linked<'l> {
    /// No object: the reference is weak, and its target is not in the save.
    Nobody,
    /// An object of the target's type, or the target itself.
    To {
        /// The target or its placeholder.
        object: &'l Shared,
        /// Turns it into a trait object of the requested trait; see [`Implementor::Known`].
        caster: Option<&'l dyn Any>,
    },
    /// An object of a class that is not registered for the requested trait.
    Unregistered {
        /// Number of the class.
        class: u64,
        /// The error to report.
        error: Error,
    },
}

/// A class of the save, as an implementor of a trait.
pub(crate) enum Implementor<'l> {
    /// Registered: a `Caster` to the trait.
    Known(&'l dyn Any),
    /// Not registered for the trait; the name of the class.
    Unknown(String),
}

/// A reference as a load sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pointing {
    /// True if the reference does not keep its target alive.
    pub weak: bool,
    /// The pointer's type, as far as it restricts the target.
    pub pointed: Pointed,
    /// The place of the reference in the object that holds it.
    pub within: Within,
}

/// The new state of an old handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Remapped {
    /// The handle has this new id.
    Live(u64),
    /// The handle becomes null.
    Null,
    /// The handle keeps its old id, and never leads anywhere again.
    Dead,
}

/// Links of the bare codec, which has no object ids: any reference is an error.
#[derive(Default)]
pub(crate) struct NoLinks {
    empty_elements: usize,
}

impl NoLinks {
    /// Returns the number of elements without bytes so far.
    fn empty_elements(&self) -> usize {
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

    fn unknown_class(&mut self, _: &Arc<dyn Any + Send + Sync>, _: usize) -> Result<u64> {
        Self::error("the class of a trait object has a number")
    }

    fn charge(&mut self, empty: usize, _: u64, limits: &Limits) -> Result<()> {
        charge_empty(&mut self.empty_elements, empty, limits)
    }
}

/// Links for keys and set elements that are encoded only to be sorted.
#[derive(Default)]
pub(crate) struct KeyLinks {
    bare: NoLinks,
    /// True if a key holds unknown content, whose bytes in the save differ from the bytes that are compared.
    pub hold_unknown: bool,
}

impl KeyLinks {
    /// Returns the number of elements without bytes so far.
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

    fn unknown_class(&mut self, schema: &Arc<dyn Any + Send + Sync>, index: usize) -> Result<u64> {
        self.bare.unknown_class(schema, index)
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

    fn unknown(&mut self, _: u64, _: &[u8], _: bool) -> Result<(usize, Option<Unknown>)> {
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

//! The names of objects. Each name belongs to at most one object; a new object gets the lowest free number as suffix.
//!
//! A *text* is the form of a name in saves and journals, as [`shared_name`](crate::fields::shared_name) defines it; a
//! program sees only the *name*. A text consists of a *base* and a *number*: `Orc12` is the base `Orc` and the number 12.
//! Objects with the same base share its text, and are found by their numbers. So the names of a million orcs take
//! neither a million strings nor a million entries of a hash table.
//!
//! A base is *held* by each object whose name has it, also by parked ones. It is removed when nobody holds it. A name
//! is *owned* by the object in the world that has it. A parked object does not own its name, but may *reserve* it, so
//! that no new object gets it.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::BuildHasher;
use std::num::NonZeroU32;
use std::str::Utf8Error;
use std::sync::Arc;

use hashbrown::{DefaultHashBuilder, HashMap, HashTable};

use crate::ObjectId;
#[cfg(feature = "history")]
use crate::fields::ObjectName;
use crate::fields::shared_name::{DIGITS, LAST_NUMBER, MARK, read_name, split, write_name};

/// A name in [`Names`]. It is valid while somebody [holds](Names::hold) it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Name {
    /// The index of the base plus 1, so that an `Option<Name>` takes 8 bytes.
    base: NonZeroU32,
    /// The number after the base, or 0 for none.
    number: u32,
}

impl Name {
    #[expect(clippy::cast_possible_truncation, reason = "2^32 bases do not fit into memory")]
    fn new(base: usize, number: u32) -> Self {
        Self { base: NonZeroU32::MIN.saturating_add(base as u32), number }
    }

    fn index(self) -> usize {
        self.base.get() as usize - 1
    }

    /// Returns true if both names have the same base, and this one has the next number.
    #[inline]
    pub(super) fn follows(self, other: Self) -> bool {
        self.base == other.base && self.number == other.number.wrapping_add(1)
    }
}

/// The names of a world's objects: which are in use, and by which objects.
#[derive(Default)]
pub(super) struct Names {
    hasher: DefaultHashBuilder,
    /// The hashes and indices of the bases, to find a base by its text.
    table: HashTable<(u64, usize)>,
    bases: Vec<Base>,
    /// Indices of `bases` that are free.
    unused: Vec<usize>,
    /// The base that was used last. Many objects with the same base are spawned in a row.
    last: usize,
    /// The reserved names, each with the number of parked objects that reserve it.
    reserved: HashMap<Name, u32>,
    /// For names that end with a number and got another one appended, such as `Door1` and `Door11`: no number below
    /// this one is free. Without it, each spawn would try all numbers from 1 on.
    numbered: HashMap<Box<str>, u64>,
}

struct Base {
    hash: u64,
    /// The text; empty if the base is not in use.
    text: Arc<str>,
    /// The number of objects with a name of this base, including parked ones.
    holders: usize,
    owners: Owners,
}

/// The objects in the world that own the names of a base. Most bases have one owner, which takes no allocation.
enum Owners {
    None,
    One(u32, ObjectId),
    Many(Box<Many>),
}

struct Many {
    /// The owners by number; index 0 is for the base without a number.
    dense: Vec<Option<ObjectId>>,
    /// The owners of numbers beyond the end of `dense`.
    sparse: BTreeMap<u32, ObjectId>,
    /// The first number that has never been tried for a new object. A lower number is in use unless it is in `free`.
    next: u64,
    /// Numbers below `next` that became free. Some may have been taken again.
    free: BTreeSet<u64>,
}

/// Parses the digits of a number; `None` if it begins with a zero, or has too many digits for a number.
fn number(digits: &[u8]) -> Option<u32> {
    if digits.len() > DIGITS || matches!(digits, [] | [b'0', ..]) {
        return None;
    }
    digits.iter().try_fold(0, |number, digit| {
        digit.is_ascii_digit().then(|| number * 10 + u32::from(digit - b'0'))
    })
}

impl Names {
    /// Returns the index of a base that is in use.
    fn find_text(&self, text: &str) -> Option<usize> {
        if self.bases.get(self.last).is_some_and(|base| *base.text == *text) {
            return Some(self.last);
        }
        let hash = self.hasher.hash_one(text);
        let is_same = |(other, at): &(u64, usize)| *other == hash && *self.bases[*at].text == *text;
        self.table.find(hash, is_same).map(|(_, at)| *at)
    }

    /// Returns the index of a base, which is added if it is new.
    fn enter_base(&mut self, text: &str) -> usize {
        let at = self.find_text(text).unwrap_or_else(|| {
            let hash = self.hasher.hash_one(text);
            let base = Base { hash, text: text.into(), holders: 0, owners: Owners::None };
            let at = match self.unused.pop() {
                Some(at) => {
                    self.bases[at] = base;
                    at
                }
                None => {
                    self.bases.push(base);
                    self.bases.len() - 1
                }
            };
            self.table.insert_unique(hash, (hash, at), |(hash, _)| *hash);
            at
        });
        self.last = at;
        at
    }

    fn owner(&self, name: Name) -> Option<ObjectId> {
        self.bases.get(name.index())?.owners.get(name.number)
    }

    fn is_free(&self, name: Name) -> bool {
        self.owner(name).is_none()
            && (self.reserved.is_empty() || !self.reserved.contains_key(&name))
    }

    fn is_text_free(&self, text: &str) -> bool {
        let (base, number) = split(text);
        self.find_text(base).is_none_or(|base| self.is_free(Name::new(base, number)))
    }

    /// Returns the object that owns a name. For a shared name, this is the object that has it without a mark.
    pub(super) fn find(&self, name: &str) -> Option<ObjectId> {
        self.find_written(&write_name(name, 0))
    }

    pub(super) fn find_written(&self, text: &str) -> Option<ObjectId> {
        let (base, number) = split(text);
        self.owner(Name::new(self.find_text(base)?, number))
    }

    /// Returns the base and the number of a name, to be kept without holding it.
    pub(super) fn shared_parts(&self, name: Name) -> (Arc<str>, u32) {
        let base = self.bases.get(name.index());
        (base.map_or_else(Arc::default, |base| Arc::clone(&base.text)), name.number)
    }

    /// Returns the base of a name, and the number after it, or 0 for none.
    pub(super) fn parts(&self, name: Name) -> (&str, u32) {
        (self.bases.get(name.index()).map_or("", |base| &base.text), name.number)
    }

    /// Returns the text of a name that has no number; `None` if it has one.
    pub(super) fn base(&self, name: Name) -> Option<&Arc<str>> {
        let base = self.bases.get(name.index()).filter(|_| name.number == 0);
        base.map(|base| &base.text)
    }

    /// Returns a name that is independent of this table; empty for `None`.
    #[expect(
        clippy::inline_always,
        reason = "a change is made where it stays; a copy of it waits for its parts"
    )]
    #[cfg(feature = "history")]
    #[inline(always)]
    pub(super) fn object_name(&self, name: Option<Name>) -> ObjectName {
        let base = name.and_then(|name| self.bases.get(name.index()));
        ObjectName {
            number: name.map_or(0, |name| name.number),
            base: base.map_or_else(Arc::default, |base| Arc::clone(&base.text)),
        }
    }

    pub(super) fn text(&self, name: Name) -> String {
        match self.parts(name) {
            (base, 0) => base.into(),
            (base, number) => format!("{base}{number}"),
        }
    }

    /// Returns the name that a program sees.
    pub(super) fn name(&self, name: Name) -> String {
        read_name(&self.text(name)).0.into_owned()
    }

    /// Finds or adds a name by its text, and holds it.
    pub(super) fn hold(&mut self, text: &str) -> Name {
        let (base, number) = split(text);
        self.hold_parts(base, number)
    }

    /// Finds or adds a name by its base and number, and holds it.
    pub(super) fn hold_parts(&mut self, base: &str, number: u32) -> Name {
        let base = self.enter_base(base);
        self.bases[base].holders += 1;
        Name::new(base, number)
    }

    /// Finds or adds a name by the bytes of its text, and holds it.
    pub(super) fn hold_bytes(&mut self, bytes: &[u8]) -> Result<Name, Utf8Error> {
        // A load reads many objects with one base in a row. A known base with digits after it is valid UTF-8, and needs
        // no hash. The base must not end with a digit: `split` would assign the digits differently.
        let at = self.last;
        if let Some(base) = self.bases.get_mut(at)
            && base.holders > 0
            && let Some(digits) = bytes.strip_prefix(base.text.as_bytes())
            && let Some(number) = number(digits)
            && !base.text.ends_with(|last: char| last.is_ascii_digit())
        {
            base.holders += 1;
            return Ok(Name::new(at, number));
        }
        Ok(self.hold(std::str::from_utf8(bytes)?))
    }

    /// Releases a held name, which no object owns any more. An unused base is removed.
    pub(super) fn drop(&mut self, name: Name) {
        let at = name.index();
        let Some(base) = self.bases.get_mut(at) else { return };
        base.holders = base.holders.saturating_sub(1);
        if base.holders > 0 {
            return;
        }
        let hash = base.hash;
        if let Ok(found) = self.table.find_entry(hash, |(_, other)| *other == at) {
            found.remove();
            *base = Base { hash: 0, text: "".into(), holders: 0, owners: Owners::None };
            self.unused.push(at);
        }
    }

    /// Chooses and holds the name of a new object: the requested name, or that name with the lowest free number.
    pub(super) fn hold_free(&mut self, name: &str) -> Name {
        let text = write_name(name, 0);
        let (base, number) = split(&text);
        let at = self.enter_base(base);
        let entered = Name::new(at, number);
        let entered = if self.is_free(entered) {
            entered
        } else if !name.ends_with(MARK)
            && let Some(numbered) = self.next_number(entered)
        {
            numbered
        } else {
            // A number after a number, or after a mark, changes how the text splits: `Door1` becomes `Door11`, which is
            // the base `Door` and the number 11.
            return self.hold_numbered(name);
        };
        self.bases[at].holders += 1;
        entered
    }

    /// Chooses and holds the text of an object that may share its name: the name, or the name with a mark and a number.
    pub(super) fn hold_shared(&mut self, name: &str) -> Name {
        let text = write_name(name, 0);
        if self.is_text_free(&text) { self.hold(&text) } else { self.hold_marked(name) }
    }

    /// Holds a name with a mark and the lowest free number.
    fn hold_marked(&mut self, name: &str) -> Name {
        let first = write_name(name, 1);
        let at = self.enter_base(split(&first).0);
        let marked = self.next_number(Name::new(at, 0)).expect("a billion names have no memory");
        self.bases[at].holders += 1;
        marked
    }

    /// Chooses and holds a replacement for a text that another object has taken.
    pub(super) fn hold_other(&mut self, text: &str) -> Name {
        match read_name(text) {
            (name, 0) => self.hold_free(&name),
            (name, _) => self.hold_marked(&name),
        }
    }

    /// Returns a base with its lowest free number. Returns `None` if the name has a number already, or if the numbers
    /// of the base are used up.
    fn next_number(&mut self, base: Name) -> Option<Name> {
        if base.number > 0 {
            return None;
        }
        loop {
            let many = self.bases[base.index()].owners.many();
            let number = match many.free.pop_first() {
                Some(number) => number,
                None if many.next > u64::from(LAST_NUMBER) => return None,
                None => {
                    many.next += 1;
                    many.next - 1
                }
            };
            let name = Name { number: u32::try_from(number).ok()?, ..base };
            if self.is_free(name) {
                return Some(name);
            }
        }
    }

    /// Holds a name with the lowest free number appended, for a name that ends with a number or a mark. Each number may
    /// give another base, so the texts are tried one by one.
    fn hold_numbered(&mut self, name: &str) -> Name {
        let first = self.numbered.get(name).copied().unwrap_or(1);
        let text = |number: &u64| write_name(&format!("{name}{number}"), 0).into_owned();
        let mut free = (first..).map(|number| (text(&number), number));
        let (text, number) =
            free.find(|(text, _)| self.is_text_free(text)).expect("some number is free");
        self.numbered.insert(name.into(), number + 1);
        self.hold(&text)
    }

    /// Chooses and holds the text of a copy: its own text if that is free, or else its base with the lowest free
    /// number.
    pub(super) fn hold_for_copy(&mut self, text: &str) -> Name {
        if self.is_text_free(text) {
            return self.hold(text);
        }
        let (name, 0) = read_name(text) else { return self.hold_other(text) };
        let base = name.trim_end_matches(|letter: char| letter.is_ascii_digit());
        self.hold_free(if base.is_empty() { &name } else { base })
    }

    /// Makes an object the owner of a held name; returns the previous owner.
    pub(super) fn assign(&mut self, name: Name, id: ObjectId) -> Option<ObjectId> {
        self.bases.get_mut(name.index())?.owners.set(name.number, id)
    }

    /// Removes the owner of a name, which is still held.
    pub(super) fn leave(&mut self, name: Name) {
        if let Some(base) = self.bases.get_mut(name.index()) {
            base.owners.clear(name.number);
        }
        self.note_free(name);
    }

    /// Reserves the name of a parked object, so that no new object gets it.
    #[cfg(feature = "history")]
    pub(super) fn reserve(&mut self, name: Name) {
        *self.reserved.entry(name).or_default() += 1;
    }

    /// Ends one reservation by [`reserve`](Self::reserve).
    pub(super) fn unreserve(&mut self, name: Name) {
        let Some(count) = self.reserved.get_mut(&name) else { return };
        *count -= 1;
        if *count == 0 {
            self.reserved.remove(&name);
            self.note_free(name);
        }
    }

    /// Makes the number of a name available to new objects, if the name is free.
    fn note_free(&mut self, name: Name) {
        if !self.is_free(name) {
            return;
        }
        if let Some(Base { owners: Owners::Many(many), .. }) = self.bases.get_mut(name.index())
            && name.number > 0
            && u64::from(name.number) < many.next
        {
            many.free.insert(u64::from(name.number));
        }
        // The freed text may be one of a lower number for any of these names.
        self.numbered.clear();
    }
}

impl Owners {
    fn get(&self, number: u32) -> Option<ObjectId> {
        match self {
            Self::None => None,
            Self::One(of, id) => (*of == number).then_some(*id),
            Self::Many(many) => match many.dense.get(number as usize) {
                Some(owner) => *owner,
                None => many.sparse.get(&number).copied(),
            },
        }
    }

    fn set(&mut self, number: u32, id: ObjectId) -> Option<ObjectId> {
        match self {
            Self::None => {
                *self = Self::One(number, id);
                None
            }
            Self::One(of, owner) if *of == number => Some(std::mem::replace(owner, id)),
            _ => self.many().set(number, id),
        }
    }

    fn clear(&mut self, number: u32) {
        match self {
            Self::One(of, _) if *of == number => *self = Self::None,
            Self::Many(many) => many.clear(number),
            _ => {}
        }
    }

    fn many(&mut self) -> &mut Many {
        if !matches!(self, Self::Many(_)) {
            let mut many = Box::<Many>::default();
            if let Self::One(number, id) = *self {
                many.set(number, id);
            }
            *self = Self::Many(many);
        }
        match self {
            Self::Many(many) => many,
            _ => unreachable!("it was made just now"),
        }
    }
}

impl Default for Many {
    fn default() -> Self {
        Self { dense: Vec::new(), sparse: BTreeMap::new(), next: 1, free: BTreeSet::new() }
    }
}

impl Many {
    fn set(&mut self, number: u32, id: ObjectId) -> Option<ObjectId> {
        // Numbers are assigned in order, so the next one is not tried again.
        if u64::from(number) == self.next {
            self.next += 1;
        }
        let at = number as usize;
        if let Some(owner) = self.dense.get_mut(at) {
            return owner.replace(id);
        }
        // The dense list at most about doubles. Without this, a hostile save with the name `Orc999999999` would take
        // gigabytes.
        if at > self.dense.len() * 2 + 16 {
            return self.sparse.insert(number, id);
        }
        self.dense.resize(at, None);
        let old = self.sparse.remove(&number);
        self.dense.push(Some(id));
        while let Some(first) = self.sparse.first_entry()
            && (*first.key() as usize) < self.dense.len()
        {
            let (number, id) = first.remove_entry();
            self.dense[number as usize] = Some(id);
        }
        old
    }

    fn clear(&mut self, number: u32) {
        match self.dense.get_mut(number as usize) {
            Some(owner) => {
                *owner = None;
                while let Some(None) = self.dense.last() {
                    self.dense.pop();
                }
            }
            None => drop(self.sparse.remove(&number)),
        }
    }
}

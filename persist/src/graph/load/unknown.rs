//! Values and objects of unknown classes, which the program does not have: kept for stand-ins with what they refer to,
//! or refused.

use std::any::TypeId;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use super::super::PendingReference;
use super::{Table, TypeIndex, Unregistered, kept_event};
use crate::codec::{
    AnyObject, Decoder, Linked, LoadedObject, NoLinks, Remapped, Shared, Unknown, UnknownClass,
    UnknownPart, UnknownPartKind, UnknownPath, UnknownPiece, UnknownStep, Within, left_over,
    not_registered,
};
use crate::format::RecordLocation;
use crate::reflect::{Holder, TraitName};
use crate::schema::{LoadEvent, LocalValue, Stored, length};
use crate::types::WorldObjects;
use crate::{Error, ErrorKind, Result};

/// Bytes of a stored handle: its state, then 8 bytes of its id.
const HANDLE: usize = 9;

impl Table<'_> {
    /// Keeps a value of an unknown class, which is at the start of `bytes`, and requests the objects that it refers to.
    /// Returns the value, its length in bytes, and how many weak references in it have no target.
    pub(super) fn unknown(
        &mut self,
        class: usize,
        bytes: &[u8],
    ) -> Result<(UnknownPiece, usize, usize)> {
        let stored = match Stored::is_synthesized(class) {
            true => self.registry.program().layout().clone(),
            false => self.plans.stored.clone(),
        };
        let mut parts = Vec::new();
        let mut references = Vec::new();
        let mut handles = Vec::new();
        let mut visit = |value: LocalValue<'_>, before: usize, after: usize| {
            let (start, end) = (bytes.len() - before, bytes.len() - after);
            let content = match value {
                LocalValue::Handle { arena, bits } => {
                    handles.extend(self.handles.arena(arena).map(|arena| (start, arena, bits)));
                    return true;
                }
                LocalValue::Class(class) => UnknownPartKind::Class(class),
                LocalValue::Objects(_) | LocalValue::Again => return true,
                // The worlds of kept content have no pages.
                LocalValue::Pages(index) => return index.is_empty(),
                LocalValue::Reference { id, weak, class, holder } => {
                    let target = self.objects.find(id);
                    if !target.map_or(weak, |record| self.objects.is_target(record, class, holder))
                    {
                        return false;
                    }
                    references.push((target, id, weak));
                    UnknownPartKind::Reference { weak, target: None }
                }
            };
            parts.push(UnknownPart { start, end, content });
            true
        };
        let numbers = self.page_numbers.clone();
        let of = (class, &*stored);
        let length = length(of, bytes, numbers.as_deref(), &self.env.limits, &mut visit)?;
        let mut dangling = 0;
        for (target, id, weak) in references {
            dangling += usize::from(target.is_none() && id != 0);
            if let Some(record) = target {
                self.request(record as usize);
            }
            self.waits = true;
            self.references.push(PendingReference::new(target, weak, Within::Cell));
        }
        let name = self.unknown_names.entry(class).or_insert_with(|| {
            let class = stored.schema(class);
            class.map_or_else(|| Arc::from(""), |class| Arc::from(&*class.name))
        });
        let name = name.clone();
        let is_synthesized = Stored::is_synthesized(class);
        let class = UnknownClass { name, schema: stored, index: class, is_synthesized };
        let mut bytes = bytes[..length].to_vec();
        for (start, (arena, name), bits) in handles {
            let found = self.handles.find(arena, bits, self.record, &mut self.tally);
            let found = found.inspect_err(|_| self.handles.refused = Some((name, bits)))?;
            let (state, bits) = match found {
                Remapped::Live(new) => (1, new),
                // An id of a world has no null state, so it is dead, in an option too. Otherwise several keys of a map
                // would become equal.
                Remapped::Null if arena != TypeId::of::<WorldObjects>() => (0, 0),
                Remapped::Null | Remapped::Dead => (2, bits),
            };
            bytes[start] = state;
            bytes[start + 1..start + HANDLE].copy_from_slice(&bits.to_le_bytes());
        }
        Ok((UnknownPiece::new(class, bytes, parts), length, dangling))
    }

    /// Keeps unknown content with a path, which is at the start of `bytes`. Returns its length.
    pub(super) fn unknown_parts(&mut self, bytes: &[u8]) -> Result<(usize, Option<Unknown>)> {
        let (mut links, numbers) = (NoLinks::default(), self.page_numbers.clone());
        let mut input = Decoder::new(bytes, self.env, &mut links).in_page(numbers.as_deref());
        let path: UnknownPath = input.value::<Vec<UnknownStep>>().map_err(Error::from)?.into();
        let mut unknown = Unknown::default();
        for _ in 0..input.count().map_err(Error::from)? {
            let number = input.class_number().map_err(Error::from)?;
            let class = self.as_stored(number)?;
            let (mut piece, length, dangling) = self.unknown(class, input.rest())?;
            input.take(length).map_err(Error::from)?;
            (0..dangling).for_each(|_| self.count(LoadEvent::Dangling));
            // The other parts were counted when the fields were found.
            if class < self.plans.stored.len() {
                self.count_value(kept_event(&path), number);
            }
            piece.path = Some(path.clone());
            unknown.pieces.push(piece);
        }
        Ok((bytes.len() - input.rest().len(), Some(unknown)))
    }

    /// Like [`unknown`](Self::unknown), for a value that takes all of `bytes`.
    pub(super) fn unknown_whole(
        &mut self,
        class: usize,
        bytes: &[u8],
    ) -> Result<(UnknownPiece, usize)> {
        let (piece, length, dangling) = self.unknown(class, bytes)?;
        let left = bytes.len() - length;
        if left == 0 { Ok((piece, dangling)) } else { Err(left_over(left)) }
    }

    /// Returns the index of the class of this number, if its values are stored as they were saved.
    pub(super) fn as_stored(&self, number: u64) -> Result<usize> {
        let stored = &self.plans.stored;
        let class = number.checked_sub(1).and_then(|class| usize::try_from(class).ok());
        let is_known = |class: &usize| match Stored::is_synthesized(*class) {
            true => self.registry.program().layout().unknown_member(*class).is_some(),
            false => *class < stored.len() || stored.unknown_member(*class).is_some(),
        };
        let Some(class) = class.filter(is_known) else {
            bail!(
                ErrorKind::InvalidValue,
                "what is kept is of class number {number}, which the save does not define; it is damaged or malicious"
            );
        };
        if class >= stored.len() || !self.plans.rewrites_dynamic(class) {
            return Ok(class);
        }
        let name = &stored[class].name;
        Err(error!(
            ErrorKind::WrongClass,
            "a {name} stands for a trait that it is not registered for, while it is for another; register it for both with `register_as`"
        ))
    }

    /// Requests that a record of an unknown class is kept. Does nothing for an object of a known class.
    pub(super) fn request(&mut self, record: usize) {
        let is_value = self.objects.records.get(record).holder == Holder::VALUE;
        if self.objects.kinds[record].is_none() && !is_value && self.requested.insert(record) {
            self.deferred.push_back(record);
        }
    }

    /// Lets the stand-in of a trait represent an object of an unknown class. Returns false if the trait has no stand-in
    /// for it.
    pub(super) fn stand_in(&mut self, record: u32, of: TraitName) -> Result<bool> {
        let Some(class) = self.registry.implementors().stand_in_of((of.id)()) else {
            return Ok(false);
        };
        let place = record as usize;
        if self.objects.kinds[place].is_some() || self.requested.contains(&place) {
            return Ok(false);
        }
        let Some(kind) = self.registry.object(class, self.objects.records.get(place).holder) else {
            return Ok(false);
        };
        self.request(place);
        self.objects.expect(place, kind)?;
        Ok(true)
    }

    /// Handles a reference to an object whose class is not registered for the reference's trait.
    #[cold]
    pub(super) fn unregistered(
        &mut self,
        id: u64,
        record: u32,
        weak: bool,
        within: Within,
        of: TraitName,
    ) -> Result<Linked<'static>> {
        let RecordLocation { class, holder, .. } = self.objects.records.get(record as usize);
        let resolved = self.plans.resolve(class as usize);
        if resolved.is_some_and(|class| self.caster((of.id)(), class).is_some()) {
            // The class is registered for the trait, but not in this holder.
            let found = holder.class_type_name(false, self.name(class));
            bail!(
                ErrorKind::WrongClass,
                "the reference is to object #{id}, {found}, where a dyn {} in another pointer or cell is expected",
                of.name
            );
        }
        if weak {
            self.count(LoadEvent::Dangling);
            self.references.push(PendingReference::new(None, true, within));
            return Ok(Linked::Nobody);
        }
        self.refused = Some(Unregistered::Record(record));
        let error = not_registered(self.name(class), of.name);
        Ok(Linked::Unregistered { class: u64::from(class) + 1, error })
    }

    /// Creates an object of an unknown class: its stand-in, or a cell with its unknown data.
    pub(super) fn create_unknown_object(&mut self, index: usize, payload: &[u8]) -> Result<()> {
        let record = self.objects.records.get(index);
        self.begin(&record);
        let whole = self.unknown_whole(record.class as usize, payload);
        let (piece, dangling) = whole.map_err(|error| error.at(record.start as u64))?;
        (0..dangling).for_each(|_| self.count(LoadEvent::Dangling));
        let mut unknown = Unknown::from(piece);
        self.tally.add(LoadEvent::Kept, record.class, record.id);
        unknown.holder = Some(record.holder);
        let kind = self.objects.kinds[index].map(TypeIndex::get);
        let class = kind.map(|kind| self.registry.objects[kind].class);
        let stand_in = class.and_then(|class| self.registry.implementors().stand_in(class));
        self.objects.entries[index] = match stand_in {
            Some(stand_in) => (stand_in.make)(record.holder, unknown),
            None => LoadedObject::Shared(Shared::from(
                Rc::new(RefCell::new(unknown)) as Rc<dyn AnyObject>
            )),
        };
        Ok(())
    }
}

//! What a decode asks of the load around it.

use std::any::TypeId;
use std::ops::Range;

use super::pending::Pending;
use super::table::{Refused, Table};
use crate::codec::{
    Implementor, Linked, LoadLinks, Note, Pointed, Pointing, Prototypes, Remapped, Shared, Unknown,
    Within, charge_empty,
};
use crate::format::RecordPlace;
use crate::reflect::{Holder, TraitName};
use crate::schema::length;
use crate::{Error, ErrorKind, Limits, Result};

impl LoadLinks for Table<'_> {
    #[inline]
    fn link(&mut self, id: u64, pointing: Pointing) -> Result<Linked<'_>> {
        let Pointing { weak, pointed, within } = pointing;
        let record = self.find(id);
        let kind = record.and_then(|record| self.kinds[record as usize]);
        let (Some(record), Some(kind)) = (record, kind) else {
            if let (Some(record), Pointed::As(of)) = (record, pointed) {
                let RecordPlace { class, holder, .. } = self.records.get(record as usize);
                self.check_contested(class as usize, |this, class| {
                    this.registry.object(class, holder).is_some()
                        && this.caster((of.id)(), class).is_some()
                })?;
                if self.stand_in(record, of)? {
                    return self.link(id, pointing);
                }
                return self.unregistered(id, record, (weak, within), of);
            }
            if weak {
                self.dangling += u64::from(id != 0);
                self.pending.push(Pending::new(None, true, within));
                return Ok(Linked::Nobody);
            }
            return Err(missing(id, record.is_some()));
        };
        let mut caster = None;
        if let Pointed::As(of) = pointed {
            let class = self.registry.objects[kind.get()].class;
            caster = self.caster((of.id)(), class);
            if caster.is_none() {
                return self.unregistered(id, record, (weak, within), of);
            }
        }
        if let (true, Pointed::At(pointee)) = (self.in_chunks, pointed) {
            self.learn(pointee, kind);
        }
        self.pending.push(Pending::new(Some(record), weak, within));
        let target = if self.resolves { self.entries[record as usize].shared() } else { None };
        self.waits |= target.is_none();
        Ok(match target.or(self.stand_ins[kind.get()].as_ref()) {
            Some(object) => Linked::To { object, caster },
            None => Linked::Nobody,
        })
    }

    #[inline]
    fn plain_link(
        &mut self,
        id: u64,
        pointee: TypeId,
        weak: bool,
        within: Within,
    ) -> Option<&Shared> {
        let record = self.find(id)?;
        let target = if self.resolves {
            self.entries[record as usize].shared()?
        } else {
            let kind =
                if self.in_chunks { self.guess(pointee) } else { self.kinds[record as usize] };
            self.waits = true;
            self.stand_ins[kind?.get()].as_ref()?
        };
        self.pending.push(Pending::new(Some(record), weak, within));
        Some(target)
    }

    fn unlink(&mut self) {
        self.pending.pop();
    }

    fn class(&mut self, number: u64, of: TraitName) -> Result<Implementor<'_>> {
        let class = usize::try_from(number).ok().and_then(|number| number.checked_sub(1));
        let Some(class) = class.filter(|class| *class < self.stored.len()) else {
            return Err(Error::new(
                ErrorKind::InvalidValue,
                format!(
                    "a trait object is of class number {number}, which the save does not define; it is damaged or made to harm"
                ),
            ));
        };
        self.check_contested(class, |this, class| this.caster((of.id)(), class).is_some())?;
        let caster = self.resolved[class].and_then(|class| self.caster((of.id)(), class));
        Ok(match caster {
            Some(caster) => Implementor::Known(caster),
            None => Implementor::Unknown(self.stored[class].name.clone()),
        })
    }

    fn foreign(
        &mut self,
        number: u64,
        rest: &[u8],
        keep: bool,
    ) -> Result<(usize, Option<Unknown>)> {
        let class = self.as_stored(number)?;
        if keep {
            self.kept.push(number);
            return self.unknown(class, rest).map(|(value, length)| (length, Some(value.into())));
        }
        self.refused = Some(Refused::Class(class));
        let length = length(class, &self.stored, rest, self.limits, &mut |_, _, _| true)?;
        Ok((length, None))
    }

    fn note(&mut self, note: Note) {
        match note {
            Note::BecameNone(number) => {
                self.refused = None;
                self.nones.push(number);
            }
            Note::RefusedHandle { arena, bits } => self.handles.refused = Some((arena, bits)),
        }
    }

    fn handle(&mut self, arena: TypeId, bits: u64) -> Result<Remapped> {
        self.handles.find(arena, bits)
    }

    fn prototypes(&self) -> Prototypes<'_> {
        self.registry.prototypes()
    }

    fn charge(&mut self, empty: usize, memory: u64, limits: &Limits) -> Result<()> {
        charge_empty(&mut self.empty_elements, empty, limits)?;
        if memory == 0 {
            return Ok(());
        }
        self.held_bytes = self.held_bytes.saturating_add(memory);
        limits.check_expansion(self.save_bytes, self.held_bytes)
    }

    fn describe(&self, id: u64) -> String {
        let Some(record) = self.find(id).map(|record| record as usize) else {
            return String::from("unknown");
        };
        match self.kinds[record] {
            Some(kind) => {
                let kind = &self.registry.objects[kind.get()].kind;
                kind.holder.around_class(false, &(kind.name)())
            }
            None => {
                let RecordPlace { class, holder, .. } = self.records.get(record);
                holder.around_class(false, self.name(class))
            }
        }
    }

    fn is_elsewhere(&self, id: u64, holder: Holder, of_trait: bool) -> bool {
        let Some(record) = self.find(id).map(|record| record as usize) else { return false };
        // Of a class that is registered for the pointer, the target itself is looked at.
        self.kinds[record].is_none() && (self.records.get(record).holder != holder || !of_trait)
    }

    fn pending(&self) -> usize {
        self.pending.len()
    }

    fn reorder(&mut self, start: usize, ranges: &[Range<usize>]) {
        let ordered: Vec<Pending> =
            ranges.iter().flat_map(|range| &self.pending[range.clone()]).copied().collect();
        self.pending.truncate(start);
        self.pending.extend(ordered);
    }
}

#[cold]
fn missing(id: u64, is_there: bool) -> Error {
    let what = if id == 0 {
        String::from(
            "a reference that cannot be empty is empty; the save is damaged or made to harm",
        )
    } else if is_there {
        format!(
            "the reference is to object #{id}, whose class is not registered for such a pointer; register it"
        )
    } else {
        format!(
            "the reference is to object #{id}, which the save does not hold; it is damaged or made to harm"
        )
    };
    Error::new(ErrorKind::MissingObject, what)
}

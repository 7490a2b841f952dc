//! How decoders resolve references and values of traits in a load.

use std::any::TypeId;
use std::ops::Range;

#[cfg(feature = "world")]
use super::pages::read_page;
use super::{Strategy, Table, Unregistered, missing};
#[cfg(feature = "world")]
use crate::codec::pages::PageEntry;
#[cfg(feature = "world")]
use crate::codec::{Decoder, Fail};
use crate::codec::{
    FailedElement, Implementor, Linked, LoadLinks, Pointed, Pointing, Prototypes, Remapped, Shared,
    SkippingField, Unknown, UnknownAt, Within, charge_empty,
};
use crate::format::RecordLocation;
use crate::graph::PendingReference;
use crate::reflect::{Holder, TraitName};
use crate::schema::{DefaultedField, LoadEvent, converted_length, length};
use crate::{ErrorKind, Limits, Result};

impl LoadLinks for Table<'_> {
    fn default_at(&self, left: usize, field: (TypeId, usize, usize)) -> Option<usize> {
        let targets = &self.registry.program().targets;
        let is_same = |it: &&DefaultedField| {
            let (class, variant, index) = it.field;
            let class = targets[class].map(|target| target.class.type_id());
            class.is_some_and(|class| (class, variant, index) == field)
        };
        self.defaulted.at(left).find(is_same).map(|it| it.bytes.len())
    }

    #[inline]
    fn link(&mut self, id: u64, pointing: Pointing) -> Result<Linked<'_>> {
        let Pointing { weak, pointed, within } = pointing;
        let record = self.objects.find(id);
        let kind = record.and_then(|record| self.objects.kinds[record as usize]);
        let (Some(record), Some(kind)) = (record, kind) else {
            if let (Some(record), Pointed::As(of)) = (record, pointed) {
                let RecordLocation { class, holder, .. } =
                    self.objects.records.get(record as usize);
                self.check_contested(class as usize, |class| {
                    self.registry.object(class, holder).is_some()
                        && self.caster((of.id)(), class).is_some()
                })?;
                // The class is unknown. If the trait has a stand-in, the record becomes an object of that class, and
                // the second call succeeds.
                if self.stand_in(record, of)? {
                    return self.link(id, pointing);
                }
                return self.unregistered(id, record, weak, within, of);
            }
            if weak {
                if id != 0 {
                    self.count(LoadEvent::Dangling);
                }
                self.references.push(PendingReference::new(None, true, within));
                return Ok(Linked::Nobody);
            }
            return Err(missing(id, record.is_some()));
        };
        let mut caster = None;
        if let Pointed::As(of) = pointed {
            let class = self.registry.objects[kind.get()].class;
            caster = self.caster((of.id)(), class);
            if caster.is_none() {
                return self.unregistered(id, record, weak, within, of);
            }
        }
        // This slow path has looked at the target, so later references of the type can take `plain_link`.
        if let (Strategy::InChunks, Pointed::At(pointee)) = (self.strategy, pointed) {
            self.learn(pointee, kind);
        }
        self.references.push(PendingReference::new(Some(record), weak, within));
        let target = match self.strategy {
            Strategy::AtOnce => self.objects.shared(record as usize),
            _ => None,
        };
        self.waits |= target.is_none();
        Ok(match target.or(self.objects.placeholder(kind)) {
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
        let record = self.objects.find(id)?;
        let target = if self.strategy == Strategy::AtOnce {
            self.objects.shared(record as usize)?
        } else {
            let kind = match self.strategy {
                Strategy::InChunks => self.guess(pointee),
                _ => self.objects.kinds[record as usize],
            };
            self.waits = true;
            self.objects.placeholder(kind?)?
        };
        self.references.push(PendingReference::new(Some(record), weak, within));
        Some(target)
    }

    fn unlink(&mut self) {
        self.references.pop();
    }

    fn class(&mut self, number: u64, of: TraitName) -> Result<Implementor<'_>> {
        if number == UnknownAt::NUMBER && self.is_rewritten {
            return Ok(Implementor::Unknown(UnknownAt::CLASS.to_owned()));
        }
        let class = usize::try_from(number).ok().and_then(|number| number.checked_sub(1));
        let Some(class) = class.filter(|class| *class < self.plans.stored.len()) else {
            bail!(
                ErrorKind::InvalidValue,
                "a trait object is of class number {number}, which the save does not define; it is damaged or malicious"
            );
        };
        self.check_contested(class, |class| self.caster((of.id)(), class).is_some())?;
        let caster = self.plans.resolve(class).and_then(|class| self.caster((of.id)(), class));
        Ok(match caster {
            Some(caster) => Implementor::Known(caster),
            None => Implementor::Unknown(self.plans.stored[class].name.clone()),
        })
    }

    fn unknown(
        &mut self,
        number: u64,
        rest: &[u8],
        keep: bool,
    ) -> Result<(usize, Option<Unknown>)> {
        let is_number = number == UnknownAt::NUMBER && self.is_rewritten;
        if keep && (is_number || self.plans.is_unknown_at(number)) {
            return self.unknown_parts(rest);
        }
        let class = self.as_stored(number)?;
        if keep {
            self.count_value(LoadEvent::Kept, number);
            let (piece, length, dangling) = self.unknown(class, rest)?;
            (0..dangling).for_each(|_| self.count(LoadEvent::Dangling));
            return Ok((length, Some(piece.into())));
        }
        self.refused = Some(Unregistered::Class(class));
        let (of, numbers) = ((class, &*self.plans.stored), self.page_numbers.as_deref());
        Ok((length(of, rest, numbers, &self.env.limits, &mut |_, _, _| true)?, None))
    }

    #[cfg(feature = "world")]
    fn read_page(
        &mut self,
        entry: &PageEntry,
        within: Within,
        read: &mut dyn FnMut(&mut Decoder<'_>) -> Result<(), Fail>,
    ) -> Result<()> {
        read_page(self, entry, within, read)
    }

    fn skip_failed(&mut self, element: &FailedElement<'_>) -> Result<Option<usize>> {
        let SkippingField { class, variant, field } = element.field;
        let Some(class) = self.registry.class_index(class) else { return Ok(None) };
        let program = self.registry.program();
        let Some(kind) = program.field_kind(class, variant, field) else { return Ok(None) };
        let bytes = (element.bytes, self.page_numbers.as_deref());
        let length = converted_length(&self.plans, kind.parts(), bytes, self.env)?;
        self.references.truncate(element.pending);
        self.refused = None;
        let part = element.index.map_or_else(String::new, |index| format!("[{index}]"));
        self.plans.skipped((class, variant, field), &part, element.error.message(), self.record.1);
        Ok(Some(length))
    }

    fn became_none(&mut self, class: u64) {
        self.refused = None;
        self.count_value(LoadEvent::Unregistered, class);
    }

    fn refuse_handle(&mut self, arena: &'static str, bits: u64) {
        self.handles.refused = Some((arena, bits));
    }

    fn handle(&mut self, arena: TypeId, bits: u64) -> Result<Remapped> {
        self.handles.find(arena, bits, self.record, &mut self.tally)
    }

    fn prototypes(&self) -> Prototypes<'_> {
        self.registry.prototypes()
    }

    fn charge(&mut self, empty: usize, memory: u64, limits: &Limits) -> Result<()> {
        charge_empty(&mut self.empty_elements, empty, limits)?;
        if memory == 0 { Ok(()) } else { self.hold(memory) }
    }

    fn describe(&self, id: u64) -> String {
        let Some(record) = self.objects.find(id).map(|record| record as usize) else {
            return String::from("unknown");
        };
        match self.objects.kinds[record] {
            Some(kind) => {
                let kind = &self.registry.objects[kind.get()].kind;
                kind.holder.class_type_name(false, &(kind.name)())
            }
            None => {
                let RecordLocation { class, holder, .. } = self.objects.records.get(record);
                holder.class_type_name(false, self.name(class))
            }
        }
    }

    fn is_elsewhere(&self, id: u64, holder: Holder, of_trait: bool) -> bool {
        let Some(record) = self.objects.find(id).map(|record| record as usize) else {
            return false;
        };
        // If the class is registered for the pointer, the error comes from the target itself.
        self.objects.kinds[record].is_none()
            && (self.objects.records.get(record).holder != holder || !of_trait)
    }

    fn pending(&self) -> usize {
        self.references.len()
    }

    fn reorder(&mut self, start: usize, ranges: &[Range<usize>]) {
        self.references.reorder(start, ranges);
    }
}

use std::any::Any;
use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;

use crate::codec::{LoadLinks, Shared};
use crate::format::RecordPlace;
use crate::{Error, ErrorKind, Limits, Result};

/// No object: a weak reference whose target is not there.
pub(super) const NOBODY: u32 = u32::MAX;

/// The bit that marks a pending reference as weak.
pub(super) const WEAK: u32 = 1 << 31;

/// The objects of the load, and the references set aside.
pub(super) struct Table {
    pub(super) ids: Ids,
    /// By record; `None` where the record is not made into an object.
    pub(super) objects: Vec<Option<Shared>>,
    /// Index into the registry's object types, by record.
    pub(super) kinds: Vec<Option<u32>>,
    /// An object of each type, the stand-in while references wait.
    pub(super) stand_ins: Vec<Option<Shared>>,
    /// The program's factory for each type, where it gave one.
    pub(super) factories: Vec<Option<Rc<dyn Any>>>,
    /// Class names of the save, for errors.
    pub(super) names: Vec<String>,
    /// Names of the object types with their holders, for errors.
    pub(super) held: Vec<String>,
    /// Record of each reference, in the order of decoding; see [`WEAK`].
    pub(super) pending: Vec<u32>,
    /// Weak references without a target, in the record that is being filled.
    pub(super) dangling: u64,
    pub(super) empty_elements: usize,
    /// What the objects and the elements that are large for their bytes take.
    pub(super) held_bytes: u64,
    pub(super) save_bytes: u64,
}

/// Ids to record indices.
pub(super) enum Ids {
    /// Ids that lie close together: by difference to the first.
    Dense {
        first: u64,
        records: Vec<u32>,
    },
    Sparse(HashMap<u64, u32>),
}

impl Ids {
    pub(super) fn new(records: &[RecordPlace]) -> Result<Self> {
        if records.len() >= WEAK as usize {
            return Err(Error::new(ErrorKind::TooLarge, "a save has at most 2147483647 objects"));
        }
        let first = records.iter().map(|record| record.id).min().unwrap_or(1);
        let last = records.iter().map(|record| record.id).max().unwrap_or(1);
        let span = last - first;
        let mut ids = if span < records.len() as u64 * 4 + 64 {
            let size = usize::try_from(span + 1).unwrap_or_default();
            Self::Dense { first, records: vec![NOBODY; size] }
        } else {
            Self::Sparse(HashMap::with_capacity(records.len()))
        };
        for (i, record) in records.iter().enumerate() {
            // There are fewer records than bytes in a block's length.
            let index = u32::try_from(i).unwrap_or(NOBODY);
            let taken = match &mut ids {
                Self::Dense { first, records } => {
                    let at = usize::try_from(record.id - *first).unwrap_or_default();
                    std::mem::replace(&mut records[at], index) != NOBODY
                }
                Self::Sparse(map) => map.insert(record.id, index).is_some(),
            };
            if taken {
                return Err(Error::new(
                    ErrorKind::DuplicateId,
                    format!(
                        "object id #{} is used by two records; the save is damaged or made to harm",
                        record.id
                    ),
                )
                .at(record.start as u64));
            }
        }
        Ok(ids)
    }

    #[inline]
    fn find(&self, id: u64) -> Option<u32> {
        match self {
            Self::Dense { first, records } => {
                let at = usize::try_from(id.checked_sub(*first)?).ok()?;
                records.get(at).copied().filter(|record| *record != NOBODY)
            }
            Self::Sparse(map) => map.get(&id).copied(),
        }
    }
}

impl Table {
    /// Frees the objects to which no strong references lead from record `root`,
    /// and drops the references that they set aside. `starts` says where those
    /// of each record begin, in the order of filling.
    pub(super) fn keep_reached(&mut self, root: usize, starts: &[(usize, usize)]) {
        let end = |i: usize| starts.get(i + 1).map_or(self.pending.len(), |(_, next)| *next);
        let mut ranges = vec![0..0; self.objects.len()];
        for (i, (record, start)) in starts.iter().enumerate() {
            ranges[*record] = *start..end(i);
        }
        let mut reached = vec![false; self.objects.len()];
        reached[root] = true;
        let mut work = vec![root];
        while let Some(record) = work.pop() {
            for target in &self.pending[ranges[record].clone()] {
                let next = *target as usize;
                if target & WEAK == 0 && !std::mem::replace(&mut reached[next], true) {
                    work.push(next);
                }
            }
        }
        if reached.iter().zip(&self.objects).all(|(reached, object)| *reached || object.is_none()) {
            return;
        }
        let mut kept = Vec::with_capacity(self.pending.len());
        for (record, _) in starts.iter().filter(|(record, _)| reached[*record]) {
            kept.extend(self.pending[ranges[*record].clone()].iter().map(|target| {
                let is_there = *target == NOBODY || reached[(target & !WEAK) as usize];
                if is_there { *target } else { NOBODY }
            }));
        }
        self.pending = kept;
        self.stand_ins.clear();
        for record in (0..reached.len()).filter(|record| !reached[*record]) {
            let kind = self.kinds[record].take();
            if let (Some(shared), Some(kind)) = (&self.objects[record], kind) {
                shared.object().reset(self.factories[kind as usize].as_deref());
            }
        }
        for (object, reached) in self.objects.iter_mut().zip(reached) {
            if !reached {
                *object = None;
            }
        }
    }

    /// The record with this id.
    pub(super) fn find(&self, id: u64) -> Option<u32> {
        self.ids.find(id)
    }
}

impl LoadLinks for Table {
    #[inline]
    fn link(&mut self, id: u64, weak: bool) -> Result<Option<&Shared>> {
        let record = self.ids.find(id);
        let kind = record.and_then(|record| self.kinds[record as usize]);
        let (Some(record), Some(kind)) = (record, kind) else {
            if weak {
                self.dangling += u64::from(id != 0);
                self.pending.push(NOBODY);
                return Ok(None);
            }
            return Err(missing(id, record.is_some()));
        };
        self.pending.push(if weak { record | WEAK } else { record });
        Ok(self.stand_ins[kind as usize].as_ref())
    }

    fn empty_elements(&mut self) -> &mut usize {
        &mut self.empty_elements
    }

    fn charge_memory(&mut self, bytes: u64, limits: &Limits) -> Result<()> {
        self.held_bytes = self.held_bytes.saturating_add(bytes);
        limits.check_expansion(self.save_bytes, self.held_bytes)
    }

    fn describe(&self, id: u64) -> String {
        let kind = self.ids.find(id).and_then(|record| self.kinds[record as usize]);
        kind.map_or(String::from("unknown"), |kind| self.held[kind as usize].clone())
    }

    fn pending(&self) -> usize {
        self.pending.len()
    }

    fn reorder(&mut self, start: usize, ranges: &[Range<usize>]) {
        let ordered: Vec<u32> =
            ranges.iter().flat_map(|range| &self.pending[range.clone()]).copied().collect();
        self.pending.truncate(start);
        self.pending.extend(ordered);
    }
}

/// Frees what a load that did not end has made, cycles and long chains too:
/// while the table holds every object, emptying one frees no other.
impl Drop for Table {
    fn drop(&mut self) {
        self.stand_ins.clear();
        for (shared, kind) in self.objects.iter().zip(&self.kinds) {
            if let (Some(shared), Some(kind)) = (shared, kind) {
                shared.object().reset(self.factories[*kind as usize].as_deref());
            }
        }
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

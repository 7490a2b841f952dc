//! Unknown fields of the values inside of a record: where these values lie, and what is kept of them.
//!
//! A value has a lasting place if fields, options, keys of maps and components lead to it. What a program does not know
//! of it is kept under the [steps](PathStep) that lead there, in the program's names. The next program finds it by the
//! same steps, in the names of the save.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::record::RecordFrame;
use super::{DefaultedField, TranscodeFrame, Transcoder};
use crate::Result;
use crate::codec::{Decoder, NoLinks, PathStep, Persist, UnknownAt, UnknownPath, count};
use crate::schema::{Form, FrameParts, LoadEvent, WalkFrame, dynamic, fault};

/// The charge for a kept value beside its bytes and those of its path, in bytes: it stands for memory and time.
pub(super) const UNKNOWN: usize = 256;

/// A value that is kept of a part of a record.
pub(crate) struct KeptPart {
    pub(crate) path: UnknownPath,
    /// Its class.
    pub(crate) class: usize,
    pub(crate) bytes: Vec<u8>,
}

/// The values that a program kept of parts of a record, by the steps to these; the class of each, and its bytes.
pub(super) type PartsByPath<'t> = BTreeMap<Vec<PathStep>, Vec<(usize, &'t [u8])>>;

/// The names in a path.
#[derive(Clone, Copy, PartialEq)]
enum Names {
    Stored,
    Program,
}

/// The place of the value that the frames lead to.
pub(super) struct Place {
    /// The frame of the list of components in which it is.
    list: Option<usize>,
    /// The steps from there, or from the record.
    path: Vec<PathStep>,
}

/// Entries of a map.
pub(super) struct EntriesFrame<'t> {
    pub(super) parts: WalkFrame,
    /// The bytes of the save from the last key on, and the length of that key.
    stored: (&'t [u8], usize),
    /// Where the key is in the output.
    key: (usize, usize),
}

impl<'t> EntriesFrame<'t> {
    pub(super) fn new(parts: WalkFrame) -> Self {
        Self { parts, stored: (&[], 0), key: (0, 0) }
    }

    /// The conversion of the next part.
    pub(super) fn next(&mut self, run: &Transcoder<'t, '_, '_>) -> Option<usize> {
        let (rest, end) = (run.input.rest(), run.out.len());
        match self.parts.next % 2 {
            0 => (self.stored, self.key) = ((rest, 0), (end, end)),
            _ => (self.stored.1, self.key.1) = (self.stored.0.len() - rest.len(), end),
        }
        self.parts.next()
    }

    /// The step to the value that is being rewritten; `None` in a key.
    fn step(&self, run: &Transcoder<'t, '_, '_>, names: Names) -> Option<PathStep> {
        let is_value = self.parts.next % 2 == 0;
        let bytes = match names {
            Names::Stored => self.stored.0.get(..self.stored.1),
            Names::Program => run.out.get(self.key.0..self.key.1),
        };
        bytes.filter(|_| is_value).map(|bytes| PathStep::Key(bytes.to_vec()))
    }
}

/// A list of components or resources. What is unknown of them stands in it, too, before them.
pub(super) struct ComponentsFrame<'t> {
    pub(super) parts: WalkFrame,
    /// Where the list begins in the output, with the count.
    start: usize,
    /// The stored class of the component that is being rewritten.
    class: usize,
    unknown: Option<Box<UnknownOfList<'t>>>,
}

#[derive(Default)]
struct UnknownOfList<'t> {
    /// The elements of the list that held unknown parts.
    elements: u64,
    /// The unknown parts of components that have not come yet, by the name of the component's class.
    given: BTreeMap<String, PartsByPath<'t>>,
    kept: Vec<KeptPart>,
}

impl ComponentsFrame<'_> {
    pub(super) fn new(parts: WalkFrame, start: usize) -> Self {
        Self { parts, start, class: usize::MAX, unknown: None }
    }
}

impl<'t> Transcoder<'t, '_, '_> {
    /// The place of the value in the last frame, or `None` if it has no lasting place.
    fn place(&self, frames: &[TranscodeFrame<'t>], names: Names) -> Option<Place> {
        let (mut path, mut list) = (Vec::new(), None);
        for (at, frame) in frames.iter().enumerate().rev() {
            match frame {
                TranscodeFrame::Record(record) => path.extend(self.field_step(record, names)?),
                TranscodeFrame::Parts(parts) if parts.parts == FrameParts::Numbered => {
                    let part = u32::try_from(parts.next).ok()?.checked_sub(1)?;
                    path.push(PathStep::Part(part));
                }
                TranscodeFrame::Entries(entries) => path.push(entries.step(self, names)?),
                TranscodeFrame::Components(components) => {
                    let class = match names {
                        Names::Stored => self.stored.get(components.class),
                        Names::Program => {
                            self.plans.program.classes.get(self.plans.resolve(components.class)?)
                        }
                    };
                    path.push(PathStep::Component(class?.name.clone()));
                    list = Some(at);
                    break;
                }
                TranscodeFrame::Skipping(_)
                | TranscodeFrame::Inlined { .. }
                | TranscodeFrame::Longer { .. } => {}
                // Elements, and values that become others.
                TranscodeFrame::Parts(_)
                | TranscodeFrame::Distinct(_)
                | TranscodeFrame::One
                | TranscodeFrame::Shared { .. }
                | TranscodeFrame::Typed { .. } => return None,
            }
        }
        path.reverse();
        Some(Place { list, path })
    }

    /// The step to the field that is being rewritten; `Some(None)` in a newtype, which may come and go.
    fn field_step(&self, record: &RecordFrame<'t>, names: Names) -> Option<Option<PathStep>> {
        let (plan, piece) = record.converted()?;
        let (class, variant) = plan.target;
        // A tuple may become a struct with fields of these names, and back.
        let step = |variant: Option<&str>, field: &str| match (variant, field.parse()) {
            (Some(variant), _) => PathStep::Field(format!("{variant}.{field}")),
            (None, Ok(part)) => PathStep::Part(part),
            (None, Err(_)) => PathStep::Field(field.to_owned()),
        };
        if names == Names::Stored {
            let step = || step(plan.variant.as_deref(), &piece.name);
            return Some((!plan.is_newtype).then(step));
        }
        if self.plans.program.classes[class].newtype().is_some() {
            return Some(None);
        }
        let program = self.plans.program;
        let field = &program.expected(class, variant).fields[piece.field?];
        let variant = match &program.classes[class].form {
            Form::Enum(variants) => Some(&*variants.get(variant)?.name),
            _ => None,
        };
        Some(Some(step(variant, &field.name)))
    }

    /// Reads what a program kept of parts of a record, to which a path leads.
    pub(super) fn read_parts(
        &mut self,
        unknown: &[(usize, &'t [u8])],
        start: &[PathStep],
    ) -> Result<()> {
        let of_parts = |(class, _): &&(usize, &[u8])| Some(*class) == self.plans.unknown_at;
        let parts: Vec<&[u8]> = unknown.iter().filter(of_parts).map(|(_, bytes)| *bytes).collect();
        for bytes in parts {
            let rest = self.input.rest();
            self.input.go_back(bytes);
            self.plans.rewritten += bytes.len() as u64;
            let (path, mut values) = self.read_part()?;
            self.input.go_back(rest);
            let path = if start.is_empty() { path } else { [start, &path].concat() };
            self.parts.entry(path).or_default().append(&mut values);
        }
        Ok(())
    }

    /// Reads what a program kept of parts of an object that has become a value.
    pub(super) fn read_inlined_parts(
        &mut self,
        unknown: &[(usize, &'t [u8])],
        frames: &[TranscodeFrame<'t>],
    ) -> Result<()> {
        if self.plans.unknown_at.is_none() || unknown.is_empty() {
            return Ok(());
        }
        match self.place(frames, Names::Stored) {
            Some(Place { list: None, path }) => self.read_parts(unknown, &path),
            _ => {
                let of_parts = |(class, _): &&(usize, &[u8])| Some(*class) == self.plans.unknown_at;
                for _ in 0..unknown.iter().filter(of_parts).count() {
                    self.plans.happened(LoadEvent::Dropped, UnknownAt::CLASS, "", "", self.id);
                }
                Ok(())
            }
        }
    }

    /// Reads unknown content with its path.
    fn read_part(&mut self) -> Result<(Vec<PathStep>, Vec<(usize, &'t [u8])>)> {
        let path: Vec<PathStep> = self.input.value().map_err(fault)?;
        let count = count::decode(&mut self.input).map_err(fault)?;
        let (mut values, work) = (Vec::new(), path.len() * size_of::<PathStep>());
        self.plans.reader(&self.env.limits).charge(1, work)?;
        for _ in 0..count {
            let class = dynamic(self.stored, &mut self.input).map_err(fault)?;
            let bytes = self.consume(self.stored.root(class), 1)?;
            values.push((class, bytes));
        }
        Ok((path, values))
    }

    /// Takes an element of a list of components that holds unknown parts of others. Returns false for a component.
    pub(super) fn takes_part(
        &mut self,
        class: usize,
        frames: &mut [TranscodeFrame<'t>],
    ) -> Result<bool> {
        let Some(TranscodeFrame::Components(list)) = frames.last_mut() else { return Ok(false) };
        list.class = class;
        if self.plans.unknown_at != Some(class) {
            return Ok(false);
        }
        let (path, mut values) = self.read_part()?;
        let unknown = list.unknown.get_or_insert_default();
        unknown.elements += 1;
        if let Some(PathStep::Component(name)) = path.first() {
            let parts = unknown.given.entry(name.clone()).or_default();
            parts.entry(path).or_default().append(&mut values);
        }
        Ok(true)
    }

    /// Keeps the unknown parts of a component that is copied as it is stored.
    pub(super) fn keep_parts(&mut self, class: usize, frames: &mut [TranscodeFrame<'t>]) {
        let Some(TranscodeFrame::Components(list)) = frames.last_mut() else { return };
        let Some(unknown) = &mut list.unknown else { return };
        let parts = unknown.given.remove(&self.stored[class].name);
        for (path, values) in parts.into_iter().flatten() {
            let path: UnknownPath = path.into();
            let kept = values.into_iter().map(|(class, bytes)| KeptPart {
                path: path.clone(),
                class,
                bytes: bytes.to_vec(),
            });
            unknown.kept.extend(kept);
        }
    }

    /// Takes what was kept of the value that is opened next.
    pub(super) fn take_parts(
        &mut self,
        frames: &mut [TranscodeFrame<'t>],
    ) -> Option<Vec<(usize, &'t [u8])>> {
        // Most saves have nothing of the kind.
        self.plans.unknown_at?;
        let place = self.place(frames, Names::Stored)?;
        self.take_at(&place, frames)
    }

    /// Takes what was kept under a path.
    fn take_at(
        &mut self,
        Place { list, path }: &Place,
        frames: &mut [TranscodeFrame<'t>],
    ) -> Option<Vec<(usize, &'t [u8])>> {
        match *list {
            None => self.parts.remove(path),
            Some(at) => {
                let TranscodeFrame::Components(list) = &mut frames[at] else { return None };
                let Some(PathStep::Component(name)) = path.first() else { return None };
                list.unknown.as_mut()?.given.get_mut(name)?.remove(path)
            }
        }
    }

    /// Reads whether an option of a trait object is there: `None` if it is not, `Some(None)` if its value follows, and
    /// `Some(Some(class))` if a value of that class was kept for it, which is the input now. A value of an unknown class
    /// is kept.
    pub(super) fn optional_dynamic(
        &mut self,
        frames: &mut Vec<TranscodeFrame<'t>>,
    ) -> Result<Option<Option<usize>>> {
        let is_some = self.input.value::<bool>().map_err(fault)?;
        let after = self.input.rest();
        let mut found = self.take_content(frames).filter(|_| !is_some);
        if is_some {
            let class = dynamic(self.stored, &mut self.input).map_err(fault)?;
            if self.plans.resolve(class).is_some() || self.plans.options.drop_unknown {
                self.input.go_back(after);
                return Ok(Some(None));
            }
            found = Some((class, self.consume(self.stored.root(class), 1)?));
        }
        let Some((class, bytes)) = found else {
            self.out.push(0);
            return Ok(None);
        };
        if self.plans.resolve(class).is_some() {
            self.inlined.push(0);
            self.input.go_back(bytes);
            frames.push(TranscodeFrame::Inlined { after });
            return Ok(Some(Some(class)));
        }
        let Some(mut place) = self.lasting_place(frames) else {
            self.input.go_back(after);
            return Ok(Some(None));
        };
        place.path.push(PathStep::Content);
        let (list, path) = self.shared_path(place)?;
        self.keep_part((list, &path), (class, bytes.to_vec()), frames)?;
        self.out.push(0);
        Ok(None)
    }

    /// Takes the value that was kept for the option in the last frame.
    fn take_content(&mut self, frames: &mut [TranscodeFrame<'t>]) -> Option<(usize, &'t [u8])> {
        self.plans.unknown_at?;
        let mut place = self.place(frames, Names::Stored)?;
        place.path.push(PathStep::Content);
        self.take_at(&place, frames)?.pop()
    }

    /// Keeps a value of a part of the record under its path.
    pub(super) fn keep_part(
        &mut self,
        (list, path): (Option<usize>, &UnknownPath),
        (class, bytes): (usize, Vec<u8>),
        frames: &mut [TranscodeFrame<'t>],
    ) -> Result<()> {
        self.plans.reader(&self.env.limits).charge(bytes.len(), UNKNOWN)?;
        let kept = KeptPart { path: path.clone(), class, bytes };
        match list.and_then(|at| frames.get_mut(at)) {
            Some(TranscodeFrame::Components(list)) => {
                list.unknown.get_or_insert_default().kept.push(kept);
            }
            _ => self.extras.parts.push(kept),
        }
        Ok(())
    }

    /// The place under which unknown fields of the value in the last frame are kept.
    pub(super) fn lasting_place(&self, frames: &[TranscodeFrame<'t>]) -> Option<Place> {
        // A component holds them itself, whether the load gives the others back or not.
        let place = self.place(frames, Names::Program);
        place.filter(|place| place.list.is_some() || self.plans.keeps_unknown)
    }

    /// Charges for a path, and shares it between the values that are kept under it.
    pub(super) fn shared_path(&mut self, place: Place) -> Result<(Option<usize>, UnknownPath)> {
        let bytes = |step: &PathStep| match step {
            PathStep::Field(name) | PathStep::Component(name) => name.len(),
            PathStep::Key(bytes) => bytes.len(),
            PathStep::Part(_) | PathStep::Content => 0,
        };
        // Each struct under a key of a megabyte may have an unknown field.
        let work: usize = place.path.iter().map(|step| size_of::<PathStep>() + bytes(step)).sum();
        self.plans.reader(&self.env.limits).charge(work, 1)?;
        Ok((place.list, Arc::from(place.path)))
    }

    /// Ends a list of components: writes what is unknown of them before them.
    pub(super) fn end_components(&mut self, list: &mut ComponentsFrame<'t>) -> Result<()> {
        let Some(unknown) = list.unknown.take() else { return Ok(()) };
        let groups = || unknown.kept.chunk_by(|a, b| Arc::ptr_eq(&a.path, &b.path));
        let mut links = NoLinks::default();
        let mut input = Decoder::new(&self.out[list.start..], self.env, &mut links);
        let count = count::decode(&mut input).map_err(fault)?;
        let end = self.out.len() - input.rest().len();
        let count = count - unknown.elements + groups().count() as u64;
        self.defaults.encode_with(self.env, &mut NoLinks::default(), |out| {
            count::encode(count, out)?;
            for group in groups() {
                count::encode(UnknownAt::NUMBER, out)?;
                out.count(group[0].path.len())?;
                group[0].path.iter().try_for_each(|step| step.persist_encode(out))?;
                out.count(group.len())?;
                for kept in group {
                    count::encode(kept.class as u64 + 1, out)?;
                    out.bytes(&kept.bytes)?;
                }
            }
            Ok(())
        })?;
        let head = self.defaults.gather();
        DefaultedField::follow(&mut self.extras.defaulted, end, list.start + head.len());
        self.out.splice(list.start..end, head.iter().copied());
        self.check(self.out.len())
    }
}

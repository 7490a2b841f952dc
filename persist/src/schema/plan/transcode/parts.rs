//! Unknown content of the values inside of a record: where these values lie, and what is kept of them.
//!
//! A value has a lasting place if fields, options, keys of maps and components lead to it. Its unknown fields are kept
//! under the [steps](UnknownStep) that lead there, in the program's names. The next program finds them by the same
//! steps, in the names of the save.

use std::sync::Arc;

use super::{
    ComponentsFrame, DefaultedField, EntriesFrame, PartPlace, PathNames, TranscodeFrame,
    Transcoder, UNKNOWN,
};
use crate::Result;
use crate::codec::{Decoder, NoLinks, Persist, UnknownAt, UnknownPath, UnknownStep, count};
use crate::schema::{Form, FrameParts, LoadEvent, dynamic, fault};

/// The bytes of all keys in a path, at most. A key is copied for each value below it, and a key of a megabyte may have
/// a hundred thousand.
const MAX_KEYS: usize = 1024;

impl<'t> EntriesFrame<'t> {
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
    fn step(&self, run: &Transcoder<'t, '_, '_>, names: PathNames) -> Option<UnknownStep> {
        let is_value = self.parts.next.is_multiple_of(2);
        let bytes = match names {
            PathNames::Stored => self.stored.0.get(..self.stored.1),
            PathNames::Program => run.out.get(self.key.0..self.key.1),
        };
        let bytes = bytes.filter(|bytes| is_value && bytes.len() <= MAX_KEYS);
        bytes.map(|bytes| UnknownStep::Key(bytes.to_vec()))
    }
}

impl PartPlace {
    /// The place of the value in the last frame, or `None` if it has no lasting place.
    fn new<'t>(
        run: &Transcoder<'t, '_, '_>,
        frames: &[TranscodeFrame<'t>],
        names: PathNames,
    ) -> Option<Self> {
        let (mut path, mut list, mut room) = (Vec::new(), None, MAX_KEYS);
        for (at, frame) in frames.iter().enumerate().rev() {
            match frame {
                TranscodeFrame::Record(_) => path.extend(field_step(run, frame, names)?),
                TranscodeFrame::Parts(parts) if parts.parts == FrameParts::Numbered => {
                    let part = u32::try_from(parts.next).ok()?.checked_sub(1)?;
                    path.push(UnknownStep::Part(part));
                }
                TranscodeFrame::Entries(entries) => {
                    let step = entries.step(run, names)?;
                    if let UnknownStep::Key(key) = &step {
                        room = room.checked_sub(key.len())?;
                    }
                    path.push(step);
                }
                TranscodeFrame::Components(components) => {
                    let class = match names {
                        PathNames::Stored => run.stored.get(components.class),
                        PathNames::Program => {
                            run.plans.program.classes.get(run.plans.resolve(components.class)?)
                        }
                    };
                    path.push(UnknownStep::Component(class?.name.clone()));
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
        Some(Self { list, path })
    }

    /// The place under which unknown content of the value in the last frame is kept, or of the option there.
    pub(super) fn lasting<'t>(
        run: &mut Transcoder<'t, '_, '_>,
        frames: &[TranscodeFrame<'t>],
        of_option: bool,
    ) -> Result<Option<(Option<usize>, UnknownPath)>> {
        // A component holds it itself, whether the load gives the rest back or not.
        let place = Self::new(run, frames, PathNames::Program);
        let place = place.filter(|place| place.list.is_some() || run.plans.keeps_unknown);
        let Some(Self { list, mut path }) = place else { return Ok(None) };
        path.extend(of_option.then_some(UnknownStep::Content));
        let bytes = |step: &UnknownStep| match step {
            UnknownStep::Field(name) | UnknownStep::Component(name) => name.len(),
            UnknownStep::Key(bytes) => bytes.len(),
            UnknownStep::Part(_) | UnknownStep::Content => 0,
        };
        // Each struct under a key of a megabyte may have an unknown field.
        let work: usize = path.iter().map(|step| size_of::<UnknownStep>() + bytes(step)).sum();
        run.plans.reader(&run.env.limits).charge(work, 1)?;
        Ok(Some((list, Arc::from(path))))
    }
}

/// The step to the field that is being rewritten; `Some(None)` in a newtype, which may come and go.
fn field_step<'t>(
    run: &Transcoder<'t, '_, '_>,
    frame: &TranscodeFrame<'t>,
    names: PathNames,
) -> Option<Option<UnknownStep>> {
    let TranscodeFrame::Record(record) = frame else { return None };
    let (plan, place) = (&record.plan, record.piece?);
    let (class, variant) = plan.target;
    // A tuple may become a struct with fields of these names, and back.
    let step = |variant: Option<&str>, field: &str| match (variant, field.parse()) {
        (Some(variant), _) => UnknownStep::Field(format!("{variant}.{field}")),
        (None, Ok(part)) => UnknownStep::Part(part),
        (None, Err(_)) => UnknownStep::Field(field.to_owned()),
    };
    if names == PathNames::Stored {
        let piece = plan.pieces.get(place)?;
        let step = || step(plan.variant.as_deref(), &piece.name);
        return Some((!plan.is_newtype).then(step));
    }
    let program = run.plans.program;
    if program.classes[class].newtype().is_some() {
        return Some(None);
    }
    let converted = plan.converted.binary_search_by_key(&place, |(piece, _)| *piece).ok()?;
    let field = &program.expected(class, variant).fields[plan.converted[converted].1];
    let variant = match &program.classes[class].form {
        Form::Enum(variants) => Some(&*variants.get(variant)?.name),
        _ => None,
    };
    Some(Some(step(variant, &field.name)))
}

/// Reads what a program kept of the parts of a record, or of an object that has become the value in the last frame.
pub(super) fn read_parts<'t>(
    run: &mut Transcoder<'t, '_, '_>,
    unknown: &[(usize, &'t [u8])],
    frames: &[TranscodeFrame<'t>],
) -> Result<()> {
    let of_parts = |(class, _): &&(usize, &[u8])| Some(*class) == run.plans.unknown_at;
    let parts: Vec<&[u8]> = unknown.iter().filter(of_parts).map(|(_, bytes)| *bytes).collect();
    if parts.is_empty() {
        return Ok(());
    }
    let place = PartPlace::new(run, frames, PathNames::Stored);
    let Some(PartPlace { list: None, path: start }) = place else {
        for _ in parts {
            run.plans.happened(LoadEvent::Dropped, UnknownAt::CLASS, "", "", run.id);
        }
        return Ok(());
    };
    for bytes in parts {
        let rest = run.input.rest();
        run.input.go_back(bytes);
        run.plans.rewritten += bytes.len() as u64;
        let (path, mut values) = read_part(run)?;
        run.input.go_back(rest);
        let path = if start.is_empty() { path } else { [&start[..], &path].concat() };
        run.parts.entry(path).or_default().append(&mut values);
    }
    Ok(())
}

/// The classes and the bytes of values that a program kept.
type KeptValues<'t> = Vec<(usize, &'t [u8])>;

/// Reads unknown content with its path.
fn read_part<'t>(run: &mut Transcoder<'t, '_, '_>) -> Result<(Vec<UnknownStep>, KeptValues<'t>)> {
    let path: Vec<UnknownStep> = run.input.value().map_err(fault)?;
    let count = count::decode(&mut run.input).map_err(fault)?;
    let (mut values, work) = (Vec::new(), path.len() * size_of::<UnknownStep>());
    run.plans.reader(&run.env.limits).charge(1, work)?;
    for _ in 0..count {
        let class = dynamic(run.stored, &mut run.input).map_err(fault)?;
        let bytes = run.consume(run.stored.root(class), 1)?;
        values.push((class, bytes));
    }
    Ok((path, values))
}

/// Takes what was kept of the value that is opened next, or for the option that is.
pub(super) fn take_parts<'t>(
    run: &mut Transcoder<'t, '_, '_>,
    frames: &mut [TranscodeFrame<'t>],
    of_option: bool,
) -> Option<KeptValues<'t>> {
    // Most saves have nothing of the kind.
    run.plans.unknown_at?;
    let PartPlace { list, mut path } = PartPlace::new(run, frames, PathNames::Stored)?;
    path.extend(of_option.then_some(UnknownStep::Content));
    let Some(at) = list else { return run.parts.remove(&path) };
    let TranscodeFrame::Components(list) = &mut frames[at] else { return None };
    let Some(UnknownStep::Component(name)) = path.first() else { return None };
    list.unknown.as_mut()?.given.get_mut(name)?.remove(&path)
}

/// Keeps a value under a path.
pub(super) fn keep_part<'t>(
    run: &mut Transcoder<'t, '_, '_>,
    (list, path): (Option<usize>, &UnknownPath),
    (class, bytes): (usize, Vec<u8>),
    frames: &mut [TranscodeFrame<'t>],
) -> Result<()> {
    run.plans.reader(&run.env.limits).charge(bytes.len(), UNKNOWN)?;
    let kept = (path.clone(), class, bytes);
    match list.and_then(|at| frames.get_mut(at)) {
        Some(TranscodeFrame::Components(list)) => {
            list.unknown.get_or_insert_default().kept.push(kept);
        }
        _ => run.extras.parts.push(kept),
    }
    Ok(())
}

/// Reads whether an option of a trait object is there: `None` if it is not, `Some(None)` if its value follows, and
/// `Some(Some(class))` if a value of that class was kept for it, which is the input now. A value of an unknown class is
/// kept.
pub(super) fn optional_dynamic<'t>(
    run: &mut Transcoder<'t, '_, '_>,
    frames: &mut Vec<TranscodeFrame<'t>>,
) -> Result<Option<Option<usize>>> {
    let is_some = run.input.value::<bool>().map_err(fault)?;
    let after = run.input.rest();
    let given = take_parts(run, frames, true);
    let mut found = given.filter(|_| !is_some).and_then(|mut given| given.pop());
    if is_some {
        let class = dynamic(run.stored, &mut run.input).map_err(fault)?;
        // An instance of a generic class that could become one of several is refused by the decoder.
        let is_known = run.plans.resolve(class).is_some() || run.plans.is_instance(class);
        if is_known || run.plans.options.drop_unknown {
            run.input.go_back(after);
            return Ok(Some(None));
        }
        found = Some((class, run.consume(run.stored.root(class), 1)?));
    }
    let Some((class, bytes)) = found else {
        run.out.push(0);
        return Ok(None);
    };
    if run.plans.resolve(class).is_some() {
        run.inlined.push(0);
        run.input.go_back(bytes);
        frames.push(TranscodeFrame::Inlined { after });
        return Ok(Some(Some(class)));
    }
    match PartPlace::lasting(run, frames, true)? {
        Some((list, path)) => keep_part(run, (list, &path), (class, bytes.to_vec()), frames)?,
        // The decoder sets it to `None`, and reports it.
        None if is_some => {
            run.input.go_back(after);
            return Ok(Some(None));
        }
        None => {}
    }
    run.out.push(0);
    Ok(None)
}

impl<'t> ComponentsFrame<'t> {
    /// Begins the next component, of a class. Returns false for an element with the unknown parts of others, which is
    /// read here.
    pub(super) fn begins(
        &mut self,
        class: usize,
        run: &mut Transcoder<'t, '_, '_>,
    ) -> Result<bool> {
        self.class = class;
        if run.plans.unknown_at != Some(class) {
            return Ok(true);
        }
        let (path, mut values) = read_part(run)?;
        let unknown = self.unknown.get_or_insert_default();
        unknown.elements += 1;
        if let Some(UnknownStep::Component(name)) = path.first() {
            let parts = unknown.given.entry(name.clone()).or_default();
            parts.entry(path).or_default().append(&mut values);
        }
        Ok(false)
    }

    /// Keeps the unknown parts of the component, which is copied as it is stored.
    pub(super) fn keep_parts(&mut self, run: &Transcoder<'t, '_, '_>) {
        let Some(unknown) = &mut self.unknown else { return };
        let parts = unknown.given.remove(&run.stored[self.class].name);
        for (path, values) in parts.into_iter().flatten() {
            let path: UnknownPath = path.into();
            let kept =
                values.into_iter().map(|(class, bytes)| (path.clone(), class, bytes.to_vec()));
            unknown.kept.extend(kept);
        }
    }

    /// Ends the list: writes what is unknown of the components before them.
    pub(super) fn end(&mut self, run: &mut Transcoder<'t, '_, '_>) -> Result<()> {
        let Some(unknown) = self.unknown.take() else { return Ok(()) };
        let groups = || unknown.kept.chunk_by(|a, b| Arc::ptr_eq(&a.0, &b.0));
        let mut links = NoLinks::default();
        let mut input = Decoder::new(&run.out[self.start..], run.env, &mut links);
        let count = count::decode(&mut input).map_err(fault)?;
        let end = run.out.len() - input.rest().len();
        let count = count - unknown.elements + groups().count() as u64;
        let encoded = run.defaults.encode_with(run.env, &mut NoLinks::default(), |out| {
            count::encode(count, out)?;
            for group in groups() {
                let path = &group[0].0;
                count::encode(UnknownAt::NUMBER, out)?;
                out.count(path.len())?;
                path.iter().try_for_each(|step| step.persist_encode(out))?;
                out.count(group.len())?;
                for (_, class, bytes) in group {
                    count::encode(*class as u64 + 1, out)?;
                    out.bytes(bytes)?;
                }
            }
            Ok(())
        });
        encoded?;
        let head = run.defaults.gather();
        DefaultedField::follow(&mut run.extras.defaulted, end, self.start + head.len());
        run.out.splice(self.start..end, head.iter().copied());
        run.check(run.out.len())
    }
}

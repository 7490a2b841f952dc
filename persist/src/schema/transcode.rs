//! Rewrites a record of the save into the form of the program's class.
//!
//! Bytes to bytes, so that nothing generic is compiled twice and the typed
//! decoder reads one form only.

use super::plan::{Fields, Plan, Step};
use super::{FieldSchema, Form, KindSchema, Plans, skip};
use crate::codec::{Buffer, Decoder, Fail, NoLinks, count};
use crate::{Error, ErrorKind, Limits, Result};

/// Appends the payload of object `id`, of a stored class, in the program's form.
pub(crate) fn transcode(
    plans: &mut Plans<'_>,
    class: usize,
    id: u64,
    payload: &[u8],
    limits: &Limits,
    out: &mut Vec<u8>,
) -> Result<()> {
    let mut links = NoLinks::default();
    let mut input = Decoder::new(payload, limits, &mut links);
    // Classes nest in one another at most as deep as the program's do between
    // two levels that the codec counts.
    let depth = limits.depth.saturating_mul(8).saturating_add(64);
    let mut run = Transcoder { plans, id, limits, defaults: Buffer::new() };
    let result = run.class(class, &mut input, out, depth);
    let at = (payload.len() - input.rest().len()) as u64;
    match result {
        Ok(()) if input.rest().is_empty() => Ok(()),
        Ok(()) => {
            Err(Error::new(ErrorKind::Damaged, "the record is longer than its fields").at(at))
        }
        Err(error) => Err(error.at(at)),
    }
}

struct Transcoder<'t, 'p> {
    plans: &'t mut Plans<'p>,
    id: u64,
    limits: &'t Limits,
    defaults: Buffer,
}

impl Transcoder<'_, '_> {
    fn class(
        &mut self,
        class: usize,
        input: &mut Decoder<'_>,
        out: &mut Vec<u8>,
        depth: u32,
    ) -> Result<()> {
        let Some(depth) = depth.checked_sub(1) else { return Err(Fail::Depth.into()) };
        if self.plans.is_identical(class) {
            return self.copy(&KindSchema::Class(class), input, out);
        }
        let plan = self.plans.plan(class)?;
        let classes = self.plans.stored.clone();
        let stored = &classes[class].form;
        match (&*plan, stored) {
            (Plan::Struct(plan), Form::Struct(fields)) => {
                self.fields(class, plan, fields, input, out, depth)
            }
            (Plan::Enum(variants), Form::Enum(stored_variants)) => {
                let wide = stored.tag_width() == 2;
                let tag =
                    if wide { input.value::<u16>()? } else { u16::from(input.value::<u8>()?) };
                let tag = usize::from(tag);
                let (Some(variant), Some(plan)) = (stored_variants.get(tag), variants.get(tag))
                else {
                    return Err(Fail::Value.into());
                };
                let Some((target, plan)) = plan else {
                    let name = &self.plans.stored[class].name;
                    return Err(Error::new(
                        ErrorKind::NotFound,
                        format!(
                            "the program's {name} has no variant {}; keep it, or name it as an `alias` of another",
                            variant.name
                        ),
                    ));
                };
                self.tag(class, *target, out)?;
                self.fields(class, plan, &variant.fields, input, out, depth)
            }
            (Plan::Value, Form::Value(kind)) => self.value(kind, input, out, depth),
            _ => Err(Fail::Value.into()),
        }
    }

    fn tag(&self, class: usize, target: usize, out: &mut Vec<u8>) -> Result<()> {
        let program = self.plans.program;
        let width =
            self.plans.resolve(class).map_or(1, |class| program.classes[class].form.tag_width());
        let tag = u16::try_from(target).map_err(|_| Fail::Value)?.to_le_bytes();
        out.extend_from_slice(&tag[..width]);
        Ok(())
    }

    fn fields(
        &mut self,
        class: usize,
        plan: &Fields,
        stored: &[FieldSchema],
        input: &mut Decoder<'_>,
        out: &mut Vec<u8>,
        depth: u32,
    ) -> Result<()> {
        let run = &mut self.plans.runs[plan.run];
        run.count += 1;
        if run.count == 1 {
            run.first = self.id;
        }
        let whole = input.rest();
        let at = |input: &Decoder<'_>| whole.len() - input.rest().len();
        // Where each walked field's bytes lie: as stored, or rewritten.
        let mut rewritten = Vec::new();
        let mut pieces = Vec::with_capacity(plan.walk.len());
        for walked in &plan.walk {
            let FieldSchema { name, kind } = &stored[walked.field];
            let (start, mark) = (at(input), rewritten.len());
            if walked.rewrite {
                self.value(kind, input, &mut rewritten, depth)
                    .map_err(|error| error.in_field(name))?;
                pieces.push((true, mark..rewritten.len()));
            } else {
                skip(kind, &self.plans.stored, input)
                    .map_err(|fail| Error::from(fail).in_field(name))?;
                pieces.push((false, start..at(input)));
            }
        }
        for step in &plan.steps {
            match *step {
                Step::Take(place) => {
                    let (is_rewritten, range) = &pieces[place];
                    let bytes = if *is_rewritten { &rewritten[..] } else { whole };
                    out.extend_from_slice(&bytes[range.clone()]);
                }
                Step::Default { variant, field } => self.default(class, variant, field, out)?,
            }
        }
        Ok(())
    }

    fn default(
        &mut self,
        class: usize,
        variant: usize,
        field: usize,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let target = self.plans.resolve(class).and_then(|class| self.plans.program.targets[class]);
        let Some(target) = target else { return Err(Fail::Value.into()) };
        let encode =
            |out: &mut crate::codec::Encoder<'_>| target.access.encode_default(variant, field, out);
        let end = self.defaults.append(0, self.limits, &mut NoLinks::default(), encode)?;
        out.extend_from_slice(&self.defaults.bytes()[..end]);
        Ok(())
    }

    /// A value with changed classes inside.
    fn value(
        &mut self,
        kind: &KindSchema,
        input: &mut Decoder<'_>,
        out: &mut Vec<u8>,
        depth: u32,
    ) -> Result<()> {
        if self.plans.has_identical_classes(kind) {
            return self.copy(kind, input, out);
        }
        match kind {
            KindSchema::Option(inner) => {
                let some = input.value::<bool>()?;
                out.push(u8::from(some));
                if some { self.value(inner, input, out, depth) } else { Ok(()) }
            }
            KindSchema::List(inner) | KindSchema::Set(inner) => {
                let count = self.count(input, out)?;
                self.repeat(&[&**inner], count, input, |run, i, input| {
                    run.value(inner, input, out, depth)
                        .map_err(|error| error.in_field(&format!("[{i}]")))
                })
            }
            KindSchema::Array(inner, len) => {
                self.repeat(&[&**inner], *len as u64, input, |run, i, input| {
                    run.value(inner, input, out, depth)
                        .map_err(|error| error.in_field(&format!("[{i}]")))
                })
            }
            KindSchema::Map(parts) => {
                let count = self.count(input, out)?;
                self.repeat(&[&parts.0, &parts.1], count, input, |run, i, input| {
                    run.value(&parts.0, input, out, depth)
                        .map_err(|error| error.in_field(&format!("[{i}].key")))?;
                    run.value(&parts.1, input, out, depth)
                        .map_err(|error| error.in_field(&format!("[{i}]")))
                })
            }
            KindSchema::Tuple(parts) => parts.iter().enumerate().try_for_each(|(i, part)| {
                self.value(part, input, out, depth).map_err(|error| error.in_field(&i.to_string()))
            }),
            KindSchema::Class(class) => self.class(*class, input, out, depth),
            _ => self.copy(kind, input, out),
        }
    }

    fn count(&self, input: &mut Decoder<'_>, out: &mut Vec<u8>) -> Result<u64> {
        let count = count::decode(input)?;
        count::push(count, out);
        Ok(count)
    }

    /// Runs `each` for so many elements; those without bytes are limited in
    /// number over the whole save.
    fn repeat(
        &mut self,
        kinds: &[&KindSchema],
        count: u64,
        input: &mut Decoder<'_>,
        mut each: impl FnMut(&mut Self, u64, &mut Decoder<'_>) -> Result<()>,
    ) -> Result<()> {
        if kinds.iter().all(|kind| kind.is_empty(&self.plans.stored)) {
            self.plans.empty_elements = self.plans.empty_elements.saturating_add(count);
            if self.plans.empty_elements > self.limits.empty_elements as u64 {
                return Err(Fail::Limit.into());
            }
        } else if count > input.rest().len() as u64 {
            return Err(Fail::Count.into());
        }
        (0..count).try_for_each(|i| each(self, i, input))
    }

    fn copy(&self, kind: &KindSchema, input: &mut Decoder<'_>, out: &mut Vec<u8>) -> Result<()> {
        let whole = input.rest();
        skip(kind, &self.plans.stored, input)?;
        out.extend_from_slice(&whole[..whole.len() - input.rest().len()]);
        Ok(())
    }
}

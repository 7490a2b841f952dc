//! Values by their conversions: those without parts at once, the others opened.

use std::sync::Arc;

use super::fields::Record;
use super::{Frame, Source, Transcoder};
use crate::codec::{Fail, LoadLinks, count};
use crate::schema::conversion::Conversion;
use crate::schema::plan::{Fields, Plan, VariantPlan};
use crate::schema::walk::{check_count, dynamic, fault, skip, tag};
use crate::schema::{Form, LoadEvent, VariantSchema};
use crate::{Error, ErrorKind, Result};

impl<'t, 's: 't> Transcoder<'t, 's, '_> {
    /// Opens the record itself.
    pub(super) fn record(
        &mut self,
        source: &Source<'s>,
        frames: &mut Vec<Frame<'t>>,
    ) -> Result<()> {
        let class = source.class;
        let Some(target) = self.plans.resolve(class) else {
            return Err(Error::new(
                ErrorKind::NotFound,
                "the program does not have this class; register it",
            ));
        };
        if !source.kept.is_empty() && !matches!(self.stored[class].form, Form::Value(_)) {
            return self.open_named(class, target, source.kept, frames);
        }
        self.open_class(class, target, frames)
    }

    /// Rewrites a value without parts, or opens one.
    pub(super) fn open(&mut self, mut of: usize, frames: &mut Vec<Frame<'t>>) -> Result<()> {
        loop {
            match self.plans.conversions[of] {
                Conversion::Bytes(width) => {
                    let bytes = self.input.take(width).map_err(fault)?;
                    self.out.extend_from_slice(bytes);
                }
                Conversion::Copy(node) => return self.copy(node, 1, None),
                Conversion::Number { from, to, clamped } => {
                    return self.number(from, to, clamped);
                }
                Conversion::Option(inner) => {
                    let some = self.input.value::<bool>().map_err(fault)?;
                    self.out.push(u8::from(some));
                    if some {
                        of = inner;
                        continue;
                    }
                }
                Conversion::Some(inner) => {
                    self.out.push(1);
                    of = inner;
                    continue;
                }
                Conversion::Present(inner) => {
                    if !self.input.value::<bool>().map_err(fault)? {
                        return Err(Error::new(
                            ErrorKind::InvalidValue,
                            "the save holds `None` where the program has no `Option` any more; keep the `Option`, or give the field a `convert` that takes it",
                        ));
                    }
                    of = inner;
                    continue;
                }
                Conversion::Elements { least, of, from, to } => {
                    let count = self.length(least, from, to)?;
                    if !self.numbers(of, count)? && !self.flat_records(of, count, frames)? {
                        frames.push(Frame::Elements { of, next: 0, count });
                    }
                }
                Conversion::Longer { of: inner, from, class, variant, field, run } => {
                    self.plans.events.count(run, self.id);
                    frames.push(Frame::Longer { from, class, variant, field });
                    of = inner;
                    continue;
                }
                Conversion::One(inner) => {
                    self.out.push(1);
                    of = inner;
                    continue;
                }
                Conversion::Map { least, key, value } => {
                    let count = self.count(least)?;
                    frames.push(Frame::Entries { key, value, next: 0, count });
                }
                Conversion::Parts(first, len) => {
                    frames.push(Frame::Parts { first, len, next: 0 });
                }
                Conversion::Class(class, target) => return self.open_class(class, target, frames),
                Conversion::Struct(tuple, target) => {
                    let fields = self.plans.tuples[tuple].clone();
                    let record = self.open_fields(Opened::Tuple(fields), target, &[])?;
                    frames.push(Frame::Record(record));
                }
                Conversion::Dynamic => {
                    let class = dynamic(self.stored, &mut self.input).map_err(fault)?;
                    count::push(class as u64 + 1, self.out);
                    match self.plans.resolve(class) {
                        Some(target) if self.plans.rewrites_dynamic(class) => {
                            return self.open_class(class, target, frames);
                        }
                        _ => return self.copy(self.stored.root(class), 1, None),
                    }
                }
                Conversion::Variant { class, lost, .. } => {
                    return self.text_to_variant(class, lost);
                }
                Conversion::Name(class) => return self.variant_to_text(class),
                Conversion::Share { class, holder, of: inner } => {
                    frames.push(Frame::Shared { class, holder, start: self.out.len() });
                    of = inner;
                    continue;
                }
                Conversion::Inline { class, holder, of: inner, shared } => {
                    let (frame, kept) = self.inline(class, holder, shared)?;
                    frames.push(frame);
                    if !kept.is_empty() {
                        return self.open_kept(class, inner, &kept, frames);
                    }
                    of = inner;
                    continue;
                }
                Conversion::Typed { of: inner, class, variant, field } => {
                    let start = self.out.len();
                    frames.push(Frame::Typed { class, variant, field, start });
                    of = inner;
                    continue;
                }
            }
            return Ok(());
        }
    }

    /// Opens a value that was an object with kept fields.
    fn open_kept(
        &mut self,
        class: usize,
        of: usize,
        kept: &[(usize, &'t [u8])],
        frames: &mut Vec<Frame<'t>>,
    ) -> Result<()> {
        let conversion = self.plans.conversions[of];
        let target = match conversion {
            Conversion::Class(_, target) => Some(target),
            Conversion::Bytes(_) | Conversion::Copy(_) => self.plans.resolve(class),
            _ => None,
        };
        let target = target.filter(|_| !matches!(self.stored[class].form, Form::Value(_)));
        if let Some(target) = target {
            return self.open_named(class, target, kept, frames);
        }
        for (part, _) in kept {
            let name = self.stored.schema(*part).map_or_else(String::new, |part| part.name.clone());
            self.plans.happened(LoadEvent::Dropped, &name, "", "", self.id);
        }
        self.open(of, frames)
    }

    /// Opens a struct or an enum, or a bare value.
    fn open_class(
        &mut self,
        class: usize,
        target: usize,
        frames: &mut Vec<Frame<'t>>,
    ) -> Result<()> {
        let plan = self.plans.plan(class, target)?;
        self.plans.count_newer(class, 1, self.id);
        match &*plan {
            Plan::Value(conversion, run) => {
                self.plans.events.count(*run, self.id);
                self.open(*conversion, frames)
            }
            Plan::Named => self.open_named(class, target, &[], frames),
            Plan::Struct(fields) if fields.flat => self.flat_record(class, target, fields),
            Plan::Struct(_) => {
                let Form::Struct(fields) = &self.stored[class].form else {
                    return Err(fault(Fail::Value));
                };
                let record = self.open_fields(Opened::Struct(plan), target, fields)?;
                frames.push(Frame::Record(record));
                Ok(())
            }
            Plan::Enum(variants) => {
                let (number, schema) = self.read_tag(class)?;
                match &variants[number] {
                    VariantPlan::Fields(variant, _) => {
                        self.tag(target, *variant)?;
                        let opened = Opened::Variant(plan.clone(), number);
                        let record = self.open_fields(opened, target, &schema.fields)?;
                        frames.push(Frame::Record(record));
                        Ok(())
                    }
                    VariantPlan::Other { variant, field, run } => {
                        self.plans.events.count(*run, self.id);
                        self.tag(target, *variant)?;
                        let first = self.stored.first(class, number);
                        self.keep_variant(first, schema.fields.len(), *field)
                    }
                    VariantPlan::Removed => Err(self.removed(class, &schema.name)),
                }
            }
        }
    }

    /// The error for a variant that the program does not have.
    pub(super) fn removed(&self, class: usize, variant: &str) -> Error {
        Error::new(
            ErrorKind::NotFound,
            format!(
                "the program's {} has no variant {variant}; keep it, name it as an `alias` of another, or give the enum a variant `#[persist(other)] Other(persist::Unknown)`",
                self.stored[class].name
            ),
        )
    }

    /// Reads which variant of a stored enum follows.
    pub(super) fn read_tag(&mut self, class: usize) -> Result<(usize, &'t VariantSchema)> {
        let form = &self.stored[class].form;
        let Form::Enum(variants) = form else { return Err(fault(Fail::Value)) };
        let number = tag(form, &mut self.input).map_err(fault)?;
        let schema = variants.get(number).ok_or_else(|| fault(Fail::Value))?;
        Ok((number, schema))
    }

    /// Writes the tag of the program's variant.
    pub(super) fn tag(&mut self, target: usize, variant: usize) -> Result<()> {
        let width = self.plans.program.classes[target].form.tag_width();
        let tag = u16::try_from(variant).map_err(|_| fault(Fail::Value))?.to_le_bytes();
        self.out.extend_from_slice(&tag[..width]);
        Ok(())
    }

    /// Takes over the length of a list of elements of at least `least` bytes each.
    pub(super) fn length(
        &mut self,
        least: u32,
        from: Option<usize>,
        to: Option<usize>,
    ) -> Result<u64> {
        let count = match from {
            Some(count) => {
                if least == 0 {
                    self.charge_empty(count)?;
                }
                count as u64
            }
            None => self.read_count(least)?,
        };
        match to {
            Some(wanted) if wanted as u64 != count => Err(Error::new(
                ErrorKind::InvalidValue,
                format!(
                    "the save holds {count} elements where the program has an array of {wanted}; give the field a `convert`, or make it a `Vec`"
                ),
            )),
            Some(_) => Ok(count),
            None => {
                count::push(count, self.out);
                Ok(count)
            }
        }
    }

    /// Takes over a count of elements of at least `least` bytes each.
    fn count(&mut self, least: u32) -> Result<u64> {
        let count = self.read_count(least)?;
        count::push(count, self.out);
        Ok(count)
    }

    /// Reads a count; elements without bytes are limited in number over the whole save.
    fn read_count(&mut self, least: u32) -> Result<u64> {
        let count = count::decode(&mut self.input).map_err(fault)?;
        if least == 0 {
            self.charge_empty(usize::try_from(count).unwrap_or(usize::MAX))?;
        } else {
            check_count(count, u64::from(least), &self.input).map_err(fault)?;
        }
        Ok(count)
    }

    fn charge_empty(&mut self, count: usize) -> Result<()> {
        LoadLinks::charge(&mut self.plans.empty, count, 0, &self.env.limits)
    }

    /// Takes over the values of `nodes` nodes as they are.
    pub(super) fn copy(&mut self, first: usize, nodes: usize, width: Option<usize>) -> Result<()> {
        let bytes = self.taken(first, nodes, width)?;
        self.out.extend_from_slice(bytes);
        Ok(())
    }

    /// The bytes of the values of `nodes` nodes.
    pub(super) fn taken(
        &mut self,
        first: usize,
        nodes: usize,
        width: Option<usize>,
    ) -> Result<&'t [u8]> {
        if let Some(width) = width {
            return self.input.take(width).map_err(fault);
        }
        let whole = self.input.rest();
        for node in first..first + nodes {
            skip(node, self.stored, &mut self.input, &mut self.skipped).map_err(fault)?;
        }
        Ok(&whole[..whole.len() - self.input.rest().len()])
    }

    /// Checks what all records take if the output is so long.
    pub(super) fn check(&self, end: usize) -> Result<()> {
        let after = self.plans.after + (end - self.start + self.shared_bytes) as u64;
        self.env.limits.check_rewritten(self.plans.before, after)
    }
}

/// What has a list of fields.
pub(super) enum Opened {
    Struct(Arc<Plan>),
    Variant(Arc<Plan>, usize),
    Tuple(Arc<Fields>),
}

impl Opened {
    /// The plan of the fields.
    pub(super) fn fields(&self) -> Option<&Fields> {
        match self {
            Self::Tuple(fields) => Some(fields),
            Self::Struct(plan) => match &**plan {
                Plan::Struct(fields) => Some(fields),
                _ => None,
            },
            Self::Variant(plan, variant) => match &**plan {
                Plan::Enum(variants) => match variants.get(*variant)? {
                    VariantPlan::Fields(_, fields) => Some(fields),
                    _ => None,
                },
                _ => None,
            },
        }
    }
}

impl Record<'_> {
    /// Name of the field that is being rewritten.
    pub(super) fn field_name(&self) -> &str {
        let field = self.field.and_then(|field| self.stored.get(field));
        field.map_or("", |field| &field.name)
    }
}

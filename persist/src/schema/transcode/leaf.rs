//! Values without parts, and what becomes an object or stops being one.

use super::{Found, Frame, Keeps, SharedValue, Transcoder};
use crate::codec::{Decoder, Fail, LoadLinks, NoLinks, count};
use crate::reflect::{Holder, VariantRecord};
use crate::schema::conversion::Conversion;
use crate::schema::matching::find_variant;
use crate::schema::number::{Fit, Width};
use crate::schema::plan::OtherField;
use crate::schema::walk::{check_count, fault, tag};
use crate::schema::{Form, VariantSchema};
use crate::{Error, ErrorKind, Result};

/// What a copy of an object that has become a value takes at least, in memory and in time.
const COPY: u64 = 128;

impl<'t, 's: 't> Transcoder<'t, 's, '_> {
    /// Rewrites a number.
    pub(super) fn number(&mut self, from: Width, to: Width, clamped: usize) -> Result<()> {
        if to.widens(from) {
            let bytes = self.input.take(from.bytes()).map_err(fault)?;
            let start = self.out.len();
            self.out.resize(start + to.bytes(), 0);
            to.widen(from, bytes, &mut self.out[start..]);
            return Ok(());
        }
        let number = from.take(&mut self.input).map_err(fault)?;
        if let Fit::Nearest = to.write(number, self.out) {
            if !self.plans.options.clamp {
                return Err(Error::new(
                    ErrorKind::InvalidValue,
                    format!(
                        "the save holds {number}, {from}, which is not exactly {to}; keep the wider type, give the field a `convert`, or load with `LoadOptions::clamp`"
                    ),
                ));
            }
            self.plans.events.count(clamped, self.id);
        }
        Ok(())
    }

    /// Rewrites `count` elements at once, if they are numbers that always fit; else false.
    pub(super) fn numbers(&mut self, of: usize, count: u64) -> Result<bool> {
        let Conversion::Number { from, to, .. } = self.plans.conversions[of] else {
            return Ok(false);
        };
        if !from.fits(to) || from.is_compact() || to.is_compact() {
            return Ok(false);
        }
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        let bytes = self.input.take(count.saturating_mul(from.bytes())).map_err(fault)?;
        self.check(self.out.len().saturating_add(count.saturating_mul(to.bytes())))?;
        if to.widens(from) {
            let start = self.out.len();
            self.out.resize(start + count.saturating_mul(to.bytes()), 0);
            let wide = self.out[start..].chunks_exact_mut(to.bytes());
            for (number, wide) in bytes.chunks_exact(from.bytes()).zip(wide) {
                to.widen(from, number, wide);
            }
            return Ok(true);
        }
        for number in bytes.chunks_exact(from.bytes()) {
            to.write(from.read(number), self.out);
        }
        Ok(true)
    }

    /// Rewrites a text as the variant of that name.
    pub(super) fn text_to_variant(&mut self, target: usize, lost: usize) -> Result<()> {
        let text = self.input.value::<String>().map_err(fault)?;
        let class = self.plans.program.targets[target].map(|target| target.class);
        let variants = class.map_or(&[][..], |class| class.variants());
        let found = find_variant(&text, variants).or_else(|| {
            let is_other = |variant: &VariantRecord| variant.other && variant.fields.is_empty();
            let other = variants.iter().position(is_other)?;
            self.plans.events.count(lost, self.id);
            Some(other)
        });
        match found.filter(|variant| variants[*variant].fields.is_empty()) {
            Some(variant) => self.tag(target, variant),
            None => Err(Error::new(
                ErrorKind::InvalidValue,
                format!(
                    "the save holds the text {:?} where the program has enum {}, which has no such variant without fields; name it as an `alias` of one, mark a unit variant `other`, or give the field a `convert`",
                    crate::schema::event::shortened(&text),
                    self.plans.program.classes[target].name
                ),
            )),
        }
    }

    /// Rewrites a variant as the text of its name.
    pub(super) fn variant_to_text(&mut self, class: usize) -> Result<()> {
        let (_, variant) = self.read_tag(class)?;
        count::push(variant.name.len() as u64, self.out);
        self.out.extend_from_slice(variant.name.as_bytes());
        Ok(())
    }

    /// Keeps the fields of a variant that the program does not have.
    pub(super) fn keep_variant(
        &mut self,
        first: usize,
        fields: usize,
        field: OtherField,
    ) -> Result<()> {
        let bytes = self.taken(first, fields)?;
        match field {
            OtherField::None => {}
            OtherField::Empty => self.out.push(0),
            OtherField::Kept(class) => {
                // One value, of an enum with this variant alone.
                self.out.push(1);
                count::push(class as u64 + 1, self.out);
                self.out.push(0);
                self.out.extend_from_slice(bytes);
            }
        }
        Ok(())
    }

    /// Continues in the record of an object that is a value now.
    pub(super) fn inline(
        &mut self,
        class: usize,
        holder: Holder,
        shared: usize,
    ) -> Result<(Frame<'t>, Keeps<'t>)> {
        let id = count::decode(&mut self.input).map_err(fault)?;
        let Some(Found { payload, kept }) = (self.objects)(id, class, holder) else {
            return Err(Error::new(
                ErrorKind::MissingObject,
                format!(
                    "the reference is to object #{id}, which the save does not hold as a {}; it is damaged or made to harm",
                    self.stored[class].name
                ),
            ));
        };
        if self.inlined.contains(&id) {
            return Err(Error::new(
                ErrorKind::Unsupported,
                format!(
                    "object #{id} leads to itself, and could not be a value in itself; keep the pointer"
                ),
            ));
        }
        if self.inlined.len() as u64 > u64::from(self.env.limits.depth) {
            return Err(Error::new(
                ErrorKind::TooDeep,
                "objects that are values now are nested deeper than `Limits::depth`; raise it, or keep the pointers",
            ));
        }
        self.inlined.push(id);
        if self.plans.inlined.contains_key(&id) {
            self.plans.events.count(shared, self.id);
            // A copy takes more than its bytes, and a few objects could ask for any number.
            self.plans.after += COPY;
        } else {
            self.plans.inlined.insert(id, (shared, self.id));
            self.plans.before += payload.len() as u64;
        }
        self.check(self.out.len().saturating_add(payload.len()))?;
        let behind = self.input.rest();
        self.input.go_back(payload);
        Ok((Frame::Inlined { behind }, kept))
    }

    /// Makes an object of the last bytes.
    pub(super) fn end_shared(&mut self, class: usize, holder: Holder, start: usize) -> Result<()> {
        self.check(self.out.len())?;
        let payload = self.out.split_off(start);
        self.shared_bytes += payload.len();
        let id = *self.next_id;
        *self.next_id += 1;
        self.rest.shared.push(SharedValue { id, class, holder, payload });
        count::push(id, self.out);
        Ok(())
    }

    /// Makes a field of the last bytes, by its `convert`.
    pub(super) fn end_typed(
        &mut self,
        class: usize,
        (variant, field): (usize, usize),
        start: usize,
    ) -> Result<()> {
        let Some(target) = self.plans.program.targets[class] else { return Ok(()) };
        let (old, env) = (&self.out[start..], self.env);
        self.defaults.encode_with(env, &mut NoLinks::default(), |out| {
            let mut links = NoLinks::default();
            let mut input = Decoder::new(old, env, &mut links);
            target.access.make_field(variant, field, Some(&mut input), out)
        })?;
        self.out.truncate(start);
        self.check(start + self.defaults.len())?;
        self.out.extend_from_slice(self.defaults.bytes());
        Ok(())
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
}

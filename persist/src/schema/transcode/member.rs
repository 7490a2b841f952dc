//! What a record has, by name.

use std::sync::Arc;

use super::{KeptPlace, Transcoder};
use crate::Result;
use crate::codec::count;
use crate::schema::pairing::StoredField;
use crate::schema::walk::{dynamic, fault};
use crate::schema::{FieldSchema, Form, KindSchema};
use crate::value::{Origin, Value};

/// What a record has.
pub(super) struct Member<'t> {
    pub(super) name: Arc<str>,
    pub(super) number: Option<u32>,
    pub(super) origin: Origin,
    pub(super) value: MemberValue<'t>,
    /// The class as which it can be kept.
    pub(super) kept: Option<usize>,
    pub(super) place: Option<KeptPlace>,
}

pub(super) enum MemberValue<'t> {
    Stored { kind: &'t KindSchema, node: usize, bytes: &'t [u8] },
    Made(Value),
}

/// The variant of a record, and its fields.
pub(super) struct Head<'t> {
    pub(super) variant: Option<(usize, &'t str)>,
    pub(super) fields: &'t [FieldSchema],
    pub(super) first: usize,
    /// The version of the class that they are of.
    pub(super) version: u32,
    /// True if it was kept, and has no place in the class.
    pub(super) is_kept: bool,
}

impl<'t> Transcoder<'t, '_, '_> {
    /// Reads which fields follow: of a struct, of a variant, or of a variant that was kept.
    pub(super) fn head(&mut self, class: usize, target: usize) -> Result<Head<'t>> {
        let (stored, version) = (self.stored, self.stored[class].version);
        if let Form::Struct(fields) = &stored[class].form {
            let first = stored.first(class, 0);
            return Ok(Head { variant: None, fields, first, version, is_kept: false });
        }
        let (number, schema) = self.read_tag(class)?;
        let first = stored.first(class, number);
        let head = Head {
            variant: Some((number, &schema.name)),
            fields: &schema.fields,
            first,
            version,
            is_kept: false,
        };
        let [FieldSchema { kind: KindSchema::Unknown, .. }] = &schema.fields[..] else {
            return Ok(head);
        };
        // A kept variant is one value, of an enum with that variant alone.
        let before = self.input.rest();
        if count::decode(&mut self.input).map_err(fault)? == 1 {
            let kept = dynamic(stored, &mut self.input).map_err(fault)?;
            if let Form::Enum(variants) = &stored[kept].form
                && let [variant] = &variants[..]
            {
                if self.input.take(1).map_err(fault)? != [0] {
                    return Err(fault(crate::codec::Fail::Value));
                }
                let is_known = self.target_variant(target, Some(&variant.name)).is_some();
                let first = stored.first(kept, 0);
                return Ok(Head {
                    variant: Some((number, &variant.name)),
                    fields: &variant.fields,
                    first,
                    version: stored[kept].version,
                    is_kept: !is_known,
                });
            }
        }
        self.input.go_back(before);
        Ok(head)
    }

    /// The fields that follow, then those that were kept among them.
    pub(super) fn found(&mut self, head: &Head<'t>) -> Result<Vec<Member<'t>>> {
        let stored = self.stored;
        let (mut found, mut kept) = (Vec::new(), Vec::new());
        for (i, field) in head.fields.iter().enumerate() {
            let node = head.first + i;
            if field.kind == KindSchema::Unknown {
                self.kept_fields(head.variant.map(|(_, name)| name), &mut kept)?;
                continue;
            }
            let bytes = self.taken(node, 1)?;
            let end = self.length.saturating_sub(self.input.rest().len());
            found.push(Member {
                name: self.plans.field_name(node, &field.name),
                number: field.id,
                origin: Origin::Written,
                value: MemberValue::Stored { kind: &field.kind, node, bytes },
                kept: Some(stored.field_alone(node)),
                place: Some(KeptPlace::Payload(end.saturating_sub(bytes.len())..end)),
            });
        }
        // A migration finds what was stored first, wherever the kept fields stand.
        found.append(&mut kept);
        Ok(found)
    }

    /// Reads what an earlier program kept of a record.
    fn kept_fields(&mut self, variant: Option<&str>, found: &mut Vec<Member<'t>>) -> Result<()> {
        let count = count::decode(&mut self.input).map_err(fault)?;
        for _ in 0..count {
            let class = dynamic(self.stored, &mut self.input).map_err(fault)?;
            let bytes = self.taken(self.stored.root(class), 1)?;
            let end = self.length.saturating_sub(self.input.rest().len());
            let place = KeptPlace::Payload(end.saturating_sub(bytes.len())..end);
            match self.kept_field(class, variant, bytes, Some(place)) {
                Some(field) => found.push(field),
                None => return Err(fault(crate::codec::Fail::Value)),
            }
        }
        Ok(())
    }

    /// What was kept as a value of this class: its one field.
    pub(super) fn kept_field(
        &mut self,
        class: usize,
        variant: Option<&str>,
        bytes: &'t [u8],
        place: Option<KeptPlace>,
    ) -> Option<Member<'t>> {
        let Form::Struct(fields) = &self.stored[class].form else { return None };
        let [field] = &fields[..] else { return None };
        let node = self.stored.first(class, 0);
        let is_own = |variant: &str| {
            self.stored[class].name.ends_with(&format!("::{variant}.{}", field.name))
        };
        let origin = if variant.is_none_or(is_own) { Origin::Kept } else { Origin::OtherVariant };
        let name = self.plans.field_name(node, &field.name);
        let value = MemberValue::Stored { kind: &field.kind, node, bytes };
        Some(Member { name, number: field.id, origin, value, kept: Some(class), place })
    }
}

impl StoredField for Member<'_> {
    fn name(&self) -> &str {
        &self.name
    }

    fn number(&self) -> Option<u32> {
        self.number
    }

    fn origin(&self) -> Origin {
        self.origin
    }
}

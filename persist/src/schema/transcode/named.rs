//! Records by the names of what they have: those that are migrated, and those that have kept
//! what an earlier program did not know.

use std::ops::Range;
use std::sync::Arc;

use super::{Frame, KeptPlace, Transcoder};
use crate::codec::{Decoder, Fail, NoLinks, count};
use crate::reflect::Class;
use crate::schema::event::REMOVED;
use crate::schema::matching::is_older;
use crate::schema::migrate::{Written, migrate};
use crate::schema::ops::{Given, OtherField, Place, Step, Wanted};
use crate::schema::pairing::{StoredField, find_variant, pair};
use crate::schema::walk::{dynamic, fault, left_behind};
use crate::schema::{FieldSchema, Form, KindSchema, LoadEvent, write_value};
use crate::value::{Field, Origin, Record, Value};
use crate::{Error, ErrorKind, Result};

/// What a field of such a record takes, in memory and in time, beside its bytes and those of its name.
const FIELD: usize = 512;

/// A record whose fields are put together.
pub(super) struct Named<'t> {
    actions: std::vec::IntoIter<Action<'t>>,
    /// The program's class.
    target: usize,
    /// Name of the field that is being rewritten.
    field: Arc<str>,
    /// Where to continue after the record.
    behind: &'t [u8],
    /// Where what is kept of it begins.
    kept: usize,
    converting: bool,
}

enum Action<'t> {
    /// Of bytes that are stored.
    Convert {
        conversion: usize,
        bytes: &'t [u8],
        name: Arc<str>,
    },
    /// What a migration has made.
    Made(&'t [u8]),
    Make(Step),
}

/// What a record has.
struct Member<'t> {
    name: Arc<str>,
    number: Option<u32>,
    origin: Origin,
    value: MemberValue<'t>,
    /// The class as which it can be kept.
    kept: Option<usize>,
    place: Option<KeptPlace>,
}

enum MemberValue<'t> {
    Stored { kind: &'t KindSchema, node: usize, bytes: &'t [u8] },
    Made(Value),
}

/// The variant of a record, and its fields.
struct Head<'t> {
    variant: Option<(usize, &'t str)>,
    fields: &'t [FieldSchema],
    first: usize,
    /// The version of the class that they are of.
    version: u32,
    /// True if it was kept, and has no place in the class.
    is_kept: bool,
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

impl Named<'_> {
    pub(super) fn field_name(&self) -> &str {
        &self.field
    }
}

impl<'t> Transcoder<'t, '_, '_> {
    /// Opens a record by the names of its fields; `given` was kept of it before.
    pub(super) fn open_named<'s: 't>(
        &mut self,
        class: usize,
        target: usize,
        given: &[(usize, &'s [u8])],
        frames: &mut Vec<Frame<'t>>,
    ) -> Result<()> {
        self.count_record()?;
        let whole = self.input.rest();
        let head = self.head(class, target)?;
        let start = self.input.rest();
        let mut found = self.found(&head)?;
        let bytes = &start[..start.len() - self.input.rest().len()];
        let behind = self.input.rest();
        for (i, (class, bytes)) in given.iter().enumerate() {
            self.plans.before += bytes.len() as u64;
            found.extend(self.kept_field(
                *class,
                head.variant.map(|(_, name)| name),
                bytes,
                Some(KeptPlace::Kept(i)),
            ));
        }
        let names = found.iter().map(|field| field.name.len());
        let work = found.len() * FIELD + names.sum::<usize>();
        self.plans.reader(&self.env.limits).charge(1, work)?;
        let mut variant = head.variant.map(|(_, name)| name.to_owned());
        let described = self.plans.program.targets[target].map(|target| target.class);
        if let Some(described) = described.filter(|described| is_older(head.version, described)) {
            let withheld = self.withhold((class, target), variant.as_deref(), &mut found);
            let from = (class, head.version);
            (found, variant) = self.migrated(from, described, found, variant)?;
            found.extend(withheld);
        }
        let kept = self.kept.len();
        let mut actions = Vec::new();
        match self.target_variant(target, variant.as_deref()) {
            Some(number) => {
                if variant.is_some() {
                    self.tag(target, number)?;
                }
                actions = self.actions((class, target), variant.as_deref(), number, found)?;
            }
            None => {
                let name = variant.unwrap_or_default();
                let bytes = if head.is_kept {
                    // It goes on as it is, without the tag.
                    let width = self.stored[class].form.tag_width();
                    Kept::Whole(&whole[width..whole.len() - behind.len()])
                } else {
                    Kept::Fields(bytes)
                };
                self.other_variant((class, target), &head, &name, bytes)?;
            }
        }
        frames.push(Frame::Named(Named {
            actions: actions.into_iter(),
            target,
            field: "".into(),
            behind,
            kept,
            converting: false,
        }));
        Ok(())
    }

    /// Advances to the next field that is converted; ends the record if there is none.
    pub(super) fn advance_named(&mut self, named: &mut Named<'t>) -> Result<Option<usize>> {
        if std::mem::take(&mut named.converting) {
            let left = self.input.rest().len();
            if left > 0 {
                return Err(left_behind(left));
            }
        }
        for action in named.actions.by_ref() {
            match action {
                Action::Convert { conversion, bytes, name } => {
                    named.field = name;
                    named.converting = true;
                    self.input.go_back(bytes);
                    return Ok(Some(conversion));
                }
                Action::Made(bytes) => self.out.extend_from_slice(bytes),
                Action::Make(step) => self.append(named.target, step, named.kept)?,
            }
        }
        self.kept.truncate(named.kept);
        self.input.go_back(named.behind);
        self.records -= 1;
        Ok(None)
    }

    /// The program's variant of this name; of a struct 0.
    pub(super) fn target_variant(&self, target: usize, name: Option<&str>) -> Option<usize> {
        let Some(name) = name else { return Some(0) };
        find_variant(name, self.plans.program.targets[target]?.class.variants())
    }

    /// Reads which fields follow: of a struct, of a variant, or of a variant that was kept.
    fn head(&mut self, class: usize, target: usize) -> Result<Head<'t>> {
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
                    return Err(fault(Fail::Value));
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
    fn found(&mut self, head: &Head<'t>) -> Result<Vec<Member<'t>>> {
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
                None => return Err(fault(Fail::Value)),
            }
        }
        Ok(())
    }

    /// What was kept as a value of this class: its one field.
    fn kept_field(
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

    /// Runs the migrations of a record over what it has.
    fn migrated(
        &mut self,
        (class, version): (usize, u32),
        target: &Class,
        found: Vec<Member<'t>>,
        variant: Option<String>,
    ) -> Result<(Vec<Member<'t>>, Option<String>)> {
        let stored = self.stored;
        let schema = &stored[class];
        let mut record = match variant {
            Some(variant) => Record::of_variant(&*schema.name, variant),
            None => Record::new(&*schema.name),
        };
        for (i, field) in found.iter().enumerate() {
            let MemberValue::Stored { node, bytes, .. } = &field.value else { continue };
            let mut links = NoLinks::default();
            let mut input = Decoder::new(bytes, self.env, &mut links);
            let value = self
                .plans
                .reader(&self.env.limits)
                .value(stored, *node, &mut input)
                .map_err(|error| error.in_field(&field.name))?;
            let (name, number, origin) = (field.name.clone(), field.number, field.origin);
            record.fields.push(Field { name, number, value, origin, place: Some(i) });
        }
        migrate(&mut record, version..target.version, target.migration, self.env)?;
        let detail = format!("version {version} to {}", target.version);
        self.plans.happened(LoadEvent::Migrated, &schema.name, "", &detail, self.id);
        let mut found: Vec<Option<Member<'t>>> = found.into_iter().map(Some).collect();
        let variant = record.variant().map(str::to_owned);
        let fields = std::mem::take(&mut record.fields).into_iter().map(|field| {
            let found = field.place.and_then(|place| found.get_mut(place)?.take());
            match found {
                Some(found) => Member {
                    name: field.name,
                    number: field.number,
                    origin: field.origin,
                    // Under its old name it would come back as what it no longer is.
                    kept: found.kept.filter(|_| field.origin != Origin::Made),
                    ..found
                },
                None => Member {
                    name: field.name,
                    number: None,
                    origin: Origin::Made,
                    value: MemberValue::Made(field.value),
                    kept: None,
                    place: None,
                },
            }
        });
        Ok((fields.collect(), variant))
    }

    /// Takes those fields out that no migration is to see: the program knows them as they are, or they
    /// are of another variant. Copies of others are dropped.
    fn withhold(
        &mut self,
        (class, target): (usize, usize),
        variant: Option<&str>,
        found: &mut Vec<Member<'t>>,
    ) -> Vec<Member<'t>> {
        let number = self.target_variant(target, variant);
        let records = number.map_or(&[][..], |number| self.plans.wanted(target, number).records);
        let pairing = pair(found, records);
        let mut withheld = Vec::new();
        for (i, field) in std::mem::take(found).into_iter().enumerate() {
            let is_source = || pairing.sources.contains(&Some(i));
            let is_superseded = || pairing.superseded.contains(&i);
            match field.origin {
                Origin::OtherVariant => withheld.push(field),
                Origin::Kept if is_superseded() => self.superseded(class, variant, &field),
                Origin::Kept if is_source() => withheld.push(field),
                _ => found.push(field),
            }
        }
        withheld
    }

    /// Reports a field that is dropped, since another took its place.
    fn superseded(&mut self, class: usize, variant: Option<&str>, field: &Member<'t>) {
        let name = &self.stored[class].name;
        let path = Given { variant, ..Given::named(name) }.path(&field.name);
        self.plans.happened(LoadEvent::Superseded, name, &path, "", self.id);
    }

    /// What the program's fields become, and what is kept of the rest.
    fn actions(
        &mut self,
        (class, target): (usize, usize),
        variant: Option<&str>,
        number: usize,
        found: Vec<Member<'t>>,
    ) -> Result<Vec<Action<'t>>> {
        let name = &self.stored[class].name;
        let wanted = self.plans.wanted(target, number);
        let given = Given { variant, ..Given::named(name) };
        let pairing = pair(&found, wanted.records);
        pairing
            .check(name, &found, wanted.records)
            .map_err(|error| error.in_field(variant.unwrap_or_default()))?;
        let mut found: Vec<Option<Member<'t>>> = found.into_iter().map(Some).collect();
        for field in pairing.superseded {
            if let Some(field) = found[field].take() {
                self.superseded(class, variant, &field);
            }
        }
        let mut actions = Vec::new();
        for (field, (source, made)) in pairing.sources.into_iter().zip(pairing.made).enumerate() {
            let Some(mut source) = source.and_then(|source| found[source].take()) else {
                let (step, event) = self.plans.without_source(&given, &wanted, field)?;
                if let Some(event) = event {
                    let path = given.path(&wanted.fields[field].name);
                    self.plans.happened(event, name, &path, "", self.id);
                }
                actions.push(Action::Make(step));
                continue;
            };
            if let Some(made) = made.and_then(|made| found[made].take()) {
                let path = given.path(&source.name);
                let place = Place { class: name, field: &path };
                if self.conversion(&source, &wanted, field, &place).is_some() {
                    self.plans.happened(LoadEvent::Restored, name, &path, "", self.id);
                } else {
                    self.superseded(class, variant, &source);
                    source = made;
                }
            }
            let path = given.path(&source.name);
            let place = Place { class: name, field: &path };
            let result = self.field_actions(source, &wanted, field, &place, &mut actions);
            let wanted_path = given.path(&wanted.fields[field].name);
            result.map_err(|error| error.in_field(&wanted_path))?;
        }
        let records = wanted.records;
        let has_room = records.iter().any(|record| record.keeps_unknown);
        for field in found.into_iter().flatten() {
            let is_removed = wanted.is_removed(&field.name);
            self.keep_or_drop(field, &given, has_room, is_removed);
        }
        Ok(actions)
    }

    /// The conversion of a stored field to one of the program.
    fn conversion(
        &mut self,
        source: &Member<'t>,
        wanted: &Wanted<'_>,
        field: usize,
        place: &Place<'_>,
    ) -> Option<usize> {
        let MemberValue::Stored { kind, node, .. } = source.value else { return None };
        let key = (node, wanted.class, wanted.variant, field);
        let known = self.plans.named.get(&key).copied();
        let found =
            known.or_else(|| self.plans.field_conversion(node, kind, wanted, field, place))?;
        self.plans.named.insert(key, found);
        Some(found)
    }

    fn field_actions(
        &mut self,
        source: Member<'t>,
        wanted: &Wanted<'_>,
        field: usize,
        place: &Place<'_>,
        actions: &mut Vec<Action<'t>>,
    ) -> Result<()> {
        let program = self.plans.program;
        let kind = &wanted.fields[field].kind;
        let conversion = self.conversion(&source, wanted, field, place);
        match source.value {
            MemberValue::Stored { kind: stored, bytes, .. } => {
                let Some(conversion) = conversion else {
                    let (schema, record) = (&wanted.fields[field], &wanted.records[field]);
                    return Err(self.plans.field_mismatch(
                        place.class,
                        stored,
                        schema,
                        record,
                        (wanted.class, wanted.variant, field),
                    ));
                };
                if !self.plans.matched.is_compatible(stored, kind) {
                    let detail = self.plans.both_kinds(stored, kind);
                    self.plans.happened(
                        LoadEvent::Converted,
                        place.class,
                        place.field,
                        &detail,
                        self.id,
                    );
                }
                actions.push(Action::Convert { conversion, bytes, name: source.name });
            }
            MemberValue::Made(mut value) => {
                let mut bytes = Vec::new();
                let (env, id) = (self.env, self.id);
                let mut target = Written { plans: self.plans, env, id, stored: Vec::new() };
                target.migrate_changed(&mut value)?;
                write_value(&mut target, &program.classes, kind, &value, &mut bytes)?;
                let stored = target.stored;
                self.plans.reader(&env.limits).charge(1, bytes.len())?;
                self.held = self.held.with(bytes);
                let bytes = self.held.bytes();
                let mut start = 0;
                for (Range { start: from, end }, conversion) in stored {
                    actions.push(Action::Made(&bytes[start..from]));
                    let (bytes, name) = (&bytes[from..end], source.name.clone());
                    actions.push(Action::Convert { conversion, bytes, name });
                    start = end;
                }
                actions.push(Action::Made(&bytes[start..]));
            }
        }
        Ok(())
    }

    /// Keeps a field that the program does not have, where there is room for it.
    fn keep_or_drop(
        &mut self,
        field: Member<'t>,
        given: &Given<'_>,
        has_room: bool,
        is_removed: bool,
    ) {
        let path = given.path(&field.name);
        let class = field.kept.filter(|_| !self.plans.options.drop_unknown && !is_removed);
        // What was kept before is reported as a value of its class.
        let is_new = class.is_none_or(|class| class >= self.stored.len());
        let event = match (class, field.value, field.place) {
            (Some(class), MemberValue::Stored { bytes, .. }, _) if has_room => {
                self.kept.push((class, bytes));
                LoadEvent::Kept
            }
            (Some(class), _, Some(place)) if self.is_object() => {
                self.rest.kept.push((class, place));
                LoadEvent::Kept
            }
            _ => LoadEvent::Dropped,
        };
        if is_new || event == LoadEvent::Dropped {
            let detail = if is_removed { REMOVED } else { "" };
            self.plans.happened(event, given.class, &path, detail, self.id);
        }
    }

    /// Makes the program's `other` variant of one that it does not have.
    fn other_variant(
        &mut self,
        (class, target): (usize, usize),
        head: &Head<'t>,
        name: &str,
        bytes: Kept<'t>,
    ) -> Result<()> {
        let number = head.variant.map_or(0, |(number, _)| number);
        let Some((variant, field)) = self.plans.other(class, (number, name), target) else {
            return Err(self.removed(class, name));
        };
        self.tag(target, variant)?;
        let records = self.plans.program.targets[target].map(|target| target.class.variants());
        let holds = records.is_some_and(|records| !records[variant].fields.is_empty());
        let is_removed = self.plans.is_removed_variant(target, name);
        let event = match (bytes, field) {
            (_, OtherField::Empty) => {
                self.out.push(0);
                LoadEvent::Replaced
            }
            (Kept::Whole(bytes), _) if holds => {
                self.out.extend_from_slice(bytes);
                // It is reported as a value of its class.
                return Ok(());
            }
            (Kept::Fields(bytes), OtherField::Kept(kept)) => {
                self.out.push(1);
                count::push(kept as u64 + 1, self.out);
                self.out.push(0);
                self.out.extend_from_slice(bytes);
                LoadEvent::Kept
            }
            _ if holds => {
                return Err(Error::new(
                    ErrorKind::NotFound,
                    format!(
                        "variant {name} of a migrated {} is not one of the program's",
                        self.stored[class].name
                    ),
                ));
            }
            _ => LoadEvent::Replaced,
        };
        let detail = if is_removed { REMOVED } else { "" };
        self.plans.happened(event, &self.stored[class].name, name, detail, self.id);
        Ok(())
    }
}

/// The bytes of a variant that the program does not have.
#[derive(Clone, Copy)]
enum Kept<'t> {
    /// With what says which it is.
    Whole(&'t [u8]),
    Fields(&'t [u8]),
}

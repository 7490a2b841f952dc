//! Records by the names of what they have: those that are migrated, and those that have kept
//! what an earlier program did not know.

use std::cell::{Cell, OnceCell};
use std::collections::HashMap;
use std::sync::Arc;

use super::{
    DefaultedField, InlinedObject, SharedValue, TranscodeFrame, Transcoder, UnknownLocation,
    UnknownValues,
};
use crate::codec::{Decoder, Fail, NoLinks, count};
use crate::reflect::{Class, Holder};
use crate::schema::matching::is_older;
use crate::schema::pairing::{find_variant, pair};
use crate::schema::plan::due::{MigrationWriter, migrate, watched};
use crate::schema::plan::{
    Conversion, FieldSource, Member, OtherField, Piece, RecordStep, StoredFields,
};
use crate::schema::{
    ClassSchema, FieldPlace, FieldSchema, Form, KindSchema, LoadEvent, Plans, dynamic, fault,
    write_value,
};
use crate::value::{Field, Origin, Record, Seen, Value};
use crate::{Error, ErrorKind, Result};

/// The charge for a field of such a record beside its bytes and its name, in bytes: it stands for memory and time.
const FIELD: usize = 512;

/// The class of a record's fields, and the variant.
struct NamedClass<'t> {
    /// The class of the record, or of an unknown variant.
    class: usize,
    /// Its number in the record's class, and its name.
    variant: Option<(usize, &'t str)>,
    /// Its number in the class.
    number: usize,
    /// True if it was kept, and has no place in the class.
    is_unknown: bool,
}

/// The minimum charge for a copy of an object that has become a value, in bytes: it stands for memory and time.
const COPY: u64 = 128;

impl<'t> Transcoder<'t, '_, '_> {
    /// Opens a record by the names of its fields; `given` was kept of it before.
    pub(super) fn open_named<'s: 't>(
        &mut self,
        class: usize,
        target: usize,
        given: &[(usize, &'s [u8])],
        frames: &mut Vec<TranscodeFrame<'t>>,
    ) -> Result<()> {
        self.count_record()?;
        let whole = self.input.rest();
        let head = self.head(class, target)?;
        let start = self.input.rest();
        let mut found = self.found(&head)?;
        let after = self.input.rest();
        for (i, (class, bytes)) in given.iter().enumerate() {
            // Unknown data is input as well, which the output may hold.
            self.plans.rewritten += bytes.len() as u64;
            let (variant, place) =
                (head.variant.map(|(_, name)| name), UnknownLocation::Original(i));
            found.extend(self.unknown_field(*class, variant, bytes, place));
        }
        // Before the migration: the copies of synthesized values are no fields, and it must not see them.
        self.settle_synthesized(&mut found);
        // A field without bytes costs a save nothing. 20,000 records of 5,000 such fields, or names of 200,000 bytes,
        // would be work that no input pays for.
        let names = found.iter().map(|field| field.name.len());
        let work = found.len() * FIELD + names.sum::<usize>();
        self.plans.reader(&self.env.limits).charge(1, work)?;
        let mut variant = head.variant.map(|(_, name)| name.to_owned());
        let described = self.plans.program.targets[target].map(|target| target.class);
        let version = self.stored[head.class].version;
        if let Some(described) = described.filter(|described| is_older(version, described)) {
            let withheld = self.withhold(class, target, variant.as_deref(), &mut found);
            (found, variant) = self.migrated(class, version, target, described, found, variant)?;
            found.extend(withheld);
        }
        if let Some(number) = self.target_variant(target, variant.as_deref()) {
            let variant = variant.as_deref();
            if variant.is_some() {
                self.tag(target, number)?;
            }
            let newer = self.plans.newer(class, target);
            return self.open_found(class, variant, (target, number), newer, found, frames);
        }
        // The record becomes an `other` variant, and opens no frame that would count it down.
        self.records -= 1;
        let (name, number) = (variant.unwrap_or_default(), head.variant.map_or(0, |it| it.0));
        let Some(other) = self.plans.other(class, number, &name, target) else {
            return Err(self.removed(class, &name));
        };
        if head.is_unknown && matches!(other.field, OtherField::Unknown(_)) {
            // It stays as it is, and is reported as a value of its class.
            self.tag(target, other.variant)?;
            let width = self.stored[class].form.tag_width();
            self.out.extend_from_slice(&whole[width..whole.len() - after.len()]);
            return Ok(());
        }
        self.other_variant(target, other, &start[..start.len() - after.len()])
    }

    /// Opens a record of what was found.
    fn open_found(
        &mut self,
        class: usize,
        variant: Option<&str>,
        target: (usize, usize),
        newer: Option<usize>,
        found: Vec<Member<'t>>,
        frames: &mut Vec<TranscodeFrame<'t>>,
    ) -> Result<()> {
        let (env, id, first) = (self.env, self.id, self.pieces.len());
        self.pieces.extend(found.iter().map(|member| member.bytes));
        // A piece for each member, and no neighbours joined: the members of one record need not follow one another.
        let piece = |name: &Arc<str>| Piece { name: name.clone(), nodes: 0..0, span: None };
        let mut named: Vec<Piece> = found.iter().map(|member| piece(&member.name)).collect();
        let Self { plans, pieces, chain, stored, .. } = self;
        let given = StoredFields {
            class: &stored[class].name,
            variant,
            version: Some(stored[class].version),
            members: &found,
        };
        let expected = plans.program.expected(target.0, target.1);
        let mut make = |plans: &mut Plans<'_>, member: usize, field: FieldPlace| {
            let node = plans.program.layout().first(field.0, field.1) + field.2;
            let member: &Member<'_> = &found[member];
            let mut value = member.made.take().unwrap_or(Value::Unit);
            let (program, mut bytes) = (plans.program, Vec::new());
            let since = (member.since > 0).then_some(member.since);
            let mut written =
                MigrationWriter { plans, env, id, stored: Vec::new(), since, is_whole: false };
            written.migrate_changed(&mut value)?;
            write_value(&mut written, program.layout(), node, &value, &mut bytes)?;
            let converted = written.stored;
            plans.reader(&env.limits).charge(1, bytes.len())?;
            *chain = chain.with(bytes);
            let bytes = chain.bytes();
            let (mut steps, mut start) = (Vec::new(), 0);
            let mut add = |bytes| {
                pieces.push(bytes);
                named.push(piece(&member.name));
                pieces.len() - 1 - first
            };
            // Records that no migration has changed are in their stored form here. Each becomes a piece of its own,
            // which is rewritten by its own plan, with its unknown data and its own migration.
            for (range, conversion) in converted {
                steps.push(FieldSource::Copy(add(&bytes[start..range.start])));
                start = range.end;
                steps.push(FieldSource::Convert { piece: add(&bytes[range]), conversion });
            }
            steps.push(FieldSource::Copy(add(&bytes[start..])));
            Ok(steps)
        };
        let mut plan = plans.fields(&given, &expected, &mut make)?;
        plan.rows.extend(newer);
        plan.pieces = named;
        plan.converted.sort_unstable();
        plan.steps.push(RecordStep::Write(0..plan.sources.len()));
        let places = found.into_iter().map(|member| member.place).collect();
        self.open_pieces(Arc::new(plan), first, places, frames);
        Ok(())
    }

    /// The program's variant of this name; of a struct 0.
    fn target_variant(&self, target: usize, name: Option<&str>) -> Option<usize> {
        let Some(name) = name else { return Some(0) };
        find_variant(name, self.plans.program.targets[target]?.class.variants())
    }

    /// Reads which fields follow: of a struct, of a variant, or of a variant that was kept.
    fn head(&mut self, class: usize, target: usize) -> Result<NamedClass<'t>> {
        let stored = self.stored;
        if let Form::Struct(_) = &stored[class].form {
            return Ok(NamedClass { class, variant: None, number: 0, is_unknown: false });
        }
        let (number, schema) = self.read_tag(class)?;
        let previous = self.input.rest();
        if let [FieldSchema { kind: KindSchema::Unknown, .. }] = &schema.fields[..]
            && count::decode(&mut self.input).map_err(fault)? == 1
        {
            // A kept variant is one value, of an enum with that variant alone.
            let unknown = dynamic(stored, &mut self.input).map_err(fault)?;
            if let Form::Enum(variants) = &stored[unknown].form
                && let [variant] = &variants[..]
            {
                if self.input.take(1).map_err(fault)? != [0] {
                    return Err(fault(Fail::Value));
                }
                let is_known = self.target_variant(target, Some(&variant.name)).is_some();
                let variant = Some((number, &*variant.name));
                return Ok(NamedClass {
                    class: unknown,
                    variant,
                    number: 0,
                    is_unknown: !is_known,
                });
            }
        }
        self.input.go_back(previous);
        Ok(NamedClass { class, variant: Some((number, &schema.name)), number, is_unknown: false })
    }

    /// The fields that follow, then those that were kept among them.
    fn found(&mut self, head: &NamedClass<'t>) -> Result<Vec<Member<'t>>> {
        let (stored, first) = (self.stored, self.stored.first(head.class, head.number));
        let names = self.plans.reader(&self.env.limits).names(stored, head.class);
        let names = &names.variants[head.number].fields;
        let (mut found, mut unknown) = (Vec::new(), Vec::new());
        let fields = stored.fields(head.class, head.number);
        for ((node, field), (name, number)) in (first..).zip(fields).zip(names) {
            if field.kind == KindSchema::Unknown {
                self.unknown_fields(head.variant.map(|(_, name)| name), &mut unknown)?;
                continue;
            }
            let bytes = self.consume(node, 1)?;
            found.push(Member {
                name: name.clone(),
                number: *number,
                stored: Some(node),
                unknown_class: Some(stored.unknown_field(node)),
                bytes,
                place: Some(self.place_of(bytes)),
                ..Member::default()
            });
        }
        // A migration finds what was stored first, wherever the kept fields stand.
        found.append(&mut unknown);
        Ok(found)
    }

    /// Reads what an earlier program kept of a record.
    fn unknown_fields(&mut self, variant: Option<&str>, found: &mut Vec<Member<'t>>) -> Result<()> {
        let count = count::decode(&mut self.input).map_err(fault)?;
        for _ in 0..count {
            let class = dynamic(self.stored, &mut self.input).map_err(fault)?;
            let bytes = self.consume(self.stored.root(class), 1)?;
            let member = self.unknown_field(class, variant, bytes, self.place_of(bytes));
            found.push(member.ok_or_else(|| fault(Fail::Value))?);
        }
        Ok(())
    }

    /// Finds the fields that still have the values that a program synthesized for them, and drops the copies of those.
    fn settle_synthesized(&self, found: &mut Vec<Member<'t>>) {
        let stored = self.stored;
        let is_copy = |member: &Member<'_>| {
            let class = member.unknown_class.filter(|_| member.origin != Origin::Written);
            class.is_some_and(|class| stored.get(class).is_some_and(ClassSchema::is_synthesized))
        };
        if !found.iter().any(is_copy) {
            return;
        }
        let (copies, mut fields): (Vec<_>, Vec<_>) = found.drain(..).partition(is_copy);
        // By name, since a record may have any number of fields and copies: comparing each with each would take
        // quadratic time.
        let mut by_name: HashMap<(Arc<str>, Option<u32>), usize> = HashMap::new();
        for (at, field) in fields.iter().enumerate() {
            if field.origin == Origin::Written {
                by_name.insert((field.name.clone(), field.number), at);
            }
        }
        let kind = |node: Option<usize>| node.map(|node| &stored.node(node).kind);
        for copy in copies.iter().filter(|copy| copy.origin == Origin::Unknown) {
            let Some(at) = by_name.get(&(copy.name.clone(), copy.number)) else { continue };
            let field = &mut fields[*at];
            // Equal bytes of another kind are another value.
            if field.bytes == copy.bytes && kind(field.stored) == kind(copy.stored) {
                (field.origin, field.is_synthesized) = (Origin::Synthesized, true);
            }
        }
        *found = fields;
    }

    /// Where the bytes are in the payload that were taken last.
    fn place_of(&self, bytes: &[u8]) -> UnknownLocation {
        let end = self.payload.len().saturating_sub(self.input.rest().len());
        UnknownLocation::Payload(end.saturating_sub(bytes.len())..end)
    }

    /// Enters the one field of an unknown value of this class.
    fn unknown_field(
        &mut self,
        class: usize,
        variant: Option<&str>,
        bytes: &'t [u8],
        place: UnknownLocation,
    ) -> Option<Member<'t>> {
        let Form::Struct(fields) = &self.stored[class].form else { return None };
        let [field] = &fields[..] else { return None };
        let node = self.stored.first(class, 0);
        let is_own = |variant: &str| {
            self.stored[class].name.ends_with(&format!("::{variant}.{}", field.name))
        };
        let origin =
            if variant.is_none_or(is_own) { Origin::Unknown } else { Origin::OtherVariant };
        let names = self.plans.reader(&self.env.limits).names(self.stored, class);
        Some(Member {
            name: names.variants[0].fields[0].0.clone(),
            number: field.id,
            origin,
            stored: Some(node),
            unknown_class: Some(class),
            bytes,
            place: Some(place),
            ..Member::default()
        })
    }

    /// Runs the migrations of a record over what it has.
    fn migrated(
        &mut self,
        class: usize,
        version: u32,
        target: usize,
        described: &Class,
        found: Vec<Member<'t>>,
        variant: Option<String>,
    ) -> Result<(Vec<Member<'t>>, Option<String>)> {
        let stored = self.stored;
        let schema = &stored[class];
        // Before anything is read.
        watched(self.plans, self.env);
        let mut record = match variant {
            Some(variant) => Record::with_variant(&*schema.name, variant),
            None => Record::new(&*schema.name),
        };
        for (i, field) in found.iter().enumerate() {
            let Some(node) = field.stored else { continue };
            let mut links = NoLinks::default();
            let mut input = Decoder::new(field.bytes, self.env, &mut links);
            let value = self
                .plans
                .reader(&self.env.limits)
                .value(stored, node, &mut input)
                .map_err(|error| error.in_field(&field.name))?;
            let (name, number, origin) = (field.name.clone(), field.number, field.origin);
            record.fields.push(Field {
                name,
                number,
                value,
                origin,
                since: 0,
                place: Some(i),
                seen: Seen::default(),
            });
        }
        migrate(&mut record, version, target, described, self.plans, self.env, self.id)?;
        let detail = format!("version {version} to {}", described.version);
        self.plans.happened(LoadEvent::Migrated, &schema.name, "", &detail, self.id);
        let mut found: Vec<Option<Member<'t>>> = found.into_iter().map(Some).collect();
        let variant = record.variant().map(str::to_owned);
        let fields = std::mem::take(&mut record.fields).into_iter().map(|field| {
            // A field that the migration left unchanged keeps its bytes, and is never written from its value.
            let found = field.place.and_then(|place| found.get_mut(place)?.take());
            match found {
                Some(found) => Member {
                    name: field.name,
                    number: field.number,
                    origin: field.origin,
                    since: field.since,
                    // Under its old name it would come back as what it no longer is.
                    unknown_class: found.unknown_class.filter(|_| field.origin != Origin::Created),
                    ..found
                },
                None => Member {
                    name: field.name,
                    origin: Origin::Created,
                    since: field.since,
                    made: Cell::new(Some(field.value)),
                    ..Member::default()
                },
            }
        });
        Ok((fields.collect(), variant))
    }

    /// Takes those fields out that no migration is to see: the program knows them as they are, or they
    /// are of another variant. Copies of others are dropped.
    fn withhold(
        &mut self,
        class: usize,
        target: usize,
        variant: Option<&str>,
        found: &mut Vec<Member<'t>>,
    ) -> Vec<Member<'t>> {
        let number = self.target_variant(target, variant);
        let records =
            number.map_or(&[][..], |number| self.plans.program.expected(target, number).records);
        let pairing = pair(found, records);
        let mut withheld = Vec::new();
        for (i, field) in std::mem::take(found).into_iter().enumerate() {
            let is_source = || pairing.sources.contains(&Some(i));
            match field.origin {
                Origin::OtherVariant => withheld.push(field),
                Origin::Unknown if pairing.is_superseded[i] => {
                    let name = &self.stored[class].name;
                    let path = StoredFields { class: name, variant, version: None, members: &[] }
                        .path(&field.name);
                    self.plans.happened(LoadEvent::Superseded, name, &path, "", self.id);
                }
                Origin::Unknown if is_source() => withheld.push(field),
                _ => found.push(field),
            }
        }
        withheld
    }

    /// Opens a value that was an object with kept fields, if it still has fields.
    pub(super) fn open_unknown(
        &mut self,
        class: usize,
        of: usize,
        unknown: &[(usize, &'t [u8])],
        frames: &mut Vec<TranscodeFrame<'t>>,
    ) -> Result<bool> {
        let target = match self.plans.conversions[of] {
            Conversion::Class(plan) => Some(self.plans.plans[plan].target),
            Conversion::Copy(_) => self.plans.resolve(class),
            _ => None,
        };
        let target = target.filter(|_| !matches!(self.stored[class].form, Form::Value(_)));
        if let Some(target) = target {
            self.open_named(class, target, unknown, frames)?;
            return Ok(true);
        }
        for (part, _) in unknown {
            let name = self.stored.schema(*part).map_or_else(String::new, |part| part.name.clone());
            self.plans.happened(LoadEvent::Dropped, &name, "", "", self.id);
        }
        Ok(false)
    }

    /// Continues in the record of an object that is a value now.
    pub(super) fn inline(
        &mut self,
        class: usize,
        holder: Holder,
        shared: usize,
    ) -> Result<(TranscodeFrame<'t>, UnknownValues<'t>)> {
        let id = count::decode(&mut self.input).map_err(fault)?;
        let Some(InlinedObject { payload, unknown }) = (self.objects)(id, class, holder) else {
            return Err(Error::new(
                ErrorKind::MissingObject,
                format!(
                    "the reference is to object #{id}, which the save does not hold as a {}; it is damaged or malicious",
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
        // A save can chain 100,000 objects. As one value, they would be nested deeper than any decoder takes. The limit
        // also bounds the search above.
        if self.inlined.len() as u64 > u64::from(self.env.limits.depth) {
            return Err(Error::new(
                ErrorKind::TooDeep,
                "objects that are values now are nested deeper than `Limits::depth`; raise it, or keep the pointers",
            ));
        }
        self.inlined.push(id);
        // The first value takes over the bytes of the object, so they are input. Each further one is a copy.
        if self.plans.inlined.contains_key(&id) {
            self.plans.rows.count(shared, 1, self.id);
            // A copy takes more than its bytes, and a few objects could ask for any number.
            self.plans.after += COPY;
        } else {
            self.plans.inlined.insert(id, (shared, self.id));
            self.plans.rewritten += payload.len() as u64;
        }
        // Each of 60 objects can hold the next one twice: 2^60 copies. So the limit is checked before each copy.
        self.check(self.out.len().saturating_add(payload.len()))?;
        let after = self.input.rest();
        self.input.go_back(payload);
        Ok((TranscodeFrame::Inlined { after }, unknown))
    }

    /// Makes an object of the last bytes.
    pub(super) fn end_shared(&mut self, class: usize, holder: Holder, start: usize) -> Result<()> {
        self.check(self.out.len())?;
        // `+ 1`, since a default without bytes may begin where the output ends.
        let all = &mut self.extras.defaulted;
        let defaulted: Vec<_> = DefaultedField::moved(all, start..self.out.len() + 1, 0).collect();
        DefaultedField::truncate(all, start);
        let payload = self.out.split_off(start);
        let id = *self.next_id;
        *self.next_id += 1;
        let shared = SharedValue { id, class, holder, payload, defaulted };
        self.shared_bytes += shared.bytes();
        self.extras.shared.push(shared);
        count::push(id, self.out);
        Ok(())
    }
}

/// Bytes that are made while others that were made before are read: a list that grows at its end.
#[derive(Default)]
pub(super) struct ByteChain {
    bytes: Vec<u8>,
    next: OnceCell<Box<Self>>,
}

impl ByteChain {
    /// Holds bytes after these, which are the last ones.
    fn with(&self, bytes: Vec<u8>) -> &Self {
        // Pieces of the record borrow the bytes of all earlier links, so a link is added through `&`. A list of buffers
        // would need `&mut`.
        self.next.get_or_init(|| Box::new(Self { bytes, next: OnceCell::new() }))
    }

    fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// Without recursion: a record may have any number of fields that are made.
impl Drop for ByteChain {
    fn drop(&mut self) {
        let mut next = self.next.take();
        while let Some(mut link) = next {
            next = link.next.take();
        }
    }
}

//! The fields of a class: which stored one becomes which of the program's.

use std::sync::Arc;

use hashbrown::HashSet;

use super::meaning::Meaning;
use super::{
    Conversion, FieldName, FieldSource, Member, Piece, Plans, RecordPlan, RecordStep, StoredFields,
    UnknownFieldStep, shortened,
};
use crate::schema::event::{IN_PLACE_OF_DEFAULT, REMOVED};
use crate::schema::pairing::{find_variant, pair};
use crate::schema::program::ProgramFields;
use crate::schema::{
    FieldPlace, FieldSchema, Form, KindSchema, LoadEvent, ProgramClass, VariantSchema, rust_type,
};
use crate::value::Origin;
use crate::{Error, ErrorKind, Result};

/// The detail of unknown fields that were dropped since nothing can hold them.
const NO_PLACE: &str = "mark a field of the class `#[persist(unknown)]` to keep it";

/// Records of more pieces are no small ones.
pub(super) const PIECES: usize = 24;

/// Writes what a migration has made of a member as a field of the program's: the sources that are its pieces.
type Make<'m, 'p> = dyn FnMut(&mut Plans<'p>, usize, FieldPlace) -> Result<Vec<FieldSource>> + 'm;

impl<'p> Plans<'p> {
    /// Plans the stored fields of a struct or a variant.
    pub(super) fn stored_fields(
        &mut self,
        class: usize,
        variant: usize,
        new: &ProgramFields<'_>,
    ) -> Result<RecordPlan> {
        let all = self.stored.clone();
        let members = all.members(class, variant);
        let given = StoredFields::new(&all, class, variant, &members);
        self.all_fields(&given, new)
    }

    /// Plans fields that follow one another.
    pub(super) fn all_fields(
        &mut self,
        old: &StoredFields<'_>,
        new: &ProgramFields<'_>,
    ) -> Result<RecordPlan> {
        let mut plan = self.fields(old, new, &mut |_, _, _| Ok(Vec::new()))?;
        self.join(&mut plan, old.members);
        self.order(&mut plan);
        plan.growth = self.growth(&plan);
        Ok(plan)
    }

    /// Plans the fields of a record; each of its members is a piece.
    pub(super) fn fields(
        &mut self,
        old: &StoredFields<'_>,
        new: &ProgramFields<'_>,
        make: &mut Make<'_, 'p>,
    ) -> Result<RecordPlan> {
        let all = self.stored.clone();
        let pairing = pair(old.members, new.records);
        pairing
            .check(old.class, old.members, new.records)
            .map_err(|error| error.in_field(old.variant.unwrap_or_default()))?;
        let mut plan = RecordPlan {
            variant: old.variant.map(Arc::from),
            is_newtype: old.version.is_some()
                && old.variant.is_none()
                && matches!(old.members, [member] if &*member.name == "0"),
            target: (new.class, new.variant),
            pieces: Vec::new(),
            converted: Vec::new(),
            sources: Vec::new(),
            steps: Vec::new(),
            unknown: Vec::new(),
            marks: false,
            has_room: new.records.iter().any(|record| record.keeps_unknown),
            rows: Vec::new(),
            growth: None,
        };
        let mut is_free = vec![true; old.members.len()];
        // The fields with synthesized values, and where their sources are.
        let mut synthesized = Vec::new();
        for (field, (source, made)) in pairing.sources.into_iter().zip(pairing.made).enumerate() {
            let expected = &new.fields[field];
            let Some(mut source) = source else {
                let (source, event) = self.without_source(old, new, field)?;
                if let Some(event) = event {
                    plan.rows.push(self.rows.row(event, old.class, &old.path(&expected.name), ""));
                    synthesized.push((field, plan.sources.len()..plan.sources.len() + 1));
                }
                plan.sources.push(source);
                continue;
            };
            is_free[source] = false;
            let path = old.path(&old.members[source].name);
            let place = FieldName { class: old.class, field: &path };
            let convert = |plans: &mut Self, source: usize| {
                let member = &old.members[source];
                let version = old.version.map(|version| member.since.max(version));
                plans.field_conversion(member.stored?, version, new, field, &place)
            };
            let mut conversion = convert(self, source);
            if let Some(made) = made {
                is_free[made] = false;
                let is_synthesized = old.members[made].origin == Origin::Synthesized;
                let (event, detail) = if conversion.is_some() {
                    (LoadEvent::Restored, if is_synthesized { IN_PLACE_OF_DEFAULT } else { "" })
                } else {
                    // A migration may also have left it as it is stored, under another name.
                    source = made;
                    conversion = convert(self, source);
                    (LoadEvent::Superseded, "")
                };
                plan.rows.push(self.rows.row(event, old.class, &path, detail));
            }
            let first = plan.sources.len();
            let in_expected = |error: Error| error.in_field(&old.path(&expected.name));
            match (old.members[source].stored, conversion) {
                (None, _) => {
                    // It is not known where in the field the records lie that the migration has moved.
                    let made = make(self, source, new.place(field));
                    plan.sources.extend(made.map_err(in_expected)?);
                }
                (Some(node), Some(conversion)) => {
                    let kind = &all.node(node).kind;
                    plan.rows.extend(self.converted(kind, &expected.kind, &place));
                    plan.sources.push(match self.conversions[conversion] {
                        Conversion::Copy(_) => FieldSource::Copy(source),
                        _ => {
                            plan.converted.push((source, field));
                            FieldSource::Convert { piece: source, conversion }
                        }
                    });
                }
                (Some(node), None) => {
                    return Err(in_expected(self.field_mismatch(old.class, node, new, field)));
                }
            }
            if old.members[source].is_synthesized {
                synthesized.push((field, first..plan.sources.len()));
            }
        }
        for (piece, member) in old.members.iter().enumerate().filter(|(i, _)| is_free[*i]) {
            let path = old.path(&member.name);
            let mut row = |event, detail| self.rows.row(event, old.class, &path, detail);
            if member.origin == Origin::Synthesized {
                // Nobody has chosen it. If it was kept, it would count as chosen for the next program that has it.
                continue;
            }
            if pairing.is_superseded[piece] {
                plan.rows.push(row(LoadEvent::Superseded, ""));
                continue;
            }
            let is_removed = new.removed.contains(&&*member.name);
            match member.unknown_class.filter(|_| !self.options.drop_unknown && !is_removed) {
                Some(class) => plan.unknown.push(UnknownFieldStep {
                    piece,
                    class,
                    retained_row: (class >= self.stored.len()).then(|| row(LoadEvent::Kept, "")),
                    dropped_row: (!plan.has_room).then(|| row(LoadEvent::Dropped, NO_PLACE)),
                }),
                None => {
                    let detail = if is_removed { REMOVED } else { "" };
                    plan.rows.push(row(LoadEvent::Dropped, detail));
                }
            }
        }
        if !plan.unknown.is_empty() && !synthesized.is_empty() {
            plan.mark(&synthesized);
        }
        Ok(plan)
    }

    /// Makes one piece of neighbours that are taken over, or skipped, together.
    fn join(&self, plan: &mut RecordPlan, members: &[Member<'_>]) {
        // For each member the field that it becomes, and whether as it is.
        let mut uses = vec![None; members.len()];
        for (i, source) in plan.sources.iter().enumerate() {
            match *source {
                FieldSource::Copy(piece) => uses[piece] = Some((i, true)),
                FieldSource::Convert { piece, .. } => uses[piece] = Some((i, false)),
                _ => {}
            }
        }
        plan.unknown.iter().for_each(|keep| uses[keep.piece] = Some((0, false)));
        let mut places = Vec::with_capacity(members.len());
        for (i, member) in members.iter().enumerate() {
            let joins = i > 0
                && match (uses[i - 1], uses[i]) {
                    (Some((previous, true)), Some((this, true))) => this == previous + 1,
                    (previous, this) => previous.is_none() && this.is_none(),
                };
            match plan.pieces.last_mut().filter(|_| joins) {
                Some(last) => last.nodes.end += 1,
                None => {
                    let node = member.stored.unwrap_or(0);
                    let name = member.name.clone();
                    plan.pieces.push(Piece { name, nodes: node..node + 1, span: None });
                }
            }
            places.push(plan.pieces.len() - 1);
        }
        for piece in &mut plan.pieces {
            piece.span = self.stored.span(piece.nodes.clone());
        }
        for source in &mut plan.sources {
            if let FieldSource::Copy(piece) | FieldSource::Convert { piece, .. } = source {
                *piece = places[*piece];
            }
        }
        plan.sources.dedup();
        plan.unknown.iter_mut().for_each(|keep| keep.piece = places[keep.piece]);
        plan.converted.iter_mut().for_each(|(piece, _)| *piece = places[*piece]);
        plan.converted.sort_unstable();
    }

    /// Orders the steps of a record. Each piece is converted in stored order. The result waits if the program has
    /// earlier fields that are not known yet.
    fn order(&self, plan: &mut RecordPlan) {
        let RecordPlan { pieces, sources, steps, .. } = plan;
        let mut converted: Vec<(usize, usize, usize)> = Vec::new();
        for (i, source) in sources.iter_mut().enumerate() {
            let FieldSource::Convert { piece, conversion } = *source else { continue };
            let by = match self.conversions[conversion] {
                Conversion::Number { from, to, .. } => to.widening(from),
                _ => None,
            };
            match by {
                Some(by) => *source = FieldSource::Widen { piece, by },
                None => converted.push((piece, i, conversion)),
            }
        }
        converted.sort_unstable();
        let (mut consumed, mut written, mut early) = (0, 0, 0);
        for (piece, field, conversion) in converted {
            if consumed < piece {
                steps.push(RecordStep::Take(consumed..piece));
            }
            consumed = piece + 1;
            let is_known = |source: &FieldSource| match *source {
                FieldSource::Copy(of)
                | FieldSource::Convert { piece: of, .. }
                | FieldSource::Widen { piece: of, .. } => of < piece,
                FieldSource::Unknown => false,
                _ => true,
            };
            if !sources.get(written..field).is_some_and(|previous| previous.iter().all(is_known)) {
                sources[field] = FieldSource::Early(early);
                early += 1;
                steps.push(RecordStep::Early(conversion));
                continue;
            }
            if written < field {
                steps.push(RecordStep::Write(written..field));
            }
            written = field + 1;
            steps.push(RecordStep::Convert(conversion));
        }
        if consumed < pieces.len() {
            steps.push(RecordStep::Take(consumed..pieces.len()));
        }
        if written < sources.len() {
            steps.push(RecordStep::Write(written..sources.len()));
        }
    }

    /// By how many bytes each record grows, if it is one of a few numbers and short texts, such as an item in a bag.
    fn growth(&self, plan: &RecordPlan) -> Option<usize> {
        let mut nodes = plan.pieces.iter().flat_map(|piece| piece.nodes.clone());
        let is_small = plan.pieces.len() <= PIECES && !plan.sources.is_empty();
        if !is_small || !plan.unknown.is_empty() || !nodes.all(|node| self.stored.is_flat(node)) {
            return None;
        }
        plan.sources.iter().try_fold(0, |growth, source| match *source {
            FieldSource::Copy(_) => Some(growth),
            FieldSource::Widen { by, .. } => Some(growth + by.to() - by.from()),
            _ => None,
        })
    }

    /// Checks that a field of the program's struct or variant gets what the save has as its source, or a default.
    ///
    /// # Errors
    ///
    /// Returns an error if the field of the save does not become that of the program.
    pub fn check_field(
        &mut self,
        (class, old): (usize, usize),
        source: Option<usize>,
        (target, new): (usize, usize),
        field: usize,
    ) -> Result<()> {
        let all = self.stored.clone();
        let members = all.members(class, old);
        let old = StoredFields::new(&all, class, old, &members);
        let new = self.program.expected(target, new);
        let Some(source) = source.map(|source| &members[source]) else {
            return self.without_source(&old, &new, field).map(drop);
        };
        let path = old.path(&source.name);
        let place = FieldName { class: old.class, field: &path };
        match source.stored {
            Some(node)
                if self.field_conversion(node, old.version, &new, field, &place).is_none() =>
            {
                let error = self.field_mismatch(old.class, node, &new, field);
                Err(error.in_field(&old.path(&new.fields[field].name)))
            }
            _ => Ok(()),
        }
    }

    /// The conversion of a value that a version of a class stored to a field of the program; the version is `None` for
    /// a value that stood without the class.
    pub(super) fn field_conversion(
        &mut self,
        node: usize,
        version: Option<u32>,
        new: &ProgramFields<'_>,
        field: usize,
        place: &FieldName<'_>,
    ) -> Option<usize> {
        let key = (node, new.place(field));
        if let Some(known) = self.fields.get(&key) {
            return Some(*known);
        }
        let expected = &new.fields[field].kind;
        let found = match Meaning::of_stored(self, node, version, &new.records[field], key.1)? {
            Meaning::Own => self
                .conversion(node, expected, place)
                .or_else(|| self.longer(node, new, field, place))?,
            Meaning::Older(number) => {
                let of = self.conversion(node, &self.program.old_kinds[&key.1][number], place)?;
                self.enter(Conversion::Typed { of, field: new.place(field), number })
            }
        };
        let skipping = match new.records[field].skips_failed {
            true => self.skipped_part(node, found),
            false => None,
        };
        let found = match skipping {
            Some((node, is_option)) => {
                let field = new.place(field);
                self.enter(Conversion::Skipping { of: found, node, is_option, field })
            }
            None => found,
        };
        self.fields.insert(key, found);
        Some(found)
    }

    /// The first node of what is skipped of a container, and whether that is an option: of an option the whole value is
    /// skipped, of others an element.
    fn skipped_part(&self, node: usize, of: usize) -> Option<(usize, bool)> {
        let (mut container, mut of) = (node, of);
        loop {
            match (self.conversions[of], &self.stored.node(container).kind) {
                (Conversion::Option(_) | Conversion::Some(_), _) => return Some((node, true)),
                // The container was an object, or what a class is that stands for its one value.
                (Conversion::Inline { class, of: inner, .. }, _) => {
                    (container, of) = (self.stored.root(class), inner);
                }
                (
                    Conversion::Elements { .. } | Conversion::Map { .. },
                    KindSchema::Class(class),
                ) => {
                    let Form::Value(_) = self.stored[*class].form else { return None };
                    container = self.stored.first(*class, 0);
                }
                (Conversion::Elements { .. } | Conversion::Map { .. }, _) => {
                    return Some((self.stored.node(container).first(), false));
                }
                _ => return None,
            }
        }
    }

    /// The conversion of an array to a longer one, if the field has a default.
    fn longer(
        &mut self,
        node: usize,
        new: &ProgramFields<'_>,
        field: usize,
        place: &FieldName<'_>,
    ) -> Option<usize> {
        let expected = &new.fields[field].kind;
        let (KindSchema::Array(_, from), KindSchema::Array(part, to)) =
            (&self.stored.node(node).kind, expected)
        else {
            return None;
        };
        let from = *from;
        if from >= *to || !new.records[field].has_default {
            return None;
        }
        let short = KindSchema::Array(part.clone(), from);
        let of = self.conversion(node, &short, place)?;
        let detail = format!("elements {from} to {}", to - 1);
        let row = self.rows.row(LoadEvent::Defaulted, place.class, place.field, &detail);
        Some(self.enter(Conversion::Longer { of, from, field: new.place(field), row }))
    }

    /// Returns the source of a field that the save does not have, and its event for the report.
    fn without_source(
        &self,
        old: &StoredFields<'_>,
        new: &ProgramFields<'_>,
        field: usize,
    ) -> Result<(FieldSource, Option<LoadEvent>)> {
        let (name, record) = (&new.fields[field].name, &new.records[field]);
        if record.keeps_unknown {
            return Ok((FieldSource::Unknown, None));
        }
        if record.has_default {
            return Ok((FieldSource::Default(field), Some(LoadEvent::Defaulted)));
        }
        if self.options.fill {
            return Ok((FieldSource::Empty(field), Some(LoadEvent::Filled)));
        }
        let path = old.path(name);
        Err(Error::new(
            ErrorKind::MissingField,
            format!(
                "the save does not have field {name} of {}; give it `#[persist(default)]`, or `#[persist(alias = \"old name\")]` if it was renamed",
                old.class
            ),
        )
        .in_field(&path))
    }

    /// The row of a value that is converted.
    pub(super) fn converted(
        &mut self,
        kind: &KindSchema,
        expected: &KindSchema,
        place: &FieldName<'_>,
    ) -> Option<usize> {
        (!self.matched.is_compatible(kind, expected))
            .then(|| self.kinds_row(LoadEvent::Converted, kind, expected, place))
    }

    /// The row of what happens to a value of one kind that becomes one of another.
    pub(super) fn kinds_row(
        &mut self,
        event: LoadEvent,
        stored: &KindSchema,
        expected: &KindSchema,
        place: &FieldName<'_>,
    ) -> usize {
        let (stored, expected) =
            (stored.display(&self.stored), expected.display(&self.program.classes));
        let detail = format!("{} to {}", shortened(&stored), shortened(&expected));
        self.rows.row(event, place.class, place.field, &detail)
    }

    /// The error for a field that cannot become what the program has.
    fn field_mismatch(
        &self,
        class: &str,
        node: usize,
        new: &ProgramFields<'_>,
        field: usize,
    ) -> Error {
        let stored = &self.stored.node(node).kind;
        let (expected, record) = (&new.fields[field], &new.records[field]);
        let name = &expected.name;
        // The field inside of a newtype names the kinds that it takes, so the message is about that field.
        if let KindSchema::Class(target) = expected.kind
            && self.program.classes[target].newtype().is_some()
            && stored.classes().is_empty()
            && let inner = self.program.expected(target, 0)
            && inner.records[0].names_its_kinds()
            && inner.fields[0].kind != *stored
            && !record.names_its_kinds()
        {
            return self.field_mismatch(&self.program.classes[target].name, node, &inner, 0);
        }
        if !record.names_its_kinds() {
            return self.mismatch(&format!("field {name} of {class}"), stored, &expected.kind);
        }
        let (stored, classes) = (stored.display(&self.stored), &self.program.classes);
        let old = self.program.old_kinds.get(&new.place(field)).map_or(&[][..], |old| old);
        let kinds: Vec<_> = old.iter().map(|old| old.display(classes)).collect();
        let takes = match &kinds[..] {
            [] => String::from(", which is restored by a function"),
            kinds => format!(", and its `convert` takes {}", kinds.join(" and ")),
        };
        let cure = match record.has_module {
            true => String::from(
                "the older module, and the values of the other one by a `migrate` of the class",
            ),
            false => format!(
                "a function that takes {stored}, where a struct or an enum has the name that it had, `#[persist(class = \"...\")]`"
            ),
        };
        let parts = record.converts.iter().zip(&kinds);
        let parts = parts.map(|(from, kind)| from.text(&rust_type(kind)));
        let parts: Vec<_> = parts.chain([format!("as {}", rust_type(&stored))]).collect();
        Error::new(
            ErrorKind::KindMismatch,
            format!(
                "the save holds {stored} where field {name} of {class} is {}{takes}; if a value of {stored} means the same, write `#[persist(convert({}))]`, else give it {cure}",
                expected.kind.display(classes),
                parts.join(", ")
            ),
        )
    }

    /// The error for a value that cannot become what the program has.
    pub(super) fn mismatch(&self, what: &str, stored: &KindSchema, expected: &KindSchema) -> Error {
        let names =
            |(old, new): (usize, usize)| (&self.stored[old].name, &self.program.classes[new].name);
        let is_std =
            |class: usize| self.program.targets[class].is_some_and(|target| target.class.is_std());
        let differing = self.differing_classes(stored, expected).filter(|(_, new)| !is_std(*new));
        let instances: Vec<&str> = differing
            .filter(|(old, new)| self.matched.is_related(*old, self.program, *new))
            .into_iter()
            .flat_map(|(old, _)| self.program.candidates(&self.stored[old]))
            .map(|class| &*self.program.classes[class].name)
            .collect();
        let is_own = |name: &str| {
            let mut targets = self.program.targets.iter().flatten();
            targets.any(|ProgramClass { class, .. }| class.base_name() == name && !class.is_std())
        };
        // Known classes differ in their generic arguments alone.
        let is_unknown = |name: &str| {
            let mut classes = self.stored.iter().enumerate();
            classes.any(|(i, class)| class.name == name && self.resolve(i).is_none())
        };
        let renamed = differing.map(names).map(|(old, new)| renamed_part(old, new));
        // The class of what `#[persist(serde)]` stores.
        let is_of_serde = |kind: &KindSchema, classes: &[crate::schema::ClassSchema]| matches!(kind, KindSchema::Class(class) if classes[*class].name == "persist.Any");
        let advice = match renamed.filter(|(_, new)| is_own(new.split('<').next().unwrap_or(new))) {
            _ if is_of_serde(stored, &self.stored)
                || is_of_serde(expected, &self.program.classes) =>
            {
                String::from(
                    "keep `#[persist(serde)]` as it was, or give the field `#[persist(convert = function)]`, where a transparent newtype around a field with `serde` stands for that form",
                )
            }
            _ if instances.len() > 1 => format!(
                "an object of it could become any of {}; register one of these alone, or keep the old type",
                instances.join(", ")
            ),
            // An alias that is the name of another class is refused.
            Some((old, new))
                if (instances.is_empty() || is_unknown(old))
                    && self.program.classes.iter().all(|class| class.name != *old) =>
            {
                format!("if {new} is what {old} was, give it `#[persist(alias = \"{old}\")]`")
            }
            _ if self.matched.has_other_pointer(stored, expected) => String::from(
                "an object has one sort of pointer: change it in all fields that hold the object, or keep the old type",
            ),
            _ if stored.refers() || expected.refers() => String::from(
                "give the class that holds it `#[persist(version = 2, migrate(1 = function))]`, or keep the old type",
            ),
            _ if matches!(
                (stored, expected),
                (KindSchema::Tuple(_), KindSchema::Class(class)) if !is_std(*class)
            ) =>
            {
                String::from(
                    "to take a tuple by position, give the fields `#[persist(alias = \"0\")]`, `#[persist(alias = \"1\")]` and so on",
                )
            }
            _ => String::from(
                "give the field `#[persist(convert = function)]`, a function from the old type to the new one, or keep the old type",
            ),
        };
        Error::new(
            ErrorKind::KindMismatch,
            format!(
                "the save holds {} where {what} is {}; {advice}",
                stored.display(&self.stored),
                expected.display(&self.program.classes)
            ),
        )
    }

    /// The classes by which two kinds of one shape differ: a stored one and one
    /// of the program.
    fn differing_classes(
        &self,
        stored: &KindSchema,
        expected: &KindSchema,
    ) -> Option<(usize, usize)> {
        let mut found = None;
        stored.is_like(expected, false, &mut |a, b| {
            let is_same = self.resolve(a) == Some(b);
            found = found.or((!is_same).then_some((a, b)));
            is_same
        });
        found
    }

    /// Returns the stored classes without a name of their own, such as that of an `Rc<str>`, that only `removed` fields
    /// refer to. Their objects are dropped with those fields.
    pub(crate) fn removed_with_fields(
        &self,
        is_removed_class: impl Fn(&str) -> bool,
    ) -> HashSet<usize> {
        let says = |target: &ProgramClass| {
            !target.class.removed.is_empty()
                || target.class.variants().iter().any(|variant| !variant.removed.is_empty())
        };
        if !self.program.targets.iter().flatten().any(says) {
            return HashSet::new();
        }
        let count = self.stored.len();
        let (mut removed, mut used) = (vec![false; count], vec![false; count]);
        let mut leads = vec![Vec::new(); count];
        for (holder, leads) in leads.iter_mut().enumerate() {
            let goes =
                self.resolve(holder).is_none() && is_removed_class(&self.stored[holder].name);
            let mut of_field = |variant: Option<&VariantSchema>, field: &FieldSchema| {
                let is_removed = goes || self.is_removed_field(holder, variant, field);
                let marks = if is_removed { &mut removed } else { &mut used };
                field
                    .kind
                    .visit(&mut |kind| kind.target().into_iter().for_each(|it| marks[it] = true));
            };
            match &self.stored[holder].form {
                Form::Struct(fields) => fields.iter().for_each(|field| of_field(None, field)),
                Form::Enum(variants) => variants.iter().for_each(|variant| {
                    variant.fields.iter().for_each(|field| of_field(Some(variant), field));
                }),
                Form::Value(kind) => kind.visit(&mut |kind| leads.extend(kind.target())),
            }
        }
        let spread = |marks: &mut Vec<bool>| {
            let mut next: Vec<usize> = (0..count).filter(|class| marks[*class]).collect();
            while let Some(class) = next.pop() {
                for to in &leads[class] {
                    if !std::mem::replace(&mut marks[*to], true) {
                        next.push(*to);
                    }
                }
            }
        };
        spread(&mut removed);
        // A class outside of all removed fields may have objects of its own.
        for class in (0..count).filter(|class| !removed[*class]) {
            leads[class].iter().for_each(|to| used[*to] = true);
        }
        spread(&mut used);
        let is_nameless = |class: &usize| {
            matches!(self.stored[*class].form, Form::Value(_)) && self.resolve(*class).is_none()
        };
        (0..count).filter(|it| removed[*it] && !used[*it]).filter(is_nameless).collect()
    }

    /// True if the program declares a stored field, or its variant, `removed`.
    fn is_removed_field(
        &self,
        class: usize,
        variant: Option<&VariantSchema>,
        field: &FieldSchema,
    ) -> bool {
        let target = self.resolve(class).and_then(|target| self.program.targets[target]);
        target.is_some_and(|target| {
            let removed = target.class.removed;
            match variant {
                None => removed.contains(&&*field.name),
                Some(variant) => {
                    let of_variant = find_variant(&variant.name, target.class.variants())
                        .map_or(&[][..], |own| target.class.variants()[own].removed);
                    removed.contains(&&*variant.name) || of_variant.contains(&&*field.name)
                }
            }
        })
    }
}

/// The argument by which two names of one generic class differ, if it is one; else the names.
fn renamed_part<'n>(old: &'n str, new: &'n str) -> (&'n str, &'n str) {
    let is_part = |letter: char| !"<>()[],; &".contains(letter);
    let split = |name: &'n str| name.split(move |letter| !is_part(letter)).collect::<Vec<_>>();
    let (olds, news) = (split(old), split(new));
    let mut differ = olds.iter().zip(&news).filter(|(old, new)| old != new);
    match (differ.next(), differ.next()) {
        (Some((old, new)), None) if olds.len() == news.len() && olds.len() > 1 => (old, new),
        _ => (old, new),
    }
}

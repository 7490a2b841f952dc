//! How values of one kind become values of another, compiled once for each pair.

use std::collections::HashSet;
use std::sync::Arc;

use super::meaning::{Meaning, is_same_kind};
use super::{
    Conversion, FieldName, Member, Other, OtherField, Plan, Plans, StoredFields, VariantPlan,
};
use crate::codec::UnknownAt;
use crate::schema::event::REMOVED;
use crate::schema::number::Width;
use crate::schema::{ClassSchema, Form, KindSchema, LoadEvent, ProgramFields, Stored, pair};
use crate::{Error, ErrorKind, Result};

/// Conversions nest as deep as kinds do, and a few deeper where classes are unwrapped.
const DEEPEST: u32 = 100;

/// Pairs of kinds that are tried for one conversion. A pair is reached in several ways, and the kinds of a corrupt or
/// malicious save have many pairs.
const MAX_TRIES: u32 = 4000;

/// How deep tuples that become structs may nest.
const TUPLES: usize = 4;

impl Plans<'_> {
    /// The conversion between two kinds; `None` if there is none.
    pub(super) fn conversion(
        &mut self,
        node: usize,
        expected: &KindSchema,
        place: &FieldName<'_>,
    ) -> Option<usize> {
        let all = self.stored.clone();
        let mut compiler = Compiler { plans: self, all: &all, place, tries: 0, crossed: None };
        compiler.plans.tuples_in_tuples += 1;
        // Each nested tuple that becomes a struct is planned again, so the nesting is limited.
        let found = if compiler.plans.tuples_in_tuples > TUPLES {
            None
        } else {
            compiler.convert(node, expected, DEEPEST)
        };
        self.tuples_in_tuples -= 1;
        found
    }

    /// The conversion of a bare value to that of a class; `None` if there is none.
    fn value_conversion(
        &mut self,
        node: usize,
        target: usize,
        place: &FieldName<'_>,
    ) -> Option<usize> {
        let program = self.program;
        let Form::Value(expected) = &program.classes[target].form else { return None };
        // Code of the program that restores values expects exactly the kind that it stored.
        let is_accepted = !program.restored.contains(&target)
            || is_same_kind(self, &self.stored.node(node).kind, expected);
        is_accepted.then(|| self.conversion(node, expected, place)).flatten()
    }

    pub(super) fn enter(&mut self, conversion: Conversion) -> usize {
        self.conversions.push(conversion);
        self.conversions.len() - 1
    }

    /// True if values of the stored kind have the bytes of the program's.
    fn is_identical_kind(&self, stored: &KindSchema, expected: &KindSchema) -> bool {
        self.matched.is_compatible(stored, expected)
            && self.has_same_classes(stored)
            && !(self.unknown_at.is_some() && holds_classes(stored))
    }

    /// True if a bare value may become a value of a class: the class has no `migrate`, which the value would have
    /// missed.
    pub(super) fn enters_as_it_is(&self, target: usize) -> bool {
        self.program.targets[target].is_none_or(|it| it.class.migration.is_empty())
    }

    fn has_same_classes(&self, kind: &KindSchema) -> bool {
        match kind {
            KindSchema::Class(class) => self.is_identical(*class),
            KindSchema::Dynamic(_) => self.matched.dynamic_same,
            kind => kind.parts().iter().all(|part| self.has_same_classes(part)),
        }
    }

    pub(super) fn compile(&mut self, class: usize, index: usize) -> Result<Plan> {
        let program = self.program;
        let all = self.stored.clone();
        let (stored, compiled) = (&all[class], &program.classes[index]);
        self.check_since(class, index)?;
        let has_unknown = stored.kinds().any(|kind| *kind == KindSchema::Unknown);
        if self.is_migrated(class, index) || has_unknown {
            return Ok(Plan::Named);
        }
        let newer = self.newer(class, index);
        match (&stored.form, &compiled.form) {
            (Form::Struct(_), Form::Struct(_)) => {
                let mut fields = self.stored_fields(class, 0, &program.expected(index, 0))?;
                fields.rows.extend(newer);
                Ok(Plan::Struct(Arc::new(fields)))
            }
            (Form::Enum(old), Form::Enum(_)) => {
                let sides = program.sides(stored, index).into_iter().zip(old).enumerate();
                let plans = sides.map(|(i, (side, old))| {
                    let Some(new) = side.new else {
                        let other = self.other(class, i, &old.name, index);
                        return Ok(other.map_or(VariantPlan::Removed, VariantPlan::Other));
                    };
                    let fields = self.stored_fields(class, i, &new)?;
                    Ok(VariantPlan::Fields(Arc::new(fields)))
                });
                plans.collect::<Result<Vec<_>>>().map(|plans| Plan::Enum(plans.into(), newer))
            }
            (Form::Value(old), Form::Value(new)) => {
                let place = FieldName { class: &stored.name, field: "" };
                match self.value_conversion(all.first(class, 0), index, &place) {
                    Some(conversion) => {
                        Ok(Plan::Value(conversion, self.converted(old, new, &place)))
                    }
                    None => Err(self.mismatch(&stored.name, old, new)),
                }
            }
            _ => {
                let what = |class: &ClassSchema| match class.form {
                    Form::Struct(_) => "a struct",
                    Form::Enum(_) => "an enum",
                    Form::Value(_) => "a bare value",
                };
                Err(Error::new(
                    ErrorKind::KindMismatch,
                    format!(
                        "the save holds {} where the program has {}; keep its form; or give the new type another name, `#[persist(class = \"...\")]`, and the fields that hold it a `convert` from the old one",
                        what(stored),
                        what(compiled)
                    ),
                ))
            }
        }
    }

    /// The program's `other` variant for a stored one.
    pub(super) fn other(
        &mut self,
        class: usize,
        variant: usize,
        name: &str,
        target: usize,
    ) -> Option<Other> {
        let described = self.program.targets[target]?.class;
        let records = described.variants();
        let other = records.iter().position(|variant| variant.other)?;
        let is_removed = described.removed.contains(&name);
        let field = match records[other].fields.is_empty() {
            true => OtherField::None,
            false if is_removed => OtherField::Empty,
            false => OtherField::Unknown(self.stored.unknown_variant(class, variant)),
        };
        let event = match field {
            OtherField::Unknown(_) => LoadEvent::Kept,
            _ => LoadEvent::Replaced,
        };
        let detail = if is_removed { REMOVED } else { records[other].name };
        let row = self.rows.row(event, &self.stored[class].name, name, detail);
        Some(Other { variant: other, field, row })
    }

    /// Refuses values of a class that says that programs with this version of it must not read them.
    pub(super) fn check_since(&self, class: usize, target: usize) -> Result<()> {
        let stored = &self.stored[class];
        let version = self.program.targets[target].map(|target| target.class.version);
        let Some((since, version)) = stored.since.zip(version).filter(|(since, own)| since > own)
        else {
            return Ok(());
        };
        let name = &stored.name;
        Err(Error::new(
            ErrorKind::NewerFormat,
            format!(
                "the save holds version {} of {name}, which says that only programs with version {since} or later may read it, and this program has version {version}; load it with a newer version of the program",
                stored.version
            ),
        )
        .in_class(&**name))
    }

    /// The row of records that are of a newer version of their class.
    pub(super) fn newer(&mut self, class: usize, target: usize) -> Option<usize> {
        let stored = &self.stored[class];
        let version = self.program.targets[target]?.class.version;
        let detail = format!("version {} to {version}", stored.version);
        (stored.version > version)
            .then(|| self.rows.row(LoadEvent::Newer, &stored.name, "", &detail))
    }

    /// An error of rewriting a record. It says so if the record is to become another instance of its generic class, or
    /// a class of another name by its number.
    pub fn of_other_class(&self, class: usize, error: Error) -> Error {
        let fits = !matches!(error.kind(), ErrorKind::KindMismatch | ErrorKind::MissingField);
        let Some(place) = self.resolve(class).filter(|_| !fits) else { return error };
        let (stored, own) = (&self.stored[class], &self.program.classes[place]);
        let (name, target, why) = (&stored.name, &own.name, error.message());
        let aliases = self.program.targets[place].map_or(&[][..], |target| target.class.aliases);
        let message = if self.is_instance(class) {
            format!(
                "{name} is not registered, and an object of it becomes {target}, the one instance that is: {why}; or register {name} too"
            )
        } else if stored.id == own.id && name != target && !aliases.contains(&&**name) {
            format!(
                "class number {} is {name} in the save and {target} in the program, so that a {name} becomes a {target}: {why}; if they are two classes, give {target} a number that no class has had",
                own.id.0
            )
        } else {
            return error;
        };
        error.reworded(message)
    }
}

/// On which side a value went through a newtype.
#[derive(Clone, Copy, PartialEq)]
enum NewtypeSide {
    /// Out of one of the save.
    Out,
    /// Into one of the program.
    In,
}

/// True if values of a kind hold values of classes, or of traits.
fn holds_classes(kind: &KindSchema) -> bool {
    match kind {
        KindSchema::Class(_) | KindSchema::Dynamic(_) => true,
        kind => kind.parts().iter().any(holds_classes),
    }
}

/// True for the name of a trait whose lists hold what is unknown of their elements.
fn is_component(of: &str) -> bool {
    UnknownAt::TRAITS.contains(&of)
}

struct Compiler<'c, 'p> {
    plans: &'c mut Plans<'p>,
    all: &'c Stored,
    place: &'c FieldName<'c>,
    tries: u32,
    /// The newtype through which the value has come.
    crossed: Option<NewtypeSide>,
}

impl Compiler<'_, '_> {
    fn convert(&mut self, at: usize, w: &KindSchema, depth: u32) -> Option<usize> {
        let depth = depth.checked_sub(1)?;
        self.tries += 1;
        // 60 lists in one another meet 6 lists of the program in many ways: each level may be one of these, or a list
        // of one.
        if self.tries > MAX_TRIES {
            return None;
        }
        if self.plans.is_identical_kind(&self.all.node(at).kind, w) {
            return Some(self.plans.enter(Conversion::Copy(at)));
        }
        // Parts are values of their own.
        let crossed = self.crossed.take();
        let made = self.direct(at, w, depth);
        self.crossed = crossed;
        let Some(made) = made else {
            return self.wrapped(at, w, depth);
        };
        Some(self.plans.enter(made))
    }

    /// Conversions into something around a value, or out of it.
    fn wrapped(&mut self, at: usize, w: &KindSchema, depth: u32) -> Option<usize> {
        use KindSchema as K;
        let (all, classes) = (self.all, &self.plans.program.classes);
        let s = &all.node(at).kind;
        // A newtype of the save goes into a kind that holds it as it is: a `Celsius` into a `Vec<Celsius>`. Otherwise
        // its content converts.
        if let K::Class(class) = s
            && all[*class].newtype().is_some()
            && self.leaves_as_it_is(*class)
            && !self.is_in(w, classes, &|target| self.is_related(*class, target), DEEPEST)
        {
            let part = all.first(*class, 0);
            return self.cross(NewtypeSide::Out, |this| this.convert(part, w, depth));
        }
        if let K::Class(target) = w
            && let Some(kind) = classes[*target].newtype()
            && self.plans.enters_as_it_is(*target)
            && !self.is_in(s, all, &|class| self.is_related(class, *target), DEEPEST)
        {
            let expected = self.plans.program.expected(*target, 0);
            if !expected.records[0].names_its_kinds() {
                return self.cross(NewtypeSide::In, |this| this.convert(at, kind, depth));
            }
            // The field inside says from what it is converted: what it does not take may be around such a value.
            let place = self.place;
            let field =
                |this: &mut Self| this.plans.field_conversion(at, None, &expected, 0, place);
            if let Some(found) = self.cross(NewtypeSide::In, field) {
                return Some(found);
            }
        }
        let made = match (s, w) {
            // An `Rc<Option<T>>` has an option already, which `Inline` below reaches. As the content of a `Some`, its
            // `None` would be an error.
            (_, K::Option(b)) if !wraps_option(all, s) => {
                Conversion::Some(self.convert(at, b, depth)?)
            }
            // A wrapper around an `Option` keeps the option.
            (K::Option(_), _) if !wraps_option(classes, w) && !is_list_of_options(w) => {
                Conversion::Present(self.convert(self.part(at, 0), w, depth)?)
            }
            (K::Reference { holder, weak: false, class }, _)
                if !matches!(w, K::Reference { .. } | K::TraitReference { .. })
                    && !is_list_of_references(w) =>
            {
                let part = match &all[*class].form {
                    Form::Value(_) => all.first(*class, 0),
                    _ => all.root(*class),
                };
                let of = self.convert(part, w, depth)?;
                let shared = self.row(LoadEvent::Unshared, s, w);
                Conversion::Inline { class: *class, holder: *holder, of, shared }
            }
            (_, K::Reference { holder, weak: false, class })
                if !matches!(s, K::Reference { .. } | K::TraitReference { .. }) =>
            {
                let kind = match &classes[*class].form {
                    Form::Value(kind) => kind.clone(),
                    _ => K::Class(*class),
                };
                let of = self.convert(at, &kind, depth)?;
                Conversion::Share { class: *class, holder: *holder, of }
            }
            (_, K::List(b) | K::Set(b)) => Conversion::One(self.convert(at, b, depth)?),
            _ => return None,
        };
        Some(self.plans.enter(made))
    }

    /// Goes out of a newtype of the save, or into one of the program; not both for one value: that
    /// they hold the same does not make them the same.
    fn cross<R>(
        &mut self,
        to: NewtypeSide,
        go_on: impl FnOnce(&mut Self) -> Option<R>,
    ) -> Option<R> {
        let previous = self.crossed;
        // `Celsius(f32)` once became `Fahrenheit(f32)` through the number inside, without a word.
        if previous.is_some_and(|previous| previous != to) {
            return None;
        }
        self.crossed = Some(to);
        let found = go_on(self);
        self.crossed = previous;
        found
    }

    /// True if a class is found in a kind as itself, however it is wrapped there.
    fn is_in(
        &self,
        kind: &KindSchema,
        classes: &[ClassSchema],
        is_it: &dyn Fn(usize) -> bool,
        depth: u32,
    ) -> bool {
        let Some(depth) = depth.checked_sub(1) else { return false };
        match kind {
            KindSchema::Option(part) | KindSchema::List(part) | KindSchema::Set(part) => {
                self.is_in(part, classes, is_it, depth)
            }
            KindSchema::Class(class) | KindSchema::Reference { class, .. } => {
                let inner = match &classes[*class].form {
                    Form::Value(kind) => Some(kind),
                    _ => classes[*class].newtype(),
                };
                is_it(*class) || inner.is_some_and(|kind| self.is_in(kind, classes, is_it, depth))
            }
            _ => false,
        }
    }

    /// Conversions of kinds of one shape, and of those that hold the same.
    fn direct(&mut self, at: usize, w: &KindSchema, depth: u32) -> Option<Conversion> {
        use KindSchema as K;
        let s = &self.all.node(at).kind;
        let part = self.part(at, 0);
        Some(match (s, w) {
            (K::Option(_), K::Option(b)) => {
                let of = self.convert(part, b, depth)?;
                let program = self.plans.program;
                match self.plans.conversions[of] {
                    Conversion::Dynamic if program.is_optional_dynamic(w) => {
                        Conversion::OptionalDynamic(of)
                    }
                    _ => Conversion::Option(of),
                }
            }
            (K::List(_) | K::Set(_) | K::Array(..), K::List(b) | K::Set(b) | K::Array(b, _)) => {
                let length = |kind: &KindSchema| match kind {
                    KindSchema::Array(_, length) => Some(*length),
                    _ => None,
                };
                let (from, to) = (length(s), length(w));
                // A shorter array would lose elements. A longer one needs the default of its field, which
                // `Plans::longer` has.
                if from.is_some() && to.is_some() && from != to {
                    return None;
                }
                let made = self.elements(part, b, from, to, depth)?;
                match (made, w) {
                    (Conversion::Elements { min, of, .. }, K::List(part)) if matches!(&**part, K::Dynamic(of) if is_component(of)) => {
                        Conversion::Components { min, of }
                    }
                    (Conversion::Elements { min, of, from, to, .. }, K::Set(_)) => {
                        let may_collide = self.may_collide(b);
                        Conversion::Elements { min, of, from, to, may_collide }
                    }
                    (made, _) => made,
                }
            }
            (K::Map(_), K::Map(b)) => {
                self.map(part, &b[..], (self.may_collide(&b[0]), false), depth)?
            }
            (K::Map(_), K::List(b)) if is_pair(b) => {
                self.map(part, b.parts(), (false, true), depth)?
            }
            // The bytes of a list of pairs are those of a map: the count, then each key before its value.
            (K::List(a), K::Map(b)) if is_pair(a) => {
                self.elements(part, &K::Tuple(b.to_vec().into()), None, None, depth)?
            }
            (K::Tuple(a), K::Tuple(b)) if a.len() == b.len() => self.parts(part, b, depth)?,
            (K::Class(class), K::Tuple(b))
                if self.is_tuple(*class, b.len()) && self.leaves_as_it_is(*class) =>
            {
                let first = self.all.first(*class, 0);
                match self.all[*class].newtype() {
                    // A tuple of one part is no way from one newtype to another.
                    Some(_) => self.cross(NewtypeSide::Out, |this| this.parts(first, b, depth))?,
                    None => self.parts(first, b, depth)?,
                }
            }
            (K::Class(class), K::Class(target)) if self.is_related(*class, *target) => {
                Conversion::Class(self.plans.class_plan(*class, *target))
            }
            (K::Dynamic(_), K::Dynamic(_)) => Conversion::Dynamic,
            _ if Width::from_kind(s).is_some() && Width::from_kind(w).is_some() => {
                let (from, to) = Width::from_kind(s).zip(Width::from_kind(w))?;
                // A conversion keeps the value or is an error. How a float is rounded would be a choice, which a
                // `convert` makes.
                if from.is_float() && !to.is_float() {
                    return None;
                }
                Conversion::Number { from, to, clamped: self.row(LoadEvent::Clamped, s, w) }
            }
            (K::Tuple(parts), K::Class(target)) => self.tuple(at, parts, *target)?,
            (K::Text, K::Class(target))
                if self.has_unit_variant(*target) && self.plans.enters_as_it_is(*target) =>
            {
                let lost = self.row(LoadEvent::Replaced, s, w);
                Conversion::Variant { node: at, class: *target, lost }
            }
            (K::Class(class), K::Text)
                if self.is_unit_enum(*class) && self.leaves_as_it_is(*class) =>
            {
                Conversion::Name(*class)
            }
            _ => return None,
        })
    }

    /// The conversion of entries to those of a map, whose kinds are these.
    fn map(
        &mut self,
        key: usize,
        kinds: &[KindSchema],
        (may_collide, is_list): (bool, bool),
        depth: u32,
    ) -> Option<Conversion> {
        let Conversion::Parts(of, _) = self.parts(key, kinds, depth)? else { return None };
        Some(Conversion::Map { min: self.all.entry(key).min, key: of, may_collide, is_list })
    }

    /// True if values of a kind of the program hold an enum whose `other` variant keeps nothing of some stored ones:
    /// several may become one.
    fn may_collide(&self, kind: &KindSchema) -> bool {
        let (program, mut seen) = (self.plans.program, HashSet::new());
        let has_removed =
            |class: usize| program.targets[class].is_some_and(|it| !it.class.removed.is_empty());
        // Classes may hold each other, in cycles and in long chains, so this keeps a set and a stack.
        let (mut open, mut is_found) = (Vec::new(), false);
        let visit = |kind: &KindSchema, open: &mut Vec<usize>| {
            kind.visit(&mut |kind| {
                if let KindSchema::Class(class) = kind {
                    open.push(*class);
                }
            });
        };
        visit(kind, &mut open);
        while let Some(class) = open.pop().filter(|_| !is_found) {
            if seen.insert(class) {
                let described = program.targets[class].map(|target| target.class.variants());
                let mut variants = described.into_iter().flatten();
                is_found = variants.any(|variant| {
                    variant.other && (variant.fields.is_empty() || has_removed(class))
                });
                program.classes[class].kinds().for_each(|kind| visit(kind, &mut open));
            }
        }
        is_found
    }

    /// The conversion of elements, between lists of these lengths, if they are fixed.
    fn elements(
        &mut self,
        part: usize,
        kind: &KindSchema,
        from: Option<usize>,
        to: Option<usize>,
        depth: u32,
    ) -> Option<Conversion> {
        let of = self.convert(part, kind, depth)?;
        let min = self.all.node(part).size.min;
        Some(Conversion::Elements { min, of, from, to, may_collide: false })
    }

    /// The fields of the struct that has the names of the tuple's parts, `0`, `1`, ..., as aliases.
    fn tuple(&mut self, at: usize, parts: &[KindSchema], target: usize) -> Option<Conversion> {
        let program = self.plans.program;
        let Form::Struct(_) = &program.classes[target].form else { return None };
        let records = program.targets[target]?.class.fields();
        let named = (0..parts.len()).map(|i| i.to_string()).all(|name| {
            records.iter().any(|field| field.name == name || field.aliases.contains(&&*name))
        });
        let first = self.part(at, 0);
        let named = named && has_positions(records.iter().map(|field| field.id));
        if !named || self.is_other_newtype(parts, target) || !self.plans.enters_as_it_is(target) {
            return None;
        }
        let members = (0..parts.len()).map(|i| Member {
            name: i.to_string().into(),
            stored: Some(first + i),
            ..Member::default()
        });
        let members: Vec<_> = members.collect();
        let given = StoredFields {
            class: &program.classes[target].name,
            variant: None,
            version: None,
            members: &members,
        };
        let expected = self.plans.program.expected(target, 0);
        let fields = self.plans.all_fields(&given, &expected).ok()?;
        self.plans.tuples.push(Arc::new(fields));
        Some(Conversion::Struct(self.plans.tuples.len() - 1))
    }

    /// True for a newtype in a tuple of its own, where the program has another newtype.
    fn is_other_newtype(&self, parts: &[KindSchema], target: usize) -> bool {
        let [KindSchema::Class(class)] = parts else { return false };
        let classes = &self.plans.program.classes;
        let is_held =
            |kind| self.is_in(kind, classes, &|target| self.is_related(*class, target), DEEPEST);
        self.all[*class].newtype().is_some()
            && classes[target].newtype().is_some_and(|kind| !is_held(kind))
    }

    /// The conversions of parts, one after another.
    fn parts(&mut self, first: usize, kinds: &[KindSchema], depth: u32) -> Option<Conversion> {
        let parts = (first..).zip(kinds).map(|(node, kind)| self.convert(node, kind, depth));
        let parts = parts.collect::<Option<Vec<_>>>()?;
        // `Conversion::Parts` names its parts by a range. To compile one enters others in between, so copies of all are
        // entered side by side.
        let start = self.plans.conversions.len();
        for part in &parts {
            self.plans.enter(self.plans.conversions[*part]);
        }
        Some(Conversion::Parts(start, parts.len()))
    }

    /// True for a struct whose fields have the names of the parts of a tuple.
    fn is_tuple(&self, class: usize, len: usize) -> bool {
        match &self.all[class].form {
            Form::Struct(fields) => {
                fields.len() == len
                    && has_positions(fields.iter().map(|field| field.id))
                    && fields.iter().enumerate().all(|(i, field)| field.name == i.to_string())
            }
            _ => false,
        }
    }

    /// True if a value that a class holds means the same without the class. If the program still has the class, it
    /// neither migrates nor converts its content, and no `since` keeps older programs from it.
    fn leaves_as_it_is(&self, class: usize) -> bool {
        let (program, stored) = (self.plans.program, &self.all[class]);
        // A generic class may still become any of several instances, so the value must mean the same in each of them.
        let targets = match self.plans.resolve(class) {
            Some(target) => vec![target],
            None => program.candidates(stored),
        };
        let means_the_same = |variant: usize, expected: ProgramFields<'_>| {
            let members = self.all.members(class, variant);
            let sources = pair(&members, expected.records).sources.into_iter().enumerate();
            let mut stored = sources.filter_map(|(i, source)| Some((i, members[source?].stored?)));
            stored.all(|(i, node)| {
                let (version, record) = (Some(self.all[class].version), &expected.records[i]);
                let found =
                    Meaning::of_stored(self.plans, node, version, record, expected.place(i));
                found == Some(Meaning::Own)
            })
        };
        let is_same = |target: usize| {
            let sides = program.sides(stored, target).into_iter().enumerate();
            !self.plans.is_migrated(class, target)
                && sides
                    .filter_map(|(i, sides)| Some((i, sides.new?)))
                    .all(|(i, fields)| means_the_same(i, fields))
        };
        match targets.is_empty() {
            true => stored.since.is_none(),
            false => targets.into_iter().all(is_same),
        }
    }

    /// The node of a part.
    fn part(&self, at: usize, i: usize) -> usize {
        self.all.node(at).first() + i
    }

    fn row(&mut self, event: LoadEvent, s: &KindSchema, w: &KindSchema) -> usize {
        self.plans.kinds_row(event, s, w, self.place)
    }

    fn is_related(&self, class: usize, target: usize) -> bool {
        self.plans.matched.is_related(class, self.plans.program, target)
    }

    fn has_unit_variant(&self, target: usize) -> bool {
        match &self.plans.program.classes[target].form {
            Form::Enum(variants) => variants.iter().any(|variant| variant.fields.is_empty()),
            _ => false,
        }
    }

    fn is_unit_enum(&self, class: usize) -> bool {
        match &self.all[class].form {
            Form::Enum(variants) => variants.iter().all(|variant| variant.fields.is_empty()),
            _ => false,
        }
    }
}

/// True for fields whose positions stay: those with numbers may be reordered, and so be mixed up with the parts of a
/// tuple.
fn has_positions(mut ids: impl ExactSizeIterator<Item = Option<u32>>) -> bool {
    ids.len() == 1 || ids.all(|id| id.is_none())
}

fn is_pair(kind: &KindSchema) -> bool {
    matches!(kind, KindSchema::Tuple(parts) if parts.len() == 2)
}

/// True for a pointer to an `Option`.
fn wraps_option(classes: &[ClassSchema], kind: &KindSchema) -> bool {
    match kind {
        KindSchema::Reference { class, .. } => {
            matches!(classes[*class].form, Form::Value(KindSchema::Option(_)))
        }
        _ => false,
    }
}

fn is_list_of_options(kind: &KindSchema) -> bool {
    match kind {
        KindSchema::List(part) | KindSchema::Set(part) => matches!(**part, KindSchema::Option(_)),
        _ => false,
    }
}

/// True for a list into which a pointer goes as it is.
fn is_list_of_references(kind: &KindSchema) -> bool {
    match kind {
        KindSchema::Option(part) | KindSchema::List(part) | KindSchema::Set(part) => {
            matches!(**part, KindSchema::Reference { .. }) || is_list_of_references(part)
        }
        _ => false,
    }
}

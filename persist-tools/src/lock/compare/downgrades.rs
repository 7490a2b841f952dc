//! Checks the way back: whether the programs of locked versions read saves of this one, refuse them by name, or guess.

use persist::__tools::{ClassSchema, FieldSchema, Form, KindSchema, Program, VariantSchema};

use super::head;
use crate::lock::code::{kind_text, path};
use crate::lock::newtypes::modules;
use crate::lock::report::{Difference, Verdict};
use crate::lock::{ClassCode, ConvertCode, FieldCode, KnownFields, Newtypes, Section};

/// A class of a version and of the program, to which saves of the program go back.
struct Downgrade<'d> {
    program: &'d Program,
    old: (&'d Section, usize),
    new: usize,
    then: &'d ClassCode,
    now: ClassCode,
    newtypes: Newtypes<'d>,
}

/// Returns the differences between what this program writes and what the program of a version reads.
pub(in crate::lock) fn downgrades(section: &Section, program: &Program) -> Vec<Difference> {
    let none = ClassCode::default();
    let all_now = ClassCode::all(program);
    let newtypes = Newtypes { classes: &program.classes, code: &all_now };
    let mut found = Vec::new();
    for (class, old) in section.classes.iter().enumerate() {
        // A class that it does not know by this number is unknown to it, and kept.
        let same = program.classes.iter().position(|new| new.id == old.id);
        let Some(new) = same.filter(|_| !matches!(old.form, Form::Value(_))) else { continue };
        let then = section.code.get(&class).unwrap_or(&none);
        let now = newtypes.with_inner(&program.classes[new], &all_now[&new], |_| true);
        let downgrade = Downgrade { program, old: (section, class), new, then, now, newtypes };
        found.extend(downgrade.findings());
    }
    found
}

impl Downgrade<'_> {
    fn findings(&self) -> Vec<Difference> {
        let (old, new) = (self.old_class(), &self.program.classes[self.new]);
        let row = |field: Option<String>, verdict: Verdict, change: String| Difference {
            field,
            ..Difference::new(&new.name, verdict, change)
        };
        if let Some(since) = new.since.filter(|since| *since > old.version) {
            let change = format!("it is refused by name, `since = {since}`");
            return vec![row(None, Verdict::Safe, change)];
        }
        let mut found = Vec::new();
        for (step, function) in self.now.steps() {
            // Of fields that it does not know by their names, that program reads none.
            if (old.version..new.version).contains(&step) && self.has_common_field() {
                let change = format!(
                    "what `migrate` makes of version {step}, by {function}, is read as if it were of version {}",
                    old.version
                );
                found.push(self.guess(row(None, Verdict::Loses, change)));
            }
        }
        let fields = match (&old.form, &new.form) {
            (Form::Struct(olds), Form::Struct(news)) => self.fields(None, olds, news),
            (Form::Enum(olds), Form::Enum(news)) => {
                let of_variant = |old: &VariantSchema| {
                    let new = news.iter().find(|new| new.name == old.name)?;
                    Some(self.fields(Some(&old.name), &old.fields, &new.fields))
                };
                olds.iter().filter_map(of_variant).flatten().collect()
            }
            _ => Vec::new(),
        };
        found.extend(fields.into_iter().map(|(field, is_guess, why)| match is_guess {
            true => self.guess(row(Some(field), Verdict::Loses, why)),
            false => row(Some(field), Verdict::Safe, why),
        }));
        found
    }

    fn old_class(&self) -> &ClassSchema {
        &self.old.0.classes[self.old.1]
    }

    /// True if that program reads a field of this one as its own.
    fn has_common_field(&self) -> bool {
        let (old, new) = (self.old_class(), &self.program.classes[self.new]);
        let has = |olds: &[FieldSchema], news: &[FieldSchema]| {
            let known = KnownFields::new(news);
            olds.iter().any(|old| known.find(old).is_some())
        };
        match (&old.form, &new.form) {
            (Form::Struct(olds), Form::Struct(news)) => has(olds, news),
            (Form::Enum(olds), Form::Enum(news)) => {
                olds.iter().any(|old| news.iter().any(|new| new.name == old.name))
            }
            _ => false,
        }
    }

    /// With the attribute by which that program refuses the class.
    fn guess(&self, mut difference: Difference) -> Difference {
        let (old, new) = (self.old_class(), &self.program.classes[self.new]);
        let attribute = match new.version > old.version {
            true => format!("#[persist(since = {})]", new.version),
            false => format!("#[persist(version = {0}, since = {0})]", old.version + 1),
        };
        difference.change.push_str("; let it be refused by name there");
        difference.attribute = Some(attribute);
        difference.above = Some(head(self.program, self.new));
        difference
    }

    /// Returns the findings about the fields of a struct or variant: the field, whether the older program guesses, and
    /// why.
    fn fields(
        &self,
        variant: Option<&str>,
        olds: &[FieldSchema],
        news: &[FieldSchema],
    ) -> Vec<(String, bool, String)> {
        let known = KnownFields::new(news);
        let said = |old: &FieldSchema| {
            let then = self.then.fields.get(&path(variant, &old.name));
            let Some(new) = known.find(old).map(|new| &news[new]) else {
                let is_free = matches!(old.kind, KindSchema::Option(_) | KindSchema::Unknown);
                let has_default = is_free || then.and_then(FieldCode::given_default).is_some();
                let why = match has_default {
                    true => return None,
                    false => "saves without it are refused by name: it has no default there",
                };
                return Some((false, String::from(why)));
            };
            let now = self.now.fields.get(&path(variant, &new.name));
            let kind = kind_text(&old.kind, &self.old.0.classes);
            let version = self.old_class().version;
            let takes = |convert: &&ConvertCode| convert.takes_of(&kind, version);
            let convert = now.and_then(|now| now.converts.iter().find(takes));
            if let Some(ConvertCode { by, .. }) = convert {
                let by = by.as_ref()?;
                let is = kind_text(&new.kind, &self.program.classes);
                return Some((
                    true,
                    format!("a {is} is read as {kind}, which `convert` tells from it by {by}"),
                ));
            }
            let olds = Newtypes { classes: &self.old.0.classes, code: &self.old.0.code };
            // A class around the value that the older program does not know.
            let is_known = |class: &str| self.old.0.classes.iter().any(|old| old.name == class);
            let mut inner = now.into_iter().flat_map(|now| &now.inner);
            if let Some(inner) = inner.find(|inner| !is_known(&inner.class)) {
                let is = kind_text(&new.kind, &self.program.classes);
                let (attribute, by) = (inner.attribute, &inner.function);
                return Some((
                    true,
                    format!("a {is} is read as {kind}, which `{attribute}` tells from it by {by}"),
                ));
            }
            let (was, is) = modules(
                olds.field(&old.kind, then),
                self.newtypes.field(&new.kind, now),
                |old, new| self.old.0.classes[old].id == self.program.classes[new].id,
            );
            (was != is && was.is_some()).then(|| {
                let by = |it: Option<String>| {
                    it.map_or_else(|| "as it is".into(), |it| format!("by `{it}`"))
                };
                (true, format!("what is stored {} is read {}", by(is), by(was)))
            })
        };
        let said = |old: &FieldSchema| {
            said(old).map(|(is_guess, why)| (path(variant, &old.name), is_guess, why))
        };
        olds.iter().filter_map(said).collect()
    }
}

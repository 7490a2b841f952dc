//! What the locked versions say of one another: which fields and classes were there at once.

use crate::lock::section::Section;
use crate::reflect::FieldRecord;
use crate::schema::{FieldSchema, Form, Program, find_variant, pair};

/// The locked versions, oldest first, and the one that is compared.
#[derive(Clone, Copy)]
pub(super) struct History<'l> {
    sections: &'l [Section],
    at: usize,
}

/// A struct of the program, or a variant of an enum.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Owner {
    /// The program's class.
    pub(super) class: usize,
    /// Index of the program's variant.
    pub(super) variant: Option<usize>,
}

impl<'l> History<'l> {
    pub(super) fn new(sections: &'l [Section], at: usize) -> Self {
        Self { sections, at }
    }

    pub(super) fn section(self) -> &'l Section {
        &self.sections[self.at]
    }

    /// True if no version after the one that is compared differs from it.
    pub(super) fn is_newest(self) -> bool {
        self.sections.last().is_some_and(|last| last.is_same(self.section()))
    }

    /// True if one may have become the other: no version had both, and none after the one that is compared
    /// had neither. Each is asked whether a version had it; `None` is a version that does not count.
    fn may_have_become(self, has: impl Fn(&'l Section) -> Option<(bool, bool)>) -> bool {
        self.sections.iter().enumerate().all(|(at, section)| match has(section) {
            Some((true, true)) => false,
            Some((false, false)) => at <= self.at,
            _ => true,
        })
    }

    /// True if a class that went may be one that came.
    pub(super) fn may_be_class(self, program: &Program, gone: &str, came: usize) -> bool {
        self.may_have_become(|section| {
            let had = section.classes.iter().any(|class| class.name == gone);
            let has = section.classes.iter().any(|class| program.find(class) == Some(came));
            Some((had, has))
        })
    }

    /// True if a field that went may be one that came, in the same class or in another.
    pub(super) fn may_be_field(
        self,
        program: &Program,
        (from, gone): (From<'_>, &str),
        (to, came): (Owner, &FieldRecord),
    ) -> bool {
        self.may_have_become(|section| {
            let left = match from {
                From::Program(owner) => fields(section, program, owner),
                From::Gone(name) => section.classes.iter().find_map(|class| match &class.form {
                    Form::Struct(fields) if class.name == name => Some(&fields[..]),
                    _ => None,
                }),
            };
            let entered = fields(section, program, to);
            let had = left.is_some_and(|fields| fields.iter().any(|field| field.name == gone));
            let has = entered.is_some_and(|fields| has_field(fields, came));
            (left.is_some() || entered.is_some()).then_some((had, has))
        })
    }

    /// The first later version in which the program's field was not there, or what it is in.
    pub(super) fn absence(
        self,
        program: &Program,
        owner: Owner,
        record: &FieldRecord,
    ) -> Option<&'l Section> {
        let mut later = self.sections[self.at..].iter();
        later.find(|section| {
            fields(section, program, owner).is_none_or(|fields| !has_field(fields, record))
        })
    }

    /// The first later version that had a class of the program and not this variant of it, and the variants that it had.
    pub(super) fn absence_of_variant(
        self,
        program: &Program,
        class: usize,
        variant: usize,
    ) -> Option<(&'l Section, Vec<usize>)> {
        let records = program.targets[class]?.class.variants();
        self.sections[self.at..].iter().find_map(|section| {
            let found = section.classes.iter().find(|it| program.find(it) == Some(class))?;
            let Form::Enum(stored) = &found.form else { return None };
            let there = stored.iter().filter_map(|stored| find_variant(&stored.name, records));
            let there: Vec<usize> = there.collect();
            (!there.contains(&variant)).then_some((section, there))
        })
    }

    /// The first later version that had not this class of the program, and those that it had.
    pub(super) fn absence_of_class(
        self,
        program: &Program,
        class: usize,
    ) -> Option<(&'l Section, Vec<usize>)> {
        self.sections[self.at..].iter().find_map(|section| {
            let there = section.classes.iter().filter_map(|stored| program.find(stored));
            let there: Vec<usize> = there.collect();
            (!there.contains(&class)).then_some((section, there))
        })
    }

    /// True if a version had a field of the program.
    pub(super) fn had(
        program: &Program,
        section: &Section,
        owner: Owner,
        record: &FieldRecord,
    ) -> bool {
        fields(section, program, owner).is_some_and(|fields| has_field(fields, record))
    }
}

/// Where a field was that went.
#[derive(Clone, Copy)]
pub(super) enum From<'n> {
    Program(Owner),
    /// In a struct of this name, which went as well.
    Gone(&'n str),
}

/// The fields of a struct or a variant in a version.
fn fields<'s>(section: &'s Section, program: &Program, owner: Owner) -> Option<&'s [FieldSchema]> {
    let found = |class: &&crate::schema::ClassSchema| program.find(class) == Some(owner.class);
    match (&section.classes.iter().find(found)?.form, owner.variant) {
        (Form::Struct(fields), None) => Some(fields),
        (Form::Enum(variants), Some(wanted)) => {
            let records = program.targets[owner.class]?.class.variants();
            let is = |variant: &&crate::schema::VariantSchema| {
                find_variant(&variant.name, records) == Some(wanted)
            };
            variants.iter().find(is).map(|variant| &variant.fields[..])
        }
        _ => None,
    }
}

fn has_field(stored: &[FieldSchema], record: &FieldRecord) -> bool {
    pair(stored, &[*record]).sources.iter().any(Option::is_some)
}

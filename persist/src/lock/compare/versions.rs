//! What the locked versions say of one another: which fields, variants and classes were there at once.

use crate::lock::section::Section;
use crate::reflect::FieldRecord;
use crate::schema::{ClassSchema, FieldSchema, Form, Program, find_variant, pair};

/// The locked versions, oldest first, and the one that is compared with the program.
#[derive(Clone, Copy)]
pub(super) struct Versions<'l> {
    pub(super) sections: &'l [Section],
    pub(super) at: usize,
    pub(super) program: &'l Program,
}

/// A struct of the program, or a variant of an enum.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Owner {
    /// The program's class.
    pub(super) class: usize,
    /// Index of the program's variant.
    pub(super) variant: Option<usize>,
}

/// Where a field was that went.
#[derive(Clone, Copy)]
pub(super) enum From<'n> {
    Program(Owner),
    /// In a struct of this name, which went as well.
    Gone(&'n str),
}

/// What a version has, or has not.
#[derive(Clone, Copy)]
pub(super) enum Item<'i> {
    /// A class of the program.
    Class(usize),
    /// A variant of the program's class.
    Variant(usize, usize),
    /// A field of the program.
    Field(Owner, &'i FieldRecord),
    /// A class of this name, which the program does not have.
    GoneClass(&'i str),
    /// A field of this name, which the program does not have.
    GoneField(From<'i>, &'i str),
}

impl<'l> Versions<'l> {
    pub(super) fn section(self) -> &'l Section {
        &self.sections[self.at]
    }

    /// True if no version after the one that is compared differs from it.
    pub(super) fn is_newest(self) -> bool {
        self.sections.last().is_some_and(|last| last.is_same(self.section()))
    }

    /// True if what went may be what came: no version had both, and none after the one that is compared had neither.
    pub(super) fn may_become(self, gone: Item<'_>, came: Item<'_>) -> bool {
        self.sections.iter().enumerate().all(|(at, section)| {
            match (self.has(section, gone), self.has(section, came)) {
                (Some(true), Some(true)) => false,
                // A version without what the two are in does not count.
                (None, None) | (Some(true), _) | (_, Some(true)) => true,
                _ => at <= self.at,
            }
        })
    }

    /// The first later version that had not what the program has: the class, the variant of a class that it had, or the
    /// field, also if it had not what that is in.
    pub(super) fn absence(self, item: Item<'_>) -> Option<&'l Section> {
        let is_absent = |section: &&Section| match (item, self.has(section, item)) {
            (Item::Field(..), has) => has != Some(true),
            (_, has) => has == Some(false),
        };
        self.sections[self.at..].iter().find(is_absent)
    }

    pub(super) fn had(self, section: &Section, item: Item<'_>) -> bool {
        self.has(section, item) == Some(true)
    }

    /// Whether a version has it; `None` if it has not what that is in.
    fn has(self, section: &Section, item: Item<'_>) -> Option<bool> {
        Some(match item {
            Item::Class(class) => self.class(section, class).is_some(),
            Item::GoneClass(name) => section.classes.iter().any(|class| class.name == name),
            Item::Variant(class, variant) => {
                let Form::Enum(stored) = &self.class(section, class)?.form else { return None };
                let records = self.program.targets[class]?.class.variants();
                stored.iter().any(|it| find_variant(&it.name, records) == Some(variant))
            }
            Item::Field(owner, record) => has_field(self.fields(section, owner)?, record),
            Item::GoneField(from, name) => {
                let fields = match from {
                    From::Program(owner) => self.fields(section, owner)?,
                    From::Gone(class) => {
                        let class = section.classes.iter().find(|it| it.name == class)?;
                        let Form::Struct(fields) = &class.form else { return None };
                        fields
                    }
                };
                fields.iter().any(|field| field.name == name)
            }
        })
    }

    /// What a version has for a class of the program.
    fn class(self, section: &Section, class: usize) -> Option<&ClassSchema> {
        section.classes.iter().find(|it| self.program.find(it) == Some(class))
    }

    /// The fields of a struct or a variant in a version.
    fn fields(self, section: &Section, owner: Owner) -> Option<&[FieldSchema]> {
        match (&self.class(section, owner.class)?.form, owner.variant) {
            (Form::Struct(fields), None) => Some(fields),
            (Form::Enum(variants), Some(wanted)) => {
                let records = self.program.targets[owner.class]?.class.variants();
                let mut found = variants.iter();
                let found = found.find(|it| find_variant(&it.name, records) == Some(wanted));
                found.map(|variant| &variant.fields[..])
            }
            _ => None,
        }
    }
}

fn has_field(stored: &[FieldSchema], record: &FieldRecord) -> bool {
    pair(stored, &[*record]).sources.iter().any(Option::is_some)
}

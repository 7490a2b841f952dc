//! Values as the classes of the save that they were read from: every field is there,
//! no other is.

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};

use super::write::{FieldsByName, WriteTarget, write_value};
use crate::schema::{FieldPlace, Form, KindSchema, PageClasses, Stored};
use crate::value::{Field, HandleValue, Record, Value};
use crate::{Error, ErrorKind, Limits, ObjectId, Result};

/// Says whether a reference may lead there.
type CheckReference<'s> = dyn Fn(&KindSchema, Option<ObjectId>) -> Result<()> + 's;

/// Says whether a handle into an arena may lead there.
type CheckHandle<'s> = dyn Fn(&str, HandleValue) -> Result<()> + 's;

/// The classes of a save.
pub struct Strict<'s> {
    stored: &'s Stored,
    limits: &'s Limits,
    check_reference: &'s CheckReference<'s>,
    /// Of values that an editor gives.
    check_handle: Option<&'s CheckHandle<'s>>,
    /// Indices of the classes by their names; `None` of a name that several have.
    by_name: OnceCell<HashMap<&'s str, Option<usize>>>,
    /// The largest number of a class whose value was written as a trait object.
    pub highest: u64,
    /// The classes of the page that is being written.
    page: Option<PageClasses>,
}

impl<'s> Strict<'s> {
    /// Creates a target for values of these classes.
    pub fn new(
        stored: &'s Stored,
        limits: &'s Limits,
        check_reference: &'s CheckReference<'s>,
    ) -> Self {
        Self {
            stored,
            limits,
            check_reference,
            check_handle: None,
            by_name: OnceCell::new(),
            highest: 0,
            page: None,
        }
    }

    /// Appends a value as one of the kind of a node.
    ///
    /// # Errors
    ///
    /// Returns an error if the value does not fit the class.
    pub fn write(&mut self, node: usize, value: &Value, out: &mut Vec<u8>) -> Result<()> {
        let stored = self.stored;
        write_value(self, stored, node, value, out)
    }

    /// Begins a page; returns the classes of the last one.
    pub(crate) fn begin_page(&mut self, page: Option<PageClasses>) -> Option<PageClasses> {
        std::mem::replace(&mut self.page, page)
    }

    /// Returns the id of the class of a number.
    pub(crate) fn class_id(&self, number: u64) -> u64 {
        let class = usize::try_from(number).ok().and_then(|number| number.checked_sub(1));
        class.and_then(|class| self.stored.get(class)).map_or(0, |class| class.id.0)
    }

    /// For values that an editor gives: floats are rounded, handles are checked.
    #[cfg(any(feature = "history", feature = "world"))]
    pub(crate) fn of_editor(self, check_handle: &'s CheckHandle<'s>) -> Self {
        Self { check_handle: Some(check_handle), ..self }
    }

    /// The name of a class with that of its variant.
    fn name(&self, class: usize, variant: usize) -> String {
        let class = &self.stored[class];
        match &class.form {
            Form::Enum(variants) => format!("{}::{}", class.name, variants[variant].name),
            _ => class.name.clone(),
        }
    }

    fn field_name(&self, (class, variant, field): FieldPlace) -> &'s str {
        let stored = self.stored;
        &stored.fields(class, variant)[field].name
    }

    /// The class of a record that stands as a trait object.
    fn class_named(&self, record: &Record) -> Result<usize> {
        let name = record.class();
        let is_named = |class: &usize| self.stored.get(*class).is_some_and(|c| c.name == name);
        if let Some(class) = record.origin().filter(is_named) {
            return Ok(class);
        }
        let by_name = self.by_name.get_or_init(|| {
            let mut by_name = HashMap::new();
            let stored = self.stored;
            for (i, class) in stored.iter().enumerate() {
                by_name.entry(&*class.name).and_modify(|found| *found = None).or_insert(Some(i));
            }
            by_name
        });
        match by_name.get(name) {
            Some(Some(class)) => Ok(*class),
            Some(None) => Err(Error::new(
                ErrorKind::NotFound,
                format!("the save has several classes {name}; change one of their values instead"),
            )),
            None => Err(Error::new(
                ErrorKind::NotFound,
                format!("the save has no class {name}; use one that it has"),
            )),
        }
    }
}

impl WriteTarget for Strict<'_> {
    fn check_class(&self, class: usize, record: &Record) -> Result<()> {
        let expected = &self.stored[class].name;
        if record.class() == expected {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::KindMismatch,
            format!("the value is of class {}, {expected} is wanted", record.class()),
        ))
    }

    fn variant(&self, class: usize, name: &str) -> Option<usize> {
        self.stored.variant(class, name)
    }

    fn find<'r>(
        &self,
        place: FieldPlace,
        record: &'r Record,
        by_name: &mut FieldsByName<'r>,
    ) -> Option<&'r Field> {
        let name = self.field_name(place);
        let fields = &record.fields;
        // Mostly they are in order.
        if let Some(field) = fields.get(place.2).filter(|field| &*field.name == name) {
            return Some(field);
        }
        let by_name = by_name.get_or_insert_with(|| {
            // Of two of a name it is the first.
            fields.iter().enumerate().rev().map(|(at, field)| (&*field.name, at)).collect()
        });
        fields.get(*by_name.get(name)?)
    }

    fn missing(&mut self, (class, variant, _): FieldPlace, _: &mut Vec<u8>) -> Result<()> {
        Err(Error::new(
            ErrorKind::MissingField,
            format!("the value of {} has no such field; set it", self.name(class, variant)),
        ))
    }

    fn check_rest(
        &self,
        class: usize,
        variant: usize,
        found: usize,
        record: &Record,
    ) -> Result<()> {
        if found == record.len() {
            return Ok(());
        }
        let known: HashSet<&str> =
            (0..found).map(|field| self.field_name((class, variant, field))).collect();
        let other = record.fields().map(|(name, _)| name).find(|name| !known.contains(name));
        Err(Error::new(
            ErrorKind::NotFound,
            format!("{} has no such field; take it out", self.name(class, variant)),
        )
        .in_field(other.unwrap_or_default()))
    }

    fn class_of(&mut self, record: &Record) -> Result<(usize, u64)> {
        let class = self.class_named(record)?;
        let number = class as u64 + 1;
        self.highest = self.highest.max(number);
        Ok((class, self.page.as_mut().map_or(number, |page| page.number(number, None))))
    }

    fn limits(&self) -> &Limits {
        self.limits
    }

    fn rounds(&self) -> bool {
        self.check_handle.is_some()
    }

    fn check_handle(&self, arena: &str, handle: HandleValue) -> Result<()> {
        self.check_handle.map_or(Ok(()), |check| check(arena, handle))
    }

    fn check_reference(&self, kind: &KindSchema, id: Option<ObjectId>) -> Result<()> {
        (self.check_reference)(kind, id)
    }
}

use std::sync::Arc;

use super::Value;

/// The fields of a struct, or of an enum at one of its variants, as values by name.
///
/// A migration gets one to change: it may rename, merge, split and delete fields.
///
/// # Example
///
/// ```
/// use persist::{Record, Value};
///
/// /// Version 1 had `first` and `last`, version 2 has `name`.
/// fn migrate(hero: &mut Record, from: u32) {
///     if from == 1 {
///         let first = hero.take("first");
///         let last = hero.take("last");
///         let part = |value: &Option<Value>| {
///             value.as_ref().and_then(Value::as_text).unwrap_or("").to_owned()
///         };
///         hero.set("name", format!("{} {}", part(&first), part(&last)));
///     }
/// }
///
/// let mut hero = Record::new("Hero");
/// hero.set("first", "Ada");
/// hero.set("last", "Byron");
/// migrate(&mut hero, 1);
/// assert_eq!(hero.get("name"), Some(&Value::from("Ada Byron")));
/// assert_eq!(hero.get("first"), None);
/// ```
#[derive(Clone, Debug)]
pub struct Record {
    // Shared: a save has a name once and values that bear it by the million.
    pub(crate) class: Arc<str>,
    pub(crate) variant: Option<Arc<str>>,
    pub(crate) fields: Vec<Field>,
    /// Index of the class in the save that it was read from.
    pub(crate) origin: Option<usize>,
}

/// A field of a [`Record`].
#[derive(Clone, Debug)]
pub(crate) struct Field {
    pub(crate) name: Arc<str>,
    /// The number that the save has for it, as long as no migration has changed it.
    pub(crate) number: Option<u32>,
    pub(crate) value: Value,
    pub(crate) origin: Origin,
    /// Its place among the fields that were read, as long as it is as it was.
    pub(crate) place: Option<usize>,
}

/// Where a field of a record comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The program that wrote the save had it.
    Written,
    /// That program did not have it, and kept it.
    Kept,
    /// That program kept it of another variant; it is no field of this one.
    OtherVariant,
    /// A migration made it, or gave it its name.
    Made,
}

impl Record {
    /// A struct of this class without fields.
    #[must_use]
    pub fn new(class: impl Into<Arc<str>>) -> Self {
        Self { class: class.into(), variant: None, fields: Vec::new(), origin: None }
    }

    /// A variant of an enum without fields.
    #[must_use]
    pub fn of_variant(class: impl Into<Arc<str>>, variant: impl Into<Arc<str>>) -> Self {
        let variant = Some(variant.into());
        Self { class: class.into(), variant, fields: Vec::new(), origin: None }
    }

    /// Name of the class.
    #[must_use]
    pub fn class(&self) -> &str {
        &self.class
    }

    /// Name of the variant; `None` for a struct.
    #[must_use]
    pub fn variant(&self) -> Option<&str> {
        self.variant.as_deref()
    }

    /// Makes it another variant of its enum; the fields stay.
    pub fn set_variant(&mut self, variant: impl Into<Arc<str>>) {
        self.variant = Some(variant.into());
    }

    /// The field of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.fields.iter().find(|field| &*field.name == name).map(|field| &field.value)
    }

    /// The field of this name, to be changed.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut Value> {
        let field = self.fields.iter_mut().find(|field| &*field.name == name)?;
        (field.number, field.origin, field.place) = (None, Origin::Made, None);
        Some(&mut field.value)
    }

    /// Sets the field of this name, a new one at the end; returns what it was.
    pub fn set(&mut self, name: &str, value: impl Into<Value>) -> Option<Value> {
        let value = value.into();
        if let Some(field) = self.get_mut(name) {
            return Some(std::mem::replace(field, value));
        }
        self.push(name, value);
        None
    }

    /// Adds a field whose name no other has.
    pub(crate) fn push(&mut self, name: impl Into<Arc<str>>, value: Value) {
        self.fields.push(Field {
            name: name.into(),
            number: None,
            value,
            origin: Origin::Made,
            place: None,
        });
    }

    /// Takes the field of this name out.
    pub fn take(&mut self, name: &str) -> Option<Value> {
        let place = self.fields.iter().position(|field| &*field.name == name)?;
        Some(self.fields.remove(place).value)
    }

    /// Renames a field, over one that has the new name; false if there is none.
    pub fn rename(&mut self, name: &str, new: &str) -> bool {
        let Some(place) = self.fields.iter().position(|field| &*field.name == name) else {
            return false;
        };
        if name != new {
            self.fields[place].name = new.into();
            // Its new name says what it is.
            (self.fields[place].number, self.fields[place].origin) = (None, Origin::Made);
            let mut at = 0;
            self.fields.retain(|field| {
                at += 1;
                at - 1 == place || &*field.name != new
            });
        }
        true
    }

    /// Names and values, in order.
    pub fn fields(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.fields.iter().map(|field| (&*field.name, &field.value))
    }

    /// How many fields there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.fields.len()
    }

    /// True if there are no fields.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }
}

impl Record {
    /// A copy whose values are units.
    pub(super) fn copy_of_head(&self) -> Self {
        let unit = |field: &Field| Field {
            name: field.name.clone(),
            number: field.number,
            value: Value::Unit,
            origin: field.origin,
            place: field.place,
        };
        Self {
            class: self.class.clone(),
            variant: self.variant.clone(),
            fields: self.fields.iter().map(unit).collect(),
            origin: self.origin,
        }
    }

    /// True if the records are equal but for their values.
    pub(super) fn has_head_of(&self, other: &Self) -> bool {
        self.class == other.class
            && self.variant == other.variant
            && self.len() == other.len()
            && self.fields.iter().zip(&other.fields).all(|(a, b)| a.name == b.name)
    }
}

/// By class, variant, and names and values in order.
impl PartialEq for Record {
    fn eq(&self, other: &Self) -> bool {
        self.has_head_of(other)
            && self.fields.iter().zip(&other.fields).all(|(a, b)| a.value == b.value)
    }
}

impl Eq for Record {}

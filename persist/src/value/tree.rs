//! Values, and the records in them.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::iter;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::ObjectId;

/// Holds a value without its type, as a save describes it.
///
/// Two values are equal if their bytes in a save would be equal: floats are compared bit by bit.
///
/// ```
/// use persist::Value;
///
/// let list = Value::from(vec![Value::from("sword"), Value::from(3_u32)]);
/// assert_eq!(list.as_seq().map(<[Value]>::len), Some(2));
/// assert_eq!(list.to_string(), r#"["sword", 3u32]"#);
/// assert_eq!(list.to_string().parse::<Value>()?, list);
/// # Ok::<(), persist::Error>(())
/// ```
///
/// Values from a save or a text nest at most four times as deep as [`Limits::depth`](crate::Limits::depth). Dropping a
/// value, and serializing it with serde, takes stack for each level. Reading, writing, cloning, comparing and showing
/// it does not.
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Value {
    /// `()`.
    Unit,
    /// `bool`.
    Bool(bool),
    /// `char`.
    Char(char),
    /// `u8`.
    U8(u8),
    /// `u16`.
    U16(u16),
    /// `u32`.
    U32(u32),
    /// `u64`, also for a `usize`.
    U64(u64),
    /// `u128`.
    U128(u128),
    /// `i8`.
    I8(i8),
    /// `i16`.
    I16(i16),
    /// `i32`.
    I32(i32),
    /// `i64`, also for an `isize`.
    I64(i64),
    /// `i128`.
    I128(i128),
    /// `f32`.
    F32(#[cfg_attr(feature = "serde", serde(with = "super::serialize::float32"))] f32),
    /// `f64`.
    F64(#[cfg_attr(feature = "serde", serde(with = "super::serialize::float64"))] f64),
    /// A string.
    Text(String),
    /// A list or array of `u8`.
    Bytes(Vec<u8>),
    /// An `Option`.
    Option(Option<Box<Value>>),
    /// A list, set or array of other elements.
    Seq(Vec<Value>),
    /// A tuple.
    Tuple(Vec<Value>),
    /// A map, in stored order.
    Map(Vec<(Value, Value)>),
    /// A struct.
    Struct(Record),
    /// An enum, at one of its variants.
    Enum(Record),
    /// A pointer to an object of the save; `None` for a weak pointer without a target.
    Ref(Option<ObjectId>),
    /// A handle into an arena.
    Handle(HandleValue),
}

/// Holds the state of a [`Handle`](crate::Handle) without its arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum HandleValue {
    /// The handle leads nowhere.
    Null,
    /// The handle leads to the object whose key has these bits.
    Live(u64),
    /// The handle has lost its target, and keeps the bits of its key.
    Dead(u64),
}

impl Value {
    /// True if the kind of the value allows parts.
    pub(crate) fn may_have_parts(&self) -> bool {
        matches!(
            self,
            Self::Option(Some(_))
                | Self::Seq(_)
                | Self::Tuple(_)
                | Self::Map(_)
                | Self::Struct(_)
                | Self::Enum(_)
        )
    }

    /// Iterates over the direct parts of this value; for a map over each key and then its value.
    pub(crate) fn parts(&self) -> PartIter<'_> {
        match self {
            Self::Option(value) => Box::new(value.iter().map(|value| &**value)),
            Self::Seq(values) | Self::Tuple(values) => Box::new(values.iter()),
            Self::Map(entries) => Box::new(entries.iter().flat_map(|(key, value)| [key, value])),
            Self::Struct(record) | Self::Enum(record) => {
                Box::new(record.fields.iter().map(|field| &field.value))
            }
            _ => Box::new(iter::empty()),
        }
    }

    /// Like [`parts`](Self::parts), mutably.
    pub(crate) fn parts_mut(&mut self) -> PartIterMut<'_> {
        match self {
            Self::Option(value) => Box::new(value.iter_mut().map(|value| &mut **value)),
            Self::Seq(values) | Self::Tuple(values) => Box::new(values.iter_mut()),
            Self::Map(entries) => {
                Box::new(entries.iter_mut().flat_map(|(key, value)| [key, value]))
            }
            Self::Struct(record) | Self::Enum(record) => {
                Box::new(record.fields.iter_mut().map(|field| &mut field.value))
            }
            _ => Box::new(iter::empty()),
        }
    }

    /// Passes this value and all values inside of it to `visit`, mutably.
    pub fn each_mut(&mut self, visit: &mut dyn FnMut(&mut Self)) {
        let (mut next, mut open) = (Some(self), Vec::new());
        while let Some(value) = next {
            visit(value);
            if value.may_have_parts() {
                open.push(value.parts_mut());
            }
            next = next_part(&mut open);
        }
    }

    /// Copies the value, with units for its parts.
    fn copy_of_head(&self) -> Self {
        macro_rules! copied {
            ($($scalar:ident)*) => {
                match self {
                    $(Self::$scalar(value) => Self::$scalar(*value),)*
                    Self::Unit => Self::Unit,
                    Self::Text(text) => Self::Text(text.clone()),
                    Self::Bytes(bytes) => Self::Bytes(bytes.clone()),
                    Self::Option(value) => Self::Option(value.as_ref().map(|_| Box::new(Self::Unit))),
                    Self::Seq(values) => Self::Seq(values.iter().map(|_| Self::Unit).collect()),
                    Self::Tuple(values) => Self::Tuple(values.iter().map(|_| Self::Unit).collect()),
                    Self::Map(entries) => {
                        Self::Map(entries.iter().map(|_| (Self::Unit, Self::Unit)).collect())
                    }
                    Self::Struct(record) => Self::Struct(record.copy_of_head()),
                    Self::Enum(record) => Self::Enum(record.copy_of_head()),
                }
            };
        }
        copied!(Bool Char U8 U16 U32 U64 U128 I8 I16 I32 I64 I128 F32 F64 Ref Handle)
    }

    /// True if the values are equal apart from their parts.
    fn has_head_of(&self, other: &Self) -> bool {
        macro_rules! compared {
            ($($scalar:ident)*) => {
                match (self, other) {
                    $((Self::$scalar(a), Self::$scalar(b)) => a == b,)*
                    (Self::Unit, Self::Unit) => true,
                    (Self::F32(a), Self::F32(b)) => a.to_bits() == b.to_bits(),
                    (Self::F64(a), Self::F64(b)) => a.to_bits() == b.to_bits(),
                    (Self::Option(a), Self::Option(b)) => a.is_some() == b.is_some(),
                    (Self::Seq(a), Self::Seq(b)) | (Self::Tuple(a), Self::Tuple(b)) => {
                        a.len() == b.len()
                    }
                    (Self::Map(a), Self::Map(b)) => a.len() == b.len(),
                    (Self::Struct(a), Self::Struct(b)) | (Self::Enum(a), Self::Enum(b)) => {
                        a.has_head_of(b)
                    }
                    _ => false,
                }
            };
        }
        compared!(Bool Char U8 U16 U32 U64 U128 I8 I16 I32 I64 I128 Ref Handle Text Bytes)
    }
}

/// Clones without recursion, so that a deep value takes no more stack than a flat one.
impl Clone for Value {
    fn clone(&self) -> Self {
        let mut copy = Self::Unit;
        let mut open = Vec::new();
        let mut pair = Some((self, &mut copy));
        while let Some((from, to)) = pair {
            *to = from.copy_of_head();
            if from.may_have_parts() {
                open.push(from.parts().zip(to.parts_mut()));
            }
            pair = next_part(&mut open);
        }
        // The iterators borrow the copy.
        drop(open);
        copy
    }
}

/// Compares without recursion, like [`Clone`].
impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        let mut open = Vec::new();
        let mut pair = Some((self, other));
        while let Some((a, b)) = pair {
            if !a.has_head_of(b) {
                return false;
            }
            if a.may_have_parts() {
                open.push(a.parts().zip(b.parts()));
            }
            pair = next_part(&mut open);
        }
        true
    }
}

impl Eq for Value {}

/// Holds the fields of a struct, or of an enum at one of its variants, as values by name.
///
/// A migration gets a record and changes it: it may rename, merge, split and delete fields.
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
    // Shared, because a save has each name once and millions of values with it.
    pub(crate) class: Arc<str>,
    pub(crate) variant: Option<Arc<str>>,
    pub(crate) fields: Vec<Field>,
    /// Index of the class in the save from which the record was read. In 32 bits, so that a [`Value`] has 80 bytes.
    origin: Option<u32>,
    /// The version of its class; 0 for a record that a migration created without one.
    pub(crate) version: u32,
    /// Notes what a migration reads of a record whose own migration comes later.
    pub(crate) inspection: Option<Arc<Inspection>>,
}

/// A field of a [`Record`].
#[derive(Clone, Debug)]
pub(crate) struct Field {
    pub name: Arc<str>,
    /// Number of the field in the save, as long as no migration has changed the field.
    pub number: Option<u32>,
    pub value: Value,
    pub origin: Origin,
    /// The version of the migration that created the field or gave it its name; 0 until that migration has ended.
    pub since: u32,
    /// Index among the fields that were read, as long as the field is unchanged.
    pub place: Option<usize>,
    /// True if a migration has read it.
    pub seen: Seen,
}

impl Field {
    /// Notes that the field differs from the one that was read.
    fn change(&mut self) {
        (self.number, self.origin, self.since, self.place) = (None, Origin::Created, 0, None);
    }
}

/// Notes what a migration reads of the records of one class whose own migrations and converts are due, and come later.
#[derive(Debug, Default)]
pub(crate) struct Inspection {
    /// True if a migration has read or changed the content of such a record.
    pub content: Seen,
    /// True if it has asked for the version of one.
    pub version: Seen,
}

/// A flag that any thread can set through a shared reference.
#[derive(Debug, Default)]
pub(crate) struct Seen(AtomicBool);

impl Seen {
    fn mark(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Clears the flag; returns true if it was set.
    pub(crate) fn take(&self) -> bool {
        self.0.swap(false, Ordering::Relaxed)
    }
}

impl Clone for Seen {
    fn clone(&self) -> Self {
        Self(AtomicBool::new(self.0.load(Ordering::Relaxed)))
    }
}

/// Says where a field of a record comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Origin {
    /// The program that wrote the save had the field.
    #[default]
    Written,
    /// That program lacked the field, and kept it as unknown content.
    Unknown,
    /// That program kept the field as unknown content of another variant; it does not belong to this one.
    OtherVariant,
    /// A migration created the field, or gave it its name.
    Created,
    /// The program that wrote the save did not find the field in an older one, and still had the value that it
    /// synthesized then.
    Synthesized,
}

impl Record {
    /// Creates a struct of this class without fields.
    #[must_use]
    pub fn new(class: impl Into<Arc<str>>) -> Self {
        Self {
            class: class.into(),
            variant: None,
            fields: Vec::new(),
            origin: None,
            version: 0,
            inspection: None,
        }
    }

    /// Creates a variant of an enum without fields.
    #[must_use]
    pub fn with_variant(class: impl Into<Arc<str>>, variant: impl Into<Arc<str>>) -> Self {
        Self { variant: Some(variant.into()), ..Self::new(class) }
    }

    /// Sets the version of the record's class, for a record that a [`migrate`](derive@crate::Persist) function creates.
    /// The steps of that class migrate the record from there. A load fails if the class has several versions and none
    /// is set, or if it does not have this one.
    ///
    /// ```
    /// use persist::Record;
    ///
    /// let mut body = Record::new("Body").at_version(1);
    /// body.set("hp", 7);
    /// ```
    #[must_use]
    pub fn at_version(mut self, version: u32) -> Self {
        self.version = version;
        self
    }

    /// Returns the version of the class that the record's fields are of; 0 for a record that was created without one.
    ///
    /// A [`migrate`](derive@crate::Persist) function gets the records inside of its own as they were stored. If the
    /// class of such a record has several versions, the function asks for the record's version. A load fails if the
    /// function reads or changes a record whose own conversions are due, and does not ask.
    ///
    /// ```
    /// use persist::{Record, Value};
    ///
    /// /// Moves the gold out of the purse. Version 1 of `Purse` counted cents.
    /// fn migrate(hero: &mut Record, _version: u32) {
    ///     let purse = hero.take("purse");
    ///     let Some(purse) = purse.as_ref().and_then(Value::as_record) else { return };
    ///     let coins = purse.get("coins").and_then(Value::as_u64).unwrap_or(0);
    ///     hero.set("gold", if purse.version() == 1 { coins / 100 } else { coins });
    /// }
    ///
    /// let mut purse = Record::new("Purse").at_version(1);
    /// purse.set("coins", 250u64);
    /// let mut hero = Record::new("Hero");
    /// hero.set("purse", purse);
    /// migrate(&mut hero, 1);
    /// assert_eq!(hero.get("gold"), Some(&Value::from(2u64)));
    /// ```
    #[must_use]
    pub fn version(&self) -> u32 {
        if let Some(inspection) = &self.inspection {
            inspection.version.mark();
        }
        self.version
    }

    /// Returns the index of the class in the save from which the record was read.
    #[doc(hidden)]
    #[must_use]
    pub fn origin(&self) -> Option<usize> {
        self.origin.map(|origin| origin as usize)
    }

    /// Sets the index of the class in the save; `None` beyond 32 bits, where no save has classes.
    #[doc(hidden)]
    pub fn set_origin(&mut self, class: Option<usize>) {
        self.origin = class.and_then(|class| class.try_into().ok());
    }

    /// Notes that a migration reads or changes what is in the record.
    fn mark_inspected(&self) {
        if let Some(inspection) = &self.inspection {
            inspection.content.mark();
        }
    }

    /// Returns the name of the class.
    #[must_use]
    pub fn class(&self) -> &str {
        &self.class
    }

    /// Returns the name of the variant; `None` for a struct.
    #[must_use]
    pub fn variant(&self) -> Option<&str> {
        self.mark_inspected();
        self.variant.as_deref()
    }

    /// Changes the variant of an enum; the fields stay.
    pub fn set_variant(&mut self, variant: impl Into<Arc<str>>) {
        self.mark_inspected();
        self.variant = Some(variant.into());
    }

    /// Returns the field of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.mark_inspected();
        let field = self.fields.iter().find(|field| &*field.name == name)?;
        field.seen.mark();
        Some(&field.value)
    }

    /// Returns the field of this name mutably.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut Value> {
        self.mark_inspected();
        let field = self.fields.iter_mut().find(|field| &*field.name == name)?;
        field.change();
        Some(&mut field.value)
    }

    /// Sets the field of this name, or appends it; returns its old value.
    pub fn set(&mut self, name: &str, value: impl Into<Value>) -> Option<Value> {
        let value = value.into();
        if let Some(field) = self.get_mut(name) {
            return Some(std::mem::replace(field, value));
        }
        self.push(name, value);
        None
    }

    /// Appends a field whose name no other field has.
    #[doc(hidden)]
    pub fn push(&mut self, name: impl Into<Arc<str>>, value: Value) {
        self.fields.push(Field {
            name: name.into(),
            number: None,
            value,
            origin: Origin::Created,
            since: 0,
            place: None,
            seen: Seen::default(),
        });
    }

    /// Removes the field of this name and returns its value.
    pub fn take(&mut self, name: &str) -> Option<Value> {
        self.mark_inspected();
        let place = self.fields.iter().position(|field| &*field.name == name)?;
        Some(self.fields.remove(place).value)
    }

    /// Renames a field, and replaces a field that has the new name. Returns false if there is no field of the old name.
    pub fn rename(&mut self, name: &str, new: &str) -> bool {
        self.mark_inspected();
        let Some(place) = self.fields.iter().position(|field| &*field.name == name) else {
            return false;
        };
        if name != new {
            self.fields[place].name = new.into();
            // The new name identifies the field from now on.
            let field = &mut self.fields[place];
            (field.number, field.origin, field.since) = (None, Origin::Created, 0);
            let mut at = 0;
            self.fields.retain(|field| {
                at += 1;
                at - 1 == place || &*field.name != new
            });
        }
        true
    }

    /// Iterates over names and values, in order.
    pub fn fields(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.mark_inspected();
        self.fields.iter().map(|field| {
            field.seen.mark();
            (&*field.name, &field.value)
        })
    }

    /// Iterates over names and mutable values, in order.
    pub fn fields_mut(&mut self) -> impl Iterator<Item = (&str, &mut Value)> {
        self.mark_inspected();
        self.fields.iter_mut().map(|field| {
            field.change();
            (&*field.name, &mut field.value)
        })
    }

    /// Returns the number of fields.
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

/// Sets fields like [`Record::set`], in time proportional to their number.
impl<N: Into<Arc<str>>, V: Into<Value>> Extend<(N, V)> for Record {
    fn extend<I: IntoIterator<Item = (N, V)>>(&mut self, fields: I) {
        self.mark_inspected();
        let known = self.fields.iter().enumerate().rev();
        let mut places: HashMap<Arc<str>, usize> =
            known.map(|(at, field)| (Arc::clone(&field.name), at)).collect();
        for (name, value) in fields {
            let (name, value) = (name.into(), value.into());
            match places.entry(Arc::clone(&name)) {
                Entry::Occupied(known) => {
                    let field = &mut self.fields[*known.get()];
                    field.change();
                    field.value = value;
                }
                Entry::Vacant(new) => {
                    new.insert(self.fields.len());
                    self.push(name, value);
                }
            }
        }
    }
}

impl Record {
    /// Copies the record, with units for its values.
    fn copy_of_head(&self) -> Self {
        let unit = |field: &Field| Field {
            name: field.name.clone(),
            value: Value::Unit,
            seen: field.seen.clone(),
            ..*field
        };
        Self {
            class: self.class.clone(),
            variant: self.variant.clone(),
            fields: self.fields.iter().map(unit).collect(),
            origin: self.origin,
            version: self.version,
            inspection: self.inspection.clone(),
        }
    }

    /// True if the records are equal apart from their values.
    fn has_head_of(&self, other: &Self) -> bool {
        self.mark_inspected();
        other.mark_inspected();
        self.class == other.class
            && self.variant == other.variant
            && self.len() == other.len()
            && self.fields.iter().zip(&other.fields).all(|(a, b)| a.name == b.name)
    }
}

/// Compares class, variant, and names and values in order.
impl PartialEq for Record {
    fn eq(&self, other: &Self) -> bool {
        self.has_head_of(other)
            && self.fields.iter().zip(&other.fields).all(|(a, b)| a.value == b.value)
    }
}

impl Eq for Record {}

// Walks over a whole tree keep a stack of these iterators, so that no value is too deep for the stack of the thread.
pub(crate) type PartIter<'v> = Box<dyn Iterator<Item = &'v Value> + 'v>;
type PartIterMut<'v> = Box<dyn Iterator<Item = &'v mut Value> + 'v>;

/// Returns the next part of the innermost value that has one. Values without further parts are closed.
pub(crate) fn next_part<I: Iterator>(open: &mut Vec<I>) -> Option<I::Item> {
    loop {
        let part = open.last_mut()?.next();
        if part.is_some() {
            return part;
        }
        open.pop();
    }
}

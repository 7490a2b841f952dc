use super::{Class, Inner, Kind};

/// One member of a class: the row of the table that everything else reads.
///
/// # Example
///
/// ```
/// use persist::Persist;
/// use persist::codec::Reflect;
///
/// #[derive(Persist)]
/// struct Player {
///     level: i32,
///     flag: u8,
/// }
///
/// let [level, flag] = Player::FIELDS else { panic!("two fields") };
/// assert_eq!((level.name, level.size), ("level", 4));
/// assert_eq!((flag.name, flag.size), ("flag", 1));
/// assert_eq!(level.offset, Some(std::mem::offset_of!(Player, level)));
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct FieldRecord {
    /// Name in the save: the field's, unless `rename`d; its index in a tuple.
    pub name: &'static str,
    /// Names under which older saves may hold it.
    pub aliases: &'static [&'static str],
    /// Bytes from the start of the value in memory; `None` in enum variants.
    /// For looking only: it differs between builds and never goes to disk.
    pub offset: Option<usize>,
    /// Size in memory, in bytes.
    pub size: usize,
    /// Number by which a save may know it under another name.
    pub id: Option<u32>,
    /// Kind of the stored value.
    pub(crate) kind: Inner,
    /// Kind of the older value that the field's `convert` takes.
    pub convert: Option<fn() -> Kind>,
    /// True if a load gives the field its default where the save does not have it.
    pub has_default: bool,
    /// True if the field is stored as another type, through `with`, `with_iter` or `via`.
    pub has_module: bool,
    /// True if the field has an empty value of its own.
    pub(crate) has_empty: bool,
    /// True if the field holds the stored fields that the program does not have.
    pub keeps_unknown: bool,
}

impl FieldRecord {
    /// The record of a field of type `F`, stored as `kind`.
    #[doc(hidden)]
    #[must_use]
    pub const fn new<F>(name: &'static str, offset: Option<usize>, kind: Inner) -> Self {
        Self {
            name,
            aliases: &[],
            offset,
            size: size_of::<F>(),
            id: None,
            kind,
            convert: None,
            has_default: false,
            has_module: false,
            has_empty: false,
            keeps_unknown: false,
        }
    }

    /// Gives the field a number of its own.
    #[doc(hidden)]
    #[must_use]
    pub const fn id_number(mut self, id: u32) -> Self {
        self.id = Some(id);
        self
    }

    /// Adds a `convert` function that takes values of this kind.
    #[doc(hidden)]
    #[must_use]
    pub const fn converts(mut self, from: Inner) -> Self {
        self.convert = Some(from);
        self
    }

    /// Marks the field as the one that holds unknown fields.
    #[doc(hidden)]
    #[must_use]
    pub const fn keeps_unknown(mut self) -> Self {
        self.keeps_unknown = true;
        self
    }

    /// Sets the older names of the field.
    #[doc(hidden)]
    #[must_use]
    pub const fn aliases(mut self, aliases: &'static [&'static str]) -> Self {
        self.aliases = aliases;
        self
    }

    /// Marks the field as having a default.
    #[doc(hidden)]
    #[must_use]
    pub const fn with_default(mut self) -> Self {
        self.has_default = true;
        self
    }

    /// Marks the field as having an empty value of its own.
    #[doc(hidden)]
    #[must_use]
    pub const fn with_empty(mut self) -> Self {
        self.has_empty = true;
        self
    }

    /// Marks the field as stored as another type.
    #[doc(hidden)]
    #[must_use]
    pub const fn with_module(mut self) -> Self {
        self.has_module = true;
        self
    }

    /// True if the field's type makes the empty value that a load fills.
    pub(crate) fn is_made_empty(&self) -> bool {
        !(self.has_default || self.has_module || self.has_empty)
    }

    /// Kind of the stored value.
    #[must_use]
    pub fn kind(&self) -> Kind {
        (self.kind)()
    }

    /// The class inside, if the field is a struct or an enum of its own.
    #[must_use]
    pub fn class(&self) -> Option<&'static Class> {
        match self.kind() {
            Kind::Class(class) => Some(class()),
            _ => None,
        }
    }
}

use std::any::TypeId;
use std::fmt::{self, Write};

use super::FieldRecord;
use crate::Error;
use crate::env::Env;
use crate::value::Record;

/// A struct or an enum, as its table of field records.
///
/// The derive makes one for each type; [`Reflect::CLASS`](crate::codec::Reflect::CLASS)
/// hands it out. Its [`Display`](fmt::Display) is a table for people.
#[derive(Clone, Copy)]
pub struct Class {
    name: &'static str,
    arguments: &'static [Argument],
    given_id: Option<u64>,
    /// Version of the class, 1 unless given.
    pub version: u32,
    /// Names under which older saves may hold the class.
    pub aliases: &'static [&'static str],
    /// Names of fields or variants that older saves may hold and that are gone for good.
    pub removed: &'static [&'static str],
    /// The source of each stored field, in the order of [`all_fields`](Self::all_fields): `level: u32`, or
    /// the type alone for a field without a name. Empty where it is not known.
    pub(crate) written: &'static [&'static str],
    /// Fields of a struct, variants of an enum.
    #[doc(hidden)]
    pub body: Body,
    /// Size in memory, in bytes.
    pub size: usize,
    /// True if the class has a `before_save` hook.
    pub before_save: bool,
    /// True if the class has an `after_load` hook or a `validate` function.
    pub after_load: bool,
    /// Where an empty value comes from.
    #[doc(hidden)]
    pub prototype: Prototype,
    /// How records of older versions are migrated to this one.
    #[doc(hidden)]
    pub migration: Migration,
    type_id: fn() -> TypeId,
    type_name: fn() -> &'static str,
}

/// Where the empty value of a class comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Prototype {
    /// From empty fields.
    Fields,
    /// From the variant of this index, with empty fields.
    Variant(usize),
    /// From the class's own `default`.
    Own,
}

/// What a class is made of.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Body {
    /// The fields of a struct, in declaration order.
    Struct(&'static [FieldRecord]),
    /// The variants of an enum, in declaration order.
    Enum(&'static [VariantRecord]),
}

/// One variant of an enum.
#[derive(Clone, Copy, Debug)]
pub struct VariantRecord {
    /// Name in the save.
    pub name: &'static str,
    /// Names under which older saves may hold it.
    pub aliases: &'static [&'static str],
    /// Its fields; their `offset` is `None`.
    pub fields: &'static [FieldRecord],
    /// True if it stands for stored variants that the program does not have.
    pub other: bool,
    /// Names of fields of it that older saves may hold and that are gone for good.
    pub removed: &'static [&'static str],
}

/// Brings the fields of an older record one version on: they as values, and the version that they are of. The outer
/// error is that of a context; the inner one is the function's own.
pub type Migrate = fn(&mut Record, u32, &Env<'_>) -> Result<Result<(), String>, Error>;

/// How older records of a class are brought to its version.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub enum Migration {
    /// By field names alone.
    None,
    /// By one function, called with every version from that of the record on.
    Every(Migrate),
    /// By a function for each version, in ascending order, the last one below the
    /// version of the class.
    Steps(&'static [(u32, Migrate)]),
}

/// An argument of a generic class, part of its name.
#[derive(Clone, Copy)]
pub enum Argument {
    /// A type, by the function that names it.
    Type(fn() -> String),
    /// A const value.
    Const(&'static (dyn fmt::Display + Sync)),
}

/// The number by which a save knows a class.
///
/// By default the 64-bit FNV-1a hash of the class's name
/// (<http://www.isthe.com/chongo/tech/comp/fnv/>), else the number that the
/// program gave with `#[persist(id = n)]`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ClassId(pub u64);

impl ClassId {
    /// The id of a class that has this name and no number of its own.
    ///
    /// ```
    /// use persist::reflect::ClassId;
    ///
    /// const HERO: ClassId = ClassId::of("quest.Hero");
    /// assert_ne!(HERO, ClassId::of("quest.Monster"));
    /// ```
    #[must_use]
    pub const fn of(name: &str) -> Self {
        let bytes = name.as_bytes();
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        let mut i = 0;
        while i < bytes.len() {
            hash ^= bytes[i] as u64;
            hash = hash.wrapping_mul(0x0000_0100_0000_01b3);
            i += 1;
        }
        Self(hash)
    }
}

impl fmt::Display for ClassId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

impl fmt::Debug for ClassId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ClassId({self})")
    }
}

impl Class {
    /// A class of the Rust type `T`, without arguments, number, aliases or hooks.
    #[doc(hidden)]
    #[must_use]
    pub const fn new<T: 'static>(name: &'static str, body: Body) -> Self {
        Self {
            name,
            arguments: &[],
            given_id: None,
            version: 1,
            aliases: &[],
            removed: &[],
            written: &[],
            body,
            size: size_of::<T>(),
            before_save: false,
            after_load: false,
            prototype: Prototype::Fields,
            migration: Migration::None,
            type_id: TypeId::of::<T>,
            type_name: std::any::type_name::<T>,
        }
    }

    /// Makes the class generic over these arguments.
    #[doc(hidden)]
    #[must_use]
    pub const fn arguments(mut self, arguments: &'static [Argument]) -> Self {
        self.arguments = arguments;
        self
    }

    /// Gives the class a number of its own.
    #[doc(hidden)]
    #[must_use]
    pub const fn id_number(mut self, id: u64) -> Self {
        self.given_id = Some(id);
        self
    }

    /// Sets the version of the class.
    #[doc(hidden)]
    #[must_use]
    pub const fn version(mut self, version: u32) -> Self {
        self.version = version;
        self
    }

    /// Sets the older names of the class.
    #[doc(hidden)]
    #[must_use]
    pub const fn aliases(mut self, aliases: &'static [&'static str]) -> Self {
        self.aliases = aliases;
        self
    }

    /// Names the fields or variants that are gone for good.
    #[doc(hidden)]
    #[must_use]
    pub const fn removed(mut self, removed: &'static [&'static str]) -> Self {
        self.removed = removed;
        self
    }

    /// Sets the source text of the stored fields.
    #[doc(hidden)]
    #[must_use]
    pub const fn written(mut self, written: &'static [&'static str]) -> Self {
        self.written = written;
        self
    }

    /// Says which hooks the class has.
    #[doc(hidden)]
    #[must_use]
    pub const fn hooks(mut self, before_save: bool, after_load: bool) -> Self {
        self.before_save = before_save;
        self.after_load = after_load;
        self
    }

    /// Sets the prototype.
    #[doc(hidden)]
    #[must_use]
    pub const fn prototype(mut self, prototype: Prototype) -> Self {
        self.prototype = prototype;
        self
    }

    /// Sets how records of older versions are migrated.
    #[doc(hidden)]
    #[must_use]
    pub const fn migration(mut self, migration: Migration) -> Self {
        self.migration = migration;
        self
    }

    /// The name in a save, arguments included: `Slot<Sword>`, `Grid<8, 8>`.
    #[must_use]
    pub fn name(&self) -> String {
        let mut name = self.name.to_owned();
        for (i, argument) in self.arguments.iter().enumerate() {
            name.push_str(if i == 0 { "<" } else { ", " });
            match argument {
                Argument::Type(of) => name.push_str(&of()),
                // Writing to a `String` cannot fail.
                Argument::Const(value) => drop(write!(name, "{value}")),
            }
        }
        if !self.arguments.is_empty() {
            name.push('>');
        }
        name
    }

    /// The name in a save without arguments: `Slot` of a `Slot<Sword>`.
    pub(crate) fn base_name(&self) -> &'static str {
        self.name
    }

    /// True if the class has arguments.
    pub(crate) fn is_generic(&self) -> bool {
        !self.arguments.is_empty()
    }

    /// True if a save may have the class, or another instance of the same generic one, by this name
    /// that is not its own.
    pub(crate) fn is_called(&self, name: &str) -> bool {
        let instance = || {
            let (base, _) = name.strip_suffix('>')?.split_once('<')?;
            Some(base == self.name || self.aliases.contains(&base))
        };
        self.aliases.contains(&name) || self.is_generic() && instance() == Some(true)
    }

    /// True for a class of the standard library, which takes no attributes.
    pub(crate) fn is_std(&self) -> bool {
        let path = self.type_name();
        ["core::", "std::", "alloc::"].iter().any(|root| path.starts_with(root))
    }

    /// True for the same class, and for another instance of the same generic type.
    pub(crate) fn is_instance_with(&self, other: &Self) -> bool {
        let path = |class: &Self| class.type_name().split('<').next().unwrap_or_default();
        self.type_id() == other.type_id()
            || self.is_generic()
                && other.is_generic()
                && self.name == other.name
                && path(self) == path(other)
    }

    /// The number in a save.
    #[must_use]
    pub fn id(&self) -> ClassId {
        match self.given_id {
            Some(id) => ClassId(id),
            None if self.arguments.is_empty() => ClassId::of(self.name),
            None => ClassId::of(&self.name()),
        }
    }

    /// The Rust type of the class.
    #[must_use]
    pub fn type_id(&self) -> TypeId {
        (self.type_id)()
    }

    /// The Rust type's path, for messages only: it differs between compilers.
    #[must_use]
    pub fn type_name(&self) -> &'static str {
        (self.type_name)()
    }

    /// The fields of a struct; none for an enum, whose variants have them.
    #[must_use]
    pub fn fields(&self) -> &'static [FieldRecord] {
        match self.body {
            Body::Struct(fields) => fields,
            Body::Enum(_) => &[],
        }
    }

    /// The variants of an enum; none for a struct.
    #[must_use]
    pub fn variants(&self) -> &'static [VariantRecord] {
        match self.body {
            Body::Struct(_) => &[],
            Body::Enum(variants) => variants,
        }
    }

    /// Every field record: those of the struct or of all variants in turn.
    pub fn all_fields(&self) -> impl Iterator<Item = &'static FieldRecord> + use<> {
        let of_variants = self.variants().iter().flat_map(|variant| variant.fields);
        self.fields().iter().chain(of_variants)
    }
}

impl fmt::Debug for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Class({} {})", self.name(), self.id())
    }
}

/// The table of field records.
///
/// ```
/// use persist::Persist;
/// use persist::codec::Reflect;
///
/// #[derive(Persist)]
/// #[persist(id = 7)]
/// struct Player {
///     level: i32,
///     flag: u8,
/// }
///
/// let table = Player::CLASS.to_string();
/// assert!(table.starts_with("class Player, id 0x7, version 1, 8 bytes in memory\n"));
/// ```
impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "class {}, id {}, version {}, {} bytes in memory",
            self.name(),
            self.id(),
            self.version,
            self.size
        )?;
        match self.body {
            Body::Struct(fields) => write_rows(f, fields, "  "),
            Body::Enum(variants) => {
                for variant in variants {
                    writeln!(f, "  {}", variant.name)?;
                    write_rows(f, variant.fields, "    ")?;
                }
                Ok(())
            }
        }
    }
}

fn write_rows(f: &mut fmt::Formatter<'_>, fields: &[FieldRecord], indent: &str) -> fmt::Result {
    let width = fields.iter().map(|field| field.name.len()).max().unwrap_or(0);
    for field in fields {
        let offset = field.offset.map_or(String::from("-"), |offset| offset.to_string());
        write!(
            f,
            "{indent}{:width$}  offset {offset:>4}  size {:>4}  {}",
            field.name,
            field.size,
            field.kind()
        )?;
        if field.has_default {
            f.write_str("  default")?;
        }
        if field.has_module {
            f.write_str("  with")?;
        }
        writeln!(f)?;
    }
    Ok(())
}

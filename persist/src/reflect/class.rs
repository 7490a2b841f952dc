//! Classes, fields and kinds: three tables that refer to each other.

use std::any::TypeId;
use std::fmt::{self, Write};

use super::class_id::ClassId;
use super::hints::{EditorHints, setters};
use super::holder::Holder;
use super::integer::Integer;
use crate::Error;
use crate::env::Env;
use crate::value::Record;

/// Describes a struct or an enum by a table of field records.
///
/// The derive creates one for each type; [`Reflect::CLASS`](crate::codec::Reflect::CLASS) gives it. Its
/// [`Display`](fmt::Display) is a table for people.
#[derive(Clone, Copy)]
pub struct Class {
    name: &'static str,
    arguments: &'static [Argument],
    given_id: Option<u64>,
    /// Version of the class, 1 unless given.
    pub version: u32,
    /// The lowest version of the class whose programs may read what this one writes, if given.
    pub since: Option<u32>,
    /// Names under which older saves may hold the class.
    pub aliases: &'static [&'static str],
    /// Names of removed fields or variants, which older saves may hold.
    pub removed: &'static [&'static str],
    /// The source of each stored field, in the order of [`all_fields`](Self::all_fields): `level: u32`, or
    /// the type alone for a field without a name. Empty where it is not known.
    #[doc(hidden)]
    pub written: &'static [&'static str],
    /// The attributes that change, create or refuse values: those of the class with index 0, those of the stored fields
    /// with indices from 1 on.
    #[doc(hidden)]
    pub code: &'static [(usize, &'static str)],
    /// The fields of a struct, or the variants of an enum.
    #[doc(hidden)]
    pub body: Body,
    /// Size in memory, in bytes.
    pub size: usize,
    /// True if the class has a `before_save` hook.
    pub before_save: bool,
    /// True if the class has an `after_load` hook or a `validate` function.
    pub after_load: bool,
    /// True if the class has a `validate` function.
    pub validate: bool,
    /// Source of the empty value.
    #[doc(hidden)]
    pub prototype: Prototype,
    /// The functions that migrate records of older versions to this one.
    #[doc(hidden)]
    pub migration: MigrationSteps,
    type_id: fn() -> TypeId,
    type_name: fn() -> &'static str,
}

/// Says how the empty value of a class is created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Prototype {
    /// All fields are empty.
    Fields,
    /// It is the variant of this index, with empty fields.
    Variant(usize),
    /// It is the value of the class's own `empty` or `default`.
    Own,
}

/// The fields of a struct, or the variants of an enum.
#[derive(Clone, Copy, Debug)]
pub enum Body {
    /// The fields of a struct, in declaration order.
    Struct(&'static [FieldRecord]),
    /// The variants of an enum, in declaration order.
    Enum(&'static [VariantRecord]),
}

/// Describes one variant of an enum.
#[derive(Clone, Copy, Debug)]
pub struct VariantRecord {
    /// Name in the save.
    pub name: &'static str,
    /// Names under which older saves may hold it.
    pub aliases: &'static [&'static str],
    /// The fields of the variant; their `offset` is `None`.
    pub fields: &'static [FieldRecord],
    /// True if the variant takes the place of stored variants that the program lacks.
    pub other: bool,
    /// Names of removed fields of the variant, which older saves may hold.
    pub removed: &'static [&'static str],
}

/// Migrates the fields of an older record to the next version. It gets the fields as values and the version that they
/// have. The outer error is one of the context; the inner one is the function's own.
pub type Migrate = fn(&mut Record, u32, &Env<'_>) -> Result<Result<(), String>, Error>;

/// The functions that migrate older records of a class: one for each version, in ascending order. The last version lies
/// below that of the class. Without functions, only field names are matched.
pub type MigrationSteps = &'static [(u32, Migrate)];

/// One argument of a generic class, as part of its name.
#[derive(Clone, Copy)]
pub enum Argument {
    /// A type, by the function that names it.
    Type(fn() -> String),
    /// A const value.
    Const(&'static (dyn fmt::Display + Sync)),
}

impl Class {
    /// Creates a class of the Rust type `T`, without arguments, number, aliases or hooks.
    #[doc(hidden)]
    #[must_use]
    pub const fn new<T: 'static>(name: &'static str, body: Body) -> Self {
        Self {
            name,
            arguments: &[],
            given_id: None,
            version: 1,
            since: None,
            aliases: &[],
            removed: &[],
            written: &[],
            code: &[],
            body,
            size: size_of::<T>(),
            before_save: false,
            after_load: false,
            validate: false,
            prototype: Prototype::Fields,
            migration: &[],
            type_id: TypeId::of::<T>,
            type_name: std::any::type_name::<T>,
        }
    }

    setters! {
        /// Sets the arguments of a generic class.
        arguments(arguments: &'static [Argument]) => arguments: arguments;
        /// Sets the number that the program gave the class.
        id_number(id: u64) => given_id: Some(id);
        /// Sets the version of the class.
        version(version: u32) => version: version;
        /// Sets the lowest version that may read what this one writes.
        since(since: u32) => since: Some(since);
        /// Sets the older names of the class.
        aliases(aliases: &'static [&'static str]) => aliases: aliases;
        /// Sets the names of the removed fields or variants.
        removed(removed: &'static [&'static str]) => removed: removed;
        /// Sets the source text of the stored fields.
        written(written: &'static [&'static str]) => written: written;
        /// Sets the attributes that change, create or refuse values.
        code(code: &'static [(usize, &'static str)]) => code: code;
        /// Sets the prototype.
        prototype(prototype: Prototype) => prototype: prototype;
        /// Sets how records of older versions are migrated.
        migration(migration: MigrationSteps) => migration: migration;
    }

    /// Sets which hooks the class has.
    #[doc(hidden)]
    #[must_use]
    pub const fn hooks(mut self, before_save: bool, after_load: bool, validate: bool) -> Self {
        self.before_save = before_save;
        self.after_load = after_load;
        self.validate = validate;
        self
    }

    /// Returns the name in a save, with arguments: `Slot<Sword>`, `Grid<8, 8>`.
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

    /// Returns the name in a save without arguments: `Slot` for a `Slot<Sword>`.
    pub(crate) fn base_name(&self) -> &'static str {
        self.name
    }

    /// True if the class has arguments.
    pub(crate) fn is_generic(&self) -> bool {
        !self.arguments.is_empty()
    }

    /// True if a save may store the class under this name, which is not its current one. The same holds for other
    /// instances of a generic class.
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

    /// True for the same class, or for another instance of the same generic type.
    pub(crate) fn is_instance_with(&self, other: &Self) -> bool {
        let path = |class: &Self| class.type_name().split('<').next().unwrap_or_default();
        self.type_id() == other.type_id()
            || self.is_generic()
                && other.is_generic()
                && self.name == other.name
                && path(self) == path(other)
    }

    /// Returns the number of the class in a save.
    #[must_use]
    pub fn id(&self) -> ClassId {
        match self.given_id {
            Some(id) => ClassId(id),
            None if self.arguments.is_empty() => ClassId::from_name(self.name),
            None => ClassId::from_name(&self.name()),
        }
    }

    /// True if the program gave the number, so that it does not follow from the name.
    pub(crate) fn has_given_id(&self) -> bool {
        self.given_id.is_some()
    }

    /// Returns the Rust type of the class.
    #[must_use]
    pub fn type_id(&self) -> TypeId {
        (self.type_id)()
    }

    /// Returns the path of the Rust type, for messages only: it differs between compilers.
    #[must_use]
    pub fn type_name(&self) -> &'static str {
        (self.type_name)()
    }

    /// Returns the fields of a struct; empty for an enum, whose variants hold the fields.
    #[must_use]
    pub fn fields(&self) -> &'static [FieldRecord] {
        match self.body {
            Body::Struct(fields) => fields,
            Body::Enum(_) => &[],
        }
    }

    /// Returns the variants of an enum; empty for a struct.
    #[must_use]
    pub fn variants(&self) -> &'static [VariantRecord] {
        match self.body {
            Body::Struct(_) => &[],
            Body::Enum(variants) => variants,
        }
    }

    /// Iterates over all field records: those of the struct, or of all variants in turn.
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

/// Writes the table of field records.
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

/// Describes one field of a class. Saves, migrations and tools all read these records.
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
    /// Name in the save: the field's name unless `rename`d, or its index in a tuple.
    pub name: &'static str,
    /// Names under which older saves may hold it.
    pub aliases: &'static [&'static str],
    /// Offset from the start of the value in memory, in bytes; `None` in enum variants. It is for information only: it
    /// differs between builds and is never stored.
    pub offset: Option<usize>,
    /// Size in memory, in bytes.
    pub size: usize,
    /// Number by which a save can identify the field under another name.
    pub id: Option<u32>,
    /// Kind of the stored value.
    kind: KindFn,
    /// The older kinds that the field's `convert` accepts.
    #[doc(hidden)]
    pub converts: &'static [OldKind],
    /// True if the field gets its default where the save lacks it.
    pub has_default: bool,
    /// True if the field is stored as another type, through `with`, `with_iter` or `via`.
    pub has_module: bool,
    /// The attributes whose code restores the field's type, or types inside of it.
    #[doc(hidden)]
    pub type_code: &'static TypeCode,
    /// True if the field has an empty value of its own.
    has_empty: bool,
    /// True if the field holds the stored fields that the program lacks.
    pub keeps_unknown: bool,
    /// True if elements of the field that cannot be loaded are skipped.
    pub(crate) skips_failed: bool,
    /// Hints for editors, if the program gives any.
    pub hints: &'static EditorHints,
}

/// An older kind of a field, and the function of `convert` that accepts values of it.
#[derive(Clone, Copy, Debug)]
pub struct OldKind {
    /// The last version of the class that stored this kind; `None` if none is given.
    pub version: Option<u32>,
    pub(crate) kind: KindFn,
    /// The function that converts it, as the program names it. Without one, a value is accepted as it is.
    pub function: Option<&'static str>,
}

impl OldKind {
    /// Returns the text in the attribute, with its kind written like this.
    pub fn text(&self, kind: &str) -> String {
        match (self.version, self.function) {
            (_, None) => format!("as {kind}"),
            (None, Some(function)) => function.to_owned(),
            (Some(version), Some(function)) => format!("{version} = {function}"),
        }
    }

    /// Creates the older kind that a version of the class stored.
    #[doc(hidden)]
    #[must_use]
    pub const fn new(version: Option<u32>, kind: KindFn, function: Option<&'static str>) -> Self {
        Self { version, kind, function }
    }
}

/// The attributes whose code restores the values of a type.
#[derive(Clone, Copy, Debug)]
pub enum TypeCode {
    /// No attribute: the values are stored as they are.
    None,
    /// The attribute, after the name of the type if it is on a type.
    Attribute(&'static str),
    /// The attributes of types inside.
    Parts(&'static [&'static TypeCode]),
}

impl TypeCode {
    /// Returns true if a type has an attribute.
    pub fn is_some(&self) -> bool {
        match self {
            Self::None => false,
            Self::Attribute(_) => true,
            Self::Parts(parts) => parts.iter().any(|part| part.is_some()),
        }
    }

    /// Returns the attributes, each where its type stands: `(Seconds: via = u32, _)`.
    pub fn text(&self) -> String {
        match self {
            Self::Attribute(text) => (*text).to_owned(),
            Self::Parts([part]) => part.text(),
            Self::Parts(parts) if self.is_some() => {
                let parts: Vec<String> = parts.iter().map(|part| part.text()).collect();
                format!("({})", parts.join(", "))
            }
            Self::None | Self::Parts(_) => String::from("_"),
        }
    }
}

/// Marks the one type that can hold unknown fields or an unknown variant: `Unknown`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot keep what the type does not have: it is not `persist::Unknown`",
    label = "not `persist::Unknown`",
    note = "a field with `#[persist(unknown)]` is a `persist::Unknown`; a variant with `#[persist(other)]` holds one, as in `Other(persist::Unknown)`, or nothing, as in `None`"
)]
pub trait KeepsUnknown {}

impl FieldRecord {
    /// Creates the record of a field of type `F`, stored as `kind`.
    #[doc(hidden)]
    #[must_use]
    pub const fn new<F>(name: &'static str, offset: Option<usize>, kind: KindFn) -> Self {
        Self {
            name,
            aliases: &[],
            offset,
            size: size_of::<F>(),
            id: None,
            kind,
            converts: &[],
            has_default: false,
            has_module: false,
            type_code: &TypeCode::None,
            has_empty: false,
            keeps_unknown: false,
            skips_failed: false,
            hints: const { &EditorHints::new() },
        }
    }

    /// Creates the record of a field that holds unknown fields or an unknown variant.
    #[doc(hidden)]
    #[must_use]
    pub const fn keeping<F: KeepsUnknown>(
        name: &'static str,
        offset: Option<usize>,
        kind: KindFn,
    ) -> Self {
        Self::new::<F>(name, offset, kind).keeps_unknown()
    }

    setters! {
        /// Sets the number that the program gave the field.
        id_number(id: u32) => id: Some(id);
        /// Sets the older kinds that the field's `convert` accepts.
        converts(converts: &'static [OldKind]) => converts: converts;
        /// Marks the field as the one that holds unknown fields.
        keeps_unknown() => keeps_unknown: true;
        /// Sets the older names of the field.
        aliases(aliases: &'static [&'static str]) => aliases: aliases;
        /// Marks the field as one whose elements are skipped if they cannot be loaded.
        skips_failed() => skips_failed: true;
        /// Marks the field as having a default.
        with_default() => has_default: true;
        /// Marks the field as having an empty value of its own.
        with_empty() => has_empty: true;
        /// Sets the hints for editors.
        hints(hints: &'static EditorHints) => hints: hints;
        /// Sets the attributes whose code restores the type of the field.
        type_code(code: &'static TypeCode) => type_code: code;
        /// Marks the field as stored as another type.
        with_module() => has_module: true;
    }

    /// True if the field's type creates the field's empty value.
    pub(crate) fn is_empty_by_type(&self) -> bool {
        !(self.has_default || self.has_module || self.has_empty)
    }

    /// Returns the kind of the stored value.
    #[must_use]
    pub fn kind(&self) -> Kind {
        (self.kind)()
    }

    /// Iterates over the kinds of older values that the field's `convert` accepts, in order.
    pub fn old_kinds(&self) -> impl Iterator<Item = Kind> + use<> {
        self.converts.iter().map(|old| (old.kind)())
    }

    /// True if the field lists the kinds that it accepts, so that no other is converted to it.
    pub(crate) fn names_its_kinds(&self) -> bool {
        !self.converts.is_empty() || self.has_module || self.type_code.is_some()
    }

    /// Returns the class of the field's type, if that is a struct or an enum.
    #[must_use]
    pub fn class(&self) -> Option<&'static Class> {
        match self.kind() {
            Kind::Class(class) => Some(class()),
            _ => None,
        }
    }
}

/// Returns the kind of a part. It is a function, so that types may contain themselves.
pub(crate) type KindFn = fn() -> Kind;

/// Says what the bytes of a value mean.
///
/// A save gives the kind of each field, so that it can be read without the program that wrote it. Rust types that are
/// stored alike share a kind: `Vec<u8>` and `VecDeque<u8>` are both a list of `u8`.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Kind {
    /// No bytes.
    Unit,
    /// One byte, 0 or 1.
    Bool,
    /// A Unicode scalar value in 4 bytes.
    Char,
    /// 1 byte.
    U8,
    /// 2 bytes.
    U16,
    /// 4 bytes.
    U32,
    /// 8 bytes; also a `usize`.
    U64,
    /// 16 bytes.
    U128,
    /// 1 byte.
    I8,
    /// 2 bytes.
    I16,
    /// 4 bytes.
    I32,
    /// 8 bytes; also an `isize`.
    I64,
    /// 16 bytes.
    I128,
    /// 4 bytes, with all bits of the float.
    F32,
    /// 8 bytes, with all bits of the float.
    F64,
    /// An integer in as few bytes as it needs: `u16`, `u32`, `u64`, `i16`, `i32` or `i64`. A signed one is first zigzag
    /// encoded. [`Display`](fmt::Display) shows the type.
    Compact(#[doc(hidden)] Integer),
    /// A count of bytes, then UTF-8.
    Text,
    /// One byte, 0 or 1; the value follows a 1.
    Option(fn() -> Kind),
    /// A count, then the elements.
    List(fn() -> Kind),
    /// A count, then the elements, without duplicates.
    Set(fn() -> Kind),
    /// A count, then key and value of each entry, without duplicate keys.
    Map(fn() -> Kind, fn() -> Kind),
    /// A fixed number of elements, one after the other.
    Array(fn() -> Kind, usize),
    /// The parts, one after the other.
    Tuple(&'static [fn() -> Kind]),
    /// A struct or an enum with field records of its own.
    Class(fn() -> &'static Class),
    /// The id of an object that has a record of its own. [`Display`](fmt::Display) shows the pointer.
    Reference(#[doc(hidden)] Reference),
    /// The number of a class, then a value of that class: the content of a `Box<dyn Trait>`. [`Display`](fmt::Display)
    /// shows the trait.
    Dynamic(#[doc(hidden)] TraitName),
    /// A byte for the state (null, live or dead), then 8 bytes: a [`Handle`](crate::Handle) into an arena of this name.
    Handle(&'static str),
    /// A count of parts that the program lacks, then each as the number of a class and a value of that class: the
    /// content of an [`Unknown`](crate::Unknown).
    Unknown,
}

/// Describes the possible targets of a stored reference.
#[derive(Clone, Copy, Debug)]
pub struct Reference {
    /// The pointer and cell around the target.
    pub holder: Holder,
    /// True if the reference does not keep its target alive.
    pub weak: bool,
    /// The target.
    pub target: Target,
}

/// The target of a reference.
#[derive(Clone, Copy, Debug)]
pub enum Target {
    /// A value of one kind; the name is that of its class.
    Value {
        /// Kind of the value.
        kind: KindFn,
        /// Name of its class.
        name: fn() -> String,
    },
    /// A value of any class that is registered for a trait.
    Trait(TraitName),
}

/// A trait whose trait objects can be saved.
#[derive(Clone, Copy, Debug)]
pub struct TraitName {
    /// The `dyn Trait`.
    pub id: fn() -> TypeId,
    /// Its name in a save.
    pub name: &'static str,
}

impl Reference {
    /// Returns the type as a Rust programmer writes it.
    #[must_use]
    pub fn display(&self) -> String {
        match self.target {
            Target::Value { name, .. } => self.holder.class_type_name(self.weak, &name()),
            Target::Trait(of) => self.holder.type_name(self.weak, &format!("dyn {}", of.name)),
        }
    }
}

impl Kind {
    /// True if a value may hold the [id](crate::ObjectId) of an object of a world: directly, in a class or list inside,
    /// or behind a pointer. Trait objects may hold ids.
    ///
    /// ```
    /// use persist::{ObjectId, Persist};
    ///
    /// #[derive(Persist)]
    /// struct Door { is_open: bool, keys: Vec<ObjectId> }
    ///
    /// assert!(Door::persist_kind().may_hold_ids());
    /// assert!(!<(u8, String)>::persist_kind().may_hold_ids());
    /// ```
    #[must_use]
    pub fn may_hold_ids(self) -> bool {
        let (mut kinds, mut seen) = (vec![self], Vec::new());
        while let Some(kind) = kinds.pop() {
            match kind {
                Self::Handle(_) | Self::Dynamic(_) | Self::Unknown => return true,
                Self::Reference(reference) => match reference.target {
                    Target::Value { kind, .. } => kinds.push(kind()),
                    Target::Trait(_) => return true,
                },
                Self::Option(part) | Self::List(part) | Self::Set(part) | Self::Array(part, _) => {
                    kinds.push(part());
                }
                Self::Map(key, value) => kinds.extend([key(), value()]),
                Self::Tuple(parts) => kinds.extend(parts.iter().map(|part| part())),
                Self::Class(class) if !seen.contains(&class().type_id()) => {
                    seen.push(class().type_id());
                    kinds.extend(class().all_fields().map(FieldRecord::kind));
                }
                _ => {}
            }
        }
        false
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = match self {
            Self::Unit => "()",
            Self::Bool => "bool",
            Self::Char => "char",
            Self::U8 => "u8",
            Self::U16 => "u16",
            Self::U32 => "u32",
            Self::U64 => "u64",
            Self::U128 => "u128",
            Self::I8 => "i8",
            Self::I16 => "i16",
            Self::I32 => "i32",
            Self::I64 => "i64",
            Self::I128 => "i128",
            Self::F32 => "f32",
            Self::F64 => "f64",
            Self::Text => "String",
            Self::Unknown => "Unknown",
            Self::Compact(integer) => return write!(f, "compact {}", integer.name()),
            Self::Option(inner) => return write!(f, "Option<{}>", inner()),
            Self::List(inner) => return write!(f, "Vec<{}>", inner()),
            Self::Set(inner) => return write!(f, "Set<{}>", inner()),
            Self::Map(key, value) => return write!(f, "Map<{}, {}>", key(), value()),
            Self::Array(inner, len) => return write!(f, "[{}; {len}]", inner()),
            Self::Tuple(parts) => {
                f.write_str("(")?;
                for (i, part) in parts.iter().enumerate() {
                    let comma = if i == 0 { "" } else { ", " };
                    write!(f, "{comma}{}", part())?;
                }
                return f.write_str(if parts.len() == 1 { ",)" } else { ")" });
            }
            Self::Class(class) => return f.write_str(&class().name()),
            Self::Reference(to) => return f.write_str(&to.display()),
            Self::Dynamic(of) => return write!(f, "Box<dyn {}>", of.name),
            Self::Handle(arena) => return write!(f, "Handle<{arena}>"),
        };
        f.write_str(word)
    }
}

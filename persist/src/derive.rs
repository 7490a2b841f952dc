//! The macros of `persist-derive`, documented here because their examples need this crate.

/// Implements `Persist` and `Reflect`: the type's values can be saved and loaded.
///
/// ```
/// use persist::Persist;
/// use persist::codec::Reflect;
///
/// #[derive(Persist, Debug, PartialEq)]
/// #[persist(class = "quest.Hero", version = 2)]
/// struct Hero {
///     name: String,
///     #[persist(alias = "hp")]
///     health: u32,
///     #[persist(default = 1.0)]
///     speed: f32,
///     #[persist(skip)]
///     path: Vec<(i32, i32)>,
/// }
///
/// let hero = Hero { name: "Ann".into(), health: 9, speed: 1.5, path: vec![] };
/// let save = persist::to_vec(&hero)?;
/// assert_eq!(persist::from_slice::<Hero>(&save)?, hero);
/// assert_eq!(Hero::CLASS.name(), "quest.Hero");
/// # Ok::<(), persist::Error>(())
/// ```
///
/// Structs and enums can derive it, also generic ones. The types of the fields must be `Persist` too. The type must own
/// its data: it has no lifetimes, references or raw pointers, unless it is `save_as`. Every mistake is an error at the
/// line that has it, and says what to write instead.
///
/// # Attributes
///
/// Attributes are written in `#[persist(...)]`, several separated by commas or each in a `#[persist(...)]` of its own.
///
/// On a struct or enum:
///
/// | | |
/// |---|---|
/// | `class = "quest.Hero"` | Name of the class in the save; by default the type's own name without its module. |
/// | `name_markers` | The name of a generic class includes all type parameters, also markers whose values are not stored, such as the `T` of a `PhantomData<T>`. They must be `Persist`. |
/// | `id = 7` | Number of the class in the save; by default a hash of its name. |
/// | `version = 2` | Version of the class, counted from 1; by default 1. |
/// | `since = 2` | The lowest version of the class whose programs may read the save. Programs with a lower version refuse it by an error that names the class. |
/// | `alias = "old.Hero"` | A name under which older saves may hold the class, and no other class; may be repeated. |
/// | `removed = "hp"` | A removed field of a struct, or a removed variant of an enum: its values in older saves are dropped, not kept as unknown; may be repeated. See below. |
/// | `rename_all = "camelCase"` | Style of the names of a struct's fields or an enum's variants: `lowercase`, `UPPERCASE`, `PascalCase`, `camelCase`, `snake_case`, `SCREAMING_SNAKE_CASE`, `kebab-case` or `SCREAMING-KEBAB-CASE`. |
/// | `default`, `default = value` | For a struct. A field that the save lacks gets the value of the same field of `Default::default()`, or of the given value. A `default` on the field has priority. |
/// | `empty`, `empty = value` | For a struct. A load fills `Default::default()`, or the given value. Without it, a load fills the value of `default`, or creates each field empty. It gives no field a default. |
/// | `before_save = path` | A function `fn(&mut Self)` that runs before the value is saved, and before the hooks of the values inside. |
/// | `validate = path` | A function `fn(&Self) -> Result<(), E>` that runs when everything is loaded, after the functions of the values inside; `E` can be shown as text. |
/// | `after_load = path` | A function `fn(&mut Self)` that runs when everything is validated, after the hooks of the values inside; also after a change through a history. Like `before_save` it may return a `Result<(), E>`. |
/// | `migrate(1 = path, 2 = path)` | A function `fn(&mut Record, u32)` for each step from a version to the next, by which records of older versions are migrated; see below. |
/// | `context = Items` | `before_save`, `validate`, `after_load` and `migrate` get a `&Items` as their last argument: the context of the save, load or edit; see [`Saves::context`](crate::Saves::context). |
/// | `transparent` | A struct with one field is saved as that field, without a class of its own. |
/// | `via = "Stored"` | Saved as a `Stored` without a class of its own: `Stored: From<&Type>` and `Type: TryFrom<Stored>`. |
/// | `save_as = Simulation` | A struct of references to the fields of a `Simulation` is saved like a `Simulation`, and cannot be loaded. Its fields have the names, order and types of that struct, whose attributes say how they are stored. |
/// | `pod` | A struct of fixed-width numbers, arrays of them and other `pod` types is copied as one block of memory. It derives bytemuck's `NoUninit` and `AnyBitPattern`. The bytes stay the same. |
/// | `component` | Implements [`Component`](crate::Component) for a type that overrides none of its methods. |
/// | `compact` | The integers of 16 to 64 bits of all fields take as few bytes as they need, also in options, lists, arrays, tuples and maps, but not in other classes. |
/// | `ignore_serde` | Attributes of serde on the type and its fields are ignored; without it, attributes whose effect would be lost are compile errors. |
/// | `bound = "T: Asset"` | These bounds replace those that the derive infers. |
/// | `crate = path` | Where the `persist` crate is, if not at `::persist`. |
///
/// `before_save` of an object runs just before that object is written. If the hook changes another object that was
/// already written, that change is not in the save.
///
/// An object without a cell, such as in a plain `Rc`, cannot be changed once it is shared. Its `after_load` runs just
/// before that, when the pointers outside of cells are set. The hook must leave the cells inside in place, because
/// their pointers are set later. Its `before_save` is refused.
///
/// While a hook of an object runs, that object is mutably borrowed. A hook may borrow the objects that it points to,
/// but not its own object again.
///
/// On a field:
///
/// | | |
/// |---|---|
/// | `skip` | The field is not saved. A load creates it by `default = value`, by the `default` of the struct or by `Default::default()`; filling the fields of an existing struct leaves it unchanged. |
/// | `default`, `default = value` | If the save lacks the field, it gets `Default::default()`, or the value. Without this attribute it gets its value in the struct's `default`. Without both it is an error, except that a missing `Option` is `None`. |
/// | `rename = "x"` | Name of the field in the save. |
/// | `alias = "old"` | A name under which older saves may hold the field; may be repeated. |
/// | `empty = value` | Value of the field in the empty value that a load fills; by default that of the module's `empty()` or of `Default`. Unlike with `default`, a missing field stays an error. |
/// | `with = module` | Saved as another type, by the module's functions, also inside of containers; see below. |
/// | `with_iter = module` | Saved as a list of the module's `Item`s, which `store` gives by an iterator and `restore` takes as a `Vec`. |
/// | `serde` | Saved through serde, with the feature `serde`: the field's type is `Serialize` and `DeserializeOwned`. |
/// | `via = "Stored"` | Saved as a `Stored`, which is `From<&Field>`, and from which the field's type is `TryFrom`. |
/// | `context = Items` | `store` and `restore` of the modules in `with` or `with_iter` get a `&Items` as their last argument: the context of the save, load or edit. |
/// | `id = 4` | A number by which a save identifies the field under any name. It never changes, and no other field of the struct or variant ever gets the same number. |
/// | `convert = path`, `convert(path, as u32)`, `convert(1 = path)` | Functions `fn(Old) -> New` or `fn(Old) -> Result<New, E>` for saves in which the field has another type, types that are taken as they are, and the version up to which a function takes values. The field takes its own type and these, and no other; see below. |
/// | `compact` | The integers of the field take as few bytes as they need, as for a type. |
/// | `sample = f` | A function that returns a value of the field, for the samples of a lock. It is for a type that checks its content and would refuse the values that the library makes up. |
/// | `skip_failed` | Elements of the field that cannot be loaded are skipped, with a row each in the load report: of an `Option`, or of a list, set or map of the standard library. |
/// | `label = "Radius"`, `help = "In metres"` | Label and help text of the field in editors. These and the next four are in [`FieldRecord::hints`](crate::reflect::FieldRecord::hints), change no byte of a save, and no load checks them. |
/// | `range = 0.0..=1.0` | The range of numbers that editors offer, for the field or for the numbers in it; one end may be left out. |
/// | `color` | Editors show the field as a colour: three or four floats or bytes in an array or in fields `r`, `g`, `b`, `a`, or a `u32` of RGBA. |
/// | `hidden`, `read_only` | Editors do not show the field, or do not change it. |
/// | `ignore_serde` | Attributes of serde on the field are ignored. |
/// | `unknown` | The field, a `persist::Unknown`, holds the stored fields that the type lacks, and writes them to the next save. One in each struct or variant. |
///
/// On a variant:
///
/// | | |
/// |---|---|
/// | `empty` | The variant that a load fills. By default it is std's `#[default]` variant, else the first without fields, else the first that does not hold the enum itself. |
/// | `rename = "X"` | Name of the variant in the save. |
/// | `alias = "Old"` | A name under which older saves may hold the variant; may be repeated. |
/// | `removed = "since"` | A removed field of the variant; may be repeated. See below. |
/// | `rename_all = "camelCase"` | Style of the names of its fields. |
/// | `other` | The variant takes the place of stored variants that the enum lacks. With one field, a `persist::Unknown`, it writes them to the next save. Without fields they are lost, and the report of the load says so. |
///
/// # Older saves
///
/// `convert` names a function that creates the field from the value that older saves have in its place. `migrate` names
/// one that gets all stored fields of an older record as values:
///
/// ```
/// use persist::{Persist, Record, Unknown, Value};
///
/// mod then {
///     #[derive(persist::Persist)]
///     pub struct Hero {
///         pub first: String,
///         pub last: String,
///         #[persist(id = 1)]
///         pub gold: String,
///         pub mood: u8,
///     }
/// }
///
/// #[derive(Persist)]
/// #[persist(version = 3, migrate(1 = Hero::to_2, 2 = Hero::to_3))]
/// struct Hero {
///     name: String,
///     #[persist(id = 1, convert = Hero::gold)]
///     gold: u64,
///     #[persist(unknown)]
///     rest: Unknown,
/// }
///
/// impl Hero {
///     /// Converts the text of older saves.
///     fn gold(old: String) -> Result<u64, std::num::ParseIntError> {
///         old.parse()
///     }
///
///     /// Migrates to version 2, which has one name.
///     fn to_2(hero: &mut Record, _: u32) -> Result<(), String> {
///         match (hero.take("first"), hero.take("last")) {
///             (Some(Value::Text(first)), Some(Value::Text(last))) => {
///                 hero.set("name", format!("{first} {last}"));
///                 Ok(())
///             }
///             _ => Err("a hero without a first and a last name".into()),
///         }
///     }
///
///     /// Migrates to version 3, which has no mood.
///     fn to_3(hero: &mut Record, _: u32) {
///         hero.take("mood");
///     }
/// }
///
/// #[derive(Persist)]
/// enum Weather {
///     Sun,
///     #[persist(other)]
///     Other(Unknown),
/// }
///
/// let old = then::Hero { first: "Ada".into(), last: "King".into(), gold: "42".into(), mood: 3 };
/// let hero: Hero = persist::from_slice(&persist::to_vec(&old)?)?;
/// assert_eq!((&*hero.name, hero.gold), ("Ada King", 42));
/// # Ok::<(), persist::Error>(())
/// ```
///
/// The function of a `convert` owns its argument and sees nothing else. It may run more than once for a value. The
/// older type is `Persist`, is stored as another kind than the field, and holds neither shared pointers nor trait
/// objects nor classes with hooks. A generic function must be given its type: `<u64 as From<u32>>::from`. A refusal is
/// the error of the load.
///
/// A step of `migrate` gets the version of the record and migrates it to the next version. A single function is called
/// once for each step. Steps begin at version 1 and end below the version of the class, and none may be missing; a step
/// may do nothing. Steps may return a `Result<(), E>`.
///
/// `removed` says that a stored field is no longer needed. Its value is dropped, even where unknown fields are kept,
/// and the report of the load has a row for it. A stored variant that is `removed` becomes the `other` variant, without
/// content; so the enum must have one. The lock asks for `removed` if a field or a variant was removed and old values
/// would be lost:
///
/// ```
/// # use persist::Persist;
/// #[derive(Persist)]
/// #[persist(removed = "hp", removed = "mp")]
/// struct Hero {
///     name: String,
/// }
/// # assert_eq!(persist::from_slice::<Hero>(&persist::to_vec(&Hero { name: "Ada".into() })?)?.name, "Ada");
/// # Ok::<(), persist::Error>(())
/// ```
///
/// # Fields of foreign types
///
/// `with = module` names a module with the type that is stored in place of the field's type, and functions that convert
/// between the two:
///
/// ```
/// use std::ops::ControlFlow;
///
/// use persist::Persist;
///
/// mod flow {
///     use std::ops::ControlFlow;
///
///     pub type Stored = bool;
///
///     pub fn store(flow: &ControlFlow<()>) -> Stored {
///         flow.is_break()
///     }
///
///     pub fn restore(stored: Stored) -> Result<ControlFlow<()>, String> {
///         Ok(if stored { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
///     }
/// }
///
/// #[derive(Persist, Debug, PartialEq)]
/// struct Turn {
///     #[persist(with = flow, default = ControlFlow::Continue(()))]
///     flow: ControlFlow<()>,
/// }
///
/// let turn = Turn { flow: ControlFlow::Break(()) };
/// assert_eq!(persist::from_slice::<Turn>(&persist::to_vec(&turn)?)?, turn);
/// # Ok::<(), persist::Error>(())
/// ```
///
/// `store` may also return a reference or a `Cow` of `Stored`. The error of `restore` can be any type that can be shown
/// as text. Without `default` or `empty`, the field's type must implement `Default`, for the empty value; the save must
/// still have the field. No visit reaches references and hooks inside of the stored type, so a class that has any is
/// refused.
///
/// In quotes, `with` has the form of the field's type. `with = "HashMap<_, Vec<Option<flow>>>"` applies the module
/// inside of the containers, where `_` is a type that is `Persist` itself. A path that begins with a capital letter
/// names a type that implements [`With`](crate::With).
///
/// # By hand
///
/// A type that must do its own saving implements [the trait](trait@crate::Persist) by hand. Its page has an example.
///
/// # Generic types
///
/// A type parameter whose values are stored must be `Persist`, and all parameters must be `'static`. The name of the
/// class includes its arguments: `Slot<Sword>` or `Grid<8, 8>`. A parameter that is used only in a `PhantomData` is
/// left out.
pub use persist_derive::Persist;

/// Allows trait objects of a trait in saves: `Box<dyn Item>`, `Rc<RefCell<dyn Item>>` and others.
///
/// ```
/// use persist::{Persist, Saves};
///
/// #[persist::dynamic]
/// trait Item {
///     fn price(&self) -> u32;
/// }
///
/// #[derive(Persist)]
/// struct Sword { sharp: u32 }
///
/// impl Item for Sword {
///     fn price(&self) -> u32 { 10 * self.sharp }
/// }
///
/// #[derive(Persist)]
/// struct Bag { items: Vec<Box<dyn Item>> }
///
/// impl Item for Bag {
///     fn price(&self) -> u32 { self.items.iter().map(|item| item.price()).sum() }
/// }
///
/// let saves = Saves::new();
/// saves.register_as::<Sword, dyn Item>()?;
/// saves.register_as::<Bag, dyn Item>()?;
///
/// let bag = Bag { items: vec![Box::new(Sword { sharp: 3 }), Box::new(Bag { items: vec![] })] };
/// let save = saves.to_vec(&bag)?;
/// assert_eq!(saves.from_slice::<Bag>(&save)?.price(), 30);
/// # Ok::<(), persist::Error>(())
/// ```
///
/// Every type that implements the trait must be `Persist`: the trait gets that as a supertrait, and is otherwise
/// unchanged. A program calls `register_as` for each class of the trait, before it saves or loads. Trait objects are
/// saved with the name of their class.
///
/// A trait object may be in a `Box`, or behind `Rc`, `Arc` and the `Weak` of each; behind a pointer it may also be in a
/// `RefCell`, `Mutex` or `RwLock`. `dyn Item`, `dyn Item + Send` and `dyn Item + Send + Sync` are three different
/// traits in a save, and classes are registered for each that the program uses:
/// `register_as::<Sword, dyn Item + Send>()`.
///
/// Loading a value whose class is not registered for the trait is an error. In an `Option` the value becomes `None`,
/// and the report of the load says so.
///
/// # Options
///
/// Options are written in the parentheses of `#[persist::dynamic(...)]`, separated by commas:
///
/// | | |
/// |---|---|
/// | `name = "quest.Item"` | Name of the trait in the save; by default the trait's own name without its module. ` + Send` or ` + Send + Sync` follows it where the trait object has those. |
/// | `unknown = MissingItem` | A type that stands in for classes that are not registered, when a `dyn Item` is loaded. It does not apply to `dyn Item + Send` and `dyn Item + Send + Sync`, because the type might lack these traits. |
/// | `crate = path` | Where the `persist` crate is, if not at `::persist`. |
///
/// # Which traits
///
/// The trait must be dyn compatible, without parameters and associated types, because a save stores only its name. A
/// trait with parameters can be the supertrait of one without:
///
/// ```
/// trait Holds<T> {
///     fn held(&self) -> &[T];
/// }
///
/// #[persist::dynamic]
/// trait HoldsNames: Holds<String> {}
/// ```
pub use persist_derive::dynamic;

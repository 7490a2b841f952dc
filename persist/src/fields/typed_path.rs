//! [`field!`](crate::field!): paths that the compiler checks.

use std::any::TypeId;
use std::marker::PhantomData;
use std::sync::OnceLock;

use super::FieldPath;
use crate::Value;
use crate::codec::{FieldNames, FieldStep, Reflect, is_same_name};

/// Creates the [`FieldPath`] of a field, checked by the compiler: `field!(Transform.position.x)`.
///
/// Write the field as in Rust. The path gets the names in saves, after `class = "..."` and `rename`. A `skip`ped field
/// does not compile.
///
/// - Put a colon after a generic class, or after any type that is not a plain path: `field!(Slot<Sword>: item.sharp)`.
/// - Write an element as in Rust, with a literal or a variable: `[3]`, `[index]`, `["key"]` or `[&key]`. The expression
///   is evaluated once.
/// - For a field of an enum variant, and for a key that the type cannot be indexed by, append a step with
///   [`FieldPath::field`] or [`FieldPath::at`]. Such a step uses the name in saves, and is checked when the path is used.
///
/// A path without a variable is created once, and later calls return a clone of it.
///
/// # Example
///
/// ```
/// use std::collections::BTreeMap;
///
/// use persist::{Persist, field};
///
/// #[derive(Persist)]
/// #[persist(class = "game.Transform")]
/// struct Transform {
///     #[persist(rename = "place")]
///     position: Place,
///     path: Vec<Place>,
/// }
///
/// #[derive(Persist)]
/// struct Place { x: f32, y: f32 }
///
/// #[derive(Persist)]
/// struct Slot<T> { item: T }
///
/// assert_eq!(field!(Transform.position.x).to_string(), "game.Transform:place.x");
/// assert_eq!(field!(Transform.path[3].y).to_string(), "game.Transform:path[3].y");
/// assert_eq!(field!(Slot<Place>: item.x).to_string(), "Slot<Place>:item.x");
/// assert_eq!(field!(Transform).to_string(), "game.Transform");
///
/// #[derive(Persist)]
/// struct Bag { items: Vec<Item>, prices: BTreeMap<String, u32> }
///
/// #[derive(Persist)]
/// struct Item { count: u32 }
///
/// let (index, key) = (3_usize, String::from("long sword"));
/// assert_eq!(field!(Bag.items[index].count).to_string(), "Bag:items[3].count");
/// assert_eq!(field!(Bag.prices[&key]), r#"Bag:prices["long sword"]"#.parse()?);
/// # Ok::<(), persist::Error>(())
/// ```
///
/// ```compile_fail,E0609
/// # use persist::{Persist, field};
/// # #[derive(Persist)] struct Transform { position: Place }
/// # #[derive(Persist)] struct Place { x: f32, y: f32 }
/// field!(Transform.position.z);
/// ```
///
/// ```compile_fail,E0080
/// # use persist::{Persist, field};
/// # #[derive(Persist)]
/// struct Wheel { #[persist(skip)] angle: f32 }
///
/// field!(Wheel.angle);
/// ```
#[macro_export]
macro_rules! field {
    // The steps, one by one. A path is constant as long as its keys are literals.
    (@step constant $class:ty; $path:expr;) => {{
        static PATH: $crate::__private::ConstantPath = $crate::__private::ConstantPath::new();
        PATH.get::<$class, _>(|| $path)
    }};
    (@step variable $class:ty; $path:expr;) => {
        $path.finish()
    };
    (@step $is:ident $class:ty; $path:expr; . $name:tt $($rest:tt)*) => {
        $crate::field!(@step $is $class; $path.field(
            {
                struct FieldIdent;

                impl $crate::__private::Identifier for FieldIdent {
                    const NAME: &'static $crate::__private::std::primitive::str =
                        $crate::__private::std::stringify!($name);
                }

                FieldIdent
            },
            |owner| &owner.$name,
        ); $($rest)*)
    };
    (@step $is:ident $class:ty; $path:expr; [$key:literal] $($rest:tt)*) => {
        $crate::field!(@step $is $class; $path.at($key, |owner| &owner[$key]); $($rest)*)
    };
    (@step $is:ident $class:ty; $path:expr; [$key:expr] $($rest:tt)*) => {
        $crate::field!(@step variable $class; $path.at($key, |owner| &owner[$key]); $($rest)*)
    };
    ($class:ty) => {
        $crate::field!(@step constant $class; $crate::__private::TypedPath::<$class>::new();)
    };
    ($class:ty: $($rest:tt)+) => {
        $crate::field!(
            @step constant $class; $crate::__private::TypedPath::<$class>::new(); . $($rest)+
        )
    };
    ($($class:ident)::+ . $($rest:tt)+) => {
        $crate::field!(
            @step constant $($class)::+;
            $crate::__private::TypedPath::<$($class)::+>::new(); . $($rest)+
        )
    };
}

/// The path of a [`field!`](crate::field!) whose keys are literals, which is created once.
pub struct ConstantPath(OnceLock<(TypeId, FieldPath)>);

impl ConstantPath {
    /// Creates a place for a path.
    #[must_use]
    #[expect(clippy::new_without_default, reason = "a macro calls it")]
    pub const fn new() -> Self {
        Self(OnceLock::new())
    }

    /// Returns the path, which begins at the class `C`.
    pub fn get<C: 'static, F>(&self, new: impl Fn() -> TypedPath<F>) -> FieldPath {
        let class = TypeId::of::<C>();
        match self.0.get_or_init(|| (class, new().path)) {
            (known, path) if *known == class => path.clone(),
            // In a generic function all types share the place.
            _ => new().path,
        }
    }
}

/// A path to a field of type `T`, while [`field!`](crate::field!) builds it.
pub struct TypedPath<T> {
    path: FieldPath,
    of: PhantomData<fn() -> T>,
}

/// The Rust name of a field, as a type.
pub trait Identifier {
    /// The name.
    const NAME: &'static str;
}

impl<T: Reflect> TypedPath<T> {
    /// Creates the path of a class.
    #[must_use]
    #[expect(clippy::new_without_default, reason = "a macro calls it")]
    pub fn new() -> Self {
        Self { path: FieldPath::new(T::CLASS.name()), of: PhantomData }
    }
}

impl<T> TypedPath<T> {
    /// Appends a step to a field. The function is never called; it lets the compiler infer the field's type.
    #[must_use]
    pub fn field<N: Identifier, F>(self, _: N, _: impl Fn(&T) -> &F) -> TypedPath<F>
    where
        T: FieldNames,
    {
        let path = match const { step(T::STEPS, N::NAME) } {
            FieldStep::Name(name) => self.path.field(name),
            FieldStep::Here | FieldStep::Skipped => self.path,
        };
        TypedPath { path, of: PhantomData }
    }

    /// Appends a step to an element.
    #[must_use]
    pub fn at<F>(self, key: impl Into<Value>, _: impl Fn(&T) -> &F) -> TypedPath<F> {
        TypedPath { path: self.path.at(key), of: PhantomData }
    }

    /// Returns the path.
    #[must_use]
    pub fn finish(self) -> FieldPath {
        self.path
    }
}

/// Finds the step to the field with this Rust name.
const fn step(fields: &[(&'static str, FieldStep)], name: &str) -> FieldStep {
    let mut i = 0;
    while i < fields.len() {
        let (known, step) = fields[i];
        if is_same_name(known, name) {
            assert!(
                !matches!(step, FieldStep::Skipped),
                "the field is marked `#[persist(skip)]`, and no path leads to it"
            );
            return step;
        }
        i += 1;
    }
    panic!("the type has no field of this name in saves; write one step for each dot")
}

//! `#[persist::dynamic]` in surroundings that get in the way of careless code.

// A user may deny what they like; generated code is not theirs to mend.
#![deny(
    warnings,
    missing_docs,
    rust_2018_idioms,
    unused_qualifications,
    trivial_casts,
    clippy::all
)]
// The modules of this file are public so that their types may be.
#![allow(unreachable_pub)]

use std::cell::RefCell;
use std::rc::Rc;

use persist::__private::TraitObject;
use persist::{Persist, Saves};

/// Saves an object and loads it.
fn trip<T: Persist>(saves: &Saves, value: T) -> Rc<RefCell<T>> {
    let mut manager = saves.manager();
    manager.add(&Rc::new(RefCell::new(value))).expect("it can be added");
    let save = manager.to_vec().expect("it can be saved");
    let loaded = manager.from_slice(&save).expect("it can be loaded");
    assert!(loaded.report().is_clean());
    loaded.first().expect("it is there")
}

#[allow(dead_code, missing_docs, non_camel_case_types, non_snake_case)]
mod shadowed {
    //! Everything the macro could be tempted to call by its short name.

    use ::std::primitive::u8 as byte;

    pub struct Option;
    pub struct Result;
    pub struct Box;
    pub struct Rc;
    pub struct Arc;
    pub struct Weak;
    pub struct RefCell;
    pub struct Mutex;
    pub struct RwLock;
    pub struct std;
    pub struct core;
    pub struct str;
    pub trait Send {}
    pub trait Sync {}
    pub trait Sized {}
    pub trait Persist {}
    pub trait Pointee {}
    pub trait TraitObject {}
    pub trait Implements {}
    pub fn Ok() {}
    pub fn value() {}
    pub const NAME: byte = 1;

    #[::persist::dynamic]
    pub trait Dynamic {
        fn value(&self) -> byte;
    }

    #[derive(::persist::Persist)]
    pub struct Content(pub byte);

    impl Dynamic for Content {
        fn value(&self) -> byte {
            self.0
        }
    }
}

#[test]
fn shadowed_names_are_not_in_the_way() {
    use shadowed::{Content, Dynamic};
    let saves = Saves::new();
    saves.register_as::<Content, dyn Dynamic>().expect("it can be registered");
    saves.register_as::<Content, dyn Dynamic + Send>().expect("it can be registered");
    let value: (Box<dyn Dynamic>, Rc<RefCell<dyn Dynamic + Send>>) =
        (Box::new(Content(1)), Rc::new(RefCell::new(Content(2))));
    let loaded = trip(&saves, value);
    assert_eq!((loaded.borrow().0.value(), loaded.borrow().1.borrow().value()), (1, 2));
}

#[allow(missing_docs)]
mod bare {
    //! No prelude at all.
    #![no_implicit_prelude]

    #[::persist::dynamic]
    pub trait Item {
        fn price(&self) -> u32;
    }

    #[derive(::persist::Persist)]
    pub struct Sword {
        pub sharp: u32,
        pub more: ::std::option::Option<::std::boxed::Box<dyn Item>>,
    }

    impl Item for Sword {
        fn price(&self) -> u32 {
            self.sharp
        }
    }
}

#[test]
fn a_module_without_prelude_can_have_one() {
    use bare::Item as _;
    let saves = Saves::new();
    saves.register_as::<bare::Sword, dyn bare::Item>().expect("it can be registered");
    let more: Option<Box<dyn bare::Item>> = Some(Box::new(bare::Sword { sharp: 4, more: None }));
    let loaded = trip(&saves, bare::Sword { sharp: 3, more });
    assert_eq!(loaded.borrow().price(), 3);
    assert_eq!(loaded.borrow().more.as_ref().map(|item| item.price()), Some(4));
}

#[persist::dynamic]
trait r#Type: std::fmt::Debug + Send + Sync + 'static
where
    Self: Unpin,
{
    /// Trait objects do not have it.
    type Kind
    where
        Self: Sized;

    fn new() -> Self
    where
        Self: Sized;

    fn r#fn(&mut self, with: &mut dyn FnMut(&str) -> Option<u8>) -> Result<u8, String>;

    fn level(&self) -> u8 {
        7
    }
}

#[derive(Persist, Debug)]
struct Hero {
    level: u8,
}

impl Type for Hero {
    type Kind = u8;

    fn new() -> Self {
        Self { level: 3 }
    }

    fn r#fn(&mut self, with: &mut dyn FnMut(&str) -> Option<u8>) -> Result<u8, String> {
        self.level += with("x").ok_or_else(|| String::from("nothing"))?;
        Ok(self.level)
    }
}

#[test]
fn the_rest_of_the_trait_stays_as_it_is() {
    let saves = Saves::new();
    saves.register_as::<Hero, dyn Type>().expect("it can be registered");
    saves.register_as::<Hero, dyn Type + Send + Sync>().expect("it can be registered");
    let value: (Box<dyn Type>, std::sync::Arc<std::sync::Mutex<dyn Type + Send + Sync>>) =
        (Box::new(Hero::new()), std::sync::Arc::new(std::sync::Mutex::new(Hero::new())));
    let loaded = trip(&saves, value);
    assert_eq!(loaded.borrow_mut().0.r#fn(&mut |text| u8::try_from(text.len()).ok()), Ok(4));
    assert_eq!(loaded.borrow().1.lock().expect("it is free").level(), 7);
    assert_eq!(<dyn Type>::NAME, "Type");
    assert_eq!(<dyn Type + Send>::NAME, "Type + Send");
    assert_eq!(<dyn Type + Send + Sync>::NAME, "Type + Send + Sync");
}

macro_rules! traits {
    ($($name:ident $save:literal { $($item:item)* })*) => {$(
        #[persist::dynamic(name = $save)]
        #[allow(dead_code)]
        trait $name { $($item)* }
    )*};
}

traits! {
    Walks "made.Walks" { fn steps(&self) -> u32 { 0 } }
    Flies "made.Flies" {}
}

impl Walks for Hero {}
impl Flies for Hero {}

#[test]
fn traits_made_by_macros_can_have_one() {
    let saves = Saves::new();
    saves.register_as::<Hero, dyn Walks>().expect("it can be registered");
    saves.register_as::<Hero, dyn Flies>().expect("it can be registered");
    assert_eq!(<dyn Walks>::NAME, "made.Walks");
    assert_eq!(<dyn Flies + Send>::NAME, "made.Flies + Send");
}

#[test]
fn a_trait_inside_a_function_can_have_one() {
    #[persist::dynamic]
    trait Local {
        fn number(&self) -> u8;
    }
    #[derive(Persist)]
    struct One;
    impl Local for One {
        fn number(&self) -> u8 {
            1
        }
    }
    let saves = Saves::new();
    saves.register_as::<One, dyn Local>().expect("it can be registered");
    let loaded = trip::<Box<dyn Local>>(&saves, Box::new(One));
    assert_eq!(loaded.borrow().number(), 1);
}

#[deprecated]
#[persist::dynamic]
#[allow(dead_code)]
trait Old {
    #[deprecated]
    fn number(&self) -> u8;
}

#[test]
#[allow(deprecated)]
fn deprecated_traits_cause_no_warnings() {
    assert_eq!(<dyn Old>::NAME, "Old");
}

#[persist::dynamic]
#[cfg(any())]
trait Gone {
    fn nothing(&self) -> Nothing;
}

/// The library under another name, as behind an engine's re-export.
mod engine {
    pub mod saving {
        pub use persist::*;
    }
}

#[engine::saving::dynamic(crate = engine::saving, name = "elsewhere.Item", unknown = Missing)]
trait Elsewhere {
    fn price(&self) -> u32;
}

#[derive(Persist)]
struct Missing {
    unknown: persist::Unknown,
}

impl From<persist::Unknown> for Missing {
    fn from(unknown: persist::Unknown) -> Self {
        Self { unknown }
    }
}

impl AsRef<persist::Unknown> for Missing {
    fn as_ref(&self) -> &persist::Unknown {
        &self.unknown
    }
}

impl Elsewhere for Missing {
    fn price(&self) -> u32 {
        0
    }
}

#[derive(Persist)]
struct There;

impl Elsewhere for There {
    fn price(&self) -> u32 {
        7
    }
}

#[test]
fn the_library_may_be_reached_by_another_path() {
    let saves = Saves::new();
    saves.register_as::<There, dyn Elsewhere>().expect("it can be registered");
    let loaded = trip::<Box<dyn Elsewhere>>(&saves, Box::new(There));
    assert_eq!(loaded.borrow().price(), 7);
    assert_eq!(<dyn Elsewhere>::NAME, "elsewhere.Item");
}

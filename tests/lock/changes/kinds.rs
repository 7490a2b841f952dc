//! Fields that get another type.

/// Numbers, and what is next to them.
pub(super) mod numbers {
    use std::num::NonZero;

    use persist::Persist;

    use crate::changes::harness::changes;

    changes! {
        kind widened "widened": (u8) => (u32) { "": 7 => 7; }
        kind widened_signed "signed and wider": (u8) => (i16) { "": 200 => 200; }
        kind narrowed "narrowed": (u32) => (u8) { "in range": 7 => 7; "out of range": 300; }
        kind unsigned "from signed to unsigned": (i32) => (u32) { "in range": 7 => 7; "out of range": -1; }
        kind signed "from unsigned to signed": (u32) => (i32) { "in range": 7 => 7; "out of range": 3_000_000_000; }
        kind float_int "from float to integer": (f64) => (u32) { "": 7.0 => 7; }
        kind int_float "from integer to float": (u32) => (f32) { "exact": 7 => 7.0; "not exact": 16_777_217; }
        kind float_narrowed "a float narrowed": (f64) => (f32) { "exact": 0.25 => 0.25; "not exact": 0.1; }
        kind bool_int "from `bool` to integer": (bool) => (u8) { "": true => 1; }
        kind int_bool "from integer to `bool`": (u8) => (bool) { "": 1 => true; }
        kind non_zero "`NonZero` added": (u8) => (NonZero<u8>) { "not 0": 7 => NonZero::new(7).unwrap(); "0": 0; }
        kind char_int "from `char` to integer": (char) => (u32) { "": 'a' => 97; }
    }
}

/// Texts and enums.
pub(super) mod texts {
    use persist::{Persist, Unknown};

    use crate::changes::harness::changes;

    #[derive(Persist, Debug)]
    pub(crate) enum Side {
        North,
        #[allow(dead_code, reason = "a name that a text may have")]
        South,
    }

    #[derive(Persist, Debug)]
    pub(crate) enum Loose {
        North,
        #[persist(other)]
        Other,
    }

    #[derive(Persist, Debug)]
    pub(crate) enum Keeping {
        North,
        #[persist(other)]
        #[allow(dead_code, reason = "it is loaded")]
        Other(Unknown),
    }

    changes! {
        kind text_enum "text to enum": (String) => (Side)
            { "a variant": "North".into() => Side::North; "no variant": "West".into(); }
        kind text_loose "text to enum with `other`": (String) => (Loose)
            { "a variant": "North".into() => Loose::North; "no variant": "West".into() => Loose::Other => "Other".into(); }
        kind text_keeping "text to enum with `other(Unknown)`": (String) => (Keeping)
            { "a variant": "North".into() => Keeping::North; "no variant": "West".into(); }
        kind enum_text "enum to text": (Side) => (String) { "": Side::North => "North".into(); }
        kind text_number "text to number": (String) => (u8) { "": "7".into() => 7; }
        kind number_text "number to text": (u8) => (String) { "": 7 => "7".into(); }
    }
}

/// Options, lists, sets, maps and arrays.
pub(super) mod collections {
    use std::collections::{BTreeMap, BTreeSet};

    use persist::Persist;

    use crate::changes::harness::changes;

    changes! {
        kind option "`T` to `Option<T>`": (u8) => (Option<u8>) { "": 7 => Some(7); }
        kind no_option "`Option<T>` to `T`": (Option<u8>) => (u8) { "`Some`": Some(7) => 7; "`None`": None; }
        kind list "`T` to `Vec<T>`": (u8) => (Vec<u8>) { "": 7 => vec![7]; }
        kind no_list "`Vec<T>` to `T`": (Vec<u8>) => (u8) { "": vec![7] => 7; }
        kind option_list "`Option<T>` to `Vec<T>`": (Option<u8>) => (Vec<u8>)
            { "`Some`": Some(7) => vec![7]; "`None`": None => vec![]; }
        kind set "list to set": (Vec<u8>) => (BTreeSet<u8>)
            { "no two equal": vec![1, 2] => [1, 2].into(); "two equal": vec![1, 1]; }
        kind no_set "set to list": (BTreeSet<u8>) => (Vec<u8>) { "": [1, 2].into() => vec![1, 2]; }
        kind map "list of pairs to map": (Vec<(u8, u16)>) => (BTreeMap<u8, u16>)
            { "no two keys equal": vec![(1, 300)] => [(1, 300)].into(); "two keys equal": vec![(1, 300), (1, 2)]; }
        kind no_map "map to list of pairs": (BTreeMap<u8, u16>) => (Vec<(u8, u16)>)
            { "": [(1, 300)].into() => vec![(1, 300)]; }
        kind indexed "list to map by index": (Vec<u16>) => (BTreeMap<u64, u16>)
            { "": vec![300] => [(0, 300)].into(); }
        kind array "list to array": (Vec<u8>) => ([u8; 2]) { "of its length": vec![1, 2] => [1, 2]; "of another": vec![1]; }
        kind no_array "array to list": ([u8; 2]) => (Vec<u8>) { "": [1, 2] => vec![1, 2]; }
        kind longer "a longer array": ([u8; 2]) => ([u8; 3]) { "": [1, 2] => [1, 2, 0]; }
        class longer_default "a longer array, with `default`": (Hero pub struct Hero { pub it: [u8; 2] })
            => (Hero pub struct Hero { #[persist(default = [9; 3])] pub it: [u8; 3] })
            { "": Hero { it: [1, 2] } => Hero { it: [1, 2, 9] }; }
        kind shorter "a shorter array": ([u8; 2]) => ([u8; 1]) { "": [1, 2] => [1]; }
    }
}

/// Tuples, structs and newtypes.
pub(super) mod tuples {
    use persist::Persist;

    use crate::changes::harness::changes;

    #[derive(Persist, Debug)]
    pub(crate) struct Pair(u8, char);

    #[derive(Persist, Debug)]
    pub(crate) struct Tile {
        x: u8,
        letter: char,
    }

    #[derive(Persist, Debug)]
    pub(crate) struct Spot {
        #[persist(alias = "0")]
        x: u8,
        #[persist(alias = "1")]
        letter: char,
    }

    #[derive(Persist, Debug)]
    pub(crate) struct Level(u8);

    #[derive(Persist, Debug)]
    pub(crate) struct Rank(u8);

    #[derive(Persist, Debug)]
    #[persist(alias = "Level")]
    pub(crate) struct Degree(u8);

    #[derive(Persist, Debug)]
    #[persist(transparent)]
    pub(crate) struct Clear(u8);

    changes! {
        kind longer "a longer tuple": ((u8, char)) => ((u8, char, u8)) { "": (7, 'a') => (7, 'a', 0); }
        kind to_tuple_struct "tuple to tuple struct": ((u8, char)) => (Pair) { "": (7, 'a') => Pair(7, 'a'); }
        kind from_tuple_struct "tuple struct to tuple": (Pair) => ((u8, char)) { "": Pair(7, 'a') => (7, 'a'); }
        kind to_struct "tuple to struct": ((u8, char)) => (Tile) { "": (7, 'a') => Tile { x: 7, letter: 'a' }; }
        kind to_aliases "tuple to struct, with `alias = \"0\"` and so on": ((u8, char)) => (Spot)
            { "": (7, 'a') => Spot { x: 7, letter: 'a' }; }
        kind from_struct "struct to tuple": (Tile) => ((u8, char)) { "": Tile { x: 7, letter: 'a' } => (7, 'a'); }
        kind newtype "a newtype added": (u8) => (Level) { "": 7 => Level(7); }
        kind no_newtype "a newtype removed": (Level) => (u8) { "": Level(7) => 7; }
        kind another_newtype "another newtype": (Level) => (Rank) { "": Level(7) => Rank(7); }
        kind renamed_newtype "another newtype, with `alias = \"Level\"`": (Level) => (Degree)
            { "": Level(7) => Degree(7); }
        kind transparent "a `transparent` newtype added": (u8) => (Clear) { "": 7 => Clear(7); }
        kind boxed "`Box<T>` added": (u8) => (Box<u8>) { "": 7 => Box::new(7); }
    }
}

/// Pointers and trait objects.
pub(super) mod pointers {
    use std::cell::RefCell;
    use std::rc::{Rc, Weak};
    use std::sync::{Arc, Mutex};

    use persist::{Persist, Saves, Unknown};

    use crate::changes::harness::changes;

    #[derive(Persist, Debug)]
    pub(crate) struct Guild {
        gold: u16,
    }

    #[persist::dynamic]
    pub(crate) trait Item: std::fmt::Debug {}

    #[derive(Persist, Debug)]
    pub(crate) struct Sword(u8);

    #[derive(Persist, Debug)]
    pub(crate) struct Shield(u8);

    impl Item for Sword {}
    impl Item for Shield {}

    #[persist::dynamic(unknown = MissingTool)]
    pub(crate) trait Tool: std::fmt::Debug {}

    #[derive(Persist, Debug)]
    pub(crate) struct Hammer(u16);

    #[derive(Persist, Debug)]
    pub(crate) struct Saw(u16);

    #[derive(Persist, Debug)]
    pub(crate) struct MissingTool {
        unknown: Unknown,
    }

    impl From<Unknown> for MissingTool {
        fn from(unknown: Unknown) -> Self {
            Self { unknown }
        }
    }

    impl AsRef<Unknown> for MissingTool {
        fn as_ref(&self) -> &Unknown {
            &self.unknown
        }
    }

    impl Tool for Hammer {}
    impl Tool for Saw {}
    impl Tool for MissingTool {}

    fn hammer(saves: &Saves) -> persist::Result<()> {
        saves.register_as::<Hammer, dyn Tool>()
    }

    fn hammer_and_saw(saves: &Saves) -> persist::Result<()> {
        hammer(saves)?;
        saw(saves)
    }

    fn saw(saves: &Saves) -> persist::Result<()> {
        saves.register_as::<Saw, dyn Tool>()
    }

    /// What the program without hammers makes of one.
    fn missing() -> Box<dyn Tool> {
        let with = Saves::new();
        hammer(&with).unwrap();
        let save = with.to_vec(&(Box::new(Hammer(7)) as Box<dyn Tool>)).unwrap();
        let without = Saves::new();
        saw(&without).unwrap();
        without.from_slice::<Box<dyn Tool>>(&save).unwrap().into_inner()
    }

    fn guild() -> Guild {
        Guild { gold: 300 }
    }

    fn cell() -> Rc<RefCell<Guild>> {
        Rc::new(RefCell::new(guild()))
    }

    /// One object in two fields.
    fn shared() -> (Rc<RefCell<Guild>>, Rc<RefCell<Guild>>) {
        let one = cell();
        (one.clone(), one)
    }

    fn moved() -> (Arc<Mutex<Guild>>, Arc<Mutex<Guild>>) {
        let one = Arc::new(Mutex::new(guild()));
        (one.clone(), one)
    }

    fn both(saves: &Saves) -> persist::Result<()> {
        saves.register_as::<Sword, dyn Item>()?;
        saves.register_as::<Shield, dyn Item>()
    }

    fn shield(saves: &Saves) -> persist::Result<()> {
        saves.register_as::<Shield, dyn Item>()
    }

    changes! {
        kind to_value "pointer to value": (Rc<RefCell<Guild>>) => (Guild) { "": cell() => guild(); }
        kind to_values "pointers to values": ((Rc<RefCell<Guild>>, Rc<RefCell<Guild>>)) => ((Guild, Guild))
            { "one object": shared() => (guild(), guild()); "two objects": (cell(), cell()) => (guild(), guild()); }
        kind from_value "value to pointer": (Guild) => (Rc<RefCell<Guild>>) { "": guild() => cell(); }
        kind moved_cells "other pointers and cells": ((Rc<RefCell<Guild>>, Rc<RefCell<Guild>>))
            => ((Arc<Mutex<Guild>>, Arc<Mutex<Guild>>)) { "one object": shared() => moved(); }
        kind one_moved "another pointer in one of two fields": ((Rc<RefCell<Guild>>, Rc<RefCell<Guild>>))
            => ((Arc<Mutex<Guild>>, Rc<RefCell<Guild>>)) { "one object": shared(); }
        kind weak "strong to weak": (Rc<RefCell<Guild>>) => (Weak<RefCell<Guild>>) { "": cell() => Weak::new(); }
        kind gone "a class not registered for its trait any more": (Box<dyn Item>) => (Box<dyn Item>)
            register (both) => (shield)
            { "a value of it": Box::new(Sword(7)); "a value of another": Box::new(Shield(8)) => Box::new(Shield(8)); }
        kind gone_option "the same, in an `Option`": (Option<Box<dyn Item>>) => (Option<Box<dyn Item>>)
            register (both) => (shield)
            { "a value of it": Some(Box::new(Sword(7))) => None => None; }
        kind gone_stand_in "the same, with a stand-in": (Box<dyn Tool>) => (Box<dyn Tool>)
            register (hammer_and_saw) => (saw) { "a value of it": Box::new(Hammer(7)) => missing(); }
        kind came "a class registered for its trait": (Box<dyn Item>) => (Box<dyn Item>)
            register (shield) => (both)
            { "a value of another": Box::new(Shield(8)) => Box::new(Shield(8)); "a value of it": => Box::new(Sword(7)); }
        kind to_trait "value to trait object": (Sword) => (Box<dyn Item>)
            register (both) => (both) { "": Sword(7) => Box::new(Sword(7)); }
    }
}

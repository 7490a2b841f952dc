//! Variants and classes that come, go and change their names.

/// Variants of an enum.
pub(super) mod of_enums {
    use persist::{Persist, Unknown};

    use crate::changes::harness::changes;

    changes! {
        class added "added": (Mood pub enum Mood { Calm, Sad(u8) })
            => (Mood pub enum Mood { Calm, Sad(u8), Angry })
            { "another value": Mood::Sad(7) => Mood::Sad(7); "a value of it": => Mood::Angry; }
        class came "added, with `other(Unknown)` before": (Mood pub enum Mood { Calm, #[persist(other)] Other(Unknown) })
            => (Mood pub enum Mood { Calm, Sad(u8), #[persist(other)] Other(Unknown) })
            { "a value of it": => Mood::Sad(7)
                => persist::from_slice(&persist::to_vec(&super::came::after::Mood::Sad(7)).unwrap()).unwrap(); }
        class removed "removed": (Mood pub enum Mood { Calm, Sad(u8) })
            => (Mood pub enum Mood { Calm })
            { "another value": Mood::Calm => Mood::Calm; "a value of it": Mood::Sad(7); }
        class removed_other "removed, with `other`": (Mood pub enum Mood { Calm, Sad(u8) })
            => (Mood pub enum Mood { Calm, #[persist(other)] Other })
            { "a value of it": Mood::Sad(7) => Mood::Other; }
        class removed_keeping "removed, with `other(Unknown)`": (Mood pub enum Mood { Calm, Sad(u8) })
            => (Mood pub enum Mood { Calm, #[persist(other)] Other(Unknown) })
            { "a value of it": Mood::Sad(7)
                => persist::from_slice(&persist::to_vec(&super::removed_keeping::before::Mood::Sad(7)).unwrap()).unwrap(); }
        class removed_for_good "removed, with `removed`": (Mood pub enum Mood { Calm, Sad(u8) })
            => (Mood #[persist(removed = "Sad")] pub enum Mood { Calm, #[persist(other)] Other })
            { "a value of it": Mood::Sad(7) => Mood::Other; }
        class renamed "renamed": (Mood pub enum Mood { Calm, Sad(u8) })
            => (Mood pub enum Mood { Calm, Glum(u8) })
            { "a value of it": Mood::Sad(7) => Mood::Glum(7); }
        class renamed_alias "renamed, with `alias`": (Mood pub enum Mood { Calm, Sad(u8) })
            => (Mood pub enum Mood { Calm, #[persist(alias = "Sad")] Glum(u8) })
            { "a value of it": Mood::Sad(7) => Mood::Glum(7); }
        class renamed_other "renamed, with `other`": (Mood pub enum Mood { Calm, Sad(u8), #[persist(other)] Other })
            => (Mood pub enum Mood { Calm, Glum(u8), #[persist(other)] Other })
            { "a value of it": Mood::Sad(7) => Mood::Other => Mood::Other; }
        class reordered "reordered": (Mood pub enum Mood { Calm, Sad })
            => (Mood pub enum Mood { Sad, Calm })
            { "": Mood::Sad => Mood::Sad; }
        class merged "two become one": (Mood pub enum Mood { Calm, Sad, Glum })
            => (Mood pub enum Mood { Calm, #[persist(alias = "Glum")] Sad })
            { "": Mood::Glum => Mood::Sad => Mood::Sad; }
        class field "a field added": (Mood pub enum Mood { Calm, Sad(u8) })
            => (Mood pub enum Mood { Calm, Sad(u8, u8) })
            { "a value of it": Mood::Sad(7) => Mood::Sad(7, 8); }
        class field_default "a field added, with `default`": (Mood pub enum Mood { Calm, Sad(u8) })
            => (Mood pub enum Mood { Calm, Sad(u8, #[persist(default = 8)] u8) })
            { "a value of it": Mood::Sad(7) => Mood::Sad(7, 8); }
        class field_removed "a field removed": (Mood pub enum Mood { Calm, Sad(u8, u8) })
            => (Mood pub enum Mood { Calm, Sad(u8) })
            { "a value of it": Mood::Sad(7, 8) => Mood::Sad(7); }
    }
}

/// Classes.
pub(super) mod of_programs {
    use std::cell::RefCell;
    use std::rc::Rc;

    use persist::{Persist, Saves};

    use crate::changes::harness::changes;

    #[derive(Persist, Debug)]
    pub(crate) struct Cart {
        wheels: u16,
    }

    #[derive(Persist, Debug)]
    pub(crate) struct Slot {
        it: u8,
    }

    pub(crate) mod generic {
        use persist::Persist;

        #[derive(Persist, Debug)]
        pub(crate) struct Slot<T> {
            pub(crate) it: T,
        }

        #[derive(Persist, Debug)]
        #[persist(alias = "Slot")]
        pub(crate) struct Known<T> {
            pub(crate) it: T,
        }
    }

    fn with_cart(saves: &Saves) -> persist::Result<()> {
        saves.register::<Cart>()
    }

    fn without_cart(saves: &Saves) -> persist::Result<()> {
        saves.declare_removed_class("Cart")
    }

    fn cart() -> Rc<RefCell<Cart>> {
        Rc::new(RefCell::new(Cart { wheels: 300 }))
    }

    changes! {
        class renamed "renamed": (Player pub struct Player { pub hp: u8 })
            => (Hero pub struct Hero { pub hp: u8 })
            { "": Player { hp: 7 } => Hero { hp: 7 }; }
        class renamed_alias "renamed, with `alias`": (Player pub struct Player { pub hp: u8 })
            => (Hero #[persist(alias = "Player")] pub struct Hero { pub hp: u8 })
            { "": Player { hp: 7 } => Hero { hp: 7 }; }
        class moved "renamed, with `class`": (Player pub struct Player { pub hp: u8 })
            => (Hero #[persist(class = "Player")] pub struct Hero { pub hp: u8 })
            { "": Player { hp: 7 } => Hero { hp: 7 }; }
        class gone "removed with the field that refers to it": (Hero pub struct Hero { pub cart: Rc<RefCell<Cart>> })
            => (Hero pub struct Hero { })
            register (with_cart) => (nothing)
            { "": Hero { cart: cart() } => Hero { }; }
        class gone_for_good "removed, with `removed` and `declare_removed_class`": (Hero pub struct Hero { pub cart: Rc<RefCell<Cart>> })
            => (Hero #[persist(removed = "cart")] pub struct Hero { })
            register (with_cart) => (without_cart)
            { "": Hero { cart: cart() } => Hero { }; }
        kind made_generic "made generic": (Slot) => (generic::Slot<u8>) { "": Slot { it: 7 } => generic::Slot { it: 7 }; }
        kind made_generic_alias "made generic, with `alias`": (Slot) => (generic::Known<u8>)
            { "": Slot { it: 7 } => generic::Known { it: 7 }; }
    }

    #[allow(clippy::unnecessary_wraps, reason = "it stands for a registration")]
    fn nothing(_: &Saves) -> persist::Result<()> {
        Ok(())
    }
}

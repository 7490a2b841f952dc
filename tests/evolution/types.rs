//! The types of an older program, and of the one that it became.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::rc::Weak;

use persist::Persist;
use persist_tests::support::Shared;

pub(crate) mod old {
    use super::*;

    #[derive(Persist)]
    #[persist(class = "Hero")]
    pub(crate) struct Hero {
        pub(crate) strength: u32,
        pub(crate) wisdom: u32,
        pub(crate) name: String,
        pub(crate) gone: Vec<u64>,
        pub(crate) mail: i64,
    }

    #[derive(Persist)]
    #[persist(class = "Spell")]
    pub(crate) enum Spell {
        Fire(u8),
        Frost { cold: i16, deep: bool },
        Light,
        Sleep(String),
    }

    #[derive(Persist, Clone)]
    #[persist(class = "Gem")]
    pub(crate) struct Gem {
        pub(crate) carat: u16,
        pub(crate) flaws: Vec<u8>,
    }

    #[derive(Persist)]
    #[persist(class = "Box")]
    pub(crate) struct Chest {
        pub(crate) first: Gem,
        pub(crate) list: Vec<Gem>,
        pub(crate) maybe: Option<Gem>,
        pub(crate) map: HashMap<u16, Gem>,
        pub(crate) pair: (u8, [Gem; 2]),
        pub(crate) case: Case,
    }

    #[derive(Persist)]
    #[persist(class = "Case")]
    pub(crate) enum Case {
        Open,
        Shut { gem: Gem },
    }

    #[derive(Persist)]
    #[persist(class = "Knot")]
    pub(crate) struct Knot {
        pub(crate) id: u32,
        pub(crate) left: Option<Shared<Knot>>,
        pub(crate) dropped: Vec<Shared<Knot>>,
        pub(crate) map: BTreeMap<Side, Shared<Knot>>,
        pub(crate) right: Option<Shared<Knot>>,
        pub(crate) weak: Weak<RefCell<Knot>>,
    }

    #[derive(Persist, PartialEq, Eq, PartialOrd, Ord, Hash)]
    #[persist(class = "Side")]
    pub(crate) enum Side {
        North,
        East,
        South,
    }
}

pub(crate) mod new {
    use super::*;

    /// Reordered, `gone` removed, `mail` renamed, three added.
    #[derive(Persist)]
    #[persist(class = "Hero")]
    pub(crate) struct Hero {
        pub(crate) name: String,
        pub(crate) wisdom: u32,
        #[persist(default)]
        pub(crate) luck: i8,
        #[persist(default = vec![String::from("torch")])]
        pub(crate) bag: Vec<String>,
        pub(crate) strength: u32,
        #[persist(alias = "letters", alias = "mail")]
        pub(crate) post: i64,
        pub(crate) pet: Option<String>,
    }

    #[derive(Persist, Debug, PartialEq)]
    #[persist(class = "Spell")]
    pub(crate) enum Spell {
        None,
        Light,
        #[persist(alias = "Frost")]
        Ice {
            #[persist(default)]
            wide: u64,
            deep: bool,
            cold: i16,
        },
        Fire(u8),
    }

    #[derive(Persist, Debug, PartialEq)]
    #[persist(class = "Gem")]
    pub(crate) struct Gem {
        #[persist(default = String::from("ruby"))]
        pub(crate) sort: String,
        pub(crate) carat: u16,
    }

    #[derive(Persist, Debug, PartialEq)]
    #[persist(class = "Box")]
    pub(crate) struct Chest {
        pub(crate) case: Case,
        pub(crate) first: Gem,
        pub(crate) list: Vec<Gem>,
        pub(crate) maybe: Option<Gem>,
        pub(crate) map: HashMap<u16, Gem>,
        pub(crate) pair: (u8, [Gem; 2]),
    }

    #[derive(Persist, Debug, PartialEq)]
    #[persist(class = "Case")]
    pub(crate) enum Case {
        Shut { gem: Gem },
        Open,
    }

    #[derive(Persist)]
    #[persist(class = "Knot")]
    pub(crate) struct Knot {
        pub(crate) weak: Weak<RefCell<Knot>>,
        pub(crate) right: Option<Shared<Knot>>,
        pub(crate) map: BTreeMap<Side, Shared<Knot>>,
        pub(crate) added: Option<Shared<Knot>>,
        pub(crate) id: u32,
        pub(crate) left: Option<Shared<Knot>>,
    }

    /// The other way round, so that keys sort the other way too.
    #[derive(Persist, PartialEq, Eq, PartialOrd, Ord, Hash)]
    #[persist(class = "Side")]
    pub(crate) enum Side {
        South,
        East,
        North,
    }
}

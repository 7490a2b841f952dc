//! The game with a mod and the game without: both have the classes of [`common`], and each its
//! own form of the others.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::{Rc, Weak};
use std::sync::{Arc, Mutex};

use persist::{Persist, SaveManager, Saves, Unknown};
pub(crate) use persist_tests::support::{Shared, shared};

/// What both games have.
pub(crate) mod common {
    use super::*;

    thread_local! {
        static ALIVE: Cell<i64> = const { Cell::new(0) };
    }

    /// Counts the values that hold one.
    #[derive(Debug)]
    pub(crate) struct Alive(());

    impl Default for Alive {
        fn default() -> Self {
            ALIVE.set(ALIVE.get() + 1);
            Self(())
        }
    }

    impl Drop for Alive {
        fn drop(&mut self) {
            ALIVE.set(ALIVE.get() - 1);
        }
    }

    /// How many are alive.
    pub(crate) fn alive() -> i64 {
        ALIVE.get()
    }

    #[persist::dynamic(unknown = Missing)]
    pub(crate) trait Item {
        /// What it is and where its pointers lead.
        fn show(&self, show: &mut dyn FnMut(&str, Option<*const ()>)) -> String;
    }

    #[derive(Persist)]
    pub(crate) struct Missing {
        pub(crate) unknown: Unknown,
        #[persist(skip)]
        _alive: Alive,
    }

    impl From<Unknown> for Missing {
        fn from(unknown: Unknown) -> Self {
            Self { unknown, _alive: Alive::default() }
        }
    }

    impl AsRef<Unknown> for Missing {
        fn as_ref(&self) -> &Unknown {
            &self.unknown
        }
    }

    impl Item for Missing {
        fn show(&self, _: &mut dyn FnMut(&str, Option<*const ()>)) -> String {
            format!("missing {}", self.unknown.class())
        }
    }

    #[derive(Persist)]
    pub(crate) struct Sword {
        pub(crate) sharp: u8,
        #[persist(skip)]
        _alive: Alive,
    }

    impl Sword {
        pub(crate) fn new(sharp: u8) -> Self {
            Self { sharp, _alive: Alive::default() }
        }
    }

    impl Item for Sword {
        fn show(&self, _: &mut dyn FnMut(&str, Option<*const ()>)) -> String {
            format!("sword {}", self.sharp)
        }
    }

    /// An object of the game to which only the mod's objects lead.
    #[derive(Persist)]
    pub(crate) struct Token {
        pub(crate) name: String,
        #[persist(skip)]
        pub(crate) _alive: Alive,
    }
}

use common::{Alive, Item, Missing, Sword, Token};

pub(crate) type AnyItem = Rc<RefCell<dyn Item>>;

/// The game without the mod.
pub(crate) mod plain {
    use super::*;

    #[derive(Persist)]
    pub(crate) struct Hero {
        pub(crate) name: String,
        pub(crate) hand: Option<AnyItem>,
        pub(crate) chests: Vec<Shared<Chest>>,
        pub(crate) friend: Weak<RefCell<Hero>>,
        #[persist(unknown)]
        pub(crate) rest: Unknown,
        #[persist(skip)]
        pub(crate) _alive: Alive,
    }

    /// Without a field for what is unknown.
    #[derive(Persist)]
    pub(crate) struct Chest {
        pub(crate) name: String,
        pub(crate) things: Vec<Box<dyn Item>>,
        pub(crate) shelf: Vec<AnyItem>,
        pub(crate) slots: Vec<Slot>,
        pub(crate) trays: Vec<Tray>,
        pub(crate) lock: Lock,
        pub(crate) alarm: Option<Arc<Mutex<dyn Item>>>,
        #[persist(skip)]
        pub(crate) _alive: Alive,
    }

    #[derive(Persist)]
    pub(crate) struct Slot {
        pub(crate) number: u8,
    }

    #[derive(Persist)]
    pub(crate) struct Tray {
        pub(crate) label: String,
        #[persist(unknown)]
        pub(crate) rest: Unknown,
    }

    #[derive(Persist)]
    pub(crate) enum Lock {
        Open,
        Key(String),
        #[persist(other)]
        Other(Unknown),
    }

    /// A whole game as one value.
    #[derive(Persist)]
    pub(crate) struct Game {
        pub(crate) heroes: Vec<Shared<Hero>>,
        pub(crate) stash: Vec<Box<dyn Item>>,
        pub(crate) day: u32,
    }

    pub(crate) fn manager() -> SaveManager {
        let saves = Saves::new();
        saves.register::<Hero>().unwrap();
        saves.register::<Token>().unwrap();
        saves.register_as::<Sword, dyn Item>().unwrap();
        saves.manager()
    }

    pub(crate) fn hero(name: &str) -> Shared<Hero> {
        shared(Hero {
            name: name.into(),
            hand: None,
            chests: Vec::new(),
            friend: Weak::new(),
            rest: Unknown::default(),
            _alive: Alive::default(),
        })
    }
}

/// The game with it.
pub(crate) mod modded {
    use super::*;

    #[derive(Persist)]
    pub(crate) struct Hero {
        /// The mod's; what is loaded of a hero that the game made without it has none.
        #[persist(default = 100)]
        pub(crate) mana: u32,
        pub(crate) name: String,
        #[persist(default)]
        pub(crate) familiar: Option<Shared<Charm>>,
        pub(crate) hand: Option<AnyItem>,
        pub(crate) chests: Vec<Shared<Chest>>,
        pub(crate) friend: Weak<RefCell<Hero>>,
        #[persist(skip)]
        pub(crate) _alive: Alive,
    }

    #[derive(Persist)]
    pub(crate) struct Chest {
        pub(crate) name: String,
        pub(crate) things: Vec<Box<dyn Item>>,
        #[persist(default)]
        pub(crate) charms: Vec<Shared<Charm>>,
        pub(crate) shelf: Vec<AnyItem>,
        pub(crate) slots: Vec<Slot>,
        pub(crate) trays: Vec<Tray>,
        pub(crate) lock: Lock,
        pub(crate) alarm: Option<Arc<Mutex<dyn Item>>>,
        #[persist(default)]
        pub(crate) by_rune: BTreeMap<String, Weak<RefCell<Charm>>>,
        #[persist(default)]
        pub(crate) aura: u64,
        #[persist(skip)]
        pub(crate) _alive: Alive,
    }

    #[derive(Persist)]
    pub(crate) struct Slot {
        #[persist(default)]
        pub(crate) glow: u32,
        pub(crate) number: u8,
    }

    #[derive(Persist)]
    pub(crate) struct Tray {
        #[persist(default)]
        pub(crate) runes: Vec<String>,
        pub(crate) label: String,
        #[persist(default)]
        pub(crate) charm: Option<Shared<Charm>>,
    }

    #[derive(Persist)]
    pub(crate) enum Lock {
        Open,
        Cursed { by: Shared<Charm>, turns: u8, on: Vec<Slot> },
        Key(String),
    }

    /// An object of the mod; some have ids of their own.
    #[derive(Persist)]
    pub(crate) struct Charm {
        pub(crate) power: u32,
        pub(crate) owner: Option<Shared<Hero>>,
        pub(crate) home: Weak<RefCell<Chest>>,
        pub(crate) twin: Option<Shared<Charm>>,
        pub(crate) gem: Option<Rc<Gem>>,
        pub(crate) token: Option<Shared<Token>>,
        pub(crate) bound: Option<AnyItem>,
        #[persist(skip)]
        pub(crate) _alive: Alive,
    }

    /// Without a cell.
    #[derive(Persist)]
    pub(crate) struct Gem {
        pub(crate) carat: u16,
        pub(crate) next: Option<Rc<Gem>>,
        pub(crate) set_in: RefCell<Weak<RefCell<Charm>>>,
        #[persist(skip)]
        pub(crate) _alive: Alive,
    }

    #[derive(Persist)]
    pub(crate) struct Wand {
        pub(crate) charges: u32,
        pub(crate) charm: Option<Shared<Charm>>,
        pub(crate) gem: Option<Rc<Gem>>,
        pub(crate) spare: Vec<Box<dyn Item>>,
        pub(crate) maker: Weak<RefCell<Hero>>,
        pub(crate) slot: Slot,
        #[persist(skip)]
        pub(crate) _alive: Alive,
    }

    impl Item for Wand {
        fn show(&self, show: &mut dyn FnMut(&str, Option<*const ()>)) -> String {
            show("charm", self.charm.as_ref().map(|charm| Rc::as_ptr(charm).cast()));
            show("gem", self.gem.as_ref().map(|gem| Rc::as_ptr(gem).cast()));
            show("maker", self.maker.upgrade().map(|maker| Rc::as_ptr(&maker).cast()));
            let spare: Vec<String> = self.spare.iter().map(|item| item.show(show)).collect();
            format!("wand {} {} [{}]", self.charges, self.slot.glow, spare.join(", "))
        }
    }

    /// A whole game as one value; `season` and `charms` are the mod's.
    #[derive(Persist)]
    pub(crate) struct Game {
        pub(crate) season: String,
        pub(crate) heroes: Vec<Shared<Hero>>,
        pub(crate) charms: Vec<Shared<Charm>>,
        pub(crate) stash: Vec<Box<dyn Item>>,
        pub(crate) day: u32,
    }

    pub(crate) fn manager() -> SaveManager {
        let saves = Saves::new();
        saves.register::<Hero>().unwrap();
        saves.register::<Charm>().unwrap();
        saves.register_as::<Sword, dyn Item>().unwrap();
        saves.register_as::<Wand, dyn Item>().unwrap();
        saves.manager()
    }

    pub(crate) fn hero(name: &str) -> Shared<Hero> {
        shared(Hero {
            mana: 100,
            name: name.into(),
            familiar: None,
            hand: None,
            chests: Vec::new(),
            friend: Weak::new(),
            _alive: Alive::default(),
        })
    }

    pub(crate) fn charm(power: u32) -> Shared<Charm> {
        shared(Charm {
            power,
            owner: None,
            home: Weak::new(),
            twin: None,
            gem: None,
            token: None,
            bound: None,
            _alive: Alive::default(),
        })
    }

    pub(crate) fn wand(charges: u32) -> Wand {
        Wand {
            charges,
            charm: None,
            gem: None,
            spare: Vec::new(),
            maker: Weak::new(),
            slot: Slot { glow: 7, number: 1 },
            _alive: Alive::default(),
        }
    }
}

/// True for a stand-in.
pub(crate) fn is_missing(item: &dyn Item) -> bool {
    let any: &dyn std::any::Any = persist::__private::TraitObject::portable(item);
    any.is::<Missing>()
}

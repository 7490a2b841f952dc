//! A small game in five versions. Each module has the types of one version and `world(since)`: its
//! state as it comes from a save of version `since`. What a version writes is `world` of its own
//! number; what it makes of an older save is compared with `world` of that one's.
//!
//! | | |
//! | --- | --- |
//! | 2 | numbers wider; a tuple a struct; a class, a variant and fields renamed; a field and a variant removed; `Hero` migrated |
//! | 3 | a number narrower; a newtype; a text an enum; `T` an `Option`; a value shared; a list a set; a class removed; `Hero` migrated again |
//! | 4 | a field renamed by its id; a shared object a value, and migrated; a `convert`; a class of another name; a variant and a field removed, and kept |
//! | 5 | everything reordered; `Hero` renamed; a newtype unwrapped, another added; a number narrower; an enum a text; a value a list; a tuple a struct behind a pointer |

pub mod v1;
pub mod v2;
pub mod v3;
pub mod v4;
pub mod v5;

use std::cell::RefCell;
use std::fmt::{self, Debug};
use std::rc::{Rc, Weak};

use persist::{Arena, Persist, SaveManager, Unknown};

pub type Shared<T> = Rc<RefCell<T>>;

pub fn shared<T>(value: T) -> Shared<T> {
    Rc::new(RefCell::new(value))
}

#[persist::dynamic(unknown = Missing)]
pub trait Item: Debug {
    /// The hero whom the item names.
    fn of(&self) -> Option<*const ()> {
        None
    }
}

/// Where a weak pointer leads.
pub fn address<T>(weak: &Weak<RefCell<T>>) -> Option<*const ()> {
    weak.upgrade().map(|shared| Rc::as_ptr(&shared).cast())
}

/// Stands for items of classes that a version has no more.
#[derive(Persist)]
pub struct Missing {
    unknown: Unknown,
}

impl From<Unknown> for Missing {
    fn from(unknown: Unknown) -> Self {
        Self { unknown }
    }
}

impl AsRef<Unknown> for Missing {
    fn as_ref(&self) -> &Unknown {
        &self.unknown
    }
}

impl Item for Missing {}

impl Debug for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a missing {}", self.unknown.class())
    }
}

/// What `Missing` is in a state that was not loaded; holds the name of the class.
#[derive(Persist)]
pub struct Gone(pub String);

impl Item for Gone {}

impl Debug for Gone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a missing {}", self.0)
    }
}

/// The marks on the map are handles into the places.
#[derive(Debug)]
pub struct Places;

impl Arena for Places {
    type Key = u32;
    const NAME: &'static str = "places";

    fn to_bits(key: u32) -> u64 {
        key.into()
    }

    fn from_bits(bits: u64) -> Option<u32> {
        bits.try_into().ok()
    }
}

/// What every version has.
pub trait Version: Persist {
    /// The state as it comes from a save of version `since`.
    fn world(since: u32) -> Shared<Self>;

    /// Makes a manager that knows the version's classes.
    fn manager() -> SaveManager;

    /// All values and where every pointer leads.
    fn describe(&self) -> String;
}

/// The place of an object among others.
pub fn place<T: ?Sized>(all: &[Rc<T>], address: Option<*const ()>) -> String {
    let Some(address) = address else { return String::from("nobody") };
    match all.iter().position(|one| Rc::as_ptr(one).cast() == address) {
        Some(place) => place.to_string(),
        None => String::from("somebody else"),
    }
}

/// Where the pointers of a world lead.
macro_rules! links {
    ($world:expr) => {{
        let world = $world;
        let mut lines = vec![format!("{world:#?}")];
        for (i, hero) in world.heroes.iter().enumerate() {
            let hero = hero.borrow();
            let pet = place(&world.monsters, hero.pet.as_ref().map(|pet| Rc::as_ptr(pet).cast()));
            let relic = hero.relic.as_ref().map(|relic| Rc::as_ptr(relic).cast());
            let relic = place(&world.treasure, relic);
            lines.push(format!("hero {i} has pet {pet} and relic {relic}"));
            for rival in &hero.rivals {
                lines.push(format!("hero {i} has rival {}", place(&world.heroes, address(rival))));
            }
            for item in &hero.bag {
                lines
                    .push(format!("an item of hero {i} is of {}", place(&world.heroes, item.of())));
            }
        }
        for (i, monster) in world.monsters.iter().enumerate() {
            let monster = monster.borrow();
            let target = place(&world.heroes, address(&monster.target));
            let friend = place(&world.monsters, address(&monster.friend));
            lines.push(format!("monster {i} hunts hero {target} and likes monster {friend}"));
        }
        for item in &world.treasure {
            lines.push(format!("treasure is of {}", place(&world.heroes, item.borrow().of())));
        }
        for quest in &world.quests {
            let (who, whom) = quest.about();
            let (who, whom) = (place(&world.heroes, who), place(&world.monsters, whom));
            lines.push(format!("a quest is about hero {who} and monster {whom}"));
        }
        lines
    }};
}
pub(crate) use links;

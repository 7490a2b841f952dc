//! Are two worlds the same? Walks both in step, field by field and pointer by
//! pointer, without any help from the library that saved one of them.
//!
//! The same values are not enough: where two pointers of one world lead to one
//! object, they must in the other, and nowhere else.

use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::fmt::Debug;
use std::hash::Hash;
use std::rc::{Rc, Weak};

use crate::world::{
    Fate, Guild, Hero, Hide, Item, Make, Monster, MonsterKind, Place, Shared, Task, World,
};

/// The first difference, where it is and what it is.
pub type Outcome = Result<(), String>;

/// The counts of a comparison.
#[derive(Default)]
pub struct Compared {
    pub objects: usize,
    pub pointers: usize,
}

/// Compares everything that the two worlds lead to.
pub fn compare(expected: &Shared<World>, found: &Shared<World>) -> Result<Compared, String> {
    let mut walk = Walk::default();
    expected.same(found, "world", &mut walk)?;
    while let Some(pair) = walk.waiting.pop_front() {
        pair(&mut walk)?;
    }
    Ok(Compared { objects: walk.found_of.len(), pointers: walk.pointers })
}

/// A pair of objects, ready to be compared.
type Pair = Box<dyn FnOnce(&mut Walk) -> Outcome>;

/// Pairs of objects by address: a one-to-one relation, or the worlds differ.
#[derive(Default)]
struct Walk {
    found_of: HashMap<usize, usize>,
    /// The other way round, with the path on which the pair was first met.
    expected_of: HashMap<usize, (usize, String)>,
    /// Pairs that have been met and not yet looked into; a queue, so that long
    /// chains of objects do not become deep recursions.
    waiting: VecDeque<Pair>,
    pointers: usize,
}

impl Walk {
    fn visit<T: Same + 'static>(
        &mut self,
        expected: &Shared<T>,
        found: &Shared<T>,
        path: &str,
    ) -> Outcome {
        self.pointers += 1;
        let (a, b) = (Rc::as_ptr(expected).addr(), Rc::as_ptr(found).addr());
        match (self.found_of.get(&a), self.expected_of.get(&b)) {
            (None, None) => {
                self.found_of.insert(a, b);
                self.expected_of.insert(b, (a, path.to_owned()));
                let (expected, found, path) = (expected.clone(), found.clone(), path.to_owned());
                self.waiting.push_back(Box::new(move |walk| {
                    expected.borrow().same(&found.borrow(), &path, walk)
                }));
                Ok(())
            }
            (Some(same), _) if *same == b => Ok(()),
            (_, Some((_, first))) => {
                Err(format!("{path}: leads to the object of {first}, not to another"))
            }
            (Some(_), None) => {
                Err(format!("{path}: leads to another object, not to one met before"))
            }
        }
    }
}

/// Values that can be compared in step.
trait Same {
    fn same(&self, found: &Self, path: &str, walk: &mut Walk) -> Outcome;
}

fn equal<T: PartialEq + Debug>(expected: &T, found: &T, path: &str) -> Outcome {
    if expected == found {
        return Ok(());
    }
    Err(format!("{path}: expected {expected:?}, found {found:?}"))
}

macro_rules! plain {
    ($($type:ty)*) => {$(
        impl Same for $type {
            fn same(&self, found: &Self, path: &str, _: &mut Walk) -> Outcome {
                equal(self, found, path)
            }
        }
    )*};
}

plain! { u8 u32 u64 i32 f32 String }

/// Lists all fields of a struct; the compiler says if one is forgotten.
macro_rules! structs {
    ($($type:ident { $($field:ident)* })*) => {$(
        impl Same for $type {
            fn same(&self, found: &Self, path: &str, walk: &mut Walk) -> Outcome {
                let $type { $($field),* } = self;
                $($field.same(&found.$field, &format!("{path}.{}", stringify!($field)), walk)?;)*
                Ok(())
            }
        }
    )*};
}

structs! {
    World { turn fate heroes monsters guild gold }
    Fate { state }
    Hero { name level health place task weapon bag purse guild rival }
    Place { x y }
    Monster { name kind health place prey hates hoard }
    Hide { scales colour }
    Item { name make worn }
    Guild { name members armoury wanted last_fallen }
}

fn another_variant(path: &str) -> Outcome {
    Err(format!("{path}: another variant"))
}

impl Same for Task {
    fn same(&self, found: &Self, path: &str, walk: &mut Walk) -> Outcome {
        match (self, found) {
            (Self::Rest, Self::Rest) => Ok(()),
            (Self::Travel { to, days }, Self::Travel { to: other, days: other_days }) => {
                to.same(other, &format!("{path}.to"), walk)?;
                days.same(other_days, &format!("{path}.days"), walk)
            }
            (Self::Hunt(a), Self::Hunt(b)) => a.same(b, &format!("{path}.monster"), walk),
            _ => another_variant(path),
        }
    }
}

impl Same for MonsterKind {
    fn same(&self, found: &Self, path: &str, walk: &mut Walk) -> Outcome {
        match (self, found) {
            (Self::Ghost, Self::Ghost) => Ok(()),
            (Self::Wolf { pack: a }, Self::Wolf { pack: b }) => {
                a.same(b, &format!("{path}.pack"), walk)
            }
            (Self::Dragon(hide, fire), Self::Dragon(other, other_fire)) => {
                hide.same(other, &format!("{path}.hide"), walk)?;
                fire.same(other_fire, &format!("{path}.fire"), walk)
            }
            _ => another_variant(path),
        }
    }
}

impl Same for Make {
    fn same(&self, found: &Self, path: &str, walk: &mut Walk) -> Outcome {
        match (self, found) {
            (Self::Sword { damage: a }, Self::Sword { damage: b }) => {
                a.same(b, &format!("{path}.damage"), walk)
            }
            (Self::Potion(a), Self::Potion(b)) => a.same(b, &format!("{path}.strength"), walk),
            (Self::Map(place, note), Self::Map(other, other_note)) => {
                place.same(other, &format!("{path}.place"), walk)?;
                note.same(other_note, &format!("{path}.note"), walk)
            }
            _ => another_variant(path),
        }
    }
}

impl<T: Same + 'static> Same for Shared<T> {
    fn same(&self, found: &Self, path: &str, walk: &mut Walk) -> Outcome {
        walk.visit(self, found, path)
    }
}

impl<T: Same + 'static> Same for Weak<RefCell<T>> {
    fn same(&self, found: &Self, path: &str, walk: &mut Walk) -> Outcome {
        self.upgrade().same(&found.upgrade(), path, walk)
    }
}

impl<T: Same> Same for Option<T> {
    fn same(&self, found: &Self, path: &str, walk: &mut Walk) -> Outcome {
        match (self, found) {
            (Some(a), Some(b)) => a.same(b, path, walk),
            _ => equal(&self.is_some(), &found.is_some(), &format!("{path} is there")),
        }
    }
}

impl<T: Same> Same for [T] {
    fn same(&self, found: &Self, path: &str, walk: &mut Walk) -> Outcome {
        equal(&self.len(), &found.len(), &format!("{path}.len()"))?;
        for (i, (a, b)) in self.iter().zip(found).enumerate() {
            a.same(b, &format!("{path}[{i}]"), walk)?;
        }
        Ok(())
    }
}

impl<T: Same> Same for Vec<T> {
    fn same(&self, found: &Self, path: &str, walk: &mut Walk) -> Outcome {
        self[..].same(found, path, walk)
    }
}

impl<T: Same, const N: usize> Same for [T; N] {
    fn same(&self, found: &Self, path: &str, walk: &mut Walk) -> Outcome {
        self[..].same(found, path, walk)
    }
}

impl<A: Same, B: Same> Same for (A, B) {
    fn same(&self, found: &Self, path: &str, walk: &mut Walk) -> Outcome {
        self.0.same(&found.0, &format!("{path}.0"), walk)?;
        self.1.same(&found.1, &format!("{path}.1"), walk)
    }
}

impl<K: Hash + Eq + Debug, V: Same> Same for HashMap<K, V> {
    fn same(&self, found: &Self, path: &str, walk: &mut Walk) -> Outcome {
        equal(&self.len(), &found.len(), &format!("{path}.len()"))?;
        for (key, value) in self {
            let path = format!("{path}[{key:?}]");
            match found.get(key) {
                Some(other) => value.same(other, &path, walk)?,
                None => return Err(format!("{path}: not there")),
            }
        }
        Ok(())
    }
}

//! All the places where a value can stand.

use std::any::Any;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::rc::Rc;
use std::sync::{Arc, Mutex};

use persist::codec::Pointee;
use persist::{LoadOptions, Persist, SaveManager, Saves};

use super::harness::{LENIENT, Row, Shared, rows, shared};

#[persist::dynamic]
pub(crate) trait Thing {
    fn as_any(&self) -> &dyn Any;
}

/// What can stand in all of them.
pub(crate) trait Case: Persist + Pointee + Thing + Debug {}

impl<T: Persist + Pointee + Thing + Debug> Case for T {}

/// How many values a `Nest` has.
pub(crate) const PLACES: u64 = 17;

#[derive(Persist)]
enum Choice<T> {
    #[allow(dead_code, reason = "the empty value")]
    #[persist(empty)]
    Nothing,
    One(T),
    Two {
        first: T,
    },
}

macro_rules! nest {
    ($name:ident { $($(#[$meta:meta])* $extra:ident: $ty:ty),* }) => {
        #[derive(Persist)]
        #[persist(class = "Nest", bound = "T: Case")]
        pub(crate) struct $name<T: Case> {
            direct: T,
            $($(#[$meta])* $extra: $ty,)*
            list: Vec<T>,
            maybe: Option<T>,
            nothing: Option<T>,
            map: BTreeMap<String, Vec<T>>,
            array: [T; 2],
            pair: (u8, T),
            boxed: Box<T>,
            choices: [Choice<T>; 2],
            cell: Shared<T>,
            lock: Arc<Mutex<T>>,
            plain: Rc<T>,
            bare: Shared<Vec<T>>,
            dynamic: Box<dyn Thing>,
            shared_dynamic: Rc<RefCell<dyn Thing>>,
        }

        impl<T: Case> $name<T> {
            /// The same values, as text.
            fn values(&self) -> Vec<String> {
                let mut found = Vec::new();
                let mut add = |value: &dyn Debug| found.push(format!("{value:?}"));
                let any = |thing: &dyn Any| thing.downcast_ref::<T>().map(|v| format!("{v:?}"));
                add(&self.direct);
                self.list.iter().chain(&self.maybe).for_each(|value| add(value));
                self.map["key"].iter().chain(&self.array).for_each(|value| add(value));
                add(&self.pair.1);
                add(&self.boxed);
                for choice in &self.choices {
                    match choice {
                        Choice::One(value) | Choice::Two { first: value } => add(value),
                        Choice::Nothing => {}
                    }
                }
                add(&*self.cell.borrow());
                add(&*self.lock.lock().unwrap());
                add(&self.plain);
                add(&self.bare.borrow()[0]);
                found.extend(any((*self.dynamic).as_any()));
                found.extend(any(self.shared_dynamic.borrow().as_any()));
                assert!(self.nothing.is_none() && self.pair.0 == 7);
                found
            }
        }
    };
}

nest!(Nest { gone: u8 });

impl<T: Case> Nest<T> {
    /// With `PLACES` different values.
    fn new(mut next: impl FnMut() -> T) -> Self {
        Self {
            gone: 3,
            direct: next(),
            list: vec![next(), next()],
            maybe: Some(next()),
            nothing: None,
            map: [("key".to_owned(), vec![next()])].into(),
            array: [next(), next()],
            pair: (7, next()),
            boxed: Box::new(next()),
            choices: [Choice::One(next()), Choice::Two { first: next() }],
            cell: shared(next()),
            lock: Arc::new(Mutex::new(next())),
            plain: Rc::new(next()),
            bare: shared(vec![next()]),
            dynamic: Box::new(next()),
            shared_dynamic: shared(next()),
        }
    }
}

nest!(Other { #[persist(alias = "gone")] got: u32, #[persist(default)] come: Vec<u8> });

/// Saves values in all places by a program that has `Old`, loads them by one that has `New`,
/// within a class that is as it was and within one that has changed, and compares.
///
/// Returns the findings about anything but the class around.
#[track_caller]
pub(crate) fn everywhere<Old: Case, New: Case>(
    old: impl Fn(u64) -> Old,
    new: impl Fn(u64) -> New,
) -> Vec<Row> {
    everywhere_by(LENIENT, old, new)
}

#[track_caller]
pub(crate) fn everywhere_by<Old: Case, New: Case>(
    options: LoadOptions,
    old: impl Fn(u64) -> Old,
    new: impl Fn(u64) -> New,
) -> Vec<Row> {
    let counted = || {
        let mut next = 0;
        move || {
            next += 1;
            next
        }
    };
    let expected: Vec<String> = (1..=PLACES).map(|i| format!("{:?}", new(i))).collect();
    let mut writer = SaveManager::new();
    writer.register_as::<Old, dyn Thing>().unwrap();
    let mut count = counted();
    let nest = shared(Nest::new(|| old(count())));
    writer.add(&nest).unwrap();
    let objects = writer.to_vec().unwrap();
    let value = writer.saves().to_vec(&*nest.borrow()).unwrap();

    let reader = Saves::new().load_options(options).manager();
    reader.register_as::<New, dyn Thing>().unwrap();
    reader.register::<Nest<New>>().unwrap();
    let loaded = reader.from_slice(&objects).unwrap();
    let found = loaded.first::<Nest<New>>().unwrap();
    assert_eq!(found.borrow().values(), expected);
    assert_eq!(found.borrow().gone, 3);
    let first = rows(loaded.report());
    let loaded = reader.saves().from_slice::<Nest<New>>(&value).unwrap();
    assert_eq!(loaded.values(), expected);
    assert_eq!(rows(loaded.report()), first);

    let reader = Saves::new().load_options(options).manager();
    reader.register_as::<New, dyn Thing>().unwrap();
    reader.register::<Other<New>>().unwrap();
    let loaded = reader.from_slice(&objects).unwrap();
    let found = loaded.first::<Other<New>>().unwrap();
    assert_eq!(found.borrow().values(), expected);
    assert_eq!((found.borrow().got, found.borrow().come.len()), (3, 0));
    let others: Vec<Row> =
        rows(loaded.report()).into_iter().filter(|row| !row.1.starts_with("Nest")).collect();
    assert_eq!(others, first);
    // By itself, as an object and as a value.
    let alone = super::harness::save(old(1));
    let (found, _) = super::harness::try_load::<New>(&alone, options).unwrap();
    assert_eq!(format!("{:?}", found.borrow()), expected[0]);
    let value = persist::to_vec(&old(2)).unwrap();
    let reader = Saves::new().load_options(options);
    let found = reader.from_slice::<New>(&value).unwrap().into_inner();
    assert_eq!(format!("{found:?}"), expected[1]);
    first
}

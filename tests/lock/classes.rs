//! What a lock says of classes, traits and objects that went or came.

#![allow(dead_code, reason = "the fields of old classes are there to be compared")]
#![allow(clippy::unwrap_used, reason = "the helpers are part of the tests")]

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::{Arc, Mutex, RwLock};

use persist::save::Registry;
use persist::{ErrorKind, Persist, SaveManager, Saves, Unknown};
use persist_tools::lock::{Lock, LockReport, Values, Verdict};

type Outcome = persist::Result<()>;

fn program(register: impl FnOnce(&Saves) -> Outcome) -> Saves {
    let saves = Saves::new();
    register(&saves).unwrap();
    saves
}

fn locked(register: impl FnOnce(&Saves) -> Outcome) -> Lock {
    let mut lock = Lock::new();
    lock.update("0.1.0", &program(register).registry()).unwrap();
    lock
}

/// The class and the verdict of each change.
fn verdicts(report: &LockReport) -> Vec<(&str, Verdict)> {
    let differences = report.differences().iter();
    differences.map(|difference| (&*difference.class, difference.verdict)).collect()
}

/// How the plain sample of the first version loads, without a look at the schemas.
fn load(lock: &Lock, saves: &Saves) -> Result<(), ErrorKind> {
    let sample = lock.sample("0.1.0", Values::Plain).unwrap();
    saves.from_slice::<SaveManager>(&sample).map_err(|error| error.kind())?.dismantle();
    Ok(())
}

#[derive(Persist)]
struct Place {
    x: f32,
    y: f32,
}

#[derive(Persist)]
struct Spot {
    x: f32,
    y: f32,
}

#[derive(Persist)]
#[persist(class = "Spot", alias = "Place")]
struct SpotOfOld {
    x: f32,
    y: f32,
}

#[derive(Persist)]
struct Bag {
    items: Vec<u8>,
}

/// A hero with something inside; the name does not say what.
macro_rules! hero {
    ($name:ident { $($body:tt)* }) => {
        #[derive(Persist)]
        #[persist(class = "Hero")]
        struct $name { $($body)* }
    };
}

hero! { AtPlace { home: Place } }
hero! { AtSpot { home: Spot } }
hero! { AtSpotOfOld { home: SpotOfOld } }
hero! { OfPlace { home: Option<Rc<RefCell<Place>>> } }
hero! { OfPlaceInMutex { home: Option<Arc<Mutex<Place>>> } }
hero! { OfSpot { home: Option<Rc<RefCell<Spot>>> } }
hero! { WithBag { home: Bag } }
hero! { WithList { list: Vec<u8> } }
hero! { WithText { list: String } }
hero! { WithArray { array: [u8; 3] } }
hero! { WithLongerArray { array: [u8; 4] } }

#[derive(Persist)]
#[persist(class = "Hero")]
enum HeroOfTwo {
    One,
    Two,
}

#[test]
fn a_class_that_went_is_safe_and_told() {
    let lock = locked(|saves| saves.register::<Place>().and_then(|()| saves.register::<Bag>()));
    let saves = program(|saves| saves.register::<Bag>());
    let report = lock.compare(&saves.registry());
    assert_eq!(verdicts(&report), [("Place", Verdict::Safe)]);
    assert!(report.loads() && !report.is_current(), "{report}");
    assert_eq!(load(&lock, &saves), Ok(()));
}

#[test]
fn a_class_that_came_is_safe_and_told() {
    let lock = locked(|saves| saves.register::<Bag>());
    let saves = program(|saves| saves.register::<Place>().and_then(|()| saves.register::<Bag>()));
    let report = lock.compare(&saves.registry());
    assert_eq!(verdicts(&report), [("Place", Verdict::Safe)]);
    assert!(report.loads(), "{report}");
}

#[test]
fn a_renamed_class_needs_an_alias_until_the_code_says_that_it_is_another() {
    let mut lock = locked(|saves| saves.register::<Place>());
    let saves = program(|saves| saves.register::<Spot>());
    let report = lock.compare(&saves.registry());
    let worst = &report.differences()[0];
    assert_eq!((&*worst.class, worst.verdict), ("Place", Verdict::NeedsAlias));
    assert_eq!(worst.attribute.as_deref(), Some("#[persist(alias = \"Place\")]"));
    assert_eq!(worst.above.as_deref(), Some("struct Spot"));
    assert!(!report.loads(), "{report}");
    // The load itself only skips them.
    assert_eq!(load(&lock, &saves), Ok(()));
    let mended = program(|saves| saves.register::<SpotOfOld>());
    let report = lock.compare(&mended.registry());
    assert_eq!(verdicts(&report), [("Spot", Verdict::Safe)]);

    // That it is another is said in the code, not by an update of the lock.
    lock.update("0.2.0", &saves.registry()).unwrap();
    assert!(!lock.compare(&saves.registry()).loads());
    let mut registry = Registry::clone(&saves.registry());
    registry.declare_removed_class("Place").unwrap();
    let report = lock.compare(&registry);
    assert_eq!(verdicts(&report), [("Place", Verdict::Safe)]);
    assert!(report.loads() && report.is_current(), "{report}");
}

#[test]
fn a_renamed_class_that_others_hold_needs_an_alias_in_any_case() {
    let mut lock = locked(|saves| saves.register::<AtPlace>());
    let saves = program(|saves| saves.register::<AtSpot>());
    for _ in 0..2 {
        let report = lock.compare(&saves.registry());
        assert!(!report.loads(), "{report}");
        let worst = report.differences().iter().find(|d| d.verdict == Verdict::NeedsAlias);
        let worst = worst.unwrap();
        assert_eq!(&*worst.class, "Place", "{report}");
        assert_eq!(worst.attribute.as_deref(), Some("#[persist(alias = \"Place\")]"));
        assert_eq!(load(&lock, &saves), Err(ErrorKind::KindMismatch));
        lock.update("0.2.0", &saves.registry()).unwrap();
    }
    let mended = program(|saves| saves.register::<AtSpotOfOld>());
    assert_eq!(load(&lock, &mended), Ok(()));
    // What was locked of `Spot` is of the same class.
    assert!(lock.compare(&mended.registry()).loads());
}

/// That a change breaks is said by the report, and by a load alone.
fn breaks<Then: Persist, Now: Persist>() -> String {
    let lock = locked(|saves| saves.register::<Then>());
    let saves = program(|saves| saves.register::<Now>());
    let report = lock.compare(&saves.registry());
    assert!(!report.loads(), "{report}");
    let worst = &report.differences()[0];
    let error = load(&lock, &saves).unwrap_err();
    assert_eq!(worst.verdict, Verdict::Breaks, "{report}");
    format!("{error:?}, {}{}", worst.class, worst.field.as_ref().map_or("", |_| ".field"))
}

#[test]
fn what_breaks_is_found_by_the_schemas_and_by_the_samples_alone() {
    let found = [
        breaks::<AtPlace, WithBag>(),
        breaks::<WithList, WithText>(),
        breaks::<WithArray, WithLongerArray>(),
        breaks::<WithList, HeroOfTwo>(),
        breaks::<HeroOfTwo, WithList>(),
    ];
    insta::assert_snapshot!(found.join("\n"), @"
    KindMismatch, Hero.field
    KindMismatch, Hero.field
    KindMismatch, Hero.field
    KindMismatch, Hero
    KindMismatch, Hero
    ");
}

#[test]
fn objects_that_moved_to_another_holder_load() {
    let mut lock = locked(|saves| saves.register::<Place>());
    let saves = program(|saves| saves.register_pointer::<Arc<Mutex<Place>>>());
    let report = lock.compare(&saves.registry());
    assert_eq!(verdicts(&report), [("Place", Verdict::Safe)]);
    assert!(
        report.to_string().contains("objects in Rc<RefCell> are in Arc<Mutex> now"),
        "{report}"
    );
    assert_eq!(load(&lock, &saves), Ok(()));
    lock.update("0.2.0", &saves.registry()).unwrap();
    assert!(lock.compare(&saves.registry()).loads());

    // The field says it, too; and where a class is in several holders, the field alone.
    let lock = locked(|saves| saves.register::<OfPlace>());
    let one = program(|saves| saves.register::<OfPlaceInMutex>());
    let many = program(|saves| {
        saves.register::<OfPlaceInMutex>()?;
        saves.register::<Place>()?;
        saves.register_pointer::<Arc<RwLock<Place>>>()
    });
    for saves in [one, many] {
        let report = lock.compare(&saves.registry());
        assert!(report.loads(), "{report}");
        assert_eq!(load(&lock, &saves), Ok(()));
    }
}

#[test]
fn objects_that_moved_to_one_of_several_holders_break() {
    let lock = locked(|saves| saves.register::<Place>());
    let several = |saves: &Saves| {
        saves.register_pointer::<Arc<Mutex<Place>>>()?;
        saves.register_pointer::<Arc<RwLock<Place>>>()
    };
    let report = lock.compare(&program(several).registry());
    assert_eq!(verdicts(&report), [("Place", Verdict::Breaks)]);
    assert!(report.to_string().contains("keep `register_pointer::<Rc<RefCell<Place>>>()`"));
    let all = program(|saves| {
        several(saves)?;
        saves.register::<Place>()
    });
    assert!(lock.compare(&all.registry()).loads());
}

#[persist::dynamic]
trait Item {}

impl Item for Place {}

impl Item for Bag {}

hero! { WithItem { item: Box<dyn Item> } }
hero! { WithItems { items: Vec<Rc<RefCell<dyn Item>>> } }
hero! { WithOption { item: Option<Box<dyn Item>> } }

/// Locks a program with two classes of a trait, and compares one that has only one.
fn without_the_place<T: Persist>() -> (LockReport, Result<(), ErrorKind>) {
    let lock = locked(|saves| {
        saves.register::<T>()?;
        saves.register_as::<Place, dyn Item>()?;
        saves.register_as::<Bag, dyn Item>()
    });
    let saves = program(|saves| {
        saves.register::<T>()?;
        saves.register::<Place>()?;
        saves.register_as::<Bag, dyn Item>()
    });
    (lock.compare(&saves.registry()), load(&lock, &saves))
}

#[test]
fn a_class_that_is_no_longer_registered_for_a_trait_breaks() {
    for (report, load) in [without_the_place::<WithItem>(), without_the_place::<WithItems>()] {
        assert_eq!(load, Err(ErrorKind::WrongClass));
        assert!(!report.loads(), "{report}");
        let found = report.differences().iter().find(|d| d.class == "trait Item").unwrap();
        assert_eq!(found.verdict, Verdict::Breaks, "{report}");
        assert!(found.change.contains("keep `register_as::<Place, dyn Item>()`"));
    }
    // An option becomes `None`, and what was in it is lost.
    let (report, load) = without_the_place::<WithOption>();
    assert_eq!(load, Ok(()));
    assert_eq!(verdicts(&report), [("trait Item", Verdict::Loses)]);
    assert!(report.differences()[0].change.contains("`register_as::<Place, dyn Item>()`"));
}

#[test]
fn a_class_of_a_trait_that_went_altogether_breaks() {
    let lock = locked(|saves| {
        saves.register::<WithItem>()?;
        saves.register_as::<Place, dyn Item>()?;
        saves.register_as::<Bag, dyn Item>()
    });
    let saves = program(|saves| {
        saves.register::<WithItem>()?;
        saves.register_as::<Bag, dyn Item>()
    });
    let report = lock.compare(&saves.registry());
    assert!(!report.loads(), "{report}");
    assert_eq!(load(&lock, &saves), Err(ErrorKind::WrongClass));
}

#[persist::dynamic(unknown = Missing)]
trait Tool {}

#[derive(Persist)]
struct Missing {
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

impl Tool for Missing {}

impl Tool for Bag {}

impl Tool for Place {}

hero! { WithTool { tool: Box<dyn Tool>, other: Option<Rc<RefCell<dyn Tool>>> } }

#[test]
fn what_a_stand_in_keeps_is_safe() {
    let lock = locked(|saves| {
        saves.register::<WithTool>()?;
        saves.register_as::<Place, dyn Tool>()?;
        saves.register_as::<Bag, dyn Tool>()
    });
    // No sample holds a stand-in, as no save does.
    assert!(!lock.to_string().contains("Object { class: Missing"));
    let saves = program(|saves| {
        saves.register::<WithTool>()?;
        saves.register_as::<Bag, dyn Tool>()
    });
    assert_eq!(load(&lock, &saves), Ok(()));
    let report = lock.compare(&saves.registry());
    assert_eq!(verdicts(&report), [("Place", Verdict::Safe)], "{report}");
}

macro_rules! stern {
    ($name:ident { $($variants:tt)* }) => {
        mod $name {
            #[derive(persist::Persist)]
            pub(super) enum Mood { $($variants)* }

            /// No sample of it passes its hook.
            #[derive(persist::Persist)]
            #[persist(validate = Stern::check)]
            pub(super) struct Stern { mood: Mood }

            impl Stern {
                fn check(&self) -> Result<(), String> {
                    Err(String::from("never"))
                }
            }
        }
    };
}

stern! { two_moods { Calm, Angry } }
stern! { one_mood { Calm } }

#[test]
fn what_a_hook_refuses_is_compared_all_the_same() {
    let lock = locked(|saves| saves.register::<two_moods::Stern>());
    let saves = program(|saves| saves.register::<two_moods::Stern>());
    let report = lock.compare(&saves.registry());
    assert!(report.loads(), "{report}");
    let [note] = report.notes() else { panic!("{report}") };
    assert!(note.text.starts_with("the plainest sample of Stern in Rc<RefCell> loads"), "{note:?}");

    let saves = program(|saves| saves.register::<one_mood::Stern>());
    let report = lock.compare(&saves.registry());
    assert_eq!(verdicts(&report), [("Mood", Verdict::Breaks)], "{report}");
}

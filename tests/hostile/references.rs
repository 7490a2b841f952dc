//! Saves made by hand whose references lead where they must not: to another class, in
//! another holder, to nobody. Each is refused, with the object, the class and the field.

#![allow(clippy::arc_with_non_send_sync, reason = "nothing forbids it")]

use std::cell::{Cell, OnceCell, RefCell};
use std::rc::{self, Rc};
use std::sync::{self, Arc, Mutex, OnceLock, RwLock};

use persist::{Error, ErrorKind, Persist, Result, SaveManager};
use persist_tests::support::forge::{
    self, ADDED, Item, Load, bare, class, record, refused, save, text, try_load,
};
use persist_tools::Document;

#[persist::dynamic]
trait Tool {}
/// Class 2 of the saves.
#[derive(Persist, Clone, Copy)]
struct A {
    n: u8,
}

/// Class 3: not for the trait.
#[derive(Persist, Clone, Copy)]
struct B {
    n: u8,
}

/// Class 4: for the trait, with a reference of its own.
#[derive(Persist)]
struct C {
    part: Option<Rc<A>>,
}

impl Tool for A {}
impl Tool for C {}

/// Class 1: holds the reference in question; known by its alias.
#[derive(Persist)]
#[persist(alias = "Root", bound = "P: Persist")]
struct Root<P> {
    level: u8,
    to: P,
}

/// The classes 1 to 9; class 1 has a field of this kind.
fn classes(kind: &[u8]) -> Vec<Item> {
    vec![
        class("Root", &[("level", &[3]), ("to", kind)]),
        class("A", &[("n", &[3])]),
        class("B", &[("n", &[3])]),
        class("C", &[("part", &[0x10, 0x17, 0x10, 2])]),
        // Nobody knows this one.
        class("Lost", &[("n", &[3])]),
        bare("str", &[15]),
        bare("[u8]", &[0x11, 3]),
        bare("OnceCell<A>", &[0x10, 0x16, 2]),
        bare("OnceLock<A>", &[0x10, 0x16, 2]),
    ]
}

/// A save of a `Root` with this field, and of other objects.
fn of(kind: &[u8], to: &[u8], others: &[Item]) -> Vec<u8> {
    let root = record(1, ADDED, 1, &[&[7], to].concat());
    save(&[&classes(kind)[..], &[root], others].concat())
}

fn manager<P: Persist>() -> Result<SaveManager> {
    let manager = SaveManager::new();
    manager.register_as::<A, dyn Tool>()?;
    manager.register_as::<C, dyn Tool>()?;
    manager.register::<B>()?;
    manager.saves().register_pointer::<Rc<B>>()?;
    manager.register::<Root<P>>()?;
    Ok(manager)
}

/// Loads a save where the field is of this type.
fn load<P: Persist>(save: &[u8]) -> Result<()> {
    manager::<P>()?.from_slice(save).map(drop)
}

/// The same, where every other holder of an `A` is registered too.
fn load_with_all<P: Persist>(save: &[u8]) -> Result<()> {
    let manager = manager::<P>()?;
    macro_rules! register {
        ($($ty:ty)*) => {$(
            manager.saves().register_pointer::<Rc<$ty>>()?;
            manager.saves().register_pointer::<Arc<$ty>>()?;
        )*};
    }
    register!(A RefCell<A> Cell<A> Mutex<A> RwLock<A> OnceCell<A> OnceLock<A> Rc<A> str [u8]);
    manager.from_slice(save).map(drop)
}

fn trait_name() -> Vec<u8> {
    text("Tool")
}

/// A reference to a trait object in a holder.
fn to_tool(holder: u8) -> Vec<u8> {
    [&[0x19, holder], &trait_name()[..]].concat()
}

fn boxed_tool() -> Vec<u8> {
    [&[0x18], &trait_name()[..]].concat()
}

struct Case {
    name: &'static str,
    save: Vec<u8>,
    load: Load,
    kind: ErrorKind,
    /// `None` where only the program knows what is wrong: which classes a trait has.
    field: Option<&'static str>,
}

fn case(
    (name, load): (&'static str, Load),
    (kind, to, others): (&[u8], &[u8], &[Item]),
    error: ErrorKind,
) -> Case {
    Case { name, save: of(kind, to, others), load, kind: error, field: Some("to") }
}

const MANY: [u8; 9] = [255, 0, 0, 0, 0, 0, 0, 0, 16];

fn cases() -> Vec<Case> {
    use ErrorKind::{InvalidValue, MissingObject, TooLarge, WrongClass};
    let a = |holder| record(2, holder, 2, &[9]);
    let b = |holder| record(3, holder, 2, &[9]);
    let c = record(4, 0x11, 2, &[0]);
    let lost = |holder| record(5, holder, 2, &[9]);
    let string = record(6, 0x10, 2, &[1, b'x']);
    let list = record(7, 0x10, 2, &[1, b'x']);
    let in_box = |number: &[u8], rest: &[u8]| [&[1], number, rest].concat();
    let boxes = [&[0x11], &boxed_tool()[..]].concat();
    let field = |case: Case, field| Case { field: Some(field), ..case };
    type Bare = Rc<A>;
    type Open = Rc<RefCell<A>>;
    type Tools = Vec<Box<dyn Tool>>;
    vec![
        case(("a B in an Rc<A>", load::<Bare>), (&[0x17, 0x10, 2], &[2], &[b(0x10)]), WrongClass),
        case(("itself", load::<Bare>), (&[0x17, 0x10, 2], &[1], &[]), WrongClass),
        case(("a B in a cell", load::<Open>), (&[0x17, 0x11, 2], &[2], &[b(0x11)]), WrongClass),
        case(
            ("a lost class", load::<Open>),
            (&[0x17, 0x11, 2], &[2], &[lost(0x11)]),
            MissingObject,
        ),
        case(("nobody", load::<Bare>), (&[0x17, 0x10, 2], &[2], &[]), MissingObject),
        case(("null", load::<Bare>), (&[0x17, 0x10, 2], &[0], &[a(0x10)]), MissingObject),
        case(("null in a cell", load::<Open>), (&[0x17, 0x11, 2], &[0], &[]), MissingObject),
        case(("no id", load::<Open>), (&[0x17, 0x11, 2], &[255; 9], &[]), MissingObject),
        case(("a weak B", load::<rc::Weak<A>>), (&[0x17, 0x90, 2], &[2], &[b(0x10)]), WrongClass),
        case(
            ("a weak Arc", load_with_all::<rc::Weak<A>>),
            (&[0x17, 0x90, 2], &[2], &[a(0x20)]),
            WrongClass,
        ),
        case(
            ("a weak Mutex", load_with_all::<sync::Weak<RwLock<A>>>),
            (&[0x17, 0xa4, 2], &[2], &[a(0x23)]),
            WrongClass,
        ),
        case(
            ("a list in an Rc<str>", load_with_all::<Rc<str>>),
            (&[0x17, 0x10, 6], &[2], std::slice::from_ref(&list)),
            WrongClass,
        ),
        case(
            ("a text in an Rc<[u8]>", load_with_all::<Rc<[u8]>>),
            (&[0x17, 0x10, 7], &[2], std::slice::from_ref(&string)),
            WrongClass,
        ),
        case(
            ("a weak text", load_with_all::<rc::Weak<[u8]>>),
            (&[0x17, 0x90, 7], &[2], &[string]),
            WrongClass,
        ),
        case(
            ("a text in an Arc", load_with_all::<Arc<str>>),
            (&[0x17, 0x20, 6], &[2], &[record(6, 0x10, 2, &[0])]),
            WrongClass,
        ),
        case(("a lost text", load::<Rc<str>>), (&[0x17, 0x10, 6], &[2], &[list]), MissingObject),
        field(
            case(
                ("one of many", load::<Vec<Option<Bare>>>),
                (&[0x11, 0x10, 0x17, 0x10, 2], &[3, 0, 1, 2, 1, 3], &[a(0x10)]),
                MissingObject,
            ),
            "to[2]",
        ),
        case(
            ("more references than bytes", load::<Vec<Bare>>),
            (&[0x11, 0x17, 0x10, 2], &[&MANY[..], &[2; 9]].concat(), &[a(0x10)]),
            InvalidValue,
        ),
        case(
            ("a B as a tool", load::<Rc<RefCell<dyn Tool>>>),
            (&to_tool(0x11), &[2], &[b(0x11)]),
            WrongClass,
        ),
        case(
            ("a lost class as a tool", load::<Rc<RefCell<dyn Tool>>>),
            (&to_tool(0x11), &[2], &[lost(0x11)]),
            WrongClass,
        ),
        case(
            ("a tool in a Mutex", load::<Rc<RefCell<dyn Tool>>>),
            (&to_tool(0x11), &[2], &[a(0x13)]),
            WrongClass,
        ),
        case(
            ("a tool in a Mutex, or none", load::<Option<Rc<RefCell<dyn Tool>>>>),
            (&[&[0x10], &to_tool(0x11)[..]].concat(), &[1, 2], &[a(0x13)]),
            WrongClass,
        ),
        case(
            ("a lost class in an Rc as a tool, or none", load::<Option<Rc<RefCell<dyn Tool>>>>),
            (&[&[0x10], &to_tool(0x11)[..]].concat(), &[1, 2], &[lost(0x10)]),
            WrongClass,
        ),
        case(
            ("a weak lost class in a Mutex as a tool", load::<rc::Weak<RefCell<dyn Tool>>>),
            (&to_tool(0x91), &[2], &[lost(0x13)]),
            WrongClass,
        ),
        case(
            ("a weak B in an Arc as a tool", load::<rc::Weak<RefCell<dyn Tool>>>),
            (&to_tool(0x91), &[2], &[b(0x21)]),
            WrongClass,
        ),
        case(
            ("a weak lost class", load::<rc::Weak<RefCell<A>>>),
            (&[0x17, 0x91, 2], &[2], &[lost(0x11)]),
            WrongClass,
        ),
        case(
            ("a tool in a RefCell", load_with_all::<Arc<RwLock<dyn Tool>>>),
            (&to_tool(0x24), &[2], &[a(0x11)]),
            WrongClass,
        ),
        case(
            ("a weak tool in a RefCell", load_with_all::<sync::Weak<dyn Tool>>),
            (&to_tool(0xa0), &[2], &[a(0x11)]),
            WrongClass,
        ),
        case(
            ("no tool", load::<Arc<Mutex<dyn Tool>>>),
            (&to_tool(0x23), &[3], std::slice::from_ref(&c)),
            MissingObject,
        ),
        case(
            ("a tool that is null", load::<Rc<dyn Tool>>),
            (&to_tool(0x10), &[0], &[c]),
            MissingObject,
        ),
        case(("class 0", load::<Box<dyn Tool>>), (&boxed_tool(), &[0], &[]), InvalidValue),
        case(
            ("class 10 of 9", load::<Box<dyn Tool>>),
            (&boxed_tool(), &[10, 1], &[]),
            InvalidValue,
        ),
        case(("class 2^60", load::<Box<dyn Tool>>), (&boxed_tool(), &MANY, &[]), InvalidValue),
        field(
            case(("a boxed B", load::<Tools>), (&boxes, &in_box(&[3], &[9]), &[]), WrongClass),
            "to[0]",
        ),
        case(
            ("a boxed text", load::<Box<dyn Tool>>),
            (&boxed_tool(), &[6, 1, b'x'], &[]),
            WrongClass,
        ),
        case(
            ("a boxed lost class", load::<Box<dyn Tool>>),
            (&boxed_tool(), &[5, 1], &[]),
            WrongClass,
        ),
        field(
            case(
                ("a B in a boxed C", load::<Tools>),
                (&boxes, &in_box(&[4], &[1, 2]), &[b(0x10)]),
                WrongClass,
            ),
            "to[0].part",
        ),
        field(
            case(
                ("nobody in a boxed C", load::<Tools>),
                (&boxes, &in_box(&[4], &[1, 3]), &[b(0x10)]),
                MissingObject,
            ),
            "to[0].part",
        ),
        case(("a crowd of boxes", load::<Tools>), (&boxes, &MANY, &[]), InvalidValue),
        case(("units beyond number", load::<Vec<()>>), (&[0x11, 0], &MANY, &[]), TooLarge),
    ]
}

fn check(name: &str, error: &Error, object: u64, class: &str, field: Option<&str>) {
    assert_eq!(error.object(), Some(object), "{name}: {error}");
    assert_eq!(error.class(), Some(class), "{name}: {error}");
    assert_eq!(error.field(), field, "{name}: {error}");
    assert!(error.offset().is_some(), "{name}: {error}");
}

#[test]
fn every_wrong_reference_is_refused_with_its_place() {
    let mut messages = String::new();
    for case in cases() {
        let error = refused(case.save, case.load);
        messages += &format!("{}\n    {:?}: {error}\n", case.name, error.kind());
        assert_eq!(error.kind(), case.kind, "{}: {error}", case.name);
        check(case.name, &error, 1, "Root", case.field);
    }
    insta::assert_snapshot!("messages", messages);
}

/// What only the program knows, such as which classes a trait has, is left to it.
#[test]
fn a_document_refuses_references_as_a_load_does() {
    let mut messages = String::new();
    for case in cases() {
        let found = Document::from_slice(&case.save);
        let message = match &found {
            Ok(_) => String::from("nothing wrong"),
            Err(error) => format!("{:?}: {error}", error.kind()),
        };
        messages += &format!("{}\n    {message}\n", case.name);
        if let Err(error) = found {
            check(case.name, &error, 1, "Root", case.field);
        }
    }
    insta::assert_snapshot!("documents", messages);
}

#[test]
fn every_record_in_another_holder_than_its_reference_says_is_refused() {
    let holders: Vec<u8> = (0x10..=0x16).chain(0x20..=0x26).collect();
    /// A record of what such a holder has.
    fn other(holder: u8) -> Item {
        match holder & 0x0f {
            5 => record(8, holder, 2, &[1, 9]),
            6 => record(9, holder, 2, &[1, 9]),
            _ => record(2, holder, 2, &[9]),
        }
    }
    let target = |holder: u8| match holder & 0x0f {
        5 => 8,
        6 => 9,
        _ => 2,
    };
    macro_rules! each {
        ($($cell:literal $ty:ty)*) => {
            [$(
                (0x10 + $cell, load::<Rc<$ty>> as Load, load_with_all::<Rc<$ty>> as Load),
                (0x20 + $cell, load::<Arc<$ty>>, load_with_all::<Arc<$ty>>),
            )*]
        };
    }
    let loads = each! {
        0 A  1 RefCell<A>  2 Cell<A>  3 Mutex<A>  4 RwLock<A>  5 OnceCell<A>  6 OnceLock<A>
    };
    for (wanted, load, load_with_all) in loads {
        for found in holders.iter().copied() {
            let name = format!("{found:02x} for {wanted:02x}");
            let kind = [0x17, wanted, target(wanted)];
            let true_to_the_kind = of(&kind, &[2], &[other(found)]);
            if found == wanted {
                try_load(true_to_the_kind.clone(), load).expect(&name);
                try_load(true_to_the_kind, load_with_all).expect(&name);
                continue;
            }
            let error = refused(true_to_the_kind.clone(), load);
            // Some holders come with the trait; of others the program knows nothing.
            let kinds = [ErrorKind::MissingObject, ErrorKind::WrongClass];
            assert!(kinds.contains(&error.kind()), "{name}: {error}");
            check(&name, &error, 1, "Root", Some("to"));
            let error = refused(true_to_the_kind, load_with_all);
            assert_eq!(error.kind(), ErrorKind::WrongClass, "{name}: {error}");
            check(&name, &error, 1, "Root", Some("to"));
            // The definition says what the record is, but the program has another: the object moves there, unless it
            // may be set only once.
            let other_kind = of(&[0x17, found, target(found)], &[2], &[other(found)]);
            // That of a `C` is in an `Rc<A>` still.
            let moves = found != 0x10 && target(found) == 2 && target(wanted) == 2;
            for load in [load, load_with_all] {
                if moves {
                    try_load(other_kind.clone(), load).expect(&name);
                    continue;
                }
                let error = refused(other_kind.clone(), load);
                assert_eq!(error.kind(), ErrorKind::KindMismatch, "{name}: {error}");
                check(&name, &error, 1, "Root", Some("to"));
            }
        }
    }
}

#[test]
fn a_second_record_of_an_id_is_refused() {
    for second in [record(2, 0x10, 2, &[9]), record(3, 0x11, 2, &[9]), record(5, 0x22, 2, &[])] {
        let save = of(&[0x17, 0x10, 2], &[2], &[record(2, 0x10, 2, &[9]), second]);
        let error = refused(save, load::<Rc<A>>);
        assert_eq!((error.kind(), error.object()), (ErrorKind::DuplicateId, Some(2)));
    }
}

#[test]
fn many_references_to_one_object_are_fine() {
    let count = 300_000;
    let to = [&forge::counted(count)[..], &vec![2; usize::try_from(count).unwrap()]].concat();
    let save = of(&[0x11, 0x17, 0x20, 2], &to, &[record(2, 0x20, 2, &[9])]);
    try_load(save, load::<Vec<Arc<A>>>).unwrap();
    let save = of(&[0x11, 0x17, 0xa3, 2], &to, &[record(2, 0x23, 2, &[9])]);
    try_load(save, load::<Vec<sync::Weak<Mutex<A>>>>).unwrap();
    let save = of(&[&[0x11], &to_tool(0x11)[..]].concat(), &to, &[record(2, 0x11, 2, &[9])]);
    try_load(save, load::<Vec<Rc<RefCell<dyn Tool>>>>).unwrap();
}

#[test]
fn a_cell_that_is_set_once_is_there_or_not() {
    let wrong = |payload: &[u8]| {
        refused(of(&[0x17, 0x15, 8], &[2], &[record(8, 0x15, 2, payload)]), load::<Rc<OnceCell<A>>>)
    };
    for (payload, kind) in [
        (&[2, 9][..], ErrorKind::InvalidValue),
        (&[1], ErrorKind::Truncated),
        (&[], ErrorKind::Truncated),
        (&[0, 9], ErrorKind::Damaged),
    ] {
        let error = wrong(payload);
        assert_eq!(error.kind(), kind, "{error}");
        assert_eq!((error.object(), error.class()), (Some(2), Some("OnceCell<A>")));
    }
}

//! Two programs that differ in one change, tried on the saves of each other.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

use persist::save::{LoadEvent, LoadReport, ReportRow};
use persist::{Persist, SaveManager, Saves};
use persist_tests::support::shared;
use persist_tools::lock::{Lock, LockReport};

/// The program before a change, or after it.
pub(super) trait Side {
    /// What changes: a type, or a class with a field of it.
    type Element;
    type Whole: Persist + Debug;
    type List: Persist + Debug;
    type Map: Persist + Debug;

    /// What it registers besides the class of a save.
    const REGISTER: fn(&Saves) -> persist::Result<()>;

    fn whole(element: Self::Element) -> Self::Whole;
    fn list(elements: Vec<Self::Element>) -> Self::List;
    fn map(elements: BTreeMap<u8, Self::Element>) -> Self::Map;
}

/// A value before a change, what a load has to make of it, and what the way back has to make of that.
pub(super) struct Example<Old: Side, New: Side> {
    pub(super) what: &'static str,
    pub(super) before: Option<fn() -> Old::Element>,
    pub(super) after: Option<fn() -> New::Element>,
    pub(super) back: Option<fn() -> Old::Element>,
}

/// Where a value stands, in the order of the columns.
const PLACES: [&str; 4] = ["value", "object", "list", "map"];

/// What was found out about an example, for each place.
pub(super) struct Row {
    what: String,
    before: String,
    after: String,
    old: [String; 4],
    lock: [String; 4],
    back: [String; 4],
    /// What contradicts the laws.
    pub(super) faults: Vec<String>,
}

impl Row {
    /// Its line of the table.
    pub(super) fn text(&self) -> String {
        let Self { what, before, after, old, lock, back, .. } = self;
        let [old, lock, back] = [old, lock, back].map(cell);
        format!("| {what} | {} | {} | {old} | {lock} | {back} |", code(before), code(after))
    }
}

/// Source in a cell.
fn code(source: &str) -> String {
    if source.is_empty() {
        return String::from("-");
    }
    let words: Vec<&str> = source.split_whitespace().collect();
    let mut text = words.join(" ").replace("pub ", "").replace(", }", " }").replace(");", ")");
    for (spaced, usual) in
        [(" < ", "<"), (" >", ">"), ("# [", "#["), (" (", "("), (" :", ":"), ("=>", "=>")]
    {
        text = text.replace(spaced, usual);
    }
    format!("`{}`", text.replace('|', "\\|"))
}

/// One text where all places agree, or each text with its places.
fn cell(places: &[String; 4]) -> String {
    let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
    for (place, text) in PLACES.iter().zip(places) {
        match groups.iter_mut().find(|(known, _)| known == text) {
            Some((_, places)) => places.push(place),
            None => groups.push((text, vec![place])),
        }
    }
    match &groups[..] {
        [(text, _)] => (*text).to_owned(),
        _ => {
            let each = groups.iter().map(|(text, places)| format!("{}: {text}", places.join(", ")));
            each.collect::<Vec<_>>().join("; ")
        }
    }
}

/// What a load came to.
struct Outcome {
    /// The value, unless the load is an error or has set the object aside.
    value: Option<String>,
    error: Option<String>,
    rows: Vec<ReportRow>,
    /// The next save of what was loaded.
    again: Vec<u8>,
}

impl Outcome {
    fn loaded(value: Option<String>, report: &LoadReport, again: Vec<u8>) -> Self {
        Self { value, error: None, rows: report.rows().to_vec(), again }
    }

    fn refused(error: &persist::Error) -> Self {
        let error = Some(format!("{:?}", error.kind()));
        Self { value: None, error, rows: Vec::new(), again: Vec::new() }
    }

    /// As the page shows it.
    fn text(&self) -> String {
        if let Some(kind) = &self.error {
            return format!("error `{kind}`");
        }
        let events: BTreeSet<_> =
            self.rows.iter().map(|row| (row.event, row.is_declared)).collect();
        let shown = events.iter().map(|(event, is_declared)| {
            format!("`{event:?}`{}", if *is_declared { " as declared" } else { "" })
        });
        let all = ["loads".to_owned()].into_iter().chain(shown);
        all.collect::<Vec<_>>().join(", ")
    }

    fn has(&self, event: LoadEvent) -> bool {
        self.rows.iter().any(|row| row.event == event && !row.is_declared)
    }

    /// True if old content is lost, or is no longer what it was.
    fn is_lossy(&self) -> bool {
        use LoadEvent as Event;
        self.error.is_some()
            || [
                Event::Filled,
                Event::Dropped,
                Event::Clamped,
                Event::Replaced,
                Event::Unshared,
                Event::Unknown,
                Event::Unregistered,
                Event::Superseded,
                Event::Skipped,
            ]
            .iter()
            .any(|event| self.has(*event))
    }
}

/// The save of a value, and how the value shows.
struct Saved {
    save: Vec<u8>,
    shown: String,
}

/// What one program does with its values in one place.
struct Program {
    saves: Saves,
    load: fn(&Saves, &[u8]) -> Outcome,
}

fn save_value<T: Persist + Debug>(saves: &Saves, value: &T) -> Saved {
    Saved { save: saves.to_vec(value).unwrap(), shown: format!("{value:?}") }
}

fn load_value<T: Persist + Debug>(saves: &Saves, save: &[u8]) -> Outcome {
    match saves.from_slice::<T>(save) {
        Ok(loaded) => {
            let again = saves.to_vec(&loaded).unwrap();
            Outcome::loaded(Some(format!("{:?}", &*loaded)), loaded.report(), again)
        }
        Err(error) => Outcome::refused(&error),
    }
}

fn save_object<T: Persist + Debug>(saves: &Saves, value: T) -> Saved {
    let shown = format!("{value:?}");
    let mut manager = saves.manager();
    manager.add(&shared(value)).unwrap();
    Saved { save: manager.to_vec().unwrap(), shown }
}

fn load_object<T: Persist + Debug>(saves: &Saves, save: &[u8]) -> Outcome {
    match saves.from_slice::<SaveManager>(save) {
        Ok(loaded) => {
            let value = loaded.first::<T>().ok().map(|it| format!("{:?}", it.borrow()));
            Outcome::loaded(value, loaded.report(), loaded.to_vec().unwrap())
        }
        Err(error) => Outcome::refused(&error),
    }
}

fn saves<T: Persist>(register: fn(&Saves) -> persist::Result<()>) -> Saves {
    let saves = Saves::new();
    saves.register::<T>().unwrap();
    register(&saves).unwrap();
    saves
}

/// A program, for each place.
fn programs<S: Side>() -> [Program; 4] {
    let whole = || saves::<S::Whole>(S::REGISTER);
    [
        Program { saves: whole(), load: load_value::<S::Whole> },
        Program { saves: whole(), load: load_object::<S::Whole> },
        Program { saves: saves::<S::List>(S::REGISTER), load: load_value::<S::List> },
        Program { saves: saves::<S::Map>(S::REGISTER), load: load_value::<S::Map> },
    ]
}

/// A value in each place.
fn saved<S: Side>(programs: &[Program; 4], of: fn() -> S::Element) -> [Saved; 4] {
    let [value, object, list, map] = programs;
    [
        save_value(&value.saves, &S::whole(of())),
        save_object(&object.saves, S::whole(of())),
        save_value(&list.saves, &S::list(vec![of(), of()])),
        save_value(&map.saves, &S::map([(1, of())].into())),
    ]
}

/// What the lock says of a change.
fn compared(then: &Saves, now: &Saves) -> LockReport {
    let mut lock = Lock::new();
    lock.update("0.1.0", &then.registry()).unwrap();
    lock.compare(&now.registry())
}

/// As the page shows it.
fn verdict(report: &LockReport) -> String {
    let worst = report.differences().iter().map(|found| found.verdict).max();
    let worst = worst.map(|worst| worst.to_string());
    let note = (!report.notes().is_empty() && report.loads()).then(|| "a note".to_owned());
    let blind = report.not_tested().next().map(|_| "not tested".to_owned());
    let all: Vec<String> = [worst, note, blind].into_iter().flatten().collect();
    if all.is_empty() { String::from("-") } else { all.join(", ") }
}

/// What an example shows in one place.
struct Trial {
    old: String,
    lock: String,
    back: String,
    faults: Vec<String>,
}

/// Loads the value of each program by the other one.
fn trial(
    (then, now): (&Program, &Program),
    before: Option<&Saved>,
    after: Option<&Saved>,
    back: Option<&Saved>,
) -> Trial {
    let mut faults = Vec::new();
    let report = compared(&then.saves, &now.saves);
    let lock = verdict(&report);
    let shown = |it: Option<&Saved>| it.map(|it| it.shown.clone());
    let old = before.map(|before| {
        let (was, old) = (&before.shown, (now.load)(&now.saves, &before.save));
        if old.value.is_some() && old.value != shown(after) {
            faults.push(format!("{was} is loaded as {:?}, not {:?}", old.value, shown(after)));
        }
        if old.value.is_none() && old.error.is_none() && !old.has(LoadEvent::Kept) {
            faults.push(format!("{was} is gone without a word"));
        }
        if old.error.is_none() && old.has(LoadEvent::Kept) {
            let again = (then.load)(&then.saves, &old.again);
            if again.value.as_ref() != Some(was) {
                let found = again.value.or(again.error);
                faults.push(format!("{was} was kept, and came back as {found:?}"));
            }
        }
        // A note says of a type that checks its content that it refuses values.
        if report.loads() && report.notes().is_empty() && old.is_lossy() {
            faults.push(format!("the lock says {lock:?} of {was}: {}\n{report}", old.text()));
        }
        old.text()
    });
    let back = after.map(|after| {
        let (is, found) = (&after.shown, (then.load)(&then.saves, &after.save));
        if found.value.is_some() && found.value != shown(back) {
            let value = &found.value;
            faults.push(format!("on the way back {is} is {value:?}, not {:?}", shown(back)));
        }
        if found.error.is_none() && found.has(LoadEvent::Kept) && !found.is_lossy() {
            let again = (now.load)(&now.saves, &found.again);
            if again.value.as_ref() != Some(is) {
                let found = again.value.or(again.error);
                faults.push(format!("{is} was kept on the way back, and came as {found:?}"));
            }
        }
        found.text()
    });
    let or_none = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    Trial { old: or_none(old), lock, back: or_none(back), faults }
}

/// Tries an example in each place.
pub(super) fn row<Old: Side, New: Side>(
    sources: (&str, &str, &str),
    example: &Example<Old, New>,
) -> Row {
    let (then, now) = (programs::<Old>(), programs::<New>());
    let before = example.before.map(|before| saved::<Old>(&then, before));
    let after = example.after.map(|after| saved::<New>(&now, after));
    let back = example.back.map(|back| saved::<Old>(&then, back));
    tried(sources, example.what, (&then, &now), &[before, after, back])
}

fn tried(
    (what, before, after): (&str, &str, &str),
    detail: &str,
    (then, now): (&[Program; 4], &[Program; 4]),
    saves: &[Option<[Saved; 4]>; 3],
) -> Row {
    let trials: [Trial; 4] = std::array::from_fn(|place| {
        let [before, after, back] = saves.each_ref().map(|it| it.as_ref().map(|it| &it[place]));
        trial((&then[place], &now[place]), before, after, back)
    });
    let what = match detail {
        "" => what.to_owned(),
        detail => format!("{what}: {detail}"),
    };
    let faults = PLACES.iter().zip(&trials).flat_map(|(place, trial)| {
        trial.faults.iter().map(|fault| format!("{what}, {place}: {fault}")).collect::<Vec<_>>()
    });
    let faults = faults.collect();
    let [old, lock, back] = [
        trials.each_ref().map(|trial| trial.old.clone()),
        trials.each_ref().map(|trial| trial.lock.clone()),
        trials.each_ref().map(|trial| trial.back.clone()),
    ];
    Row { what, before: before.to_owned(), after: after.to_owned(), old, lock, back, faults }
}

/// Changes, each with values: `=>` leads from a value before it to what a load must make of it, and to what the way
/// back must make of that, if it is not the first value. A value that is not there must be refused.
///
/// `kind` is a change of a type, which then stands in a field, in a list and in a map. `class` is a change within a
/// class, which does.
macro_rules! changes {
    ($($form:ident $name:ident $what:literal: $old:tt => $new:tt $(register $then:tt => $now:tt)?
        { $($label:literal: $($before:expr)? $(=> $after:expr $(=> $back:expr)?)?;)+ })*) => {
        $(mod $name {
            #![allow(unused_imports, reason = "not every change needs all of the file")]
            use super::*;

            pub(crate) mod before {
                use super::*;
                $crate::changes::harness::side! { $form $old [$($then)?] }
            }
            pub(crate) mod after {
                use super::*;
                $crate::changes::harness::side! { $form $new [$($now)?] }
            }

            pub(crate) fn examples() -> Vec<$crate::changes::harness::Example<before::Program, after::Program>> {
                vec![$($crate::changes::harness::Example {
                    what: $label,
                    before: $crate::changes::harness::last_of!($({ use before::*; $before })?),
                    after: $crate::changes::harness::last_of!($({ use after::*; $after })?),
                    back: $crate::changes::harness::last_of!(
                        $({ use before::*; $before })? $($({ use before::*; $back })?)?
                    ),
                }),+]
            }
        })*

        /// The rows of the table, each tried in all places.
        pub(crate) fn rows() -> Vec<$crate::changes::harness::Row> {
            let mut rows = Vec::new();
            $(rows.extend($name::examples().iter().map(|example| {
                let sources = ($what, $name::before::SOURCE, $name::after::SOURCE);
                $crate::changes::harness::row(sources, example)
            }));)*
            rows
        }
    };
}

/// A function that makes the last of some values, if there is one.
macro_rules! last_of {
    () => {
        None
    };
    ($value:block) => {
        Some(|| $value)
    };
    ($other:block $value:block) => {
        Some(|| $value)
    };
}

/// The program on one side of a change.
macro_rules! side {
    (kind ($kind:ty) [$($register:tt)?]) => {
        pub(crate) const SOURCE: &str = stringify!($kind);
        type Element = $kind;

        #[derive(Persist, Debug)]
        pub(crate) struct Hero {
            it: $kind,
        }

        $crate::changes::harness::side! { places [$($register)?] }

        impl $crate::changes::harness::Side for Program {
            type Element = Element;
            type Whole = Hero;
            type List = Bag;
            type Map = Book;
            const REGISTER: fn(&persist::Saves) -> persist::Result<()> = register;

            fn whole(it: Element) -> Hero {
                Hero { it }
            }

            fn list(list: Vec<Element>) -> Bag {
                Bag { list }
            }

            fn map(map: std::collections::BTreeMap<u8, Element>) -> Book {
                Book { map }
            }
        }
    };
    (class ($class:ident $($item:item)+) [$($register:tt)?]) => {
        pub(crate) const SOURCE: &str = stringify!($($item)+);
        type Element = $class;

        $(#[derive(Persist, Debug)] $item)+

        $crate::changes::harness::side! { places [$($register)?] }

        impl $crate::changes::harness::Side for Program {
            type Element = Element;
            type Whole = Element;
            type List = Bag;
            type Map = Book;
            const REGISTER: fn(&persist::Saves) -> persist::Result<()> = register;

            fn whole(element: Element) -> Element {
                element
            }

            fn list(list: Vec<Element>) -> Bag {
                Bag { list }
            }

            fn map(map: std::collections::BTreeMap<u8, Element>) -> Book {
                Book { map }
            }
        }
    };
    (places [$($register:tt)?]) => {
        pub(crate) struct Program;

        #[derive(Persist, Debug)]
        pub(crate) struct Bag {
            list: Vec<Element>,
        }

        #[derive(Persist, Debug)]
        pub(crate) struct Book {
            map: std::collections::BTreeMap<u8, Element>,
        }

        fn register(_saves: &persist::Saves) -> persist::Result<()> {
            $($crate::changes::harness::call!($register, _saves);)?
            Ok(())
        }
    };
}

macro_rules! call {
    (($register:expr), $saves:expr) => {
        $register($saves)?
    };
}

pub(crate) use {call, changes, last_of, side};

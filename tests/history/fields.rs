//! Histories of types with field records, which are edited as they are.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;
use std::sync::Mutex;
use std::time::Duration;

use persist::history::{CommandEdit, Proof};
use persist::{
    Command, Error, ErrorKind, History, Persist, Result, Saves, Session, Value, World, field,
};
use persist_tests::support::{bytes, short_or_long};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64;

use super::joined::{Between, Joined, join};
use super::subject::Subject;
use super::world::naive::{Key, Naive, Settings};

#[derive(Persist, Clone, Debug, Default, PartialEq)]
struct Document {
    name: String,
    margins: Margins,
    pages: Vec<Page>,
    words: BTreeMap<String, u32>,
    cover: Option<Page>,
    #[persist(skip)]
    zoom: u8,
}

#[derive(Persist, Clone, Debug, Default, PartialEq)]
struct Margins {
    left: f32,
    right: f64,
    columns: u8,
}

#[derive(Persist, Clone, Debug, Default, PartialEq)]
struct Page {
    title: String,
    lines: Vec<Line>,
}

#[derive(Persist, Clone, Debug, Default, PartialEq)]
struct Line {
    text: String,
    indent: u8,
}

fn line(number: u32) -> Line {
    Line { text: format!("line {number}"), indent: (number % 5) as u8 }
}

fn page(number: u32) -> Page {
    Page { title: format!("Page {number}"), lines: (0..number % 7).map(line).collect() }
}

fn document(pages: u32) -> Document {
    Document { name: "Plan".into(), pages: (0..pages).map(page).collect(), ..Document::default() }
}

fn labels<T>(history: &History<T>) -> Vec<String> {
    history.entries().map(|entry| entry.label.to_string()).collect()
}

#[test]
fn an_edit_of_a_document_is_what_differs_after_it() -> Result<()> {
    let (mut document, mut history) = (document(3), History::new(100));
    let before = document.clone();
    history.edit(&mut document, "Rename", |document| {
        document.name = "Better plan".into();
        document.pages[1].lines.push(line(9));
        Ok(())
    })?;
    history.edit(&mut document, "", |document| {
        document.margins.left = 2.0;
        Ok(())
    })?;
    history.edit(&mut document, "", |document| {
        document.pages.insert(1, page(8));
        Ok(())
    })?;
    history.edit(&mut document, "Nothing", |_| Ok(()))?;
    let expected = ["Rename", "Set Document.margins.left", "Insert Document.pages"];
    assert_eq!(labels(&history), expected);
    let after = document.clone();
    history.go_to(&mut document, 0)?;
    assert_eq!(document, before);
    history.go_to(&mut document, 3)?;
    assert_eq!(document, after);
    Ok(())
}

#[test]
fn an_element_that_comes_into_a_long_list_is_kept_without_the_list() -> Result<()> {
    let (mut document, mut history) = (document(10_000), History::new(100));
    history.edit(&mut document, "", |document| {
        document.pages.insert(5_000, page(3));
        document.pages[9_000].lines[0].indent = 7;
        document.pages.remove(100);
        Ok(())
    })?;
    assert!(bytes(&history) < 2_000, "{}", bytes(&history));
    let mut expected = self::document(10_000);
    history.undo(&mut document)?;
    assert_eq!(document, expected);
    history.redo(&mut document)?;
    expected.pages.insert(5_000, page(3));
    expected.pages[9_000].lines[0].indent = 7;
    expected.pages.remove(100);
    assert_eq!(document, expected);
    Ok(())
}

#[test]
fn a_field_and_a_part_are_edited_at_what_they_cost() -> Result<()> {
    let (mut document, mut history) = (document(5), History::new(100));
    let before = document.clone();
    assert_eq!(
        history.set_field(&mut document, field!(Document.margins.columns), 2)?,
        Value::U8(0)
    );
    assert_eq!(document.margins.columns, 2);
    history.edit_at(&mut document, field!(Document.pages[3]), "Fill page", |page: &mut Page| {
        page.lines.insert(1, line(7));
        page.title.push('!');
        Ok(())
    })?;
    history.edit_at(&mut document, "Document:pages[4].title", "", |title: &mut String| {
        *title = "Last".into();
        Ok(())
    })?;
    let expected = ["Set Document.margins.columns", "Fill page", "Set Document.pages[4].title"];
    assert_eq!(labels(&history), expected);
    assert_eq!(document.pages[3].lines[1], line(7));
    history.go_to(&mut document, 0)?;
    assert_eq!(document, before);
    Ok(())
}

#[test]
fn what_cannot_be_edited_says_why_and_changes_nothing() {
    let (mut document, mut history) = (document(2), History::new(100));
    document.cover = Some(page(1));
    let before = document.clone();
    let mut errors = vec![
        history.set_field(&mut document, field!(Document.margins.columns), 300).unwrap_err(),
        history.set_field(&mut document, "Document:pages[7].title", "x").unwrap_err(),
        history.set_field(&mut document, "Page:title", "x").unwrap_err(),
    ];
    let page = |_: &mut Page| Ok(());
    errors.push(history.edit_at(&mut document, "Document:cover", "", page).unwrap_err());
    errors.push(history.edit_at(&mut document, "Document:cover.title", "", page).unwrap_err());
    errors.push(history.edit_at(&mut document, "Document:name", "", page).unwrap_err());
    let refused = history.edit(&mut document, "", |document| {
        document.pages.clear();
        Err::<(), _>(Error::new(ErrorKind::Refused, "enough"))
    });
    errors.push(refused.unwrap_err());
    let text: Vec<String> = errors.iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(text.join("\n"));
    let panic = catch_unwind(AssertUnwindSafe(|| {
        history.edit(&mut document, "", |document| -> Result<()> {
            document.pages.clear();
            resume_unwind(Box::new("enough"))
        })
    }));
    assert!(panic.is_err());
    assert_eq!(document, before);
    assert!(history.entries().len() == 0 && history.poison().is_none());
}

#[test]
fn fields_are_read_by_their_paths() -> Result<()> {
    let document = Document { cover: Some(page(3)), pages: vec![page(1)], ..Document::default() };
    let mut history = History::new(9);
    let mut get = |path: &str| history.get_field(&document, path);
    assert_eq!(get("Document:cover.title")?, Value::from("Page 3"));
    assert_eq!(get("Document:pages[0].lines[0].text")?, Value::from("line 0"));
    assert_eq!(get("Document")?.as_record().map(persist::Record::len), Some(5));
    let errors = ["Page:title", "Document:pages[7]", "Document:zoom"];
    let errors = errors.map(|path| get(path).unwrap_err().to_string());
    insta::assert_snapshot!(errors.join("\n"));
    assert_eq!(history.entries().len(), 0);
    Ok(())
}

#[test]
fn shared_pointers_are_refused_at_the_first_edit_with_the_name_of_the_field() -> Result<()> {
    #[derive(Persist, Default)]
    struct Shelf {
        label: String,
        place: Place,
    }
    #[derive(Persist, Default)]
    struct Place {
        owner: Option<Rc<u32>>,
    }
    struct Relabel;
    impl Command<Shelf> for Relabel {
        fn apply(&mut self, edit: &mut CommandEdit<'_, Shelf>) -> Result<()> {
            edit.target().label.push('x');
            Ok(())
        }
        fn undo(&mut self, shelf: &mut Shelf) -> Result<()> {
            shelf.label.pop();
            Ok(())
        }
    }
    let (mut shelf, mut history) = (Shelf::default(), History::new(9));
    let error = history.edit(&mut shelf, "", |shelf| {
        shelf.label.push('x');
        Ok(())
    });
    let error = error.unwrap_err();
    insta::assert_snapshot!(error);
    assert_eq!(shelf.label, "");

    // A session is refused before it does anything; commands alone need nothing of their target.
    let folder = tempfile::tempdir().unwrap();
    let (save, journal) = (folder.path().join("shelf.sav"), folder.path().join("shelf.journal"));
    let options = Session::<Shelf>::with(Saves::new(), History::new(9));
    let refused = options.open(&save, &journal).unwrap_err();
    assert_eq!((refused.kind(), refused.to_string()), (error.kind(), error.to_string()));
    assert!(!save.exists() && !journal.exists());
    history.apply(&mut shelf, Relabel)?;
    history.undo(&mut shelf)?;
    assert_eq!(shelf.label, "");
    Ok(())
}

#[test]
fn what_is_skipped_stays_and_is_not_recorded() -> Result<()> {
    let (mut document, mut history) = (document(2), History::new(100));
    history.edit(&mut document, "", |document| {
        document.zoom = 3;
        Ok(())
    })?;
    assert!(history.entries().len() == 0);
    history.edit(&mut document, "", |document| {
        document.name.push('!');
        Ok(())
    })?;
    history.undo(&mut document)?;
    assert_eq!((document.zoom, &*document.name), (3, "Plan"));
    Ok(())
}

#[test]
fn a_value_that_validate_refuses_is_put_back() -> Result<()> {
    #[derive(Persist, Clone, Debug, PartialEq)]
    #[persist(validate = ordered)]
    struct Range {
        low: u32,
        high: u32,
        marks: Vec<u32>,
    }
    fn ordered(range: &Range) -> Result<(), String> {
        let is_in = |mark: &u32| (range.low..=range.high).contains(mark);
        if range.low <= range.high && range.marks.iter().all(is_in) {
            Ok(())
        } else {
            Err("not in order".into())
        }
    }
    let mut range = Range { low: 1, high: 5, marks: vec![2, 3] };
    let (before, mut history) = (range.clone(), History::new(9));
    let refused = history.edit(&mut range, "", |range| {
        range.low = 3;
        Ok(())
    });
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::Refused);
    assert_eq!(
        history.set_field(&mut range, field!(Range.high), 0).unwrap_err().kind(),
        ErrorKind::Refused
    );
    assert_eq!(range, before);
    // Both ends move at once, and back.
    history.edit(&mut range, "", |range| {
        (range.low, range.high) = (10, 20);
        range.marks = vec![11, 12];
        Ok(())
    })?;
    history.undo(&mut range)?;
    assert_eq!(range, before);
    Ok(())
}

#[test]
fn an_edit_that_can_no_longer_be_encoded_is_put_back() -> Result<()> {
    #[derive(Persist, Default)]
    struct Chain {
        n: u32,
        next: Option<Box<Chain>>,
    }
    #[derive(Persist, Default)]
    struct Shared {
        n: u32,
        cell: RefCell<u32>,
    }
    #[derive(Persist, Default)]
    struct Locked {
        n: u32,
        mutex: Mutex<u32>,
    }
    let (mut chain, mut history) = (Chain::default(), History::new(9));
    for is_refused in [false, true] {
        let result = history.edit(&mut chain, "", |chain| {
            chain.n = 9;
            for _ in 0..200 {
                let next = chain.next.take();
                chain.next = Some(Box::new(Chain { n: 0, next }));
            }
            if is_refused { Err(refusal()) } else { Ok(()) }
        });
        let expected = if is_refused { refusal().kind() } else { ErrorKind::TooDeep };
        assert_eq!(result.unwrap_err().kind(), expected);
        assert_eq!(history.poison(), None);
        assert!(chain.n == 0 && chain.next.is_none());
    }
    history.set_field(&mut chain, field!(Chain.n), 1)?;

    for is_refused in [false, true] {
        let (mut shared, mut history) = (Shared::default(), History::new(9));
        let result = history.edit(&mut shared, "", |shared| {
            shared.n = 9;
            mem::forget(shared.cell.borrow_mut());
            if is_refused { Err(refusal()) } else { Ok(()) }
        });
        let expected = if is_refused { refusal().kind() } else { ErrorKind::Borrowed };
        assert_eq!(result.unwrap_err().kind(), expected);
        assert_eq!((history.poison(), shared.n), (None, 0));
    }

    let (mut locked, mut history) = (Locked::default(), History::new(9));
    let panic = catch_unwind(AssertUnwindSafe(|| {
        history.edit(&mut locked, "", |locked| -> Result<()> {
            locked.n = 9;
            let _held = locked.mutex.lock().unwrap();
            resume_unwind(Box::new("enough"))
        })
    }));
    assert!(panic.is_err());
    assert_eq!((history.poison(), locked.n), (None, 0));
    Ok(())
}

thread_local! {
    static IS_SHUT: Cell<bool> = const { Cell::new(false) };
}

/// Stores a number, which cannot be read while it is shut.
mod shut {
    use super::IS_SHUT;

    pub(super) type Stored = u32;

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "so it is called")]
    pub(super) fn store(number: &u32) -> Stored {
        *number
    }

    pub(super) fn restore(number: Stored) -> Result<u32, String> {
        if IS_SHUT.get() { Err("it is shut".into()) } else { Ok(number) }
    }
}

#[test]
fn an_edit_that_cannot_be_put_back_poisons_the_history() -> Result<()> {
    #[derive(Persist, Default)]
    #[persist(validate = small)]
    struct Door {
        #[persist(with = shut)]
        number: u32,
    }
    fn small(door: &Door) -> Result<(), String> {
        if door.number < 9 { Ok(()) } else { Err("the number is too large".into()) }
    }
    let (mut door, mut history) = (Door::default(), History::new(9));
    let refused = history.edit(&mut door, "Renumber", |door| {
        door.number = 9;
        IS_SHUT.set(true);
        Ok(())
    });
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::Refused);
    let poison = history.poison().expect("a poison");
    assert_eq!((poison.entry, poison.label.to_string()), (None, "Renumber".into()));
    assert!(poison.why.contains("it is shut"), "{}", poison.why);
    IS_SHUT.set(false);
    let next = history.set_field(&mut door, field!(Door.number), 1);
    assert_eq!(next.unwrap_err().kind(), ErrorKind::Poisoned);
    history.clear(&mut door)?;
    history.set_field(&mut door, field!(Door.number), 1)?;
    Ok(())
}

#[test]
fn a_session_continues_after_an_edit_that_can_no_longer_be_encoded() -> Result<()> {
    #[derive(Persist, Default)]
    struct Nest {
        n: u32,
        inner: Vec<Nest>,
    }
    let folder = tempfile::tempdir().unwrap();
    let (save, journal) = (folder.path().join("nest.sav"), folder.path().join("nest.journal"));
    let open = || Session::<Nest>::with(Saves::new(), History::new(9)).open(&save, &journal);
    let (mut session, _) = open()?;
    let refused = session.edit("", |nest| {
        nest.n = 9;
        for _ in 0..200 {
            nest.inner = vec![Nest { n: 0, inner: mem::take(&mut nest.inner) }];
        }
        Ok(())
    });
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::TooDeep);
    session.edit("", |nest| {
        nest.n += 1;
        Ok(())
    })?;
    drop(session);
    let (session, _) = open()?;
    assert_eq!((session.target().n, session.target().inner.len()), (1, 0));
    Ok(())
}

#[test]
fn a_world_in_a_document_is_refused_at_the_first_edit() {
    #[derive(Persist, Default)]
    struct Level {
        title: String,
        world: World,
    }
    let (mut level, mut history) = (Level::default(), History::new(9));
    let refused = history.edit(&mut level, "", |level| {
        level.title.push('x');
        Ok(())
    });
    let error = refused.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    insta::assert_snapshot!(error);
    assert_eq!(level.title, "");
}

#[test]
fn a_session_of_a_document_goes_on_where_it_was() -> Result<()> {
    let folder = tempfile::tempdir().unwrap();
    let (save, journal) = (folder.path().join("plan.sav"), folder.path().join("plan.journal"));
    let open = || Session::<Document>::with(Saves::new(), History::new(50)).open(&save, &journal);
    let (mut session, _) = open()?;
    session.edit("Write", |document| {
        document.pages = (0..5).map(page).collect();
        Ok(())
    })?;
    session.save()?;
    session.set_field(field!(Document.margins.left), 3.0)?;
    session.edit_at(field!(Document.pages[2]), "Fill", |page: &mut Page| {
        page.lines.push(line(1));
        Ok(())
    })?;
    session.undo()?;
    let (known, names) = (session.target().clone(), labels(session.history()));
    drop(session);
    let (mut session, recovered) = open()?;
    assert!(recovered.stopped.is_none(), "{recovered}");
    assert_eq!((session.target(), labels(session.history())), (&known, names));
    assert!(session.history().is_modified());
    session.redo()?;
    assert_eq!(session.target().pages[2].lines.len(), 3);
    session.undo()?;
    session.undo()?;
    assert!(!session.history().is_modified());
    session.undo()?;
    assert_eq!(*session.target(), Document::default());
    Ok(())
}

#[test]
fn edits_of_a_field_that_has_another_name_by_now_are_replayed() -> Result<()> {
    mod new {
        #[derive(persist::Persist, Default)]
        #[persist(class = "Note")]
        pub(super) struct Note {
            #[persist(alias = "text")]
            pub(super) title: String,
        }
    }
    #[derive(Persist, Default)]
    struct Note {
        text: String,
    }
    let folder = tempfile::tempdir().unwrap();
    let (save, journal) = (folder.path().join("note.sav"), folder.path().join("note.journal"));
    let saves = Saves::new;
    let options = Session::<Note>::with(saves(), History::new(9));
    let (mut session, _) = options.open(&save, &journal)?;
    session.edit("Write", |note: &mut Note| {
        note.text = "saved".into();
        Ok(())
    })?;
    session.save()?;
    session.set_field(field!(Note.text), "not saved")?;
    drop(session);
    let options = Session::<new::Note>::with(saves(), History::new(9));
    let (mut session, recovered) = options.open(&save, &journal)?;
    assert!(recovered.stopped.is_none(), "{recovered}");
    assert_eq!(session.target().title, "not saved");
    session.undo()?;
    assert_eq!(session.target().title, "saved");
    Ok(())
}

/// Changes a document at random.
fn change(random: &mut Pcg64, document: &mut Document, step: u32) {
    let count = document.pages.len();
    match random.gen_range(0..9) {
        0 => document.name = format!("Plan {step}"),
        1 => document.margins.right += 1.5,
        2 => document.pages.insert(random.gen_range(0..=count), page(step)),
        3 if count > 0 => drop(document.pages.remove(random.gen_range(0..count))),
        4 if count > 0 => {
            let page = &mut document.pages[random.gen_range(0..count)];
            page.lines.insert(random.gen_range(0..=page.lines.len()), line(step));
        }
        5 if count > 0 => {
            let page = &mut document.pages[random.gen_range(0..count)];
            if let Some(line) = page.lines.last_mut() {
                line.indent = (step % 200) as u8;
            }
        }
        6 if count > 1 => {
            let (from, to) = (random.gen_range(0..count), random.gen_range(0..count));
            let page = document.pages.remove(from);
            document.pages.insert(to, page);
        }
        7 => drop(document.words.insert(format!("{}", step % 6), step)),
        _ => document.cover = (!step.is_multiple_of(3)).then(|| page(step)),
    }
}

/// A document whose history is compared with one of snapshots.
struct Run {
    subject: Subject<Document>,
    naive: Naive,
    random: Pcg64,
    proof: Proof,
    operations: u32,
}

impl Run {
    fn new(seed: u64) -> Self {
        let mut random = Pcg64::seed_from_u64(seed);
        let capacity = [0, 1, 2, 3, 5, 8, 100][random.gen_range(0..7)];
        let proof = [Proof::Off, Proof::Whole][random.gen_range(0..2)];
        let (document, history) = (document(4), recent(capacity, proof));
        let naive = Naive::new(format!("{document:?}"), capacity);
        let subject = match seed % 2 {
            0 => Subject::session(Saves::new(), &document, history),
            _ => Subject::Plain(document, history),
        };
        Self { subject, naive, random, proof, operations: 0 }
    }

    fn text(&self) -> String {
        format!("{:?}", self.subject.target())
    }

    fn compare(&self, what: &str) {
        let (history, naive) = (self.subject.history(), &self.naive);
        assert_eq!(self.text(), naive.text(), "{what}");
        let place = (history.position(), history.entries().len());
        assert_eq!(place, (naive.position, naive.len()), "{what}");
        assert_eq!((history.is_modified(), history.saved_position()), naive.saved(), "{what}");
    }

    /// An edit of any kind, which is not merged.
    fn edit(&mut self, step: u32) {
        self.subject.apart();
        self.naive.last = None;
        let before = (self.text(), self.subject.history().state());
        let (count, fails) = (self.random.gen_range(1..4), self.random.gen_ratio(1, 8));
        let pages = self.subject.target().pages.len();
        let Self { subject, random, .. } = self;
        let result = if random.gen_ratio(1, 4) && pages > 0 {
            let path = field!(Document.pages).at(random.gen_range(0..pages) as u64);
            subject.edit_at(path, "", |page: &mut Page| {
                page.lines.truncate(2);
                page.lines.insert(0, line(step));
                if fails { Err(refusal()) } else { Ok(()) }
            })
        } else {
            subject.edit("", |document| {
                (0..count).for_each(|_| change(random, document, step));
                if fails { Err(refusal()) } else { Ok(()) }
            })
        };
        assert_eq!(result.is_err(), fails);
        let now = (self.text(), self.subject.history().state());
        if fails || now.1 == before.1 {
            assert_eq!(now, before);
        } else {
            self.naive.edit(now.0, None);
        }
        self.subject.apart();
    }

    /// Sets fields, which goes with the edit before if that set one of them, and is called alike.
    fn set(&mut self) {
        let values = |document: &Document| -> BTreeMap<Key, String> {
            let Margins { left, right, columns } = document.margins;
            let values = [("left", left.to_string()), ("right", right.to_string())];
            let more = [("columns", columns.to_string()), ("name", document.name.clone())];
            values.into_iter().chain(more).map(|(name, value)| ((0, name), value)).collect()
        };
        let old = values(self.subject.target());
        let (field, number) = (self.random.gen_range(0..4), self.random.gen_range(0_u8..3));
        let label = if self.random.r#gen() { "" } else { "Drag" };
        let Self { subject, random, .. } = self;
        if label.is_empty() {
            let done = match field {
                0 => subject.set_field("Document:margins.left", number),
                1 => subject.set_field("Document:margins.right", number),
                2 => subject.set_field("Document:margins.columns", number),
                _ => subject.set_field("Document:name", format!("Plan {number}")),
            };
            done.expect("there is such a field");
        } else {
            let edited = subject.edit(label, |document| {
                let margins = &mut document.margins;
                match field {
                    0 => (margins.left, margins.right) = (number.into(), number.into()),
                    1 => margins.right = number.into(),
                    2 => {
                        (margins.columns, margins.left) =
                            (number, random.gen_range(0_u8..2).into());
                    }
                    _ => document.name = format!("Plan {number}"),
                }
                Ok(())
            });
            edited.expect("nothing is refused");
        }
        let new = values(self.subject.target());
        let changed = |(key, old): (Key, String)| {
            let new = new[&key].clone();
            (old != new).then_some((key, (old, new)))
        };
        let fields = old.into_iter().filter_map(changed).collect();
        let text = self.text();
        self.naive.edit(text, Some(Settings { label: label.to_owned(), fields, has_cut: false }));
    }

    fn join(&mut self, step: u32) {
        let how = match self.random.gen_range(0..4) {
            0 | 1 => Joined::Drag,
            key => Joined::Key(key % 2),
        };
        let count = self.random.gen_range(1..6);
        let mut chance = Pcg64::seed_from_u64(self.random.r#gen());
        let mut between = Pcg64::seed_from_u64(self.random.r#gen());
        let Self { subject, naive, .. } = self;
        join(
            subject,
            naive,
            &how,
            count,
            &mut |document| format!("{document:?}"),
            &mut |document: &mut Document| {
                match chance.gen_range(0..4) {
                    0 => change(&mut chance, document, step),
                    1 => document.pages.truncate(3),
                    _ => document.margins.left = chance.gen_range(0_u8..3).into(),
                }
                if chance.gen_ratio(1, 8) { Err(refusal()) } else { Ok(()) }
            },
            &mut || match between.gen_range(0..16) {
                0 => Between::Undo,
                1 => Between::Mark(between.r#gen()),
                _ => Between::Nothing,
            },
        );
        self.operations += count;
    }

    fn step(&mut self, step: u32) {
        let len = self.naive.len();
        match self.random.gen_range(0..20) {
            0..5 => self.edit(step),
            5..10 => self.set(),
            10..13 => self.join(step),
            13..17 => {
                let position = match self.random.gen_range(0..3) {
                    0 => self.random.gen_range(0..=len),
                    1 => self.naive.position.saturating_sub(1),
                    _ => len.min(self.naive.position + 1),
                };
                self.subject.go_to(position).expect("it is there");
                self.naive.go_to(position);
            }
            17 => {
                let is_saved = self.random.r#gen();
                self.subject.mark(is_saved);
                self.naive.mark(is_saved);
            }
            18 => {
                self.naive.capacity = self.random.gen_range(0..20);
                self.subject.set_capacity(self.naive.capacity);
                self.naive.trim();
            }
            _ if matches!(self.subject, Subject::Session(..)) => {
                let history = recent(self.naive.capacity, self.proof);
                self.subject.reopen(Saves::new(), history);
                self.naive.last = None;
            }
            _ => {}
        }
        self.operations += 1;
    }
}

/// A history whose edits merge whenever they come.
fn recent(capacity: usize, proof: Proof) -> History<Document> {
    let mut history = History::new(capacity);
    history.set_merge_window(Some(Duration::MAX));
    history.set_proof(proof);
    history
}

fn refusal() -> Error {
    Error::new(ErrorKind::Refused, "no")
}

#[test]
fn random_edits_of_a_document_lead_where_snapshots_lead() {
    let mut operations = 0;
    for seed in 0..short_or_long(10, 200) {
        let mut run = Run::new(seed);
        for step in 0..short_or_long(200, 2_000) {
            run.step(step);
            run.compare(&format!("step {step} of {seed}"));
        }
        for position in (0..=run.naive.len()).rev() {
            run.subject.go_to(position).expect("it is there");
            run.naive.go_to(position);
            run.compare(&format!("at {position} in the end of {seed}"));
        }
        operations += run.operations;
    }
    println!("{operations} operations");
    assert!(operations >= short_or_long(2_000, 500_000), "{operations}");
}

#[test]
fn a_value_without_its_type_is_what_a_path_returns() -> Result<()> {
    use persist::to_value;

    #[derive(Persist, Clone, Debug, PartialEq)]
    struct Album {
        tracks: Vec<Track>,
        by_name: std::collections::BTreeMap<String, Track>,
    }

    #[derive(Persist, Clone, Debug, PartialEq)]
    enum Track {
        Silence,
        Song { title: String, seconds: u32, notes: Option<[u8; 3]> },
        Count(u64),
    }

    let song = Track::Song { title: "Dawn".into(), seconds: 180, notes: Some([1, 2, 3]) };
    let tracks = vec![Track::Silence, song.clone(), Track::Count(7)];
    let mut album = Album { tracks, by_name: [("Dawn".into(), song)].into() };
    let mut history = History::new(100);
    let all = history.get_field(&album, "Album")?;
    assert_eq!(to_value(&album)?, all);
    for index in 0..3_usize {
        let track = album.tracks[index].clone();
        let value = history.get_field(&album, field!(Album.tracks[index]))?;
        assert_eq!(to_value(&track)?, value);
        history.insert_element(&mut album, field!(Album.tracks), 0, to_value(&track)?)?;
        assert_eq!(album.tracks.remove(0), track);
    }
    // Values that are no class.
    for (value, text) in [
        (to_value(&7_u8)?, "7u8"),
        (to_value(&String::from("a"))?, "\"a\""),
        (to_value(&vec![1_i16, 2])?, "[1i16, 2i16]"),
        (to_value(&(1.5_f32, 'x'))?, "(1.5f32, 'x')"),
        (to_value(&Some(true))?, "some(true)"),
    ] {
        assert_eq!(value.to_string(), text);
    }
    let shared = to_value(&std::rc::Rc::new(7_u8));
    assert!(shared.is_err_and(|error| error.kind() == persist::ErrorKind::Unsupported));
    Ok(())
}

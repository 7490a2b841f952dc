//! Histories of types with field records, which are edited as they are.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;

use persist::history::Proof;
use persist::{Error, ErrorKind, History, Persist, Result, SaveManager, Session, Value, field};
use persist_tests::support::{bytes, short_or_long};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64;

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
fn shared_pointers_are_refused_at_the_first_edit_with_the_name_of_the_field() {
    #[derive(Persist, Default)]
    struct Shelf {
        label: String,
        place: Place,
    }
    #[derive(Persist, Default)]
    struct Place {
        owner: Option<Rc<u32>>,
    }
    let (mut shelf, mut history) = (Shelf::default(), History::new(9));
    let error = history.edit(&mut shelf, "", |shelf| {
        shelf.label.push('x');
        Ok(())
    });
    insta::assert_snapshot!(error.unwrap_err());
    assert_eq!(shelf.label, "");
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
fn a_session_of_a_document_goes_on_where_it_was() -> Result<()> {
    let folder = tempfile::tempdir().unwrap();
    let (save, journal) = (folder.path().join("plan.sav"), folder.path().join("plan.journal"));
    let open =
        || Session::<Document>::with(SaveManager::new(), History::new(50)).open(&save, &journal);
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
fn edits_of_a_class_with_other_fields_are_not_replayed_and_the_journal_is_kept() -> Result<()> {
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
    let saves = SaveManager::new;
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
    let (session, recovered) = options.open(&save, &journal)?;
    assert_eq!(session.target().title, "saved");
    assert_eq!(recovered.kept.len(), 1);
    insta::assert_snapshot!(recovered.stopped.unwrap().cause);
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

#[test]
fn random_edits_of_a_document_lead_where_snapshots_lead() -> Result<()> {
    for seed in 0..short_or_long(4, 40) {
        let mut random = Pcg64::seed_from_u64(seed);
        let (mut document, mut history) = (document(4), History::new(None));
        history.set_proof([Proof::Off, Proof::Whole][(seed % 2) as usize]);
        let (mut known, mut position) = (vec![document.clone()], 0);
        for step in 0..short_or_long(400, 4_000) {
            let count = random.gen_range(1..4);
            let before = document.clone();
            if random.gen_ratio(1, 4) && !document.pages.is_empty() {
                let at = random.gen_range(0..document.pages.len());
                let path = field!(Document.pages).at(at as u64);
                history.edit_at(&mut document, path, "", |page: &mut Page| {
                    page.lines.truncate(2);
                    page.lines.insert(0, line(step));
                    Ok(())
                })?;
            } else {
                let fails = random.gen_ratio(1, 8);
                let result = history.edit(&mut document, "", |document| {
                    (0..count).for_each(|_| change(&mut random, document, step));
                    if fails { Err(Error::new(ErrorKind::Refused, "no")) } else { Ok(()) }
                });
                assert_eq!(result.is_err(), fails);
                if fails {
                    assert_eq!(document, before);
                }
            }
            if document != before {
                known.truncate(position + 1);
                known.push(document.clone());
                position += 1;
            }
            if random.gen_ratio(1, 3) {
                position = random.gen_range(0..known.len());
                history.go_to(&mut document, position)?;
            }
            assert_eq!((history.position(), history.entries().len()), (position, known.len() - 1));
            assert_eq!(document, known[position], "step {step} of {seed}");
        }
        for position in (0..known.len()).rev() {
            history.go_to(&mut document, position)?;
            assert_eq!(document, known[position]);
        }
    }
    Ok(())
}

//! What a child does with a document, by chance.

use std::collections::BTreeMap;
use std::fmt::Write;

use persist::history::{Drag, SessionOptions};
use persist::{Error, ErrorKind, History, Persist, Result, Saves, Session, field};
use rand::Rng;
use rand_pcg::Pcg64Mcg;

use super::Target;

#[derive(Persist, Default, Debug)]
pub(crate) struct Document {
    title: String,
    width: f64,
    pages: Vec<Page>,
    words: BTreeMap<String, u32>,
}

#[derive(Persist, Default, Debug)]
struct Page {
    lines: Vec<String>,
    number: u16,
}

impl Target for Document {
    const NAME: &'static str = "document";

    fn options() -> Result<SessionOptions<Self>> {
        // Most entries are in files.
        Ok(Session::with(Saves::new(), History::new(60)).memory(4_000))
    }

    fn edit(session: &mut Session<Self>, drag: &mut Option<Drag>, random: &mut Pcg64Mcg) {
        let number = random.gen_range(0..100_u16);
        let pages = session.target().pages.len();
        let at = random.gen_range(0..pages.max(1));
        // What fails leaves all as it was.
        let _ = match random.gen_range(0..20) {
            0..3 => session.edit("Add page", |document| {
                document.pages.insert(at, Page { lines: vec![], number });
                Ok(())
            }),
            3..7 if pages > 0 => {
                let path = field!(Document.pages).at(at as u64);
                session.edit_at(path, "Write", |page: &mut Page| {
                    page.lines.insert(page.lines.len() / 2, format!("line {number}"));
                    page.lines.truncate(30);
                    Ok(())
                })
            }
            7 if pages > 4 => session.edit("Remove page", |document| {
                document.pages.remove(at);
                Ok(())
            }),
            8 | 9 => session.set_field(field!(Document.width), f64::from(number)).map(drop),
            10 | 11 => session.edit_merging(number % 2, "Type", |document| {
                document.title.push('x');
                document.width += 1.0;
                Ok(())
            }),
            12 => session.edit("Count", |document| {
                *document.words.entry(format!("word {}", number % 7)).or_default() += 1;
                Ok(())
            }),
            13 => session.edit("Fails", |document| {
                document.pages.clear();
                Err(Error::new(ErrorKind::Refused, "it fails on purpose"))
            }),
            14 => transaction(session, number),
            15 => session.undo().map(drop),
            16 => session.redo().map(drop),
            17 => {
                // A longer jump may be killed on its way, at an entry that no call ended at.
                let len = session.history().entries().len();
                session.go_to(len.min(session.history().position() + 1))
            }
            18 => {
                // It may be killed in the middle of it.
                *drag = if number % 2 == 0 { Some(session.begin_drag("Drag")) } else { None };
                Ok(())
            }
            _ if number < 40 => session.save().map(drop),
            _ => session.set_modified(true),
        };
    }

    fn render(session: &Session<Self>) -> String {
        let history = session.history();
        let mut text = format!("{:?}\n", session.target());
        let (position, saved) = (history.position(), history.saved_position());
        writeln!(text, "at {position}, saved {saved:?}, {}", history.is_modified()).unwrap();
        for entry in history.entries() {
            writeln!(text, "{} {}", entry.label, entry.is_applied).unwrap();
        }
        text
    }
}

/// Several edits as one, which is rolled back now and then.
fn transaction(session: &mut Session<Document>, number: u16) -> Result<()> {
    session.begin("Several")?;
    session.set_field(field!(Document.title), format!("Plan {number}"))?;
    session.edit("", |document| {
        document.pages.truncate(6);
        Ok(())
    })?;
    if number > 30 { session.commit() } else { session.rollback() }
}

//! The order of a command's parts: an undo is the exact reverse of what `apply` did, and a redo repeats it.

use std::collections::BTreeMap;

use persist::history::CommandEdit;
use persist::{Command, Error, ErrorKind, History, Persist, Result, Saves, Session};

use rand::{Rng, SeedableRng};
use rand_pcg::Lcg64Xsh32;

#[derive(Persist, Default, Clone, Debug, PartialEq)]
struct Shelf {
    books: BTreeMap<u8, u32>,
}

/// A direct change of one key. `None` takes the book out.
#[derive(Persist, Clone, Debug)]
struct Put {
    key: u8,
    book: Option<u32>,
}

impl Put {
    /// Swaps what is there with the book.
    fn swap(&mut self, shelf: &mut Shelf) {
        let old = match self.book.take() {
            Some(book) => shelf.books.insert(self.key, book),
            None => shelf.books.remove(&self.key),
        };
        self.book = old;
    }
}

/// Further commands, direct changes, and further commands.
#[derive(Persist, Clone, Debug)]
struct Mixed {
    before: Vec<Mixed>,
    direct: Vec<Put>,
    after: Vec<Mixed>,
    has_own_redo: bool,
    /// The further command that fails, if there is one.
    fails: bool,
}

impl Mixed {
    fn random(rng: &mut Lcg64Xsh32, depth: u32) -> Self {
        let some = |rng: &mut Lcg64Xsh32| -> Vec<Self> {
            let count = if depth == 0 { 0 } else { rng.gen_range(0..3) };
            (0..count).map(|_| Self::random(rng, depth - 1)).collect()
        };
        let (before, after) = (some(rng), some(rng));
        let put = |rng: &mut Lcg64Xsh32| Put {
            key: rng.gen_range(0..4),
            book: rng.gen_bool(0.6).then(|| rng.gen_range(0..1000)),
        };
        let direct = (0..rng.gen_range(0..4)).map(|_| put(rng)).collect();
        Self { before, direct, after, has_own_redo: rng.r#gen(), fails: rng.gen_bool(0.03) }
    }

    fn put_all(&mut self, shelf: &mut Shelf) {
        self.direct.iter_mut().for_each(|put| put.swap(shelf));
    }

    fn put_back(&mut self, shelf: &mut Shelf) {
        self.direct.iter_mut().rev().for_each(|put| put.swap(shelf));
    }

    /// What it does to a shelf, written without a history.
    fn naive(&self, shelf: &mut Shelf) -> bool {
        let is_done = self.before.iter().all(|inner| inner.naive(shelf));
        self.clone().put_all(shelf);
        is_done && self.after.iter().all(|inner| inner.naive(shelf)) && !self.fails
    }
}

impl Command<Shelf> for Mixed {
    fn apply(&mut self, edit: &mut CommandEdit<'_, Shelf>) -> Result<()> {
        self.before.clone().into_iter().try_for_each(|inner| edit.apply(inner))?;
        if !self.direct.is_empty() {
            self.put_all(edit.target());
        }
        // A part that fails is rolled back before the direct changes are.
        let done = edit.part(|edit| {
            self.after.clone().into_iter().try_for_each(|inner| edit.apply(inner))?;
            match self.fails {
                true => Err(Error::new(ErrorKind::Refused, "no more books")),
                false => Ok(()),
            }
        });
        if done.is_err() && !self.direct.is_empty() {
            self.put_back(edit.target());
        }
        done
    }

    fn undo(&mut self, shelf: &mut Shelf) -> Result<()> {
        self.put_back(shelf);
        Ok(())
    }

    fn redo(&mut self, edit: &mut CommandEdit<'_, Shelf>) -> Result<()> {
        if !self.has_own_redo {
            return self.apply(edit);
        }
        self.put_all(edit.target());
        Ok(())
    }
}

#[derive(Persist)]
struct Replace {
    key: u8,
    old: Option<u32>,
    book: u32,
}

#[derive(Persist)]
struct Insert {
    key: u8,
    book: u32,
}

impl Command<Shelf> for Insert {
    fn apply(&mut self, edit: &mut CommandEdit<'_, Shelf>) -> Result<()> {
        edit.target().books.insert(self.key, self.book);
        Ok(())
    }

    fn undo(&mut self, shelf: &mut Shelf) -> Result<()> {
        shelf.books.remove(&self.key);
        Ok(())
    }
}

/// Takes the old one out, then inserts the new one by a command.
impl Command<Shelf> for Replace {
    fn apply(&mut self, edit: &mut CommandEdit<'_, Shelf>) -> Result<()> {
        self.old = edit.target().books.remove(&self.key);
        edit.apply(Insert { key: self.key, book: self.book })
    }

    fn undo(&mut self, shelf: &mut Shelf) -> Result<()> {
        shelf.books.extend(self.old.map(|old| (self.key, old)));
        Ok(())
    }
}

#[test]
fn an_insert_after_a_removal_is_undone_before_it() -> Result<()> {
    let mut shelf = Shelf { books: [(1, 10)].into() };
    let mut history = History::new(9);
    history.apply(&mut shelf, Replace { key: 1, old: None, book: 11 })?;
    for _ in 0..3 {
        assert_eq!(shelf.books, [(1, 11)].into());
        history.undo(&mut shelf)?;
        assert_eq!(shelf.books, [(1, 10)].into());
        history.redo(&mut shelf)?;
    }
    Ok(())
}

/// Inserts by a command, then takes another out directly, which `undo` puts back.
#[derive(Persist)]
struct InsertThenTake {
    taken: Option<u32>,
}

impl Command<Shelf> for InsertThenTake {
    fn apply(&mut self, edit: &mut CommandEdit<'_, Shelf>) -> Result<()> {
        edit.apply(Insert { key: 1, book: 5 })?;
        self.taken = edit.target().books.remove(&1);
        Ok(())
    }

    fn undo(&mut self, shelf: &mut Shelf) -> Result<()> {
        shelf.books.extend(self.taken.map(|taken| (1, taken)));
        Ok(())
    }

    fn redo(&mut self, edit: &mut CommandEdit<'_, Shelf>) -> Result<()> {
        self.taken = edit.target().books.remove(&1);
        Ok(())
    }
}

#[test]
fn a_redo_of_its_own_has_the_target_as_apply_had_it() -> Result<()> {
    let (mut shelf, mut history) = (Shelf::default(), History::new(9));
    history.apply(&mut shelf, InsertThenTake { taken: None })?;
    for _ in 0..3 {
        assert!(shelf.books.is_empty());
        history.undo(&mut shelf)?;
        assert!(shelf.books.is_empty());
        history.redo(&mut shelf)?;
    }
    Ok(())
}

/// Random commands of several levels, undone, redone and replayed, beside the states that a naive twin had.
#[test]
fn an_undo_is_the_exact_reverse_in_any_order_of_the_parts() -> Result<()> {
    for seed in 0..40 {
        let mut rng = Lcg64Xsh32::seed_from_u64(seed);
        let folder = tempfile::tempdir().expect("a folder");
        let paths = (folder.path().join("shelf.sav"), folder.path().join("shelf.journal"));
        let open = || {
            let options = Session::<Shelf>::with(Saves::new(), History::new(999));
            options.register_command::<Mixed>()?.open(&paths.0, &paths.1)
        };
        let (mut session, _) = open()?;
        let mut states = vec![Shelf::default()];
        for step in 0..60 {
            let position = session.history().position();
            match rng.gen_range(0..10) {
                0..=4 => {
                    let command = Mixed::random(&mut rng, 3);
                    let mut expected = session.target().clone();
                    let is_done = command.naive(&mut expected);
                    let len = session.history().entries().len();
                    let result = session.apply(command);
                    assert_eq!(result.is_ok(), is_done, "seed {seed}, step {step}: {result:?}");
                    let is_new = session.history().position() > position;
                    if is_new {
                        states.truncate(position + 1);
                        states.push(expected);
                    } else {
                        assert_eq!(session.history().entries().len(), len);
                    }
                }
                5..=7 => drop(session.undo()?),
                8 => drop(session.redo()?),
                _ => {
                    drop(session);
                    session = open()?.0;
                }
            }
            let expected = &states[session.history().position()];
            assert_eq!(session.target().books, expected.books, "seed {seed}, step {step}");
        }
        if seed % 4 == 0 {
            session.save()?;
        }
    }
    Ok(())
}

/// Forgets one of its changes when it is undone.
#[derive(Persist)]
struct Careless;

impl Command<Shelf> for Careless {
    fn apply(&mut self, edit: &mut CommandEdit<'_, Shelf>) -> Result<()> {
        edit.target().books.extend([(1, 1), (2, 2)]);
        Ok(())
    }

    fn undo(&mut self, shelf: &mut Shelf) -> Result<()> {
        shelf.books.remove(&1);
        Ok(())
    }
}

/// A debug build hashes a target that is not a world, too.
#[test]
#[cfg(debug_assertions)]
fn an_undo_that_forgets_something_is_an_error_in_a_debug_build() -> Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    let paths = (folder.path().join("shelf.sav"), folder.path().join("shelf.journal"));
    let options = Session::<Shelf>::with(Saves::new(), History::new(9));
    let (mut session, _) = options.register_command::<Careless>()?.open(&paths.0, &paths.1)?;
    session.apply(Careless)?;
    let error = session.undo().expect_err("book 2 is left");
    assert_eq!(error.kind(), ErrorKind::NotInverse);
    assert!(error.message().contains("Shelf.books"), "{error}");
    Ok(())
}

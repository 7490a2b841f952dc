//! The bytes of journals: those in `fixtures/journals` are what is written, and are replayed on types of another day.

use std::fs;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use persist::Result;

use super::evolution::{Logged, SCRIPT, check, labels, run};
use super::programs::{new, old};
use super::{JOURNAL, SAVE};
use persist_tests::support::disk::{Disk, Image};

/// The fixtures, and behind which step of the script they are: in front of the last save, and behind it.
const FIXTURES: [(&str, usize); 2] = [("edits", SCRIPT.len() - 3), ("saved", SCRIPT.len() - 1)];

pub(crate) fn path(name: &str, ending: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/journals");
    folder.join(format!("{name}.{ending}"))
}

fn file<'i>(image: &'i Image, name: &str) -> &'i [u8] {
    &image[Path::new(name)]
}

fn fixtures() -> Result<Vec<(&'static str, Image, Logged)>> {
    let mut log: Vec<Option<Logged>> = run()?.into_iter().map(Some).collect();
    let fixture = |(name, step): (&'static str, usize)| {
        let read = |ending| fs::read(path(name, ending)).expect("`write_fixtures` makes them");
        let image = Image::from([(SAVE.into(), read("sav")), (JOURNAL.into(), read("journal"))]);
        (name, image, log[step].take().unwrap())
    };
    Ok(FIXTURES.map(fixture).into())
}

#[test]
fn the_bytes_of_a_journal_are_those_of_its_fixture() -> Result<()> {
    for (name, image, logged) in fixtures()? {
        for file_name in [SAVE, JOURNAL] {
            let (is, was) = (file(&logged.image, file_name), file(&image, file_name));
            let same = is.iter().zip(was).take_while(|(is, was)| is == was).count();
            assert!(is == was, "{file_name} of {name} is another one from byte {same} on");
        }
    }
    Ok(())
}

#[test]
fn a_journal_that_was_written_on_another_day_is_done_again() -> Result<()> {
    for (name, image, logged) in fixtures()? {
        let (mut session, recovered) = new::session(&Disk::new(image.clone()))?;
        assert!(recovered.stopped.is_none(), "{name}: {recovered}");
        // The field has no place in today's component, so the copy has it.
        let dropped: Vec<_> = recovered.skipped.iter().map(|row| row.field.as_deref()).collect();
        assert!(dropped.iter().all(|field| *field == Some("gone")), "{name}: {recovered}");
        assert_eq!(recovered.kept.len(), dropped.len(), "{name}: {recovered}");
        assert_eq!(labels(&session), logged.labels, "{name}");
        check(&mut session, &logged, name)?;
        let session = old::session(&Disk::new(image))?;
        assert_eq!(
            (session.history().position(), labels(&session)),
            (logged.position, logged.labels)
        );
    }
    Ok(())
}

#[test]
fn a_journal_of_the_format_before_is_refused_and_stays() {
    let read = |ending| fs::read(path("format_1", ending)).expect("a fixture");
    let image = Image::from([(SAVE.into(), read("sav")), (JOURNAL.into(), read("journal"))]);
    let disk = Disk::new(image.clone());
    let refused = old::session(&disk).map(drop).expect_err("another format");
    insta::assert_snapshot!(refused);
    assert_eq!(file(&disk.image(), JOURNAL), file(&image, JOURNAL));
}

/// Writes the fixtures where there are none: `cargo test -p persist-tests --test journal -- --ignored`.
///
/// What is there is never replaced; a new format gets a folder of its own.
#[test]
#[ignore = "writes into the source tree"]
fn write_fixtures() -> Result<()> {
    let log = run()?;
    let parts = super::parts::run()?.pop().expect("a script").image;
    let of_script = FIXTURES.map(|(name, step)| (name, log[step].image.clone()));
    for (name, image) in of_script.into_iter().chain([("parts", parts)]) {
        for (ending, file_name) in [("sav", SAVE), ("journal", JOURNAL)] {
            match fs::File::create_new(path(name, ending)) {
                Ok(mut new) => new.write_all(file(&image, file_name)).unwrap(),
                Err(error) => assert_eq!(error.kind(), ErrorKind::AlreadyExists),
            }
        }
    }
    Ok(())
}

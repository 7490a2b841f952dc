//! What a program says of a save in its header.

#![allow(clippy::unwrap_used, reason = "the helpers are part of the tests")]

use std::io::Read;

use persist::save::Header;
use persist::storage::Memory;
use persist::{Document, ErrorKind, Limits, Persist, SaveManager};
use persist_tests::support::forge::Forged;

#[derive(Persist, Clone, Debug, PartialEq)]
#[persist(class = "Shown")]
struct Shown {
    chapter: String,
    minutes: u32,
}

fn shown() -> Shown {
    Shown { chapter: "The Mill".into(), minutes: 90 }
}

fn manager() -> SaveManager {
    let mut saves = SaveManager::new();
    saves.set_application("Quest", "1.0").unwrap();
    saves.set_metadata(&shown()).unwrap();
    saves
}

/// Counts what is read of it.
struct Counted<'s>(&'s [u8], usize);

impl Read for Counted<'_> {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let read = self.0.read(out)?;
        self.1 += read;
        Ok(read)
    }
}

/// A save with a header field of this content.
fn with_fields(fields: &[(u8, &[u8])]) -> Vec<u8> {
    let mut header_fields = Vec::new();
    for (tag, content) in fields {
        header_fields.push(*tag);
        header_fields.extend(u32::try_from(content.len()).unwrap().to_le_bytes());
        header_fields.extend(*content);
    }
    Forged { header_fields, ..Forged::parse(&persist::to_vec(&7_u8).unwrap()) }.build()
}

#[test]
fn metadata_is_read_without_the_rest_of_the_save() {
    let save = manager().value_to_vec(&vec![1_u8; 100_000]).unwrap();
    let mut reader = Counted(&save, 0);
    let header = Header::from_reader(&mut reader).unwrap();
    assert_eq!(header.metadata::<Shown>().unwrap(), Some(shown()));
    assert_eq!(header.application.as_deref(), Some("Quest"));
    assert!(reader.1 < 250, "{} bytes", reader.1);
}

#[test]
fn a_save_without_metadata_has_none() {
    let save = SaveManager::new().value_to_vec(&1_u8).unwrap();
    assert_eq!(Header::read(&save).unwrap().metadata::<Shown>().unwrap(), None);
}

#[test]
fn the_last_metadata_counts() {
    let mut saves = manager();
    saves.set_metadata(&String::from("other")).unwrap();
    let save = saves.value_to_vec(&1_u8).unwrap();
    let header = Header::read(&save).unwrap();
    assert_eq!(header.metadata::<String>().unwrap().as_deref(), Some("other"));
    let error = header.metadata::<Shown>().unwrap_err();
    assert!(error.message().starts_with("the metadata cannot be loaded: "), "{error}");
}

#[test]
fn a_load_reports_the_metadata() {
    let mut saves = manager();
    saves.set_storage(Memory::default());
    saves.save_value("a.sav", &1_u8).unwrap();
    let (_, loaded) = SaveManager::value_from_slice::<u8>(
        &mut SaveManager::new(),
        &saves.value_to_vec(&1_u8).unwrap(),
    )
    .unwrap();
    assert_eq!(loaded.report().header().metadata::<Shown>().unwrap(), Some(shown()));
    let (_, loaded) = saves.load_value::<u8>("a.sav").unwrap();
    assert_eq!(loaded.report().header().metadata::<Shown>().unwrap(), Some(shown()));
}

#[test]
fn the_type_of_the_metadata_may_change() {
    #[derive(Persist, Debug, PartialEq)]
    #[persist(class = "Shown")]
    struct Newer {
        #[persist(default)]
        picture: Vec<u8>,
        minutes: u64,
        #[persist(alias = "chapter")]
        title: String,
    }
    let save = manager().value_to_vec(&1_u8).unwrap();
    let newer = Header::read(&save).unwrap().metadata::<Newer>().unwrap().unwrap();
    assert_eq!(newer, Newer { picture: vec![], minutes: 90, title: "The Mill".into() });
}

#[test]
fn a_document_keeps_and_shows_the_metadata() {
    let save = manager().value_to_vec(&1_u8).unwrap();
    let document = Document::from_slice(&save).unwrap();
    assert!(document.to_vec().unwrap() == save);
    assert!(document.to_string().contains("The Mill"), "{document}");
    let metadata = document.header().metadata_document().unwrap().unwrap();
    assert_eq!(metadata.root().unwrap().as_record().unwrap().get("minutes"), Some(&90_u32.into()));
}

#[test]
fn the_limit_holds_where_it_is_set_written_read_and_loaded() {
    let large = vec![1_u8; 2 << 20];
    let mut saves = SaveManager::new();
    let error = saves.set_metadata(&large).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooLarge);
    assert!(error.message().contains("`Limits::metadata`"), "{error}");

    let more = Limits { metadata: 4 << 20, ..Limits::default() };
    saves.set_limits(more);
    saves.set_metadata(&large).unwrap();
    let save = saves.value_to_vec(&1_u8).unwrap();
    saves.value_from_slice::<u8>(&save).unwrap();
    assert_eq!(Header::within(&save[..], &more).unwrap().metadata().unwrap(), Some(large));
    assert_eq!(Header::from_reader(&save[..]).unwrap_err().kind(), ErrorKind::TooLarge);
    saves.set_limits(Limits::default());
    assert_eq!(saves.value_to_vec(&1_u8).unwrap_err().kind(), ErrorKind::TooLarge);
    assert_eq!(saves.value_from_slice::<u8>(&save).unwrap_err().kind(), ErrorKind::TooLarge);
}

#[test]
fn a_generation_behind_large_metadata_is_found() {
    let mut saves = SaveManager::new();
    saves.set_storage(Memory::default());
    saves.set_limits(Limits { metadata: 4 << 20, ..Limits::default() });
    saves.set_metadata(&vec![1_u8; 2 << 20]).unwrap();
    for generation in 1..4 {
        saves.save_value("a.sav", &1_u8).unwrap();
        let (_, loaded) = saves.load_value::<u8>("a.sav").unwrap();
        assert_eq!(loaded.report().header().generation, generation);
    }
}

#[test]
fn a_header_that_says_it_is_long_is_refused_before_it_is_read() {
    let mut save = manager().value_to_vec(&1_u8).unwrap();
    save[12..16].copy_from_slice(&u32::MAX.to_le_bytes());
    let mut reader = Counted(&save, 0);
    let used = allocation_counter::measure(|| {
        let error = Header::from_reader(&mut reader).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TooLarge);
    });
    assert_eq!(reader.1, 16);
    assert!(used.bytes_max < 4096, "{}", used.bytes_max);
}

#[test]
fn metadata_that_is_no_save_is_an_error_where_it_is_asked_for() {
    let save = with_fields(&[(3, b"abc")]);
    assert_eq!(persist::from_slice::<u8>(&save).unwrap(), 7);
    let error = Header::read(&save).unwrap().metadata::<Shown>().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotASave);
    assert!(!Document::from_slice(&save).unwrap().to_string().contains("metadata"));

    let twice = with_fields(&[(3, b"abc"), (3, b"")]);
    assert_eq!(persist::from_slice::<u8>(&twice).unwrap_err().kind(), ErrorKind::Damaged);
}

#[test]
fn metadata_inside_of_metadata_without_end_is_only_bytes() {
    let mut inner = persist::to_vec(&1_u8).unwrap();
    for _ in 0..300 {
        let parts = Forged::parse(&persist::to_vec(&7_u8).unwrap());
        let length = u32::try_from(inner.len()).unwrap();
        let header_fields = [&[3][..], &length.to_le_bytes(), &inner].concat();
        inner = Forged { header_fields, ..parts }.build();
    }
    let document = Document::from_slice(&inner).unwrap();
    assert_eq!(document.to_string().matches("metadata").count(), 1);
}

//! What a save says of itself in its header.

#![allow(clippy::unwrap_used, reason = "the helpers are part of the tests")]

use std::io::Read;
use std::path::Path;
use std::time::{Duration, SystemTime};

use persist::save::{Header, SlotInfo};
use persist::storage::{Memory, Storage};
use persist::{ErrorKind, Limits, Persist, Saves};
use persist_tests::support::forge::Forged;
use persist_tools::Document;

#[derive(Persist, Clone, Debug, PartialEq)]
#[persist(class = "Shown")]
struct Shown {
    chapter: String,
    minutes: u32,
}

fn shown() -> Shown {
    Shown { chapter: "The Mill".into(), minutes: 90 }
}

fn info() -> SlotInfo {
    SlotInfo::new("The Mill")
        .play_time(Duration::from_secs(5400))
        .thumbnail([7; 40])
        .value(&shown())
        .unwrap()
}

fn saves() -> (Saves, Memory) {
    let disk = Memory::default();
    (Saves::new().application("Quest", "1.0").unwrap().storage(disk.clone()), disk)
}

fn read(disk: &Memory, path: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    disk.open(Path::new(path)).unwrap().read_to_end(&mut bytes).unwrap();
    bytes
}

/// The file of a save with this info.
fn with_info(info: SlotInfo, value: &impl Persist) -> Vec<u8> {
    let (saves, disk) = saves();
    saves.file("a.sav").info(info).save(value).unwrap();
    read(&disk, "a.sav")
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
fn info_is_read_without_the_rest_of_the_save() {
    let before = SystemTime::now();
    let save = with_info(info(), &vec![1_u8; 100_000]);
    let mut reader = Counted(&save, 0);
    let header = Header::from_reader(&mut reader).unwrap();
    assert!(reader.1 < 700, "{} bytes", reader.1);
    assert_eq!(header.application.as_deref(), Some("Quest"));
    let read = header.info();
    assert_eq!((&*read.title, &*read.thumbnail), ("The Mill", &[7; 40][..]));
    assert_eq!(read.play_time, Some(Duration::from_secs(5400)));
    assert!(read.saved_at.is_some_and(|time| (before..=SystemTime::now()).contains(&time)));
    assert_eq!(read.get::<Shown>().unwrap(), Some(shown()));
}

#[test]
fn a_save_in_memory_has_no_info_and_a_file_without_one_has_the_time() {
    let save = saves().0.to_vec(&1_u8).unwrap();
    let info = Header::read(&save).unwrap().info();
    assert_eq!(info, SlotInfo::default());
    assert_eq!(info.get::<Shown>().unwrap(), None);

    let (saves, disk) = saves();
    saves.file("a.sav").save(&1_u8).unwrap();
    let mut info = Header::read(&read(&disk, "a.sav")).unwrap().info();
    assert!(info.saved_at.take().is_some());
    assert_eq!(info, SlotInfo::default());
}

#[test]
fn info_belongs_to_one_handle() {
    let (saves, disk) = saves();
    let title = || Header::read(&read(&disk, "a.sav")).unwrap().info().title;
    let handle = saves.file("a.sav").info(SlotInfo::new("The Cave")).info(info());
    handle.save(&1_u8).unwrap();
    assert_eq!(title(), "The Mill");
    handle.save_in_background(&2_u8).unwrap().wait().unwrap();
    assert_eq!(title(), "The Mill");
    saves.file("a.sav").save(&3_u8).unwrap();
    assert_eq!(title(), "");
}

#[test]
fn a_value_of_another_class_is_an_error_that_says_where_it_is() {
    let save = with_info(SlotInfo::new("").value(&String::from("other")).unwrap(), &1_u8);
    let info = Header::read(&save).unwrap().info();
    assert_eq!(info.get::<String>().unwrap().as_deref(), Some("other"));
    let error = info.get::<Shown>().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WrongClass);
    insta::assert_snapshot!(error);
}

#[test]
fn a_load_returns_the_info() {
    let (saves, disk) = saves();
    let slot = saves.file("a.sav").info(info());
    slot.save(&1_u8).unwrap();
    for loaded in [slot.load::<u8>(), saves.from_slice(&read(&disk, "a.sav"))] {
        let loaded = loaded.unwrap();
        assert_eq!(loaded.info().title, "The Mill");
        assert_eq!(loaded.info().get::<Shown>().unwrap(), Some(shown()));
        assert_eq!(loaded.report().header().info(), loaded.info());
    }
}

#[test]
fn the_type_of_the_value_may_change() {
    #[derive(Persist, Debug, PartialEq)]
    #[persist(class = "Shown")]
    struct Newer {
        #[persist(default)]
        picture: Vec<u8>,
        minutes: u64,
        #[persist(alias = "chapter")]
        title: String,
    }
    let info = Header::read(&with_info(info(), &1_u8)).unwrap().info();
    let newer = info.get::<Newer>().unwrap().unwrap();
    assert_eq!(newer, Newer { picture: vec![], minutes: 90, title: "The Mill".into() });
}

#[test]
fn a_document_keeps_and_shows_the_info() {
    let value = Shown { chapter: "The Cave".into(), minutes: 90 };
    let save = with_info(info().value(&value).unwrap(), &1_u8);
    let document = Document::from_slice(&save).unwrap();
    assert!(document.to_vec().unwrap() == save);
    for shown in ["The Mill", "1 h 30 min played", "thumbnail of 40 bytes", "The Cave"] {
        assert!(document.to_string().contains(shown), "{document}");
    }
    let value = Document::from_info(&document.header().info()).unwrap().unwrap();
    assert_eq!(value.root().unwrap().as_record().unwrap().get("minutes"), Some(&90_u32.into()));
}

#[test]
fn the_limit_holds_where_info_is_written_read_and_loaded() {
    let large = || SlotInfo::new("").thumbnail(vec![1_u8; 2 << 20]);
    let (saves, disk) = saves();
    let error = saves.file("a.sav").info(large()).save(&1_u8).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooLarge);
    insta::assert_snapshot!(error);
    let error = saves.file("a.sav").info(large()).save_in_background(&1_u8).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooLarge);
    assert!(disk.open(Path::new("a.sav")).is_err());

    let more = Limits::new().metadata(4 << 20);
    let wide = saves.clone().limits(more);
    wide.file("a.sav").info(large()).save(&1_u8).unwrap();
    let save = read(&disk, "a.sav");
    wide.from_slice::<u8>(&save).unwrap();
    assert_eq!(Header::within(&save[..], &more).unwrap().info().thumbnail.len(), 2 << 20);
    assert_eq!(Header::from_reader(&save[..]).unwrap_err().kind(), ErrorKind::TooLarge);
    assert_eq!(saves.from_slice::<u8>(&save).unwrap_err().kind(), ErrorKind::TooLarge);
    assert_eq!(saves.file("a.sav").load::<u8>().unwrap_err().kind(), ErrorKind::TooLarge);
}

#[test]
fn a_generation_after_large_info_is_found() {
    let saves = saves().0.limits(Limits::new().metadata(4 << 20));
    let slot = saves.file("a.sav").info(SlotInfo::new("").thumbnail(vec![1_u8; 2 << 20]));
    for generation in 1..4 {
        slot.save(&1_u8).unwrap();
        assert_eq!(slot.load::<u8>().unwrap().report().header().generation, generation);
    }
}

#[test]
fn a_header_that_says_it_is_long_is_refused_before_it_is_read() {
    let mut save = with_info(info(), &1_u8);
    save[12..16].copy_from_slice(&u32::MAX.to_le_bytes());
    let mut reader = Counted(&save, 0);
    let used = allocation_counter::measure(|| {
        let error = Header::from_reader(&mut reader).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TooLarge);
    });
    assert_eq!(reader.1, 16);
    assert!(used.bytes_max < 4096, "{}", used.bytes_max);
}

/// Whatever stands in the place of the info, the save itself is loaded and shown.
#[test]
fn info_that_is_no_save_is_an_error_where_it_is_asked_for() {
    let save = with_fields(&[(3, b"abc")]);
    assert_eq!(persist::from_slice::<u8>(&save).unwrap(), 7);
    let info = Header::read(&save).unwrap().info();
    assert_eq!((&*info.title, info.saved_at), ("", None));
    assert_eq!(info.get::<Shown>().unwrap_err().kind(), ErrorKind::NotASave);
    assert!(!Document::from_slice(&save).unwrap().to_string().contains("metadata"));

    let twice = with_fields(&[(3, b"abc"), (3, b"")]);
    assert_eq!(persist::from_slice::<u8>(&twice).unwrap_err().kind(), ErrorKind::Damaged);
}

/// Programs of earlier versions put a value of their own into the header.
#[test]
fn a_value_in_the_place_of_the_info_is_the_value_of_it() {
    let save = with_fields(&[(3, &persist::to_vec(&shown()).unwrap())]);
    let info = Header::read(&save).unwrap().info();
    assert_eq!(info.title, "");
    assert_eq!(info.get::<Shown>().unwrap(), Some(shown()));
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

//! Title, time and thumbnail belong to one save.

use std::time::{Duration, SystemTime};

use persist::save::{SlotInfo, slot_name};
use persist::storage::check_slot_name;
use persist::{ErrorKind, History, Limits, Persist, SaveManager, Saves, Session};

use super::Counting;

#[derive(Persist, Debug, PartialEq)]
struct Shown {
    deaths: u32,
}

#[test]
fn the_info_of_one_save_is_in_no_other() {
    let saves = Saves::new().storage(Counting::default());
    let slots = saves.slots("saves");
    let picture = vec![0x89, b'P', b'N', b'G'];
    let info = SlotInfo::new("The Mill").play_time(Duration::from_secs(5400)).thumbnail(picture);
    let info = info.value(&Shown { deaths: 3 }).expect("a value");
    slots.slot("Ada").info(info).save(&1_u32).expect("a save");
    slots.slot("Bob").save(&2_u32).expect("a save");
    slots.slot("Ada again").save(&slots.slot("Ada").load::<u32>().expect("Ada")).expect("a save");
    slots.auto(2).save(&3_u32).expect("a save");
    let saving = slots.auto(2).info(SlotInfo::new("auto")).save_in_background(&4_u32);
    saving.expect("a save").wait().expect("a save");

    let list = slots.list().expect("a list");
    let title = |name: &str| {
        let entry = list.iter().find(|entry| entry.name == name).expect("the slot");
        (entry.info.title.clone(), entry.info.thumbnail.len(), entry.info.play_time)
    };
    assert_eq!(title("Ada"), ("The Mill".into(), 4, Some(Duration::from_secs(5400))));
    for other in ["Bob", "Ada again", "auto1"] {
        assert_eq!(title(other), (String::new(), 0, None), "{other}");
    }
    assert_eq!(title("auto2").0, "auto");
    let ada = list.iter().find(|entry| entry.name == "Ada").expect("the slot");
    assert_eq!(ada.info.get::<Shown>().expect("a value"), Some(Shown { deaths: 3 }));
    let loaded = slots.slot("Ada").load::<u32>().expect("the save");
    assert_eq!(loaded.info(), ada.info);
}

#[test]
fn every_save_in_a_place_has_its_time() {
    let before = SystemTime::now() - Duration::from_secs(1);
    let saves = Saves::new().storage(Counting::default());
    let mut manager = saves.manager();
    manager.add(&std::rc::Rc::new(std::cell::RefCell::new(7_u32))).expect("an object");
    manager.save("saves/objects.sav").expect("a save");
    saves.file("saves/value.sav").save(&7_u32).expect("a save");
    let session = Session::<u32>::with(saves.clone(), History::new(8));
    let (mut session, _) = session.open("saves/edited.sav", "saves/a.journal").expect("a session");
    session.save().expect("a save");
    drop(session);
    for entry in saves.slots("saves").list().expect("a list") {
        let time = entry.info.saved_at.expect("a time");
        assert!(time > before && time < before + Duration::from_secs(60), "{}", entry.name);
    }
}

#[test]
fn functions_of_the_root_write_no_time() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.sav");
    persist::save(&path, &7_u32).expect("a save");
    let entry = Saves::new().slots(folder.path()).list().expect("a list").remove(0);
    assert_eq!(entry.info, SlotInfo::default());
    assert_eq!(entry.header.generation, 1);
    let save = persist::to_vec(&7_u32).expect("a save");
    assert_eq!(save, Saves::new().to_vec(&7_u32).expect("a save"));
    assert_eq!(save, persist::to_vec(&7_u32).expect("the same bytes"));
}

#[test]
fn an_info_keeps_no_time_of_an_earlier_save() {
    let slots = Saves::new().storage(Counting::default()).slots("saves");
    slots.slot("Ada").info(SlotInfo::new("The Mill")).save(&1_u32).expect("a save");
    let mut info = slots.slot("Ada").load::<u32>().expect("the save").info();
    let long_ago = SystemTime::UNIX_EPOCH;
    info.saved_at = Some(long_ago);
    slots.slot("Ada").info(info).save(&2_u32).expect("a save");
    let info = slots.slot("Ada").load::<u32>().expect("the save").info();
    assert_eq!(info.title, "The Mill");
    assert!(info.saved_at > Some(long_ago));
}

#[test]
fn a_menu_lists_the_newest_first_on_request() {
    let saves = Saves::new().storage(Counting::default());
    let slots = saves.slots("saves");
    for name in ["b", "a", "c"] {
        slots.slot(name).save(&1_u32).expect("a save");
        std::thread::sleep(Duration::from_millis(2));
    }
    let names = |list: Vec<persist::save::SlotEntry>| {
        list.into_iter().map(|entry| entry.name).collect::<Vec<_>>()
    };
    assert_eq!(names(slots.list().expect("a list")), ["a", "b", "c"]);
    assert_eq!(names(slots.list_newest_first().expect("a list")), ["c", "a", "b"]);
}

#[test]
fn a_line_of_a_menu_is_for_the_player() {
    let slots = Saves::new().storage(Counting::default()).slots("saves");
    let info = SlotInfo::new("The Mill").play_time(Duration::from_secs(5400));
    slots.slot("Ada").info(info).save(&1_u32).expect("a save");
    let line = slots.list().expect("a list").remove(0).to_string();
    assert!(line.starts_with("Ada: The Mill, 20"), "{line}");
    assert!(line.ends_with(" UTC, 1 h 30 min played"), "{line}");
}

#[test]
fn a_thumbnail_over_the_limit_is_refused_before_a_file_is_touched() {
    let storage = Counting::default();
    let saves = Saves::new().storage(storage.clone()).limits(Limits::new().metadata(1000));
    let slot = saves.slots("saves").slot("Ada");
    slot.save(&1_u32).expect("a save");
    let (before, changes) = (storage.snapshot(), storage.changes());
    let large = slot.clone().info(SlotInfo::new("x").thumbnail(vec![0; 1000]));
    let error = large.save(&2_u32).expect_err("too large");
    assert_eq!(error.kind(), ErrorKind::TooLarge);
    assert!(error.message().contains("1000 of them the thumbnail"), "{error}");
    large.save_in_background(&2_u32).map(drop).expect_err("too large");
    assert_eq!((storage.snapshot(), storage.changes()), (before, changes));
}

#[test]
fn any_title_makes_the_name_of_a_slot() {
    let long = "Ada".repeat(100);
    let longer = "Ada".repeat(101);
    let titles = [
        "Ada's farm",
        "Ada: 3/4",
        "Ada:3/4",
        "Ada 3 4",
        "",
        "%",
        "%25",
        "con",
        "CON",
        "auto1",
        "Auto12",
        "%61uto1",
        "automatic",
        "lpt1.txt",
        ".",
        "..",
        " Ada",
        "Ada ",
        "Ada.",
        "../passwords",
        "C:\\Windows",
        "Zoë",
        "日本語",
        "a\0b",
        "a\nb",
        "tab\t",
        &long,
        &longer,
    ];
    let names: Vec<String> = titles.iter().map(|title| slot_name(title)).collect();
    for (title, name) in titles.iter().zip(&names) {
        check_slot_name(name).unwrap_or_else(|error| panic!("{title:?}: {error}"));
        let same = names.iter().filter(|other| other.to_lowercase() == name.to_lowercase()).count();
        assert!(same == 1 || title.eq_ignore_ascii_case("con"), "{title:?} shares {name:?}");
    }
    assert_eq!(names[0], "Ada's farm");
    let saves = Saves::new().storage(Counting::default());
    let slots = saves.slots("saves");
    for (title, name) in titles.iter().zip(&names) {
        slots.slot(name).info(SlotInfo::new(*title)).save(&1_u32).expect("a save");
    }
    // A rotation takes none of them, and a list shows each by its title, once.
    slots.auto(2).save(&2_u32).expect("a save");
    assert!(slots.auto(2).path().expect("a path").ends_with("auto1.sav"));
    slots.auto(2).delete().expect("the slot of the rotation");
    let list = slots.list().expect("a list");
    for entry in list.iter().filter(|entry| entry.info.title.len() < 100) {
        let line = entry.to_string();
        // A title steers no terminal.
        let title: String =
            entry.info.title.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        assert!(line.starts_with(&title), "{line:?} of {title:?}");
        assert!(line.matches(&*title).count() == 1 || title.len() < 3, "{line:?}");
    }
}

#[test]
fn a_manager_is_saved_into_a_slot_with_its_info() {
    let saves = Saves::new().storage(Counting::default());
    let mut manager = saves.manager();
    manager.add(&std::rc::Rc::new(std::cell::RefCell::new(7_u32))).expect("an object");
    let slot = saves.slots("saves").slot("quick");
    slot.clone().info(SlotInfo::new("The Mill")).save(&manager).expect("a save");
    let loaded = slot.load::<SaveManager>().expect("the save");
    assert_eq!(loaded.info().title, "The Mill");
    assert_eq!(*loaded.first::<u32>().expect("the object").borrow(), 7);
}

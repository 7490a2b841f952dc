//! Sessions: journals that are damaged or malicious, what they cannot hold, disks that fail.

use persist::world::Activity;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use persist::history::{CommandEdit, Flush, SessionOptions};
use persist::{
    Command, Component, History, ObjectId, Persist, Result, SaveOptions, Saves, Session, World,
};

use crate::messages::disk::{Disk, sweep, sweep_all};
use crate::messages::table::Table;

const SAVE: &str = "plan.sav";
const JOURNAL: &str = "plan.journal";

/// Bytes of the header of a journal, of the head of a frame, and of the checksum behind it.
const HEADER: usize = 48;
const HEAD: usize = 15;
const CRC: usize = 4;

fn saves_on(disk: &Disk) -> Saves {
    Saves::new().storage(disk.clone()).save_options(SaveOptions::new().wait(Duration::ZERO))
}

#[derive(Persist)]
struct Write {
    word: String,
}

impl Command<String> for Write {
    fn apply(&mut self, edit: &mut CommandEdit<'_, String>) -> Result<()> {
        edit.target().push_str(&self.word);
        Ok(())
    }

    fn undo(&mut self, text: &mut String) -> Result<()> {
        text.truncate(text.len() - self.word.len());
        Ok(())
    }
}

thread_local! {
    /// What the next command of these does.
    static MOOD: Cell<u8> = const { Cell::new(0) };
}

/// Does what it should once, and then nothing, or panics.
#[derive(Persist)]
struct Fickle;

impl Command<String> for Fickle {
    fn apply(&mut self, edit: &mut CommandEdit<'_, String>) -> Result<()> {
        match MOOD.get() {
            0 => edit.target().push('!'),
            1 => std::panic::resume_unwind(Box::new("on purpose")),
            _ => {
                edit.target().push('?');
                std::panic::resume_unwind(Box::new("on purpose"))
            }
        }
        Ok(())
    }

    fn undo(&mut self, text: &mut String) -> Result<()> {
        text.pop();
        Ok(())
    }

    fn is_obsolete(&self) -> bool {
        MOOD.get() == 3
    }
}

/// A command that is never registered.
#[derive(Persist)]
struct Foreign;

impl Command<String> for Foreign {
    fn apply(&mut self, edit: &mut CommandEdit<'_, String>) -> Result<()> {
        edit.target().push('#');
        Ok(())
    }

    fn undo(&mut self, text: &mut String) -> Result<()> {
        text.pop();
        Ok(())
    }
}

/// A command that cannot be in a journal.
#[derive(Persist)]
struct Sharing {
    text: Arc<u8>,
}

impl Command<String> for Sharing {
    fn apply(&mut self, edit: &mut CommandEdit<'_, String>) -> Result<()> {
        edit.target().push('&');
        Ok(())
    }

    fn undo(&mut self, text: &mut String) -> Result<()> {
        text.pop();
        Ok(())
    }
}

fn options(disk: &Disk) -> SessionOptions<String> {
    let options = Session::with(saves_on(disk), History::new(100)).flush(Flush::OnIdle);
    options
        .register_command::<Write>()
        .and_then(SessionOptions::register_command::<Fickle>)
        .and_then(SessionOptions::register_command::<Sharing>)
        .unwrap()
}

fn open(disk: &Disk) -> Result<Session<String>> {
    options(disk).open(SAVE, JOURNAL).map(|(session, _)| session)
}

fn write(session: &mut Session<String>, word: &str) -> Result<()> {
    session.apply(Write { word: word.into() })
}

/// A session with something of each sort.
fn text() -> Disk {
    let disk = Disk::default();
    let mut session = open(&disk).unwrap();
    write(&mut session, "first ").unwrap();
    write(&mut session, "second ").unwrap();
    session.save().unwrap();
    write(&mut session, "third ").unwrap();
    session.undo().unwrap();
    session.redo().unwrap();
    session.begin("Group").unwrap();
    write(&mut session, "fourth ").unwrap();
    session.commit().unwrap();
    session.set_modified(true).unwrap();
    disk
}

#[derive(Persist, Default)]
struct Transform {
    x: f32,
}

#[derive(Persist, Default)]
struct Bag {
    items: Vec<String>,
    owner: Option<ObjectId>,
}

#[derive(Persist, Default)]
struct Score(u32);

impl Component for Transform {}
impl Component for Bag {}

fn world_saves(disk: &Disk) -> Saves {
    let saves = saves_on(disk);
    saves.register_component::<Transform>().unwrap();
    saves.register_component::<Bag>().unwrap();
    saves.register_resource::<Score>().unwrap();
    saves
}

fn open_world(disk: &Disk) -> Result<(Session<World>, persist::history::Recovered)> {
    Session::with(world_saves(disk), History::new(None)).flush(Flush::OnIdle).open(SAVE, JOURNAL)
}

/// A session of a world with something of each sort, done, undone and saved.
fn world() -> Disk {
    let disk = Disk::default();
    let (mut session, _) = open_world(&disk).unwrap();
    let house = session.edit("", |edit| edit.spawn("House")).unwrap();
    let door = session.edit("", |edit| edit.spawn_in(house, "Door")).unwrap();
    session.edit("", |edit| edit.attach(door, Transform { x: 1.0 })).unwrap();
    session
        .edit("", |edit| edit.attach(house, Bag { items: vec!["key".into()], owner: Some(door) }))
        .unwrap();
    session.set(door, "Transform:x", 5.0).unwrap();
    session.edit("", |edit| edit.insert_element(house, "Bag:items", 0, "a")).unwrap();
    session.edit("", |edit| edit.move_element(house, "Bag:items", 0, 1)).unwrap();
    session.edit("", |edit| edit.remove_element(house, "Bag:items", 0)).unwrap();
    session.edit("", |edit| edit.insert_resource(Score(7))).unwrap();
    session.edit("", |edit| edit.rename(door, "Gate").map(drop)).unwrap();
    session.edit("", |edit| edit.set_parent(door, None)).unwrap();
    session.edit("", |edit| edit.set_activity(door, Activity::Paused)).unwrap();
    session.edit("", |edit| edit.remove_resource::<Score>()).unwrap();
    session.edit("", |edit| edit.detach::<Bag>(house)).unwrap();
    session.edit("", |edit| edit.remove(door)).unwrap();
    session.undo().unwrap();
    session.undo().unwrap();
    session.save().unwrap();
    session.undo().unwrap();
    session.undo().unwrap();
    session.redo().unwrap();
    session.edit("", |edit| edit.spawn("New").map(drop)).unwrap();
    session.edit("", |edit| edit.remove(house)).unwrap();
    session.edit("", |edit| edit.insert_resource(Score(8))).unwrap();
    session.edit("", |edit| edit.attach(door, Bag::default())).unwrap();
    disk
}

/// Where each frame begins, and how long it is.
fn frames(journal: &[u8]) -> Vec<(usize, usize)> {
    let (mut at, mut found) = (HEADER, Vec::new());
    while at < journal.len() {
        let length = u32::from_le_bytes(journal[at..at + 4].try_into().unwrap()) as usize;
        found.push((at, HEAD + length + CRC));
        at += HEAD + length + CRC;
    }
    found
}

/// Makes the checksum of a frame right.
fn seal(frame: &mut [u8]) {
    let (content, crc) = frame.split_at_mut(frame.len() - CRC);
    crc.copy_from_slice(&crc32fast::hash(content).to_le_bytes());
}

/// Adds what is said of a journal that was changed.
fn try_journal(
    table: &mut Table,
    what: &str,
    disk: &Disk,
    journal: &[u8],
    open: fn(&Disk) -> Result<Option<String>>,
) {
    let other = Disk::default();
    other.write(SAVE, &disk.read(SAVE));
    other.write(JOURNAL, journal);
    match open(&other) {
        Ok(cause) => table.line(what, &cause.unwrap_or_default()),
        Err(error) => table.error(what, &error),
    }
}

fn cause_of_text(disk: &Disk) -> Result<Option<String>> {
    MOOD.set(0);
    let (_, recovered) = options(disk).open(SAVE, JOURNAL)?;
    Ok(recovered.stopped.map(|stopped| stopped.cause))
}

fn cause_of_world(disk: &Disk) -> Result<Option<String>> {
    let (_, recovered) = open_world(disk)?;
    Ok(recovered.stopped.map(|stopped| stopped.cause))
}

/// Changes one byte of a frame, behind its head, and adds what is said of it.
fn patch(
    table: &mut Table,
    disk: &Disk,
    open: fn(&Disk) -> Result<Option<String>>,
    (frame, byte, value): (usize, usize, u8),
) {
    let mut journal = disk.read(JOURNAL);
    let (at, length) = frames(&journal)[frame];
    journal[at + byte] = value;
    seal(&mut journal[at..at + length]);
    try_journal(table, &format!("byte {byte} of frame {frame} as {value}"), disk, &journal, open);
}

/// Frames in another order, and what is said of them.
fn reorder(
    table: &mut Table,
    disk: &Disk,
    open: fn(&Disk) -> Result<Option<String>>,
    what: &str,
    change: impl FnOnce(&mut Vec<usize>),
) {
    let journal = disk.read(JOURNAL);
    let places = frames(&journal);
    let mut order: Vec<usize> = (0..places.len()).collect();
    change(&mut order);
    let mut bytes = journal[..HEADER].to_vec();
    for (number, place) in order.into_iter().enumerate() {
        let (at, length) = places[place];
        let start = bytes.len();
        bytes.extend_from_slice(&journal[at..at + length]);
        bytes[start + 7..start + HEAD].copy_from_slice(&(number as u64 + 1).to_le_bytes());
        seal(&mut bytes[start..]);
    }
    try_journal(table, what, disk, &bytes, open);
}

/// A frame behind the others, and what is said of it.
fn append(table: &mut Table, what: &str, kind: u8, payload: &[u8]) {
    let disk = text();
    let mut journal = disk.read(JOURNAL);
    let (last, _) = *frames(&journal).last().unwrap();
    let number = u64::from_le_bytes(journal[last + 7..last + HEAD].try_into().unwrap()) + 1;
    let start = journal.len();
    journal.extend(u32::try_from(payload.len()).unwrap().to_le_bytes());
    journal.extend_from_slice(&[kind, 0, 0]);
    journal.extend(number.to_le_bytes());
    journal.extend(payload);
    journal.extend([0; CRC]);
    seal(&mut journal[start..]);
    try_journal(table, what, &disk, &journal, cause_of_text);
}

#[test]
fn journals_of_commands_made_to_harm() {
    let mut table = Table::new();
    let disk = text();
    for change in [
        (0, 4, 3),
        (0, 16, 0),
        (1, 15, 0),
        (1, 15, 3),
        (1, 31, 2),
        (1, 31, 3),
        (2, 26, 2),
        (2, 26, 3),
        (2, 26, 0x7f),
    ] {
        patch(&mut table, &disk, cause_of_text, change);
    }
    reorder(&mut table, &disk, cause_of_text, "an undo too early", |order| order.swap(4, 5));
    reorder(&mut table, &disk, cause_of_text, "a beginning alone", |order| order.truncate(1));
    append(&mut table, "a saved state", 22, &[1, 0, 0, 0, 1, 0, 0, 0, 0]);
    append(&mut table, "an entry that is skipped", 24, &[1, 99, 0, 0, 0, 0, 0, 0, 0]);
    append(
        &mut table,
        "entries that are evicted",
        26,
        &[99, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
    );
    append(&mut table, "an entry to be skipped", 27, &[1]);
    append(&mut table, "a part without a whole digest", 5, &[1, 2, 3]);
    let run = |numbers: [u64; 4]| [&[1][..], &numbers.map(u64::to_le_bytes).concat()].concat();
    append(&mut table, "entries after their beginning", 6, &run([1 << 40, 9, 0, 1]));
    append(&mut table, "no entry in its place", 6, &run([0, 48, 0, 1]));
    let save = persist::to_vec(&String::from("a save")).unwrap();
    let program = [&[u8::try_from(save.len()).unwrap()][..], &save, &[0]].concat();
    append(&mut table, "a save for classes", 1, &program);
    insta::assert_snapshot!(table.text());
}

#[test]
fn journals_of_worlds_made_to_harm() {
    let mut table = Table::new();
    let disk = world();
    for change in [
        (1, 23, 0),
        (1, 23, 2),
        (2, 17, 0),
        (15, 27, 2),
        (16, 37, b'T'),
        (22, 25, 0x7f),
        (22, 37, 2),
        (25, 38, 0),
    ] {
        patch(&mut table, &disk, cause_of_world, change);
    }
    let open = cause_of_world;
    reorder(&mut table, &disk, open, "no classes", |order| order[0] = 2);
    reorder(&mut table, &disk, open, "a component twice", |order| order[16] = 17);
    insta::assert_snapshot!(table.text());
}

/// Opens a session with a journal that was changed.
fn changed(change: impl FnOnce(&mut Vec<u8>)) -> Result<String> {
    let disk = text();
    let mut journal = disk.read(JOURNAL);
    change(&mut journal);
    disk.write(JOURNAL, &journal);
    MOOD.set(0);
    let (_, recovered) = options(&disk).open(SAVE, JOURNAL)?;
    Ok(recovered.to_string())
}

#[test]
fn journals_that_are_damaged() {
    let mut table = Table::new();
    table.add("another file", changed(|journal| journal[0] = b'x'));
    let mut add = |what: &str, change: fn(&mut Vec<u8>)| match changed(change) {
        Ok(recovered) => table.line(what, &recovered),
        Err(error) => table.error(what, &error),
    };
    add("a newer journal", |journal| {
        journal[8] = 9;
        let crc = crc32fast::hash(&journal[..HEADER - CRC]);
        journal[HEADER - CRC..HEADER].copy_from_slice(&crc.to_le_bytes());
    });
    add("a journal that is whole", |_| ());
    add("a header that is cut short", |journal| journal.truncate(20));
    add("a header that is damaged", |journal| journal[30] ^= 1);
    add("a frame that is cut short", |journal| journal.truncate(journal.len() - 3));
    add("a frame that is damaged", |journal| {
        let (at, _) = frames(journal)[3];
        journal[at + HEAD] ^= 1;
    });
    add("a frame that is missing", |journal| {
        let (at, length) = frames(journal)[4];
        journal.drain(at..at + length);
    });
    add("a frame of another kind", |journal| {
        let (at, length) = frames(journal)[4];
        journal[at + 4] = 99;
        seal(&mut journal[at..at + length]);
    });
    add("a transaction that is open", |journal| {
        let places = frames(journal);
        let group = places.iter().rposition(|(at, _)| journal[at + 4] == 20).unwrap();
        journal.truncate(places[group].0);
    });
    add("nothing but a beginning", |journal| {
        let events = frames(journal).into_iter().find(|(at, _)| journal[at + 4] >= 16);
        journal.truncate(events.unwrap().0);
    });
    insta::assert_snapshot!(table.text());
}

#[test]
fn recoveries() {
    let mut table = Table::new();
    let shown = |table: &mut Table, what: &str, disk: &Disk| {
        let (_, recovered) = options(disk).open(SAVE, JOURNAL).unwrap();
        table.line(what, &recovered.to_string());
    };
    shown(&mut table, "nothing", &Disk::default());
    let disk = Disk::default();
    write(&mut open(&disk).unwrap(), "first").unwrap();
    shown(&mut table, "a journal without a save", &disk);
    let disk = text();
    saves_on(&disk).file(SAVE).save(&String::from("another")).unwrap();
    shown(&mut table, "a journal of another save", &disk);
    let disk = text();
    disk.delete(SAVE);
    shown(&mut table, "a journal whose save is gone", &disk);
    for (what, mood) in [("a command that panics", 1), ("a command that does nothing", 3)] {
        let disk = Disk::default();
        MOOD.set(0);
        let mut session = open(&disk).unwrap();
        session.apply(Fickle).unwrap();
        drop(session);
        MOOD.set(mood);
        shown(&mut table, what, &disk);
        MOOD.set(0);
    }
    let disk = text();
    let (_, recovered) =
        Session::<String>::with(saves_on(&disk), History::new(9)).open(SAVE, JOURNAL).unwrap();
    table.line("a command that is not registered", &recovered.to_string());
    let disk = world();
    let saves = saves_on(&disk);
    saves.register_component::<Bag>().unwrap();
    saves.register_resource::<Score>().unwrap();
    let (_, recovered) =
        Session::<World>::with(saves, History::new(None)).open(SAVE, JOURNAL).unwrap();
    table.line("a component class that is not registered", &recovered.to_string());
    insta::assert_snapshot!(table.text());
}

#[test]
fn what_a_session_refuses() {
    let mut table = Table::new();
    let disk = Disk::default();
    table.add("one path for both", options(&disk).open(SAVE, SAVE));
    let mut history = History::new(100);
    history.apply(&mut String::new(), Write { word: "a".into() }).unwrap();
    table
        .add("a history with entries", Session::with(saves_on(&disk), history).open(SAVE, JOURNAL));
    let mut session = open(&disk).unwrap();
    table.add("a second session", open(&disk));
    table.add("a command that is not registered", session.apply(Foreign));
    table.add("a command with a pointer", session.apply(Sharing { text: Arc::new(1) }));
    drop(session);

    let disk = Disk::default();
    let mut session = open(&disk).unwrap();
    MOOD.set(2);
    assert!(catch_unwind(AssertUnwindSafe(|| session.apply(Fickle))).is_err());
    MOOD.set(0);
    table.line("behind a panic", &session.journal_broken().unwrap());
    table.add("an edit then", write(&mut session, "a"));
    table.add("to clear it", session.clear());
    drop(session);

    let disk = Disk::default();
    let (mut session, _) = open_world(&disk).unwrap();
    #[derive(Persist, Default)]
    struct Late(u8);
    impl Component for Late {}
    let ada = session.edit("", |edit| edit.spawn("Ada")).unwrap();
    table.add(
        "a component class that is not registered",
        session.edit("", |edit| edit.attach(ada, Late(1))),
    );
    insta::assert_snapshot!(table.text());
}

#[test]
fn disks_that_fail() {
    let mut table = Table::new();
    let act = |disk: &Disk| {
        let mut session = options(disk).flush(Flush::EveryEdit).open(SAVE, JOURNAL)?.0;
        write(&mut session, "a")?;
        write(&mut session, "b")?;
        session.save()?;
        write(&mut session, "c")?;
        session.flush()?;
        session.discard()
    };
    sweep(&mut table, "a session", text, act);
    sweep_all(&mut table, "a session, and all behind it", text, act);
    sweep_all(
        &mut table,
        "a session of another save",
        || {
            let disk = text();
            saves_on(&disk).file(SAVE).save(&String::from("another")).unwrap();
            disk
        },
        act,
    );
    let disk = Disk::default();
    disk.never_lock();
    let mut first = open(&disk).unwrap();
    write(&mut first, "a").unwrap();
    let mut second = open(&disk).unwrap();
    write(&mut second, "b").unwrap();
    table.add("a journal that another session has written to", write(&mut first, "c"));
    drop((first, second));
    let disk = Disk::default();
    disk.never_lock();
    let mut first = open(&disk).unwrap();
    first.begin("Group").unwrap();
    write(&mut first, "a").unwrap();
    let mut second = open(&disk).unwrap();
    write(&mut second, "b").unwrap();
    table.add("a rollback beside another session", first.rollback());
    table.line("its journal then", &first.journal_broken().unwrap());
    drop((first, second));
    let disk = text();
    let mut session = open(&disk).unwrap();
    session.begin("Group").unwrap();
    write(&mut session, "a").unwrap();
    disk.break_down(0);
    table.add("an edit in a transaction", write(&mut session, "b"));
    table.add("its rollback", session.rollback());
    drop(session);

    let disk = text();
    let mut session = open(&disk).unwrap();
    disk.break_down(0);
    table.add("an edit on a disk that is gone", write(&mut session, "a"));
    table.add("a flush of it", session.flush());
    table.add("another edit", write(&mut session, "b"));
    insta::assert_snapshot!(table.text());
}

#[test]
fn saves_that_another_program_replaced_under_a_session() {
    let mut table = Table::new();
    let disk = text();
    let mut session = open(&disk).unwrap();
    write(&mut session, "a").unwrap();
    table.add("a save of another program", saves_on(&disk).file(SAVE).save(&String::from("b")));
    disk.write(SAVE, &persist::to_vec(&String::from("another")).unwrap());
    table.add("an edit", write(&mut session, "c"));
    table.add("a save of the session", session.save());
    insta::assert_snapshot!(table.text());
}

#[test]
fn entries_that_were_moved_to_files() {
    let mut table = Table::new();
    let session = |disk: &Disk| options(disk).memory(1000).open(SAVE, JOURNAL).unwrap().0;
    let disk = Disk::default();
    let mut spilled = session(&disk);
    for _ in 0..30 {
        write(&mut spilled, &"x".repeat(300)).unwrap();
    }
    let files = disk.names();
    files
        .iter()
        .filter(|name| name.contains("spill"))
        .for_each(|file| disk.write(file, b"another file"));
    let gone = (0..30).find_map(|_| spilled.undo().err());
    table.error("a file that was replaced", &gone.unwrap());
    for number in 0..60 {
        let disk = Disk::default();
        let mut spilled = session(&disk);
        for _ in 0..30 {
            write(&mut spilled, &"x".repeat(300)).unwrap();
        }
        // An entry that cannot be read in advance is read again by its undo.
        disk.break_down(number);
        if let Some(error) = (0..30).find_map(|_| spilled.undo().err())
            && error.message().contains("spill")
            && !table.has(&error)
        {
            table.error(&format!("an undo, operation {number}"), &error);
        }
        disk.has_failed();
    }
    insta::assert_snapshot!(table.text());
}

//! A journal with every sort of step, whose frames are changed, moved, doubled and left out, under correct checksums. A
//! session opens it or refuses it. An opened one is undone, redone, saved and opened again.
#![no_main]

use persist::world::Activity;
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::path::Path;
use std::sync::LazyLock;

use persist::history::{CommandEdit, Flush};
use persist::storage::{Memory, Storage};
use persist::world::ExternalIds;
use persist::{
    Command, Component, Error, ErrorKind, History, ObjectId, Persist, Result, Saves, Session,
    Value, World,
};

const SAVE: &str = "level.sav";
const JOURNAL: &str = "level.journal";
const HEADER: usize = 48;
const HEAD: usize = 15;
const CRC: usize = 4;

#[derive(Persist, Default)]
struct Thing {
    x: f32,
    name: String,
    mood: Mood,
    tags: Vec<(u8, String)>,
    by_slot: BTreeMap<String, Option<i16>>,
    units: Vec<()>,
    target: Option<ObjectId>,
}

impl Component for Thing {}

#[derive(Persist, Default)]
enum Mood {
    #[default]
    Calm,
    Angry {
        since: u64,
    },
}

#[derive(Persist, Default)]
struct Score(Vec<i32>);

/// Makes an object with a thing, through its context.
#[derive(Persist)]
struct Make {
    parent: Option<ObjectId>,
}

impl Command for Make {
    fn apply(&mut self, edit: &mut CommandEdit<'_>) -> Result<()> {
        let object = match self.parent {
            Some(parent) => edit.spawn_in(parent, "Made")?,
            None => edit.spawn("Made")?,
        };
        edit.attach(object, Thing::default())
    }

    fn undo(&mut self, _: &mut World) -> Result<()> {
        Ok(())
    }
}

/// Changes the score directly.
#[derive(Persist)]
struct Push {
    points: i32,
    is_done: bool,
}

impl Command for Push {
    fn apply(&mut self, edit: &mut CommandEdit<'_>) -> Result<()> {
        let Some(score) = edit.target().resource_mut::<Score>() else {
            return Err(Error::new(ErrorKind::NotFound, "there is no score"));
        };
        score.0.push(self.points);
        self.is_done = true;
        Ok(())
    }

    fn undo(&mut self, world: &mut World) -> Result<()> {
        let popped = world.resource_mut::<Score>().and_then(|score| score.0.pop());
        popped.map(drop).ok_or_else(|| Error::new(ErrorKind::NotFound, "there are no points"))
    }
}

fn session(storage: &Memory) -> Result<Session> {
    let saves = Saves::new().storage(storage.clone());
    saves.register_component::<Thing>()?;
    saves.register_resource::<Score>()?;
    let options = Session::with(saves, History::new(None)).flush(Flush::OnIdle);
    let options = options.register_command::<Make>()?.register_command::<Push>()?;
    Ok(options.open(SAVE, JOURNAL)?.0)
}

/// The save and the journal of a session that did everything.
static SEED: LazyLock<(Vec<u8>, Vec<u8>)> = LazyLock::new(|| {
    let storage = Memory::default();
    drive(&storage).expect("all of it can be done");
    let read = |name: &str| {
        let mut bytes = Vec::new();
        let mut file = storage.open(Path::new(name)).expect("it is there");
        file.read_to_end(&mut bytes).expect("it is in memory");
        bytes
    };
    (read(SAVE), read(JOURNAL))
});

fn drive(storage: &Memory) -> Result<()> {
    let mut session = session(storage)?;
    let (first, second) = session.edit("Add", |edit| {
        let first = edit.spawn("First")?;
        edit.attach(first, Thing::default())?;
        let second = edit.spawn_in(first, "Second")?;
        edit.attach(second, Thing { target: Some(first), ..Thing::default() })?;
        edit.insert_resource(Score(vec![1]))?;
        Ok((first, second))
    })?;
    session.edit("Change", |edit| {
        edit.get_mut::<Thing>(first)?.mood = Mood::Angry { since: 3 };
        edit.get_mut::<Thing>(second)?.units = vec![(); 3];
        edit.resource_mut::<Score>()?.0.push(2);
        Ok(())
    })?;
    session.save()?;
    for n in 0..3_u8 {
        session.set(first, "Thing:x", f32::from(n))?;
        session.edit("List", |edit| {
            let tag = vec![n.into(), format!("tag {n}").into()];
            edit.insert_element(first, "Thing:tags", 0, Value::Tuple(tag))
        })?;
    }
    session.edit("Elements", |edit| {
        edit.move_element(first, "Thing:tags", 0, 2)?;
        edit.remove_element(first, "Thing:tags", 1)?;
        edit.get_mut::<Thing>(second)?.by_slot.insert("belt".into(), Some(4));
        Ok(())
    })?;
    session.apply(Push { points: 4, is_done: false })?;
    session.apply(Make { parent: Some(first) })?;
    session.undo()?;
    session.redo()?;
    session.begin("Group")?;
    session.edit("Names", |edit| {
        edit.rename(first, "Renamed")?;
        edit.set_parent(second, None)?;
        edit.set_activity(second, Activity::Paused)?;
        edit.detach::<Thing>(second)
    })?;
    session.commit()?;
    let prefab = session.world().prefab(first)?;
    session.edit("Copy", |edit| edit.instantiate(&prefab, ExternalIds::Keep).map(drop))?;
    session.edit("Remove", |edit| {
        edit.remove(first)?;
        edit.remove_resource::<Score>()
    })?;
    session.set_modified(true)?;
    session.undo()?;
    session.begin("Open")?;
    session.set(first, "Thing:x", 7.0)?;
    session.flush()
}

fn frames(journal: &[u8]) -> Vec<Vec<u8>> {
    let (mut at, mut found) = (HEADER, Vec::new());
    while let Some(length) = journal.get(at..at + 4) {
        let length = u32::from_le_bytes(length.try_into().expect("four bytes")) as usize;
        let end = at + HEAD + length + CRC;
        found.push(journal[at..end].to_vec());
        at = end;
    }
    found
}

/// Changes frames as the bytes say: which one, what is done, where, and with what.
fn change(frames: &mut Vec<Vec<u8>>, mut how: &[u8]) {
    while let [which, what, at @ ..] = how
        && let [low, high, rest @ ..] = at
        && !frames.is_empty()
    {
        how = rest;
        let (which, at) = (usize::from(*which) % frames.len(), u16::from_le_bytes([*low, *high]));
        let frame = &mut frames[which];
        let payload = HEAD..frame.len() - CRC;
        let place = HEAD + usize::from(at) % (payload.len() + 1);
        let (byte, rest) = how.split_first().map_or((0, how), |(byte, rest)| (*byte, rest));
        match what % 8 {
            0 | 1 if payload.contains(&place) => (frame[place], how) = (byte, rest),
            2 => {
                let count = usize::from(byte % 9).min(rest.len());
                frame.splice(place..place, rest[..count].iter().copied());
                how = &rest[count..];
            }
            3 => drop(frame.drain(place..(place + usize::from(byte % 9)).min(payload.end))),
            4 => frame[4] = byte % 30,
            5 => drop(frames.remove(which)),
            6 => {
                let copy = frame.clone();
                let to = usize::from(at) % (frames.len() + 1);
                frames.insert(to, copy);
            }
            _ => {
                let to = usize::from(at) % frames.len();
                frames.swap(which, to);
            }
        }
    }
}

/// Gives frames their lengths, numbers and checksums.
fn seal(header: &[u8], frames: &[Vec<u8>]) -> Vec<u8> {
    let mut journal = header.to_vec();
    for (number, frame) in (1_u64..).zip(frames) {
        let start = journal.len();
        let length = u32::try_from(frame.len() - HEAD - CRC).expect("frames are short");
        journal.extend_from_slice(&length.to_le_bytes());
        journal.extend_from_slice(&frame[4..7]);
        journal.extend_from_slice(&number.to_le_bytes());
        journal.extend_from_slice(&frame[HEAD..frame.len() - CRC]);
        let crc = crc32fast::hash(&journal[start..]);
        journal.extend_from_slice(&crc.to_le_bytes());
    }
    journal
}

fn put(storage: &Memory, name: &str, bytes: &[u8]) {
    let path = Path::new(name);
    let mut file = storage.create(path, path).expect("there is none");
    file.write_all(bytes).expect("it is in memory");
}

libfuzzer_sys::fuzz_target!(|how: &[u8]| {
    let (save, journal) = &*SEED;
    let mut frames = frames(journal);
    change(&mut frames, how);
    let storage = Memory::default();
    put(&storage, SAVE, save);
    put(&storage, JOURNAL, &seal(&journal[..HEADER], &frames));
    let used = allocation_counter::measure(|| {
        let Ok(mut session) = session(&storage) else { return };
        // The content of the journal may be refused, but must not panic.
        while matches!(session.undo(), Ok(true)) {}
        while matches!(session.redo(), Ok(true)) {}
        if session.save().is_ok() {
            let position = session.history().position();
            drop(session);
            let again = self::session(&storage).expect("what was saved opens");
            assert_eq!(again.history().position(), position);
        }
    });
    assert!(used.bytes_max < 16 << 20, "{} bytes", used.bytes_max);
});

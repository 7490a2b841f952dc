//! Journals that are replayed on saves without the program's types, compared with what the program saves after each event.

use std::collections::BTreeMap;

use persist::history::{Drag, Flush};
use persist::world::{Activity, ExternalIds};
use persist::{
    Component, Error, ErrorKind, History, ObjectId, Persist, Result, Saves, Session, Value, World,
};
use persist_tests::support::short_or_long;
use persist_tools::{Document, JournalListing, Occurrence};
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use tempfile::TempDir;

use super::hostile::{CRC, HEAD, HEADER, frames, seal};

#[derive(Persist, Default)]
struct Transform {
    x: f32,
    tags: Vec<String>,
    target: Option<ObjectId>,
}

#[derive(Persist, Default)]
struct Bag {
    items: Vec<Box<dyn Item>>,
    rest: Option<Box<Layer>>,
}

#[derive(Persist, Default)]
struct Layer {
    depth: u8,
    below: Option<Box<Layer>>,
}

#[derive(Persist, Default)]
enum Light {
    #[default]
    #[persist(empty)]
    Off,
    On {
        bytes: Vec<u8>,
    },
}

#[persist::dynamic]
trait Item: Send {}

#[derive(Persist)]
struct Key(u8);

#[derive(Persist)]
struct Map {
    places: BTreeMap<String, Option<ObjectId>>,
}

#[derive(Persist)]
struct Score(u32);

#[derive(Persist)]
struct Weather {
    wind: Layer,
}

/// Of a mod that the program does not have.
#[derive(Persist)]
struct Modded(Option<ObjectId>);

#[derive(Persist)]
struct ModdedRule(u8);

impl Component for Modded {}
impl Component for Transform {}
impl Component for Bag {}
impl Component for Light {}
impl Item for Key {}
impl Item for Map {}

fn saves() -> Result<Saves> {
    let saves = Saves::new();
    saves.register_component::<Transform>()?;
    saves.register_component::<Light>()?;
    saves.register_component::<Bag>()?;
    saves.register_as::<Key, dyn Item>()?;
    saves.register_as::<Map, dyn Item>()?;
    saves.register_resource::<Weather>()?;
    saves.register_resource::<Score>()?;
    Ok(saves)
}

/// A session that does things by chance, and the saves that its program would make after each event.
struct Watched {
    folder: TempDir,
    session: Session<World>,
    random: Pcg64Mcg,
    depth: usize,
    drag: Option<Drag>,
    /// What refused edits made has used up ids, which the journal knows after the next edit.
    has_refused: bool,
    states: Vec<Option<(Vec<u8>, bool)>>,
    stops: usize,
    compared: usize,
}

impl Watched {
    fn new(seed: u64) -> Result<Self> {
        let folder = tempfile::tempdir().unwrap();
        let mut world = World::new();
        let house = world.spawn("House");
        let door = world.spawn_in(house, "Door")?;
        world.attach(door, Transform::default())?;
        world.update(0.1);
        let saves_of_mod = saves()?;
        if seed.is_multiple_of(3) {
            for object in [house, door] {
                world.attach(object, Modded(Some(house)))?;
            }
            world.insert_resource(ModdedRule(3))?;
            saves_of_mod.register_component::<Modded>()?;
            saves_of_mod.register_resource::<ModdedRule>()?;
            world.update(0.1);
        }
        world.attach(house, Light::On { bytes: vec![1] })?;
        saves_of_mod.file(folder.path().join("level.sav")).save(&world)?;
        let options = Session::with(saves()?, History::new(12)).flush(Flush::OnIdle);
        let (path, random) = (|name| folder.path().join(name), Pcg64Mcg::seed_from_u64(seed));
        let (session, _) = options.open(path("level.sav"), path("level.journal"))?;
        let mut watched = Self {
            session,
            folder,
            random,
            depth: 0,
            drag: None,
            has_refused: false,
            states: Vec::new(),
            stops: 0,
            compared: 0,
        };
        watched.watch()?;
        Ok(watched)
    }

    fn listing(&self) -> Result<JournalListing> {
        JournalListing::read(self.folder.path().join("level.journal"))
    }

    fn watch(&mut self) -> Result<()> {
        let listing = self.listing()?;
        assert_eq!((&listing.torn, &listing.stopped), (&None, &None));
        let count = listing.events.len();
        let is_done = listing.events.last().is_some_and(|event| event.what == Occurrence::Done);
        self.has_refused &= count < self.states.len() || !is_done;
        self.states.resize(count + 1, None);
        let save = saves()?.to_vec(self.session.target())?;
        self.states[count] = Some((save, self.has_refused));
        Ok(())
    }

    /// Compares the state after each event of the journal.
    fn compare(&mut self) -> Result<()> {
        let save = self.folder.path().join("level.sav");
        let listing = self.listing()?;
        for (event, state) in self.states.iter().enumerate() {
            let Some((state, has_refused)) = state else { continue };
            let mut document = Document::open(&save)?;
            let replayed = listing.replay(&mut document, event)?;
            if let Some(error) = replayed.stopped {
                assert!(error.message().contains("which edits were merged"), "{event}: {error}");
                self.stops += 1;
                break;
            }
            let mut expected = Document::from_slice(state)?;
            if *has_refused {
                assert!(last_id(&mut document).as_u64() <= last_id(&mut expected).as_u64());
                *last_id(&mut document) = last_id(&mut expected).clone();
            }
            assert_eq!(document.root(), expected.root(), "event {event}");
            let (ours, its) = (again(&document.to_vec()?)?, again(state)?);
            assert_eq!(ours.root(), its.root(), "event {event}");
            self.compared += 1;
        }
        Ok(())
    }

    fn object(&mut self) -> Option<ObjectId> {
        let objects: Vec<_> = self.session.world().objects().collect();
        objects.choose(&mut self.random).copied()
    }

    fn act(&mut self) -> Result<()> {
        match self.random.gen_range(0..26) {
            0..=2 if self.depth == 0 => drop(self.session.undo()?),
            3 | 4 if self.depth == 0 => drop(self.session.redo()?),
            5 if self.depth == 0 => {
                let entries = self.session.history().entries().len();
                self.session.go_to(self.random.gen_range(0..=entries))?;
            }
            6 if self.depth < 2 => {
                self.session.begin("Group")?;
                self.depth += 1;
            }
            7 if self.depth > 0 => {
                self.session.commit()?;
                self.depth -= 1;
            }
            8 if self.depth > 0 => {
                self.session.rollback()?;
                self.depth -= 1;
            }
            9 if self.depth == 0 => match self.drag.take() {
                Some(drag) => self.session.end_drag(drag),
                None => self.drag = Some(self.session.begin_drag("Drag")),
            },
            10 if self.depth == 0 && self.random.gen_ratio(1, 4) => {
                self.compare()?;
                self.session.save()?;
                self.states.clear();
            }
            11 => {
                let refused = self.session.edit("", |edit| {
                    edit.spawn("Never")?;
                    Err::<(), _>(Error::new(ErrorKind::Refused, "no"))
                });
                assert_eq!(refused.unwrap_err().kind(), ErrorKind::Refused);
                self.has_refused = true;
            }
            12 => {
                let Some(object) = self.object() else { return Ok(()) };
                let x = self.random.gen_range(1.0..9.0_f32);
                let pushed = self.session.edit_merging("x", "Push", |edit| {
                    edit.get_mut::<Transform>(object)?.x += x;
                    Ok(())
                });
                // Not every object has one.
                drop(pushed);
            }
            _ => {
                let label = *["Build", "Move", "Change"].choose(&mut self.random).unwrap();
                for _ in 0..3 {
                    let (one, two) = (self.object(), self.object());
                    let random = &mut self.random;
                    let edited = self.session.edit(label, |edit| {
                        for _ in 0..random.gen_range(1..4) {
                            change(edit, random, one, two)?;
                        }
                        Ok(())
                    });
                    // What is not possible there is rolled back.
                    self.has_refused |= edited.is_err();
                    if edited.is_ok() {
                        break;
                    }
                }
            }
        }
        self.watch()
    }
}

fn last_id(save: &mut Document) -> &mut Value {
    let world = save.root_mut().and_then(Value::as_record_mut).unwrap();
    world.get_mut("last_id").unwrap()
}

/// A save as its program writes what it loads.
fn again(save: &[u8]) -> Result<Document> {
    let world = saves()?.from_slice::<World>(save)?.into_inner();
    Document::from_slice(&saves()?.to_vec(&world)?)
}

fn change(
    edit: &mut persist::history::Edit<'_>,
    random: &mut Pcg64Mcg,
    one: Option<ObjectId>,
    two: Option<ObjectId>,
) -> Result<()> {
    const NAMES: [&str; 5] = ["Door", "Lamp", "House", "", "Door1"];
    let name = *NAMES.choose(random).unwrap();
    let x = random.gen_range(0.0..9.0);
    let (Some(one), true) = (one, random.gen_ratio(9, 10)) else {
        return edit.spawn_with(name, (Transform { x, ..Transform::default() },)).map(drop);
    };
    match random.gen_range(0..24) {
        0 => drop(edit.spawn(name)?),
        1 | 2 => {
            let new = edit.spawn_in(one, name)?;
            edit.attach(new, Light::default())?;
            if random.gen_ratio(1, 3) {
                edit.remove(new)?;
            }
        }
        3 | 4 => edit.remove(one)?,
        5 | 6 => {
            let prefab = edit.prefab(one)?;
            let new = edit.instantiate(&prefab, ExternalIds::Keep)?;
            edit.set_parent(new, two)?;
        }
        7 => edit.attach(one, Light::On { bytes: vec![7; random.gen_range(0..3)] })?,
        8 => {
            let below = Some(Box::new(Layer { depth: 2, below: None }));
            let rest = Some(Box::new(Layer { depth: 1, below }));
            edit.attach(one, Bag { items: vec![Box::new(Key(4))], rest })?;
        }
        9 => edit.attach(one, Transform { x, tags: vec![name.into()], target: two })?,
        10 => edit.detach::<Transform>(one)?,
        11 => edit.detach::<Light>(one)?,
        12 => {
            edit.detach::<Bag>(one)?;
            edit.attach(one, Bag::default())?;
        }
        13 => drop(edit.rename(one, name)?),
        14 | 15 => edit.set_parent(one, two)?,
        16 => edit.set_parent_at(one, two, random.gen_range(0..3))?,
        17 => {
            let all = [Activity::Active, Activity::Paused];
            edit.set_activity(one, *all.choose(random).unwrap())?;
        }
        18 => {
            let transform = edit.get_mut::<Transform>(one)?;
            transform.x = x;
            transform.tags.push(name.into());
            transform.target = two;
        }
        19 => {
            let places = BTreeMap::from([(String::from(name), two)]);
            edit.get_mut::<Bag>(one)?.items.push(Box::new(Map { places }));
        }
        20 => edit.remove_element(one, "Transform:tags", 0)?,
        21 => edit.insert_resource(Score(random.gen_range(0..9)))?,
        22 => match random.gen_range(0..3) {
            0 => edit.remove_resource::<Score>()?,
            1 => edit.remove_resource::<Weather>()?,
            _ => edit.insert_resource(Weather { wind: Layer::default() })?,
        },
        _ => edit.resource_mut::<Weather>()?.wind.depth += 1,
    }
    Ok(())
}

#[test]
fn each_event_has_the_state_of_the_program() -> Result<()> {
    let acts = 60;
    let seeds = short_or_long(60, 1000);
    let (mut compared, mut stops) = (0, 0);
    for seed in 0..seeds {
        let run = || -> Result<(usize, usize)> {
            let mut watched = Watched::new(seed)?;
            for _ in 0..acts {
                watched.act()?;
            }
            watched.compare()?;
            Ok((watched.compared, watched.stops))
        };
        let (run_compared, run_stops) =
            run().map_err(|error| Error::new(error.kind(), format!("seed {seed}: {error}")))?;
        compared += run_compared;
        stops += run_stops;
    }
    let count = usize::try_from(seeds).unwrap() * acts;
    assert!(compared > count / 2, "{compared} of {count}, {stops} stops");
    Ok(())
}

/// Replays a malicious journal; the save then is written as one that the program loads, or not at all.
fn play(watched: &Watched, journal: &[u8], tally: &mut [usize; 3]) -> Result<()> {
    let path = watched.folder.path().join("harm.journal");
    std::fs::write(&path, journal).unwrap();
    let Ok(listing) = JournalListing::read(&path) else { return Ok(()) };
    let mut document = Document::open(watched.folder.path().join("level.sav"))?;
    let replayed = listing.replay(&mut document, listing.events.len())?;
    tally[usize::from(replayed.stopped.is_some())] += 1;
    match document.to_vec() {
        Ok(save) => drop(again(&save)?),
        Err(_) => tally[2] += 1,
    }
    Ok(())
}

/// A session that has done each sort of thing, and its journal.
fn recorded(seed: u64) -> Result<(Watched, Vec<u8>)> {
    let mut watched = Watched::new(seed)?;
    for _ in 0..40 {
        watched.act()?;
    }
    let journal = std::fs::read(watched.folder.path().join("level.journal")).unwrap();
    Ok((watched, journal))
}

#[test]
fn frames_in_any_order_spoil_no_save() -> Result<()> {
    let mut tally = [0; 3];
    for seed in 0..short_or_long(30, 1000) {
        let (mut watched, journal) = recorded(seed)?;
        let frames = frames(&journal);
        if frames.len() < 3 {
            continue;
        }
        for _ in 0..20 {
            let mut order: Vec<usize> = (0..frames.len()).collect();
            for _ in 0..watched.random.gen_range(1..4) {
                let at = |random: &mut Pcg64Mcg| random.gen_range(2..frames.len());
                let (from, to) = (at(&mut watched.random), at(&mut watched.random));
                match watched.random.gen_range(0..3) {
                    0 => order[to] = order[from],
                    1 => order.swap(from, to),
                    _ => order.insert(to, order[from]),
                }
            }
            let mut bytes = journal[..HEADER].to_vec();
            for (sequence, frame) in order.into_iter().enumerate() {
                let (start, length) = frames[frame];
                let mut frame = journal[start..start + length].to_vec();
                frame[7..HEAD].copy_from_slice(&(sequence as u64 + 1).to_le_bytes());
                seal(&mut frame);
                bytes.extend(frame);
            }
            play(&watched, &bytes, &mut tally)?;
        }
    }
    let [whole, stopped, refused] = tally;
    assert!(whole > 20 && stopped > 200 && refused == 0, "{tally:?}");
    Ok(())
}

#[test]
fn frames_with_any_bit_changed_spoil_no_save() -> Result<()> {
    let mut tally = [0; 3];
    for seed in 0..short_or_long(3, 100) {
        let (mut watched, journal) = recorded(seed)?;
        let frames = frames(&journal);
        for (start, length) in frames {
            for _ in 0..short_or_long(8, 100) {
                let mut bytes = journal.clone();
                let frame = &mut bytes[start..start + length];
                if length > HEAD + CRC {
                    let at = watched.random.gen_range(HEAD..length - CRC);
                    frame[at] ^= 1 << watched.random.gen_range(0..8);
                }
                seal(frame);
                play(&watched, &bytes, &mut tally)?;
            }
        }
    }
    let [whole, stopped, _] = tally;
    assert!(whole > 100 && stopped > 50, "{tally:?}");
    Ok(())
}

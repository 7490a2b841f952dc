//! No value is silently wrong over three releases: what a save of the first becomes in the third, directly and by way of
//! the second, as a value, in containers, objects, components, prefabs and journals.
//!
//! `generate.py` writes the families of types, and what their values mean. Here are some of them; `campaign.sh` tries
//! thousands.

#[rustfmt::skip]
#[allow(clippy::all, clippy::pedantic, clippy::unwrap_used, dead_code, unused_mut, unreachable_pub, reason = "generated")]
mod families;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::rc::Rc;
use std::time::Duration;

use persist::world::{ExternalIds, Prefab};
use persist::{
    Component, Error, History, Persist, Record, SaveManager, SaveOptions, Saves, Session, Value,
    World,
};
use persist_tests::support::disk::{Disk, Image};
use persist_tests::support::shared;

/// An amount that no save has as it is.
#[derive(Clone, Debug, Default, PartialEq)]
struct Amount(i128);

/// A newtype.
#[derive(Persist, Clone, Debug, PartialEq)]
struct Coins<T>(T);

macro_rules! modules {
    ($($name:ident: $stored:ty, $unit:literal;)*) => {$(
        #[allow(dead_code, reason = "not every module is in the families")]
        mod $name {
            pub(super) type Stored = $stored;

            pub(super) fn store(amount: &super::Amount) -> Stored {
                Stored::try_from(amount.0 / $unit).expect("a small amount")
            }

            pub(super) fn restore(stored: Stored) -> Result<super::Amount, String> {
                Ok(super::Amount(i128::from(stored) * $unit))
            }
        }
    )*};
}

modules! {
    u16_of_1: u16, 1; u16_of_10: u16, 10; u16_of_100: u16, 100; u16_of_1000: u16, 1000;
    u32_of_1: u32, 1; u32_of_10: u32, 10; u32_of_100: u32, 100; u32_of_1000: u32, 1000;
    u64_of_1: u64, 1; u64_of_10: u64, 10; u64_of_100: u64, 100; u64_of_1000: u64, 1000;
}

/// Takes a number that has one of these names.
#[expect(clippy::cast_possible_truncation, reason = "the families have whole numbers")]
fn take(record: &mut Record, names: &[&str]) -> Option<i128> {
    let value = names.iter().find_map(|name| record.take(name))?;
    match value {
        Value::F64(number) => Some(number as i128),
        value => value.as_u64().map(i128::from).or(value.as_i64().map(i128::from)),
    }
}

/// The places in which a value of the class is.
#[derive(Persist, Clone, Debug, PartialEq)]
struct Holder<T> {
    one: T,
    list: Vec<T>,
    map: BTreeMap<String, T>,
    shared: Rc<RefCell<T>>,
    option: Option<Box<T>>,
}

impl<T: Clone> Holder<T> {
    fn new(value: &T) -> Self {
        Self {
            one: value.clone(),
            list: vec![value.clone()],
            map: [("a".to_owned(), value.clone())].into(),
            shared: shared(value.clone()),
            option: Some(Box::new(value.clone())),
        }
    }
}

trait Class: Persist + Component + Clone + Debug + PartialEq + 'static {}

impl<T: Persist + Component + Clone + Debug + PartialEq + 'static> Class for T {}

/// What a way yields: the value that it comes to, as text.
type Loaded = Result<String, Error>;

/// A save, after a release has loaded and saved it.
type Passed = Result<Vec<u8>, Error>;

/// What one release does with a save, by the ways in which a save can be: one function for each.
struct Release {
    load: [fn(&[u8]) -> Loaded; WAYS.len()],
    /// Loads a save and saves what it loaded.
    pass: [fn(&[u8]) -> Passed; WAYS.len()],
    /// Opens a session over its journal; `Err` with the reason if it stopped.
    open: fn(&Disk) -> Result<Session<World>, String>,
    /// The component in the world of a session.
    component: fn(&World) -> String,
}

const WAYS: [&str; 4] = ["a value", "an object", "a component", "a prefab"];

impl Release {
    fn of<T: Class>() -> Self {
        Self {
            load: [load_value::<T>, load_object::<T>, load_world::<T>, load_prefab::<T>],
            pass: [pass_value::<T>, pass_object::<T>, pass_world::<T>, pass_prefab::<T>],
            open: open::<T>,
            component: component::<T>,
        }
    }
}

fn load_value<T: Class>(save: &[u8]) -> Loaded {
    let Holder { one, list, map, shared, option } = persist::from_slice::<Holder<T>>(save)?;
    let one = format!("{one:?}");
    let others = [&list[0], &map["a"], &*shared.borrow(), &**option.as_ref().expect("it is there")];
    others
        .iter()
        .for_each(|other| assert_eq!(one, format!("{other:?}"), "each place has one value"));
    Ok(one)
}

fn pass_value<T: Class>(save: &[u8]) -> Passed {
    let saves = Saves::new();
    saves.to_vec(&saves.from_slice::<Holder<T>>(save)?)
}

fn manager<T: Class>() -> Result<SaveManager, Error> {
    let manager = SaveManager::new();
    manager.register::<T>()?;
    Ok(manager)
}

fn load_object<T: Class>(save: &[u8]) -> Loaded {
    let loaded = manager::<T>()?.from_slice(save)?;
    let object = loaded.first::<T>()?;
    let text = format!("{:?}", object.borrow());
    Ok(text)
}

fn pass_object<T: Class>(save: &[u8]) -> Passed {
    manager::<T>()?.from_slice(save)?.to_vec()
}

fn saves<T: Class>() -> Result<Saves, Error> {
    let saves = Saves::new();
    saves.register_component::<T>()?;
    Ok(saves)
}

fn component<T: Class>(world: &World) -> String {
    let ada = world.find("Ada").expect("it has its name");
    format!("{:?}", world.get::<T>(ada).expect("it has its component"))
}

fn load_world<T: Class>(save: &[u8]) -> Loaded {
    Ok(component::<T>(&*saves::<T>()?.from_slice::<World>(save)?))
}

fn pass_world<T: Class>(save: &[u8]) -> Passed {
    let saves = saves::<T>()?;
    saves.to_vec(&saves.from_slice::<World>(save)?)
}

fn load_prefab<T: Class>(save: &[u8]) -> Loaded {
    let prefab = saves::<T>()?.from_slice::<Prefab>(save)?;
    let mut world = World::new();
    world.instantiate(&prefab, ExternalIds::Keep)?;
    Ok(component::<T>(&world))
}

fn pass_prefab<T: Class>(save: &[u8]) -> Passed {
    let saves = saves::<T>()?;
    saves.to_vec(&*saves.from_slice::<Prefab>(save)?)
}

const SAVE: &str = "level.sav";
const JOURNAL: &str = "level.journal";

fn open<T: Class>(disk: &Disk) -> Result<Session<World>, String> {
    let open = || {
        let options = SaveOptions::new().wait(Duration::ZERO);
        let saves = saves::<T>()?.storage(disk.clone()).save_options(options);
        Session::with(saves, History::new(None)).open(SAVE, JOURNAL)
    };
    let (session, recovered) = open().map_err(|error| error.to_string())?;
    match recovered.stopped {
        Some(stopped) => Err(format!("{stopped:?}")),
        None => Ok(session),
    }
}

/// What the first release has left: two values, the saves of each, and the journal of an edit from one to the other.
struct First {
    saves: [[Vec<u8>; WAYS.len()]; 2],
    journal: Image,
}

fn first<T: Class>(values: [T; 2]) -> First {
    let saves = values.each_ref().map(|value| {
        let mut manager = SaveManager::new();
        manager.add(&shared(value.clone())).expect("an object is added");
        let mut world = World::new();
        let ada = world.spawn("Ada");
        world.attach(ada, value.clone()).expect("a component is attached");
        [
            persist::to_vec(&Holder::new(value)),
            manager.to_vec(),
            persist::to_vec(&world),
            world.prefab(ada).and_then(|prefab| persist::to_vec(&prefab)),
        ]
        .map(|save| save.expect("it is saved"))
    });
    let disk = Disk::default();
    let mut session = open::<T>(&disk).expect("a new session");
    let [old, edited] = values;
    let ada = session.edit("Add", |edit| {
        let ada = edit.spawn("Ada")?;
        edit.attach(ada, old)?;
        Ok(ada)
    });
    let ada = ada.expect("it is added");
    let change = session.edit("Change", |edit| {
        *edit.get_mut::<T>(ada)? = edited;
        Ok(())
    });
    change.expect("it is changed");
    drop(session);
    First { saves, journal: disk.image() }
}

/// The last release, and what it has where the first had its two values.
struct Last {
    release: Release,
    expected: [String; 2],
}

fn last<T: Class>(expected: [T; 2]) -> Last {
    Last { release: Release::of::<T>(), expected: expected.map(|value| format!("{value:?}")) }
}

/// What became of the values of a family.
struct Family {
    class: &'static str,
    name: &'static str,
    /// True if its developer followed the guide in each release, so that its saves load.
    is_told: bool,
    refused: Vec<String>,
    faults: Vec<String>,
}

impl Family {
    fn new(class: &'static str, name: &'static str, is_told: bool) -> Self {
        Self { class, name, is_told, refused: Vec::new(), faults: Vec::new() }
    }

    /// Tries all ways from the first release to the last.
    fn run(mut self, old: &First, between: &Release, new: &Last) -> Self {
        for (saves, expected) in old.saves.iter().zip(&new.expected) {
            for (way, save) in saves.iter().enumerate() {
                let load = new.release.load[way];
                self.note(WAYS[way], text(load(save)), expected);
                let twice = between.pass[way](save).and_then(|save| load(&save));
                self.note(&format!("{}, release by release", WAYS[way]), text(twice), expected);
            }
        }
        self.journals(old, between, new);
        self
    }

    fn journals(&mut self, old: &First, between: &Release, new: &Last) {
        let [first, second] = &new.expected;
        for way in ["a journal", "a journal, release by release"] {
            let disk = Disk::new(old.journal.clone());
            let is_direct = way == "a journal";
            let passed = if is_direct { Ok(()) } else { (between.open)(&disk).map(drop) };
            let mut session = match passed.and_then(|()| (new.release.open)(&disk)) {
                Ok(session) => session,
                Err(why) => {
                    self.note(way, Err(why), "");
                    continue;
                }
            };
            let component = |session: &Session<World>| Ok((new.release.component)(session.world()));
            self.note(way, component(&session), second);
            if first != second {
                session.undo().expect("it is undone");
                self.note(&format!("{way}, undone"), component(&session), first);
                session.redo().expect("it is redone");
                self.note(&format!("{way}, redone"), component(&session), second);
            }
        }
    }

    /// Notes what came of one way: what is expected, or a refusal that names the class.
    fn note(&mut self, way: &str, loaded: Result<String, String>, expected: &str) {
        match loaded {
            Ok(loaded) if loaded == expected => {}
            Ok(loaded) => self.faults.push(format!("{way}: {loaded} instead of {expected}")),
            Err(why) => {
                if !why.contains(self.class) {
                    self.faults.push(format!("{way}: a refusal without the class, {why}"));
                }
                self.refused.push(format!("{way}: {why}"));
            }
        }
    }
}

fn text(loaded: Loaded) -> Result<String, String> {
    loaded.map_err(|error| error.to_string())
}

/// What was found, over all families.
#[derive(Default)]
struct Found {
    loaded: usize,
    refused: usize,
    faults: Vec<String>,
}

impl Found {
    fn add(&mut self, family: Family) {
        let Family { name, is_told, refused, faults, .. } = family;
        self.loaded += usize::from(refused.is_empty());
        self.refused += usize::from(!refused.is_empty());
        self.faults.extend(faults.iter().map(|fault| format!("{name}: {fault}")));
        if let Some(first) = refused.first().filter(|_| is_told) {
            self.faults.push(format!("{name}: {} are refused, {first}", refused.len()));
        }
    }
}

#[test]
fn no_value_is_silently_wrong_over_three_releases() {
    let mut found = Found::default();
    families::run(&mut found);
    let Found { loaded, refused, faults } = found;
    println!("{loaded} families load, {refused} are refused");
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
    // Most developers follow the guide.
    assert!(loaded > 2 * refused && refused > 0, "{loaded} families load, {refused} are refused");
}

//! `journal --to`, compared with the state of the program itself after each event.

use std::collections::BTreeSet;

use persist::history::CommandEdit;
use persist::world::{Activity, ExternalIds};
use persist::{
    Command, Component, History, ObjectId, Persist, Result, Saves, Session, Value, World,
};
use persist_tools::{ClassSchema, Document, FieldSchema, Form, JournalListing, VariantSchema};

use crate::support::Folder;

#[derive(Persist, Default)]
#[persist(class = "editor.Level")]
struct Level {
    name: String,
    speed: f32,
    doors: Vec<Door>,
    seed: Option<u64>,
    bytes: Vec<u8>,
    prices: std::collections::BTreeMap<String, u32>,
    weather: Weather,
}

#[derive(Persist, Clone)]
struct Door {
    open: bool,
    key: Option<String>,
}

#[derive(Persist, Default)]
enum Weather {
    #[default]
    #[persist(empty)]
    Clear,
    Rain {
        drops: u32,
    },
    Wind {
        drops: f32,
        force: f64,
    },
}

/// A command of the program's own.
#[derive(Persist)]
struct Shuffle {
    before: Vec<String>,
}

impl Command<Level> for Shuffle {
    fn apply(&mut self, edit: &mut CommandEdit<'_, Level>) -> Result<()> {
        self.before.push(std::mem::take(&mut edit.target().name));
        Ok(())
    }

    fn undo(&mut self, level: &mut Level) -> Result<()> {
        level.name = self.before.pop().unwrap_or_default();
        Ok(())
    }
}

/// A session, and the saves that its program would make after each event.
struct Watched<T: 'static> {
    session: Session<T>,
    folder: Folder,
    states: Vec<Option<Vec<u8>>>,
    save: fn(&T) -> Result<Vec<u8>>,
}

impl<T: Persist + Default> Watched<T> {
    fn act<R>(&mut self, act: impl FnOnce(&mut Session<T>) -> Result<R>) -> Result<R> {
        let done = act(&mut self.session)?;
        self.watch()?;
        Ok(done)
    }

    fn watch(&mut self) -> Result<()> {
        self.session.flush()?;
        let count = JournalListing::read(self.folder.path("level.journal"))?.events.len();
        self.states.resize(count + 1, None);
        self.states[count] = Some((self.save)(self.session.target())?);
        Ok(())
    }

    /// Saves the session, which begins a new journal.
    fn save(&mut self) -> Result<()> {
        self.session.save()?;
        self.states.clear();
        self.watch()
    }

    /// Compares the state after each event, and returns the number of events.
    fn compare(&self, ends_at: Option<usize>) -> Result<usize> {
        let mut compared = 0;
        for (event, state) in self.states.iter().enumerate() {
            let Some(state) = state else { continue };
            let text = self.folder.run(&format!("journal level.journal --to {event} -o new.sav"));
            if ends_at.is_some_and(|end| event >= end) {
                assert!(text.contains("[exit code 1]"), "event {event}: {text}");
                continue;
            }
            assert_eq!(text.trim().lines().count(), 1, "event {event}: {text}");
            let written = Document::open(self.folder.path("new.sav"))?;
            let expected = Document::from_slice(state)?;
            assert_eq!(written.root(), expected.root(), "event {event}");
            // Classes stay after their last value was removed.
            assert!(classes(&written).is_superset(&classes(&expected)), "event {event}");
            compared += 1;
        }
        Ok(compared)
    }
}

/// The classes of a save, whatever their order.
fn classes(save: &Document) -> BTreeSet<String> {
    let shown = |class: &ClassSchema| {
        let fields = |fields: &[FieldSchema]| -> String {
            let shown = |field: &FieldSchema| {
                format!(" {}: {}", field.name, field.kind.display(save.classes()))
            };
            fields.iter().map(shown).collect()
        };
        let form = match &class.form {
            Form::Struct(list) => fields(list),
            Form::Enum(variants) => {
                let shown = |variant: &VariantSchema| {
                    format!(" {} {{{}}}", variant.name, fields(&variant.fields))
                };
                variants.iter().map(shown).collect()
            }
            _ => String::new(),
        };
        format!("{} {} {form}", class.name, class.version)
    };
    save.classes().iter().map(shown).collect()
}

fn level() -> Result<Watched<Level>> {
    let folder = Folder::new();
    let options = Session::with(Saves::new(), History::new(4)).register_command::<Shuffle>()?;
    let (session, _) = options.open(folder.path("level.sav"), folder.path("level.journal"))?;
    let save = |level: &Level| persist::to_vec(level);
    Ok(Watched { session, folder, states: Vec::new(), save })
}

fn speed(speed: f32) -> impl FnOnce(&mut Session<Level>) -> Result<()> {
    move |session| {
        session.edit("Speed", |level| {
            level.speed = speed;
            Ok(())
        })
    }
}

/// Edits of fields, entries from before the save, transactions, merged edits, and evicted entries.
fn edited() -> Result<Watched<Level>> {
    let mut level = level()?;
    level.act(speed(1.0))?;
    level.act(|session| {
        session.edit("Doors", |level| {
            level.doors = vec![Door { open: false, key: None }; 3];
            level.weather = Weather::Wind { drops: 2.5, force: 1.0 };
            Ok(())
        })
    })?;
    level.act(speed(2.0))?;
    level.act(Session::undo)?;
    level.save()?;
    level.act(Session::redo)?;
    level.act(Session::undo)?;
    level.act(Session::undo)?;
    level.act(Session::undo)?;
    level.act(|session| session.go_to(2))?;
    level.act(|session| session.set_field("editor.Level:doors[1].key", Some("iron")))?;
    level.act(|session| {
        session.edit("More", |level| {
            level.doors.push(Door { open: true, key: None });
            level.doors.swap_remove(0);
            level.bytes = vec![1, 2, 3];
            level.prices.insert("lamp".into(), 7);
            level.seed = Some(9);
            Ok(())
        })
    })?;
    level.act(|session| session.set_field("editor.Level:prices[\"lamp\"]", 8_u32))?;
    level.act(|session| session.set_field("editor.Level:weather.force", 3.5))?;
    level.act(|session| session.begin("Outer"))?;
    level.act(speed(5.0))?;
    level.act(|session| session.begin("Inner"))?;
    level.act(speed(6.0))?;
    level.act(Session::rollback)?;
    level.act(speed(7.0))?;
    level.act(Session::commit)?;
    level.act(Session::undo)?;
    level.act(Session::redo)?;
    for tenths in 1..5_u8 {
        level.act(|session| {
            session.edit_merging("drag", "Drag", |level| {
                level.speed = f32::from(tenths) / 10.0;
                Ok(())
            })
        })?;
    }
    level.act(Session::undo)?;
    level.act(Session::redo)?;
    for _ in 0..4 {
        level.act(Session::undo)?;
    }
    level.act(|session| session.go_to(3))?;
    level.act(Session::clear)?;
    Ok(level)
}

#[test]
fn each_event_has_the_state_of_the_program() {
    let level = edited().expect("a session");
    let compared = level.compare(None).expect("saves");
    assert!(compared > 25, "{compared}");
}

#[test]
fn the_first_command_of_the_program_ends_the_replay() {
    let mut level = edited().expect("a session");
    let end = level.states.len();
    level.act(|session| session.apply(Shuffle { before: Vec::new() })).expect("a command");
    level.act(speed(9.0)).expect("an edit");
    level.compare(Some(end)).expect("saves");
    let to = |to: usize| format!("journal level.journal --to {to} -o new.sav");
    let commands = [to(end), to(end + 1) + " --json"];
    insta::assert_snapshot!(level.folder.transcript(commands.iter().map(String::as_str)));
}

#[test]
fn a_field_whose_kind_depends_on_the_variant_ends_the_replay() {
    let mut level = edited().expect("a session");
    let end = level.states.len();
    level.act(|session| session.set_field("editor.Level:weather.drops", 3.5_f32)).expect("an edit");
    level.compare(Some(end)).expect("saves");
    let command = format!("journal level.journal --to {end} -o new.sav");
    insta::assert_snapshot!(level.folder.transcript([&*command, "journal level.journal"]));
}

#[test]
fn an_edit_that_is_dragged_back_is_not_undone_without_the_program() {
    let mut level = level().expect("a session");
    level.act(speed(4.0)).expect("an edit");
    level.save().expect("a save");
    for speed in [1.0, 2.0, 4.0] {
        let drag = |session: &mut Session<Level>| {
            session.edit_merging("drag", "Drag", |level| {
                level.speed = speed;
                Ok(())
            })
        };
        level.act(drag).expect("an edit");
    }
    level.act(speed(3.0)).expect("an edit");
    level.act(Session::undo).expect("an undo");
    level.compare(None).expect("saves");
    let end = level.states.len();
    level.act(Session::undo).expect("an undo");
    let command = format!("journal level.journal --to {end} -o new.sav");
    insta::assert_snapshot!(level.folder.transcript([&*command]));
}

#[test]
fn a_listing_is_not_replayed_on_another_save() {
    let level = edited().expect("a session");
    let listing = JournalListing::read(level.folder.path("level.journal")).expect("a journal");
    let mut number =
        Document::from_slice(&persist::to_vec(&7_u32).expect("a save")).expect("a document");
    let mut graph =
        Document::from_slice(&crate::support::fixture_bytes("v1/graph.sav")).expect("a document");
    let errors = [
        listing.replay(&mut number, 7).expect("a replay").stopped.expect("an error"),
        listing.replay(&mut number, 99).expect_err("too many"),
        listing.replay(&mut graph, 0).expect_err("a graph"),
    ];
    insta::assert_snapshot!(errors.map(|error| error.to_string()).join("\n"));
}

#[test]
fn what_cannot_be_replayed_says_why() {
    let level = edited().expect("a session");
    let folder = &level.folder;
    let size = folder.read("level.journal").len();
    let fresh = self::level().expect("a session");
    folder.cut("level.journal", "torn.journal", size - 3);
    folder.damage("level.journal", "bad.journal", size / 2);
    folder.write("first.journal", &fresh.folder.read("level.journal"));
    folder.write("other.sav", &persist::to_vec(&7_u32).expect("a save"));
    let commands = [
        "journal level.journal --to 99 -o new.sav",
        "journal level.journal --to 3",
        "journal level.journal --to 3 -o level.journal",
        "journal level.journal --to 3 -o new.sav --save other.sav",
        "journal level.journal --to x -o new.sav",
        "journal torn.journal --to 1 -o new.sav",
        "journal torn.journal --to 99 -o new.sav --save level.sav",
        "journal torn.journal --to 3 -o new.sav --save level.sav",
        "journal bad.journal --to 99 -o new.sav --save level.sav",
        "journal bad.journal --to 3 -o new.sav --save level.sav",
        "journal first.journal --to 0 -o new.sav",
        "get new.sav .speed",
        "journal level.journal --to 0 -o level.sav",
        "journal level.journal --to 0 -o level.sav --force",
        "journal level.journal --to 0 -o new.sav",
        "get new.sav.bak .speed",
    ];
    insta::assert_snapshot!(folder.transcript(commands));
}

#[derive(Persist, Clone)]
#[persist(class = "Transform")]
struct Transform {
    x: f32,
    tags: Vec<String>,
}

/// A component whose class the save does not have when the journal begins.
#[derive(Persist)]
#[persist(class = "Lamp")]
struct Lamp {
    color: Color,
}

#[derive(Persist)]
#[persist(class = "Color")]
enum Color {
    Red,
    Mixed { red: u8, blue: u8 },
}

impl Component for Transform {}
impl Component for Lamp {}

#[derive(Persist)]
#[persist(class = "Score")]
struct Score(u32);

fn saves() -> Result<Saves> {
    let saves = Saves::new();
    saves.register_component::<Transform>()?;
    saves.register_component::<Lamp>()?;
    saves.register_resource::<Score>()?;
    Ok(saves)
}

fn find(session: &Session<World>, name: &str) -> ObjectId {
    session.world().find(name).unwrap_or_else(|| panic!("there is no {name}"))
}

fn town() -> Result<Watched<World>> {
    let folder = Folder::new();
    let options = Session::with(saves()?, History::new(10));
    let (session, _) = options.open(folder.path("level.sav"), folder.path("level.journal"))?;
    let save = |world: &World| saves()?.to_vec(world);
    let mut town = Watched { session, folder, states: Vec::new(), save };
    town.session.edit("Build", |edit| {
        let house = edit.spawn("House")?;
        for name in ["Door", "Window", "Roof"] {
            let part = edit.spawn_in(house, name)?;
            edit.attach(part, Transform { x: 1.0, tags: vec!["new".into()] })?;
        }
        edit.spawn("Yard")?;
        edit.insert_resource(Score(3))
    })?;
    let door = find(&town.session, "Door");
    town.session.edit("Name", |edit| edit.rename(door, "Gate").map(drop))?;
    town.save()?;
    town.act(Session::undo)?;
    town.act(|session| session.set(door, "Transform:x", 2.0_f32))?;
    let (house, yard) = (find(&town.session, "House"), find(&town.session, "Yard"));
    town.act(|session| {
        session.edit("Arrange", |edit| {
            edit.set_parent(door, Some(yard))?;
            edit.set_parent_at(door, Some(house), 2)?;
            edit.set_activity(door, Activity::Paused)?;
            edit.rename(door, "Porch")?;
            edit.insert_element(door, "Transform:tags", 1, "old")?;
            edit.insert_element(door, "Transform:tags", 2, "red")?;
            edit.move_element(door, "Transform:tags", 0, 2)?;
            edit.remove_element(door, "Transform:tags", 1)?;
            edit.resource_mut::<Score>()?.0 = 4;
            Ok(())
        })
    })?;
    town.act(|session| session.edit("Root", |edit| edit.set_parent(door, None)))?;
    for _ in 0..3 {
        town.act(Session::undo)?;
    }
    for _ in 0..3 {
        town.act(Session::redo)?;
    }
    Ok(town)
}

/// Adds and removes objects and components.
fn rebuild(town: &mut Watched<World>) -> Result<()> {
    let (house, yard) = (find(&town.session, "House"), find(&town.session, "Yard"));
    town.act(|session| {
        session.edit("Light", |edit| {
            let lamp = edit.spawn_in(yard, "Lamp")?;
            edit.attach(lamp, Lamp { color: Color::Red })?;
            edit.get_mut::<Lamp>(lamp)?.color = Color::Mixed { red: 1, blue: 2 };
            edit.set_parent_at(lamp, Some(house), 0)?;
            edit.remove_resource::<Score>()
        })
    })?;
    town.act(|session| {
        session.edit("Copy", |edit| {
            let prefab = edit.prefab(house)?;
            edit.instantiate(&prefab, ExternalIds::Keep).map(drop)
        })
    })?;
    let window = find(&town.session, "Window");
    town.act(|session| session.edit("Clear", |edit| edit.detach::<Transform>(window)))?;
    town.act(|session| session.edit("Tear down", |edit| edit.remove(house)))
}

#[test]
fn objects_of_worlds_have_the_state_of_the_program() {
    let mut town = town().expect("a session");
    rebuild(&mut town).expect("edits");
    let end = town.states.len() - 1;
    for _ in 0..4 {
        town.act(Session::undo).expect("an undo");
    }
    for _ in 0..4 {
        town.act(Session::redo).expect("a redo");
    }
    let count = town.states.len();
    assert_eq!(town.compare(None).expect("saves"), count);
    let to = |to: usize| format!("journal level.journal --to {to} -o new.sav");
    let commands = [
        &*to(end - 1),
        "dump new.sav",
        "verify new.sav",
        &*to(end),
        "dump new.sav",
        "schema new.sav",
    ];
    insta::assert_snapshot!(town.folder.transcript(commands));

    // The state at the beginning of the journal is restored, and a refused edit uses up ids.
    town.save().expect("a save");
    for _ in 0..4 {
        town.act(Session::undo).expect("an undo");
    }
    town.act(Session::redo).expect("a redo");
    town.act(|session| {
        let refused = session.edit("", |edit| {
            edit.spawn("Never")?;
            Err::<(), _>(persist::Error::new(persist::ErrorKind::Refused, "no"))
        });
        refused.expect_err("it is refused");
        session.edit("Shed", |edit| edit.spawn("Shed"))
    })
    .expect("an edit");
    assert_eq!(town.compare(None).expect("saves"), 7);
}

#[test]
fn a_class_of_another_form_ends_the_replay() {
    #[derive(Persist)]
    #[persist(class = "Transform")]
    struct Wider {
        x: f64,
        tags: Vec<String>,
    }
    impl Component for Wider {}

    let mut town = town().expect("a session");
    let yard = find(&town.session, "Yard");
    town.save().expect("a save");
    let transform = || Transform { x: 2.0, tags: Vec::new() };
    town.act(|session| session.edit("Mark", |edit| edit.attach(yard, transform())))
        .expect("an edit");
    let listing = JournalListing::read(town.folder.path("level.journal")).expect("a journal");
    let mut world = World::new();
    for name in ["House", "Door", "Window", "Roof", "Yard"] {
        let object = world.spawn(name);
        world.attach(object, Wider { x: 1.0, tags: Vec::new() }).expect("a component");
    }
    let save = persist::to_vec(&world).expect("a save");
    let mut other = Document::from_slice(&save).expect("a document");
    let stopped = listing.replay(&mut other, 1).expect("a replay").stopped;
    assert_eq!(other.to_vec().expect("a save"), save);

    // A save that no program loads.
    let objects = other.root_mut().and_then(Value::as_record_mut).expect("a world");
    let Some(Value::Seq(objects)) = objects.get_mut("objects") else { panic!("no objects") };
    objects.swap(0, 1);
    let refused = listing.replay(&mut other, 1).expect_err("a world");
    insta::assert_snapshot!(format!("{}\n{refused}", stopped.expect("an error")));
}

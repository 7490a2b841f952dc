//! What a child does, by chance.

use std::fmt::Write;

use persist::history::{Drag, SessionOptions};
use persist::world::ExternalIds;
use persist::{
    Component, Error, ErrorKind, History, ObjectId, Persist, Result, Saves, Session, World,
};
use rand::Rng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64Mcg;

#[derive(Persist, Default)]
struct Place {
    x: f32,
    y: f32,
}

#[derive(Persist, Default)]
struct Tags {
    names: Vec<String>,
    owner: Option<ObjectId>,
}

#[derive(Persist, Default)]
struct Score {
    points: u64,
}

impl Component for Place {}
impl Component for Tags {}

/// Puts an object at the place of another.
#[derive(Persist)]
struct Join {
    what: ObjectId,
    to: ObjectId,
}

impl persist::Command for Join {
    fn apply(&mut self, edit: &mut persist::history::CommandEdit<'_>) -> Result<()> {
        let (x, y) = edit.get::<Place>(self.to).map(|place| (place.x, place.y))?;
        *edit.get_mut::<Place>(self.what)? = Place { x, y };
        Ok(())
    }

    fn undo(&mut self, _: &mut World) -> Result<()> {
        Ok(())
    }
}

/// Adds to a resource, directly.
#[derive(Persist)]
struct Gain {
    points: u64,
}

impl persist::Command for Gain {
    fn apply(&mut self, edit: &mut persist::history::CommandEdit<'_>) -> Result<()> {
        match edit.target().resource_mut::<Score>() {
            Some(score) => score.points += self.points,
            None => {
                edit.target().insert_resource(Score { points: self.points })?;
            }
        }
        Ok(())
    }

    fn undo(&mut self, world: &mut World) -> Result<()> {
        let score = world.resource_mut::<Score>();
        score.map(|score| score.points -= self.points).ok_or_else(|| refuse("there is no score"))
    }
}

/// What the program has.
pub(crate) fn options() -> Result<SessionOptions<persist::World>> {
    let saves = Saves::new();
    saves.register_component::<Place>()?;
    saves.register_component::<Tags>()?;
    saves.register_resource::<Score>()?;
    Session::with(saves, History::new(40)).register_command::<Join>()?.register_command::<Gain>()
}

fn refuse(why: &str) -> Error {
    Error::new(ErrorKind::Refused, why)
}

/// One edit, undo, redo, transaction or save.
pub(crate) fn edit(session: &mut Session, drag: &mut Option<Drag>, random: &mut Pcg64Mcg) {
    let objects: Vec<ObjectId> = session.target().objects().collect();
    let any = |random: &mut Pcg64Mcg| objects.choose(random).copied();
    let (one, other) = (any(random), any(random));
    let number = random.gen_range(0..100_u16);
    // What is refused, since the object has no such component, leaves all as it was.
    let _ = match (random.gen_range(0..24), one, other) {
        (0..=2, ..) | (_, None, _) | (_, _, None) => session.edit("Add", |edit| {
            let object = edit.spawn("Thing")?;
            edit.attach(object, Place::default())?;
            if number % 2 == 0 {
                edit.attach(object, Tags::default())?;
            }
            Ok(())
        }),
        (3..=6, Some(one), _) => session.edit("Move", |edit| {
            let place = edit.get_mut::<Place>(one)?;
            place.x += f32::from(number);
            place.y -= 1.0;
            Ok(())
        }),
        (7, Some(one), _) => session.set(one, "Place:x", f64::from(number)).map(drop),
        (8, Some(one), _) => session
            .edit("", |edit| edit.insert_element(one, "Tags:names", 0, format!("tag {number}"))),
        (9, Some(one), _) => session.edit("", |edit| edit.remove_element(one, "Tags:names", 0)),
        (10, Some(one), Some(other)) => session.set(one, "Tags:owner", Some(other)).map(drop),
        (11, Some(one), _) => session.edit("Delete", |edit| edit.remove(one)),
        (12, Some(one), Some(other)) => {
            session.edit("Below", |edit| edit.set_parent(one, Some(other)))
        }
        (13, Some(one), _) => session.edit("Untag", |edit| edit.detach::<Tags>(one)),
        (14, Some(one), _) => session.edit("Tag", |edit| {
            edit.attach(one, Tags { names: vec![format!("new {number}")], owner: Some(one) })
        }),
        (15, Some(one), _) => session.edit("Call", |edit| edit.rename(one, "Other").map(drop)),
        (16, Some(what), Some(to)) => session.apply(Join { what, to }),
        (17, ..) => session.apply(Gain { points: u64::from(number) }),
        (18, Some(one), _) => session.edit("Copy", |edit| {
            let prefab = edit.prefab(one)?;
            edit.instantiate(&prefab, ExternalIds::Keep).map(drop)
        }),
        (19, Some(one), _) => transaction(session, one, number),
        (20, ..) => session.undo().map(drop),
        (21, ..) => session.redo().map(drop),
        (22, ..) => {
            // It may be killed in the middle of it.
            *drag = if number % 2 == 0 { Some(session.begin_drag("Drag")) } else { None };
            Ok(())
        }
        _ if number < 40 => session.save().map(drop),
        (_, Some(one), _) => session.edit("Fails", |edit| {
            edit.remove(one)?;
            Err(refuse("it fails on purpose"))
        }),
    };
}

/// Several edits as one, which is rolled back now and then.
fn transaction(session: &mut Session, one: ObjectId, number: u16) -> Result<()> {
    session.begin("Several")?;
    let mut edits = || {
        session.edit("", |edit| edit.spawn_in(one, "Part").map(drop))?;
        session.set(one, "Place:y", f64::from(number))?;
        session.edit("", |edit| {
            edit.get_mut::<Place>(one)?.x = 0.0;
            Ok(())
        })
    };
    if edits().is_ok() && number > 30 { session.commit() } else { session.rollback() }
}

/// All that is to be the same after a recovery.
pub(crate) fn render(session: &Session) -> String {
    let (world, history) = (session.target(), session.history());
    let mut text = String::new();
    for object in world.objects() {
        let (name, parent) = (world.name(object), world.parent(object));
        write!(text, "{object} {name:?} below {parent:?}, {:?}:", world.children(object)).unwrap();
        for class in world.classes(object) {
            write!(text, " {}", world.get_field(object, &class).unwrap()).unwrap();
        }
        text.push('\n');
    }
    let points = world.resource::<Score>().map(|score| score.points);
    let (position, saved) = (history.position(), history.saved_position());
    writeln!(text, "{points:?} points; at {position}, saved {saved:?}").unwrap();
    writeln!(text, "{} {}", history.undo_text(), history.redo_text()).unwrap();
    for entry in history.entries() {
        writeln!(text, "{} {}", entry.label, entry.is_applied).unwrap();
    }
    text
}

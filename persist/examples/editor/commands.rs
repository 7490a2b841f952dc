//! The commands that a user can type.

use persist::history::{CommandEdit, Label};
use persist::{Command, Error, ErrorKind, ObjectId, Persist, Result, Session, Value, World};

use super::level::{Color, Place, Tags};

/// The effect of a line on the editor.
pub enum Next {
    Line,
    Quit,
}

const HELP: &str = "\
list                          all objects
add NAME                      makes an object
set OBJECT PATH VALUE         such as: set Door Place:x 4, set Door Color Red
tag OBJECT NAME               puts a name into its Tags
move OBJECT X Y               moves of one object that follow each other are one entry
align OBJECT...               puts all at the x of the first
below OBJECT PARENT           puts it below another one
delete OBJECT                 with all below it
undo [N], redo [N]            goes back and on again
go N                          goes to a line of `history`
history                       what was done
save                          writes the level
crash                         ends the process at once
quit                          ends, without saving: the journal keeps what was done";

/// Does what a line says.
pub fn run(session: &mut Session, line: &str) -> Result<Next> {
    let words: Vec<&str> = line.split_whitespace().collect();
    match *words {
        [] => {}
        ["help"] => println!("{HELP}"),
        ["list"] => list(session.target()),
        ["add", name] => {
            let object = session.edit(format!("Add {name}"), |edit| {
                edit.spawn_with(name, (Place::default(), Color::default(), Tags::default()))
            })?;
            println!("{}", session.target().name(object).unwrap_or_default());
        }
        ["set", name, path, _, ..] => {
            let object = find(session, name)?;
            let value = words[3..].join(" ");
            // A word is the name of a variant, or a text.
            let value = value.parse().unwrap_or_else(|_| Value::from(&*value));
            let old = session.set(object, path, value)?;
            println!("it was {old}");
        }
        ["tag", name, tag] => {
            let object = find(session, name)?;
            session.edit("", |edit| {
                let end = edit.get::<Tags>(object)?.names.len();
                edit.insert_element(object, "Tags:names", end, tag)
            })?;
        }
        ["move", name, x, y] => {
            let object = find(session, name)?;
            let (x, y) = (number(x)?, number(y)?);
            session.edit_merging(object, format!("Move {name}"), |edit| {
                *edit.get_mut::<Place>(object)? = Place { x, y };
                Ok(())
            })?;
        }
        ["align", _, ..] => {
            let names = &words[1..];
            let objects = names.iter().map(|name| find(session, name)).collect::<Result<_>>()?;
            session.apply(Align { objects })?;
        }
        ["below", name, parent] => {
            let (object, parent) = (find(session, name)?, find(session, parent)?);
            session.edit("", |edit| edit.set_parent(object, Some(parent)))?;
        }
        ["delete", name] => {
            let object = find(session, name)?;
            session.edit(format!("Delete {name}"), |edit| edit.remove(object))?;
        }
        ["undo"] => undo(session, 1)?,
        ["undo", times] => undo(session, count(times)?)?,
        ["redo"] => redo(session, 1)?,
        ["redo", times] => redo(session, count(times)?)?,
        ["go", position] => session.go_to(count(position)?)?,
        ["history"] => history(session),
        ["save"] => {
            session.save()?;
            println!("saved");
        }
        ["crash"] => std::process::abort(),
        ["quit"] => return Ok(Next::Quit),
        [command, ..] => match usage(command) {
            Some(usage) => println!("it is typed so: {usage}"),
            None => println!("there is no such command; type `help`"),
        },
    }
    Ok(Next::Line)
}

/// How a command is typed, as the help has it.
fn usage(command: &str) -> Option<&'static str> {
    let mut typed =
        HELP.lines().flat_map(|line| line.split("  ").take(1)).flat_map(|typed| typed.split(", "));
    typed.find(|typed| typed.split(' ').next() == Some(command))
}

fn list(world: &World) {
    let depth =
        |object| std::iter::successors(world.parent(object), |at| world.parent(*at)).count();
    for root in world.roots() {
        for object in world.subtree(root) {
            let fields = world.classes(object).into_iter().map(|class| {
                let value = world.get_field(object, &class);
                value.map_or(class.clone(), |value| value.to_string())
            });
            let fields: Vec<String> = fields.collect();
            let name = world.name(object).unwrap_or_default();
            println!("{}{name}: {}", "  ".repeat(depth(object)), fields.join(", "));
        }
    }
}

fn undo(session: &mut Session, times: usize) -> Result<()> {
    for _ in 0..times {
        let text = session.history().undo_text();
        if !session.undo()? {
            println!("there is nothing to undo");
            break;
        }
        println!("{text}");
    }
    Ok(())
}

fn redo(session: &mut Session, times: usize) -> Result<()> {
    for _ in 0..times {
        let text = session.history().redo_text();
        if !session.redo()? {
            println!("there is nothing to redo");
            break;
        }
        println!("{text}");
    }
    Ok(())
}

fn history(session: &Session) {
    let history = session.history();
    let mark = |position| match (position == history.position(), history.saved_position()) {
        (true, Some(saved)) if saved == position => "> saved",
        (true, _) => ">",
        (false, Some(saved)) if saved == position => "  saved",
        _ => "",
    };
    let line = |position, label, mark| {
        println!("{}", format!("{position:3} {label} {mark}").trim_end());
    };
    line(0, String::from("start"), mark(0));
    for entry in history.entries() {
        line(entry.index + 1, entry.label.to_string(), mark(entry.index + 1));
    }
}

/// Puts objects at the x of the first.
#[derive(Persist)]
pub struct Align {
    objects: Vec<ObjectId>,
}

impl Command for Align {
    fn apply(&mut self, edit: &mut CommandEdit<'_>) -> Result<()> {
        let Some((first, rest)) = self.objects.split_first() else { return Ok(()) };
        let x = edit.get::<Place>(*first)?.x;
        rest.iter().try_for_each(|object| edit.set(*object, "Place:x", x).map(drop))
    }

    /// All that it does is done through its edit.
    fn undo(&mut self, _: &mut World) -> Result<()> {
        Ok(())
    }

    fn label(&self) -> Label {
        Label::from(format!("Align {}", objects(self.objects.len())))
    }
}

/// Returns a number of objects in words.
pub fn objects(count: usize) -> String {
    format!("{count} {}", if count == 1 { "object" } else { "objects" })
}

fn find(session: &Session, name: &str) -> Result<ObjectId> {
    let message = || format!("there is no object `{name}`; `list` shows those that are there");
    session.target().find(name).ok_or_else(|| Error::new(ErrorKind::NotFound, message()))
}

fn number(text: &str) -> Result<f64> {
    text.parse().map_err(|_| Error::new(ErrorKind::InvalidValue, format!("`{text}` is no number")))
}

fn count(text: &str) -> Result<usize> {
    text.parse().map_err(|_| Error::new(ErrorKind::InvalidValue, format!("`{text}` is no count")))
}

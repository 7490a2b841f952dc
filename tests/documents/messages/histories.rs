//! Histories: commands that refuse, histories that are poisoned, proofs, worlds of which something is gone.

use persist::world::Activity;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};

use persist::history::{CommandEdit, Edit, Editable, Label, Proof};
use persist::{Command, Component, Error, ErrorKind, History, ObjectId, Persist, Result, World};

use crate::messages::table::Table;

thread_local! {
    /// What is refused, each once.
    static FAULTS: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

fn fault(line: &str) {
    FAULTS.with_borrow_mut(|faults| faults.push(line.to_owned()));
}

/// A command was asked to do something.
fn ask(line: &str) -> Result<()> {
    FAULTS.with_borrow_mut(|faults| {
        let Some(at) = faults.iter().position(|fault| fault.trim_end_matches('!') == line) else {
            return Ok(());
        };
        assert!(!faults.remove(at).ends_with('!'), "on purpose");
        Err(Error::new(ErrorKind::Refused, format!("no {line} today")))
    })
}

/// What is changed by commands alone.
struct Text(String);

impl Editable for Text {
    type Edit<'e> = Edit<'e, Self>;

    fn persist_edit<'e, R>(
        edit: &mut Edit<'e, Self>,
        run: impl FnOnce(&mut Self::Edit<'e>) -> Result<R>,
    ) -> Result<R> {
        run(edit)
    }
}

/// Appends a word to a text.
struct Write(&'static str);

impl Command<Text> for Write {
    fn apply(&mut self, edit: &mut CommandEdit<'_, Text>) -> Result<()> {
        ask(&format!("apply {}", self.0))?;
        edit.target().0.push_str(self.0);
        Ok(())
    }

    fn undo(&mut self, text: &mut Text) -> Result<()> {
        ask(&format!("undo {}", self.0))?;
        text.0.truncate(text.0.len() - self.0.len());
        Ok(())
    }

    fn redo(&mut self, edit: &mut CommandEdit<'_, Text>) -> Result<()> {
        ask(&format!("redo {}", self.0))?;
        edit.target().0.push_str(self.0);
        Ok(())
    }

    fn label(&self) -> Label {
        format!("Write {}", self.0).into()
    }
}

/// A history of three entries of one, three and one steps.
fn history() -> (Text, History<Text>) {
    let (mut text, mut history) = (Text(String::new()), History::new(10));
    history.apply(&mut text, Write("a")).unwrap();
    history
        .edit(&mut text, "Build", |edit| {
            ["b", "c", "d"].into_iter().try_for_each(|word| edit.apply(Write(word)))
        })
        .unwrap();
    (text, history)
}

#[test]
fn commands_that_refuse() {
    let (mut text, mut history) = history();
    let mut table = Table::new();
    fault("apply e");
    table.add("a command", history.apply(&mut text, Write("e")));
    fault("apply f");
    table.add(
        "a step of an edit",
        history.edit(&mut text, "", |edit| {
            edit.apply(Write("e"))?;
            edit.apply(Write("f"))
        }),
    );
    fault("undo c");
    table.add("a step of an undo", history.undo(&mut text));
    fault("undo a");
    table.add("an entry on the way", history.go_to(&mut text, 0));
    history.redo(&mut text).unwrap();
    table.add("a position beyond the last", history.go_to(&mut text, 9));
    history.undo(&mut text).unwrap();
    table.add("a commit of nothing", history.commit(&mut text));
    let odd = history.transaction(&mut text, "Odd", |history, _| history.begin("Inner"));
    table.add("a transaction that leaves one open", odd);
    table.add("a skip where nothing has failed", history.skip_entry(&mut text));
    table.add("a drop where nothing has failed", history.drop_entry(&mut text));
    history.begin("").unwrap();
    table.add("an undo while a transaction is open", history.undo(&mut text));
    fault("apply e");
    table.add("a step of a transaction", history.apply(&mut text, Write("e")));
    history.begin("Inner").unwrap();
    table.add("an undo while another is open", history.undo(&mut text));
    fault("apply e");
    table.add("a step of another transaction", history.apply(&mut text, Write("e")));
    insta::assert_snapshot!(table.text());
}

#[test]
fn histories_that_are_poisoned() {
    let (mut text, mut broken) = history();
    let mut table = Table::new();
    fault("undo b");
    fault("redo d");
    table.add("an undo that cannot be put back", broken.undo(&mut text));
    table.add("the next undo", broken.undo(&mut text));
    table.line("why", &broken.poison().unwrap().why);

    let (mut text, mut broken) = history();
    fault("apply f");
    fault("undo e");
    let edit = broken.edit(&mut text, Label::None, |edit| {
        edit.apply(Write("e"))?;
        edit.apply(Write("f"))
    });
    table.add("an edit that cannot be put back", edit);
    table.add("the next edit", broken.apply(&mut text, Write("g")));

    let (mut text, mut broken) = history();
    fault("undo e");
    let edit = broken.edit(&mut text, Label::None, |edit| {
        let part = edit.part(|edit| {
            edit.apply(Write("e"))?;
            Err::<(), _>(Error::new(ErrorKind::Refused, "enough"))
        });
        assert!(part.is_err());
        edit.apply(Write("f"))
    });
    table.add("a part that cannot be put back", edit);

    let (mut text, mut broken) = history();
    fault("undo c!");
    fault("redo d");
    let panic = catch_unwind(AssertUnwindSafe(|| broken.undo(&mut text)));
    assert!(panic.is_err());
    table.line("why, after a panic", &broken.poison().unwrap().why);
    let (mut text, mut broken) = history();
    fault("undo b");
    fault("redo c!");
    assert!(catch_unwind(AssertUnwindSafe(|| broken.undo(&mut text))).is_err());
    table.line("why, after a panic on the way back", &broken.poison().unwrap().why);
    insta::assert_snapshot!(table.text());
}

#[derive(Persist, Default, Clone)]
struct Place {
    x: f32,
    y: f32,
}

#[derive(Persist, Default)]
struct Score(u32);

#[derive(Persist)]
struct Words(Vec<u8>);

impl Component for Words {}

#[derive(Persist)]
struct Holder {
    shared: Arc<Mutex<u32>>,
}

impl Component for Place {}
impl Component for Score {}
impl Component for Holder {}

#[derive(Persist, Default)]
struct Dollhouse {
    inside: World,
}

impl Component for Dollhouse {}

/// Moves an object, and back by another way, or again by another.
struct Nudge {
    object: ObjectId,
    by: [f32; 3],
    done: usize,
}

impl Command for Nudge {
    fn apply(&mut self, edit: &mut CommandEdit<'_>) -> Result<()> {
        if let Some(place) = edit.target().get_mut::<Place>(self.object) {
            place.x += self.by[self.done];
        }
        self.done += 2;
        Ok(())
    }

    fn undo(&mut self, world: &mut World) -> Result<()> {
        if let Some(place) = world.get_mut::<Place>(self.object) {
            place.x -= self.by[1];
        }
        Ok(())
    }

    fn label(&self) -> Label {
        "Nudge".into()
    }

    fn objects(&self) -> Vec<ObjectId> {
        vec![self.object]
    }
}

/// Changes a world directly and through recorded edits, without a redo of its own.
struct Both(ObjectId);

impl Command for Both {
    fn apply(&mut self, edit: &mut CommandEdit<'_>) -> Result<()> {
        edit.target().rename(self.0, "Bob")?;
        edit.get_mut::<Place>(self.0)?.x = 7.0;
        Ok(())
    }

    fn undo(&mut self, world: &mut World) -> Result<()> {
        world.rename(self.0, "Ada").map(drop)
    }
}

/// Does to an object what a test says, and nothing back.
struct Spoil(ObjectId, Act);

type Act = fn(&mut World, ObjectId);

impl Command for Spoil {
    fn apply(&mut self, edit: &mut CommandEdit<'_>) -> Result<()> {
        (self.1)(edit.target(), self.0);
        Ok(())
    }

    fn undo(&mut self, _: &mut World) -> Result<()> {
        Ok(())
    }

    fn label(&self) -> Label {
        "Spoil".into()
    }

    fn objects(&self) -> Vec<ObjectId> {
        vec![self.0]
    }
}

fn world() -> (World, History, ObjectId) {
    let (mut world, history) = (World::new(), History::new(10));
    let ada = world.spawn("Ada");
    world.attach(ada, Place::default()).unwrap();
    (world, history, ada)
}

#[test]
fn commands_that_do_not_lead_back() {
    let mut table = Table::new();
    for (what, by) in [("an undo", [1.0, 3.0, 1.0]), ("a redo", [1.0, 1.0, 5.0])] {
        let (mut world, mut history, object) = world();
        history.set_proof(Proof::Touched);
        history.apply(&mut world, Nudge { object, by, done: 0 }).unwrap();
        let undone = history.undo(&mut world);
        table.add(what, undone.and_then(|_| history.redo(&mut world)));
    }
    let spoils: [(&str, Act); 5] = [
        ("a name", |world, object| drop(world.rename(object, "Bob").map(drop))),
        ("components", |world, object| drop(world.attach(object, Score(1)))),
        ("children", |world, object| drop(world.spawn_in(object, "Child"))),
        ("activity", |world, object| drop(world.set_activity(object, Activity::Paused))),
        ("a parent", |world, object| {
            let above = world.find("Above");
            drop(world.set_parent(object, above));
        }),
    ];
    for (what, spoil) in spoils {
        let (mut world, mut history, object) = world();
        world.spawn("Above");
        history.set_proof(Proof::Touched);
        history.apply(&mut world, Spoil(object, spoil)).unwrap();
        table.add(what, history.undo(&mut world));
    }
    let (mut world, mut history, ada) = world();
    history.apply(&mut world, Both(ada)).unwrap();
    history.undo(&mut world).unwrap();
    table.add("a redo of what is recorded", history.redo(&mut world));
    insta::assert_snapshot!(table.text());
}

/// Counts how often it was loaded, in a field that is saved.
#[derive(Persist, Default)]
#[persist(after_load = Counted::count)]
struct Counted {
    items: Vec<u32>,
    loads: u32,
}

impl Counted {
    fn count(&mut self) {
        self.loads += 1;
    }
}

#[cfg(debug_assertions)]
#[test]
fn an_after_load_function_that_changes_a_saved_field() {
    let mut table = Table::new();
    let (mut target, mut history) = (Counted::default(), History::new(10));
    let add = |counted: &mut Counted| {
        counted.items.push(7);
        Ok(())
    };
    table.add("an edit", history.edit(&mut target, "Add", add));
    assert!(target.items.is_empty());
    history.set_field(&mut target, "Counted:items", vec![7_u32]).unwrap();
    table.add("an undo", history.undo(&mut target));
    assert_eq!(target.items, [7]);
    insta::assert_snapshot!(table.text());
}

#[test]
fn worlds_of_which_something_is_gone() {
    let mut table = Table::new();
    let (mut one, mut edits, ada) = world();
    let bob = one.spawn("Bob");
    let gone = one.spawn("Gone");
    one.remove(gone);
    let edit = |history: &mut History, world: &mut World, object| {
        history.edit(world, "", |edit| edit.get_mut::<Place>(object).map(drop))
    };
    table.add("an object without the component", edit(&mut edits, &mut one, bob));
    table.add("an object that is gone", edit(&mut edits, &mut one, gone));
    table.add(
        "a pause of one that is gone",
        edits.edit(&mut one, "", |edit| edit.set_activity(gone, Activity::Paused)),
    );
    table
        .add("a class that it has not", edits.edit(&mut one, "", |edit| edit.detach::<Score>(bob)));
    table
        .add("a resource", edits.edit(&mut one, "", |edit| edit.resource_mut::<Score>().map(drop)));
    table.add(
        "an element of what is no list",
        edits.edit(&mut one, "", |edit| edit.remove_element(ada, "Place:x", 0)),
    );
    one.attach(ada, Holder { shared: Arc::default() }).unwrap();
    let refused = edits.edit(&mut one, "", |edit| edit.get_mut::<Holder>(ada).map(drop));
    table.add("a class with pointers", refused);
    one.detach::<Holder>(ada);
    one.attach(ada, Dollhouse::default()).unwrap();
    let refused = edits.edit(&mut one, "", |edit| edit.get_mut::<Dollhouse>(ada).map(drop));
    table.add("a component that holds a world", refused);
    one.detach::<Dollhouse>(ada);
    table.add("another world", edits.undo(&mut World::new()));

    edits.edit(&mut one, "", |edit| edit.insert_resource(Score(1))).unwrap();
    edits.edit(&mut one, "", |edit| edit.remove_resource::<Score>()).unwrap();
    one.insert_resource(Score(2)).unwrap();
    table.add("an undo of the removal of a resource where there is another", edits.undo(&mut one));
    one.remove_resource::<Score>().unwrap();
    edits.undo(&mut one).unwrap();
    one.remove_resource::<Score>();
    table.add("an undo of a resource that is gone", edits.undo(&mut one));
    let (mut one, mut edits, ada) = world();
    edits.edit(&mut one, "", |edit| edit.detach::<Place>(ada)).unwrap();
    one.attach(ada, Place::default()).unwrap();
    table.add("an undo of what is there again", edits.undo(&mut one));
    let (mut one, mut edits, ada) = world();
    edits.edit(&mut one, "", |edit| edit.rename(ada, "Bob").map(drop)).unwrap();
    let other = one.spawn("Ada");
    assert_eq!(one.name(other), Some("Ada"));
    table.add("an undo of a name that is taken", edits.undo(&mut one));
    let (mut one, mut edits, ada) = world();
    table.add(
        "an element that is not there",
        edits.edit(&mut one, "", |edit| {
            edit.attach(ada, Words(vec![1]))?;
            edit.remove_element(ada, "Words:0", 3)
        }),
    );
    insta::assert_snapshot!(table.text());
}

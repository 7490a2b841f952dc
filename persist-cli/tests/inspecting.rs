//! `verify`, `stats`, `schema`, `journal` and `lock check`.

use persist::history::CommandEdit;
use persist::save::Registry;
use persist::{Command, History, Persist, Result, Saves, Session};
use persist_tools::lock::Lock;

use crate::game;
use crate::support::Folder;

fn graph() -> Folder {
    let fixtures = [
        "v1/graph.sav",
        "v1/values.sav",
        "v1/players.sav",
        "v1/compact.sav",
        "compressed/zstd.sav",
    ];
    let folder = Folder::with(&fixtures);
    folder.write("town.sav", &game::town().expect("a town"));
    game::quest(&folder.path("quest.sav")).expect("a quest");
    folder
}

#[test]
fn verify_checks_every_part_of_a_save() {
    let folder = graph();
    folder.damage("quest.sav", "block.sav", 100_000);
    folder.cut("quest.sav", "cut.sav", 150_000);
    folder.damage("graph.sav", "head.sav", 12);
    folder.write("empty.sav", b"");
    let commands = [
        "verify graph.sav town.sav zstd.sav quest.sav",
        "verify block.sav cut.sav head.sav empty.sav graph.sav",
        "verify --quiet graph.sav cut.sav",
        "verify --quiet graph.sav",
        "verify zstd.sav cut.sav --json",
        "verify - < players.sav",
    ];
    insta::assert_snapshot!(folder.transcript(commands));
}

#[test]
fn verify_checks_the_saves_in_folders() {
    let folder = Folder::new();
    let saves = folder.path("saves");
    std::fs::create_dir_all(saves.join("old/none")).expect("folders");
    for (name, fixture) in
        [("a.sav", "v1/graph.sav"), ("b", "v1/values.sav"), ("old/c.sav", "v1/compact.sav")]
    {
        std::fs::write(saves.join(name), crate::support::fixture_bytes(fixture)).expect("a file");
    }
    std::fs::write(saves.join("readme.txt"), "no save").expect("a file");
    std::fs::write(saves.join("old/text.sav"), "no save").expect("a file");
    insta::assert_snapshot!(folder.transcript(["verify saves", "verify saves/old/none"]));
}

#[test]
fn stats_shows_where_the_bytes_go() {
    let commands = [
        "stats graph.sav",
        "stats town.sav --depth 4",
        "stats zstd.sav --least 5",
        "stats quest.sav --depth 1",
        "stats compact.sav --json --depth 1",
        "stats - < players.sav",
    ];
    insta::assert_snapshot!(graph().transcript(commands));
}

#[test]
fn schema_shows_the_classes_of_a_save() {
    let commands =
        ["schema graph.sav", "schema values.sav", "schema compact.sav --json", "schema town.sav"];
    insta::assert_snapshot!(graph().transcript(commands));
}

#[test]
fn schema_prints_types_for_other_programs() {
    let commands = [
        "schema graph.sav --rust",
        "schema values.sav --rust",
        "schema compact.sav --rust",
        "schema town.sav --rust",
        "schema graph.sav --json-schema",
    ];
    insta::assert_snapshot!(graph().transcript(commands));
}

#[test]
fn what_reads_a_save_says_where_it_is_damaged() {
    let folder = graph();
    folder.damage("quest.sav", "block.sav", 100_000);
    let commands = ["stats block.sav", "schema block.sav", "journal block.sav", "stats none.sav"];
    insta::assert_snapshot!(folder.transcript(commands));
}

#[derive(Persist, Default)]
#[persist(class = "editor.Level")]
struct Level {
    name: String,
    speed: f32,
    doors: Vec<Door>,
}

#[derive(Persist)]
struct Door {
    open: bool,
    key: Option<String>,
}

/// A command of the program's own.
#[derive(Persist)]
struct Shuffle {
    seed: u64,
    before: Vec<String>,
}

impl Command<Level> for Shuffle {
    fn apply(&mut self, edit: &mut CommandEdit<'_, Level>) -> Result<()> {
        let level = edit.target();
        self.before = vec![level.name.clone()];
        level.name = format!("level {}", self.seed);
        Ok(())
    }

    fn undo(&mut self, level: &mut Level) -> Result<()> {
        level.name = self.before.pop().unwrap_or_default();
        Ok(())
    }
}

/// A session that ends without a save.
fn editor(folder: &Folder) -> Result<()> {
    let options = Session::with(Saves::new(), History::new(10)).register_command::<Shuffle>()?;
    let (mut session, _) = options.open(folder.path("level.sav"), folder.path("level.journal"))?;
    session.edit("Begin", |level: &mut Level| {
        let doors = vec![Door { open: false, key: None }];
        *level = Level { name: "Harbour".into(), speed: 1.5, doors };
        Ok(())
    })?;
    session.save()?;
    session.edit("", |level: &mut Level| {
        level.speed = 2.5;
        Ok(())
    })?;
    session.edit("Lock the door", |level: &mut Level| {
        level.doors[0] = Door { open: true, key: Some("iron".into()) };
        level.doors.push(Door { open: false, key: None });
        Ok(())
    })?;
    session.undo()?;
    session.apply(Shuffle { seed: 7, before: Vec::new() })
}

#[test]
fn journal_lists_entries_with_their_values() {
    let folder = Folder::with(&[
        "journals/edits.sav",
        "journals/edits.journal",
        "journals/saved.sav",
        "journals/saved.journal",
        "journals/format_1.journal",
    ]);
    editor(&folder).expect("a session");
    let commands = [
        "journal level.journal",
        "journal level.journal --save edits.sav",
        "journal edits.journal",
        "journal saved.journal",
        "journal format_1.journal",
        "journal level.journal --json",
    ];
    insta::assert_snapshot!(folder.transcript(commands));
}

#[test]
fn journal_shows_where_it_is_torn() {
    let folder = Folder::new();
    editor(&folder).expect("a session");
    let length = folder.read("level.journal").len();
    folder.cut("level.journal", "cut.journal", length - 20);
    folder.damage("level.journal", "bad.journal", length / 2 - 40);
    let commands = ["journal cut.journal", "journal bad.journal --json"];
    insta::assert_snapshot!(folder.transcript(commands));
}

mod then {
    #[derive(persist::Persist)]
    pub(crate) struct Hero {
        pub(crate) name: String,
        pub(crate) hp: u32,
        pub(crate) mood: Mood,
    }

    #[derive(persist::Persist)]
    pub(crate) enum Mood {
        Calm,
    }
}

#[derive(Persist)]
struct Hero {
    name: String,
    hp: u64,
    mana: f32,
    mood: Mood,
}

#[derive(Persist)]
enum Mood {
    Calm,
    Angry,
}

#[test]
fn lock_check_shows_which_versions_saves_are_of() {
    fn registry<T: Persist>() -> Registry {
        let mut registry = Registry::new();
        registry.register::<T>().expect("a class");
        registry
    }
    let folder = Folder::with(&["v1/graph.sav"]);
    let mut lock = Lock::new();
    lock.update("1.0.0", &registry::<then::Hero>()).expect("a version");
    lock.save(folder.path("old.lock")).expect("a lock");
    lock.update("2.0.0", &registry::<Hero>()).expect("a version");
    lock.save(folder.path("persist.lock")).expect("a lock");
    std::fs::create_dir(folder.path("saves")).expect("a folder");
    let old = then::Hero { name: "Ada".into(), hp: 3, mood: then::Mood::Calm };
    persist::save(folder.path("saves/old.sav"), &old).expect("a save");
    let new = Hero { name: "Bob".into(), hp: 4, mana: 0.5, mood: Mood::Angry };
    assert!(!matches!(new.mood, Mood::Calm));
    persist::save(folder.path("saves/new.sav"), &new).expect("a save");
    let commands = [
        "lock check saves",
        "lock check saves graph.sav --lock old.lock",
        "lock check saves/new.sav --lock old.lock --json",
        "lock check saves --lock none.lock",
        "lock check saves --lock graph.sav",
    ];
    insta::assert_snapshot!(folder.transcript(commands));
}

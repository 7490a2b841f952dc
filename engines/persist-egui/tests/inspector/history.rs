//! Tests of the window with the history, the mark of unsaved changes, and the banner after a recovery.

use egui::Vec2;
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable as _;
use persist::history::Recovered;
use persist::{History, Saves, Session, World};
use persist_egui::{history_window, recovered_banner, title};

use crate::support::Lamp;

struct Program {
    session: Session,
    recovered: Option<Recovered>,
    is_open: bool,
}

fn open(folder: &std::path::Path) -> Program {
    let saves = Saves::new();
    saves.register_component::<Lamp>().unwrap();
    let session = Session::<World>::with(saves, History::new(100));
    let (session, recovered) =
        session.open(folder.join("a.sav"), folder.join("a.journal")).unwrap();
    Program { session, recovered: Some(recovered), is_open: true }
}

fn show(program: Program) -> Harness<'static, Program> {
    let app = |ui: &mut egui::Ui, program: &mut Program| {
        recovered_banner(ui, &mut program.recovered);
        history_window(ui.ctx(), &mut program.session, &mut program.is_open);
    };
    let mut window =
        Harness::builder().with_size(Vec2::new(500.0, 600.0)).build_ui_state(app, program);
    window.run_steps(3);
    window
}

fn click(window: &mut Harness<'static, Program>, label: &str) {
    window.get_by_label(label).click();
    window.run_steps(4);
}

#[test]
fn a_click_selects_an_entry_and_the_saved_one_is_marked() {
    let folder = tempfile::tempdir().unwrap();
    let mut program = open(folder.path());
    for name in ["Door", "Gate", "Wall"] {
        program.session.edit(format!("Add {name}"), |edit| edit.spawn(name)).unwrap();
    }
    let mut window = show(program);
    assert!(window.query_by_label("History *").is_some());
    click(&mut window, "Save");
    assert!(window.query_by_label("History").is_some());
    assert!(window.query_by_label("Add Wall  (saved)").is_some());
    click(&mut window, "Add Door");
    assert_eq!(window.state().session.history().position(), 1);
    assert_eq!(window.state().session.target().objects().len(), 1);
    click(&mut window, "(beginning)");
    assert_eq!(window.state().session.target().objects().len(), 0);
    assert!(window.query_by_label("History *").is_some());
    click(&mut window, "Redo Add Door");
    click(&mut window, "Add Wall  (saved)");
    assert!(!window.state().session.history().is_modified());
    click(&mut window, "Undo Add Wall");
    assert_eq!(window.state().session.history().position(), 2);
}

#[test]
fn the_banner_says_what_was_recovered_until_it_is_closed() {
    let folder = tempfile::tempdir().unwrap();
    let mut program = open(folder.path());
    program.session.save().unwrap();
    for name in ["Door", "Gate"] {
        program.session.edit("", |edit| edit.spawn(name)).unwrap();
    }
    // Simulate a crash.
    drop(program);
    // The window with the history does not lie over the banner.
    let mut window = show(open(folder.path()));
    assert!(window.query_by_label("Recovered 2 edits").is_some());
    click(&mut window, "Close the message");
    assert!(window.query_by_label("Recovered 2 edits").is_none());
    assert!(window.state().recovered.is_none());
}

#[test]
fn the_window_follows_the_current_entry() {
    let folder = tempfile::tempdir().unwrap();
    let mut program = open(folder.path());
    let add = |program: &mut Program, at: u32| {
        program.session.edit(format!("Add {at}"), |edit| edit.spawn("Door")).unwrap();
    };
    (1..=60).for_each(|at| add(&mut program, at));
    let mut window = show(program);
    assert!(window.query_by_label("Add 60").is_some());
    add(window.state_mut(), 61);
    window.run_steps(3);
    assert!(window.query_by_label("Add 61").is_some());
    window.state_mut().session.go_to(2).unwrap();
    window.run_steps(3);
    assert!(window.query_by_label("Add 2").is_some());
    assert!(window.query_by_label("Add 61").is_none());
}

#[test]
fn no_banner_is_shown_if_nothing_was_recovered() {
    let folder = tempfile::tempdir().unwrap();
    let window = show(open(folder.path()));
    assert!(window.state().recovered.is_none());
    assert_eq!(title("a.sav", window.state().session.history()), "a.sav");
}

#[test]
fn a_session_is_inspected_across_a_crash() {
    let folder = tempfile::tempdir().unwrap();
    let app = |ui: &mut egui::Ui, program: &mut Program| {
        persist_egui::inspect(ui, &mut program.session);
    };
    let size = Vec2::new(400.0, 900.0);
    let mut window = Harness::builder().with_size(size).build_ui_state(app, open(folder.path()));
    window.run_steps(3);
    window.get_by_label("Add an object").click();
    window.run_steps(4);
    window.get_by_label("+ Component").click();
    window.run_steps(4);
    window.get_by_label("Lamp").click();
    window.run_steps(4);
    let entries = |program: &Program| {
        let entries = program.session.history().entries();
        entries.map(|entry| entry.label.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(entries(window.state()), ["Add object", "Attach Lamp to Object"]);
    drop(window);
    let again = open(folder.path());
    assert_eq!(entries(&again), ["Add object", "Attach Lamp to Object"]);
    assert_eq!(again.session.target().objects().len(), 1);
}

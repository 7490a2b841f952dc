//! What cannot be recorded, and when nothing can.

use persist::world::Activity;
use std::cell::{Cell, RefCell};
use std::sync::{Arc, Mutex};

use persist::{Component, ComponentScope, ErrorKind, History, Persist, Result, World};

use super::scene::{Homing, Score, Speed, Thing, Transform, text, transform, with};
use super::stage::{entries, kind};

#[derive(Persist, Debug)]
struct Holder {
    count: u8,
    shared: Arc<Mutex<u32>>,
}

#[derive(Persist)]
struct Deep {
    all: Vec<Option<Part>>,
}

#[derive(Persist)]
struct Part {
    owner: Option<Arc<Mutex<u32>>>,
}

impl Component for Holder {}
impl Component for Deep {}

#[test]
fn a_component_class_with_shared_pointers_is_refused_with_the_reason() -> Result<()> {
    let shared = Arc::new(Mutex::new(1));
    let (mut world, mut history, ada) = with(Holder { count: 1, shared });
    world.attach(ada, Deep { all: vec![Some(Part { owner: None })] })?;
    world.attach(ada, Thing::sample())?;
    let errors = [
        ("Holder", history.edit(&mut world, "", |edit| edit.get_mut::<Holder>(ada).map(drop))),
        ("Deep", history.edit(&mut world, "", |edit| edit.get_mut::<Deep>(ada).map(drop))),
    ];
    for (class, error) in errors {
        let error = error.expect_err("it holds shared pointers");
        assert_eq!((error.kind(), error.class()), (ErrorKind::Unsupported, Some(class)));
        assert_eq!(
            error.message(),
            "the class holds shared pointers, and what is behind them is not recorded; keep an `ObjectId` in their place, or change it by a command of your own"
        );
    }
    // What lies beside them can be set, and the whole come and go.
    history.set(&mut world, ada, "Holder:count", 2)?;
    let refused = history.set(&mut world, ada, "Holder:shared", 2);
    assert_eq!(kind(refused), ErrorKind::Unsupported);
    history.edit(&mut world, "", |edit| edit.detach::<Holder>(ada))?;
    history.go_to(&mut world, 0)?;
    let holder = world.get::<Holder>(ada).expect("it is there");
    assert_eq!((holder.count, *holder.shared.lock().expect("free")), (1, 1));
    history.go_to(&mut world, 1)?;
    assert_eq!(world.get::<Holder>(ada).map(|holder| holder.count), Some(2));
    Ok(())
}

#[test]
fn a_trait_object_that_comes_to_hold_a_shared_pointer_is_refused_and_put_back() -> Result<()> {
    #[persist::dynamic]
    trait Item: Send {
        fn worth(&self) -> u32;
    }
    #[derive(Persist)]
    struct Coin(u32);
    #[derive(Persist)]
    struct Cheque(Arc<Mutex<u32>>);
    impl Item for Coin {
        fn worth(&self) -> u32 {
            self.0
        }
    }
    impl Item for Cheque {
        fn worth(&self) -> u32 {
            *self.0.lock().expect("free")
        }
    }
    #[derive(Persist)]
    struct Purse {
        name: String,
        item: Box<dyn Item>,
    }
    impl Component for Purse {}

    let (mut world, mut history, ada) = with(Purse { name: "a".into(), item: Box::new(Coin(1)) });
    world.registry_mut().register_as::<Coin, dyn Item>()?;
    let put = |history: &mut History, world: &mut World, item: Box<dyn Item>| {
        history.edit(world, "", |edit| {
            let purse = edit.get_mut::<Purse>(ada)?;
            (purse.name, purse.item) = ("b".into(), item);
            Ok(())
        })
    };
    let cheque = || Box::new(Cheque(Arc::new(Mutex::new(9))));
    let error = put(&mut history, &mut world, cheque()).expect_err("it is not registered");
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    let purse = world.get::<Purse>(ada).expect("it is there");
    assert_eq!((&*purse.name, purse.item.worth(), history.entries().len()), ("a", 1, 0));
    put(&mut history, &mut world, Box::new(Coin(2)))?;

    // Once there may be pointers in it, and there is one, it cannot be taken.
    world.registry_mut().register_as::<Cheque, dyn Item>()?;
    world.get_mut::<Purse>(ada).expect("it is there").item = cheque();
    let refused = put(&mut history, &mut world, Box::new(Coin(3)));
    assert_eq!(kind(refused), ErrorKind::Unsupported);
    assert_eq!(world.get::<Purse>(ada).map(|purse| purse.item.worth()), Some(9));
    assert_eq!(kind(history.undo(&mut world)), ErrorKind::Unsupported);
    let purse = world.get_mut::<Purse>(ada).expect("it is there");
    assert_eq!((&*purse.name, purse.item.worth()), ("b", 9));
    // Without it, what was recorded can be undone.
    purse.item = Box::new(Coin(4));
    assert!(history.undo(&mut world)?);
    let purse = world.get::<Purse>(ada).expect("it is there");
    assert_eq!((&*purse.name, purse.item.worth()), ("a", 1));
    Ok(())
}

#[test]
fn what_changes_behind_a_cell_without_mut_is_not_recorded() -> Result<()> {
    #[derive(Persist)]
    struct Watched {
        count: u8,
        seen: Cell<u8>,
    }
    impl Component for Watched {}
    let (mut world, mut history, ada) = with(Watched { count: 1, seen: Cell::new(1) });
    history.edit(&mut world, "", |edit| {
        edit.get::<Watched>(ada)?.seen.set(2);
        Ok(())
    })?;
    assert!(history.entries().len() == 0);
    // With it, it is.
    history.edit(&mut world, "", |edit| {
        edit.get_mut::<Watched>(ada)?.seen.set(3);
        Ok(())
    })?;
    history.set(&mut world, ada, "Watched:count", 2)?;
    history.go_to(&mut world, 0)?;
    let watched = world.get::<Watched>(ada).expect("it is there");
    assert_eq!((watched.count, watched.seen.get()), (1, 2));
    Ok(())
}

thread_local! {
    static HISTORY: RefCell<History> = RefCell::new(History::new(100));
    static FOUND: RefCell<Vec<(&'static str, Option<ErrorKind>)>> = const { RefCell::new(Vec::new()) };
}

/// Tries all that a history can do while its method runs.
#[derive(Persist)]
struct Meddler;

impl Component for Meddler {
    fn on_update(&mut self, scope: &mut ComponentScope<'_>) {
        let ada = scope.object();
        let world = &mut *scope.world;
        HISTORY.with_borrow_mut(|history| {
            let note = |what, result: Result<()>| {
                let kind = result.err().map(|error| error.kind());
                FOUND.with_borrow_mut(|found| found.push((what, kind)));
            };
            note("undo", history.undo(world).map(drop));
            note("redo", history.redo(world).map(drop));
            note("set", history.set(world, ada, "Transform:x", 9.0).map(drop));
            note("spawn", history.edit(world, "", |edit| edit.spawn("Bob")).map(drop));
            note("remove", history.edit(world, "", |edit| edit.remove(ada)));
            note("attach", history.edit(world, "", |edit| edit.attach(ada, Speed(1.0))));
            note("detach", history.edit(world, "", |edit| edit.detach::<Transform>(ada)));
            note("rename", history.edit(world, "", |edit| edit.rename(ada, "Eve").map(drop)));
            note("move", history.edit(world, "", |edit| edit.set_parent(ada, None)));
            note("pause", history.edit(world, "", |edit| edit.set_activity(ada, Activity::Paused)));
            note(
                "get_mut",
                history.edit(world, "", |edit| edit.get_mut::<Transform>(ada).map(drop)),
            );
            note(
                "resource",
                history.edit(world, "", |edit| {
                    edit.insert_resource(Score { points: 1, names: vec![] })
                }),
            );
            note(
                "element",
                history.edit(world, "", |edit| edit.insert_element(ada, "Homing:others", 0, ada)),
            );
        });
    }
}

#[test]
fn nothing_is_recorded_undone_or_redone_while_a_method_of_a_component_runs() -> Result<()> {
    let (mut world, mut history, ada) = with(transform(1.0, 0.0));
    world.attach(ada, Homing { target: None, others: vec![] })?;
    history.set(&mut world, ada, "Transform:x", 2.0)?;
    history.set(&mut world, ada, "Transform:y", 2.0)?;
    history.edit(&mut world, "", |edit| edit.insert_element(ada, "Homing:others", 0, ada))?;
    for position in [2, 1] {
        history.go_to(&mut world, position)?;
        world.attach(ada, Meddler)?;
        let before = (world.get::<Transform>(ada).cloned(), entries(&history));
        HISTORY.set(history);
        world.update(0.1);
        history = HISTORY.replace(History::new(1));
        for (what, kind) in FOUND.take() {
            assert_eq!(kind, Some(ErrorKind::Borrowed), "{what}");
        }
        assert_eq!((world.get::<Transform>(ada).cloned(), entries(&history)), before);
        assert!(world.detach::<Meddler>(ada));
    }
    assert!(history.undo(&mut world)?);
    let before = text(&world);
    history.go_to(&mut world, 3)?;
    history.go_to(&mut world, 0)?;
    assert_eq!(text(&world), before);
    Ok(())
}

#[test]
fn what_a_method_asked_for_before_it_panicked_is_done_before_the_next_edit() -> Result<()> {
    #[derive(Persist)]
    struct Bomb;
    impl Component for Bomb {
        fn on_update(&mut self, scope: &mut ComponentScope<'_>) {
            scope.world.spawn("Crater");
            std::panic::resume_unwind(Box::new("bang"));
        }
    }
    let (mut world, mut history, ada) = with(transform(1.0, 0.0));
    history.set(&mut world, ada, "Transform:x", 2.0)?;
    world.attach(ada, Bomb)?;
    let panic =
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| world.update(0.1))).is_err();
    assert!(panic && world.find("Crater").is_none());
    history.undo(&mut world)?;
    assert!(world.find("Crater").is_some(), "it is none of the history's");
    assert_eq!(history.redo_text(), "Redo Set Transform.x of Ada");
    Ok(())
}

#[derive(Persist, Default)]
struct Dollhouse {
    inside: World,
}

impl Component for Dollhouse {}

#[test]
fn a_world_in_a_component_is_refused_as_what_it_is() -> Result<()> {
    let (mut world, mut history, ada) = with(Dollhouse::default());
    let error = history.edit(&mut world, "", |edit| edit.get_mut::<Dollhouse>(ada).map(drop));
    let error = error.expect_err("it holds a world");
    assert_eq!((error.kind(), error.class()), (ErrorKind::Unsupported, Some("Dollhouse")));
    assert_eq!(
        error.message(),
        "the class holds a world, and what is in that is not recorded; give that world a history of its own, or change it by a command of your own"
    );
    Ok(())
}

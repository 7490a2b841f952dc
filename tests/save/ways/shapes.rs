//! The shape of the calls: what is `Send`, what is shared, what never waits.

use std::any::Any;
use std::cell::RefCell;
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

use persist::save::{SaveOutcome, Slot, Slots};
use persist::storage::{Memory, NewFile, SlotFolder, SlotStore, Storage, StoredFile};
use persist::{ErrorKind, Loaded, Persist, SaveManager, Saves};

#[derive(Persist, Debug, PartialEq)]
struct Game {
    day: u32,
}

#[test]
fn values_go_to_other_threads() {
    fn sent<T: Send + Sync + 'static>() {}
    sent::<Saves>();
    sent::<Slots>();
    sent::<Slot>();
    sent::<Loaded<Game>>();
    let saves = Saves::new();
    let save = persist::to_vec(&Game { day: 1 }).expect("a save");
    let loaded = saves.from_slice::<Game>(&save).expect("the save");
    let clone = saves.clone();
    let again = thread::spawn(move || clone.to_vec(&loaded)).join().expect("a thread");
    assert_eq!(again.expect("a save"), save);
}

#[test]
fn clones_share_classes_and_the_thread_but_not_settings() {
    let storage = Memory::default();
    let saves = Saves::new();
    let editor = saves.clone().storage(storage.clone());
    editor.register::<Game>().expect("a class");
    assert!(saves.registry().class("Game").is_some());
    editor.file("a.sav").save_in_background(&1_u32).map(drop).expect("a save");
    saves.wait().expect("the save of the clone");
    assert!(storage.open(Path::new("a.sav")).is_ok());
    let error = saves.file("no such folder/a.sav").load::<u32>().expect_err("other settings");
    assert_eq!(error.kind(), ErrorKind::NotFound);
}

#[test]
fn several_threads_save_by_one() {
    let saves = Saves::new().storage(Memory::default());
    let slots = saves.slots("saves");
    thread::scope(|scope| {
        for thread in 0..4_u32 {
            let slots = slots.clone();
            scope.spawn(move || {
                for day in 0..20 {
                    let slot = slots.slot(&format!("slot {thread}"));
                    slot.save(&Game { day }).expect("a save");
                    assert_eq!(slot.load::<Game>().expect("the save").day, day);
                }
            });
        }
    });
    assert_eq!(slots.list().expect("a list").len(), 4);
}

/// Memory whose files cannot be created while it is shut.
#[derive(Clone, Default)]
struct Gate {
    files: Memory,
    is_shut: Arc<(Mutex<bool>, Condvar)>,
}

impl Gate {
    fn shut(&self, is_shut: bool) {
        *self.is_shut.0.lock().expect("no panic") = is_shut;
        self.is_shut.1.notify_all();
    }
}

impl Storage for Gate {
    fn open(&self, path: &Path) -> io::Result<Box<dyn StoredFile>> {
        self.files.open(path)
    }

    fn create(&self, path: &Path, like: &Path) -> io::Result<Box<dyn NewFile>> {
        let shut = self.is_shut.0.lock().expect("no panic");
        drop(self.is_shut.1.wait_while(shut, |shut| *shut).expect("no panic"));
        self.files.create(path, like)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.files.rename(from, to)
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.files.link(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.files.remove(path)
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        self.files.sync_folder(folder)
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<PathBuf>> {
        // Not even this is asked by the thread that saves.
        let shut = self.is_shut.0.lock().expect("no panic");
        drop(self.is_shut.1.wait_while(shut, |shut| *shut).expect("no panic"));
        self.files.list(folder)
    }

    fn lock(&self, path: &Path) -> io::Result<Option<Box<dyn Any + Send>>> {
        self.files.lock(path)
    }
}

#[test]
fn automatic_saves_never_wait_and_the_worker_chooses_the_file() {
    let gate = Gate::default();
    let saves = Saves::new().storage(gate.clone());
    let slots = saves.slots("saves");
    gate.shut(true);
    let manual = slots.slot("Ada").save_in_background(&Game { day: 0 }).expect("a save");
    // Each of these would wait for ever if it asked the storage for anything.
    let first = slots.auto(3).save_in_background(&Game { day: 1 }).expect("a save");
    let second = slots.auto(3).save_in_background(&Game { day: 2 }).expect("a save");
    let third = slots.auto(3).save_in_background(&Game { day: 3 }).expect("a save");
    let other = saves.slots("elsewhere").auto(3).save_in_background(&Game { day: 9 });
    let other = other.expect("a save");
    assert_eq!(third.path(), None);
    assert_eq!(first.wait().expect("it has not begun"), SaveOutcome::Superseded);
    assert_eq!(second.wait().expect("it has not begun"), SaveOutcome::Superseded);
    gate.shut(false);
    while !third.is_done() {
        thread::yield_now();
    }
    assert!(third.path().is_some_and(|path| path.ends_with("auto1.sav")));
    assert_eq!(third.wait().expect("a save"), SaveOutcome::Saved);
    assert_eq!(other.wait().expect("a save"), SaveOutcome::Saved);
    assert_eq!(manual.wait().expect("a save"), SaveOutcome::Saved);
    assert_eq!(slots.auto(3).load::<Game>().expect("the newest").day, 3);
    assert_eq!(slots.list().expect("a list").len(), 2);
}

#[test]
fn a_rotation_takes_its_slots_in_turn_and_loads_the_newest() {
    let storage = Memory::default();
    let saves = Saves::new().storage(storage.clone());
    let store = Arc::new(SlotFolder::new(storage, "stored"));
    for slots in [saves.slots("saves"), saves.store(store)] {
        let auto = slots.auto(3);
        assert_eq!(
            auto.load::<Game>().map(drop).expect_err("none yet").kind(),
            ErrorKind::NotFound
        );
        for day in 0..7 {
            if day % 2 == 0 {
                auto.save(&Game { day }).expect("a save");
            } else {
                auto.save_in_background(&Game { day }).expect("a save").wait().expect("a save");
            }
            assert_eq!(auto.load::<Game>().expect("the newest").day, day);
        }
        let names: Vec<_> = slots.list().expect("a list").into_iter().map(|it| it.name).collect();
        assert_eq!(names, ["auto1", "auto2", "auto3"]);
        auto.delete().expect("all of them");
        assert!(slots.list().expect("a list").is_empty());
    }
}

#[test]
fn a_value_of_a_store_continues_what_was_loaded() {
    let store: Arc<dyn SlotStore> = Arc::new(SlotFolder::new(Memory::default(), "saves"));
    let (one, other) = (Saves::new().store(store.clone()), Saves::new().store(store));
    one.slot("Ada").save(&Game { day: 1 }).expect("a save");
    let mut ours = one.slot("Ada").load::<Game>().expect("the save");
    let mut theirs = other.slot("Ada").load::<Game>().expect("the save");
    theirs.day = 2;
    other.slot("Ada").save(&theirs).expect("the first of both");
    ours.day = 3;
    let error = one.slot("Ada").save(&ours).expect_err("it would overwrite the other");
    assert_eq!(error.kind(), ErrorKind::Conflict);
    let late = one.slot("Ada").save_in_background(&ours).expect("a snapshot");
    assert_eq!(late.wait().expect_err("the same").kind(), ErrorKind::Conflict);
    assert_eq!(one.slot("Ada").load::<Game>().expect("theirs").day, 2);
    // Who saves again continues its own save.
    theirs.day = 4;
    other.slot("Ada").save(&theirs).expect("the next");
    // The program decides, and says so.
    one.slot("Ada").save(&*ours).expect("on purpose");
    assert_eq!(one.slot("Ada").load::<Game>().expect("ours").day, 3);
}

/// A save under another name, or in another store, changes nothing of that.
#[test]
fn a_value_continues_its_save_in_each_store_and_slot() {
    let store = || -> Arc<dyn SlotStore> { Arc::new(SlotFolder::new(Memory::default(), "saves")) };
    let (first, second) = (store(), store());
    let (saves, other) = (Saves::new().store(first.clone()), Saves::new().store(first));
    saves.slot("Ada").save(&Game { day: 1 }).expect("a save");
    let loaded = saves.slot("Ada").load::<Game>().expect("the save");
    let copies = Saves::new().store(second);
    copies.slot("Ada").save(&loaded).expect("an empty store has no conflict");
    saves.slot("quick").save(&loaded).expect("a copy");
    other.slot("Ada").save(&Game { day: 77 }).expect("the other program");
    let error = saves.slot("Ada").save(&loaded).expect_err("it was replaced since the load");
    assert_eq!(error.kind(), ErrorKind::Conflict);
    for place in [copies.slot("Ada"), saves.slot("quick")] {
        place.save(&loaded).expect("it continues its own");
    }
    assert_eq!(saves.slot("Ada").load::<Game>().expect("the other's").day, 77);
}

#[test]
fn objects_are_listed_by_class() {
    let mut manager = SaveManager::new();
    let ids: Vec<_> = (0..3)
        .map(|day| manager.add(&Rc::new(RefCell::new(Game { day }))).expect("an object"))
        .collect();
    manager.add(&Rc::new(RefCell::new(7_u32))).expect("an object");
    let save = manager.to_vec().expect("a save");
    let loaded = manager.from_slice(&save).expect("the save");
    for list in [&manager, &*loaded] {
        let days: Vec<u32> = list.iter::<Game>().map(|game| game.borrow().day).collect();
        assert_eq!(days, [0, 1, 2]);
        assert_eq!(list.ids().take(3).collect::<Vec<_>>(), ids);
        assert_eq!(list.len(), 4);
        assert_eq!(*list.first::<u32>().expect("the number").borrow(), 7);
    }
}

#[test]
fn a_hook_that_saves_the_same_manager_is_an_error() {
    thread_local! {
        static MANAGER: RefCell<Option<Rc<SaveManager>>> = const { RefCell::new(None) };
    }
    #[derive(Persist)]
    #[persist(before_save = Self::save)]
    struct Greedy;
    impl Greedy {
        fn save(&mut self) -> persist::Result<()> {
            let manager = MANAGER.with_borrow(|manager| manager.clone().expect("it was set"));
            manager.to_vec().map(drop)
        }
    }
    let mut manager = SaveManager::new();
    manager.add(&Rc::new(RefCell::new(Greedy))).expect("an object");
    let manager = Rc::new(manager);
    MANAGER.set(Some(Rc::clone(&manager)));
    let error = manager.to_vec().expect_err("it saves itself");
    assert_eq!(error.kind(), ErrorKind::Refused);
    assert!(error.to_string().contains("the manager is saving already"), "{error}");
    MANAGER.set(None);
}

//! `before_save`, `validate` and `after_load`: when they run, how often, on
//! what, and what their refusal looks like.

#![allow(clippy::unwrap_used, reason = "the helpers are part of the tests")]

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::rc::{Rc, Weak};

use persist::{ErrorKind, Persist, SaveManager};
use persist_tests::support::{Shared, shared};

thread_local! {
    /// What hooks have done in this thread.
    static LOG: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
    static REFUSED: Cell<u32> = const { Cell::new(0) };
}

fn log(line: String) {
    LOG.with_borrow_mut(|log| log.push(line));
}

fn logged() -> Vec<String> {
    LOG.take()
}

/// Refuses the id that is given while `run` runs.
fn refusing<T>(id: u32, run: impl FnOnce() -> T) -> T {
    REFUSED.set(id);
    let result = run();
    REFUSED.set(0);
    result
}

/// Hooks of every sort, with a friend to look at.
#[derive(Persist)]
#[persist(before_save = Spy::hide, validate = Spy::check, after_load = Spy::wake)]
struct Spy {
    id: u32,
    saves: u32,
    friend: Option<Shared<Spy>>,
    watched: Weak<RefCell<Spy>>,
}

impl Spy {
    fn new(id: u32) -> Self {
        Self { id, saves: 0, friend: None, watched: Weak::new() }
    }

    fn hide(&mut self) {
        self.saves += 1;
        log(format!("hide {}", self.id));
    }

    fn check(&self) -> Result<(), String> {
        log(format!("check {}", self.id));
        if self.id == REFUSED.get() { Err(format!("{} is unmasked", self.id)) } else { Ok(()) }
    }

    /// Follows the friends until someone comes round again.
    fn wake(&mut self) {
        let mut around = vec![self.id];
        let mut next = self.friend.clone();
        // This one is borrowed; coming back to it is seen by that.
        while let Some(friend) = next.take() {
            if let Ok(friend) = friend.try_borrow()
                && !around.contains(&friend.id)
            {
                around.push(friend.id);
                next = friend.friend.clone();
            }
        }
        let watched = self.watched.upgrade().map(|spy| spy.try_borrow().map_or(0, |spy| spy.id));
        log(format!("wake {around:?} {watched:?}"));
    }
}

/// 1, 2 and 3 in a ring, each watching the one before it.
fn ring() -> Vec<Shared<Spy>> {
    let spies: Vec<_> = (1..=3).map(|id| shared(Spy::new(id))).collect();
    for i in 0..3 {
        let mut spy = spies[i].borrow_mut();
        spy.friend = Some(spies[(i + 1) % 3].clone());
        spy.watched = Rc::downgrade(&spies[(i + 2) % 3]);
    }
    spies
}

fn cut(spies: &[Shared<Spy>]) {
    spies.iter().for_each(|spy| spy.borrow_mut().friend = None);
}

fn manager(spies: &[Shared<Spy>]) -> SaveManager {
    let mut manager = SaveManager::new();
    for spy in spies {
        manager.add(spy).unwrap();
    }
    manager
}

#[test]
fn before_save_and_validate_run_once_for_each_object_and_save() {
    let spies = ring();
    let manager = manager(&spies[..1]);
    for _ in 0..2 {
        manager.to_vec().unwrap();
        assert_eq!(logged(), ["hide 1", "check 1", "hide 2", "check 2", "hide 3", "check 3"]);
    }
    assert!(spies.iter().all(|spy| spy.borrow().saves == 2));
    cut(&spies);
}

#[test]
fn before_save_runs_before_its_object_is_encoded() {
    let spies = ring();
    let save = manager(&spies[..1]).to_vec().unwrap();
    let loaded = manager(&[shared(Spy::new(9))]).from_slice(&save).unwrap();
    assert_eq!(loaded.len(), 3);
    assert!(loaded.iter::<Spy>().all(|spy| spy.borrow().saves == 1));
    cut(&spies);
}

#[test]
fn before_save_that_adds_a_pointer_saves_its_target() {
    #[derive(Persist)]
    #[persist(before_save = Scout::look)]
    struct Scout {
        found: Vec<Shared<u32>>,
    }
    impl Scout {
        fn look(&mut self) {
            self.found.push(shared(7));
        }
    }
    let mut manager = SaveManager::new();
    manager.add(&shared(Scout { found: Vec::new() })).unwrap();
    let save = manager.to_vec().unwrap();
    let loaded = manager.from_slice(&save).unwrap();
    let scout = loaded.first::<Scout>().unwrap();
    assert_eq!(*scout.borrow().found[0].borrow(), 7);
}

#[test]
fn a_plain_save_refuses_a_class_with_before_save() {
    let mut spy = Spy::new(4);
    let error = persist::to_vec(&spy).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.message().starts_with("Spy holds a class with a `before_save` hook"), "{error}");
    assert!(error.message().contains("save it as `&mut`"), "{error}");
    let error = persist::to_vec(&vec![Some(Spy::new(5))]).unwrap_err();
    assert!(error.message().starts_with("Vec<Option<Spy>> holds"), "{error}");
    assert_eq!(logged(), [""; 0]);

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("spy.sav");
    assert!(persist::save(&path, &spy).is_err());
    assert!(!path.exists());
    persist::save(&path, &mut spy).unwrap();
    assert_eq!((spy.saves, persist::load::<Spy>(&path).unwrap().saves), (1, 1));
    let save = persist::to_vec(&mut spy).unwrap();
    assert_eq!(persist::from_slice::<Spy>(&save).unwrap().saves, 2);
}

#[test]
fn a_value_that_only_points_to_one_runs_its_before_save() {
    let spy = shared(Spy::new(6));
    persist::to_vec(&(1_u8, spy.clone())).unwrap();
    assert_eq!(spy.borrow().saves, 1);
    assert_eq!(logged(), ["hide 6", "check 6"]);
}

#[test]
fn after_load_runs_when_all_pointers_of_all_objects_are_in_place() {
    let spies = ring();
    let manager = manager(&spies[..1]);
    let save = manager.to_vec().unwrap();
    cut(&spies);
    logged();
    let loaded = manager.from_slice(&save).unwrap();
    assert_eq!(
        logged(),
        [
            "check 1",
            "check 2",
            "check 3",
            "wake [1, 2, 3] Some(3)",
            "wake [2, 3, 1] Some(1)",
            "wake [3, 1, 2] Some(2)",
        ]
    );
    cut(&loaded.iter::<Spy>().collect::<Vec<_>>());
}

#[test]
fn after_load_of_a_value_runs_when_its_objects_are_in_place() {
    let spies = ring();
    let save = persist::to_vec(&mut Spy { friend: Some(spies[0].clone()), ..Spy::new(8) }).unwrap();
    cut(&spies);
    logged();
    let spy = persist::from_slice::<Spy>(&save).unwrap();
    let log = logged();
    assert_eq!(log[..5], ["check 8", "check 1", "check 2", "check 3", "wake [8, 1, 2, 3] None"]);
    assert_eq!(spy.friend.as_ref().map(|friend| friend.borrow().id), Some(1));
    cut(&[spy.friend.clone().unwrap()]);
}

#[test]
fn validate_refuses_with_its_message_before_anything_wakes() {
    let spies = ring();
    let manager = manager(&spies[..1]);
    let save = manager.to_vec().unwrap();
    cut(&spies);
    logged();
    let error = refusing(2, || manager.from_slice(&save)).map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Refused);
    assert_eq!(error.message(), "`validate` of Spy refused: 2 is unmasked");
    assert_eq!((error.object(), error.class()), (Some(2), Some("Spy")));
    assert_eq!(logged(), ["check 1", "check 2"]);
}

#[test]
fn validate_refuses_a_save_before_its_file_is_touched() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("spies.sav");
    let spies = ring();
    let manager = manager(&spies[..1]);
    let saves = manager.saves();
    manager.save(&path).unwrap();
    let before = std::fs::read(&path).unwrap();
    let place = |error: persist::Error| {
        assert_eq!(error.kind(), ErrorKind::Refused);
        assert_eq!(error.message(), "`validate` of Spy refused: 2 is unmasked");
        (error.object(), error.class().map(str::to_owned))
    };
    refusing(2, || {
        let object = (Some(2), Some("Spy".into()));
        assert_eq!(place(manager.save(&path).unwrap_err()), object);
        assert_eq!(place(saves.file(&path).save_in_background(&manager).unwrap_err()), object);
        let value = (None, Some("Spy".into()));
        assert_eq!(place(persist::save(&path, &mut Spy::new(2)).unwrap_err()), value);
        assert_eq!(place(saves.to_vec(&mut Spy::new(2)).unwrap_err()), value);
        let background = saves.file(&path).save_in_background(&mut Spy::new(2));
        assert_eq!(place(background.unwrap_err()), value);
    });
    assert_eq!(std::fs::read(&path).unwrap(), before);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    cut(&spies);
}

#[test]
fn validate_reads_an_object_that_others_read_too() {
    #[derive(Persist)]
    #[persist(validate = Self::check)]
    struct Checked(u32);

    impl Checked {
        fn check(&self) {
            log(format!("check {}", self.0));
        }
    }

    let checked = shared(Checked(7));
    let reader = checked.borrow();
    persist::to_vec(&checked).unwrap();
    persist::to_vec(&Rc::new(Checked(8))).unwrap();
    persist::to_vec(&vec![Checked(9)]).unwrap();
    assert_eq!(logged(), ["check 7", "check 8", "check 9"]);
    drop(reader);
}

/// A hook that fails, with an error of any type that can be shown.
#[derive(Persist, Clone)]
#[persist(before_save = Mole::dig, after_load = Mole::surface)]
struct Mole {
    deep: bool,
}

impl Mole {
    fn dig(&mut self) -> Result<(), std::fmt::Error> {
        if self.deep { Err(std::fmt::Error) } else { Ok(()) }
    }

    fn surface(&mut self) -> Result<(), &'static str> {
        Err("it is too bright")
    }
}

#[test]
fn before_save_can_refuse_and_the_save_fails() {
    let mut manager = SaveManager::new();
    manager.add(&shared(vec![Mole { deep: false }, Mole { deep: true }])).unwrap();
    let error = manager.to_vec().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Refused);
    assert!(error.message().starts_with("`before_save` of Mole refused: "), "{error}");
    assert_eq!((error.object(), error.class()), (Some(1), Some("Vec<Mole>")));
    assert_eq!(error.field(), Some("[1]"));
}

#[test]
fn after_load_can_refuse_and_the_load_fails() {
    let mut manager = SaveManager::new();
    manager.add(&shared(Mole { deep: false })).unwrap();
    let save = manager.to_vec().unwrap();
    let error = manager.from_slice(&save).unwrap_err();
    assert_eq!(error.message(), "`after_load` of Mole refused: it is too bright");
    assert_eq!((error.object(), error.class()), (Some(1), Some("Mole")));
}

#[derive(Persist)]
#[persist(before_save = Outer::hide, validate = Outer::check, after_load = Outer::wake)]
struct Outer {
    plain: Inner,
    list: Vec<Inner>,
    maybe: Option<Box<Inner>>,
    by_name: HashMap<String, Inner>,
    by_number: BTreeMap<u8, (u8, Inner)>,
    array: [Inner; 2],
    case: Case,
}

#[derive(Persist)]
enum Case {
    Empty,
    Full { inner: Inner },
}

#[derive(Persist)]
#[persist(before_save = Inner::hide, validate = Inner::check, after_load = Inner::wake)]
struct Inner(u32);

impl Outer {
    fn hide(&mut self) {
        log(String::from("hide outer"));
    }

    fn check(&self) -> Result<(), String> {
        log(String::from("check outer"));
        Ok(())
    }

    fn wake(&mut self) {
        log(String::from("wake outer"));
    }
}

impl Inner {
    fn hide(&mut self) {
        log(format!("hide {}", self.0));
    }

    fn check(&self) -> Result<(), String> {
        log(format!("check {}", self.0));
        if self.0 == REFUSED.get() { Err(String::from("no")) } else { Ok(()) }
    }

    fn wake(&mut self) {
        log(format!("wake {}", self.0));
    }
}

fn outer() -> Outer {
    Outer {
        plain: Inner(1),
        list: vec![Inner(2), Inner(3)],
        maybe: Some(Box::new(Inner(4))),
        by_name: HashMap::from([("a".into(), Inner(5)), ("b".into(), Inner(6))]),
        by_number: BTreeMap::from([(1, (0, Inner(7)))]),
        array: [Inner(8), Inner(9)],
        case: Case::Full { inner: Inner(10) },
    }
}

fn lines(what: &str) -> impl Iterator<Item = String> {
    (1..=10).map(move |id| format!("{what} {id}"))
}

#[test]
fn before_save_of_values_inside_runs_outer_first_and_the_other_hooks_inner_first() {
    let mut manager = SaveManager::new();
    manager.add(&shared(outer())).unwrap();
    let save = manager.to_vec().unwrap();
    let saved: Vec<String> = ["hide outer".into()]
        .into_iter()
        .chain(lines("hide"))
        .chain(lines("check"))
        .chain(["check outer".into()])
        .collect();
    assert_eq!(logged(), saved);
    manager.from_slice(&save).unwrap();
    let loaded: Vec<String> = lines("check")
        .chain(["check outer".into()])
        .chain(lines("wake"))
        .chain(["wake outer".into()])
        .collect();
    assert_eq!(logged(), loaded);

    let save = persist::to_vec(&mut outer()).unwrap();
    assert_eq!(logged(), saved);
    let value = persist::from_slice::<Outer>(&save).unwrap();
    assert_eq!(logged(), loaded);
    assert!(!matches!(value.case, Case::Empty));
}

#[test]
fn a_refusal_of_a_value_inside_has_its_path() {
    let save = persist::to_vec(&mut outer()).unwrap();
    let paths = ["plain", "list[0]", "list[1]", "maybe", "by_name[0]", "by_name[1]"];
    let more = ["by_number[0].1", "array[0]", "array[1]", "case.inner"];
    for (id, path) in (1..).zip(paths.into_iter().chain(more)) {
        let error = refusing(id, || persist::from_slice::<Outer>(&save)).map(drop).unwrap_err();
        assert_eq!((error.class(), error.field()), (Some("Outer"), Some(path)), "{id}");
        assert!(error.message().starts_with("`validate` of Inner refused: "), "{error}");
        let error = refusing(id, || persist::to_vec(&mut outer())).unwrap_err();
        assert_eq!((error.class(), error.field()), (Some("Outer"), Some(path)), "{id}");
    }
}

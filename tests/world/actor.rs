//! A component that does in its methods what the test says, and a log of what was done.

use std::cell::RefCell;
use std::rc::Rc;

use persist::{Component, ComponentScope, ObjectId, Persist, Saves, World};

#[derive(Persist)]
pub(crate) struct Actor {
    pub(crate) name: String,
}

/// A second type, with nothing but a release.
#[derive(Persist)]
pub(crate) struct Prop {
    pub(crate) name: String,
}

pub(crate) type Script = Rc<dyn Fn(&str, &mut ComponentScope<'_>)>;

thread_local! {
    static LOG: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
    static SCRIPT: RefCell<Option<Script>> = const { RefCell::new(None) };
}

pub(crate) fn log(line: impl Into<String>) {
    LOG.with_borrow_mut(|log| log.push(line.into()));
}

/// What has been done since it was asked for last.
pub(crate) fn logged() -> Vec<String> {
    LOG.take()
}

/// The same, of these methods alone.
pub(crate) fn logged_of(method: &str) -> Vec<String> {
    let log = logged().into_iter();
    log.filter_map(|line| Some(line.strip_prefix(method)?.trim().to_owned())).collect()
}

/// From now on every actor does this in every method, called with its words in the log, such as `update Ada`.
pub(crate) fn play(script: impl Fn(&str, &mut ComponentScope<'_>) + 'static) {
    SCRIPT.set(Some(Rc::new(script)));
}

pub(crate) fn actor(name: &str) -> Actor {
    Actor { name: name.into() }
}

pub(crate) fn prop(name: &str) -> Prop {
    Prop { name: name.into() }
}

/// An object with an actor, both of this name.
pub(crate) fn enter(world: &mut World, name: &str) -> ObjectId {
    let object = world.spawn(name);
    world.attach(object, actor(name)).expect("the object is there");
    object
}

impl Actor {
    fn act(&self, method: &str, scope: &mut ComponentScope<'_>) {
        let line = format!("{method} {}", self.name);
        log(line.clone());
        if let Some(script) = SCRIPT.with_borrow(Option::clone) {
            script(&line, scope);
        }
    }
}

impl Component for Actor {
    fn on_start(&mut self, scope: &mut ComponentScope<'_>) {
        self.act("start", scope);
    }

    fn on_pre_update(&mut self, scope: &mut ComponentScope<'_>) {
        self.act("pre", scope);
    }

    fn on_update(&mut self, scope: &mut ComponentScope<'_>) {
        self.act("update", scope);
    }

    fn on_post_update(&mut self, scope: &mut ComponentScope<'_>) {
        self.act("post", scope);
    }

    fn on_release(&mut self, scope: &mut ComponentScope<'_>) {
        self.act("release", scope);
    }
}

impl Component for Prop {
    fn on_release(&mut self, _: &mut ComponentScope<'_>) {
        log(format!("release {}", self.name));
    }
}

impl Drop for Actor {
    fn drop(&mut self) {
        // An empty one is what loads and editors make to begin with.
        if !self.name.is_empty() {
            log(format!("drop {}", self.name));
        }
    }
}

/// Where actors and props are known.
pub(crate) fn saves() -> Saves {
    let saves = Saves::new();
    saves.register_component::<Actor>().expect("a component class");
    saves.register_component::<Prop>().expect("a component class");
    saves
}

/// The world behind a save and a load.
pub(crate) fn saved_and_loaded(world: &World) -> World {
    let saves = saves();
    let save = saves.to_vec(world).expect("a save");
    saves.from_slice::<World>(&save).expect("a world").into_inner()
}

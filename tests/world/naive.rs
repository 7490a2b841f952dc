//! What a world should do, in the plainest way: lists that are searched.

use std::collections::{BTreeMap, HashMap, VecDeque};

use persist::world::Activity;

/// A change that is made from outside or in a method; objects are numbers, of which some are never there.
#[derive(Clone, Debug)]
pub(crate) enum Op {
    Spawn(&'static str),
    SpawnIn(u64, &'static str),
    Attach(u64, usize, u64),
    Detach(u64, usize),
    Remove(u64),
    Move(u64, Option<u64>, usize),
    Rename(u64, &'static str),
    Change(u64, Activity),
}

/// What components do, by the method and their serial number.
pub(crate) type Plan = HashMap<(&'static str, u64), Vec<Op>>;

#[derive(Clone, Debug)]
pub(crate) struct Part {
    /// Which of the component types it is of.
    pub(crate) of: usize,
    pub(crate) serial: u64,
    is_started: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Thing {
    pub(crate) id: u64,
    pub(crate) name: String,
    pub(crate) parent: Option<u64>,
    pub(crate) children: Vec<u64>,
    pub(crate) activity: Activity,
    pub(crate) parts: Vec<Part>,
}

#[derive(Default)]
pub(crate) struct Naive {
    /// In the order of their ids.
    pub(crate) things: Vec<Thing>,
    pub(crate) parked: BTreeMap<u64, (Vec<Thing>, usize)>,
    pub(crate) last_id: u64,
    pub(crate) log: Vec<String>,
    pub(crate) plan: Plan,
    queue: VecDeque<(u64, Op)>,
    expired: VecDeque<u64>,
    /// The component whose method runs.
    running: Option<u64>,
}

impl Naive {
    pub(crate) fn thing(&self, id: u64) -> Option<&Thing> {
        self.things.iter().find(|thing| thing.id == id)
    }

    fn thing_mut(&mut self, id: u64) -> Option<&mut Thing> {
        self.things.iter_mut().find(|thing| thing.id == id)
    }

    fn is_there(&self, id: u64) -> bool {
        self.thing(id).is_some()
    }

    fn is_expected(&self, id: u64) -> bool {
        let spawns = |(new, op): &(u64, Op)| matches!(op, Op::Spawn(_)) && *new == id;
        self.is_there(id) || self.queue.iter().any(spawns)
    }

    fn is_held(&self, id: u64) -> bool {
        let mut above = self.thing(id);
        while let Some(thing) = above {
            if thing.activity != Activity::Active {
                return true;
            }
            above = thing.parent.and_then(|parent| self.thing(parent));
        }
        false
    }

    fn is_below(&self, id: u64, other: u64) -> bool {
        let mut above = Some(id);
        while let Some(id) = above {
            if id == other {
                return true;
            }
            above = self.thing(id).and_then(|thing| thing.parent);
        }
        false
    }

    fn subtree(&self, id: u64) -> Vec<u64> {
        let children = self.thing(id).map_or(&[][..], |thing| &thing.children);
        [vec![id], children.iter().flat_map(|child| self.subtree(*child)).collect()].concat()
    }

    /// An empty name is none.
    fn free_name(&self, base: &str) -> String {
        if base.is_empty() {
            return String::new();
        }
        let parked = self.parked.values().flat_map(|(things, _)| things);
        let taken: Vec<&str> = self.things.iter().chain(parked).map(|thing| &*thing.name).collect();
        let numbered = (1..).map(|number| format!("{base}{number}"));
        let mut names = std::iter::once(base.to_owned()).chain(numbered);
        names.find(|name| !taken.contains(&&**name)).expect("there are many numbers")
    }

    /// Makes a change from outside or, if a method runs, asks for it; false if that is refused.
    pub(crate) fn run(&mut self, op: &Op) -> bool {
        let result = match op {
            Op::Change(id, activity) => self.change(*id, *activity),
            Op::Rename(id, name) => self.rename(*id, name),
            Op::Spawn(_) => {
                self.last_id += 1;
                self.queue.push_back((self.last_id, op.clone()));
                true
            }
            Op::SpawnIn(parent, name) => {
                if !self.is_expected(*parent) {
                    return false;
                }
                self.run(&Op::Spawn(name));
                self.run(&Op::Move(self.last_id, Some(*parent), usize::MAX));
                true
            }
            Op::Attach(id, ..) => self.ask(*id, self.is_expected(*id), op),
            Op::Detach(id, of) => {
                let parts = self.thing(*id).map_or(&[][..], |thing| &thing.parts);
                let has = parts.iter().any(|part| part.of == *of);
                self.queue.push_back((*id, op.clone()));
                has
            }
            Op::Remove(id) => {
                self.ask(*id, self.is_expected(*id) || self.parked.contains_key(id), op)
            }
            Op::Move(id, parent, _) => {
                let is_possible = self.is_expected(*id)
                    && parent.is_none_or(|parent| {
                        self.is_expected(parent) && !self.is_below(parent, *id)
                    });
                self.ask(*id, is_possible, op)
            }
        };
        self.flush();
        result
    }

    fn ask(&mut self, id: u64, is_possible: bool, op: &Op) -> bool {
        if is_possible {
            self.queue.push_back((id, op.clone()));
        }
        is_possible
    }

    fn flush(&mut self) {
        while self.running.is_none()
            && let Some((id, op)) = self.queue.pop_front()
        {
            self.apply(id, &op);
        }
    }

    fn apply(&mut self, id: u64, op: &Op) {
        match *op {
            Op::Spawn(name) => {
                let name = self.free_name(name);
                let children = Vec::new();
                let (activity, parts) = (Activity::Active, Vec::new());
                self.things.push(Thing { id, name, parent: None, children, activity, parts });
                self.things.sort_by_key(|thing| thing.id);
            }
            Op::Attach(_, of, serial) => {
                self.detach(id, of);
                match self.thing_mut(id) {
                    Some(thing) => thing.parts.push(Part { of, serial, is_started: false }),
                    None => self.call("release", serial),
                }
            }
            Op::Detach(_, of) => self.detach(id, of),
            Op::Remove(_) => self.remove(id),
            Op::Move(_, parent, index) => {
                if self.is_there(id)
                    && parent
                        .is_none_or(|parent| self.is_there(parent) && !self.is_below(parent, id))
                {
                    self.unlink(id);
                    self.link(id, parent, index);
                }
            }
            Op::SpawnIn(..) | Op::Rename(..) | Op::Change(..) => panic!("{op:?} does not wait"),
        }
    }

    fn unlink(&mut self, id: u64) {
        self.things.iter_mut().for_each(|thing| thing.children.retain(|child| *child != id));
    }

    fn link(&mut self, id: u64, parent: Option<u64>, index: usize) {
        if let Some(above) = parent.and_then(|parent| self.thing_mut(parent)) {
            above.children.insert(index.min(above.children.len()), id);
        }
        if let Some(thing) = self.thing_mut(id) {
            thing.parent = parent;
        }
    }

    fn detach(&mut self, id: u64, of: usize) {
        let Some(thing) = self.thing_mut(id) else { return };
        let Some(at) = thing.parts.iter().position(|part| part.of == of) else { return };
        let part = thing.parts.remove(at);
        self.call("release", part.serial);
    }

    fn remove(&mut self, id: u64) {
        if let Some((things, _)) = self.parked.remove(&id) {
            for thing in things.into_iter().rev() {
                thing.parts.iter().for_each(|part| self.call("release", part.serial));
            }
        }
        if !self.is_there(id) {
            return;
        }
        for id in self.subtree(id).into_iter().rev() {
            while let Some(part) = self.thing(id).and_then(|thing| thing.parts.first().cloned()) {
                self.detach(id, part.of);
            }
            self.unlink(id);
            self.things.retain(|thing| thing.id != id);
        }
    }

    fn change(&mut self, id: u64, activity: Activity) -> bool {
        let Some(thing) = self.thing_mut(id) else { return false };
        if thing.activity != activity {
            thing.activity = activity;
            if activity == Activity::Expired {
                self.expired.push_back(id);
            }
        }
        true
    }

    fn rename(&mut self, id: u64, name: &str) -> bool {
        let Some(thing) = self.thing_mut(id) else { return false };
        thing.name.clear();
        let is_there = self.things.iter().any(|thing| thing.name == name);
        let name = if is_there { self.free_name(name) } else { name.to_owned() };
        self.thing_mut(id).expect("there").name = name;
        true
    }

    pub(crate) fn park(&mut self, id: u64) -> bool {
        let Some(thing) = self.thing(id) else { return false };
        let siblings = thing.parent.and_then(|parent| self.thing(parent));
        let index = siblings.and_then(|above| above.children.iter().position(|child| *child == id));
        let ids = self.subtree(id);
        let things = ids.iter().filter_map(|id| self.thing(*id).cloned()).collect();
        self.unlink(id);
        self.things.retain(|thing| !ids.contains(&thing.id));
        self.parked.insert(id, (things, index.unwrap_or(0)));
        true
    }

    pub(crate) fn unpark(&mut self, id: u64) -> bool {
        let Some((things, index)) = self.parked.remove(&id) else { return false };
        for thing in &things {
            if thing.activity == Activity::Expired {
                self.expired.push_back(thing.id);
            }
        }
        let parent = things[0].parent.filter(|parent| self.is_there(*parent));
        let back: Vec<(u64, String)> = things.iter().map(|t| (t.id, t.name.clone())).collect();
        self.things.extend(things);
        self.things.sort_by_key(|thing| thing.id);
        for (id, name) in back {
            let is_newcomer =
                |thing: &Thing| !name.is_empty() && thing.name == name && thing.id != id;
            if let Some(at) = self.things.iter().position(is_newcomer) {
                self.things[at].name = self.free_name(&name);
            }
        }
        self.link(id, parent, index);
        true
    }

    /// Runs a method of a component, and what it plans.
    fn call(&mut self, method: &'static str, serial: u64) {
        self.log.push(format!("{method} {serial}"));
        let Some(ops) = self.plan.remove(&(method, serial)) else { return };
        let before = self.running.replace(serial);
        for op in ops {
            let result = self.run(&op);
            self.log.push(format!("{op:?} {result}"));
        }
        self.running = before;
    }

    fn start(&mut self) {
        for id in self.things.iter().map(|thing| thing.id).collect::<Vec<_>>() {
            let count = self.thing(id).map_or(0, |thing| thing.parts.len());
            for at in 0..count {
                let is_held = self.is_held(id);
                let part = &mut self.thing_mut(id).expect("nothing goes meanwhile").parts[at];
                if !is_held && !std::mem::replace(&mut part.is_started, true) {
                    let serial = part.serial;
                    self.call("start", serial);
                }
            }
        }
    }

    pub(crate) fn update(&mut self) {
        for phase in ["pre", "update", "post"] {
            self.start();
            for id in self.things.iter().map(|thing| thing.id).collect::<Vec<_>>() {
                for part in self.thing(id).map_or(Vec::new(), |thing| thing.parts.clone()) {
                    if part.is_started && !self.is_held(id) {
                        self.call(phase, part.serial);
                    }
                }
            }
            self.flush();
        }
        while let Some(id) = self.expired.front().copied() {
            if self.thing(id).is_some_and(|thing| thing.activity == Activity::Expired) {
                self.remove(id);
                self.flush();
            }
            self.expired.pop_front();
        }
    }

    /// What a save and a load leave.
    pub(crate) fn load(&mut self) {
        self.parked.clear();
        let expired = self.things.iter().filter(|thing| thing.activity == Activity::Expired);
        self.expired = expired.map(|thing| thing.id).collect();
    }
}

//! Random changes of a world, by recorded edits.

use persist::world::Activity;
use std::collections::BTreeMap;

use persist::history::Edit;
use persist::world::ExternalIds;
use persist::{Error, ErrorKind, ObjectId, Result, Value, World};
use rand::Rng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64;

use super::naive::Key;
use super::scene::{
    Actor, Homing, Light, Mood, Route, Score, Span, Speed, Stop, Tag, Thing, Transform, transform,
};

pub(crate) const NAMES: [&str; 6] = ["orc", "orc", "orc1", "elf", "elf12", ""];

/// The paths of fields that are set, and how many values they take.
const PATHS: [&str; 9] = [
    "Transform:x",
    "Transform:y",
    "Speed:0",
    "Span:low",
    "Span:high",
    "game.Thing:level",
    "game.Thing:place.x",
    "Homing:target",
    "Score:points",
];

/// What makes random changes.
pub(crate) struct Changes {
    pub(crate) random: Pcg64,
    /// All ids that were met.
    pub(crate) ids: Vec<ObjectId>,
    /// Numbers of the actors that came into objects.
    pub(crate) actors: Vec<u32>,
    serial: u32,
    /// The field that was set last.
    dragged: &'static str,
}

impl Changes {
    pub(crate) fn new(random: Pcg64) -> Self {
        Self { random, ids: Vec::new(), actors: Vec::new(), serial: 0, dragged: PATHS[0] }
    }

    /// A world to begin with.
    pub(crate) fn world(&mut self) -> Result<World> {
        let mut world = World::new();
        for name in ["orc", "elf", "orc"] {
            let object = world.spawn(name);
            world.attach(object, transform(0.0, 0.0))?;
            world.attach(object, Span { low: 0, high: 4, steps: vec![] })?;
            world.attach(object, Speed(0.0))?;
            world.attach(object, Homing { target: None, others: vec![] })?;
            world.attach(object, Thing::sample())?;
            self.ids.push(object);
        }
        world.insert_resource(Score { points: 0, names: vec![] })?;
        Ok(world)
    }

    fn pick(&mut self, count: u32) -> u32 {
        self.random.gen_range(0..count)
    }

    /// An object, which mostly is there.
    fn object(&mut self, world: &World) -> ObjectId {
        let there: Vec<ObjectId> = world.objects().collect();
        match there.choose(&mut self.random) {
            Some(object) if self.random.gen_ratio(15, 16) => *object,
            _ => *self.ids.choose(&mut self.random).unwrap_or(&ObjectId::new(1).expect("not 0")),
        }
    }

    fn small(&mut self) -> f32 {
        f32::from(self.random.gen_range(0_u8..3))
    }

    /// What all fields are that could be set, in words.
    pub(crate) fn values(&self, world: &World) -> BTreeMap<Key, String> {
        let mut values = BTreeMap::new();
        for path in PATHS {
            if let Ok(value) = world.get_field(None, path) {
                values.insert((0, path), value.to_string());
            }
            for object in world.objects() {
                if let Ok(value) = world.get_field(object, path) {
                    values.insert((object.get(), path), value.to_string());
                }
            }
        }
        values
    }

    /// Sets some fields, each once; which ones, it notes.
    pub(crate) fn set(&mut self, edit: &mut Edit<'_>, keys: &mut Vec<Key>) -> Result<()> {
        for _ in 0..self.random.gen_range(1..3) {
            let mut path = *PATHS.choose(&mut self.random).expect("there are some");
            // A drag stays where it is for a while.
            if self.random.gen_ratio(2, 3) && keys.is_empty() {
                path = self.dragged;
            }
            self.dragged = path;
            let has_it = |object: &ObjectId| edit.get_field(*object, path).is_ok();
            let mut object = edit.objects().find(has_it).unwrap_or_else(|| self.object(edit));
            if self.random.gen_ratio(1, 8) {
                object = self.object(edit);
            }
            let id = if path.starts_with("Score") { 0 } else { object.get() };
            if keys.contains(&(id, path)) {
                continue;
            }
            // A component that is changed by hand and by a path in one edit gives two steps for one field.
            let class = |path: &'static str| path.split(':').next();
            if keys.iter().any(|(other, taken)| *other == id && class(taken) == class(path)) {
                continue;
            }
            keys.push((id, path));
            let value: Value = match path {
                "Homing:target" => {
                    let target = self.object(edit);
                    Value::from((self.pick(3) > 0).then_some(target))
                }
                "Score:points" => {
                    edit.set(None, path, self.pick(3))?;
                    continue;
                }
                "Transform:x" | "Transform:y" if self.pick(2) == 0 => {
                    keys.extend([(id, "Transform:x"), (id, "Transform:y")]);
                    *edit.get_mut::<Transform>(object)? = transform(self.small(), self.small());
                    continue;
                }
                "Span:low" | "Span:high" if self.pick(2) == 0 => {
                    keys.extend([(id, "Span:low"), (id, "Span:high")]);
                    let low = self.random.gen_range(-9..9);
                    let span = edit.get_mut::<Span>(object)?;
                    (span.low, span.high) = (low, low + 3);
                    continue;
                }
                "Span:low" => Value::from(self.random.gen_range(-2..3)),
                "Span:high" => Value::from(self.random.gen_range(0..5)),
                _ => Value::from(self.pick(3)),
            };
            edit.set(object, path, value)?;
        }
        Ok(())
    }

    /// Makes a change of any kind.
    pub(crate) fn change(&mut self, edit: &mut Edit<'_>) -> Result<()> {
        let object = self.object(edit);
        let other = self.object(edit);
        let index = self.random.gen_range(0..4);
        let name = *NAMES.choose(&mut self.random).expect("there are some");
        match self.pick(26) {
            0 | 1 => self.ids.push(edit.spawn(name)?),
            2 | 3 => self.ids.push(edit.spawn_in(object, name)?),
            4 => edit.remove(object)?,
            5..9 => self.attach(edit, object)?,
            9 => match self.pick(4) {
                0 => edit.detach::<Transform>(object)?,
                1 => edit.detach::<Actor>(object)?,
                2 => edit.detach_class(object, "Span")?,
                _ => edit.detach::<Thing>(object)?,
            },
            10 | 11 => drop(edit.rename(object, name)?),
            12 | 13 => edit.set_parent_at(object, Some(other), index)?,
            14 => edit.set_parent(object, None)?,
            15 => edit.set_activity(object, Activity::Paused)?,
            16 => edit.set_activity(object, Activity::Active)?,
            17 => self.copy(edit, object, other)?,
            18..20 => self.thing(edit, object)?,
            20 => edit.insert_element(object, "Route:legs", index, vec![1_u8, 2])?,
            21 => edit.remove_element(object, "Route:stops", index)?,
            22 => edit.move_element(object, "Route:legs", index, self.pick(3) as usize)?,
            23 => edit.insert_element(object, "Homing:others", index, other)?,
            24 => match self.pick(3) {
                0 => edit.remove_resource::<Score>()?,
                1 => edit.resource_mut::<Score>()?.names.push(name.into()),
                _ => edit.insert_resource(Score { points: self.pick(3), names: vec![] })?,
            },
            _ => self.set(edit, &mut Vec::new())?,
        }
        Ok(())
    }

    fn attach(&mut self, edit: &mut Edit<'_>, object: ObjectId) -> Result<()> {
        match self.pick(10) {
            0 | 1 => edit.attach(object, transform(self.small(), self.small())),
            2 => edit.attach(object, Speed(self.small())),
            3 => edit.attach(object, Span { low: 0, high: 4, steps: vec![] }),
            4 => edit.attach(object, Thing::sample()),
            5 => {
                let others = vec![self.object(edit), object];
                edit.attach(object, Homing { target: Some(object), others })
            }
            6 => {
                let stops = vec![Stop { x: 1, y: 1 }; self.pick(3) as usize];
                edit.attach(object, Route { name: "Tour".into(), stops, legs: vec![vec![3]] })
            }
            7 => edit.attach(object, Tag),
            8 => edit.attach_class(object, "Light"),
            _ => {
                self.serial += 1;
                edit.attach(object, Actor { name: self.serial.to_string() })?;
                self.actors.push(self.serial);
                Ok(())
            }
        }
    }

    /// Copies what has no actor in it, who is to be counted.
    fn copy(&mut self, edit: &mut Edit<'_>, object: ObjectId, other: ObjectId) -> Result<()> {
        let subtree = edit.subtree(object);
        if subtree.len() > 5 || subtree.iter().any(|object| edit.get::<Actor>(*object).is_ok()) {
            return Ok(());
        }
        let prefab = edit.prefab(object)?;
        let outside = if self.pick(2) == 0 { ExternalIds::Keep } else { ExternalIds::Clear };
        let copy = match self.pick(2) {
            0 => edit.instantiate(&prefab, outside)?,
            _ => {
                let copy = edit.instantiate(&prefab, outside)?;
                edit.set_parent(copy, Some(other))?;
                copy
            }
        };
        self.ids.extend(edit.subtree(copy));
        Ok(())
    }

    fn thing(&mut self, edit: &mut Edit<'_>, object: ObjectId) -> Result<()> {
        let (choice, number) = (self.pick(8), self.pick(3));
        let at = Some(self.object(edit));
        let thing = edit.get_mut::<Thing>(object)?;
        match choice {
            0 => thing.mood = Mood::Calm,
            1 => thing.mood = Mood::Tired(1),
            2 => thing.mood = Mood::Angry { cause: thing.position.clone(), at },
            3 => thing.items.truncate(number as usize),
            4 => thing.items.extend(thing.items.first().cloned()),
            5 => thing.prices.extend([(number.to_string(), 3)]),
            6 => thing.pet = None,
            _ => thing.secret.0.push('a'),
        }
        if number > 0 && edit.get::<Light>(object).is_ok() {
            *edit.get_mut::<Light>(object)? = Light::On { brightness: 0.5 };
        }
        Ok(())
    }
}

/// An error of the edit's own.
pub(crate) fn enough() -> Error {
    Error::new(ErrorKind::Refused, "enough")
}

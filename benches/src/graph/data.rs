//! The graph: small bodies that refer to each other.

use std::cell::RefCell;
use std::rc::Rc;

use fory::ForyStruct;
// The derive alone: with the traits in scope, the methods `visit` of both would be meant.
use fyrox_core::visitor::prelude::*;
use rand::Rng;
use rand_pcg::Lcg64Xsh32;

/// How far away a near body is at most.
const NEAR: u32 = 64;

/// A reference to a body.
pub(crate) type Link = Option<Rc<RefCell<Body>>>;

/// The root of the graph.
#[derive(Default, persist::Persist, ForyStruct, Visit)]
pub(crate) struct World {
    pub(crate) bodies: Vec<Rc<RefCell<Body>>>,
}

/// 52 bytes of numbers, a short text and two references.
#[derive(Default, persist::Persist, ForyStruct, Visit)]
pub(crate) struct Body {
    /// Its place among the bodies, by which a deep copy finds the copy.
    pub(crate) number: u32,
    pub(crate) name: String,
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) z: f64,
    pub(crate) mass: f64,
    pub(crate) speed_x: f32,
    pub(crate) speed_y: f32,
    pub(crate) speed_z: f32,
    pub(crate) damage: u16,
    pub(crate) kind: u8,
    pub(crate) asleep: bool,
    pub(crate) far: Option<Rc<RefCell<Body>>>,
    pub(crate) near: Option<Rc<RefCell<Body>>>,
}

/// A body of one type as one of another, without its links.
macro_rules! without_links {
    ($body:ident, $from:expr) => {
        $body {
            number: $from.number,
            name: $from.name.clone(),
            x: $from.x,
            y: $from.y,
            z: $from.z,
            mass: $from.mass,
            speed_x: $from.speed_x,
            speed_y: $from.speed_y,
            speed_z: $from.speed_z,
            damage: $from.damage,
            kind: $from.kind,
            asleep: $from.asleep,
            far: Default::default(),
            near: Default::default(),
        }
    };
}
pub(crate) use without_links;

/// The pattern of the references.
#[derive(Clone, Copy)]
pub(crate) enum Shape {
    /// One to any body, which nine of ten have, one to a near one.
    Random,
    /// Both to near ones.
    Local,
    /// As in `Random`, but only to bodies that come earlier: no cycles.
    Earlier,
}

impl Shape {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Random => "random",
            Self::Local => "local",
            Self::Earlier => "earlier",
        }
    }

    /// Makes a graph of `count` bodies, the same each time.
    pub(crate) fn generate(self, count: u32) -> World {
        let mut rng = Lcg64Xsh32::new(3_141_592_653, 5_897_932_384);
        let body = |number| Rc::new(RefCell::new(body(&mut rng, number)));
        let bodies: Vec<_> = (0..count).map(body).collect();
        for (number, body) in (0..count).zip(&bodies) {
            let [far, near] = self.targets(&mut rng, number, count);
            let mut body = body.borrow_mut();
            body.far = far.map(|target| bodies[target as usize].clone());
            body.near = near.map(|target| bodies[target as usize].clone());
        }
        World { bodies }
    }

    /// The bodies to which body `number` refers, never itself.
    fn targets(self, rng: &mut Lcg64Xsh32, number: u32, count: u32) -> [Option<u32>; 2] {
        let lowest = number.saturating_sub(NEAR);
        let highest = (number + NEAR + 1).min(count);
        match self {
            Self::Random => {
                let has_far = rng.gen_bool(0.9);
                let far = other(rng, 0, number, count).filter(|_| has_far);
                [far, other(rng, lowest, number, highest)]
            }
            Self::Local => {
                [other(rng, lowest, number, highest), other(rng, lowest, number, highest)]
            }
            Self::Earlier => {
                let has_far = rng.gen_bool(0.9);
                let far = other(rng, 0, number, number).filter(|_| has_far);
                [far, other(rng, lowest, number, number)]
            }
        }
    }
}

/// Draws one of `from..to`, but not `number`.
fn other(rng: &mut Lcg64Xsh32, from: u32, number: u32, to: u32) -> Option<u32> {
    let to = if (from..to).contains(&number) { to - 1 } else { to };
    let drawn = (from < to).then(|| rng.gen_range(from..to))?;
    Some(if drawn < number { drawn } else { drawn + 1 })
}

fn body(rng: &mut Lcg64Xsh32, number: u32) -> Body {
    const KINDS: [&str; 8] =
        ["Ash", "Birch", "Boulder", "Crate", "Deer", "Lantern", "Wolf", "Wanderer"];
    let kind = rng.gen_range(0..8_u8);
    Body {
        number,
        name: format!("{} {}", KINDS[usize::from(kind)], rng.gen_range(1..1000_u32)),
        x: rng.gen_range(-4096.0..4096.0),
        y: rng.gen_range(-4096.0..4096.0),
        z: rng.gen_range(0.0..256.0),
        mass: rng.gen_range(0.1..100.0),
        speed_x: rng.gen_range(-8.0..8.0),
        speed_y: rng.gen_range(-8.0..8.0),
        speed_z: rng.gen_range(-8.0..8.0),
        damage: rng.r#gen(),
        kind,
        asleep: rng.gen_bool(0.5),
        far: None,
        near: None,
    }
}

/// Allocates every body, then connects them. Each knows its place, so nothing
/// is looked up: a load can hardly do with less.
pub(crate) fn deep_copy(world: &World) -> World {
    let copy = |body: &Rc<RefCell<Body>>| {
        let body = body.borrow();
        Rc::new(RefCell::new(without_links!(Body, body)))
    };
    let bodies: Vec<_> = world.bodies.iter().map(copy).collect();
    let link = |link: &Link| {
        let target = link.as_ref()?.borrow().number;
        Some(bodies[target as usize].clone())
    };
    for (from, to) in world.bodies.iter().zip(&bodies) {
        let from = from.borrow();
        let mut to = to.borrow_mut();
        to.far = link(&from.far);
        to.near = link(&from.near);
    }
    World { bodies }
}

/// Removes all references, since cycles would keep themselves alive, and long chains would be dropped by recursion.
pub(crate) fn cut(world: &World) {
    for body in &world.bodies {
        let mut body = body.borrow_mut();
        body.far = None;
        body.near = None;
    }
}

/// Returns an error that names the first difference of two graphs: in a value, or in the target of a reference.
pub(crate) fn compare(found: &World, expected: &World) -> Result<(), String> {
    if found.bodies.len() != expected.bodies.len() {
        return Err(format!("{} bodies of {}", found.bodies.len(), expected.bodies.len()));
    }
    for (at, (one, other)) in found.bodies.iter().zip(&expected.bodies).enumerate() {
        let (one, other) = (one.borrow(), other.borrow());
        let same = one.number == other.number
            && one.name == other.name
            && [one.x, one.y, one.z, one.mass] == [other.x, other.y, other.z, other.mass]
            && one.speed_x == other.speed_x
            && one.speed_y == other.speed_y
            && one.speed_z == other.speed_z
            && one.damage == other.damage
            && one.kind == other.kind
            && one.asleep == other.asleep;
        if !same {
            return Err(format!("the values of body {at}"));
        }
        let is_same = |one: &Link, other: &Link| match (one, other) {
            (Some(one), Some(other)) => {
                // In the original, a body's number is its place.
                let place = other.borrow().number as usize;
                Rc::ptr_eq(one, &found.bodies[place])
            }
            (one, other) => one.is_none() && other.is_none(),
        };
        if !is_same(&one.far, &other.far) || !is_same(&one.near, &other.near) {
            return Err(format!("the references of body {at}"));
        }
    }
    Ok(())
}

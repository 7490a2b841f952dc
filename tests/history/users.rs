//! Two users of one target, each with a history: an undo reverts what its own user did, or is refused.

use persist::{Component, ErrorKind, History, Persist, Result, Value, World, field, to_value};
use persist_tests::support::short_or_long;
use rand::{Rng, SeedableRng};
use rand_pcg::Lcg64Xsh32;

#[derive(Persist, Default, Clone, Debug, PartialEq)]
struct Plan {
    layers: Vec<Layer>,
}

#[derive(Persist, Default, Clone, Debug, PartialEq)]
struct Layer {
    shapes: Vec<Shape>,
}

/// A shape with a number of its own, by which the test finds it again.
#[derive(Persist, Default, Clone, Debug, PartialEq)]
struct Shape {
    id: u32,
    color: u8,
}

/// What one entry did.
#[derive(Clone, Debug)]
enum Done {
    Inserted(u32),
    Removed(usize, Shape),
    Moved(u32),
    Painted(u32, u8),
}

struct User {
    history: History<Plan>,
    done: Vec<Done>,
}

impl User {
    fn new() -> Self {
        Self { history: History::new(None), done: Vec::new() }
    }

    /// Edits a random shape, or a new one.
    fn edit(&mut self, plan: &mut Plan, random: &mut Lcg64Xsh32, how: u32) -> Result<()> {
        let at = random.gen_range(0..plan.layers.len());
        let shapes = &plan.layers[at].shapes;
        let index = random.gen_range(0..=shapes.len());
        let (path, history) = (field!(Plan.layers[at].shapes), &mut self.history);
        let Some(shape) = shapes.get(index).cloned().filter(|_| how > 0) else {
            let shape = Shape { id: random.r#gen(), color: 0 };
            self.done.push(Done::Inserted(shape.id));
            return history.insert_element(plan, path, index, to_value(&shape)?);
        };
        match how {
            1 => {
                self.done.push(Done::Removed(at, shape));
                history.remove_element(plan, path, index)
            }
            2 => {
                let to = (index + 1) % shapes.len();
                if to == index {
                    return Ok(());
                }
                self.done.push(Done::Moved(shape.id));
                history.move_element(plan, path, index, to)
            }
            3 => {
                self.done.push(Done::Painted(shape.id, shape.color));
                let color = shape.color.wrapping_add(1);
                history.set_field(plan, field!(Plan.layers[at].shapes[index].color), color)?;
                Ok(())
            }
            // Several at once, which are undone in one pass.
            _ => {
                let twin = Shape { id: random.r#gen(), ..shape };
                self.done.push(Done::Inserted(twin.id));
                history.edit(plan, "Twin", |plan| {
                    plan.layers[at].shapes.insert(index, twin);
                    Ok(())
                })
            }
        }
    }
}

/// The plan without a shape, which is returned.
fn without(plan: &Plan, id: u32) -> (Plan, Option<Shape>) {
    let (mut rest, mut found) = (plan.clone(), None);
    for layer in &mut rest.layers {
        if let Some(at) = layer.shapes.iter().position(|shape| shape.id == id) {
            found = Some(layer.shapes.remove(at));
        }
    }
    (rest, found)
}

/// Compares what an undo did with what its entry had done.
fn check_undone(before: &Plan, after: &Plan, done: &Done, what: &str) {
    let id = match done {
        Done::Inserted(id) | Done::Moved(id) | Done::Painted(id, _) => *id,
        Done::Removed(_, shape) => shape.id,
    };
    let ((rest, was), (rest_after, is)) = (without(before, id), without(after, id));
    assert_eq!(rest, rest_after, "{what}: no other shape changes");
    match done {
        Done::Inserted(_) => assert!(was.is_some() && is.is_none(), "{what}"),
        Done::Removed(at, shape) => {
            assert!(was.is_none() && is.as_ref() == Some(shape), "{what}");
            assert!(after.layers[*at].shapes.contains(shape), "{what}");
        }
        Done::Moved(_) => assert!(is.is_some() && was == is, "{what}"),
        Done::Painted(_, color) => assert_eq!(is.map(|shape| shape.color), Some(*color), "{what}"),
    }
}

#[test]
fn an_undo_changes_no_element_of_another_user() -> Result<()> {
    let (mut refused, mut undone) = (0, 0);
    for seed in 0..short_or_long(300, 10_000) {
        let mut random = Lcg64Xsh32::seed_from_u64(seed);
        let mut plan = Plan { layers: vec![Layer::default(), Layer::default()] };
        let (mut one, mut other) = (User::new(), User::new());
        for _ in 0..6 {
            one.edit(&mut plan, &mut random, 0)?;
        }
        for _ in 0..4 {
            let how = random.gen_range(0..5);
            one.edit(&mut plan, &mut random, how)?;
        }
        // The other user only inserts, or only removes: the numbers of elements say what happened.
        let how = random.gen_range(0..2);
        let count = random.gen_range(0..3);
        for _ in 0..count {
            other.edit(&mut plan, &mut random, how)?;
        }
        while let Some(done) = one.done.pop() {
            let (before, what) = (plan.clone(), format!("seed {seed}, {done:?}"));
            match one.history.undo(&mut plan) {
                Ok(_) => {
                    check_undone(&before, &plan, &done, &what);
                    undone += 1;
                }
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::WrongTarget, "{what}: {error}");
                    assert!(count > 0, "{what}: nobody else changed the plan");
                    assert_eq!(plan, before, "{what}");
                    refused += 1;
                    break;
                }
            }
        }
    }
    assert!(refused > 100 && undone > 500, "{refused} were refused, {undone} undone");
    Ok(())
}

#[test]
fn an_undo_of_an_insertion_keeps_the_element_that_took_its_place() -> Result<()> {
    let mut plan = Plan { layers: vec![Layer::default()] };
    let (mut one, mut other) = (History::new(None), History::new(None));
    let path = field!(Plan.layers[0].shapes);
    let shape = |id| to_value(&Shape { id, color: 0 });
    one.insert_element(&mut plan, &path, 0, shape(1)?)?;
    // As many elements as before, but not the same one.
    other.splice(&mut plan, &path, 0..1, [shape(2)?])?;
    let before = plan.clone();
    let error = one.undo(&mut plan).expect_err("the element is another one");
    insta::assert_snapshot!(error);
    assert_eq!((error.kind(), &plan), (ErrorKind::WrongTarget, &before));
    other.undo(&mut plan)?;
    one.undo(&mut plan)?;
    assert_eq!(plan.layers[0].shapes, []);
    Ok(())
}

#[derive(Persist, Default)]
struct Stops {
    names: Vec<String>,
}
impl Component for Stops {}

#[test]
fn an_element_of_a_component_is_not_taken_for_another() -> Result<()> {
    let mut world = World::new();
    let line = world.spawn("Line 1");
    world.attach(line, Stops { names: vec!["Market".into(), "Harbour".into()] })?;
    let (mut one, mut other) = (History::new(None), History::new(None));
    one.set(&mut world, line, field!(Stops.names[1]), "Old harbour")?;
    other.edit(&mut world, "Insert", |edit| {
        edit.get_mut::<Stops>(line)?.names.insert(0, "Station".into());
        Ok(())
    })?;
    let error = one.undo(&mut world).expect_err("another element has the index");
    insta::assert_snapshot!(error);
    // In the order in which they came, nothing stands in the way.
    other.undo(&mut world)?;
    one.undo(&mut world)?;
    assert_eq!(world.get::<Stops>(line).expect("stops").names, ["Market", "Harbour"]);
    one.redo(&mut world)?;
    let names: Value = world.get_field(line, field!(Stops.names[1]))?;
    assert_eq!(names, Value::from("Old harbour"));
    Ok(())
}

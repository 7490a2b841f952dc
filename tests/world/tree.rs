//! Objects below objects.

use persist::world::Activity;
use persist::{ErrorKind, ObjectId, Result, World};

use super::actor::{Actor, enter, logged, logged_of, saved_and_loaded};
use super::park::Park as _;

fn kind<T>(result: Result<T>) -> Option<ErrorKind> {
    result.err().map(|error| error.kind())
}

#[test]
fn children_keep_their_order_also_in_a_save() -> Result<()> {
    let mut world = World::new();
    let [top, a, b, c, d] = ["top", "a", "b", "c", "d"].map(|name| world.spawn(name));
    for child in [c, a, b] {
        world.set_parent(child, Some(top))?;
    }
    assert_eq!(world.children(top), [c, a, b]);
    world.set_parent_at(d, Some(top), 1)?;
    assert_eq!(world.children(top), [c, d, a, b]);
    world.set_parent_at(b, Some(top), 0)?;
    assert_eq!(world.children(top), [b, c, d, a], "moved among its siblings");
    world.set_parent_at(b, Some(top), 99)?;
    assert_eq!(world.children(top), [c, d, a, b]);
    world.set_parent(d, None)?;
    assert_eq!((world.parent(d), world.parent(a)), (None, Some(top)));
    let again = saved_and_loaded(&world);
    assert_eq!(again.children(top), [c, a, b]);
    assert_eq!((again.parent(d), again.parent(a)), (None, Some(top)));
    assert_eq!(again.roots().collect::<Vec<_>>(), [top, d]);
    Ok(())
}

#[test]
fn a_subtree_has_each_object_before_those_below_it() -> Result<()> {
    let mut world = World::new();
    let top = world.spawn("top");
    let right = world.spawn_in(top, "right")?;
    let left = world.spawn("left");
    world.set_parent_at(left, Some(top), 0)?;
    let deep = world.spawn_in(left, "deep")?;
    assert_eq!(world.subtree(top), [top, left, deep, right]);
    assert_eq!(world.subtree(deep), [deep]);
    assert_eq!(world.roots().collect::<Vec<_>>(), [top]);
    Ok(())
}

#[test]
fn a_removal_takes_the_subtree_and_leaves_the_siblings() -> Result<()> {
    let mut world = World::new();
    let top = world.spawn("top");
    let [a, b, c] = ["a", "b", "c"].map(|name| world.spawn_in(top, name).expect("there"));
    let deep = world.spawn_in(b, "deep")?;
    assert!(world.remove(b));
    assert_eq!(world.children(top), [a, c]);
    assert!(!world.contains(deep));
    assert_eq!(world.find("deep"), None);
    assert_eq!(world.objects().len(), 3);
    Ok(())
}

#[test]
fn an_object_cannot_be_below_itself() -> Result<()> {
    let mut world = World::new();
    let top = world.spawn("top");
    let middle = world.spawn_in(top, "middle")?;
    let low = world.spawn_in(middle, "low")?;
    for (object, parent) in [(top, top), (low, low), (top, middle), (top, low), (middle, low)] {
        assert_eq!(kind(world.set_parent(object, Some(parent))), Some(ErrorKind::Circular));
    }
    let error = world.set_parent(top, Some(low)).expect_err("a circle");
    assert_eq!(error.object(), Some(top.get()));
    assert_eq!(world.subtree(top), [top, middle, low], "nothing was changed");
    world.set_parent(low, Some(top))?;
    assert_eq!(world.children(top), [middle, low]);
    Ok(())
}

#[test]
fn an_object_cannot_be_below_one_that_is_not_there() {
    let mut world = World::new();
    let gone = world.spawn("gone");
    world.remove(gone);
    let here = world.spawn("here");
    assert_eq!(kind(world.set_parent(here, Some(gone))), Some(ErrorKind::NotFound));
    assert_eq!(kind(world.set_parent(gone, Some(here))), Some(ErrorKind::NotFound));
    assert_eq!(kind(world.spawn_in(gone, "child")), Some(ErrorKind::NotFound));
    assert_eq!(world.objects().len(), 1, "no object was made");
}

const DEPTH: usize = 100_000;

/// A chain with an actor at its end.
fn chain(world: &mut World) -> (ObjectId, ObjectId) {
    let top = world.spawn("link");
    let mut last = top;
    for _ in 1..DEPTH {
        last = world.spawn_in(last, "link").expect("there");
    }
    world.attach(last, super::actor::actor("end")).expect("there");
    (top, last)
}

#[test]
fn a_chain_of_a_hundred_thousand_objects_overflows_no_stack() {
    let run = || -> Result<()> {
        let mut world = World::new();
        let (top, last) = chain(&mut world);
        assert_eq!(world.subtree(top).len(), DEPTH);
        world.update(0.1);
        world.set_activity(top, Activity::Paused)?;
        logged();
        world.update(0.1);
        assert_eq!(logged_of("update"), [""; 0]);
        world.set_activity(top, Activity::Active)?;
        world.update(0.1);
        assert_eq!(logged_of("update"), ["end"]);
        assert_eq!(kind(world.set_parent(top, Some(last))), Some(ErrorKind::Circular));

        let mut again = saved_and_loaded(&world);
        assert_eq!(again.subtree(top), world.subtree(top));
        assert!(again.get::<Actor>(last).is_some());
        again.park(top)?;
        again.unpark(top)?;
        assert_eq!(again.objects().len(), DEPTH);
        assert!(again.remove(top));
        assert!(again.objects().len() == 0);
        Ok(())
    };
    let thread = std::thread::Builder::new().stack_size(256 << 10).spawn(run).expect("a thread");
    thread.join().expect("no overflow").expect("no error");
}

/// Children whose order is not that of their ids have no place in the list of their parent yet when they are read, and
/// parents may stand after their children.
#[test]
fn a_hundred_thousand_children_in_any_order_are_saved_and_loaded() -> Result<()> {
    let mut world = World::new();
    let ids: Vec<ObjectId> = (0..DEPTH).map(|_| world.spawn("")).collect();
    let parents = [ids[0], ids[DEPTH / 2], ids[DEPTH - 1]];
    // No step has a factor of the length, so that all places are visited.
    for step in [1, 7_919, DEPTH - 1] {
        let mut at = 0;
        for _ in 0..DEPTH {
            at = (at + step) % DEPTH;
            if !parents.contains(&ids[at]) {
                world.set_parent(ids[at], Some(parents[at % 3]))?;
            }
        }
        let again = saved_and_loaded(&world);
        for parent in parents {
            assert_eq!(again.children(parent), world.children(parent), "step {step}");
        }
        assert!(again.roots().eq(parents));
    }
    Ok(())
}

#[test]
fn a_parent_of_a_hundred_thousand_children_goes_in_no_time() {
    let mut world = World::new();
    let top = world.spawn("top");
    for _ in 1..DEPTH {
        world.spawn_in(top, "leaf").expect("there");
    }
    assert_eq!(world.children(top).len(), DEPTH - 1);
    world.remove(top);
    assert!(world.objects().len() == 0);
    enter(&mut world, "leaf");
    assert_eq!(world.objects().len(), 1);
}

/// With a pass over all for each they took minutes.
#[test]
fn many_children_that_are_moved_one_after_the_other_take_no_pass_over_all_each() -> Result<()> {
    const CHILDREN: usize = 60_000;
    let mut world = World::new();
    let top = world.spawn("top");
    let begin = std::time::Instant::now();
    let children = (0..CHILDREN).map(|_| world.spawn_in(top, "child"));
    let mut children = children.collect::<Result<Vec<_>>>()?;
    for child in &children {
        world.set_parent_at(*child, Some(top), 0)?;
    }
    children.reverse();
    assert_eq!(world.children(top), children);
    for child in &children {
        world.set_parent_at(*child, Some(top), CHILDREN / 2)?;
    }
    let middle = world.children(top)[CHILDREN / 2];
    assert_eq!(middle, children[CHILDREN - 1]);
    for child in &children[..CHILDREN - 2] {
        assert!(world.remove(*child));
    }
    assert_eq!(world.children(top).len(), 2);
    assert!(begin.elapsed().as_secs() < 30, "{:?}", begin.elapsed());
    Ok(())
}

//! Elements of lists that are put in, taken out and moved, at the cost of the element.

use std::cell::Cell;

use persist::{Component, ErrorKind, Persist, Result, Value, field};
use persist_tests::support::{bytes, short_or_long};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64;

use super::scene::{Route, Stop, Thing, text, with};
use super::stage::{fails, there_and_back};
use crate::document::panics;

fn stop(x: u64) -> Stop {
    Stop { x, y: 1 }
}

fn value(x: u64) -> Value {
    let mut stop = persist::Record::new("Stop");
    stop.set("x", x);
    stop.set("y", 1_u64);
    stop.into()
}

fn route(count: u64) -> Route {
    let legs = vec![vec![1], vec![2, 3], vec![]];
    Route { name: "Tour".into(), stops: (0..count).map(stop).collect(), legs }
}

#[test]
fn elements_are_put_in_taken_out_and_moved_and_go_back() -> Result<()> {
    let (mut world, mut history, tour) = with(route(5));
    let xs = |world: &persist::World| -> Vec<u64> {
        let route = world.get::<Route>(tour).expect("it is there");
        route.stops.iter().map(|stop| stop.x).collect()
    };
    let stops = || field!(Route.stops);
    let mut expected: Vec<u64> = (0..5).collect();
    for index in [0, 3, 7] {
        let x = 100 + index as u64;
        there_and_back(&mut world, &mut history, |edit| {
            edit.insert_element(tour, stops(), index, value(x))
        })?;
        expected.insert(index, x);
        assert_eq!(xs(&world), expected);
    }
    for index in [7, 0, 2] {
        there_and_back(&mut world, &mut history, |edit| edit.remove_element(tour, stops(), index))?;
        expected.remove(index);
        assert_eq!(xs(&world), expected);
    }
    for (from, to) in [(0, 4), (4, 0), (1, 2), (2, 1), (3, 1), (1, 3)] {
        there_and_back(&mut world, &mut history, |edit| {
            edit.move_element(tour, stops(), from, to)
        })?;
        let moved = expected.remove(from);
        expected.insert(to, moved);
        assert_eq!(xs(&world), expected, "{from} to {to}");
    }
    assert_eq!(history.entries().len(), 12, "each is an entry of its own");
    history.go_to(&mut world, 0)?;
    assert_eq!(world.get(tour), Some(&route(5)));
    history.go_to(&mut world, 12)?;
    assert_eq!(xs(&world), expected);
    Ok(())
}

#[test]
fn lists_in_lists_and_in_options_are_lists_too() -> Result<()> {
    let (mut world, mut history, tour) = with(route(1));
    world.attach(tour, Thing::sample())?;
    let thing = text(&world);
    there_and_back(&mut world, &mut history, |edit| {
        edit.insert_element(tour, "Route:legs[1]", 0, 9)?;
        edit.remove_element(tour, "Route:legs[0]", 0)?;
        edit.move_element(tour, "Route:legs", 2, 0)?;
        edit.insert_element(tour, "Route:legs[0]", 0, 7)?;
        edit.insert_element(tour, "Route:legs", 3, vec![1, 2])?;
        edit.insert_element(tour, field!(Thing.items[1].spots), 2, -6)
    })?;
    let legs = &world.get::<Route>(tour).expect("it is there").legs;
    assert_eq!(*legs, [vec![7], vec![], vec![9, 2, 3], vec![1, 2]]);
    assert_eq!(world.get::<Thing>(tour).expect("it is there").items[1].spots, [4, 5, -6]);
    history.undo(&mut world)?;
    assert_eq!(text(&world), thing);
    Ok(())
}

#[test]
fn a_change_of_an_element_of_a_huge_list_costs_what_the_element_does() -> Result<()> {
    let (mut world, mut history, tour) = with(route(100_000));
    let mut cost = |edit: &dyn Fn(&mut persist::history::Edit<'_>) -> Result<()>| -> Result<usize> {
        let before = bytes(&history);
        history.edit(&mut world, "", edit)?;
        assert!(bytes(&history) > before);
        Ok(bytes(&history) - before)
    };
    for cost in [
        cost(&|edit| edit.set(tour, field!(Route.stops[70_000].x), 5).map(drop))?,
        cost(&|edit| edit.insert_element(tour, field!(Route.stops), 50_000, value(7)))?,
        cost(&|edit| edit.remove_element(tour, field!(Route.stops), 40_000))?,
        cost(&|edit| edit.move_element(tour, field!(Route.stops), 99_999, 1))?,
    ] {
        assert!(cost < 1000, "{cost} bytes");
    }
    // What is changed by hand is found among the others.
    let found = cost(&|edit| {
        let stops = &mut edit.get_mut::<Route>(tour)?.stops;
        stops[3].x = 1;
        stops.insert(60_000, stop(9));
        Ok(())
    })?;
    assert!(found < 1000, "{found} bytes");
    // Where nearly all are others, the list is one field.
    let whole = cost(&|edit| {
        edit.get_mut::<Route>(tour)?.stops.iter_mut().for_each(|stop| stop.x += 1_000_000);
        Ok(())
    })?;
    assert!((200_000..4_000_000).contains(&whole), "{whole} bytes, of the old and the new list");
    let name = cost(&|edit| {
        edit.get_mut::<Route>(tour)?.name.push('!');
        Ok(())
    })?;
    assert!(name < 1000, "{name} bytes");
    history.go_to(&mut world, 0)?;
    assert_eq!(world.get(tour), Some(&route(100_000)));
    history.go_to(&mut world, 7)?;
    history.go_to(&mut world, 4)?;
    let stops = &world.get::<Route>(tour).expect("it is there").stops;
    assert_eq!((stops.len(), stops[70_001].x, stops[1].x), (100_000, 5, 99_999));
    Ok(())
}

#[test]
fn what_is_no_place_in_a_list_is_refused() -> Result<()> {
    let (mut world, mut history, tour) = with(route(2));
    history.set(&mut world, tour, "Route:name", "Detour")?;
    history.undo(&mut world)?;
    let stops = || field!(Route.stops);
    for error in [
        fails(&mut world, &mut history, |edit| edit.insert_element(tour, stops(), 3, value(1))),
        fails(&mut world, &mut history, |edit| edit.remove_element(tour, stops(), 2)),
        fails(&mut world, &mut history, |edit| edit.move_element(tour, stops(), 0, 2)),
        fails(&mut world, &mut history, |edit| edit.move_element(tour, stops(), 2, 0)),
        fails(&mut world, &mut history, |edit| edit.remove_element(tour, "Route:name", 0)),
        fails(&mut world, &mut history, |edit| edit.remove_element(tour, "Route:legs[3]", 0)),
        fails(&mut world, &mut history, |edit| edit.insert_element(tour, "Route", 0, 1)),
        fails(&mut world, &mut history, |edit| edit.remove_element(tour, "Other:list", 0)),
    ] {
        assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
        assert_eq!(error.object(), Some(tour.get()));
    }
    for error in [
        fails(&mut world, &mut history, |edit| edit.insert_element(tour, stops(), 0, 1)),
        fails(&mut world, &mut history, |edit| edit.insert_element(tour, "Route:legs[0]", 0, 300)),
        fails(&mut world, &mut history, |edit| edit.insert_element(tour, "Route:legs[0]", 0, "a")),
    ] {
        assert_eq!(error.kind(), ErrorKind::KindMismatch, "{error}");
    }
    assert!(history.redo(&mut world)?);
    Ok(())
}

#[test]
fn entries_of_maps_come_and_go_with_the_map() -> Result<()> {
    let (mut world, mut history, ada) = with(Thing::sample());
    // A map has keys, not places.
    for path in ["game.Thing:prices", "game.Thing:by_slot", "game.Thing:grid", "game.Thing:pair"] {
        let error = fails(&mut world, &mut history, |edit| edit.remove_element(ada, path, 0));
        assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
    }
    there_and_back(&mut world, &mut history, |edit| {
        let prices = &mut edit.get_mut::<Thing>(ada)?.prices;
        prices.remove("axe");
        prices.insert("bow".into(), 30);
        Ok(())
    })?;
    there_and_back(&mut world, &mut history, |edit| {
        edit.set(ada, field!(Thing.prices["bow"]), 31)
    })?;
    history.go_to(&mut world, 0)?;
    assert_eq!(world.get(ada), Some(&Thing::sample()));
    Ok(())
}

#[test]
fn a_list_that_is_set_and_changed_in_one_edit_goes_back() -> Result<()> {
    let (mut world, mut history, tour) = with(route(3));
    there_and_back(&mut world, &mut history, |edit| {
        edit.remove_element(tour, field!(Route.stops), 0)?;
        edit.get_mut::<Route>(tour)?.stops.push(stop(50));
        edit.insert_element(tour, field!(Route.stops), 1, value(60))?;
        edit.set(tour, field!(Route.stops[1].y), 2)?;
        edit.get_mut::<Route>(tour)?.stops.clear();
        edit.insert_element(tour, field!(Route.stops), 0, value(70))?;
        edit.set(tour, field!(Route.stops), vec![value(1), value(2)])?;
        edit.move_element(tour, field!(Route.stops), 0, 1)
    })?;
    assert_eq!(world.get::<Route>(tour).expect("it is there").stops, [stop(2), stop(1)]);
    Ok(())
}

/// Routes at each position of a history.
struct Snapshots {
    routes: Vec<Route>,
    position: usize,
}

#[test]
fn random_changes_of_lists_lead_where_snapshots_lead() -> Result<()> {
    let mut random = Pcg64::seed_from_u64(7);
    let (mut world, _, tour) = with(route(6));
    let mut history = persist::History::new(None);
    let mut naive = Snapshots { routes: vec![route(6)], position: 0 };
    for step in 0..short_or_long(3_000_u32, 60_000) {
        let mut now = naive.routes[naive.position].clone();
        let len = now.stops.len();
        let (at, to) = (random.gen_range(0..=len), random.gen_range(0..=len));
        let leg = random.gen_range(0..now.legs.len());
        let legs = field!(Route.legs).at(leg as u64);
        let x = u64::from(step);
        let done = history.edit(&mut world, "", |edit| match random.gen_range(0..8) {
            0 => edit.insert_element(tour, field!(Route.stops), at, value(x)).map(|()| {
                now.stops.insert(at, stop(x));
            }),
            1 => edit.remove_element(tour, field!(Route.stops), at).map(|()| {
                now.stops.remove(at);
            }),
            2 => edit.move_element(tour, field!(Route.stops), at, to).map(|()| {
                if at != to {
                    let moved = now.stops.remove(at);
                    now.stops.insert(to, moved);
                }
            }),
            3 => edit.set(tour, field!(Route.stops).at(at as u64).field("x"), x).map(|_| {
                now.stops[at].x = x;
            }),
            4 => edit.set(tour, field!(Route.stops).at(at as u64), value(x)).map(|_| {
                now.stops[at] = stop(x);
            }),
            5 => edit.insert_element(tour, legs, 0, step % 200).map(|()| {
                now.legs[leg].insert(0, u8::try_from(step % 200).expect("small"));
            }),
            6 => edit.remove_element(tour, legs, 0).map(|()| {
                now.legs[leg].remove(0);
            }),
            _ => {
                edit.get_mut::<Route>(tour)?.stops.truncate(at);
                now.stops.truncate(at);
                Ok(())
            }
        });
        match done {
            Ok(()) if now != naive.routes[naive.position] => {
                naive.routes.truncate(naive.position + 1);
                naive.routes.push(now);
                naive.position += 1;
            }
            Ok(()) => {}
            Err(error) => assert_eq!(error.kind(), ErrorKind::NotFound, "{error}"),
        }
        if random.gen_ratio(1, 3) {
            let position = random.gen_range(0..naive.routes.len());
            history.go_to(&mut world, position)?;
            naive.position = position;
        }
        assert_eq!(history.entries().len() + 1, naive.routes.len(), "step {step}");
        assert_eq!(world.get(tour), Some(&naive.routes[naive.position]), "step {step}");
    }
    Ok(())
}

#[test]
fn an_element_that_comes_or_goes_or_changes_leaves_the_others_as_they_are() -> Result<()> {
    let mut thing = Thing::sample();
    thing.items.push(thing.items[0].clone());
    thing.items.iter_mut().zip(1..).for_each(|(item, picture)| item.picture = picture);
    let (mut world, mut history, object) = with(thing);
    let pictures = |world: &persist::World| -> Vec<u8> {
        let thing = world.get::<Thing>(object).expect("it is there");
        thing.items.iter().map(|item| item.picture).collect()
    };
    let before = pictures(&world);
    assert!(before.len() > 1);
    history.edit(&mut world, "", |edit| {
        edit.set(object, field!(Thing.items[0].count), 99)?;
        edit.move_element(object, field!(Thing.items), 0, 1)?;
        edit.insert_element(object, field!(Thing.items[0].spots), 0, 5)
    })?;
    let mut moved = before.clone();
    moved.swap(0, 1);
    assert_eq!(pictures(&world), moved);
    history.undo(&mut world)?;
    assert_eq!(pictures(&world), before);
    history.edit(&mut world, "", |edit| edit.remove_element(object, field!(Thing.items), 0))?;
    assert_eq!(pictures(&world), before[1..]);
    Ok(())
}

thread_local! {
    static IS_ARMED: Cell<bool> = const { Cell::new(false) };
}

/// Panics once when it is dropped, if it is armed.
#[derive(Persist, Debug, PartialEq)]
struct Mine(u32);

impl Drop for Mine {
    fn drop(&mut self) {
        if IS_ARMED.take() {
            std::panic::resume_unwind(Box::new("on purpose"));
        }
    }
}

#[derive(Persist, Debug, PartialEq)]
struct Field {
    mines: Vec<Mine>,
}

impl Component for Field {}

#[test]
fn an_element_that_panics_when_it_is_dropped_comes_back_and_the_edit_is_rolled_back() -> Result<()>
{
    let mines = |numbers: &[u32]| Field { mines: numbers.iter().copied().map(Mine).collect() };
    let (mut world, mut history, field) = with(mines(&[1, 2, 3]));
    for index in 0..3 {
        panics(|| {
            let removed = history.edit(&mut world, "", |edit| {
                edit.spawn("Bob")?;
                IS_ARMED.set(true);
                edit.remove_element(field, field!(Field.mines), index)
            });
            removed.expect("it panics before");
        });
        assert_eq!(world.get(field), Some(&mines(&[1, 2, 3])));
        assert_eq!((history.entries().len(), world.objects().len()), (0, 1));
        assert!(history.poison().is_none());
    }
    history.edit(&mut world, "", |edit| edit.remove_element(field, field!(Field.mines), 1))?;
    assert_eq!(world.get(field), Some(&mines(&[1, 3])));
    history.undo(&mut world)?;
    assert_eq!(world.get(field), Some(&mines(&[1, 2, 3])));
    Ok(())
}

#[test]
fn an_edit_of_many_elements_of_a_component_goes_back_in_one_pass() -> Result<()> {
    let (mut world, mut history, tour) = with(route(1500));
    let mut random = Pcg64::seed_from_u64(3);
    for round in 0..4_u64 {
        there_and_back(&mut world, &mut history, |edit| {
            let route = edit.get_mut::<Route>(tour)?;
            route.stops.retain(|_| !random.gen_bool(0.1));
            for number in 0..100 {
                let at = random.gen_range(0..=route.stops.len());
                route.stops.insert(at, stop(10_000 * (round + 1) + number));
            }
            Ok(())
        })?;
    }
    let bytes = history.entries().map(|entry| entry.bytes).max();
    assert!(bytes.is_some_and(|bytes| bytes < 70_000), "{bytes:?}");
    Ok(())
}

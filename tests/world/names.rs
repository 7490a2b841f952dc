//! Names: each once, with the lowest free number behind it.

use persist::{ErrorKind, Result, World};

use super::actor::saved_and_loaded;

fn names(world: &World) -> Vec<&str> {
    world.objects().filter_map(|object| world.name(object)).collect()
}

#[test]
fn the_first_object_of_a_base_name_gets_exactly_that_name() {
    let mut world = World::new();
    let orc = world.spawn("Orc");
    assert_eq!(world.name(orc), Some("Orc"));
    assert_eq!(world.find("Orc"), Some(orc));
    assert_eq!(world.find("orc"), None);
}

#[test]
fn later_objects_get_the_lowest_free_number() {
    let mut world = World::new();
    let orcs = [(); 5].map(|()| world.spawn("Orc"));
    assert_eq!(names(&world), ["Orc", "Orc1", "Orc2", "Orc3", "Orc4"]);
    for gone in [3, 1, 2] {
        world.remove(orcs[gone]);
    }
    let names = [(); 5].map(|()| {
        let orc = world.spawn("Orc");
        world.name(orc).expect("there").to_owned()
    });
    assert_eq!(names, ["Orc1", "Orc2", "Orc3", "Orc5", "Orc6"]);
    world.remove(orcs[0]);
    let orc = world.spawn("Orc");
    assert_eq!(world.name(orc), Some("Orc"));
    assert_ne!(orc, orcs[0]);
}

#[test]
fn a_base_that_ends_in_a_number_does_not_collide_with_a_number_that_was_given() {
    let mut world = World::new();
    for base in ["a", "a", "a1", "a1", "a", "a11", "a1", "a2", "a"] {
        world.spawn(base);
    }
    let expected = ["a", "a1", "a11", "a12", "a2", "a111", "a13", "a21", "a3"];
    assert_eq!(names(&world), expected);
}

#[test]
fn a_number_that_somebody_was_called_by_is_skipped_and_used_when_it_is_free() -> Result<()> {
    let mut world = World::new();
    let named = world.spawn("a2");
    let _ = ["a", "a", "a"].map(|base| world.spawn(base));
    assert_eq!(names(&world), ["a2", "a", "a1", "a3"]);
    world.rename(named, "b")?;
    let next = world.spawn("a");
    assert_eq!(world.name(next), Some("a2"));
    Ok(())
}

#[test]
fn numbers_never_begin_with_a_zero() {
    let mut world = World::new();
    let zero = world.spawn("a01");
    let _ = ["a", "a"].map(|base| world.spawn(base));
    assert_eq!(names(&world), ["a01", "a", "a1"]);
    world.remove(zero);
    let next = world.spawn("a");
    assert_eq!(world.name(next), Some("a2"));
    let next = world.spawn("a0");
    assert_eq!(world.name(next), Some("a0"));
}

#[test]
fn an_empty_name_is_none() -> Result<()> {
    let mut world = World::new();
    let [first, second] = [(); 2].map(|()| world.spawn(""));
    assert_eq!((world.name(first), world.name(second), world.find("")), (None, None, None));
    assert_eq!(world.rename(second, "Orc")?, "Orc");
    assert_eq!(world.rename(first, "Orc")?, "Orc1");
    assert_eq!(world.rename(second, "")?, "");
    assert_eq!((world.name(second), world.find("Orc")), (None, None));
    let again = saved_and_loaded(&world);
    assert_eq!((again.name(first), again.name(second)), (Some("Orc1"), None));
    Ok(())
}

#[test]
fn numbers_far_apart_and_longer_than_a_number_is_kept_are_found_and_freed() -> Result<()> {
    let mut world = World::new();
    let all = ["a", "a20", "a999999999", "a1000000000", "a9999999999", "a40", "a00", "a0", "a007"];
    let ids = all.map(|name| world.spawn(name));
    assert_eq!(names(&world), all);
    let more: Vec<_> = (0..40).map(|_| world.spawn("a")).collect();
    assert_eq!(world.name(more[18]), Some("a19"));
    assert_eq!(world.name(more[19]), Some("a21"));
    assert_eq!(world.name(more[39]), Some("a42"));
    for (name, id) in all.iter().zip(ids) {
        assert_eq!(world.find(name), Some(id));
    }
    // `a999999999` and a number after it.
    let [one, two] = ["a999999999"; 2].map(|name| world.spawn(name));
    assert_eq!((world.name(one), world.name(two)), (Some("a9999999991"), Some("a9999999992")));
    world.remove(one);
    let next = world.spawn("a999999999");
    assert_eq!(world.name(next), Some("a9999999991"));
    let mut again = saved_and_loaded(&world);
    assert_eq!(names(&again), names(&world));
    for id in world.objects().collect::<Vec<_>>() {
        assert_eq!(again.find(world.name(id).expect("it has one")), Some(id));
        again.remove(id);
    }
    let first = again.spawn("a");
    assert_eq!((again.name(first), again.objects().len()), (Some("a"), 1));
    Ok(())
}

#[test]
fn names_of_digits_and_of_any_script_are_names() {
    let mut world = World::new();
    for base in ["7", "7", "71", "é", "é", "剣", "剣", "١", "١"] {
        world.spawn(base);
    }
    assert_eq!(names(&world), ["7", "71", "711", "é", "é1", "剣", "剣1", "١", "١1"]);
    let gone = world.find("711").expect("there");
    world.remove(gone);
    let next = world.spawn("71");
    assert_eq!(world.name(next), Some("711"));
}

#[test]
fn a_rename_gives_the_name_or_one_with_the_lowest_free_number() -> Result<()> {
    let mut world = World::new();
    let [a, b, c] = ["a", "b", "c"].map(|name| world.spawn(name));
    assert_eq!(world.rename(b, "a")?, "a1");
    assert_eq!((world.find("b"), world.find("a1")), (None, Some(b)));
    assert_eq!(world.rename(b, "a1")?, "a1", "its own name is free for itself");
    assert_eq!(world.rename(c, "a")?, "a2");
    assert_eq!(world.rename(c, "b")?, "b");
    assert_eq!(world.rename(b, "a")?, "a1");
    assert_eq!(world.rename(a, "d")?, "d");
    assert_eq!(world.rename(b, "a")?, "a");
    world.remove(a);
    assert_eq!(world.rename(a, "e").map_err(|error| error.kind()), Err(ErrorKind::NotFound));
    assert_eq!(world.find("e"), None);
    Ok(())
}

#[test]
fn names_are_given_after_a_load_as_before() {
    let mut world = World::new();
    let orcs = [(); 6].map(|()| world.spawn("Orc"));
    world.spawn("Orc12");
    for gone in [4, 2] {
        world.remove(orcs[gone]);
    }
    let mut again = saved_and_loaded(&world);
    for _ in 0..20 {
        let [one, other] = [&mut world, &mut again].map(|world| world.spawn("Orc"));
        assert_eq!(one, other);
        assert_eq!(world.name(one), again.name(other));
    }
    assert_eq!(names(&world), names(&again));
}

#[test]
fn ten_thousand_objects_of_one_name_take_no_time_in_the_square_of_them() {
    let mut world = World::new();
    let ids: Vec<_> = (0..10_000).map(|_| world.spawn("Orc")).collect();
    assert_eq!(world.find("Orc9999"), ids.last().copied());
    for id in ids.iter().rev() {
        world.remove(*id);
    }
    let last = (0..10_000).map(|_| world.spawn("Orc")).last();
    assert_eq!(world.find("Orc9999"), last);
}

#[test]
fn objects_that_share_a_name_are_found_by_no_name_that_another_has() -> Result<()> {
    let mut world = World::new();
    let all =
        ["Goblin", "Goblin", "Goblin", "Goblin1", "Goblin\u{1f}1", "Goblin\u{1f}", "Goblin\u{1f}"];
    let ids = all.map(|_| world.spawn(""));
    for (id, name) in ids.iter().zip(all) {
        world.share_name(*id, name)?;
    }
    let mut again = saved_and_loaded(&world);
    for world in [&world, &again] {
        assert_eq!(names(world), all);
        let firsts = [0, 3, 4, 5];
        firsts.into_iter().for_each(|at| assert_eq!(world.find(all[at]), Some(ids[at])));
        assert_eq!((world.find("Goblin2"), world.find("Goblin\u{1f}2")), (None, None));
    }
    // The one that is found is removed; the others stay what they are, and a newcomer is found.
    again.remove(ids[0]);
    assert_eq!((again.find("Goblin"), again.name(ids[1])), (None, Some("Goblin")));
    let newcomer = again.spawn("Goblin");
    assert_eq!((again.name(newcomer), again.find("Goblin")), (Some("Goblin"), Some(newcomer)));
    assert_eq!(names(&again)[..3], ["Goblin", "Goblin", "Goblin1"]);
    Ok(())
}

#[test]
fn names_that_a_program_asks_for_get_numbers_whatever_they_end_with() {
    let mut world = World::new();
    for base in [
        "a\u{1f}",
        "a\u{1f}",
        "a\u{1f}1",
        "a\u{1f}1",
        "a\u{1f}\u{1f}1",
        "a",
        "\u{1f}",
        "\u{1f}",
        "\u{1f}5",
    ] {
        world.spawn(base);
    }
    let expected = [
        "a\u{1f}",
        "a\u{1f}1",
        "a\u{1f}11",
        "a\u{1f}12",
        "a\u{1f}\u{1f}1",
        "a",
        "\u{1f}",
        "\u{1f}1",
        "\u{1f}5",
    ];
    for world in [&world, &saved_and_loaded(&world)] {
        assert_eq!(names(world), expected);
        for (id, name) in world.objects().zip(expected) {
            assert_eq!(world.find(name), Some(id));
        }
    }
}

//! `Id<Hero>` and `Id<Orc>`, which differ in a marker alone, were two classes of one id.

use std::marker::PhantomData;

use persist::Persist;
use persist::save::Registry;

#[derive(Persist, Debug, PartialEq)]
struct Id<T> {
    number: u32,
    of: PhantomData<T>,
}

#[derive(Debug, PartialEq)]
struct Hero;

#[derive(Debug, PartialEq)]
struct Orc;

#[derive(Persist, Debug, PartialEq)]
struct Duel {
    hero: Id<Hero>,
    orc: Id<Orc>,
}

#[test]
fn types_that_differ_in_a_marker_share_a_class() {
    let duel =
        Duel { hero: Id { number: 1, of: PhantomData }, orc: Id { number: 2, of: PhantomData } };
    let save = persist::to_vec(&duel).unwrap();
    assert_eq!(persist::from_slice::<Duel>(&save).unwrap(), duel);

    let mut registry = Registry::new();
    registry.register::<Duel>().unwrap();
    assert_eq!(registry.classes().count(), 2);
}

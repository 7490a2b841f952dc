//! The factory of `register_with` was ignored for a value that is loaded on its own.

use persist::{Persist, Saves};

#[derive(Persist, Debug, PartialEq)]
struct Terrain {
    seed: u64,
    #[persist(skip)]
    cache: Vec<u8>,
}

#[test]
fn a_value_on_its_own_is_made_by_the_factory() {
    let saves = Saves::new();
    saves.register_with(|| Terrain { seed: 0, cache: vec![7; 3] }).unwrap();
    let save = saves.to_vec(&Terrain { seed: 5, cache: vec![] }).unwrap();
    let terrain = saves.from_slice::<Terrain>(&save).unwrap().into_inner();
    assert_eq!(terrain, Terrain { seed: 5, cache: vec![7; 3] });
}

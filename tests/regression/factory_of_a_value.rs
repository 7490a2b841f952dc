//! The factory of `register_with` was ignored for a value that is loaded on its own.

use persist::{Persist, SaveManager};

#[derive(Persist, Debug, PartialEq)]
struct Terrain {
    seed: u64,
    #[persist(skip)]
    cache: Vec<u8>,
}

#[test]
fn a_value_on_its_own_is_made_by_the_factory() {
    let mut saves = SaveManager::new();
    saves.registry_mut().register_with(|| Terrain { seed: 0, cache: vec![7; 3] }).unwrap();
    let save = saves.value_to_vec(&Terrain { seed: 5, cache: vec![] }).unwrap();
    let (terrain, _) = saves.value_from_slice::<Terrain>(&save).unwrap();
    assert_eq!(terrain, Terrain { seed: 5, cache: vec![7; 3] });
}

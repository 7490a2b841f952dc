//! Components that need a context.

use std::sync::Arc;

use persist::world::ExternalIds;
use persist::{Component, ErrorKind, ObjectId, Persist, Result, Saves, Value, World, field};
use persist_tests::support::items::{Items, item};

#[derive(Persist, Default, Debug, PartialEq)]
#[persist(context = Items, validate = Self::check)]
struct Bag {
    size: u32,
    #[persist(with = "Vec<item>", context = Items)]
    items: Vec<usize>,
}

impl Bag {
    fn check(&self, items: &Items) -> Result<(), String> {
        let names = items.names.len();
        if self.size as usize <= names { Ok(()) } else { Err(format!("{} of {names}", self.size)) }
    }
}

impl Component for Bag {}

fn world(context: bool) -> Result<(World, ObjectId)> {
    let mut world = World::new();
    if context {
        world.registry_mut().set_context(Arc::new(Items::new(&["rope", "lamp"])));
    }
    let ada = world.spawn("Ada");
    world.attach(ada, Bag { size: 1, items: vec![1] })?;
    Ok((world, ada))
}

#[test]
fn fields_are_read_and_set_with_the_context() -> Result<()> {
    let (mut world, ada) = world(true)?;
    assert_eq!(world.get_field(ada, field!(Bag.items).at(0_u64))?, Value::from("lamp"));
    world.set_field(ada, field!(Bag.items).at(0_u64), "rope")?;
    assert_eq!(world.get::<Bag>(ada).map(|bag| bag.items[0]), Some(0));
    let error = world.set_field(ada, field!(Bag.size), 3_u32).unwrap_err();
    assert_eq!(error.message(), "`validate` of Bag refused: 3 of 2");
    Ok(())
}

#[test]
fn prefabs_are_made_and_copied_with_the_context() -> Result<()> {
    let (made, ada) = world(true)?;
    let prefab = made.prefab(ada)?;
    let mut world = World::new();
    let error = world.instantiate(&prefab, ExternalIds::Clear).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WrongContext);
    world.registry_mut().set_context(Arc::new(Items::new(&["lamp"])));
    let copy = world.instantiate(&prefab, ExternalIds::Clear)?;
    assert_eq!(world.get::<Bag>(copy).map(|bag| bag.items[0]), Some(0));
    Ok(())
}

#[test]
fn the_save_of_a_world_without_a_context_is_an_error() -> Result<()> {
    let (world, _) = world(false)?;
    let saves = Saves::new();
    let error = saves.to_vec(&world).unwrap_err();
    assert_eq!((error.kind(), error.class()), (ErrorKind::WrongContext, Some("persist.World")));
    let saves = saves.context(Arc::new(Items::new(&["rope", "lamp"])));
    let save = saves.to_vec(&world)?;

    let saves = Saves::new();
    saves.register_component::<Bag>()?;
    let error = saves.from_slice::<World>(&save).unwrap_err();
    insta::assert_snapshot!(error);
    Ok(())
}

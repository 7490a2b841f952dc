//! Values beside the objects: one of a type, saved, and kept if the program does not have them.

use std::sync::{Arc, Mutex};

use persist::{ErrorKind, Persist, Result, Saves, World};

#[derive(Persist, Debug, PartialEq)]
struct Score(u32);

#[derive(Persist, Debug, PartialEq)]
struct Weather {
    rain: f32,
}

#[derive(Persist)]
struct Item {
    name: String,
}

/// Three classes that point to objects.
#[derive(Persist)]
struct Alpha(Arc<Mutex<Item>>);
#[derive(Persist)]
struct Beta(Arc<Mutex<Item>>);
#[derive(Persist)]
struct Gamma(Arc<Mutex<Item>>);

fn item(name: &str) -> Arc<Mutex<Item>> {
    Arc::new(Mutex::new(Item { name: name.into() }))
}

#[test]
fn there_is_one_resource_of_a_type() -> Result<()> {
    let mut world = World::new();
    assert_eq!(world.resource::<Score>(), None);
    assert_eq!(world.insert_resource(Score(1))?, None);
    assert_eq!(world.insert_resource(Score(2))?, Some(Score(1)));
    world.insert_resource(Weather { rain: 0.5 })?;
    world.resource_mut::<Score>().expect("there").0 += 1;
    assert_eq!(world.resource::<Score>(), Some(&Score(3)));
    assert_eq!(world.remove_resource::<Score>(), Some(Score(3)));
    assert_eq!(world.remove_resource::<Score>(), None);
    assert_eq!(world.resource::<Weather>(), Some(&Weather { rain: 0.5 }));
    Ok(())
}

fn saves() -> Result<Saves> {
    let saves = Saves::new();
    saves.register_resource::<Score>()?;
    saves.register_resource::<Weather>()?;
    Ok(saves)
}

#[test]
fn resources_are_saved_and_worlds_with_the_same_ones_have_the_same_bytes() -> Result<()> {
    let [mut one, mut other] = [World::new(), World::new()];
    one.insert_resource(Score(1))?;
    one.insert_resource(Weather { rain: 0.5 })?;
    other.insert_resource(Weather { rain: 0.5 })?;
    other.insert_resource(Score(1))?;
    let saves = saves()?;
    let save = saves.to_vec(&one)?;
    assert_eq!(save, saves.to_vec(&other)?);
    let again = saves.from_slice::<World>(&save)?;
    assert!(again.report().is_clean(), "{}", again.report());
    assert_eq!(again.resource::<Score>(), Some(&Score(1)));
    assert_eq!(again.resource::<Weather>(), Some(&Weather { rain: 0.5 }));
    Ok(())
}

#[test]
fn a_resource_that_the_program_does_not_have_is_kept() -> Result<()> {
    let mut world = World::new();
    world.insert_resource(Score(1))?;
    world.insert_resource(Weather { rain: 0.5 })?;
    let save = saves()?.to_vec(&world)?;

    let poor = Saves::new();
    poor.register_resource::<Weather>()?;
    let kept = poor.from_slice::<World>(&save)?.into_inner();
    assert_eq!(kept.resource::<Score>(), None);
    let save = poor.to_vec(&kept)?;
    let again = saves()?.from_slice::<World>(&save)?.into_inner();
    assert_eq!(again.resource::<Score>(), Some(&Score(1)));
    assert_eq!(again.resource::<Weather>(), Some(&Weather { rain: 0.5 }));
    Ok(())
}

#[test]
fn a_resource_replaces_the_one_of_its_class_that_was_kept() -> Result<()> {
    let mut world = World::new();
    world.insert_resource(Score(1))?;
    let save = saves()?.to_vec(&world)?;
    let mut kept = Saves::new().from_slice::<World>(&save)?.into_inner();
    assert_eq!(kept.insert_resource(Score(2))?, None);
    let saves = saves()?;
    let save = saves.to_vec(&kept)?;
    let again = saves.from_slice::<World>(&save)?.into_inner();
    assert_eq!(again.resource::<Score>(), Some(&Score(2)));
    Ok(())
}

#[test]
fn pointers_of_resources_lead_where_they_did_when_one_was_unknown_meanwhile() -> Result<()> {
    let mut world = World::new();
    world.insert_resource(Alpha(item("a")))?;
    world.insert_resource(Beta(item("b")))?;
    world.insert_resource(Gamma(item("c")))?;
    let rich = Saves::new();
    rich.register_resource::<Alpha>()?;
    rich.register_resource::<Beta>()?;
    rich.register_resource::<Gamma>()?;
    let save = rich.to_vec(&world)?;
    let poor = Saves::new();
    poor.register_resource::<Beta>()?;
    let kept = poor.from_slice::<World>(&save)?;
    let name =
        |item: Option<&Arc<Mutex<Item>>>| item.map(|item| item.lock().expect("free").name.clone());
    // An exchange here and one back would not be seen in the end.
    assert_eq!(name(kept.resource::<Beta>().map(|beta| &beta.0)).as_deref(), Some("b"));
    // The unknown ones are behind the known one now.
    let save = poor.to_vec(&kept)?;
    let again = rich.from_slice::<World>(&save)?.into_inner();
    assert_eq!(name(again.resource::<Alpha>().map(|alpha| &alpha.0)).as_deref(), Some("a"));
    assert_eq!(name(again.resource::<Beta>().map(|beta| &beta.0)).as_deref(), Some("b"));
    assert_eq!(name(again.resource::<Gamma>().map(|gamma| &gamma.0)).as_deref(), Some("c"));
    Ok(())
}

#[test]
fn a_resource_that_stands_twice_in_a_save_is_refused() -> Result<()> {
    let mut world = World::new();
    world.insert_resource(Score(1))?;
    let mut document = persist_tools::Document::from_slice(&saves()?.to_vec(&world)?)?;
    let Some(persist::Value::Struct(root)) = document.root_mut() else { panic!("a world") };
    let Some(persist::Value::Seq(resources)) = root.get_mut("resources") else { panic!("a list") };
    resources.push(resources[0].clone());
    let error = saves()?.from_slice::<World>(&document.to_vec()?).map(drop);
    let error = error.expect_err("two of a type");
    assert_eq!(error.kind(), ErrorKind::InvalidValue);
    assert!(error.message().contains("Score"), "{error}");
    Ok(())
}

//! Fields that are stored as another type, in edits and by paths.

use std::collections::HashMap;

use persist::{Component, ErrorKind, History, Persist, Result, World, field};

/// A type of another crate.
#[derive(Clone, Debug, PartialEq)]
struct Place(f32, f32);

mod place {
    use super::Place;

    pub(super) type Stored = [f32; 2];

    pub(super) fn store(place: &Place) -> Stored {
        [place.0, place.1]
    }

    pub(super) fn restore([x, y]: Stored) -> Result<Place, String> {
        if x < 0.0 { Err(format!("{x} is out of the world")) } else { Ok(Place(x, y)) }
    }
}

#[derive(Persist, Clone, Debug, PartialEq)]
struct Squad {
    level: u8,
    #[persist(with = "Vec<Option<place>>")]
    seats: Vec<Option<Place>>,
    #[persist(with = "HashMap<_, place>")]
    by_name: HashMap<String, Place>,
    end: u8,
}

impl Component for Squad {}

fn squad() -> Squad {
    let seats = vec![Some(Place(1.0, 2.0)), None, Some(Place(3.0, 4.0))];
    Squad { level: 1, seats, by_name: [("Ada".to_owned(), Place(5.0, 6.0))].into(), end: 9 }
}

#[test]
fn lifts_are_edited_undone_and_set_by_paths() -> Result<()> {
    let mut world = World::new();
    let ada = world.spawn("Ada");
    world.attach(ada, squad())?;
    let mut history = History::new(16);

    history.edit(&mut world, "Move", |edit| {
        let squad = edit.get_mut::<Squad>(ada)?;
        squad.seats[0] = Some(Place(7.0, 8.0));
        squad.by_name.insert("Bob".to_owned(), Place(0.0, 0.0));
        Ok(())
    })?;
    let moved = world.get::<Squad>(ada).expect("it is there").clone();
    assert!(history.undo(&mut world)?);
    assert_eq!(world.get(ada), Some(&squad()));
    assert!(history.redo(&mut world)?);
    assert_eq!(world.get(ada), Some(&moved));
    assert!(history.undo(&mut world)?);

    let seat = world.get_field(ada, field!(Squad.seats[2]))?;
    history.set(&mut world, ada, field!(Squad.seats[1]), seat)?;
    let seats = &world.get::<Squad>(ada).expect("it is there").seats;
    assert_eq!(seats[1], Some(Place(3.0, 4.0)));
    let seats = world.get_field(ada, field!(Squad.seats))?;
    assert!(history.undo(&mut world)?);
    assert_eq!(world.get(ada), Some(&squad()));
    world.set_field(ada, field!(Squad.seats), seats)?;
    assert_eq!(world.get_field(ada, "Squad:by_name[\"Ada\"][1]")?, persist::Value::F32(6.0));

    let before = world.get::<Squad>(ada).cloned();
    let error = world.set_field(ada, "Squad:by_name[\"Ada\"][0]", -1.0).expect_err("it is outside");
    assert_eq!((error.kind(), error.class()), (ErrorKind::Refused, Some("Squad")));
    assert_eq!(world.get::<Squad>(ada).cloned(), before);
    Ok(())
}

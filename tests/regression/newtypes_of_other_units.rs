//! A newtype became another one without an `alias`, since they hold the same number.

use std::cell::RefCell;
use std::rc::Rc;

use persist::{ErrorKind, Persist};

#[derive(Persist, Debug, PartialEq)]
struct Celsius(f32);

#[derive(Persist, Debug, PartialEq)]
struct Fahrenheit(f32);

#[derive(Persist, Debug, PartialEq)]
#[persist(alias = "Celsius")]
struct Degrees(f64);

macro_rules! rooms {
    ($($name:ident $kind:ty,)*) => {$(
        #[derive(Persist)]
        #[persist(class = "Room")]
        struct $name {
            heat: $kind,
        }
    )*};
}

rooms! {
    InCelsius Celsius,
    InFahrenheit Fahrenheit,
    InDegrees Degrees,
    OfList Rc<RefCell<Vec<Celsius>>>,
    OfNumbers Vec<f32>,
    OfOptions Vec<Option<Celsius>>,
}

#[test]
fn a_newtype_becomes_another_only_by_an_alias() {
    let save = persist::to_vec(&InCelsius { heat: Celsius(20.0) }).unwrap();
    let error = persist::from_slice::<InFahrenheit>(&save).map(|room| room.heat).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::KindMismatch);
    assert!(error.message().contains("holds Celsius where field heat of Room is Fahrenheit"));
    assert!(error.message().contains("#[persist(alias = \"Celsius\")]"), "{error}");
    assert_eq!(persist::from_slice::<InDegrees>(&save).unwrap().heat, Degrees(20.0));
}

#[test]
fn a_newtype_is_taken_as_it_is_into_what_holds_it() {
    let save = persist::to_vec(&InCelsius { heat: Celsius(20.0) }).unwrap();
    let room: OfList = persist::from_slice(&save).unwrap();
    assert_eq!(*room.heat.borrow(), [Celsius(20.0)]);
    // Elements are values of their own.
    let save = persist::to_vec(&OfNumbers { heat: vec![20.0] }).unwrap();
    let room: OfOptions = persist::from_slice(&save).unwrap();
    assert_eq!(room.heat, [Some(Celsius(20.0))]);
}

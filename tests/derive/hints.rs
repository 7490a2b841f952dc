//! What editors are told of fields: read from the records, and no part of a save.

use persist::Persist;
use persist::codec::Reflect;
use persist::reflect::{EditorHints, FieldRecord};

const BRIGHTEST: u16 = 4_000;

mod plain {
    #[derive(persist::Persist)]
    pub(super) struct Lamp {
        pub(super) radius: f32,
        pub(super) light: [f32; 3],
        pub(super) lumens: Option<u16>,
        pub(super) shape: Shape,
    }

    #[derive(persist::Persist)]
    pub(super) enum Shape {
        Disc { radius: f32 },
        Point,
    }
}

#[derive(Persist)]
struct Lamp {
    #[persist(range = 0.5..=20.0, label = "Reach", help = "In metres")]
    radius: f32,
    #[persist(color, read_only)]
    light: [f32; 3],
    #[persist(range = ..=BRIGHTEST, hidden)]
    lumens: Option<u16>,
    shape: Shape,
}

#[derive(Persist)]
enum Shape {
    Disc {
        #[persist(range = 1.., label = "Radius")]
        radius: f32,
    },
    Point,
}

fn hints(field: &FieldRecord) -> &'static EditorHints {
    field.hints
}

#[test]
fn editors_are_told_of_fields_of_structs_and_variants() {
    let [radius, light, lumens, shape] = Lamp::FIELDS else { panic!("four fields") };
    assert_eq!((hints(radius).label, hints(radius).help), (Some("Reach"), Some("In metres")));
    assert_eq!(hints(radius).range(), Some(0.5..=20.0));
    assert!(hints(light).is_color && hints(light).is_read_only && !hints(light).is_hidden);
    assert_eq!(hints(lumens).range(), Some(f64::NEG_INFINITY..=4_000.0));
    assert!(hints(lumens).is_hidden);
    let untold = hints(shape);
    assert_eq!((untold.label, untold.help, untold.range()), (None, None, None));
    let of_variant = hints(&Shape::VARIANTS[0].fields[0]);
    assert_eq!((of_variant.label, of_variant.range()), (Some("Radius"), Some(1.0..=f64::INFINITY)));
}

#[test]
fn what_editors_are_told_is_no_part_of_a_save() {
    let told =
        Lamp { radius: 1.0, light: [0.5; 3], lumens: None, shape: Shape::Disc { radius: 2.0 } };
    let shape = plain::Shape::Disc { radius: 2.0 };
    let plain = plain::Lamp { radius: 1.0, light: [0.5; 3], lumens: None, shape };
    assert_eq!(persist::to_vec(&told).unwrap(), persist::to_vec(&plain).unwrap());
    assert_eq!(Lamp::CLASS.id(), plain::Lamp::CLASS.id());
    let _ = (Shape::Point, plain::Shape::Point);
}

//! A variant that was kept as unknown was not found again under an `alias` if the enum was otherwise
//! as it had been.

use persist::{Persist, Unknown};

mod modded {
    #[derive(persist::Persist)]
    #[persist(class = "Shape")]
    pub(super) enum Shape {
        Point,
        Circle { radius: u32 },
        Ring { radius: u32 },
        Disc { radius: u32, hole: u8 },
    }
}

#[derive(Persist)]
#[persist(class = "Shape")]
enum Plain {
    Point,
    Circle {
        radius: u32,
    },
    #[persist(other)]
    Other(Unknown),
}

#[derive(Persist)]
#[persist(class = "Scene")]
struct Scene<S> {
    shapes: Vec<Option<S>>,
}

#[derive(Persist)]
enum Shape {
    Point,
    #[persist(alias = "Ring")]
    Circle {
        radius: u32,
    },
    #[persist(other)]
    Other(Unknown),
}

#[test]
fn an_alias_finds_a_kept_variant_in_an_enum_that_is_otherwise_the_same() {
    use modded::Shape::{Circle, Disc, Point, Ring};
    let shapes = [Point, Ring { radius: 3 }, Circle { radius: 2 }, Disc { radius: 1, hole: 9 }];
    let save = persist::to_vec(&Scene { shapes: shapes.map(Some).into() }).unwrap();
    let kept = persist::from_slice::<Scene<Plain>>(&save).unwrap();
    assert!(matches!(&kept.shapes[1], Some(Plain::Other(_))));
    let save = persist::to_vec(&kept).unwrap();

    let found = persist::from_slice::<Scene<Shape>>(&save).unwrap();
    let [
        Some(Shape::Point),
        Some(Shape::Circle { radius: 3 }),
        Some(Shape::Circle { radius: 2 }),
        Some(Shape::Other(disc)),
    ] = &found.shapes[..]
    else {
        panic!("a point, two circles and a disc")
    };
    assert_eq!(disc.class(), "Shape::Disc");

    // What is still unknown goes on.
    let save = persist::to_vec(&found).unwrap();
    let back = persist::from_slice::<Scene<modded::Shape>>(&save).unwrap();
    assert!(matches!(back.shapes[3], Some(Disc { radius: 1, hole: 9 })));
}

//! A variant that was kept under an older version of its enum was not migrated when a program knew
//! it again: it was taken for one of the newer version.

#![allow(clippy::unwrap_used, reason = "the helper is part of the tests")]

use persist::Persist;

mod first {
    #[derive(persist::Persist)]
    pub(super) enum Shape {
        Point,
        Circle { radius: u16 },
    }
}

/// Without circles, in either version.
mod plain {
    use persist::Unknown;

    #[derive(persist::Persist)]
    pub(super) enum Shape {
        Point,
        #[persist(other)]
        Other(Unknown),
    }
}

mod newer_plain {
    use persist::{Record, Unknown};

    #[derive(persist::Persist)]
    #[persist(version = 2, migrate(1 = nothing))]
    pub(super) enum Shape {
        Point,
        #[persist(other)]
        Other(Unknown),
    }

    fn nothing(_: &mut Record, _: u32) {}
}

mod newer {
    use persist::Record;

    #[derive(persist::Persist, Debug, PartialEq)]
    #[persist(version = 2, migrate(1 = double))]
    pub(super) enum Shape {
        Point,
        Circle { radius: u16 },
    }

    /// What is called the radius has become the diameter.
    fn double(shape: &mut Record, _from: u32) {
        if let Some(radius) = shape.take("radius").and_then(|radius| radius.as_u64()) {
            shape.set("radius", radius * 2);
        }
    }
}

#[derive(Persist)]
#[persist(class = "Scene")]
struct Scene<S>(Vec<S>);

/// The same through a program that knows fewer shapes.
fn through<From: Persist, By: Persist>(scene: &Scene<From>) -> Scene<By> {
    persist::from_slice(&persist::to_vec(scene).unwrap()).unwrap()
}

#[test]
fn a_kept_variant_is_migrated_from_the_version_in_which_it_was_kept() {
    let scene = Scene(vec![first::Shape::Circle { radius: 3 }, first::Shape::Point]);
    let expected = [newer::Shape::Circle { radius: 6 }, newer::Shape::Point];

    let kept: Scene<newer_plain::Shape> = through(&scene);
    assert_eq!(through::<_, newer::Shape>(&kept).0, expected);

    let kept: Scene<plain::Shape> = through(&scene);
    let kept: Scene<newer_plain::Shape> = through(&kept);
    let kept: Scene<newer_plain::Shape> = through(&kept);
    assert_eq!(through::<_, newer::Shape>(&kept).0, expected);
}

#[test]
fn variants_that_were_kept_in_two_versions_are_told_apart() {
    let old = Scene(vec![first::Shape::Circle { radius: 3 }]);
    let new = Scene(vec![newer::Shape::Circle { radius: 8 }]);
    let mut kept: Scene<newer_plain::Shape> = through(&old);
    kept.0.append(&mut through(&new).0);
    let expected = [newer::Shape::Circle { radius: 6 }, newer::Shape::Circle { radius: 8 }];
    assert_eq!(through::<_, newer::Shape>(&kept).0, expected);
}

//! Paths as texts, and as the compiler checks them.

use std::collections::HashMap;

use persist::{ErrorKind, FieldPath, Persist, Value, field};
use proptest::prelude::*;

use super::thing::{Place, Thing};

#[derive(Persist)]
struct Slot<T> {
    item: T,
}

impl<T: Persist> Slot<T> {
    fn path() -> FieldPath {
        field!(Self: item)
    }
}

#[derive(Persist)]
struct Odd {
    r#type: u8,
    pair: (u8, Place),
    wrapped: Wrapper,
    turned: std::cmp::Reverse<Place>,
    boxed: Box<Place>,
    by_name: HashMap<String, Place>,
}

#[derive(Persist)]
#[persist(transparent)]
struct Wrapper(Place);

#[derive(Persist)]
struct Name {
    owner: u8,
}

#[test]
fn the_macro_gives_the_names_in_saves() {
    let (index, key) = (2_usize, String::from("long bow"));
    for (path, text) in [
        (field!(Thing.items[index + 1].spots[index]), "game.Thing:items[3].spots[2]"),
        (field!(Thing.grid[1][index]), "game.Thing:grid[1][2]"),
        (field!(Thing.prices[&*key]), "game.Thing:prices[\"long bow\"]"),
        (field!(Thing), "game.Thing"),
        (field!(Thing.position.x), "game.Thing:place.x"),
        (field!(super::thing::Thing.position), "game.Thing:place"),
        (field!(Thing.items[3].spots[0]), "game.Thing:items[3].spots[0]"),
        (field!(Thing.number.0), "game.Thing:number.0"),
        (field!(Thing.length.0), "game.Thing:length"),
        (field!(Thing.grid[1][0]), "game.Thing:grid[1][0]"),
        (field!(Slot<Place>: item.y), "Slot<Place>:item.y"),
        (field!(Slot<Slot<(u8, Place)>>: item.item.1.x), "Slot<Slot<(u8, Place)>>:item.item.1.x"),
        (Slot::<u8>::path(), "Slot<u8>:item"),
        (Slot::<Place>::path(), "Slot<Place>:item"),
        (field!(Odd.r#type), "Odd:type"),
        (field!(Odd.pair.1.x), "Odd:pair.1.x"),
        (field!(Odd.wrapped.0.x), "Odd:wrapped.x"),
        (field!(Odd.turned.0.y), "Odd:turned.y"),
        (field!(Odd.boxed.x), "Odd:boxed.x"),
        (field!(Odd.by_name["a b"].x), "Odd:by_name[\"a b\"].x"),
        (field!(Name.owner), "Name:owner"),
    ] {
        assert_eq!(path.to_string(), text);
        assert_eq!(text.parse::<FieldPath>().expect(text), path);
    }
}

#[test]
fn texts_are_read_and_written_in_one_way() {
    for (text, written) in [
        ("A:", "A"),
        ("a::b::C:x", "a::b::C:x"),
        ("Slot<Grid<8, 8>>:x", "Slot<Grid<8, 8>>:x"),
        ("A:m[word]", "A:m[\"word\"]"),
        ("A:m[ 3u16 ].x", "A:m[3].x"),
        ("A:m[\"a]b\"][-3]", "A:m[\"a]b\"][-3i64]"),
        ("A:m[Slot::Head]", "A:m[Slot::Head]"),
        ("`a:b`:x", "`a:b`:x"),
        ("A:`x.y`.z", "A:`x.y`.z"),
        ("A:hit-points", "A:hit-points"),
    ] {
        let path: FieldPath = text.parse().expect(text);
        assert_eq!(path.to_string(), written);
        assert_eq!(written.parse::<FieldPath>().expect(written), path);
    }
    for text in [
        "", ":x", "A:.x", "A:x.", "A:x..y", "A:x[", "A:x[]", "A:x[a b]", "A:x[3]y", "A:x:y", "`A",
        "`A`x",
    ] {
        let error = text.parse::<FieldPath>().expect_err(text);
        assert_eq!(error.kind(), ErrorKind::InvalidValue, "{text}");
    }
    let error = "A:x[".parse::<FieldPath>().expect_err("open");
    assert_eq!(
        error.to_string(),
        "`A:x[` is no path of a field: `[` has no closing bracket; write `Class:field.sub[3]`"
    );
}

proptest! {
    #[test]
    fn every_path_comes_back_from_its_text(
        class in ".{1,8}",
        steps in prop::collection::vec((0..3, ".{0,6}", any::<u64>()), 0..5),
    ) {
        let mut path = FieldPath::new(class);
        for (sort, text, number) in steps {
            path = match sort {
                0 => path.field(text),
                1 => path.at(number),
                _ => path.at(Value::from(text)),
            };
        }
        let text = path.to_string();
        prop_assert_eq!(text.parse::<FieldPath>().expect(&text), path, "{}", text);
    }

    #[test]
    fn any_text_is_a_path_or_an_error(text in "[A:.x\\[\\]\"`3 ]{0,12}") {
        if let Ok(path) = text.parse::<FieldPath>() {
            prop_assert_eq!(path.to_string().parse::<FieldPath>().expect("its text"), path);
        }
    }
}

//! What cannot be loaded says where, what it was, what it is to be, and what helps.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Weak;

use persist::{ErrorKind, Persist};

use super::harness::{FILL, LENIENT, Shared, check, refused, row, save, shared, try_load};
use persist::save::LoadEvent;

#[derive(Persist, Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Gem {
    carat: u16,
}

#[derive(Persist, Debug)]
struct Stone {
    carat: u16,
}

#[derive(Persist, Debug)]
struct Celsius(f32);

#[derive(Persist, Debug)]
struct Fahrenheit(f32);

#[derive(Persist, Debug)]
struct Around(Fahrenheit);

#[derive(Persist, Debug)]
struct Outside(Celsius);

#[derive(Persist, Debug)]
struct Inside(Celsius);

#[derive(Persist, Debug)]
struct Place {
    x: u8,
    y: u8,
}

#[derive(Persist, Debug)]
enum Side {
    North,
    Deep(u8),
}

/// Saves a `Case` with a value of one type, and has it refused where it has another.
macro_rules! refused {
    ($old:ty = $value:expr, $new:ty, $kind:ident, [$($word:literal),*]) => {{
        mod old {
            use super::*;

            #[derive(Persist)]
            #[persist(class = "Case")]
            pub(super) struct Case {
                pub(super) before: u8,
                pub(super) value: $old,
            }

            #[derive(Persist)]
            #[persist(class = "Holder")]
            pub(super) struct Holder {
                pub(super) list: Vec<Option<Case>>,
            }
        }
        mod new {
            use super::*;

            #[derive(Persist)]
            #[persist(class = "Case")]
            #[allow(dead_code, reason = "never made")]
            pub(super) struct Case {
                before: u8,
                value: $new,
            }

            #[derive(Persist)]
            #[persist(class = "Holder")]
            #[allow(dead_code, reason = "never made")]
            pub(super) struct Holder {
                #[persist(default)]
                more: u8,
                list: Vec<Option<Case>>,
            }
        }
        let case = || old::Case { before: 1, value: $value };
        let words = [$($word),*];
        let error = refused::<_, new::Case>(case(), LENIENT);
        check(&error, ErrorKind::$kind, "value", &words);
        assert_eq!(error.object(), Some(1));
        let error = refused::<_, new::Holder>(old::Holder { list: vec![None, Some(case())] }, LENIENT);
        assert_eq!(error.kind(), ErrorKind::$kind, "{error}");
        let place = (error.class(), error.field());
        assert_eq!(place, (Some("Holder"), Some("list[1].value")), "{error}");
        for word in words {
            assert!(error.message().contains(word), "{word:?} in {error}");
        }
        if ErrorKind::$kind == ErrorKind::KindMismatch {
            assert!(error.message().contains("field value of Case"), "{error}");
            assert!(error.message().contains("#[persist("), "{error}");
        }
    }};
}

macro_rules! refusals {
    ($($(#[$meta:meta])* $test:ident: $old:ty = $value:expr, $new:ty, $kind:ident, [$($word:literal),*];)*) => {$(
        $(#[$meta])*
        #[test]
        fn $test() {
            refused!($old = $value, $new, $kind, [$($word),*]);
        }
    )*};
}

refusals! {
    none_is_no_value: Option<u8> = None, u8, InvalidValue, ["None", "convert"];
    none_is_no_wider_value: Option<u8> = None, u32, InvalidValue, ["None", "convert"];
    none_is_not_shared: Option<Gem> = None, Shared<Gem>, InvalidValue, ["None", "convert"];
    a_list_of_another_length_is_no_array: Vec<u8> = vec![1, 2, 3], [u16; 2], InvalidValue,
        ["3 elements", "array of 2", "convert"];
    an_empty_list_is_no_array: Vec<u8> = vec![], [u8; 2], InvalidValue,
        ["0 elements", "array of 2", "convert"];
    an_array_is_none_of_another_length: [u8; 2] = [1, 2], [u8; 3], KindMismatch,
        ["[u8; 2]", "[u8; 3]", "convert"];
    a_text_is_no_other_variant: String = "West".into(), Side, InvalidValue,
        ["\"West\"", "Side", "alias"];
    a_text_is_no_variant_with_fields: String = "Deep".into(), Side, InvalidValue,
        ["\"Deep\"", "Side", "alias"];
    a_variant_with_fields_is_no_text: Side = Side::Deep(1), String, KindMismatch,
        ["Side", "String", "convert"];
    a_newtype_is_no_other: Celsius = Celsius(1.0), Fahrenheit, KindMismatch,
        ["Celsius", "Fahrenheit", "alias = \"Celsius\""];
    an_optional_newtype_is_no_other: Option<Celsius> = Some(Celsius(1.0)), Option<Fahrenheit>,
        KindMismatch, ["Celsius", "Fahrenheit", "alias = \"Celsius\""];
    newtypes_in_a_list_are_no_others: Vec<Celsius> = vec![Celsius(1.0)], Vec<Fahrenheit>,
        KindMismatch, ["Celsius", "Fahrenheit", "alias = \"Celsius\""];
    a_newtype_is_no_option_of_another: Celsius = Celsius(1.0), Option<Fahrenheit>, KindMismatch,
        ["Celsius", "Fahrenheit", "convert"];
    a_newtype_is_no_pointer_to_another: Celsius = Celsius(1.0), Shared<Fahrenheit>, KindMismatch,
        ["Celsius", "Fahrenheit"];
    an_option_of_a_newtype_is_no_other: Option<Celsius> = Some(Celsius(1.0)), Fahrenheit,
        KindMismatch, ["Celsius", "Fahrenheit", "convert"];
    a_newtype_around_a_newtype_is_no_other: Outside = Outside(Celsius(1.0)), Fahrenheit, KindMismatch,
        ["Outside", "Fahrenheit", "alias"];
    a_newtype_is_none_around_another: Celsius = Celsius(1.0), Around, KindMismatch,
        ["Celsius", "Around", "alias"];
    newtypes_around_one_newtype_differ: Outside = Outside(Celsius(1.0)), Inside, KindMismatch,
        ["Outside", "Inside", "alias"];
    a_text_is_no_number: String = "1".into(), u8, KindMismatch, ["String", "u8", "convert"];
    a_number_is_no_text: u8 = 1, String, KindMismatch, ["u8", "String", "convert"];
    a_bool_is_no_number: bool = true, u8, KindMismatch, ["bool", "u8", "convert"];
    a_number_is_no_bool: u8 = 1, bool, KindMismatch, ["u8", "bool", "convert"];
    a_char_is_no_number: char = 'a', u32, KindMismatch, ["char", "u32", "convert"];
    a_float_is_no_integer: f32 = 1.0, i64, KindMismatch, ["f32", "i64", "convert"];
    a_list_is_no_value: Vec<u8> = vec![1], u8, KindMismatch, ["Vec<u8>", "u8", "convert"];
    a_list_is_no_option: Vec<u8> = vec![1], Option<u8>, KindMismatch, ["Vec<u8>", "Option<u8>"];
    a_longer_tuple_is_not_cut: (u8, u8, u8) = (1, 2, 3), (u8, u8), KindMismatch,
        ["(u8, u8, u8)", "(u8, u8)", "convert"];
    a_map_is_no_list_of_keys: BTreeMap<u8, u8> = [(1, 2)].into(), Vec<u8>, KindMismatch,
        ["u8, u8>", "Vec<u8>", "convert"];
    a_set_is_no_map: BTreeSet<(u8, u8)> = [(1, 2)].into(), BTreeMap<u8, u8>, KindMismatch,
        ["(u8, u8)", "u8, u8>", "convert"];
    a_tuple_is_a_struct_only_when_asked: (u8, u8) = (1, 2), Place, KindMismatch,
        ["(u8, u8)", "Place", "alias = \"0\""];
    a_struct_is_no_other: Gem = Gem { carat: 1 }, Stone, KindMismatch,
        ["Gem", "Stone", "#[persist(alias = \"Gem\")]"];
    a_list_of_structs_is_of_no_other: Vec<Gem> = vec![], HashMap<u8, Stone>, KindMismatch,
        ["Vec<Gem>", "u8, Stone>"];
    a_key_of_another_kind: BTreeMap<u8, u8> = [(1, 2)].into(), BTreeMap<String, u8>, KindMismatch,
        ["u8, u8>", "String, u8>", "convert"];
    a_shared_struct_is_no_other: Shared<Gem> = shared(Gem { carat: 1 }), Shared<Stone>,
        KindMismatch, ["Rc<RefCell<Gem>>", "Rc<RefCell<Stone>>", "alias = \"Gem\""];
    a_weak_pointer_is_no_value: Weak<RefCell<Gem>> = Weak::new(), Gem, KindMismatch,
        ["Weak<RefCell<Gem>>", "Gem"];
    a_value_is_no_weak_pointer: Gem = Gem { carat: 1 }, Weak<RefCell<Gem>>, KindMismatch,
        ["Gem", "Weak<RefCell<Gem>>"];
    a_weak_pointer_is_no_strong_one: Weak<RefCell<Gem>> = Weak::new(), Shared<Gem>, KindMismatch,
        ["Weak<RefCell<Gem>>", "Rc<RefCell<Gem>>"];
}

#[derive(Persist)]
#[persist(class = "Case")]
struct Pairs {
    value: Vec<(u8, u8)>,
}

#[derive(Persist)]
#[persist(class = "Case")]
struct Map {
    value: HashMap<u8, u8>,
}

#[test]
fn a_key_that_stands_twice_is_refused() {
    let (map, _) = try_load::<Map>(&save(Pairs { value: vec![(2, 1), (1, 2)] }), LENIENT).unwrap();
    assert_eq!(map.borrow().value, [(1, 2), (2, 1)].into());
    let error = refused::<_, Map>(Pairs { value: vec![(1, 2), (1, 3)] }, LENIENT);
    assert_eq!((error.kind(), error.class()), (ErrorKind::InvalidValue, Some("Case")), "{error}");
}

#[derive(Persist)]
#[persist(class = "Case")]
struct Wide {
    value: BTreeMap<u16, u8>,
    set: BTreeSet<u16>,
}

#[derive(Persist)]
#[persist(class = "Case")]
struct Narrow {
    value: BTreeMap<u8, u8>,
    set: BTreeSet<u8>,
}

#[test]
fn keys_that_become_one_are_refused() {
    let clamp = super::harness::CLAMP;
    let wide = |keys: [u16; 2]| Wide { value: keys.map(|key| (key, 1)).into(), set: keys.into() };
    let (narrow, rows) = try_load::<Narrow>(&save(wide([1, 300])), clamp).unwrap();
    assert_eq!(narrow.borrow().value, [(1, 1), (255, 1)].into());
    assert_eq!(narrow.borrow().set, [1, 255].into());
    assert_eq!(rows.iter().filter(|row| row.0 == LoadEvent::Clamped).count(), 2);
    let error = refused::<_, Narrow>(wide([255, 300]), clamp);
    assert_eq!((error.kind(), error.class()), (ErrorKind::InvalidValue, Some("Case")), "{error}");
}

#[derive(Persist)]
#[persist(class = "Case")]
struct Little {
    before: u8,
}

type Everything =
    (u8, String, Vec<u8>, Option<Gem>, [Side; 2], BTreeMap<u8, u8>, Box<Filled>, char);

#[derive(Persist, Debug)]
#[persist(class = "Case")]
struct More {
    before: u8,
    value: Everything,
}

#[derive(Persist, Debug)]
#[persist(empty = Filled { number: 7, gem: Gem { carat: 3 } })]
struct Filled {
    number: u32,
    gem: Gem,
}

#[derive(Persist)]
#[persist(class = "Case")]
struct Pointed {
    before: u8,
    value: Shared<Gem>,
}

#[test]
fn a_missing_field_is_refused_or_made_empty() {
    let error = refused::<_, More>(Little { before: 5 }, LENIENT);
    check(&error, ErrorKind::MissingField, "value", &["#[persist(default)]", "alias"]);
    // An enum's empty value is the one marked, or the first.
    let (more, rows) = try_load::<More>(&save(Little { before: 5 }), FILL).unwrap();
    let text = format!("{:?}", more.borrow());
    let expected = "More { before: 5, value: (0, \"\", [], None, [North, North], {}, Filled { number: 7, gem: Gem { carat: 3 } }, '\\0') }";
    assert_eq!(text, expected);
    assert_eq!(rows, [row(LoadEvent::Filled, "Case", "value", 1)]);
    let error = refused::<_, Pointed>(Little { before: 5 }, FILL);
    check(&error, ErrorKind::Unsupported, "value", &["pointer", "#[persist(default)]"]);
    assert_eq!((Pointed { before: 1, value: shared(Gem { carat: 1 }) }).before, 1);
    let place = Place { x: 1, y: 2 };
    assert_eq!((place.x, place.y, Stone { carat: 1 }.carat), (1, 2, 1));
    assert!(matches!(Side::North, Side::North));
}

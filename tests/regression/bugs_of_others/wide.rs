//! A class with fields of all widths, and the same without each of them.

use std::collections::BTreeMap;
use std::fmt::Debug;

use persist::Persist;

use super::{load, pass, save};

#[derive(Persist, Debug, Default, PartialEq)]
struct Inner {
    small: u8,
    name: String,
    large: u64,
}

#[derive(Persist, Debug, Default, PartialEq)]
enum Mood {
    #[default]
    Calm,
    Angry {
        at: String,
        since: u16,
    },
}

/// Checks what becomes of `Wide` where the program has another form of it, alone and as an element
/// with others behind it.
fn check<W: Persist + Debug + PartialEq>(saves: &[Vec<u8>; 2], expected: &W, changed: &str) {
    let (found, report) = load::<W>(&saves[0]).unwrap();
    assert_eq!(*found.borrow(), *expected, "{changed}");
    let fields: Vec<_> = report.rows().iter().map(|row| row.field.as_deref()).collect();
    assert_eq!(fields, [Some(changed)]);
    let list: Vec<W> = persist::from_slice(&saves[1]).unwrap();
    assert_eq!(list.len(), 3);
    assert!(list.iter().all(|one| one == expected), "{changed}: {list:?}");
}

/// The class `Wide`, and for each field the same class without it, which loads a save of the whole one
/// and the other way round.
macro_rules! each_field {
    ($($name:ident: $type:ty = $value:expr,)*) => {
        #[derive(Persist, Debug, PartialEq)]
        #[persist(class = "Wide")]
        struct Wide {
            $(#[persist(default)] $name: $type,)*
        }

        /// Of the whole class, one object and several values.
        pub(crate) fn saves() -> [Vec<u8>; 2] {
            let wide = || Wide { $($name: $value,)* };
            [save(wide()), persist::to_vec(&vec![wide(), wide(), wide()]).unwrap()]
        }

        /// Deletes each field in turn.
        pub(crate) fn delete_each(saves: &[Vec<u8>; 2]) {
            each_field!(@delete saves [] $($name: $type = $value,)*);
        }
    };
    (@delete $saves:ident [$($before:tt)*]) => {};
    (@delete $saves:ident [$($kept:ident: $kept_type:ty = $kept_value:expr,)*]
        $gone:ident: $type:ty = $value:expr, $($next:ident: $next_type:ty = $next_value:expr,)*
    ) => {
        {
            #[derive(Persist, Debug, PartialEq)]
            #[persist(class = "Wide")]
            struct Without {
                $($kept: $kept_type,)*
                $($next: $next_type,)*
            }
            let without = || Without { $($kept: $kept_value,)* $($next: $next_value,)* };
            check($saves, &without(), stringify!($gone));
            // What was kept of the deleted one is there for who knows it.
            let (back, report) = load::<Wide>(&pass::<Without>(&$saves[0])).unwrap();
            let whole = load::<Wide>(&$saves[0]).unwrap().0;
            assert_eq!((back, report.rows()), (whole, &[][..]), "{}", stringify!($gone));
            // And back: the field is new, those behind it stand where they stood.
            let less = [save(without()), persist::to_vec(&vec![without(), without(), without()]).unwrap()];
            let whole = Wide {
                $($kept: $kept_value,)*
                $gone: Default::default(),
                $($next: $next_value,)*
            };
            check(&less, &whole, stringify!($gone));
        }
        each_field!(@delete $saves
            [$($kept: $kept_type = $kept_value,)* $gone: $type = $value,]
            $($next: $next_type = $next_value,)*
        );
    };
}

each_field! {
    byte: u8 = 0x11,
    flag: bool = true,
    unit: () = (),
    short: u16 = 0x2222,
    text: String = "twenty letters or so".into(),
    word: u32 = 0x3333_3333,
    letter: char = '\u{1f980}',
    long: u64 = 0x4444_4444_4444_4444,
    many: Vec<u16> = vec![1, 2, 0xffff],
    longest: u128 = 5 << 100,
    signed: i8 = -6,
    real: f32 = 1.5,
    maybe: Option<i32> = Some(-7),
    double: f64 = -0.25,
    pair: (u8, i64) = (8, -8),
    array: [u32; 3] = [9, 10, 11],
    inner: Inner = Inner { small: 1, name: "inner".into(), large: 1 << 50 },
    nothing: Option<String> = None,
    mood: Mood = Mood::Angry { at: "you".into(), since: 300 },
    map: BTreeMap<String, u64> = [("one".into(), 1), ("two".into(), 2)].into(),
    calm: Mood = Mood::Calm,
    last: i16 = -1,
}

//! Saves of one program, and what another makes of them.

use persist::save::{LoadEvent, LoadPolicy, LoadReport};
use persist::{Error, ErrorKind, LoadOptions, Persist, SaveManager, Saves};
pub(crate) use persist_tests::support::{Shared, shared};

/// A finding: what, of which class, of which field, how often.
pub(crate) type Row = (LoadEvent, String, String, u64);

pub(crate) fn row(change: LoadEvent, class: &str, field: &str, count: u64) -> Row {
    (change, class.to_owned(), field.to_owned(), count)
}

/// The findings of a report, in order.
pub(crate) fn rows(report: &LoadReport) -> Vec<Row> {
    let findings = report.rows().iter();
    let mut rows: Vec<Row> = findings
        .map(|found| {
            (found.event, found.class.clone(), found.field.clone().unwrap_or_default(), found.count)
        })
        .collect();
    rows.sort();
    rows
}

/// The save of one object.
pub(crate) fn save<T: Persist>(value: T) -> Vec<u8> {
    let mut manager = SaveManager::new();
    manager.add(&shared(value)).unwrap();
    manager.to_vec().unwrap()
}

pub(crate) const LENIENT: LoadOptions = LoadOptions::new();
pub(crate) const CLAMP: LoadOptions = LENIENT.clamp(true);
pub(crate) const FILL: LoadOptions = LENIENT.fill(true);
pub(crate) const DROP: LoadOptions = LENIENT.drop_unknown(true);
pub(crate) const STRICT: LoadOptions = LENIENT.policy(LoadPolicy::Strict);

pub(crate) fn manager<T: Persist>(options: LoadOptions) -> SaveManager {
    let saves = Saves::new().load_options(options);
    saves.register::<T>().unwrap();
    saves.manager()
}

/// Loads the first object, and the findings.
pub(crate) fn try_load<T: Persist>(
    save: &[u8],
    options: LoadOptions,
) -> Result<(Shared<T>, Vec<Row>), Error> {
    let loaded = manager::<T>(options).from_slice(save)?;
    Ok((loaded.first::<T>()?, rows(loaded.report())))
}

pub(crate) fn load<T: Persist>(save: &[u8]) -> (Shared<T>, Vec<Row>) {
    try_load(save, LENIENT).unwrap()
}

/// What a program makes of a save: it loads, changes the object, and saves.
pub(crate) fn pass<T: Persist>(save: &[u8], change: impl FnOnce(&mut T)) -> Vec<u8> {
    let loaded = manager::<T>(LENIENT).from_slice(save).unwrap();
    change(&mut loaded.first::<T>().unwrap().borrow_mut());
    loaded.to_vec().unwrap()
}

/// What a program that has `New` says to the save of one that had `Old`.
pub(crate) fn refused<Old: Persist, New: Persist>(old: Old, options: LoadOptions) -> Error {
    try_load::<New>(&save(old), options).map(drop).expect_err("what cannot be loaded")
}

/// Checks an error about a field of `Case`, and that the message has these words.
#[track_caller]
pub(crate) fn check(error: &Error, kind: ErrorKind, field: &str, words: &[&str]) {
    assert_eq!(error.kind(), kind, "{error}");
    assert_eq!((error.class(), error.field()), (Some("Case"), Some(field)), "{error}");
    for word in words {
        assert!(error.message().contains(word), "{word:?} in {error}");
    }
}

/// Two programs with a class `Case`, field by field: what is reported of it, and its type and value in each.
macro_rules! cases {
    ($($change:ident $(#[$old_meta:meta])* $field:ident: $old:ty = |$i:ident| $old_value:expr,
        $(#[$new_meta:meta])* $new:ty = $new_value:expr;)*) => {
        #[derive(persist::Persist, Debug)]
        #[persist(class = "Case")]
        pub(crate) struct Old {
            $($(#[$old_meta])* $field: $old,)*
        }

        #[derive(persist::Persist, Debug)]
        #[persist(class = "Case")]
        pub(crate) struct New {
            $($(#[$new_meta])* $field: $new,)*
        }

        impl crate::matrix::nest::Thing for Old {
            fn as_any(&self) -> &dyn std::any::Any {
                self
            }
        }

        impl crate::matrix::nest::Thing for New {
            fn as_any(&self) -> &dyn std::any::Any {
                self
            }
        }

        fn old(i: u64) -> Old {
            let number = u8::try_from(i).unwrap();
            Old { $($field: { let $i = number; $old_value },)* }
        }

        fn new(i: u64) -> New {
            let number = u8::try_from(i).unwrap();
            New {
                $($field: { let $i = number; $new_value },)*
            }
        }

        /// The findings of a load of so many of them.
        fn expected(count: u64) -> Vec<$crate::matrix::harness::Row> {
            const SAME: Option<persist::save::LoadEvent> = None;
            const CONVERTED: Option<persist::save::LoadEvent> = Some(persist::save::LoadEvent::Converted);
            let mut rows: Vec<_> = [$(($change, stringify!($field))),*]
                .into_iter()
                .filter_map(|(change, field)| Some($crate::matrix::harness::row(change?, "Case", field, count)))
                .collect();
            rows.sort();
            rows
        }
    };
}

pub(crate) use cases;

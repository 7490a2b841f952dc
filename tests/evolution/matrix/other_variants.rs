//! What is left of one variant of an enum, and what was kept of it, is no field of another.

use persist::save::LoadEvent;
use persist::{ErrorKind, Persist, Record, Unknown};

use super::harness::{LENIENT, load, pass, row, save, try_load};

/// Programs with two variants, of which one loses a field and the other gets one.
mod variants {
    use super::*;

    #[derive(Persist, Debug)]
    #[persist(class = "Case")]
    pub(super) enum First {
        #[allow(dead_code, reason = "the other one is saved")]
        V {
            x: u32,
        },
        W {
            hp: u32,
            b: u32,
        },
    }

    #[derive(Persist, Debug)]
    #[persist(class = "Case")]
    pub(super) enum Second {
        V { x: u32 },
        W { hp: u32 },
    }

    #[derive(Persist, Debug)]
    #[persist(class = "Case")]
    pub(super) enum Third {
        V {
            x: u32,
            #[persist(alias = "b", default = 9)]
            a: u32,
        },
        W {
            hp: u32,
        },
    }
}

#[test]
fn what_was_kept_of_another_variant_is_no_field_of_this_one() {
    let first = save(variants::First::W { hp: 1, b: 2 });
    let second = pass::<variants::Second>(&first, |case| {
        assert!(matches!(case, variants::Second::W { hp: 1 }));
        *case = variants::Second::V { x: 3 };
    });
    let (found, _) = load::<variants::Third>(&second);
    assert!(matches!(*found.borrow(), variants::Third::V { x: 3, a: 9 }), "{found:?}");
}

/// A migration that makes one variant another, where both have a field `b` of another kind.
mod turned {
    use super::*;

    #[derive(Persist, Debug)]
    #[persist(class = "Case")]
    pub(super) enum Old {
        V {
            x: u32,
            b: String,
        },
        #[allow(dead_code, reason = "the other one is saved")]
        W {
            hp: u32,
            b: u32,
        },
    }

    #[derive(Persist, Debug)]
    #[persist(class = "Case", version = 2, migrate(1 = turn))]
    pub(super) enum New {
        W {
            #[persist(default)]
            hp: u32,
            #[persist(unknown)]
            rest: Unknown,
        },
    }

    /// Here the other variant has the field.
    #[derive(Persist, Debug)]
    #[persist(class = "Case", version = 2, migrate(1 = turn))]
    pub(super) enum Whole {
        #[allow(dead_code, reason = "it is not loaded")]
        W { hp: u32, b: u32 },
    }

    fn turn(case: &mut Record, _: u32) {
        if let Some(x) = case.take("x") {
            case.set_variant("W");
            case.set("hp", x);
        }
    }

    #[derive(Persist)]
    #[persist(class = "Team")]
    pub(super) struct First {
        pub(super) one: Old,
    }

    #[derive(Persist, Debug)]
    #[persist(class = "Team", version = 2, migrate(1 = crate::matrix::precedence::moved::gather))]
    pub(super) struct Second {
        pub(super) all: Vec<New>,
    }

    #[derive(Persist, Debug)]
    #[persist(class = "Team", version = 2, migrate(1 = crate::matrix::precedence::moved::gather))]
    pub(super) struct WholeSecond {
        all: Vec<Whole>,
    }
}

#[test]
fn what_is_left_of_a_variant_that_a_migration_turned_is_no_field_of_the_other() {
    let old = || turned::Old::V { x: 1, b: "text".into() };
    let kept = ["Case::V.b"];
    let second = pass::<turned::New>(&save(old()), |case| {
        let turned::New::W { hp, rest } = case;
        assert_eq!((*hp, rest.names().collect::<Vec<_>>()), (1, kept.into()));
    });
    let (case, _) = load::<turned::New>(&second);
    let turned::New::W { hp, rest } = &*case.borrow();
    assert_eq!((*hp, rest.names().collect::<Vec<_>>()), (1, kept.into()));

    // So it is where a migration moves the value.
    let moved = save(turned::First { one: old() });
    let expected = [
        row(LoadEvent::Migrated, "Case", "", 1),
        row(LoadEvent::Migrated, "Team", "", 1),
        row(LoadEvent::Kept, "Case", "W.b", 1),
    ];
    assert_eq!(load::<turned::Second>(&moved).1, expected);
    let second = pass::<turned::Second>(&moved, |_| {});
    persist_tools::Document::from_slice(&second).unwrap();
    let (team, team_rows) = load::<turned::Second>(&second);
    let turned::New::W { hp, rest } = &team.borrow().all[0];
    assert_eq!((*hp, rest.names().collect::<Vec<_>>()), (1, kept.into()));
    assert_eq!(team_rows, [row(LoadEvent::Kept, "Case::V.b", "", 1)]);

    // What the migration leaves in the place of a field is that field, and must fit it.
    for error in [
        try_load::<turned::Whole>(&save(old()), LENIENT).map(drop).unwrap_err(),
        try_load::<turned::WholeSecond>(&moved, LENIENT).map(drop).unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::KindMismatch, "{error}");
    }
}

//! Where two stored fields could be one of the program's, one rule decides, whatever else has changed.

use persist::save::LoadEvent;
use persist::{ErrorKind, Persist, Record, Unknown};

use super::harness::{LENIENT, STRICT, load, pass, row, save, try_load};

/// A program that has renamed `hp`.
mod renamed {
    use super::*;

    #[derive(Persist, Debug)]
    #[persist(class = "Case")]
    pub(super) struct Case {
        #[persist(alias = "hp")]
        pub(super) health: u32,
    }

    /// Here another field has changed, too.
    #[derive(Persist, Debug)]
    #[persist(class = "Case")]
    pub(super) struct Changed {
        #[persist(alias = "hp")]
        pub(super) health: u32,
        #[persist(default)]
        pub(super) level: u8,
    }

    #[derive(Persist, Debug)]
    #[persist(class = "Case")]
    pub(super) struct Roomy {
        #[persist(alias = "hp")]
        pub(super) health: u32,
        #[persist(unknown)]
        pub(super) rest: Unknown,
    }
}

/// The program before.
mod before {
    use super::*;

    #[derive(Persist, Debug)]
    #[persist(class = "Case")]
    pub(super) struct Case {
        #[persist(default)]
        pub(super) hp: u32,
    }

    #[derive(Persist, Debug)]
    #[persist(class = "Case")]
    pub(super) struct Roomy {
        #[persist(default)]
        pub(super) hp: u32,
        #[persist(unknown)]
        pub(super) rest: Unknown,
    }
}

#[test]
fn what_the_last_program_stored_wins_over_what_it_kept() {
    let first = save(renamed::Case { health: 300 });
    let second = pass::<before::Case>(&first, |case| case.hp = 50);

    let (found, found_rows) = load::<renamed::Case>(&second);
    assert_eq!(found.borrow().health, 50);
    let superseded = row(LoadEvent::Superseded, "Case", "health", 1);
    assert_eq!(found_rows, std::slice::from_ref(&superseded));

    let (found, found_rows) = load::<renamed::Changed>(&second);
    assert_eq!(found.borrow().health, 50);
    assert_eq!(found_rows, [row(LoadEvent::Defaulted, "Case", "level", 1), superseded]);
}

#[test]
fn what_the_last_program_stored_wins_over_an_unknown_field() {
    let first = save(renamed::Roomy { health: 300, rest: Unknown::default() });
    let second = pass::<before::Roomy>(&first, |case| case.hp = 50);
    let third = pass::<renamed::Roomy>(&second, |case| {
        assert_eq!((case.health, case.rest.is_empty()), (50, true));
    });
    assert_eq!(third.len(), first.len());

    // In a save of one value, too.
    let roomy = renamed::Roomy { health: 7, rest: Unknown::default() };
    let first = persist::to_vec(&roomy).unwrap();
    let mut value = persist::from_slice::<before::Roomy>(&first).unwrap();
    value.hp = 8;
    let second = persist::to_vec(&value).unwrap();
    let value = persist::from_slice::<renamed::Roomy>(&second).unwrap();
    assert_eq!((value.health, value.rest.is_empty()), (8, true));
}

#[test]
fn kept_copies_do_not_pile_up() {
    let first = save(renamed::Case { health: 1 });
    let mut last = first.clone();
    let mut lengths = Vec::new();
    for round in 1..15 {
        last = pass::<before::Case>(&last, |case| case.hp = round);
        lengths.push(last.len());
        last = pass::<renamed::Case>(&last, |case| assert_eq!(case.health, round));
        assert_eq!(last.len(), first.len());
    }
    assert!(lengths.iter().all(|length| *length == lengths[0]), "{lengths:?}");
}

/// Numbers from the start.
mod numbered {
    use super::*;

    #[derive(Persist, Debug)]
    #[persist(class = "Case")]
    pub(super) struct Case {
        #[persist(id = 1)]
        pub(super) a: u32,
        #[persist(id = 2)]
        pub(super) b: u32,
    }

    #[derive(Persist, Debug)]
    #[persist(class = "Case")]
    pub(super) struct Swapped {
        #[persist(id = 1)]
        pub(super) b: u32,
        #[persist(id = 2)]
        pub(super) a: u32,
    }

    /// The name of number 1 belongs to another field now.
    #[derive(Persist, Debug)]
    #[persist(class = "Case")]
    pub(super) struct Reused {
        #[persist(id = 1)]
        pub(super) life: u32,
        #[persist(id = 3, default)]
        pub(super) a: u32,
        #[persist(id = 2)]
        pub(super) b: u32,
    }

    /// The same without a number.
    #[derive(Persist, Debug)]
    #[persist(class = "Case")]
    pub(super) struct Doubtful {
        #[persist(id = 1)]
        pub(super) life: u32,
        #[persist(default)]
        pub(super) a: u32,
        #[persist(id = 2)]
        pub(super) b: u32,
    }

    /// Number 1 and a name that the save has without a number.
    #[derive(Persist, Debug)]
    #[persist(class = "Case")]
    pub(super) struct Half {
        #[persist(id = 1)]
        pub(super) a: u32,
        pub(super) b: u32,
    }

    #[derive(Persist, Debug)]
    #[persist(class = "Case")]
    pub(super) struct Merged {
        #[persist(id = 1)]
        pub(super) b: u32,
    }
}

#[test]
fn a_number_decides_where_both_fields_have_one() {
    let old = save(numbered::Case { a: 1, b: 2 });
    let (found, _) = load::<numbered::Swapped>(&old);
    assert_eq!((found.borrow().b, found.borrow().a), (1, 2));
    let (found, _) = load::<numbered::Reused>(&old);
    let found = found.borrow();
    assert_eq!((found.life, found.a, found.b), (1, 0, 2));
}

#[test]
fn number_and_name_of_two_fields_are_refused() {
    let old = save(numbered::Case { a: 1, b: 2 });
    let error = try_load::<numbered::Doubtful>(&old, LENIENT).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    insta::assert_snapshot!(error);

    let old = save(numbered::Half { a: 1, b: 2 });
    let error = try_load::<numbered::Merged>(&old, LENIENT).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    insta::assert_snapshot!(error);
}

/// Version 1 has two names.
mod two_names {
    use super::*;

    #[derive(Persist, Debug, Default, Clone)]
    #[persist(class = "Case")]
    pub(super) struct Case {
        #[persist(default)]
        pub(super) first: String,
        #[persist(default)]
        pub(super) last: String,
    }

    #[derive(Persist, Debug)]
    #[persist(class = "Case")]
    pub(super) struct Roomy {
        #[persist(default)]
        pub(super) first: String,
        #[persist(default)]
        pub(super) last: String,
        #[persist(unknown)]
        pub(super) rest: Unknown,
    }
}

/// Version 2 has one.
mod one_name {
    use super::*;

    #[derive(Persist, Debug)]
    #[persist(class = "Case", version = 2, migrate(1 = join))]
    pub(super) struct Case {
        pub(super) name: String,
    }

    #[derive(Persist, Debug)]
    #[persist(class = "Case", version = 2, migrate(1 = join))]
    pub(super) struct Roomy {
        pub(super) name: String,
        #[persist(unknown)]
        pub(super) rest: Unknown,
    }

    /// Here the name has another form.
    #[derive(Persist, Debug)]
    #[persist(class = "Case", version = 2, migrate(1 = number))]
    pub(super) struct Number {
        pub(super) name: u64,
    }

    fn join(case: &mut Record, _: u32) {
        let part = |part: Option<persist::Value>| {
            part.and_then(|part| part.as_text().map(str::to_owned)).unwrap_or_default()
        };
        let (first, last) = (part(case.take("first")), part(case.take("last")));
        case.set("name", format!("{first} {last}"));
    }

    fn number(case: &mut Record, _: u32) {
        case.set("name", 7_u64);
    }
}

#[test]
fn a_kept_field_wins_over_what_a_migration_makes() {
    let first = save(one_name::Case { name: "Ada Love".into() });
    let second = pass::<two_names::Case>(&first, |_| {});
    let (found, found_rows) = load::<one_name::Case>(&second);
    assert_eq!(found.borrow().name, "Ada Love");
    let expected =
        [row(LoadEvent::Migrated, "Case", "", 1), row(LoadEvent::Restored, "Case", "name", 1)];
    assert_eq!(found_rows, expected);
    let error = try_load::<one_name::Case>(&second, STRICT).unwrap_err();
    insta::assert_snapshot!(error);

    // In a field of its own it is the same.
    let first = save(one_name::Roomy { name: "Ada Love".into(), rest: Unknown::default() });
    let second = pass::<two_names::Roomy>(&first, |_| {});
    let (found, found_rows) = load::<one_name::Roomy>(&second);
    assert_eq!(found.borrow().name, "Ada Love");
    assert!(found.borrow().rest.is_empty());
    assert_eq!(found_rows, expected);
}

#[test]
fn a_migration_makes_what_a_kept_field_cannot_become() {
    let first = save(one_name::Case { name: "Ada Love".into() });
    let second = pass::<two_names::Case>(&first, |_| {});
    let (found, found_rows) = load::<one_name::Number>(&second);
    assert_eq!(found.borrow().name, 7);
    assert!(found_rows.contains(&row(LoadEvent::Superseded, "Case", "name", 1)), "{found_rows:?}");
}

/// Values inside of what a migration moves.
pub(crate) mod moved {
    use super::*;

    /// One program: the first version of its team, and the second.
    macro_rules! program {
        ($name:ident, $case:ty) => {
            pub(super) mod $name {
                use super::*;

                #[allow(dead_code, reason = "not every program has both")]
                #[derive(Persist, Debug)]
                #[allow(dead_code, reason = "not every program writes the first version")]
                #[persist(class = "Team")]
                pub(in super::super) struct First {
                    pub(in super::super) one: $case,
                }

                #[allow(dead_code, reason = "not every program has both")]
                #[derive(Persist, Debug)]
                #[allow(dead_code, reason = "not every program reads the second version")]
                #[persist(class = "Team", version = 2, migrate(1 = gather))]
                pub(in super::super) struct Second {
                    pub(in super::super) all: Vec<$case>,
                }
            }
        };
    }

    pub(crate) fn gather(team: &mut Record, _: u32) {
        let one: Vec<persist::Value> = team.take("one").into_iter().collect();
        team.set("all", persist::Value::Seq(one));
    }

    program!(two_names, crate::matrix::precedence::two_names::Roomy);
    program!(one_name, crate::matrix::precedence::one_name::Roomy);
    program!(renamed, crate::matrix::precedence::renamed::Roomy);
    program!(before, crate::matrix::precedence::before::Roomy);
    program!(numbered, crate::matrix::precedence::numbered::Case);
    program!(swapped, crate::matrix::precedence::numbered::Swapped);
    program!(doubtful, crate::matrix::precedence::numbered::Doubtful);
    program!(set, crate::matrix::precedence::set::New);
    program!(set_before, crate::matrix::precedence::set::Old);
    program!(fewer, crate::matrix::precedence::fewer::Roomy);
}

fn through<From: Persist, To: Persist>(value: &From) -> Result<To, persist::Error> {
    persist::from_slice(&persist::to_vec(value).unwrap())
}

#[test]
fn a_value_that_a_migration_moves_follows_the_same_rules() {
    let case = one_name::Roomy { name: "Ada Love".into(), rest: Unknown::default() };
    let old: moved::two_names::First = through(&moved::one_name::First { one: case }).unwrap();
    assert_eq!(old.one.rest.names().collect::<Vec<_>>(), ["Case.name"]);
    let new: moved::one_name::Second = through(&old).unwrap();
    assert_eq!(new.all[0].name, "Ada Love");
    assert!(new.all[0].rest.is_empty());

    let case = renamed::Roomy { health: 300, rest: Unknown::default() };
    let mut old: moved::before::First = through(&moved::renamed::First { one: case }).unwrap();
    old.one.hp = 50;
    let new: moved::renamed::Second = through(&old).unwrap();
    assert_eq!((new.all[0].health, new.all[0].rest.is_empty()), (50, true));

    let old = moved::numbered::First { one: numbered::Case { a: 1, b: 2 } };
    let new: moved::swapped::Second = through(&old).unwrap();
    assert_eq!((new.all[0].b, new.all[0].a), (1, 2));
    let error = through::<_, moved::doubtful::Second>(&old).unwrap_err();
    insta::assert_snapshot!(error);
}

/// Version 1 has a number, version 2 knows the name as an alias.
mod set {
    use super::*;

    #[derive(Persist, Debug)]
    #[persist(class = "Case")]
    pub(super) struct Old {
        #[persist(id = 1)]
        pub(super) c: u32,
    }

    #[derive(Persist, Debug)]
    #[persist(class = "Case", version = 2, migrate(1 = set_it))]
    pub(super) struct New {
        #[persist(id = 2, alias = "c", default = 901)]
        pub(super) a: u32,
    }

    fn set_it(case: &mut Record, _: u32) {
        case.set("c", 778_u32);
    }
}

#[test]
fn a_field_that_a_migration_sets_is_known_by_its_name_alone() {
    let (found, _) = load::<set::New>(&save(set::Old { c: 1 }));
    assert_eq!(found.borrow().a, 778);
    let old = save(moved::set_before::First { one: set::Old { c: 1 } });
    let (found, found_rows) = load::<moved::set::Second>(&old);
    assert_eq!(found.borrow().all[0].a, 778);
    // The report names both migrations.
    let expected =
        [row(LoadEvent::Migrated, "Case", "", 1), row(LoadEvent::Migrated, "Team", "", 1)];
    assert_eq!(found_rows, expected);
}

mod fewer {
    use super::*;

    #[derive(Persist, Debug)]
    #[persist(class = "Case")]
    pub(super) struct Roomy {
        #[persist(id = 1)]
        pub(super) a: u32,
        #[persist(unknown)]
        pub(super) rest: Unknown,
    }
}

#[test]
fn a_value_that_a_migration_moves_keeps_its_unknown_fields() {
    let old = save(moved::numbered::First { one: numbered::Case { a: 1, b: 2 } });
    let (found, found_rows) = load::<moved::fewer::Second>(&old);
    assert_eq!(found.borrow().all[0].rest.names().collect::<Vec<_>>(), ["Case.b"]);
    let kept = [row(LoadEvent::Migrated, "Team", "", 1), row(LoadEvent::Kept, "Case", "b", 1)];
    assert_eq!(found_rows, kept);
    let second = pass::<moved::fewer::Second>(&old, |_| {});
    let (found, _) = load::<moved::swapped::Second>(&second);
    assert_eq!((found.borrow().all[0].b, found.borrow().all[0].a), (1, 2));

    let options = LENIENT.drop_unknown(true);
    let (found, found_rows) = try_load::<moved::fewer::Second>(&old, options).unwrap();
    assert!(found.borrow().all[0].rest.is_empty());
    let dropped =
        [row(LoadEvent::Dropped, "Case", "b", 1), row(LoadEvent::Migrated, "Team", "", 1)];
    assert_eq!(found_rows, dropped);
}

/// A program that keeps `c`, number 1, in front of its own `c`, number 2.
mod before_its_own {
    use super::*;

    #[derive(Persist, Debug)]
    #[persist(class = "Case")]
    pub(super) struct Roomy {
        #[persist(unknown)]
        pub(super) rest: Unknown,
        #[persist(id = 2, default = 5)]
        pub(super) c: u32,
    }

    #[derive(Persist, Debug)]
    #[persist(class = "Case", version = 2, migrate(1 = rename))]
    pub(super) struct Renamed {
        pub(super) d: u32,
        #[persist(unknown)]
        pub(super) rest: Unknown,
    }

    #[derive(Persist, Debug)]
    #[persist(class = "Case", version = 2, migrate(1 = rename))]
    pub(super) struct Without {
        #[persist(default)]
        pub(super) a: u32,
        #[persist(unknown)]
        pub(super) rest: Unknown,
    }

    fn rename(case: &mut Record, _: u32) {
        case.rename("c", "d");
    }
}

#[test]
fn a_migration_finds_a_stored_field_before_a_kept_one_of_its_name() {
    let second = pass::<before_its_own::Roomy>(&save(set::Old { c: 1 }), |_| {});
    let (found, _) = load::<before_its_own::Renamed>(&second);
    assert_eq!(found.borrow().d, 5);
    assert_eq!(found.borrow().rest.names().collect::<Vec<_>>(), ["Case.c"]);
}

#[test]
fn a_field_that_a_migration_renamed_is_not_kept_under_its_old_name() {
    let (found, found_rows) = load::<before_its_own::Without>(&save(set::Old { c: 1 }));
    assert!(found.borrow().rest.is_empty());
    let expected = [
        row(LoadEvent::Defaulted, "Case", "a", 1),
        row(LoadEvent::Dropped, "Case", "d", 1),
        row(LoadEvent::Migrated, "Case", "", 1),
    ];
    assert_eq!(found_rows, expected);
}

/// A text that another program has as a number.
mod text {
    use super::*;

    #[derive(Persist, Debug)]
    #[persist(class = "Case")]
    pub(super) struct Roomy {
        pub(super) hp: String,
        #[persist(unknown)]
        pub(super) rest: Unknown,
    }
}

#[test]
fn an_error_names_the_field_of_the_program_where_fields_were_kept_too() {
    let old = save(text::Roomy { hp: "many".into(), rest: Unknown::default() });
    for error in [
        try_load::<renamed::Case>(&old, LENIENT).map(drop).unwrap_err(),
        try_load::<renamed::Roomy>(&old, LENIENT).map(drop).unwrap_err(),
    ] {
        assert_eq!((error.kind(), error.field()), (ErrorKind::KindMismatch, Some("health")));
    }
}

/// A program that stores both a field and the one that another program has renamed it to.
mod both {
    use super::*;

    #[derive(Persist, Debug)]
    #[persist(class = "Case")]
    pub(super) struct Case {
        pub(super) hp: u32,
        pub(super) health: u32,
    }

    #[derive(Persist, Debug)]
    #[persist(class = "Case")]
    pub(super) struct Older {
        pub(super) hp: u32,
        #[persist(id = 7)]
        pub(super) life: u32,
    }

    #[derive(Persist, Debug)]
    #[persist(class = "Case", version = 2, migrate(1 = double))]
    pub(super) struct Doubled {
        #[persist(id = 7, alias = "hp")]
        pub(super) health: u32,
    }

    fn double(case: &mut Record, _: u32) {
        case.set("health", 900_u32);
    }
}

#[test]
fn a_stored_field_that_lost_its_place_to_another_is_not_kept() {
    let old = save(both::Case { hp: 1, health: 2 });
    let superseded = row(LoadEvent::Superseded, "Case", "hp", 1);
    let (found, found_rows) = load::<renamed::Case>(&old);
    assert_eq!((found.borrow().health, &*found_rows), (2, &[superseded.clone()][..]));
    let second = pass::<renamed::Case>(&old, |_| {});
    assert_eq!(second.len(), save(renamed::Case { health: 2 }).len());
    assert_eq!(load::<renamed::Case>(&second).1, []);

    let (found, found_rows) = load::<renamed::Roomy>(&old);
    assert!(found.borrow().rest.is_empty());
    assert_eq!((found.borrow().health, &*found_rows), (2, &[superseded.clone()][..]));

    let error = try_load::<renamed::Case>(&old, STRICT).unwrap_err();
    insta::assert_snapshot!(error);
}

#[test]
fn a_stored_field_that_lost_its_place_to_what_a_migration_makes_is_not_kept() {
    // One by its name, the other by its number.
    let old = save(both::Older { hp: 1, life: 2 });
    let (found, found_rows) = load::<both::Doubled>(&old);
    assert_eq!(found.borrow().health, 900);
    let expected = [
        row(LoadEvent::Migrated, "Case", "", 1),
        row(LoadEvent::Superseded, "Case", "hp", 1),
        row(LoadEvent::Superseded, "Case", "life", 1),
    ];
    assert_eq!(found_rows, expected);
    let second = pass::<both::Doubled>(&old, |_| {});
    assert_eq!(load::<both::Doubled>(&second).1, []);
}

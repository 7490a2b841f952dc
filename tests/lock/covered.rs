//! What a lock covers: what its registry has registered, and what that leads to, in this build.

use super::*;

versions! {
    old {
        pub(super) struct Hero { pub(super) name: String }
        pub(super) struct Cart { pub(super) load: u32, pub(super) owner: String }
        pub(super) struct Level { pub(super) heroes: Vec<Hero> }
    }
    new {
        pub(super) struct Hero { pub(super) name: u32 }
        pub(super) struct Cart { pub(super) load: String, pub(super) owner: String }
        pub(super) struct Level { pub(super) heroes: Vec<Hero> }
    }
}

fn with_cart<Hero: Persist, Cart: Persist>() -> Registry {
    let mut registry = registry::<Hero>();
    registry.register::<Cart>().unwrap();
    registry
}

#[test]
fn a_class_that_is_not_in_the_build_is_kept_as_unknown() {
    let lock = locked(&with_cart::<old::Hero, old::Cart>());
    let report = lock.compare(&registry::<old::Hero>());
    assert!(report.loads(), "{report}");
    insta::assert_snapshot!(report);
}

#[test]
fn changes_of_a_class_that_no_build_has_locked_are_not_seen() {
    let lock = locked(&registry::<old::Hero>());
    assert!(lock.compare(&with_cart::<old::Hero, new::Cart>()).loads());
    let lock = locked(&with_cart::<old::Hero, old::Cart>());
    assert_eq!(bad(&lock.compare(&with_cart::<old::Hero, new::Cart>())), ["breaks: Cart.load"]);
}

#[test]
fn a_version_that_was_locked_without_a_class_does_not_hide_the_versions_before_it() {
    let both = || with_cart::<old::Hero, old::Cart>();
    let lock = lock_of(&[both(), registry::<old::Hero>()]);
    let report = lock.compare(&with_cart::<old::Hero, new::Cart>());
    assert_eq!(bad(&report), ["breaks: Cart.load"]);
    let found = report.differences().iter().find(|found| found.verdict == Verdict::Breaks);
    assert_eq!(found.unwrap().versions, ["0.1.0"]);
}

#[test]
fn classes_of_another_crate_are_covered_where_a_registered_class_holds_them() {
    assert_eq!(bad(&report::<old::Level, new::Level>()), ["breaks: Hero.name"]);
}

//! What a `migrate` accepts: what it takes or sets, and nothing else of its class or of what the class holds.

use std::cell::RefCell;
use std::rc::Rc;

use persist::{Record, Value};

use super::{bad, report};

versions! {
    texts {
        pub(super) struct Root { title: String, court: Vec<Noble>, rank: String }
        pub(super) struct Noble { rank: String }
    }
    ranks {
        #[persist(version = 2, migrate(1 = changes_title))]
        pub(super) struct Root { title: String, court: Vec<Noble>, rank: Rank }
        pub(super) struct Noble { rank: Rank }
        pub(super) enum Rank { King, #[persist(other)] Other }
    }
    ranks_without_migration {
        pub(super) struct Root { title: String, court: Vec<Noble>, rank: Rank }
        pub(super) struct Noble { rank: Rank }
        pub(super) enum Rank { King, #[persist(other)] Other }
    }
    ranks_taken {
        #[persist(version = 2, migrate(1 = takes_rank))]
        pub(super) struct Root { title: String, court: Vec<Noble>, rank: Rank }
        #[persist(version = 2, migrate(1 = takes_rank))]
        pub(super) struct Noble { rank: Rank }
        pub(super) enum Rank { King, #[persist(other)] Other }
    }
}

fn changes_title(root: &mut Record, _: u32) {
    root.set("title", "changed");
}

fn takes_rank(record: &mut Record, _: u32) {
    let is_king = record.get("rank").and_then(Value::as_text) == Some("King");
    record.set("rank", Record::with_variant("Rank", if is_king { "King" } else { "Other" }));
}

/// A root with any `migrate` made 'Duke' to `Other`, *safe*.
#[test]
fn texts_that_become_other_are_lost_beside_a_migration() {
    let migrated = report::<texts::Root, ranks::Root>();
    let plain = report::<texts::Root, ranks_without_migration::Root>();
    assert_eq!(bad(&migrated), ["loses: Noble.rank", "loses: Root.rank"], "{migrated}");
    assert_eq!(bad(&plain), bad(&migrated), "{plain}");
    insta::assert_snapshot!(migrated.to_string());
    let taken = report::<texts::Root, ranks_taken::Root>();
    assert!(taken.loads(), "{taken}");
}

versions! {
    shared {
        pub(super) struct Root { title: String, heroes: Vec<Hero>, guild: Rc<RefCell<Guild>> }
        pub(super) struct Hero { guild: Rc<RefCell<Guild>> }
        pub(super) struct Guild { name: String }
    }
    copied {
        #[persist(version = 2, migrate(1 = changes_title))]
        pub(super) struct Root { title: String, heroes: Vec<Hero>, guild: Guild }
        pub(super) struct Hero { guild: Guild }
        pub(super) struct Guild { name: String }
    }
    copied_on_purpose {
        #[persist(version = 2, migrate(1 = looks_at_guild))]
        pub(super) struct Root { title: String, heroes: Vec<Hero>, guild: Guild }
        #[persist(version = 2, migrate(1 = looks_at_guild))]
        pub(super) struct Hero { guild: Guild }
        pub(super) struct Guild { name: String }
    }
    left_out {
        #[persist(version = 2, migrate(1 = drops_guild))]
        pub(super) struct Root { title: String, heroes: Vec<Hero>, guild: Guild }
        #[persist(version = 2, migrate(1 = drops_guild))]
        pub(super) struct Hero { guild: Guild }
        pub(super) struct Guild { name: String }
    }
}

fn looks_at_guild(record: &mut Record, _: u32) {
    // It stays what it is, in several copies.
    assert!(record.get("guild").is_some());
}

fn drops_guild(record: &mut Record, _: u32) {
    let mut guild = Record::new("Guild");
    guild.set("name", "");
    record.set("guild", guild);
}

#[test]
fn objects_that_become_copies_are_lost_beside_a_migration() {
    let copied = report::<shared::Root, copied::Root>();
    assert_eq!(bad(&copied), ["loses: Hero.guild", "loses: Root.guild"], "{copied}");
    insta::assert_snapshot!(copied.to_string());
    let meant = report::<shared::Root, left_out::Root>();
    assert!(meant.loads(), "{meant}");
    let on_purpose = report::<shared::Root, copied_on_purpose::Root>();
    assert!(on_purpose.loads(), "{on_purpose}");
}

versions! {
    purses {
        pub(super) struct Root { title: String, purse: Purse, old: u8 }
        pub(super) struct Purse { gold: u32, silver: u32 }
    }
    lighter {
        #[persist(version = 2, migrate(1 = changes_title))]
        pub(super) struct Root { title: String, purse: Purse }
        pub(super) struct Purse { silver: u32 }
    }
    lighter_by_hand {
        #[persist(version = 2, migrate(1 = changes_silver))]
        pub(super) struct Root { title: String, purse: Purse }
        pub(super) struct Purse { silver: u32 }
    }
    gold_in_silver {
        #[persist(version = 2, migrate(1 = takes_gold))]
        pub(super) struct Root { title: String, purse: Purse }
        pub(super) struct Purse { silver: u32 }
    }
}

fn purse_of(root: &mut Record) -> &mut Record {
    root.get_mut("purse").and_then(Value::as_record_mut).unwrap()
}

fn changes_silver(root: &mut Record, _: u32) {
    purse_of(root).set("silver", 0_u32);
}

fn takes_gold(root: &mut Record, _: u32) {
    let gold = purse_of(root).take("gold");
    let gold = gold.and_then(|gold| gold.as_u64()).unwrap_or(0);
    purse_of(root).set("silver", u32::try_from(gold.min(4_000_000_000)).unwrap());
}

#[test]
fn fields_that_a_migration_leaves_are_lost() {
    let lighter = report::<purses::Root, lighter::Root>();
    assert_eq!(bad(&lighter), ["loses: Purse.gold"], "{lighter}");
    let taken = report::<purses::Root, gold_in_silver::Root>();
    assert!(taken.loads(), "{taken}");
    let by_hand = report::<purses::Root, lighter_by_hand::Root>();
    assert_eq!(bad(&by_hand), ["loses: Purse.gold"], "{by_hand}");
}

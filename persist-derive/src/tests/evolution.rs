//! The attributes that migrate older saves to the program's types.

use super::expansion::expanded;
use super::refusal::refusals;
use super::{expansion, snapshot};

/// The lines of the code that contain any of these words.
fn lines(source: &str, words: &[&str]) -> String {
    let code = expansion(source);
    let has = |line: &&str| words.iter().any(|word| line.contains(word));
    code.lines().filter(has).map(|line| format!("{}\n", line.trim())).collect()
}

snapshots! { refusals:
    one_number_for_two_fields: [
        "struct Hero {
    #[persist(id = 1)] a: u8,
    #[persist(id = 2)] b: u8,
    #[persist(id = 1)] c: u8,
    #[persist(id = 4294967296)] d: u8,
    #[persist(id = -1)] e: u8,
    #[persist(id = 3, id = 4)] f: u8,
}",
        "enum Shape {
    A(#[persist(id = 1)] u8, #[persist(id = 1)] u8),
    B(#[persist(id = 1)] u8),
}",
    ];

    fields_that_cannot_be_converted: [
        "struct Hero {
    #[persist(skip, id = 1, convert = f, unknown)] a: u8,
    #[persist(with = module, convert = f)] b: u8,
    #[persist(convert = \"f\")] c: u8,
    #[persist(convert)] d: u8,
    #[persist(convert = |old: u8| u16::from(old))] e: u16,
}",
        "#[persist(transparent)]
struct Metres(#[persist(id = 1, convert = f, unknown)] f32);",
    ];

    several_places_for_what_is_unknown: [
        "struct Hero {
    #[persist(unknown)] a: Unknown,
    #[persist(unknown = true)] b: Unknown,
    #[persist(unknown, default, convert = f)] c: Unknown,
    #[persist(unknown, with = module)] d: Unknown,
}",
        "enum Shape {
    #[persist(other)] A,
    #[persist(other)] B(Unknown),
    #[persist(other = 1)] C,
}",
        "enum Shape {
    A,
    #[persist(other)] B(Unknown, Unknown, #[persist(skip)] u8, u8),
    C(#[persist(unknown)] Unknown, #[persist(unknown)] Unknown),
}",
        "enum Shape { A, #[persist(other)] B(#[persist(unknown, with = m::n, default, convert = f)] Unknown) }",
    ];

    migrations_with_gaps: [
        "#[persist(migrate = f)] struct Hero;",
        "#[persist(version = 1, migrate(1 = f))] struct Hero;",
        "#[persist(version = 4, migrate(1 = f, 3 = f))] struct Hero;",
        "#[persist(version = 4, migrate(1 = f, 2 = f))] struct Hero;",
        "#[persist(version = 4, migrate(2 = f, 3 = f))] struct Hero;",
        "#[persist(version = 4, migrate())] struct Hero;",
        "#[persist(version = 3, migrate(0 = f, 1 = f, 2 = f, 3 = f))] struct Hero;",
        "#[persist(version = 4, migrate(2 = f, 1 = f, 3 = f))] struct Hero;",
        "#[persist(version = 3, migrate(1 = f, 2 = f, 2 = g))] struct Hero;",
        "#[persist(version = 4294967295, migrate(4294967294 = f))] struct Hero;",
    ];

    versions_that_could_not_read_their_own: [
        "#[persist(since = 0)] struct Hero;",
        "#[persist(since = 2)] struct Hero;",
        "#[persist(version = 2, since = 3)] enum Mood { Calm }",
        "#[persist(version = 2, since = 2, since = 1)] struct Hero;",
        "#[persist(version = 2, since = \"2\")] struct Hero;",
        "#[persist(transparent, since = 1)] struct Metres(f32);",
    ];

    migrations_that_are_no_functions: [
        "#[persist(version = 2, migrate)] struct Hero;",
        "#[persist(version = 2, migrate = \"f\")] struct Hero;",
        "#[persist(version = 2, migrate = |record, from| {})] struct Hero;",
        "#[persist(version = 2, migrate(f))] struct Hero;",
        "#[persist(version = 2, migrate(1 = \"f\", 4294967296 = f, one = f, 1 == f))] struct Hero;",
        "#[persist(version = 2, migrate(1 = ))] struct Hero;",
        "#[persist(version = 2, migrate(1 = f g, 2 = h), id(7))] struct Hero;",
        "#[persist(version = 2, migrate(1 = f), migrate(1 = g))] struct Hero;",
        "#[persist(transparent, migrate(1 = f))] struct Hero(u8);",
    ];

    attributes_of_older_saves_in_the_wrong_place: ["#[persist(convert = f, other, unknown)]
enum Shape {
    #[persist(migrate = f, convert = f, unknown)]
    A(#[persist(other, migrate(1 = f))] u8),
}"];

    removed_fields_that_are_present: [
        "#[persist(removed = \"hp\", removed = \"old\", removed = \"mp\", removed = \"mp\", removed = 3)]
struct Hero {
    hp: u32,
    #[persist(alias = \"old\")]
    new: u32,
    #[persist(skip)]
    mp: u32,
}",
        "#[persist(removed = \"Sad\", removed = \"Gone\", removed = \"Calm\")]
enum Mood {
    #[persist(alias = \"Calm\", removed = \"0\")]
    Sad(u8),
}",
        "enum Mood { Sad, #[persist(other, removed = \"since\")] Other }",
        "#[persist(transparent, removed = \"hp\")] struct Metres(f32);",
        "struct Hero { #[persist(removed)] hp: u32 }",
    ];
}

snapshots! { expanded:
    fields_that_have_changed: r#"
        #[persist(version = 3, migrate(1 = Hero::to_2, 2 = old::to_3::<Hero>))]
        struct Hero<T> {
            #[persist(id = 1)]
            name: String,
            #[persist(id = 4294967295, alias = "gold", convert = Money::from_gold, default)]
            money: Money<T>,
            #[persist(unknown, rename = "more")]
            rest: persist::Unknown,
        }
        "#;

    variants_that_have_changed: r#"
        #[persist(version = 2, migrate = migrate)]
        enum Shape {
            #[persist(empty)]
            None,
            Circle(u8, #[persist(convert = <u32 as From<u8>>::from, id = 3)] u32),
            #[persist(other)]
            Other { what: persist::Unknown, #[persist(skip)] seen: bool },
        }
        "#;
}

#[test]
fn a_bare_variant_may_stand_for_unknown_ones() {
    let code = lines("enum Shape { Dot, #[persist(other)] Lost }", &["other", "keeps_unknown"]);
    assert_eq!(code, "other: false,\nother: true,\n");
}

#[test]
fn a_class_says_which_versions_may_read_it() {
    let code = lines("#[persist(version = 3, since = 2)] struct Hero;", &["since"]);
    assert_eq!(code, ".since(2u32);\n");
}

#[test]
fn removed_fields_and_variants() {
    let hero = lines(
        r#"
        #[persist(removed = "hp", removed = "mp")]
        struct Hero {
            name: HashMap<String, Box<dyn Item + Send>>,
            at: (u8, [f32; 2]),
            call: m::Fn<fn(&'static str) -> r#type>,
        }
        "#,
        &["removed", ": HashMap<", ": (u8", ": m::Fn"],
    );
    let mood = lines(
        r#"
        #[persist(removed = "Angry")]
        enum Mood { #[persist(removed = "since")] Sad(u8), #[persist(other)] Other }
        "#,
        &["removed", "written"],
    );
    snapshot("removed_fields_and_variants", &format!("{hero}\n{mood}"));
}

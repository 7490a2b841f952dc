use super::{dynamic, formatted, snapshot};

fn expanded(name: &str, source: &str) {
    let (code, errors) = dynamic(source);
    assert_eq!(errors, "");
    snapshot(name, &formatted(code));
}

/// A snapshot of traits, each followed by its mistakes.
fn refusals(name: &str, sources: &[&str]) {
    let all: Vec<String> =
        sources.iter().map(|source| format!("{source}\n\n{}", dynamic(source).1)).collect();
    snapshot(name, &all.join("\n\n"));
}

snapshots! { refusals:
    what_is_not_a_trait: [
        "#[persist::dynamic]\nstruct Sword;",
        "#[persist::dynamic]\npub enum Sword { A }",
        "#[persist::dynamic]\n#[repr(C)]\nunion Bits { a: u8 }",
        "#[persist::dynamic]\n#[cold]\nimpl Item for Sword {}",
        "#[persist::dynamic]\n/// Text.\npub fn item() {}",
        "#[persist::dynamic]\nmod items {}",
        "#[persist::dynamic]\npub type Items = Vec<u8>;",
        "#[persist::dynamic]\nfn price(&self) -> u32;",
    ];

    traits_with_parameters: ["#[persist::dynamic]\ntrait Item<'a, T: Clone, const N: usize> { fn get(&self) -> &'a T; }"];

    traits_with_associated_types: ["#[persist::dynamic]
trait Item {
    type Key: Ord;
    type Fine where Self: Sized;
    type Other where Self: Clone;
}"];

    options_that_are_wrong: [
        r#"#[persist::dynamic(nam = "x", class = "y", rename = "z", default, sort)]
trait Item {}"#,
        r#"#[persist::dynamic(name = "x", unknown = A, name = "y", crate = a, unknown = B, crate = b)]
trait Item {}"#,
        r#"#[persist::dynamic(name = "", unknown = "A", crate = "b")]
trait Item {}"#,
        "#[persist::dynamic(name, unknown, crate)]\ntrait Item {}",
        "#[persist::dynamic(name = Item, unknown = 3 + 4, crate = <A as B>::C)]\ntrait Item {}",
        r#"#[persist::dynamic("name", name("x"), unknown = , name = "a" crate = b)]
trait Item<T> {}"#,
    ];
}

snapshots! { expanded:
    trait_without_options: "#[persist::dynamic]
/// An item.
pub trait Item { fn price(&self) -> u32; }";

    trait_with_every_option: r#"#[persist::dynamic(name = "quest.Item", crate = my_engine::persist, unknown = lost::MissingItem)]
pub(crate) unsafe trait r#Item: Debug + Send where Self: Unpin {
    type Key where Self: Sized;
    const LEVEL: u8 = 3;
    fn price<'a>(&'a self, of: &'a str) -> &'a str { of }
}"#;
}

#[test]
fn items_other_than_traits_are_unchanged() {
    let (code, errors) = dynamic("#[persist::dynamic(nam)] #[derive(Debug)] struct Sword(u8);");
    assert_eq!(formatted(code), "#[derive(Debug)]\nstruct Sword(u8);\n");
    assert_eq!(errors.lines().count(), 2, "{errors}");
}

#[test]
fn mistakes_in_the_options_leave_the_rest() {
    let (code, errors) = dynamic("#[persist::dynamic(name = 3, crate = lib, nam)] trait Item {}");
    assert_eq!(errors.lines().count(), 2, "{errors}");
    let code = formatted(code);
    assert!(code.starts_with("trait Item: lib::__private::Dynamic {}\n"), "{code}");
    assert!(code.contains(r#"_persist::__dynamic!("Item", (Item), dyn Item);"#), "{code}");
}

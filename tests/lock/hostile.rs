//! Locks with strange names, of strange classes, and damaged ones.

#![allow(clippy::unwrap_used, reason = "the helpers are part of the tests")]

use persist::{ErrorKind, SaveManager, Saves};
use persist_tests::support::fixture_types;
use persist_tools::lock::{Lock, Values};
use proptest::prelude::*;

/// A lock of one version that has this.
fn read(version: &str, schemas: &str) -> persist::Result<Lock> {
    let version = quoted(version);
    format!("Lock {{ format: 3, versions: [Version {{ name: {version}, after: [], schemas: [{schemas}] }}] }}")
        .parse()
}

/// One with every sort of line.
fn lock() -> Lock {
    let mut lock = Lock::new();
    for name in ["pointers", "graph", "players"] {
        lock.update(name, &fixture_types::manager(name, false).saves().registry()).unwrap();
    }
    lock
}

/// A name, as another writer of locks would put it into quotes.
fn quoted(name: &str) -> String {
    let escape = |c: char| match c {
        '"' | '\\' => format!("\\{c}"),
        c if c.is_control() => format!("\\u{{{:x}}}", u32::from(c)),
        c => c.to_string(),
    };
    format!("\"{}\"", name.chars().map(escape).collect::<String>())
}

/// A class, as others name it.
fn class_of(name: &str) -> String {
    let name = quoted(name).replace('`', "\\`");
    format!("`{}` {{}}", &name[1..name.len() - 1])
}

/// A kind of the one class there is, as text.
fn kind() -> impl Strategy<Value = String> {
    let words = [
        "()",
        "\"bool\"",
        "\"char\"",
        "\"u8\"",
        "\"u16\"",
        "\"u32\"",
        "\"u64\"",
        "\"u128\"",
        "\"i8\"",
        "\"i16\"",
        "\"i32\"",
        "\"i64\"",
        "\"i128\"",
        "\"f32\"",
        "\"f64\"",
        "\"String\"",
        "\"Unknown\"",
        "\"compact u16\"",
        "\"compact i64\"",
        "(,)",
        "kind::Strong { holder: \"Rc\", to: OTHER }",
        "kind::Strong { holder: \"Arc<Mutex>\", to: OTHER }",
        "kind::Weak { holder: \"Rc<RefCell>\", to: OTHER }",
        "kind::Weak { holder: \"Arc<RwLock>\", to: OTHER }",
        "kind::Strong { holder: \"Rc<OnceCell>\", to: OTHER }",
        "kind::Weak { holder: \"Rc<OnceLock>\", to: OTHER }",
        "kind::Strong { holder: \"Rc<Cell>\", to: OTHER }",
        "OTHER",
    ];
    let named = |before: &'static str, after: &'static str| {
        any::<String>().prop_map(move |name| format!("{before}{}{after}", quoted(&name)))
    };
    let leaf = prop_oneof![
        proptest::sample::select(words.to_vec()).prop_map(String::from),
        named("kind::Dyn { of: ", "}"),
        named("kind::Handle { of: ", "}"),
        named("kind::Strong { holder: \"Rc<RefCell>\", to: kind::Dyn { of: ", "} }"),
        named("kind::Weak { holder: \"Arc\", to: kind::Dyn { of: ", "} }"),
    ];
    leaf.prop_recursive(4, 12, 3, |inner| {
        prop_oneof![
            inner.clone().prop_map(|kind| format!("some({kind})")),
            inner.clone().prop_map(|kind| format!("[{kind}]")),
            inner.clone().prop_map(|kind| format!("kind::Set {{ of: {kind} }}")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("{{ {a}: {b} }}")),
            (inner.clone(), 0..5_usize).prop_map(|(kind, len)| format!("[{kind}, {len}]")),
            inner.clone().prop_map(|kind| format!("({kind},)")),
            (inner.clone(), inner).prop_map(|(a, b)| format!("({a}, {b})")),
        ]
    })
}

#[test]
fn a_class_of_too_many_parts_has_no_sample() {
    let class = |i: usize, of: &str| {
        format!(
            "Class {{ name: \"C{i}\", id: \"0x{i:x}\", version: 1, fields: {{ \"a\": {of}, \"b\": {of} }} }},"
        )
    };
    let object = "Object { class: C1 {}, holder: \"Rc\" }";
    let chain = |last: &str| {
        let classes = (1..60).map(|i| class(i, &format!("C{} {{}}", i + 1)));
        let classes: String = classes.chain([class(60, last)]).collect();
        read("1", &format!("{classes}{object}")).unwrap()
    };
    for kind in
        ["()", "\"u8\"", "\"String\"", "[\"u8\", 1000000000]", "[[(), 1000000000], 1000000000]"]
    {
        let error = chain(kind).sample("1", Values::Plain).unwrap_err();
        assert_eq!((error.kind(), error.class()), (ErrorKind::TooLarge, Some("C1")), "{kind}");
    }
    // What need not be there is not.
    let classes: String = (1..=60).map(|i| class(i, &format!("[C{} {{}}]", i % 60 + 1))).collect();
    let lock = read("1", &format!("{classes}{object}")).unwrap();
    assert!(lock.sample("1", Values::Plain).unwrap().len() < 1 << 21);
}

/// A sample is a whole save, whatever the lock is, or there is none.
fn check_samples(lock: &Lock) {
    let saves = Saves::new();
    for version in lock.versions() {
        for values in [Values::Plain, Values::Boundary] {
            match lock.sample(version, values) {
                // No class is known.
                Ok(sample) => assert!(saves.from_slice::<SaveManager>(&sample).is_ok()),
                Err(error) => assert_eq!(error.kind(), ErrorKind::TooLarge, "{error}"),
            }
        }
    }
}

proptest! {
    #[test]
    fn any_names_and_kinds_survive(
        names in proptest::collection::btree_set(any::<String>(), 2..6),
        words in proptest::sample::subsequence(vec!["u8", "dyn", "sync", "Rc", "RefCell", "0", "a.b"], 0..7),
        kinds in proptest::collection::vec(kind(), 1..6),
        version in any::<String>(),
    ) {
        let mut names: Vec<String> = names.into_iter().chain(words.into_iter().map(String::from)).collect();
        names.sort();
        names.dedup();
        // The other class is a leaf; its name is as strange as the others.
        let other = &names[0];
        let mut fields = String::new();
        for (i, (name, kind)) in names.iter().zip(kinds.iter().cycle()).enumerate() {
            let name = quoted(name);
            let name = if i % 2 == 0 { format!("({name}, {i})") } else { name };
            fields += &format!("{name}: {},", kind.replace("OTHER", &class_of(other)));
        }
        let (first, second, class) = (quoted(other), quoted(&names[1]), class_of(other));
        let text = [
            format!("Class {{ name: {first}, id: \"0x1\", version: 1, fields: {{}} }},"),
            format!("Class {{ name: {second}, id: \"0x2\", version: 4294967295, fields: {{ {fields} }} }},"),
            format!("Trait {{ name: {second}, classes: [{class}] }},"),
            format!("Object {{ class: {class}, holder: \"Arc<RwLock>\" }}"),
        ];
        let lock = read(&version, &text.concat()).unwrap();
        prop_assert_eq!(lock.versions().collect::<Vec<_>>(), [&*version]);
        let written = lock.to_string();
        let again: Lock = written.parse().unwrap();
        prop_assert_eq!(&again, &lock);
        prop_assert_eq!(again.to_string(), written);
        // The names are in the definitions of a sample as they are; the other class is an object.
        if let Ok(sample) = again.sample(&version, Values::Plain) {
            let found = sample.windows(other.len().max(1)).any(|bytes| bytes == other.as_bytes());
            prop_assert!(found || other.is_empty());
        }
        check_samples(&again);
    }

    #[test]
    fn a_damaged_lock_is_an_error_or_another_lock(at in any::<usize>(), byte in any::<u8>()) {
        let mut text = lock().to_string().into_bytes();
        let at = at % text.len();
        text[at] = byte;
        if let Ok(text) = String::from_utf8(text)
            && let Ok(lock) = text.parse::<Lock>()
        {
            check_samples(&lock);
            prop_assert_eq!(lock.to_string().parse::<Lock>().unwrap(), lock);
        }
    }
}

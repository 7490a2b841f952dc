//! Locks with strange names, of strange classes, and damaged ones.

#![allow(clippy::unwrap_used, reason = "the helpers are part of the tests")]

use persist::lock::{Lock, Values};
use persist::{ErrorKind, SaveManager};
use persist_tests::support::fixture_types;
use proptest::prelude::*;

/// A lock with this behind its header.
fn read(text: &str) -> persist::Result<Lock> {
    let header = Lock::new().to_string();
    format!("{header}{text}").parse()
}

/// One with every sort of line.
fn lock() -> Lock {
    let mut lock = Lock::new();
    for name in ["pointers", "graph", "players"] {
        lock.update(name, fixture_types::manager(name, false).registry()).unwrap();
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

/// A kind of the one class there is, as text.
fn kind() -> impl Strategy<Value = String> {
    let words = [
        "()",
        "bool",
        "char",
        "u8",
        "u16",
        "u32",
        "u64",
        "u128",
        "i8",
        "i16",
        "i32",
        "i64",
        "i128",
        "f32",
        "f64",
        "String",
        "Unknown",
        "compact u16",
        "compact i64",
        "(,)",
        "Rc<OTHER>",
        "Arc<Mutex<OTHER>>",
        "Weak<RefCell<OTHER>>",
        "sync::Weak<RwLock<OTHER>>",
        "Rc<OnceCell<OTHER>>",
        "Weak<OnceLock<OTHER>>",
        "Rc<Cell<OTHER>>",
        "OTHER",
    ];
    let named = |before: &'static str, after: &'static str| {
        any::<String>().prop_map(move |name| format!("{before}{}{after}", quoted(&name)))
    };
    let leaf = prop_oneof![
        proptest::sample::select(words.to_vec()).prop_map(String::from),
        named("Box<dyn ", ">"),
        named("Handle<", ">"),
        named("Rc<RefCell<dyn ", ">>"),
        named("sync::Weak<dyn ", ">"),
    ];
    leaf.prop_recursive(4, 12, 3, |inner| {
        prop_oneof![
            inner.clone().prop_map(|kind| format!("Option<{kind}>")),
            inner.clone().prop_map(|kind| format!("Vec<{kind}>")),
            inner.clone().prop_map(|kind| format!("Set<{kind}>")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("Map<{a}, {b}>")),
            (inner.clone(), 0..5_usize).prop_map(|(kind, len)| format!("[{kind}; {len}]")),
            inner.clone().prop_map(|kind| format!("({kind},)")),
            (inner.clone(), inner).prop_map(|(a, b)| format!("({a}, {b})")),
        ]
    })
}

#[test]
fn a_class_of_too_many_parts_has_no_sample() {
    let class = |i: usize, of: &str| {
        let head = format!("class C{i}, id 0x{i:x}, version 1, struct");
        (head.clone() + "\n  a: OF\n  b: OF\n").replace("OF", of)
    };
    let chain = |last: &str| {
        let classes = (1..60).map(|i| class(i, &format!("C{}", i + 1)));
        let classes: String = classes.chain([class(60, last)]).collect();
        read(&format!("version 1\n{classes}object C1 in Rc\n")).unwrap()
    };
    for kind in ["()", "u8", "String", "[u8; 1000000000]", "[[(); 1000000000]; 1000000000]"] {
        let error = chain(kind).sample("1", Values::Plain).unwrap_err();
        assert_eq!((error.kind(), error.class()), (ErrorKind::TooLarge, Some("C1")), "{kind}");
    }
    // What need not be there is not.
    let classes: String = (1..=60).map(|i| class(i, &format!("Vec<C{}>", i % 60 + 1))).collect();
    let lock = read(&format!("version 1\n{classes}object C1 in Rc\n")).unwrap();
    assert!(lock.sample("1", Values::Plain).unwrap().len() < 1 << 21);
}

/// A sample is a whole save, whatever the lock is, or there is none.
fn check_samples(lock: &Lock) {
    let saves = SaveManager::new();
    for version in lock.versions() {
        for values in [Values::Plain, Values::Boundary] {
            match lock.sample(version, values) {
                // No class is known.
                Ok(sample) => assert!(saves.from_slice(&sample).is_ok()),
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
        let mut text = format!(
            "version {}\nclass {}, id 0x1, version 1, struct\nclass {}, id 0x2, version 4294967295, struct\n",
            quoted(&version), quoted(other), quoted(&names[1]),
        );
        for (i, (name, kind)) in names.iter().zip(kinds.iter().cycle()).enumerate() {
            let number = if i % 2 == 0 { format!(" #{i}") } else { String::new() };
            text += &format!("  {}{number}: {}\n", quoted(name), kind.replace("OTHER", &quoted(other)));
        }
        text += &format!("trait {}\n  {}\nobject {} in Arc<RwLock>\n", quoted(&names[1]), quoted(other), quoted(other));
        let lock = read(&text).unwrap();
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

//! Names that are valid in Rust.

use std::collections::{HashMap, HashSet};

/// Names that the written code uses, so that types of the program must not hide them.
const RESERVED: [&str; 11] = [
    "Box", "F32", "F64", "HashMap", "Option", "Persist", "Result", "Self", "Some", "String", "Vec",
];

/// Names of types, of fields or of variants, all different.
#[derive(Default)]
pub(super) struct FreeNames {
    used: HashSet<String>,
    /// The last numbers that were tried: a hostile save has many names that become one.
    numbers: HashMap<String, u32>,
}

impl FreeNames {
    /// Returns the names for types, without those that the written code uses itself.
    pub(super) fn of_types() -> Self {
        Self { used: RESERVED.map(str::to_owned).into(), ..Self::default() }
    }

    /// Returns a name that is valid in Rust and not used yet.
    pub(super) fn find(&mut self, name: &str, is_type: bool) -> String {
        let mut known = identifier(name, is_type);
        let base = known.trim_start_matches("r#").to_owned();
        while !self.used.insert(known.clone()) {
            let number = self.numbers.entry(base.clone()).or_insert(1);
            *number += 1;
            known = format!("{base}{number}");
        }
        known
    }
}

/// Returns a valid Rust name. The name of a type begins with a capital letter.
fn identifier(name: &str, is_type: bool) -> String {
    const KEYWORDS: [&str; 48] = [
        "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "do",
        "dyn", "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in",
        "let", "loop", "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref",
        "return", "static", "struct", "trait", "true", "try", "type", "typeof", "unsafe",
        "unsized", "use", "virtual", "where", "while", "yield",
    ];
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut known: String = name.chars().map(|c| if is_part(c) { c } else { '_' }).collect();
    if is_type {
        known = known.trim_matches('_').to_owned();
        let is_start = known.starts_with(|c: char| c.is_ascii_alphabetic());
        known.insert_str(0, if is_start { "" } else { "T" });
        known[..1].make_ascii_uppercase();
    } else if known.is_empty() || known.starts_with(|c: char| c.is_ascii_digit()) {
        known.insert(0, '_');
    }
    match known.as_str() {
        "self" | "Self" | "crate" | "super" | "_" => format!("{known}_"),
        keyword if KEYWORDS.contains(&keyword) => format!("r#{known}"),
        _ => known,
    }
}

/// The name of a trait, and the markers after it.
pub(super) fn trait_name(name: &str) -> (&str, &str) {
    let end =
        name.find(" + Send").filter(|end| [" + Send", " + Send + Sync"].contains(&&name[*end..]));
    name.split_at(end.unwrap_or(name.len()))
}

pub(super) fn last_word(name: &str) -> &str {
    name.rsplit(['.', ':']).next().unwrap_or_default()
}

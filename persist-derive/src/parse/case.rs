//! The styles of `rename_all`, which are serde's.

use quote::ToTokens;

use crate::ctxt::Ctxt;

/// A style of names.
#[derive(Clone, Copy)]
pub enum Case {
    Lower,
    Upper,
    Pascal,
    Camel,
    Snake,
    ScreamingSnake,
    Kebab,
    ScreamingKebab,
}

const STYLES: [(&str, Case); 8] = [
    ("lowercase", Case::Lower),
    ("UPPERCASE", Case::Upper),
    ("PascalCase", Case::Pascal),
    ("camelCase", Case::Camel),
    ("snake_case", Case::Snake),
    ("SCREAMING_SNAKE_CASE", Case::ScreamingSnake),
    ("kebab-case", Case::Kebab),
    ("SCREAMING-KEBAB-CASE", Case::ScreamingKebab),
];

impl Case {
    /// The style with this name. Reports an unknown one, at `at`.
    pub fn parse(cx: &Ctxt, name: &str, at: impl ToTokens) -> Option<Self> {
        let found = STYLES.iter().find(|(style, _)| *style == name);
        if found.is_none() {
            let styles = STYLES.map(|(style, _)| format!("\"{style}\"")).join(", ");
            cx.error_over(
                at,
                format!("unknown style \"{name}\"; `rename_all` takes one of {styles}"),
            );
        }
        found.map(|(_, case)| *case)
    }

    /// Converts the name of a variant, which is written in PascalCase.
    pub fn variant(self, name: &str) -> String {
        match self {
            Self::Pascal => name.to_owned(),
            Self::Lower => name.to_lowercase(),
            Self::Upper => name.to_uppercase(),
            Self::Camel => first(name, char::to_ascii_lowercase),
            Self::Snake => words(name, '_').to_lowercase(),
            Self::ScreamingSnake => words(name, '_').to_uppercase(),
            Self::Kebab => words(name, '-').to_lowercase(),
            Self::ScreamingKebab => words(name, '-').to_uppercase(),
        }
    }

    /// Converts the name of a field, which is written in `snake_case`.
    pub fn field(self, name: &str) -> String {
        match self {
            Self::Lower | Self::Snake => name.to_owned(),
            Self::Upper | Self::ScreamingSnake => name.to_uppercase(),
            Self::Pascal => joined(name),
            Self::Camel => first(&joined(name), char::to_ascii_lowercase),
            Self::Kebab => name.replace('_', "-"),
            Self::ScreamingKebab => name.to_uppercase().replace('_', "-"),
        }
    }
}

fn first(name: &str, change: fn(&char) -> char) -> String {
    let mut letters = name.chars();
    letters.next().map(|letter| change(&letter)).into_iter().chain(letters).collect()
}

/// Converts `GiantRat` to `Giant_Rat`.
fn words(name: &str, between: char) -> String {
    let mut result = String::new();
    for (i, letter) in name.char_indices() {
        if i > 0 && letter.is_uppercase() {
            result.push(between);
        }
        result.push(letter);
    }
    result
}

/// Converts `hit_points` to `HitPoints`.
fn joined(name: &str) -> String {
    name.split('_').map(|word| first(word, char::to_ascii_uppercase)).collect()
}

//! Names of classes as people write them: without their modules, or with `*` for any characters.

use std::collections::BTreeSet;

/// The classes that a name or a pattern with `*` means; `None` if there is none.
pub(crate) fn matching(pattern: &str, classes: &BTreeSet<&str>) -> Option<BTreeSet<String>> {
    let is_exact = classes.contains(pattern);
    let found = classes.iter().filter(|class| is_match(pattern, class, is_exact));
    let found: BTreeSet<String> = found.map(|class| (*class).to_owned()).collect();
    (!found.is_empty()).then_some(found)
}

/// Returns whether a name or a pattern means a class; `is_exact` if there is a class with that whole name.
pub(crate) fn is_match(pattern: &str, class: &str, is_exact: bool) -> bool {
    if is_exact {
        class == pattern
    } else if pattern.contains('*') {
        fits(pattern, class)
    } else {
        // The pattern may omit the names of modules or programs.
        class.strip_suffix(pattern).is_some_and(|prefix| prefix.ends_with('.'))
    }
}

/// True if a text fits a pattern in which `*` stands for any characters.
fn fits(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else {
        return false;
    };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else { return rest.is_empty() };
    for part in parts {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

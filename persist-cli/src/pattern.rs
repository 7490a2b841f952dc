//! Names of classes as people write them: without their modules, or with `*` for any characters.

use std::collections::BTreeSet;

/// The classes that a name or a pattern with `*` means; `None` if there is none.
pub(crate) fn matching(pattern: &str, classes: &BTreeSet<&str>) -> Option<BTreeSet<String>> {
    let found: BTreeSet<String> = if classes.contains(pattern) {
        [pattern.to_owned()].into()
    } else if pattern.contains('*') {
        classes.iter().filter(|class| fits(pattern, class)).map(|it| (*it).to_owned()).collect()
    } else {
        // The pattern may omit the names of modules or programs.
        let is_last =
            |class: &&&str| class.strip_suffix(pattern).is_some_and(|prefix| prefix.ends_with('.'));
        classes.iter().filter(is_last).map(|it| (*it).to_owned()).collect()
    };
    (!found.is_empty()).then_some(found)
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

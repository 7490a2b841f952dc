//! Names as people write them: classes without their modules, or with `*` for any characters, and misspelled names.

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

/// The most names that a message lists.
const MAX_LISTED: usize = 12;

/// The most characters of names that are compared.
const MAX_COMPARED: usize = 40;

/// Says which name is near one that is not known, or else which names there are.
pub(crate) fn one_of(name: &str, known: &[&str]) -> String {
    match nearest(name, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None if known.is_empty() => String::from("there is none"),
        None => format!("there are {}", listed(known)),
    }
}

/// Lists the first of some names.
pub(crate) fn listed(names: &[&str]) -> String {
    let rest = if names.len() > MAX_LISTED { ", .." } else { "" };
    format!("{}{rest}", names[..names.len().min(MAX_LISTED)].join(", "))
}

/// Returns the name that is most like another one, if one is so much like it that a slip may explain the difference.
pub(crate) fn nearest<'n>(name: &str, known: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let max = match name.chars().count() {
        0..=2 => 0,
        length => (length / 3).max(1),
    };
    let near = known.into_iter().map(|known| (distance(name, known), known));
    near.filter(|(far, _)| *far <= max).min().map(|(_, known)| known)
}

/// Returns how many characters are to be changed, added, removed or swapped to get from one name to another. Capitals
/// count as small letters, and of the names of classes the last part may be enough.
fn distance(one: &str, other: &str) -> usize {
    let last = other.rsplit('.').next().unwrap_or(other);
    edits(one, other).min(if one.contains('.') { usize::MAX } else { edits(one, last) })
}

fn edits(one: &str, other: &str) -> usize {
    let chars = |text: &str| -> Vec<char> {
        text.chars().take(MAX_COMPARED).flat_map(char::to_lowercase).collect()
    };
    let (one, other) = (chars(one), chars(other));
    let (mut before, mut last): (Vec<usize>, Vec<usize>) =
        (Vec::new(), (0..=other.len()).collect());
    for at in 0..one.len() {
        let mut next = vec![at + 1];
        for to in 0..other.len() {
            let changed = last[to] + usize::from(one[at] != other[to]);
            let mut min = changed.min(last[to + 1] + 1).min(next[to] + 1);
            if at > 0 && to > 0 && one[at] == other[to - 1] && one[at - 1] == other[to] {
                min = min.min(before[to - 1] + 1);
            }
            next.push(min);
        }
        before = std::mem::replace(&mut last, next);
    }
    last[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_one_slip_away() {
        let known = ["health", "level", "quest.Item", "Gold"];
        let near = |name: &str| nearest(name, known);
        assert_eq!(
            [near("helth"), near("levle"), near("Itme")],
            [Some("health"), Some("level"), Some("quest.Item")]
        );
        assert_eq!(
            [near("gold"), near("Health"), near("xyz")],
            [Some("Gold"), Some("health"), None]
        );
    }
}

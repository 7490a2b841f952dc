//! Similar names: a rename that a lock finds, or a typing error.

/// Number of names that are listed if none is similar.
const MAX_LISTED: usize = 8;

/// True if one name may be a new spelling of the other.
pub fn is_near(old: &str, new: &str) -> bool {
    let plain = |name: &str| -> Vec<char> {
        name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
    };
    let (old, new) = (plain(old), plain(new));
    let (short, long) = if old.len() < new.len() { (&old, &new) } else { (&new, &old) };
    // A name of one or two letters, or of digits, is near to almost every name, so only an equal one counts.
    if short.len() < 3 || short.iter().all(|c| c.is_numeric()) {
        return old == new && !old.is_empty();
    }
    long.windows(short.len()).any(|part| part == &short[..])
        || distance(&old, &new) <= long.len() / 3
}

/// Counts the letters to insert, remove or replace to get from one name to the other.
fn distance(from: &[char], to: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, letter) in from.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, other) in to.iter().enumerate() {
            let replaced = diagonal + usize::from(letter != other);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[to.len()]
}

/// Returns the end of a message about an unknown name: the most similar of the known names, or the first few.
#[cold]
pub(crate) fn suggest<'n>(name: &str, names: impl Iterator<Item = &'n str> + Clone) -> String {
    if let Some(near) = nearest(name, names.clone()) {
        return format!("; did you mean `{near}`?");
    }
    let listed: Vec<String> =
        names.clone().take(MAX_LISTED).map(|name| format!("`{name}`")).collect();
    match names.count().saturating_sub(MAX_LISTED) {
        0 if listed.is_empty() => String::new(),
        0 => format!("; it has {}", listed.join(", ")),
        more => format!("; it has {} and {more} more", listed.join(", ")),
    }
}

/// Returns the name that is likely meant, if there is one.
#[cold]
pub(crate) fn nearest<'n>(sought: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let letters = |name: &str| name.chars().collect::<Vec<_>>();
    let sought_letters = letters(sought);
    let measured = names.map(|name| (distance(&sought_letters, &letters(name)), name));
    // Two swapped letters are a distance of 2, even in a short name.
    let is_typo = |distance: usize| {
        distance <= 1 + sought_letters.len() / 4 && 2 * distance < sought_letters.len()
    };
    let near = measured.filter(|(distance, name)| is_typo(*distance) || is_near(sought, name));
    near.min().map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::{nearest, suggest};

    #[test]
    fn the_nearest_of_several_names_is_suggested() {
        let names = ["Transform", "TransformOld", "Health"];
        assert_eq!(nearest("Transfrom", names.into_iter()), Some("Transform"));
        assert_eq!(nearest("plaec", ["pet", "place"].into_iter()), Some("place"));
        assert_eq!(nearest("hp", ["mp"].into_iter()), None);
        assert_eq!(nearest("health", names.into_iter()), Some("Health"));
        assert_eq!(nearest("Inventory", names.into_iter()), None);
    }

    #[test]
    fn the_first_names_are_listed_where_none_is_near() {
        assert_eq!(suggest("z", [].into_iter()), "");
        assert_eq!(suggest("z", ["x", "y"].into_iter()), "; it has `x`, `y`");
        let many: Vec<String> = (0..10).map(|i| format!("a{i}")).collect();
        let said = suggest("z", many.iter().map(|name| &**name));
        assert!(said.ends_with("`a6`, `a7` and 2 more"), "{said}");
    }
}

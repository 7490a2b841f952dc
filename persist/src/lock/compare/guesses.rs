//! Which of the fields that came one that went may be, by name and by kind.

use crate::schema::{ClassSchema, KindSchema};

/// A field that went, one that came, and how much they look alike.
#[derive(Clone, Copy, Debug)]
pub(super) struct Guess {
    pub(super) old: usize,
    pub(super) new: usize,
    pub(super) score: u32,
    /// True if old values become the new ones with an `alias` alone.
    pub(super) fits: bool,
}

/// The pairs that are likelier than all others, best first.
pub(super) fn sure(mut open: Vec<Guess>) -> Vec<Guess> {
    let mut sure: Vec<Guess> = Vec::new();
    while let Some(best) = open.iter().map(|guess| guess.score).max().filter(|best| *best > 0) {
        let is_rival = |one: &Guess, other: &Guess| one.old == other.old || one.new == other.new;
        let top = open.iter().filter(|guess| guess.score == best);
        let is_only = |guess: &&Guess| {
            open.iter().filter(|other| other.score == best && is_rival(guess, other)).count() == 1
        };
        let found: Vec<Guess> = top.filter(is_only).copied().collect();
        if found.is_empty() {
            break;
        }
        open.retain(|guess| !found.iter().any(|found| is_rival(found, guess)));
        sure.extend(found);
    }
    sure
}

/// What a kind is made of, containers left out: the names of classes and traits, and a word for each other sort.
fn atoms(kind: &KindSchema, classes: &[ClassSchema]) -> Vec<String> {
    let mut atoms = Vec::new();
    kind.visit(&mut |kind| {
        let word = match kind {
            KindSchema::Class(class) | KindSchema::Reference { class, .. } => &classes[*class].name,
            KindSchema::TraitReference { name, .. }
            | KindSchema::Dynamic(name)
            | KindSchema::Handle(name) => return atoms.push(format!("dyn {name}")),
            KindSchema::Bool => " bool",
            KindSchema::Char => " char",
            KindSchema::Text => " text",
            KindSchema::Unknown => " unknown",
            KindSchema::Unit => return,
            kind if kind.has_parts() => return,
            _ => " number",
        };
        atoms.push(word.to_owned());
    });
    atoms
}

/// True for two kinds that hold something of the same sort: a number, a text, values of one class.
pub(super) fn is_akin(
    (old, old_classes): (&KindSchema, &[ClassSchema]),
    (new, new_classes): (&KindSchema, &[ClassSchema]),
) -> bool {
    let news = atoms(new, new_classes);
    atoms(old, old_classes).iter().any(|atom| news.contains(atom))
}

/// True for a kind that holds values of a class or of a trait.
pub(super) fn is_named(kind: &KindSchema) -> bool {
    let mut found = false;
    kind.visit(&mut |kind| {
        found |= matches!(
            kind,
            KindSchema::Class(_)
                | KindSchema::Reference { .. }
                | KindSchema::TraitReference { .. }
                | KindSchema::Dynamic(_)
                | KindSchema::Handle(_)
        );
    });
    found
}

/// What becomes of the values of one kind in another, as far as the kinds tell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Fit {
    /// Each becomes one of the other.
    Whole,
    /// An array loses elements: how many it had, and how many it has.
    Shorter(usize, usize),
    /// Some may not be one of the other.
    Narrower,
}

/// How the values of one kind fit another. The classes in them are compared by themselves.
pub(super) fn fit(old: &KindSchema, new: &KindSchema) -> Fit {
    use KindSchema as K;
    match (old, new) {
        (K::Array(_, from), K::Array(_, to)) if from > to => Fit::Shorter(*from, *to),
        (K::Option(a), K::Option(b))
        | (K::List(a) | K::Set(a) | K::Array(a, _), K::List(b))
        | (K::Set(a), K::Set(b))
        | (K::Array(a, _), K::Array(b, _)) => fit(a, b),
        (K::List(a) | K::Set(a) | K::Array(a, _), K::Set(b) | K::Array(b, _)) => match fit(a, b) {
            Fit::Whole => Fit::Narrower,
            worse => worse,
        },
        (K::Map(a), K::Map(b)) => worst([fit(&a[0], &b[0]), fit(&a[1], &b[1])]),
        (K::Tuple(a), K::Tuple(b)) if a.len() == b.len() => {
            worst(a.iter().zip(&b[..]).map(|(a, b)| fit(a, b)))
        }
        (old, K::Option(b)) => fit(old, b),
        (K::Class(_), K::Class(_))
        | (K::Reference { .. }, K::Reference { .. })
        | (K::TraitReference { .. }, K::TraitReference { .. })
        | (K::Dynamic(_), K::Dynamic(_)) => Fit::Whole,
        (old, new) if old == new || old.is_number_in(new) => Fit::Whole,
        _ => Fit::Narrower,
    }
}

/// The first that is not whole; a shorter array of them, if there is one.
fn worst(fits: impl IntoIterator<Item = Fit>) -> Fit {
    fits.into_iter().fold(Fit::Whole, |worst, fit| match (worst, fit) {
        (Fit::Shorter(..), _) | (Fit::Narrower, Fit::Whole | Fit::Narrower) => worst,
        _ => fit,
    })
}

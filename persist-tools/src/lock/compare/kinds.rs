//! How kinds, and fields of kinds, look alike.

use super::Guess;
use persist::__tools::{ClassSchema, KindSchema};

/// The pairs that are likelier than all others of either side.
pub(super) fn sure(mut open: Vec<Guess>) -> Vec<Guess> {
    let mut sure: Vec<Guess> = Vec::new();
    let is_rival = |one: &Guess, other: &Guess| one.old == other.old || one.new == other.new;
    loop {
        let is_best = |guess: &&Guess| {
            let mut others = open.iter().filter(|other| other != guess);
            others.all(|other| !is_rival(guess, other) || other.score < guess.score)
        };
        let best = open.iter().filter(|guess| guess.score > 0).filter(is_best);
        let found: Vec<Guess> = best.copied().collect();
        if found.is_empty() {
            return sure;
        }
        open.retain(|guess| !found.iter().any(|found| is_rival(found, guess)));
        sure.extend(found);
    }
}

/// Returns the contents of a kind without containers: names of classes and traits, and one word for each other sort.
pub(super) fn atoms(kind: &KindSchema, classes: &[ClassSchema]) -> Vec<String> {
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

/// True for a kind that holds values of a class or of a trait.
pub(super) fn is_named(kind: &KindSchema, classes: &[ClassSchema]) -> bool {
    atoms(kind, classes).iter().any(|atom| !atom.starts_with(' '))
}

/// How the values of one kind fit another, as far as the kinds show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::lock) enum Fit {
    /// Each becomes one of the other.
    Whole,
    /// Some may not be one of the other.
    Narrower,
}

/// How the values of one kind fit another. The classes in them are compared by themselves.
pub(in crate::lock) fn fit(old: &KindSchema, new: &KindSchema) -> Fit {
    use KindSchema as K;
    let parts = |at_best: Fit| {
        let parts = old.parts().iter().zip(new.parts());
        parts.map(|(old, new)| fit(old, new)).fold(at_best, Fit::max)
    };
    match (old, new) {
        (K::Option(_), K::Option(_))
        | (K::List(_) | K::Set(_) | K::Array(..), K::List(_))
        | (K::Set(_), K::Set(_))
        | (K::Array(..), K::Array(..))
        | (K::Map(_), K::Map(_)) => parts(Fit::Whole),
        (K::List(_) | K::Set(_) | K::Array(..), K::Set(_) | K::Array(..)) => parts(Fit::Narrower),
        (K::Tuple(a), K::Tuple(b)) if a.len() == b.len() => parts(Fit::Whole),
        (old, K::Option(new)) => fit(old, new),
        (K::Class(_), K::Class(_))
        | (K::Reference { .. }, K::Reference { .. })
        | (K::TraitReference { .. }, K::TraitReference { .. })
        | (K::Dynamic(_), K::Dynamic(_)) => Fit::Whole,
        (old, new) if old == new || old.is_number_in(new) => Fit::Whole,
        _ => Fit::Narrower,
    }
}

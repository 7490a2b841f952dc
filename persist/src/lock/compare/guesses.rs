//! Which of the fields that came one that went may be, by name and by kind.

use crate::schema::KindSchema;

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

/// What a kind is made of, containers left out.
#[derive(PartialEq)]
enum Atom {
    Number,
    Text,
    Other(&'static str),
    /// A class or a trait, by name.
    Named(String),
}

fn atoms(kind: &KindSchema, name_of: &dyn Fn(usize) -> String) -> Vec<Atom> {
    let mut atoms = Vec::new();
    kind.visit(&mut |kind| {
        atoms.extend(match kind {
            KindSchema::Option(_)
            | KindSchema::List(_)
            | KindSchema::Set(_)
            | KindSchema::Array(..)
            | KindSchema::Map(_)
            | KindSchema::Tuple(_)
            | KindSchema::Unit => None,
            KindSchema::Bool => Some(Atom::Other("bool")),
            KindSchema::Char => Some(Atom::Other("char")),
            KindSchema::Text => Some(Atom::Text),
            KindSchema::Unknown => Some(Atom::Other("unknown")),
            KindSchema::Class(class) | KindSchema::Reference { class, .. } => {
                Some(Atom::Named(name_of(*class)))
            }
            KindSchema::TraitReference { name, .. }
            | KindSchema::Dynamic(name)
            | KindSchema::Handle(name) => Some(Atom::Named(format!("dyn {name}"))),
            _ => Some(Atom::Number),
        });
    });
    atoms
}

/// True for two kinds that hold something of the same sort: a number, a text, values of one class.
pub(super) fn is_akin(
    (old, old_name): (&KindSchema, &dyn Fn(usize) -> String),
    (new, new_name): (&KindSchema, &dyn Fn(usize) -> String),
) -> bool {
    let news = atoms(new, new_name);
    atoms(old, old_name).iter().any(|atom| news.contains(atom))
}

/// True for a kind that holds values of a class or of a trait.
pub(super) fn is_named(kind: &KindSchema) -> bool {
    atoms(kind, &|_| String::new()).iter().any(|atom| matches!(atom, Atom::Named(_)))
}

/// True if every value of one kind becomes one of the other, as far as the kinds tell. The classes in them are
/// compared by themselves.
pub(super) fn widens(old: &KindSchema, new: &KindSchema) -> bool {
    use KindSchema as K;
    match (old, new) {
        (K::Option(a), K::Option(b))
        | (K::List(a) | K::Set(a) | K::Array(a, _), K::List(b))
        | (K::Set(a), K::Set(b)) => widens(a, b),
        (K::Array(a, from), K::Array(b, to)) => from <= to && widens(a, b),
        (K::Map(a), K::Map(b)) => widens(&a[0], &b[0]) && widens(&a[1], &b[1]),
        (K::Tuple(a), K::Tuple(b)) => {
            a.len() == b.len() && a.iter().zip(&b[..]).all(|(a, b)| widens(a, b))
        }
        (old, K::Option(b)) => widens(old, b),
        (K::Class(_), K::Class(_))
        | (K::Reference { .. }, K::Reference { .. })
        | (K::TraitReference { .. }, K::TraitReference { .. })
        | (K::Dynamic(_), K::Dynamic(_)) => true,
        (old, new) => old == new || old.is_number_in(new),
    }
}

/// The length of an array that became a shorter one, and the shorter length.
pub(super) fn shrinks(old: &KindSchema, new: &KindSchema) -> Option<(usize, usize)> {
    match (old, new) {
        (KindSchema::Array(_, from), KindSchema::Array(_, to)) if from > to => Some((*from, *to)),
        (
            KindSchema::Option(a)
            | KindSchema::List(a)
            | KindSchema::Set(a)
            | KindSchema::Array(a, _),
            KindSchema::Option(b)
            | KindSchema::List(b)
            | KindSchema::Set(b)
            | KindSchema::Array(b, _),
        ) => shrinks(a, b),
        (KindSchema::Map(_), KindSchema::Map(_)) | (KindSchema::Tuple(_), KindSchema::Tuple(_)) => {
            old.parts().iter().zip(new.parts()).find_map(|(a, b)| shrinks(a, b))
        }
        _ => None,
    }
}

//! Compares the definitions of two classes with everything that they contain.

use std::collections::HashSet;

use super::{ClassSchema, FieldSchema, Form, KindSchema};

/// True if two classes, each of its own list, have the same name, id and form, and so have
/// all that they mention.
pub fn is_same_class(a: (&[ClassSchema], usize), b: (&[ClassSchema], usize)) -> bool {
    let mut seen = HashSet::new();
    same_classes(a, b, &mut |a, b| Some(seen.insert((a, b))))
}

/// True if two classes are the same, with all that their kinds lead to. `is_new` says of each pair whether it is to be
/// compared, or `None` if it cannot be the same.
pub fn same_classes(
    (a_list, a): (&[ClassSchema], usize),
    (b_list, b): (&[ClassSchema], usize),
    is_new: &mut dyn FnMut(usize, usize) -> Option<bool>,
) -> bool {
    let mut pairs = ClassPairs { is_new, next: Vec::new() };
    if !pairs.visit(a, b) {
        return false;
    }
    while let Some((a, b)) = pairs.next.pop() {
        let (a, b) = (&a_list[a], &b_list[b]);
        let head = |class: &ClassSchema| (class.id, class.version, class.since);
        if head(a) != head(b) || a.name != b.name {
            return false;
        }
        let same = match (&a.form, &b.form) {
            (Form::Struct(a), Form::Struct(b)) => pairs.fields(a, b),
            (Form::Enum(a), Form::Enum(b)) => {
                a.len() == b.len()
                    && a.iter()
                        .zip(b)
                        .all(|(a, b)| a.name == b.name && pairs.fields(&a.fields, &b.fields))
            }
            (Form::Value(a), Form::Value(b)) => pairs.kind(a, b),
            _ => false,
        };
        if !same {
            return false;
        }
    }
    true
}

/// The pairs of classes that must be the same.
struct ClassPairs<'n> {
    is_new: &'n mut dyn FnMut(usize, usize) -> Option<bool>,
    next: Vec<(usize, usize)>,
}

impl ClassPairs<'_> {
    /// False if they cannot be the same.
    fn visit(&mut self, a: usize, b: usize) -> bool {
        let is_new = (self.is_new)(a, b);
        if is_new == Some(true) {
            self.next.push((a, b));
        }
        is_new.is_some()
    }

    fn fields(&mut self, a: &[FieldSchema], b: &[FieldSchema]) -> bool {
        a.len() == b.len()
            && a.iter()
                .zip(b)
                .all(|(a, b)| a.name == b.name && a.id == b.id && self.kind(&a.kind, &b.kind))
    }

    fn kind(&mut self, a: &KindSchema, b: &KindSchema) -> bool {
        a.is_like(b, true, &mut |a, b| self.visit(a, b))
    }
}

use std::collections::HashSet;

use super::{ClassSchema, FieldSchema, Form, KindSchema};

/// True if two classes, each of its own list, have the same name, id and form, and so have
/// all that they mention.
pub(crate) fn is_same_class(
    (a_list, a): (&[ClassSchema], usize),
    (b_list, b): (&[ClassSchema], usize),
) -> bool {
    let mut pairs = ClassPairs { seen: HashSet::from([(a, b)]), next: vec![(a, b)] };
    while let Some((a, b)) = pairs.next.pop() {
        let (a, b) = (&a_list[a], &b_list[b]);
        let head = |class: &ClassSchema| (class.id, class.version);
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
struct ClassPairs {
    seen: HashSet<(usize, usize)>,
    next: Vec<(usize, usize)>,
}

impl ClassPairs {
    fn fields(&mut self, a: &[FieldSchema], b: &[FieldSchema]) -> bool {
        a.len() == b.len()
            && a.iter()
                .zip(b)
                .all(|(a, b)| a.name == b.name && a.id == b.id && self.kind(&a.kind, &b.kind))
    }

    fn kind(&mut self, a: &KindSchema, b: &KindSchema) -> bool {
        a.is_like(b, true, &mut |a, b| {
            if self.seen.insert((a, b)) {
                self.next.push((a, b));
            }
            true
        })
    }
}

use crate::reflect::ClassId;

use super::{ClassSchema, FieldSchema, Form, KindSchema, Program};

/// Which of the program's classes those of a save are.
pub(super) struct Matching<'p> {
    program: &'p Program,
    /// The program's class for each stored one.
    resolved: Vec<Option<usize>>,
}

impl<'p> Matching<'p> {
    pub(super) fn new(stored: &[ClassSchema], program: &'p Program) -> Self {
        let resolved = stored.iter().map(|class| program.find(class)).collect();
        let mut this = Self { program, resolved };
        // A bare value has no alias of its own: with a renamed class inside it
        // is the program's value of the same kind. A value may mention another.
        let mut found = true;
        while std::mem::take(&mut found) {
            for (class, schema) in stored.iter().enumerate() {
                if this.resolved[class].is_none()
                    && let Form::Value(kind) = &schema.form
                    && let Some(value) = this.renamed_value(kind, stored)
                {
                    this.resolved[class] = Some(value);
                    found = true;
                }
            }
        }
        this
    }

    pub(super) fn resolve(&self, class: usize) -> Option<usize> {
        self.resolved[class]
    }

    fn renamed_value(&self, kind: &KindSchema, stored: &[ClassSchema]) -> Option<usize> {
        if !self.mentions_renamed(kind, stored) {
            return None;
        }
        self.program.classes.iter().position(
            |class| matches!(&class.form, Form::Value(other) if self.is_compatible(kind, other)),
        )
    }

    fn mentions_renamed(&self, kind: &KindSchema, stored: &[ClassSchema]) -> bool {
        match kind {
            KindSchema::Option(part)
            | KindSchema::List(part)
            | KindSchema::Set(part)
            | KindSchema::Array(part, _) => self.mentions_renamed(part, stored),
            KindSchema::Map(parts) => {
                self.mentions_renamed(&parts.0, stored) || self.mentions_renamed(&parts.1, stored)
            }
            KindSchema::Tuple(parts) => {
                parts.iter().any(|part| self.mentions_renamed(part, stored))
            }
            KindSchema::Class(class) | KindSchema::Reference { class, .. } => self.resolved[*class]
                .is_some_and(|found| self.program.classes[found].id != stored[*class].id),
            _ => false,
        }
    }

    /// For each class, whether its records are as the program would write them.
    pub(super) fn identical(&self, stored: &[ClassSchema]) -> Vec<bool> {
        let mut identical: Vec<bool> = stored
            .iter()
            .enumerate()
            .map(|(class, schema)| self.is_same(schema, self.resolved[class]))
            .collect();
        // What holds a changed class is changed, and so on.
        let mut holders = Holders { of: vec![Vec::new(); stored.len()], dynamic: Vec::new() };
        for (class, schema) in stored.iter().enumerate() {
            schema.kinds().for_each(|kind| holders.add(kind, class));
        }
        let mut changed: Vec<usize> =
            (0..stored.len()).filter(|class| !identical[*class]).collect();
        while let Some(class) = changed.pop() {
            let mut found = std::mem::take(&mut holders.of[class]);
            if self.resolved[class].is_some() {
                // A trait object may be of any class that the program has.
                found.append(&mut holders.dynamic);
            }
            for holder in found {
                if std::mem::replace(&mut identical[holder], false) {
                    changed.push(holder);
                }
            }
        }
        identical
    }

    /// True if a class is the program's but for the classes inside.
    fn is_same(&self, stored: &ClassSchema, target: Option<usize>) -> bool {
        let Some(target) = target else { return false };
        let same_fields = |stored: &[FieldSchema], compiled: &[FieldSchema]| {
            stored.len() == compiled.len()
                && stored
                    .iter()
                    .zip(compiled)
                    .all(|(a, b)| a.name == b.name && self.is_compatible(&a.kind, &b.kind))
        };
        match (&stored.form, &self.program.classes[target].form) {
            (Form::Struct(stored), Form::Struct(compiled)) => same_fields(stored, compiled),
            (Form::Enum(stored), Form::Enum(compiled)) => {
                stored.len() == compiled.len()
                    && stored
                        .iter()
                        .zip(compiled)
                        .all(|(a, b)| a.name == b.name && same_fields(&a.fields, &b.fields))
            }
            (Form::Value(stored), Form::Value(compiled)) => self.is_compatible(stored, compiled),
            _ => false,
        }
    }

    /// True if the two kinds differ at most in the fields of classes inside.
    pub(super) fn is_compatible(&self, stored: &KindSchema, compiled: &KindSchema) -> bool {
        match (stored, compiled) {
            (KindSchema::Option(a), KindSchema::Option(b))
            | (KindSchema::List(a), KindSchema::List(b))
            | (KindSchema::Set(a), KindSchema::Set(b)) => self.is_compatible(a, b),
            (KindSchema::Map(a), KindSchema::Map(b)) => {
                self.is_compatible(&a.0, &b.0) && self.is_compatible(&a.1, &b.1)
            }
            (KindSchema::Array(a, n), KindSchema::Array(b, m)) => {
                n == m && self.is_compatible(a, b)
            }
            (KindSchema::Tuple(a), KindSchema::Tuple(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| self.is_compatible(a, b))
            }
            (KindSchema::Class(a), KindSchema::Class(b)) => self.resolved[*a] == Some(*b),
            (
                KindSchema::Reference { holder, weak, class },
                KindSchema::Reference { holder: holder_b, weak: weak_b, class: class_b },
            ) => holder == holder_b && weak == weak_b && self.resolved[*class] == Some(*class_b),
            // Which classes a trait has is asked of each value; its name may change.
            (KindSchema::Dynamic(_), KindSchema::Dynamic(_)) => true,
            (
                KindSchema::TraitReference { holder, weak, .. },
                KindSchema::TraitReference { holder: holder_b, weak: weak_b, .. },
            ) => holder == holder_b && weak == weak_b,
            (a, b) => a == b,
        }
    }
}

/// The classes that hold each class by value.
struct Holders {
    of: Vec<Vec<usize>>,
    /// Those that hold trait objects.
    dynamic: Vec<usize>,
}

impl Holders {
    /// Notes a class as the holder of those that the kind mentions.
    fn add(&mut self, kind: &KindSchema, class: usize) {
        match kind {
            KindSchema::Option(part)
            | KindSchema::List(part)
            | KindSchema::Set(part)
            | KindSchema::Array(part, _) => self.add(part, class),
            KindSchema::Map(parts) => {
                self.add(&parts.0, class);
                self.add(&parts.1, class);
            }
            KindSchema::Tuple(parts) => parts.iter().for_each(|part| self.add(part, class)),
            KindSchema::Class(inner) => self.of[*inner].push(class),
            KindSchema::Dynamic(_) => self.dynamic.push(class),
            _ => {}
        }
    }
}

impl Program {
    /// The class that a stored one is: of the same id, else of an alias.
    pub(crate) fn find(&self, stored: &ClassSchema) -> Option<usize> {
        let by_id = self.classes.iter().position(|class| class.id == stored.id);
        let by_alias = || {
            self.targets.iter().position(|target| {
                target.is_some_and(|target| target.class.aliases.contains(&&*stored.name))
            })
        };
        // A kept class may have lost its id to the program's class of the same name.
        let by_name = || {
            let is_kept =
                |id| (1..=1000).any(|i| ClassId::of(&format!("{}#{i}", stored.name)) == id);
            let found = self.classes.iter().position(|class| class.name == stored.name);
            found.filter(|_| is_kept(stored.id))
        };
        by_id.or_else(by_alias).or_else(by_name)
    }
}

//! Conversions into something around a value, or out of it.

use super::conversion::{Compiler, Conversion, DEEPEST};
use super::{Change, ClassSchema, FieldSchema, Form, KindSchema};

impl Compiler<'_, '_> {
    /// Conversions into something around a value, or out of it.
    pub(super) fn wrapped(
        &mut self,
        at: usize,
        s: &KindSchema,
        w: &KindSchema,
        deep: u32,
    ) -> Option<usize> {
        use KindSchema as K;
        let all = self.all;
        if let K::Class(class) = s
            && let Some((part, kind)) = self.newtype(*class)
            && !self.leads_to(*class, w)
        {
            return self.convert(part, &kind.clone(), w, deep);
        }
        let program = self.plans.program;
        if let K::Class(target) = w
            && let Form::Struct(fields) = &program.classes[*target].form
            && let [FieldSchema { name, kind, .. }] = &fields[..]
            && name == "0"
            && !self.comes_from(*target, s, DEEPEST)
        {
            return self.convert(at, s, kind, deep);
        }
        let made = match (s, w) {
            (_, K::Option(b)) if !is_around_option(all, s) => {
                Conversion::Some(self.convert(at, s, b, deep)?)
            }
            // What is around an `Option` takes it as it is.
            (K::Option(a), _)
                if !is_around_option(&program.classes, w) && !is_list_of_options(w) =>
            {
                Conversion::Present(self.convert(self.part(at, 0), a, w, deep)?)
            }
            (K::Reference { holder, weak: false, class }, _)
                if !matches!(w, K::Reference { .. } | K::TraitReference { .. })
                    && !is_list_of_references(w) =>
            {
                let (part, kind) = match &all[*class].form {
                    Form::Value(kind) => (all.first(*class, 0), kind.clone()),
                    _ => (all.root(*class), K::Class(*class)),
                };
                let of = self.convert(part, &kind, w, deep)?;
                let shared = self.run(Change::Unshared, s, w);
                Conversion::Inline { class: *class, holder: *holder, of, shared }
            }
            (_, K::Reference { holder, weak: false, class })
                if !matches!(s, K::Reference { .. } | K::TraitReference { .. }) =>
            {
                let kind = match &program.classes[*class].form {
                    Form::Value(kind) => kind.clone(),
                    _ => K::Class(*class),
                };
                let of = self.convert(at, s, &kind, deep)?;
                Conversion::Share { class: *class, holder: *holder, of }
            }
            (_, K::List(b) | K::Set(b)) => Conversion::One(self.convert(at, s, b, deep)?),
            _ => return None,
        };
        Some(self.plans.enter(made))
    }

    /// What a stored struct of one field without a name holds.
    fn newtype(&self, class: usize) -> Option<(usize, &KindSchema)> {
        match &self.all[class].form {
            Form::Struct(fields) => match &fields[..] {
                [field] if field.name == "0" => Some((self.all.first(class, 0), &field.kind)),
                _ => None,
            },
            _ => None,
        }
    }

    /// True if a stored class is found in the kind as itself.
    fn leads_to(&self, class: usize, w: &KindSchema) -> bool {
        match w {
            KindSchema::Option(part) | KindSchema::List(part) | KindSchema::Set(part) => {
                self.leads_to(class, part)
            }
            KindSchema::Class(target) | KindSchema::Reference { class: target, .. } => {
                self.is_related(class, *target)
            }
            _ => false,
        }
    }

    /// True if a class of the program is found in the stored kind as itself.
    fn comes_from(&self, target: usize, s: &KindSchema, deep: u32) -> bool {
        let Some(deep) = deep.checked_sub(1) else { return false };
        match s {
            KindSchema::Option(part) | KindSchema::List(part) | KindSchema::Set(part) => {
                self.comes_from(target, part, deep)
            }
            KindSchema::Class(class) | KindSchema::Reference { class, .. } => {
                let inner = match &self.all[*class].form {
                    Form::Value(kind) => Some(kind),
                    _ => self.newtype(*class).map(|(_, kind)| kind),
                };
                self.is_related(*class, target)
                    || inner.is_some_and(|kind| self.comes_from(target, kind, deep))
            }
            _ => false,
        }
    }
}

/// True for a pointer to an `Option`.
fn is_around_option(classes: &[ClassSchema], kind: &KindSchema) -> bool {
    match kind {
        KindSchema::Reference { class, .. } => {
            matches!(classes[*class].form, Form::Value(KindSchema::Option(_)))
        }
        _ => false,
    }
}

fn is_list_of_options(kind: &KindSchema) -> bool {
    match kind {
        KindSchema::List(part) | KindSchema::Set(part) => matches!(**part, KindSchema::Option(_)),
        _ => false,
    }
}

/// True for a list into which a pointer goes as it is.
fn is_list_of_references(kind: &KindSchema) -> bool {
    match kind {
        KindSchema::Option(part) | KindSchema::List(part) | KindSchema::Set(part) => {
            matches!(**part, KindSchema::Reference { .. }) || is_list_of_references(part)
        }
        _ => false,
    }
}

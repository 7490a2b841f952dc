//! Conversions into something around a value, or out of it.

use super::conversion::{Compiler, Crossed, DEEPEST};
use super::ops::Conversion;
use super::{ClassSchema, FieldSchema, Form, KindSchema, LoadEvent};

impl<'c> Compiler<'c, '_> {
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
            && !self.leads_to(*class, w, DEEPEST)
        {
            return self.cross(Crossed::Out, |this| this.convert(part, kind, w, deep));
        }
        let program = self.plans.program;
        if let K::Class(target) = w
            && let Some(kind) = newtype_of(&program.classes[*target])
            && !self.comes_from(*target, s, DEEPEST)
        {
            return self.cross(Crossed::In, |this| this.convert(at, s, kind, deep));
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
                let shared = self.run(LoadEvent::Unshared, s, w);
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

    /// Goes out of a newtype of the save, or into one of the program; not both for one value: that
    /// they hold the same does not make them the same.
    fn cross(
        &mut self,
        to: Crossed,
        go_on: impl FnOnce(&mut Self) -> Option<usize>,
    ) -> Option<usize> {
        let before = self.crossed;
        if before.is_some_and(|before| before != to) {
            return None;
        }
        self.crossed = Some(to);
        let found = go_on(self);
        self.crossed = before;
        found
    }

    /// What a stored newtype holds, and its node.
    fn newtype(&self, class: usize) -> Option<(usize, &'c KindSchema)> {
        let all = self.all;
        newtype_of(&all[class]).map(|kind| (all.first(class, 0), kind))
    }

    /// True if a stored class is found in the kind as itself.
    fn leads_to(&self, class: usize, w: &KindSchema, deep: u32) -> bool {
        let Some(deep) = deep.checked_sub(1) else { return false };
        match w {
            KindSchema::Option(part) | KindSchema::List(part) | KindSchema::Set(part) => {
                self.leads_to(class, part, deep)
            }
            KindSchema::Class(target) | KindSchema::Reference { class: target, .. } => {
                let wanted = &self.plans.program.classes[*target];
                let inner = match &wanted.form {
                    Form::Value(kind) => Some(kind),
                    _ => newtype_of(wanted),
                };
                self.is_related(class, *target)
                    || inner.is_some_and(|kind| self.leads_to(class, kind, deep))
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

/// What a newtype holds: a struct of one field without a name.
fn newtype_of(class: &ClassSchema) -> Option<&KindSchema> {
    match &class.form {
        Form::Struct(fields) => match &fields[..] {
            [FieldSchema { name, kind, .. }] if name == "0" => Some(kind),
            _ => None,
        },
        _ => None,
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

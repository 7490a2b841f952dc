use std::any::Any;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, OnceLock};

use super::{ClassSchema, Form, KindSchema, Stored};
use crate::codec::ClassAccess;
use crate::reflect::{Class, FieldRecord};

/// The program's classes: their schema, and how to reach their fields.
#[derive(Clone, Default)]
pub(crate) struct Program {
    pub(crate) classes: Vec<ClassSchema>,
    /// For each class; classes of bare values have none.
    pub(crate) targets: Vec<Option<Target>>,
    /// The classes that are registered as objects.
    pub(crate) objects: HashSet<usize>,
    /// Names of classes that are gone for good.
    pub(crate) removed: HashSet<String>,
    /// The classes that are registered for a trait.
    pub(crate) implementors: HashSet<usize>,
    /// By class, variant and field: the kind that the field's `convert` takes.
    pub(crate) old_kinds: HashMap<(usize, usize, usize), KindSchema>,
    /// The classes laid out, once that was asked for.
    layout: OnceLock<Arc<Stored>>,
}

impl Program {
    /// The classes laid out, as if a save had all of them.
    pub(crate) fn layout(&self) -> &Stored {
        self.layout.get_or_init(|| Arc::new(Stored::new(self.classes.clone())))
    }

    /// Says that classes came in.
    pub(crate) fn changed(&mut self) {
        self.layout.take();
    }

    /// Kind of a field of a struct (`variant` is 0) or of a variant.
    pub(crate) fn field_kind(
        &self,
        class: usize,
        variant: usize,
        field: usize,
    ) -> Option<&KindSchema> {
        let fields = match &self.classes[class].form {
            Form::Struct(fields) => fields,
            Form::Enum(variants) => &variants.get(variant)?.fields,
            Form::Value(_) => return None,
        };
        fields.get(field).map(|field| &field.kind)
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Target {
    pub(crate) class: &'static Class,
    pub(crate) access: &'static ClassAccess,
}

impl Target {
    /// The records of the struct or variant of a value of the class.
    pub(crate) fn fields_of(&self, value: &dyn Any) -> &'static [FieldRecord] {
        let variant = self.access.variant(value);
        let variant = variant.and_then(|variant| self.class.variants().get(variant));
        variant.map_or(self.class.fields(), |variant| variant.fields)
    }
}

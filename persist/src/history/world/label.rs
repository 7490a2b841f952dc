//! What changes of worlds and of fields are called.

use std::sync::Arc;

use crate::FieldPath;
use crate::fields::How;
use crate::history::{Label, Verb};
use crate::world::{Activity, Change, What};

impl Label {
    /// What a change of a field is called, perhaps one of an object of this name.
    fn of_field((path, how): (&FieldPath, &How), object: Option<&Arc<str>>) -> Self {
        let verb = match how {
            How::Set { .. } => Verb::Set,
            How::Insert { .. } => Verb::Insert,
            How::Remove { .. } => Verb::Remove,
            How::Move { .. } => Verb::Move,
        };
        Self::Change { verb, field: Some(path.clone()), object: object.cloned() }
    }

    /// What a change of a world is called.
    pub(in crate::history) fn of_change(change: &Change) -> Self {
        let of_class = |class: &str| Some(FieldPath::new(class.to_owned()));
        let (verb, field) = match &change.what {
            What::Field(field) => {
                return Self::of_field((&field.path, &field.how), change.name.as_ref());
            }
            What::Fields(fields) => return Self::of_field(fields.named(), change.name.as_ref()),
            What::Spawn(_) => (Verb::Create, None),
            What::Delete(_) => (Verb::Delete, None),
            What::Attach(detached) => (Verb::Attach, of_class(detached.class())),
            What::Detach(detached) => (Verb::Detach, of_class(detached.class())),
            What::Rename { .. } => (Verb::Rename, None),
            What::Move { .. } => (Verb::Reparent, None),
            What::Activity { new: Activity::Active, .. } => (Verb::Resume, None),
            What::Activity { .. } => (Verb::Pause, None),
        };
        let object = change.name.clone().filter(|name| !name.is_empty());
        Self::Change { verb, field, object }
    }
}

//! The steps of worlds, which are data, and the edits that make them.

mod component;
mod edit;
mod element;
mod fields;
mod foreign;
mod object;
mod pending;
mod place;
mod resource;
mod setting;
mod stored;
mod structure;

use std::rc::Rc;

pub(super) use foreign::Way;
pub(super) use stored::{Moment, StoredChange, StoredField, StoredWorldStep};

use super::{Label, Verb};
use crate::world::Owner;
use crate::{FieldPath, ObjectId, World};

/// The label of a change of an owner's class or field.
fn label(verb: Verb, field: Option<&FieldPath>, object: Option<&Rc<str>>) -> Label {
    Label::Change {
        verb,
        field: field.cloned(),
        object: object.filter(|name| !name.is_empty()).cloned(),
    }
}

/// The name of an object, for labels.
fn name_of(world: &World, owner: Owner) -> Option<Rc<str>> {
    match owner {
        Owner::Object(object) => world.shared_name(object),
        Owner::Resource => None,
    }
}

fn object_of(owner: Owner) -> Option<ObjectId> {
    match owner {
        Owner::Object(object) => Some(object),
        Owner::Resource => None,
    }
}

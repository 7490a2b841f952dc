//! The names of entries in lists and menus.

use std::fmt::{self, Display, Formatter};
use std::sync::Arc;

use crate::FieldPath;
use crate::fields::{AsText, FieldEdit, ObjectName};

/// The name of an entry in lists and menus.
///
/// It is a text of the program, or, where the program gives none, a description of what was done. The description is
/// data, so that a program can translate it. Its [`Display`] is English.
///
/// # Example
///
/// ```
/// use persist::history::Label;
///
/// let label = Label::from("Move door");
/// assert_eq!(label.to_string(), "Move door");
/// let label = Label::from("Move door by 3 to the left").action("Move door");
/// assert_eq!(label.action_text(), "Move door");
/// ```
#[derive(crate::Persist, Clone, Debug, Default, PartialEq, Eq)]
#[persist(crate = crate, class = "persist.Label")]
#[non_exhaustive]
pub enum Label {
    /// The program gave no label.
    #[default]
    None,
    /// A text of the program.
    Text {
        /// The text in a list of entries.
        #[persist(with = AsText)]
        text: Arc<str>,
        /// The text in a menu, after "Undo" and "Redo". If there is none, `text` is used.
        #[persist(with = "Option<AsText>")]
        action: Option<Arc<str>>,
    },
    /// A change of an object, of a component, a resource, or one of their fields.
    Change {
        /// The kind of the change.
        verb: Verb,
        /// The class or field that was changed.
        #[persist(with = "Option<AsText>")]
        field: Option<FieldPath>,
        /// The name of the object at that time. `None` for a resource.
        #[persist(with = "Option<AsText>")]
        object: Option<Arc<str>>,
    },
    /// Several changes.
    Several {
        /// The first of them.
        first: Box<Label>,
        /// The number of further changes.
        more: usize,
    },
}

/// The kind of a change, in a [`Label`] that the program did not give.
#[derive(crate::Persist, Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[persist(crate = crate, class = "persist.Verb")]
#[non_exhaustive]
pub enum Verb {
    /// A field was set.
    Set,
    /// An element was inserted into a list.
    Insert,
    /// An element was removed from a list.
    Remove,
    /// An element was moved within its list.
    Move,
    /// An object was created.
    Create,
    /// An object was removed.
    Delete,
    /// An object was renamed.
    Rename,
    /// An object was moved to another parent.
    Reparent,
    /// An object was paused.
    Pause,
    /// An object was resumed.
    Resume,
    /// A component or a resource was added.
    Attach,
    /// A component or a resource was removed.
    Detach,
}

impl Verb {
    /// Returns the verb for a change of a field.
    pub fn of_field(how: &FieldEdit) -> Self {
        match how {
            FieldEdit::Set { .. } => Self::Set,
            FieldEdit::Insert { .. } | FieldEdit::InsertKey { .. } => Self::Insert,
            FieldEdit::Remove { .. } | FieldEdit::RemoveKey { .. } => Self::Remove,
            FieldEdit::Move { .. } => Self::Move,
        }
    }
}

impl Label {
    /// Sets another text for menus, after "Undo" and "Redo".
    #[must_use]
    pub fn action(self, action: impl Into<Arc<str>>) -> Self {
        match self {
            Self::Text { text, .. } => Self::Text { text, action: Some(action.into()) },
            other => Self::Text { text: other.to_string().into(), action: Some(action.into()) },
        }
    }

    /// Returns the text for menus, after "Undo" and "Redo".
    #[must_use]
    pub fn action_text(&self) -> String {
        match self {
            Self::Text { action: Some(action), .. } => action.to_string(),
            other => other.to_string(),
        }
    }

    /// Returns true if the program gave no label.
    #[must_use]
    pub fn is_none(&self) -> bool {
        *self == Self::None
    }

    /// The label of a change of a field, and of the object with this name, if any.
    pub(super) fn of_field(verb: Verb, path: &FieldPath, object: Option<&ObjectName>) -> Self {
        Self::Change { verb, field: Some(path.clone()), object: object.map(ObjectName::name) }
    }

    /// The label in quotes, for a message. `instead` if there is none.
    pub(super) fn quoted(&self, instead: &str) -> String {
        match self {
            Self::None => instead.to_owned(),
            label => format!("`{label}`"),
        }
    }

    /// The label after a verb, for a menu.
    pub(super) fn after(&self, verb: &str) -> String {
        match self {
            Self::None => verb.to_owned(),
            label => format!("{verb} {}", label.action_text()),
        }
    }
}

/// An empty text gives [`Label::None`].
impl From<&str> for Label {
    fn from(text: &str) -> Self {
        if text.is_empty() { Self::None } else { Self::Text { text: text.into(), action: None } }
    }
}

impl From<String> for Label {
    fn from(text: String) -> Self {
        text.as_str().into()
    }
}

impl From<Arc<str>> for Label {
    fn from(text: Arc<str>) -> Self {
        Self::Text { text, action: None }
    }
}

impl Display for Verb {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

impl Display for Label {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => Ok(()),
            Self::Text { text, .. } => f.write_str(text),
            Self::Several { first, more } => write!(f, "{first} and {more} more"),
            Self::Change { verb, field, object } => {
                write!(f, "{verb}")?;
                if let Some(field) = field {
                    write!(f, " {}", field.dotted())?;
                }
                match object {
                    Some(object) if field.is_some() => write!(f, " of {object}"),
                    Some(object) => write!(f, " {object}"),
                    None => Ok(()),
                }
            }
        }
    }
}

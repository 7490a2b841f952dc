//! What entries are called.

use std::fmt::{self, Display, Formatter};
use std::sync::Arc;

use crate::FieldPath;
use crate::fields::{AsText, FieldEdit};
use crate::world::{Activity, Change, ChangeKind, ObjectName};

/// What an entry of a history is called in lists and menus.
///
/// A text of the program's, or, where it gives none, what was done: as data, for programs that put it into the user's words; its
/// [`Display`] is English.
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
    /// None was given.
    #[default]
    None,
    /// The program's own.
    Text {
        /// In a list of entries.
        #[persist(with = AsText)]
        text: Arc<str>,
        /// The text in a menu, after "Undo" and "Redo"; the label's own text if there is none.
        #[persist(with = "Option<AsText>")]
        action: Option<Arc<str>>,
    },
    /// Something was done to an object, its component or a field.
    Change {
        /// What.
        verb: Verb,
        /// To which class or field.
        #[persist(with = "Option<AsText>")]
        field: Option<FieldPath>,
        /// The name of the object at that time; none if it is a resource.
        #[persist(with = "Option<AsText>")]
        object: Option<Arc<str>>,
    },
    /// Several things were done.
    Several {
        /// The first of them.
        first: Box<Label>,
        /// How many besides.
        more: usize,
    },
}

/// What was done, where the program gave no [`Label`].
#[derive(crate::Persist, Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[persist(crate = crate, class = "persist.Verb")]
#[non_exhaustive]
pub enum Verb {
    /// A field was set.
    Set,
    /// An element was put into a list.
    Insert,
    /// An element was taken out of a list.
    Remove,
    /// An element was put to another place in its list.
    Move,
    /// An object was made.
    Create,
    /// An object was removed.
    Delete,
    /// An object got another name.
    Rename,
    /// An object was put below another one.
    Reparent,
    /// An object was paused.
    Pause,
    /// An object was resumed.
    Resume,
    /// A component or a resource was put in.
    Attach,
    /// A component or a resource was taken out.
    Detach,
}

impl Verb {
    pub(super) fn of_field(how: &FieldEdit) -> Self {
        match how {
            FieldEdit::Set { .. } => Self::Set,
            FieldEdit::Insert { .. } => Self::Insert,
            FieldEdit::Remove { .. } => Self::Remove,
            FieldEdit::Move { .. } => Self::Move,
        }
    }

    pub(super) fn of(change: &Change) -> Self {
        match &change.what {
            ChangeKind::Field(field) => Self::of_field(&field.how),
            ChangeKind::Fields(fields) => Self::of_field(fields.named().1),
            ChangeKind::Spawn(_) => Self::Create,
            ChangeKind::Delete(_) => Self::Delete,
            ChangeKind::Attach(_) => Self::Attach,
            ChangeKind::Detach(_) => Self::Detach,
            ChangeKind::Rename { .. } => Self::Rename,
            ChangeKind::Move { .. } => Self::Reparent,
            ChangeKind::Activity { new: Activity::Active, .. } => Self::Resume,
            ChangeKind::Activity { .. } => Self::Pause,
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

    /// The text after "Undo" and "Redo".
    #[must_use]
    pub fn action_text(&self) -> String {
        match self {
            Self::Text { action: Some(action), .. } => action.to_string(),
            other => other.to_string(),
        }
    }

    /// True if none was given.
    #[must_use]
    pub fn is_none(&self) -> bool {
        *self == Self::None
    }

    /// What a change of a field is called, perhaps one of an object of this name.
    pub(super) fn of_field(verb: Verb, path: &FieldPath, object: Option<&ObjectName>) -> Self {
        Self::Change { verb, field: Some(path.clone()), object: object.map(ObjectName::name) }
    }

    /// What a change of a world is called.
    pub(super) fn of_change(change: &Change) -> Self {
        let of_class = |class: &str| Some(FieldPath::new(class.to_owned()));
        let (verb, name) = (Verb::of(change), change.name.as_ref());
        let field = match &change.what {
            ChangeKind::Field(field) => return Self::of_field(verb, &field.path, name),
            ChangeKind::Fields(fields) => return Self::of_field(verb, fields.named().0, name),
            ChangeKind::Attach(detached) | ChangeKind::Detach(detached) => {
                of_class(detached.class())
            }
            _ => None,
        };
        let object = name.filter(|name| !name.is_empty()).map(ObjectName::name);
        Self::Change { verb, field, object }
    }

    /// In a message; this instead if there is none.
    pub(super) fn quoted(&self, instead: &str) -> String {
        match self {
            Self::None => instead.to_owned(),
            label => format!("`{label}`"),
        }
    }

    /// The text after a verb, for a menu.
    pub(super) fn behind(&self, verb: &str) -> String {
        match self {
            Self::None => verb.to_owned(),
            label => format!("{verb} {}", label.action_text()),
        }
    }
}

/// An empty text is none.
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

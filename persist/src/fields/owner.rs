//! [`Owner`]: the owner of the value that a path leads into.

#[cfg(feature = "world")]
use crate::Error;
use crate::ObjectId;

/// The owner of the component or resource that a path leads to.
#[derive(crate::Persist, Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[persist(crate = crate, class = "persist.Owner")]
pub enum Owner {
    /// A component of this object, of the path's class.
    Object(ObjectId),
    /// The resource of the path's class, or the target itself if it is not a world.
    Resource,
}

impl From<Option<ObjectId>> for Owner {
    fn from(object: Option<ObjectId>) -> Self {
        object.map_or(Self::Resource, Self::Object)
    }
}

impl Owner {
    /// Returns the object; `None` for a resource or another target.
    #[inline]
    pub fn object(self) -> Option<ObjectId> {
        match self {
            Self::Object(object) => Some(object),
            Self::Resource => None,
        }
    }
}

#[cfg(feature = "world")]
impl Owner {
    pub(crate) fn name(self, error: Error, class: &str) -> Error {
        self.locate(error.in_class(class))
    }

    pub(crate) fn locate(self, error: Error) -> Error {
        match self.object() {
            Some(object) => error.in_object(object.get()),
            None => error,
        }
    }
}

//! The place of an object among the children of its parent, for a save.

use hashbrown::HashMap;

use super::Object;
use crate::ObjectId;

/// Finds the indices of children. A save asks for them in the order of ids, which is mostly the order of siblings.
#[derive(Default)]
pub(super) struct SiblingIndex<'w> {
    /// The last parent and its children, with the place after the last child that was found.
    last: Option<(ObjectId, &'w [ObjectId], usize)>,
    /// The indices of children whose order differs from that of their ids, by parent. To search such a list for each
    /// child would take a pass over all siblings.
    unordered: HashMap<ObjectId, HashMap<ObjectId, u32>>,
}

/// Children of at most this many are searched one by one.
const FEW: usize = 64;

impl<'w> SiblingIndex<'w> {
    /// Returns the index of a child; `None` if the parent is not among the objects that are written, which `find` returns.
    #[inline]
    pub(super) fn find(
        &mut self,
        (child, parent): (ObjectId, ObjectId),
        find: impl Fn(ObjectId) -> Option<&'w Object>,
    ) -> Option<u32> {
        if let Some((last, children, next)) = &mut self.last
            && *last == parent
            && children.get(*next) == Some(&child)
        {
            *next += 1;
            return u32::try_from(*next - 1).ok();
        }
        self.search((child, parent), find)
    }

    #[inline(never)]
    fn search(
        &mut self,
        (child, parent): (ObjectId, ObjectId),
        find: impl Fn(ObjectId) -> Option<&'w Object>,
    ) -> Option<u32> {
        let children = match self.last {
            Some((last, children, _)) if last == parent => children,
            _ => &find(parent)?.children()[..],
        };
        let found = match children {
            [first, ..] if *first == child => Some(0),
            few if few.len() <= FEW => few.iter().position(|other| *other == child),
            // In a list without order, what this finds is right, and what it does not find may be there.
            many => many.binary_search(&child).ok(),
        };
        let index = match found {
            Some(index) => u32::try_from(index).ok()?,
            None => {
                let indices = || (0..).zip(children).map(|(index, child)| (*child, index));
                let known = self.unordered.entry(parent).or_insert_with(|| indices().collect());
                *known.get(&child)?
            }
        };
        self.last = Some((parent, children, index as usize + 1));
        Some(index)
    }
}

//! [`Children`]: the children of an object, in order.

use std::cell::{Cell, OnceCell};

use hashbrown::HashMap;

use crate::ObjectId;

/// An ordered list of objects.
///
/// Inserting or removing in the middle of a list moves the rest of it. If many children are moved in a row, the list is
/// converted to blocks, in which a move costs far less. The next read converts the blocks back to a list, in one pass.
#[derive(Default)]
pub struct Children {
    list: OnceCell<Vec<ObjectId>>,
    /// The blocks, if there is no list.
    blocks: Option<Box<Blocks>>,
    /// The number of passes over the list since it was last read.
    passes: Cell<u32>,
    /// The number of children, from the first on, that have kept their indices since the last
    /// [`take_moved`](Self::take_moved).
    unmoved: Cell<usize>,
}

/// Lists of at most this length are never converted: a pass over one takes about as long as a search in blocks.
const FEW: usize = 128;
/// The list is converted after this many passes, which cost about as much as the conversions to blocks and back.
const PASSES: u32 = 64;

impl From<Vec<ObjectId>> for Children {
    fn from(list: Vec<ObjectId>) -> Self {
        Self { list: list.into(), ..Self::default() }
    }
}

impl Children {
    /// Returns the children in order.
    pub fn list(&self) -> &Vec<ObjectId> {
        self.passes.set(0);
        self.list.get_or_init(|| self.blocks.as_ref().map_or_else(Vec::new, |blocks| blocks.list()))
    }

    pub(super) fn is_empty(&self) -> bool {
        match (self.list.get(), &self.blocks) {
            (Some(list), _) => list.is_empty(),
            (None, blocks) => blocks.as_ref().is_none_or(|blocks| blocks.by_id.is_empty()),
        }
    }

    /// Returns the index of a child.
    #[cfg(feature = "history")]
    pub fn position(&self, child: ObjectId) -> Option<usize> {
        match (self.list.get(), &self.blocks) {
            // Many children in a row may be removed from the end, which is not counted as a pass.
            (Some(list), _) if list.last() == Some(&child) => Some(list.len() - 1),
            (Some(list), _) => list.iter().position(|other| *other == child),
            (None, blocks) => blocks.as_ref()?.position(child),
        }
    }

    /// Returns the children that may have another index than at the last call.
    pub(super) fn take_moved(&self) -> &[ObjectId] {
        let unmoved = self.unmoved.replace(usize::MAX);
        if unmoved == usize::MAX {
            return &[];
        }
        self.list().get(unmoved..).unwrap_or_default()
    }

    /// Notes that the children from an index on move.
    fn note_moved(&mut self, index: usize) {
        self.unmoved.set(self.unmoved.get().min(index));
    }

    /// Inserts a child at an index; an index that is too large means the end.
    pub fn insert(&mut self, index: usize, child: ObjectId) {
        self.note_moved(index);
        match self.shape() {
            ChildList::List(list) if index >= list.len() => list.push(child),
            ChildList::List(list) => {
                list.insert(index, child);
                self.note_pass();
            }
            ChildList::Blocks(blocks) => blocks.insert(index, child),
        }
    }

    /// Removes a child, if it is one.
    pub fn remove(&mut self, child: ObjectId) {
        match self.shape() {
            // Removing a parent removes its children from the last to the first.
            ChildList::List(list) if list.last() == Some(&child) => drop(list.pop()),
            ChildList::List(list) => {
                if let Some(index) = list.iter().position(|other| *other == child) {
                    list.remove(index);
                    self.note_pass();
                    self.note_moved(index);
                }
            }
            ChildList::Blocks(blocks) => {
                blocks.remove(child);
                self.note_moved(0);
            }
        }
    }

    /// Returns the children in order, to change the list.
    pub(super) fn list_mut(&mut self) -> &mut Vec<ObjectId> {
        self.note_moved(0);
        self.list();
        self.blocks = None;
        self.list.get_mut().expect("it was made just now")
    }

    /// Returns the current representation. Blocks are dropped if the children have been read as a list since.
    fn shape(&mut self) -> ChildList<'_> {
        if self.list.get().is_some() {
            self.blocks = None;
        }
        match &mut self.blocks {
            Some(blocks) => ChildList::Blocks(blocks),
            None => {
                self.list.get_or_init(Vec::new);
                ChildList::List(self.list.get_mut().expect("it was made just now"))
            }
        }
    }

    /// Counts a pass over the list, and converts the list to blocks after many passes.
    fn note_pass(&mut self) {
        let passes = self.passes.get() + 1;
        self.passes.set(passes);
        if passes >= PASSES
            && self.list.get().is_some_and(|list| list.len() > FEW)
            && let Some(list) = self.list.take()
        {
            self.blocks = Some(Box::new(Blocks::new(&list)));
        }
    }
}

enum ChildList<'c> {
    List(&'c mut Vec<ObjectId>),
    Blocks(&'c mut Blocks),
}

/// Objects in blocks of some hundred. A search passes over the lengths of the blocks before, and then one block.
struct Blocks {
    blocks: Vec<Vec<ObjectId>>,
    /// The indices of the blocks in order; there is at least one block.
    order: Vec<usize>,
    by_id: HashMap<ObjectId, usize>,
}

/// The number of objects in a new block. A block with twice as many is split.
const BLOCK: usize = 512;

impl Blocks {
    fn new(list: &[ObjectId]) -> Self {
        let mut blocks: Vec<Vec<ObjectId>> = list.chunks(BLOCK).map(<[_]>::to_vec).collect();
        blocks.resize(blocks.len().max(1), Vec::new());
        let ids = blocks.iter().enumerate();
        let ids = ids.flat_map(|(at, block)| block.iter().map(move |id| (*id, at)));
        Self { by_id: ids.collect(), order: (0..blocks.len()).collect(), blocks }
    }

    fn list(&self) -> Vec<ObjectId> {
        self.order.iter().flat_map(|at| &self.blocks[*at]).copied().collect()
    }

    #[cfg(feature = "history")]
    fn position(&self, id: ObjectId) -> Option<usize> {
        let block = *self.by_id.get(&id)?;
        let previous = self.order.iter().take_while(|at| **at != block);
        let offset: usize = previous.map(|at| self.blocks[*at].len()).sum();
        Some(offset + self.blocks[block].iter().position(|other| *other == id)?)
    }

    fn insert(&mut self, mut index: usize, id: ObjectId) {
        let mut place = 0;
        while place + 1 < self.order.len() && index > self.blocks[self.order[place]].len() {
            index -= self.blocks[self.order[place]].len();
            place += 1;
        }
        let at = self.order[place];
        let block = &mut self.blocks[at];
        block.insert(index.min(block.len()), id);
        self.by_id.insert(id, at);
        if block.len() >= 2 * BLOCK {
            let half = block.split_off(BLOCK);
            let new = self.blocks.len();
            self.by_id.extend(half.iter().map(|id| (*id, new)));
            self.blocks.push(half);
            self.order.insert(place + 1, new);
        }
    }

    fn remove(&mut self, id: ObjectId) {
        let Some(at) = self.by_id.remove(&id) else { return };
        let block = &mut self.blocks[at];
        if let Some(index) = block.iter().position(|other| *other == id) {
            block.remove(index);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Children, FEW, PASSES};
    use crate::ObjectId;

    fn id(number: u64) -> ObjectId {
        ObjectId::new(number).expect("it is more than 0")
    }

    /// Compares random moves with those of a plain list, with reads in between.
    #[test]
    fn children_are_in_the_order_of_a_list_however_they_are_moved() {
        for (count, reads) in [(5, 7), (FEW as u64 * 3, 1), (FEW as u64 * 3, 10), (2_500, 2_000)] {
            let mut twin: Vec<ObjectId> = (1..=count).map(id).collect();
            let mut children = Children::from(twin.clone());
            let (mut random, mut next, mut blocks) = (count, count + 1, 0);
            for step in 0..6_000_usize {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(99);
                let (index, to) = ((random >> 40) as usize, (random >> 20) as usize & 0xFFFFF);
                let child = twin.get(index % twin.len().max(1)).copied();
                match (random >> 33) % 8 {
                    0 => {
                        next += 1;
                        let to = to % (twin.len() + 2);
                        twin.insert(to.min(twin.len()), id(next));
                        children.insert(to, id(next));
                    }
                    1 => {
                        twin.retain(|other| Some(*other) != child);
                        child.into_iter().for_each(|child| children.remove(child));
                        children.remove(id(next + 1));
                    }
                    _ => {
                        let Some(child) = child else { continue };
                        twin.retain(|other| *other != child);
                        children.remove(child);
                        let to = if to % 3 == 0 { 0 } else { to % (twin.len() + 1) };
                        twin.insert(to, child);
                        children.insert(to, child);
                        assert_eq!(children.position(child), Some(to));
                    }
                }
                blocks += usize::from(children.list.get().is_none());
                assert_eq!(children.is_empty(), twin.is_empty());
                assert_eq!(children.position(id(next + 1)), None);
                if step % reads == 0 {
                    assert_eq!(*children.list(), twin, "step {step} of {count}");
                }
                if step % 1_000 == 999 {
                    twin.retain(|child| child.get() % 7 > 0);
                    children.list_mut().retain(|child| child.get() % 7 > 0);
                }
            }
            assert_eq!(*children.list(), twin);
            let is_moved = twin.len() > FEW && reads > PASSES as usize;
            assert_eq!(blocks > 0, is_moved, "{count} children, read each {reads} steps");
        }
    }
}

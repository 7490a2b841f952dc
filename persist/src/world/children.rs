//! The objects right below an object.

use std::cell::{Cell, OnceCell};

use hashbrown::HashMap;

use crate::ObjectId;

/// Objects in an order, which are read as one list.
///
/// To put one in or take one out somewhere in a list costs a pass over it. Of many that are moved one after the other a tree is made, in which that costs
/// `log n`; when they are read next, the list is made anew, which costs one pass again.
#[derive(Default)]
pub(super) struct Children {
    list: OnceCell<Vec<ObjectId>>,
    /// Is there if the list is not.
    tree: Option<Box<Tree>>,
    /// How many passes over the list there were since it was read.
    passes: Cell<u32>,
}

/// A pass over so few costs about what a search in a tree does.
const FEW: usize = 128;
/// The number of passes that cost about as much as making a tree, and the list again.
const PASSES: u32 = 64;

impl From<Vec<ObjectId>> for Children {
    fn from(list: Vec<ObjectId>) -> Self {
        Self { list: list.into(), ..Self::default() }
    }
}

impl Children {
    /// All of them, in order.
    pub(super) fn list(&self) -> &Vec<ObjectId> {
        self.passes.set(0);
        self.list.get_or_init(|| self.tree.as_ref().map_or_else(Vec::new, |tree| tree.list()))
    }

    pub(super) fn is_empty(&self) -> bool {
        match (self.list.get(), &self.tree) {
            (Some(list), _) => list.is_empty(),
            (None, tree) => tree.as_ref().is_none_or(|tree| tree.len() == 0),
        }
    }

    /// The index of a child.
    pub(super) fn position(&self, child: ObjectId) -> Option<usize> {
        match (self.list.get(), &self.tree) {
            (Some(list), _) => list.iter().position(|other| *other == child),
            (None, tree) => tree.as_ref()?.position(child),
        }
    }

    /// Puts a child in at an index; one that is too large is the end.
    pub(super) fn insert(&mut self, index: usize, child: ObjectId) {
        match self.shape() {
            Shape::List(list) if index >= list.len() => list.push(child),
            Shape::List(list) => {
                list.insert(index, child);
                self.note_pass();
            }
            Shape::Tree(tree) => tree.insert(index, child),
        }
    }

    /// Takes a child out, if it is there.
    pub(super) fn remove(&mut self, child: ObjectId) {
        match self.shape() {
            // The last one is what a removal of the parent asks for.
            Shape::List(list) if list.last() == Some(&child) => drop(list.pop()),
            Shape::List(list) => {
                if let Some(index) = list.iter().position(|other| *other == child) {
                    list.remove(index);
                    self.note_pass();
                }
            }
            Shape::Tree(tree) => tree.remove(child),
        }
    }

    /// Keeps those for which this is so.
    pub(super) fn retain(&mut self, is_kept: impl FnMut(&ObjectId) -> bool) {
        self.list();
        if let Shape::List(list) = self.shape() {
            list.retain(is_kept);
        }
    }

    /// What they are in: a list, unless it has not been read since there is a tree.
    fn shape(&mut self) -> Shape<'_> {
        if self.list.get().is_some() {
            self.tree = None;
        }
        match &mut self.tree {
            Some(tree) => Shape::Tree(tree),
            None => {
                self.list.get_or_init(Vec::new);
                Shape::List(self.list.get_mut().expect("it was made just now"))
            }
        }
    }

    /// Switches to a tree after many passes.
    fn note_pass(&mut self) {
        let passes = self.passes.get() + 1;
        self.passes.set(passes);
        if passes >= PASSES
            && self.list.get().is_some_and(|list| list.len() > FEW)
            && let Some(list) = self.list.take()
        {
            self.tree = Some(Box::new(Tree::new(&list)));
        }
    }
}

enum Shape<'c> {
    List(&'c mut Vec<ObjectId>),
    Tree(&'c mut Tree),
}

/// Objects in the order of a search tree, which is balanced by giving each a random rank: those above it have larger ones.
struct Tree {
    nodes: Vec<Node>,
    /// Nodes that are not in use.
    free: Vec<usize>,
    by_id: HashMap<ObjectId, usize>,
    root: Option<usize>,
}

struct Node {
    id: ObjectId,
    above: Option<usize>,
    /// The children before it, and those after it.
    below: [Option<usize>; 2],
    /// How many there are from it down.
    count: usize,
}

const BEFORE: usize = 0;
const BEHIND: usize = 1;

impl Tree {
    fn new(list: &[ObjectId]) -> Self {
        let nodes = Vec::with_capacity(list.len());
        let by_id = HashMap::with_capacity(list.len());
        let mut tree = Self { nodes, free: Vec::new(), by_id, root: None };
        let mut last = None;
        for id in list {
            let new = tree.node(*id);
            // It is behind all others: below the last of these that has a larger rank, and above the rest of them.
            let mut rest = None;
            while let Some(at) = last.filter(|at| tree.rank(*at) < tree.rank(new)) {
                tree.count(at);
                (rest, last) = (Some(at), tree.nodes[at].above);
            }
            tree.put_below(new, BEFORE, rest);
            match last {
                Some(last) => tree.put_below(last, BEHIND, Some(new)),
                None => tree.root = Some(new),
            }
            last = Some(new);
        }
        while let Some(at) = last {
            tree.count(at);
            last = tree.nodes[at].above;
        }
        tree
    }

    fn len(&self) -> usize {
        self.count_of(self.root)
    }

    fn list(&self) -> Vec<ObjectId> {
        let mut list = Vec::with_capacity(self.len());
        let (mut rest, mut next) = (Vec::new(), self.root);
        loop {
            while let Some(at) = next {
                rest.push(at);
                next = self.nodes[at].below[BEFORE];
            }
            let Some(at) = rest.pop() else { return list };
            list.push(self.nodes[at].id);
            next = self.nodes[at].below[BEHIND];
        }
    }

    fn position(&self, id: ObjectId) -> Option<usize> {
        let mut at = *self.by_id.get(&id)?;
        let mut position = self.count_of(self.nodes[at].below[BEFORE]);
        while let Some(above) = self.nodes[at].above {
            if self.side_of(at, above) == BEHIND {
                position += self.count_of(self.nodes[above].below[BEFORE]) + 1;
            }
            at = above;
        }
        Some(position)
    }

    fn insert(&mut self, mut index: usize, id: ObjectId) {
        let new = self.node(id);
        let (mut above, mut next) = (None, self.root);
        while let Some(at) = next {
            self.nodes[at].count += 1;
            let before = self.count_of(self.nodes[at].below[BEFORE]);
            let side = usize::from(index > before);
            if side == BEHIND {
                index -= before + 1;
            }
            above = Some((at, side));
            next = self.nodes[at].below[side];
        }
        match above {
            Some((above, side)) => self.put_below(above, side, Some(new)),
            None => self.root = Some(new),
        }
        while let Some(above) = self.nodes[new].above.filter(|at| self.rank(*at) < self.rank(new)) {
            self.rotate(new, above);
        }
    }

    fn remove(&mut self, id: ObjectId) {
        let Some(gone) = self.by_id.remove(&id) else { return };
        // It sinks until nothing is below it.
        let higher = |tree: &Self| {
            tree.nodes[gone].below.into_iter().flatten().max_by_key(|at| tree.rank(*at))
        };
        while let Some(child) = higher(self) {
            self.rotate(child, gone);
        }
        let mut above = self.nodes[gone].above.take();
        match above {
            Some(above) => {
                let side = self.side_of(gone, above);
                self.nodes[above].below[side] = None;
            }
            None => self.root = None,
        }
        while let Some(at) = above {
            self.nodes[at].count -= 1;
            above = self.nodes[at].above;
        }
        self.free.push(gone);
    }

    /// A node that is nowhere.
    fn node(&mut self, id: ObjectId) -> usize {
        let node = Node { id, above: None, below: [None, None], count: 1 };
        let at = match self.free.pop() {
            Some(at) => {
                self.nodes[at] = node;
                at
            }
            None => {
                self.nodes.push(node);
                self.nodes.len() - 1
            }
        };
        self.by_id.insert(id, at);
        at
    }

    /// What balances the tree: a number that looks random, and is the same for the same id.
    fn rank(&self, at: usize) -> u64 {
        let id = self.nodes[at].id.get();
        let mixed = (id ^ (id >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB)
    }

    fn count_of(&self, at: Option<usize>) -> usize {
        at.map_or(0, |at| self.nodes[at].count)
    }

    fn count(&mut self, at: usize) {
        let [before, behind] = self.nodes[at].below;
        self.nodes[at].count = self.count_of(before) + 1 + self.count_of(behind);
    }

    fn side_of(&self, at: usize, above: usize) -> usize {
        usize::from(self.nodes[above].below[BEHIND] == Some(at))
    }

    fn put_below(&mut self, above: usize, side: usize, at: Option<usize>) {
        self.nodes[above].below[side] = at;
        if let Some(at) = at {
            self.nodes[at].above = Some(above);
        }
    }

    /// Puts a node in the place of the one above it, which comes below it; their order stays.
    fn rotate(&mut self, at: usize, above: usize) {
        let side = self.side_of(at, above);
        match self.nodes[above].above {
            Some(top) => {
                let of_top = self.side_of(above, top);
                self.put_below(top, of_top, Some(at));
            }
            None => {
                self.root = Some(at);
                self.nodes[at].above = None;
            }
        }
        let between = self.nodes[at].below[1 - side];
        self.put_below(above, side, between);
        self.put_below(at, 1 - side, Some(above));
        self.count(above);
        self.count(at);
    }
}

#[cfg(test)]
mod tests {
    use super::{Children, FEW, PASSES};
    use crate::ObjectId;

    fn id(number: u64) -> ObjectId {
        ObjectId::new(number).expect("it is more than 0")
    }

    /// Random moves, and a list beside them, which is read now and then.
    #[test]
    fn children_are_in_the_order_of_a_list_however_they_are_moved() {
        for (count, reads) in [(5, 7), (FEW as u64 * 3, 1), (FEW as u64 * 3, 10), (700, 300)] {
            let mut twin: Vec<ObjectId> = (1..=count).map(id).collect();
            let mut children = Children::from(twin.clone());
            let (mut random, mut next, mut trees) = (count, count + 1, 0);
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
                trees += usize::from(children.list.get().is_none());
                assert_eq!(children.is_empty(), twin.is_empty());
                assert_eq!(children.position(id(next + 1)), None);
                if step % reads == 0 {
                    assert_eq!(*children.list(), twin, "step {step} of {count}");
                }
                if step % 1_000 == 999 {
                    twin.retain(|child| child.get() % 7 > 0);
                    children.retain(|child| child.get() % 7 > 0);
                }
            }
            assert_eq!(*children.list(), twin);
            let is_moved = twin.len() > FEW && reads > PASSES as usize;
            assert_eq!(trees > 0, is_moved, "{count} children, read each {reads} steps");
        }
    }
}

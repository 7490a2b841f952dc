//! Worlds whose objects lie in pages, which are read page by page.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::{BTreeMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::rc::Rc;

use persist::{ObjectId, Record, Value};
use persist_tools::__private::{ChangedWorld, ObjectOutline, PageEntry};

use crate::exit::{Failure, Result};
use crate::input::Save;
use crate::path::Child;
use crate::values::{Hop, part, parts};
use crate::world::{self, Object, TreeNode, parent_of, path_of, record_of};

/// The field of a world with its objects.
pub(crate) const OBJECTS: &str = "objects";

/// The field of a world with the index of its pages, which is empty once the objects are in the world.
pub(crate) const PAGES: &str = "pages";

/// A world whose objects lie in pages.
pub(crate) struct PagedWorld {
    /// The object of the save in which the world is.
    holder: ObjectId,
    pub(crate) index: Vec<PageEntry>,
    /// The number of objects before each page, and of all.
    starts: Vec<usize>,
    tree: OnceCell<Option<Tree>>,
    /// The page that was read last.
    page: RefCell<Option<(usize, Rc<Vec<Value>>)>>,
}

/// Where the objects of a world are in its tree: 16 bytes for each object, and its name. Once children are asked for, 4
/// more for each of them.
pub(crate) struct Tree {
    /// The ids, less the first id of the page.
    ids: Vec<u32>,
    /// The places of the parents; [`NONE`] for root objects.
    parents: Vec<u32>,
    /// The indices among the children of the parents.
    indices: Vec<u32>,
    /// The places of the objects that have a parent, by their parents and indices.
    children: OnceCell<Vec<u32>>,
    names: String,
    /// The ends of the names.
    ends: Vec<u32>,
    /// The places of objects that may have the name of a sibling.
    ambiguous: HashSet<u32>,
    /// False if a program would refuse an id, a name, the components or the parent of an object.
    is_sound: bool,
}

const NONE: u32 = u32::MAX;

impl PagedWorld {
    /// Returns the world that a value is, if it was read without its objects.
    pub(crate) fn of(value: &Value, holder: ObjectId, save: &Save<'_>) -> Option<Self> {
        let index = record_of(value).and_then(|record| save.page_index(record))?;
        Some(Self::new(holder, index))
    }

    /// Returns a world that was read without its objects, on the way to a part of a value, and the number of hops to it.
    pub(crate) fn on_way(
        mut value: &Value,
        hops: &[Hop],
        holder: ObjectId,
        save: &Save<'_>,
    ) -> Option<(usize, Self)> {
        for (at, hop) in hops.iter().enumerate() {
            if let Some(world) = Self::of(value, holder, save) {
                return Some((at, world));
            }
            value = part(value, std::slice::from_ref(hop))?;
        }
        None
    }

    fn new(holder: ObjectId, index: Vec<PageEntry>) -> Self {
        let mut starts = vec![0];
        starts.extend(index.iter().scan(0, |objects, page| {
            *objects += page.objects as usize;
            Some(*objects)
        }));
        Self { holder, index, starts, tree: OnceCell::new(), page: RefCell::default() }
    }

    /// Returns the number of objects.
    pub(crate) fn len(&self) -> usize {
        self.starts.last().copied().unwrap_or(0)
    }

    /// Returns the number of the page that has the object at a place.
    fn page_of(&self, place: usize) -> usize {
        self.starts.partition_point(|start| *start <= place).saturating_sub(1)
    }

    /// Returns the page that begins at a place; `None` within a page.
    pub(crate) fn page_at(&self, place: usize) -> Option<&PageEntry> {
        self.index.get(self.starts.binary_search(&place).ok()?)
    }

    /// Reads the page with the object at a place. Returns its objects, and the place among them.
    pub(crate) fn page(
        &self,
        place: usize,
        save: &mut Save<'_>,
    ) -> Result<Option<(Rc<Vec<Value>>, usize)>> {
        let number = self.page_of(place);
        let Some(entry) = self.index.get(number) else { return Ok(None) };
        let known = self.page.borrow().clone().filter(|(known, _)| *known == number);
        let page = match known {
            Some((_, page)) => page,
            None => {
                let page = Rc::new(save.page_objects(self.holder, entry)?);
                self.page.replace(Some((number, page.clone())));
                page
            }
        };
        Ok(Some((page, place - self.starts[number])))
    }

    /// Reads the tree of the objects; `None` if they are of a form that this program does not know.
    pub(crate) fn tree(&self, save: &mut Save<'_>) -> Result<Option<&Tree>> {
        if self.tree.get().is_none() {
            let tree = self.read_tree(&BTreeMap::new(), u64::MAX, save)?;
            return Ok(self.tree.get_or_init(|| tree).as_ref());
        }
        Ok(self.tree.get().and_then(Option::as_ref))
    }

    /// Reads the tree as it is with new objects in some places. Ids up to the last one are right.
    fn read_tree(
        &self,
        new: &BTreeMap<usize, Value>,
        last_id: u64,
        save: &mut Save<'_>,
    ) -> Result<Option<Tree>> {
        let first = self.page(0, save)?;
        if first.is_none_or(|(page, _)| page.first().is_none_or(|it| Object::of(it).is_none())) {
            return Ok(None);
        }
        let mut builder = TreeBuilder::new(self, last_id);
        for (number, entry) in self.index.iter().enumerate() {
            let start = self.starts[number];
            if new.range(start..self.starts[number + 1]).next().is_none() {
                let mut add = |object: &ObjectOutline<'_>| builder.add(entry, object);
                if !save.page_outlines(self.holder, entry, &mut add)? {
                    return Ok(None);
                }
                continue;
            }
            for (place, old) in (start..).zip(save.page_objects(self.holder, entry)?) {
                let object = new.get(&place).unwrap_or(&old);
                let Some(object) = Object::of(object) else { return Ok(None) };
                builder.tree.is_sound &= world::duplicate(object.components).is_none();
                let (id, name, parent) = (object.id, object.name, parent_of(object.value));
                // The classes of these components were just compared.
                builder.add(entry, &ObjectOutline { id, name, parent, components: Vec::new() });
            }
        }
        Ok(builder.end())
    }

    /// Returns the names of the classes of all components.
    pub(crate) fn component_classes(&self, save: &mut Save<'_>) -> Result<HashSet<String>> {
        let mut classes = HashSet::new();
        for page in &self.index {
            let objects = save.page_objects(self.holder, page)?;
            let components = objects.iter().filter_map(Object::of).flat_map(|it| it.components);
            let names = components.filter_map(|it| Some(it.as_record()?.class().to_owned()));
            classes.extend(names);
        }
        Ok(classes)
    }

    /// Returns the place of an object.
    pub(crate) fn place(&self, tree: &Tree, id: u64) -> Option<usize> {
        let page = self.index.partition_point(|page| page.first <= id).checked_sub(1)?;
        let difference = u32::try_from(id - self.index[page].first).ok()?;
        let (start, end) = (self.starts[page], self.starts[page + 1].min(tree.ids.len()));
        let ids = tree.ids.get(start..end)?;
        // Most worlds have no gaps in the ids of a page.
        if ids.get(difference as usize) == Some(&difference) {
            return Some(start + difference as usize);
        }
        ids.binary_search(&difference).ok().map(|place| start + place)
    }

    /// Returns the id of the object at a place.
    pub(crate) fn id(&self, tree: &Tree, place: usize) -> u64 {
        self.index[self.page_of(place)].first + u64::from(tree.ids[place])
    }

    /// Returns the names from the root object to this one, as [`World::path`](crate::world::World::path) does.
    pub(crate) fn path(&self, tree: &Tree, place: usize) -> String {
        path_of(place, &|place| TreeNode {
            id: self.id(tree, place),
            name: Some(tree.name(place)).filter(|name| !name.is_empty() && tree.is_unique(place)),
            parent: tree.parent(place),
        })
    }

    /// Returns the places of the objects that a step leads to, from an object or the world.
    pub(crate) fn below(
        &self,
        parent: Option<usize>,
        child: &Child,
        save: &mut Save<'_>,
    ) -> Result<Vec<usize>> {
        let Some(tree) = self.tree(save)? else { return Ok(Vec::new()) };
        let all = 0..tree.ids.len();
        Ok(match (child, parent) {
            (Child::Id(id), _) => self.place(tree, *id).into_iter().collect(),
            (Child::Deep, None) => all.collect(),
            (Child::Deep, Some(parent)) => {
                let mut found: Vec<usize> = tree.children(parent).collect();
                let mut at = 0;
                while at < found.len() {
                    // A hostile save may have cycles; each object has one parent, so only the first is reached again.
                    found.extend(tree.children(found[at]).filter(|place| *place != parent));
                    at += 1;
                }
                found
            }
            (Child::All, None) => all.filter(|place| tree.parent(*place).is_none()).collect(),
            (Child::All, Some(parent)) => tree.children(parent).collect(),
            (Child::Named(name), None) => {
                let is_named = |place: &usize| tree.name(*place) == &**name;
                all.filter(|place| tree.parent(*place).is_none()).filter(is_named).collect()
            }
            (Child::Named(name), Some(parent)) => {
                tree.children(parent).filter(|place| tree.name(*place) == &**name).collect()
            }
        })
    }
}

impl Tree {
    pub(crate) fn parent(&self, place: usize) -> Option<usize> {
        let parent = self.parents[place];
        (parent != NONE).then_some(parent as usize)
    }

    /// Returns the index of the object at a place among the children of its parent.
    pub(crate) fn index(&self, place: usize) -> u32 {
        self.indices[place]
    }

    /// Returns the places of the children of an object, in their order.
    pub(crate) fn children(&self, parent: usize) -> impl Iterator<Item = usize> + '_ {
        let all = self.all_children();
        let start = all.partition_point(|child| (self.parents[*child as usize] as usize) < parent);
        let of_parent = move |place: &usize| self.parent(*place) == Some(parent);
        all[start..].iter().map(|child| *child as usize).take_while(of_parent)
    }

    fn all_children(&self) -> &[u32] {
        self.children.get_or_init(|| {
            // The end of the children of each parent, and of its previous siblings while they are put there.
            let mut ends = vec![0_u32; self.parents.len() + 1];
            let places = || (0..).zip(&self.parents).filter(|(_, parent)| **parent != NONE);
            for (_, parent) in places() {
                ends[*parent as usize + 1] += 1;
            }
            for parent in 1..ends.len() {
                ends[parent] += ends[parent - 1];
            }
            let mut children = vec![0; ends.last().map_or(0, |count| *count as usize)];
            for (place, parent) in places() {
                let end = &mut ends[*parent as usize];
                children[*end as usize] = place;
                *end += 1;
            }
            let is_sibling = |one: &u32, other: &u32| {
                self.parents[*one as usize] == self.parents[*other as usize]
            };
            for siblings in children.chunk_by_mut(is_sibling) {
                siblings.sort_unstable_by_key(|child| (self.indices[*child as usize], *child));
            }
            children
        })
    }

    /// Returns true if programs load such a tree. It may be false for one of them.
    fn is_sound(&self) -> bool {
        let mut previous = (NONE, 0);
        self.is_sound
            && !has_cycle(&self.parents)
            && self.all_children().iter().map(|child| *child as usize).all(|child| {
                let (parent, next) = previous;
                let index = if self.parents[child] == parent { next } else { 0 };
                previous = (self.parents[child], index + 1);
                self.indices[child] == index
            })
    }

    /// Returns the name that the object at a place has in the save.
    fn name(&self, place: usize) -> &str {
        let start = place.checked_sub(1).map_or(0, |previous| self.ends[previous]);
        self.names.get(start as usize..self.ends[place] as usize).unwrap_or_default()
    }

    /// Returns true if no sibling has the name of the object at a place.
    fn is_unique(&self, place: usize) -> bool {
        u32::try_from(place).is_ok_and(|place| !self.ambiguous.contains(&place))
    }
}

/// Builds the tree of a world from the outlines of its objects, in their order.
struct TreeBuilder<'w> {
    world: &'w PagedWorld,
    tree: Tree,
    /// The places of objects with the ids of their parents, which come later.
    later: Vec<(u32, u64)>,
    previous: u64,
    last_id: u64,
    /// False if some object has no place in the tree.
    is_known: bool,
}

impl<'w> TreeBuilder<'w> {
    fn new(world: &'w PagedWorld, last_id: u64) -> Self {
        let count = world.len();
        let tree = Tree {
            ids: Vec::with_capacity(count),
            parents: vec![NONE; count],
            indices: Vec::with_capacity(count),
            children: OnceCell::new(),
            names: String::new(),
            ends: Vec::with_capacity(count),
            ambiguous: HashSet::new(),
            is_sound: true,
        };
        Self { world, tree, later: Vec::new(), previous: 0, last_id, is_known: true }
    }

    fn add(&mut self, page: &PageEntry, object: &ObjectOutline<'_>) {
        let (tree, id) = (&mut self.tree, object.id);
        let place = u32::try_from(tree.ids.len()).ok().filter(|place| *place != NONE);
        tree.names.push_str(object.name);
        let numbers = (place, id.checked_sub(page.first).map(u32::try_from));
        let end = u32::try_from(tree.names.len());
        let index = u32::try_from(object.parent.map_or(0, |(_, index)| index));
        // Programs write ids in ascending order, by which objects are found here.
        let (Ok(end), Ok(index), (Some(place), Some(Ok(number)))) = (end, index, numbers) else {
            self.is_known = false;
            return;
        };
        self.is_known &= id > self.previous;
        tree.is_sound &= id <= self.last_id;
        self.previous = id;
        tree.ids.push(number);
        tree.indices.push(index);
        tree.ends.push(end);
        let classes = object.components.iter().enumerate();
        let is_duplicate = |(at, class)| object.components[..at].contains(class);
        tree.is_sound &= !classes.into_iter().any(is_duplicate);
        match object.parent {
            Some((parent, _)) if parent > id => self.later.push((place, parent)),
            Some((parent, _)) => self.put(place, parent),
            None => {}
        }
    }

    /// Enters the parent of the object at a place.
    fn put(&mut self, place: u32, parent: u64) {
        let parent = self.world.place(&self.tree, parent).and_then(|it| u32::try_from(it).ok());
        match parent.filter(|parent| *parent != place) {
            Some(parent) => self.tree.parents[place as usize] = parent,
            // It is removed, or the object itself.
            None => self.tree.is_sound = false,
        }
    }

    /// Returns the tree; `None` if the objects are found by reading all of them alone.
    fn end(mut self) -> Option<Tree> {
        for (place, parent) in std::mem::take(&mut self.later) {
            self.put(place, parent);
        }
        let tree = self.tree;
        if !self.is_known || tree.ids.len() != self.world.len() {
            return None;
        }
        // Each name belongs to one object in a world that a program loads.
        let hasher = RandomState::new();
        let named = || (0..tree.ids.len()).filter(|place| !tree.name(*place).is_empty());
        let by_name = |place: usize| hasher.hash_one(tree.name(place));
        if duplicates(named().map(by_name).collect()).is_empty() {
            return Some(tree);
        }
        let by_parent = |place: usize| hasher.hash_one((tree.parent(place), tree.name(place)));
        let twice = duplicates(named().map(by_parent).collect());
        let places = named().filter(|place| twice.contains(&by_parent(*place)));
        let ambiguous = places.filter_map(|place| u32::try_from(place).ok()).collect();
        Some(Tree { ambiguous, is_sound: false, ..tree })
    }
}

/// Returns the numbers that are there twice.
fn duplicates(mut numbers: Vec<u64>) -> HashSet<u64> {
    numbers.sort_unstable();
    numbers.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| pair[0]).collect()
}

/// Returns true if some objects are below themselves.
fn has_cycle(parents: &[u32]) -> bool {
    // Most parents come before their children.
    let comes_first =
        |(place, parent): (usize, &u32)| *parent == NONE || (*parent as usize) < place;
    if parents.iter().enumerate().all(comes_first) {
        return false;
    }
    // The number of the walk that has reached each object.
    let mut walks = vec![0_u32; parents.len()];
    for (walk, start) in (1..).zip(0..parents.len()) {
        let mut place = start;
        while walks[place] == 0 {
            walks[place] = walk;
            match parents[place] {
                NONE => break,
                parent => place = parent as usize,
            }
        }
        if walks[place] == walk && parents[place] != NONE {
            return true;
        }
    }
    false
}

/// Reads the objects of the worlds of one object as they are written elsewhere.
pub(crate) struct PageObjects<'p, 's> {
    holder: ObjectId,
    save: RefCell<&'p mut Save<'s>>,
    failure: Cell<Option<Failure>>,
}

/// Takes an object; returns whether to go on.
pub(crate) type TakeObject<'t> = dyn FnMut(&Value) -> bool + 't;

impl<'p, 's> PageObjects<'p, 's> {
    pub(crate) fn new(holder: ObjectId, save: &'p mut Save<'s>) -> Self {
        Self { holder, save: RefCell::new(save), failure: Cell::default() }
    }

    /// Returns the error with which an object could not be read.
    pub(crate) fn failure(&self) -> Option<Failure> {
        self.failure.take()
    }
}

impl ReadPages for PageObjects<'_, '_> {
    fn index(&self, record: &Record) -> Option<Vec<PageEntry>> {
        self.save.borrow().page_index(record)
    }

    fn each(&self, index: &[PageEntry], take: &mut TakeObject<'_>) -> bool {
        for page in index {
            match self.save.borrow_mut().page_objects(self.holder, page) {
                Ok(objects) if objects.iter().all(&mut *take) => {}
                Ok(_) => return false,
                Err(error) => {
                    self.failure.set(Some(error.into()));
                    return false;
                }
            }
        }
        true
    }
}

/// Reads the objects of worlds that were read without them.
pub(crate) trait ReadPages {
    /// Returns the index of a world that was read without its objects; `None` of any other value.
    fn index(&self, record: &Record) -> Option<Vec<PageEntry>>;

    /// Passes the objects of pages on; false if there is an error, or no more are to be passed.
    fn each(&self, index: &[PageEntry], take: &mut TakeObject<'_>) -> bool;
}

/// Returns the worlds without their objects in a value.
fn worlds<'v>(value: &'v Value, save: &Save<'_>) -> Vec<(&'v Record, Vec<PageEntry>)> {
    let (mut found, mut open) = (Vec::new(), vec![value]);
    while let Some(next) = open.pop() {
        match record_of(next).and_then(|record| Some((record, save.page_index(record)?))) {
            Some(world) => found.push(world),
            None => open.extend(parts(next).into_iter().map(|(_, part)| part)),
        }
    }
    found
}

/// Returns true if there is a world without its objects in a value.
pub(crate) fn has_pages(value: &Value, save: &Save<'_>) -> bool {
    !worlds(value, save).is_empty()
}

/// Returns true if programs load the worlds in a value. Worlds may have new objects, and may lack those in their pages.
/// It may be false for a world that programs load; [`world::check`] of the whole value is sure.
pub(crate) fn is_sound(
    value: &Value,
    holder: ObjectId,
    changed: &[ChangedWorld],
    save: &mut Save<'_>,
) -> Result<bool> {
    let is_right = |value: &Value| world::check(value, holder).is_ok();
    if !is_right(value) || !changed.iter().flat_map(|it| it.objects.values()).all(is_right) {
        return Ok(false);
    }
    for (record, index) in worlds(value, save) {
        let Some(last_id) = record.get("last_id").and_then(Value::as_u64) else { continue };
        let new = changed.iter().find(|world| world.index == index).map(|world| &world.objects);
        let (world, none) = (PagedWorld::new(holder, index), BTreeMap::new());
        let tree = world.read_tree(new.unwrap_or(&none), last_id, save)?;
        if !tree.is_some_and(|tree| tree.is_sound()) {
            return Ok(false);
        }
    }
    Ok(true)
}

//! Compares two saves, object by object and field by field.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use persist::reflect::HandleValue;
use persist::{ObjectId, Value};
use persist_tools::__private::{Position, SavedRecord};
use persist_tools::Entry;

use crate::exit::Result;
use crate::found::{each_object, holders};
use crate::input::Save;
use crate::paged::{self, PagedWorld, Tree};
use crate::values::key_text;
use crate::world::{Object, World, key_of};

/// How objects of two saves are paired.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum By {
    /// By their ids.
    #[default]
    Id,
    /// By class and name. Ids change when a program rebuilds its objects.
    Name,
}

/// An added or removed object, or a pair of objects that differ.
pub(crate) struct Difference<'d> {
    pub(crate) old: Option<&'d Entry>,
    pub(crate) new: Option<&'d Entry>,
    /// The parts that differ; empty unless this is a pair.
    pub(crate) changes: Vec<Change<'d>>,
}

/// A part of two objects that is not alike.
pub(crate) struct Change<'d> {
    /// The path of the part after the object.
    pub(crate) at: String,
    /// The class of the component that it is in, if it is in one.
    pub(crate) component: Option<Cow<'d, str>>,
    pub(crate) old: Option<Cow<'d, Value>>,
    pub(crate) new: Option<Cow<'d, Value>>,
}

impl Change<'_> {
    /// Copies the values, so that they stay when the objects that they are in are read over.
    fn into_owned(self) -> Change<'static> {
        let owned = |value: Cow<'_, Value>| Cow::Owned(value.into_owned());
        Change {
            at: self.at,
            component: self.component.map(|class| Cow::Owned(class.into_owned())),
            old: self.old.map(owned),
            new: self.new.map(owned),
        }
    }
}

/// Passes the differences of two saves to `visit`: pairs in the order of the old save, then new objects. It stops when
/// `visit` returns false.
///
/// Both saves are read record by record, and worlds page by page. Objects and pages whose bytes are equal are not
/// decoded.
pub(crate) fn compare(
    (old, new): (&mut Save<'_>, &mut Save<'_>),
    by: By,
    visit: &mut dyn FnMut(Difference<'_>) -> Result<bool>,
) -> Result<()> {
    let mut pairs = Pairs::of(old, new, by)?;
    // With other ids, equal bytes may be references to other objects.
    let is_same_class = if pairs.ids.is_empty() { same_classes(old, new) } else { Vec::new() };
    old.rewind();
    new.rewind();
    let mut reached = None;
    while let Some(record) = old.next_record()? {
        let Some(partner) = pairs.partner(&record, new)? else {
            let entry = old.entry()?;
            if !visit(Difference { old: entry.as_ref(), new: None, changes: Vec::new() })? {
                return Ok(());
            }
            continue;
        };
        // The partners are in the order of the new save, but for objects that have moved in it.
        while reached < Some(partner) {
            let Some(next) = new.next_record()? else { break };
            reached = Some(next.position);
        }
        let is_next = reached == Some(partner);
        let id = ObjectId::new(record.location.id).filter(|_| !record.location.is_kept());
        let class = record.location.class as usize;
        let other = if is_next {
            new.record().map(|other| (other.location.class as usize, other.payload))
        } else {
            new.payload_at(partner)?
        };
        if other == Some((class, record.payload)) && is_same_class.get(class) == Some(&true) {
            continue;
        }
        let is_paged = by == By::Id && id.is_some_and(|id| old.has_pages(id) && new.has_pages(id));
        if is_paged {
            let other = if is_next { new.head_entry()? } else { new.head_entry_at(partner)? };
            let (Some(entry), Some(other)) = (old.head_entry()?, other) else { continue };
            let is_same_page = is_same_class.iter().all(|is_same| *is_same);
            let mut pages =
                PagePairs { holder: entry.id(), old: &mut *old, new: &mut *new, is_same_page };
            if entry.class() == other.class()
                && let Some(changes) = pages.changes(&entry.value, &other.value)?
            {
                if !changes.is_empty()
                    && !visit(Difference { old: Some(&entry), new: Some(&other), changes })?
                {
                    return Ok(());
                }
                continue;
            }
        }
        let other = if is_next { new.entry()? } else { new.entry_at(partner)? };
        let (Some(entry), Some(other)) = (old.entry()?, other) else { continue };
        let changes = if entry.class() == other.class() {
            changes(&entry.value, &other.value, &pairs.ids, by)
        } else {
            let (old, new) = (Some(&entry.value), Some(&other.value));
            vec![Open::whole(old, new).change()]
        };
        if !changes.is_empty()
            && !visit(Difference { old: Some(&entry), new: Some(&other), changes })?
        {
            return Ok(());
        }
    }
    new.rewind();
    while let Some(record) = new.next_record()? {
        if pairs.is_added(&record, old) {
            let entry = new.entry()?;
            if !visit(Difference { old: None, new: entry.as_ref(), changes: Vec::new() })? {
                break;
            }
        }
    }
    Ok(())
}

/// Says of each class of the old save whether equal bytes of a value are equal values in both saves.
fn same_classes(old: &Save<'_>, new: &Save<'_>) -> Vec<bool> {
    let (old, new) = (old.classes(), new.classes());
    let same = old.iter().zip(new).take_while(|(old, new)| old == new).count();
    let others: Vec<bool> = (0..old.len()).map(|class| class >= same).collect();
    if same == old.len() && same == new.len() {
        return vec![true; same];
    }
    // Trait objects count as others, since they have the number of a class.
    holders(old, others).into_iter().map(|is_other| !is_other).collect()
}

/// The name that an object has in a field.
pub(crate) fn name(entry: &Entry) -> Option<&str> {
    entry.value.as_record()?.get("name")?.as_text()
}

/// The pairs of objects of two saves.
struct Pairs {
    by: By,
    /// The names of the classes of the old save.
    names: Vec<String>,
    /// The partners of the next records of the old save, by name. By id a partner is asked for when the record is
    /// reached.
    partners: VecDeque<Option<Position>>,
    /// The records of unknown content of the new save that are free, by id and class in their order.
    unknown: HashMap<(u64, String), VecDeque<Position>>,
    /// The records of the new save that have no partner; by id none of its objects.
    rest: HashSet<Position>,
    /// Old ids whose partners have others.
    ids: HashMap<ObjectId, ObjectId>,
}

impl Pairs {
    fn of(old: &mut Save<'_>, new: &mut Save<'_>, by: By) -> Result<Self> {
        let names = old.classes().iter().map(|class| class.name.clone()).collect();
        let (partners, unknown, rest) = (VecDeque::new(), HashMap::new(), HashSet::new());
        let mut pairs = Self { by, names, partners, unknown, rest, ids: HashMap::new() };
        match by {
            By::Name => pairs.find_by_name(old, new)?,
            By::Id if new.counts().kept > 0 => pairs.find_unknown(new)?,
            By::Id => {}
        }
        Ok(pairs)
    }

    /// Finds the partners by class and name. Objects with equal names are paired in their order.
    fn find_by_name(&mut self, old: &mut Save<'_>, new: &mut Save<'_>) -> Result<()> {
        let key = |entry: &Entry| {
            (entry.class().to_owned(), entry.is_kept(), name(entry).map(str::to_owned))
        };
        let mut free: HashMap<_, VecDeque<(ObjectId, Position)>> = HashMap::new();
        each_object(new, &mut |found| {
            let object = (found.object.id(), found.position);
            free.entry(key(found.object)).or_default().push_back(object);
            Ok(true)
        })?;
        each_object(old, &mut |found| {
            let entry = found.object;
            let partner = free.get_mut(&key(entry)).and_then(VecDeque::pop_front);
            if let Some((other, _)) = partner.filter(|(other, _)| *other != entry.id())
                && !entry.is_kept()
            {
                self.ids.insert(entry.id(), other);
            }
            self.partners.push_back(partner.map(|(_, position)| position));
            Ok(true)
        })?;
        self.rest = free.into_values().flatten().map(|(_, position)| position).collect();
        Ok(())
    }

    /// Finds the records of unknown content. An object may have several.
    fn find_unknown(&mut self, new: &mut Save<'_>) -> Result<()> {
        let names: Vec<String> = new.classes().iter().map(|class| class.name.clone()).collect();
        new.rewind();
        while let Some(record) = new.next_record()? {
            if record.location.is_kept() {
                let key = (record.location.id, names[record.location.class as usize].clone());
                self.unknown.entry(key).or_default().push_back(record.position);
                self.rest.insert(record.position);
            }
        }
        Ok(())
    }

    /// Returns the partner of the next record of the old save. The partner of an object by its id may have another
    /// class: unknown once, or rebuilt by the program.
    fn partner(
        &mut self,
        record: &SavedRecord<'_>,
        new: &mut Save<'_>,
    ) -> Result<Option<Position>> {
        let location = &record.location;
        if self.by == By::Name {
            return Ok(self.partners.pop_front().flatten());
        }
        if location.is_kept() {
            let key = (location.id, self.names[location.class as usize].clone());
            let partner = self.unknown.get_mut(&key).and_then(VecDeque::pop_front);
            if let Some(partner) = &partner {
                self.rest.remove(partner);
            }
            return Ok(partner);
        }
        Ok(ObjectId::new(location.id).map(|id| new.position(id)).transpose()?.flatten())
    }

    /// True for a record of the new save that has no partner, once all records of the old save have theirs.
    fn is_added(&self, record: &SavedRecord<'_>, old: &Save<'_>) -> bool {
        let is_object = !record.location.is_kept();
        match ObjectId::new(record.location.id) {
            Some(id) if self.by == By::Id && is_object => old.kind_of(id).is_none(),
            _ => self.rest.contains(&record.position),
        }
    }
}

/// Two values that are to be compared, and where they are.
struct Open<'d> {
    at: String,
    component: Option<&'d str>,
    old: Option<&'d Value>,
    new: Option<&'d Value>,
    /// The old ids of the world that they are in, with the new ones.
    world: Option<std::rc::Rc<HashMap<u64, u64>>>,
}

/// The parts of two values of one save that are not alike.
pub(crate) fn parts<'d>(old: &'d Value, new: &'d Value) -> Vec<Change<'d>> {
    changes(old, new, &HashMap::new(), By::Id)
}

/// The parts of two values that are not alike, but for these ids.
fn changes<'d>(
    old: &'d Value,
    new: &'d Value,
    ids: &HashMap<ObjectId, ObjectId>,
    by: By,
) -> Vec<Change<'d>> {
    changes_of(vec![Open::whole(Some(old), Some(new))], ids, by)
}

/// Returns the parts that differ of pairs of values. The last pair is compared first.
fn changes_of<'d>(
    mut open: Vec<Open<'d>>,
    ids: &HashMap<ObjectId, ObjectId>,
    by: By,
) -> Vec<Change<'d>> {
    let mut found = Vec::new();
    while let Some(next) = open.pop() {
        found.extend(next.compare(ids, by, &mut open));
    }
    found
}

/// The pages of two saves with one object, in whose worlds they are.
struct PagePairs<'p, 's, 'n> {
    holder: ObjectId,
    old: &'p mut Save<'s>,
    new: &'p mut Save<'n>,
    /// True if equal bytes of two pages are equal values.
    is_same_page: bool,
}

impl PagePairs<'_, '_, '_> {
    /// The parts of two values that are not alike, which were read without the objects in pages. Returns `None` if the
    /// whole values are needed.
    fn changes(&mut self, old: &Value, new: &Value) -> Result<Option<Vec<Change<'static>>>> {
        let (mut found, ids) = (Vec::new(), HashMap::new());
        let mut open = vec![Open::whole(Some(old), Some(new))];
        while let Some(next) = open.pop() {
            let one = next.old.and_then(|it| PagedWorld::of(it, self.holder, self.old));
            let other = next.new.and_then(|it| PagedWorld::of(it, self.holder, self.new));
            let is_same = self.is_same_page && next.old == next.new;
            match (one, other) {
                _ if is_same => {}
                (Some(one), Some(other)) => {
                    if !self.compare_worlds(&next, (&one, &other), &mut found)? {
                        return Ok(None);
                    }
                    let worlds = [next.old, next.new].map(|world| world.and_then(World::of));
                    if let [Some(one), Some(other)] = &worlds {
                        let start = open.len();
                        next.by_class(&next.at, one.resources, other.resources, &mut open);
                        open[start..].reverse();
                    }
                }
                (None, None) if self.has_pages(&next) => {
                    let start = open.len();
                    let is_in_parts = match (next.old, next.new) {
                        (Some(old), Some(new)) => next.parts(old, new, (&ids, By::Id), &mut open),
                        _ => false,
                    };
                    if !is_in_parts {
                        return Ok(None);
                    }
                    open[start..].reverse();
                }
                (None, None) => {
                    found.extend(
                        changes_of(vec![next], &ids, By::Id).into_iter().map(Change::into_owned),
                    );
                }
                _ => return Ok(None),
            }
        }
        Ok(Some(found))
    }

    fn has_pages(&self, pair: &Open<'_>) -> bool {
        pair.old.is_some_and(|old| paged::has_pages(old, self.old))
            || pair.new.is_some_and(|new| paged::has_pages(new, self.new))
    }

    /// Adds the differences of the objects of two worlds. Returns false if the worlds are compared as wholes.
    fn compare_worlds(
        &mut self,
        worlds: &Open<'_>,
        (old, new): (&PagedWorld, &PagedWorld),
        found: &mut Vec<Change<'static>>,
    ) -> Result<bool> {
        let (mut added, mut reordered) = (Vec::new(), HashMap::new());
        let (mut place, mut other_place) = (0, 0);
        while place < old.len() || other_place < new.len() {
            if self.is_same_page
                && let Some(one) = old.page_at(place)
                && let Some(other) = new.page_at(other_place)
                && (one.first, one.objects, one.digest)
                    == (other.first, other.objects, other.digest)
            {
                place += one.objects as usize;
                other_place += other.objects as usize;
                continue;
            }
            let pages = (old.page(place, self.old)?, new.page(other_place, self.new)?);
            let one = pages.0.as_ref().map(|(page, at)| &page[*at]);
            let other = pages.1.as_ref().map(|(page, at)| &page[*at]);
            let id = |object: Option<&Value>| object?.as_record()?.get("id")?.as_u64();
            let ids = (id(one), id(other));
            let (is_old, is_new) = match ids {
                (Some(one), Some(other)) => (one <= other, other <= one),
                (one, other) => (one.is_some(), other.is_some()),
            };
            if !is_old && !is_new {
                return Ok(false);
            }
            if !(is_old && is_new && one == other) {
                // The paths, and an order of ids by which objects are found.
                let trees = (old.tree(self.old)?, new.tree(self.new)?);
                let (Some(tree), Some(new_tree)) = trees else { return Ok(false) };
                let mut open = Vec::new();
                let path = match is_new {
                    true => new.path(new_tree, other_place),
                    false => old.path(tree, place),
                };
                let at = format!("{}{path}", worlds.at);
                let inside = worlds.part(at, one.filter(|_| is_old), other.filter(|_| is_new));
                match (inside.old.and_then(Object::of), inside.new.and_then(Object::of)) {
                    (Some(one), Some(other)) => {
                        let objects = Objects { world: old, tree };
                        let others = Objects { world: new, tree: new_tree };
                        let parent = objects.parent(place);
                        let moved = match parent {
                            _ if parent != others.parent(other_place) => Some(Move::Parent),
                            // Most indices change because a sibling is new or removed, which is no move.
                            Some(parent) if tree.index(place) != new_tree.index(other_place) => {
                                let is_reordered = reordered
                                    .entry(parent)
                                    .or_insert_with(|| objects.is_reordered(&others, parent));
                                is_reordered.then_some(Move::Index)
                            }
                            _ => None,
                        };
                        inside.object(&inside.at, moved, (&one, &other), &mut open);
                        open.reverse();
                    }
                    _ => open.push(inside),
                }
                let changes = changes_of(open, &HashMap::new(), By::Id);
                let changes = changes.into_iter().map(Change::into_owned);
                if is_old { found.extend(changes) } else { added.extend(changes) }
            }
            place += usize::from(is_old);
            other_place += usize::from(is_new);
        }
        found.append(&mut added);
        Ok(true)
    }
}

/// The tree of a world in pages.
struct Objects<'t> {
    world: &'t PagedWorld,
    tree: &'t Tree,
}

impl Objects<'_> {
    /// Returns the parent of the object at a place.
    fn parent(&self, place: usize) -> Option<u64> {
        self.tree.parent(place).map(|parent| self.world.id(self.tree, parent))
    }

    fn is_child(&self, id: u64, parent: u64) -> bool {
        self.world.place(self.tree, id).and_then(|place| self.parent(place)) == Some(parent)
    }

    fn children(&self, parent: u64) -> impl Iterator<Item = u64> {
        let parent = self.world.place(self.tree, parent).into_iter();
        let children = parent.flat_map(|parent| self.tree.children(parent));
        children.map(|child| self.world.id(self.tree, child))
    }

    /// Returns true if the children that an object has in both worlds are in another order in the other one.
    fn is_reordered(&self, other: &Self, parent: u64) -> bool {
        let stayed = self.children(parent).filter(|child| other.is_child(*child, parent));
        !stayed.eq(other.children(parent).filter(|child| self.is_child(*child, parent)))
    }
}

/// How an object has moved in the tree of its world.
#[derive(Clone, Copy)]
enum Move {
    /// It has another parent.
    Parent,
    /// It has another place among the children of its parent.
    Index,
}

impl<'d> Open<'d> {
    /// Two whole objects.
    fn whole(old: Option<&'d Value>, new: Option<&'d Value>) -> Self {
        Self { at: String::new(), component: None, old, new, world: None }
    }

    fn change(self) -> Change<'d> {
        let [old, new] = [self.old, self.new].map(|value| value.map(Cow::Borrowed));
        Change { at: self.at, component: self.component.map(Cow::Borrowed), old, new }
    }

    /// Compares the values: if they are not alike, their parts are to be compared next, or they are a change.
    fn compare(
        self,
        ids: &HashMap<ObjectId, ObjectId>,
        by: By,
        open: &mut Vec<Self>,
    ) -> Option<Change<'d>> {
        let (Some(old), Some(new)) = (self.old, self.new) else { return Some(self.change()) };
        if is_same(old, new, ids, self.world.as_deref()) {
            return None;
        }
        let start = open.len();
        let is_in_parts = self.parts(old, new, (ids, by), open);
        open[start..].reverse();
        if is_in_parts { None } else { Some(self.change()) }
    }

    fn part(&self, at: String, old: Option<&'d Value>, new: Option<&'d Value>) -> Self {
        Self { at, old, new, component: self.component, world: self.world.clone() }
    }

    /// Adds the parts of two values; false if they are compared as wholes.
    fn parts(
        &self,
        old: &'d Value,
        new: &'d Value,
        (ids, by): (&HashMap<ObjectId, ObjectId>, By),
        open: &mut Vec<Self>,
    ) -> bool {
        match (old, new) {
            (Value::Option(Some(old)), Value::Option(Some(new))) => {
                open.push(self.part(self.at.clone(), Some(old), Some(new)));
            }
            (Value::Struct(one), Value::Struct(other)) if one.class() == other.class() => {
                match (World::of(old), World::of(new)) {
                    (Some(one), Some(other)) => self.worlds(&one, &other, by, open),
                    _ => self.fields(one, other, open),
                }
            }
            (Value::Enum(one), Value::Enum(other))
                if one.class() == other.class() && one.variant() == other.variant() =>
            {
                self.fields(one, other, open);
            }
            (Value::Map(one), Value::Map(other)) => self.entries(one, other, open),
            (Value::Seq(one), Value::Seq(other)) | (Value::Tuple(one), Value::Tuple(other)) => {
                self.items(one, other, ids, open);
            }
            _ => return false,
        }
        true
    }

    fn fields(&self, old: &'d persist::Record, new: &'d persist::Record, open: &mut Vec<Self>) {
        let at = |name: &str| {
            let mut at = self.at.clone();
            crate::path::push_name(&mut at, name);
            at
        };
        open.extend(
            old.fields().map(|(name, value)| self.part(at(name), Some(value), new.get(name))),
        );
        let is_new = |(name, _): &(&str, &Value)| old.get(name).is_none();
        let added = new.fields().filter(is_new);
        open.extend(added.map(|(name, value)| self.part(at(name), None, Some(value))));
    }

    fn entries(&self, old: &'d [(Value, Value)], new: &'d [(Value, Value)], open: &mut Vec<Self>) {
        let mut by_key: BTreeMap<String, &'d Value> =
            new.iter().map(|(key, value)| (key_text(key), value)).collect();
        for (key, value) in old {
            let other = by_key.remove(&key_text(key));
            open.push(self.part(format!("{}[{key}]", self.at), Some(value), other));
        }
        let is_added = |key: &Value| by_key.contains_key(&key_text(key));
        let added = new.iter().filter(|(key, _)| is_added(key));
        open.extend(
            added.map(|(key, value)| self.part(format!("{}[{key}]", self.at), None, Some(value))),
        );
    }

    /// Pairs the elements of two lists: those that both begin and end with, then the others in their order.
    fn items(
        &self,
        old: &'d [Value],
        new: &'d [Value],
        ids: &HashMap<ObjectId, ObjectId>,
        open: &mut Vec<Self>,
    ) {
        let same =
            |(one, other): &(&Value, &Value)| is_same(one, other, ids, self.world.as_deref());
        let start = old.iter().zip(new).take_while(same).count();
        let ends = old[start..].iter().rev().zip(new[start..].iter().rev());
        let end = if old.len() == new.len() { 0 } else { ends.take_while(same).count() };
        let (old_end, new_end) = (old.len() - end, new.len() - end);
        for at in start..old_end.max(new_end) {
            let old = old[..old_end].get(at);
            open.push(self.part(format!("{}[{at}]", self.at), old, new[..new_end].get(at)));
        }
    }

    /// Pairs objects of two worlds by their ids or names, components and resources by their classes.
    fn worlds(&self, old: &World<'d>, new: &World<'d>, by: By, open: &mut Vec<Self>) {
        let paths: HashMap<String, usize> = match by {
            By::Name => (0..new.objects.len()).map(|place| (new.path(place), place)).collect(),
            By::Id => HashMap::new(),
        };
        let partner = |place: usize| match by {
            By::Id => new.place(old.objects[place].id),
            By::Name => paths.get(&old.path(place)).copied(),
        };
        let partners: Vec<Option<usize>> = (0..old.objects.len()).map(partner).collect();
        let pairs = old.objects.iter().zip(&partners);
        let moved: HashMap<u64, u64> = pairs
            .filter_map(|(object, partner)| Some((object.id, new.objects[(*partner)?].id)))
            .filter(|(old, new)| old != new)
            .collect();
        let inside = Self {
            world: (!moved.is_empty()).then(|| std::rc::Rc::new(moved)),
            ..self.part(self.at.clone(), None, None)
        };
        // Added and removed objects are reported by themselves. Among the others, a move is another parent or another
        // place there.
        let pairs = old.objects.iter().zip(&partners);
        let stayed = pairs.filter_map(|(object, partner)| {
            let parent = object.parent.map(|parent| partners[parent]);
            let other = &new.objects[(*partner)?];
            (parent == other.parent.map(Some)).then_some(other.id)
        });
        let stayed: HashSet<u64> = stayed.collect();
        let has_new_order = |parent: usize, partner: usize| {
            let stays = |child: &u64| stayed.contains(child);
            let partner_of = |child: &u64| Some(new.objects[partners[old.place(*child)?]?].id);
            let children = old.objects[parent].children.iter().filter_map(partner_of);
            let others = new.objects[partner].children.iter().copied();
            !children.filter(stays).eq(others.filter(stays))
        };
        let reordered: HashSet<usize> = partners
            .iter()
            .enumerate()
            .filter_map(|(parent, partner)| partner.filter(|other| has_new_order(parent, *other)))
            .collect();
        let mut is_seen = vec![false; new.objects.len()];
        for (place, (object, partner)) in old.objects.iter().zip(&partners).enumerate() {
            let Some(partner) = *partner else {
                let at = format!("{}{}", self.at, old.path(place));
                open.push(inside.part(at, Some(object.value), None));
                continue;
            };
            is_seen[partner] = true;
            // The path in the new world.
            let at = format!("{}{}", self.at, new.path(partner));
            let other = &new.objects[partner];
            let moved = match other.parent {
                _ if !stayed.contains(&other.id) => Some(Move::Parent),
                Some(parent) if reordered.contains(&parent) => Some(Move::Index),
                _ => None,
            };
            inside.object(&at, moved, (object, other), open);
        }
        for (place, object) in new.objects.iter().enumerate().filter(|(place, _)| !is_seen[*place])
        {
            let at = format!("{}{}", self.at, new.path(place));
            open.push(inside.part(at, None, Some(object.value)));
        }
        inside.by_class(&self.at, old.resources, new.resources, open);
    }

    /// Adds the parts of two objects of worlds that are a pair.
    fn object(
        &self,
        at: &str,
        moved: Option<Move>,
        (object, other): (&Object<'d>, &Object<'d>),
        open: &mut Vec<Self>,
    ) {
        let (one, two) = (object.value.as_record(), other.value.as_record());
        if let (Some(one), Some(two)) = (one, two) {
            for name in ["name", "activity"] {
                open.push(self.part(format!("{at}.{name}"), one.get(name), two.get(name)));
            }
            let parents = [one, two].map(|object| object.get("parent"));
            let (field, [old, new]) = match moved {
                Some(Move::Parent) => (".parent", parents),
                Some(Move::Index) => (".parent.index", parents.map(index_of)),
                None => ("", [None, None]),
            };
            open.extend(moved.map(|_| self.part(format!("{at}{field}"), old, new)));
        }
        self.by_class(at, object.components, other.components, open);
    }

    fn by_class(&self, at: &str, old: &'d [Value], new: &'d [Value], open: &mut Vec<Self>) {
        let class = |value: &'d Value| value.as_record().map_or("", |record| record.class());
        let part = |value: &'d Value, old, new| {
            let class = class(value);
            let at = format!("{at}:{}", crate::path::component_text(class));
            Self { component: Some(class), ..self.part(at, old, new) }
        };
        let mut others: HashMap<_, &'d Value> = new.iter().map(|it| (key_of(it), it)).collect();
        for value in old {
            open.push(part(value, Some(value), others.remove(&key_of(value))));
        }
        let added = new.iter().filter(|value| others.contains_key(&key_of(value)));
        open.extend(added.map(|value| part(value, None, Some(value))));
    }
}

/// Returns the index in a parent.
fn index_of(parent: Option<&Value>) -> Option<&Value> {
    match parent? {
        Value::Option(Some(parent)) => parent.as_record()?.get("index"),
        _ => None,
    }
}

/// True if two values are alike but for ids that are not the same in both saves.
fn is_same(
    old: &Value,
    new: &Value,
    ids: &HashMap<ObjectId, ObjectId>,
    world: Option<&HashMap<u64, u64>>,
) -> bool {
    if ids.is_empty() && world.is_none() {
        return old == new;
    }
    let mut open = vec![(old, new)];
    while let Some((old, new)) = open.pop() {
        let is_same = match (old, new) {
            (Value::Ref(Some(old)), Value::Ref(Some(new))) => ids.get(old).unwrap_or(old) == new,
            (Value::Handle(HandleValue::Live(old)), Value::Handle(HandleValue::Live(new))) => {
                world.and_then(|world| world.get(old)).unwrap_or(old) == new
            }
            (Value::Option(Some(old)), Value::Option(Some(new))) => {
                open.push((old, new));
                true
            }
            (Value::Seq(old), Value::Seq(new)) | (Value::Tuple(old), Value::Tuple(new)) => {
                open.extend(old.iter().zip(new));
                old.len() == new.len()
            }
            (Value::Map(old), Value::Map(new)) => {
                let pairs = old.iter().zip(new);
                open.extend(pairs.flat_map(|((a, b), (c, d))| [(a, c), (b, d)]));
                old.len() == new.len()
            }
            (Value::Struct(old), Value::Struct(new)) | (Value::Enum(old), Value::Enum(new)) => {
                let pairs = old.fields().zip(new.fields());
                let is_same = |((one, _), (other, _)): ((&str, _), (&str, _))| one == other;
                let has_same_names = old.fields().zip(new.fields()).all(is_same);
                open.extend(pairs.map(|((_, old), (_, new))| (old, new)));
                old.class() == new.class()
                    && old.variant() == new.variant()
                    && old.len() == new.len()
                    && has_same_names
            }
            (old, new) => old == new,
        };
        if !is_same {
            return false;
        }
    }
    true
}

//! [`Snapshot`]: the state of a world in memory.
//!
//! A snapshot has the blocks of each column: their values as bytes, or a copy of their objects. The marks of the columns
//! say which blocks are as the last snapshot has them. A new snapshot shares those, and a restore leaves them alone.

use std::collections::VecDeque;
use std::fmt;
use std::iter::Peekable;
use std::slice;
use std::sync::{Arc, Weak};

use crate::codec::{AsTrait, BoxOf, Buffer, Decoder, Encoder, Fail, TraitObject as _, Unknown};
use crate::fields::{FieldLinks, after_load};
use crate::world::column::{BLOCK, BLOCKS, BlockMask, Occupancy, Page};
use crate::world::resources::AnyResource;
use crate::world::{Activity, ColumnEntry, Location, Object, Shape, UnknownEntry, World};
use crate::{ErrorKind, ObjectId, Result};

/// The state of a [`World`] at one moment, which [`World::restore`] brings back.
///
/// It is for the program that took it, and for the world that it was taken of. A clone shares its memory, and it can be
/// sent to other threads.
#[derive(Clone)]
pub struct Snapshot(Arc<SnapshotState>);

#[derive(Default)]
pub(in crate::world) struct SnapshotState {
    /// The identity of the world.
    world: u64,
    last_id: u64,
    objects: ColumnBlocks<Vec<ObjectCopy>>,
    /// The encoded components of each column.
    columns: Vec<ColumnBlocks<Box<[u8]>>>,
    /// The encoded resources, each with its class.
    resources: Vec<(String, Arc<[u8]>)>,
    unknown: Vec<Unknown>,
    waiting: Vec<ObjectId>,
    expired: VecDeque<ObjectId>,
}

/// The blocks of a column that have values, in ascending order.
type ColumnBlocks<C> = Vec<BlockEntry<C>>;

/// A block, after its first id divided by [`BLOCK`].
type BlockEntry<C> = (u64, Arc<ColumnBlock<C>>);

struct ColumnBlock<C> {
    mask: BlockMask,
    content: C,
}

/// An object without its components. Its shape is an index that stays valid in its world.
struct ObjectCopy {
    id: ObjectId,
    name: Option<(Arc<str>, u32)>,
    parent: Option<ObjectId>,
    children: Box<[ObjectId]>,
    shape: Shape,
    started: u16,
    activity: Activity,
    is_held: bool,
    unknown: Box<[UnknownEntry]>,
}

/// A block of a column that may differ between the world and a snapshot.
struct BlockDifference<'s, C> {
    key: u64,
    /// The ids that have values in the world.
    old: BlockMask,
    /// The block of the snapshot, unless it has no values.
    new: Option<&'s Arc<ColumnBlock<C>>>,
}

impl<C> BlockDifference<'_, C> {
    fn mask(&self) -> BlockMask {
        self.new.map_or([0; _], |new| new.mask)
    }
}

/// The blocks of a column in the last snapshot, which the world may share.
struct LastBlocks<'l, C> {
    last: &'l ColumnBlocks<C>,
    /// The number of that snapshot.
    number: u64,
    /// True if a value changes only when it is handed out mutably.
    is_frozen: bool,
}

impl SnapshotState {
    fn has(&self, id: ObjectId) -> bool {
        let found = self.objects.binary_search_by_key(&key(id), |(key, _)| *key);
        found.is_ok_and(|at| ids(key(id), self.objects[at].1.mask).any(|other| other == id))
    }

    fn column(&self, column: usize) -> &ColumnBlocks<Box<[u8]>> {
        static NONE: ColumnBlocks<Box<[u8]>> = Vec::new();
        self.columns.get(column).unwrap_or(&NONE)
    }
}

fn key(id: ObjectId) -> u64 {
    id.get() / BLOCK as u64
}

/// Iterates over the ids of a block that have values.
fn ids(key: u64, mask: BlockMask) -> impl DoubleEndedIterator<Item = ObjectId> {
    let has = move |bit: &usize| mask[bit / 64] >> (bit % 64) & 1 != 0;
    let bits = (0..BLOCK).filter(has);
    bits.filter_map(move |bit| ObjectId::new(key * BLOCK as u64 + bit as u64))
}

/// Takes the block of a key from blocks in ascending order, and passes those before it.
fn take<'b, C>(
    blocks: &mut Peekable<slice::Iter<'b, BlockEntry<C>>>,
    key: u64,
) -> Option<&'b Arc<ColumnBlock<C>>> {
    while blocks.next_if(|(other, _)| *other < key).is_some() {}
    blocks.next_if(|(other, _)| *other == key).map(|(_, block)| block)
}

/// Encodes a resource like a `Box<dyn AnyResource>`.
fn encode_resource(
    world: &World,
    buffer: &mut Buffer,
    value: &dyn AnyResource,
) -> Result<Arc<[u8]>> {
    let mut links = FieldLinks::of_snapshot(&world.registry);
    let encoded = buffer.encode_with(&world.registry.env(), &mut links, |out| {
        <AsTrait as BoxOf<dyn AnyResource>>::encode(value, out)
    });
    encoded.map(Arc::from)
}

/// Iterates over the blocks of a column that have values, with their keys and places.
fn blocks<'w>(
    world: &'w World,
    occupancy: impl Fn(usize) -> Option<&'w Occupancy> + 'w,
) -> impl Iterator<Item = (u64, (usize, usize), &'w Occupancy)> {
    let pages = (0..world.directory.len()).filter_map(move |row| Some((row, occupancy(row)?)));
    pages.flat_map(move |(row, found)| {
        let first = world.directory.first(row) / BLOCK as u64;
        let filled = (0..BLOCKS).filter(move |block| found.block(*block) != [0; _]);
        filled.map(move |block| (first + block as u64, (row, block), found))
    })
}

impl<C> LastBlocks<'_, C> {
    /// Returns the blocks of a column. `number` is that of the new snapshot. `new` returns a block that may have changed
    /// since it was as the one that it gets.
    fn blocks<'w>(
        &self,
        world: &'w World,
        number: u64,
        occupancy: impl Fn(usize) -> Option<&'w Occupancy> + 'w,
        mut new: impl FnMut(
            (usize, usize),
            BlockMask,
            Option<&Arc<ColumnBlock<C>>>,
        ) -> Result<Arc<ColumnBlock<C>>>,
    ) -> Result<ColumnBlocks<C>> {
        let mut last = self.last.iter().peekable();
        let block = |(key, at, found): (u64, (usize, usize), &Occupancy)| {
            let last = take(&mut last, key);
            let seen = found.block_seen(at.1, number);
            if let Some(last) = last.filter(|_| self.is_frozen && seen <= self.number) {
                return Ok((key, Arc::clone(last)));
            }
            Ok((key, new(at, found.block(at.1), last)?))
        };
        blocks(world, occupancy).map(block).collect()
    }

    /// Returns the blocks of a column that may differ from those of a snapshot.
    fn differences<'s, 'w>(
        &self,
        world: &'w World,
        new: &'s ColumnBlocks<C>,
        occupancy: impl Fn(usize) -> Option<&'w Occupancy> + 'w,
    ) -> Vec<BlockDifference<'s, C>> {
        let mut found = Vec::new();
        let (mut new, mut last) = (new.iter().peekable(), self.last.iter().peekable());
        let missing = |(key, block): &'s (u64, _)| BlockDifference {
            key: *key,
            old: [0; _],
            new: Some(block),
        };
        for (key, (_, block), occupancy) in blocks(world, occupancy) {
            while let Some(entering) = new.next_if(|(other, _)| *other < key) {
                found.push(missing(entering));
            }
            let (new, last) = (take(&mut new, key), take(&mut last, key));
            let is_same = self.is_frozen
                && !occupancy.has_changed(block, self.number)
                && new.zip(last).is_some_and(|(new, last)| Arc::ptr_eq(new, last));
            if !is_same {
                found.push(BlockDifference { key, old: occupancy.block(block), new });
            }
        }
        found.extend(new.map(missing));
        found
    }
}

/// [`World::snapshot`] and [`World::restore`].
impl Snapshot {
    /// Takes a snapshot of a world.
    pub(super) fn take_of(world: &World) -> Result<Self> {
        world.check_idle()?;
        let (last, since, number) = {
            let mut cache = world.page_cache.borrow_mut();
            cache.number += 1;
            (cache.snapshot.0.upgrade().unwrap_or_default(), cache.snapshot.1, cache.number)
        };
        let objects = LastBlocks { last: &last.objects, number: since, is_frozen: true };
        let objects = objects.blocks(
            world,
            number,
            |row| world.objects.page(row).map(Page::occupancy),
            |at, mask, _| Ok(Arc::new(ColumnBlock { mask, content: saved_objects(world, at) })),
        )?;
        let (env, mut buffer) = (world.registry.env(), Buffer::new());
        let mut columns = Vec::with_capacity(world.columns.len());
        for (index, entry) in world.columns.iter().enumerate() {
            let last = last.column(index);
            let since = LastBlocks { last, number: since, is_frozen: entry.is_frozen() };
            let encode = |at, mask, of_last: Option<&Arc<ColumnBlock<Box<[u8]>>>>| {
                if last.is_empty() {
                    check_snapshot(world, &(entry.of.name)())?;
                }
                let mut links = FieldLinks::of_snapshot(&world.registry);
                let write = |out: &mut Encoder<'_>| entry.column.encode_block(at, out);
                let encoded = buffer.encode_with(&env, &mut links, write);
                let bytes = encoded.map_err(|error| error.in_class((entry.of.name)()))?;
                // A block that was handed out may be as it was.
                let same = of_last.filter(|last| last.mask == mask && *last.content == *bytes);
                let new = || Arc::new(ColumnBlock { mask, content: bytes.into() });
                Ok(same.map_or_else(new, Arc::clone))
            };
            columns.push(since.blocks(world, number, |row| entry.column.occupancy(row), encode)?);
        }
        let mut resources = Vec::with_capacity(world.resources.values.len());
        for (_, class, value) in &world.resources.values {
            let last = last.resources.iter().find(|(other, _)| other == class);
            if last.is_none() {
                check_snapshot(world, class)?;
            }
            let bytes = encode_resource(world, &mut buffer, &**value);
            let bytes = bytes.map_err(|error| error.in_class(class))?;
            let last = last.filter(|(_, last)| *last == bytes);
            resources.push((class.clone(), last.map_or(bytes, |(_, last)| Arc::clone(last))));
        }
        let state = Arc::new(SnapshotState {
            world: world.identity.0,
            last_id: world.last_id,
            objects,
            columns,
            resources,
            unknown: world.resources.unknown.clone(),
            waiting: world.deferred.waiting.clone(),
            expired: world.deferred.expired.clone(),
        });
        world.page_cache.borrow_mut().snapshot = (Arc::downgrade(&state), number);
        Ok(Self(state))
    }

    /// Returns a world to the state of the snapshot.
    pub(super) fn restore_to(&self, world: &mut World) -> Result<()> {
        world.check_editable()?;
        let state = &*self.0;
        if state.world != world.identity.0 {
            bail!(
                ErrorKind::WrongTarget,
                "the snapshot is one of another world; restore it in the world that it was taken of"
            );
        }
        let (last, since) = {
            let cache = world.page_cache.borrow();
            (cache.snapshot.0.upgrade().unwrap_or_default(), cache.snapshot.1)
        };
        let objects = LastBlocks { last: &last.objects, number: since, is_frozen: true }
            .differences(world, &state.objects, |row| world.objects.page(row).map(Page::occupancy));
        // Values that come back are decoded before anything changes, since that may fail.
        let (mut over, mut put) = (Vec::new(), Vec::new());
        for (index, entry) in world.columns.iter().enumerate() {
            let is_frozen = entry.is_frozen();
            let since = LastBlocks { last: last.column(index), number: since, is_frozen };
            let occupancy = |row| entry.column.occupancy(row);
            for found in since.differences(world, state.column(index), occupancy) {
                match found.new {
                    Some(new) if found.old == new.mask => over.push((index, found.key, new)),
                    None => put.push((index, found, None)),
                    Some(new) => {
                        let read = |input: &mut Decoder<'_>| entry.column.decode_block(input);
                        let values = decode_content(world, &new.content, read);
                        let values = values.map_err(|error| error.in_class((entry.of.name)()))?;
                        put.push((index, found, Some(values)));
                    }
                }
            }
        }
        let mut entering = Vec::new();
        for (class, bytes) in &state.resources {
            if world.resources.position(class).is_none() {
                let value =
                    decode_content(world, bytes, <AsTrait as BoxOf<dyn AnyResource>>::decode);
                entering.push(value.map_err(|error| error.in_class(class))?);
            }
        }
        #[cfg(feature = "history")]
        world.touched.lose();
        forget_parked(world, state);
        restore_objects(world, &objects);
        world.last_id = state.last_id;
        world.deferred.waiting.clone_from(&state.waiting);
        world.deferred.expired.clone_from(&state.expired);
        let mut decoded = Vec::with_capacity(over.len() + put.len());
        for (column, found, values) in put {
            let at = block_at(world, found.key);
            world.columns[column].column.put_block(at, found.mask(), values);
            decoded.push((column, found.key, found.mask()));
        }
        let mut result = Ok(());
        for (column, key, new) in over {
            let at = block_at(world, key);
            let World { columns, registry, .. } = world;
            let ColumnEntry { column: values, of, .. } = &mut columns[column];
            let links = FieldLinks::of_snapshot(registry);
            let read = links.decode(&new.content, |input| values.decode_block_into(at, input));
            result = result.and(read.map_err(|error| error.in_class((of.name)())));
            decoded.push((column, key, new.mask));
        }
        let resources = restore_resources(world, state, entering);
        world.compact();
        see_all(world, result.is_ok().then_some(&self.0));
        for (column, key, mask) in decoded {
            result = result.and(visit_block(world, column, key, mask));
        }
        result.and(resources)
    }
}

/// Returns an error if a class cannot be in a snapshot.
fn check_snapshot(world: &World, class: &str) -> Result<()> {
    let known = world.registry.named(class);
    let Some((field, _)) = known.and_then(|known| world.registry.shared_field(known)) else {
        return Ok(());
    };
    let error = error!(
        ErrorKind::Unsupported,
        "the field `{field}` holds a shared pointer or a world, and what is in that would not be in a snapshot; keep an `ObjectId` or a copy in its place"
    );
    Err(error.in_class(class))
}

fn saved_objects(world: &World, (row, block): (usize, usize)) -> Vec<ObjectCopy> {
    let Some(page) = world.objects.page(row) else { return Vec::new() };
    let first = world.directory.first(row) / BLOCK as u64 + block as u64;
    let saved = |id| {
        let object = world.object(id)?;
        Some(ObjectCopy {
            id,
            name: object.name.map(|name| world.names.shared_parts(name)),
            parent: object.parent,
            children: object.children()[..].into(),
            shape: object.shape,
            started: object.started,
            activity: object.activity,
            is_held: object.is_held,
            unknown: object.unknown().into(),
        })
    };
    ids(first, page.occupancy().block(block)).filter_map(saved).collect()
}

fn decode_content<R>(
    world: &World,
    bytes: &[u8],
    read: impl FnOnce(&mut Decoder<'_>) -> Result<R, Fail>,
) -> Result<R> {
    FieldLinks::of_snapshot(&world.registry).decode(bytes, read)
}

/// Drops the parked objects that the snapshot has, or that were spawned after it.
fn forget_parked(world: &mut World, state: &SnapshotState) {
    let known = world.parking.topmost.iter();
    let is_dropped = |id: ObjectId| id.get() > state.last_id || state.has(id);
    let tops = known.filter(|(id, _)| is_dropped(**id)).map(|(_, top)| *top);
    for top in tops.collect::<Vec<_>>() {
        let Some(parked) = world.parking.parked.remove(&top) else { continue };
        for found in parked.objects {
            world.parking.topmost.remove(&found.id);
            if let Some(name) = found.object.name {
                if parked.keeps_names {
                    world.names.unreserve(name);
                }
                world.names.drop(name);
            }
        }
    }
}

/// Restores objects without their components. Nothing of this can fail.
fn restore_objects(world: &mut World, differences: &[BlockDifference<'_, Vec<ObjectCopy>>]) {
    // Objects that leave, and names that change, come first, so that all names are free. From the end, few values move.
    for found in differences.iter().rev() {
        let saved = found.new.map_or(&[][..], |new| &new.content);
        for id in ids(found.key, found.old).rev() {
            let at = saved.binary_search_by_key(&id, |saved| saved.id).ok();
            let saved = at.map(|at| &saved[at]);
            let Some(location) = world.directory.location(id) else { continue };
            let name = world.objects.get(location).and_then(|object| object.name);
            let saved_name = saved.and_then(|saved| saved.name.as_ref());
            let stays = name.map(|name| world.names.parts(name))
                == saved_name.map(|(base, number)| (&**base, *number));
            if let Some(name) = name.filter(|_| !stays) {
                world.names.leave(name);
                world.names.drop(name);
                world.objects.get_mut(location).into_iter().for_each(|it| it.set_name(None));
            }
            if saved.is_none() {
                world.take_object(location);
            }
        }
    }
    for saved in differences.iter().filter_map(|found| found.new).flat_map(|new| &new.content) {
        let location = match world.directory.location(saved.id) {
            Some(location) if world.objects.has(location) => location,
            _ => world.enter(saved.id, Object::default()),
        };
        let Some(object) = world.objects.get_mut(location) else { continue };
        (object.parent, object.shape, object.started) = (saved.parent, saved.shape, saved.started);
        (object.activity, object.is_held) = (saved.activity, saved.is_held);
        if **object.children() != *saved.children {
            *object.children_mut().list_mut() = saved.children.to_vec();
        }
        if !(object.unknown().is_empty() && saved.unknown.is_empty()) {
            *object.unknown_list() = saved.unknown.to_vec();
            world.has_unknown = true;
        }
        if let (None, Some((base, number))) = (object.name, &saved.name) {
            let name = world.names.hold_parts(base, *number);
            world.names.assign(name, saved.id);
            object.set_name(Some(name));
        }
    }
}

/// Restores the resources, and adds those that come back. Returns the first error.
fn restore_resources(
    world: &mut World,
    state: &SnapshotState,
    entering: Vec<Box<dyn AnyResource>>,
) -> Result<()> {
    let is_saved = |class: &String| state.resources.iter().any(|(other, _)| other == class);
    world.resources.values.retain(|(_, class, _)| is_saved(class));
    world.resources.unknown.clone_from(&state.unknown);
    let mut restored: Vec<String> = Vec::new();
    let (mut result, mut buffer) = (Ok(()), Buffer::new());
    for (class, bytes) in &state.resources {
        let Some(at) = world.resources.position(class) else {
            restored.push(class.clone());
            continue;
        };
        let now = encode_resource(world, &mut buffer, &*world.resources.values[at].2);
        if now.is_ok_and(|now| now == *bytes) {
            continue;
        }
        let value = &mut world.resources.values[at].2;
        let read = FieldLinks::of_snapshot(&world.registry).decode(bytes, |input| {
            input.class_number()?;
            (**value).portable_mut().decode_over(input)
        });
        result = result.and(read.map_err(|error| error.in_class(class)));
        restored.push(class.clone());
    }
    for value in entering {
        world.resources.insert(value);
    }
    for class in restored {
        let Some(at) = world.resources.position(&class) else { continue };
        let value = (*world.resources.values[at].2).portable_mut();
        let visited = after_load(value, &world.registry);
        result = result.and(visited.map_err(|error| error.in_class(&class)));
    }
    result
}

/// Returns the place of a block whose page exists.
fn block_at(world: &World, key: u64) -> (usize, usize) {
    // No object has the id 0, so the last id of the block is taken.
    let last = ObjectId::new(key * BLOCK as u64 + BLOCK as u64 - 1);
    let location = last.and_then(|id| world.directory.location(id));
    location.map_or((0, 0), |Location { page, bit }| (page, bit as usize / BLOCK))
}

/// Notes that the world is as a snapshot; `None` if parts of it could not be restored.
fn see_all(world: &mut World, snapshot: Option<&Arc<SnapshotState>>) {
    let cache = world.page_cache.get_mut();
    cache.snapshot = (Weak::new(), 0);
    let Some(snapshot) = snapshot else { return };
    cache.number += 1;
    cache.snapshot = (Arc::downgrade(snapshot), cache.number);
    for row in 0..world.directory.len() {
        let objects = world.objects.page(row).map(Page::occupancy);
        let columns = world.columns.iter().map(|entry| entry.column.occupancy(row));
        for found in columns.chain([objects]).flatten() {
            found.seen(cache.number);
        }
    }
}

/// Runs the `after_load` functions of the components of a block. They may change what the snapshot has, so this is
/// after [`see_all`](Self::see_all).
fn visit_block(world: &mut World, column: usize, key: u64, mask: BlockMask) -> Result<()> {
    let World { columns, directory, registry, .. } = world;
    let ColumnEntry { column, of, .. } = &mut columns[column];
    if of.is_leaf {
        return Ok(());
    }
    let mut result = Ok(());
    for id in ids(key, mask) {
        let found = directory.location(id).and_then(|location| column.get_mut(location));
        let Some(component) = found else { continue };
        let visited = after_load(component.portable_mut(), registry);
        result =
            result.and(visited.map_err(|error| error.in_class((of.name)()).in_object(id.get())));
    }
    result
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let objects = self.0.objects.iter().map(|(_, block)| block.content.len());
        f.debug_struct("Snapshot").field("objects", &objects.sum::<usize>()).finish_non_exhaustive()
    }
}

const _: fn() = || {
    fn is_shared<T: Send + Sync>() {}
    is_shared::<Snapshot>();
};

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(crate::Persist)]
    #[persist(crate = crate, component)]
    struct Place(f32, f32);

    #[derive(crate::Persist)]
    #[persist(crate = crate, component)]
    struct Note(String);

    /// Returns how many blocks of objects and components two snapshots do not share.
    fn own(a: &Snapshot, b: &Snapshot) -> [usize; 3] {
        fn count<C>(a: &ColumnBlocks<C>, b: &ColumnBlocks<C>) -> usize {
            assert_eq!(a.len(), b.len());
            a.iter().zip(b).filter(|(a, b)| !Arc::ptr_eq(&a.1, &b.1)).count()
        }
        let (a, b) = (&*a.0, &*b.0);
        let columns = [0, 1].map(|column| count(a.column(column), b.column(column)));
        [count(&a.objects, &b.objects), columns[0], columns[1]]
    }

    #[test]
    fn blocks_are_shared_while_nothing_in_them_changes() -> Result<()> {
        let mut world = World::new();
        let of = |at: usize| (Place(at as f32, 0.0), Note(format!("{at}")));
        let ids = world.spawn_many("Orc", (0..10_000).map(of))?;
        let first = world.snapshot()?;
        let same = world.snapshot()?;
        assert_eq!(own(&first, &same), [0, 0, 0]);
        world.get_mut::<Note>(ids[5_000]).expect("there").0.push('!');
        let second = world.snapshot()?;
        assert_eq!(own(&first, &second), [0, 0, 1]);
        // A query hands out all values, and one of them changes.
        world.query_mut::<(&mut Place, ObjectId)>()?.for_each(|(place, id)| {
            place.1 += if id == ids[9_000] { 1.0 } else { 0.0 };
        });
        world.rename(ids[0], "Elf")?;
        let third = world.snapshot()?;
        assert_eq!(own(&second, &third), [1, 1, 0]);
        world.restore(&first)?;
        let same = world.snapshot()?;
        assert_eq!(own(&first, &same), [0, 0, 0]);
        world.remove(ids[7_000]);
        world.restore(&third)?;
        assert_eq!(own(&third, &world.snapshot()?), [0, 0, 0]);
        Ok(())
    }

    #[test]
    fn a_world_keeps_no_memory_of_its_snapshots() -> Result<()> {
        let mut world = World::new();
        world.spawn_with("Orc", (Place(0.0, 0.0), Note(String::new())))?;
        let (taken, restored) = (world.snapshot()?, world.snapshot()?);
        world.restore(&restored)?;
        for snapshot in [taken, restored] {
            assert_eq!(Arc::strong_count(&snapshot.0), 1);
        }
        Ok(())
    }
}

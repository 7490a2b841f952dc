//! [`Change`]: a change of a target, as data.

pub(super) mod step;

use std::{mem, slice};

use super::Failure;
use super::label::{Label, Verb};
use super::world::{World, WorldChange, verb_of};
use crate::codec::persist::{decode_row, encode_row};
use crate::codec::{Decoder, Encoder, Fail, Layout, Prototypes, Stop};
use crate::fields::{
    AsText, Bytes, ChangeState, Direction, EditedWorld as _, FieldChange, FieldEdit, Merge,
    ObjectChange as _, ObjectName, Owner,
};
use crate::reflect::Kind;
use crate::schema::Stored;
use crate::{Error, ErrorKind, FieldPath, Persist, Result};
use hashbrown::HashMap;
use hashbrown::hash_map::Entry;

/// One change of a target. An edit records it, an undo reverts it, and a journal stores it.
///
/// A target that is not a world has only changes of fields.
#[derive(crate::Persist)]
#[persist(crate = crate, class = "persist.Change")]
pub struct Change {
    /// The component or resource that has changed, or its object.
    pub owner: Owner,
    /// The name of the object at that time.
    #[persist(with = "Option<AsText>")]
    pub name: Option<ObjectName>,
    /// The kind of the change.
    pub what: ChangeKind,
    /// True if the component has `validate` or `after_load` functions, which run at the end of the entry, for the last
    /// undo or redo.
    #[persist(skip)]
    has_hooks: bool,
}

/// The kind of a change, with what an undo and a redo need.
pub enum ChangeKind {
    /// A change of one field.
    Field(FieldChange),
    /// Several fields of a component, or none: a change of a field, migrated to the types of a later program.
    Fields(Box<Migrated>),
    /// A change of objects and their components.
    World(WorldChange),
}

/// The number of kinds before those of a [`WorldChange`]. In a journal, all of them are the variants of one enum.
const OF_FIELDS: u8 = 2;

impl Persist for ChangeKind {
    const __LAYOUT: Layout = Layout { head: 1, ..Layout::new::<Self>() };

    /// A journal has the schemas of the program's classes alone, so nothing reads values by this kind.
    fn persist_kind() -> Kind {
        FieldChange::persist_kind()
    }

    fn persist_empty(prototypes: &Prototypes<'_>) -> Result<Self> {
        FieldChange::persist_empty(prototypes).map(Self::Field)
    }

    fn persist_encode(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
        encode_row(self, out)
    }

    fn persist_decode(input: &mut Decoder<'_>) -> Result<Self, Fail> {
        decode_row(input)
    }

    fn __encode_head(&self, head: &mut [u8]) {
        match self {
            Self::Field(_) => head[0] = 0,
            Self::Fields(_) => head[0] = 1,
            Self::World(change) => {
                change.__encode_head(head);
                head[0] += OF_FIELDS;
            }
        }
    }

    fn __encode_tail(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
        match self {
            Self::Field(change) => out.value(change),
            Self::Fields(migrated) => out.value(migrated),
            Self::World(change) => change.__encode_tail(out),
        }
    }

    fn __decode(head: &[u8], input: &mut Decoder<'_>) -> Result<Self, Fail> {
        match head[0] {
            0 => input.value().map(Self::Field),
            1 => input.value().map(Self::Fields),
            kind => WorldChange::__decode(&[kind - OF_FIELDS], input).map(Self::World),
        }
    }
}

impl Change {
    #[expect(
        clippy::inline_always,
        reason = "a change is made where it stays; a copy of it waits for its parts"
    )]
    #[inline(always)]
    pub(super) fn new(world: &World, owner: Owner, what: ChangeKind) -> Self {
        Self { owner, name: name_of(world, owner), what, has_hooks: false }
    }

    /// Creates a change of a field of a target that is not a world.
    pub(super) fn of_target(change: FieldChange) -> Self {
        Self {
            owner: Owner::Resource,
            name: None,
            what: ChangeKind::Field(change),
            has_hooks: false,
        }
    }

    /// Creates the record of a change of a field that has been made.
    #[inline]
    pub(super) fn found(world: &World, owner: Owner, change: FieldChange) -> Self {
        Self::new(world, owner, ChangeKind::Field(change))
    }

    /// Redoes or undoes the change.
    pub(super) fn apply(&mut self, world: &mut World, direction: Direction) -> Result<(), Failure> {
        let owner = self.owner;
        match &mut self.what {
            ChangeKind::World(change) => Ok(change.apply(world, owner, direction)?),
            _ => self.apply_fields(direction, |field, direction| {
                world.make(owner, field.path.class(), |root| root.make(field, direction))
            }),
        }
    }

    /// Redoes or undoes a change of fields. `make` changes one field. If one fails, the fields before it are restored.
    fn apply_fields(
        &mut self,
        direction: Direction,
        mut make: impl FnMut(&FieldChange, Direction) -> Result<bool>,
    ) -> Result<(), Failure> {
        if !self.is_of_fields() {
            return Err(no_world().into());
        }
        let mut has_hooks = false;
        let fields: Vec<_> = self.ordered_fields(direction).collect();
        for (at, field) in fields.iter().enumerate() {
            match make(field, direction) {
                Ok(of_value) => has_hooks |= of_value,
                Err(error) => {
                    let back = |field: &&FieldChange| make(field, direction.reversed()).map(drop);
                    return Err(Failure::from(error)
                        .after(|| Ok(fields[..at].iter().rev().try_for_each(back)?)));
                }
            }
        }
        self.has_hooks = has_hooks;
        Ok(())
    }

    /// Iterates over the changes of fields in the order in which they are applied.
    pub(super) fn ordered_fields(
        &self,
        direction: Direction,
    ) -> impl Iterator<Item = &FieldChange> {
        ordered(self.fields(), direction)
    }

    /// Returns the changes of fields, or an empty slice.
    pub fn fields(&self) -> &[FieldChange] {
        match &self.what {
            ChangeKind::Field(change) => slice::from_ref(change),
            ChangeKind::Fields(migrated) => migrated.fields(),
            ChangeKind::World(_) => &[],
        }
    }

    /// Undoes or redoes a change of a number in place, without running code of the program. Returns false for other
    /// changes.
    pub(super) fn put_number(&mut self, world: &mut World, direction: Direction) -> bool {
        let is_put = match &self.what {
            ChangeKind::Field(change) => world.put_number(self.owner, change, direction),
            _ => false,
        };
        // A component whose numbers are set in place has no such functions.
        self.has_hooks &= !is_put;
        is_put
    }

    /// Returns the field that was set, and the name of its object at that time.
    fn set_field(&self) -> Option<(&FieldPath, Option<&ObjectName>)> {
        match &self.what {
            ChangeKind::Field(change) if change.is_setting() => {
                Some((&change.path, self.name.as_ref()))
            }
            _ => None,
        }
    }

    /// Returns the path of the list whose element was inserted or removed.
    fn edited_list(&self) -> Option<&FieldPath> {
        match &self.what {
            ChangeKind::Field(FieldChange {
                path,
                how: FieldEdit::Insert { .. } | FieldEdit::Remove { .. },
                ..
            }) => Some(path),
            _ => None,
        }
    }

    /// Returns the component or resource that was undone or redone, if it has `validate` or `after_load` functions.
    fn unrefreshed(&self) -> Option<(Owner, &str)> {
        self.class().filter(|_| self.has_hooks).map(|class| (self.owner, class))
    }

    /// Merges the change that immediately followed this one.
    fn merge(&mut self, next: &mut Self) -> Merge {
        match (&mut self.what, &mut next.what) {
            _ if self.owner != next.owner => Merge::No,
            (ChangeKind::Field(one), ChangeKind::Field(next)) => one.merge(next),
            (ChangeKind::Fields(one), ChangeKind::Fields(next)) => one.merge(next),
            _ => Merge::No,
        }
    }

    /// Returns true if the change sets fields. Such changes are independent of each other unless they
    /// [overlap](Self::overlaps).
    fn is_setting(&self) -> bool {
        match &self.what {
            ChangeKind::Field(change) => change.is_setting(),
            ChangeKind::Fields(migrated) => migrated.is_setting(),
            ChangeKind::World(_) => false,
        }
    }

    /// Returns true if both changes may affect the same data.
    fn overlaps(&self, other: &Self) -> bool {
        match (&self.what, &other.what) {
            (ChangeKind::Field(one), ChangeKind::Field(other_field)) if other.is_setting() => {
                self.owner == other.owner && one.path.overlaps(&other_field.path)
            }
            (ChangeKind::Fields(one), ChangeKind::Fields(other_fields)) => {
                self.owner == other.owner && one.is_overlapping(other_fields)
            }
            _ => true,
        }
    }

    /// Releases the objects and components that the change keeps out of the world, since they do not come back.
    fn discard(&mut self, world: &mut World, is_applied: bool) {
        if let ChangeKind::World(change) = &mut self.what {
            change.discard(world, self.owner, is_applied);
        }
    }

    /// Returns true if [`discard`](Self::discard) may release something.
    fn has_end(&self) -> bool {
        matches!(&self.what, ChangeKind::World(change) if change.has_end())
    }

    /// Returns roughly the bytes of heap memory in use.
    fn size(&self) -> usize {
        match &self.what {
            ChangeKind::Field(change) => change.how.held(),
            ChangeKind::Fields(migrated) => migrated.size(),
            ChangeKind::World(change) => change.size(),
        }
    }

    /// Returns roughly the bytes of the objects and components that the change keeps out of the world.
    fn held(&self, world: &World, is_applied: bool) -> usize {
        match &self.what {
            ChangeKind::World(change) => change.held(world, self.owner, is_applied),
            _ => 0,
        }
    }

    /// Returns the class of the component or resource that is changed.
    pub(super) fn class(&self) -> Option<&str> {
        match &self.what {
            ChangeKind::World(change) => change.class(),
            // A migrated change without fields has no class.
            _ => self.fields().first().map(|field| field.path.class()),
        }
    }

    /// Returns the component or resource that is changed: its owner, and its class at the time of the recording.
    pub(super) fn key(&self) -> Option<(Owner, String)> {
        Some((self.owner, self.class()?.to_owned()))
    }

    /// Returns true for a change of a field that was not migrated.
    pub(super) fn is_as_recorded(&self) -> bool {
        matches!(self.what, ChangeKind::Field(_))
    }

    /// Returns true if the change only sets or changes fields.
    pub(super) fn is_of_fields(&self) -> bool {
        matches!(self.what, ChangeKind::Field(_) | ChangeKind::Fields(_))
    }

    /// Converts the change to the form that a journal or a spill file stores.
    fn stored(&mut self, world: Option<&World>, state: ChangeState) -> Result<Self> {
        let what = match &mut self.what {
            ChangeKind::Field(change) => ChangeKind::Field(change.clone()),
            ChangeKind::Fields(migrated) if state == ChangeState::Spilled => {
                ChangeKind::Fields(migrated.clone())
            }
            ChangeKind::Fields(migrated) => ChangeKind::Fields(Box::new(migrated.stored())),
            ChangeKind::World(change) => {
                let world = world.ok_or_else(no_world)?;
                ChangeKind::World(change.stored(world, self.owner, state)?)
            }
        };
        Ok(Self { owner: self.owner, name: self.name.clone(), what, has_hooks: false })
    }

    /// Restores the state that the change had when it was [stored](Self::stored). The target may be one that is not a
    /// world.
    fn restore(&mut self, world: Option<&mut World>, state: ChangeState) -> Result<()> {
        match &mut self.what {
            ChangeKind::World(change) => {
                let object = (self.owner, self.name.as_ref());
                change.restore(world.ok_or_else(no_world)?, object, state)
            }
            _ => Ok(()),
        }
    }

    /// Returns the changes as they were recorded, if the change was migrated since and they are known.
    pub(super) fn recorded(&self) -> Option<&[FieldChange]> {
        match &self.what {
            ChangeKind::Fields(migrated) => Some(migrated.recorded()).filter(|it| !it.is_empty()),
            _ => None,
        }
    }

    /// Replaces a change of fields by its equivalent for the current types.
    pub(super) fn migrate(&mut self, fields: Vec<FieldChange>) {
        let migrated = match &self.what {
            ChangeKind::Field(change) => Migrated::new(change, fields),
            ChangeKind::Fields(migrated) => migrated.with(fields),
            ChangeKind::World(_) => return,
        };
        self.what = ChangeKind::Fields(Box::new(migrated));
    }

    /// Replaces the change by one that does nothing, since the program does not have its class.
    pub(super) fn skip(&mut self) {
        match &self.what {
            ChangeKind::World(change) => {
                if let Some(class) = change.class() {
                    self.what = ChangeKind::Fields(Box::new(Migrated::skipped(class)));
                }
            }
            _ => self.migrate(Vec::new()),
        }
    }

    /// Returns the verb for a label of an entry that was given none.
    pub fn verb(&self) -> Verb {
        match &self.what {
            ChangeKind::Field(field) => Verb::of_field(&field.how),
            ChangeKind::Fields(fields) => Verb::of_field(fields.named().1),
            ChangeKind::World(change) => verb_of(change),
        }
    }

    fn label(&self) -> Label {
        let (verb, name) = (self.verb(), self.name.as_ref());
        let field = match &self.what {
            ChangeKind::Field(field) => return Label::of_field(verb, &field.path, name),
            ChangeKind::Fields(fields) => return Label::of_field(verb, fields.named().0, name),
            ChangeKind::World(change) => change.class(),
        };
        let field = field.map(|class| FieldPath::new(class.to_owned()));
        let object = name.filter(|name| !name.is_empty()).map(ObjectName::name);
        Label::Change { verb, field, object }
    }
}

#[expect(clippy::inline_always, reason = "as that of `Change::new`")]
#[inline(always)]
fn name_of(world: &World, owner: Owner) -> Option<ObjectName> {
    match owner {
        Owner::Object(object) => world.object_name(object),
        Owner::Resource => None,
    }
}

/// Iterates over changes in the order in which they are applied: reversed for an undo.
fn ordered(fields: &[FieldChange], direction: Direction) -> impl Iterator<Item = &FieldChange> {
    let count = fields.len();
    let place = move |at| if direction == Direction::Undo { count - 1 - at } else { at };
    (0..count).map(move |at| &fields[place(at)])
}

/// Applies changes of fields to the encoded bytes of a component or a resource.
pub(super) fn all_in_bytes(
    fields: &[FieldChange],
    class: (&Stored, usize),
    bytes: &[u8],
    direction: Direction,
) -> Result<Vec<u8>> {
    let (stored, class) = class;
    ordered(fields, direction)
        .try_fold(bytes.to_vec(), |bytes, field| field.in_bytes(stored, class, &bytes, direction))
}

#[cold]
fn no_world() -> Error {
    error!(
        ErrorKind::Damaged,
        "the journal has a step of a world, and the target is none; it is damaged or malicious"
    )
}

/// A change of a field that was migrated. On the current types it may be a change of several fields, or of none.
#[derive(crate::Persist, Clone)]
#[persist(crate = crate, class = "persist.Migrated")]
pub struct Migrated {
    /// The path and the kind of the recorded change, without the bytes of elements. Labels and merges use them.
    #[persist(with = AsText, empty = FieldPath::new(""))]
    path: FieldPath,
    how: FieldEdit,
    fields: Vec<FieldChange>,
    /// The recorded changes, while the journal is replayed: an undo in the journal refers to one of them.
    recorded: Vec<FieldChange>,
}

impl Migrated {
    /// Creates the migrated form of a change.
    fn new(change: &FieldChange, fields: Vec<FieldChange>) -> Self {
        let recorded = vec![change.clone()];
        let how = match &change.how {
            FieldEdit::Insert { index, .. } => {
                FieldEdit::Insert { index: *index, element: Bytes::default() }
            }
            FieldEdit::Remove { index, .. } => {
                FieldEdit::Remove { index: *index, element: Bytes::default() }
            }
            FieldEdit::InsertKey { .. } => FieldEdit::InsertKey { value: Bytes::default() },
            FieldEdit::RemoveKey { .. } => FieldEdit::RemoveKey { value: Bytes::default() },
            how => how.clone(),
        };
        Self { path: change.path.clone(), how, fields, recorded }
    }

    /// Creates a change that does nothing, for a component or a resource whose class the program does not have.
    fn skipped(class: &str) -> Self {
        // The old and new bytes differ, so that a merge of two such changes does not annul them.
        let how = FieldEdit::Set { old: Bytes::from(&[0][..]), new: Bytes::from(&[1][..]) };
        let (path, fields, recorded) = (FieldPath::new(class.to_owned()), Vec::new(), Vec::new());
        Self { path, how, fields, recorded }
    }

    /// Migrates it again, to the types of a still later program.
    fn with(&self, fields: Vec<FieldChange>) -> Self {
        let (path, how, recorded) = (self.path.clone(), self.how.clone(), self.fields.clone());
        Self { path, how, fields, recorded }
    }

    /// Converts it to the form that a new journal stores, without the recorded changes.
    fn stored(&self) -> Self {
        Self { recorded: Vec::new(), ..self.with(self.fields.clone()) }
    }

    fn fields(&self) -> &[FieldChange] {
        &self.fields
    }

    /// Returns the path and the kind of the recorded change.
    fn named(&self) -> (&FieldPath, &FieldEdit) {
        (&self.path, &self.how)
    }

    /// Returns the recorded changes, if they are known.
    fn recorded(&self) -> &[FieldChange] {
        &self.recorded
    }

    fn is_setting(&self) -> bool {
        matches!(self.how, FieldEdit::Set { .. })
    }

    /// Merges the next change if the recorded changes would merge.
    fn merge(&mut self, next: &mut Self) -> Merge {
        let (FieldEdit::Set { old, new }, FieldEdit::Set { new: last, .. }) =
            (&mut self.how, &mut next.how)
        else {
            return Merge::No;
        };
        if self.path != next.path {
            return Merge::No;
        }
        *new = mem::take(last);
        let is_annulled = old == new;
        self.recorded.append(&mut next.recorded);
        if !self.fields.iter().chain(&next.fields).all(FieldChange::is_setting) {
            // On the current types, a list that was set may have insertions and removals, which keep their order.
            self.fields.append(&mut next.fields);
            return if is_annulled { Merge::Annul } else { Merge::Yes };
        }
        // `rev` makes the first of two changes with the same path win.
        let paths = self.fields.iter().enumerate().rev();
        let mut places: HashMap<FieldPath, usize> =
            paths.map(|(at, field)| (field.path.clone(), at)).collect();
        for mut field in next.fields.drain(..) {
            match places.entry(field.path.clone()) {
                Entry::Occupied(known) => _ = self.fields[*known.get()].merge(&mut field),
                Entry::Vacant(new) => {
                    new.insert(self.fields.len());
                    self.fields.push(field);
                }
            }
        }
        if is_annulled { Merge::Annul } else { Merge::Yes }
    }

    fn is_overlapping(&self, other: &Self) -> bool {
        let paths = || other.fields.iter().map(|field| &field.path);
        let overlaps = |field: &FieldChange| paths().any(|path| path.overlaps(&field.path));
        self.path.overlaps(&other.path) || self.fields.iter().any(overlaps)
    }

    fn size(&self) -> usize {
        let fields = || self.fields.iter().chain(&self.recorded);
        let bytes: usize = fields().map(|field| field.how.held()).sum();
        size_of::<Self>() + fields().count() * size_of::<FieldChange>() + bytes
    }
}

//! Operations of edits and histories on a world, besides those on fields.

use std::any::Any;
use std::mem;
use std::sync::Arc;

use super::parked::TreePosition;
use crate::codec::{Portable, TraitObject as _};
use crate::fields::shared_name::read_name;
use crate::fields::{
    Changed, Direction, EditedWorld, FieldChange, FieldEdit, NumberFields, NumberedBytes,
    ObjectName, Owner, Print, Root, content_of, hash_of, print_value,
};
use crate::graph::Registry;
use crate::sorting::sort;
use crate::world::recorded::decode_value;
use crate::world::{LAST_ID, World};
use crate::{Error, ErrorKind, ObjectId, Result};

/// These methods are for edits and histories.
impl World {
    /// Gives an object the name with exactly this text. Returns an error if another object has it.
    pub(crate) fn rename_to(&mut self, object: ObjectId, text: &str) -> Result<()> {
        self.check(object)?;
        match self.names.find_written(text) {
            Some(other) if other != object => {
                let name = read_name(text).0;
                let message =
                    format!("object {other} is called `{name}` by now; rename that first");
                return Err(Error::new(ErrorKind::AlreadyExists, message).in_object(object.get()));
            }
            Some(_) => {}
            None => self.set_name(object, |names| (!text.is_empty()).then(|| names.hold(text))),
        }
        Ok(())
    }

    pub(crate) fn tree_place(&self, object: ObjectId) -> TreePosition {
        let parent = self.parent(object);
        let above = parent.and_then(|parent| self.object(parent));
        let index = above.and_then(|above| above.position(object));
        TreePosition { parent, index: index.unwrap_or(0) as u64 }
    }

    /// Returns true if the object has a component of a class, or the world a resource of it.
    pub(crate) fn has(&self, owner: Owner, class: &str) -> bool {
        match owner {
            Owner::Object(object) => {
                let column = self.by_class.get(class);
                column.is_some_and(|column| self.shape_of(object).contains(column))
            }
            Owner::Resource => self.resources.position(class).is_some(),
        }
    }

    /// Checks the classes of an object's components, and of those of its descendants, each once.
    pub(crate) fn check_classes(
        &self,
        object: ObjectId,
        check: impl Fn(&Self, &str) -> Result<()>,
    ) -> Result<()> {
        let mut is_checked = vec![false; self.columns.len()];
        for object in self.subtree(object) {
            for column in &*self.shape_of(object) {
                if !mem::replace(&mut is_checked[*column], true) {
                    check(self, &(self.columns[*column].of.name)())
                        .map_err(|error| error.in_object(object.get()))?;
                }
            }
        }
        Ok(())
    }

    /// Runs the `validate` functions of a component or resource.
    pub(crate) fn validate(&mut self, owner: Owner, class: &str) -> Result<()> {
        self.with_root(owner, class, |root| root.check_valid())
    }

    /// Appends the hashes of an object's parts; nothing if it is not in the world. Components that hold shared pointers
    /// are left out, since their content cannot be encoded.
    fn print_object(&self, id: ObjectId, prints: &mut Vec<Print>) {
        let Some(object) = self.object(id) else { return };
        let mut add = |what: &str, hash| {
            prints.push(Print { object: Some(id), what: what.to_owned(), hash });
        };
        add("its name", hash_of(&*self.names.object_name(object.name).text()));
        // The index of the object is part of the hash of its parent's children.
        add("its parent", hash_of(&object.parent));
        add("its children", hash_of(object.children()));
        add("its activity", object.activity as u64);
        let columns = self.shapes.columns(object.shape);
        // The order is not compared: components that were started meanwhile come before others after an undo.
        let name = |column: &usize| (self.columns[*column].of.name)();
        let mut classes: Vec<String> = columns.iter().map(name).collect();
        sort(&mut classes);
        add("its components", hash_of(&classes));
        for column in columns {
            let class = (self.columns[*column].of.name)();
            if let Ok(root) = self.root(Owner::Object(id), &class) {
                // A component that cannot be encoded is not compared.
                let _ = print_value(&self.registry, root, &class, Some(id), prints);
            }
        }
    }

    fn print_resources(&self, prints: &mut Vec<Print>) {
        for (_, class, value) in &self.resources.values {
            let _ = print_value(&self.registry, (**value).portable(), class, None, prints);
        }
    }

    fn any_component(&mut self, column: usize, object: ObjectId) -> Option<&mut dyn Any> {
        let location = self.directory.location(object)?;
        Some(self.columns.get_mut(column)?.column.get_mut(location)?.portable_mut())
    }
}

impl EditedWorld for World {
    type Numbers = (Arc<NumberFields>, Vec<u64>);

    fn class_registry(&self) -> &Registry {
        &self.registry
    }

    fn identity(&self) -> u64 {
        self.identity.0
    }

    fn last_id(&self) -> u64 {
        self.last_id
    }

    fn continue_ids_after(&mut self, id: u64) -> bool {
        let is_possible = id <= LAST_ID / 2;
        if is_possible {
            self.last_id = self.last_id.max(id);
        }
        is_possible
    }

    #[expect(
        clippy::inline_always,
        reason = "a change is made where it stays; a copy of it waits for its parts"
    )]
    #[inline(always)]
    fn object_name(&self, object: ObjectId) -> Option<ObjectName> {
        Some(self.names.object_name(self.object(object)?.name))
    }

    fn check_recordable(&self, class: &str) -> Result<()> {
        let index = self.registry.named(class);
        let index = index.filter(|index| self.registry.traits(*index).references);
        let Some(index) = index else { return Ok(()) };
        let Some((_, holder)) = self.registry.shared_field(index) else { return Ok(()) };
        let message = if holder == Self::CLASS {
            "the class holds a world, and what is in that is not recorded; give that world a history of its own, or change it by a command of your own"
        } else {
            "the class holds shared pointers, and what is behind them is not recorded; keep an `ObjectId` in their place, or change it by a command of your own"
        };
        Err(Error::new(ErrorKind::Unsupported, message).in_class(class))
    }

    fn content(&self, owner: Owner, class: &str) -> Result<Vec<u8>> {
        let content = self.root(owner, class).and_then(|root| content_of(&self.registry, root));
        content.map_err(|error| owner.name(error, class))
    }

    fn parked_contents(
        &self,
        requested: Vec<(ObjectId, String)>,
    ) -> Result<Vec<(ObjectId, String, Vec<u8>)>> {
        // Grouped by the topmost object, so that each group of parked objects is passed over once.
        let top = |(id, class)| Some((*self.parking.topmost.get(&id)?, (id, class)));
        let mut by_top: Vec<_> = requested.into_iter().filter_map(top).collect();
        sort(&mut by_top);
        let mut found = Vec::new();
        for requested in by_top.chunk_by(|(a, _), (b, _)| a == b) {
            let top = requested[0].0;
            for object in
                self.parking.parked.get(&top).into_iter().flat_map(|parked| &parked.objects)
            {
                for (column, component) in &object.components {
                    let key = (object.id, (self.columns[*column].of.name)());
                    if requested.binary_search_by(|(_, other)| other.cmp(&key)).is_ok() {
                        let content = content_of(&self.registry, (**component).portable())?;
                        found.push((key.0, key.1, content));
                    }
                }
            }
        }
        Ok(found)
    }

    fn decoded<R>(
        &self,
        (owner, number): (Owner, usize),
        content: NumberedBytes<'_>,
        read: impl FnOnce(&dyn Portable) -> Result<R>,
    ) -> Result<R> {
        decode_value(&self.registry, (owner, number), content, read)
    }

    fn with_root<R>(
        &mut self,
        owner: Owner,
        class: &str,
        run: impl FnOnce(&mut Root<'_>) -> Result<R>,
    ) -> Result<R> {
        let result = self.root_mut(owner, class).and_then(|(mut root, _)| run(&mut root));
        result.map_err(|error| owner.name(error, class))
    }

    fn make<R>(
        &mut self,
        owner: Owner,
        class: &str,
        make: impl FnOnce(&mut Root<'_>) -> Result<R>,
    ) -> Result<R> {
        self.check_editable()?;
        self.with_root(owner, class, make)
    }

    fn refresh(&mut self, (owner, class): (Owner, &str), checked: bool) -> Result<()> {
        match self.root(owner, class) {
            Ok(_) => self.with_root(owner, class, |root| root.refresh(checked)),
            Err(_) => Ok(()),
        }
    }

    fn put_number(&mut self, owner: Owner, change: &FieldChange, direction: Direction) -> bool {
        let Owner::Object(object) = owner else { return false };
        let FieldEdit::Set { old, new } = &change.how else { return false };
        if !self.is_still() {
            return false;
        }
        let bytes = if direction == Direction::Redo { new } else { old };
        let put = self.number_field(object, &change.path);
        put.is_some_and(|(root, field)| field.put(root, bytes).is_some())
    }

    fn numbers(&mut self, column: usize, object: ObjectId) -> Option<Self::Numbers> {
        let Self { numbers, registry, columns, directory, .. } = self;
        let (entry, location) = (columns.get(column)?, directory.location(object)?);
        let root: &dyn Any = entry.column.get(location)?.portable();
        let known = &mut numbers.of_columns;
        if known.len() <= column {
            known.resize_with(column + 1, || None);
        }
        let find = || NumberFields::new(registry, root, &(entry.of.name)()).map(Arc::new);
        let fields = known[column].get_or_insert_with(find).clone()?;
        let bits = fields.bits(root)?;
        Some((fields, bits))
    }

    fn number_changes(
        &mut self,
        (column, object): (usize, ObjectId),
        (fields, bits): &Self::Numbers,
    ) -> Option<Vec<FieldChange>> {
        fields.changes(self.any_component(column, object)?, bits)
    }

    fn put_numbers(
        &mut self,
        (column, object): (usize, ObjectId),
        (fields, bits): &Self::Numbers,
    ) -> Option<()> {
        fields.put(self.any_component(column, object)?, bits)
    }

    fn watch(&self) {
        self.touched.begin();
    }

    fn take_touched(&mut self) -> Vec<Changed<'static>> {
        let mut touched = mem::take(&mut self.touched);
        let changed = touched.take(|object| self.contains(object));
        self.touched = touched;
        changed
    }

    fn prints(&self, objects: Option<&[ObjectId]>, prints: &mut Vec<Print>) {
        match objects {
            Some(objects) => objects.iter().for_each(|object| self.print_object(*object, prints)),
            None => {
                self.objects().for_each(|object| self.print_object(object, prints));
                self.print_resources(prints);
            }
        }
    }
}

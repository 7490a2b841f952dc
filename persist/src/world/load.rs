//! How a world is read from a save.

use super::World;
use super::any_component::{AnyComponent, UnknownComponent, charge_pages};
use super::column::Column;
use super::directory::Place;
use super::object::{Activity, KeptComponent, Object, Shape};
use super::resources::AnyResource;
use super::stored::StoredObject;
use super::world::LAST_ID;
use crate::codec::{AsTrait, BoxOf, Decoder, Fail, Persist, count};
use crate::types::decode_text_bytes;
use crate::{Error, ErrorKind, ObjectId, Result};

/// What is known while the objects are read.
#[derive(Default)]
struct Reading {
    /// The columns of class numbers, as they are met.
    by_number: Vec<Option<usize>>,
    /// The object before.
    last: Option<ObjectId>,
    /// The columns of the components of this object so far.
    columns: Vec<usize>,
    /// How many of them have been started.
    started: u16,
    /// The shape of the object before.
    shape: Shape,
    /// Objects that are not active.
    held: Vec<ObjectId>,
    has_children: bool,
}

impl Reading {
    fn enter(&mut self, column: usize, is_started: bool) {
        self.columns.push(column);
        self.started += u16::from(is_started);
    }
}

impl World {
    pub(super) fn decode_parts(&mut self, input: &mut Decoder<'_>) -> Result<(), Fail> {
        self.last_id = input.value::<u64>()?;
        // So many cannot have been given; and from here on `spawn` does not run out of them.
        if self.last_id > LAST_ID / 2 {
            let message = format!("the world has given {} ids, more than there are", self.last_id);
            return Err(input.refuse(wrong(message)));
        }
        let head = input.take(1)?;
        let count = input.elements::<StoredObject>(head)?;
        let mut reading = Reading::default();
        input.nested_in::<StoredObject, _>(|input| {
            (0..count).try_for_each(|_| self.decode_object(&mut reading, input))
        })?;
        if reading.has_children
            && let Err(error) = self.connect_children()
        {
            return Err(input.refuse(error));
        }
        reading.held.into_iter().for_each(|object| self.hold(object));
        let head = input.take(1)?;
        let count = input.elements::<Box<dyn AnyResource>>(head)?;
        let start = input.links().pending();
        let mut places = Vec::new();
        input.nested_in::<Box<dyn AnyResource>, _>(|input| {
            for _ in 0..count {
                let first = input.links().pending();
                let value = <AsTrait as BoxOf<dyn AnyResource>>::decode(input)?;
                match self.insert_loaded(value) {
                    Ok(name) => places.push((name, first..input.links().pending())),
                    Err(error) => return Err(input.refuse(error)),
                }
            }
            Ok(())
        })?;
        // They are visited in another order, if a class has another name by now or is known again.
        places.sort_by(|(a, _), (b, _)| (a.is_none(), a).cmp(&(b.is_none(), b)));
        let ranges: Vec<_> = places.into_iter().map(|(_, range)| range).collect();
        input.links().reorder(start, &ranges);
        Ok(())
    }

    /// Lets go of what a failed load has made; nobody has seen it, and none of it is released.
    pub(super) fn forget(&mut self) {
        self.objects = Column::default();
    }

    fn decode_object(
        &mut self,
        reading: &mut Reading,
        input: &mut Decoder<'_>,
    ) -> Result<(), Fail> {
        let head = input.take(ObjectId::__HEAD)?;
        // What is stored was given; the load may have given it a new one by now.
        let stored = u64::__decode_fixed(&head[1..], &mut false);
        let id = ObjectId::__decode(head, input)?;
        let name = decode_text_bytes(input)?;
        // Most objects have none.
        let children = match input.rest() {
            [0, ..] => input.take(1).map(|_| Vec::new())?,
            _ => input.value::<Vec<ObjectId>>()?,
        };
        let activity = input.value::<Activity>()?;
        let started = input.value::<Option<u32>>()?;
        if id.is_dead() || stored > self.last_id {
            return Err(input.refuse(wrong(format!("object {id} has an id that was never given"))));
        }
        // References are visited in the order of the ids.
        if let Some(last) = reading.last.replace(id)
            && last >= id
        {
            return Err(
                input.refuse(wrong(format!("object {id} stands after {last}, and ids ascend")))
            );
        }
        let name = match name {
            [] => None,
            name => Some(self.names.hold_bytes(name).map_err(|_| Fail::Text)?),
        };
        if let Some(name) = name
            && self.names.give(name, id).is_some()
        {
            let name = self.names.text(name);
            return Err(input.refuse(wrong(format!("two objects have the name `{name}`"))));
        }
        let mut object = Object::new(name);
        object.activity = activity;
        if !children.is_empty() {
            reading.has_children = true;
            *object.children_mut() = children.into();
        }
        let place = self.enter(id, object);
        let head = input.take(1)?;
        let count = input.elements::<Box<dyn AnyComponent>>(head)?;
        let started = started.map_or(count, |started| started as usize);
        reading.columns.clear();
        reading.started = 0;
        input.nested_in::<Box<dyn AnyComponent>, _>(|input| {
            for at in 0..count {
                self.decode_component(id, place, at < started, reading, input)?;
            }
            Ok(())
        })?;
        if let Some(object) = self.objects.get_mut(place) {
            // Many objects that are read one after the other have one shape.
            if *self.shapes.columns(reading.shape) != *reading.columns {
                reading.shape = self.shapes.of(&reading.columns);
            }
            object.shape = reading.shape;
            object.started = reading.started;
        }
        if activity != Activity::Active {
            reading.held.push(id);
        }
        if count > started {
            self.waiting.push(id);
        }
        if activity == Activity::Expired {
            self.expired.push_back(id);
        }
        Ok(())
    }

    /// Reads a component.
    fn decode_component(
        &mut self,
        id: ObjectId,
        place: Place,
        is_started: bool,
        reading: &mut Reading,
        input: &mut Decoder<'_>,
    ) -> Result<(), Fail> {
        let before = input.rest();
        // A number of a class is no more than the records before.
        let number = usize::try_from(count::decode(input)?).map_err(|_| Fail::Value)?;
        if let Some(column) = reading.by_number.get(number).copied().flatten() {
            reading.enter(column, is_started);
            return match self.columns[column].column.decode(place, input)? {
                true => Ok(()),
                false => Err(input.refuse(self.twice(id, column))),
            };
        }
        input.go_back(before);
        let component = <AsTrait as BoxOf<dyn AnyComponent>>::decode(input)?;
        let of = (*component).__component_type();
        if of.id == std::any::TypeId::of::<UnknownComponent>() {
            let content = component.__into_any().downcast::<UnknownComponent>();
            let content = content.map_err(|_| Fail::Value)?.content;
            let Some(object) = self.objects.get_mut(place) else { return Err(Fail::Value) };
            let before = reading.columns.len();
            object.unknown_list().push(KeptComponent { before, is_started, content });
            self.has_unknown = true;
            return Ok(());
        }
        let column = match self.by_type.get(&of.id) {
            Some(column) => *column,
            None => {
                if let Err(error) = (of.register)(&mut self.registry) {
                    return Err(input.refuse(error));
                }
                self.new_column(of)
            }
        };
        // Numbers are given one after the other; a large one is that of a record made to harm.
        let by_number = &mut reading.by_number;
        if number < 1 << 16 {
            by_number.resize(by_number.len().max(number + 1), None);
            by_number[number] = Some(column);
        }
        let entry = &self.columns[column];
        if entry.column.has(place) {
            return Err(input.refuse(self.twice(id, column)));
        }
        charge_pages(entry.column.pages(), place, input)?;
        reading.enter(column, is_started);
        (of.put)(self, column, id, component.__into_any());
        Ok(())
    }

    #[cold]
    fn twice(&self, id: ObjectId, column: usize) -> Error {
        let name = (self.columns[column].of.name)();
        wrong(format!("object {id} has two components {name}"))
    }

    /// Connects children to their parents, once all objects are there.
    fn connect_children(&mut self) -> Result<()> {
        let objects: Vec<ObjectId> = self.objects().collect();
        for parent in &objects {
            let children = self.children(*parent).to_vec();
            for child in children {
                let found = self.object_mut(child).ok_or_else(|| {
                    wrong(format!("child {child} of object {parent} is not there"))
                })?;
                if found.parent.replace(*parent).is_some() {
                    return Err(wrong(format!(
                        "object {child} is below two others, or below one twice"
                    )));
                }
            }
        }
        // What no object at the top leads to goes round in a circle.
        let mut rest: Vec<ObjectId> = self.roots().collect();
        let mut met = 0;
        while let Some(object) = rest.pop() {
            met += 1;
            rest.extend(self.children(object));
        }
        if met < objects.len() {
            return Err(wrong(format!("{} objects are below each other", objects.len() - met)));
        }
        Ok(())
    }
}

#[cold]
fn wrong(mut message: String) -> Error {
    message.push_str("; the save is damaged or made to harm");
    Error::new(ErrorKind::InvalidValue, message)
}

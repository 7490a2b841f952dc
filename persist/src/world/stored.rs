//! A world in a save.
//!
//! It is written and read by hand, to and from its columns; the bytes are those of [`StoredWorld`], whose
//! schema it has.

use std::rc::Rc;

use super::World;
use super::any_component::{AnyComponent, UnknownComponent};
use super::column::{Column, Page};
use super::directory::Place;
use super::object::{Activity, KeptComponent, Object, Shapes};
use super::resources::AnyResource;
use super::world::LAST_ID;
use crate::codec::{
    AsTrait, AsValue, BoxOf, Decoder, Encoder, Fail, Persist, Phase, Pointee, Prototypes, Stop,
    TraitObject, TypeSet, Visitor, count, trait_name,
};
use crate::reflect::Kind;
use crate::types::encode_text;
use crate::{Error, ErrorKind, ObjectId, Result};

/// What a save has of a world.
#[derive(crate::Persist)]
#[persist(crate = crate, class = "persist.World")]
pub(super) struct StoredWorld {
    last_id: u64,
    objects: Vec<StoredObject>,
    resources: Vec<Box<dyn AnyResource>>,
}

/// What a save has of an object.
#[derive(crate::Persist)]
#[persist(crate = crate, class = "persist.Object")]
struct StoredObject {
    id: ObjectId,
    name: String,
    children: Vec<ObjectId>,
    activity: Activity,
    /// How many components from the first on have been started, unless all have.
    started: Option<u32>,
    components: Vec<Box<dyn AnyComponent>>,
}

/// Which class numbers the columns have in this save, as they are met.
type Numbers = Vec<Option<u64>>;

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
    started: usize,
}

impl Reading {
    fn enter(&mut self, column: usize, is_started: bool) {
        self.columns.push(column);
        self.started += usize::from(is_started);
    }
}

impl World {
    /// Writes these objects, which are in ascending order; of the whole world the resources too, and what has been
    /// started.
    pub(super) fn encode_objects(
        &self,
        mut objects: impl Iterator<Item = ObjectId>,
        count: usize,
        is_whole: bool,
        out: &mut Encoder<'_>,
    ) -> Result<(), Stop> {
        let mut numbers = vec![None; self.columns.len()];
        out.value(&self.last_id)?;
        count::encode(count as u64, out)?;
        out.nested_in::<StoredObject>(|out| {
            objects.try_for_each(|id| self.encode_object(id, is_whole, &mut numbers, out))
        })?;
        let resources = &self.resources;
        let count = if is_whole { resources.values.len() + resources.unknown.len() } else { 0 };
        count::encode(count as u64, out)?;
        if count == 0 {
            return Ok(());
        }
        out.nested_in::<Box<dyn AnyResource>>(|out| {
            for (.., value) in &resources.values {
                <AsTrait as BoxOf<dyn AnyResource>>::encode(&**value, out)?;
            }
            for unknown in &resources.unknown {
                encode_unknown(unknown, out)?;
            }
            Ok(())
        })
    }

    fn encode_object(
        &self,
        id: ObjectId,
        is_whole: bool,
        numbers: &mut Numbers,
        out: &mut Encoder<'_>,
    ) -> Result<(), Stop> {
        let Some(place) = self.directory.place(id) else { return Err(out.no_field()) };
        let Some(object) = self.objects.get(place) else { return Err(out.no_field()) };
        let columns = self.shapes.columns(object.shape);
        let mut unknown = object.unknown.iter().peekable();
        // Those before a started one count as such.
        let is_started = |kept: &&KeptComponent| {
            kept.before < object.started || (kept.before == object.started && kept.is_started)
        };
        let started = match is_whole {
            true => object.started + object.unknown.iter().filter(is_started).count(),
            false => 0,
        };
        let all = columns.len() + object.unknown.len();
        let started = (started < all).then(|| u32::try_from(started).unwrap_or(u32::MAX));
        out.value(&id)?;
        encode_text(&object.name, out)?;
        out.value(&object.children)?;
        out.value(&object.activity)?;
        out.value(&started)?;
        count::encode((columns.len() + object.unknown.len()) as u64, out)?;
        out.nested_in::<Box<dyn AnyComponent>>(|out| {
            for (before, column) in columns.iter().enumerate() {
                while let Some(unknown) = unknown.next_if(|kept| kept.before <= before) {
                    encode_unknown(&unknown.content, out)?;
                }
                self.encode_component(*column, place, numbers, out)?;
            }
            unknown.try_for_each(|unknown| encode_unknown(&unknown.content, out))
        })
    }

    fn encode_component(
        &self,
        column: usize,
        place: Place,
        numbers: &mut Numbers,
        out: &mut Encoder<'_>,
    ) -> Result<(), Stop> {
        let entry = &self.columns[column];
        let number = match numbers[column] {
            Some(number) => number,
            None => {
                let of = trait_name::<dyn AnyComponent>();
                match out.links().class(entry.of.id, of, &entry.of.name) {
                    Ok(number) => *numbers[column].insert(number),
                    Err(_) => return Err(out.refuse(unregistered(&(entry.of.name)()))),
                }
            }
        };
        count::encode(number, out)?;
        entry.column.encode(place, out).unwrap_or_else(|| {
            Err(out.refuse(Error::new(
                ErrorKind::Borrowed,
                format!(
                    "a method of {} runs, and it is out of its place; save behind the update",
                    (entry.of.name)()
                ),
            )))
        })
    }

    fn decode_parts(&mut self, input: &mut Decoder<'_>) -> Result<(), Fail> {
        self.last_id = input.value::<u64>()?;
        // So many cannot have been given; and from here on `spawn` does not run out of them.
        if self.last_id > LAST_ID / 2 {
            let message = format!("{} ids were given, more than there are", self.last_id);
            return Err(input.refuse(wrong(message)));
        }
        let head = input.take(1)?;
        let count = input.elements::<StoredObject>(head)?;
        let mut reading = Reading::default();
        input.nested_in::<StoredObject, _>(|input| {
            (0..count).try_for_each(|_| self.decode_object(&mut reading, input))
        })?;
        if let Err(error) = self.connect_children() {
            return Err(input.refuse(error));
        }
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
        let head = input.take(ObjectId::HEAD)?;
        // What is stored was given; the load may have given it a new one by now.
        let stored = u64::decode_fixed(&head[1..], &mut false);
        let id = ObjectId::decode(head, input)?;
        let name = input.value::<String>()?;
        let children = input.value::<Vec<ObjectId>>()?;
        let activity = input.value::<Activity>()?;
        let started = input.value::<Option<u32>>()?;
        if id.is_dead() || stored > self.last_id {
            return Err(input.refuse(wrong(format!("object {id} has an id that was never given"))));
        }
        // References are visited in the order of the ids.
        if let Some(last) = reading.last.replace(id)
            && last >= id
        {
            return Err(input.refuse(wrong(format!("object {id} stands behind {last}"))));
        }
        let name = Rc::from(name);
        if self.names.take(&name, id).is_some() {
            return Err(input.refuse(wrong(format!("two objects have the name `{name}`"))));
        }
        let place = self.enter(id, Object { name, children, activity, ..Object::default() });
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
            object.shape = self.shapes.of(&reading.columns);
            object.started = reading.started;
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
            self.claim(id, place, column, input)?;
            reading.enter(column, is_started);
            return self.columns[column].column.decode(place, input);
        }
        input.go_back(before);
        let component = <AsTrait as BoxOf<dyn AnyComponent>>::decode(input)?;
        let of = (*component).__component_type();
        if of.id == std::any::TypeId::of::<UnknownComponent>() {
            let content = component.__into_any().downcast::<UnknownComponent>();
            let content = content.map_err(|_| Fail::Value)?.content;
            let Some(object) = self.objects.get_mut(place) else { return Err(Fail::Value) };
            let before = reading.columns.len();
            object.unknown.push(KeptComponent { before, is_started, content });
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
        self.claim(id, place, column, input)?;
        reading.enter(column, is_started);
        (of.put)(self, column, id, component.__into_any());
        Ok(())
    }

    /// Checks whether a component of an object may come.
    fn claim(
        &mut self,
        id: ObjectId,
        place: Place,
        column: usize,
        input: &mut Decoder<'_>,
    ) -> Result<(), Fail> {
        let entry = &self.columns[column];
        if entry.column.has(place) {
            let name = (entry.of.name)();
            return Err(input.refuse(wrong(format!("object {id} has two components {name}"))));
        }
        // A component on a page of its own takes all pages before in its column.
        let pages = (place.page + 1).saturating_sub(entry.column.pages());
        if pages > 1 {
            let limits = input.limits();
            let bytes = (pages * size_of::<Page<u8>>()) as u64;
            if let Err(error) = input.links().charge_memory(bytes, limits) {
                return Err(input.refuse(error));
            }
        }
        Ok(())
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
        for object in objects {
            if self.activity(object) != Some(Activity::Active) {
                self.hold(object);
            }
        }
        Ok(())
    }

    /// The objects that hold anything to be visited.
    fn visited(&self) -> impl Iterator<Item = ObjectId> + use<'_> {
        let wanted = self.shapes.any(|column| !self.columns[column].of.is_leaf);
        let is_none = !wanted.contains(&true) && !self.has_unknown;
        let pages = if is_none { &[][..] } else { &self.objects.pages };
        pages.iter().enumerate().flat_map(move |(page, objects)| {
            let bits: Vec<u32> = objects
                .bits()
                .filter(|bit| {
                    objects.get(*bit).is_some_and(|object| {
                        wanted.get(Shapes::index(object.shape)).is_some_and(|wanted| *wanted)
                            || !object.unknown.is_empty()
                    })
                })
                .collect();
            bits.into_iter().filter_map(move |bit| self.directory.id(page, bit))
        })
    }

    /// Visits what [`decode`](Persist::decode) has read, in that order.
    fn visit_parts(&mut self, visitor: &mut Visitor<'_>) -> Result<()> {
        let objects: Vec<ObjectId> = self.visited().collect();
        for id in objects {
            let Some(place) = self.directory.place(id) else { continue };
            let Some(object) = self.objects.get_mut(place) else { continue };
            let mut unknown = object.unknown.iter_mut().peekable();
            for (before, column) in self.shapes.columns(object.shape).iter().enumerate() {
                while let Some(unknown) = unknown.next_if(|kept| kept.before <= before) {
                    unknown.content.visit(visitor)?;
                }
                let entry = &mut self.columns[*column];
                if let Some(component) = entry.column.get_mut(place) {
                    visitor.nested(|visitor| component.portable_mut().visit(visitor)).map_err(
                        |error| error.in_field(&format!("{}:{}", object.name, (entry.of.name)())),
                    )?;
                }
            }
            for unknown in unknown {
                unknown.content.visit(visitor)?;
            }
        }
        for (.., value) in &mut self.resources.values {
            visitor.nested(|visitor| value.portable_mut().visit(visitor))?;
        }
        self.resources.unknown.iter_mut().try_for_each(|unknown| unknown.visit(visitor))
    }
}

fn encode_unknown(unknown: &crate::Unknown, out: &mut Encoder<'_>) -> Result<(), Stop> {
    match unknown.value() {
        Ok(value) => value.encode_class(out).and_then(|()| value.encode(out)),
        Err(error) => Err(out.refuse(error)),
    }
}

#[cold]
fn wrong(message: String) -> Error {
    Error::new(ErrorKind::InvalidValue, message)
}

#[cold]
fn unregistered(class: &str) -> Error {
    Error::new(
        ErrorKind::WrongClass,
        format!(
            "component class {class} is not registered; call `register_component::<{class}>()` on the `SaveManager`, or `save_world`, which does it"
        ),
    )
}

impl Persist for World {
    const MIN: usize = 10;
    const LEAF: bool = false;

    fn kind() -> Kind {
        StoredWorld::kind()
    }

    fn name() -> String {
        StoredWorld::name()
    }

    fn reach(types: &mut TypeSet) {
        StoredWorld::reach(types);
    }

    fn prototype(_: &Prototypes<'_>) -> Result<Self> {
        Ok(Self::new())
    }

    fn encode_tail(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
        self.encode_objects(self.objects(), self.count, true, out)
    }

    fn decode(_: &[u8], input: &mut Decoder<'_>) -> Result<Self, Fail> {
        let mut world = Self::new();
        match world.decode_parts(input) {
            Ok(()) => Ok(world),
            Err(fail) => {
                world.forget();
                Err(fail)
            }
        }
    }

    fn visit(&mut self, visitor: &mut Visitor<'_>) -> Result<()> {
        let result = self.visit_parts(visitor);
        if result.is_err() && visitor.phase() != Phase::BeforeSave {
            self.forget();
        }
        result
    }

    fn visit_shared(&self, visitor: &mut Visitor<'_>) -> Result<()> {
        for id in self.visited() {
            let Some(place) = self.directory.place(id) else { continue };
            let Some(object) = self.objects.get(place) else { continue };
            let mut unknown = object.unknown.iter().peekable();
            for (before, column) in self.shapes.columns(object.shape).iter().enumerate() {
                while let Some(unknown) = unknown.next_if(|kept| kept.before <= before) {
                    unknown.content.visit_shared(visitor)?;
                }
                if let Some(component) = self.columns[*column].column.get(place) {
                    visitor.nested(|visitor| component.portable().visit_shared(visitor))?;
                }
            }
            for unknown in unknown {
                unknown.content.visit_shared(visitor)?;
            }
        }
        for (.., value) in &self.resources.values {
            visitor.nested(|visitor| value.portable().visit_shared(visitor))?;
        }
        self.resources.unknown.iter().try_for_each(|unknown| unknown.visit_shared(visitor))
    }
}

impl Pointee for World {
    type As = AsValue;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Component, SaveManager};

    #[derive(crate::Persist)]
    #[persist(crate = crate)]
    struct Health(u32);

    #[derive(crate::Persist)]
    #[persist(crate = crate)]
    struct Target {
        whom: Option<ObjectId>,
        name: String,
    }

    impl Component for Health {}
    impl Component for Target {}

    #[test]
    fn a_world_is_written_and_read_as_its_derived_form() -> Result<()> {
        let mut world = World::new();
        let ids: Vec<ObjectId> = (0..300).map(|_| world.spawn("Orc")).collect();
        for (at, id) in ids.iter().enumerate().filter(|(at, _)| at % 3 > 0) {
            world.attach(*id, Health(5))?;
            world.set_parent(*id, Some(ids[at - 1]))?;
            if at % 2 == 0 {
                world.attach(*id, Target { whom: Some(ids[0]), name: "x".repeat(at) })?;
            }
        }
        world.update(0.1);
        world.attach(ids[1], Target { whom: None, name: String::new() })?;
        world.pause(ids[7])?;
        world.remove(ids[200]);
        world.insert_resource(Health(1))?;

        let mut saves = SaveManager::new();
        saves.register_component::<Health>()?;
        saves.register_component::<Target>()?;
        saves.register_resource::<Health>()?;
        let by_hand = saves.value_to_vec(&world)?;
        let (derived, _) = saves.value_from_slice::<StoredWorld>(&by_hand)?;
        let save = saves.value_to_vec(&derived)?;
        assert!(save == by_hand, "{} bytes and {}", save.len(), by_hand.len());
        let (again, _) = saves.value_from_slice::<World>(&save)?;
        assert!(saves.value_to_vec(&again)? == save);
        Ok(())
    }
}

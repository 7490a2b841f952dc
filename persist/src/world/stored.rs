//! A world in a save.
//!
//! It is written and read by hand, to and from its columns; the bytes are those of [`StoredWorld`], whose
//! schema it has.

use super::World;
use super::any_component::AnyComponent;
use super::directory::Place;
use super::object::{Activity, KeptComponent, Object};
use super::parked::ParkedObject;
use super::resources::AnyResource;
use crate::codec::{
    AsTrait, BoxOf, Decoder, Encoder, Fail, Persist, Phase, Pointee, Prototypes, Stop, TypeSet,
    Visitor, count, trait_name,
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
pub(super) struct StoredObject {
    id: ObjectId,
    name: String,
    children: Vec<ObjectId>,
    activity: Activity,
    /// How many components from the first on have been started, unless all have.
    started: Option<u32>,
    components: Vec<Box<dyn AnyComponent>>,
}

impl World {
    /// The name of its class.
    pub(crate) const CLASS: &str = "persist.World";

    /// The names of the traits of what it holds: components and resources.
    pub(crate) const TRAITS: [&str; 2] = ["persist.Component", "persist.Resource"];
}

/// What of a world is written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Content {
    /// All of it, with the resources and what has been started.
    World,
    /// Some objects; none of their components counts as started.
    Copy,
    /// Some objects as they are.
    Objects,
}

/// Where an object is that is written.
#[derive(Clone, Copy)]
pub(super) enum Source<'w> {
    Live,
    Parked(&'w ParkedObject),
}

/// Which class numbers the columns have in this save, as they are met.
type Numbers = Vec<Option<u64>>;

impl World {
    /// Writes these objects, which are in ascending order.
    pub(super) fn encode_objects<'w>(
        &'w self,
        mut objects: impl Iterator<Item = (ObjectId, Source<'w>)>,
        count: usize,
        content: Content,
        out: &mut Encoder<'_>,
    ) -> Result<(), Stop> {
        let mut numbers = vec![None; self.columns.len()];
        out.value(&self.last_id)?;
        count::encode(count as u64, out)?;
        out.nested_in::<StoredObject>(|out| {
            objects.try_for_each(|(id, source)| {
                self.encode_object(id, source, content, &mut numbers, out)
            })
        })?;
        let resources = &self.resources;
        let count = match content {
            Content::World => resources.values.len() + resources.unknown.len(),
            Content::Copy | Content::Objects => 0,
        };
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
        source: Source<'_>,
        content: Content,
        numbers: &mut Numbers,
        out: &mut Encoder<'_>,
    ) -> Result<(), Stop> {
        let place = self.directory.place(id);
        let object = match source {
            Source::Live => place.and_then(|place| self.objects.get(place)),
            Source::Parked(parked) => Some(&parked.object),
        };
        let Some(object) = object else { return Err(out.no_field()) };
        let columns = self.shapes.columns(object.shape);
        let mut unknown = object.unknown().iter().peekable();
        let started = usize::from(object.started);
        // Those before a started one count as such.
        let is_started = |kept: &&KeptComponent| {
            kept.before < started || (kept.before == started && kept.is_started)
        };
        let started = match content {
            Content::Copy => 0,
            _ => started + object.unknown().iter().filter(is_started).count(),
        };
        let all = columns.len() + object.unknown().len();
        let started = (started < all).then(|| u32::try_from(started).unwrap_or(u32::MAX));
        out.value(&id)?;
        self.encode_name(object, out)?;
        out.value(object.children())?;
        out.value(&object.activity)?;
        out.value(&started)?;
        count::encode((columns.len() + object.unknown().len()) as u64, out)?;
        out.nested_in::<Box<dyn AnyComponent>>(|out| {
            for (before, column) in columns.iter().enumerate() {
                while let Some(unknown) = unknown.next_if(|kept| kept.before <= before) {
                    encode_unknown(&unknown.content, out)?;
                }
                self.encode_component(*column, place, source, numbers, out)?;
            }
            unknown.try_for_each(|unknown| encode_unknown(&unknown.content, out))
        })
    }

    /// Writes a name whose text there may not be.
    fn encode_name(&self, object: &Object, out: &mut Encoder<'_>) -> Result<(), Stop> {
        let (base, number) = object.name.map_or(("", 0), |name| self.names.parts(name));
        if number == 0 {
            return encode_text(base, out);
        }
        let mut digits = [0; 10];
        let (mut at, mut rest) = (digits.len(), number);
        while rest > 0 {
            at -= 1;
            digits[at] = b"0123456789"[rest as usize % 10];
            rest /= 10;
        }
        let digits = &digits[at..];
        let len = base.len() + digits.len();
        if len as u64 > count::SHORT {
            out.check_text(len)?;
        }
        count::encode(len as u64, out)?;
        out.bytes(base.as_bytes())?;
        out.bytes(digits)
    }

    fn encode_component(
        &self,
        column: usize,
        place: Option<Place>,
        source: Source<'_>,
        numbers: &mut Numbers,
        out: &mut Encoder<'_>,
    ) -> Result<(), Stop> {
        if let Source::Parked(parked) = source {
            let component = parked.components.iter().find(|(of, _)| *of == column);
            return match component {
                Some((_, component)) => {
                    <AsTrait as BoxOf<dyn AnyComponent>>::encode(&**component, out)
                }
                None => Err(out.no_field()),
            };
        }
        let Some(place) = place else { return Err(out.no_field()) };
        let entry = &self.columns[column];
        let number = match numbers[column] {
            Some(number) => number,
            None => {
                let of = trait_name::<dyn AnyComponent>();
                let class = out.ask(|links| {
                    let class = links.class(entry.of.id, of, &entry.of.name);
                    class.map_err(|_| unregistered(&(entry.of.name)()))
                });
                *numbers[column].insert(class?)
            }
        };
        count::encode(number, out)?;
        entry.column.encode(place, out).unwrap_or_else(|| {
            Err(out.refuse(Error::new(
                ErrorKind::Borrowed,
                format!(
                    "a method of {} runs, and it is out of its place; save after the update",
                    (entry.of.name)()
                ),
            )))
        })
    }
}

fn encode_unknown(unknown: &crate::Unknown, out: &mut Encoder<'_>) -> Result<(), Stop> {
    match unknown.value() {
        Ok(value) => value.encode_class(out).and_then(|()| value.encode(out)),
        Err(error) => Err(out.refuse(error)),
    }
}

#[cold]
fn unregistered(class: &str) -> Error {
    Error::new(
        ErrorKind::WrongClass,
        format!(
            "component class {class} is not registered; call `register_component::<{class}>()` on the `SaveManager`, or `register` with it on the world if it is this that saves"
        ),
    )
}

#[diagnostic::do_not_recommend]
impl Persist for World {
    const __MIN: usize = 10;

    fn persist_kind() -> Kind {
        StoredWorld::persist_kind()
    }

    fn persist_empty(_: &Prototypes<'_>) -> Result<Self> {
        Ok(Self::new())
    }

    fn persist_encode(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
        let objects = self.objects().map(|id| (id, Source::Live));
        self.encode_objects(objects, self.count, Content::World, out)
    }

    fn persist_decode(input: &mut Decoder<'_>) -> Result<Self, Fail> {
        let mut world = Self::new();
        match world.decode_parts(input) {
            Ok(()) => Ok(world),
            Err(fail) => {
                world.forget();
                Err(fail)
            }
        }
    }

    fn __reach(types: &mut TypeSet) {
        StoredWorld::__reach(types);
    }

    fn __visit(&mut self, visitor: &mut Visitor<'_>) -> Result<()> {
        let result = self.visit_parts(visitor);
        if result.is_err() && visitor.phase() != Phase::BeforeSave {
            self.forget();
        }
        result
    }

    fn __visit_shared(&self, visitor: &mut Visitor<'_>) -> Result<()> {
        self.visit_parts_shared(visitor)
    }
}

#[diagnostic::do_not_recommend]
impl Pointee for World {
    type As = Self;
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
        world.set_activity(ids[7], Activity::Paused)?;
        world.remove(ids[200]);
        world.insert_resource(Health(1))?;

        let mut saves = SaveManager::new();
        saves.register_component::<Health>()?;
        saves.register_component::<Target>()?;
        saves.registry_mut().register_resource::<Health>()?;
        let by_hand = saves.value_to_vec(&world)?;
        let (derived, _) = saves.value_from_slice::<StoredWorld>(&by_hand)?;
        let save = saves.value_to_vec(&derived)?;
        assert!(save == by_hand, "{} bytes and {}", save.len(), by_hand.len());
        let (again, _) = saves.value_from_slice::<World>(&save)?;
        assert!(saves.value_to_vec(&again)? == save);
        Ok(())
    }
}

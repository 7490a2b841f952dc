//! A world in a save.
//!
//! It is written and read by hand, to and from its columns; the bytes are those of [`StoredWorld`], whose
//! schema it has.

use super::World;
use super::any_component::{AnyComponent, Items};
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

/// The objects that are written, in ascending order.
#[derive(Clone, Copy)]
pub(super) enum Objects<'o, 'w> {
    All,
    These(&'o [(ObjectId, Source<'w>)]),
}

/// Where the components of an object are that is written.
enum Components<'w> {
    Live(Place),
    Parked(&'w ParkedObject),
}

/// What is known of a column while objects are written.
#[derive(Default)]
struct Progress<'w> {
    /// The number of its class in this save, once it was met.
    number: Option<u64>,
    /// The components of a page whose objects all are written.
    items: Option<Box<dyn Items + 'w>>,
}

impl World {
    /// Writes objects, and what else is asked for.
    pub(super) fn encode_objects(
        &self,
        objects: Objects<'_, '_>,
        content: Content,
        out: &mut Encoder<'_>,
    ) -> Result<(), Stop> {
        let mut progress: Vec<Progress<'_>> =
            self.columns.iter().map(|_| Progress::default()).collect();
        let count = match objects {
            Objects::All => self.count,
            Objects::These(objects) => objects.len(),
        };
        out.value(&self.last_id)?;
        count::encode(count as u64, out)?;
        out.nested_in::<StoredObject>(|out| match objects {
            Objects::All => (0..self.directory.len())
                .try_for_each(|page| self.encode_page(page, content, &mut progress, out)),
            Objects::These(objects) => objects.iter().try_for_each(|(id, source)| {
                let (object, components) = match source {
                    Source::Live => {
                        let place = self.directory.place(*id);
                        let object = place.and_then(|place| self.objects.get(place));
                        (object, place.map(Components::Live))
                    }
                    Source::Parked(parked) => {
                        (Some(&parked.object), Some(Components::Parked(parked)))
                    }
                };
                match (object, components) {
                    (Some(object), Some(components)) => {
                        self.encode_object(*id, object, &components, content, &mut progress, out)
                    }
                    _ => Err(out.no_field()),
                }
            }),
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

    /// Writes all objects of a page.
    fn encode_page<'w>(
        &'w self,
        page: usize,
        content: Content,
        progress: &mut [Progress<'w>],
        out: &mut Encoder<'_>,
    ) -> Result<(), Stop> {
        for (progress, entry) in progress.iter_mut().zip(&self.columns) {
            progress.items = entry.column.items(page);
        }
        let Some(objects) = self.objects.page(page) else { return Ok(()) };
        for (bit, object) in objects.bits().zip(objects.items()) {
            let Some(id) = self.directory.id(page, bit) else { return Err(out.no_field()) };
            let components = Components::Live(Place { page, bit });
            self.encode_object(id, object, &components, content, progress, out)?;
        }
        Ok(())
    }

    fn encode_object(
        &self,
        id: ObjectId,
        object: &Object,
        components: &Components<'_>,
        content: Content,
        progress: &mut [Progress<'_>],
        out: &mut Encoder<'_>,
    ) -> Result<(), Stop> {
        let columns = self.shapes.columns(object.shape);
        let unknown = object.unknown();
        let started = usize::from(object.started);
        // Those before a started one count as such.
        let is_started = |kept: &&KeptComponent| {
            kept.before < started || (kept.before == started && kept.is_started)
        };
        let started = match content {
            Content::Copy => 0,
            _ => started + unknown.iter().filter(is_started).count(),
        };
        let all = columns.len() + unknown.len();
        let started = (started < all).then(|| u32::try_from(started).unwrap_or(u32::MAX));
        if !self.encode_plain(id, object, started, all, out)? {
            out.value(&id)?;
            self.encode_name(object, out)?;
            out.value(object.children())?;
            out.value(&object.activity)?;
            out.value(&started)?;
            count::encode(all as u64, out)?;
        }
        out.nested_in::<Box<dyn AnyComponent>>(|out| {
            if unknown.is_empty() {
                for column in columns {
                    if let Progress { items: Some(items), number: Some(number) } =
                        &mut progress[*column]
                        && let Some(encoded) = items.encode_next(*number, out)
                    {
                        encoded?;
                    } else {
                        self.encode_component(*column, components, progress, out)?;
                    }
                }
                return Ok(());
            }
            let mut unknown = unknown.iter().peekable();
            for (before, column) in columns.iter().enumerate() {
                while let Some(unknown) = unknown.next_if(|kept| kept.before <= before) {
                    encode_unknown(&unknown.content, out)?;
                }
                self.encode_component(*column, components, progress, out)?;
            }
            unknown.try_for_each(|unknown| encode_unknown(&unknown.content, out))
        })
    }

    /// Writes all of an object but its components at once, as most are: without children, and with a short name. False if
    /// it is another one.
    fn encode_plain(
        &self,
        id: ObjectId,
        object: &Object,
        started: Option<u32>,
        components: usize,
        out: &mut Encoder<'_>,
    ) -> Result<bool, Stop> {
        let (base, number) = object.name.map_or(("", 0), |name| self.names.parts(name));
        let mut digits = [0; DIGITS];
        let digits = number_text(number, &mut digits);
        let Ok(components) = u8::try_from(components) else { return Ok(false) };
        let is_plain = object.children().is_empty()
            && object.activity == Activity::Active
            && base.len() <= SHORT_BASE
            && u64::from(components) <= count::SHORT;
        let Some(next) = out.ahead::<PLAIN>().filter(|_| is_plain) else { return Ok(false) };
        next[0] = 1;
        next[1..9].copy_from_slice(&id.get().to_le_bytes());
        let name = base.len() + digits.len();
        let (length, text) = next[9..].split_at_mut(1);
        length[0] = u8::try_from(name).unwrap_or(u8::MAX);
        text[..base.len()].copy_from_slice(base.as_bytes());
        text[base.len()..name].copy_from_slice(digits);
        // No children, active, and all components started or not.
        let rest = &mut text[name..name + 8];
        rest[..2].fill(0);
        rest[2] = u8::from(started.is_some());
        let width = match started {
            Some(started) => {
                rest[3..7].copy_from_slice(&started.to_le_bytes());
                7
            }
            None => 3,
        };
        rest[width] = components;
        out.take(10 + name + width + 1)?;
        Ok(true)
    }

    /// Writes a name whose text there may not be.
    fn encode_name(&self, object: &Object, out: &mut Encoder<'_>) -> Result<(), Stop> {
        let (base, number) = object.name.map_or(("", 0), |name| self.names.parts(name));
        if number == 0 {
            return encode_text(base, out);
        }
        let mut digits = [0; DIGITS];
        let digits = number_text(number, &mut digits);
        let len = base.len() + digits.len();
        if len as u64 > count::SHORT {
            out.check_text(len)?;
        }
        count::encode(len as u64, out)?;
        out.bytes(base.as_bytes())?;
        out.bytes(digits)
    }

    #[inline(never)]
    fn encode_component(
        &self,
        column: usize,
        components: &Components<'_>,
        progress: &mut [Progress<'_>],
        out: &mut Encoder<'_>,
    ) -> Result<(), Stop> {
        if let Components::Parked(parked) = components {
            let component = parked.components.iter().find(|(of, _)| *of == column);
            return match component {
                Some((_, component)) => {
                    <AsTrait as BoxOf<dyn AnyComponent>>::encode(&**component, out)
                }
                None => Err(out.no_field()),
            };
        }
        let progress = &mut progress[column];
        let entry = &self.columns[column];
        let number = match progress.number {
            Some(number) => number,
            None => {
                let of = trait_name::<dyn AnyComponent>();
                let class = out.ask(|links| {
                    let class = links.class(entry.of.id, of, &entry.of.name);
                    class.map_err(|_| unregistered(&(entry.of.name)()))
                });
                *progress.number.insert(class?)
            }
        };
        let encoded = match (&mut progress.items, components) {
            (Some(items), _) => items.encode_next(number, out),
            (None, Components::Live(place)) => entry.column.encode(*place, number, out),
            (None, Components::Parked(_)) => None,
        };
        encoded.unwrap_or_else(|| {
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

/// The most digits of the number of a name.
const DIGITS: usize = 10;

/// The longest base of a name that is written together with what is around it.
const SHORT_BASE: usize = 40;

/// Bytes of an object without its components: id, name, and what follows that.
const PLAIN: usize = 10 + SHORT_BASE + DIGITS + 8;

/// The digits of a number; none of 0.
fn number_text(number: u32, digits: &mut [u8; DIGITS]) -> &[u8] {
    let (mut at, mut rest) = (DIGITS, number);
    while rest > 0 {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    &digits[at..]
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
        self.encode_objects(Objects::All, Content::World, out)
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

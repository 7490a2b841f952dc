//! A world in a save.
//!
//! It is written and read by hand, to and from its columns; the bytes are those of [`StoredWorld`], whose
//! schema it has.

use super::directory::Place;
use super::object::{Activity, KeptComponent, Object};
use super::resources::AnyResource;
use super::world::{AnyComponent, ComponentType, Items, ParkedObject, World};
use crate::codec::{AsTrait, BoxOf, Buffer, Encoder, Stop, count, trait_name};
use crate::format::{Compression, Header, Sealer};
use crate::graph::{SaveTables, Saver};
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

/// Writes objects, and what else is asked for.
pub(super) fn encode_objects(
    world: &World,
    objects: Objects<'_, '_>,
    content: Content,
    out: &mut Encoder<'_>,
) -> Result<(), Stop> {
    let progress = world.columns.iter().map(|_| Progress::default()).collect();
    WorldWriter { world, content, progress }.objects(objects, out)
}

/// Objects of a world that are written.
struct WorldWriter<'w> {
    world: &'w World,
    content: Content,
    /// Of each column.
    progress: Vec<Progress<'w>>,
}

impl<'w> WorldWriter<'w> {
    fn objects(&mut self, objects: Objects<'_, 'w>, out: &mut Encoder<'_>) -> Result<(), Stop> {
        let count = match objects {
            Objects::All => self.world.count,
            Objects::These(objects) => objects.len(),
        };
        out.value(&self.world.last_id)?;
        count::encode(count as u64, out)?;
        out.nested_in::<StoredObject>(|out| match objects {
            Objects::All => {
                (0..self.world.directory.len()).try_for_each(|page| self.encode_page(page, out))
            }
            Objects::These(objects) => objects.iter().try_for_each(|(id, source)| {
                let (object, components) = match source {
                    Source::Live => {
                        let place = self.world.directory.place(*id);
                        let object = place.and_then(|place| self.world.objects.get(place));
                        (object, place.map(Components::Live))
                    }
                    Source::Parked(parked) => {
                        (Some(&parked.object), Some(Components::Parked(parked)))
                    }
                };
                match (object, components) {
                    (Some(object), Some(components)) => {
                        self.encode_object(*id, object, &components, out)
                    }
                    _ => Err(out.no_field()),
                }
            }),
        })?;
        let resources = &self.world.resources;
        let count = match self.content {
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
    fn encode_page(&mut self, page: usize, out: &mut Encoder<'_>) -> Result<(), Stop> {
        for (progress, entry) in self.progress.iter_mut().zip(&self.world.columns) {
            progress.items = entry.column.items(page);
        }
        let Some(objects) = self.world.objects.page(page) else { return Ok(()) };
        for (bit, object) in objects.bits().zip(objects.items()) {
            let Some(id) = self.world.directory.id(page, bit) else { return Err(out.no_field()) };
            let components = Components::Live(Place { page, bit });
            self.encode_object(id, object, &components, out)?;
        }
        Ok(())
    }

    fn encode_object(
        &mut self,
        id: ObjectId,
        object: &Object,
        components: &Components<'_>,
        out: &mut Encoder<'_>,
    ) -> Result<(), Stop> {
        let columns = self.world.shapes.columns(object.shape);
        let unknown = object.unknown();
        let started = usize::from(object.started);
        // Those before a started one count as such.
        let is_started = |kept: &&KeptComponent| {
            kept.before < started || (kept.before == started && kept.is_started)
        };
        let started = match self.content {
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
                        &mut self.progress[*column]
                        && let Some(encoded) = items.encode_next(*number, out)
                    {
                        encoded?;
                    } else {
                        self.encode_component(*column, components, out)?;
                    }
                }
                return Ok(());
            }
            let mut unknown = unknown.iter().peekable();
            for (before, column) in columns.iter().enumerate() {
                while let Some(unknown) = unknown.next_if(|kept| kept.before <= before) {
                    encode_unknown(&unknown.content, out)?;
                }
                self.encode_component(*column, components, out)?;
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
        let (base, number) = object.name.map_or(("", 0), |name| self.world.names.parts(name));
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
        let (base, number) = object.name.map_or(("", 0), |name| self.world.names.parts(name));
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
        &mut self,
        column: usize,
        components: &Components<'_>,
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
        let progress = &mut self.progress[column];
        let entry = &self.world.columns[column];
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

/// A save of objects of the world, in ascending order, or of the whole world.
pub(super) fn save_of(
    world: &World,
    objects: &[(ObjectId, Source<'_>)],
    content: Content,
) -> Result<Vec<u8>> {
    let shape = |(id, source): &(ObjectId, Source<'_>)| match source {
        Source::Live => world.shape_of(*id),
        Source::Parked(parked) => world.shapes.share(parked.object.shape),
    };
    let mut columns: Vec<usize> =
        objects.iter().flat_map(|object| shape(object).to_vec()).collect();
    columns.sort_unstable();
    columns.dedup();
    columns.iter().try_for_each(|column| check_ids(&world.columns[*column].of))?;
    let mut registry = world.registry.clone();
    let class = registry.register_value::<StoredWorld>()?;
    if registry.traits(class).before_save {
        return Err(Error::new(
            ErrorKind::Unsupported,
            "a component class has a `before_save` hook, which needs `&mut`; do in the component's methods what it does",
        ));
    }
    let mut save = Vec::new();
    let env = registry.env();
    let mut encode = |out: &mut crate::codec::Encoder<'_>| {
        encode_objects(world, Objects::These(objects), content, out)
    };
    Saver::new(&registry, &env, 1, &mut SaveTables::default()).save_root(
        class,
        &mut encode,
        |_| String::new(),
        &mut Sealer::new(&mut save, Compression::None, &env.limits),
        &Header::default(),
        &mut Buffer::new(),
    )?;
    Ok(save)
}

/// Objects that are there.
pub(super) fn live(ids: &[ObjectId]) -> Vec<(ObjectId, Source<'static>)> {
    ids.iter().map(|id| (*id, Source::Live)).collect()
}

/// Ids of a world inside would be taken for those of this one.
pub(super) fn check_ids(of: &ComponentType) -> Result<()> {
    if !(of.holds_world)() {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::Unsupported,
        "the component class holds a world of its own, whose ids cannot be told from those of the world around it; keep that world beside this one",
    )
    .in_class((of.name)()))
}

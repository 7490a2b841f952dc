//! Objects that are spawned with their components.

use std::any::TypeId;
use std::sync::Arc;

use hashbrown::HashMap;

use super::World;
use super::column::Column;
use super::commands::Command;
use super::component::Component;
use super::directory::Place;
use super::object::{Object, Shape};
use super::world::ColumnEntry;
use crate::{Error, ErrorKind, ObjectId, Result};

/// Components that an object is [spawned with](World::spawn_with): a tuple of up to twelve, each of another type.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no tuple of components",
    note = "write `(component,)` for one, and derive `Persist` and implement `Component` for each"
)]
pub trait Bundle: 'static {
    /// The columns of the components, in their order.
    #[doc(hidden)]
    fn __columns(world: &mut World) -> Result<Vec<usize>>;

    /// Puts the components into their columns.
    #[doc(hidden)]
    fn __put(self, columns: Columns<'_>);

    /// Attaches the components at the end of the phase.
    #[doc(hidden)]
    fn __wait(self, world: &mut World, object: ObjectId, columns: &[usize]);
}

/// Where the components of a bundle go.
#[doc(hidden)]
pub struct Columns<'w> {
    all: &'w mut [ColumnEntry],
    of: &'w [usize],
    place: Place,
}

impl Columns<'_> {
    #[inline]
    fn put<T: Component>(&mut self, at: usize, component: T) {
        if let Some(entry) = self.of.get(at).and_then(|column| self.all.get_mut(*column))
            && let Some(column) = entry.column.as_any_mut().downcast_mut::<Column<T>>()
        {
            column.insert(self.place, component);
        }
    }
}

/// The shapes of bundles that were met.
#[derive(Default)]
pub(super) struct Bundles {
    known: Vec<Known>,
    by_type: HashMap<TypeId, usize>,
    /// The one that was asked for last: many objects of one bundle are made one after the other.
    last: usize,
}

struct Known {
    of: TypeId,
    shape: Shape,
    columns: Arc<[usize]>,
}

impl World {
    /// Makes an object with components: as [`spawn`](Self::spawn), and [`attach`](Self::attach) for each of them, in their order.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::AlreadyExists`] if the tuple has a type twice, and those of [`register`](Self::register) for the first
    /// component of a type. No object is made then.
    ///
    /// # Example
    ///
    /// ```
    /// use persist::{Component, Persist, World};
    ///
    /// #[derive(Persist)]
    /// struct Transform { x: f32, y: f32 }
    /// #[derive(Persist)]
    /// struct Health(u32);
    ///
    /// impl Component for Transform {}
    /// impl Component for Health {}
    ///
    /// let mut world = World::new();
    /// let tank = world.spawn_with("Tank", (Transform { x: 1.0, y: 2.0 }, Health(9)))?;
    /// assert_eq!(world.get::<Health>(tank).map(|health| health.0), Some(9));
    ///
    /// // A bullet needs no name.
    /// let bullet = world.spawn_with("", (Transform { x: 1.0, y: 2.0 },))?;
    /// assert_eq!(world.name(bullet), None);
    /// # Ok::<(), persist::Error>(())
    /// ```
    ///
    /// # Panics
    ///
    /// If all of 2⁶² ids have been given.
    pub fn spawn_with<B: Bundle>(&mut self, name: &str, components: B) -> Result<ObjectId> {
        let bundle = self.bundle::<B>()?;
        if !self.commands.is_empty() || self.is_running() {
            return Ok(self.spawn_later(name, bundle, components));
        }
        let id = self.new_id();
        self.spawn_bundle(id, name, bundle, components);
        Ok(id)
    }

    /// Makes an object for each of these components, as [`spawn_with`](Self::spawn_with) does; returns them in their order.
    ///
    /// # Errors
    ///
    /// Those of [`spawn_with`](Self::spawn_with); no object is made then.
    ///
    /// # Panics
    ///
    /// If all of 2⁶² ids have been given.
    pub fn spawn_many<B: Bundle>(
        &mut self,
        name: &str,
        components: impl IntoIterator<Item = B>,
    ) -> Result<Vec<ObjectId>> {
        let bundle = self.bundle::<B>()?;
        self.flush();
        let spawn = |components| match self.is_running() {
            true => self.spawn_later(name, bundle, components),
            false => {
                let id = self.new_id();
                self.spawn_bundle(id, name, bundle, components);
                id
            }
        };
        Ok(components.into_iter().map(spawn).collect())
    }

    /// Index of a bundle.
    #[inline]
    fn bundle<B: Bundle>(&mut self) -> Result<usize> {
        match self.bundles.known.get(self.bundles.last) {
            Some(known) if known.of == TypeId::of::<B>() => Ok(self.bundles.last),
            _ => self.find_bundle(TypeId::of::<B>(), B::__columns),
        }
    }

    fn find_bundle(
        &mut self,
        of: TypeId,
        columns: fn(&mut World) -> Result<Vec<usize>>,
    ) -> Result<usize> {
        if let Some(at) = self.bundles.by_type.get(&of) {
            self.bundles.last = *at;
            return Ok(*at);
        }
        let columns = columns(self)?;
        for (at, column) in columns.iter().enumerate() {
            if columns[..at].contains(column) {
                return Err(Error::new(
                    ErrorKind::AlreadyExists,
                    "an object has at most one component of each type, and the tuple has two of this; leave one out",
                )
                .in_class((self.columns[*column].of.name)()));
            }
        }
        let shape = self.shapes.of(&columns);
        let at = self.bundles.known.len();
        self.bundles.known.push(Known { of, shape, columns: columns.into() });
        self.bundles.by_type.insert(of, at);
        self.bundles.last = at;
        Ok(at)
    }

    #[inline]
    fn spawn_bundle<B: Bundle>(&mut self, id: ObjectId, name: &str, bundle: usize, components: B) {
        let place = self.enter_bundle(id, name, bundle);
        let of = &self.bundles.known[bundle].columns;
        components.__put(Columns { all: &mut self.columns, of, place });
    }

    /// Puts in an object that gets the components of a bundle.
    fn enter_bundle(&mut self, id: ObjectId, name: &str, bundle: usize) -> Place {
        let name = self.name_newcomer(id, name);
        let known = &self.bundles.known[bundle];
        let (shape, is_bare) = (known.shape, known.columns.is_empty());
        if !is_bare {
            self.waiting.push(id);
        }
        let mut object = Object::new(name);
        object.shape = shape;
        self.enter(id, object)
    }

    #[cold]
    fn spawn_later<B: Bundle>(&mut self, name: &str, bundle: usize, components: B) -> ObjectId {
        self.flush();
        let id = self.new_id();
        if self.is_running() {
            self.commands.push_back(Command::Spawn(id, name.into()));
            let columns = Arc::clone(&self.bundles.known[bundle].columns);
            components.__wait(self, id, &columns);
        } else {
            self.spawn_bundle(id, name, bundle, components);
        }
        id
    }
}

macro_rules! tuple {
    ($($part:ident $at:tt),*) => {
        impl<$($part: Component),*> Bundle for ($($part,)*) {
            fn __columns(_world: &mut World) -> Result<Vec<usize>> {
                Ok(vec![$(_world.column_of::<$part>()?),*])
            }

            #[inline]
            #[allow(unused_mut, reason = "the empty tuple")]
            fn __put(self, mut _columns: Columns<'_>) {
                $(_columns.put($at, self.$at);)*
            }

            fn __wait(self, _world: &mut World, _object: ObjectId, _columns: &[usize]) {
                $(_world.commands.push_back(Command::Attach(
                    _object,
                    _columns[$at],
                    Box::new(self.$at),
                ));)*
            }
        }
    };
}

tuple!();
tuple!(A 0);
tuple!(A 0, B 1);
tuple!(A 0, B 1, C 2);
tuple!(A 0, B 1, C 2, D 3);
tuple!(A 0, B 1, C 2, D 3, E 4);
tuple!(A 0, B 1, C 2, D 3, E 4, F 5);
tuple!(A 0, B 1, C 2, D 3, E 4, F 5, G 6);
tuple!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7);
tuple!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8);
tuple!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9);
tuple!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10);
tuple!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11);

//! [`Bundle`]: the components that an object is spawned with.

use super::BundleColumns;
use crate::world::component::Component;
use crate::world::{DeferredChange, World};
use crate::{ObjectId, Result};

/// The components that an object is [spawned with](World::spawn_with): a tuple of up to twelve components of different
/// types.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no tuple of components",
    note = "write `(component,)` for one, and derive `Persist` and implement `Component` for each"
)]
pub trait Bundle: 'static {
    /// Returns the columns of the components, in order.
    #[doc(hidden)]
    fn __columns(world: &mut World) -> Result<Vec<usize>>;

    /// Inserts the components into their columns.
    #[doc(hidden)]
    fn __put(self, columns: BundleColumns<'_>);

    /// Defers attaching the components to the end of the phase.
    #[doc(hidden)]
    fn __wait(self, world: &mut World, object: ObjectId, columns: &[usize]);
}

impl BundleColumns<'_> {
    #[inline]
    fn put<T: Component>(&mut self, at: usize, component: T) {
        if let Some(entry) = self.of.get(at).and_then(|column| self.all.get_mut(*column))
            && let Some(column) = entry.typed_mut::<T>()
        {
            column.insert(self.location, component);
        }
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
            fn __put(self, mut _columns: BundleColumns<'_>) {
                $(_columns.put($at, self.$at);)*
            }

            fn __wait(self, _world: &mut World, _object: ObjectId, _columns: &[usize]) {
                $(_world.deferred.commands.push_back(DeferredChange::Attach(
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

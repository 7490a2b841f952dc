use super::World;
use crate::ObjectId;
use crate::codec::{Persist, Pointee};

/// A part of an object: any [`Persist`] type that is `Send`. `#[persist(component)]` beside the derive implements it
/// where no method is wanted.
///
/// A world can go to another thread, so a component has no `Rc`. Refer to an object by its [`ObjectId`]; share other
/// values in an [`Arc`](std::sync::Arc).
///
/// All methods are optional. They are called by [`World::update`](super::World::update) with the component itself, out of
/// its place meanwhile: for its own object, the world has no such component while one of them runs.
/// Objects and components that are made or removed in them are so at the end of the phase, in that order;
/// values are changed at once.
///
/// # Example
///
/// ```
/// use persist::{Component, Context, Persist, World};
///
/// #[derive(Persist)]
/// struct Fuse { seconds: f64 }
///
/// impl Component for Fuse {
///     fn on_update(&mut self, context: &mut Context<'_>) {
///         self.seconds -= context.step();
///         if self.seconds <= 0.0 {
///             context.world.remove(context.object());
///         }
///     }
/// }
///
/// let mut world = World::new();
/// let bomb = world.spawn("Bomb");
/// world.attach(bomb, Fuse { seconds: 1.0 })?;
/// world.update(0.75);
/// assert!(world.contains(bomb));
/// world.update(0.75);
/// assert!(!world.contains(bomb));
/// # Ok::<(), persist::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no component",
    label = "not a `Component`",
    note = "if the type is yours, derive `Persist` and add `#[persist(component)]`, or `impl persist::Component for {Self} {{}}` to give it methods"
)]
pub trait Component: Persist + Pointee + Movable {
    /// Runs once, before the first of the others but [`on_release`](Self::on_release). A save knows whether it ran.
    fn on_start(&mut self, context: &mut Context<'_>) {
        context.not_there(Phase::Start);
    }

    /// Runs in every update, before that of any object.
    fn on_pre_update(&mut self, context: &mut Context<'_>) {
        context.not_there(Phase::PreUpdate);
    }

    /// Runs in every update.
    fn on_update(&mut self, context: &mut Context<'_>) {
        context.not_there(Phase::Update);
    }

    /// Runs in every update, after the updates of all objects.
    fn on_post_update(&mut self, context: &mut Context<'_>) {
        context.not_there(Phase::PostUpdate);
    }

    /// Runs once, when the component is replaced, detached, or removed with its object, or when the world is
    /// dropped.
    fn on_release(&mut self, context: &mut Context<'_>) {
        context.not_there(Phase::Release);
    }
}

/// What may go to another thread, as all components and resources of a [`World`] may with it: whatever is `Send`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot go to another thread, as all that is in a `World` or a `History` can",
    label = "this is not `Send`",
    note = "refer to objects by their `ObjectId`; share other values in an `Arc`, such as `Arc<Mutex<_>>`, in place of an `Rc`",
    note = "a trait object is `Send` if its trait is: `trait Item: Send`"
)]
pub trait Movable: Send {}

#[diagnostic::do_not_recommend]
impl<T: ?Sized + Send> Movable for T {}

/// Has the compiler check that a type may go to another thread.
pub fn movable<T: ?Sized + Movable>() {}

/// When a method of a component runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Start = 0,
    PreUpdate = 1,
    Update = 2,
    PostUpdate = 3,
    Release = 4,
}

impl Phase {
    /// A bit of its own.
    pub(super) fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// The world and the object in which a method of a component runs.
pub struct Context<'w> {
    /// The world, without the component that runs.
    pub world: &'w mut World,
    pub(super) object: ObjectId,
    pub(super) step: f64,
    /// Index of the column of the component.
    pub(super) column: usize,
}

impl Context<'_> {
    /// The object that the component belongs to.
    #[must_use]
    pub fn object(&self) -> ObjectId {
        self.object
    }

    /// What [`World::update`](super::World::update) was called with; 0 in [`Component::on_release`].
    #[must_use]
    pub fn step(&self) -> f64 {
        self.step
    }

    /// The type has not this method: it need not be asked again.
    fn not_there(&mut self, phase: Phase) {
        self.world.forget_hook(self.column, phase);
    }
}

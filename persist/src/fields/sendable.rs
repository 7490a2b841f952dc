//! [`Sendable`]: the values that a world or a history takes to another thread.

/// The types that are `Send`, as all commands, and all components and resources of a `World`, must be.
///
/// It is a trait of its own for better messages of the compiler.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot go to another thread, as all that is in a `World` or a `History` can",
    label = "this is not `Send`",
    note = "refer to objects by their `ObjectId`; share other values in an `Arc`, such as `Arc<Mutex<_>>`, in place of an `Rc`",
    note = "a trait object is `Send` if its trait is: `trait Item: Send`"
)]
pub trait Sendable: Send {}

#[diagnostic::do_not_recommend]
impl<T: ?Sized + Send> Sendable for T {}

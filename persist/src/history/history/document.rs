//! Edits of the fields of a target that is not a world, by paths.

use std::any::{Any, type_name};
use std::hash::Hash;

use crate::codec::Reflect;
use crate::fields::{IntoFieldPath, Request};
use crate::history::{Edit, History, Label, MergeKey};
use crate::{Error, ErrorKind, Result, Value};

impl<T: Reflect> History<T> {
    /// Returns the value of a field, like [`World::get_field`](crate::World::get_field).
    ///
    /// A path with the class alone returns the whole value.
    ///
    /// ```
    /// use persist::{History, Persist, Value, field};
    ///
    /// #[derive(Persist)]
    /// struct Document { title: String }
    ///
    /// let document = Document { title: "Plan".into() };
    /// let mut history = History::new(100);
    /// assert_eq!(history.get_field(&document, field!(Document.title))?, Value::from("Plan"));
    /// # Ok::<(), persist::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`World::get_field`](crate::World::get_field), and [`ErrorKind::Unsupported`] if the
    /// type holds shared pointers.
    pub fn get_field(&mut self, target: &T, path: impl IntoFieldPath) -> Result<Value> {
        let path = path.into_field_path()?;
        self.support.check_class(&path)?;
        self.support.value(target, &path).map_err(|error| error.in_class(path.class()))
    }

    /// Sets a field of a value, as an entry that is named after the field, and returns the old value.
    ///
    /// It takes the time of the field, not of the whole value. The new value is checked as by
    /// [`World::set_field`](crate::World::set_field).
    ///
    /// # Example
    ///
    /// ```
    /// use persist::{History, Persist, field};
    ///
    /// #[derive(Persist)]
    /// struct Document { margins: Margins }
    ///
    /// #[derive(Persist)]
    /// struct Margins { left: f32, right: f32 }
    ///
    /// let mut document = Document { margins: Margins { left: 1.0, right: 1.0 } };
    /// let mut history = History::new(100);
    /// history.set_field(&mut document, field!(Document.margins.left), 5.0)?;
    /// assert_eq!(history.undo_text(), "Undo Set Document.margins.left");
    /// history.undo(&mut document)?;
    /// assert_eq!(document.margins.left, 1.0);
    /// # Ok::<(), persist::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`World::set_field`](crate::World::set_field) and [`edit`](Self::edit).
    pub fn set_field(
        &mut self,
        target: &mut T,
        path: impl IntoFieldPath,
        value: impl Into<Value>,
    ) -> Result<Value> {
        self.edit_as(target, None, Label::None, |edit| {
            edit.change_field(path, &Request::Set(&value.into()))
        })
    }

    /// Edits one part of a value, like [`edit`](Self::edit), in the time that the part takes.
    ///
    /// The path leads through structs, variants, lists and maps to a value of type `P`.
    ///
    /// # Example
    ///
    /// ```
    /// use persist::{History, Persist, field};
    ///
    /// #[derive(Persist)]
    /// struct Document { pages: Vec<Page> }
    ///
    /// #[derive(Persist)]
    /// struct Page { lines: Vec<String> }
    ///
    /// let mut document = Document { pages: vec![Page { lines: vec![] }] };
    /// let mut history = History::new(100);
    /// history.edit_at(&mut document, field!(Document.pages[0]), "Fill page", |page: &mut Page| {
    ///     page.lines.push("Once upon a time".into());
    ///     Ok(())
    /// })?;
    /// history.undo(&mut document)?;
    /// assert!(document.pages[0].lines.is_empty());
    /// # Ok::<(), persist::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`edit`](Self::edit), and
    ///
    /// - [`ErrorKind::NotFound`] if the path leads nowhere;
    /// - [`ErrorKind::KindMismatch`] if the part is not a `P`;
    /// - [`ErrorKind::Unsupported`] if the path leads through an option, a tuple or an array.
    pub fn edit_at<P: Any, R>(
        &mut self,
        target: &mut T,
        path: impl IntoFieldPath,
        label: impl Into<Label>,
        edit: impl FnOnce(&mut P) -> Result<R>,
    ) -> Result<R> {
        self.edit_as(target, None, label.into(), |scope| edit_part(scope, path, edit))
    }

    /// Edits one part of a value like [`edit_at`](Self::edit_at), but joins the previous entry if that has the same key,
    /// like [`edit_merging`](Self::edit_merging).
    ///
    /// Use it for each key press in a text of a large document.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`edit_at`](Self::edit_at).
    pub fn edit_at_merging<P: Any, R>(
        &mut self,
        target: &mut T,
        key: impl Hash,
        path: impl IntoFieldPath,
        label: impl Into<Label>,
        edit: impl FnOnce(&mut P) -> Result<R>,
    ) -> Result<R> {
        let key = Some(MergeKey::of(&key));
        self.edit_as(target, key, label.into(), |scope| edit_part(scope, path, edit))
    }

    /// Sets a field like [`set_field`](Self::set_field), but joins the previous entry if that has the same key, like
    /// [`edit_merging`](Self::edit_merging).
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`set_field`](Self::set_field).
    pub fn set_field_merging(
        &mut self,
        target: &mut T,
        key: impl Hash,
        path: impl IntoFieldPath,
        value: impl Into<Value>,
    ) -> Result<Value> {
        let key = Some(MergeKey::of(&key));
        self.edit_as(target, key, Label::None, |edit| {
            edit.change_field(path, &Request::Set(&value.into()))
        })
    }

    /// Inserts an element into a list of a value before the element at `index`, or at the end.
    ///
    /// It takes the time of the element, not of the whole list, unless the type has a `validate` or `after_load` function.
    ///
    /// # Example
    ///
    /// ```
    /// use persist::{History, Persist, field};
    ///
    /// #[derive(Persist)]
    /// struct Drawing { shapes: Vec<u32> }
    ///
    /// let (mut drawing, mut history) = (Drawing { shapes: vec![1, 2] }, History::new(100));
    /// history.insert_element(&mut drawing, field!(Drawing.shapes), 1, 7)?;
    /// history.move_element(&mut drawing, field!(Drawing.shapes), 1, 2)?;
    /// history.remove_element(&mut drawing, field!(Drawing.shapes), 0)?;
    /// assert_eq!(drawing.shapes, [2, 7]);
    /// history.go_to(&mut drawing, 0)?;
    /// assert_eq!(drawing.shapes, [1, 2]);
    /// # Ok::<(), persist::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`set_field`](Self::set_field), and [`ErrorKind::NotFound`] if there is no such list,
    /// or `index` is beyond its end.
    pub fn insert_element(
        &mut self,
        target: &mut T,
        list: impl IntoFieldPath,
        index: usize,
        value: impl Into<Value>,
    ) -> Result<()> {
        let value = value.into();
        self.change_list(target, list, &Request::Insert(index as u64, &value))
    }

    /// Removes an element from a list of a value, in the time of the element.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`set_field`](Self::set_field), and [`ErrorKind::NotFound`] if there is no such
    /// element.
    pub fn remove_element(
        &mut self,
        target: &mut T,
        list: impl IntoFieldPath,
        index: usize,
    ) -> Result<()> {
        self.change_list(target, list, &Request::Remove(index as u64))
    }

    /// Moves an element of a list of a value from index `from` to index `to`.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`remove_element`](Self::remove_element), for either index.
    pub fn move_element(
        &mut self,
        target: &mut T,
        list: impl IntoFieldPath,
        from: usize,
        to: usize,
    ) -> Result<()> {
        if from == to {
            return self.check_usable(target);
        }
        self.change_list(target, list, &Request::Move(from as u64, to as u64))
    }

    fn change_list(
        &mut self,
        target: &mut T,
        list: impl IntoFieldPath,
        request: &Request<'_>,
    ) -> Result<()> {
        self.edit_as(target, None, Label::None, |edit| edit.change_field(list, request).map(drop))
    }
}

/// Hands out the part at a path, whose changes are recorded.
fn edit_part<T: Reflect, P: Any, R>(
    scope: &mut Edit<'_, T>,
    path: impl IntoFieldPath,
    edit: impl FnOnce(&mut P) -> Result<R>,
) -> Result<R> {
    let path = path.into_field_path()?;
    scope.take_part(path.clone())?;
    let mut root = scope.support.root(scope.target)?;
    let part = root.part_mut(&path).map_err(|error| error.in_class(path.class()))?;
    let Some(part) = part.downcast_mut::<P>() else {
        let message = format!("the part is no {}; take the type of the field", type_name::<P>());
        let error = Error::new(ErrorKind::KindMismatch, message);
        return Err(path.locate(error).in_class(path.class()));
    };
    edit(part)
}

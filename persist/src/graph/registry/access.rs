//! Looking at classes and reaching fields by name, as an editor does.

use std::any::{Any, TypeId};

use super::Registry;
use crate::codec::{ClassAccess, TypeSet};
use crate::reflect::{Class, FieldRecord, Holder};
use crate::schema::Target;
use crate::{Error, ErrorKind, Result};

impl Registry {
    /// The registered structs and enums, in the order in which they were met.
    pub fn classes(&self) -> impl Iterator<Item = &'static Class> + use<'_> {
        self.program.targets.iter().flatten().map(|target| target.class)
    }

    /// The class of this name.
    #[must_use]
    pub fn class(&self, name: &str) -> Option<&'static Class> {
        self.program.targets[self.named(name)?].map(|target| target.class)
    }

    /// Index of the class of this name.
    pub(crate) fn named(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    /// True if the class of this name is, or was once, called as the other.
    pub(crate) fn is_called(&self, name: &str, other: &str) -> bool {
        let is_alias = || self.class(name).is_some_and(|class| class.aliases.contains(&other));
        name == other || is_alias()
    }

    /// The class of a value, if it is registered.
    #[must_use]
    pub fn class_of(&self, value: &dyn Any) -> Option<&'static Class> {
        self.target_of(value).map(|target| target.class)
    }

    /// Index of the class of a type that is registered for a trait.
    pub(crate) fn implementor(&self, class: TypeId, of: TypeId) -> Option<usize> {
        let (class, _) = self.by_type.get(&class)?;
        self.implementors.caster(of, *class).map(|_| *class)
    }

    /// The classes and holders of the objects that can be saved, but for stand-ins, which are
    /// saved as what they stand for.
    pub(crate) fn object_types(&self) -> impl Iterator<Item = (usize, Holder)> {
        let objects = self.objects.iter().map(|entry| (entry.class, entry.kind.holder));
        objects.filter(|(class, _)| self.implementors.stand_in(*class).is_none())
    }

    /// The names of the traits, and the classes that are registered for each, but for stand-ins.
    pub(crate) fn trait_classes(&self) -> impl Iterator<Item = (&'static str, Vec<usize>)> {
        self.implementors.iter().map(|of| {
            let classes = of.classes.iter().map(|class| class.class);
            (of.name, classes.filter(|class| of.stand_in != Some(*class)).collect())
        })
    }

    /// True if values of unknown classes are kept where a trait object stands.
    pub(crate) fn has_stand_in(&self, of: &str) -> bool {
        self.implementors.by_name(of).is_some_and(|of| of.stand_in.is_some())
    }

    /// The registry with the classes of these traits as objects in a holder, too.
    pub(crate) fn with_objects_of(&self, traits: &[&str], holder: Holder) -> Self {
        let mut next = self.clone();
        for of in traits.iter().filter_map(|name| self.implementors.by_name(name)) {
            for class in of.classes.iter().filter(|class| of.stand_in != Some(class.class)) {
                let mut types = TypeSet::default();
                (class.reach)(holder, &mut types);
                // One without an empty value cannot be an object.
                drop(next.enter(&types));
            }
        }
        next
    }

    fn target_of(&self, value: &dyn Any) -> Option<Target> {
        self.by_type.get(&value.type_id()).map(|(_, target)| *target)
    }

    /// The field of a value at a path of field names, such as `home.x`; each but
    /// the last must be a struct or an enum itself, not inside of an `Option`,
    /// collection, cell or pointer.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`] if a name on the path is not a field there.
    ///
    /// # Example
    ///
    /// ```
    /// # use persist::Persist;
    /// # use persist::save::Registry;
    /// # #[derive(Persist)] struct Hero { name: String, home: Place }
    /// # #[derive(Persist)] struct Place { x: f32, y: f32 }
    /// # let mut registry = Registry::new();
    /// # registry.register::<Hero>()?;
    /// let mut hero = Hero { name: "Ada".into(), home: Place { x: 1.0, y: 2.0 } };
    /// registry.set(&mut hero, "home.x", 5.0_f32)?;
    /// assert_eq!(registry.get(&hero, "home.x")?.downcast_ref(), Some(&5.0_f32));
    /// # Ok::<(), persist::Error>(())
    /// ```
    pub fn get<'v>(&self, value: &'v dyn Any, path: &str) -> Result<&'v dyn Any> {
        path.split('.').try_fold(value, |value, name| {
            let (target, field) =
                self.find_field(value, name).map_err(|error| error.in_field(path))?;
            target.access.field(value, field).ok_or_else(|| no_field(name, &target.class.name()))
        })
    }

    /// The field of a value at a path of field names, to be changed.
    ///
    /// # Errors
    ///
    /// Those of [`get`](Self::get).
    pub fn get_mut<'v>(&self, value: &'v mut dyn Any, path: &str) -> Result<&'v mut dyn Any> {
        path.split('.').try_fold(value, |value, name| {
            let (target, field) =
                self.find_field(value, name).map_err(|error| error.in_field(path))?;
            target
                .access
                .field_mut(value, field)
                .ok_or_else(|| no_field(name, &target.class.name()))
        })
    }

    /// Replaces the field of a value at a path of field names, and returns
    /// what was there.
    ///
    /// # Errors
    ///
    /// Those of [`get`](Self::get); [`ErrorKind::KindMismatch`] if the field is not a `T`.
    pub fn set<T: 'static>(&self, value: &mut dyn Any, path: &str, new: T) -> Result<T> {
        let field = self.get_mut(value, path)?;
        let class = self.class_of(field).map(|class| class.type_name());
        match field.downcast_mut::<T>() {
            Some(field) => Ok(std::mem::replace(field, new)),
            None => Err(Error::new(
                ErrorKind::KindMismatch,
                format!(
                    "the field is {}, not of type {}",
                    class.map_or_else(|| self.kind_at(value, path), str::to_owned),
                    std::any::type_name::<T>()
                ),
            )
            .in_field(path)),
        }
    }

    /// The kind of the field at a path that leads to one.
    fn kind_at(&self, value: &dyn Any, path: &str) -> String {
        let (owner, name) = match path.rsplit_once('.') {
            Some((owner, name)) => (self.get(value, owner).unwrap_or(value), name),
            None => (value, path),
        };
        let record = self.fields_of(owner).into_iter().flatten().find(|field| field.name == name);
        record.map_or_else(String::new, |record| record.kind().to_string())
    }

    /// The records of the value's struct or variant.
    fn fields_of(&self, value: &dyn Any) -> Option<&'static [FieldRecord]> {
        let (class, access) = self.access(value)?;
        let variant = access.variant(value).and_then(|variant| class.variants().get(variant));
        Some(variant.map_or(class.fields(), |variant| variant.fields))
    }

    /// Index of the class of a value, and how to reach its fields.
    pub(crate) fn entry(&self, value: &dyn Any) -> Option<(usize, Target)> {
        self.by_type.get(&value.type_id()).copied()
    }

    /// The class of a value, and how to reach its fields.
    pub(crate) fn access(
        &self,
        value: &dyn Any,
    ) -> Option<(&'static Class, &'static dyn ClassAccess)> {
        self.target_of(value).map(|target| (target.class, target.access))
    }

    fn find_field(&self, value: &dyn Any, name: &str) -> Result<(Target, usize)> {
        let Some(target) = self.target_of(value) else {
            return Err(Error::new(
                ErrorKind::NotFound,
                format!(
                    "there is no field `{name}` in a value that is no registered struct or enum"
                ),
            ));
        };
        let class = target.class;
        let fields = self.fields_of(value).unwrap_or_default();
        match fields.iter().position(|field| field.name == name) {
            Some(field) => Ok((target, field)),
            None => Err(no_field(name, &class.name())),
        }
    }
}

#[cold]
fn no_field(name: &str, class: &str) -> Error {
    Error::new(ErrorKind::NotFound, format!("there is no field `{name}` in {class}"))
}

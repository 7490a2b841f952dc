//! [`Template`]: the objects of a prefab, decoded once for all its copies.

use std::any::TypeId;
use std::sync::Arc;

use crate::codec::{AsTrait, BoxOf, Fail, TraitObject as _, count};
use crate::fields::{FieldLinks, content_of};
use crate::graph::Registry;
use crate::world::component::AnyComponent;
use crate::world::{Activity, ComponentType, Object, ParkedObject, World};
use crate::{ObjectId, Result};

/// The objects of a prefab, of which only the components are decoded for each copy.
///
/// A load of a save with one object takes 15 times as long as to make that object: it reads the classes, and plans how
/// each is decoded.
pub(super) struct Template {
    /// The objects, in the order of their ids.
    objects: Vec<TemplateObject>,
    /// The components of all objects in order, each after the index of its type plus 1.
    components: Vec<u8>,
}

/// An object, which refers to others by their indices.
struct TemplateObject {
    name: Arc<str>,
    parent: Option<usize>,
    children: Vec<usize>,
    activity: Activity,
    is_held: bool,
    /// The types of the components, by their indices among the types of the prefab.
    types: Vec<usize>,
}

impl Template {
    /// Creates the template of the objects of a world, which has only these, and components of these types. Returns
    /// `None` unless the components are plain data of classes that the program has.
    pub(super) fn new(
        part: &World,
        ids: &[ObjectId],
        types: &[ComponentType],
        registry: &Registry,
    ) -> Option<Self> {
        let class = |of: &ComponentType| registry.class_of_type(of.id);
        let is_plain = |of| class(of).is_some_and(|class| registry.is_plain(class));
        if part.has_unknown || !types.iter().all(is_plain) {
            return None;
        }
        let index = |id: &ObjectId| ids.binary_search(id).ok();
        let (mut objects, mut components) = (Vec::with_capacity(ids.len()), Vec::new());
        for id in ids {
            let location = part.directory.location(*id)?;
            let object = part.objects.get(location)?;
            let mut of_object = Vec::new();
            for column in part.shapes.columns(object.shape) {
                let entry = part.columns.get(*column)?;
                let of = types.iter().position(|of| of.id == entry.of.id)?;
                let content = content_of(registry, entry.column.get(location)?.portable());
                count::push(of as u64 + 1, &mut components);
                components.extend(content.ok()?);
                of_object.push(of);
            }
            objects.push(TemplateObject {
                name: object.name.map_or_else(Arc::default, |name| part.names.text(name).into()),
                parent: object.parent.as_ref().and_then(index),
                children: object.children().iter().filter_map(index).collect(),
                activity: object.activity,
                is_held: object.is_held,
                types: of_object,
            });
        }
        Some(Self { objects, components })
    }

    /// Creates a copy of the objects, with consecutive ids from the first one on, and returns each with its name. All
    /// types are registered in the world. `renumber` returns the new id of each id in a component; `None` clears it.
    pub(super) fn copy(
        &self,
        world: &mut World,
        (first, types): (u64, &[ComponentType]),
        renumber: &dyn Fn(u64) -> Option<u64>,
    ) -> Result<Vec<(ParkedObject, Arc<str>)>> {
        let columns: Vec<usize> = types.iter().map(|of| world.new_column(*of)).collect();
        let World { registry, shapes, .. } = world;
        let of = TypeId::of::<dyn AnyComponent>();
        let numbers: Vec<_> = types.iter().map(|it| registry.implementor(it.id, of)).collect();
        let id = |index: usize| ObjectId::new(first + index as u64);
        let links = FieldLinks::of_copy(registry, &numbers, renumber);
        links.decode(&self.components, |input| {
            let mut copies = Vec::with_capacity(self.objects.len());
            for (index, found) in self.objects.iter().enumerate() {
                let mut object = Object::new(None);
                object.parent = found.parent.and_then(id);
                if !found.children.is_empty() {
                    let children = found.children.iter().filter_map(|child| id(*child));
                    object.children_mut().list_mut().extend(children);
                }
                (object.activity, object.is_held) = (found.activity, found.is_held);
                let mut components = Vec::with_capacity(found.types.len());
                for of in &found.types {
                    let component = <AsTrait as BoxOf<dyn AnyComponent>>::decode(input)?;
                    components.push((columns[*of], component));
                    object.shape = shapes.with(object.shape, columns[*of]);
                }
                let id = id(index).ok_or(Fail::Value)?;
                copies.push((ParkedObject { id, object, components }, found.name.clone()));
            }
            Ok(copies)
        })
    }
}

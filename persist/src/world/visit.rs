//! Visits the components and resources of a world: their references and hooks.

use super::column::Page;
use super::{ComponentIndex, Shapes};
use super::{Location, World};
use crate::codec::{Persist, TraitObject, Visitor};
use crate::{Error, Result};

/// Iterates over the objects with components that have references or hooks. Most worlds consist of plain data, and none
/// of their pages is read.
fn visited(world: &World) -> impl Iterator<Item = Location> {
    let relevant = world.shapes.any(|column| !world.columns[column].of.is_leaf);
    let is_none = !relevant.contains(&true) && !world.has_unknown;
    let pages = if is_none { 0..0 } else { 0..world.directory.len() };
    let bits = |page| world.objects.page(page).into_iter().flat_map(Page::bits);
    let places = pages.flat_map(move |page| bits(page).map(move |bit| Location { page, bit }));
    places.filter(move |location| {
        world.objects.get(*location).is_some_and(|object| {
            relevant.get(Shapes::index(object.shape)).is_some_and(|relevant| *relevant)
                || !object.unknown().is_empty()
        })
    })
}

#[cold]
fn in_component(error: Error, object: Option<String>, class: &str) -> Error {
    error.in_field(&format!("{}:{class}", object.unwrap_or_default()))
}

/// Visits everything that [`decode`](Persist::decode) has read, in that order.
pub(super) fn visit(world: &mut World, visitor: &mut Visitor<'_>) -> Result<()> {
    let (objects, mut parts) = (visited(world).collect::<Vec<_>>(), Vec::new());
    for location in objects {
        let Some(object) = world.objects.get_mut(location) else { continue };
        parts.clear();
        parts.extend(world.shapes.parts(object));
        for part in &parts {
            let column = match part {
                ComponentIndex::Known(column) => *column,
                ComponentIndex::Unknown(index) => {
                    object.unknown_mut()[*index].content.__visit(visitor)?;
                    continue;
                }
            };
            let entry = &mut world.columns[column];
            if let Some(component) = entry.column.get_mut(location) {
                visitor.nested(|visitor| component.portable_mut().visit(visitor)).map_err(
                    |error| {
                        let name = object.name.map(|name| world.names.text(name));
                        in_component(error, name, &(entry.of.name)())
                    },
                )?;
            }
        }
    }
    for (.., value) in &mut world.resources.values {
        visitor.nested(|visitor| value.portable_mut().visit(visitor))?;
    }
    world.resources.unknown.iter_mut().try_for_each(|unknown| unknown.__visit(visitor))
}

/// Visits everything by shared references.
pub(super) fn visit_shared(world: &World, visitor: &mut Visitor<'_>) -> Result<()> {
    for location in visited(world) {
        let Some(object) = world.objects.get(location) else { continue };
        for part in world.shapes.parts(object) {
            match part {
                ComponentIndex::Unknown(index) => {
                    object.unknown()[index].content.__visit_shared(visitor)?;
                }
                ComponentIndex::Known(column) => {
                    let entry = &world.columns[column];
                    if let Some(component) = entry.column.get(location) {
                        visitor
                            .nested(|visitor| component.portable().visit_shared(visitor))
                            .map_err(|error| {
                                let name = object.name.map(|name| world.names.text(name));
                                in_component(error, name, &(entry.of.name)())
                            })?;
                    }
                }
            }
        }
    }
    for (.., value) in &world.resources.values {
        visitor.nested(|visitor| value.portable().visit_shared(visitor))?;
    }
    world.resources.unknown.iter().try_for_each(|unknown| unknown.__visit_shared(visitor))
}

//! Visits of what is in a world: its references and hooks.

use super::column::Page;
use super::directory::Place;
use super::object::Shapes;
use super::world::World;
use crate::codec::{Persist, TraitObject, Visitor};
use crate::{ObjectId, Result};

/// The objects that hold anything to be visited.
fn visited(world: &World) -> impl Iterator<Item = ObjectId> {
    let wanted = world.shapes.any(|column| !world.columns[column].of.is_leaf);
    let is_none = !wanted.contains(&true) && !world.has_unknown;
    let pages = if is_none { 0..0 } else { 0..world.directory.len() };
    pages.flat_map(move |page| {
        let objects = world.objects.page(page);
        let bits: Vec<u32> = objects
            .into_iter()
            .flat_map(Page::bits)
            .filter(|bit| {
                world.objects.get(Place { page, bit: *bit }).is_some_and(|object| {
                    wanted.get(Shapes::index(object.shape)).is_some_and(|wanted| *wanted)
                        || !object.unknown().is_empty()
                })
            })
            .collect();
        bits.into_iter().filter_map(move |bit| world.directory.id(page, bit))
    })
}

/// Visits what [`decode`](Persist::decode) has read, in that order.
pub(super) fn visit(world: &mut World, visitor: &mut Visitor<'_>) -> Result<()> {
    let objects: Vec<ObjectId> = visited(world).collect();
    for id in objects {
        let Some(place) = world.directory.place(id) else { continue };
        let Some(object) = world.objects.get_mut(place) else { continue };
        let (shape, name) = (object.shape, object.name);
        let mut unknown = object.unknown_mut().iter_mut().peekable();
        for (before, column) in world.shapes.columns(shape).iter().enumerate() {
            while let Some(unknown) = unknown.next_if(|kept| kept.before <= before) {
                unknown.content.__visit(visitor)?;
            }
            let entry = &mut world.columns[*column];
            if let Some(component) = entry.column.get_mut(place) {
                visitor.nested(|visitor| component.portable_mut().visit(visitor)).map_err(
                    |error| {
                        let name = name.map(|name| world.names.text(name));
                        let (name, class) = (name.unwrap_or_default(), (entry.of.name)());
                        error.in_field(&format!("{name}:{class}"))
                    },
                )?;
            }
        }
        for unknown in unknown {
            unknown.content.__visit(visitor)?;
        }
    }
    for (.., value) in &mut world.resources.values {
        visitor.nested(|visitor| value.portable_mut().visit(visitor))?;
    }
    world.resources.unknown.iter_mut().try_for_each(|unknown| unknown.__visit(visitor))
}

/// Visits the parts through shared pointers.
pub(super) fn visit_shared(world: &World, visitor: &mut Visitor<'_>) -> Result<()> {
    for id in visited(world) {
        let Some(place) = world.directory.place(id) else { continue };
        let Some(object) = world.objects.get(place) else { continue };
        let mut unknown = object.unknown().iter().peekable();
        for (before, column) in world.shapes.columns(object.shape).iter().enumerate() {
            while let Some(unknown) = unknown.next_if(|kept| kept.before <= before) {
                unknown.content.__visit_shared(visitor)?;
            }
            if let Some(component) = world.columns[*column].column.get(place) {
                visitor.nested(|visitor| component.portable().visit_shared(visitor))?;
            }
        }
        for unknown in unknown {
            unknown.content.__visit_shared(visitor)?;
        }
    }
    for (.., value) in &world.resources.values {
        visitor.nested(|visitor| value.portable().visit_shared(visitor))?;
    }
    world.resources.unknown.iter().try_for_each(|unknown| unknown.__visit_shared(visitor))
}

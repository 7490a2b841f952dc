//! Warnings about saves: references and components that a load will not restore.

use std::any::TypeId;
use std::collections::{BTreeMap, BTreeSet};

use bevy_ecs::component::ComponentId;
use bevy_ecs::relationship::RelationshipAccessor;
use bevy_ecs::world::World;
use persist::save::ReportRow;
use persist_mirror::{Lost, Mirror, Target};

use crate::Saved;
use crate::types::Types;

/// The losses that were found while a world was copied. Each is logged once.
#[derive(Default)]
pub(crate) struct SaveWarnings {
    /// The number of archetypes that were inspected. Bevy never removes any, so only later ones are new.
    archetypes: usize,
    /// The components of saved entities that are neither registered nor ignored.
    unregistered: BTreeMap<TypeId, String>,
    /// The classes with references to entities that are not saved.
    lost: BTreeSet<String>,
}

impl SaveWarnings {
    /// Logs the losses that are new since the last copy.
    pub(crate) fn report<W: Target>(
        &mut self,
        world: &World,
        mirror: &mut Mirror<W>,
        types: &Types,
    ) {
        for class in mirror.take_lost() {
            if !self.lost.contains(&class) {
                log::warn!(
                    "component or resource {class} refers to entities that are not saved, and a load will not have these \
                     references; give the entities `Saved`, or take the references out; `WorldSaves::warnings` lists all"
                );
                self.lost.insert(class);
            }
        }
        let new = self.find_unregistered(world, types);
        if !new.is_empty() {
            log::warn!(
                "saved entities have components that are not registered, and are not in the save: {}; call \
                 `persist_component` for those that are to be saved, and `ignore_component` for the others",
                new.join(", ")
            );
        }
    }

    /// Returns the names of unregistered components that were not found before.
    fn find_unregistered(&mut self, world: &World, types: &Types) -> Vec<String> {
        let archetypes = world.archetypes();
        let Some(saved) = world.component_id::<Saved>() else { return Vec::new() };
        let mut new = Vec::new();
        for archetype in archetypes.iter().skip(self.archetypes) {
            if archetype.contains(saved) {
                let ids = archetype.components().iter();
                let found = ids.filter_map(|id| unregistered(world, types, *id));
                for (id, name) in found {
                    if self.unregistered.insert(id, name.clone()).is_none() {
                        new.push(name);
                    }
                }
            }
        }
        self.archetypes = archetypes.len();
        new.sort_unstable();
        new
    }

    /// Lists the references and components of a mirror that the next load will not restore.
    pub(crate) fn list(&self, types: &Types, mirror: &persist::World) -> Vec<ReportRow> {
        let mut lost = Lost::default();
        types.all.iter().for_each(|ty| (ty.lost)(mirror, &mut lost));
        let unregistered = self.unregistered.iter().filter(|(id, _)| !types.knows(**id));
        let mut names: Vec<&str> = unregistered.map(|(_, name)| &**name).collect();
        names.sort_unstable();
        names.into_iter().for_each(|name| lost.add_unregistered(name));
        lost.rows().to_vec()
    }
}

/// Returns the type and name of a component of the game, if it is neither registered nor ignored.
///
/// Bevy knows the name only with its feature `debug`; without it, nothing is found.
fn unregistered(world: &World, types: &Types, id: ComponentId) -> Option<(TypeId, String)> {
    let info = world.components().get_info(id)?;
    let ty = info.type_id().filter(|ty| !types.knows(*ty))?;
    // Bevy maintains the target side of a relationship from its source, which may be registered.
    let is_target = |accessor: &RelationshipAccessor| {
        matches!(accessor, RelationshipAccessor::RelationshipTarget { .. })
    };
    if info.relationship_accessor().is_some_and(is_target) {
        return None;
    }
    let name = info.name().to_string();
    let (krate, _) = name.split_once("::")?;
    let is_engine = krate == "bevy" || krate.starts_with("bevy_") || krate == "persist_bevy";
    (!is_engine).then_some((ty, name))
}

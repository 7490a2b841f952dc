//! Warnings of saves: references and components that a load will not have.

use std::any::TypeId;
use std::collections::{BTreeMap, BTreeSet};

use bevy_ecs::component::ComponentId;
use bevy_ecs::relationship::RelationshipAccessor;
use bevy_ecs::world::World;
use persist::save::ReportRow;
use persist_mirror::{Lost, Mirror, Target};

use crate::Saved;
use crate::types::Types;

/// Losses that were found in a world while it was copied. The log has each once.
#[derive(Default)]
pub(crate) struct SaveWarnings {
    /// How many archetypes were looked at: Bevy only adds more.
    archetypes: usize,
    /// Components of saved entities that were neither registered nor ignored.
    unregistered: BTreeMap<TypeId, String>,
    /// Classes with references to entities that are not saved.
    lost: BTreeSet<String>,
}

impl SaveWarnings {
    /// Writes to the log what is new since the last copy.
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

    /// The names of components that are not saved, and were not found before.
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

    /// Lists all references and components of a mirror that the next load will not have.
    pub(crate) fn list(&self, types: &Types, mirror: &persist::World) -> Vec<ReportRow> {
        let mut lost = Lost::default();
        types.all.iter().for_each(|of| (of.lost)(mirror, &mut lost));
        let unregistered = self.unregistered.iter().filter(|(id, _)| !types.knows(**id));
        let mut names: Vec<&str> = unregistered.map(|(_, name)| &**name).collect();
        names.sort_unstable();
        names.into_iter().for_each(|name| lost.add_unregistered(name));
        lost.rows().to_vec()
    }
}

/// The type and name of a component of the game, if it is neither registered nor ignored. The name is known with the
/// feature `debug` of Bevy alone.
fn unregistered(world: &World, types: &Types, id: ComponentId) -> Option<(TypeId, String)> {
    let info = world.components().get_info(id)?;
    let of = info.type_id().filter(|of| !types.knows(*of))?;
    // Bevy makes it from the source, which may be registered.
    let is_target = |accessor: &RelationshipAccessor| {
        matches!(accessor, RelationshipAccessor::RelationshipTarget { .. })
    };
    if info.relationship_accessor().is_some_and(is_target) {
        return None;
    }
    let name = info.name().to_string();
    let (krate, _) = name.split_once("::")?;
    let is_engine = krate == "bevy" || krate.starts_with("bevy_") || krate == "persist_bevy";
    (!is_engine).then_some((of, name))
}

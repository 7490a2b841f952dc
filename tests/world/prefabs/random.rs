//! Random trees with random references, against a copy made by hand.

use std::collections::{BTreeMap, HashMap, HashSet};

use persist::world::ExternalIds;
use persist::{Component, ObjectId, Persist, World};
use proptest::prelude::*;
use proptest::sample::Index;

use super::dead;

#[derive(Persist, Clone, Debug, PartialEq)]
struct Links {
    list: Vec<Option<ObjectId>>,
    map: BTreeMap<ObjectId, ObjectId>,
    set: HashSet<ObjectId>,
}

impl Component for Links {}

impl Links {
    /// What a copy has by hand, with `ids` for old ones.
    fn copy(&self, ids: &HashMap<ObjectId, ObjectId>, external: ExternalIds) -> Self {
        let keep = external == ExternalIds::Keep;
        let bare = |id: &ObjectId| match ids.get(id) {
            Some(new) => *new,
            None if keep || id.is_dead() => *id,
            None => dead(*id),
        };
        let optional = |id: &Option<ObjectId>| {
            id.as_ref().filter(|id| keep || id.is_dead() || ids.contains_key(id)).map(bare)
        };
        Self {
            list: self.list.iter().map(optional).collect(),
            map: self.map.iter().map(|(key, value)| (bare(key), bare(value))).collect(),
            set: self.set.iter().map(bare).collect(),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..Default::default() })]

    #[test]
    fn copies_are_those_that_are_made_by_hand(
        parents in prop::collection::vec((any::<Index>(), any::<bool>(), any::<bool>()), 1..30),
        links in prop::collection::vec(
            (any::<Index>(), prop::collection::vec(any::<Index>(), 0..6)),
            0..20,
        ),
        rounds in prop::collection::vec((any::<Index>(), any::<bool>()), 1..4),
    ) {
        let mut world = World::new();
        let mut ids: Vec<ObjectId> = Vec::new();
        for (parent, is_below, is_first) in parents {
            let id = world.spawn("Thing");
            if is_below && !ids.is_empty() {
                let at = if is_first { 0 } else { usize::MAX };
                world.set_parent_at(id, Some(*parent.get(&ids)), at).unwrap();
            }
            ids.push(id);
        }
        // Some leave holes.
        if let Some(hole) = ids.get(5).copied() {
            world.remove(hole);
            ids.retain(|id| world.contains(*id));
        }
        if ids.is_empty() {
            return Ok(());
        }
        for (owner, targets) in links {
            let targets: Vec<ObjectId> = targets.iter().map(|target| *target.get(&ids)).collect();
            let pairs = targets.iter().copied().zip(targets.iter().rev().copied());
            let links = Links {
                list: targets.iter().copied().map(Some).chain([None]).collect(),
                map: pairs.collect(),
                set: targets.iter().copied().collect(),
            };
            world.attach(*owner.get(&ids), links).unwrap();
        }
        for (root, keep) in rounds {
            let all: Vec<ObjectId> = world.objects().collect();
            let (root, external) = (*root.get(&all), if keep { ExternalIds::Keep } else { ExternalIds::Clear });
            let old = world.subtree(root);
            let before: Vec<_> = all.iter().map(|id| world.get::<Links>(*id).cloned()).collect();
            let prefab = world.prefab(root).unwrap();
            let copy = world.instantiate(&prefab, external).unwrap();
            let new = world.subtree(copy);
            prop_assert_eq!(new.len(), old.len());
            let by_old: HashMap<ObjectId, ObjectId> = old.iter().copied().zip(new.clone()).collect();
            for (old, new) in &by_old {
                let expected = world.get::<Links>(*old).map(|links| links.copy(&by_old, external));
                prop_assert_eq!(world.get::<Links>(*new), expected.as_ref());
                let children: Vec<_> = world.children(*old).iter().map(|id| by_old[id]).collect();
                prop_assert_eq!(world.children(*new), children);
                prop_assert_eq!(world.find(world.name(*new).unwrap()), Some(*new));
            }
            let sorted = |mut ids: Vec<ObjectId>| { ids.sort(); ids };
            let in_order: Vec<_> = sorted(old).iter().map(|id| by_old[id]).collect();
            prop_assert!(in_order.is_sorted() && in_order > all);
            let after: Vec<_> = all.iter().map(|id| world.get::<Links>(*id).cloned()).collect();
            prop_assert_eq!(after, before);
        }
    }
}

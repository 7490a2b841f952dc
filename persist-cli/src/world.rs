//! Worlds as people know them: objects by their names, with components.
//!
//! A save has a world as a table, which `docs/reference/graphs-and-worlds.md` describes.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};

use persist::debug::label::parts_mut;
pub(crate) use persist::debug::world::{
    CLASS, ObjectView as Object, TreeNode, WorldView as World, parent_of, path_of, record_of,
};
use persist::{ObjectId, Value};

use crate::exit::{Failure, Result};
use crate::values::parts;

/// The class of unknown fields of a component, which stand beside it.
const UNKNOWN_AT: &str = "persist.UnknownAt";

/// Returns the reason why no program loads a world, if there is one. Its values may fit their classes, but form no tree
/// of objects.
fn fault(world: &World<'_>, last_id: u64) -> Option<String> {
    let (mut names, mut families) = (HashSet::new(), BTreeMap::new());
    let mut previous = 0;
    for object in &world.objects {
        let id = object.id;
        if id <= previous || id > last_id {
            return Some(format!(
                "the ids of its objects do not ascend to the last one, {last_id}: #{id} comes after #{previous}"
            ));
        }
        previous = id;
        if !object.name.is_empty() && !names.insert(object.name) {
            return Some(format!("two objects have the name `{}`", object.name));
        }
        if let Some((parent, index)) = parent_of(object.value) {
            if world.place(parent).is_none() {
                return Some(format!("object #{id} has the parent #{parent}, which is not there"));
            }
            families.entry(parent).or_insert_with(Vec::new).push((index, id));
        }
        if let Some(class) = duplicate(object.components) {
            return Some(format!("object #{id} has two components {class}"));
        }
    }
    if let Some(class) = duplicate(world.resources) {
        return Some(format!("it has two resources {class}"));
    }
    if let Some(fault) = families.iter_mut().find_map(|(parent, children)| {
        children.sort_unstable();
        fault_of_children(*parent, children)
    }) {
        return Some(fault);
    }
    // Each object has at most one parent, so objects that are not reached from the roots form a cycle.
    let roots = world.objects.iter().filter(|object| parent_of(object.value).is_none());
    let mut open: Vec<u64> = roots.map(|object| object.id).collect();
    let mut visited = 0;
    while let Some(id) = open.pop() {
        visited += 1;
        let place = world.place(id);
        open.extend(place.into_iter().flat_map(|place| &world.objects[place].children));
    }
    (visited < world.objects.len()).then(|| "objects are below themselves".to_owned())
}

/// Returns the reason why the sorted children of an object, with their indices, are no list.
fn fault_of_children(parent: u64, children: &[(u64, u64)]) -> Option<String> {
    let mut pairs = children.windows(2);
    if let Some([(index, one), (_, other)]) = pairs.find(|pair| pair[0].0 == pair[1].0) {
        return Some(format!("objects #{one} and #{other} are both child {index} of #{parent}"));
    }
    let mut expected = (0..).zip(children);
    let (_, (index, child)) = expected.find(|(place, (index, _))| place != index)?;
    Some(format!(
        "object #{child} is child {index} of #{parent}, whose children are numbered from 0 to {}",
        children.len() - 1
    ))
}

/// Sets the index of an object among the children of its parent.
pub(crate) fn set_index(object: &mut Value, index: usize) {
    let parent = object.as_record_mut().and_then(|object| object.get_mut("parent"));
    if let Some(Value::Option(Some(parent))) = parent
        && let Some(parent) = parent.as_record_mut()
    {
        parent.set("index", u32::try_from(index).unwrap_or(u32::MAX));
    }
}

/// Numbers the children in the worlds of a value from 0 again, where an edit has left gaps. If two children have one
/// index, their order is not known, and they are left as they are.
pub(crate) fn close_gaps(value: &mut Value) {
    let mut open = vec![value];
    while let Some(next) = open.pop() {
        if record_of(next).is_some()
            && let Some(Value::Seq(objects)) =
                next.as_record_mut().and_then(|world| world.get_mut("objects"))
        {
            number_children(objects);
        }
        open.extend(parts_mut(next));
    }
}

fn number_children(objects: &mut [Value]) {
    let mut families: HashMap<u64, Vec<(u64, usize)>> = HashMap::new();
    for (place, object) in objects.iter().enumerate() {
        let Some((parent, index)) = parent_of(object) else { continue };
        families.entry(parent).or_default().push((index, place));
    }
    for mut children in families.into_values() {
        children.sort_unstable();
        if children.windows(2).all(|pair| pair[0].0 < pair[1].0) {
            for (index, (_, place)) in children.into_iter().enumerate() {
                set_index(&mut objects[place], index);
            }
        }
    }
}

/// Returns an error if a world in a value is one that no program loads.
pub(crate) fn check(value: &Value, object: ObjectId) -> Result<()> {
    let mut open = vec![value];
    while let Some(next) = open.pop() {
        let last_id = record_of(next).and_then(|world| world.get("last_id")?.as_u64());
        let world = World::of(next).zip(last_id);
        if let Some(fault) = world.and_then(|(world, last_id)| fault(&world, last_id)) {
            return Err(Failure::new(format!(
                "no program would load the world of object {object}: {fault}"
            )));
        }
        open.extend(parts(next).into_iter().map(|(_, part)| part));
    }
    Ok(())
}

/// Returns the key of a component or resource. An object has at most one of each class, and one of each path for the
/// unknown fields of its components.
pub(crate) fn key_of(content: &Value) -> Option<Cow<'_, str>> {
    let record = content.as_record()?;
    Some(match record.get("path").filter(|_| record.class() == UNKNOWN_AT) {
        Some(path) => format!("{UNKNOWN_AT} {path}").into(),
        None => record.class().into(),
    })
}

/// Returns the class that two of the values have.
pub(crate) fn duplicate(contents: &[Value]) -> Option<&str> {
    let mut classes = HashSet::new();
    let mut all = contents.iter().filter(|content| key_of(content).is_some());
    let duplicate = all.find(|content| !classes.insert(key_of(content)))?;
    Some(duplicate.as_record()?.class())
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use persist::{Limits, ObjectId, Persist};
    use persist_tools::__private::RecordReader;
    use persist_tools::Document;

    use super::*;
    use crate::input::Stream;
    use crate::path::Path;
    use crate::values::{Hop, replace};

    #[derive(Persist, PartialEq, Debug)]
    #[persist(component)]
    struct Health(u32);

    const NAMES: [&str; 24] = [
        "Goblin",
        "Goblin",
        "Goblin",
        "Goblin1",
        "Goblin1",
        "Goblin#1",
        "Goblin##1",
        "#1",
        "#2",
        "",
        "..",
        ".",
        "a/b",
        "*",
        "**",
        "\"a\"",
        "a\\",
        "\u{1f}",
        "Goblin\u{1f}1",
        "Goblin\u{1f}\u{1f}1",
        "Goblin\u{1f}",
        "é\u{301}",
        " ",
        "World:Health.0",
    ];

    /// A value that a path leads to.
    struct Found {
        label: String,
        hops: Vec<Hop>,
        value: Value,
    }

    fn find(save: &[u8], path: &str) -> Vec<Found> {
        let mut file = Cursor::new(save);
        let file: &mut dyn Stream = &mut file;
        let mut save = RecordReader::open(file, &Limits::DEFAULT).expect("a save");
        let mut all = Vec::new();
        let mut visit = |found: crate::found::Found<'_>| {
            let value = found.value.into_owned();
            all.push(Found { label: found.label, hops: found.hops, value });
            Ok(true)
        };
        let read = Path::parse(path, &mut save).and_then(|path| path.each(&mut save, &mut visit));
        read.unwrap_or_else(|error| panic!("{path}: {error:?}"));
        all
    }

    fn id(found: &Found) -> u64 {
        Object::of(&found.value).expect("an object").id
    }

    /// Healths of all objects, as a program loads them.
    fn healths(save: &[u8]) -> Vec<u32> {
        let saves = persist::Saves::new();
        saves.register_component::<Health>().expect("no other has its name");
        let world = saves.from_slice::<persist::World>(save).expect("a world");
        world.objects().map(|object| world.get::<Health>(object).expect("it has one").0).collect()
    }

    #[test]
    fn the_path_of_an_object_leads_to_no_other_and_a_set_edits_no_other() {
        let mut state = 1_u64;
        let mut random = |below: usize| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % below
        };
        for _ in 0..150 {
            let mut world = persist::World::new();
            // The expected id and base name of each object.
            let mut twin: Vec<(ObjectId, Option<&str>)> = Vec::new();
            for number in 0..12 {
                let (name, parent) = (NAMES[random(NAMES.len())], random(twin.len() + 1));
                let shares = random(3) > 0;
                let object = world.spawn(if shares { "" } else { name });
                if shares {
                    world.share_name(object, name).expect("it is there");
                }
                world.attach(object, Health(number)).expect("it is there");
                let parent = twin.get(parent).map(|(id, _)| *id);
                world.set_parent(object, parent).expect("it is new");
                twin.push((object, shares.then_some(name)));
            }
            for (object, name) in &twin {
                if let Some(name) = name {
                    assert_eq!(world.name(*object).unwrap_or_default(), *name);
                }
                let found = world.name(*object).and_then(|name| world.find(name));
                assert!(found.is_none_or(|found| world.name(found) == world.name(*object)));
            }
            let bytes = persist::to_vec(&world).expect("it is saved");
            let all = find(&bytes, "World/**");
            assert_eq!(all.len(), twin.len());
            for (at, object) in all.iter().enumerate() {
                let found = find(&bytes, &object.label);
                let ids: Vec<u64> = found.iter().map(id).collect();
                assert_eq!(ids, [twin[at].0.get()], "{}", object.label);
                let field = find(&bytes, &format!("{}:Health.0", object.label));
                let [field] = &field[..] else { panic!("{}", object.label) };
                let mut changed = Document::from_slice(&bytes).expect("a save");
                let entry = changed.entries_mut().next().expect("an object");
                assert!(replace(&mut entry.value, &field.hops, Value::U32(100)));
                let mut expected: Vec<u32> = (0..12).collect();
                expected[at] = 100;
                assert_eq!(
                    healths(&changed.to_vec().expect("a save")),
                    expected,
                    "{}",
                    object.label
                );
            }
        }
    }

    #[test]
    fn objects_below_many_others_and_those_whose_names_lead_to_several_have_paths_by_ids() {
        let mut world = persist::World::new();
        let mut last = world.spawn("top");
        for _ in 0..200 {
            last = world.spawn_in(last, "below").expect("it is there");
        }
        let twins = ["a", "b"].map(|name| world.spawn(name));
        let below = world.spawn_in(twins[1], "c").expect("it is there");
        let bytes = persist::to_vec(&world).expect("it is saved");
        let mut save = Document::from_slice(&bytes).expect("a save");
        // No program loads a world in which two have a name.
        let root = save.entries_mut().next().expect("an object");
        let Value::Struct(root) = &mut root.value else { panic!("a world") };
        let Some(Value::Seq(objects)) = root.get_mut("objects") else { panic!("objects") };
        let count = objects.len();
        let Value::Struct(twin) = &mut objects[count - 2] else { panic!("an object") };
        twin.set("name", "a");
        let bytes = save.to_vec().expect("it is saved");
        let all = find(&bytes, "World/**");
        for object in &all {
            let ids: Vec<u64> = find(&bytes, &object.label).iter().map(id).collect();
            assert_eq!(ids, [id(object)], "{}", object.label);
        }
        let labels = all[count - 3..].iter().map(|object| &*object.label).collect::<Vec<_>>();
        assert_eq!(
            labels,
            [format!("/{}", twins[0]), format!("/{}", twins[1]), format!("/{}/c", twins[1])]
        );
        assert_eq!(
            (all[200].label.as_str(), below.get()),
            (&*format!("/{last}"), id(&all[count - 1]))
        );
    }
}

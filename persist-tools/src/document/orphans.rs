//! Objects of a world whose parent is lost.
//!
//! The names of fields are those of `StoredWorld` in `persist`.

use std::collections::HashSet;

use persist::__tools::LAST_ID;
use persist::world::Activity;
use persist::{Record, Value};

/// Puts the objects whose parent is lost below a new object, and returns their number. Returns `None`, and changes
/// nothing, if the value is no world that can have another object.
pub(super) fn gather(world: &mut Record, name: &str) -> Option<u64> {
    let id = world.get("last_id")?.as_u64()?.checked_add(1).filter(|id| *id <= LAST_ID / 2)?;
    let Some(Value::Seq(objects)) = world.get_mut("objects") else { return None };
    let ids: HashSet<u64> = objects.iter().filter_map(|it| number(it, "id")).collect();
    let is_lost = |object: &mut Value| {
        let parent = parent_of(object).and_then(|parent| number(parent, "object"));
        parent.is_some_and(|parent| !ids.contains(&parent))
    };
    let mut orphans: Vec<&mut Value> =
        objects.iter_mut().filter_map(|object| is_lost(object).then_some(object)).collect();
    // A copy of an orphan has the fields that the class of objects has in this save.
    let mut new = orphans.first()?.as_record()?.clone();
    let count = orphans.len() as u64;
    for (index, object) in (0_u32..).zip(&mut orphans) {
        let parent = parent_of(object)?.as_record_mut()?;
        parent.set("object", id);
        parent.set("index", index);
    }
    new.set("id", id);
    new.set("name", free_name(objects, name));
    new.set("parent", Value::Option(None));
    new.set("waiting", 0_u32);
    new.set("components", Value::Seq(Vec::new()));
    if let Some(Value::Enum(activity)) = new.get_mut("activity") {
        activity.set_variant(format!("{:?}", Activity::Active));
    }
    objects.push(new.into());
    world.set("last_id", id);
    Some(count)
}

fn number(value: &Value, field: &str) -> Option<u64> {
    value.as_record()?.get(field)?.as_u64()
}

/// Returns the parent that an object has, with its index there.
fn parent_of(object: &mut Value) -> Option<&mut Value> {
    match object.as_record_mut()?.get_mut("parent")? {
        Value::Option(parent) => parent.as_deref_mut(),
        _ => None,
    }
}

/// Returns the name, or the name with the lowest number that makes it free.
fn free_name(objects: &[Value], name: &str) -> String {
    let name_of = |object: &'_ Value| Some(object.as_record()?.get("name")?.as_text()?.to_owned());
    let taken: HashSet<String> = objects.iter().filter_map(name_of).collect();
    if name.is_empty() || !taken.contains(name) {
        return name.to_owned();
    }
    let base = name.trim_end_matches(|letter: char| letter.is_ascii_digit());
    let base = if base.is_empty() { name } else { base };
    let mut numbered = (1_u64..).map(|number| format!("{base}{number}"));
    numbered.find(|name| !taken.contains(name)).unwrap_or_default()
}

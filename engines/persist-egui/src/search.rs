//! What the user searches for: names, classes and values.

use persist::{FieldPath, ObjectId, Value, World};

/// Objects that are looked at in a frame, if only their names and classes are asked for.
const PER_FRAME: usize = 20_000;

/// How many of these one takes whose values are asked for.
const COST_OF_VALUES: usize = 40;

/// Deeper values are not searched.
const MOST_DEPTH: u32 = 32;

/// A search that goes on from frame to frame.
#[derive(Default)]
pub(crate) struct Search {
    words: Vec<Word>,
    /// The objects that have not been looked at, in reverse.
    rest: Vec<ObjectId>,
    pub(crate) found: Vec<ObjectId>,
}

/// A word of a query.
#[derive(Debug, PartialEq)]
enum Word {
    /// A part of the name, or of the name of a class.
    Name(String),
    /// A part of a value, and of the name of its field.
    Value(String, String),
}

impl Search {
    pub(crate) fn new(query: &str, world: &World) -> Self {
        let words = query.to_lowercase().split_whitespace().map(Word::of).collect();
        let mut rest: Vec<ObjectId> = world.objects().collect();
        rest.reverse();
        Self { words, rest, found: Vec::new() }
    }

    /// True if all objects have been looked at, and none was found.
    pub(crate) fn is_vain(&self) -> bool {
        self.rest.is_empty() && self.found.is_empty()
    }

    /// Looks at some more objects; false once all are looked at.
    pub(crate) fn go_on(&mut self, world: &World) -> bool {
        let has_values = self.words.iter().any(|word| matches!(word, Word::Value(..)));
        let count = if has_values { PER_FRAME / COST_OF_VALUES } else { PER_FRAME };
        let from = self.rest.len().saturating_sub(count);
        for object in self.rest.split_off(from).into_iter().rev() {
            if self.words.iter().all(|word| word.is_in(world, object)) {
                self.found.push(object);
            }
        }
        !self.rest.is_empty()
    }
}

impl Word {
    fn of(word: &str) -> Self {
        match word.split_once('=') {
            Some((field, value)) => Self::Value(field.to_owned(), value.to_owned()),
            None => Self::Name(word.to_owned()),
        }
    }

    fn is_in(&self, world: &World, object: ObjectId) -> bool {
        match self {
            Self::Name(word) => {
                let has = |text: &str| text.to_lowercase().contains(word);
                world.name(object).is_some_and(has)
                    || world.classes(object).iter().any(|class| has(class))
            }
            Self::Value(field, text) => world.classes(object).into_iter().any(|class| {
                let value = world.get_field(object, FieldPath::new(class));
                value.is_ok_and(|value| has_value(&value, "", (field, text), 0))
            }),
        }
    }
}

/// True if a field of this name has a value with this text in it.
fn has_value(value: &Value, name: &str, wanted: (&str, &str), depth: u32) -> bool {
    if depth > MOST_DEPTH {
        return false;
    }
    let within = |value: &Value, name: &str| has_value(value, name, wanted, depth + 1);
    let is_named = || name.to_lowercase().contains(wanted.0);
    let has = |text: &str| is_named() && text.to_lowercase().contains(wanted.1);
    match value {
        Value::Struct(record) => record.fields().any(|(name, value)| within(value, name)),
        Value::Enum(record) => {
            record.variant().is_some_and(has)
                || record.fields().any(|(name, value)| within(value, name))
        }
        Value::Seq(parts) | Value::Tuple(parts) => parts.iter().any(|part| within(part, name)),
        Value::Map(entries) => {
            entries.iter().any(|(key, value)| within(key, name) || within(value, name))
        }
        Value::Option(Some(value)) => within(value, name),
        Value::Text(text) => has(text),
        Value::F32(number) => has(&number.to_string()),
        Value::F64(number) => has(&number.to_string()),
        value => has(&value.to_string()),
    }
}

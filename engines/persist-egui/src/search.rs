//! [`Search`], which finds objects by names, classes and values.

use persist::{FieldPath, ObjectId, Value, World};

/// The number of objects that are searched in a frame, if the query only has names and classes.
const PER_FRAME: usize = 20_000;

/// The cost of searching the values of an object, relative to its name and classes.
const COST_OF_VALUES: usize = 40;

/// The maximum nesting depth of values that are searched.
const MAX_DEPTH: u32 = 32;

/// A search that is spread over several frames.
#[derive(Default)]
pub(crate) struct Search {
    words: Vec<Word>,
    /// The objects that are still to be searched, in reverse order.
    rest: Vec<ObjectId>,
    pub(crate) found: Vec<ObjectId>,
}

/// A word of a query.
#[derive(Debug, PartialEq)]
enum Word {
    /// A part of the name of the object or one of its classes.
    Name(String),
    /// A part of the name of a field, and a part of its value.
    Value(String, String),
}

impl Search {
    pub(crate) fn new(query: &str, world: &World) -> Self {
        let words = query.to_lowercase().split_whitespace().map(Word::new).collect();
        let mut rest: Vec<ObjectId> = world.objects().collect();
        rest.reverse();
        Self { words, rest, found: Vec::new() }
    }

    /// Returns true if all objects have been searched, and none was found.
    pub(crate) fn is_vain(&self) -> bool {
        self.rest.is_empty() && self.found.is_empty()
    }

    /// Searches some more objects; returns false when all have been searched.
    pub(crate) fn advance(&mut self, world: &World) -> bool {
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
    fn new(word: &str) -> Self {
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

/// Returns true if a value contains a field whose name and value contain the texts of a query.
fn has_value(value: &Value, name: &str, query: (&str, &str), depth: u32) -> bool {
    if depth > MAX_DEPTH {
        return false;
    }
    let within = |value: &Value, name: &str| has_value(value, name, query, depth + 1);
    let is_named = || name.to_lowercase().contains(query.0);
    let has = |text: &str| is_named() && text.to_lowercase().contains(query.1);
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

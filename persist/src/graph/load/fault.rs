//! Finds the field of a record that cannot be decoded, if the schema alone does not show it. Examples are a set with a
//! duplicate element, a `NonZero` of 0, and a value that a `with` module refuses.

use super::Table;
use crate::codec::Decoder;
use crate::env::Env;
use crate::schema::{Cursor, Form, KindSchema, Program, Reader, Stored};
use crate::{Error, ErrorKind, Value};

/// The maximum length of the path of a bad field. Each level decodes its part of the record again.
const LEVELS: usize = 32;

/// A record as it is stored: all classes of its save, the index of its class, and its payload.
type StoredRecord<'s> = (&'s Stored, usize, &'s [u8]);

/// Adds the bad field to an error from decoding a payload. The payload has the form of the program's class `class`; if
/// it was rewritten into that form, `stored` is the record of the save.
pub(super) fn in_bad_field(
    table: &mut Table<'_>,
    error: Error,
    class: usize,
    payload: &[u8],
    stored: Option<StoredRecord<'_>>,
) -> Error {
    // Leave errors about limits alone: the decode here would reach the limit in another field.
    let is_element = error.field().is_some_and(|field| field.starts_with('['));
    if matches!(error.kind(), ErrorKind::TooLarge | ErrorKind::TooDeep)
        || error.field().is_some() && !is_element
    {
        return error;
    }
    let (mut path, reason) = bad_field(table, class, payload, stored);
    if is_element {
        // The field's adapter has named the element itself, and knows more about it.
        while path.pop_if(|name| name.starts_with('[')).is_some() {}
    }
    let error = match reason.filter(|_| error.kind() == ErrorKind::InvalidValue) {
        Some(reason) => error.reworded(reason),
        None => error,
    };
    path.into_iter().rev().fold(error, |error, name| error.in_field(&name))
}

/// Returns the path of the value that cannot be decoded, through structs, lists and options, and the reason, if it is
/// known.
fn bad_field(
    table: &mut Table<'_>,
    class: usize,
    payload: &[u8],
    stored: Option<StoredRecord<'_>>,
) -> (Vec<String>, Option<String>) {
    let (program, env) = (table.registry.program(), table.env);
    // A page that was not converted has numbers of its own.
    let numbers = stored.filter(|(.., bytes)| std::ptr::eq(*bytes, payload));
    let numbers =
        numbers.and_then(|(stored, class, _)| stored.page_numbers(class, payload).ok()?);
    let mut input = Decoder::new(payload, env, table).in_page(numbers.as_deref());
    let mut path = Vec::new();
    // The number of bytes that were left where the last bad field begins.
    let mut stopped = None;
    let mut kind = &KindSchema::Class(class);
    let target = |class: usize| program.targets[class];
    while path.len() < LEVELS {
        match kind {
            KindSchema::Class(class) => match &program.classes[*class].form {
                Form::Value(inner) => kind = inner,
                Form::Struct(fields) => {
                    let found = target(*class)
                        .and_then(|target| target.access.find_bad_field(target.class, &mut input));
                    let found = found.and_then(|(i, at)| fields.get(i).zip(Some(at.len())));
                    let Some((field, left)) = found else { break };
                    stopped = Some(left);
                    path.push(field.name.clone());
                    kind = &field.kind;
                }
                Form::Enum(_) => break,
            },
            KindSchema::Option(inner) => {
                if input.value::<bool>() != Ok(true) {
                    break;
                }
                kind = inner;
            }
            KindSchema::List(part) | KindSchema::Array(part, _) => {
                let count = match kind {
                    KindSchema::Array(_, len) => Ok(*len),
                    _ => input.count(),
                };
                let Ok(count) = count else { break };
                let place = match **part {
                    KindSchema::Class(class) => {
                        let target = target(class);
                        target.and_then(|it| it.access.find_bad_value(count, &mut input))
                    }
                    _ => {
                        let passed = stopped.and_then(|left| input.rest().len().checked_sub(left));
                        let place = passed.and_then(|passed| passed.checked_div(part.width()));
                        place.filter(|place| *place < count)
                    }
                };
                path.extend(place.map(|place| format!("[{place}]")));
                let (Some(_), KindSchema::Class(_)) = (place, &**part) else { break };
                kind = part;
            }
            _ => break,
        }
    }
    let reason = match input.take_error() {
        Some(reason) => Some(reason.message().to_owned()),
        None => duplicate(program, class, payload, &path).map(|value| {
            let advice = if stored.is_some_and(|stored| is_damaged(stored, env)) {
                "the save was written wrongly or is malicious, restore a backup"
            } else {
                "give the field a `convert` that drops one, or keep the old type"
            };
            format!(
                "{value} stands twice, where a {} has it once; {advice}",
                kind.display(&program.classes)
            )
        }),
    };
    (path, reason)
}

/// Returns true if the stored record itself is invalid: a set in it has a duplicate element already, although its bytes
/// match the schema.
fn is_damaged((classes, class, payload): StoredRecord<'_>, env: &Env<'_>) -> bool {
    let mut reader = Reader::new(&env.limits, payload.len() as u64);
    let read = reader.payload(classes, class, payload, &env.limits);
    read.is_err_and(|error| error.kind() == ErrorKind::InvalidValue)
}

/// Returns the duplicate element of the set, or duplicate key of the map, at the end of a path.
fn duplicate(program: &Program, class: usize, payload: &[u8], path: &[String]) -> Option<Value> {
    let mut cursor = Cursor::of_class(program.layout(), class, payload);
    for name in path {
        let index = name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')?.parse().ok());
        match index {
            Some(index) => cursor.index(index).ok()?,
            None => cursor.field(name).ok()?,
        }
    }
    cursor.duplicate()
}

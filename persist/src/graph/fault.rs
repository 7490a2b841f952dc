//! Which field of a record is bad where the schema does not show it: a set with an element
//! twice, a `NonZero` of 0, what a `with` module refuses.

use super::table::Table;
use crate::codec::Decoder;
use crate::env::Env;
use crate::schema::{Cursor, Form, KindSchema, Program, Reader, Stored};
use crate::{Error, ErrorKind, Value};

/// Levels of a path that are looked for: each is decoded anew.
const LEVELS: usize = 32;

/// A record as it is stored: the classes of its save, its class and its payload.
type StoredRecord<'s> = (&'s Stored, usize, &'s [u8]);

/// An error of decoding a payload that has the form of the program's class, with the field. It may have been
/// rewritten from a stored class and payload.
pub(super) fn in_bad_field(
    table: &mut Table<'_>,
    error: Error,
    (class, payload): (usize, &[u8]),
    stored: Option<StoredRecord<'_>>,
) -> Error {
    // Another decode would come upon a limit elsewhere.
    let is_element = error.field().is_some_and(|field| field.starts_with('['));
    if matches!(error.kind(), ErrorKind::TooLarge | ErrorKind::TooDeep)
        || error.field().is_some() && !is_element
    {
        return error;
    }
    let (mut path, reason) = bad_field(table, class, payload, stored);
    if is_element {
        // The adapter of the field has named it, and knows more.
        while path.pop_if(|name| name.starts_with('[')).is_some() {}
    }
    let error = match reason.filter(|_| error.kind() == ErrorKind::InvalidValue) {
        Some(reason) => error.reworded(reason),
        None => error,
    };
    path.into_iter().rev().fold(error, |error, name| error.in_field(&name))
}

/// The names on the way to what cannot be decoded, as far as structs, lists and options lead, and
/// why it cannot be, if that is known.
fn bad_field(
    table: &mut Table<'_>,
    class: usize,
    payload: &[u8],
    stored: Option<StoredRecord<'_>>,
) -> (Vec<String>, Option<String>) {
    let (program, env) = (table.registry.program(), table.env);
    let mut input = Decoder::new(payload, env, table);
    let mut path = Vec::new();
    // Where the last field could not be read.
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
        None => twice(program, class, payload, &path).map(|value| {
            let advice = if stored.is_some_and(|stored| is_damaged(stored, env)) {
                "the save was written wrongly or made to harm, restore a backup"
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

/// True if the bytes of a record that its schema allows are no value of it: in a set of the save something stands
/// twice already.
fn is_damaged((classes, class, payload): StoredRecord<'_>, env: &Env<'_>) -> bool {
    let mut reader = Reader::new(&env.limits, payload.len() as u64);
    let read = reader.payload(classes, class, payload, &env.limits);
    read.is_err_and(|error| error.kind() == ErrorKind::InvalidValue)
}

/// The element of a set, or key of a map, that stands twice at the end of a path.
fn twice(program: &Program, class: usize, payload: &[u8], path: &[String]) -> Option<Value> {
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

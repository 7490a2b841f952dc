//! The fields of a class as columns, each in the most compact form that holds all its values.

use persist::Value;
use serde::Serialize;
use serde_json::Value as Json;

use super::data::Pool;
use super::value::{Encoder, Reached};

/// A field of all records of a class.
#[derive(Serialize)]
pub(crate) struct Column {
    name: String,
    is: Form,
    values: Vec<Json>,
}

/// The form of the values of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Form {
    Bool,
    /// Numbers; `{"d": ".."}` for those that JSON cannot hold.
    Number,
    /// Strings of the save; -1 for none.
    Text,
    /// Objects, by their ids if the page does not have them; -1 for those that lead to none.
    Reference,
    /// Values of any form.
    Value,
}

/// Makes the columns of a class. A record that lacks a field has none in it.
pub(crate) fn columns(
    names: &[&str],
    records: &[(usize, usize)],
    encoder: &Encoder<'_, '_>,
    pool: &mut Pool,
) -> Vec<Column> {
    let part = |(object, part): (usize, usize)| &encoder.objects.objects[object].parts[part];
    let column = |(place, name): (usize, &&str)| {
        let values: Vec<(usize, Option<&Value>)> = records
            .iter()
            .map(|record| {
                let fields = &part(*record).fields;
                // Nearly always the records of a class have the same fields.
                let field = fields.get(place).filter(|(known, _)| known == name);
                let field = field.or_else(|| fields.iter().find(|(known, _)| known == name));
                (record.0, field.map(|(_, value)| *value))
            })
            .collect();
        let present = values.iter().filter_map(|(_, value)| value.map(inside)).flatten();
        let form = present.map(form).reduce(|a, b| if a == b { a } else { Form::Value });
        let form = form.unwrap_or(Form::Value);
        let values = values.iter().map(|(object, value)| match (form, value.and_then(inside)) {
            (Form::Text, None) => Json::from(-1),
            (Form::Text, Some(Value::Text(text))) => Json::from(pool.string(cut(text))),
            (Form::Reference, None) => Json::from(-1),
            (Form::Reference, Some(value)) => match encoder.reference(*object, value) {
                Some(Reached::Shown(place)) => Json::from(place),
                Some(elsewhere) => elsewhere.json(),
                None => Json::from(-1),
            },
            (_, None) => Json::Null,
            (_, Some(value)) => encoder.value(*object, value, pool),
        });
        Column { name: (*name).to_owned(), is: form, values: values.collect() }
    };
    names.iter().enumerate().map(column).collect()
}

/// Returns the value in nested options, if there is one.
fn inside(mut value: &Value) -> Option<&Value> {
    loop {
        match value {
            Value::Option(inner) => value = inner.as_deref()?,
            value => return Some(value),
        }
    }
}

/// The beginning of a text that is too long for a cell of a table.
fn cut(text: &str) -> &str {
    const MAX: usize = 4000;
    match text.char_indices().nth(MAX) {
        Some((end, _)) => &text[..end],
        None => text,
    }
}

fn form(value: &Value) -> Form {
    match value {
        Value::Bool(_) => Form::Bool,
        Value::Text(_) => Form::Text,
        Value::Ref(_) => Form::Reference,
        Value::U8(_) | Value::U16(_) | Value::U32(_) | Value::U64(_) | Value::U128(_) => {
            Form::Number
        }
        Value::I8(_) | Value::I16(_) | Value::I32(_) | Value::I64(_) | Value::I128(_) => {
            Form::Number
        }
        Value::F32(_) | Value::F64(_) => Form::Number,
        _ => Form::Value,
    }
}

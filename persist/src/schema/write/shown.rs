use crate::value::Value;

/// What a value is, in a few words.
pub(super) fn shown(value: &Value) -> String {
    match value {
        Value::Bytes(bytes) => format!("a list of {} bytes", bytes.len()),
        Value::Option(Some(_)) => String::from("an option"),
        Value::Seq(values) => format!("a list of {}", values.len()),
        Value::Tuple(values) => format!("a tuple of {}", values.len()),
        Value::Map(entries) => format!("a map of {}", entries.len()),
        Value::Struct(record) => format!("of class {}", short(record.class())),
        Value::Enum(record) => {
            let variant = record.variant().unwrap_or_default();
            format!("of class {}, variant {}", short(record.class()), short(variant))
        }
        Value::Text(text) => format!("text {:?}", short(text)),
        scalar => scalar.to_string(),
    }
}

/// The beginning of a text.
pub(super) fn short(text: &str) -> String {
    const LONGEST: usize = 60;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

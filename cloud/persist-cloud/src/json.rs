//! Converts the info of a save to JSON, for the columns of a database.

use std::time::{Duration, UNIX_EPOCH};

use persist::save::Header;
use persist::{Record, Value};
use persist_tools::Document;
use serde_json::{Map, Value as Json};

/// The maximum nesting depth of a value: JSON is built and parsed recursively.
const DEPTH: u32 = 64;

/// Returns the info of a save as JSON, without its thumbnail; `None` if the save has none.
///
/// Times are in seconds; `saved_at` counts from 1970.
pub(crate) fn info(header: &Header) -> Option<String> {
    let info = header.info();
    let seconds = |time: Duration| Json::from(time.as_secs_f64());
    let saved_at = info.saved_at.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let document = Document::from_info(&info).ok().flatten();
    let fields = [
        ("title", Some(&info.title).filter(|title| !title.is_empty()).cloned().map(Json::from)),
        ("saved_at", saved_at.map(seconds)),
        ("play_time", info.play_time.map(seconds)),
        ("value", document.and_then(|document| from_value(document.root()?, DEPTH))),
    ];
    let fields = fields.into_iter().filter_map(|(name, json)| Some((name.to_owned(), json?)));
    let fields: Map<String, Json> = fields.collect();
    (!fields.is_empty()).then(|| Json::Object(fields).to_string())
}

/// Converts a value to idiomatic JSON; returns `None` if it nests deeper than `depth`.
fn from_value(value: &Value, depth: u32) -> Option<Json> {
    let depth = depth.checked_sub(1)?;
    Some(match value {
        Value::Bool(value) => (*value).into(),
        Value::Char(value) => value.to_string().into(),
        Value::U8(value) => (*value).into(),
        Value::U16(value) => (*value).into(),
        Value::U32(value) => (*value).into(),
        Value::U64(value) => (*value).into(),
        Value::I8(value) => (*value).into(),
        Value::I16(value) => (*value).into(),
        Value::I32(value) => (*value).into(),
        Value::I64(value) => (*value).into(),
        // Most JSON parsers do not read integers of 128 bits.
        Value::U128(value) => value.to_string().into(),
        Value::I128(value) => value.to_string().into(),
        Value::F32(value) => (*value).into(),
        Value::F64(value) => (*value).into(),
        Value::Text(text) => text.clone().into(),
        Value::Bytes(bytes) => bytes.clone().into(),
        Value::Option(Some(value)) => from_value(value, depth)?,
        Value::Seq(values) | Value::Tuple(values) => {
            let values = values.iter().map(|value| from_value(value, depth));
            Json::Array(values.collect::<Option<_>>()?)
        }
        Value::Map(entries) => from_map(entries, depth)?,
        Value::Struct(record) => from_record(record, depth)?,
        Value::Enum(record) => {
            let variant = record.variant().unwrap_or_default().to_owned();
            if record.is_empty() {
                variant.into()
            } else {
                Json::Object(Map::from_iter([(variant, from_record(record, depth)?)]))
            }
        }
        Value::Ref(Some(id)) => id.get().into(),
        // Units, empty options, null pointers and empty handles.
        _ => Json::Null,
    })
}

/// Converts a map to a JSON object if all its keys are texts, otherwise to an array of pairs.
fn from_map(entries: &[(Value, Value)], depth: u32) -> Option<Json> {
    let texts = entries.iter().map(|(key, value)| match key {
        Value::Text(key) => Some((key.clone(), value)),
        _ => None,
    });
    if let Some(texts) = texts.collect::<Option<Vec<_>>>() {
        let fields = texts.into_iter().map(|(key, value)| Some((key, from_value(value, depth)?)));
        return Some(Json::Object(fields.collect::<Option<_>>()?));
    }
    let pair = |(key, value): &(Value, Value)| {
        Some(Json::Array(vec![from_value(key, depth)?, from_value(value, depth)?]))
    };
    Some(Json::Array(entries.iter().map(pair).collect::<Option<_>>()?))
}

fn from_record(record: &Record, depth: u32) -> Option<Json> {
    let field = |(name, value): (&str, &Value)| Some((name.to_owned(), from_value(value, depth)?));
    Some(Json::Object(record.fields().map(field).collect::<Option<_>>()?))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use persist::save::SlotInfo;
    use persist::{Persist, Saves};

    use super::*;

    #[derive(Persist)]
    enum Mode {
        Story,
        Arena { wave: u32 },
    }

    #[derive(Persist)]
    struct Shown {
        modes: Vec<Mode>,
        best: BTreeMap<String, f32>,
        rooms: BTreeMap<u8, bool>,
        rival: Option<String>,
        seed: u128,
    }

    fn json(info: SlotInfo) -> Option<String> {
        let saves = Saves::new().storage(persist::storage::Memory::default());
        saves.file("a.sav").info(info).save(&1_u32).unwrap();
        let header = saves.file("a.sav").load::<u32>().unwrap().report().header().clone();
        super::info(&header).map(|text| {
            let mut json: Json = serde_json::from_str(&text).unwrap();
            assert!(json.as_object_mut().unwrap().remove("saved_at").is_none_or(|it| it.is_f64()));
            json.to_string()
        })
    }

    #[test]
    fn an_info_is_plain_json() {
        let shown = Shown {
            modes: vec![Mode::Story, Mode::Arena { wave: 3 }],
            best: [("Maze".into(), 0.5), ("Tower".into(), f32::NAN)].into(),
            rooms: [(7, true)].into(),
            rival: None,
            seed: u128::MAX,
        };
        let info = SlotInfo::new("The \"Mill\"").play_time(Duration::from_millis(1500));
        assert_eq!(
            json(info.thumbnail([1, 2]).value(&shown).unwrap()).unwrap(),
            r#"{"play_time":1.5,"title":"The \"Mill\"","value":{"best":{"Maze":0.5,"Tower":null},"modes":["Story",{"Arena":{"wave":3}}],"rival":null,"rooms":[[7,true]],"seed":"340282366920938463463374607431768211455"}}"#
        );
        assert_eq!(json(SlotInfo::new("").value(&7_u32).unwrap()).unwrap(), r#"{"value":7}"#);
        assert_eq!(super::info(&Header::default()), None);
    }
}

//! Classes of saves that are types of the standard library.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::OnceLock;
use std::time::{Duration, SystemTime};

use persist_tools::{ClassSchema, Document, FieldSchema, Form, KindSchema};

/// A generic type of the standard library.
pub(super) struct Standard<'c> {
    pub(super) path: String,
    pub(super) parts: Vec<&'c KindSchema>,
    /// It can be neither a key nor copied.
    pub(super) is_range: bool,
}

/// The type of the standard library that a class is of, by its name and its form.
pub(super) fn standard(class: &ClassSchema) -> Option<Standard<'_>> {
    let (name, _) = class.name.split_once('<')?;
    let names = |fields: &[FieldSchema]| -> Vec<String> {
        fields.iter().map(|field| field.name.clone()).collect()
    };
    match (name, &class.form) {
        (
            "Range" | "RangeInclusive" | "RangeFrom" | "RangeTo" | "RangeToInclusive",
            Form::Struct(fields),
        ) => {
            let bounds: &[&str] = match name {
                "Range" | "RangeInclusive" => &["start", "end"],
                "RangeFrom" => &["start"],
                _ => &["end"],
            };
            let is_it =
                names(fields) == bounds && fields.iter().all(|it| it.kind == fields[0].kind);
            let parts = vec![&fields.first()?.kind];
            is_it.then(|| Standard { path: format!("std::ops::{name}"), parts, is_range: true })
        }
        ("Result" | "ControlFlow", Form::Enum(variants)) => {
            let [first, second] = &variants[..] else { return None };
            let (parts, path) = match (&*first.name, &*second.name) {
                ("Ok", "Err") if name == "Result" => ([first, second], "Result"),
                ("Continue", "Break") if name != "Result" => {
                    ([second, first], "std::ops::ControlFlow")
                }
                _ => return None,
            };
            let is_one = |fields: &[FieldSchema]| names(fields) == ["0"];
            let is_it = is_one(&first.fields) && is_one(&second.fields);
            let parts = is_it.then(|| parts.map(|variant| &variant.fields[0].kind).to_vec())?;
            Some(Standard { path: path.into(), parts, is_range: name != "Result" })
        }
        _ => None,
    }
}

/// A class of the standard library without parameters.
pub(super) struct Known(ClassSchema);

impl Known {
    /// True if a class of a save is this one.
    pub(super) fn is(&self, class: &ClassSchema) -> bool {
        self.0 == *class
    }
}

/// Returns the classes of the standard library without parameters, and the paths of their types.
pub(super) fn known_classes() -> &'static [(Known, &'static str)] {
    static KNOWN: OnceLock<Vec<(Known, &'static str)>> = OnceLock::new();
    KNOWN.get_or_init(|| {
        let address = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let values =
            (Duration::ZERO, SystemTime::UNIX_EPOCH, address, SocketAddr::from((address, 1)));
        let save = persist::to_vec(&values).and_then(|save| Document::from_slice(&save));
        let classes = save.map(|save| save.classes().to_vec()).unwrap_or_default();
        let path = |class: ClassSchema| {
            let path = match &*class.name {
                "Duration" => "std::time::Duration",
                "SystemTime" => "std::time::SystemTime",
                "IpAddr" => "std::net::IpAddr",
                "SocketAddr" => "std::net::SocketAddr",
                _ => return None,
            };
            Some((Known(class), path))
        };
        classes.into_iter().filter_map(path).collect()
    })
}

//! How a lock is written.

use std::collections::BTreeMap;
use std::fmt::{self, Write};

use super::section::Section;
use super::words::{HEADER, quoted, quoted_in_kind};
use crate::reflect::{Cell, Holder};
use crate::schema::{ClassSchema, FieldSchema, Form, KindSchema};

/// What a version says of one thing.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Class(String, u64),
    Trait(String),
    Object(String, u64, u8),
}

/// The text of each thing, and how it is named where it is removed.
type Entries = BTreeMap<Key, (String, String)>;

/// Writes the sections, each as what differs from the one before.
pub(super) fn write(sections: &[Section], out: &mut dyn Write) -> fmt::Result {
    writeln!(out, "{HEADER}")?;
    let mut before = Entries::new();
    for section in sections {
        writeln!(out, "\nversion {}", quoted(&section.version))?;
        let entries = entries(section)?;
        let removed = before.iter().filter(|(key, _)| !entries.contains_key(key));
        let mut removed = removed.map(|(_, (_, head))| head).peekable();
        if removed.peek().is_some() {
            out.write_char('\n')?;
        }
        removed.try_for_each(|head| writeln!(out, "removed {head}"))?;
        let mut in_objects = false;
        for (key, (text, _)) in &entries {
            if before.get(key).is_some_and(|(old, _)| old == text) {
                continue;
            }
            // Objects have a line each and stand together.
            let is_object = matches!(key, Key::Object(..));
            if !(is_object && std::mem::replace(&mut in_objects, is_object)) {
                out.write_char('\n')?;
            }
            out.write_str(text)?;
        }
        before = entries;
    }
    Ok(())
}

fn entries(section: &Section) -> Result<Entries, fmt::Error> {
    let names = Names(&section.classes);
    let mut entries = Entries::new();
    for class in &section.classes {
        let head = format!("class {}, id {}", quoted(&class.name), class.id);
        let key = Key::Class(class.name.clone(), class.id.0);
        entries.insert(key, (names.class(class, &head)?, head));
    }
    for (name, classes) in &section.traits {
        let head = format!("trait {}", quoted(name));
        let mut text = format!("{head}\n");
        for class in classes {
            writeln!(text, "  {}", names.of(*class))?;
        }
        entries.insert(Key::Trait(name.clone()), (text, head));
    }
    for (class, holder) in &section.objects {
        let head = format!("object {} in {}", names.of(*class), cell_of(*holder));
        let (name, id) =
            section.classes.get(*class).map_or_else(Default::default, |c| (c.name.clone(), c.id.0));
        entries.insert(Key::Object(name, id, holder.code()), (format!("{head}\n"), head));
    }
    Ok(entries)
}

/// A holder without a target: `Rc<RefCell>`.
pub(super) fn cell_of(holder: Holder) -> String {
    match holder.parts() {
        Some((pointer, Cell::None)) => format!("{pointer:?}"),
        Some((pointer, cell)) => format!("{pointer:?}<{cell:?}>"),
        None => String::new(),
    }
}

/// How the classes of a section are named in it.
struct Names<'c>(&'c [ClassSchema]);

impl Names<'_> {
    /// The name of a class, with its id if others have the name too.
    fn of(&self, class: usize) -> String {
        let Some(class) = self.0.get(class) else { return String::from("?") };
        let name = quoted_in_kind(&class.name);
        // The classes are in the order of names.
        let first = self.0.partition_point(|other| other.name < class.name);
        match self.0.get(first + 1) {
            Some(next) if next.name == class.name => format!("{name}#{}", class.id),
            _ => name,
        }
    }

    fn class(&self, class: &ClassSchema, head: &str) -> Result<String, fmt::Error> {
        let mut text = format!("{head}, version {}, ", class.version);
        match &class.form {
            Form::Struct(fields) => {
                text.push_str("struct\n");
                self.fields(fields, "  ", &mut text)?;
            }
            Form::Enum(variants) => {
                text.push_str("enum\n");
                for variant in variants {
                    writeln!(text, "  variant {}", quoted(&variant.name))?;
                    self.fields(&variant.fields, "    ", &mut text)?;
                }
            }
            Form::Value(kind) => {
                text.push_str("value ");
                self.kind(kind, &mut text)?;
                text.push('\n');
            }
        }
        Ok(text)
    }

    fn fields(&self, fields: &[FieldSchema], indent: &str, out: &mut String) -> fmt::Result {
        for field in fields {
            write!(out, "{indent}{}", quoted(&field.name))?;
            if let Some(id) = field.id {
                write!(out, " #{id}")?;
            }
            out.push_str(": ");
            self.kind(&field.kind, out)?;
            out.push('\n');
        }
        Ok(())
    }

    fn kind(&self, kind: &KindSchema, out: &mut String) -> fmt::Result {
        let part = |before: &str, part: &KindSchema, after: &str, out: &mut String| {
            out.push_str(before);
            self.kind(part, out)?;
            out.push_str(after);
            Ok(())
        };
        match kind {
            KindSchema::Compact(integer) => write!(out, "compact {}", integer.name()),
            KindSchema::Option(inner) => part("Option<", inner, ">", out),
            KindSchema::List(inner) => part("Vec<", inner, ">", out),
            KindSchema::Set(inner) => part("Set<", inner, ">", out),
            KindSchema::Map(parts) => {
                part("Map<", &parts[0], ", ", out)?;
                part("", &parts[1], ">", out)
            }
            KindSchema::Array(inner, len) => {
                part("[", inner, "; ", out)?;
                write!(out, "{len}]")
            }
            KindSchema::Tuple(parts) => {
                out.push('(');
                for (i, kind) in parts.iter().enumerate() {
                    part(if i == 0 { "" } else { ", " }, kind, "", out)?;
                }
                // Without a part it is not the unit.
                out.push_str(if parts.len() < 2 { ",)" } else { ")" });
                Ok(())
            }
            KindSchema::Class(class) => out.write_str(&self.of(*class)),
            KindSchema::Reference { holder, weak, class } => {
                out.write_str(&holder.around(*weak, &self.of(*class)))
            }
            KindSchema::TraitReference { holder, weak, name } => {
                out.write_str(&holder.around(*weak, &format!("dyn {}", quoted(name))))
            }
            KindSchema::Dynamic(name) => write!(out, "Box<dyn {}>", quoted(name)),
            KindSchema::Handle(name) => write!(out, "Handle<{}>", quoted(name)),
            // The words of the kinds without parts are the library's own.
            scalar => out.write_str(&scalar.display(&[])),
        }
    }
}

//! How a lock is read.

mod kind;
mod version;

use std::collections::{BTreeMap, BTreeSet, HashSet};

use self::kind::Mentions;
use super::section::Section;
use super::words::Line;
use crate::Result;
use crate::format::KIND_DEPTH;
use crate::reflect::{ClassId, Holder};
use crate::schema::{ClassSchema, FieldSchema, Form, VariantSchema};

/// Reads the sections of a lock.
pub(super) fn read(text: &str) -> Result<Vec<Section>> {
    let mut lines = (1..).zip(text.lines()).map(|(number, text)| Line::new(number, text));
    let Some(mut first) = lines.next() else {
        return Err(Line::new(1, "").error("it is empty; delete it to begin a new one"));
    };
    first.header()?;
    let mut reader = Reader::default();
    for mut line in lines {
        match line.indent() {
            _ if line.is_empty() => {}
            0 => reader.head(line)?,
            2 => reader.part(line)?,
            4 => reader.variant_field(line)?,
            spaces => return Err(line.error(format!("{spaces} spaces before the text"))),
        }
    }
    reader.end_version()?;
    Ok(reader.sections)
}

/// What stands at the beginning of the lines that follow.
#[derive(Clone, Copy, Default)]
enum Open {
    #[default]
    Nothing,
    Class(u64),
    /// Of this index among the new ones.
    Trait(usize),
}

#[derive(Default)]
struct Reader<'t> {
    sections: Vec<Section>,
    /// The version that is being read, and where it begins.
    version: Option<(String, Line<'t>)>,
    open: Open,
    mentions: Mentions<'t>,
    /// The classes of this version and of those before that are not removed.
    classes: BTreeMap<u64, (ClassSchema, Line<'t>)>,
    traits: BTreeMap<String, Vec<u64>>,
    objects: BTreeSet<(u64, u8)>,
    /// What the version adds.
    own: HashSet<u64>,
    own_traits: Vec<(String, Vec<usize>, Line<'t>)>,
    own_objects: Vec<(usize, Holder, Line<'t>)>,
}

impl<'t> Reader<'t> {
    /// A line without spaces before it.
    fn head(&mut self, mut line: Line<'t>) -> Result<()> {
        self.open = Open::Nothing;
        let start = line.clone();
        let word = line.word();
        if !line.eat(" ") {
            return Err(
                start.error("it is none of `version`, `removed`, `class`, `trait`, `object`")
            );
        }
        if word == "version" {
            self.end_version()?;
            let version = line.name("the version")?;
            if self.sections.iter().any(|section| section.version == version) {
                return Err(start.error(format!("version {version} stands there twice")));
            }
            self.version = Some((version, start));
            return line.end();
        }
        if self.version.is_none() {
            return Err(start.error("there is no `version` before it"));
        }
        match word {
            "removed" => self.removed(line),
            "class" => self.class(line),
            "trait" => {
                let name = line.name("the name of the trait")?;
                if self.own_traits.iter().any(|(own, ..)| *own == name) {
                    return Err(start.error(format!("trait {name} stands there twice")));
                }
                self.open = Open::Trait(self.own_traits.len());
                self.own_traits.push((name, Vec::new(), start));
                line.end()
            }
            "object" => {
                let (class, holder) = self.object(&mut line)?;
                self.own_objects.push((class, holder, start));
                line.end()
            }
            _ => Err(start.error("it is none of `version`, `removed`, `class`, `trait`, `object`")),
        }
    }

    fn object(&mut self, line: &mut Line<'t>) -> Result<(usize, Holder)> {
        let class = self.mentions.read(line)?;
        line.expect(" in ")?;
        Ok((class, line.holder()?))
    }

    /// What is not there any more; it stands before all else.
    fn removed(&mut self, mut line: Line<'t>) -> Result<()> {
        let start = line.clone();
        if !(self.own.is_empty() && self.own_traits.is_empty() && self.own_objects.is_empty()) {
            return Err(start.error("`removed` stands after what the version has"));
        }
        let was_there = match line.word() {
            "class" => {
                line.expect(" ")?;
                let (name, id) = self.class_head(&mut line)?;
                self.classes.remove(&id).is_some_and(|(class, _)| class.name == name)
            }
            "trait" => {
                line.expect(" ")?;
                self.traits.remove(&line.name("the name of the trait")?).is_some()
            }
            "object" => {
                line.expect(" ")?;
                let (class, holder) = self.object(&mut line)?;
                let mention = &self.mentions.0[class];
                let before = self.sections.last().map_or(&[][..], |section| &section.classes);
                let ids: Vec<u64> = before
                    .iter()
                    .filter(|class| class.name == mention.name)
                    .map(|class| class.id.0)
                    .filter(|id| mention.id.is_none_or(|wanted| wanted == *id))
                    .collect();
                ids.len() == 1 && self.objects.remove(&(ids[0], holder.code()))
            }
            _ => return Err(start.error("it is none of `class`, `trait`, `object`")),
        };
        if !was_there {
            return Err(start.error("what is removed was not in the version before"));
        }
        line.end()
    }

    fn class_head(&mut self, line: &mut Line<'t>) -> Result<(String, u64)> {
        let name = line.name("the name of the class")?;
        line.expect(", id ")?;
        Ok((name, line.id()?))
    }

    fn class(&mut self, mut line: Line<'t>) -> Result<()> {
        let start = line.clone();
        let (name, id) = self.class_head(&mut line)?;
        line.expect(", version ")?;
        let version: u32 = line.number("the version of the class")?;
        if version == 0 {
            return Err(start.error("the version of a class is 1 or more"));
        }
        line.expect(", ")?;
        let form = match line.word() {
            "struct" => Form::Struct(Vec::new()),
            "enum" => Form::Enum(Vec::new()),
            "value" => {
                line.expect(" ")?;
                Form::Value(self.mentions.kind(&mut line, KIND_DEPTH)?)
            }
            _ => return Err(start.error("a class is none of `struct`, `enum`, `value`")),
        };
        line.end()?;
        if !self.own.insert(id) {
            return Err(start.error(format!("class id {id:#x} stands there twice")));
        }
        let class = ClassSchema { id: ClassId(id), name, version, form };
        self.classes.insert(id, (class, start));
        self.open = Open::Class(id);
        Ok(())
    }

    /// A line indented by two spaces: a field, a variant, or a class of a trait.
    fn part(&mut self, mut line: Line<'t>) -> Result<()> {
        if let Open::Trait(of) = self.open {
            let class = self.mentions.read(&mut line)?;
            self.own_traits[of].1.push(class);
            return line.end();
        }
        let Open::Class(id) = self.open else {
            return Err(line.error("there is no `class` or `trait` that it belongs to"));
        };
        let is_enum = matches!(self.classes.get(&id), Some((class, _)) if matches!(class.form, Form::Enum(_)));
        let start = line.clone();
        if is_enum {
            line.expect("variant ")?;
            let name = line.name("the name of the variant")?;
            line.end()?;
            if let Some((ClassSchema { form: Form::Enum(variants), .. }, _)) =
                self.classes.get_mut(&id)
            {
                variants.push(VariantSchema { name, fields: Vec::new() });
            }
            return Ok(());
        }
        let field = self.field(line)?;
        match self.classes.get_mut(&id) {
            Some((ClassSchema { form: Form::Struct(fields), .. }, _)) => fields.push(field),
            _ => return Err(start.error("a bare value has no fields")),
        }
        Ok(())
    }

    /// A line indented by four spaces.
    fn variant_field(&mut self, line: Line<'t>) -> Result<()> {
        let start = line.clone();
        let field = self.field(line)?;
        if let Open::Class(id) = self.open
            && let Some((ClassSchema { form: Form::Enum(variants), .. }, _)) =
                self.classes.get_mut(&id)
            && let Some(variant) = variants.last_mut()
        {
            variant.fields.push(field);
            return Ok(());
        }
        Err(start.error("there is no `variant` that it belongs to"))
    }

    fn field(&mut self, mut line: Line<'t>) -> Result<FieldSchema> {
        let name = line.name("the name of the field")?;
        let id = if line.eat(" #") { Some(line.number("the number of the field")?) } else { None };
        line.expect(": ")?;
        let kind = self.mentions.kind(&mut line, KIND_DEPTH)?;
        line.end()?;
        Ok(FieldSchema { name, id, kind })
    }
}

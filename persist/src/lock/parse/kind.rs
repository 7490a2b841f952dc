//! Kinds, and the classes that they mention.

use std::sync::Arc;

use crate::Result;
use crate::format::KIND_DEPTH;
use crate::lock::words::{Line, SCALARS};
use crate::reflect::{Holder, Integer};
use crate::schema::KindSchema;

/// A class as another names it.
#[derive(Clone)]
pub(super) struct Mention<'t> {
    pub(super) name: String,
    pub(super) id: Option<u64>,
    pub(super) line: Line<'t>,
}

/// Every mention of a class; kinds that are being read have indices into it.
#[derive(Default)]
pub(super) struct Mentions<'t>(pub(super) Vec<Mention<'t>>);

impl<'t> Mentions<'t> {
    pub(super) fn read(&mut self, line: &mut Line<'t>) -> Result<usize> {
        let start = line.clone();
        let name = line.name("the name of a class")?;
        self.named(name, line, start)
    }

    fn named(&mut self, name: String, line: &mut Line<'t>, start: Line<'t>) -> Result<usize> {
        let id = if line.eat("#") { Some(line.id()?) } else { None };
        self.0.push(Mention { name, id, line: start });
        Ok(self.0.len() - 1)
    }

    /// Reads a kind whose classes are mentions.
    pub(super) fn kind(&mut self, line: &mut Line<'t>, depth: u32) -> Result<KindSchema> {
        let Some(depth) = depth.checked_sub(1) else {
            return Err(line.error(format!("a kind is nested deeper than {KIND_DEPTH}")));
        };
        if line.eat("()") {
            return Ok(KindSchema::Unit);
        }
        if line.eat("(") {
            let mut parts = Vec::new();
            while !(line.eat(",)") || parts.len() > 1 && line.eat(")")) {
                if !parts.is_empty() {
                    line.expect(", ")?;
                }
                parts.push(self.kind(line, depth)?);
            }
            return Ok(KindSchema::Tuple(parts.into()));
        }
        if line.eat("[") {
            let inner = Arc::new(self.kind(line, depth)?);
            line.expect("; ")?;
            let len = line.number("the length of the array")?;
            line.expect("]")?;
            return Ok(KindSchema::Array(inner, len));
        }
        let start = line.clone();
        if let Some(name) = line.quoted()? {
            return Ok(KindSchema::Class(self.named(name, line, start)?));
        }
        let word = line.word();
        if let Some((_, scalar)) = SCALARS.iter().find(|(name, _)| *name == word) {
            return Ok(scalar.clone());
        }
        let mut inner = |line: &mut Line<'t>| {
            line.expect("<")?;
            let inner = self.kind(line, depth)?;
            line.expect(">").map(|()| Arc::new(inner))
        };
        Ok(match word {
            "" => return Err(start.error("a kind is missing")),
            "compact" => {
                line.expect(" ")?;
                let name = line.word();
                let integer = Integer::ALL.into_iter().find(|integer| integer.name() == name);
                KindSchema::Compact(integer.ok_or_else(|| {
                    start.error(format!("there is no compact `{}`", name.escape_debug()))
                })?)
            }
            "Option" => KindSchema::Option(inner(line)?),
            "Vec" => KindSchema::List(inner(line)?),
            "Set" => KindSchema::Set(inner(line)?),
            "Map" => {
                line.expect("<")?;
                let key = self.kind(line, depth)?;
                line.expect(", ")?;
                let value = self.kind(line, depth)?;
                line.expect(">")?;
                KindSchema::Map(Arc::new([key, value]))
            }
            "Box" => {
                line.expect("<dyn ")?;
                let name = line.name("the name of a trait")?;
                line.expect(">")?;
                KindSchema::Dynamic(name.into())
            }
            "Handle" => {
                line.expect("<")?;
                let name = line.name("the name of an arena")?;
                line.expect(">")?;
                KindSchema::Handle(name.into())
            }
            word => match line.pointer(word)? {
                Some((pointer, weak)) => {
                    line.expect("<")?;
                    let cell = line.cell();
                    if cell.is_some() {
                        line.expect("<")?;
                    }
                    let holder = Holder::new(pointer, cell.unwrap_or(crate::reflect::Cell::None));
                    let kind = if line.eat("dyn ") {
                        let name = line.name("the name of a trait")?;
                        KindSchema::TraitReference { holder, weak, name: name.into() }
                    } else {
                        KindSchema::Reference { holder, weak, class: self.read(line)? }
                    };
                    line.expect(if cell.is_some() { ">>" } else { ">" })?;
                    kind
                }
                None => KindSchema::Class(self.named(word.to_owned(), line, start)?),
            },
        })
    }
}

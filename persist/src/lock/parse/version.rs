//! What a version has: what it says itself, and what stays of the versions before.

use std::collections::{HashMap, HashSet};

use super::kind::Mention;
use super::{Open, Reader};
use crate::Result;
use crate::lock::section::{Section, each_kind, map_classes};
use crate::lock::words::Line;
use crate::reflect::Holder;
use crate::schema::{ClassSchema, FieldSchema, Form, inner_first};

impl Reader<'_> {
    /// Puts together what the version has.
    pub(super) fn end_version(&mut self) -> Result<()> {
        let Some((version, start)) = self.version.take() else { return Ok(()) };
        self.open = Open::Nothing;
        let mut ids: HashMap<&str, Vec<u64>> = HashMap::new();
        for (id, (class, _)) in &self.classes {
            ids.entry(&class.name).or_default().push(*id);
        }
        let find = |mention: usize| {
            let Mention { name, id, line } = &self.mentions.0[mention];
            let known = ids.get(&**name).map_or(&[][..], |ids| ids);
            match (known, id) {
                (known, Some(id)) if known.contains(id) => Ok(*id),
                ([one], None) => Ok(*one),
                ([], _) | (_, Some(_)) => {
                    Err(line.error(format!("version {version} has no such class {name}")))
                }
                (_, None) => Err(line.error(format!(
                    "version {version} has several classes {name}; the id must follow, as in `{name}#0x7`"
                ))),
            }
        };
        for (name, classes, line) in self.own_traits.drain(..) {
            let classes: Vec<u64> = classes.into_iter().map(find).collect::<Result<_>>()?;
            if classes.iter().collect::<HashSet<_>>().len() < classes.len() {
                return Err(line.error("a class of the trait stands there twice"));
            }
            self.traits.insert(name, classes);
        }
        let mut own = HashSet::new();
        for (class, holder, line) in self.own_objects.drain(..) {
            let object = (find(class)?, holder.code());
            if !own.insert(object) {
                return Err(line.error("the object stands there twice"));
            }
            self.objects.insert(object);
        }
        let place: HashMap<u64, usize> =
            self.classes.keys().enumerate().map(|(place, id)| (*id, place)).collect();
        let known = |id: &u64| {
            place.get(id).copied().ok_or_else(|| {
                start.error(format!(
                    "version {version} has removed class id {id:#x}, but not the traits and objects of it"
                ))
            })
        };
        let mut classes = Vec::new();
        for (class, line) in self.classes.values() {
            check_names(class, line)?;
            let mut class = class.clone();
            let mut missing = None;
            each_kind(&mut class.form, &mut |kind| {
                let cell = std::cell::RefCell::new(&mut missing);
                map_classes(kind, &|mention| match find(mention) {
                    Ok(id) => place.get(&id).copied().unwrap_or(0),
                    Err(error) => {
                        cell.borrow_mut().get_or_insert(error);
                        0
                    }
                });
            });
            match missing {
                Some(error) => return Err(error),
                None => classes.push(class),
            }
        }
        let traits = self.traits.iter().map(|(name, classes)| {
            let classes: Result<Vec<usize>> = classes.iter().map(known).collect();
            Ok((name.clone(), classes?))
        });
        let objects = self.objects.iter().map(|(class, holder)| {
            Ok((known(class)?, Holder::from_code(*holder).unwrap_or(Holder::VALUE)))
        });
        let (traits, objects) = (traits.collect::<Result<_>>()?, objects.collect::<Result<_>>()?);
        if let Err(class) = inner_first(&classes) {
            let name = &classes[class].name;
            return Err(start.error(format!("class {name} holds itself by value, without an end")));
        }
        self.own.clear();
        self.sections.push(Section { version, classes, traits, objects }.in_order());
        Ok(())
    }
}

/// Checks that fields and variants have names of their own.
fn check_names(class: &ClassSchema, line: &Line<'_>) -> Result<()> {
    let twice = |names: Vec<&String>| {
        let mut seen = HashSet::new();
        names.into_iter().find(|name| !seen.insert(*name)).cloned()
    };
    let in_fields =
        |fields: &[FieldSchema]| twice(fields.iter().map(|field| &field.name).collect());
    let found = match &class.form {
        Form::Struct(fields) => in_fields(fields),
        Form::Enum(variants) if variants.is_empty() || variants.len() > 1 << 16 => {
            let count = variants.len();
            return Err(line.error(format!("an enum has {count} variants, not 1 to 65536")));
        }
        Form::Enum(variants) => twice(variants.iter().map(|variant| &variant.name).collect())
            .or_else(|| variants.iter().find_map(|variant| in_fields(&variant.fields))),
        Form::Value(_) => None,
    };
    match found {
        Some(name) => Err(line.error(format!("{name} stands twice in class {}", class.name))),
        None => Ok(()),
    }
}

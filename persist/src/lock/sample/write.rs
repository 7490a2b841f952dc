use super::ends::Ends;
use super::scalars;
use super::variations::{Choices, EQUAL, Site};
use crate::codec::count;
use crate::format::ClassNumbers;
use crate::lock::section::{Section, address};
use crate::reflect::{Cell, Holder};
use crate::schema::{FieldSchema, Form, KindSchema, Texts, VariantSchema};
use crate::{Error, ErrorKind, Result};

/// The basic objects of a type.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Basic {
    /// With as little in it as can be.
    Small,
    /// With something everywhere.
    First,
    Second,
}

impl Basic {
    pub(super) const ALL: [Self; 3] = [Self::Small, Self::First, Self::Second];
}

/// The id of a basic object of an object type.
pub(super) fn basic_id(object: usize, basic: Basic) -> u64 {
    (Basic::ALL.len() * object + basic as usize + 1) as u64
}

/// True if references in the holder's cell are connected when all objects are there, so that
/// it may be part of a cycle.
fn is_open(holder: Holder) -> bool {
    let cell = holder.parts().map(|(_, cell)| cell);
    matches!(cell, Some(Cell::RefCell | Cell::Cell | Cell::Mutex | Cell::RwLock))
}

/// How much there is in a value.
#[derive(Clone, Copy, PartialEq)]
enum Size {
    /// Something everywhere.
    Full,
    /// Little, but for what is chosen.
    Small,
    /// As little as can be: the value is inside another one of its class.
    Least,
}

/// Bytes and parts of an object from which on it is as small as can be: classes that hold one another
/// several times, through many levels, make it large.
const FULL_BYTES: usize = 64 << 10;
const FULL_PARTS: u64 = 1 << 16;

/// Bytes of one object.
const MOST_BYTES: usize = 64 << 20;

/// Levels of nesting.
const MOST_LEVELS: u32 = 400;

/// The most parts of one object; many may have no bytes.
const MOST_PARTS: u64 = 1 << 22;

/// A value that is being made.
pub(super) struct Value<'v> {
    section: &'v Section,
    ends: &'v Ends,
    texts: &'v Texts,
    numbers: &'v mut ClassNumbers,
    choices: &'v Choices,
    basic: Basic,
    out: Vec<u8>,
    /// True if the object's holder may be part of a cycle.
    in_cell: bool,
    /// The classes around.
    open: Vec<bool>,
    /// Which of several elements it is in.
    nth: u8,
    levels: u32,
    parts: u64,
}

impl<'v> Value<'v> {
    pub(super) fn new(
        (section, ends, texts): (&'v Section, &'v Ends, &'v Texts),
        numbers: &'v mut ClassNumbers,
        choices: &'v Choices,
        basic: Basic,
    ) -> Self {
        Self {
            section,
            ends,
            texts,
            numbers,
            choices,
            basic,
            out: Vec::new(),
            in_cell: false,
            open: vec![false; section.classes.len()],
            nth: 0,
            levels: 0,
            parts: 0,
        }
    }

    /// The payload of an object of this type.
    pub(super) fn object(mut self, object: usize) -> Result<Vec<u8>> {
        let (class, holder) = self.section.objects[object];
        self.in_cell = is_open(holder);
        let size = if self.basic == Basic::Small { Size::Small } else { Size::Full };
        self.class(class, size)
            .map_err(|error| error.in_class(&*self.section.classes[class].name))?;
        Ok(self.out)
    }

    fn class(&mut self, class: usize, size: Size) -> Result<()> {
        // Ids and names of objects must fit each other: a world is empty, and what it may hold is
        // in objects of its own.
        let is_least = self.open[class] || self.section.is_world(class);
        let size = if is_least { Size::Least } else { size };
        let before = std::mem::replace(&mut self.open[class], true);
        let section = self.section;
        match &section.classes[class].form {
            Form::Struct(fields) => self.fields(fields, size)?,
            Form::Value(kind) => self.kind(kind, size)?,
            form @ Form::Enum(variants) => {
                let variant = self.variant(class, variants, size);
                let tag = u16::try_from(variant).unwrap_or_default().to_le_bytes();
                self.out.extend_from_slice(&tag[..form.tag_width()]);
                let fields = variants.get(variant).map_or(&[][..], |variant| &variant.fields);
                self.fields(fields, size)?;
            }
        }
        self.open[class] = before;
        Ok(())
    }

    #[inline(never)]
    fn variant(&self, class: usize, variants: &[VariantSchema], size: Size) -> usize {
        let is_there = |variant: &usize| {
            let fields = variants.get(*variant).map_or(&[][..], |v| &v.fields);
            fields.iter().all(|field| self.is_there(&field.kind))
        };
        let chosen = self.choice(Site::Class(class), size).filter(is_there);
        chosen.unwrap_or_else(|| match size {
            Size::Full => (0..variants.len()).find(is_there).unwrap_or(0),
            _ => self.ends.variants[class],
        })
    }

    fn fields(&mut self, fields: &[FieldSchema], size: Size) -> Result<()> {
        for field in fields {
            if let Err(error) = self.kind(&field.kind, size) {
                return Err(error.in_field(&field.name));
            }
        }
        Ok(())
    }

    fn choice(&self, site: Site, size: Size) -> Option<usize> {
        if size == Size::Least { None } else { self.choices.get(&site).copied() }
    }

    fn is_there(&self, kind: &KindSchema) -> bool {
        self.ends.kind(self.section, kind).is_some()
    }

    fn kind(&mut self, kind: &KindSchema, size: Size) -> Result<()> {
        if self.levels >= MOST_LEVELS {
            return Err(too_deep());
        }
        self.parts += 1;
        let is_large =
            size == Size::Full && (self.out.len() > FULL_BYTES || self.parts > FULL_PARTS);
        self.levels += 1;
        self.part(kind, if is_large { Size::Small } else { size })?;
        self.levels -= 1;
        self.check_size(0)
    }

    fn check_size(&self, more: usize) -> Result<()> {
        if self.out.len().saturating_add(more) <= MOST_BYTES && self.parts <= MOST_PARTS {
            return Ok(());
        }
        Err(too_large())
    }

    fn part(&mut self, kind: &KindSchema, size: Size) -> Result<()> {
        let chosen = self.choice(Site::of(kind), size);
        let usual = usize::from(size == Size::Full);
        match kind {
            KindSchema::Option(inner) => {
                let some = chosen.unwrap_or(usual) > 0 && self.is_there(inner);
                self.out.push(u8::from(some));
                if some { self.kind(inner, size) } else { Ok(()) }
            }
            KindSchema::List(inner) if chosen == Some(EQUAL) => {
                self.out.push(2);
                (0..2).try_for_each(|_| self.kind(inner, size))
            }
            KindSchema::List(inner) => {
                let count = if self.is_there(inner) { chosen.unwrap_or(usual) } else { 0 };
                self.elements(count, false, size, &[&**inner])
            }
            KindSchema::Set(inner) => {
                let count = if self.is_there(inner) { chosen.unwrap_or(usual) } else { 0 };
                self.elements(count, true, size, &[&**inner])
            }
            KindSchema::Map(parts) => {
                let is_there = self.is_there(&parts[0]) && self.is_there(&parts[1]);
                let count = if is_there { chosen.unwrap_or(usual) } else { 0 };
                self.elements(count, true, size, &[&parts[0], &parts[1]])
            }
            KindSchema::Array(inner, len) => self.array(inner, *len, size),
            KindSchema::Tuple(parts) => parts.iter().try_for_each(|part| self.kind(part, size)),
            KindSchema::Class(class) => self.class(*class, size),
            KindSchema::Dynamic(name) => match self.implementor(name, chosen, size) {
                Some(class) => {
                    let number = self.numbers.number(class, &self.section.classes);
                    count::push(number, &mut self.out);
                    self.class(class, size)
                }
                None => Ok(()),
            },
            leaf => {
                self.leaf(leaf, chosen, size);
                Ok(())
            }
        }
    }

    /// The class of a trait object.
    #[inline(never)]
    fn implementor(&self, name: &str, chosen: Option<usize>, size: Size) -> Option<usize> {
        let classes = self.section.classes_of(name);
        let depth = |class: &&usize| self.ends.classes[**class];
        let mut there = classes.iter().filter(|class| depth(class).is_some());
        let chosen = chosen.and_then(|chosen| classes.get(chosen));
        let class = chosen.filter(|class| depth(class).is_some()).or_else(|| match size {
            Size::Full => there.next(),
            _ => there.min_by_key(depth),
        });
        class.copied()
    }

    /// A value that no others lie in. Apart from [`part`](Self::part), which is called for each level.
    #[inline(never)]
    fn leaf(&mut self, kind: &KindSchema, chosen: Option<usize>, size: Size) {
        let usual = usize::from(size == Size::Full);
        match kind {
            KindSchema::Reference { holder, weak, class } => {
                let objects = &self.section.objects;
                let object = objects.binary_search(&(*class, *holder)).ok();
                let wanted = !*weak || chosen.unwrap_or(usual) > 0;
                self.reference(object.filter(|_| wanted));
            }
            KindSchema::TraitReference { holder, weak, name } => {
                let mut objects = self.section.objects_of(name, *holder);
                let depth = |object: &usize| self.ends.objects[*object];
                let object = match chosen {
                    Some(0) if *weak => None,
                    None if *weak && size != Size::Full => None,
                    Some(chosen) if chosen > 0 => objects.nth(chosen - 1),
                    _ => objects.filter(|object| depth(object).is_some()).min_by_key(depth),
                };
                self.reference(object);
            }
            KindSchema::Handle(_) => {
                let (_, bytes) = scalars::handle(chosen.unwrap_or(0));
                self.out.extend_from_slice(&bytes);
            }
            KindSchema::Unknown => {
                self.out.push(0);
            }
            KindSchema::Text if self.texts.contains_key(&address(kind)) => {
                let names = &self.texts[&address(kind)];
                let choice = chosen.and_then(|chosen| chosen.checked_sub(1));
                let name = names[choice.unwrap_or(usize::from(self.nth)) % names.len()];
                self.out.extend_from_slice(&scalars::text(name));
            }
            scalar => {
                let boundary = chosen.and_then(|chosen| {
                    scalars::boundaries(scalar).into_iter().nth(chosen.checked_sub(1)?)
                });
                let bytes =
                    boundary.map_or_else(|| scalars::plain(scalar, self.nth), |(_, bytes)| bytes);
                self.out.extend_from_slice(&bytes);
            }
        }
    }

    /// A list, a set or a map with that many elements, or fewer if its keys must differ and do not.
    fn elements(
        &mut self,
        count: usize,
        differ: bool,
        size: Size,
        parts: &[&KindSchema],
    ) -> Result<()> {
        // Small ones would be equal.
        let size = if count > 1 && size == Size::Small { Size::Full } else { size };
        let before = self.nth;
        let head = self.out.len();
        self.out.push(0);
        let mut keys: Vec<Vec<u8>> = Vec::new();
        for nth in 0..count.min(usize::from(u8::MAX)) {
            self.nth = before.wrapping_add(u8::try_from(nth).unwrap_or_default());
            let start = self.out.len();
            self.kind(parts[0], size)?;
            let key = self.out[start..].to_vec();
            if differ && keys.contains(&key) {
                self.out.truncate(start);
                continue;
            }
            keys.push(key);
            parts[1..].iter().try_for_each(|part| self.kind(part, size))?;
        }
        // A few elements: the count is one byte.
        self.out[head] = u8::try_from(keys.len()).unwrap_or_default();
        self.nth = before;
        Ok(())
    }

    /// Elements that are all as the first.
    fn array(&mut self, inner: &KindSchema, len: usize, size: Size) -> Result<()> {
        if len == 0 {
            return Ok(());
        }
        let start = self.out.len();
        self.kind(inner, size)?;
        let element = self.out[start..].to_vec();
        self.check_size(element.len().saturating_mul(len - 1))?;
        if !element.is_empty() {
            for _ in 1..len {
                self.out.extend_from_slice(&element);
            }
        }
        Ok(())
    }

    /// A reference to a basic object of a type, or none.
    fn reference(&mut self, object: Option<usize>) {
        let object = object.filter(|object| self.ends.objects[*object].is_some());
        let id = object.map_or(0, |object| {
            let is_circle_allowed = self.in_cell || is_open(self.section.objects[object].1);
            let target = match self.basic {
                Basic::First if is_circle_allowed => Basic::Second,
                Basic::Second if is_circle_allowed => Basic::First,
                // Those that are small refer to still smaller ones.
                _ => Basic::Small,
            };
            basic_id(object, target)
        });
        count::push(id, &mut self.out);
    }
}

#[cold]
fn too_deep() -> Error {
    Error::new(
        ErrorKind::TooDeep,
        format!("a sample would be nested more than {MOST_LEVELS} levels deep"),
    )
}

#[cold]
fn too_large() -> Error {
    Error::new(
        ErrorKind::TooLarge,
        format!("a sample of the class would have over {MOST_BYTES} bytes, or {MOST_PARTS} parts"),
    )
}

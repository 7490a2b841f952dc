//! The classes of a save, laid out as nodes with the facts that loads ask for: sizes, widths, depth.
//!
//! They are computed once for each kind and not for each value, since a hostile save may have long kinds and many
//! values.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::ops::{Deref, Range};
use std::sync::{Arc, OnceLock};

use super::order::inner_first;
use super::{ClassSchema, FieldSchema, Form, KindSchema, VariantSchema, fault, not_as_written};
use crate::codec::pages::{ENTRY_CLASS, PAGE_CLASS};
use crate::codec::{Decoder, NoLinks};
use crate::env::Env;
use crate::reflect::{ClassId, Holder, Integer};
use crate::{Error, ErrorKind, ObjectId, Result};

/// Variants with their fields.
type NamedFields = Box<[(usize, usize)]>;

/// The classes of a save, and a node for every kind in them.
pub struct Stored {
    classes: Vec<ClassSchema>,
    /// First one for each class as a kind, then those of the kinds in it; parts that follow one another do so here.
    pub(super) nodes: Vec<Node>,
    /// For each class the first node of its fields, of the fields of each variant, or of its value.
    blocks: Vec<Vec<usize>>,
    /// The classes and holders whose records become the program's objects.
    made: OnceLock<HashSet<(usize, Holder)>>,
    pages: OnceLock<KnownPages>,
    /// For each class its variants in the order of their names.
    variants: OnceLock<Vec<Box<[usize]>>>,
    /// For each class its variants with their fields, in the order of the names of the fields; of those of one name and
    /// kind the first.
    fields: OnceLock<Vec<NamedFields>>,
}

/// A class whose values may have pages, with its field of objects and its index of pages.
#[derive(Clone, Copy)]
pub(crate) struct PagedClass {
    pub class: usize,
    pub objects: usize,
    pub index: usize,
}

/// The classes by which a reader knows pages; but for one, none of them if the save defines no pages.
#[derive(Default)]
struct KnownPages {
    page: Option<usize>,
    /// The class of the entries of an index.
    entry: Option<usize>,
    /// The class of the objects of worlds, also in a save without pages.
    object: Option<usize>,
    /// The classes whose values may have pages.
    paged: Vec<PagedClass>,
    /// The numbers of all classes by their ids.
    ids: HashMap<ClassId, u64>,
}

/// A pointer in a save: its holder, whether it is weak, and the class that it leads to; `None` if that is any of a
/// trait.
pub(crate) type StoredPointer = (Holder, bool, Option<usize>);

/// A kind, and what is known of all its values.
pub struct Node {
    pub kind: KindSchema,
    /// The node of its first part.
    first: u32,
    pub(super) size: Size,
}

/// The bytes of the values of a kind, and what is in them.
#[derive(Clone, Copy)]
pub(super) struct Size {
    /// The fewest, as the layout's `min`; 0 if there are none at all.
    pub min: u32,
    /// How many every value has, if all have as many; else [`VARIES`](Self::VARIES), as if they are very many.
    span: u32,
    /// The levels that every value opens, if it is not looked into.
    pub levels: u16,
    /// True if any bytes are a value: of numbers, and of arrays and tuples of them.
    is_any: bool,
    /// True if there are elements without bytes in every value.
    pub has_empty: bool,
}

impl Size {
    const VARIES: u32 = u32::MAX;
    const NONE: Self = Self::number(0);

    const fn number(width: u32) -> Self {
        Self { min: width, span: width, levels: 0, is_any: true, has_empty: false }
    }

    /// The size of a value of fixed width whose bytes are not all valid, such as a `bool`.
    const fn fixed(span: u32) -> Self {
        Self { is_any: false, ..Self::number(span) }
    }

    const fn at_least(min: u32) -> Self {
        Self { span: Self::VARIES, ..Self::fixed(min) }
    }

    // A size that varies is the largest number, and saturates.
    fn and(self, next: Self) -> Self {
        Self {
            min: self.min.saturating_add(next.min),
            span: self.span.saturating_add(next.span),
            levels: self.levels.max(next.levels),
            is_any: self.is_any && next.is_any,
            has_empty: self.has_empty || next.has_empty,
        }
    }

    fn times(self, len: usize) -> Self {
        if len == 0 {
            return Self::NONE;
        }
        let times = |bytes: u32| bytes.saturating_mul(u32::try_from(len).unwrap_or(u32::MAX));
        // No byte of a save bounds elements without bytes, so readers charge them by number.
        let has_empty = self.has_empty || self.min == 0;
        Self { min: times(self.min), span: times(self.span), has_empty, ..self }
    }

    /// The size of a value that holds parts of this size.
    fn opened(self) -> Self {
        Self { levels: self.levels.saturating_add(1), ..self }
    }

    fn span(self) -> Option<usize> {
        (self.span != Self::VARIES).then_some(self.span as usize)
    }

    /// The bytes of every value, if all have as many, and any bytes are one.
    #[inline(always)]
    pub(super) fn width(self) -> Option<usize> {
        if self.is_any { self.span() } else { None }
    }
}

impl Node {
    /// The node of its first part.
    #[inline]
    pub fn first(&self) -> usize {
        self.first as usize
    }
}

impl Stored {
    /// Lays out classes which end, as [`inner_first`] finds.
    pub fn new(classes: Vec<ClassSchema>) -> Self {
        // The nodes of the classes come first, so that the number of a class is the node of its kind.
        let root = |class| Node { kind: KindSchema::Class(class), first: 0, size: Size::NONE };
        let mut nodes: Vec<Node> = (0..classes.len()).map(root).collect();
        let mut blocks = Vec::with_capacity(classes.len());
        let mut ends = Vec::with_capacity(classes.len());
        for class in &classes {
            let mut fields = |fields: &[FieldSchema]| {
                lay(&mut nodes, fields.len(), fields.iter().map(|field| &field.kind))
            };
            blocks.push(match &class.form {
                Form::Struct(list) => vec![fields(list)],
                Form::Enum(variants) => variants.iter().map(|it| fields(&it.fields)).collect(),
                Form::Value(kind) => vec![lay(&mut nodes, 1, [kind])],
            });
            ends.push(nodes.len());
        }
        let mut this = Self {
            classes,
            nodes,
            blocks,
            made: OnceLock::new(),
            pages: OnceLock::new(),
            variants: OnceLock::new(),
            fields: OnceLock::new(),
        };
        // A class comes after those that every value of it holds.
        for class in inner_first(&this.classes).unwrap_or_default() {
            let start = class.checked_sub(1).map_or(this.classes.len(), |previous| ends[previous]);
            this.measure(start..ends[class]);
            this.nodes[class].size = this.size_of_class(class);
        }
        // The sizes of classes behind options and lists are known by now.
        this.measure(this.classes.len()..this.nodes.len());
        this
    }

    /// Works out the sizes of kinds, each after those of its parts.
    fn measure(&mut self, nodes: Range<usize>) {
        for at in nodes.rev() {
            let node = &self.nodes[at];
            let part = |i: usize| self.nodes[node.first() + i].size;
            self.nodes[at].size = match &node.kind {
                KindSchema::Bool => Size::fixed(1),
                KindSchema::Char => Size::fixed(4),
                KindSchema::Handle(_) => Size::fixed(9),
                KindSchema::Array(_, len) => part(0).times(*len).opened(),
                KindSchema::Tuple(parts) => {
                    (0..parts.len()).map(part).fold(Size::NONE, Size::and).opened()
                }
                KindSchema::Class(class) => self.nodes[*class].size,
                KindSchema::Text
                | KindSchema::Compact(_)
                | KindSchema::Option(_)
                | KindSchema::List(_)
                | KindSchema::Set(_)
                | KindSchema::Map(_)
                | KindSchema::Reference { .. }
                | KindSchema::TraitReference { .. }
                | KindSchema::Dynamic(_)
                // Of classes that no program has, whose values stay as they are.
                | KindSchema::Unknown => Size::at_least(1),
                scalar => Size::number(u32::try_from(scalar.width()).unwrap_or(0)),
            };
        }
    }

    fn size_of_class(&self, class: usize) -> Size {
        let form = &self.classes[class].form;
        let tag = if form.tag_width() == 2 { 2 } else { 1 };
        let size = match form {
            Form::Struct(fields) => {
                let nodes = &self.nodes[self.first(class, 0)..][..fields.len()];
                nodes.iter().fold(Size::NONE, |sum, node| sum.and(node.size)).opened()
            }
            Form::Enum(variants) if variants.iter().all(|variant| variant.fields.is_empty()) => {
                Size::fixed(tag)
            }
            Form::Enum(_) => Size::at_least(tag),
            Form::Value(_) => self.nodes[self.first(class, 0)].size,
        };
        // It is walked through, so that an error says where it is.
        Size { is_any: size.is_any && size.min == 0, ..size }
    }

    /// True if there are references in the classes.
    pub fn refers(&self) -> bool {
        self.any_kind(|kind| {
            matches!(kind, KindSchema::Reference { .. } | KindSchema::TraitReference { .. })
        })
    }

    /// Checks that a reference leads to an object of its class and holder; `found` are those of the object, if there is
    /// one.
    ///
    /// # Errors
    ///
    /// Returns an error if the save has no such object, or one of another class or holder.
    pub fn check_reference(
        &self,
        (holder, weak, class): StoredPointer,
        id: Option<ObjectId>,
        found: Option<(Holder, usize)>,
    ) -> Result<()> {
        let (found, id) = match (found, id) {
            (Some(found), Some(id)) => (found, id),
            _ if weak => return Ok(()),
            (_, Some(id)) => {
                bail!(
                    ErrorKind::MissingObject,
                    "the save has no object {id}; name one that it has"
                );
            }
            (_, None) => {
                bail!(ErrorKind::MissingObject, "a strong pointer leads to no object; name one");
            }
        };
        // References that claim another type than their target are where loaders of this kind have had their security
        // holes.
        if found.0 == holder && class.is_none_or(|class| class == found.1) {
            return Ok(());
        }
        let found = found.0.class_type_name(false, &self[found.1].name);
        let expected = match class {
            Some(class) => KindSchema::Reference { holder, weak, class }.display(self),
            None => format!("a pointer to a trait object in {}", holder.type_name(weak, "_")),
        };
        Err(error!(
            ErrorKind::WrongClass,
            "object {id} is in {found}, {expected} does not lead there"
        ))
    }

    /// True if these bytes are a value of the class, and any others as long would be one.
    pub(crate) fn takes_any_bytes(&self, class: usize, bytes: &[u8]) -> bool {
        let fields = match &self.classes()[class].form {
            Form::Struct(fields) => fields.len(),
            Form::Value(_) => 1,
            Form::Enum(_) => return false,
        };
        let nodes = &self.nodes[self.first(class, 0)..][..fields];
        nodes.iter().fold(Size::NONE, |sum, node| sum.and(node.size)).width() == Some(bytes.len())
    }

    /// True if a value of any class may stand in the classes: what a program does not know may be inside of what it
    /// does.
    pub(crate) fn holds_any_class(&self) -> bool {
        self.any_kind(|kind| matches!(kind, KindSchema::Dynamic(_) | KindSchema::Unknown))
    }

    /// True if some kind in the classes is such a one.
    pub(super) fn any_kind(&self, is_it: impl Fn(&KindSchema) -> bool) -> bool {
        self.nodes.iter().any(|node| is_it(&node.kind))
    }

    /// Notes which objects of those that kinds refer to the load makes.
    pub(crate) fn note_created(&self, is_created: impl Fn(usize, Holder) -> bool) {
        let mut found = HashSet::new();
        for node in &self.nodes {
            if let KindSchema::Reference { holder, class, .. } = node.kind {
                found.insert((class, holder));
            }
        }
        found.retain(|(class, holder)| is_created(*class, *holder));
        // It is noted once.
        let _ = self.made.set(found);
    }

    /// True if objects of a class in a holder are the program's, and not kept as they are stored.
    pub(crate) fn is_created(&self, class: usize, holder: Holder) -> bool {
        self.made.get().is_some_and(|made| made.contains(&(class, holder)))
    }

    /// Returns the classes of pages.
    fn pages(&self) -> &KnownPages {
        self.pages.get_or_init(|| {
            let find = |name: &str| {
                let id = ClassId::from_name(name);
                self.classes.iter().position(|class| class.id == id)
            };
            let fields = |class: usize| match &self.classes[class].form {
                Form::Struct(fields) => &fields[..],
                _ => &[],
            };
            let is_list = |kind: &KindSchema| matches!(kind, KindSchema::List(_));
            let page = find(PAGE_CLASS).filter(|page| match fields(*page) {
                [ids, objects] => {
                    ids.kind == KindSchema::List(Arc::new(KindSchema::U64))
                        && is_list(&objects.kind)
                }
                _ => false,
            });
            let [number, short] = [Integer::U64, Integer::U32].map(KindSchema::Compact);
            let kinds = [&number, &short, &number, &KindSchema::U32];
            let entry = find(ENTRY_CLASS)
                .filter(|entry| fields(*entry).iter().map(|field| &field.kind).eq(kinds));
            let Some(entry) = entry else { return KnownPages::default() };
            let is_index = |field: &FieldSchema| {
                matches!(&field.kind, KindSchema::List(kind) if **kind == KindSchema::Class(entry))
            };
            let paged = |class: usize| {
                let index = fields(class).iter().position(is_index)?;
                let objects = index.checked_sub(1)?;
                is_list(&fields(class)[objects].kind).then_some(PagedClass { class, objects, index })
            };
            let mut paged: Vec<_> = (0..self.classes.len()).filter_map(paged).collect();
            let list = |of: &PagedClass| &fields(of.class)[of.objects].kind;
            let object = paged.first().and_then(|of| match list(of).parts().first()? {
                KindSchema::Class(class) => Some(*class),
                _ => None,
            });
            let Some(page) = page else {
                return KnownPages { object, ..KnownPages::default() };
            };
            paged.retain(|of| list(of) == &fields(page)[1].kind);
            let ids = self.classes.iter().map(|class| class.id).zip(1..).collect();
            KnownPages { page: Some(page), entry: Some(entry), object, paged, ids }
        })
    }

    /// Returns the class of pages, if the save defines it.
    pub fn page_class(&self) -> Option<usize> {
        self.pages().page
    }

    /// Returns the classes whose values may have pages.
    pub(super) fn paged(&self) -> &[PagedClass] {
        &self.pages().paged
    }

    /// Returns true if a list of these values has the objects of a world.
    pub(super) fn is_object(&self, part: &KindSchema) -> bool {
        matches!(part, KindSchema::Class(class) if self.pages().object == Some(*class))
    }

    /// Returns true if a list of this kind is an index of pages.
    pub(super) fn is_index_of(&self, entry: &KindSchema) -> bool {
        matches!(entry, KindSchema::Class(class) if self.pages().entry == Some(*class))
    }

    /// Checks that a page is of the class of pages, and stands before the record with its id.
    ///
    /// # Errors
    ///
    /// Returns an error if it is not.
    pub fn check_page(&self, class: usize, id: u64, is_before: bool) -> Result<()> {
        if self.page_class() == Some(class) && is_before {
            return Ok(());
        }
        let error = page_fault(id, "is of another class, or stands after that object");
        Err(error.in_class(&*self.classes[class].name))
    }

    /// Returns the numbers in the save of the classes of a page; `None` for the payload of another class.
    ///
    /// # Errors
    ///
    /// Returns an error if the page has a class that the save does not define, or one twice.
    pub fn page_numbers(&self, class: usize, payload: &[u8]) -> Result<Option<Vec<u64>>> {
        let KnownPages { page, ids: by_id, .. } = self.pages();
        if *page != Some(class) {
            return Ok(None);
        }
        let mut links = NoLinks::default();
        let mut input = Decoder::new(payload, &Env::DEFAULT, &mut links);
        let ids = input.value::<Vec<u64>>().map_err(fault)?;
        let mut numbers = Vec::with_capacity(ids.len());
        let mut seen = HashSet::new();
        for id in ids {
            match by_id.get(&ClassId(id)).filter(|number| seen.insert(**number)) {
                Some(number) => numbers.push(*number),
                None => {
                    let id = ClassId(id);
                    let what = format!(
                        "the page lists class {id}, which the save does not define, or twice"
                    );
                    return Err(not_as_written(&Error::new(ErrorKind::InvalidValue, what)));
                }
            }
        }
        Ok(Some(numbers))
    }

    /// Returns the classes of the save.
    pub fn classes(&self) -> &[ClassSchema] {
        &self.classes
    }

    /// The variant of this name of an enum.
    pub(crate) fn variant(&self, class: usize, name: &str) -> Option<usize> {
        let Form::Enum(variants) = &self.classes[class].form else { return None };
        // Asked for each record that is migrated and each value that is written. With a scan, a save with many variants
        // and as many records took quadratic time.
        let in_order = self.variants.get_or_init(|| {
            let of_class = |class: &ClassSchema| {
                let Form::Enum(variants) = &class.form else { return Box::default() };
                let mut order: Box<[usize]> = (0..variants.len()).collect();
                order.sort_unstable_by_key(|variant| &*variants[*variant].name);
                order
            };
            self.classes.iter().map(of_class).collect()
        });
        let of = &in_order[class];
        let found = of.binary_search_by_key(&name, |variant| &*variants[*variant].name);
        found.ok().map(|place| of[place])
    }

    /// The nodes of the fields of a name, in a struct or in the variants of an enum: one for each kind that they have;
    /// none if there are over [`KINDS`].
    pub fn nodes_named(&self, class: usize, name: &str) -> impl Iterator<Item = usize> {
        let in_order = self.fields.get_or_init(|| {
            let of_class = |class: usize| {
                let variants = self.blocks[class].len();
                let fields = |variant| 0..self.fields(class, variant).len();
                let mut all: Vec<(usize, usize)> = (0..variants)
                    .flat_map(|variant| fields(variant).map(move |field| (variant, field)))
                    .collect();
                let of = |(variant, field): &(usize, usize)| &self.fields(class, *variant)[*field];
                // The first variant of a name counts; the sort keeps it before the others.
                all.sort_by(|a, b| of(a).name.cmp(&of(b).name).then(a.cmp(b)));
                let mut named = Vec::new();
                for all in all.chunk_by(|a, b| of(a).name == of(b).name) {
                    let mut kinds: Vec<&(usize, usize)> = Vec::new();
                    let firsts = all.chunk_by(|a, b| a.0 == b.0).map(|fields| &fields[0]);
                    for first in firsts {
                        if !kinds.iter().any(|known| of(known).kind == of(first).kind) {
                            kinds.push(first);
                        }
                        if kinds.len() > KINDS {
                            kinds.clear();
                            break;
                        }
                    }
                    named.extend(kinds.into_iter().copied());
                }
                named.into()
            };
            (0..self.classes.len()).map(of_class).collect()
        });
        let (all, of) = (&in_order[class], move |(variant, field): &(usize, usize)| {
            &*self.fields(class, *variant)[*field].name
        });
        let start = all.partition_point(|field| of(field) < name);
        let end = start + all[start..].partition_point(|field| of(field) == name);
        all[start..end].iter().map(move |(variant, field)| self.first(class, *variant) + field)
    }

    /// The node of a class as a kind.
    pub fn root(&self, class: usize) -> usize {
        class
    }

    /// Returns a node by its number.
    pub fn node(&self, node: usize) -> &Node {
        &self.nodes[node]
    }

    /// The size of an entry of a map, whose key is this node.
    pub(super) fn entry(&self, key: usize) -> Size {
        self.nodes[key].size.and(self.nodes[key + 1].size)
    }

    /// The fields of a struct (`variant` is 0) or of a variant; of others none.
    pub fn fields(&self, class: usize, variant: usize) -> &[FieldSchema] {
        match &self.classes[class].form {
            Form::Struct(fields) => fields,
            Form::Enum(variants) => variants.get(variant).map_or(&[], |variant| &variant.fields),
            Form::Value(_) => &[],
        }
    }

    /// The first node of a struct's fields or of a bare value (`variant` is 0), or
    /// of a variant's fields.
    pub fn first(&self, class: usize, variant: usize) -> usize {
        self.blocks[class][variant]
    }
}

impl Deref for Stored {
    type Target = [ClassSchema];

    fn deref(&self) -> &[ClassSchema] {
        &self.classes
    }
}

/// Lays out kinds one after the other, then what is in them; returns the first node.
fn lay<'k>(
    nodes: &mut Vec<Node>,
    len: usize,
    kinds: impl IntoIterator<Item = &'k KindSchema>,
) -> usize {
    let start = nodes.len();
    // Neighbours are laid out before their parts. So the fields of a class are a range, and a walk passes from one to
    // the next without a list.
    nodes.resize_with(start + len, || Node { kind: KindSchema::Unit, first: 0, size: Size::NONE });
    for (at, kind) in (start..).zip(kinds) {
        let first = match kind {
            KindSchema::Unknown => lay(nodes, 1, [&KindSchema::Dynamic("".into())]),
            kind => lay(nodes, kind.parts().len(), kind.parts()),
        };
        // A definition has fewer bytes.
        let first = u32::try_from(first).unwrap_or(u32::MAX);
        nodes[at] = Node { kind: kind.clone(), first, size: Size::NONE };
    }
    start
}

/// The most kinds that fields of one name may have in the variants of an enum, for a value that could be of each.
const KINDS: usize = 16;

/// The longest count, and text, whose length is one byte.
const SHORT: u8 = 247;

/// The bytes of a text that these begin with, if it is short.
#[inline(always)]
fn text_length(bytes: &[u8]) -> Option<usize> {
    bytes.first().filter(|first| **first <= SHORT).map(|first| 1 + usize::from(*first))
}

/// How deep values are passed over without a stack, and the most fields of a struct: a hostile save may have any
/// number.
const LEVELS: u32 = 6;
const FIELDS: usize = 64;

// How values are passed over that nobody looks at, as a decoder looks at them later.
impl Stored {
    /// True if values of a node are passed over in a few steps, mostly.
    pub(super) fn is_flat(&self, node: usize) -> bool {
        let Node { kind, size, .. } = &self.nodes[node];
        let is_short = |kind: &KindSchema, size: Size| {
            size.span().is_some() || matches!(kind, KindSchema::Text | KindSchema::Compact(_))
        };
        is_short(kind, *size)
            || match kind {
                KindSchema::Option(part) | KindSchema::List(part) | KindSchema::Set(part) => {
                    is_short(part, self.nodes[self.nodes[node].first()].size)
                }
                _ => false,
            }
    }

    /// The bytes of all values of neighbouring nodes, if all have as many.
    pub(super) fn span(&self, mut nodes: Range<usize>) -> Option<usize> {
        nodes.try_fold(0_usize, |sum, node| sum.checked_add(self.nodes[node].size.span()?))
    }

    /// The bytes of the value of a node that these begin with; `None` if it is long or deep, or there are fewer.
    #[inline]
    pub fn length(&self, node: usize, bytes: &[u8]) -> Option<usize> {
        let Node { kind, size, .. } = &self.nodes[node];
        match (size.span(), kind) {
            (Some(span), _) => Some(span),
            (None, KindSchema::Text) => text_length(bytes),
            _ => self.length_within(node, bytes, LEVELS),
        }
    }

    /// Like [`length`](Self::length), of values that follow one another.
    #[inline]
    pub(super) fn lengths(&self, mut nodes: Range<usize>, bytes: &[u8]) -> Option<usize> {
        nodes.try_fold(0_usize, |sum, node| sum.checked_add(self.length(node, bytes.get(sum..)?)?))
    }

    fn length_within(&self, node: usize, bytes: &[u8], levels: u32) -> Option<usize> {
        let node = &self.nodes[node];
        if let Some(span) = node.size.span() {
            return Some(span);
        }
        // This recurses. Deeper values are left to the walk, whose stack is on the heap.
        let levels = levels.checked_sub(1)?;
        let each = |mut nodes: Range<usize>, start: usize| {
            nodes.try_fold(start, |sum, node| {
                sum.checked_add(self.length_within(node, bytes.get(sum..)?, levels)?)
            })
        };
        let first = *bytes.first()?;
        match &node.kind {
            KindSchema::Compact(_) => Some(1 + usize::from(first.saturating_sub(SHORT))),
            KindSchema::Text => text_length(bytes),
            KindSchema::Option(_) if first == 0 => Some(1),
            KindSchema::Option(_) if first == 1 => each(node.first()..node.first() + 1, 1),
            // Of elements without bytes there may be any number.
            KindSchema::List(_) | KindSchema::Set(_)
                if first <= SHORT && self.nodes[node.first()].size.min > 0 =>
            {
                let (part, count) = (node.first(), usize::from(first));
                match self.nodes[part].size.span() {
                    Some(span) => span.checked_mul(count)?.checked_add(1),
                    None => (0..count).try_fold(1, |sum, _| each(part..part + 1, sum)),
                }
            }
            KindSchema::Class(class) => match &self.classes[*class].form {
                Form::Struct(fields) if fields.len() <= FIELDS => {
                    let first = self.first(*class, 0);
                    each(first..first + fields.len(), 0)
                }
                Form::Value(_) => each(self.first(*class, 0)..self.first(*class, 0) + 1, 0),
                _ => None,
            },
            _ => None,
        }
    }
}

/// The bit of an index that says that the class is of a value that a program synthesized.
const SYNTHESIZED_BIT: usize = 1 << (usize::BITS - 1);

/// A part of a class that is kept as a class of its own.
pub(crate) enum UnknownMember<'s> {
    Field {
        class: &'s str,
        variant: Option<&'s str>,
        field: &'s FieldSchema,
        node: usize,
        /// True for the value that a program synthesized for the field.
        is_synthesized: bool,
    },
    Variant {
        class: &'s ClassSchema,
        variant: &'s VariantSchema,
        first: usize,
    },
}

impl UnknownMember<'_> {
    /// The class that it is.
    fn schema(&self) -> ClassSchema {
        let name = self.name();
        let form = match self {
            Self::Field { field, .. } => Form::Struct(vec![(*field).clone()]),
            Self::Variant { variant, .. } => Form::Enum(vec![(*variant).clone()]),
        };
        let (version, since) = match self {
            Self::Field { is_synthesized: false, .. } => (1, None),
            Self::Field { is_synthesized: true, .. } => (ClassSchema::SYNTHESIZED_VERSION, None),
            // It is migrated from there when a program knows it again.
            Self::Variant { class, .. } => (class.version, class.since),
        };
        ClassSchema { id: ClassId::from_name(&name), name, version, since, form }
    }

    /// Its name: that of the class with that of the part.
    fn name(&self) -> String {
        match self {
            Self::Field { class, variant: None, field, .. } => format!("{class}.{}", field.name),
            Self::Field { class, variant: Some(variant), field, .. } => {
                format!("{class}::{variant}.{}", field.name)
            }
            Self::Variant { class, variant, .. } => format!("{}::{}", class.name, variant.name),
        }
    }
}

impl Stored {
    /// The index of a field as a class of its own, a struct with this field alone: as
    /// such it is kept.
    pub(crate) fn unknown_field(&self, node: usize) -> usize {
        self.classes.len() + node
    }

    /// The index of a field as the class of the value that a program synthesized for it.
    pub(crate) fn synthesized_field(&self, node: usize) -> usize {
        SYNTHESIZED_BIT | self.unknown_field(node)
    }

    /// True for the index of such a class. The fields are those of the program, not of the save.
    pub(crate) fn is_synthesized(index: usize) -> bool {
        index & SYNTHESIZED_BIT != 0
    }

    /// The index of a variant as a class of its own, an enum with this variant alone.
    pub(crate) fn unknown_variant(&self, class: usize, variant: usize) -> usize {
        // The root of the class's variants, as no field has it.
        self.classes.len() + self.nodes.len() + (class << 16) + variant
    }

    /// Returns the unknown part that a class index stands for, or `None` for a class of the save.
    pub(crate) fn unknown_member(&self, index: usize) -> Option<UnknownMember<'_>> {
        let is_synthesized = Self::is_synthesized(index);
        let index = (index & !SYNTHESIZED_BIT).checked_sub(self.classes.len())?;
        if let Some(variant) = index.checked_sub(self.nodes.len()) {
            let (class, variant) = (variant >> 16, variant & 0xffff);
            let schema = self.classes.get(class)?;
            let Form::Enum(variants) = &schema.form else { return None };
            return Some(UnknownMember::Variant {
                class: schema,
                variant: variants.get(variant)?,
                first: self.first(class, variant),
            });
        }
        // The blocks of fields are in the order of classes; empty ones have the node of the next.
        let class = self.blocks.partition_point(|block| block[0] <= index).checked_sub(1)?;
        let variant = self.blocks[class].partition_point(|first| *first <= index).checked_sub(1)?;
        let (name, fields) = match &self.classes[class].form {
            Form::Struct(fields) => (None, fields),
            Form::Enum(variants) => (Some(&*variants[variant].name), &variants[variant].fields),
            Form::Value(_) => return None,
        };
        let field = fields.get(index - self.first(class, variant))?;
        let class = &*self.classes[class].name;
        Some(UnknownMember::Field { class, variant: name, field, node: index, is_synthesized })
    }

    /// Returns the class of unknown content with a path, if the save defines it.
    pub fn unknown_at(&self) -> Option<usize> {
        self.classes.iter().position(ClassSchema::is_unknown_at)
    }

    /// A class of the save, or what is kept as one.
    pub(crate) fn schema(&self, index: usize) -> Option<Cow<'_, ClassSchema>> {
        match self.classes.get(index) {
            Some(class) => Some(Cow::Borrowed(class)),
            None => self.unknown_member(index).map(|member| Cow::Owned(member.schema())),
        }
    }
}

/// Returns the error for a page of an object about which something is wrong.
#[cold]
pub fn page_fault(id: u64, what: &str) -> Error {
    error!(
        ErrorKind::Damaged,
        "a page of object #{id} {what}; the save was written wrongly or is malicious, restore a backup"
    )
}

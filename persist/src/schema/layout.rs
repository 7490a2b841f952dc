//! The kinds of a save laid flat.
//!
//! What a walk asks of a kind is worked out once for each kind, not for each
//! value: a hostile save may have long kinds and many values.

use std::collections::HashSet;
use std::ops::Deref;
use std::sync::OnceLock;

use super::order::inner_first;
use super::pass::Passes;
use super::{ClassSchema, FieldSchema, Form, KindSchema};
use crate::reflect::{Holder, Integer};

/// Bytes of a handle.
const HANDLE: u32 = 9;

/// The classes of a save, and a node for every kind in them.
pub(crate) struct Stored {
    pub(super) classes: Vec<ClassSchema>,
    /// First one for each class as a kind, then those of their parts; parts that
    /// follow one another do so here.
    pub(super) nodes: Vec<Node>,
    /// For each class the first node of its fields, of the fields of each variant,
    /// or of its value.
    pub(super) parts: Vec<Vec<usize>>,
    /// Names of the arenas that handles lead into, one for each kind of handle.
    arenas: Vec<String>,
    pub(super) passes: Passes,
    /// The classes and holders whose records become the program's objects.
    made: OnceLock<HashSet<(usize, Holder)>>,
}

/// A kind, and what is known of all its values.
#[derive(Clone, Copy)]
pub(super) struct Node {
    pub(super) shape: Shape,
    /// The fewest bytes of a value, as `Persist::__MIN`; 0 if it has none at all.
    pub(super) least: u32,
    /// The bytes of every value, if that is so of all and all are allowed: of numbers, and of
    /// arrays and tuples of them.
    width: u32,
}

impl Node {
    /// No width.
    const VARIES: u32 = u32::MAX;

    fn new(shape: Shape, least: u32, width: Option<usize>) -> Self {
        let width = width.and_then(|width| u32::try_from(width).ok());
        Self { shape, least, width: width.unwrap_or(Self::VARIES) }
    }

    /// The bytes of every value, of numbers, and of arrays and tuples of them: all are allowed.
    #[inline(always)]
    pub(super) fn width(self) -> Option<usize> {
        (self.width != Self::VARIES).then_some(self.width as usize)
    }
}

/// A [`KindSchema`] whose parts are nodes.
#[derive(Clone, Copy)]
pub(super) enum Shape {
    /// Numbers and units.
    Bytes,
    Bool,
    Char,
    Text,
    /// A number in as few bytes as it needs.
    Compact(Integer),
    Option(usize),
    /// A set too.
    List(usize),
    /// The node of the key; that of the value follows.
    Map(usize),
    Array(usize, usize),
    Tuple {
        first: usize,
        len: usize,
    },
    Class(usize),
    /// To a class, or to any class if it is to a trait object.
    Reference {
        holder: Holder,
        weak: bool,
        class: Option<usize>,
    },
    /// The number of a class, then a value of it.
    Dynamic,
    /// Into an arena, by the place of its name.
    Handle(usize),
}

impl Stored {
    /// True if there are references in the classes.
    pub(crate) fn refers(&self) -> bool {
        self.nodes.iter().any(|node| matches!(node.shape, Shape::Reference { .. }))
    }

    /// Lays out classes which end, as [`inner_first`] finds.
    pub(crate) fn new(classes: Vec<ClassSchema>) -> Self {
        let mut least = vec![0; classes.len()];
        for class in inner_first(&classes).unwrap_or_default() {
            least[class] = match &classes[class].form {
                Form::Struct(fields) => fields
                    .iter()
                    .fold(0_u32, |sum, field| sum.saturating_add(fewest(&field.kind, &least))),
                Form::Enum(variants) if variants.len() > 256 => 2,
                Form::Enum(_) => 1,
                Form::Value(kind) => fewest(kind, &least),
            };
        }
        let kinds: usize = classes.iter().flat_map(ClassSchema::kinds).map(count).sum();
        let nodes = Vec::with_capacity(classes.len() + kinds);
        let mut layout = Layout { nodes, least, arenas: Vec::new() };
        let roots = (0..classes.len()).map(|class| layout.class(class)).collect::<Vec<_>>();
        layout.nodes.extend(roots);
        let fields = |layout: &mut Layout, fields: &[FieldSchema]| {
            layout.block(fields.len(), fields.iter().map(|field| &field.kind))
        };
        let parts = classes.iter().map(|class| match &class.form {
            Form::Struct(list) => vec![fields(&mut layout, list)],
            Form::Enum(variants) => {
                variants.iter().map(|variant| fields(&mut layout, &variant.fields)).collect()
            }
            Form::Value(kind) => vec![layout.block(1, [kind])],
        });
        let parts = parts.collect();
        let (nodes, arenas) = (layout.nodes, layout.arenas);
        let mut this = Self {
            nodes,
            arenas,
            classes,
            parts,
            made: OnceLock::new(),
            passes: Passes::default(),
        };
        this.passes = Passes::of(&this);
        this
    }

    /// Notes which objects of those that kinds refer to the load makes.
    pub(crate) fn note_made(&self, is_made: impl Fn(usize, Holder) -> bool) {
        let mut found = HashSet::new();
        for kind in self.classes.iter().flat_map(ClassSchema::kinds) {
            kind.visit(&mut |kind| {
                if let KindSchema::Reference { holder, class, .. } = kind {
                    found.insert((*class, *holder));
                }
            });
        }
        found.retain(|(class, holder)| is_made(*class, *holder));
        // It is noted once.
        let _ = self.made.set(found);
    }

    /// True if objects of a class in a holder are the program's, and not kept as they are stored.
    pub(crate) fn is_made(&self, class: usize, holder: Holder) -> bool {
        self.made.get().is_some_and(|made| made.contains(&(class, holder)))
    }

    /// The node of a class as a kind.
    pub(super) fn root(&self, class: usize) -> usize {
        class
    }

    pub(super) fn node(&self, node: usize) -> Node {
        self.nodes[node]
    }

    pub(super) fn arena(&self, arena: usize) -> &str {
        &self.arenas[arena]
    }

    /// The fields of a struct (`variant` is 0) or of a variant; of a bare value none.
    pub(crate) fn fields(&self, class: usize, variant: usize) -> &[FieldSchema] {
        match &self.classes[class].form {
            Form::Struct(fields) => fields,
            Form::Enum(variants) => &variants[variant].fields,
            Form::Value(_) => &[],
        }
    }

    /// The first node of a struct's fields or of a bare value (`variant` is 0), or
    /// of a variant's fields.
    pub(super) fn first(&self, class: usize, variant: usize) -> usize {
        self.parts[class][variant]
    }
}

impl Deref for Stored {
    type Target = [ClassSchema];

    fn deref(&self) -> &[ClassSchema] {
        &self.classes
    }
}

/// A [`Stored`] in the making.
struct Layout {
    nodes: Vec<Node>,
    /// Of each class.
    least: Vec<u32>,
    arenas: Vec<String>,
}

impl Layout {
    /// Lays out kinds one after the other, then what is in them; returns the
    /// first node.
    fn block<'k>(&mut self, len: usize, kinds: impl IntoIterator<Item = &'k KindSchema>) -> usize {
        let first = self.nodes.len();
        self.nodes.resize(first + len, bytes(0));
        for (place, kind) in (first..).zip(kinds) {
            self.nodes[place] = self.kind(kind);
        }
        first
    }

    fn kind(&mut self, kind: &KindSchema) -> Node {
        let node = |shape, least| Node::new(shape, least, None);
        match kind {
            KindSchema::Bool => node(Shape::Bool, 1),
            KindSchema::Char => node(Shape::Char, 4),
            KindSchema::Text => node(Shape::Text, 1),
            KindSchema::Compact(integer) => node(Shape::Compact(*integer), 1),
            KindSchema::Option(inner) => {
                let inner = self.block(1, [&**inner]);
                node(Shape::Option(inner), 1)
            }
            KindSchema::List(inner) | KindSchema::Set(inner) => {
                let inner = self.block(1, [&**inner]);
                node(Shape::List(inner), 1)
            }
            KindSchema::Map(parts) => {
                let key = self.block(2, [&parts.0, &parts.1]);
                node(Shape::Map(key), 1)
            }
            KindSchema::Array(inner, len) => {
                let first = self.block(1, [&**inner]);
                let inner = self.nodes[first];
                let width = inner.width().and_then(|width| width.checked_mul(*len));
                let width = if *len == 0 { Some(0) } else { width };
                Node::new(Shape::Array(first, *len), times(inner.least, *len), width)
            }
            KindSchema::Tuple(parts) => {
                let first = self.block(parts.len(), parts);
                let nodes = &self.nodes[first..first + parts.len()];
                let width =
                    nodes.iter().try_fold(0_usize, |sum, node| sum.checked_add(node.width()?));
                let least = nodes.iter().fold(0_u32, |sum, node| sum.saturating_add(node.least));
                Node::new(Shape::Tuple { first, len: parts.len() }, least, width)
            }
            KindSchema::Class(class) => self.class(*class),
            KindSchema::Reference { holder, weak, class } => {
                let (holder, weak, class) = (*holder, *weak, Some(*class));
                node(Shape::Reference { holder, weak, class }, 1)
            }
            KindSchema::TraitReference { holder, weak, .. } => {
                let (holder, weak) = (*holder, *weak);
                node(Shape::Reference { holder, weak, class: None }, 1)
            }
            KindSchema::Dynamic(_) => node(Shape::Dynamic, 1),
            // Of classes that no program has, whose values stay as they are.
            KindSchema::Unknown => {
                let part = self.nodes.len();
                self.nodes.push(node(Shape::Dynamic, 1));
                node(Shape::List(part), 1)
            }
            KindSchema::Handle(arena) => {
                self.arenas.push(arena.clone());
                node(Shape::Handle(self.arenas.len() - 1), HANDLE)
            }
            scalar => bytes(scalar.width()),
        }
    }

    fn class(&self, class: usize) -> Node {
        match self.least[class] {
            0 => Node::new(Shape::Class(class), 0, Some(0)),
            least => Node::new(Shape::Class(class), least, None),
        }
    }
}

fn bytes(width: usize) -> Node {
    let least = u32::try_from(width).unwrap_or(u32::MAX);
    Node::new(Shape::Bytes, least, Some(width))
}

fn times(least: u32, len: usize) -> u32 {
    least.saturating_mul(u32::try_from(len).unwrap_or(u32::MAX))
}

/// The fewest bytes of a value, where those of the classes that it always holds
/// are known.
fn fewest(kind: &KindSchema, classes: &[u32]) -> u32 {
    match kind {
        KindSchema::Array(inner, len) => times(fewest(inner, classes), *len),
        KindSchema::Tuple(parts) => {
            parts.iter().fold(0, |sum, part| sum.saturating_add(fewest(part, classes)))
        }
        KindSchema::Class(class) => classes[*class],
        KindSchema::Char => 4,
        KindSchema::Bool
        | KindSchema::Text
        | KindSchema::Compact(_)
        | KindSchema::Option(_)
        | KindSchema::List(_)
        | KindSchema::Set(_)
        | KindSchema::Map(_)
        | KindSchema::Reference { .. }
        | KindSchema::TraitReference { .. }
        | KindSchema::Dynamic(_)
        | KindSchema::Unknown => 1,
        KindSchema::Handle(_) => HANDLE,
        scalar => u32::try_from(scalar.width()).unwrap_or(u32::MAX),
    }
}

/// Nodes that a kind takes at most.
fn count(kind: &KindSchema) -> usize {
    1 + match kind {
        KindSchema::Option(inner)
        | KindSchema::List(inner)
        | KindSchema::Set(inner)
        | KindSchema::Array(inner, _) => count(inner),
        KindSchema::Map(parts) => count(&parts.0) + count(&parts.1),
        KindSchema::Tuple(parts) => parts.iter().map(count).sum(),
        KindSchema::Unknown => 1,
        _ => 0,
    }
}

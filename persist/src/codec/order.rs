//! Values whose fields or variants stand in another order than their type has them, as an older
//! program saved them: read field by field, by index.

use super::{Decoder, Fail, Reflect};

/// The order in which a save holds the fields and variants of the classes in a value.
///
/// It goes with the value's type: [`Persist::decode_ordered`](super::Persist::decode_ordered) hands each part the order of that
/// part.
#[derive(Clone, Copy, Debug)]
pub struct Order<'o> {
    nodes: &'o [OrderNode],
    at: usize,
}

/// The order in a value of one sort; parts are indices into the same list.
#[derive(Debug)]
pub(crate) enum OrderNode {
    /// As the type has it.
    Same,
    /// Of the elements of a list or an array, or what an option holds.
    Each(usize),
    /// Of the parts of a tuple, or of keys and values.
    Parts(Vec<usize>),
    /// Of a struct: the program's fields as the save has them, each with its own order.
    Fields(Vec<(usize, usize)>),
    Variants {
        /// Bytes of a tag.
        width: usize,
        /// By stored number.
        variants: Vec<OrderedVariant>,
    },
}

#[derive(Debug)]
pub(crate) struct OrderedVariant {
    /// The program's.
    pub(crate) variant: usize,
    /// Its fields as the save has them, unless that is as the program has them.
    pub(crate) fields: Option<Vec<(usize, usize)>>,
}

/// Where a list of nodes has [`OrderNode::Same`].
pub(crate) const SAME: usize = 0;

impl<'o> Order<'o> {
    /// The order at an index of a list, which has [`OrderNode::Same`] at [`SAME`].
    pub(crate) fn new(nodes: &'o [OrderNode], at: usize) -> Self {
        Self { nodes, at }
    }

    fn node(self) -> &'o OrderNode {
        self.nodes.get(self.at).unwrap_or(&OrderNode::Same)
    }

    fn at(self, at: usize) -> Self {
        Self { at, ..self }
    }

    /// True if the value stands as its type has it.
    #[must_use]
    pub fn is_same(self) -> bool {
        self.at == SAME
    }

    /// The order in the elements of a list or an array, or in what an option holds.
    ///
    /// # Errors
    ///
    /// [`Fail::Value`] if the value is another sort of thing.
    pub fn each(self) -> Result<Self, Fail> {
        match self.node() {
            OrderNode::Each(at) => Ok(self.at(*at)),
            _ => Err(Fail::Value),
        }
    }

    /// The order in a part of a tuple, or in the keys (0) and the values (1) of a map.
    ///
    /// # Errors
    ///
    /// [`Fail::Value`] if the value is another sort of thing or has no such part.
    pub fn part(self, part: usize) -> Result<Self, Fail> {
        match self.node() {
            OrderNode::Parts(parts) => parts.get(part).map(|at| self.at(*at)).ok_or(Fail::Value),
            _ => Err(Fail::Value),
        }
    }

    /// The fields of a struct; `None` if they stand as its type has them.
    ///
    /// # Errors
    ///
    /// [`Fail::Value`] if the value is another sort of thing.
    #[inline]
    pub fn fields(self) -> Result<Option<OrderedFields<'o>>, Fail> {
        match self.node() {
            OrderNode::Same => Ok(None),
            OrderNode::Fields(fields) => Ok(Some(OrderedFields { fields, order: self })),
            _ => Err(Fail::Value),
        }
    }

    /// Reads an enum up to the fields of its variant, or whole if those stand as its type has them.
    ///
    /// # Errors
    ///
    /// A [`Fail`] if the bytes are not such a value.
    #[inline]
    pub fn variant<T: Reflect>(self, input: &mut Decoder<'_>) -> Result<Variant<'o, T>, Fail> {
        let (width, variants) = match self.node() {
            OrderNode::Same => return input.value().map(Variant::Whole),
            OrderNode::Variants { width, variants } => (*width, variants),
            _ => return Err(Fail::Value),
        };
        let mut tag = [0; 2];
        tag.get_mut(..width).ok_or(Fail::Value)?.copy_from_slice(input.take(width)?);
        let stored = variants.get(usize::from(u16::from_le_bytes(tag))).ok_or(Fail::Value)?;
        if let Some(fields) = &stored.fields {
            return Ok(Variant::Fields(stored.variant, OrderedFields { fields, order: self }));
        }
        // The head of an enum is its tag.
        let tag = u16::try_from(stored.variant).map_err(|_| Fail::Value)?.to_le_bytes();
        T::decode(tag.get(..T::HEAD).ok_or(Fail::Value)?, input).map(Variant::Whole)
    }
}

/// What has been read of an enum.
pub enum Variant<'o, T> {
    /// All of it.
    Whole(T),
    /// The program's variant of this index; its fields are next.
    Fields(usize, OrderedFields<'o>),
}

/// Fields in the order in which they are read.
pub struct OrderedFields<'o> {
    fields: &'o [(usize, usize)],
    order: Order<'o>,
}

impl<'o> OrderedFields<'o> {
    /// One field that stands as its type has it.
    pub(crate) fn one<R>(field: usize, read: impl FnOnce(OrderedFields<'_>) -> R) -> R {
        let order = Order { nodes: &[], at: SAME };
        read(OrderedFields { fields: &[(field, SAME)], order })
    }
}

/// The index of each field, and the order of what is in it.
impl<'o> Iterator for OrderedFields<'o> {
    type Item = (usize, Order<'o>);

    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        let ((field, at), rest) = self.fields.split_first()?;
        self.fields = rest;
        Some((*field, self.order.at(*at)))
    }
}

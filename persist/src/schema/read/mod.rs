//! Stored bytes as values without their types.
//!
//! With an explicit stack, and bounded by [`levels`](crate::value::levels) all the same: a tree
//! is dropped by recursion.

mod open;
mod value;

use std::sync::Arc;

use super::walk::left_behind;
use super::{FieldSchema, Form, KindSchema, Stored};
use crate::codec::{Decoder, NoLinks};
use crate::env::Env;
use crate::value::Value;
use crate::{Error, ErrorKind, Limits, Result};
use value::{As, Run};

/// Bytes that the trees of a save may always take.
const FREE_MEMORY: u64 = 64 << 20;

/// How many times [`Limits::expansion`] trees may take: a byte may become a record of its own,
/// with a field.
const TIMES_EXPANSION: u64 = 4;

/// Reads values of one save; keeps what they have in common.
pub(crate) struct Reader {
    /// For each class, where one of its values was read.
    names: Vec<Option<Arc<Names>>>,
    /// Counts elements without bytes, over the whole save.
    empty: NoLinks,
    /// Bytes that trees may still take, and those that they could take.
    room: u64,
    most: u64,
}

/// The names in values of a class, which these share.
struct Names {
    class: Arc<str>,
    /// Of a struct one, without a name.
    variants: Vec<VariantNames>,
}

struct VariantNames {
    name: Option<Arc<str>>,
    fields: Vec<Arc<str>>,
}

impl Reader {
    /// The allowance for a save, or a record, of this many bytes.
    pub(crate) fn new(limits: &Limits, bytes: u64) -> Self {
        let mut reader = Self { names: Vec::new(), empty: NoLinks::default(), room: 0, most: 0 };
        reader.allow(limits, bytes);
        reader
    }

    /// Allows as much memory as `bytes` bytes of a save may take, from now on.
    pub(crate) fn allow(&mut self, limits: &Limits, bytes: u64) {
        let times = limits.expansion.saturating_mul(TIMES_EXPANSION);
        self.most = bytes.saturating_mul(times).max(FREE_MEMORY);
        self.room = self.most;
    }

    /// Reads the payload of a record of a stored class.
    ///
    /// # Errors
    ///
    /// With the path of the field, and the offset in the payload.
    pub(crate) fn payload(
        &mut self,
        stored: &Stored,
        class: usize,
        payload: &[u8],
        limits: &Limits,
    ) -> Result<Value> {
        let mut links = NoLinks::default();
        let env = Env::bare(limits);
        let mut input = Decoder::new(payload, &env, &mut links);
        let result = self.class(stored, class, &mut input);
        let left = input.rest().len();
        let result = match result {
            Ok(_) if left > 0 => Err(left_behind(left)),
            result => result,
        };
        result.map_err(|error| error.at((payload.len() - left) as u64))
    }

    /// Reads a value of a stored class from the input.
    ///
    /// # Errors
    ///
    /// With the path of the field.
    pub(crate) fn class(
        &mut self,
        stored: &Stored,
        class: usize,
        input: &mut Decoder<'_>,
    ) -> Result<Value> {
        Run { reader: self, stored, input }.value(As::Class(class))
    }

    /// Reads a value of a stored kind; `node` is the one of this kind.
    ///
    /// # Errors
    ///
    /// With the path of the field.
    pub(crate) fn value(
        &mut self,
        stored: &Stored,
        (kind, node): (&KindSchema, usize),
        input: &mut Decoder<'_>,
    ) -> Result<Value> {
        Run { reader: self, stored, input }.value(As::Kind(kind, Some(node)))
    }

    /// Allows all values that were read so far as much memory as `bytes` bytes of a save may take.
    pub(crate) fn allow_in_all(&mut self, limits: &Limits, bytes: u64) {
        let used = self.most - self.room;
        self.allow(limits, bytes);
        self.room = self.most.saturating_sub(used);
    }

    fn names(&mut self, stored: &Stored, class: usize) -> Arc<Names> {
        if self.names.len() <= class {
            self.names.resize(stored.len(), None);
        }
        self.names[class].get_or_insert_with(|| Arc::new(Names::of(stored, class))).clone()
    }

    /// Counts the memory of values, and other work on them as if it were memory.
    pub(crate) fn charge(&mut self, count: usize, size: usize) -> Result<()> {
        let bytes = (count as u64).saturating_mul(size as u64);
        match self.room.checked_sub(bytes) {
            Some(room) => {
                self.room = room;
                Ok(())
            }
            None => Err(too_large(self.most)),
        }
    }
}

#[cold]
fn too_large(most: u64) -> Error {
    Error::new(
        ErrorKind::TooLarge,
        format!(
            "the values of the save take over {most} bytes without their types, the limit for a save of its size; raise `Limits::expansion`"
        ),
    )
}

impl Names {
    fn of(stored: &Stored, class: usize) -> Self {
        let class = &stored[class];
        let fields = |fields: &[FieldSchema]| -> Vec<Arc<str>> {
            fields.iter().map(|field| (&*field.name).into()).collect()
        };
        let variants = match &class.form {
            Form::Struct(list) => vec![VariantNames { name: None, fields: fields(list) }],
            Form::Enum(variants) => variants
                .iter()
                .map(|variant| VariantNames {
                    name: Some((&*variant.name).into()),
                    fields: fields(&variant.fields),
                })
                .collect(),
            Form::Value(_) => Vec::new(),
        };
        Self { class: (&*class.name).into(), variants }
    }
}

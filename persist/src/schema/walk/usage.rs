//! Where the bytes of records are: by class and by field.

use super::{Checks, LocalValue, Walk};
use crate::codec::{Decoder, NoLinks};
use crate::env::Env;
use crate::schema::{
    FrameParts, KindSchema, Stored, UnknownMember, WalkFrame, fault, path, surplus,
};
use crate::{Limits, Result};
use hashbrown::HashMap;

/// How many fields are counted apart, and how deep; those beyond count as what they are in. A hostile save has any number of
/// fields, and a tree of a class in itself as many as it is deep.
const MAX_PARTS: usize = 1 << 16;
const MAX_LEVELS: usize = 24;

/// How many of the longest texts and lists are kept.
const LONGEST: usize = 10;

/// The bytes of records by class and field.
#[derive(Default)]
pub struct UsageTree {
    parts: Vec<Part>,
    /// The part of a node in another part, which is none for a class.
    places: HashMap<(Option<u32>, usize), u32>,
    /// The longest texts.
    pub texts: Vec<Long>,
    /// The lists, sets and maps with the most elements.
    pub lists: Vec<Long>,
}

/// A class, or a field in others.
pub struct Part {
    pub inside: Option<u32>,
    pub name: String,
    pub node: usize,
    pub count: u64,
    /// Without the parts in it.
    pub bytes: u64,
    pub stored: f64,
}

/// A long text, or a list, a set or a map with many elements.
pub struct Long {
    /// The number of bytes, or of elements.
    pub length: u64,
    /// The id of the object that holds it.
    pub object: u64,
    /// The index of the class that holds it.
    pub class: usize,
    /// The path of the field in the class.
    pub field: String,
}

impl UsageTree {
    /// The parts, each after what it is in.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// Counts a record. Each of its bytes takes that many in the save.
    ///
    /// # Errors
    ///
    /// Returns an error if the bytes are no value of the class.
    pub fn add(
        &mut self,
        (class, id): (usize, u64),
        stored: &Stored,
        payload: &[u8],
        ratio: f64,
        limits: &Limits,
    ) -> Result<()> {
        let numbers = stored.page_numbers(class, payload)?;
        let mut links = NoLinks::default();
        let env = Env::bare(limits);
        let mut input = Decoder::new(payload, &env, &mut links).in_page(numbers.as_deref());
        let mut walk = Walk::new(stored, &input, Checks::Texts);
        // The parts whose frames are open.
        let mut open: Vec<u32> = Vec::new();
        let mut next = Some(stored.root(class));
        while let Some(node) = next {
            let (previous, levels) = (input.rest(), walk.open.len());
            open.truncate(levels);
            let part = self.part(node, (open.last().copied(), levels), walk.open.last(), stored);
            // The class of a trait object, which is a part of its own.
            let mut class_of = None;
            let mut visit = |visited: LocalValue<'_>, _: usize, _: usize| {
                if let LocalValue::Class(class) = visited {
                    class_of = Some(class);
                }
                true
            };
            let result = walk.step(node, &mut input, &mut visit);
            let consumed = previous.len() - input.rest().len();
            let kind = result.map_err(|fail| {
                let at = (payload.len() - previous.len()) as u64;
                fault(fail).in_field(&walk.path()).at(at)
            })?;
            let part = match class_of {
                Some(class) => {
                    self.parts[part as usize].count += 1;
                    self.part(stored.root(class), (Some(part), levels), None, stored)
                }
                None => part,
            };
            let found = &mut self.parts[part as usize];
            found.count += 1;
            found.bytes += consumed as u64;
            #[expect(clippy::cast_precision_loss, reason = "a share of what is stored")]
            let share = consumed as f64 * ratio;
            found.stored += share;
            if walk.open.len() > levels {
                open.push(part);
            }
            let (is_text, length) = length_of(kind, consumed, walk.open.get(levels), stored);
            let longest = if is_text { &mut self.texts } else { &mut self.lists };
            if longest.len() < LONGEST && length > 0
                || longest.last().is_some_and(|last| last.length < length)
            {
                let field = path(stored, walk.open.iter().take(levels));
                let place = longest.partition_point(|other| other.length >= length);
                longest.insert(place, Long { length, object: id, class, field });
                longest.truncate(LONGEST);
            }
            next = walk
                .next(&input)
                .map_err(|fail| fault(fail).at((payload.len() - input.rest().len()) as u64))?;
        }
        match input.rest().len() {
            0 => Ok(()),
            left => Err(surplus(left).at((payload.len() - left) as u64)),
        }
    }

    /// The part of a node inside of another one.
    fn part(
        &mut self,
        node: usize,
        (inside, levels): (Option<u32>, usize),
        frame: Option<&WalkFrame>,
        stored: &Stored,
    ) -> u32 {
        if let Some(part) = self.places.get(&(inside, node)) {
            return *part;
        }
        let is_full = self.parts.len() >= MAX_PARTS || levels > MAX_LEVELS;
        if let Some(inside) = inside.filter(|_| is_full) {
            return inside;
        }
        let name = match frame {
            None => stored[node].name.clone(),
            Some(frame) => name_of(frame, node, stored),
        };
        // There are fewer, or one for each class.
        let part = u32::try_from(self.parts.len()).unwrap_or(u32::MAX);
        self.parts.push(Part { inside, name, node, count: 0, bytes: 0, stored: 0.0 });
        self.places.insert((inside, node), part);
        part
    }
}

/// The name of a part: of a field of a variant with that of the variant.
fn name_of(frame: &WalkFrame, node: usize, stored: &Stored) -> String {
    match frame.parts {
        FrameParts::Fields => match stored.unknown_member(stored.unknown_field(node)) {
            Some(UnknownMember::Field { variant: Some(variant), field, .. }) => {
                format!("{variant}.{}", field.name)
            }
            Some(UnknownMember::Field { field, .. }) => field.name.clone(),
            _ => String::new(),
        },
        FrameParts::Numbered => (node - frame.first()).to_string(),
        FrameParts::Entries => String::from(if node == frame.first() { "key" } else { "value" }),
        FrameParts::Elements | FrameParts::One => String::from("[]"),
    }
}

/// Whether a value that was taken is a text, and the bytes of the text, or the elements of a list, a set or a map.
fn length_of(
    node: usize,
    consumed: usize,
    opened: Option<&WalkFrame>,
    stored: &Stored,
) -> (bool, u64) {
    let found = stored.node(node);
    match (&found.kind, opened) {
        (KindSchema::Text, _) => (true, consumed as u64),
        (KindSchema::Map(_), Some(frame)) => (false, frame.count / 2),
        (KindSchema::List(_) | KindSchema::Set(_), Some(frame)) => (false, frame.count),
        (KindSchema::List(_) | KindSchema::Set(_), None) => {
            let width = stored.node(found.first()).size.width().unwrap_or(0);
            (false, consumed.checked_div(width).unwrap_or(0) as u64)
        }
        _ => (false, 0),
    }
}

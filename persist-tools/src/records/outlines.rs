//! [`ObjectOutline`]: the parts of an object in a page by which it is found.

use persist::__tools::{KindSchema, Stored, length};
use persist::Limits;

/// The parts of an object by which it is found in its world.
#[derive(Default)]
pub struct ObjectOutline<'p> {
    /// The id of the object.
    pub id: u64,
    /// The name in the save.
    pub name: &'p str,
    /// The id of the parent, and the index among its children; `None` for an object at the top.
    pub parent: Option<(u64, u64)>,
    /// The indices of the classes of the components. Unknown fields of components are left out.
    pub components: Vec<usize>,
}

impl ObjectOutline<'_> {
    /// Passes the outline of each object in a page to `visit`. Returns `None` if the objects have other fields.
    pub fn each(
        (stored, page): (&Stored, u32),
        payload: &[u8],
        limits: &Limits,
        visit: &mut dyn FnMut(&ObjectOutline<'_>),
    ) -> Option<()> {
        let numbers = stored.page_numbers(page as usize, payload).ok()??;
        let mut input = Input { bytes: payload, stored, numbers: &numbers, limits };
        let objects = stored.node(stored.first(page as usize, 0) + 1).first();
        let classes = input.count()?;
        input.take(classes.checked_mul(8)?)?;
        let KindSchema::Class(class) = stored.node(objects).kind else { return None };
        let unknown_fields = stored.unknown_at();
        let mut outline = ObjectOutline::default();
        for _ in 0..input.count()? {
            outline.components.clear();
            for field in stored.fields(class, 0) {
                match (&*field.name, &field.kind) {
                    ("id", KindSchema::Compact(_)) => outline.id = input.number()?,
                    ("name", KindSchema::Text) => outline.name = input.text()?,
                    ("parent", KindSchema::Option(kind)) => outline.parent = input.parent(kind)?,
                    ("components", KindSchema::List(kind)) => {
                        for _ in 0..input.count()? {
                            let class = Some(input.dynamic(kind)?);
                            outline.components.extend(class.filter(|_| class != unknown_fields));
                        }
                    }
                    (_, KindSchema::Class(class)) => input.value(*class)?,
                    (_, KindSchema::Compact(_)) => drop(input.number()?),
                    _ => return None,
                }
            }
            visit(&outline);
        }
        Some(())
    }
}

/// The bytes of a page from one on.
struct Input<'i> {
    bytes: &'i [u8],
    stored: &'i Stored,
    /// The numbers in the save of the classes of the page.
    numbers: &'i [u64],
    limits: &'i Limits,
}

impl<'i> Input<'i> {
    fn take(&mut self, length: usize) -> Option<&'i [u8]> {
        let (taken, rest) = self.bytes.split_at_checked(length)?;
        self.bytes = rest;
        Some(taken)
    }

    /// Takes a number as [the format](https://docs.rs/persist) writes counts: a byte, or a width and its bytes.
    fn number(&mut self) -> Option<u64> {
        let first = *self.take(1)?.first()?;
        let width = usize::from(first.saturating_sub(247));
        if width == 0 {
            return Some(first.into());
        }
        let mut number = [0; 8];
        number.get_mut(..width)?.copy_from_slice(self.take(width)?);
        Some(u64::from_le_bytes(number))
    }

    fn count(&mut self) -> Option<usize> {
        usize::try_from(self.number()?).ok()
    }

    fn text(&mut self) -> Option<&'i str> {
        let length = self.count()?;
        std::str::from_utf8(self.take(length)?).ok()
    }

    /// Takes the parent of an object: a byte that says whether it has one, the id, and the index.
    fn parent(&mut self, kind: &KindSchema) -> Option<Option<(u64, u64)>> {
        let KindSchema::Class(class) = *kind else { return None };
        let [object, index] = self.stored.fields(class, 0) else { return None };
        let is_count =
            matches!((&object.kind, &index.kind), (KindSchema::Compact(_), KindSchema::Compact(_)));
        if !is_count || (&*object.name, &*index.name) != ("object", "index") {
            return None;
        }
        match self.take(1)? {
            [0] => Some(None),
            _ => Some(Some((self.number()?, self.number()?))),
        }
    }

    /// Takes a trait object: the number of its class in the page, and its value. Returns the index of the class.
    fn dynamic(&mut self, kind: &KindSchema) -> Option<usize> {
        let KindSchema::Dynamic(_) = kind else { return None };
        let number = *self.numbers.get(self.count()?.checked_sub(1)?)?;
        let class = usize::try_from(number.checked_sub(1)?).ok()?;
        self.value(class)?;
        Some(class)
    }

    /// Takes a value of a class.
    fn value(&mut self, class: usize) -> Option<()> {
        let stored = self.stored;
        // Most components have one length.
        let known = stored.length(stored.root(class), self.bytes);
        let walked = || {
            let numbers = Some(self.numbers);
            length((class, stored), self.bytes, numbers, self.limits, &mut |_, _, _| true).ok()
        };
        let length = known.or_else(walked)?;
        self.take(length).map(drop)
    }
}

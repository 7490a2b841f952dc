use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::rc::Rc;

use super::Registry;
use super::components::Edges;
use super::identity::AddressMap;
use crate::codec::{
    Pointed, Pointing, SaveLinks, Shared, Within, charge_empty, not_registered_yet,
};
use crate::format::{ClassNumbers, MAX_ID, RecordLinks};
use crate::reflect::{Cell, TraitName};
use crate::schema::Stored;
use crate::{Error, ErrorKind, Limits, Result};

/// Gives out ids and holds on to every object met, so that no address comes
/// back for another object while the save runs.
pub(super) struct Links<'s> {
    registry: &'s Registry,
    map: AddressMap,
    /// By number of the address.
    pub(super) objects: Vec<Met>,
    /// Numbers of the objects to write, in order.
    pub(super) queue: Vec<usize>,
    /// A bit for each object, set when it is in the queue.
    queued: Vec<u64>,
    /// How many objects had ids before, and the first id of those that did not: a
    /// reference to an object that was met before looks at nothing of it.
    known: usize,
    first_id: u64,
    /// True if an object is known by a pointer without its type.
    boxed: bool,
    next_id: u64,
    most: u64,
    empty_elements: usize,
    /// Memory of elements that are large for their bytes.
    pub(super) large: u64,
    numbers: ClassNumbers,
    /// Numbers of classes as implementors of traits.
    implementors: HashMap<(TypeId, TypeId), u64>,
    /// Objects that are pointed at as trait objects, and by which of the traits: their classes are
    /// seen when they are written.
    claims: Vec<(u32, u32)>,
    traits: Vec<TraitName>,
    /// Trait objects that are pointed at as a type, too.
    types: Vec<(u32, TypeId)>,
    /// The object being written, if it has no cell around it.
    from: Option<u32>,
    /// References from objects without a cell, where only `&mut` reaches them.
    bare: Vec<(u32, u32)>,
    /// True if one of them is weak: otherwise they cannot form a cycle.
    bare_weak: bool,
}

#[derive(Clone)]
pub(super) struct Met {
    pub(super) shared: Shared,
    pub(super) id: u64,
    pub(super) added: bool,
    /// Index of its object type, when it is written.
    object: u32,
}

/// No object type yet.
const UNWRITTEN: u32 = u32::MAX;

impl<'s> Links<'s> {
    pub(super) fn new(registry: &'s Registry, limits: &Limits, next_id: u64) -> Self {
        Self {
            registry,
            map: AddressMap::default(),
            objects: Vec::new(),
            queue: Vec::new(),
            queued: Vec::new(),
            known: 0,
            first_id: next_id,
            boxed: false,
            next_id,
            // Numbers are of 32 bits.
            most: limits.objects.min(u64::from(u32::MAX - 1)),
            empty_elements: 0,
            large: 0,
            numbers: ClassNumbers::default(),
            implementors: HashMap::new(),
            claims: Vec::new(),
            traits: Vec::new(),
            types: Vec::new(),
            from: None,
            bare: Vec::new(),
            bare_weak: false,
        }
    }

    pub(super) fn take_id(&mut self) -> u64 {
        self.next_id += 1;
        self.first_id = self.next_id;
        self.next_id - 1
    }

    /// Puts an object into the queue, if it is not in it.
    #[inline]
    fn queue(&mut self, number: usize) {
        let (word, bit) = (number / 64, 1 << (number % 64));
        if word >= self.queued.len() {
            self.queued.resize(word + 1, 0);
        }
        if self.queued[word] & bit == 0 {
            self.queued[word] |= bit;
            self.queue.push(number);
        }
    }

    /// Makes an object known by an id of its own.
    pub(super) fn know(&mut self, shared: Shared, id: u64, added: bool) {
        let (number, new) = self.map.insert(shared.address());
        let number = number as usize;
        if new {
            self.boxed |= shared.is_boxed();
            self.objects.push(Met { shared, id, added, object: UNWRITTEN });
            self.known = self.objects.len();
            if added {
                self.queue(number);
            }
        }
    }

    /// The number in the save of a class of the program.
    pub(super) fn class_number(&mut self, class: usize) -> u64 {
        self.numbers.number(class, &self.registry.program().classes)
    }

    /// The object of this number is written next, as one of this type.
    pub(super) fn begin(&mut self, number: usize, object: usize) {
        let place = u32::try_from(number).unwrap_or(u32::MAX);
        self.objects[number].object = u32::try_from(object).unwrap_or(UNWRITTEN);
        let (_, cell) = self.registry.objects[object].kind.holder.parts().unzip();
        self.from = is_built(cell).then_some(place);
    }

    /// The trait as whose trait object an object was pointed at.
    pub(super) fn trait_of(&self, number: usize) -> Option<TraitName> {
        let claim = self.claims.iter().find(|(place, _)| *place as usize == number)?;
        Some(self.traits[claim.1 as usize])
    }

    /// An object that is kept without a stand-in is written next: it is in a cell.
    pub(super) fn begin_kept(&mut self) {
        self.from = None;
    }

    /// Checks what could not be when it was met.
    pub(super) fn check(&self) -> Result<()> {
        let written = |number: u32| {
            let met = &self.objects[number as usize];
            (met.object != UNWRITTEN).then(|| (met, &self.registry.objects[met.object as usize]))
        };
        for (number, pointee) in &self.types {
            if let Some((met, entry)) = written(*number)
                && entry.kind.pointee != *pointee
            {
                return Err(two_types(met.id));
            }
        }
        for (number, of) in &self.claims {
            let of = self.traits[*of as usize];
            if let Some((met, entry)) = written(*number)
                && self.registry.implementors.caster((of.id)(), entry.class).is_none()
            {
                let class = &self.registry.program().classes[entry.class].name;
                return Err(not_registered_yet(class, of.name)
                    .in_object(met.id)
                    .in_class(&**class));
            }
        }
        self.check_circles()
    }

    /// Finds objects without a cell that lead to each other: none of them could be
    /// made first.
    fn check_circles(&self) -> Result<()> {
        if !self.bare_weak {
            return Ok(());
        }
        let is_built = |met: &Met| {
            met.object != UNWRITTEN
                && is_built(
                    self.registry.objects[met.object as usize].kind.holder.parts().map(|of| of.1),
                )
        };
        let mut edges = Edges::new(self.objects.len());
        let mut bare = self.bare.clone();
        bare.sort_unstable();
        let mut next = bare.iter().peekable();
        for number in 0..self.objects.len() {
            let mut targets = Vec::new();
            while let Some((_, to)) = next.next_if(|(from, _)| *from as usize == number) {
                if is_built(&self.objects[*to as usize]) {
                    targets.push(*to);
                }
            }
            edges.push(targets);
        }
        match edges.components().circles(&edges).first() {
            Some(circle) => {
                let met = &self.objects[circle[0] as usize];
                let class = self.registry.objects[met.object as usize].class;
                let class = &self.registry.program().classes[class].name;
                Err(circle_error(class, circle.len()).in_object(met.id).in_class(&**class))
            }
            None => Ok(()),
        }
    }

    #[cold]
    fn too_many(&self) -> Error {
        if self.next_id > MAX_ID {
            return Error::new(ErrorKind::TooLarge, "the object ids are used up");
        }
        let most = self.most;
        Error::new(
            ErrorKind::TooLarge,
            format!(
                "the save would have more objects than the limit of {most}; raise `Limits::objects`"
            ),
        )
    }
}

/// True if objects in such a cell are made when they are whole.
pub(super) fn is_built(cell: Option<Cell>) -> bool {
    matches!(cell, Some(Cell::None | Cell::OnceCell | Cell::OnceLock))
}

/// The error for objects without a cell that lead to each other.
#[cold]
pub(super) fn circle_error(class: &str, length: usize) -> Error {
    let what = match length {
        1 => format!("an object without a cell, a {class}, leads to itself"),
        _ => format!("{length} objects without a cell, one of them a {class}, lead to each other"),
    };
    Error::new(
        ErrorKind::Unsupported,
        format!(
            "{what}, so that none could be made before it is there; put the `Weak` that closes the cycle in a `RefCell` or `OnceCell`"
        ),
    )
}

#[cold]
fn two_types(id: u64) -> Error {
    Error::new(
        ErrorKind::WrongClass,
        format!(
            "object #{id} is pointed at as two types, such as `[T; N]` and `[T]`; use one of them"
        ),
    )
    .in_object(id)
}

impl SaveLinks for Links<'_> {
    fn charge(&mut self, empty: usize, memory: u64, limits: &Limits) -> Result<()> {
        // Compared with the bytes of the save when those are known.
        self.large = self.large.saturating_add(memory);
        charge_empty(&mut self.empty_elements, empty, limits)
    }

    #[inline]
    fn link(
        &mut self,
        address: usize,
        pointing: Pointing,
        target: &dyn Fn() -> Shared,
    ) -> Result<u64> {
        let Pointing { weak, pointed, within } = pointing;
        let (place, new) = self.map.insert(address);
        let number = place as usize;
        if new {
            let shared = target();
            self.boxed |= shared.is_boxed();
            self.objects.push(Met { shared, id: self.next_id, added: false, object: UNWRITTEN });
            self.next_id += 1;
            if self.objects.len() as u64 > self.most || self.next_id > MAX_ID + 1 {
                return Err(self.too_many());
            }
        }
        let id = match number.checked_sub(self.known) {
            Some(behind) => self.first_id + behind as u64,
            None => self.objects[number].id,
        };
        match pointed {
            // An object has several types only where one of them has no size.
            Pointed::At(pointee) if !new && self.boxed => {
                match self.objects[number].shared.object().seen_pointee() {
                    Some(found) if found != pointee => return Err(two_types(id)),
                    Some(_) => {}
                    None => self.types.push((place, pointee)),
                }
            }
            Pointed::Unsized(pointee) if !new => {
                let found = self.objects[number].shared.object().seen_pointee();
                if found != Some(pointee) {
                    return Err(two_types(id));
                }
            }
            Pointed::At(_) | Pointed::Unsized(_) | Pointed::Anything => {}
            Pointed::As(of) => {
                let known = self.traits.iter().position(|known| (known.id)() == (of.id)());
                let of = known.unwrap_or_else(|| {
                    self.traits.push(of);
                    self.traits.len() - 1
                });
                self.claims.push((place, u32::try_from(of).unwrap_or(u32::MAX)));
            }
        }
        if !weak {
            self.queue(number);
        }
        if within == Within::Bare
            && let Some(from) = self.from
        {
            self.bare.push((from, place));
            self.bare_weak |= weak;
        }
        Ok(id)
    }

    fn class(&mut self, class: TypeId, of: TraitName, name: &dyn Fn() -> String) -> Result<u64> {
        let id = (of.id)();
        if let Some(number) = self.implementors.get(&(class, id)) {
            return Ok(*number);
        }
        let Some(index) = self.registry.implementor(class, id) else {
            return Err(not_registered_yet(&name(), of.name));
        };
        let number = self.numbers.number(index, &self.registry.program().classes);
        self.implementors.insert((class, id), number);
        Ok(number)
    }

    fn foreign_class(&mut self, schema: &Rc<dyn Any>, index: usize) -> Result<u64> {
        match schema.clone().downcast::<Stored>() {
            Ok(schema) => Ok(self.numbers.foreign(&schema, index, self.registry.program())),
            Err(_) => Err(Error::new(ErrorKind::Unsupported, "the class of a kept value is lost")),
        }
    }
}

impl RecordLinks for Links<'_> {
    fn numbers(&mut self) -> &mut ClassNumbers {
        &mut self.numbers
    }
}

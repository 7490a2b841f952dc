//! The list of objects in a save, by their numbers.

use std::rc::Rc;

use crate::codec::{AnyObject, Shared};
use crate::reflect::Pointer;

/// Holds every object that a save visits. While the save runs, the allocator therefore cannot reuse an address for
/// another object, so an address identifies an object.
///
/// The objects are in chunks: a long list grows without a copy, and wastes no capacity.
#[derive(Default)]
pub(super) struct ObjectList {
    chunks: Vec<Chunk>,
    len: usize,
}

/// Number of objects in a chunk.
const CHUNK: usize = 1 << 10;

enum Chunk {
    /// All objects are in an `Rc` and have a size, as in most graphs. Each takes two words.
    Rc(Vec<Rc<dyn AnyObject>>),
    /// Objects in any pointer. Each takes three words.
    Any(Vec<Shared>),
}

impl ObjectList {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub(super) fn push(&mut self, shared: Shared) {
        let place = self.len / CHUNK;
        if place == self.chunks.len() {
            // Only the first chunk may stay small.
            let room = if place == 0 { 0 } else { CHUNK };
            self.chunks.push(Chunk::Rc(Vec::with_capacity(room)));
        }
        self.len += 1;
        match (shared.into_rc(), &mut self.chunks[place]) {
            (Ok(object), Chunk::Rc(objects)) => objects.push(object),
            (Ok(object), Chunk::Any(objects)) => objects.push(object.into()),
            (Err(shared), chunk) => chunk.push(shared),
        }
    }

    /// Returns the object of this number.
    #[inline]
    pub(super) fn get(&self, number: u32) -> Shared {
        let place = number as usize % CHUNK;
        match &self.chunks[number as usize / CHUNK] {
            Chunk::Rc(objects) => objects[place].clone().into(),
            Chunk::Any(objects) => objects[place].clone(),
        }
    }

    /// Returns the object of this number, and the kind of pointer to it.
    pub(super) fn object(&self, number: u32) -> (Pointer, &dyn AnyObject) {
        let place = number as usize % CHUNK;
        match &self.chunks[number as usize / CHUNK] {
            Chunk::Rc(objects) => (Pointer::Rc, &*objects[place]),
            Chunk::Any(objects) => (objects[place].pointer(), objects[place].object()),
        }
    }

    /// Returns the address of the object of this number.
    pub(super) fn address(&self, number: u32) -> usize {
        let place = number as usize % CHUNK;
        match &self.chunks[number as usize / CHUNK] {
            Chunk::Rc(objects) => Rc::as_ptr(&objects[place]).cast::<()>().addr(),
            Chunk::Any(objects) => objects[place].address(),
        }
    }

    /// Removes all objects, and keeps the memory for the next save.
    pub(super) fn clear(&mut self) {
        for chunk in &mut self.chunks {
            match chunk {
                Chunk::Rc(objects) => objects.clear(),
                Chunk::Any(_) => *chunk = Chunk::Rc(Vec::new()),
            }
        }
        self.len = 0;
    }

    /// Returns the bytes of memory in use.
    pub(super) fn size(&self) -> usize {
        let size = |chunk: &Chunk| match chunk {
            Chunk::Rc(objects) => objects.capacity() * size_of::<Rc<dyn AnyObject>>(),
            Chunk::Any(objects) => objects.capacity() * size_of::<Shared>(),
        };
        self.chunks.iter().map(size).sum()
    }
}

impl Chunk {
    /// Adds an object in a pointer of any kind. The chunk changes to the wider form if the object does not fit the
    /// narrow one.
    #[inline(never)]
    fn push(&mut self, shared: Shared) {
        match self {
            Self::Rc(objects) => {
                let mut any = Vec::with_capacity(objects.capacity());
                any.extend(objects.drain(..).map(Shared::from));
                any.push(shared);
                *self = Self::Any(any);
            }
            Self::Any(objects) => objects.push(shared),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn objects_are_found_by_their_numbers_in_any_sort_of_pointer() {
        let mut list = ObjectList::default();
        for sorts in [1, 3, 700, 1] {
            let objects: Vec<Shared> = (0..3000_u32)
                .map(|i| match i % sorts {
                    0 => Shared::from(Rc::new(i) as Rc<dyn AnyObject>),
                    _ => Shared::from(Arc::new(i) as Arc<dyn AnyObject>),
                })
                .collect();
            objects.iter().for_each(|object| list.push(object.clone()));
            for (number, object) in (0..).zip(&objects) {
                assert_eq!(list.get(number).address(), object.address());
                assert_eq!(list.address(number), object.address());
                assert_eq!(list.object(number).0, object.pointer());
                assert_eq!(list.object(number).1.address(), object.address());
            }
            list.clear();
            assert_eq!(list.len(), 0);
        }
    }
}

use std::any::{Any, TypeId};
use std::io::Write;

use super::links::{Links, Met};
use super::{ObjectId, Registry};
use crate::codec::{Buffer, Encoder, NoVisitLinks, Persist, Phase, Shared, Visitor};
use crate::format::{Header, Writer};
use crate::reflect::{Holder, Pointer};
use crate::{Error, ErrorKind, Limits, Result};

/// Saves a graph: a work list of objects, each written once, in the order in
/// which they are met from the roots.
pub(crate) struct Saver<'s> {
    registry: &'s Registry,
    limits: &'s Limits,
    links: Links<'s>,
    /// The type of the last object, and its index: those of one type often follow
    /// one another.
    last: Option<((Pointer, TypeId), usize)>,
}

impl<'s> Saver<'s> {
    /// `next_id` is the first that is free for an object that has none yet.
    pub(crate) fn new(registry: &'s Registry, limits: &'s Limits, next_id: u64) -> Self {
        Self { registry, limits, links: Links::new(registry, limits, next_id), last: None }
    }

    /// Makes an object known by an id of its own; only an added one is written
    /// without being met.
    pub(crate) fn know(&mut self, shared: Shared, id: ObjectId, added: bool) {
        self.links.know(shared, id.get(), added);
    }

    /// Writes the objects that were added and all that they lead to.
    pub(crate) fn save(
        mut self,
        out: &mut dyn Write,
        header: &Header,
        buffer: &mut Buffer,
    ) -> Result<u64> {
        let mut writer = Writer::new(out, header, self.limits, buffer)?;
        let held = self.write_queue(&mut writer)?;
        self.finish(writer, held)
    }

    fn finish(&self, writer: Writer<'_>, held: u64) -> Result<u64> {
        self.links.check()?;
        let total = writer.finish()?;
        self.limits.check_expansion(total, held.saturating_add(self.links.large))?;
        Ok(total)
    }

    /// Writes one value with everything that it leads to.
    pub(crate) fn save_value<T: Persist>(
        mut self,
        value: &T,
        class: usize,
        out: &mut dyn Write,
        header: &Header,
        buffer: &mut Buffer,
    ) -> Result<u64> {
        let mut writer = Writer::new(out, header, self.limits, buffer)?;
        let classes = &self.registry.program().classes[..];
        let id = self.links.take_id();
        let as_value = (Holder::VALUE, true);
        writer
            .record((class, classes), as_value, id, &mut self.links, |out| out.value(value))
            .map_err(|error| {
                let field = self.find_field(value, &mut Buffer::new());
                error.in_field(&field).in_class(&*classes[class].name)
            })?;
        let held = self.write_queue(&mut writer)?;
        self.finish(writer, held)
    }

    /// Writes the objects that are waiting and all that they lead to; returns
    /// what they take in memory, by the sizes of their cells.
    fn write_queue(&mut self, writer: &mut Writer<'_>) -> Result<u64> {
        let registry = self.registry;
        let classes = &registry.program().classes[..];
        let mut next = 0;
        let mut held = 0_u64;
        while let Some(&number) = self.links.queue.get(next) {
            next += 1;
            let Met { shared, id, added, .. } = self.links.objects[number].clone();
            let index = self.object_type(&shared).map_err(|error| error.in_object(id))?;
            let entry = &registry.objects[index];
            held = held.saturating_add(entry.footprint);
            let named = |error: Error| error.in_object(id).in_class(&*classes[entry.class].name);
            self.links.begin(number, index);
            if registry.traits(entry.class).before_save {
                let mut links = NoVisitLinks;
                let mut visitor = Visitor::new(Phase::BeforeSave, self.limits, &mut links);
                shared.object().visit_object(&mut visitor).map_err(named)?;
            }
            let holder = (entry.kind.holder, added);
            writer
                .record((entry.class, classes), holder, id, &mut self.links, |out| {
                    shared.object().encode_object(out)
                })
                .map_err(|error| {
                    let mut field = String::new();
                    shared.object().look(&mut |object| {
                        let mut is_cell = false;
                        (entry.kind.look)(object, &mut |value| {
                            is_cell = true;
                            field = self.find_field(value, &mut Buffer::new());
                        });
                        if !is_cell {
                            field = self.find_field(object, &mut Buffer::new());
                        }
                    });
                    named(error.in_field(&field))
                })?;
        }
        Ok(held)
    }

    /// Index of the object's type in the registry.
    fn object_type(&mut self, shared: &Shared) -> Result<usize> {
        let Some(pointee) = shared.object().pointee() else {
            return Err(Error::new(
                ErrorKind::Borrowed,
                "a trait object is mutably borrowed or locked, so that its class is not known; end the borrow",
            ));
        };
        let key = (shared.pointer(), pointee);
        if let Some((last, index)) = self.last
            && last == key
        {
            return Ok(index);
        }
        let Some(index) = self.registry.by_pointee.get(&key).copied() else {
            return Err(Error::new(
                ErrorKind::Unsupported,
                "the object is of a type that is not registered for such a pointer; register its class, with `register_as` if the pointer is to a trait object",
            ));
        };
        self.last = Some((key, index));
        Ok(index)
    }

    /// The path of the first field that refuses to be encoded on its own; empty
    /// if none does.
    fn find_field(&mut self, value: &dyn Any, buffer: &mut Buffer) -> String {
        let Some((class, access)) = self.registry.access(value) else { return String::new() };
        let fields = match access.variant(value) {
            Some(variant) if !class.variants().is_empty() => class.variants()[variant].fields,
            _ => class.fields(),
        };
        for (i, record) in fields.iter().enumerate() {
            let encode = |out: &mut Encoder<'_>| access.encode_field(value, i, out);
            if buffer.append(0, self.limits, &mut self.links, encode).is_ok() {
                continue;
            }
            let inner = access.field(value, i).map(|field| self.find_field(field, buffer));
            return match inner {
                Some(inner) if !inner.is_empty() => format!("{}.{inner}", record.name),
                _ => record.name.to_owned(),
            };
        }
        String::new()
    }
}

use std::any::Any;
use std::io::Write;

use super::identity::AddressMap;
use super::{ObjectId, Registry};
use crate::codec::{Buffer, Encoder, Object, Persist, Phase, SaveLinks, Shared, Visitor};
use crate::format::{Header, MAX_ID, Writer};
use crate::reflect::Holder;
use crate::{Error, ErrorKind, Limits, Result};

/// Saves a graph: a work list of objects, each written once, in the order in
/// which they are met from the roots.
pub(crate) struct Saver<'s> {
    registry: &'s Registry,
    limits: &'s Limits,
    links: Links,
}

/// Gives out ids and holds on to every object met, so that no address comes
/// back for another object while the save runs.
struct Links {
    map: AddressMap,
    /// By number of the address.
    objects: Vec<Met>,
    /// Numbers of the objects to write, in order.
    queue: Vec<usize>,
    next_id: u64,
    most: u64,
    empty_elements: usize,
    /// Memory of elements that are large for their bytes.
    large: u64,
}

struct Met {
    shared: Shared,
    id: u64,
    queued: bool,
    added: bool,
}

impl<'s> Saver<'s> {
    /// `next_id` is the first that is free for an object that has none yet.
    pub(crate) fn new(registry: &'s Registry, limits: &'s Limits, next_id: u64) -> Self {
        let links = Links {
            map: AddressMap::default(),
            objects: Vec::new(),
            queue: Vec::new(),
            next_id,
            most: limits.objects,
            empty_elements: 0,
            large: 0,
        };
        Self { registry, limits, links }
    }

    /// Makes an object known by an id of its own; only an added one is written
    /// without being met.
    pub(crate) fn know(&mut self, shared: Shared, id: ObjectId, added: bool) {
        let (number, new) = self.links.map.insert(shared.address());
        if new {
            self.links.objects.push(Met { shared, id: id.get(), queued: added, added });
            if added {
                self.links.queue.push(number);
            }
        }
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
        let classes = &self.registry.program().classes;
        let number = writer.define(class, classes)?;
        let id = self.links.next_id;
        self.links.next_id += 1;
        writer
            .record(number, (Holder::Value, true), id, &mut self.links, |out| out.value(value))
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
        let classes = &registry.program().classes;
        let mut next = 0;
        let mut held = 0_u64;
        while let Some(&number) = self.links.queue.get(next) {
            next += 1;
            let met = &self.links.objects[number];
            let (shared, id, added) = (met.shared.clone(), met.id, met.added);
            let Some(entry) =
                registry.by_cell.get(&shared.type_id()).map(|object| registry.objects[*object])
            else {
                return Err(Error::new(
                    ErrorKind::Unsupported,
                    format!("object #{id} is of a type that is not registered; register its class"),
                ));
            };
            held = held.saturating_add(entry.footprint);
            let named = |error: Error| error.in_object(id).in_class(&*classes[entry.class].name);
            if registry.traits(entry.class).before_save {
                let mut connect = |_: &mut dyn crate::codec::Slot| Ok(());
                let mut visitor = Visitor::new(Phase::BeforeSave, self.limits, &mut connect);
                shared.object().visit(&mut visitor).map_err(named)?;
            }
            let number = writer.define(entry.class, classes)?;
            let object: &dyn Object = shared.object();
            writer
                .record(number, (entry.kind.holder, added), id, &mut self.links, |out| {
                    object.encode(out)
                })
                .map_err(|error| {
                    let mut field = String::new();
                    object.look(&mut |value| field = self.find_field(value, &mut Buffer::new()));
                    named(error.in_field(&field))
                })?;
        }
        Ok(held)
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

impl Links {
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

impl SaveLinks for Links {
    fn empty_elements(&mut self) -> &mut usize {
        &mut self.empty_elements
    }

    fn charge_memory(&mut self, bytes: u64, _: &Limits) -> Result<()> {
        // Compared with the bytes of the save when those are known.
        self.large = self.large.saturating_add(bytes);
        Ok(())
    }

    #[inline]
    fn link(&mut self, address: usize, weak: bool, target: &dyn Fn() -> Shared) -> Result<u64> {
        let (number, new) = self.map.insert(address);
        if new {
            self.objects.push(Met {
                shared: target(),
                id: self.next_id,
                queued: false,
                added: false,
            });
            self.next_id += 1;
            if self.objects.len() as u64 > self.most || self.next_id > MAX_ID + 1 {
                return Err(self.too_many());
            }
        }
        let met = &mut self.objects[number];
        if !weak && !met.queued {
            met.queued = true;
            self.queue.push(number);
        }
        Ok(met.id)
    }
}

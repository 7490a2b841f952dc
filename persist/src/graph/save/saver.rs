//! Saves a graph: the work list of objects, each encoded into a record.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use super::super::Registry;
use super::super::registry::ObjectEntry;
use super::super::unknown_at::unknown_at;
use super::pages::{RecordPages, not_written};
use super::targets::{Targets, unknown_in};
use super::{Links, SaveTables};
use crate::codec::{
    Buffer, Encoder, Persist, Phase, Prototypes, SaveLinks, Shared, Stop, Unknown, UnknownAt,
    UnknownPiece, UnknownStep, Visitor, not_registered_yet,
};
use crate::env::Env;
use crate::format::{Header, Sealer, Writer};
use crate::reflect::{Cell, Holder, Pointer};
use crate::types::save_as::SaveAs;
use crate::{Error, ErrorKind, Limits, ObjectId, Result};

/// The unknown data of objects by their ids, and the ids of objects by their addresses.
type UnknownByObject<'s> = (&'s HashMap<ObjectId, Unknown>, &'s HashMap<usize, ObjectId>);

/// Saves a graph. A work list holds the objects to write, and each is written once, in the order in which references
/// first lead to it from the roots.
pub(crate) struct Saver<'s> {
    registry: &'s Registry,
    env: &'s Env<'s>,
    links: Links<'s>,
    /// `unknown` has the unknown data of each object. `unknown_of_root` has that of the root value.
    unknown: Option<UnknownByObject<'s>>,
    unknown_of_root: Option<&'s Unknown>,
    /// The type of the last object: consecutive objects often have one type.
    last: Option<LastType>,
    /// Lists what the next objects refer to, before they are written.
    ahead: Targets<'s>,
    /// The caller's tables: a save that succeeds leaves its memory there for the next one.
    reused_tables: &'s mut SaveTables,
}

/// Number of objects that are prefetched at a time, and the maximum number of bytes that are encoded of each.
const PREFETCHED: usize = 64;
const MAX_PREFETCHED: u64 = 1 << 10;

/// One value that is saved.
pub(crate) struct SavedRoot<'v> {
    pub class: usize,
    /// Visits the value, to write the pages of the values in it.
    pub visit: &'v mut dyn FnMut(&mut Visitor<'_>) -> Result<()>,
    /// Encodes the value.
    pub encode: &'v mut dyn FnMut(&mut Encoder<'_>) -> Result<(), Stop>,
}

/// The data that all objects of a type share.
#[derive(Clone, Copy)]
struct LastType {
    key: (Pointer, TypeId),
    /// Index in the registry.
    index: usize,
    /// Number of the class in the save, or 0 for a type whose objects need [`prepare`](Saver::prepare).
    class: u64,
    holder: Holder,
    footprint: u64,
}

impl<'s> Saver<'s> {
    /// Makes a saver. `next_id` is the first id that is free for an object without one.
    pub(crate) fn new(
        registry: &'s Registry,
        env: &'s Env<'s>,
        next_id: u64,
        tables: &'s mut SaveTables,
    ) -> Self {
        // A save that fails leaves the caller empty tables.
        let links = Links::new(registry, &env.limits, next_id, std::mem::take(tables));
        let ahead = Targets::within(env.within(Limits { bytes: MAX_PREFETCHED, ..env.limits }));
        let (unknown, unknown_of_root, last, reused_tables) = (None, None, None, tables);
        Self { registry, env, links, unknown, unknown_of_root, last, ahead, reused_tables }
    }

    /// Writes the unknown data of each object after it. `ids` has the ids of the objects by their addresses in the
    /// program.
    pub(crate) fn keep(
        &mut self,
        unknown: &'s HashMap<ObjectId, Unknown>,
        ids: &'s HashMap<usize, ObjectId>,
    ) {
        self.unknown = Some((unknown, ids)).filter(|(unknown, _)| !unknown.is_empty());
    }

    /// Writes unknown data after the root value.
    pub(crate) fn keep_of_value(&mut self, unknown: &'s Unknown) {
        self.unknown_of_root = Some(unknown);
    }

    /// Registers an object with the id that it has. Only an added object is written even if no reference leads to it.
    pub(crate) fn know(&mut self, shared: Shared, id: ObjectId, added: bool) {
        self.links.know(shared, id.get(), added);
    }

    /// Writes the added objects and everything that they refer to.
    pub(crate) fn save(
        self,
        out: &mut Sealer<'_>,
        header: &Header,
        buffer: &mut Buffer,
    ) -> Result<()> {
        let writer = Writer::new(out, header, self.env, buffer)?;
        self.finish(writer)
    }

    /// Writes the queued objects and everything that they refer to.
    fn finish(mut self, mut writer: Writer<'_, '_>) -> Result<()> {
        let mut next = 0;
        while let Some(number) = self.links.tables.queue.get(next) {
            if next % PREFETCHED == 0 && self.links.tables.map.is_large() {
                self.prefetch(next);
            }
            next += 1;
            let shared = self.links.tables.objects.get(number);
            self.write_object(number, &shared, &mut writer)?;
            let unknown = self.unknown.and_then(|(all, ids)| all.get(ids.get(&shared.address())?));
            if let Some(unknown) = unknown {
                self.write_unknown_parts(unknown, self.links.id(number), &mut writer)?;
            }
        }
        self.links.check()?;
        writer.finish(self.links.held)?;
        *self.reused_tables = self.links.tables.cleared();
        Ok(())
    }

    /// Writes one value with everything that it refers to.
    pub(crate) fn save_value<T: Persist>(
        self,
        value: &T,
        class: usize,
        out: &mut Sealer<'_>,
        header: &Header,
        buffer: &mut Buffer,
    ) -> Result<()> {
        let field = |saver: &mut Self| saver.find_field(value, &mut Buffer::new());
        let mut visit = |visitor: &mut Visitor<'_>| value.__visit_shared(visitor);
        let value = SavedRoot { class, visit: &mut visit, encode: &mut |out| out.value(value) };
        self.save_root(value, field, out, header, buffer)
    }

    /// Writes the parts of one value as the class that owns them, with everything that they refer to.
    pub(crate) fn save_parts<P: SaveAs>(
        self,
        parts: &P,
        class: usize,
        out: &mut Sealer<'_>,
        header: &Header,
        buffer: &mut Buffer,
    ) -> Result<()> {
        let field = |saver: &mut Self| {
            let buffer = &mut Buffer::new();
            let mut names = P::PARTS.iter().enumerate();
            let refused = names.find_map(|(i, name)| {
                let encode = &|out: &mut Encoder<'_>| parts.encode_part(i, out);
                saver.refused_field(name, parts.part(i)?.value(), encode, buffer)
            });
            refused.unwrap_or_default()
        };
        let mut visit = |visitor: &mut Visitor<'_>| parts.visit_parts(visitor);
        let encode = &mut |out: &mut Encoder<'_>| parts.encode_parts(out);
        let value = SavedRoot { class, visit: &mut visit, encode };
        self.save_root(value, field, out, header, buffer)
    }

    /// Writes one value with everything that it refers to. `field` returns the path of the field that refuses to be
    /// encoded.
    pub(crate) fn save_root(
        mut self,
        value: SavedRoot<'_>,
        field: impl FnOnce(&mut Self) -> String,
        out: &mut Sealer<'_>,
        header: &Header,
        buffer: &mut Buffer,
    ) -> Result<()> {
        let mut writer = Writer::new(out, header, self.env, buffer)?;
        let SavedRoot { class, visit, encode } = value;
        let classes = &self.registry.program().classes[..];
        let id = self.links.take_id();
        let number = self.links.class_number(class)?;
        let written = self
            .write_pages(class, id, visit, &mut writer)
            .and_then(|()| writer.record(number, Holder::VALUE, true, id, &mut self.links, encode));
        written
            .and_then(|()| self.check_pages())
            .map_err(|error| match error.field() {
                // The visit that writes pages has named it.
                Some(_) => error,
                None => error.in_field(&field(&mut self)),
            })
            .map_err(|error| error.in_class(&*classes[class].name))?;
        if let Some(unknown) = self.unknown_of_root {
            self.write_unknown_parts(unknown, id, &mut writer)?;
        }
        self.finish(writer)
    }

    /// Writes the pages of the values in a record, before it.
    fn write_pages(
        &mut self,
        class: usize,
        id: u64,
        visit: &mut dyn FnMut(&mut Visitor<'_>) -> Result<()>,
        writer: &mut Writer<'_, '_>,
    ) -> Result<()> {
        if !self.registry.traits(class).pages {
            return Ok(());
        }
        let mut pages = RecordPages::new(&mut self.links, writer, self.env, id);
        visit(&mut Visitor::new(Phase::Pages, self.env, &mut pages))
    }

    /// Checks that the values whose pages were written are in the record.
    #[inline]
    fn check_pages(&mut self) -> Result<()> {
        if self.links.pages.is_empty() {
            return Ok(());
        }
        self.links.pages.clear();
        Err(not_written())
    }

    /// Writes the unknown data of an object, after its record.
    fn write_unknown_parts(
        &mut self,
        unknown: &Unknown,
        id: u64,
        writer: &mut Writer<'_, '_>,
    ) -> Result<()> {
        self.links.begin_unknown();
        let is_same = |a: &UnknownPiece, b: &UnknownPiece| match (&a.path, &b.path) {
            (Some(a), Some(b)) => Arc::ptr_eq(a, b),
            _ => false,
        };
        unknown.pieces.chunk_by(is_same).try_for_each(|pieces| match &pieces[0].path {
            None => self.write_piece(&pieces[0], Holder::VALUE, false, id, writer),
            Some(path) => self.write_parts(path, pieces, id, writer),
        })
    }

    /// Writes what is unknown of a part of an object.
    fn write_parts(
        &mut self,
        path: &[UnknownStep],
        pieces: &[UnknownPiece],
        id: u64,
        writer: &mut Writer<'_, '_>,
    ) -> Result<()> {
        let Some((schema, class)) = unknown_at() else { return Ok(()) };
        let number = self.links.unknown_class(schema, class)?;
        writer
            .record(number, Holder::VALUE, false, id, &mut self.links, |out| {
                UnknownAt::encode(path, pieces, out)
            })
            .map_err(|error| error.in_object(id).in_class(&*pieces[0].class.name))
    }

    /// Writes a value of an unknown class.
    fn write_piece(
        &mut self,
        piece: &UnknownPiece,
        holder: Holder,
        added: bool,
        id: u64,
        writer: &mut Writer<'_, '_>,
    ) -> Result<()> {
        let number = self.links.unknown_class(&piece.class.schema, piece.class.index)?;
        writer
            .record(number, holder, added, id, &mut self.links, |out| piece.encode(out))
            .map_err(|error| error.in_object(id).in_class(&*piece.class.name))
    }

    /// Reads the slots of the next objects, so that they are in the cache when needed. If the last objects referred far
    /// away, it reads the slots of everything that the next objects refer to, and otherwise those of the objects after
    /// them. Without the former, a save of a million objects with random references takes 1.4 times as long. The list
    /// is a hint: the result of a save does not depend on it.
    #[cold]
    fn prefetch(&mut self, next: usize) {
        let leads_far = self.links.leads_far(PREFETCHED);
        let SaveTables { map, objects, queue, .. } = &self.links.tables;
        let numbers = |next| (next..next + PREFETCHED).map_while(|place| queue.get(place));
        if leads_far {
            let targets = numbers(next).map(|number| objects.object(number).1);
            map.touch(self.ahead.of_all(targets).iter().copied());
        } else {
            map.touch(numbers(next + PREFETCHED).map(|number| objects.address(number)));
        }
    }

    fn write_object(
        &mut self,
        number: u32,
        shared: &Shared,
        writer: &mut Writer<'_, '_>,
    ) -> Result<()> {
        let (id, added) = self.links.id_and_added(number);
        let pointee = shared.object().seen_pointee();
        let of = match (self.last, pointee) {
            (Some(last), Some(pointee)) if last.key == (shared.pointer(), pointee) => last,
            _ => match unknown_in(shared) {
                Some(cell) => {
                    self.links.begin_unknown();
                    let unknown = cell.try_borrow().map_err(|_| borrowed())?;
                    return self.write_unknown(&unknown, None, added, id, writer);
                }
                None => {
                    let of = self.object_type(number, shared, pointee);
                    of.map_err(|error| error.in_object(id))?
                }
            },
        };
        self.links.begin(number, of.holder.is_built());
        self.links.held = self.links.held.saturating_add(of.footprint);
        let registry = self.registry;
        let entry = || &registry.objects[of.index];
        let class = if of.class > 0 {
            of.class
        } else if self.prepare(shared, entry(), id, added, writer)? {
            return Ok(());
        } else {
            self.links.class_number(entry().class)?
        };
        writer
            .record(class, of.holder, added, id, &mut self.links, |out| {
                shared.object().encode_object(out)
            })
            .and_then(|()| self.check_pages())
            .map_err(|error| self.refused(error, shared, entry()).in_object(id))
    }

    /// Runs the hooks of an object before it is written. Returns true if the object is a stand-in: then it has been
    /// written as the data that it holds.
    #[cold]
    fn prepare(
        &mut self,
        shared: &Shared,
        entry: &ObjectEntry,
        id: u64,
        added: bool,
        writer: &mut Writer<'_, '_>,
    ) -> Result<bool> {
        let name = &self.registry.program().classes[entry.class].name;
        let named = |error: Error| error.in_object(id).in_class(&**name);
        if self.registry.traits(entry.class).before_save {
            let mut links = Prototypes::bare();
            let mut visitor = Visitor::new(Phase::BeforeSave, self.env, &mut links);
            shared.object().visit_object(&mut visitor).map_err(named)?;
        }
        if self.registry.validates_saves(entry.class) {
            let mut links = Prototypes::bare();
            let mut visitor = Visitor::new(Phase::Validate, self.env, &mut links);
            shared.object().visit_object(&mut visitor).map_err(named)?;
        }
        let mut visit = |visitor: &mut Visitor<'_>| shared.object().visit_object(visitor);
        self.write_pages(entry.class, id, &mut visit, writer)
            .map_err(|error| self.refused(error, shared, entry).in_object(id))?;
        let Some(stand_in) = self.registry.implementors().stand_in(entry.class) else {
            return Ok(false);
        };
        let mut written = None;
        let (wait, holder) = (self.env.limits.lock_wait, Some(entry.kind.holder));
        inspect(shared, entry, wait, &mut |value| {
            written = (stand_in.unknown)(value)
                .map(|unknown| self.write_unknown(unknown, holder, added, id, writer));
        });
        written.unwrap_or_else(|| Err(borrowed())).map_err(named)?;
        Ok(true)
    }

    /// Adds the field and the class to the error of an object that was not encoded.
    #[cold]
    fn refused(&mut self, error: Error, shared: &Shared, entry: &ObjectEntry) -> Error {
        let mut field = String::new();
        let is_named = error.field().is_some();
        inspect(shared, entry, Duration::ZERO, &mut |value| {
            field = self.find_field(value, &mut Buffer::new());
        });
        let error = if is_named { error } else { error.in_field(&field) };
        error.in_class(&*self.registry.program().classes[entry.class].name)
    }

    /// Writes an object of an unknown class in the form in which it was loaded.
    fn write_unknown(
        &mut self,
        unknown: &Unknown,
        holder: Option<Holder>,
        added: bool,
        id: u64,
        writer: &mut Writer<'_, '_>,
    ) -> Result<()> {
        // Without a stand-in, the object has the holder that it had in its save.
        let holder = holder.or(unknown.holder).unwrap_or(Holder::new(Pointer::Rc, Cell::RefCell));
        self.write_piece(unknown.value()?, holder, added, id, writer)
    }

    #[cold]
    fn unregistered(&self, number: u32, shared: &Shared) -> Error {
        let class = shared.object().class_name();
        match (&class, self.links.trait_of(number)) {
            (Some(class), Some(of)) => not_registered_yet(class, of.name),
            _ => error!(
                ErrorKind::Unsupported,
                "the object is of {} that is not registered for such a pointer; register its class, with `register_as` if the pointer is to a trait object",
                class.map_or_else(|| String::from("a type"), |class| format!("class {class}"))
            ),
        }
    }

    /// Returns the type of an object. `seen` is the type behind the pointer, if the pointer alone shows it.
    fn object_type(
        &mut self,
        number: u32,
        shared: &Shared,
        seen: Option<TypeId>,
    ) -> Result<LastType> {
        let pointee = match seen {
            Some(pointee) => pointee,
            None => shared.object().pointee(self.env.limits.lock_wait)?,
        };
        let key = (shared.pointer(), pointee);
        let found = match self.last.filter(|last| last.key == key) {
            Some(last) => last,
            None => {
                let Some(index) = self.registry.by_pointee.get(&key).copied() else {
                    return Err(self.unregistered(number, shared));
                };
                let ObjectEntry { kind, class } = self.registry.objects[index];
                let traits = self.registry.traits(class);
                let takes_more = traits.before_save
                    || traits.pages
                    || self.registry.validates_saves(class)
                    || self.registry.implementors().stand_in(class).is_some();
                LastType {
                    key,
                    index,
                    class: if takes_more { 0 } else { self.links.class_number(class)? },
                    holder: kind.holder,
                    footprint: self.registry.footprint(index),
                }
            }
        };
        self.last = Some(found);
        if seen.is_none() {
            self.links.see(number, found.index);
        }
        Ok(found)
    }

    /// Returns the path of the first field that refuses to be encoded on its own, or an empty string.
    fn find_field(&mut self, value: &dyn Any, buffer: &mut Buffer) -> String {
        let Some((_, target)) = self.registry.entry(value) else { return String::new() };
        let access = target.access;
        for (i, record) in target.fields_of(value).iter().enumerate() {
            // The parts of a time or an inclusive range cannot be reached.
            let Some(field) = access.field(value, i) else { break };
            let encode = &|out: &mut Encoder<'_>| access.encode_field(value, i, out);
            if let Some(path) = self.refused_field(record.name, Some(field), encode, buffer) {
                return path;
            }
        }
        String::new()
    }

    /// Returns the path of the refused part in a field of this name and value, or `None` if the field is encoded.
    fn refused_field(
        &mut self,
        name: &str,
        value: Option<&dyn Any>,
        encode: &dyn Fn(&mut Encoder<'_>) -> Result<(), Stop>,
        buffer: &mut Buffer,
    ) -> Option<String> {
        buffer.clear();
        if buffer.append(self.env, &mut self.links, encode).is_ok() {
            return None;
        }
        let inner = value.map(|value| self.find_field(value, buffer)).unwrap_or_default();
        Some(if inner.is_empty() { name.to_owned() } else { format!("{name}.{inner}") })
    }
}

/// Passes the value of an object to `with`, from inside its cell if it has one. Does nothing if the object stays
/// borrowed or locked for longer than `wait`.
fn inspect(shared: &Shared, entry: &ObjectEntry, wait: Duration, with: &mut dyn FnMut(&dyn Any)) {
    shared.object().inspect(wait, &mut |object| {
        let mut is_cell = false;
        (entry.kind.inspect)(object, wait, &mut |value| {
            is_cell = true;
            with(value);
        });
        if !is_cell {
            with(object);
        }
    });
}

#[cold]
fn borrowed() -> Error {
    error!(
        ErrorKind::Borrowed,
        "a stand-in is borrowed or locked while it is saved; end the borrow"
    )
}

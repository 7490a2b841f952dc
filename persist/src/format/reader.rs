use byteorder::{ByteOrder, LittleEndian};

use super::definition::{self, Bad};
use super::header::newer;
use super::{
    ADDED, BLOCK_HEAD, BLOCK_RECORDS, BLOCK_TRAILER, Header, MAX_ID, SEPARATOR, TRAILER_SIZE,
};
use crate::codec::{Decoder, Fail, NoLinks, count};
use crate::reflect::Holder;
use crate::schema::{ClassSchema, Form, KindSchema};
use crate::{Error, ErrorKind, Limits, Result};

/// A save whose structure has been read and found whole.
pub(crate) struct Scan {
    pub(crate) header: Header,
    pub(crate) classes: Vec<ClassSchema>,
    /// In file order.
    pub(crate) records: Vec<RecordPlace>,
}

/// Where a record lies in the save, and what it says of itself.
#[derive(Clone, Copy)]
pub(crate) struct RecordPlace {
    pub(crate) id: u64,
    /// First byte of the payload.
    pub(crate) start: usize,
    pub(crate) length: u32,
    /// Index of its class in the save.
    pub(crate) class: u32,
    pub(crate) holder: Holder,
    pub(crate) added: bool,
}

impl RecordPlace {
    pub(crate) fn payload<'s>(&self, save: &'s [u8]) -> &'s [u8] {
        // The scan has found the payload inside the save.
        save.get(self.start..self.start + self.length as usize).unwrap_or_default()
    }
}

pub(super) fn cut_short(length: usize) -> Error {
    Error::new(
        ErrorKind::Truncated,
        format!("the save is cut short, it ends after {length} bytes; restore a backup"),
    )
    .at(length as u64)
}

fn damaged(at: usize, what: &str) -> Error {
    Error::new(ErrorKind::Damaged, format!("the save is damaged: {what}; restore a backup"))
        .at(at as u64)
}

/// Reads the structure of a save: every checksum, definition and record head,
/// no payload.
pub(crate) fn scan(save: &[u8], limits: &Limits) -> Result<Scan> {
    if save.len() as u64 > limits.bytes {
        let (length, limit) = (save.len(), limits.bytes);
        return Err(Error::new(
            ErrorKind::TooLarge,
            format!(
                "the save has {length} bytes, over the limit of {limit}; raise `Limits::bytes`"
            ),
        ));
    }
    let (header, mut at) = Header::parse(save)?;
    let mut scan = Scan { header, classes: Vec::new(), records: Vec::new() };
    loop {
        let head = save.get(at..).unwrap_or_default();
        if head.first() == Some(&BLOCK_TRAILER) {
            return scan.end(save, at);
        }
        let Some(head) = head.get(..BLOCK_HEAD) else { return Err(cut_short(save.len())) };
        let start = at + BLOCK_HEAD;
        let end = start.saturating_add(LittleEndian::read_u32(&head[1..]) as usize);
        let (Some(block), Some(crc)) = (save.get(at..end), save.get(end..end.saturating_add(4)))
        else {
            return Err(cut_short(save.len()));
        };
        if crc32fast::hash(block) != LittleEndian::read_u32(crc) {
            return Err(damaged(
                at,
                &format!("the checksum of the block of {} bytes here does not match", block.len()),
            ));
        }
        if block[0] != BLOCK_RECORDS {
            return Err(newer(at as u64, "block tag", u64::from(block[0])));
        }
        scan.block(save, start, end, limits)?;
        at = end + 4;
    }
}

impl Scan {
    fn end(mut self, save: &[u8], at: usize) -> Result<Self> {
        let Some(trailer) = save.get(at..at + TRAILER_SIZE) else {
            return Err(cut_short(save.len()));
        };
        let (content, crc) = trailer.split_at(TRAILER_SIZE - 4);
        if crc32fast::hash(content) != LittleEndian::read_u32(crc) {
            return Err(damaged(at, "the checksum of the trailer does not match"));
        }
        let word = |i: usize| LittleEndian::read_u64(&content[1 + 8 * i..]);
        if save.len() > at + TRAILER_SIZE {
            return Err(damaged(at + TRAILER_SIZE, "there are bytes behind its end"));
        }
        let found = [self.records.len() as u64, self.classes.len() as u64, save.len() as u64];
        let names = ["records", "definitions", "bytes"];
        for (i, (found, name)) in found.into_iter().zip(names).enumerate() {
            if word(i) != found {
                return Err(damaged(
                    at,
                    &format!("the trailer counts {} {name}, there are {found}", word(i)),
                ));
            }
        }
        self.check_classes()?;
        Ok(self)
    }

    fn block(&mut self, save: &[u8], start: usize, end: usize, limits: &Limits) -> Result<()> {
        let mut links = NoLinks::default();
        let mut input = Decoder::new(&save[start..end], limits, &mut links);
        while !input.rest().is_empty() {
            let at = end - input.rest().len();
            let malformed = |fail: Fail| {
                damaged(
                    at,
                    &format!("the record here is malformed ({})", Error::from(fail).message()),
                )
            };
            let number = count::decode(&mut input).map_err(malformed)?;
            let is_definition = number == 0;
            let head =
                if is_definition { None } else { Some(self.record_head(number, at, &mut input)?) };
            let length: u32 = input.value().map_err(malformed)?;
            let start = end - input.rest().len();
            let body = input.take(length as usize).map_err(malformed)?;
            if input.take(1) != Ok(&[SEPARATOR]) {
                return Err(damaged(at, "the record here does not end with its separator"));
            }
            match head {
                None => self.definition(body, start, limits)?,
                Some(record) => self.record(RecordPlace { start, length, ..record }, at, limits)?,
            }
        }
        Ok(())
    }

    fn record_head(&self, number: u64, at: usize, input: &mut Decoder<'_>) -> Result<RecordPlace> {
        let malformed = |_| damaged(at, "the record here is malformed");
        let class = number - 1;
        if class >= self.classes.len() as u64 {
            return Err(damaged(
                at,
                &format!(
                    "the record here is of class number {number}, which is not defined before it"
                ),
            ));
        }
        let code: u8 = input.value().map_err(malformed)?;
        let holder = Holder::from_code(code & !ADDED)
            .ok_or_else(|| newer(at as u64, "holder", u64::from(code & !ADDED)))?;
        let id = count::decode(input).map_err(malformed)?;
        if id == 0 || id > MAX_ID {
            let what = format!("the record here has object id {id}, ids are 1 to {MAX_ID}");
            return Err(damaged(at, &what));
        }
        // The number of classes is bounded by their bytes, of which there are fewer than 2^32.
        let class = u32::try_from(class).map_err(|_| damaged(at, "there are too many classes"))?;
        Ok(RecordPlace { id, start: 0, length: 0, class, holder, added: code & ADDED != 0 })
    }

    fn record(&mut self, record: RecordPlace, at: usize, limits: &Limits) -> Result<()> {
        if self.records.len() as u64 >= limits.objects {
            let limit = limits.objects;
            return Err(Error::new(
                ErrorKind::TooLarge,
                format!(
                    "the save has more objects than the limit of {limit}; raise `Limits::objects`"
                ),
            )
            .at(at as u64));
        }
        self.records.push(record);
        Ok(())
    }

    fn definition(&mut self, body: &[u8], start: usize, limits: &Limits) -> Result<()> {
        let mut links = NoLinks::default();
        let mut input = Decoder::new(body, limits, &mut links);
        let result = definition::read(&mut input);
        let at = start + body.len() - input.rest().len();
        match result {
            Ok(class) if input.rest().is_empty() => {
                self.classes.push(class);
                Ok(())
            }
            Ok(class) => Err(damaged(at, "a definition is longer than its content").in_class(class.name)),
            Err(Bad::Fail(fail)) => {
                Err(damaged(at, &format!("a definition is malformed ({})", Error::from(fail).message())))
            }
            Err(Bad::Unknown { what, tag, field }) => Err(Error::new(
                ErrorKind::UnknownKind,
                format!("the save describes a field by {what} {tag:#x}, which this version of the library does not know; load it with a newer version of the program"),
            )
            .at(at.saturating_sub(1) as u64)
            .in_field(&field)),
        }
    }

    /// Checks what a definition alone cannot: ids, and that the classes it
    /// mentions are defined and end.
    fn check_classes(&mut self) -> Result<()> {
        let mut ids = std::collections::HashSet::new();
        for class in &self.classes {
            if !ids.insert(class.id) {
                return Err(Error::new(
                    ErrorKind::DuplicateId,
                    format!("class id {} is defined twice in the save", class.id),
                )
                .in_class(&*class.name));
            }
            class
                .kinds()
                .try_for_each(|kind| self.check_kind(kind))
                .map_err(|error| error.in_class(&*class.name))?;
        }
        self.check_endless()
    }

    fn check_kind(&self, kind: &KindSchema) -> Result<()> {
        match kind {
            KindSchema::Option(inner)
            | KindSchema::List(inner)
            | KindSchema::Set(inner)
            | KindSchema::Array(inner, _) => self.check_kind(inner),
            KindSchema::Map(parts) => {
                self.check_kind(&parts.0).and_then(|()| self.check_kind(&parts.1))
            }
            KindSchema::Tuple(parts) => parts.iter().try_for_each(|part| self.check_kind(part)),
            KindSchema::Class(class) | KindSchema::Reference { class, .. }
                if *class >= self.classes.len() =>
            {
                Err(Error::new(
                    ErrorKind::Damaged,
                    format!("class number {} is mentioned, but not defined", class + 1),
                ))
            }
            _ => Ok(()),
        }
    }

    /// A struct that holds itself by value has no bytes that could be its own;
    /// nothing that this library wrote has one. (Enums end with another variant.)
    fn check_endless(&mut self) -> Result<()> {
        #[derive(Clone, Copy, PartialEq)]
        enum Mark {
            New,
            Open,
            Done,
        }
        fn inner(kind: &KindSchema, found: &mut Vec<usize>) {
            match kind {
                KindSchema::Array(part, len) if *len > 0 => inner(part, found),
                KindSchema::Tuple(parts) => parts.iter().for_each(|part| inner(part, found)),
                KindSchema::Class(class) => found.push(*class),
                _ => {}
            }
        }
        let mut marks = vec![Mark::New; self.classes.len()];
        for root in 0..self.classes.len() {
            // An explicit stack: the classes are as many as the file says.
            let mut stack = vec![(root, false)];
            while let Some((class, leave)) = stack.pop() {
                if leave {
                    marks[class] = Mark::Done;
                    // The classes inside are done.
                    self.classes[class].empty = match &self.classes[class].form {
                        Form::Struct(fields) => {
                            fields.iter().all(|field| field.kind.is_empty(&self.classes))
                        }
                        Form::Value(kind) => kind.is_empty(&self.classes),
                        Form::Enum(_) => false,
                    };
                    continue;
                }
                match marks[class] {
                    Mark::Done => continue,
                    Mark::Open => {
                        return Err(Error::new(
                            ErrorKind::Damaged,
                            "a struct is defined as holding itself by value",
                        )
                        .in_class(&*self.classes[class].name));
                    }
                    Mark::New => {}
                }
                marks[class] = Mark::Open;
                stack.push((class, true));
                let mut found = Vec::new();
                match &self.classes[class].form {
                    Form::Struct(fields) => {
                        fields.iter().for_each(|field| inner(&field.kind, &mut found));
                    }
                    Form::Value(kind) => inner(kind, &mut found),
                    Form::Enum(_) => {}
                }
                // A class that is waiting twice is not open twice.
                found.sort_unstable();
                found.dedup();
                stack.extend(found.into_iter().map(|class| (class, false)));
            }
        }
        Ok(())
    }
}

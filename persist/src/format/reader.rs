use byteorder::{ByteOrder, LittleEndian};

use super::broken::{cut_short, damaged};
use super::definition::{self, Bad, Why};
use super::ends::Trailer;
use super::header::newer;
use super::records::{RecordPlace, Records};
use super::{
    ADDED, BLOCK_DEFINITIONS, BLOCK_HEAD, BLOCK_RECORDS, BLOCK_TRAILER, CRC_SIZE, DEFINITION_HEAD,
    Header, MAX_ID, SEPARATOR, TRAILER_SIZE,
};
use crate::codec::{Decoder, Fail, NoLinks, count};
use crate::env::Env;
use crate::reflect::Holder;
use crate::schema::{ClassSchema, KindSchema, inner_first};
use crate::{Error, ErrorKind, Limits, Result};

/// A save whose structure has been read and found whole.
pub(crate) struct Scan {
    pub(crate) header: Header,
    pub(crate) classes: Vec<ClassSchema>,
    /// In file order.
    pub(crate) records: Records,
}

/// Reads the structure of a save: every checksum, definition and record head,
/// no payload.
pub(crate) fn scan(save: &[u8], limits: &Limits) -> Result<Scan> {
    scan_definitions(save, limits).map(|(scan, _)| scan)
}

/// Like [`scan`], with the offsets of the definitions.
pub(crate) fn scan_definitions(save: &[u8], limits: &Limits) -> Result<(Scan, Vec<usize>)> {
    outline(save, limits)?.read(limits)
}

/// Reads the structure of a save, but no definition.
pub(crate) fn outline<'s>(save: &'s [u8], limits: &Limits) -> Result<Outline<'s>> {
    let (header, at) = Header::parse(save)?;
    limits.check_metadata(header.metadata_length())?;
    let mut scanner = Scanner::new(header, counted_records(save));
    match scanner.blocks(save, at, limits) {
        Ok(()) => Ok(scanner.outline),
        Err(error) => Err(scanner.outline.first_fault(error, limits)),
    }
}

/// The fewest bytes of a record: class, holder, id, length and separator.
const LEAST_RECORD: usize = 8;

/// How many records the trailer counts, as far as the save has the bytes for them. Nothing
/// is checked yet.
fn counted_records(save: &[u8]) -> usize {
    let trailer = save.last_chunk::<TRAILER_SIZE>().map_or(0, |t| LittleEndian::read_u64(&t[1..]));
    usize::try_from(trailer).unwrap_or(usize::MAX).min(save.len() / LEAST_RECORD)
}

/// A block whose checksum is right.
pub(super) struct Block {
    pub(super) tag: u8,
    /// Where it begins, and where its content ends.
    pub(super) at: usize,
    pub(super) end: usize,
}

impl Block {
    pub(super) fn read(save: &[u8], at: usize) -> Result<Self> {
        let head = save.get(at..).and_then(|rest| rest.get(..BLOCK_HEAD));
        let Some(head) = head else { return Err(cut_short(save.len())) };
        let length = LittleEndian::read_u32(&head[1..]) as usize;
        let end = (at + BLOCK_HEAD).saturating_add(length);
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
        Ok(Self { tag: block[0], at, end })
    }
}

/// Reads the trailer, which ends the save.
pub(super) fn trailer(save: &[u8], at: usize) -> Result<Trailer> {
    let Some(bytes) = save.get(at..).and_then(|rest| rest.first_chunk()) else {
        return Err(cut_short(save.len()));
    };
    let Some(trailer) = Trailer::read(bytes) else {
        return Err(damaged(at, "the checksum of the trailer does not match"));
    };
    if save.len() > at + TRAILER_SIZE {
        return Err(damaged(at + TRAILER_SIZE, "there are bytes after its end"));
    }
    check_count(at, trailer.length, save.len(), "bytes")?;
    Ok(trailer)
}

fn check_count(at: usize, told: u64, found: usize, what: &str) -> Result<()> {
    if told == found as u64 {
        return Ok(());
    }
    Err(damaged(at, &format!("the trailer counts {told} {what}, there are {found}")))
}

/// A definition that has not been read yet.
#[derive(Clone, Copy)]
pub(crate) struct Definition<'s> {
    /// Where it begins, with its head.
    at: usize,
    /// Where its body begins.
    start: usize,
    pub(crate) body: &'s [u8],
}

/// The structure of a save whose definitions have not been read.
pub(crate) struct Outline<'s> {
    pub(crate) header: Header,
    pub(crate) definitions: Vec<Definition<'s>>,
    /// In file order.
    pub(crate) records: Records,
}

impl Outline<'_> {
    /// Reads the definitions, and checks what none of them shows alone: ids, and that the classes they mention are
    /// defined and end.
    pub(crate) fn classes(&self, limits: &Limits) -> Result<Vec<ClassSchema>> {
        let classes = self.read_each(limits)?;
        self.check(&classes)?;
        Ok(classes)
    }

    /// The scan that this is with its definitions, and their offsets.
    pub(super) fn read(self, limits: &Limits) -> Result<(Scan, Vec<usize>)> {
        let classes = self.classes(limits)?;
        let Self { header, definitions, records } = self;
        Ok((Scan { header, classes, records }, definitions.iter().map(|it| it.at).collect()))
    }

    /// The error of a scan that failed: a definition before that place may be malformed.
    #[cold]
    pub(super) fn first_fault(&self, error: Error, limits: &Limits) -> Error {
        self.read_each(limits).err().unwrap_or(error)
    }

    fn read_each(&self, limits: &Limits) -> Result<Vec<ClassSchema>> {
        self.definitions.iter().map(|definition| definition.read(limits)).collect()
    }

    fn check(&self, classes: &[ClassSchema]) -> Result<()> {
        let mut ids = std::collections::HashSet::new();
        for (class, definition) in classes.iter().zip(&self.definitions) {
            let at = definition.at;
            if !ids.insert(class.id) {
                return Err(Error::new(
                    ErrorKind::DuplicateId,
                    format!("class id {} is defined twice in the save; restore a backup", class.id),
                )
                .at(at as u64)
                .in_class(&*class.name));
            }
            if let Some(number) = class.kinds().find_map(|kind| undefined(kind, classes.len())) {
                let what = format!("class number {number} is mentioned, but not defined");
                return Err(damaged(at, &what).in_class(&*class.name));
            }
        }
        // Nothing that this library wrote has such a class.
        if let Err(class) = inner_first(classes) {
            let what = "a class is defined as holding itself by value, without an end";
            let at = self.definitions[class].at;
            return Err(damaged(at, what).in_class(&*classes[class].name));
        }
        Ok(())
    }
}

impl Definition<'_> {
    fn read(&self, limits: &Limits) -> Result<ClassSchema> {
        let mut links = NoLinks::default();
        let env = Env::bare(limits);
        let mut input = Decoder::new(self.body, &env, &mut links);
        let result = definition::read(&mut input);
        let end = self.start + self.body.len() - input.rest().len();
        match result {
            Ok(class) if input.rest().is_empty() => Ok(class),
            Ok(class) => {
                Err(damaged(end, "a definition is longer than its content").in_class(class.name))
            }
            Err(bad) => Err(refuse(*bad, end)),
        }
    }
}

/// A scan under way.
pub(super) struct Scanner<'s> {
    pub(super) outline: Outline<'s>,
    /// Classes from this index on are not known, though they may be defined: their numbers are lost.
    ignored: usize,
}

impl<'s> Scanner<'s> {
    /// With room for that many records.
    pub(super) fn new(header: Header, records: usize) -> Self {
        let records = Records::with_capacity(records);
        let outline = Outline { header, definitions: Vec::new(), records };
        Self { outline, ignored: usize::MAX }
    }

    /// How many classes have been defined.
    pub(super) fn classes(&self) -> usize {
        self.outline.definitions.len()
    }

    /// Takes definitions from elsewhere, as those of all classes: what is defined from now on is passed over.
    pub(super) fn define_all(&mut self, definitions: &[&'s [u8]]) {
        let definitions = definitions.iter().map(|body| Definition { at: 0, start: 0, body });
        self.outline.definitions.extend(definitions);
        self.ignored = self.classes();
    }

    /// Passes over what is defined from now on, and the records of classes from this index on.
    pub(super) fn ignore_classes_from(&mut self, class: usize) {
        self.ignored = class;
    }

    /// Reads the blocks of a whole save, from the offset of the first one on.
    fn blocks(&mut self, save: &'s [u8], mut at: usize, limits: &Limits) -> Result<()> {
        while save.get(at) != Some(&BLOCK_TRAILER) {
            let block = Block::read(save, at)?;
            match block.tag {
                BLOCK_RECORDS => self.block(save, at + BLOCK_HEAD, block.end, limits)?,
                BLOCK_DEFINITIONS => self.copies(save, &block)?,
                tag => return Err(newer(at as u64, "block tag", u64::from(tag))),
            }
            at = block.end + CRC_SIZE;
        }
        let trailer = trailer(save, at)?;
        check_count(at, trailer.records, self.outline.records.len(), "records")?;
        check_count(at, trailer.definitions, self.classes(), "definitions")
    }

    /// Checks a block of the definitions once more, which ends the save but for its trailer.
    fn copies(&self, save: &[u8], block: &Block) -> Result<()> {
        let mut rest = &save[block.at + BLOCK_HEAD..block.end];
        for Definition { at, body, .. } in &self.outline.definitions {
            let definition = &save[*at..at + DEFINITION_HEAD + body.len() + 1];
            let other = || damaged(block.at, "the definitions are not the same the second time");
            rest = rest.strip_prefix(definition).ok_or_else(other)?;
        }
        let is_last = matches!(save.get(block.end + CRC_SIZE), None | Some(&BLOCK_TRAILER));
        if rest.is_empty() && is_last {
            return Ok(());
        }
        Err(damaged(block.at, "there is more than the definitions of the blocks before"))
    }

    pub(super) fn block(
        &mut self,
        save: &'s [u8],
        start: usize,
        end: usize,
        limits: &Limits,
    ) -> Result<()> {
        let mut links = NoLinks::default();
        let env = Env::bare(limits);
        let mut input = Decoder::new(&save[start..end], &env, &mut links);
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
            input.take(length as usize).map_err(malformed)?;
            if input.take(1) != Ok(&[SEPARATOR]) {
                return Err(damaged(at, "the record here does not end with its separator"));
            }
            match head {
                None if self.ignored < usize::MAX => {}
                None => {
                    let body = &save[start..start + length as usize];
                    self.outline.definitions.push(Definition { at, start, body });
                }
                Some(record) if record.class as usize >= self.ignored => {}
                Some(record) => self.record(RecordPlace { start, ..record }, at, limits)?,
            }
        }
        Ok(())
    }

    fn record_head(&self, number: u64, at: usize, input: &mut Decoder<'_>) -> Result<RecordPlace> {
        let malformed = |_| damaged(at, "the record here is malformed");
        let class = number - 1;
        if class >= self.classes() as u64 && self.ignored == usize::MAX {
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
        // So many are not in memory.
        let class = u32::try_from(class).ok().filter(|class| *class < Records::MOST_CLASSES);
        let Some(class) = class else { return Err(damaged(at, "there are too many classes")) };
        Ok(RecordPlace { id, start: 0, class, holder, added: code & ADDED != 0 })
    }

    fn record(&mut self, record: RecordPlace, at: usize, limits: &Limits) -> Result<()> {
        if self.outline.records.len() as u64 >= limits.objects {
            let limit = limits.objects;
            return Err(Error::new(
                ErrorKind::TooLarge,
                format!(
                    "the save has more objects than the limit of {limit}; raise `Limits::objects`"
                ),
            )
            .at(at as u64));
        }
        self.outline.records.push(record);
        Ok(())
    }
}

/// The number of a class that the kind mentions and that is not there.
fn undefined(kind: &KindSchema, classes: usize) -> Option<usize> {
    let mut found = None;
    kind.visit(&mut |part| match part {
        KindSchema::Class(class) | KindSchema::Reference { class, .. } if *class >= classes => {
            found = found.or(Some(class.saturating_add(1)));
        }
        _ => {}
    });
    found
}

/// The error for a definition that was read up to `end`.
fn refuse(bad: Bad, end: usize) -> Error {
    let Bad { class, field, why } = bad;
    let malformed = |what: &str| damaged(end, &format!("a definition is malformed ({what})"));
    let error = match why {
        Why::Fail(fail) => malformed(Error::from(fail).message()),
        Why::Rule(rule) => malformed(&rule),
        Why::Unknown { what, tag } => {
            let subject = if field.is_empty() { "class" } else { "field" };
            let dot = if field.is_empty() { "" } else { "." };
            Error::new(
                ErrorKind::UnknownKind,
                format!(
                    "the save describes {subject} {class}{dot}{field} by {what} {tag:#x}, which this version of the library does not know; load it with a newer version of the program"
                ),
            )
            // The number is the last byte that was read.
            .at(end.saturating_sub(1) as u64)
        }
    };
    let error = error.in_field(&field);
    if class.is_empty() { error } else { error.in_class(class) }
}

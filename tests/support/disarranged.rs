//! Saves of the same values under another schema, so that every load of one goes by a plan.
//!
//! The writer is made from docs/reference/format.md alone. It takes any save apart, without the library, and puts it
//! together again with fields and variants in another order and with numbers of other kinds. What is loaded from it must
//! be what is loaded from the original.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use persist::save::{LoadEvent, LoadReport};
use persist::{Error, ErrorKind, Persist, Result, SaveManager, Saves};

/// The bit of a form that says that the id of the class follows.
const OWN_ID: u8 = 0x40;

/// What else a disarranged save changes beside the order of fields and variants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Nothing: records are rewritten, and no value in them is.
    Order,
    /// Numbers are stored in wider kinds, as `u64` for a `u32`, so that the load narrows them.
    Wider,
    /// Numbers are stored in the narrower kinds that hold all values of the field, as `u8` for a `u32` or `i16` for an
    /// `f64`, so that the load widens them.
    Narrower,
}

impl Change {
    /// Every change.
    pub const ALL: [Self; 3] = [Self::Order, Self::Wider, Self::Narrower];
}

/// A save under another schema, and how the two differ.
#[derive(Clone, Debug)]
pub struct Disarranged {
    /// The bytes.
    pub save: Vec<u8>,
    /// Fields and variants that stand in another place, of those classes that have values.
    pub moved: u64,
    /// Records whose payload has other bytes than before.
    pub rewritten: u64,
    /// The fields that have numbers of another kind, by class and name, and the values that have the field: what the
    /// load must report as converted.
    pub converted: BTreeMap<(String, String), u64>,
}

/// How much [`check`] changed in all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Fields and variants that were moved, with the order alone.
    pub moved: u64,
    /// Fields that were stored wider.
    pub wider: u64,
    /// Fields that were stored narrower.
    pub narrower: u64,
}

impl std::ops::AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.moved += other.moved;
        self.wider += other.wider;
        self.narrower += other.narrower;
    }
}

/// Loads a save and its disarranged forms by `pass`, which saves again what it has loaded, and compares the results.
///
/// `pass` returns the reports of its loads, too, unless they have nothing to say of the original's classes.
///
/// # Panics
///
/// If a load fails, if it makes other values, if its report does not say which fields were converted, or if it says
/// anything else that the report of the original does not say.
pub fn check(
    save: &[u8],
    seed: u64,
    mut pass: impl FnMut(&[u8]) -> Result<(Vec<u8>, Vec<LoadReport>)>,
) -> Tally {
    let (expected, plain) = pass(save).expect("the original loads");
    // Those of an older program are converted in any case.
    let was_converted = rows(&plain, true).next().is_some();
    let mut tally = Tally::default();
    // A field that is restored or converted by a function takes the kinds alone of which the program says so.
    let mut fixed = FixedFields::new();
    for change in Change::ALL {
        let (made, what, again, reports) = loop {
            let made = disarrange_others(save, change, seed, &fixed);
            let what = format!("{change:?}, seed {seed}: {:?}", made.converted);
            match pass(&made.save) {
                Ok((again, reports)) => break (made, what, again, reports),
                Err(error) => match fixed_field(&error) {
                    Some(field) if fixed.insert(field.clone()) => {}
                    _ => panic!("{what}: {error}"),
                },
            }
        };
        assert!(again == expected, "{what}: other values came back");
        if !was_converted && !reports.is_empty() {
            let mut converted = BTreeMap::new();
            for (_, class, field, count) in rows(&reports, true) {
                *converted.entry((class, field)).or_insert(0) += count;
            }
            assert_eq!(converted, made.converted, "{what}: not what was converted");
        }
        let others = [&plain, &reports].map(|reports| {
            // They come in the order of the fields.
            let mut rows: Vec<Row> = rows(reports, false).collect();
            rows.sort();
            rows
        });
        assert_eq!(others[0], others[1], "{what}: the load did something else");
        let fields = made.converted.len() as u64;
        match change {
            Change::Order => tally.moved = made.moved,
            Change::Wider => tally.wider = fields,
            Change::Narrower => tally.narrower = fields,
        }
    }
    tally
}

/// Checks a save of one value: see [`check`].
///
/// # Panics
///
/// As [`check`] does.
pub fn check_value<T: Persist>(save: &[u8], seed: u64) -> Tally {
    check(save, seed, |save| {
        let saves = Saves::new();
        let loaded = saves.from_slice::<T>(save)?;
        let again = saves.to_vec(&*loaded)?;
        assert!(saves.to_vec(&persist::from_slice::<T>(save)?)? == again);
        Ok((again, vec![loaded.report().clone()]))
    })
}

/// Checks a save of objects, whose classes a new manager knows: see [`check`].
///
/// # Panics
///
/// As [`check`] does.
pub fn check_objects(save: &[u8], seed: u64, manager: impl Fn() -> SaveManager) -> Tally {
    check(save, seed, |save| {
        let loaded = manager().from_slice(save)?;
        Ok((loaded.to_vec()?, vec![loaded.report().clone()]))
    })
}

type Row = (LoadEvent, String, String, u64);

/// Fields by class and name that keep their kinds.
type FixedFields = BTreeSet<(String, String)>;

/// The field of which a load has said that it takes the kinds alone that the program names.
fn fixed_field(error: &Error) -> Option<(String, String)> {
    let message = error.message();
    if error.kind() != ErrorKind::KindMismatch || !message.contains("means the same, write") {
        return None;
    }
    let (_, rest) = message.split_once("where field ")?;
    let (name, rest) = rest.split_once(" of ")?;
    let (class, _) = rest.split_once(" is ")?;
    Some((class.to_owned(), name.to_owned()))
}

/// The rows of reports that are about conversions, or the others.
fn rows(reports: &[LoadReport], converted: bool) -> impl Iterator<Item = Row> {
    let rows = reports.iter().flat_map(LoadReport::rows);
    rows.filter(move |row| (row.event == LoadEvent::Converted) == converted)
        .map(|row| (row.event, row.class.clone(), row.field.clone().unwrap_or_default(), row.count))
}

/// Writes a save of the same values under another schema, which the seed chooses.
///
/// # Panics
///
/// If the save is not as docs/reference/format.md describes it, or is compressed.
#[must_use]
pub fn disarrange(save: &[u8], change: Change, seed: u64) -> Disarranged {
    disarrange_others(save, change, seed, &FixedFields::new())
}

fn disarrange_others(save: &[u8], change: Change, seed: u64, fixed: &FixedFields) -> Disarranged {
    let parsed = Save::parse(save);
    let mut dice = Dice(seed);
    let mut same = Walk::new(&parsed.classes, Plan::same(&parsed));
    let copies: Vec<_> = parsed.records.iter().map(|record| same.record(record)).collect();
    // The writer's own check: it has understood every byte.
    let payloads = parsed.records.iter().map(|record| &record.payload);
    assert!(payloads.eq(&copies), "a record is not read as it was written");
    let mut plan = Plan::shuffled(&parsed, &mut dice);
    plan.choose(&parsed, &same.seen, change, &mut dice);
    plan.fix(&parsed, fixed);
    let mut walk = Walk::new(&parsed.classes, plan);
    let payloads: Vec<_> = parsed.records.iter().map(|record| walk.record(record)).collect();
    let rewritten = payloads.iter().zip(&copies).filter(|(new, old)| new != old).count() as u64;
    let (moved, converted) = walk.differences();
    let save = parsed.write(&walk.plan, &payloads, change, seed);
    Disarranged { save, moved, rewritten, converted }
}

/// Tags of kinds.
mod tags {
    pub(super) const BOOL: u8 = 0x01;
    pub(super) const CHAR: u8 = 0x02;
    pub(super) const U8: u8 = 0x03;
    pub(super) const U128: u8 = 0x07;
    pub(super) const I8: u8 = 0x08;
    pub(super) const I128: u8 = 0x0c;
    pub(super) const F32: u8 = 0x0d;
    pub(super) const F64: u8 = 0x0e;
    pub(super) const TEXT: u8 = 0x0f;
    pub(super) const OPTION: u8 = 0x10;
    pub(super) const LIST: u8 = 0x11;
    pub(super) const SET: u8 = 0x12;
    pub(super) const MAP: u8 = 0x13;
    pub(super) const ARRAY: u8 = 0x14;
    pub(super) const TUPLE: u8 = 0x15;
    pub(super) const CLASS: u8 = 0x16;
    pub(super) const REFERENCE: u8 = 0x17;
    pub(super) const DYNAMIC: u8 = 0x18;
    pub(super) const TRAIT_REFERENCE: u8 = 0x19;
    pub(super) const HANDLE: u8 = 0x1a;
    pub(super) const UNKNOWN: u8 = 0x1b;
    pub(super) const COMPACT: u8 = 0x1c;
}

struct Kind {
    tag: u8,
    /// The bytes between the tag and the kinds inside.
    head: Vec<u8>,
    /// Length of an array, class number of a class.
    number: u64,
    inner: Vec<Kind>,
    /// Of a number: its place among all numbers of all definitions.
    place: usize,
}

struct Field {
    name: Vec<u8>,
    /// Flags and number.
    head: Vec<u8>,
    kind: Kind,
}

enum Form {
    Struct(Vec<Field>),
    Enum(Vec<(Vec<u8>, Vec<Field>)>),
    Bare(Kind),
}

struct Class {
    /// Name and version.
    head: Vec<u8>,
    name: Vec<u8>,
    /// The id, if it is not the hash of the name.
    id: Vec<u8>,
    form: Form,
}

struct Record {
    class: u64,
    holder: u8,
    id: u64,
    payload: Vec<u8>,
}

struct Save {
    /// Tags and contents of the header's fields.
    header: Vec<(u8, Vec<u8>)>,
    classes: Vec<Class>,
    records: Vec<Record>,
    /// How many records stand before the definition of each class.
    defined: Vec<usize>,
    /// The tags of all numbers in the definitions.
    numbers: Vec<u8>,
}

/// Bytes that are read from the front.
struct Input<'b>(&'b [u8]);

impl<'b> Input<'b> {
    fn take(&mut self, length: usize) -> &'b [u8] {
        let (taken, rest) = self.0.split_at(length);
        self.0 = rest;
        taken
    }

    fn byte(&mut self) -> u8 {
        self.take(1)[0]
    }

    fn word(&mut self) -> usize {
        let bytes = self.take(4).try_into().expect("four bytes");
        usize::try_from(u32::from_le_bytes(bytes)).expect("a length")
    }

    fn count(&mut self) -> u64 {
        let first = self.byte();
        let more = first.saturating_sub(247);
        let bytes = if more > 0 { self.take(more.into()) } else { &[first] };
        bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
    }

    fn length(&mut self) -> usize {
        usize::try_from(self.count()).expect("a length")
    }

    fn text(&mut self) -> &'b [u8] {
        let length = self.length();
        self.take(length)
    }

    /// What `read` took.
    fn taken(&mut self, read: impl FnOnce(&mut Self)) -> &'b [u8] {
        let before = self.0;
        read(self);
        &before[..before.len() - self.0.len()]
    }
}

fn count(number: u64, out: &mut Vec<u8>) {
    let bytes = number.to_le_bytes();
    if number <= 247 {
        return out.push(bytes[0]);
    }
    let width = bytes.iter().rposition(|byte| *byte > 0).map_or(0, |last| last + 1);
    out.push(247 + u8::try_from(width).expect("at most 8"));
    out.extend(&bytes[..width]);
}

fn word(length: usize, out: &mut Vec<u8>) {
    out.extend(u32::try_from(length).expect("a length").to_le_bytes());
}

fn stamp(out: &mut Vec<u8>, start: usize) {
    let crc = crc32fast::hash(&out[start..]);
    out.extend(crc.to_le_bytes());
}

const MAGIC: &[u8] = b"\x89PST\r\n\x1a\n";

/// A writer ends a block with the item that takes it to this length.
const BLOCK: usize = 65_536;

impl Save {
    fn parse(save: &[u8]) -> Self {
        let mut this = Self {
            header: Vec::new(),
            classes: Vec::new(),
            records: Vec::new(),
            defined: Vec::new(),
            numbers: Vec::new(),
        };
        let mut input = Input(save);
        assert_eq!(input.take(8), MAGIC, "no save");
        assert_eq!(input.take(4), [1, 0, 0, 0], "another format");
        let length = input.word();
        let mut fields = Input(input.take(length));
        while !fields.0.is_empty() {
            let (tag, length) = (fields.byte(), fields.word());
            this.header.push((tag, fields.take(length).to_vec()));
        }
        input.take(4);
        loop {
            match input.byte() {
                0x7f => break,
                tag @ (1 | 4 | 5) => {
                    let length = input.word();
                    let mut items = Input(input.take(length));
                    while tag == 1 && !items.0.is_empty() {
                        this.item(&mut items);
                    }
                    input.take(4);
                }
                tag => panic!("block {tag}: compressed, or of a later format"),
            }
        }
        assert_eq!(input.take(8), (this.records.len() as u64).to_le_bytes(), "records");
        assert_eq!(input.take(8), (this.classes.len() as u64).to_le_bytes(), "definitions");
        assert_eq!(input.take(8), (save.len() as u64).to_le_bytes(), "bytes");
        this
    }

    fn item(&mut self, items: &mut Input<'_>) {
        let class = items.count();
        let (holder, id) = if class == 0 { (0, 0) } else { (items.byte(), items.count()) };
        let length = items.word();
        let content = items.take(length);
        assert_eq!(items.byte(), 0x1e, "no end of an item");
        if class > 0 {
            return self.records.push(Record { class, holder, id, payload: content.to_vec() });
        }
        let mut body = Input(content);
        let mut name = &[][..];
        let head = body.taken(|body| {
            name = body.text();
            body.count();
        });
        let form = body.byte();
        let id = body.take(if form & OWN_ID == 0 { 0 } else { 8 }).to_vec();
        let form = match form & !OWN_ID {
            0 => Form::Struct(self.fields(&mut body)),
            1 => {
                let variants = body.count();
                let variants =
                    (0..variants).map(|_| (body.text().to_vec(), self.fields(&mut body))).collect();
                Form::Enum(variants)
            }
            2 => Form::Bare(self.kind(&mut body)),
            form => panic!("form {form}"),
        };
        assert!(body.0.is_empty(), "a definition has more than its fields");
        self.classes.push(Class { head: head.to_vec(), name: name.to_vec(), id, form });
        self.defined.push(self.records.len());
    }

    fn fields(&mut self, body: &mut Input<'_>) -> Vec<Field> {
        let fields = body.count();
        (0..fields)
            .map(|_| {
                let name = body.text().to_vec();
                let head = body.taken(|body| {
                    if body.byte() == 1 {
                        body.count();
                    }
                });
                Field { name, head: head.to_vec(), kind: self.kind(body) }
            })
            .collect()
    }

    fn kind(&mut self, body: &mut Input<'_>) -> Kind {
        let tag = body.byte();
        let (mut number, mut parts) = (0, 0);
        let head = body.taken(|body| match tag {
            tags::OPTION | tags::LIST | tags::SET => parts = 1,
            tags::MAP => parts = 2,
            tags::ARRAY => (number, parts) = (body.count(), 1),
            tags::TUPLE => parts = body.count(),
            tags::CLASS => number = body.count(),
            tags::REFERENCE => {
                body.byte();
                body.count();
            }
            tags::TRAIT_REFERENCE => {
                body.byte();
                body.text();
            }
            tags::DYNAMIC | tags::HANDLE => drop(body.text()),
            tags::COMPACT => drop(body.byte()),
            _ => assert!(tag <= tags::UNKNOWN, "kind {tag}"),
        });
        let place = self.numbers.len();
        if (tags::U8..=tags::F64).contains(&tag) {
            self.numbers.push(tag);
        }
        let inner = (0..parts).map(|_| self.kind(body)).collect();
        Kind { tag, head: head.to_vec(), number, inner, place }
    }

    /// The save with its fields, variants and numbers as the plan has them, and these payloads.
    fn write(&self, plan: &Plan, payloads: &[Vec<u8>], change: Change, seed: u64) -> Vec<u8> {
        let mut fields = Vec::new();
        for (tag, content) in &self.header {
            fields.push(*tag);
            // The program's metadata is a save of its own.
            let inner = (*tag == 3).then(|| disarrange(content, change, seed).save);
            let content = inner.as_ref().unwrap_or(content);
            word(content.len(), &mut fields);
            fields.extend(content);
        }
        let mut out = MAGIC.to_vec();
        out.extend([1, 0, 0, 0]);
        word(fields.len(), &mut out);
        out.extend(fields);
        stamp(&mut out, 0);

        let (mut block, mut blocks) = (Vec::new(), 0);
        let mut end = |block: &mut Vec<u8>, least: usize, out: &mut Vec<u8>| {
            if block.len() + 5 >= least && !block.is_empty() {
                put_block(1, block, out);
                block.clear();
                blocks += 1;
            }
        };
        let mut definitions = Vec::new();
        let mut defined = 0;
        for place in 0..=payloads.len() {
            while defined < self.classes.len() && self.defined[defined] <= place {
                let body = self.definition(plan, defined);
                let mut item = vec![0];
                put_item(&body, &mut item);
                definitions.extend(&item);
                block.extend(item);
                end(&mut block, BLOCK, &mut out);
                defined += 1;
            }
            let Some((record, payload)) = self.records.get(place).zip(payloads.get(place)) else {
                break;
            };
            count(record.class, &mut block);
            block.push(record.holder);
            count(record.id, &mut block);
            put_item(payload, &mut block);
            end(&mut block, BLOCK, &mut out);
        }
        end(&mut block, 0, &mut out);
        if blocks > 1 {
            put_block(4, &definitions, &mut out);
        }
        let start = out.len();
        out.push(0x7f);
        let total = (start + 29) as u64;
        for number in [payloads.len() as u64, self.classes.len() as u64, total] {
            out.extend(number.to_le_bytes());
        }
        stamp(&mut out, start);
        out
    }

    fn definition(&self, plan: &Plan, class: usize) -> Vec<u8> {
        let (of, plan_of) = (&self.classes[class], &plan.classes[class]);
        let mut out = of.head.clone();
        let push_form = |form: u8, out: &mut Vec<u8>| {
            out.push(if of.id.is_empty() { form } else { form | OWN_ID });
            out.extend(&of.id);
        };
        match &of.form {
            Form::Struct(fields) => {
                push_form(0, &mut out);
                put_fields(fields, &plan_of.fields[0], plan, &mut out);
            }
            Form::Enum(variants) => {
                push_form(1, &mut out);
                count(variants.len() as u64, &mut out);
                for &variant in &plan_of.variants {
                    let (name, fields) = &variants[variant];
                    put_text(name, &mut out);
                    put_fields(fields, &plan_of.fields[variant], plan, &mut out);
                }
            }
            Form::Bare(kind) => {
                push_form(2, &mut out);
                put_kind(kind, plan, &mut out);
            }
        }
        out
    }
}

fn put_block(tag: u8, content: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    out.push(tag);
    word(content.len(), out);
    out.extend(content);
    stamp(out, start);
}

fn put_item(content: &[u8], out: &mut Vec<u8>) {
    word(content.len(), out);
    out.extend(content);
    out.push(0x1e);
}

fn put_text(text: &[u8], out: &mut Vec<u8>) {
    count(text.len() as u64, out);
    out.extend(text);
}

fn put_fields(fields: &[Field], order: &[usize], plan: &Plan, out: &mut Vec<u8>) {
    count(fields.len() as u64, out);
    for &field in order {
        let field = &fields[field];
        put_text(&field.name, out);
        out.extend(&field.head);
        put_kind(&field.kind, plan, out);
    }
}

fn put_kind(kind: &Kind, plan: &Plan, out: &mut Vec<u8>) {
    out.push(kind.stored(plan));
    out.extend(&kind.head);
    kind.inner.iter().for_each(|kind| put_kind(kind, plan, out));
}

impl Kind {
    fn is_number(&self) -> bool {
        (tags::U8..=tags::F64).contains(&self.tag)
    }

    /// The tag that the plan gives it.
    fn stored(&self, plan: &Plan) -> u8 {
        if self.is_number() { plan.numbers[self.place] } else { self.tag }
    }

    /// True if the plan changes a number in it.
    fn is_changed(&self, plan: &Plan) -> bool {
        self.stored(plan) != self.tag || self.inner.iter().any(|kind| kind.is_changed(plan))
    }
}

impl Form {
    /// The fields of the struct, or of each variant.
    fn groups(&self) -> impl Iterator<Item = &[Field]> {
        let (own, variants) = match self {
            Self::Struct(fields) => (Some(&fields[..]), &[][..]),
            Self::Enum(variants) => (None, &variants[..]),
            Self::Bare(_) => (None, &[][..]),
        };
        own.into_iter().chain(variants.iter().map(|(_, fields)| &fields[..]))
    }
}

/// Random numbers (SplitMix64), the same for a seed everywhere.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ mixed >> 31) % end as u64).expect("below a usize")
    }

    /// All indices below `end`, in another order if there is one.
    fn order(&mut self, end: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..end).collect();
        (1..end).rev().for_each(|last| order.swap(last, self.below(last + 1)));
        if order.is_sorted() && end > 1 {
            order.rotate_left(1);
        }
        order
    }
}

/// The other schema.
struct Plan {
    classes: Vec<ClassPlan>,
    /// The tags of all numbers in the definitions.
    numbers: Vec<u8>,
}

struct ClassPlan {
    /// The old places of the variants, in their new order.
    variants: Vec<usize>,
    /// The same of the fields, for the struct or each variant in its old order.
    fields: Vec<Vec<usize>>,
}

impl Plan {
    /// The schema that the save has.
    fn same(save: &Save) -> Self {
        Self::ordered(save, &mut |end| (0..end).collect())
    }

    /// A schema with fields and variants in another order.
    fn shuffled(save: &Save, dice: &mut Dice) -> Self {
        Self::ordered(save, &mut |end| dice.order(end))
    }

    fn ordered(save: &Save, order: &mut dyn FnMut(usize) -> Vec<usize>) -> Self {
        let classes = save.classes.iter().map(|class| {
            let variants = match &class.form {
                Form::Enum(variants) => order(variants.len()),
                _ => Vec::new(),
            };
            let fields = class.form.groups().map(|fields| order(fields.len())).collect();
            ClassPlan { variants, fields }
        });
        Self { classes: classes.collect(), numbers: save.numbers.clone() }
    }

    /// Gives the numbers of some fields their kinds back.
    fn fix(&mut self, save: &Save, fixed: &FixedFields) {
        for class in &save.classes {
            for field in class.form.groups().flatten() {
                let names = [&class.name, &field.name];
                let [class, name] = names.map(|name| String::from_utf8_lossy(name).into_owned());
                if !fixed.contains(&(class, name)) {
                    continue;
                }
                let mut open = vec![&field.kind];
                while let Some(kind) = open.pop() {
                    if kind.is_number() {
                        self.numbers[kind.place] = save.numbers[kind.place];
                    }
                    open.extend(&kind.inner);
                }
            }
        }
    }

    /// Chooses other kinds for the numbers: for all that have one, or for about three in four.
    fn choose(&mut self, save: &Save, seen: &[Seen], change: Change, dice: &mut Dice) {
        let spares = dice.below(2) == 0;
        let mut is_first = true;
        for ((number, &tag), seen) in self.numbers.iter_mut().zip(&save.numbers).zip(seen) {
            let is_candidate = |other: &u8| match change {
                Change::Order => false,
                Change::Wider => is_wider(*other, tag),
                Change::Narrower => {
                    let converts = *other < tags::F32 || tag >= tags::F32;
                    *other != tag && converts && !is_wider(*other, tag) && seen.fit(*other)
                }
            };
            let candidates: Vec<u8> = (tags::U8..=tags::F64).filter(is_candidate).collect();
            if !candidates.is_empty() && (is_first || !spares || dice.below(4) > 0) {
                *number = candidates[dice.below(candidates.len())];
                is_first = false;
            }
        }
    }
}

/// Bytes of a number.
fn width(tag: u8) -> usize {
    match tag {
        tags::U8..=tags::U128 => 1 << (tag - tags::U8),
        tags::I8..=tags::I128 => 1 << (tag - tags::I8),
        tags::F32 => 4,
        _ => 8,
    }
}

/// True if a kind has all numbers of another and more, and may be converted to it.
fn is_wider(tag: u8, than: u8) -> bool {
    let is_signed = |tag| (tags::I8..=tags::I128).contains(&tag);
    match (tag, than) {
        (tags::F64, than) => than == tags::F32,
        (tags::F32, _) | (_, tags::F32 | tags::F64) => false,
        _ => width(tag) > width(than) && (is_signed(tag) || !is_signed(than)),
    }
}

/// A number of any kind.
#[derive(Clone, Copy)]
enum Number {
    Natural(u128),
    Negative(i128),
    /// The bits of an `f64`.
    Float(u64),
}

/// An `f32` as an `f64`, and a NaN as the one whose bits begin with the same.
fn widened(bits: u32) -> u64 {
    let number = f32::from_bits(bits);
    if !number.is_nan() {
        return f64::from(number).to_bits();
    }
    let (sign, rest) = (u64::from(bits >> 31), u64::from(bits & 0x007f_ffff));
    sign << 63 | 0x7ff << 52 | rest << 29
}

impl Number {
    fn read(tag: u8, bytes: &[u8]) -> Self {
        let is_negative = (tags::I8..=tags::I128).contains(&tag) && bytes[bytes.len() - 1] > 0x7f;
        let mut wide = [if is_negative { 0xff } else { 0 }; 16];
        wide[..bytes.len()].copy_from_slice(bytes);
        let natural = u128::from_le_bytes(wide);
        let low = u64::try_from(natural & u128::from(u64::MAX)).expect("its low half");
        match tag {
            tags::F32 => Self::Float(widened(u32::try_from(low).expect("four bytes"))),
            tags::F64 => Self::Float(low),
            _ if is_negative => Self::Negative(i128::from_le_bytes(wide)),
            _ => Self::Natural(natural),
        }
    }

    /// The bytes of the same number in a kind; `None` if that does not have it.
    fn bytes(self, tag: u8) -> Option<Vec<u8>> {
        let bytes = match (tag, self) {
            (tags::F64, Self::Float(bits)) => bits.to_le_bytes().to_vec(),
            (tags::F32, Self::Float(bits)) => {
                #[expect(clippy::cast_possible_truncation, reason = "compared below")]
                let nearest = if f64::from_bits(bits).is_nan() {
                    ((bits >> 32) as u32 & 0x8000_0000)
                        | 0x7f80_0000
                        | ((bits >> 29) as u32 & 0x007f_ffff)
                } else {
                    (f64::from_bits(bits) as f32).to_bits()
                };
                let is_same = widened(nearest) == bits;
                nearest.to_le_bytes().to_vec().into_iter().filter(|_| is_same).collect()
            }
            (tags::F32 | tags::F64, _) => Vec::new(),
            (_, Self::Float(bits)) => return Self::whole(bits)?.bytes(tag),
            (_, Self::Natural(number)) => {
                let bits = 8 * width(tag) - usize::from(tag >= tags::I8);
                let fits = number <= u128::MAX >> (128 - bits);
                number.to_le_bytes()[..if fits { width(tag) } else { 0 }].to_vec()
            }
            (_, Self::Negative(number)) => {
                let fits = tag >= tags::I8 && number >= i128::MIN >> (128 - 8 * width(tag));
                number.to_le_bytes()[..if fits { width(tag) } else { 0 }].to_vec()
            }
        };
        (!bytes.is_empty()).then_some(bytes)
    }

    /// The whole number that a float is, unless it is -0.
    fn whole(bits: u64) -> Option<Self> {
        let number = f64::from_bits(bits);
        #[expect(clippy::cast_possible_truncation, reason = "compared in the next line")]
        let whole = number as i64;
        #[expect(clippy::cast_precision_loss, reason = "below 2^53 there is none")]
        let is_same = (whole as f64).to_bits() == bits && whole.unsigned_abs() < 1 << 53;
        let whole = i128::from(whole);
        let number =
            if whole < 0 { Self::Negative(whole) } else { Self::Natural(whole.unsigned_abs()) };
        is_same.then_some(number)
    }
}

/// Which kinds have all the numbers that one place of a definition holds in a save: a bit for each tag.
#[derive(Clone, Copy)]
struct Seen(u16);

impl Seen {
    const ALL: Self = Self(u16::MAX);

    fn fit(self, tag: u8) -> bool {
        self.0 >> tag & 1 == 1
    }

    fn add(&mut self, number: Number) {
        for tag in tags::U8..=tags::F64 {
            if self.fit(tag) && number.bytes(tag).is_none() {
                self.0 &= !(1 << tag);
            }
        }
    }
}

/// Rewrites values from the schema that they have to that of a plan.
struct Walk<'s> {
    classes: &'s [Class],
    plan: Plan,
    /// By number.
    seen: Vec<Seen>,
    /// How many values there are of each class and variant.
    values: HashMap<(usize, usize), u64>,
}

impl<'s> Walk<'s> {
    fn new(classes: &'s [Class], plan: Plan) -> Self {
        let seen = vec![Seen::ALL; plan.numbers.len()];
        Self { classes, plan, seen, values: HashMap::new() }
    }

    fn record(&mut self, record: &Record) -> Vec<u8> {
        let (mut input, mut out) = (Input(&record.payload), Vec::new());
        self.class(record.class, &mut input, &mut out);
        assert!(input.0.is_empty(), "a record has more than its value");
        out
    }

    fn class(&mut self, number: u64, input: &mut Input<'_>, out: &mut Vec<u8>) {
        let class = usize::try_from(number).expect("a class") - 1;
        let (variant, fields) = match &self.classes[class].form {
            Form::Bare(kind) => {
                *self.values.entry((class, 0)).or_default() += 1;
                return self.value(kind, input, out);
            }
            Form::Struct(fields) => (0, fields),
            Form::Enum(variants) => {
                let width = if variants.len() > 256 { 2 } else { 1 };
                let tag =
                    input.take(width).iter().rev().fold(0, |tag, byte| tag << 8 | *byte as usize);
                let order = &self.plan.classes[class].variants;
                let place = order.iter().position(|variant| *variant == tag).expect("a variant");
                out.extend(&(place as u64).to_le_bytes()[..width]);
                (tag, &variants[tag].1)
            }
        };
        *self.values.entry((class, variant)).or_default() += 1;
        let mut ends = Vec::with_capacity(fields.len());
        let mut parts = Vec::new();
        for field in fields {
            self.value(&field.kind, input, &mut parts);
            ends.push(parts.len());
        }
        for &field in &self.plan.classes[class].fields[variant] {
            let start = if field == 0 { 0 } else { ends[field - 1] };
            out.extend(&parts[start..ends[field]]);
        }
    }

    fn value(&mut self, kind: &Kind, input: &mut Input<'_>, out: &mut Vec<u8>) {
        let copied = |input: &mut Input<'_>, length: usize, out: &mut Vec<u8>| {
            out.extend(input.take(length));
        };
        let counted = |input: &mut Input<'_>, out: &mut Vec<u8>| {
            let number = input.count();
            count(number, out);
            number
        };
        match kind.tag {
            tags::BOOL => copied(input, 1, out),
            tags::CHAR => copied(input, 4, out),
            tags::U8..=tags::F64 => {
                let number = Number::read(kind.tag, input.take(width(kind.tag)));
                self.seen[kind.place].add(number);
                let stored = self.plan.numbers[kind.place];
                out.extend(number.bytes(stored).expect("a kind that has the number"));
            }
            tags::TEXT => put_text(input.text(), out),
            tags::OPTION => {
                let is_some = input.byte();
                out.push(is_some);
                if is_some == 1 {
                    self.value(&kind.inner[0], input, out);
                }
            }
            tags::LIST | tags::SET | tags::MAP => {
                for _ in 0..counted(input, out) {
                    kind.inner.iter().for_each(|part| self.value(part, input, out));
                }
            }
            tags::ARRAY => (0..kind.number).for_each(|_| self.value(&kind.inner[0], input, out)),
            tags::TUPLE => kind.inner.iter().for_each(|part| self.value(part, input, out)),
            tags::CLASS => self.class(kind.number, input, out),
            tags::REFERENCE | tags::TRAIT_REFERENCE | tags::COMPACT => drop(counted(input, out)),
            tags::DYNAMIC => {
                let class = counted(input, out);
                self.class(class, input, out);
            }
            tags::HANDLE => copied(input, 9, out),
            tags::UNKNOWN => {
                for _ in 0..counted(input, out) {
                    let class = counted(input, out);
                    self.class(class, input, out);
                }
            }
            _ => {} // A unit.
        }
    }

    /// How many fields and variants the plan moves, and which fields it converts, of those that have values.
    fn differences(&self) -> (u64, BTreeMap<(String, String), u64>) {
        let moved = |order: &[usize]| {
            order.iter().enumerate().filter(|(new, old)| new != *old).count() as u64
        };
        let text = |text: &[u8]| String::from_utf8(text.to_vec()).expect("a name");
        let (mut places, mut converted) = (0, BTreeMap::new());
        for (i, (class, plan)) in self.classes.iter().zip(&self.plan.classes).enumerate() {
            let values = |variant| self.values.get(&(i, variant)).copied().unwrap_or(0);
            let mut convert = |kind: &Kind, field: String, values: u64| {
                if values > 0 && kind.is_changed(&self.plan) {
                    *converted.entry((text(&class.name), field)).or_insert(0) += values;
                }
            };
            match &class.form {
                Form::Bare(kind) => convert(kind, String::new(), values(0)),
                Form::Struct(fields) => {
                    for field in fields {
                        convert(&field.kind, text(&field.name), values(0));
                    }
                }
                Form::Enum(variants) => {
                    for (variant, (name, fields)) in variants.iter().enumerate() {
                        for field in fields {
                            let path = format!("{}.{}", text(name), text(&field.name));
                            convert(&field.kind, path, values(variant));
                        }
                    }
                }
            }
            let orders = plan.fields.iter().enumerate().filter(|(group, _)| values(*group) > 0);
            places += orders.map(|(_, order)| moved(order)).sum::<u64>();
            if plan.fields.iter().enumerate().any(|(group, _)| values(group) > 0) {
                places += moved(&plan.variants);
            }
        }
        (places, converted)
    }
}

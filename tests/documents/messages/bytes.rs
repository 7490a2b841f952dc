//! Bytes that are damaged, cut short, or malicious.

use persist::save::{Compression, Header, SlotInfo};
use persist::{Persist, Result, SaveManager, SaveOptions, Saves};

use crate::messages::table::Table;
use persist_tests::support::forge::{
    ADDED, Forged, Item, MET, bare, class, counted, fields, id_of, one, record, restamp, save,
    stamp, text, trailer, with_id,
};

#[derive(Persist)]
struct Sword {
    power: u8,
}

const SWORD: &[(&str, &[u8])] = &[("power", &[3])];

fn load(save: &[u8]) -> Result<()> {
    let manager = SaveManager::new();
    manager.register::<Sword>()?;
    manager.from_slice(save).map(drop)
}

fn whole() -> Vec<u8> {
    save(&[class("Sword", SWORD), record(1, ADDED, 1, &[5])])
}

/// The save with these bytes in another place; every checksum but that of the part is true.
fn patched(at: usize, bytes: &[u8]) -> Vec<u8> {
    let mut save = whole();
    save[at..at + bytes.len()].copy_from_slice(bytes);
    save
}

/// A definition of a class whose form is this.
fn of_form(form: &[u8]) -> Vec<u8> {
    save(&[Item::Definition([&text("Broken")[..], form].concat())])
}

fn of_kind(kind: &[u8]) -> Vec<u8> {
    save(&[class("Broken", &[("a", kind)])])
}

#[test]
fn headers_and_ends() {
    let mut table = Table::new();
    table.add("nothing", load(&[]));
    table.add("zeros", load(&[0; 100]));
    table.add("a picture", load(b"\x89PNG\r\n\x1a\n and the rest"));
    table.add("a text file", load(b"\x89PST\n\x1a\n\x01\0\0\0\0\0\0\0"));
    table.add("a save that ends early", load(&whole()[..60]));
    table.add("a bit of the header", load(&patched(12, &[1])));
    table.add("a bit of the version", load(&patched(8, &[9])));
    let mut newer = patched(8, &[9]);
    restamp(&mut newer);
    table.add("a newer version", load(&newer));
    let mut flags = patched(10, &[1]);
    restamp(&mut flags);
    table.add("a flag", load(&flags));
    let mut first = patched(8, &[0]);
    restamp(&mut first);
    table.add("version 0", load(&first));
    let header_field =
        |fields: &[u8]| load(&Forged { header_fields: fields.to_vec(), items: Vec::new() }.build());
    table.add("a header field twice", header_field(&[1, 0, 0, 0, 0, 1, 0, 0, 0, 0]));
    table.add("a header field that must be known", header_field(&[0x80, 0, 0, 0, 0]));
    let save = whole();
    table.add("a bit of a block", load(&patched(40, &[save[40] ^ 1])));
    let end = save.len() - 10;
    table.add("a bit of the trailer", load(&patched(end, &[save[end] ^ 1])));
    table.add("more behind the end", load(&[&save[..], &[0]].concat()));
    let mut counts = save[..save.len() - 29].to_vec();
    trailer(&mut counts, [2, 1, save.len() as u64]);
    table.add("a count of records", load(&counts));
    insta::assert_snapshot!(table.text());
}

#[test]
fn definitions_and_records() {
    let mut table = Table::new();
    let definitions = |second: &[u8]| {
        let forged = Forged::parse(&whole());
        let content = forged.content();
        let mut save = forged.around(&content, [1, 1]);
        save.truncate(save.len() - 29);
        let start = save.len();
        save.push(4);
        save.extend(u32::try_from(second.len()).unwrap().to_le_bytes());
        save.extend(second);
        stamp(&mut save, start);
        let total = save.len() as u64 + 29;
        trailer(&mut save, [1, 1, total]);
        load(&save)
    };
    let sums_before_items = {
        let forged = Forged::parse(&whole());
        let mut save = forged.around(&[], [1, 1]);
        save.truncate(save.len() - 29);
        for (tag, content) in [(5, Vec::new()), (1, forged.content())] {
            let start = save.len();
            save.push(tag);
            save.extend(u32::try_from(content.len()).unwrap().to_le_bytes());
            save.extend(content);
            stamp(&mut save, start);
        }
        let total = save.len() as u64 + 29;
        trailer(&mut save, [1, 1, total]);
        load(&save)
    };
    table.add("a block after the sums of long ones", sums_before_items);
    table.add("definitions that are others", definitions(&[0, 1, 0, 0, 0, 0, 0x1e]));
    let first = Forged { items: vec![class("Sword", SWORD)], ..Forged::default() }.content();
    table.add("definitions and more", definitions(&[&first[..], &[1]].concat()));
    let forged = |content: &[u8], counts| load(&Forged::default().around(content, counts));
    table.add("a count that is not the shortest", forged(&[248, 1], [1, 0]));
    let head = [&first[..], &[1]].concat();
    table.add("a record that ends in its head", forged(&head, [1, 1]));
    table.add(
        "a record without a separator",
        forged(&[&head[..], &[ADDED, 1, 1, 0, 0, 0, 5, 0]].concat(), [1, 1]),
    );
    table.add("a class that is not defined", load(&save(&[record(1, ADDED, 1, &[5])])));
    table.add("an id of 0", load(&save(&[class("Sword", SWORD), record(1, ADDED, 0, &[5])])));
    table.add("a holder", load(&save(&[class("Sword", SWORD), record(1, 0x17, 1, &[5])])));
    table.add("a class of version 0", load(&of_form(&[0])));
    table.add("a form", load(&of_form(&[1, 9])));
    table.add(
        "an id that is the hash of the name",
        load(&save(&[with_id(id_of("Broken"), "Broken", 1, 0, &[0])])),
    );
    table.add("a class that no program may read", load(&of_form(&[1, 0x80, 2, 0])));
    table.add("an enum without variants", load(&of_form(&[1, 1, 0])));
    table.add(
        "a field's number",
        load(&of_form(&[&[1, 0, 1][..], &text("a"), &[1, 252, 0, 0, 0, 0, 1]].concat())),
    );
    table.add("a field's flags", load(&of_form(&[&[1, 0, 1][..], &text("a"), &[7]].concat())));
    table.add(
        "two fields of one name",
        load(&of_form(&[&[1, 0][..], &fields(&[("a", &[3]), ("a", &[3])])].concat())),
    );
    table.add("more fields than bytes", load(&of_form(&[1, 0, 200])));
    table.add("a kind within kinds", load(&of_kind(&[0x11; 100])));
    table.add("a kind", load(&of_kind(&[0x3f])));
    table.add("a kind's holder", load(&of_kind(&[0x17, 0x3f, 1])));
    table.add("class number 0", load(&of_kind(&[0x16, 0])));
    table.add("class number 9", load(&of_kind(&[0x16, 9])));
    table.add("a class in itself", load(&of_kind(&[0x16, 1])));
    table.add(
        "two classes of one id",
        load(&save(&[class("Broken", SWORD), class("Broken", SWORD)])),
    );
    let longer = [&text("Broken")[..], &[1, 0, 0, 9]].concat();
    table.add("a definition that is longer", load(&save(&[Item::Definition(longer)])));
    insta::assert_snapshot!(table.text());
}

#[test]
fn records_of_values() {
    let mut table = Table::new();
    let sword = || class("Sword", SWORD);
    let value = |save: Vec<u8>| persist::from_slice::<Sword>(&save);
    table.add("no value", value(save(&[sword(), record(1, ADDED, 1, &[5])])));
    table.add(
        "two values",
        value(save(&[sword(), record(1, 0x80, 1, &[5]), record(1, 0x80, 2, &[5])])),
    );
    table.add("another class", value(one(bare("u8", &[3]), &[5])));
    table.add("a value among objects", load(&one(sword(), &[5])));
    table.add("a world among objects", load(&persist::to_vec(&persist::World::new()).unwrap()));
    table.add("too few bytes", value(one(sword(), &[])));
    table.add("too many bytes", value(one(sword(), &[5, 6, 7])));
    table.add(
        "an id twice",
        load(&save(&[sword(), record(1, ADDED, 1, &[5]), record(1, MET, 1, &[5])])),
    );
    table.add(
        "more elements than bytes",
        persist::from_slice::<Vec<u8>>(&one(bare("Vec<u8>", &[0x11, 3]), &counted(9))),
    );
    table.add("text", persist::from_slice::<String>(&one(bare("String", &[15]), &[1, 0xff])));
    table.add(
        "a bool",
        persist::from_slice::<(u8, bool)>(&one(bare("(u8, bool)", &[0x15, 2, 3, 1]), &[0, 2])),
    );
    let twice = save(&[bare("u8", &[3]), record(1, ADDED, 4, &[1]), record(1, ADDED, 4, &[2])]);
    table.add("an id twice, without types", persist_tools::Document::from_slice(&twice));
    table.add("what is kept of nobody", load(&save(&[sword(), record(1, 0, 7, &[5])])));
    insta::assert_snapshot!(table.text());
}

#[test]
fn compressed_blocks() {
    let options = SaveOptions::new().compression(Compression::Lz4);
    let saves = Saves::new().save_options(options);
    let numbers = vec![7_u16; 2000];
    let save = saves.to_vec(&numbers).unwrap();
    let mut table = Table::new();
    // The compressed block is the first behind the header.
    let header = 16 + usize::from(save[12]) + 4;
    let changed = |content: &[u8], length: Option<u32>| {
        let mut other = save[..header + 1].to_vec();
        other.extend(length.unwrap_or(u32::try_from(content.len()).unwrap()).to_le_bytes());
        other.extend(content);
        stamp(&mut other, header);
        let total = other.len() as u64 + 29;
        trailer(&mut other, [1, 1, total]);
        persist::from_slice::<Vec<u16>>(&other)
    };
    let length = u32::from_le_bytes(save[header + 1..header + 5].try_into().unwrap()) as usize;
    let content = save[header + 5..header + 5 + length].to_vec();
    table.add("without a length", changed(&[1, 0], None));
    table.add(
        "one that is not smaller",
        changed(&[&[1, 0, 0, 0][..], &content[4..]].concat(), None),
    );
    table.add("one that is too large", changed(&[&[255; 4][..], &content[4..]].concat(), None));
    let mut bad = content.clone();
    bad[6] ^= 0xff;
    table.add("one that is malformed", changed(&bad, None));
    insta::assert_snapshot!(table.text());
}

/// A reader that fails behind so many bytes.
struct Broken<'b>(&'b [u8]);

impl std::io::Read for Broken<'_> {
    fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
        if self.0.is_empty() {
            return Err(std::io::ErrorKind::TimedOut.into());
        }
        std::io::Read::read(&mut self.0, to)
    }
}

#[test]
fn headers_that_cannot_be_read() {
    let mut table = Table::new();
    table.add("a reader that fails", Header::from_reader(Broken(&whole()[..9])));
    let info = SlotInfo::new("a save").value(&7_u8).unwrap();
    table.add("a value of another class in an info", info.get::<String>());
    insta::assert_snapshot!(table.text());
}

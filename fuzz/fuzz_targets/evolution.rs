//! Saves of other schemas than the program's, into several versions of it and under every option:
//! no panic, memory in proportion, and what loads can be saved and loaded again.
#![no_main]

mod block;
mod older;
mod programs;
mod schema;

use std::sync::LazyLock;

use persist::save::{LoadPolicy, Remap, UnmappedHandle};
use persist::{LoadOptions, Loaded, Persist, SaveManager, Saves};
use persist_tools::Document;
use programs::{Things, first, little, saves, second};

/// Bytes that a load may take for each byte of the save, and in any case. The trees of a document are larger.
const EACH: u64 = 1024;
const ALWAYS: u64 = 1 << 20;

struct Programs {
    first: Saves,
    second: Saves,
    little: Saves,
}

/// Registering everything is what takes longest.
static PROGRAMS: LazyLock<Programs> = LazyLock::new(|| Programs {
    first: saves::<first::Case>(),
    second: saves::<second::Case>(),
    little: saves::<little::Case>(),
});

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let mut choices = schema::Choices(bytes);
    let how = choices.byte();
    let policies = [LoadPolicy::Lenient, LoadPolicy::Strict, LoadPolicy::Salvage];
    let options = LoadOptions::new()
        .policy(policies[usize::from(how >> 3) % 3])
        .clamp(how & 1 > 0)
        .fill(how & 2 > 0)
        .drop_unknown(how & 4 > 0);
    let save = older::save(&mut choices);
    load::<first::Case>(&PROGRAMS.first, options, &save);
    load::<second::Case>(&PROGRAMS.second, options, &save);
    load::<little::Case>(&PROGRAMS.little, options, &save);
    read_document(&save);
});

/// Fails if the work takes memory out of proportion to the save.
fn in_proportion(save: &[u8], work: impl FnOnce()) {
    let used = allocation_counter::measure(work).bytes_max;
    let max = EACH * save.len() as u64 + ALWAYS;
    assert!(used <= max, "{used} bytes of memory for a save of {}", save.len());
}

fn load<T: Persist>(saves: &Saves, options: LoadOptions, save: &[u8]) {
    let saves = saves.clone().load_options(options);
    let mut objects = None;
    in_proportion(save, || objects = saves.from_slice::<SaveManager>(save).ok());
    if let Some(objects) = objects {
        // Every message can be made.
        assert!(!objects.report().to_string().is_empty());
        if !objects.is_empty() {
            again(&saves, &objects);
        }
        objects.dismantle();
    }
    let mut remap = Remap::new();
    remap.arena::<Things>(UnmappedHandle::Dead, |key| (key % 3 > 0).then_some(key + 1));
    if let Ok(objects) = remap.from_slice::<SaveManager>(&saves, save) {
        objects.dismantle();
    }
    let mut value = None;
    in_proportion(save, || value = saves.from_slice::<T>(save).ok());
    let first = value.and_then(|value| saves.to_vec(&value).ok());
    if let Some(first) = first {
        drop(saves.from_slice::<T>(&first).expect("a value that was saved loads"));
    }
}

/// Checks that loaded objects can be saved, with their unknown content, and load again to the same bytes.
fn again(saves: &Saves, objects: &Loaded<SaveManager>) {
    let first = saves.to_vec(objects).expect("what loads can be saved");
    let loaded = saves.from_slice::<SaveManager>(&first).expect("what was saved loads");
    assert_eq!(saves.to_vec(&loaded).expect("it can be saved again"), first);
    loaded.dismantle();
}

/// Reads the save as a document, without types.
fn read_document(save: &[u8]) {
    if let Ok(document) = Document::from_slice(save) {
        let text = document.to_string();
        // A document with wrong references can be read, so that a tool can mend it.
        if let Ok(again) = document.to_vec() {
            let again = Document::from_slice(&again).expect("what was written can be read");
            assert_eq!(again.to_string(), text);
        }
    }
}

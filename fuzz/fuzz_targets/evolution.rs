//! Saves of other schemas than the program's, into several versions of it and under every option:
//! no panic, memory in proportion, and what loads can be saved and loaded again.
#![no_main]

mod block;
mod older;
mod programs;
mod schema;

use std::cell::RefCell;

use persist::save::{LoadPolicy, Missing, Remap};
use persist::{Document, LoadOptions, Persist, SaveManager};
use programs::{Things, first, little, manager, second};

/// Bytes that a load may take for each of the save, and always. The trees of a document are larger.
const EACH: u64 = 1024;
const ALWAYS: u64 = 1 << 20;

struct Programs {
    first: SaveManager,
    second: SaveManager,
    little: SaveManager,
}

thread_local! {
    // What takes longest is to register everything.
    static PROGRAMS: RefCell<Programs> = Programs {
        first: manager::<first::Case>(),
        second: manager::<second::Case>(),
        little: manager::<little::Case>(),
    }
    .into();
}

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let mut choices = schema::Choices(bytes);
    let how = choices.byte();
    let options = LoadOptions {
        policy: [LoadPolicy::Lenient, LoadPolicy::Strict, LoadPolicy::Salvage]
            [usize::from(how >> 3) % 3],
        clamp: how & 1 > 0,
        fill: how & 2 > 0,
        drop_unknown: how & 4 > 0,
    };
    let save = older::save(&mut choices);
    PROGRAMS.with_borrow_mut(|programs| {
        load::<first::Case>(&mut programs.first, options, &save);
        load::<second::Case>(&mut programs.second, options, &save);
        load::<little::Case>(&mut programs.little, options, &save);
    });
    look(&save);
});

/// Fails if the work takes memory out of proportion to the save.
fn in_proportion(save: &[u8], work: impl FnOnce()) {
    let used = allocation_counter::measure(work).bytes_max;
    let most = EACH * save.len() as u64 + ALWAYS;
    assert!(used <= most, "{used} bytes of memory for a save of {}", save.len());
}

fn load<T: Persist>(saves: &mut SaveManager, options: LoadOptions, save: &[u8]) {
    saves.set_load_options(options);
    let mut objects = None;
    in_proportion(save, || objects = saves.from_slice(save).ok());
    if let Some(objects) = objects {
        // Every message can be made.
        assert!(!objects.report().to_string().is_empty());
        if objects.strong_cycles().is_empty() {
            saves.adopt(objects);
            again(saves);
        } else {
            // Once adopted, circles are the program's to cut.
            objects.dismantle();
        }
    }
    let mut remap = Remap::new();
    remap.arena::<Things>(Missing::Dead, |key| (key % 3 > 0).then_some(key + 1));
    if let Ok(objects) = remap.from_slice(saves, save) {
        objects.dismantle();
    }
    let mut value = None;
    in_proportion(save, || value = saves.value_from_slice::<T>(save).ok());
    if let Some((value, objects)) = value {
        let first = saves.value_to_vec(&value);
        drop(value);
        objects.dismantle();
        if let Ok(first) = first {
            let (value, objects) =
                saves.value_from_slice::<T>(&first).expect("a value that was saved loads");
            drop(value);
            objects.dismantle();
        }
    }
    saves.clear();
}

/// What was loaded can be saved, with what was kept, and comes back as the same.
fn again(saves: &mut SaveManager) {
    let first = saves.to_vec().expect("what loads can be saved");
    let loaded = saves.from_slice(&first).expect("what was saved loads");
    saves.adopt(loaded);
    let second = saves.to_vec().expect("it can be saved again");
    assert_eq!(second, first);
    let loaded = saves.from_slice(&second).expect("once more");
    saves.clear();
    loaded.dismantle();
}

/// The same without types.
fn look(save: &[u8]) {
    if let Ok(document) = Document::from_slice(save) {
        let text = document.to_string();
        // One with wrong references can be read, for a tool to mend it.
        if let Ok(again) = document.to_vec() {
            let again = Document::from_slice(&again).expect("what was written can be read");
            assert_eq!(again.to_string(), text);
        }
    }
}

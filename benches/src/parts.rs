//! A game in 300 parts, each a save of its own in memory.

use std::hint::black_box;

use persist::Saves;

use crate::harness::Contender;
use crate::report::Role;
use crate::run::Run;
use crate::sets::game::{self, Game};

/// Saves each part into a new vector, like a program that stores the parts separately, and loads it.
struct Saver {
    name: &'static str,
    role: Role,
    save: fn(&mut Warm, &Game) -> Vec<u8>,
    load: fn(&mut Warm, &[u8]) -> Game,
}

/// The buffers that are kept from one part to the next.
#[derive(Default)]
struct Warm {
    bitcode: bitcode::Buffer,
    saves: Saves,
}

const SAVERS: [Saver; 5] = [
    Saver {
        name: "postcard",
        role: Role::Rival,
        save: |_, part| postcard::to_allocvec(part).expect("it can be saved"),
        load: |_, save| postcard::from_bytes(save).expect("it was saved"),
    },
    Saver {
        name: "bitcode",
        role: Role::Rival,
        save: |warm, part| warm.bitcode.encode(part).to_vec(),
        load: |warm, save| warm.bitcode.decode(save).expect("it was saved"),
    },
    Saver {
        name: "savefile, schema",
        role: Role::Rival,
        save: |_, part| {
            let mut save = Vec::new();
            savefile::save(&mut save, 0, part).expect("it can be saved");
            save
        },
        load: |_, mut save| savefile::load(&mut save, 0).expect("it was saved"),
    },
    Saver {
        name: "persist",
        role: Role::Ours,
        save: |warm, part| warm.saves.to_vec(part).expect("it can be saved"),
        load: |warm, save| warm.saves.from_slice::<Game>(save).expect("it was saved").into_inner(),
    },
    Saver {
        name: "persist, no manager",
        role: Role::Ours,
        save: |_, part| persist::to_vec(part).expect("it can be saved"),
        load: |_, save| persist::from_slice(save).expect("it was saved"),
    },
];

/// Measures saves and loads of all parts.
pub(crate) fn run(run: &mut Run) -> Result<(), String> {
    let parts = game::generate().parts();
    let mut saved = Vec::new();
    for Saver { name, role, save, load } in SAVERS {
        let mut warm = Warm::default();
        let saves: Vec<Vec<u8>> = parts.iter().map(|part| save(&mut warm, part)).collect();
        for (bytes, part) in saves.iter().zip(&parts) {
            assert!(load(&mut warm, bytes) == *part, "{name} lost something");
        }
        run.kilobytes("size, kB", name, "game", role, saves.iter().map(Vec::len).sum());
        saved.push(saves);
    }
    let savers = SAVERS.into_iter().map(|Saver { name, role, save, .. }| {
        let (parts, mut warm) = (&parts, Warm::default());
        Contender::new(name, role, move || {
            parts.iter().for_each(|part| drop(black_box(save(&mut warm, black_box(part)))));
        })
    });
    let rounds = run.rounds(15);
    run.measure("save, ms", "game", 1000.0, savers.collect(), rounds);
    let loaders = SAVERS.into_iter().zip(&saved).map(|(Saver { name, role, load, .. }, saves)| {
        let mut warm = Warm::default();
        Contender::new(name, role, move || {
            saves.iter().for_each(|save| drop(black_box(load(&mut warm, black_box(save)))));
        })
    });
    run.measure("load, ms", "game", 1000.0, loaders.collect(), rounds);
    Ok(())
}

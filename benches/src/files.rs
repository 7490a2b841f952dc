//! Saves into files that a crash cannot harm, and loads from them: flushed to disk, then renamed.

use std::fs::{self, File};
use std::hint::black_box;
use std::io::Write;
use std::path::Path;

use persist::save::Compression;
use persist::{SaveOptions, Saves};

use crate::codecs::{Entry, Subject};
use crate::data::{log, mesh, minecraft, mk48};
use crate::harness::{Clock, Contender};
use crate::report::Role;
use crate::run::Run;
use crate::sets::{chat, game};

/// Measures all data sets.
pub(crate) fn run(run: &mut Run) -> Result<(), String> {
    measure(run, "log", &log::generate());
    measure(run, "mesh", &mesh::generate());
    measure(run, "minecraft_savedata", &minecraft::generate());
    measure(run, "mk48", &mk48::generate());
    measure(run, "chat", &chat::generate());
    measure(run, "game", &game::generate());
    Ok(())
}

const COMPRESSIONS: [(&str, Compression); 3] = [
    ("persist", Compression::None),
    ("persist, LZ4", Compression::Lz4),
    ("persist, Zstandard 1", Compression::Zstd(1)),
];

fn measure<T: Subject>(run: &mut Run, set: &str, value: &T) {
    let folder = run.folder();
    let rounds = run.rounds(21);
    // A rival of each kind: the smallest, the best known, the one with a schema.
    let is_here = |name: &str| ["bitcode", "postcard", "savefile, schema"].contains(&name);
    let mut rivals: Vec<_> = T::codecs().into_iter().filter(|entry| is_here(entry.name)).collect();
    let mut ours = COMPRESSIONS.map(|(name, compression)| {
        let saves =
            Saves::new().save_options(SaveOptions::new().compression(compression).backups(0));
        (name, saves, folder.join(format!("{name}.sav")))
    });

    let mut savers = Vec::new();
    for entry in &mut rivals {
        let path = folder.join(entry.name);
        savers.push(Contender::by(Clock::Wall, entry.name, entry.role, move || {
            replace(&path, entry.codec.encode(black_box(value)));
        }));
    }
    for (name, saves, path) in &mut ours {
        savers.push(Contender::by(Clock::Wall, name, Role::Ours, || {
            saves.file(&*path).save(black_box(value)).expect("it can be saved");
        }));
    }
    let bytes = persist::to_vec(value).expect("it can be saved");
    let path = folder.join("floor");
    let bytes_only = move || replace(&path, &bytes);
    savers.push(Contender::by(Clock::Wall, "the bytes alone", Role::Floor, bytes_only));
    run.measure("save, ms", set, 1000.0, savers, rounds);

    for (name, role, path) in rivals
        .iter()
        .map(|entry| (entry.name, entry.role, folder.join(entry.name)))
        .chain(ours.iter().map(|(name, _, path)| (*name, Role::Ours, path.clone())))
    {
        let size = fs::metadata(path).expect("it has just been saved").len();
        run.kilobytes("size, kB", name, set, role, usize::try_from(size).expect("it fits"));
    }

    let mut loaders = Vec::new();
    for Entry { name, role, codec } in &mut rivals {
        let path = folder.join(*name);
        let mut load = move || codec.decode(&fs::read(&path).expect("it was saved"));
        assert!(load() == *value, "{name} lost something");
        loaders.push(Contender::by(Clock::Wall, name, *role, move || drop(black_box(load()))));
    }
    for (name, saves, path) in &mut ours {
        let load = || saves.file(&*path).load::<T>().expect("it was saved").into_inner();
        assert!(load() == *value, "{name} lost something");
        loaders.push(Contender::by(Clock::Wall, name, Role::Ours, move || drop(black_box(load()))));
    }
    run.measure("load, ms", set, 1000.0, loaders, rounds);
    fs::remove_dir_all(&folder).expect("it can be removed");
}

/// Replaces a file by these bytes; after a crash it is the old one or the new one.
fn replace(path: &Path, bytes: &[u8]) {
    let beside = path.with_extension("new");
    let mut file = File::create(&beside).expect("a file");
    file.write_all(bytes).expect("room on the disk");
    file.sync_all().expect("a disk");
    fs::rename(&beside, path).expect("the same folder");
    if cfg!(unix) {
        let folder = File::open(path.parent().expect("a folder")).expect("a folder");
        folder.sync_all().expect("a disk");
    }
}

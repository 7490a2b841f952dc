//! Measures one value: encodes, decodes, whole saves and loads in memory, and bytes.

use std::hint::black_box;

use persist::codec::{Buffer, decode as decode_value};
use persist::save::Compression;
use persist::{SaveOptions, Saves};
use rkyv::util::AlignedVec;

use crate::codecs::{Entry, Fory, Subject, entry};
use crate::data::{log, mesh, minecraft, mk48};
use crate::harness::Contender;
use crate::report::Role;
use crate::run::Run;
use crate::sets::{chat, compact_game, game, pod_mesh};

/// Where decodes begin is aligned for any type: rkyv needs that.
type Bytes = AlignedVec;

macro_rules! fory {
    ($($type:path),*) => {
        entry("fory", Role::Rival, Fory::new(|fory| {
            let mut number = 0;
            $(number += 1; fory.register::<$type>(number)?;)*
            Ok(())
        }))
    };
}

/// Measures all data sets.
pub(crate) fn run(run: &mut Run) -> Result<(), String> {
    let fory = fory!(log::Logs, log::Log, log::Address);
    measure(run, "log", &log::generate(), Some(fory), None, 31);
    let fory = fory!(mesh::Mesh, mesh::Triangle, mesh::Vector3);
    let mesh = mesh::generate();
    let pod = Twin::of::<pod_mesh::Mesh>("persist, pod", &mesh);
    measure(run, "mesh", &mesh, Some(fory), Some(pod), 31);
    let fory = fory!(
        minecraft::Players,
        minecraft::Player,
        minecraft::GameType,
        minecraft::Item,
        minecraft::Abilities,
        minecraft::Entity,
        minecraft::RecipeBook
    );
    measure(run, "minecraft_savedata", &minecraft::generate(), Some(fory), None, 31);
    let fory = fory!(
        mk48::Updates,
        mk48::Update,
        mk48::Contact,
        mk48::EntityType,
        mk48::Guidance,
        mk48::Transform,
        mk48::TerrainUpdate
    );
    measure(run, "mk48", &mk48::generate(), Some(fory), None, 31);
    measure(run, "chat", &chat::generate(), None, None, 31);
    let game = game::generate();
    let compact = Twin::of::<compact_game::Game>("persist, compact", &game);
    measure(run, "game", &game, None, Some(compact), 15);
    Ok(())
}

/// The same data in other types of ours, whose bytes or speed differ.
pub(crate) struct Twin {
    pub(crate) name: &'static str,
    size: usize,
    pub(crate) encode: Box<dyn FnMut()>,
    pub(crate) decode: Box<dyn FnMut()>,
}

impl Twin {
    /// The value as one of type `C`, which loads the saves of the other.
    pub(crate) fn of<C: persist::Persist + PartialEq>(
        name: &'static str,
        value: &impl persist::Persist,
    ) -> Self {
        let save = persist::to_vec(value).expect("it can be saved");
        let twin: C = persist::from_slice(&save).expect("it is of the same data");
        let mut buffer = Buffer::new();
        let bytes = buffer.encode(&twin).expect("it can be encoded").to_vec();
        assert!(decode_value::<C>(&bytes).expect("it has just been encoded") == twin);
        Self {
            name,
            size: bytes.len(),
            encode: Box::new(move || {
                black_box(buffer.encode(black_box(&twin)).expect("it can be encoded"));
            }),
            decode: Box::new(move || {
                drop(black_box(decode_value::<C>(black_box(&bytes)).expect("it was encoded")));
            }),
        }
    }
}

fn measure<T: Subject>(
    run: &mut Run,
    set: &str,
    value: &T,
    fory: Option<Entry<T>>,
    twin: Option<Twin>,
    rounds: u32,
) {
    let rounds = run.rounds(rounds);
    let mut writers = T::codecs();
    writers.splice(writers.len() - 1..writers.len() - 1, fory);
    let bytes: Vec<Bytes> = writers.iter_mut().map(|entry| checked(entry, value)).collect();
    for (entry, bytes) in writers.iter().zip(&bytes) {
        sizes(run, entry.name, set, entry.role, bytes);
    }
    let plain = bytes.last().expect("persist is the last").clone();

    let saves = Saves::new();
    let save = saves.to_vec(value).expect("it can be saved");
    assert!(*saves.from_slice::<T>(&save).expect("it has just been saved") == *value);
    run.kilobytes("size, kB", "persist, whole save", set, Role::Ours, save.len());
    if let Some(twin) = &twin {
        run.kilobytes("size, kB", twin.name, set, Role::Ours, twin.size);
    }
    let (twin, twin_decode) = twin
        .map(|Twin { name, encode, decode, .. }| {
            let contender = |run| Contender::new(name, Role::Ours, run);
            (contender(encode), contender(decode))
        })
        .unzip();
    let packings = [("by LZ4, kB", Compression::Lz4), ("by Zstandard 3, kB", Compression::Zstd(3))];
    for (table, compression) in packings {
        let packing = Saves::new().save_options(SaveOptions::new().compression(compression));
        let packed = packing.to_vec(value).expect("it can be saved");
        assert!(*packing.from_slice::<T>(&packed).expect("it was saved") == *value);
        run.kilobytes(table, "persist, whole save", set, Role::Ours, packed.len());
    }

    let mut copied = plain.clone();
    let mut contenders: Vec<_> = writers.iter_mut().map(|entry| encode(entry, value)).collect();
    contenders.extend([
        Contender::new("persist, whole save", Role::Ours, || {
            black_box(saves.to_vec(black_box(value)).expect("it can be saved"));
        }),
        Contender::new("persist, first save", Role::Ours, || {
            black_box(persist::to_vec(black_box(value)).expect("it can be saved"));
        }),
        Contender::new("crc32 of the bytes", Role::Floor, || {
            black_box(crc32fast::hash(black_box(&plain)));
        }),
        Contender::new("memcpy of the bytes", Role::Floor, || {
            copied.copy_from_slice(black_box(&plain));
            black_box(copied.as_slice());
        }),
    ]);
    contenders.extend(twin);
    run.measure("encode, us", set, 1.0, contenders, rounds);

    let mut existing = value.clone();
    load_into(&mut existing, &plain);
    assert!(existing == *value, "persist lost something into an existing value");
    let readers = writers.iter_mut().zip(&bytes);
    let mut contenders: Vec<_> = readers.map(|(entry, bytes)| decode(entry, bytes)).collect();
    contenders.extend([
        Contender::new("persist, whole load", Role::Ours, || {
            drop(black_box(saves.from_slice::<T>(black_box(&save)).expect("it was saved")));
        }),
        Contender::new("persist, first load", Role::Ours, || {
            drop(black_box(persist::from_slice::<T>(black_box(&save)).expect("it was saved")));
        }),
        Contender::new("persist, into existing", Role::Ours, || {
            load_into(black_box(&mut existing), black_box(&plain));
        }),
        Contender::new("clone", Role::Floor, || drop(black_box(black_box(value).clone()))),
    ]);
    contenders.extend(twin_decode);
    run.measure("decode and drop, us", set, 1.0, contenders, rounds);
}

/// Returns the bytes of a codec, after a check that they decode to the value.
pub(crate) fn checked<T: PartialEq>(entry: &mut Entry<T>, value: &T) -> Bytes {
    let mut bytes = Bytes::new();
    bytes.extend_from_slice(entry.codec.encode(value));
    assert!(entry.codec.decode(&bytes) == *value, "{} lost something", entry.name);
    bytes
}

fn sizes(run: &mut Run, name: &str, set: &str, role: Role, bytes: &[u8]) {
    run.kilobytes("size, kB", name, set, role, bytes.len());
    let mut packed = lz4_flex::frame::FrameEncoder::new(Vec::new());
    std::io::copy(&mut &*bytes, &mut packed).expect("memory");
    run.kilobytes("by LZ4, kB", name, set, role, packed.finish().expect("memory").len());
    let packed = zstd::encode_all(bytes, 3).expect("memory");
    run.kilobytes("by Zstandard 3, kB", name, set, role, packed.len());
}

pub(crate) fn encode<'a, T>(entry: &'a mut Entry<T>, value: &'a T) -> Contender<'a> {
    let Entry { name, role, codec } = entry;
    Contender::new(name, *role, move || {
        black_box(codec.encode(black_box(value)));
    })
}

pub(crate) fn decode<'a, T>(entry: &'a mut Entry<T>, bytes: &'a [u8]) -> Contender<'a> {
    let Entry { name, role, codec } = entry;
    Contender::new(name, *role, move || drop(black_box(codec.decode(black_box(bytes)))))
}

fn load_into<T: persist::Persist>(target: &mut T, bytes: &[u8]) {
    persist::codec::decode_into(target, bytes).expect("it has just been encoded");
}

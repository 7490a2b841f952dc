//! The calls of each codec, in its fastest form.

use bincode::config::standard;
use rkyv::api::high::{HighDeserializer, HighSerializer, HighValidator};
use rkyv::bytecheck::CheckBytes;
use rkyv::rancor::Panic;
use rkyv::ser::allocator::{Arena, ArenaHandle};
use rkyv::util::AlignedVec;
use serde::Serialize;
use serde::de::DeserializeOwned;
use wincode::config::Configuration;
use wincode::int_encoding::{FixInt, LittleEndian};
use wincode::len::BincodeLen;

use crate::report::Role;

/// A codec that keeps its buffers from one value to the next.
pub(crate) trait Codec<T> {
    fn encode(&mut self, value: &T) -> &[u8];

    fn decode(&mut self, bytes: &[u8]) -> T;
}

/// A codec, with its name in the tables and its role in comparisons.
pub(crate) struct Entry<T> {
    pub(crate) name: &'static str,
    pub(crate) role: Role,
    pub(crate) codec: Box<dyn Codec<T>>,
}

/// The traits that the codecs need of a type.
pub(crate) trait Subject: persist::Persist + Clone + PartialEq + 'static {
    /// All contenders, rivals first.
    fn codecs() -> Vec<Entry<Self>>;
}

impl<T> Subject for T
where
    T: persist::Persist + Clone + PartialEq + 'static,
    Wincode: Codec<T>,
    Bitcode: Codec<T>,
    Speedy: Codec<T>,
    Savefile: Codec<T>,
    Rkyv: Codec<T>,
    Postcard: Codec<T>,
    Borsh: Codec<T>,
    Bincode: Codec<T>,
    MessagePack: Codec<T>,
    Json: Codec<T>,
{
    fn codecs() -> Vec<Entry<T>> {
        vec![
            entry("wincode", Role::Rival, Wincode::default()),
            entry("bitcode", Role::Rival, Bitcode::default()),
            entry("speedy", Role::Rival, Speedy::default()),
            entry("savefile", Role::Rival, Savefile { with_schema: false, ..Savefile::default() }),
            entry("savefile, schema", Role::Rival, Savefile::default()),
            entry("rkyv", Role::Rival, Rkyv::default()),
            entry("postcard", Role::Rival, Postcard::default()),
            entry("borsh", Role::Rival, Borsh::default()),
            entry("bincode", Role::Rival, Bincode::default()),
            entry("rmp-serde", Role::Rival, MessagePack::default()),
            entry("serde_json", Role::Rival, Json::default()),
            entry("persist", Role::Ours, Persist::default()),
        ]
    }
}

pub(crate) fn entry<T>(name: &'static str, role: Role, codec: impl Codec<T> + 'static) -> Entry<T> {
    Entry { name, role, codec: Box::new(codec) }
}

/// The bare codec of `persist`.
#[derive(Default)]
pub(crate) struct Persist(persist::codec::Buffer);

impl<T: persist::Persist> Codec<T> for Persist {
    fn encode(&mut self, value: &T) -> &[u8] {
        self.0.encode(value).expect("it can be encoded")
    }

    fn decode(&mut self, bytes: &[u8]) -> T {
        persist::codec::decode(bytes).expect("it has just been encoded")
    }
}

/// Fills a slice that is as long as the value takes, which is found out once.
fn sized(
    buffer: &mut Vec<u8>,
    size: impl FnOnce() -> usize,
    fill: impl FnOnce(&mut [u8]),
) -> &[u8] {
    if buffer.is_empty() {
        buffer.resize(size(), 0);
    }
    fill(buffer);
    buffer
}

/// Appends to a vector that is kept.
fn appended(buffer: &mut Vec<u8>, append: impl FnOnce(&mut Vec<u8>)) -> &[u8] {
    buffer.clear();
    append(buffer);
    buffer
}

/// The default limit would refuse to allocate the mesh.
const WINCODE_LIMIT: usize = 64 << 20;

type WincodeConfig = Configuration<true, WINCODE_LIMIT, BincodeLen, LittleEndian, FixInt, u8>;

const WINCODE: WincodeConfig = Configuration::default()
    .with_tag_encoding::<u8>()
    .with_preallocation_size_limit::<WINCODE_LIMIT>();

#[derive(Default)]
struct Wincode(Vec<u8>);

impl<T> Codec<T> for Wincode
where
    T: wincode::SchemaWrite<WincodeConfig, Src = T>
        + for<'de> wincode::SchemaRead<'de, WincodeConfig, Dst = T>,
{
    fn encode(&mut self, value: &T) -> &[u8] {
        let size = || wincode::config::serialized_size(value, WINCODE).expect("it has a size");
        sized(
            &mut self.0,
            || usize::try_from(size()).expect("it fits into memory"),
            |slice| {
                wincode::config::serialize_into(slice, value, WINCODE).expect("it can be encoded");
            },
        )
    }

    fn decode(&mut self, bytes: &[u8]) -> T {
        wincode::config::deserialize(bytes, WINCODE).expect("it has just been encoded")
    }
}

#[derive(Default)]
struct Bitcode(bitcode::Buffer);

impl<T: bitcode::Encode + bitcode::DecodeOwned> Codec<T> for Bitcode {
    fn encode(&mut self, value: &T) -> &[u8] {
        self.0.encode(value)
    }

    fn decode(&mut self, bytes: &[u8]) -> T {
        self.0.decode(bytes).expect("it has just been encoded")
    }
}

#[derive(Default)]
struct Speedy(Vec<u8>);

impl<T> Codec<T> for Speedy
where
    T: speedy::Writable<speedy::LittleEndian> + for<'a> speedy::Readable<'a, speedy::LittleEndian>,
{
    fn encode(&mut self, value: &T) -> &[u8] {
        let context = speedy::LittleEndian {};
        sized(
            &mut self.0,
            || value.bytes_needed().expect("it has a size"),
            |slice| {
                value.write_to_buffer_with_ctx(context, slice).expect("it can be encoded");
            },
        )
    }

    fn decode(&mut self, bytes: &[u8]) -> T {
        let context = speedy::LittleEndian {};
        T::read_from_buffer_copying_data_with_ctx(context, bytes).expect("it has just been encoded")
    }
}

struct Savefile {
    buffer: Vec<u8>,
    with_schema: bool,
}

impl Default for Savefile {
    fn default() -> Self {
        Self { buffer: Vec::new(), with_schema: true }
    }
}

impl<T: savefile::Serialize + savefile::Deserialize + savefile::WithSchema> Codec<T> for Savefile {
    fn encode(&mut self, value: &T) -> &[u8] {
        let save = if self.with_schema { savefile::save } else { savefile::save_noschema };
        appended(&mut self.buffer, |out| save(out, 0, value).expect("it can be encoded"))
    }

    fn decode(&mut self, mut bytes: &[u8]) -> T {
        let load = if self.with_schema { savefile::load } else { savefile::load_noschema };
        load(&mut bytes, 0).expect("it has just been encoded")
    }
}

type RkyvWriter<'a> = HighSerializer<AlignedVec, ArenaHandle<'a>, Panic>;

#[derive(Default)]
struct Rkyv {
    buffer: AlignedVec,
    arena: Arena,
}

impl<T> Codec<T> for Rkyv
where
    T: rkyv::Archive + for<'a> rkyv::Serialize<RkyvWriter<'a>>,
    T::Archived: for<'a> CheckBytes<HighValidator<'a, Panic>>
        + rkyv::Deserialize<T, HighDeserializer<Panic>>,
{
    fn encode(&mut self, value: &T) -> &[u8] {
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.clear();
        let written = rkyv::api::high::to_bytes_in_with_alloc::<_, _, Panic>(
            value,
            buffer,
            self.arena.acquire(),
        );
        self.buffer = written.expect("it can be encoded");
        &self.buffer
    }

    fn decode(&mut self, bytes: &[u8]) -> T {
        rkyv::from_bytes::<T, Panic>(bytes).expect("it has just been encoded")
    }
}

#[derive(Default)]
struct Postcard(Vec<u8>);

impl<T: Serialize + DeserializeOwned> Codec<T> for Postcard {
    fn encode(&mut self, value: &T) -> &[u8] {
        let size = || postcard::to_allocvec(value).expect("it can be encoded").len();
        sized(&mut self.0, size, |slice| {
            postcard::to_slice(value, slice).expect("it can be encoded");
        })
    }

    fn decode(&mut self, bytes: &[u8]) -> T {
        postcard::from_bytes(bytes).expect("it has just been encoded")
    }
}

#[derive(Default)]
struct Borsh(Vec<u8>);

impl<T: borsh::BorshSerialize + borsh::BorshDeserialize> Codec<T> for Borsh {
    fn encode(&mut self, value: &T) -> &[u8] {
        appended(&mut self.0, |out| value.serialize(out).expect("it can be encoded"))
    }

    fn decode(&mut self, bytes: &[u8]) -> T {
        borsh::from_slice(bytes).expect("it has just been encoded")
    }
}

#[derive(Default)]
struct Bincode(Vec<u8>);

impl<T: bincode::Encode + bincode::Decode<()>> Codec<T> for Bincode {
    fn encode(&mut self, value: &T) -> &[u8] {
        let size = || bincode::encode_to_vec(value, standard()).expect("it can be encoded").len();
        sized(&mut self.0, size, |slice| {
            bincode::encode_into_slice(value, slice, standard()).expect("it can be encoded");
        })
    }

    fn decode(&mut self, bytes: &[u8]) -> T {
        bincode::decode_from_slice(bytes, standard()).expect("it has just been encoded").0
    }
}

#[derive(Default)]
struct MessagePack(Vec<u8>);

impl<T: Serialize + DeserializeOwned> Codec<T> for MessagePack {
    fn encode(&mut self, value: &T) -> &[u8] {
        appended(&mut self.0, |out| {
            rmp_serde::encode::write(out, value).expect("it can be encoded");
        })
    }

    fn decode(&mut self, bytes: &[u8]) -> T {
        rmp_serde::from_slice(bytes).expect("it has just been encoded")
    }
}

#[derive(Default)]
struct Json(Vec<u8>);

impl<T: Serialize + DeserializeOwned> Codec<T> for Json {
    fn encode(&mut self, value: &T) -> &[u8] {
        appended(&mut self.0, |out| serde_json::to_writer(out, value).expect("it can be encoded"))
    }

    fn decode(&mut self, bytes: &[u8]) -> T {
        serde_json::from_slice(bytes).expect("it has just been encoded")
    }
}

/// For the data sets without enums that carry data.
pub(crate) struct Fory {
    fory: fory::Fory,
    buffer: Vec<u8>,
}

impl Fory {
    /// With its fastest settings: both sides must know the very same types. The bounds would refuse the larger values.
    pub(crate) fn new(register: impl FnOnce(&mut fory::Fory) -> Result<(), fory::Error>) -> Self {
        let builder = fory::Fory::builder().xlang(false).compatible(false);
        let mut fory = builder.max_graph_memory_bytes(usize::MAX).build();
        register(&mut fory).expect("the numbers are free");
        Self { fory, buffer: Vec::new() }
    }
}

impl<T: fory::Serializer<Target = T> + 'static> Codec<T> for Fory {
    fn encode(&mut self, value: &T) -> &[u8] {
        let Self { fory, buffer } = self;
        appended(buffer, |out| {
            fory.serialize_to(out, value).expect("it can be encoded");
        })
    }

    fn decode(&mut self, bytes: &[u8]) -> T {
        self.fory.deserialize(bytes).expect("it has just been encoded")
    }
}

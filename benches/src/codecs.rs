//! The calls of each codec, in its fastest safe form.

use wincode::config::Configuration;
use wincode::int_encoding::{FixInt, LittleEndian};
use wincode::len::BincodeLen;
use wincode::{SchemaRead, SchemaWrite};

/// A codec that keeps its buffers from one value to the next.
pub(crate) trait Codec<T>: Default {
    const NAME: &'static str;

    fn encode(&mut self, value: &T) -> &[u8];

    fn decode(&mut self, bytes: &[u8]) -> T;
}

/// The bare codec of `persist`.
#[derive(Default)]
pub(crate) struct Persist(persist::codec::Buffer);

impl<T: persist::Persist> Codec<T> for Persist {
    const NAME: &'static str = "persist";

    fn encode(&mut self, value: &T) -> &[u8] {
        self.0.encode(value).expect("it can be encoded")
    }

    fn decode(&mut self, bytes: &[u8]) -> T {
        persist::codec::decode(bytes).expect("it has just been encoded")
    }
}

/// Raised, or it would refuse to allocate the mesh.
const WINCODE_LIMIT: usize = 64 << 20;

type WincodeConfig = Configuration<true, WINCODE_LIMIT, BincodeLen, LittleEndian, FixInt, u8>;

const WINCODE: WincodeConfig = Configuration::default()
    .with_tag_encoding::<u8>()
    .with_preallocation_size_limit::<WINCODE_LIMIT>();

#[derive(Default)]
pub(crate) struct Wincode(Vec<u8>);

impl<T> Codec<T> for Wincode
where
    T: SchemaWrite<WincodeConfig, Src = T> + for<'de> SchemaRead<'de, WincodeConfig, Dst = T>,
{
    const NAME: &'static str = "wincode";

    fn encode(&mut self, value: &T) -> &[u8] {
        if self.0.is_empty() {
            let size = wincode::config::serialized_size(value, WINCODE).expect("it has a size");
            self.0 = vec![0; usize::try_from(size).expect("it fits into memory")];
        }
        let rest = self.0.as_mut_slice();
        wincode::config::serialize_into(rest, value, WINCODE).expect("it can be encoded");
        &self.0
    }

    fn decode(&mut self, bytes: &[u8]) -> T {
        wincode::config::deserialize(bytes, WINCODE).expect("it has just been encoded")
    }
}

#[derive(Default)]
pub(crate) struct Bitcode(bitcode::Buffer);

impl<T: bitcode::Encode + bitcode::DecodeOwned> Codec<T> for Bitcode {
    const NAME: &'static str = "bitcode";

    fn encode(&mut self, value: &T) -> &[u8] {
        self.0.encode(value)
    }

    fn decode(&mut self, bytes: &[u8]) -> T {
        self.0.decode(bytes).expect("it has just been encoded")
    }
}

#[derive(Default)]
pub(crate) struct Savefile(Vec<u8>);

impl<T: savefile::Serialize + savefile::Deserialize> Codec<T> for Savefile {
    const NAME: &'static str = "savefile";

    fn encode(&mut self, value: &T) -> &[u8] {
        self.0.clear();
        savefile::save_noschema(&mut self.0, 0, value).expect("it can be encoded");
        &self.0
    }

    fn decode(&mut self, mut bytes: &[u8]) -> T {
        savefile::load_noschema(&mut bytes, 0).expect("it has just been encoded")
    }
}

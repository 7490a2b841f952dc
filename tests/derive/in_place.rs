//! Values that are filled where they are: types written by hand, and fields that a module stores.

#![expect(clippy::needless_pass_by_value, reason = "the signatures of `with` modules")]

use std::sync::Arc;

use persist::codec::{Buffer, Decoder, Encoder, Fail, Prototypes, Stop, decode_into};
use persist::reflect::Kind;
use persist::{Persist, Saves};

const ROM: usize = 4;

/// ROM, which is not saved, and RAM after it.
#[derive(Debug, PartialEq, Clone)]
struct Memory {
    bytes: Vec<u8>,
}

impl Default for Memory {
    fn default() -> Self {
        Self { bytes: vec![0; 8] }
    }
}

impl Persist for Memory {
    fn persist_kind() -> Kind {
        Kind::Array(u8::persist_kind, 4)
    }

    fn persist_empty(_: &Prototypes<'_>) -> persist::Result<Self> {
        Ok(Self::default())
    }

    fn persist_encode(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
        out.bytes(&self.bytes[ROM..])
    }

    fn persist_decode(input: &mut Decoder<'_>) -> Result<Self, Fail> {
        let mut memory = Self::default();
        memory.persist_decode_into(input)?;
        Ok(memory)
    }

    fn persist_decode_into(&mut self, input: &mut Decoder<'_>) -> Result<(), Fail> {
        self.bytes[ROM..].copy_from_slice(input.take(4)?);
        Ok(())
    }
}

/// The RAM of a memory of another crate.
mod ram {
    use super::{Memory, ROM};

    pub(super) type Stored = Vec<u8>;

    pub(super) fn store(memory: &Memory) -> Stored {
        memory.bytes[ROM..].to_vec()
    }

    pub(super) fn restore(ram: Stored) -> Result<Memory, String> {
        let mut memory = Memory::default();
        restore_into(&mut memory, ram)?;
        Ok(memory)
    }

    pub(super) fn restore_into(memory: &mut Memory, ram: Stored) -> Result<(), String> {
        if ram.len() != 4 {
            return Err(format!("{} bytes of RAM", ram.len()));
        }
        memory.bytes[ROM..].copy_from_slice(&ram);
        Ok(())
    }
}

/// The same, byte by byte.
mod ram_bytes {
    use super::{Memory, ROM};

    pub(super) type Item = u8;

    pub(super) fn store(memory: &Memory) -> impl ExactSizeIterator<Item = &u8> {
        memory.bytes[ROM..].iter()
    }

    pub(super) fn restore(ram: Vec<u8>) -> Result<Memory, String> {
        super::ram::restore(ram)
    }

    pub(super) fn restore_into(memory: &mut Memory, ram: Vec<u8>) -> Result<(), String> {
        super::ram::restore_into(memory, ram)
    }
}

/// The same, behind a mask that the program has.
mod masked {
    use super::Memory;

    pub(super) type Stored = Vec<u8>;

    pub(super) fn store(memory: &Memory, mask: &u8) -> Stored {
        super::ram::store(memory).iter().map(|byte| byte ^ mask).collect()
    }

    pub(super) fn restore(ram: Stored, mask: &u8) -> Result<Memory, String> {
        super::ram::restore(ram.iter().map(|byte| byte ^ mask).collect())
    }

    pub(super) fn restore_into(memory: &mut Memory, ram: Stored, mask: &u8) -> Result<(), String> {
        super::ram::restore_into(memory, ram.iter().map(|byte| byte ^ mask).collect())
    }
}

/// A module that makes a new value.
mod anew {
    use super::Memory;

    pub(super) type Stored = Vec<u8>;

    pub(super) fn store(memory: &Memory) -> &Stored {
        &memory.bytes
    }

    pub(super) fn restore(bytes: Stored) -> Result<Memory, std::convert::Infallible> {
        Ok(Memory { bytes })
    }
}

#[derive(Persist, Debug, PartialEq, Clone)]
struct Machine {
    by_hand: Memory,
    list: Vec<Memory>,
    boxed: Option<Box<Memory>>,
    #[persist(with = ram)]
    module: Memory,
    #[persist(with = "Option<ram>")]
    inside: Option<Memory>,
    #[persist(with_iter = ram_bytes)]
    items: Memory,
    #[persist(with = anew)]
    anew: Memory,
}

fn memory(rom: u8, ram: u8) -> Memory {
    Memory { bytes: [[rom; 4], [ram; 4]].concat() }
}

fn machine(rom: u8, ram: u8) -> Machine {
    Machine {
        by_hand: memory(rom, ram),
        list: vec![memory(rom, ram), memory(rom, ram)],
        boxed: Some(Box::new(memory(rom, ram))),
        module: memory(rom, ram),
        inside: Some(memory(rom, ram)),
        items: memory(rom, ram),
        anew: memory(rom, ram),
    }
}

#[test]
fn types_by_hand_and_modules_are_filled_where_they_are() {
    let mut buffer = Buffer::new();
    let state = buffer.encode(&machine(1, 2)).unwrap();
    let mut target = machine(7, 8);
    let places = |machine: &Machine| {
        [&machine.by_hand, &machine.list[1], &machine.module, &machine.items]
            .map(|memory| memory.bytes.as_ptr())
    };
    let before = places(&target);
    decode_into(&mut target, state).unwrap();
    // What is not saved stays, but where a new value takes its place.
    assert_eq!(target, Machine { anew: memory(1, 2), ..machine(7, 2) });
    assert_eq!(places(&target), before);
    // A new value has none of it.
    let new: Machine = persist::codec::decode(state).unwrap();
    assert_eq!(new, Machine { anew: memory(1, 2), ..machine(0, 2) });
    assert_eq!(
        persist::from_slice::<Machine>(&persist::to_vec(&machine(1, 2)).unwrap()).unwrap(),
        new
    );
}

#[test]
fn a_refusal_of_restore_into_names_the_module() {
    #[derive(Persist)]
    struct Wrong {
        ram: Vec<u8>,
    }
    #[derive(Persist)]
    struct Right {
        #[persist(with = ram)]
        ram: Memory,
    }
    let mut buffer = Buffer::new();
    let bytes = buffer.encode(&Wrong { ram: vec![1] }).unwrap();
    let mut target = Right { ram: memory(1, 1) };
    let error = decode_into(&mut target, bytes).unwrap_err();
    assert_eq!(error.message(), "`ram` refused: 1 bytes of RAM");
    assert_eq!(target.ram, memory(1, 1));
}

#[test]
fn restore_into_gets_the_context_too() {
    #[derive(Persist, Debug, PartialEq)]
    struct Cartridge {
        #[persist(with = masked, context = u8)]
        ram: Memory,
    }
    let saves = Saves::new().context(Arc::new(0x0f_u8));
    let mut save = std::rc::Rc::new(std::cell::RefCell::new(Cartridge { ram: memory(1, 2) }));
    // An object is made empty and then filled.
    let bytes = saves.to_vec(&save).unwrap();
    save = saves
        .from_slice::<std::rc::Rc<std::cell::RefCell<Cartridge>>>(&bytes)
        .unwrap()
        .into_inner();
    assert_eq!(*save.borrow(), Cartridge { ram: memory(0, 2) });
}

//! Items that are indices into the running game's table, and names in a save.

use persist::codec::{Decoder, Encoder, Fail, Prototypes, Stop};
use persist::reflect::Kind;
use persist::{Error, ErrorKind, Persist, Result};

/// The items of the running game.
#[derive(Debug)]
pub struct Items {
    pub names: Vec<String>,
}

impl Items {
    #[must_use]
    pub fn new(names: &[&str]) -> Self {
        Self { names: names.iter().map(|name| (*name).to_owned()).collect() }
    }

    /// The item of this name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<Item> {
        self.names.iter().position(|known| known == name).map(Item)
    }
}

/// How the index of an item is stored: as its name.
pub mod item {
    use super::Items;

    pub type Stored = String;

    pub fn store<'i>(item: &usize, items: &'i Items) -> &'i String {
        &items.names[*item]
    }

    pub fn restore(name: Stored, items: &Items) -> Result<usize, String> {
        items.find(&name).map(|item| item.0).ok_or_else(|| format!("there is no item `{name}`"))
    }
}

/// An item by its index, whose code for saves is written by hand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Item(pub usize);

impl Persist for Item {
    fn persist_kind() -> Kind {
        Kind::Text
    }

    fn persist_empty(_: &Prototypes<'_>) -> Result<Self> {
        Ok(Self(0))
    }

    fn persist_encode(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
        let items = out.context::<Items>()?;
        match items.names.get(self.0) {
            Some(name) => out.value(name),
            None => Err(out.refuse(Error::new(
                ErrorKind::InvalidValue,
                format!("there is no item {}", self.0),
            ))),
        }
    }

    fn persist_decode(input: &mut Decoder<'_>) -> Result<Self, Fail> {
        let items = input.context::<Items>()?;
        let name: String = input.value()?;
        items.find(&name).ok_or_else(|| {
            let message = format!("there is no item `{name}`");
            input.refuse(Error::new(ErrorKind::InvalidValue, message))
        })
    }
}

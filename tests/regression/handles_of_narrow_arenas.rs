//! A lock once noted each field with a handle whose arena has keys of fewer than 64 bits: the samples have bits that
//! are made up, and such an arena refuses them, as it should.

use persist::save::Registry;
use persist::{Arena, Handle, Persist};
use persist_tools::lock::Lock;

struct Monsters;

impl Arena for Monsters {
    type Key = u32;
    const NAME: &'static str = "monsters";

    fn to_bits(key: u32) -> u64 {
        key.into()
    }

    fn from_bits(bits: u64) -> Option<u32> {
        bits.try_into().ok()
    }
}

#[derive(Persist)]
struct Dungeon {
    _boss: Handle<Monsters>,
    _monsters: Vec<Handle<Monsters>>,
}

#[test]
fn a_lock_notes_nothing_of_bits_that_are_no_key() {
    let mut registry = Registry::new();
    registry.register::<Dungeon>().unwrap();
    let mut lock = Lock::new();
    lock.update("0.1.0", &registry).unwrap();
    let report = lock.compare(&registry);
    assert!(report.loads() && report.differences().is_empty(), "{report}");
    assert_eq!(report.notes().iter().map(|note| &note.text).collect::<Vec<_>>(), [""; 0]);
}

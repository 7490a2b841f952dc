//! Fixtures with changed bytes: every one is refused, or loads to something that
//! saves and loads again as the same. Nothing panics.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use persist::{ErrorKind, Limits, Persist, Saves};
use persist_tests::support::fixture_types::{Values, load_and_save, manager, read};
use persist_tests::support::forge::{Forged, restamp};
use persist_tests::support::short_or_long;

/// The small fixtures; `pointers` is changed in `pointers.rs`.
const NAMES: [&str; 3] = ["players", "values", "graph"];

type Load = Box<dyn Fn(&[u8]) -> persist::Result<()>>;

/// All fixtures with a load of each, for changes that are found before anything is made of them.
fn all_fixtures() -> [(&'static str, Vec<u8>, Load); 5] {
    let fixtures = ["players", "values", "graph", "pointers", "compact"].map(|name| {
        let load: Load = match name {
            "values" => Box::new(|save| persist::from_slice::<Values>(save).map(drop)),
            _ => {
                // Registered once: that takes longer than to find a wrong bit.
                let manager = manager(name, false);
                Box::new(move |save| manager.from_slice(save).map(drop))
            }
        };
        (name, read(name), load)
    });
    assert!(fixtures[3].1.len() > 4096, "a save of some kilobytes is among them");
    fixtures
}

/// Marsaglia's xorshift64.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end.max(1) as u64).expect("below a usize")
    }

    fn byte(&mut self) -> u8 {
        self.next().to_le_bytes()[3]
    }

    /// A byte that often means something.
    pub(crate) fn telling_byte(&mut self) -> u8 {
        const TELLING: [u8; 16] =
            [0, 1, 2, 3, 0x0f, 0x10, 0x16, 0x17, 0x1e, 0x7f, 0x80, 0x91, 247, 248, 251, 255];
        if self.below(2) == 0 { self.byte() } else { TELLING[self.below(16)] }
    }
}

/// Loads a changed fixture; true if it was accepted.
fn survives(name: &str, save: &[u8], what: impl Fn() -> String) -> bool {
    let mut result = Ok(Vec::new());
    let used = allocation_counter::measure(|| result = load_and_save(name, save)).bytes_max;
    let most = 64 * save.len() as u64 + (1 << 20);
    assert!(used <= most, "{name}, {}: {used} bytes of memory", what());
    match result {
        Ok(once) => {
            let twice = load_and_save(name, &once).unwrap_or_else(|error| {
                panic!("{name}, {}: what was loaded and saved does not load: {error}", what())
            });
            assert!(once == twice, "{name}, {}: another value comes back", what());
            true
        }
        Err(error) => {
            assert!(!error.message().is_empty());
            assert!(error.offset().is_none_or(|offset| offset <= save.len() as u64), "{error}");
            false
        }
    }
}

#[test]
fn every_prefix_is_cut_short() {
    for (name, save, load) in all_fixtures() {
        for length in 0..save.len() {
            let error = load(&save[..length]).unwrap_err();
            let expected = if length == 0 { ErrorKind::NotASave } else { ErrorKind::Truncated };
            assert_eq!(error.kind(), expected, "{length} bytes of {name}: {error}");
            assert_eq!(error.offset(), Some(length as u64));
        }
    }
}

#[test]
fn every_single_flipped_bit_is_found() {
    for (name, mut save, load) in all_fixtures() {
        for bit in (0..save.len() * 8).step_by(short_or_long(3, 1)) {
            save[bit / 8] ^= 1 << (bit % 8);
            let error = load(&save).expect_err("a flipped bit");
            assert!(error.offset().is_some(), "bit {bit} of {name}: {error}");
            save[bit / 8] ^= 1 << (bit % 8);
        }
    }
}

#[test]
fn every_single_flipped_bit_under_a_true_checksum_is_survived() {
    let (mut accepted, mut all) = (0, 0);
    for name in NAMES {
        let save = read(name);
        for bit in (0..save.len() * 8).step_by(short_or_long(7, 1)) {
            let mut changed = save.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            restamp(&mut changed);
            accepted += usize::from(survives(name, &changed, || format!("bit {bit}")));
            all += 1;
        }
    }
    // Else the checksums were not made right.
    assert!(accepted > all / 10, "{accepted} of {all}");
}

#[test]
fn prefixes_with_a_true_trailer_are_survived() {
    for name in NAMES {
        let whole = Forged::parse(&read(name));
        assert!(whole.build() == read(name), "{name} is forged as it is");
        let content = whole.content();
        for length in 1..content.len() {
            let save = whole.around(&content[..length], [0, 0]);
            assert!(!survives(name, &save, || format!("content of {length} bytes")));
        }
        for items in 0..whole.items.len() {
            let save = Forged { items: whole.items[..items].to_vec(), ..whole.clone() }.build();
            survives(name, &save, || format!("{items} items"));
        }
    }
}

/// Changes some bytes: sets, flips, inserts, removes, doubles or swaps them.
fn mutate(bytes: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..=random.below(3) {
        let at = random.below(bytes.len() + 1);
        let length = random.below(9).min(bytes.len() - at);
        match random.below(7) {
            0 | 1 if length > 0 => bytes[at] = random.telling_byte(),
            2 if length > 0 => bytes[at] ^= 1 << random.below(8),
            3 => bytes.insert(at, random.telling_byte()),
            4 => drop(bytes.drain(at..at + length)),
            5 => drop(bytes.splice(at..at, bytes[at..at + length].to_vec())),
            _ => bytes[at..at + length].iter_mut().for_each(|byte| *byte = random.byte()),
        }
    }
}

#[test]
fn random_changes_under_a_true_checksum_are_survived() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut accepted = 0;
    for round in 0..short_or_long(3_000, 12_000) {
        let name = NAMES[round % NAMES.len()];
        let mut forged = Forged::parse(&read(name));
        let save = match random.below(4) {
            // Within one item, whose length is made right.
            0 | 1 => {
                let item = random.below(forged.items.len());
                mutate(forged.items[item].content(), &mut random);
                forged.build()
            }
            // Items in another order, twice or not at all.
            2 => {
                let (from, to) =
                    (random.below(forged.items.len()), random.below(forged.items.len()));
                let item = forged.items[from].clone();
                match random.below(3) {
                    0 => forged.items.swap(from, to),
                    1 => forged.items.insert(to, item),
                    _ => drop(forged.items.remove(from)),
                }
                forged.build()
            }
            _ => {
                let mut save = read(name);
                mutate(&mut save, &mut random);
                restamp(&mut save);
                save
            }
        };
        accepted += usize::from(survives(name, &save, || format!("round {round}")));
    }
    assert!(accepted > short_or_long(125, 500), "{accepted}");
}

#[test]
fn random_bytes_are_no_save() {
    let mut random = Random(1);
    for _ in 0..2_000 {
        let mut bytes: Vec<u8> = (0..random.below(200)).map(|_| random.telling_byte()).collect();
        assert!(load_and_save("players", &bytes).is_err());
        // With the beginning of a save.
        bytes.splice(0..0, read("players")[..20].iter().copied());
        assert!(load_and_save("players", &bytes).is_err());
    }
}

#[test]
fn a_save_begins_at_any_address() {
    for name in NAMES {
        let save = read(name);
        for offset in 0..16 {
            let moved = [&vec![0xaa; offset][..], &save].concat();
            assert!(load_and_save(name, &moved[offset..]).unwrap() == save);
        }
    }
}

thread_local! {
    static HOOKS: Cell<u32> = const { Cell::new(0) };
}

#[derive(Persist)]
#[persist(before_save = Hooked::count)]
struct Hooked {
    runs: u32,
    text: String,
    next: Option<Rc<RefCell<Hooked>>>,
}

impl Hooked {
    fn count(&mut self) {
        self.runs += 1;
        HOOKS.set(HOOKS.get() + 1);
    }
}

#[test]
fn a_buffer_that_must_grow_changes_neither_bytes_nor_ids_nor_runs_hooks_again() {
    let chain = || {
        let mut next = None;
        for i in 0..20 {
            let hooked = Hooked { runs: 0, text: "x".repeat(i * 37), next };
            next = Some(Rc::new(RefCell::new(hooked)));
        }
        next.unwrap()
    };
    let saved = |size: Option<usize>| {
        let mut manager = Saves::new().limits(Limits::default()).manager();
        if let Some(size) = size {
            manager.saves().to_vec(&vec![0_u8; size]).unwrap();
        }
        manager.add(&chain()).unwrap();
        let save = manager.to_vec().unwrap();
        let ids: Vec<u64> = manager.from_slice(&save).unwrap().ids().map(|id| id.get()).collect();
        (save, ids, HOOKS.take())
    };
    let expected = saved(None);
    assert_eq!(expected.1, Vec::from_iter(1..=20));
    assert_eq!(expected.2, 20);
    for size in [0, 1100, 1101, 1164, 2000, 4001] {
        assert!(saved(Some(size)) == expected, "after {size} bytes");
    }
}

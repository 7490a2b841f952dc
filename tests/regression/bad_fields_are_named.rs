//! What only the type refuses named class and object, but not the field: a `NonZero` of 0, an
//! element of a set or a key that stands there twice, also when a migration put it there.

#![allow(clippy::unwrap_used, reason = "the helper is part of the tests")]

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::num::{NonZeroI32, NonZeroU8, NonZeroU16};
use std::rc::Rc;

use persist::codec::{Decoder, Encoder, Fail, Prototypes, Stop};
use persist::reflect::Kind;
use persist::{Error, ErrorKind, Persist, Record, SaveManager, Value};

/// The error of loading an object.
fn error<Then: Persist, Now: Persist>(then: Then) -> Error {
    let mut manager = SaveManager::new();
    manager.add(&Rc::new(RefCell::new(then))).unwrap();
    let save = manager.to_vec().unwrap();
    let manager = SaveManager::new();
    manager.register::<Now>().unwrap();
    manager.from_slice(&save).map(drop).unwrap_err()
}

fn place(error: &Error) -> (Option<&str>, Option<&str>, Option<u64>) {
    (error.class(), error.field(), error.object())
}

#[derive(Persist)]
#[persist(class = "Bag")]
struct OldBag {
    count: u8,
}

#[derive(Persist)]
#[persist(class = "Hero")]
struct OldHero {
    level: u8,
    bags: Vec<Option<Box<OldBag>>>,
    belt: [OldBag; 2],
}

#[derive(Persist)]
struct Bag {
    count: NonZeroU8,
}

#[derive(Persist)]
struct Hero {
    level: NonZeroU8,
    bags: Vec<Option<Box<Bag>>>,
    belt: [Bag; 2],
}

#[derive(Persist)]
#[persist(class = "Hero")]
struct WiderHero {
    belt: [Bag; 2],
    bags: Vec<Option<Box<Bag>>>,
    level: u64,
}

fn hero(level: u8, belt: u8) -> OldHero {
    OldHero {
        level,
        bags: vec![None, Some(Box::new(OldBag { count: 1 }))],
        belt: [OldBag { count: 1 }, OldBag { count: belt }],
    }
}

#[test]
fn a_number_that_must_not_be_zero_is_named() {
    let found = error::<_, Hero>(hero(0, 1));
    assert_eq!(found.kind(), ErrorKind::InvalidValue);
    assert_eq!(place(&found), (Some("Hero"), Some("level"), Some(1)));
    let found = error::<_, Hero>(hero(1, 0));
    assert_eq!(place(&found), (Some("Hero"), Some("belt[1].count"), Some(1)));
    let found = error::<_, WiderHero>(hero(1, 0));
    assert_eq!(place(&found), (Some("Hero"), Some("belt[1].count"), Some(1)));
}

#[derive(Persist)]
#[persist(class = "Deck")]
struct OldDeck {
    before: Vec<u8>,
    cards: Vec<u8>,
    prices: Vec<(String, u8)>,
}

#[derive(Persist)]
#[persist(class = "Deck")]
struct Deck {
    before: Vec<u8>,
    cards: BTreeSet<u32>,
    prices: HashMap<String, u8>,
}

#[derive(Persist)]
#[persist(class = "Deck", version = 2, migrate(1 = twice))]
struct NewDeck {
    cards: BTreeSet<u32>,
    #[persist(default = NonZeroU8::MIN)]
    size: NonZeroU8,
}

fn twice(deck: &mut Record, _from: u32) {
    if deck.get("prices").and_then(Value::as_seq).is_some_and(<[Value]>::is_empty) {
        deck.set("size", 0_u8);
    }
}

fn deck(cards: &[u8], prices: &[&str]) -> OldDeck {
    let prices = prices.iter().map(|name| ((*name).to_owned(), 1)).collect();
    OldDeck { before: vec![1, 1], cards: cards.into(), prices }
}

#[test]
fn a_set_or_a_map_with_something_twice_is_named() {
    let found = error::<_, Deck>(deck(&[1, 2, 1], &["ace"]));
    assert_eq!(found.kind(), ErrorKind::InvalidValue);
    assert_eq!(place(&found), (Some("Deck"), Some("cards"), Some(1)));
    let found = error::<_, Deck>(deck(&[1, 2], &["ace", "ace"]));
    assert_eq!(place(&found), (Some("Deck"), Some("prices"), Some(1)));
}

#[test]
fn what_a_migration_set_badly_is_named() {
    let found = error::<_, NewDeck>(deck(&[1, 1], &["ace"]));
    assert_eq!(place(&found), (Some("Deck"), Some("cards"), Some(1)));
    let found = error::<_, NewDeck>(deck(&[], &[]));
    assert_eq!(place(&found), (Some("Deck"), Some("size"), Some(1)), "{found}");
}

#[derive(Persist)]
#[persist(class = "Table")]
struct OldTable {
    deck: OldDeck,
}

#[derive(Persist)]
#[persist(class = "Table")]
struct Table {
    deck: Rc<RefCell<Deck>>,
}

#[test]
fn a_value_that_became_an_object_names_its_own_field() {
    let found = error::<_, Table>(OldTable { deck: deck(&[1, 2], &["ace", "ace"]) });
    let (class, field, _) = place(&found);
    assert_eq!((class, field), (Some("Deck"), Some("prices")), "{found}");
}

#[test]
fn a_bad_value_is_shown_with_its_type_and_a_remedy() {
    #[derive(Persist)]
    #[persist(class = "Hero")]
    struct Then {
        level: u8,
        names: Vec<String>,
        prices: Vec<(u8, i32)>,
        luck: Option<i64>,
    }
    #[derive(Persist)]
    #[persist(class = "Hero")]
    struct Now {
        level: NonZeroU8,
        names: BTreeSet<String>,
        prices: HashMap<u8, i32>,
        luck: Option<std::num::NonZeroI64>,
    }
    let names = |names: &[&str]| names.iter().map(|name| String::from(*name)).collect();
    let then = || Then { level: 1, names: names(&["Ada"]), prices: vec![(1, 2)], luck: Some(1) };
    let errors = [
        Then { level: 0, ..then() },
        Then { names: names(&["Ada", "Bob", "Ada"]), ..then() },
        Then { prices: vec![(1, 2), (3, 4), (3, 5)], ..then() },
        Then { luck: Some(0), ..then() },
    ]
    .map(|then| error::<Then, Now>(then).to_string());
    insta::assert_snapshot!("bad_values", errors.join("\n"));
    let error = persist::from_slice::<NonZeroU8>(&persist::to_vec(&0_u8).unwrap()).unwrap_err();
    insta::assert_snapshot!("a_bad_value", error.to_string());
}

#[test]
fn a_bad_element_is_shown_like_a_bad_field() {
    #[derive(Persist)]
    #[persist(class = "Hero")]
    struct Then {
        levels: Vec<u8>,
        queue: VecDeque<u16>,
        maybe: Option<Vec<i32>>,
        pairs: Vec<(u8, u8)>,
        belt: [u8; 2],
        tags: Vec<u8>,
        bags: Vec<OldBag>,
    }
    #[derive(Persist)]
    #[persist(class = "Hero")]
    struct Now {
        levels: Vec<NonZeroU8>,
        queue: VecDeque<NonZeroU16>,
        maybe: Option<Vec<NonZeroI32>>,
        pairs: Vec<(u8, NonZeroU8)>,
        belt: [NonZeroU8; 2],
        tags: BTreeSet<NonZeroU8>,
        bags: Vec<Bag>,
    }
    let then = || Then {
        levels: vec![1],
        queue: VecDeque::new(),
        maybe: None,
        pairs: Vec::new(),
        belt: [1, 2],
        tags: Vec::new(),
        bags: Vec::new(),
    };
    let errors = [
        Then { levels: vec![4, 5, 0, 6, 0], ..then() },
        Then { queue: VecDeque::from([1, 0]), ..then() },
        Then { maybe: Some(vec![0]), ..then() },
        Then { pairs: vec![(0, 1), (0, 0)], ..then() },
        Then { belt: [3, 0], ..then() },
        Then { tags: vec![1, 0], ..then() },
        Then { bags: vec![OldBag { count: 1 }, OldBag { count: 0 }], ..then() },
    ]
    .map(|then| error::<Then, Now>(then).to_string());
    insta::assert_snapshot!("bad_elements", errors.join("\n"));
    let list = persist::to_vec(&vec![1_u8, 0]).unwrap();
    let error = persist::from_slice::<Vec<NonZeroU8>>(&list).unwrap_err();
    insta::assert_snapshot!("a_bad_element", error.to_string());
}

/// A set as no program stores it: with elements that stand twice.
struct Loose(Vec<u8>);

impl Persist for Loose {
    fn persist_kind() -> Kind {
        Kind::Set(u8::persist_kind)
    }

    fn persist_empty(_: &Prototypes<'_>) -> persist::Result<Self> {
        Ok(Self(Vec::new()))
    }

    fn persist_encode(&self, out: &mut Encoder<'_>) -> Result<(), Stop> {
        self.0.persist_encode(out)
    }

    fn persist_decode(input: &mut Decoder<'_>) -> Result<Self, Fail> {
        Vec::persist_decode(input).map(Self)
    }
}

#[test]
fn a_set_that_was_none_in_the_save_is_damage() {
    #[derive(Persist)]
    #[persist(class = "Deck")]
    struct Then {
        cards: Loose,
        size: u8,
    }
    #[derive(Persist)]
    #[persist(class = "Deck")]
    struct Same {
        cards: BTreeSet<u8>,
        size: u8,
    }
    #[derive(Persist)]
    #[persist(class = "Deck")]
    struct Wider {
        cards: BTreeSet<u16>,
        size: u16,
    }
    let then = || Then { cards: Loose(vec![7, 8, 7]), size: 3 };
    let errors = [error::<_, Same>(then()), error::<_, Wider>(then())];
    insta::assert_snapshot!("a_damaged_set", errors.map(|error| error.to_string()).join("\n"));

    // Keys that only the program takes for one are none.
    #[derive(Persist, PartialEq, Eq, PartialOrd, Ord)]
    #[persist(class = "Card")]
    struct OldCard {
        rank: u8,
        suit: u8,
    }
    #[derive(Persist, PartialEq, Eq, PartialOrd, Ord)]
    struct Card {
        rank: u8,
    }
    #[derive(Persist)]
    #[persist(class = "Hand")]
    struct OldHand {
        cards: BTreeSet<OldCard>,
    }
    #[derive(Persist)]
    struct Hand {
        cards: BTreeSet<Card>,
    }
    let cards = [1, 2].map(|suit| OldCard { rank: 9, suit });
    let error = error::<_, Hand>(OldHand { cards: cards.into() });
    insta::assert_snapshot!("cards_that_became_one", error.to_string());
}

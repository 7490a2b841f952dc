//! Tests of large containers: a frame reads what is visible, and an edit is as small as its part.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};

use egui::accesskit::Role;
use egui::{PointerButton, Pos2, Vec2};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable as _;
use persist::codec::{Decoder, EditableItems, EditableList, Encoder, Fail, Prototypes, Stop};
use persist::reflect::Kind;
use persist::{History, Persist, Result, Saves, Session, Value};
use persist_egui::inspect_value;

use crate::support::{Program, Window};

thread_local! {
    /// The number of elements that were encoded or lent.
    static READ: Cell<usize> = const { Cell::new(0) };
}

fn count_read() {
    READ.with(|read| read.set(read.get() + 1));
}

/// A number that counts how often it is encoded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Counted(u32);

impl Persist for Counted {
    fn persist_kind() -> Kind {
        Kind::U32
    }

    fn persist_empty(_: &Prototypes<'_>) -> Result<Self> {
        Ok(Self(0))
    }

    fn persist_encode(&self, out: &mut Encoder<'_>) -> std::result::Result<(), Stop> {
        count_read();
        out.value(&self.0)
    }

    fn persist_decode(input: &mut Decoder<'_>) -> std::result::Result<Self, Fail> {
        input.value().map(Self)
    }
}

/// A list that counts how often it lends an element.
#[derive(Clone, Debug, Default, PartialEq)]
struct Chain(Vec<u32>);

impl Persist for Chain {
    const PERSIST_ITEMS: EditableItems = EditableItems::list::<Self>();

    fn persist_kind() -> Kind {
        Kind::List(u32::persist_kind)
    }

    fn persist_empty(_: &Prototypes<'_>) -> Result<Self> {
        Ok(Self::default())
    }

    fn persist_encode(&self, out: &mut Encoder<'_>) -> std::result::Result<(), Stop> {
        READ.with(|read| read.set(read.get() + self.0.len()));
        out.value(&self.0)
    }

    fn persist_decode(input: &mut Decoder<'_>) -> std::result::Result<Self, Fail> {
        input.value().map(Self)
    }
}

impl EditableList for Chain {
    type Element = u32;

    fn persist_len(&self) -> usize {
        self.0.len()
    }

    fn persist_get(&self, index: usize) -> Option<&u32> {
        count_read();
        self.0.get(index)
    }

    fn persist_get_mut(&mut self, index: usize) -> Option<&mut u32> {
        self.0.get_mut(index)
    }

    fn persist_insert(&mut self, index: usize, element: u32) -> Result<()> {
        self.0.insert(index, element);
        Ok(())
    }

    fn persist_remove(&mut self, index: usize) -> Option<u32> {
        (index < self.0.len()).then(|| self.0.remove(index))
    }
}

#[derive(Persist, Clone, Debug, Default, PartialEq)]
#[persist(component)]
struct Store {
    list: Vec<Counted>,
    queue: VecDeque<Counted>,
    chain: Chain,
    nested: Vec<Vec<Counted>>,
    ordered: BTreeMap<u32, Counted>,
    hashed: HashMap<String, Counted>,
    set: BTreeSet<Counted>,
    hashed_set: HashSet<Counted>,
    maybe: Option<Vec<u16>>,
    plan: Option<BTreeMap<u8, u8>>,
    pairs: BTreeMap<(u8, bool), Vec<u16>>,
    part: Part,
}

#[derive(Persist, Clone, Debug, Default, PartialEq)]
enum Part {
    #[default]
    None,
    One {
        words: Vec<String>,
    },
    Two {
        words: Vec<String>,
        more: u8,
    },
}

const MANY: u32 = 100_000;

impl Store {
    fn large() -> Self {
        let counted = || (0..MANY).map(Counted);
        Self {
            list: counted().collect(),
            queue: counted().collect(),
            chain: Chain((0..MANY).collect()),
            nested: vec![counted().collect(); 3],
            ordered: counted().map(|it| (it.0, it)).collect(),
            hashed: counted().map(|it| (it.0.to_string(), it)).collect(),
            set: counted().collect(),
            hashed_set: counted().collect(),
            ..Self::default()
        }
    }
}

/// Shows a document, whose journal is in a folder.
fn document(store: Store) -> (Harness<'static, Session<Store>>, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let session = Session::<Store>::with(Saves::new(), History::new(100));
    let (mut session, _) =
        session.open(folder.path().join("a.sav"), folder.path().join("a.journal")).unwrap();
    session
        .edit("Fill", |target| {
            *target = store;
            Ok(())
        })
        .unwrap();
    session.save().unwrap();
    let app = |ui: &mut egui::Ui, session: &mut Session<Store>| inspect_value(ui, session);
    let size = Vec2::new(420.0, 6_000.0);
    let mut window = Harness::builder().with_size(size).build_ui_state(app, session);
    window.run_steps(3);
    (window, folder)
}

fn click_at(window: &mut Harness<'static, Session<Store>>, pos: Pos2) {
    window.event(egui::Event::PointerMoved(pos));
    window.run_steps(1);
    for pressed in [true, false] {
        let (button, modifiers) = (PointerButton::Primary, egui::Modifiers::NONE);
        window.event(egui::Event::PointerButton { pos, button, pressed, modifiers });
        window.run_steps(1);
    }
    window.run_steps(4);
}

fn click(window: &mut Harness<'static, Session<Store>>, label: &str) {
    let pos = window.get_all_by_label(label).next().unwrap().rect().center();
    click_at(window, pos);
}

/// Opens or closes the header of a field.
fn toggle(window: &mut Harness<'static, Session<Store>>, label: &str) {
    let rect = window.get_all_by_label(label).next().unwrap().rect();
    click_at(window, Pos2::new(rect.left() - 9.0, rect.center().y));
}

#[test]
fn a_frame_reads_the_elements_that_are_visible() {
    let (mut window, _folder) = document(Store::large());
    // The maps are open at first, and the others closed.
    for (label, expected) in [("", 110), ("ordered", 60), ("hashed", 1)] {
        if !label.is_empty() {
            toggle(&mut window, label);
        }
        READ.set(0);
        window.run_steps(1);
        assert!(READ.get() <= expected, "{label}: {}", READ.get());
    }
    for label in ["list", "queue", "chain", "set", "hashed_set"] {
        toggle(&mut window, label);
        READ.set(0);
        window.run_steps(1);
        assert!((50..=110).contains(&READ.get()), "{label}: {}", READ.get());
        toggle(&mut window, label);
    }
    // A list of lists shows the lengths of the inner ones.
    READ.set(0);
    window.run_steps(1);
    assert_eq!(READ.get(), 0);
    assert_eq!(window.query_all_by_label("(100000)").count(), 10);
}

#[test]
fn a_frame_of_a_component_reads_the_elements_that_are_visible() {
    let (program, _) = Program::with("Store", Store::large());
    let mut window = program.show();
    READ.set(0);
    window.0.run_steps(1);
    assert!(READ.get() <= 110, "{}", READ.get());
}

#[test]
fn elements_beyond_the_first_page_are_edited_moved_and_removed() {
    let (mut window, folder) = document(Store::large());
    for label in ["ordered", "hashed", "list"] {
        toggle(&mut window, label);
    }
    click(&mut window, "The elements after");
    let size = || std::fs::metadata(folder.path().join("a.journal")).unwrap().len();
    let before = size();
    click(&mut window, "Move [50] down");
    click(&mut window, "Remove [52]");
    click(&mut window, "Insert into list");
    assert!(size() - before < 2_000, "{}", size() - before);
    let list = &window.state().target().list;
    assert_eq!(list[50..54], [51, 50, 53, 54].map(Counted));
    assert_eq!((list.len(), list.last()), (MANY as usize, Some(&Counted(0))));
    let history = window.state().history();
    let labels: Vec<_> = history.entries().map(|entry| entry.label.to_string()).collect();
    assert_eq!(labels[1..], ["Move in list", "Remove from list", "Insert into list"]);
    for _ in 0..3 {
        window.state_mut().undo().unwrap();
    }
    assert_eq!(*window.state().target(), Store::large());
}

#[test]
fn an_edit_of_a_key_records_the_key() {
    let (mut window, folder) = document(Store::large());
    let size = || std::fs::metadata(folder.path().join("a.journal")).unwrap().len();
    let before = size();
    toggle(&mut window, "hashed");
    click(&mut window, "Remove [7u32]");
    assert!(!window.state().target().ordered.contains_key(&7));
    toggle(&mut window, "ordered");
    toggle(&mut window, "hashed");
    click(&mut window, "Insert into hashed");
    assert_eq!(window.state().target().hashed[""], Counted(0));
    assert!(size() - before < 1_000, "{}", size() - before);
    for _ in 0..2 {
        window.state_mut().undo().unwrap();
    }
    assert_eq!(*window.state().target(), Store::large());
}

fn shown(store: Store) -> Window {
    Program::with("Store", store).0.show()
}

#[test]
fn a_key_is_renamed_unless_the_map_has_the_new_one() {
    let ordered: BTreeMap<_, _> = (0..3).map(|key| (key, Counted(key + 10))).collect();
    let mut window = shown(Store { ordered: ordered.clone(), ..Store::default() });
    window.enter("key", "1");
    assert_eq!(window.component::<Store>().ordered, ordered);
    assert!(window.program().inspector.error().is_some());
    window.enter("key", "7");
    let renamed = [(0, Counted(10)), (1, Counted(11)), (7, Counted(12))];
    assert_eq!(window.component::<Store>().ordered, renamed.into());
    assert_eq!(window.entries(), ["Set ordered of Store"]);
    window.undo();
    assert_eq!(window.component::<Store>().ordered, ordered);
}

#[test]
fn the_value_of_a_key_that_is_a_tuple_is_edited() {
    let pairs: BTreeMap<_, _> = (0..2).map(|key| ((key, true), vec![3, 4])).collect();
    let mut window = shown(Store { pairs: pairs.clone(), ..Store::default() });
    window.click("Remove [0]");
    assert_eq!(window.component::<Store>().pairs[&(0, true)], [4]);
    window.click_last("Insert into [(1u8, true)]");
    assert_eq!(window.component::<Store>().pairs[&(1, true)], [3, 4, 0]);
    window.click("Remove [(0u8, true)]");
    assert_eq!(window.component::<Store>().pairs.len(), 1);
    for _ in 0..3 {
        window.undo();
    }
    assert_eq!(window.component::<Store>().pairs, pairs);
}

/// A key of such a map has no edit of its own.
#[test]
fn the_keys_of_a_map_in_an_option_are_edited_with_the_map() {
    let plan: BTreeMap<u8, u8> = (1..60).map(|key| (key, 2 * key)).collect();
    let mut window = shown(Store { plan: Some(plan.clone()), ..Store::default() });
    window.click("Insert into plan");
    let mut expected = plan.clone();
    expected.insert(0, 0);
    assert_eq!(window.component::<Store>().plan, Some(expected.clone()));
    window.click("The elements after");
    window.click("Remove [51u8]");
    expected.remove(&51);
    assert_eq!(window.component::<Store>().plan, Some(expected.clone()));
    window.enter("[52u8]", "7");
    expected.insert(52, 7);
    assert_eq!(window.component::<Store>().plan, Some(expected.clone()));
    // The key of the last entry.
    window.enter("key", "200");
    let value = expected.remove(&59).unwrap();
    expected.insert(200, value);
    assert_eq!(window.component::<Store>().plan, Some(expected));
    assert_eq!(window.entries().len(), 4);
    for _ in 0..4 {
        window.undo();
    }
    assert_eq!(window.component::<Store>().plan, Some(plan));
}

#[test]
fn an_element_of_a_large_set_is_replaced_and_removed() {
    let hashed_set: HashSet<_> = (0..1_000).map(Counted).collect();
    let mut window = shown(Store { hashed_set: hashed_set.clone(), ..Store::default() });
    window.click_arrow("hashed_set");
    let first = *hashed_set.iter().next().unwrap();
    window.enter("[0]", "5000");
    let set = window.component::<Store>().hashed_set;
    assert!(set.len() == 1_000 && set.contains(&Counted(5_000)));
    // The set that the inspector shows is the one of the component, whose order is its own.
    let gone: Vec<_> = hashed_set.difference(&set).copied().collect();
    assert_eq!(gone.len(), 1);
    window.click("Remove [0]");
    assert_eq!(window.component::<Store>().hashed_set.len(), 999);
    window.undo();
    window.undo();
    assert!(window.component::<Store>().hashed_set.contains(&first));
    window.click("Insert into hashed_set");
    assert!(window.program().inspector.error().is_none());
    assert!(window.component::<Store>().hashed_set.contains(&Counted(1_000)));
}

#[test]
fn a_long_list_in_an_option_is_edited_by_pages() {
    let numbers: Vec<u16> = (0..1_000).collect();
    let mut window = shown(Store { maybe: Some(numbers.clone()), ..Store::default() });
    // The label of the option is also that of its checkbox.
    let rect = window.0.get_by_role_and_label(Role::Label, "maybe").rect();
    window.click_at(Pos2::new(rect.left() - 9.0, rect.center().y), PointerButton::Primary);
    window.click("The elements after");
    window.enter("[57]", "7");
    window.click("Remove [58]");
    let mut expected = numbers;
    expected[57] = 7;
    expected.remove(58);
    assert_eq!(window.component::<Store>().maybe, Some(expected));
    assert_eq!(window.get("Store:maybe[57]"), Value::U16(7));
}

#[test]
fn another_variant_takes_over_a_long_list() {
    let words: Vec<String> = (0..1_000).map(|number| number.to_string()).collect();
    let mut window = shown(Store { part: Part::One { words: words.clone() }, ..Store::default() });
    let at = window.widget("part");
    window.click_at(at, PointerButton::Primary);
    window.click("Two");
    assert_eq!(window.component::<Store>().part, Part::Two { words, more: 0 });
}

//! Saves made by hand to exhaust the stack, the memory or the patience of a
//! loader.

use std::cell::RefCell;
use std::rc::Rc;

use persist::{ErrorKind, Persist, Result, SaveManager};
use persist_tests::support::forge::{
    ADDED, SMALL, VALUE, bare, class, counted, fields, id_of, one, one_of, record, refused, save,
    try_load, value, with_id,
};

#[derive(Persist, Debug)]
struct Sword {
    power: u8,
}

/// Nested without end, by value.
#[derive(Persist, Debug)]
struct List {
    next: Option<Box<List>>,
}

/// The same, of which an older program had the fields in another order.
#[derive(Persist, Debug)]
struct Chain {
    power: u8,
    next: Option<Box<Chain>>,
}

/// Linked without end, by reference.
#[derive(Persist, Debug)]
struct Link {
    next: Option<Rc<RefCell<Link>>>,
}

/// Elements that an old save may hold without any byte.
#[derive(Persist, Debug)]
struct Defaults {
    #[persist(default = [7; 32])]
    numbers: [u64; 32],
}

/// An element that has memory but no bytes.
#[derive(Persist, Debug)]
struct Cache {
    #[persist(skip)]
    _numbers: [u64; 32],
}

/// Known by an alias.
#[derive(Persist, Debug)]
#[persist(alias = "Old")]
struct Blade {
    next: Option<Box<Blade>>,
}

const LIST: &[(&str, &[u8])] = &[("next", &[0x10, 0x16, 1])];

/// Loads objects.
fn objects(save: &[u8]) -> Result<()> {
    let manager = SaveManager::new();
    manager.register::<List>()?;
    manager.register::<Link>()?;
    manager.from_slice(save).map(drop)
}

/// A list nested so deep: a tag for each level.
fn nested(depth: usize) -> Vec<u8> {
    let mut payload = vec![1; depth];
    payload.push(0);
    payload
}

fn deep_list(depth: usize) -> List {
    (0..depth).fold(List { next: None }, |list, _| List { next: Some(Box::new(list)) })
}

/// Without the recursion of a plain drop.
fn take_apart(list: List) {
    let mut next = list.next;
    while let Some(mut list) = next {
        next = list.next.take();
    }
}

#[test]
fn values_nested_beyond_the_limit_are_refused_on_a_small_stack() {
    for depth in [0, 1, 100, 128] {
        try_load(one(class("List", LIST), &nested(depth)), value::<List>).unwrap();
    }
    for depth in [129, 1_000, 10_000, 100_000, 1_000_000] {
        let error = refused(one(class("List", LIST), &nested(depth)), value::<List>);
        assert_eq!(error.kind(), ErrorKind::TooDeep, "{depth} levels: {error}");
        let objects_of = save(&[class("List", LIST), record(1, ADDED, 1, &nested(depth))]);
        assert_eq!(refused(objects_of, objects).kind(), ErrorKind::TooDeep);
    }
}

#[test]
fn values_nested_beyond_the_limit_are_not_saved_on_a_small_stack() {
    let small = std::thread::Builder::new().stack_size(SMALL);
    let thread = small.spawn(|| {
        for (depth, expected) in
            [(128, None), (129, Some(ErrorKind::TooDeep)), (1_000_000, Some(ErrorKind::TooDeep))]
        {
            let list = deep_list(depth);
            assert_eq!(persist::to_vec(&list).err().map(|error| error.kind()), expected, "{depth}");
            let object = Rc::new(RefCell::new(list));
            let mut manager = SaveManager::new();
            manager.add(&object).unwrap();
            assert_eq!(manager.to_vec().err().map(|error| error.kind()), expected, "{depth}");
            take_apart(object.replace(List { next: None }));
        }
    });
    thread.unwrap().join().unwrap();
}

/// A list with a field that the program dropped, so that every level is rewritten.
fn older_list(depth: usize) -> Vec<u8> {
    one(class("List", &[("next", &[0x10, 0x16, 1]), ("gone", &[0])]), &nested(depth))
}

#[test]
fn values_of_an_older_class_nested_beyond_the_limit_are_refused_on_a_small_stack() {
    for depth in [0, 100, 128] {
        try_load(older_list(depth), value::<List>).unwrap();
    }
    for depth in [129, 1_000, 1_100, 100_000, 1_000_000] {
        let error = refused(older_list(depth), value::<List>);
        assert_eq!(error.kind(), ErrorKind::TooDeep, "{depth} levels: {error}");
        assert!(error.to_string().len() < 600, "{} bytes of message", error.to_string().len());
        assert!(error.field().unwrap().starts_with("next.next.next."), "{error}");
    }
}

#[test]
fn fields_out_of_order_are_put_in_order_at_every_level() {
    let parts: &[(&str, &[u8])] = &[("next", &[0x10, 0x16, 1]), ("power", &[3])];
    let turned = |depth: usize| {
        let powers: Vec<u8> = (0..=250).cycle().take(depth + 1).collect();
        one(class("Chain", parts), &[nested(depth), powers].concat())
    };
    let chain: Chain = persist::from_slice(&turned(128)).unwrap();
    let mut powers = Vec::new();
    let mut next = Some(Box::new(chain));
    while let Some(chain) = next {
        powers.push(chain.power);
        next = chain.next;
    }
    assert_eq!(powers, (0..=128).rev().collect::<Vec<u8>>());
    for depth in [129, 100_000] {
        assert_eq!(refused(turned(depth), value::<Chain>).kind(), ErrorKind::TooDeep);
    }
}

#[test]
fn values_nested_in_a_dropped_field_do_not_exhaust_the_stack() {
    for depth in [100, 100_000] {
        let gone = class("Sword", &[("power", &[3]), ("gone", &[0x16, 2])]);
        let deep = class("Deep", &[("next", &[0x10, 0x16, 2])]);
        let payload = [&[7], &nested(depth)[..]].concat();
        try_load(one_of(&[gone, deep], &payload), value::<Sword>).unwrap();
    }
}

#[test]
fn kinds_nested_beyond_the_limit_are_refused() {
    for (depth, accepted) in [(62, true), (63, true), (64, false), (65, false), (100_000, false)] {
        let kind = [&vec![0x10; depth][..], &[3]].concat();
        let gone = class("Sword", &[("power", &[3]), ("gone", &kind)]);
        let result = try_load(one(gone, &[7, 0]), value::<Sword>);
        let kind = result.err().map(|error| error.kind());
        assert_eq!(kind, (!accepted).then_some(ErrorKind::Damaged), "{depth} levels");
    }
}

#[test]
fn kinds_of_every_sort_nest_as_deep_on_a_small_stack() {
    let sorts: [&[u8]; 5] = [&[0x10], &[0x11], &[0x13, 3], &[0x14, 2], &[0x15, 1]];
    for sort in sorts {
        let kind = [&sort.repeat(63)[..], &[0x16, 2]].concat();
        let gone = class("Sword", &[("power", &[3]), ("gone", &kind)]);
        let save =
            one_of(&[gone, class("Text", &[("text", &[15])])], &[&[7][..], &[0; 64]].concat());
        // Most have bytes left over, and the arrays too few.
        let _ = try_load(save, value::<Sword>);
        let taken = class("Sword", &[("power", &kind)]);
        let save = one_of(&[taken, class("Text", &[("text", &[15])])], &[0; 64]);
        let error = refused(save, value::<Sword>);
        assert_eq!(error.kind(), ErrorKind::KindMismatch);
        assert!(error.to_string().len() < 1000, "{} bytes of message", error.to_string().len());
    }
}

#[test]
fn long_names_do_not_multiply() {
    let name = "x".repeat(100_000);
    let names: Vec<String> = (0..10_000).map(|i| format!("{i:x}")).collect();
    let units: Vec<(&str, &[u8])> = names.iter().map(|name| (&**name, &[0_u8][..])).collect();
    // Dropped fields of a class of a long name, known by its id.
    let all = fields(&[&[("power", &[3][..])], &units[..]].concat());
    let long = with_id(id_of("Sword"), &name, 1, 0, &all);
    let _ = try_load(one(long, &[7]), value::<Sword>);
    // A tuple of classes of a long name.
    let kind = [&[0x15][..], &counted(20_000), &[0x16, 2].repeat(20_000)].concat();
    let long = class(&name, &[("text", &[15])]);
    let error = refused(one_of(&[class("Sword", &[("power", &kind)]), long], &[]), value::<Sword>);
    assert_eq!(error.kind(), ErrorKind::KindMismatch);
    assert!(error.to_string().len() < 1000, "{} bytes of message", error.to_string().len());
    // A fault deep in a field of a long name.
    let deep = class("Deep", &[(&name, &[0x10, 0x16, 2])]);
    let gone = class("Sword", &[("power", &[3]), ("gone", &[0x16, 2])]);
    let payload = [&[7][..], &vec![1; 20_000], &[2]].concat();
    let error = refused(one_of(&[gone, deep], &payload), value::<Sword>);
    assert_eq!(error.kind(), ErrorKind::InvalidValue);
}

#[test]
fn many_changed_classes_are_compared_soon() {
    // Each is an older `Blade`, known by its alias, and holds the one before it.
    let mut items = vec![class("Sword", &[("power", &[3])])];
    for i in 2..60_000_u64 {
        let kind = [&[0x10, 0x16][..], &counted(i - 1)].concat();
        items.push(with_id(i, "Old", 1, 0, &fields(&[("next", &kind)])));
    }
    items.push(record(1, VALUE, 1, &[7]));
    try_load(save(&items), |save| {
        let manager = SaveManager::new();
        manager.register::<Blade>()?;
        let error = manager.from_slice(save).map(drop).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::WrongClass, "{error}");
        Ok(())
    })
    .unwrap();
}

#[test]
fn a_fault_deep_inside_is_told_in_few_words() {
    let mut payload = vec![1; 200_000];
    payload.push(2);
    let error = refused(one(class("List", LIST), &payload), value::<List>);
    assert!(error.to_string().len() < 600, "{} bytes of message", error.to_string().len());
    assert!(error.field().unwrap().starts_with("next.next.next."), "{error}");
}

#[test]
fn classes_that_double_without_bytes_are_skipped_soon() {
    // Each holds the next one twice; the last one is a unit.
    let mut definitions = vec![class("Sword", &[("power", &[3]), ("gone", &[0x16, 2])])];
    for i in 2..62_u8 {
        let next: &[u8] = &[0x16, i + 1];
        definitions.push(class(&format!("C{i}"), &[("a", next), ("b", next)]));
    }
    definitions.push(class("C62", &[("unit", &[0])]));
    // Either answer is right, if it comes.
    let _ = try_load(one_of(&definitions, &[7]), value::<Sword>);
}

#[test]
fn many_units_in_many_elements_are_skipped_soon() {
    let names: Vec<String> = (0..30_000).map(|i| format!("{i:x}")).collect();
    let units: Vec<(&str, &[u8])> = names.iter().map(|name| (&**name, &[0_u8][..])).collect();
    let mut parts = units;
    parts.push(("text", &[15]));
    let gone = class("Sword", &[("power", &[3]), ("gone", &[0x11, 0x16, 2])]);
    let payload = [&[7][..], &counted(200_000), &vec![0; 200_000]].concat();
    let _ = try_load(one_of(&[gone, class("Wide", &parts)], &payload), value::<Sword>);
}

#[test]
fn empty_lists_of_a_wide_kind_are_skipped_soon() {
    // Each list takes a byte; its kind is long to look at.
    let units = 100_000;
    let wide = [&[0x11, 0x11, 0x15][..], &counted(units + 1), &vec![0; 100_000], &[15]].concat();
    let gone = class("Sword", &[("power", &[3]), ("gone", &wide)]);
    let payload = [&[7][..], &counted(400_000), &vec![0; 400_000]].concat();
    let _ = try_load(one(gone, &payload), value::<Sword>);
}

#[test]
fn defaults_do_not_multiply_a_small_save() {
    // 2^20 elements without bytes, each to be given 256 bytes of default.
    let list = bare("Vec<Defaults>", &[0x11, 0x16, 2]);
    let save = one_of(&[list, class("Defaults", &[])], &counted(1 << 20));
    let mut result = Ok(());
    let used = allocation_counter::measure(|| result = value::<Vec<Defaults>>(&save));
    assert_eq!(result.unwrap_err().kind(), ErrorKind::TooLarge);
    // What the defaults may take of any save, and as much while it grows.
    assert!(used.bytes_max < 128 << 20, "{} bytes of memory", used.bytes_max);
}

#[test]
fn defaults_of_many_records_are_counted_together() {
    let mut items = vec![class("Defaults", &[])];
    items.extend((1..=600_000).map(|id| record(1, ADDED, id, &[])));
    let manager = SaveManager::new();
    manager.register::<Defaults>().unwrap();
    let error = manager.from_slice(&save(&items)).map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooLarge, "{error}");
    assert_eq!(error.object(), Some((64 << 20) / 256 + 1));
}

#[test]
fn elements_without_bytes_take_no_memory_out_of_proportion() {
    let list = || bare("Vec<Cache>", &[0x11, 0x16, 2]);
    let save = one_of(&[list(), class("Cache", &[])], &counted(1 << 20));
    let _ = try_load(save, value::<Vec<Cache>>);
}

#[test]
fn boxes_are_not_allocated_for_before_they_are_read() {
    let boxes = one(bare("Vec<Box<u8>>", &[0x11, 3]), &[&counted(1 << 20)[..], &[1, 2]].concat());
    assert_eq!(refused(boxes, value::<Vec<Box<u8>>>).kind(), ErrorKind::InvalidValue);
}

#[test]
fn a_definition_of_many_units_takes_memory_in_proportion() {
    let kind = [&[0x15][..], &counted(1 << 20), &vec![0; 1 << 20]].concat();
    let gone = class("Sword", &[("power", &[3]), ("gone", &kind)]);
    let _ = try_load(one(gone, &[7]), value::<Sword>);
}

#[test]
fn the_last_object_id_leaves_room_for_new_objects() {
    let link = || class("Link", &[("next", &[0x10, 0x17, 0x11, 1])]);
    for id in [u64::MAX, u64::MAX - 1, 1 << 63, (1 << 63) - 1] {
        let manager = SaveManager::new();
        manager.register::<Link>().unwrap();
        let Ok(loaded) = manager.from_slice(&save(&[link(), record(1, ADDED, id, &[0])])) else {
            continue;
        };
        let first = loaded.first::<Link>().unwrap();
        first.borrow_mut().next = Some(Rc::new(RefCell::new(Link { next: None })));
        match loaded.to_vec() {
            Ok(save) => assert_eq!(manager.from_slice(&save).unwrap().len(), 2, "after id {id}"),
            Err(error) => assert_eq!(error.kind(), ErrorKind::TooLarge, "after id {id}: {error}"),
        }
    }
}

/// Objects that each refer to the next; their ids count up or down.
fn chain(length: u64, ascending: bool, last: u64) -> Vec<u8> {
    let id = |i: u64| if ascending { i + 1 } else { length - i };
    let mut items = vec![class("Link", &[("next", &[0x10, 0x17, 0x11, 1])])];
    for i in 0..length {
        let next = if i + 1 < length { id(i + 1) } else { last };
        let payload = if next == 0 { vec![0] } else { [vec![1], counted(next)].concat() };
        items.push(record(1, ADDED, id(i), &payload));
    }
    save(&items)
}

#[test]
fn a_chain_of_objects_takes_no_stack() {
    try_load(chain(100_000, true, 0), objects).unwrap();
    for ascending in [true, false] {
        // A load that fails at the last takes apart what it has made.
        let error = refused(chain(100_000, ascending, 200_000), objects);
        assert_eq!(error.kind(), ErrorKind::MissingObject);
    }
}

#[test]
fn structs_in_structs_that_are_unknown_do_not_overflow_the_stack() {
    // A field that the program lacks, of a class that holds another, and so on, by value.
    let depth = 20_000;
    let gone = [&[0x16][..], &counted(2)].concat();
    let mut items = vec![class("Sword", &[("power", &[3]), ("gone", &gone)])];
    for i in 0..depth {
        let inner = [&[0x16][..], &counted(i + 3)].concat();
        let inner: &[u8] = if i + 1 < depth { &inner } else { &[0x0f] };
        items.push(class(&format!("C{i}"), &[("inner", inner), ("name", &[0x0f])]));
    }
    let payload = [vec![7], vec![0; usize::try_from(depth).unwrap() + 1]].concat();
    let _ = try_load(one_of(&items, &payload), value::<Sword>);
}

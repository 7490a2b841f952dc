//! Changes that have no way back, each a field; and where values say no.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use persist::Persist;

use super::harness::{Shared, cases, shared};
use super::nest::{PLACES, everywhere};

#[derive(Persist, Debug, Clone)]
struct Spot {
    #[persist(alias = "1")]
    name: String,
    #[persist(alias = "0")]
    x: i32,
}

#[derive(Persist, Debug, Clone)]
#[persist(class = "Mark")]
struct Mark(u8, String);

#[derive(Persist, Debug, Clone)]
#[persist(class = "Mark")]
struct NewMark {
    #[persist(alias = "0")]
    number: u32,
    #[persist(alias = "1")]
    text: String,
    #[persist(default = 7)]
    more: u8,
}

cases! {
    CONVERTED whole: i32 = |i| -i32::from(i), f64 = f64::from(-i32::from(i));
    CONVERTED small: u8 = |i| i, f32 = i.into();
    CONVERTED large: u128 = |i| u128::from(i) << 100, f32 = f32::from(i) * 2_f32.powi(100);
    CONVERTED many: String = |i| i.to_string(), Vec<String> = vec![i.to_string()];
    CONVERTED many_wide: u8 = |i| i, Vec<u32> = vec![i.into()];
    CONVERTED many_shared: u8 = |i| i, Vec<Shared<u32>> = vec![shared(i.into())];
    CONVERTED more_shared: Shared<u8> = |i| shared(i), Vec<Shared<u8>> = vec![shared(i)];
    CONVERTED from_shared: Shared<u8> = |i| shared(i), Vec<u8> = vec![i];
    CONVERTED some_shared: Shared<u8> = |i| shared(i), Option<Shared<u8>> = Some(shared(i));
    CONVERTED set: u8 = |i| i, BTreeSet<u8> = [i].into();
    CONVERTED some_list: u8 = |i| i, Option<Vec<u8>> = Some(vec![i]);
    CONVERTED list_of_none: Option<u8> = |_i| None, Vec<Option<u8>> = vec![None];
    CONVERTED list_of_some: Option<u8> = |i| Some(i), Vec<Option<u16>> = vec![Some(i.into())];
    CONVERTED present_list: Option<u8> = |i| Some(i), Vec<u16> = vec![i.into()];
    CONVERTED options_in_option: Vec<Option<u8>> = |i| vec![None, Some(i)],
        Option<Vec<Option<u16>>> = Some(vec![None, Some(i.into())]);
    CONVERTED none_twice: Option<u8> = |_i| None, Option<Option<u16>> = None;
    CONVERTED some_twice: Option<u8> = |i| Some(i), Option<Option<u16>> = Some(Some(i.into()));
    CONVERTED lists_in_list: Vec<u8> = |i| vec![i, 1], Vec<Vec<u16>> = vec![vec![i.into()], vec![1]];
    CONVERTED array_in_list: [u8; 2] = |i| [i, 1], Vec<[u8; 2]> = vec![[i, 1]];
    CONVERTED map_in_list: BTreeMap<u8, u8> = |i| [(i, 1)].into(),
        Vec<BTreeMap<u8, u16>> = vec![[(i, 1)].into()];
    CONVERTED tuple: (u8, String) = |i| (i, "a".into()), Spot = Spot { name: "a".into(), x: i.into() };
    CONVERTED tuples: Vec<(i32, String)> = |i| vec![(-i32::from(i), "a".into())],
        Vec<Option<Spot>> = vec![Some(Spot { name: "a".into(), x: -i32::from(i) })];
    CONVERTED shared_tuple: (u8, String) = |i| (i, "a".into()),
        Rc<Spot> = Rc::new(Spot { name: "a".into(), x: i.into() });
    SAME tuple_struct: Mark = |i| Mark(i, "b".into()),
        NewMark = NewMark { number: i.into(), text: "b".into(), more: 7 };
    CONVERTED of_tuple_struct: Mark = |i| Mark(i, "b".into()), (u64, String) = (i.into(), "b".into());
}

#[test]
fn kinds_change_onward() {
    let found = everywhere(old, new);
    let of_case: Vec<_> = found.iter().filter(|row| row.1 == "Case").cloned().collect();
    assert_eq!(of_case, expected(PLACES));
}

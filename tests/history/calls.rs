//! Calls of a history, by chance.

use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, any, prop_oneof};
use proptest::{option, sample};

use super::steps::{Leaf, NAMES};

/// How an edit goes.
#[derive(Clone, Copy, Debug)]
pub(super) enum How {
    Well,
    /// The last of its commands is refused.
    Refused,
    /// The last of its commands panics before it has done something.
    Panics,
    /// All but its first command is a part of it that fails, and it goes on without.
    Parted,
}

#[derive(Clone, Debug)]
pub(super) enum Call {
    Apply(Leaf, How),
    /// Whose merge is refused, if there is one.
    ApplyApart(Leaf),
    /// With a key, if it has one.
    Edit(Option<u8>, &'static str, Vec<Leaf>, How),
    Undo,
    Redo,
    FailingUndo(sample::Index),
    FailingRedo(sample::Index),
    /// An undo that cannot be put back, and whether the history is cleared then.
    Break(bool),
    GoTo(usize, Option<sample::Index>),
    Begin(&'static str),
    Commit,
    Rollback,
    /// A transaction with one in it, and whether it is committed.
    Scope(&'static str, Vec<Leaf>, bool),
    Drag(&'static str),
    EndDrag,
    /// Its token is dropped.
    ForgetDrag,
    Saved(bool),
    Capacity(Option<usize>),
    Budget(Option<usize>),
    Window(Option<u64>),
    Wait(u64),
    Fade(sample::Index),
    Clear,
}

/// Any command.
fn leaf() -> impl Strategy<Value = Leaf> {
    let simple = prop_oneof![
        4 => (0..NAMES.len(), 0..3i64).prop_map(|(name, new)| Leaf::Put(name, new)),
        2 => (0..NAMES.len(), 1..3i64).prop_map(|(name, by)| Leaf::Plus(name, by)),
        2 => Just(Leaf::Push),
        2 => (0..4usize).prop_map(Leaf::Pick),
    ];
    let simple = simple.boxed();
    let inner = simple.clone();
    prop_oneof![
        8 => simple,
        2 => Just(Leaf::Fade),
        1 => (vec(inner, 0..4), any::<bool>()).prop_map(|(inner, own)| Leaf::Pack(inner, own)),
    ]
}

/// Any call.
pub(super) fn call() -> impl Strategy<Value = Call> {
    let label = sample::select(vec!["", "", "", "A", "B"]).boxed();
    let how = prop_oneof![
        6 => Just(How::Well),
        1 => Just(How::Refused),
        1 => Just(How::Panics),
        1 => Just(How::Parted),
    ];
    let how = how.boxed();
    let index = any::<sample::Index>();
    let edits = prop_oneof![
        12 => (leaf(), how.clone()).prop_map(|(leaf, how)| Call::Apply(leaf, how)),
        1 => leaf().prop_map(Call::ApplyApart),
        6 => (option::weighted(0.4, 0..2u8), label.clone(), vec(leaf(), 0..5), how)
            .prop_map(|(key, label, leaves, how)| Call::Edit(key, label, leaves, how)),
        2 => label.clone().prop_map(Call::Drag),
        2 => (label.clone(), vec(leaf(), 0..5), any::<bool>())
            .prop_map(|(label, leaves, is_committed)| Call::Scope(label, leaves, is_committed)),
        2 => label.prop_map(Call::Begin),
        2 => Just(Call::Commit),
        1 => Just(Call::Rollback),
        1 => Just(Call::EndDrag),
        1 => Just(Call::ForgetDrag),
    ];
    let moves = prop_oneof![
        8 => Just(Call::Undo),
        6 => Just(Call::Redo),
        2 => index.clone().prop_map(Call::FailingUndo),
        2 => index.clone().prop_map(Call::FailingRedo),
        1 => any::<bool>().prop_map(Call::Break),
        4 => (0..12usize, option::weighted(0.3, index.clone()))
            .prop_map(|(to, fails)| Call::GoTo(to, fails)),
        4 => index.prop_map(Call::Fade),
    ];
    let others = prop_oneof![
        4 => any::<bool>().prop_map(Call::Saved),
        2 => option::of(0..12usize).prop_map(Call::Capacity),
        1 => option::of(0..20usize).prop_map(Call::Budget),
        1 => option::of(0..100u64).prop_map(Call::Window),
        2 => (0..100u64).prop_map(Call::Wait),
        1 => Just(Call::Clear),
    ];
    prop_oneof![5 => edits, 4 => moves, 2 => others]
}

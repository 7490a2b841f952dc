//! The command, run as people run it, on the saves of `fixtures` and on damaged ones made of them.

mod changing;
mod commands;
mod comparing;
mod completing;
mod converting;
mod game;
mod graph;
mod guide;
mod hostile;
mod inspecting;
mod live;
mod looking;
mod mending;
mod misuse;
mod pages;
mod replaying;
mod report;
mod rust;
mod support;
mod tables;

/// The types of the fixtures. The tests of the library own them.
#[path = "../../tests/support"]
#[expect(dead_code, unreachable_pub, reason = "most of it is for other tests")]
mod library {
    pub(crate) mod fixture_types;
}

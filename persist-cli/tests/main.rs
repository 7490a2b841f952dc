//! The command, run as people run it, on the saves of `fixtures` and on damaged ones made of them.

mod commands;
mod graph;
mod report;
mod support;

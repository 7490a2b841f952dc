//! The command, run as people run it, on the saves of `fixtures` and on damaged ones made of them.

mod changing;
mod commands;
mod comparing;
mod converting;
mod game;
mod graph;
mod guide;
mod hostile;
mod inspecting;
mod looking;
mod mending;
mod misuse;
mod pages;
mod replaying;
mod report;
mod rust;
mod support;
mod tables;

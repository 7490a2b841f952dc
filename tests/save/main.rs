//! Objects and values through a manager: files, streams, hooks, limits, locks and failed loads.

mod background;
mod context;
mod failed_loads;
mod files;
mod hooks;
mod limits;
mod locks;
mod locks_of_others;
mod manager;
mod many_saves;
mod metadata;
mod streams;
mod ways;

//! Behaviour by behaviour.

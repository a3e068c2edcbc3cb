//! One node, in a process of its own or inside a test: its threads, its sockets, its clock and its dice.

pub mod config;

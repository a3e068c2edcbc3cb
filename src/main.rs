//! The `adjourn` binary.

fn main() {}

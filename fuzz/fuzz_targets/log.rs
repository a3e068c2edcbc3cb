//! The decoder of log entries over arbitrary bytes: it never panics, and what it accepts survives being encoded
//! and decoded again.
#![no_main]

use adjourn::engine::Entry;
use adjourn::engine::entry::EntryBuilder;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    if let Ok(entry) = Entry::decode(input) {
        let mut builder = EntryBuilder::default();
        for command in &entry.commands {
            builder.push(command);
        }
        let bytes = builder.finish(entry.stamp);
        assert_eq!(Entry::decode(&bytes), Ok(entry));
    }
});

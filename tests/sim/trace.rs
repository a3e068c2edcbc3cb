//! The events of a run, a line each: for people who have to understand a failure, and to compare two runs to the byte.

use std::fmt::Write as _;

use super::time::{Us, written};

/// Lines that a failure shows.
const SHOWN_LINES: usize = 200;
/// Longest line that is kept; its hash covers all of it.
const LINE_CHARS_MAX: usize = 400;

/// The lines of one run.
#[derive(Clone, Debug, Default)]
pub(super) struct Trace {
    wanted: bool,
    text: String,
}

impl Trace {
    pub(super) fn new(wanted: bool) -> Self {
        Self { wanted, text: String::new() }
    }

    /// Adds a line. `what` is only asked for when somebody wants to read it.
    pub(super) fn line(&mut self, at: Us, what: impl FnOnce() -> String) {
        if !self.wanted {
            return;
        }
        let what = what();
        let hash = what.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        let kept: String = what.chars().take(LINE_CHARS_MAX).collect();
        let _ = writeln!(self.text, "{} {:08x} {kept}", written(at), hash >> 32);
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// The last lines.
    pub(super) fn end(&self) -> String {
        let lines: Vec<&str> = self.text.lines().collect();
        lines[lines.len().saturating_sub(SHOWN_LINES)..].join("\n")
    }
}

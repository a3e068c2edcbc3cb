//! The exit codes, and the error messages of failed commands.
//!
//! Scripts rely on the numbers: they never change their meaning. `adjourn --help` lists them.

use std::fmt;
use std::process::ExitCode;

/// The table of exit codes as `adjourn --help` shows it.
pub const EXIT_CODES_HELP: &str = "\
Exit codes:
  0  done
  1  refused by the server, or failed
  2  the command line or the configuration is wrong
  3  not found: no such job or topic, nothing to reserve in time, or every topic is paused
  4  cannot connect to the server, or cannot listen on the address
  5  the connection was lost and the outcome is unknown: the request may have been applied
  6  the data directory or the backup cannot be used: it is in use, not empty, missing, or of another node or version
  7  the data directory or the backup is damaged, or members of a cluster have different states
  8  the disk failed: the system reported an error for a write or a sync
130  ended by a second signal, without waiting";

/// The exit codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Done.
    Done = 0,
    /// The server refused it, or it failed.
    Refused = 1,
    /// The command line or the configuration is wrong.
    Usage = 2,
    /// There is no such job or topic, or nothing could be reserved: none in time, or all topics are paused.
    Nothing = 3,
    /// The server cannot be reached; for a server: the address cannot be listened on.
    Unreachable = 4,
    /// The connection was lost while an answer was awaited.
    OutcomeUnknown = 5,
    /// The data directory is in use or belongs to another node or version, or the backup does; or it must be empty and
    /// is not, or must exist and does not.
    DataUnusable = 6,
    /// The data directory or the backup is damaged, or members of a cluster have different states.
    DataDamaged = 7,
    /// A write or a sync failed.
    DiskFailed = 8,
    /// A second signal came before the stop was complete.
    Killed = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// Why a command failed. `main` prints it on standard error.
#[derive(Debug)]
pub struct Failure {
    /// The exit code.
    pub exit: Exit,
    /// The problem and its remedy, for a person; may have several lines.
    pub message: String,
}

impl Failure {
    /// A failure that ends the process with `exit` and shows `message`.
    pub fn new(exit: Exit, message: impl fmt::Display) -> Self {
        Self { exit, message: message.to_string() }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_help_lists_every_code_once() {
        let codes = [
            Exit::Done,
            Exit::Refused,
            Exit::Usage,
            Exit::Nothing,
            Exit::Unreachable,
            Exit::OutcomeUnknown,
            Exit::DataUnusable,
            Exit::DataDamaged,
            Exit::DiskFailed,
            Exit::Killed,
        ];
        let listed: Vec<u8> = EXIT_CODES_HELP
            .lines()
            .skip(1)
            .filter_map(|line| line.split_whitespace().next()?.parse().ok())
            .collect();
        assert_eq!(listed, codes.map(|code| code as u8));
    }
}

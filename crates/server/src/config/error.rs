//! Why a configuration is refused.

use std::io;
use std::path::PathBuf;

use super::toml_reason::shown;

/// Why a configuration is refused.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("cannot read the configuration {}: {source}", path.display())]
    Unreadable {
        /// Path of the file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A key is unknown, or a value is impossible. The text shows the line.
    #[error("{}: {}", path.display(), shown(source))]
    Wrong {
        /// Path of the file.
        path: PathBuf,
        /// Line, column and reason.
        source: Box<toml::de::Error>,
    },
    /// The file has a key that does not exist.
    #[error("{}, line {line}: there is no key {key}{}", path.display(), meant_or_documented(.meant.as_deref()))]
    UnknownKey {
        /// Path of the file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The key.
        key: String,
        /// The one that may be meant.
        meant: Option<String>,
    },
    /// An empty variable, which may not have been filled in, would let everyone in.
    #[error(
        "{key} is empty in the environment or on the command line, but set in the configuration file: remove it from the file to let everyone in, or do not set it here"
    )]
    OpenedByEmpty {
        /// The key.
        key: &'static str,
    },
    /// Callers of a port cannot show a token, and none is set for them.
    #[error(
        "{key} needs dialects_token, because its callers cannot send a token: name a token of tokens_file"
    )]
    Nameless {
        /// The key of the port.
        key: &'static str,
    },
    /// The time of data that stays must pass.
    #[error("--clock manual needs --memory: add --memory, or leave out --clock")]
    ManualClockOnDisk,
    /// A server in memory has no directory, writes no file and stays alone.
    #[error(
        "{key} cannot be used with --memory: remove {key} from the command line, the environment and the file, or leave out --memory"
    )]
    NotInMemory {
        /// The key that is set.
        key: &'static str,
    },
    /// Files that belong together are not all named.
    #[error("{set} needs {missing}: set both, or none")]
    Incomplete {
        /// A key that is set.
        set: &'static str,
        /// One that it needs.
        missing: &'static str,
    },
}

fn meant_or_documented(meant: Option<&str>) -> String {
    meant.map_or_else(
        || ": adjourn.example.toml lists all keys".to_owned(),
        |meant| format!(": do you mean {meant}?"),
    )
}

//! What does not go together with `--memory`, which keeps nothing on a disk and has no other nodes.

use super::value::ClockChoice;
use super::{Config, ConfigError, Settings};

impl Config {
    /// Checks that the clock and the place of the data fit together.
    ///
    /// # Errors
    ///
    /// If the clock stands still over data that stays, or the data in memory would be shared with other nodes.
    pub(crate) fn check_memory(&self) -> Result<(), ConfigError> {
        if self.clock == ClockChoice::Manual && !self.memory {
            return Err(ConfigError::ManualClockOnDisk);
        }
        let needing = [
            ("peer_listen", self.peer_listen.is_some()),
            ("join", !self.join.is_empty()),
            ("audit_log", self.audit_log.is_some()),
        ];
        refuse(needing.into_iter().filter(|_| self.memory))
    }
}

impl Settings {
    /// Checks that nothing is set that a server in memory cannot do.
    ///
    /// # Errors
    ///
    /// If a key needs a directory, a file to write or other nodes.
    pub(super) fn check_memory(&self) -> Result<(), ConfigError> {
        let is_named = |file: &Option<_>| file.as_ref().is_some_and(|path: &std::path::PathBuf| path != "");
        refuse([
            ("data", self.data.is_some()),
            ("disk_free_min_bytes", self.disk_free_min_bytes.is_some()),
            ("audit_log", is_named(&self.audit_log)),
            ("audit_log_bytes", self.audit_log_bytes.is_some()),
            ("call_back_log_bytes", self.call_back_log_bytes.is_some()),
            ("peer_listen", self.peer_listen.as_ref().is_some_and(|address| address.0.is_some())),
            ("peer_address", self.peer_address.as_ref().is_some_and(|address| address.0.is_some())),
            ("join", self.join.as_ref().is_some_and(|members| !members.is_empty())),
            ("found", self.found == Some(true)),
            ("peer_tls_cert", is_named(&self.peer_tls_cert)),
            ("peer_tls_key", is_named(&self.peer_tls_key)),
            ("peer_tls_ca", is_named(&self.peer_tls_ca)),
            ("peer_tls_crl", is_named(&self.peer_tls_crl)),
        ])
    }
}

/// Refuses the first key that is set.
fn refuse(keys: impl IntoIterator<Item = (&'static str, bool)>) -> Result<(), ConfigError> {
    let set = keys.into_iter().find(|(_, is_set)| *is_set);
    set.map_or(Ok(()), |(key, _)| Err(ConfigError::NotInMemory { key }))
}

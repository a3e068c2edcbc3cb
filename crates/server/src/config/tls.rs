//! The files of certificates and keys, as the configuration names them.

use std::path::PathBuf;

use super::{Config, ConfigError};
use adjourn_transport::tls::{MembersFiles, ServerFiles};

/// A key of the configuration, and the file that it names.
type Named<'a> = (&'static str, &'a Option<PathBuf>);

impl Config {
    /// The files for the port of clients; `None` serves them without TLS.
    ///
    /// # Errors
    ///
    /// Some of the keys that belong together are missing.
    pub fn tls(&self) -> Result<Option<ServerFiles>, ConfigError> {
        let (certificate, key) = (("tls_cert", &self.tls_cert), ("tls_key", &self.tls_key));
        let (ca, crl) = (("tls_client_ca", &self.tls_client_ca), ("tls_client_crl", &self.tls_client_crl));
        let Some([certificate, key]) = together([certificate, key])? else {
            return refuse_beside([ca, crl], "tls_cert").map(|()| None);
        };
        if ca.1.is_none() {
            refuse_beside([crl], ca.0)?;
        }
        let (client_ca, client_crl) = (self.tls_client_ca.clone(), self.tls_client_crl.clone());
        Ok(Some(ServerFiles { certificate, key, client_ca, client_crl }))
    }

    /// The files for the port of other nodes; `None` talks to them without TLS.
    ///
    /// # Errors
    ///
    /// As those of [`Self::tls`].
    pub fn peer_tls(&self) -> Result<Option<MembersFiles>, ConfigError> {
        let keys = [
            ("peer_tls_cert", &self.peer_tls_cert),
            ("peer_tls_key", &self.peer_tls_key),
            ("peer_tls_ca", &self.peer_tls_ca),
        ];
        let Some([certificate, key, ca]) = together(keys)? else {
            return refuse_beside([("peer_tls_crl", &self.peer_tls_crl)], "peer_tls_ca").map(|()| None);
        };
        Ok(Some(MembersFiles { certificate, key, ca, crl: self.peer_tls_crl.clone() }))
    }
}

/// All of them, or `None` if none is set.
fn together<const N: usize>(keys: [Named<'_>; N]) -> Result<Option<[PathBuf; N]>, ConfigError> {
    let Some((set, _)) = keys.iter().find(|(_, file)| file.is_some()) else { return Ok(None) };
    if let Some((missing, _)) = keys.iter().find(|(_, file)| file.is_none()) {
        return Err(ConfigError::Incomplete { set, missing });
    }
    Ok(Some(keys.map(|(_, file)| file.clone().unwrap_or_default())))
}

fn refuse_beside<const N: usize>(keys: [Named<'_>; N], missing: &'static str) -> Result<(), ConfigError> {
    match keys.into_iter().find(|(_, file)| file.is_some()) {
        Some((set, _)) => Err(ConfigError::Incomplete { set, missing }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file() -> PathBuf {
        "x.pem".into()
    }

    fn complaint<T: std::fmt::Debug>(found: Result<Option<T>, ConfigError>) -> String {
        found.expect_err("incomplete").to_string()
    }

    #[test]
    fn files_that_belong_together_are_set_together() {
        assert_eq!(Config::default().tls().expect("none"), None);
        assert_eq!(Config::default().peer_tls().expect("none"), None);
        let mut config = Config { tls_cert: Some(file()), peer_tls_ca: Some(file()), ..Config::default() };
        assert_eq!(complaint(config.tls()), "tls_cert needs tls_key: set both, or none");
        assert_eq!(complaint(config.peer_tls()), "peer_tls_ca needs peer_tls_cert: set both, or none");
        config.tls_key = Some(file());
        assert!(config.tls().expect("both").is_some_and(|files| files.client_ca.is_none()));
        config.tls_client_crl = Some(file());
        assert_eq!(complaint(config.tls()), "tls_client_crl needs tls_client_ca: set both, or none");
        let config = Config { tls_client_ca: Some(file()), peer_tls_crl: Some(file()), ..Config::default() };
        assert_eq!(complaint(config.tls()), "tls_client_ca needs tls_cert: set both, or none");
        assert_eq!(complaint(config.peer_tls()), "peer_tls_crl needs peer_tls_ca: set both, or none");
    }
}

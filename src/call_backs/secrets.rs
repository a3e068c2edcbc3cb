//! The secrets that sign calls, and the signature: [Standard Webhooks](https://www.standardwebhooks.com), version 1.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use ring::hmac;
use serde::Deserialize;
use tracing::{info, warn};

use crate::transport::Mark;

/// What stands before a secret.
const PREFIX: &str = "whsec_";
/// How long secrets are, in bytes.
const SECRET_BYTES: std::ops::RangeInclusive<usize> = 16..=128;
/// So many may be in use under one name: the old one and the new one, as a rule.
const SECRETS_MAX: usize = 8;

/// The secrets of a node, by name.
pub(super) struct Secrets {
    path: Option<PathBuf>,
    held: Mutex<Held>,
}

struct Held {
    mark: Option<Mark>,
    keys: Arc<BTreeMap<String, Vec<hmac::Key>>>,
}

/// Why the secrets cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SecretsError {
    /// The file cannot be read.
    #[error("cannot read the secrets {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The file has something else. What it says may be a secret, and is not shown.
    #[error("{}: expected [secrets] with lines as NAME = [\"whsec_...\"]", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
    },
    /// A secret is none.
    #[error("{}: {name} needs 1 to {SECRETS_MAX} secrets, each {PREFIX} and 16 to 128 bytes in base64", path.display())]
    Secret {
        /// The file.
        path: PathBuf,
        /// Under which name it stands.
        name: String,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    #[serde(default)]
    secrets: BTreeMap<String, Vec<String>>,
}

impl Secrets {
    /// Reads the file, if there is to be one.
    pub(super) fn read(path: Option<&Path>) -> Result<Self, SecretsError> {
        let (mark, keys) = match path {
            Some(path) => (Some(Mark::of(path)), keys_of(path)?),
            None => (None, BTreeMap::new()),
        };
        Ok(Self { path: path.map(Path::to_owned), held: Mutex::new(Held { mark, keys: Arc::new(keys) }) })
    }

    /// Reads the file anew if it has changed. One that cannot be used changes nothing; the log says why.
    pub(super) fn look(&self) {
        let Some(path) = &self.path else { return };
        let mark = Some(Mark::of(path));
        if self.held().mark == mark {
            return;
        }
        let keys = keys_of(path);
        let mut held = self.held();
        held.mark = mark;
        match keys {
            Ok(keys) => {
                held.keys = Arc::new(keys);
                info!(path = %path.display(), "read changed secrets of call-backs");
            }
            Err(error) => warn!(%error, "the changed secrets cannot be used: those from before stay in use"),
        }
    }

    /// The header `webhook-signature`: one signature for each secret of this name. `None` if there is none.
    pub(super) fn sign(&self, name: &str, id: &str, timestamp: u64, body: &[u8]) -> Option<String> {
        let keys = Arc::clone(&self.held().keys);
        let signatures = keys.get(name)?.iter().map(|key| {
            let mut context = hmac::Context::with_key(key);
            context.update(format!("{id}.{timestamp}.").as_bytes());
            context.update(body);
            format!("v1,{}", BASE64_STANDARD.encode(context.sign()))
        });
        Some(signatures.collect::<Vec<_>>().join(" "))
    }

    fn held(&self) -> std::sync::MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secrets").field("path", &self.path).finish_non_exhaustive()
    }
}

fn keys_of(path: &Path) -> Result<BTreeMap<String, Vec<hmac::Key>>, SecretsError> {
    let text = std::fs::read_to_string(path)
        .map_err(|source| SecretsError::Unreadable { path: path.to_owned(), source })?;
    let written: Written =
        toml::from_str(&text).map_err(|_| SecretsError::Malformed { path: path.to_owned() })?;
    let mut keys = BTreeMap::new();
    for (name, secrets) in written.secrets {
        let of_name: Option<Vec<_>> = secrets.iter().map(|secret| key_of(secret)).collect();
        match of_name.filter(|keys| (1..=SECRETS_MAX).contains(&keys.len())) {
            Some(of_name) => keys.insert(name, of_name),
            None => return Err(SecretsError::Secret { path: path.to_owned(), name }),
        };
    }
    Ok(keys)
}

fn key_of(secret: &str) -> Option<hmac::Key> {
    let bytes = BASE64_STANDARD.decode(secret.strip_prefix(PREFIX)?).ok()?;
    SECRET_BYTES.contains(&bytes.len()).then(|| hmac::Key::new(hmac::HMAC_SHA256, &bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

    #[test]
    fn the_signature_is_that_of_the_specification() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("secrets.toml");
        std::fs::write(&path, format!("[secrets]\nshop = [\"{FIRST}\"]\n")).expect("written");
        let secrets = Secrets::read(Some(&path)).expect("secrets");
        let sign = || {
            secrets.sign("shop", "msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, br#"{"test": 2432232314}"#)
        };
        // The specification's own example.
        assert_eq!(sign().as_deref(), Some("v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="));
        assert_eq!(secrets.sign("other", "a", 1, b""), None);
        let both =
            format!("[secrets]\nshop = [\"{FIRST}\", \"whsec_{}\"]\n", BASE64_STANDARD.encode([7; 24]));
        std::fs::write(&path, both).expect("written");
        secrets.look();
        let signed = sign().expect("signed");
        assert_eq!(signed.split(' ').count(), 2);
        assert!(signed.starts_with("v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE= v1,"));
        std::fs::write(&path, "[secrets]\nshop = []\n").expect("written");
        secrets.look();
        assert_eq!(sign().as_deref(), Some(signed.as_str()), "a file that cannot be used changes nothing");
    }

    #[test]
    fn a_wrong_file_is_refused_without_showing_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("secrets.toml");
        assert!(matches!(Secrets::read(Some(&path)), Err(SecretsError::Unreadable { .. })));
        for text in [
            "x",
            "[secrets]\na = \"whsec_c2VjcmV0\"",
            "[secrets]\na = [\"whsec_c2VjcmV0\"]",
            "[secrets]\na = [\"c2VjcmV0c2VjcmV0c2VjcmV0\"]",
        ] {
            std::fs::write(&path, text).expect("written");
            let error = Secrets::read(Some(&path)).expect_err("no secrets").to_string();
            assert!(!error.contains("c2VjcmV0") && error.contains("secrets.toml"), "{error}");
        }
    }
}

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

use adjourn_transport::Mark;
use adjourn_types::TopicPattern;

/// The prefix of a secret.
const PREFIX: &str = "whsec_";
/// The valid lengths of a secret, in bytes.
const SECRET_BYTES: std::ops::RangeInclusive<usize> = 16..=128;
/// Most secrets of one name: usually the old one and the new one.
const SECRETS_MAX: usize = 8;

/// The secrets of a node, by name.
pub(super) struct Secrets {
    path: Option<PathBuf>,
    held: Mutex<LoadedSecrets>,
}

struct LoadedSecrets {
    mark: Option<Mark>,
    signers: Arc<BTreeMap<String, Signer>>,
}

/// The secrets of one name.
struct Signer {
    /// The topics whose calls they sign: the owner of another topic cannot use them.
    topics: Vec<TopicPattern>,
    keys: Vec<hmac::Key>,
}

/// Why the secrets cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SecretsError {
    /// The file cannot be read.
    #[error("cannot read the secrets {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// The file is malformed. Its content may be a secret, and is not shown.
    #[error("{}: expected [secrets.NAME], topics = [\"orders.*\"] and secrets = [\"whsec_...\"]", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
    },
    /// A secret is not valid.
    #[error("{}: {name} needs 1 to {SECRETS_MAX} secrets, each {PREFIX} and 16 to 128 bytes in base64", path.display())]
    Secret {
        /// The file.
        path: PathBuf,
        /// The name under which it is listed.
        name: String,
    },
    /// The topics that the secrets sign for are missing.
    #[error("{}: {name} needs topics: names, prefixes such as orders.*, or *", path.display())]
    Topics {
        /// The file.
        path: PathBuf,
        /// The name without topics.
        name: String,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    #[serde(default)]
    secrets: BTreeMap<String, WrittenSigner>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenSigner {
    topics: Vec<String>,
    secrets: Vec<String>,
}

impl Secrets {
    /// Reads the file, if one is configured.
    pub(super) fn read(path: Option<&Path>) -> Result<Self, SecretsError> {
        let (mark, signers) = match path {
            Some(path) => (Some(Mark::of(path)), signers_of(path)?),
            None => (None, BTreeMap::new()),
        };
        let held = Mutex::new(LoadedSecrets { mark, signers: Arc::new(signers) });
        Ok(Self { path: path.map(Path::to_owned), held })
    }

    /// Reads the file again if it has changed. If it cannot be used, nothing changes; the log has the reason.
    pub(super) fn look(&self) {
        let Some(path) = &self.path else { return };
        let mark = Some(Mark::of(path));
        if self.held().mark == mark {
            return;
        }
        let signers = signers_of(path);
        let mut held = self.held();
        held.mark = mark;
        match signers {
            Ok(signers) => {
                held.signers = Arc::new(signers);
                info!(path = %path.display(), "read changed secrets of call-backs");
            }
            Err(error) => warn!(%error, "the changed secrets are invalid: the previous ones stay in use"),
        }
    }

    /// True if there are secrets of this name that sign for a topic.
    pub(super) fn sign_for(&self, name: &str, topic: &str) -> bool {
        self.held().signers.get(name).is_some_and(|signer| signer.is_for(topic))
    }

    /// The value of the header `webhook-signature`: one signature for each secret of this name. `None` if none signs
    /// for this topic.
    pub(super) fn sign(
        &self,
        name: &str,
        topic: &str,
        id: &str,
        timestamp: u64,
        body: &[u8],
    ) -> Option<String> {
        let signers = Arc::clone(&self.held().signers);
        let signer = signers.get(name).filter(|signer| signer.is_for(topic))?;
        let signatures = signer.keys.iter().map(|key| {
            let mut context = hmac::Context::with_key(key);
            context.update(format!("{id}.{timestamp}.").as_bytes());
            context.update(body);
            format!("v1,{}", BASE64_STANDARD.encode(context.sign()))
        });
        Some(signatures.collect::<Vec<_>>().join(" "))
    }

    fn held(&self) -> std::sync::MutexGuard<'_, LoadedSecrets> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Signer {
    fn is_for(&self, topic: &str) -> bool {
        self.topics.iter().any(|topics| topics.has(topic))
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secrets").field("path", &self.path).finish_non_exhaustive()
    }
}

fn signers_of(path: &Path) -> Result<BTreeMap<String, Signer>, SecretsError> {
    let text = std::fs::read_to_string(path)
        .map_err(|source| SecretsError::Unreadable { path: path.to_owned(), source })?;
    let written: Written =
        toml::from_str(&text).map_err(|_| SecretsError::Malformed { path: path.to_owned() })?;
    let mut signers = BTreeMap::new();
    for (name, WrittenSigner { topics, secrets }) in written.secrets {
        let topics: Result<Vec<TopicPattern>, _> = topics.iter().map(|topics| topics.parse()).collect();
        let Some(topics) = topics.ok().filter(|topics| !topics.is_empty()) else {
            return Err(SecretsError::Topics { path: path.to_owned(), name });
        };
        let keys: Option<Vec<_>> = secrets.iter().map(|secret| key_of(secret)).collect();
        let Some(keys) = keys.filter(|keys| (1..=SECRETS_MAX).contains(&keys.len())) else {
            return Err(SecretsError::Secret { path: path.to_owned(), name });
        };
        signers.insert(name, Signer { topics, keys });
    }
    Ok(signers)
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
        let write = |secrets: &str| {
            let text = format!("[secrets.shop]\ntopics = [\"shop.*\", \"mails\"]\nsecrets = [{secrets}]\n");
            std::fs::write(&path, text).expect("written");
        };
        write(&format!("\"{FIRST}\""));
        let secrets = Secrets::read(Some(&path)).expect("secrets");
        let sign_for = |topic| {
            let body = br#"{"test": 2432232314}"#;
            secrets.sign("shop", topic, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, body)
        };
        let sign = || sign_for("shop.orders");
        // The specification's own example.
        assert_eq!(sign().as_deref(), Some("v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="));
        assert_eq!((sign_for("mails"), sign_for("shopping"), sign_for("thief")), (sign(), None, None));
        assert!(secrets.sign_for("shop", "mails") && !secrets.sign_for("shop", "thief"));
        assert_eq!(secrets.sign("other", "shop.orders", "a", 1, b""), None);
        write(&format!("\"{FIRST}\", \"whsec_{}\"", BASE64_STANDARD.encode([7; 24])));
        secrets.look();
        let signed = sign().expect("signed");
        assert_eq!(signed.split(' ').count(), 2);
        assert!(signed.starts_with("v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE= v1,"));
        write("");
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
            "[secrets]\na = [\"whsec_c2VjcmV0\"]",
            "[secrets.a]\nsecrets = [\"whsec_c2VjcmV0c2VjcmV0c2VjcmV0\"]",
            "[secrets.a]\ntopics = []\nsecrets = [\"whsec_c2VjcmV0c2VjcmV0c2VjcmV0\"]",
            "[secrets.a]\ntopics = [\"a b\"]\nsecrets = [\"whsec_c2VjcmV0c2VjcmV0c2VjcmV0\"]",
            "[secrets.a]\ntopics = [\"*\"]\nsecrets = \"whsec_c2VjcmV0c2VjcmV0c2VjcmV0\"",
            "[secrets.a]\ntopics = [\"*\"]\nsecrets = [\"whsec_c2VjcmV0\"]",
            "[secrets.a]\ntopics = [\"*\"]\nsecrets = [\"c2VjcmV0c2VjcmV0c2VjcmV0\"]",
        ] {
            std::fs::write(&path, text).expect("written");
            let error = Secrets::read(Some(&path)).expect_err("no secrets").to_string();
            assert!(!error.contains("c2VjcmV0") && error.contains("secrets.toml"), "{error}");
        }
    }
}

//! TLS: which side shows which certificate, and which ones are trusted.
//!
//! | | shows | believes |
//! |---|---|---|
//! | [`Acceptor`], a server's port | a certificate for its host names | anyone; with a client CA, those with its certificate |
//! | [`Connector`], a client | nothing, or a client certificate | a certificate of the CA for the host that was dialled |
//! | [`Members`], a node's peer port | a certificate for `node-N.adjourn` | a certificate of the CA for the number that is claimed |
//!
//! Certificates, keys and revocation lists are PEM files.

mod acceptor;
mod connector;
pub mod der;
mod expiry;
mod files;
mod fresh;
mod members;
#[cfg(test)]
pub(crate) mod test_certificates;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use rustls::crypto::CryptoProvider;

pub use acceptor::{Acceptor, ServerFiles};
pub use connector::{ClientFiles, Connector};
pub use fresh::Mark;
pub use members::{Members, MembersFiles, node_name};

/// Why TLS cannot be used with these files.
#[derive(Clone, Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read, or is not PEM.
    #[error("cannot read {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: Arc<io::Error>,
    },
    /// A file lacks the expected kind of item.
    #[error("{} has no {what}: expected PEM with BEGIN {label}", path.display())]
    Missing {
        /// The file.
        path: PathBuf,
        /// The expected kind of item.
        what: &'static str,
        /// Its PEM label.
        label: &'static str,
    },
    /// The files were read, but cannot be used.
    #[error("{} cannot be used: {reason}", path.display())]
    Unusable {
        /// The file, or the first of several that do not match.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
    /// A key that asks for a passphrase.
    #[error(
        "{path} is encrypted, and a passphrase cannot be given: decrypt it with `openssl pkey -in {path} -out NEW_FILE`, and let \
         only its user read the new file",
        path = .0.display()
    )]
    Encrypted(PathBuf),
    /// A key of an algorithm that is not supported.
    #[error(
        "{} has a key of a kind that is not supported, for example of the curve P-521: make a key and a certificate with ECDSA on \
         P-256 or P-384, Ed25519, or RSA with 2048 to 4096 bits",
        .0.display()
    )]
    KeyKind(PathBuf),
    /// The certificate is of another key.
    #[error("{} is not the key of the certificate {}", key.display(), certificate.display())]
    OtherKey {
        /// The key.
        key: PathBuf,
        /// The certificate.
        certificate: PathBuf,
    },
    /// A changed certificate is no longer valid, and the one in use is.
    #[error("the certificate in {} has expired", .0.display())]
    Expired(PathBuf),
    /// The system has no certificates of public CAs.
    #[error("the system knows no public CA: name the CA that signed the server's certificate")]
    NoRoots,
    /// A certificate without its key, or a key without its certificate.
    #[error("a certificate needs its key and a key its certificate: set both, or none")]
    HalfIdentity,
    /// The host of the address cannot be in a certificate.
    #[error("{0:?} is no host name and no IP address: a certificate cannot be for it")]
    Host(String),
}

impl TlsError {
    fn unusable(path: &std::path::Path, reason: &dyn std::fmt::Display) -> Self {
        Self::Unusable { path: path.to_owned(), reason: reason.to_string() }
    }
}

/// True if TLS failed, and not the socket under it.
pub fn is_of_tls(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<rustls::Error>() || inner.is::<TlsError>())
}

/// True if the other side answered in plain text where TLS was expected. Looks for the cause in all sources of the error.
pub fn answers_without_tls(error: &(dyn std::error::Error + 'static)) -> bool {
    std::iter::successors(Some(error), |error| error.source()).any(|error| {
        let inner = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        let cause = inner.and_then(|inner| inner.downcast_ref::<rustls::Error>());
        matches!(cause, Some(rustls::Error::InvalidMessage(_)))
    })
}

/// The cryptography of all connections.
fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

/// The TLS versions for connections to other parts of Adjourn.
const VERSIONS: &[&rustls::SupportedProtocolVersion] = &[&rustls::version::TLS13];

#[cfg(test)]
mod tests;

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

/// The cryptography of all connections.
fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

/// The TLS versions for connections to other parts of Adjourn.
const VERSIONS: &[&rustls::SupportedProtocolVersion] = &[&rustls::version::TLS13];

#[cfg(test)]
mod tests;

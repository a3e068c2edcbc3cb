//! Reads PEM files for rustls.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::pki_types::pem::{Error, PemObject};
use rustls::pki_types::{CertificateDer, CertificateRevocationListDer, PrivateKeyDer};
use rustls::{InconsistentKeys, RootCertStore};

use super::{TlsError, provider};

/// A certificate with the intermediate ones, and its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Identity {
    pub(super) certificate: PathBuf,
    pub(super) key: PathBuf,
}

impl Identity {
    pub(super) fn read(&self) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), TlsError> {
        let chain = certificates(&self.certificate)?;
        if is_encrypted(&self.key) {
            return Err(TlsError::Encrypted(self.key.clone()));
        }
        let key = PrivateKeyDer::from_pem_file(&self.key)
            .map_err(|error| refused(&self.key, "private key", "PRIVATE KEY", error))?;
        if provider().key_provider.load_private_key(key.clone_key()).is_err() {
            return Err(TlsError::KeyKind(self.key.clone()));
        }
        Ok((chain, key))
    }

    /// The error for a certificate and a key that were read, and cannot be used.
    pub(super) fn refused(&self, error: &rustls::Error) -> TlsError {
        match error {
            rustls::Error::InconsistentKeys(InconsistentKeys::KeyMismatch) => {
                TlsError::OtherKey { key: self.key.clone(), certificate: self.certificate.clone() }
            }
            other => TlsError::unusable(&self.certificate, other),
        }
    }
}

/// True if a file has a key that needs a passphrase: a whole key, or one of the older format with a header.
fn is_encrypted(path: &Path) -> bool {
    let is_marked = |text: String| {
        text.contains("-----BEGIN ENCRYPTED PRIVATE KEY-----") || text.contains("Proc-Type: 4,ENCRYPTED")
    };
    std::fs::read_to_string(path).is_ok_and(is_marked)
}

/// The CAs in a file.
pub(super) fn roots(path: &Path) -> Result<Arc<RootCertStore>, TlsError> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(path)? {
        roots.add(certificate).map_err(|error| TlsError::unusable(path, &error))?;
    }
    Ok(Arc::new(roots))
}

/// The revocation lists in a file; empty without a file.
pub(super) fn revoked(
    path: Option<&PathBuf>,
) -> Result<Vec<CertificateRevocationListDer<'static>>, TlsError> {
    path.map_or(Ok(Vec::new()), |path| all(path, "list of revoked certificates", "X509 CRL"))
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    all(path, "certificate", "CERTIFICATE")
}

fn all<T: PemObject>(path: &Path, what: &'static str, label: &'static str) -> Result<Vec<T>, TlsError> {
    let refused = |error| refused(path, what, label, error);
    let found: Result<Vec<T>, Error> = T::pem_file_iter(path).map_err(refused)?.collect();
    let found = found.map_err(refused)?;
    if found.is_empty() {
        return Err(TlsError::Missing { path: path.to_owned(), what, label });
    }
    Ok(found)
}

fn refused(path: &Path, what: &'static str, label: &'static str, error: Error) -> TlsError {
    let path = path.to_owned();
    match error {
        Error::Io(source) => TlsError::Unreadable { path, source: Arc::new(source) },
        Error::NoItemsFound => TlsError::Missing { path, what, label },
        other => {
            let source = io::Error::new(io::ErrorKind::InvalidData, other.to_string());
            TlsError::Unreadable { path, source: Arc::new(source) }
        }
    }
}

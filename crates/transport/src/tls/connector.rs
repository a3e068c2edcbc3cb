//! TLS on the side of the client.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore, SupportedProtocolVersion};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::super::stream::Stream;
use super::files::{Identity, roots};
use super::fresh::Fresh;
use super::{TlsError, VERSIONS, provider};

/// The files of a client.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientFiles {
    /// The CAs that may have signed the server's certificate; `None` for those that the system knows.
    pub ca: Option<PathBuf>,
    /// The client's own certificate, if the server asks for one.
    pub certificate: Option<PathBuf>,
    /// The key of that certificate.
    pub key: Option<PathBuf>,
}

/// Makes TLS connections to servers.
#[derive(Clone, Debug)]
pub struct Connector(Arc<Fresh<ClientConfig>>);

impl Connector {
    /// Reads the files.
    pub fn new(files: &ClientFiles) -> Result<Self, TlsError> {
        let ClientFiles { ca, certificate, key } = files.clone();
        let files = files.clone();
        let read = [ca, certificate, key].into_iter().flatten().collect();
        Ok(Self(Fresh::new(read, move |_| client_config(&files, VERSIONS))?))
    }

    /// For connections to servers of others, with all versions of TLS that are still secure.
    pub fn to_anyone(ca: Option<PathBuf>) -> Result<Self, TlsError> {
        let files = ClientFiles { ca, ..ClientFiles::default() };
        let read = files.ca.iter().cloned().collect();
        Ok(Self(Fresh::new(read, move |_| client_config(&files, rustls::ALL_VERSIONS))?))
    }

    /// Does the handshake with the server at `address` (`host:port`), whose certificate must be for that host. The caller
    /// sets its deadline.
    pub async fn connect(&self, address: &str, stream: TcpStream) -> io::Result<Stream> {
        let name = host_name(address).map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
        let stream = TlsConnector::from(self.0.take().await).connect(name, stream).await?;
        Ok(Stream::Tls(Box::new(stream.into())))
    }
}

fn client_config(
    files: &ClientFiles,
    versions: &[&'static SupportedProtocolVersion],
) -> Result<ClientConfig, TlsError> {
    let roots = match &files.ca {
        Some(ca) => roots(ca)?,
        None => system_roots()?,
    };
    let refused = |error: rustls::Error| {
        TlsError::unusable(files.certificate.as_deref().unwrap_or(&PathBuf::new()), &error)
    };
    let verifier = WebPkiServerVerifier::builder_with_provider(roots, provider()).build();
    let verifier = verifier.map_err(|_| TlsError::NoRoots)?;
    let builder = ClientConfig::builder_with_provider(provider());
    let builder = builder.with_protocol_versions(versions).map_err(refused)?;
    let builder = builder.with_webpki_verifier(verifier);
    match (&files.certificate, &files.key) {
        (Some(certificate), Some(key)) => {
            let identity = Identity { certificate: certificate.clone(), key: key.clone() };
            let (chain, key) = identity.read()?;
            builder.with_client_auth_cert(chain, key).map_err(|error| identity.refused(&error))
        }
        (None, None) => Ok(builder.with_no_client_auth()),
        _ => Err(TlsError::HalfIdentity),
    }
}

/// The host of an address, in the form that certificates have.
fn host_name(address: &str) -> Result<ServerName<'static>, TlsError> {
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
    let host = host.trim_start_matches('[').trim_end_matches(']');
    ServerName::try_from(host.to_owned()).map_err(|_| TlsError::Host(host.to_owned()))
}

fn system_roots() -> Result<Arc<RootCertStore>, TlsError> {
    let mut roots = RootCertStore::empty();
    // Unreadable certificates are skipped: the others may be enough.
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() { Err(TlsError::NoRoots) } else { Ok(Arc::new(roots)) }
}

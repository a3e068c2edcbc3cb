//! TLS on the side of the server.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;

use super::super::stream::Stream;
use super::expiry::{Expiry, remind};
use super::files::{Identity, revoked, roots};
use super::fresh::Fresh;
use super::{TlsError, VERSIONS, provider};

/// The files of a server's port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerFiles {
    /// The server's certificate, followed by the intermediate ones.
    pub certificate: PathBuf,
    /// The key of that certificate.
    pub key: PathBuf,
    /// Clients must show a certificate of one of these CAs; `None` asks for none.
    pub client_ca: Option<PathBuf>,
    /// Certificates that these CAs have revoked.
    pub client_crl: Option<PathBuf>,
}

/// Accepts TLS connections of clients.
#[derive(Debug)]
pub struct Acceptor(pub(super) Arc<Fresh<ServerSide>>);

/// The configuration of a server's port.
pub(super) struct ServerSide {
    config: Arc<ServerConfig>,
    expiry: Expiry,
}

impl Acceptor {
    /// Reads the files.
    pub fn new(files: ServerFiles) -> Result<Self, TlsError> {
        let ServerFiles { certificate, key, client_ca, client_crl } = files.clone();
        let read = [Some(certificate), Some(key), client_ca, client_crl];
        let make = move |before: Option<&ServerSide>| server_side(&files, before);
        Ok(Self(Fresh::new(read.into_iter().flatten().collect(), make)?))
    }

    /// The last second in which the certificate is valid; `None` if it does not say it.
    pub fn certificate_ends(&self) -> Option<UnixTime> {
        self.0.present().expiry.at()
    }

    /// Warns of the end of the certificate once a day. Needs a tokio runtime.
    pub fn remind(&self) {
        remind(&self.0, |side| &side.expiry);
    }

    /// Does the handshake. The caller sets its deadline. A refused client was sent the reason, and can read it if the
    /// returned stream is not closed at once.
    pub async fn accept(&self, stream: TcpStream) -> Result<Stream, (io::Error, TcpStream)> {
        let stream =
            TlsAcceptor::from(Arc::clone(&self.0.take().await.config)).accept(stream).into_fallible().await?;
        Ok(Stream::Tls(Box::new(stream.into())))
    }
}

fn server_side(files: &ServerFiles, before: Option<&ServerSide>) -> Result<ServerSide, TlsError> {
    let verifier = match &files.client_ca {
        Some(ca) => Some(verifier(ca, files.client_crl.as_ref())?),
        None => None,
    };
    let identity = Identity { certificate: files.certificate.clone(), key: files.key.clone() };
    let (chain, key) = identity.read()?;
    let expiry = Expiry::of(&files.certificate, &chain);
    let config = shows(&identity, chain, key, verifier)?;
    expiry.accept(before.map(|before| &before.expiry), UnixTime::now())?;
    Ok(ServerSide { config: Arc::new(config), expiry })
}

/// Accepts every certificate that one of the CAs has signed and not revoked.
pub(super) fn verifier(ca: &PathBuf, crl: Option<&PathBuf>) -> Result<Arc<dyn ClientCertVerifier>, TlsError> {
    let builder = WebPkiClientVerifier::builder_with_provider(roots(ca)?, provider());
    let builder = builder.with_crls(revoked(crl)?).allow_unknown_revocation_status();
    builder.build().map_err(|error| TlsError::unusable(crl.unwrap_or(ca), &error))
}

/// The configuration of a side that accepts connections, with this identity and this check of the other side.
pub(super) fn shows(
    identity: &Identity,
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
    verifier: Option<Arc<dyn ClientCertVerifier>>,
) -> Result<ServerConfig, TlsError> {
    let refused = |error: rustls::Error| identity.refused(&error);
    let builder = ServerConfig::builder_with_provider(provider());
    let builder = builder.with_protocol_versions(VERSIONS).map_err(refused)?;
    let config = match verifier {
        Some(verifier) => builder.with_client_cert_verifier(verifier).with_single_cert(chain, key),
        None => builder.with_no_client_auth().with_single_cert(chain, key),
    };
    let mut config = config.map_err(refused)?;
    // Connections last long: each one authenticates anew, and none resumes an earlier session.
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    Ok(config)
}

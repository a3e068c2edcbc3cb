//! TLS between nodes: both sides prove that they are members before either reads a byte of the other.
//!
//! A node's certificate is for the name `node-N.adjourn`, with its number: the CA decides which node has which number,
//! wherever the node runs. Both sides verify the other as a server verifies its clients, so one rule holds for both. The
//! owner of any other certificate of the same CA is a stranger.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::verify_server_name;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::server::danger::ClientCertVerifier;
use rustls::{ClientConfig, DigitallySignedStruct, Error, ServerConfig, SignatureScheme};
use tokio::net::TcpStream;
use tokio_rustls::{TlsAcceptor, TlsConnector};

use super::super::stream::Stream;
use super::acceptor::{shows, verifier};
use super::expiry::{Expiry, remind};
use super::files::Identity;
use super::fresh::Fresh;
use super::{TlsError, VERSIONS, provider};

/// The files of a node's peer port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MembersFiles {
    /// The node's certificate, followed by the intermediate ones.
    pub certificate: PathBuf,
    /// The key of that certificate.
    pub key: PathBuf,
    /// The CA of all members.
    pub ca: PathBuf,
    /// Certificates that this CA has revoked.
    pub crl: Option<PathBuf>,
}

/// The name that the certificate of a node with this number is for.
pub fn node_name(node: u64) -> String {
    format!("node-{node}.adjourn")
}

/// Connects nodes that authenticate as members.
#[derive(Debug)]
pub struct Members(Arc<Fresh<Sides>>);

/// The configurations for both directions: a node dials, and is dialled.
struct Sides {
    dials: Arc<ClientConfig>,
    accepts: Arc<ServerConfig>,
    expiry: Expiry,
}

impl Members {
    /// Reads the files of the node with this number.
    pub fn new(files: MembersFiles, node: u64) -> Result<Self, TlsError> {
        let MembersFiles { certificate, key, ca, crl } = files.clone();
        let read = [Some(certificate), Some(key), Some(ca), crl];
        let make = move |before: Option<&Sides>| sides(&files, node, before);
        Ok(Self(Fresh::new(read.into_iter().flatten().collect(), make)?))
    }

    /// The last second in which the certificate is valid; `None` if it does not say it.
    pub fn certificate_ends(&self) -> Option<UnixTime> {
        self.0.present().expiry.at()
    }

    /// Warns of the end of the certificate once a day. Needs a tokio runtime.
    pub fn remind(&self) {
        remind(&self.0, |sides| &sides.expiry);
    }

    /// Does the handshake over a connection that this node dialled.
    pub async fn connect(&self, stream: TcpStream) -> io::Result<Stream> {
        let dials = Arc::clone(&self.0.take().await.dials);
        // This name is not checked: the certificate is compared with the number that the other side states later.
        let name = ServerName::try_from("adjourn").map_err(io::Error::other)?;
        let stream = TlsConnector::from(dials).connect(name, stream).await?;
        Ok(Stream::Tls(Box::new(stream.into())))
    }

    /// Does the handshake over a connection that another node dialled.
    pub async fn accept(&self, stream: TcpStream) -> io::Result<Stream> {
        let accepts = Arc::clone(&self.0.take().await.accepts);
        let stream = TlsAcceptor::from(accepts).accept(stream).await?;
        Ok(Stream::Tls(Box::new(stream.into())))
    }
}

impl Stream {
    /// True if the other side's certificate is for the node of this number, or there is no TLS.
    pub fn may_be_node(&self, node: u64) -> bool {
        let Self::Tls(stream) = self else { return true };
        let certificates = stream.get_ref().1.peer_certificates();
        certificates.and_then(|chain| chain.first()).is_some_and(|certificate| is_for(certificate, node))
    }
}

fn is_for(certificate: &CertificateDer<'_>, node: u64) -> bool {
    let name = ServerName::try_from(node_name(node));
    let certificate = ParsedCertificate::try_from(certificate);
    matches!((certificate, name), (Ok(certificate), Ok(name)) if verify_server_name(&certificate, &name).is_ok())
}

fn sides(files: &MembersFiles, node: u64, before: Option<&Sides>) -> Result<Sides, TlsError> {
    let identity = Identity { certificate: files.certificate.clone(), key: files.key.clone() };
    let (chain, key) = identity.read()?;
    if !chain.first().is_some_and(|certificate| is_for(certificate, node)) {
        let reason = format!("it is not for {}, the name of this node", node_name(node));
        return Err(TlsError::unusable(&files.certificate, &reason));
    }
    let refused = |error: Error| identity.refused(&error);
    let expiry = Expiry::of(&files.certificate, &chain);
    let members = verifier(&files.ca, files.crl.as_ref())?;
    let builder = ClientConfig::builder_with_provider(provider());
    let builder = builder.with_protocol_versions(VERSIONS).map_err(refused)?;
    let builder =
        builder.dangerous().with_custom_certificate_verifier(Arc::new(Member(Arc::clone(&members))));
    let dials = builder.with_client_auth_cert(chain.clone(), key.clone_key()).map_err(refused)?;
    let accepts = shows(&identity, chain, key, Some(members))?;
    expiry.accept(before.map(|before| &before.expiry), UnixTime::now())?;
    Ok(Sides { dials: Arc::new(dials), accepts: Arc::new(accepts), expiry })
}

/// Verifies a dialled node in the same way as a node that dials.
#[derive(Debug)]
struct Member(Arc<dyn ClientCertVerifier>);

impl ServerCertVerifier for Member {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let verified = self.0.verify_client_cert(end_entity, intermediates, now);
        verified.map(|_| ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}

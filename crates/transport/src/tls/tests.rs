//! Real handshakes over loopback, with certificates made for the purpose.

use std::path::Path;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::test_certificates::{Certificates, Flaw};
use super::*;
use crate::Stream;

async fn pair() -> (String, TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let (dialled, accepted) = tokio::join!(TcpStream::connect(("127.0.0.1", port)), listener.accept());
    (format!("localhost:{port}"), dialled.expect("connected"), accepted.expect("accepted").0)
}

/// True if each side receives the other's bytes. In TLS 1.3 a client is done before the server has seen its certificate:
/// its first read shows the result.
async fn talk(
    dialling: impl Future<Output = io::Result<Stream>>,
    accepting: impl Future<Output = io::Result<Stream>>,
) -> Result<(Stream, Stream), String> {
    let dialling = async {
        let mut stream = dialling.await?;
        stream.write_all(b"?").await?;
        stream.flush().await?;
        let heard = stream.read_u8().await?;
        assert_eq!(heard, b'!');
        Ok::<_, io::Error>(stream)
    };
    let accepting = async {
        let mut stream = accepting.await?;
        let heard = stream.read_u8().await?;
        assert_eq!(heard, b'?');
        stream.write_all(b"!").await?;
        stream.flush().await?;
        Ok::<_, io::Error>(stream)
    };
    match tokio::join!(dialling, accepting) {
        (Ok(dialled), Ok(accepted)) => Ok((dialled, accepted)),
        (dialled, accepted) => Err(format!("{:?} | {:?}", dialled.err(), accepted.err())),
    }
}

async fn reach(server: &Acceptor, client: &ClientFiles) -> Result<(Stream, Stream), String> {
    let (address, dialled, accepted) = pair().await;
    let connector = Connector::new(client).expect("a client");
    let accepting = async { server.accept(accepted).await.map_err(|(error, _)| error) };
    talk(connector.connect(&address, dialled), accepting).await
}

async fn meet(one: &Members, two: &Members) -> Result<(Stream, Stream), String> {
    let (_, dialled, accepted) = pair().await;
    talk(one.connect(dialled), two.accept(accepted)).await
}

fn refusal(outcome: Result<(Stream, Stream), String>) -> String {
    outcome.map(|_| ()).expect_err("refused")
}

#[tokio::test]
async fn a_client_believes_a_certificate_of_its_ca_for_the_host_it_dialled() {
    let certificates = Certificates::new();
    let server = |name, flaw| Acceptor::new(certificates.server(name, flaw)).expect("a server");
    assert!(reach(&server("localhost", Flaw::None), &certificates.client()).await.is_ok());
    for (name, flaw, why) in [
        ("other.example", Flaw::None, "NotValidForName"),
        ("localhost", Flaw::Expired, "Expired"),
        ("localhost", Flaw::NotYet, "NotValidYet"),
    ] {
        let said = refusal(reach(&server(name, flaw), &certificates.client()).await);
        assert!(said.contains(why), "{said}");
    }
    let foreign = Certificates::new();
    let said = refusal(reach(&server("localhost", Flaw::None), &foreign.client()).await);
    assert!(said.contains("UnknownIssuer") || said.contains("BadSignature"), "{said}");
    // Without a CA of its own it trusts those of the system, none of which signed this.
    let said = refusal(reach(&server("localhost", Flaw::None), &ClientFiles::default()).await);
    assert!(said.contains("UnknownIssuer"), "{said}");
}

#[tokio::test]
async fn a_server_that_asks_for_certificates_takes_only_those_of_its_ca() {
    let certificates = Certificates::new();
    let mut files = certificates.server("localhost", Flaw::None);
    files.client_ca = Some(certificates.path("ca.pem"));
    let server = Acceptor::new(files.clone()).expect("a server");
    let with = |from: &Certificates, flaw| {
        let (certificate, key) = from.sign("client", "shop", 7, flaw);
        ClientFiles { certificate: Some(certificate), key: Some(key), ..certificates.client() }
    };
    let good = with(&certificates, Flaw::None);
    assert!(reach(&server, &good).await.is_ok());
    let said = refusal(reach(&server, &certificates.client()).await);
    assert!(said.contains("CertificateRequired") || said.contains("NoCertificatesPresented"), "{said}");
    let said = refusal(reach(&server, &with(&Certificates::new(), Flaw::None)).await);
    assert!(said.contains("UnknownIssuer") || said.contains("BadSignature"), "{said}");
    let good = with(&certificates, Flaw::None);
    files.client_crl = Some(certificates.revoke(8));
    assert!(reach(&Acceptor::new(files.clone()).expect("a server"), &good).await.is_ok());
    certificates.revoke(7);
    let said = refusal(reach(&Acceptor::new(files).expect("a server"), &good).await);
    assert!(said.contains("Revoked"), "{said}");
    let said = refusal(reach(&server, &with(&certificates, Flaw::Expired)).await);
    assert!(said.contains("Expired"), "{said}");
}

#[tokio::test]
async fn changed_files_are_used_and_broken_ones_are_not() {
    let certificates = Certificates::new();
    let server = Acceptor::new(certificates.server("localhost", Flaw::None)).expect("a server");
    let look = || server.0.look();
    let reached = async || reach(&server, &certificates.client()).await.is_ok();
    assert!(reached().await);
    // A certificate whose key was not written yet.
    let old_key = std::fs::read_to_string(certificates.path("server.key")).expect("read");
    certificates.sign("server", "other.example", 2, Flaw::None);
    let new_key = std::fs::read_to_string(certificates.path("server.key")).expect("read");
    certificates.put("server.key", &old_key);
    look();
    assert!(reached().await, "the old pair stays in use");
    certificates.put("server.key", &new_key);
    look();
    assert!(!reached().await, "the new certificate is for another host");
    certificates.put("server.pem", "not a certificate");
    look();
    certificates.sign("server", "localhost", 3, Flaw::None);
    look();
    assert!(reached().await);
}

#[tokio::test]
async fn an_expired_certificate_is_used_only_for_want_of_a_valid_one() {
    let certificates = Certificates::new();
    let expired = Acceptor::new(certificates.server("localhost", Flaw::Expired)).expect("a server starts");
    assert_eq!(expired.certificate_ends().map(|end| end.as_secs()), Some(978_307_200), "the year 2001");
    assert!(reach(&expired, &certificates.client()).await.is_err());
    certificates.sign("server", "localhost", 2, Flaw::None);
    expired.0.look();
    assert!(reach(&expired, &certificates.client()).await.is_ok(), "the renewed one is used");
    let valid = expired.certificate_ends();
    certificates.sign("server", "localhost", 3, Flaw::Expired);
    expired.0.look();
    assert!(reach(&expired, &certificates.client()).await.is_ok(), "the valid one stays in use");
    assert_eq!(expired.certificate_ends(), valid);
}

#[tokio::test]
async fn members_prove_their_numbers_to_each_other() {
    let certificates = Certificates::new();
    let member = |node: u64| {
        let files = certificates.member(&format!("node-{node}"), &node_name(node), node);
        Members::new(files, node).expect("a member")
    };
    let (one, two) = (member(1), member(2));
    let (dialled, accepted) = meet(&one, &two).await.expect("they meet");
    assert_eq!([1, 2, 3].map(|node| dialled.may_be_node(node)), [false, true, false]);
    assert_eq!([1, 2, 3].map(|node| accepted.may_be_node(node)), [true, false, false]);
    // Of the same CA, but not of a node: it is accepted, but matches no number.
    let (certificate, key) = certificates.sign("shop", "shop", 9, Flaw::None);
    let client = ClientFiles { certificate: Some(certificate), key: Some(key), ..certificates.client() };
    let (_, dialled, accepted) = pair().await;
    let connector = Connector::new(&client).expect("a client");
    let accepted = talk(connector.connect("node-2.adjourn:1", dialled), two.accept(accepted)).await;
    assert!(!accepted.expect("of the CA").1.may_be_node(9));
}

#[tokio::test]
async fn strangers_come_to_no_node() {
    let (certificates, foreign) = (Certificates::new(), Certificates::new());
    let one = Members::new(certificates.member("one", "node-1.adjourn", 1), 1).expect("a member");
    let two = Members::new(foreign.member("two", "node-2.adjourn", 2), 2).expect("a member");
    for said in [refusal(meet(&one, &two).await), refusal(meet(&two, &one).await)] {
        assert!(said.contains("UnknownIssuer") || said.contains("BadSignature"), "{said}");
    }
    let (_, dialled, accepted) = pair().await;
    let connector = Connector::new(&certificates.client()).expect("a client");
    let said = refusal(talk(connector.connect("node-1.adjourn:1", dialled), one.accept(accepted)).await);
    assert!(said.contains("CertificateRequired") || said.contains("NoCertificatesPresented"), "{said}");
    let mut files = certificates.member("three", "node-3.adjourn", 3);
    let three = Members::new(files.clone(), 3).expect("a member");
    assert!(meet(&three, &one).await.is_ok());
    files = certificates.member("one", "node-1.adjourn", 1);
    files.crl = Some(certificates.revoke(3));
    let said = refusal(meet(&three, &Members::new(files, 1).expect("a member")).await);
    assert!(said.contains("Revoked"), "{said}");
}

#[test]
fn files_that_cannot_be_used_are_named() {
    let certificates = Certificates::new();
    let good = certificates.server("localhost", Flaw::None);
    let says = |files: ServerFiles| Acceptor::new(files).map(|_| ()).expect_err("refused").to_string();
    let gone = ServerFiles { certificate: certificates.path("gone.pem"), ..good.clone() };
    assert!(says(gone).contains("gone.pem"), "the file is named");
    let swapped =
        ServerFiles { certificate: good.key.clone(), key: good.certificate.clone(), ..good.clone() };
    assert!(says(swapped).ends_with("has no certificate: expected PEM with BEGIN CERTIFICATE"));
    let keyless = ServerFiles { key: good.certificate.clone(), ..good.clone() };
    assert!(says(keyless).ends_with("has no private key: expected PEM with BEGIN PRIVATE KEY"));
    let (_, other) = certificates.sign("other", "localhost", 5, Flaw::None);
    let said = says(ServerFiles { key: other.clone(), ..good.clone() });
    assert_eq!(
        said,
        format!("{} is not the key of the certificate {}", other.display(), good.certificate.display())
    );
    for (file, text) in [
        ("whole.key", "-----BEGIN ENCRYPTED PRIVATE KEY-----\nMAA=\n-----END ENCRYPTED PRIVATE KEY-----\n"),
        (
            "header.key",
            "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,00\n\nMAA=\n-----END RSA PRIVATE KEY-----\n",
        ),
    ] {
        let key = certificates.put(file, text);
        let advice = format!(
            "{0} is encrypted, and a passphrase cannot be given: decrypt it with `openssl pkey -in {0} ",
            key.display()
        );
        let said = says(ServerFiles { key, ..good.clone() });
        assert!(said.starts_with(&advice), "{said}");
    }
    let strange =
        certificates.put("strange.key", "-----BEGIN PRIVATE KEY-----\nMAA=\n-----END PRIVATE KEY-----\n");
    let said = says(ServerFiles { key: strange, ..good });
    assert!(said.contains("strange.key has a key of a kind that is not supported"), "{said}");
    let files = certificates.member("node", "node-4.adjourn", 4);
    let said = Members::new(files, 5).map(|_| ()).expect_err("refused").to_string();
    assert!(said.ends_with("cannot be used: it is not for node-5.adjourn, the name of this node"), "{said}");
    let half = ClientFiles { key: Some("x".into()), ..ClientFiles::default() };
    assert!(matches!(Connector::new(&half), Err(TlsError::HalfIdentity | TlsError::NoRoots)));
    let nowhere = Path::new("/nonexistent").to_owned();
    assert!(Connector::new(&ClientFiles { ca: Some(nowhere), ..ClientFiles::default() }).is_err());
}

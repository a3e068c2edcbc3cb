//! TLS against another implementation of it: `openssl s_client` says HELLO, and gets an answer or is refused.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[path = "../../crates/transport/src/tls/test_certificates.rs"]
#[expect(dead_code, reason = "other tests ask for more")]
pub(crate) mod certificates;

use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

use adjourn_protocol::{Request, RequestId, ResponseOpcode};
use adjourn_transport::tls::{ClientFiles, MembersFiles, ServerFiles};
use bytes::BytesMut;
use tempfile::TempDir;

use crate::server_rig::{Process, hello};
use certificates::{Certificates, Flaw};

/// What a server shows, and whom it lets in.
struct Served {
    server: Process,
    _data: TempDir,
}

fn serve(files: &ServerFiles) -> Served {
    let data = tempfile::tempdir().unwrap();
    let named = [
        ("--tls-cert", Some(&files.certificate)),
        ("--tls-key", Some(&files.key)),
        ("--tls-client-ca", files.client_ca.as_ref()),
        ("--tls-client-crl", files.client_crl.as_ref()),
    ];
    let arguments = named.iter().filter_map(|(name, path)| path.map(|path| [*name, text(path)])).flatten();
    let server = Process::start(data.path(), &arguments.collect::<Vec<_>>());
    Served { server, _data: data }
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// `openssl s_client` with these options says HELLO. What it says when it is refused.
fn greet(served: &Served, options: &[&str]) -> Result<(), String> {
    let mut client = Command::new("openssl");
    client.args([
        "s_client",
        "-quiet",
        "-verify_return_error",
        "-connect",
        &served.server.address.to_string(),
    ]);
    client.args(options).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut client = client.spawn().unwrap();
    let mut said = BytesMut::new();
    Request::Hello(hello()).encode(RequestId(1), &mut said);
    // It may have given up already.
    let _ = client.stdin.as_mut().unwrap().write_all(&said);
    let mut answer = [0; 5];
    let is_answered = client.stdout.as_mut().unwrap().read_exact(&mut answer).is_ok();
    let _ = client.kill();
    let ended = client.wait_with_output().unwrap();
    if is_answered && answer[4] == ResponseOpcode::Welcome as u8 {
        return Ok(());
    }
    Err(String::from_utf8_lossy(&ended.stderr).into_owned())
}

/// Says that there is nothing to test with, where there is no openssl.
fn is_missing() -> bool {
    let found = Command::new("openssl").arg("version").output().is_ok();
    if !found {
        assert!(std::env::var_os("ADJOURN_SKIP_NOTHING").is_none(), "openssl is not installed");
        println!("skipped: openssl is not installed");
    }
    !found
}

fn refused(greeted: Result<(), String>, reason: &str) {
    let said = greeted.expect_err(reason);
    assert!(said.contains(reason), "{reason}: {said}");
}

#[test]
fn openssl_believes_the_server_or_says_why_not() {
    if is_missing() {
        return;
    }
    let (own, foreign) = (Certificates::new(), Certificates::new());
    let ca = own.path("ca.pem");
    let served = serve(&own.server("localhost", Flaw::None));
    let believing = ["-CAfile", text(&ca), "-verify_hostname", "localhost"];
    let with = |more: &[&str]| greet(&served, &[&believing, more].concat());
    assert_eq!(with(&[]), Ok(()));
    assert_eq!(with(&["-ciphersuites", "TLS_CHACHA20_POLY1305_SHA256"]), Ok(()));
    refused(with(&["-tls1_2"]), "protocol version");
    refused(with(&["-verify_hostname", "elsewhere"]), "ostname mismatch");
    refused(with(&["-CAfile", text(&foreign.path("ca.pem"))]), "unable to get local issuer");
    for (flaw, reason) in [(Flaw::Expired, "has expired"), (Flaw::NotYet, "not yet valid")] {
        let served = serve(&own.server("localhost", flaw));
        refused(greet(&served, &believing), reason);
    }
}

#[test]
fn keys_of_openssl_that_cannot_be_used_are_told_what_to_do() {
    if is_missing() {
        return;
    }
    let own = Certificates::new();
    let files = own.server("localhost", Flaw::None);
    let openssl = |arguments: &[&str]| {
        let made = Command::new("openssl").args(arguments).output().unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    };
    let (curve, encrypted) = (own.path("p521.key"), own.path("encrypted.key"));
    openssl(&["genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-521", "-out", text(&curve)]);
    let protect = ["-aes256", "-passout", "pass:x"];
    openssl(&[&["pkey", "-in", text(&files.key), "-out", text(&encrypted)], &protect[..]].concat());
    let data = tempfile::tempdir().unwrap();
    let says = |key: &Path| {
        let arguments = ["--tls-cert", text(&files.certificate), "--tls-key", text(key)];
        let (code, log) = Process::try_start(data.path(), &arguments).err().expect("it does not start");
        assert_eq!(code, Some(2), "{log}");
        log
    };
    let said = says(&curve);
    assert!(said.contains("of the curve P-521: make a key and a certificate with ECDSA on P-256"), "{said}");
    let said = says(&encrypted);
    assert!(
        said.contains("is encrypted, and a passphrase cannot be given: decrypt it with `openssl pkey"),
        "{said}"
    );
}

#[test]
fn openssl_shows_a_certificate_and_is_let_in_or_told_why_not() {
    if is_missing() {
        return;
    }
    let (own, foreign) = (Certificates::new(), Certificates::new());
    let ca = own.path("ca.pem");
    let crl = own.revoke(7);
    let files = ServerFiles {
        client_ca: Some(ca.clone()),
        client_crl: Some(crl),
        ..own.server("localhost", Flaw::None)
    };
    let served = serve(&files);
    let showing = |by: &Certificates, serial, flaw| {
        let (certificate, key) = by.sign("shop", "shop", serial, flaw);
        greet(&served, &["-CAfile", text(&ca), "-cert", text(&certificate), "-key", text(&key)])
    };
    refused(greet(&served, &["-CAfile", text(&ca)]), "certificate required");
    assert_eq!(showing(&own, 6, Flaw::None), Ok(()));
    refused(showing(&own, 7, Flaw::None), "certificate revoked");
    refused(showing(&own, 8, Flaw::Expired), "certificate expired");
    refused(showing(&own, 9, Flaw::NotYet), "alert");
    refused(showing(&foreign, 6, Flaw::None), "unknown ca");
}

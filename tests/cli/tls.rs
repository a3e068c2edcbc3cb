//! What the command line says when TLS fails: each time what is to be done about it.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use adjourn_transport::tls::{ClientFiles, ServerFiles};
use tempfile::TempDir;

use super::commands::Commands;
use crate::server::openssl::certificates::{Certificates, Flaw};
use crate::server_rig::Process;

/// A server that has these files, as a process.
struct Rig {
    server: Process,
    _data: TempDir,
}

impl Rig {
    fn start(files: Option<&ServerFiles>) -> Self {
        let data = tempfile::tempdir().unwrap();
        let mut arguments = Vec::new();
        if let Some(ServerFiles { certificate, key, client_ca, client_crl }) = files {
            for (name, path) in [
                ("--tls-cert", Some(certificate)),
                ("--tls-key", Some(key)),
                ("--tls-client-ca", client_ca.as_ref()),
                ("--tls-client-crl", client_crl.as_ref()),
            ] {
                arguments.extend(path.map(|path| [name, path.to_str().unwrap()]).into_iter().flatten());
            }
        }
        Self { server: Process::start(data.path(), &arguments), _data: data }
    }

    /// What a client with these files is told at this host, and that it is told nothing else to do.
    fn tells(&self, host: &str, files: &ClientFiles, expected: &str) {
        let mut arguments = vec!["stats"];
        for (name, path) in
            [("--tls-ca", &files.ca), ("--tls-cert", &files.certificate), ("--tls-key", &files.key)]
        {
            arguments.extend(path.iter().flat_map(|path| [name, path.to_str().unwrap()]));
        }
        let address = format!("adjourns://{host}:{}", self.server.address.port());
        let told = Commands::to(&address).run(&arguments, b"");
        assert_eq!(told.code, Some(4), "{}", told.errors);
        assert!(told.errors.lines().last().unwrap().contains(expected), "{expected}: {}", told.errors);
    }
}

#[test]
fn what_is_wrong_with_a_server_is_told() {
    let (own, foreign) = (Certificates::new(), Certificates::new());
    let rig = Rig::start(Some(&own.server("localhost", Flaw::None)));
    rig.tells("localhost", &foreign.client(), "another CA: name the CA that signed it with --tls-ca");
    rig.tells("127.0.0.1", &own.client(), "use a host name that is in the server's certificate");
    let rig = Rig::start(Some(&own.server("localhost", Flaw::Expired)));
    rig.tells("localhost", &own.client(), "the server's certificate has expired");
    let rig = Rig::start(None);
    rig.tells("localhost", &own.client(), "the server does not use TLS: write adjourn://");
}

#[test]
fn what_is_wrong_with_the_clients_own_certificate_is_told() {
    let (own, foreign) = (Certificates::new(), Certificates::new());
    let files = ServerFiles {
        client_ca: Some(own.path("ca.pem")),
        client_crl: Some(own.revoke(7)),
        ..own.server("localhost", Flaw::None)
    };
    let rig = Rig::start(Some(&files));
    rig.tells("localhost", &own.client(), "name one with --tls-cert and its key with --tls-key");
    for (by, serial, flaw, expected) in [
        (&own, 7, Flaw::None, "the certificate of --tls-cert is revoked"),
        (&own, 8, Flaw::Expired, "the certificate of --tls-cert has expired"),
        (&foreign, 9, Flaw::None, "the server does not trust the certificate of --tls-cert"),
    ] {
        let (certificate, key) = by.sign("shop", "shop", serial, flaw);
        let shown = ClientFiles { certificate: Some(certificate), key: Some(key), ..own.client() };
        rig.tells("localhost", &shown, expected);
    }
}

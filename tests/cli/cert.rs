//! `adjourn cert`: what it signs, what it refuses to, and what becomes of the files.

#![allow(clippy::unwrap_used, reason = "a test may panic")]
#![expect(clippy::indexing_slicing, reason = "a test that panics has failed, as it should")]

use std::fs::Permissions;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::path::{Path, PathBuf};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, date_time_ymd};
use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use tempfile::TempDir;

use super::commands::{Commands, Ended};
use crate::cluster::now;
use crate::server_rig::{Process, adjourn};

/// `adjourn cert` in a folder.
fn cert(folder: &Path, arguments: &[&str]) -> Ended {
    let ended = adjourn(&["cert"]).args(arguments).args(["--dir", text(folder)]).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Ended { code: ended.status.code(), out: text(ended.stdout), errors: text(ended.stderr) }
}

fn make(folder: &Path, arguments: &[&str]) {
    let ended = cert(folder, arguments);
    assert_eq!((ended.code, ended.errors.as_str()), (Some(0), ""), "{arguments:?}");
}

fn refuses(folder: &Path, arguments: &[&str], code: i32, reason: &str) {
    let ended = cert(folder, arguments);
    assert_eq!((ended.code, ended.out.as_str()), (Some(code), ""), "{arguments:?}: {}", ended.errors);
    assert!(ended.errors.contains(reason), "{arguments:?}: {}", ended.errors);
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// The name of the CA in a folder, as bytes.
fn name_of_ca(folder: &Path) -> Vec<u8> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(folder.join("ca.pem")).unwrap()).unwrap();
    roots.roots[0].subject.to_vec()
}

#[test]
fn each_ca_has_a_name_of_its_own() {
    let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    for folder in [&one, &other] {
        make(folder.path(), &["client", "shop"]);
    }
    let names = [one, other].map(|folder| name_of_ca(folder.path()));
    assert_ne!(names[0], names[1]);
    assert!(names.iter().all(|name| String::from_utf8_lossy(name).contains("Adjourn CA ")));
}

#[test]
fn commands_at_once_make_one_ca() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("certs");
    let printed: Vec<String> = std::thread::scope(|scope| {
        let sign = |name| cert(&path, &["client", name]);
        let running = ["a", "b", "c", "d", "e", "f"].map(|name| scope.spawn(move || sign(name)));
        running.into_iter().map(|ended| ended.join().unwrap().out).collect()
    });
    assert_eq!(printed.iter().filter(|out| out.contains("ca.pem")).count(), 1, "{printed:?}");
    // Each would be refused that another CA has signed.
    for name in ["a", "b", "c", "d", "e", "f"] {
        make(&path, &["revoke", text(&path.join(format!("{name}.pem")))]);
    }
}

#[test]
fn names_that_could_only_do_harm_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    for (arguments, reason) in [
        (&["client", "node-1"][..], "node-1 is the name of other files"),
        (&["client", "Node-x"], "is the name of other files"),
        (&["client", "ca"], "is the name of other files"),
        (&["client", "crl"], "is the name of other files"),
        (&["client", "../shop"], "choose another"),
        (&["client", "node-1.adjourn"], "is the name of a node"),
        (&["node", "1", "--host", "bad host"], "\"bad host\" is neither a host name nor an IP address"),
        (&["node", "1", "--host", "localhost:7440"], "write it without a port"),
        (&["node", "1", "--host", "127.0.0.1:7440"], "without a port"),
        (&["node", "1", "--host", "[::1]"], "nor an IP address"),
        (&["node", "1", "--host", "localhost", "--host", "queue."], "\"queue.\""),
        (&["node", "1", "--host", "*.adjourn"], "is the name of a node"),
    ] {
        refuses(folder.path(), arguments, 2, reason);
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is made");
    make(folder.path(), &["node", "1", "--host", "::1", "--host", "*.queue.example", "--host", "queue_1"]);
}

/// A folder with this CA; whoever believes it believes it until this year.
fn folder_of_ca(name: &str, until: i32) -> TempDir {
    let mut params = CertificateParams::default();
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.not_after = date_time_ymd(until, 1, 1);
    let ca = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("ca.pem"), ca.pem()).unwrap();
    std::fs::write(folder.path().join("ca.key"), ca.key().serialize_pem()).unwrap();
    folder
}

#[test]
fn only_a_ca_signs_whose_certificates_are_believed() {
    let client = ["client", "shop"];
    let foreign = folder_of_ca("Corp CA", 3000);
    refuses(foreign.path(), &client, 1, "is of a CA that `adjourn cert` did not create");
    refuses(folder_of_ca("Adjourn CA 0", 2001).path(), &client, 1, "ca.pem has expired");
    let own = folder_of_ca("Adjourn CA 1", 3000);
    make(own.path(), &client);
    // The old certificate, beside one that is to be believed for some time.
    let (certificate, other) =
        (own.path().join("ca.pem"), std::fs::read_to_string(foreign.path().join("ca.pem")).unwrap());
    let both = format!("{other}{}", std::fs::read_to_string(&certificate).unwrap());
    std::fs::write(&certificate, both).unwrap();
    make(own.path(), &client);
    std::fs::write(&certificate, other).unwrap();
    refuses(own.path(), &client, 1, "is not the certificate of");
    std::fs::remove_file(&certificate).unwrap();
    refuses(own.path(), &client, 1, "restore it, or choose another folder");
}

#[test]
fn a_renewed_key_stays_that_of_the_servers_user() {
    let folder = tempfile::tempdir().unwrap();
    let renew = || make(folder.path(), &["node", "1", "--host", "localhost"]);
    let file = |name: &str| folder.path().join(name);
    renew();
    let before = std::fs::read(file("node-1.key")).unwrap();
    let user = rustix::process::geteuid().is_root().then_some(65534);
    for (name, mode) in [("node-1.key", 0o440), ("node-1.pem", 0o640)] {
        std::fs::set_permissions(file(name), Permissions::from_mode(mode)).unwrap();
        chown(file(name), user, user).unwrap();
    }
    renew();
    assert_ne!(std::fs::read(file("node-1.key")).unwrap(), before);
    for (name, mode) in [("node-1.key", 0o440), ("node-1.pem", 0o640)] {
        let found = std::fs::metadata(file(name)).unwrap();
        assert_eq!(found.mode() & 0o777, mode, "{name}");
        assert_eq!(user.map(|_| found.uid()), user, "{name}");
    }
    std::fs::set_permissions(file("node-1.key"), Permissions::from_mode(0o644)).unwrap();
    let told = cert(folder.path(), &["node", "1", "--host", "localhost"]);
    assert!(told.errors.contains("every user of this machine may read"), "{}", told.errors);
}

/// A server that asks for certificates of clients, and some of those.
struct Rig {
    folder: TempDir,
    server: Process,
}

impl Rig {
    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// What a client with this certificate is told.
    fn stats(&self, client: &str) -> Ended {
        let server = format!("adjourns://localhost:{}", self.server.address.port());
        let (ca, certificate, key) =
            (self.path("ca.pem"), self.path(&format!("{client}.pem")), self.path(&format!("{client}.key")));
        let files = ["--tls-ca", text(&ca), "--tls-cert", text(&certificate), "--tls-key", text(&key)];
        Commands::to(&server).run(&[&["stats"], &files[..]].concat(), b"")
    }

    fn is_revoked(&self, client: &str) -> bool {
        let told = self.stats(client);
        assert!(
            told.code == Some(0) || told.errors.contains("CertificateRevoked"),
            "{client}: {}",
            told.errors
        );
        told.code != Some(0)
    }
}

#[test]
fn revoked_certificates_are_not_believed() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    make(folder.path(), &["node", "1", "--host", "localhost"]);
    for client in ["shop", "mail", "ops"] {
        make(folder.path(), &["client", client]);
    }
    make(folder.path(), &["revoke", text(&path("shop.pem"))]);
    let [certificate, key, ca, list] =
        ["node-1.pem", "node-1.key", "ca.pem", "crl.pem"].map(|name| text(&path(name)).to_owned());
    let data = path("data");
    let arguments =
        ["--tls-cert", &certificate, "--tls-key", &key, "--tls-client-ca", &ca, "--tls-client-crl", &list];
    let server = Process::start(&data, &arguments);
    let rig = Rig { folder, server };
    assert_eq!(["shop", "mail", "ops"].map(|client| rig.is_revoked(client)), [true, false, false]);
    // The list is extended, and read by the server when it has changed.
    make(rig.folder.path(), &["revoke", text(&rig.path("mail.pem")), text(&rig.path("shop.pem"))]);
    let begun = now();
    while !rig.is_revoked("mail") {
        assert!(begun.elapsed() < std::time::Duration::from_mins(1), "the list is not read");
    }
    assert_eq!(["shop", "mail", "ops"].map(|client| rig.is_revoked(client)), [true, true, false]);

    let other = tempfile::tempdir().unwrap();
    make(other.path(), &["client", "shop"]);
    refuses(rig.folder.path(), &["revoke", text(&other.path().join("shop.pem"))], 2, "is from another CA");
    refuses(rig.folder.path(), &["revoke", &ca], 2, "is the CA itself");
    refuses(rig.folder.path(), &["revoke", &key], 2, "is not a certificate");
    std::fs::copy(&list, other.path().join("crl.pem")).unwrap();
    refuses(other.path(), &["revoke", text(&other.path().join("shop.pem"))], 1, "is not a list of this CA");
    assert!(rig.server.terminate().success());
}

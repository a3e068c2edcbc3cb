//! Warnings about a server's files that do not keep it from starting.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use tracing::warn;

use adjourn_server::config::Config;

/// The permissions to read and to write a file, for users that are neither its owner nor in its group.
const OTHERS_READ: u32 = 0o004;
const OTHERS_WRITE: u32 = 0o002;
/// The identifier of the extension with a certificate's purposes, and of the purpose "server".
const PURPOSES: &[u8] = &[0x06, 3, 0x55, 0x1d, 0x25];
const FOR_SERVERS: &[u8] = &[0x06, 8, 0x2b, 6, 1, 5, 5, 7, 3, 1];

/// Logs a warning for each file that an operator should look at.
pub(crate) fn warn_of(config: &Config) {
    let secret = [
        ("tls_key", &config.tls_key),
        ("peer_tls_key", &config.peer_tls_key),
        ("tokens_file", &config.tokens_file),
        ("call_back_secrets_file", &config.call_backs.secrets_file),
        ("alerts_file", &config.alerts_file),
    ];
    for (name, file) in secret {
        for (right, verb) in [(OTHERS_READ, "read"), (OTHERS_WRITE, "change")] {
            if let Some(path) = file.as_deref().filter(|path| is_allowed(path, right)) {
                warn!(path = %path.display(), "every user of this machine may {verb} {name}: `chmod o= ` it");
            }
        }
    }
    for (name, file) in [("tls_cert", &config.tls_cert), ("peer_tls_cert", &config.peer_tls_cert)] {
        if let Some(path) = file.as_deref().filter(|path| is_for_clients_alone(path)) {
            warn!(
                path = %path.display(),
                "{name} is a certificate for clients, which clients and nodes refuse: `adjourn cert node` makes certificates of servers"
            );
        }
    }
}

fn is_allowed(path: &Path, right: u32) -> bool {
    std::fs::metadata(path).is_ok_and(|file| file.mode() & right != 0)
}

/// True if a certificate states its purposes, and servers are not one of them.
fn is_for_clients_alone(path: &Path) -> bool {
    let Ok(certificate) = CertificateDer::from_pem_file(path) else { return false };
    let has = |bytes: &[u8]| certificate.windows(bytes.len()).any(|found| found == bytes);
    has(PURPOSES) && !has(FOR_SERVERS)
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt as _;

    use rcgen::{CertificateParams, ExtendedKeyUsagePurpose, KeyPair};

    use super::*;

    #[test]
    fn a_file_that_everybody_may_read_or_change_is_found() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        for (mode, expected) in
            [(0o600, [false; 2]), (0o640, [false; 2]), (0o644, [true, false]), (0o602, [false, true])]
        {
            file.as_file().set_permissions(Permissions::from_mode(mode)).expect("set");
            let found = [OTHERS_READ, OTHERS_WRITE].map(|right| is_allowed(file.path(), right));
            assert_eq!(found, expected, "{mode:o}");
        }
        assert!(!is_allowed(Path::new("/nowhere"), OTHERS_READ));
    }

    #[test]
    fn a_certificate_for_clients_alone_is_found() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let key = KeyPair::generate().expect("a key");
        let (client, server) = (ExtendedKeyUsagePurpose::ClientAuth, ExtendedKeyUsagePurpose::ServerAuth);
        for (purposes, expected) in [
            (vec![client.clone()], true),
            (vec![server.clone()], false),
            (vec![server, client], false),
            (vec![], false),
        ] {
            let mut params = CertificateParams::new(vec!["localhost".to_owned()]).expect("a name");
            params.extended_key_usages.clone_from(&purposes);
            let certificate = params.self_signed(&key).expect("signed");
            std::fs::write(file.path(), certificate.pem()).expect("written");
            assert_eq!(is_for_clients_alone(file.path()), expected, "{purposes:?}");
        }
    }
}

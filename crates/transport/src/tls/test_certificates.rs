//! Certificates for tests, made for the purpose.

use std::path::PathBuf;

use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationListParams, CertifiedIssuer, DnType,
    ExtendedKeyUsagePurpose, IsCa, KeyIdMethod, KeyPair, KeyUsagePurpose, RevokedCertParams, SerialNumber,
    date_time_ymd,
};
use tempfile::TempDir;

use super::{ClientFiles, MembersFiles, ServerFiles};

type Issuer = CertifiedIssuer<'static, KeyPair>;

/// A folder of certificates, and the CA that signs them.
pub(crate) struct Certificates {
    folder: TempDir,
    ca: Issuer,
}

/// Each CA has a name of its own.
fn ca(name: &str) -> Issuer {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    CertifiedIssuer::self_signed(params, KeyPair::generate().expect("a key")).expect("a CA")
}

/// The fault of a certificate.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flaw {
    None,
    Expired,
    NotYet,
}

impl Certificates {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let ca = ca(&folder.path().to_string_lossy());
        let certificates = Self { folder, ca };
        certificates.put("ca.pem", &certificates.ca.pem());
        certificates
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn put(&self, name: &str, text: &str) -> PathBuf {
        // As an operator should: a reader never sees half a file.
        std::fs::write(self.path("new"), text).expect("written");
        std::fs::rename(self.path("new"), self.path(name)).expect("renamed");
        self.path(name)
    }

    /// Certificate and key for a name, under `file`.
    pub(crate) fn sign(&self, file: &str, name: &str, serial: u64, flaw: Flaw) -> (PathBuf, PathBuf) {
        let mut params = CertificateParams::new(vec![name.to_owned()]).expect("a name");
        params.distinguished_name.push(DnType::CommonName, name);
        params.serial_number = Some(SerialNumber::from(serial));
        params.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        match flaw {
            Flaw::None => {}
            Flaw::Expired => params.not_after = date_time_ymd(2001, 1, 1),
            Flaw::NotYet => params.not_before = date_time_ymd(3999, 1, 1),
        }
        let key = KeyPair::generate().expect("a key");
        let signed = params.signed_by(&key, &self.ca).expect("signed");
        let certificate = self.put(&format!("{file}.pem"), &signed.pem());
        (certificate, self.put(&format!("{file}.key"), &key.serialize_pem()))
    }

    pub(crate) fn revoke(&self, serial: u64) -> PathBuf {
        let revoked = RevokedCertParams {
            serial_number: SerialNumber::from(serial),
            revocation_time: date_time_ymd(2020, 1, 1),
            reason_code: None,
            invalidity_date: None,
        };
        let params = CertificateRevocationListParams {
            this_update: date_time_ymd(2020, 1, 1),
            next_update: date_time_ymd(3999, 1, 1),
            crl_number: SerialNumber::from(1),
            issuing_distribution_point: None,
            revoked_certs: vec![revoked],
            key_identifier_method: KeyIdMethod::Sha256,
        };
        self.put("crl.pem", &params.signed_by(&self.ca).expect("signed").pem().expect("PEM"))
    }

    pub(crate) fn server(&self, name: &str, flaw: Flaw) -> ServerFiles {
        let (certificate, key) = self.sign("server", name, 1, flaw);
        ServerFiles { certificate, key, client_ca: None, client_crl: None }
    }

    pub(crate) fn member(&self, file: &str, name: &str, serial: u64) -> MembersFiles {
        let (certificate, key) = self.sign(file, name, serial, Flaw::None);
        MembersFiles { certificate, key, ca: self.path("ca.pem"), crl: None }
    }

    pub(crate) fn client(&self) -> ClientFiles {
        ClientFiles { ca: Some(self.path("ca.pem")), ..ClientFiles::default() }
    }
}

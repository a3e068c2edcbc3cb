//! The CA in a folder: `ca.pem`, which is public, and `ca.key`, which signs.
//!
//! Each CA gets a name of its own, so that its certificates differ from those of another one. Only CAs that this command
//! created are used: the name and the rules of any other are not known well enough to sign for it.

use std::io;
use std::path::{Path, PathBuf};

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan as _};
use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationListParams, CertifiedIssuer, DistinguishedName,
    DnType, IsCa, Issuer, KeyIdMethod, KeyPair, KeyUsagePurpose, PKCS_ECDSA_P256_SHA256, PublicKeyData as _,
    RevokedCertParams, SerialNumber, date_time_ymd,
};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, CertificateRevocationListDer, UnixTime};

use super::super::exit::{Exit, Failure};
use crate::draw_id::draw_id;
use adjourn_json::id_text;
use adjourn_server::wall;
use adjourn_transport::tls::der::{Certificate, Revoked, common_name};

/// The lifetime of a CA and of a list of revoked certificates.
const CA_DAYS: u32 = 3650;
/// A certificate is valid from a day before it is created, because clocks differ.
const DAYS_BEFORE: u32 = 1;
/// The prefix of the names of CAs that this command creates.
const CA_NAME: &str = "Adjourn CA";
/// The number of digits that distinguish the names of CAs.
const CA_DIGITS: usize = 8;

/// A CA that signs.
pub(super) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    /// Its encoded name, as it is in certificates.
    name: Vec<u8>,
}

/// A new CA, as PEM.
pub(super) struct Made {
    pub(super) key: String,
    pub(super) certificate: String,
}

impl Authority {
    /// The CA in this folder; `None` if there is none.
    pub(super) fn read(folder: &Path) -> Result<Option<Self>, Failure> {
        let (path, key) = (folder.join("ca.pem"), folder.join("ca.key"));
        match (read(&path)?, read(&key)?) {
            (None, None) => Ok(None),
            (Some(certificates), Some(text)) => Self::of(&certificates, &path, &text, &key).map(Some),
            (Some(_), None) => Err(halved(&path, &key)),
            (None, Some(_)) => Err(halved(&key, &path)),
        }
    }

    /// Creates a CA.
    pub(super) fn make() -> Result<Made, Failure> {
        let id = id_text(draw_id()?);
        let name = format!("{CA_NAME} {}", id.get(..CA_DIGITS).unwrap_or_default());
        let ca = CertifiedIssuer::self_signed(params(&name)?, new_key()?).map_err(|error| failed(&error))?;
        Ok(Made { key: ca.key().serialize_pem(), certificate: ca.pem() })
    }

    fn of(certificates: &str, path: &Path, key_text: &str, key_path: &Path) -> Result<Self, Failure> {
        let refused = |reason: &dyn std::fmt::Display| {
            Failure::new(Exit::Refused, format_args!("{} {reason}", path.display()))
        };
        let unfit = |error: rcgen::Error| {
            Failure::new(
                Exit::Refused,
                format_args!("{} is not the key of a CA: {error}", key_path.display()),
            )
        };
        let key = KeyPair::from_pem(key_text).map_err(unfit)?;
        let public_key = key.subject_public_key_info();
        // The file may contain another CA, which is trusted for a transition.
        for certificate in CertificateDer::pem_slice_iter(certificates.as_bytes()) {
            let certificate =
                certificate.map_err(|error| refused(&format_args!("is not a certificate: {error}")))?;
            let Some(found) = Certificate::read(&certificate) else { continue };
            if !public_key.ends_with(found.public_key) {
                continue;
            }
            let name = common_name(found.subject).filter(|name| name.starts_with(CA_NAME)).ok_or_else(|| {
                refused(&"is of a CA that `adjourn cert` did not create: sign with the program that created it, or choose another \
                          folder with --dir")
            })?;
            if found.until.as_secs() < wall().0 / 1000 {
                let text = format_args!(
                    "has expired: no one trusts the certificates that it signs. Move ca.pem and ca.key away to get a new CA"
                );
                return Err(refused(&text));
            }
            return Ok(Self { issuer: Issuer::new(params(name)?, key), name: found.subject.to_vec() });
        }
        Err(refused(&format_args!(
            "is not the certificate of {}: bring the two together",
            key_path.display()
        )))
    }

    /// Signs a certificate, valid for this many days from now.
    pub(super) fn sign(
        &self,
        mut params: CertificateParams,
        days: u32,
        key: &KeyPair,
    ) -> Result<String, Failure> {
        params.use_authority_key_identifier_extension = true;
        lasting(&mut params, days)?;
        let signed = params.signed_by(key, &self.issuer).map_err(|error| failed(&error))?;
        Ok(signed.pem())
    }

    /// A list of the certificates in these files and in the list from before, if there is one.
    pub(super) fn revoke(&self, before: Option<(&str, &Path)>, files: &[PathBuf]) -> Result<String, Failure> {
        let own = &self.name;
        let now = today().ok_or_else(no_date)?;
        let mut revoked: Vec<(Vec<u8>, Date)> = match before {
            Some((text, path)) => listed(text, own).ok_or_else(|| {
                let text = format!("{} is not a list of this CA: move it elsewhere", path.display());
                Failure::new(Exit::Refused, text)
            })?,
            None => Vec::new(),
        };
        for file in files {
            let serial = serial_of(file, own)?;
            if !revoked.iter().any(|(known, _)| *known == serial) {
                revoked.push((serial, now));
            }
        }
        let entry = |(serial, date): (Vec<u8>, Date)| {
            let revocation_time = moment(date, date_time_ymd)?;
            let serial_number = SerialNumber::from_slice(&serial);
            Some(RevokedCertParams {
                serial_number,
                revocation_time,
                reason_code: None,
                invalidity_date: None,
            })
        };
        let revoked_certs: Option<Vec<_>> = revoked.into_iter().map(entry).collect();
        let params = CertificateRevocationListParams {
            this_update: in_days(-i64::from(DAYS_BEFORE), date_time_ymd)?,
            next_update: in_days(CA_DAYS.into(), date_time_ymd)?,
            crl_number: SerialNumber::from(wall().0),
            issuing_distribution_point: None,
            revoked_certs: revoked_certs.ok_or_else(no_date)?,
            key_identifier_method: KeyIdMethod::Sha256,
        };
        let list = params.signed_by(&self.issuer).map_err(|error| failed(&error))?;
        list.pem().map_err(|error| failed(&error))
    }
}

/// Creates a key of the type that all certificates have.
pub(super) fn new_key() -> Result<KeyPair, Failure> {
    KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).map_err(|error| failed(&error))
}

/// A name with only a common name.
pub(super) fn named(name: &str) -> DistinguishedName {
    let mut distinguished = DistinguishedName::new();
    distinguished.push(DnType::CommonName, name);
    distinguished
}

/// The parameters of a CA of this name.
fn params(name: &str) -> Result<CertificateParams, Failure> {
    let mut params = CertificateParams::default();
    params.distinguished_name = named(name);
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    lasting(&mut params, CA_DAYS)?;
    Ok(params)
}

/// The serials in a list, and when each was revoked; `None` if the text is not a list of the CA with this name.
fn listed(text: &str, ca: &[u8]) -> Option<Vec<(Vec<u8>, Date)>> {
    let der = CertificateRevocationListDer::from_pem_slice(text.as_bytes()).ok()?;
    let list = Revoked::read(&der).filter(|list| list.issuer == ca)?;
    let date =
        |time: UnixTime| Some(date_of(Timestamp::from_second(i64::try_from(time.as_secs()).ok()?).ok()?));
    list.serials.into_iter().map(|(serial, time)| Some((serial.to_vec(), date(time)?))).collect()
}

/// The serial of the certificate in a file, which the CA with this name has signed.
fn serial_of(file: &Path, ca: &[u8]) -> Result<Vec<u8>, Failure> {
    let refused = |reason: &str| Failure::new(Exit::Usage, format_args!("{} {reason}", file.display()));
    let text = read(file)?.ok_or_else(|| refused("is not there"))?;
    let der = CertificateDer::from_pem_slice(text.as_bytes()).map_err(|_| refused("is not a certificate"))?;
    let certificate = Certificate::read(&der).ok_or_else(|| refused("is not a certificate"))?;
    if certificate.issuer != ca {
        return Err(refused("is from another CA, which must revoke it"));
    }
    if certificate.subject == ca {
        return Err(refused("is the CA itself: remove it from the files that name it"));
    }
    Ok(certificate.serial.to_vec())
}

/// Sets the validity: from yesterday on, for this many days.
fn lasting(params: &mut CertificateParams, days: u32) -> Result<(), Failure> {
    params.not_before = in_days(-i64::from(DAYS_BEFORE), date_time_ymd)?;
    params.not_after = in_days(i64::from(days) + 1, date_time_ymd)?;
    Ok(())
}

/// The date in this many days, converted by `make` from year, month and day.
fn in_days<T>(days: i64, make: impl FnOnce(i32, u8, u8) -> T) -> Result<T, Failure> {
    let date = today().and_then(|today| today.checked_add(days.days()).ok());
    date.and_then(|date| moment(date, make)).ok_or_else(no_date)
}

fn moment<T>(date: Date, make: impl FnOnce(i32, u8, u8) -> T) -> Option<T> {
    let (month, day) = (u8::try_from(date.month()).ok()?, u8::try_from(date.day()).ok()?);
    Some(make(date.year().into(), month, day))
}

fn today() -> Option<Date> {
    let now = i64::try_from(wall().0).ok().and_then(|millis| Timestamp::from_millisecond(millis).ok());
    now.map(date_of)
}

fn date_of(time: Timestamp) -> Date {
    time.to_zoned(TimeZone::UTC).date()
}

fn no_date() -> Failure {
    Failure::new(
        Exit::Refused,
        "the clock of this machine shows a date that is not possible in a certificate",
    )
}

/// Reads a file; `None` if there is none.
fn read(path: &Path) -> Result<Option<String>, Failure> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => {
            Err(Failure::new(Exit::Refused, format_args!("cannot read {}: {error}", path.display())))
        }
    }
}

fn failed(error: &rcgen::Error) -> Failure {
    Failure::new(Exit::Refused, format_args!("cannot make a certificate: {error}"))
}

fn halved(there: &Path, missing: &Path) -> Failure {
    let text = format!(
        "{} exists, but {} does not: restore it, or choose another folder with --dir",
        there.display(),
        missing.display()
    );
    Failure::new(Exit::Refused, text)
}

//! `adjourn cert`: a small CA and the certificates that it signs, for a cluster of one's own.
//!
//! The CA is two files in a folder, made when they are missing: `ca.pem`, which everyone may have, and `ca.key`, which signs. A
//! node's certificate is for its host names and for `node-N.adjourn`, which proves its number to other nodes.

use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan as _};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType, ExtendedKeyUsagePurpose,
    IsCa, Issuer, KeyPair, KeyUsagePurpose, PKCS_ECDSA_P256_SHA256, date_time_ymd,
};

use super::exit::{Exit, Failure};
use super::output::print;
use crate::server::wall;
use crate::transport::tls::node_name;

const EXAMPLES: &str = "\
Examples:
  adjourn cert node 1 --host queue-1.example      (and 2, 3: on the machine that has ca.key)
  adjourn cert client shop
  adjourn serve --tls-cert certs/node-1.pem --tls-key certs/node-1.key
  adjourn stats --server adjourns://queue-1.example:7440 --tls-ca certs/ca.pem

The first call makes the CA. Who has ca.key can sign a certificate for any name: keep it off the nodes. A node reads changed
files at the next connection, so that signing again before the end of its days is all that a renewal takes.";

/// How long a CA lasts: longer than anybody wants to think of it.
const CA_DAYS: u32 = 3650;
/// A certificate is good from a day before it is made: clocks differ.
const DAYS_BEFORE: u32 = 1;
/// The name of every CA that this makes. Its key tells it from others.
const CA_NAME: &str = "Adjourn CA";
/// Names with this end are those of nodes.
const NODE_SUFFIX: &str = ".adjourn";

/// Make a CA and certificates for TLS.
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub(super) enum CertCommand {
    /// Certificate of a node, for its clients and for the other nodes
    #[command(after_help = EXAMPLES)]
    Node(NodeArgs),
    /// Certificate of a client, for servers that ask for one
    #[command(after_help = EXAMPLES)]
    Client(ClientArgs),
}

/// What `adjourn cert node` is told.
#[derive(Debug, Args)]
pub(super) struct NodeArgs {
    /// Number of the node
    #[arg(value_name = "N", value_parser = clap::value_parser!(u64).range(1..=65_535))]
    node: u64,
    /// Host name or IP address by which clients reach it; repeat it for several
    #[arg(long = "host", value_name = "HOST", required = true)]
    hosts: Vec<String>,
    #[command(flatten)]
    signing: SigningArgs,
}

/// What `adjourn cert client` is told.
#[derive(Debug, Args)]
pub(super) struct ClientArgs {
    /// Name of the client
    #[arg(value_name = "NAME")]
    name: String,
    #[command(flatten)]
    signing: SigningArgs,
}

#[derive(Debug, Args)]
struct SigningArgs {
    /// Folder of the CA and of the certificates
    #[arg(long, value_name = "DIR", default_value = "certs")]
    dir: PathBuf,
    /// Days until the certificate ends
    #[arg(long, value_name = "DAYS", default_value_t = 397, value_parser = clap::value_parser!(u32).range(1..=3650))]
    days: u32,
}

/// Makes what is asked for.
pub(super) fn run(command: CertCommand) -> Result<(), Failure> {
    match command {
        CertCommand::Node(NodeArgs { node, mut hosts, signing }) => {
            refuse_names_of_nodes(&hosts)?;
            hosts.push(node_name(node));
            let usages = [ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
            signing.sign(&format!("node-{node}"), &hosts, &usages)
        }
        CertCommand::Client(ClientArgs { name, signing }) => {
            refuse_names_of_nodes(std::slice::from_ref(&name))?;
            if name.is_empty() || name == "ca" || name.starts_with('.') || name.contains(['/', '\0']) {
                return Err(Failure::new(
                    Exit::Usage,
                    "a client's name is the name of its files: choose another",
                ));
            }
            signing.sign(&name, std::slice::from_ref(&name), &[ExtendedKeyUsagePurpose::ClientAuth])
        }
    }
}

/// The number of a node is the CA's word: nothing else has such a name.
fn refuse_names_of_nodes(names: &[String]) -> Result<(), Failure> {
    match names.iter().find(|name| name.to_ascii_lowercase().ends_with(NODE_SUFFIX)) {
        Some(name) => Err(Failure::new(
            Exit::Usage,
            format_args!("{name} ends as the names of nodes do: `adjourn cert node N` makes those"),
        )),
        None => Ok(()),
    }
}

impl SigningArgs {
    fn sign(&self, file: &str, names: &[String], usages: &[ExtendedKeyUsagePurpose]) -> Result<(), Failure> {
        let unfit =
            |error: rcgen::Error| Failure::new(Exit::Usage, format_args!("{}: {error}", names.join(", ")));
        let mut params = CertificateParams::new(names).map_err(unfit)?;
        params.distinguished_name = named(file);
        params.extended_key_usages = usages.to_vec();
        params.use_authority_key_identifier_extension = true;
        lasting(&mut params, self.days)?;
        let (issuer, mut written) = self.issuer()?;
        let key = new_key()?;
        let signed = params.signed_by(&key, &issuer).map_err(|error| failed(&error))?;
        let (certificate, key_file) = (format!("{file}.pem"), format!("{file}.key"));
        // A node that looks at the files between the two finds that they do not fit, and looks again.
        written.push(self.write(&key_file, &key.serialize_pem(), Secret::Yes)?);
        written.push(self.write(&certificate, &signed.pem(), Secret::No)?);
        print(|out| {
            for path in &written {
                writeln!(out, "wrote {}", path.display())?;
            }
            Ok(())
        })
    }

    /// The CA in the folder; a new one if there is none.
    fn issuer(&self) -> Result<(Issuer<'static, KeyPair>, Vec<PathBuf>), Failure> {
        let mut params = CertificateParams::default();
        params.distinguished_name = named(CA_NAME);
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        lasting(&mut params, CA_DAYS)?;
        let (certificate, key) = (self.dir.join("ca.pem"), self.dir.join("ca.key"));
        match std::fs::read_to_string(&key) {
            Ok(text) if certificate.exists() => {
                let unfit = |error: rcgen::Error| {
                    Failure::new(Exit::Refused, format_args!("{} is no key of a CA: {error}", key.display()))
                };
                Ok((Issuer::new(params, KeyPair::from_pem(&text).map_err(unfit)?), Vec::new()))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound && !certificate.exists() => {
                std::fs::create_dir_all(&self.dir).map_err(|error| unwritten(&self.dir, &error))?;
                let ca = CertifiedIssuer::self_signed(params.clone(), new_key()?)
                    .map_err(|error| failed(&error))?;
                let written = vec![
                    self.write("ca.key", &ca.key().serialize_pem(), Secret::Yes)?,
                    self.write("ca.pem", &ca.pem(), Secret::No)?,
                ];
                let key = KeyPair::from_pem(&ca.key().serialize_pem()).map_err(|error| failed(&error))?;
                Ok((Issuer::new(params, key), written))
            }
            Ok(_) => Err(halved(&key, &certificate)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(halved(&certificate, &key)),
            Err(error) => {
                Err(Failure::new(Exit::Refused, format_args!("cannot read {}: {error}", key.display())))
            }
        }
    }

    /// Puts a file in its place at once: a server may be reading the one before.
    fn write(&self, name: &str, text: &str, secret: Secret) -> Result<PathBuf, Failure> {
        let (path, fresh) = (self.dir.join(name), self.dir.join(format!("{name}.new")));
        let mode = if secret == Secret::Yes { 0o600 } else { 0o644 };
        let write = || {
            // Left over from a call that was cut off, with whatever rights.
            std::fs::remove_file(&fresh).or_else(|error| match error.kind() {
                io::ErrorKind::NotFound => Ok(()),
                _ => Err(error),
            })?;
            let mut file =
                std::fs::OpenOptions::new().write(true).create_new(true).mode(mode).open(&fresh)?;
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            std::fs::rename(&fresh, &path)
        };
        write().map_err(|error| unwritten(&path, &error))?;
        Ok(path)
    }
}

/// Whether only its owner may read a file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Secret {
    Yes,
    No,
}

fn named(name: &str) -> DistinguishedName {
    let mut distinguished = DistinguishedName::new();
    distinguished.push(DnType::CommonName, name);
    distinguished
}

fn new_key() -> Result<KeyPair, Failure> {
    KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).map_err(|error| failed(&error))
}

/// From yesterday on, for this many days.
fn lasting(params: &mut CertificateParams, days: u32) -> Result<(), Failure> {
    let now = i64::try_from(wall().0).ok().and_then(|millis| Timestamp::from_millisecond(millis).ok());
    let today = now.map(|now| now.to_zoned(TimeZone::UTC).date());
    let date = |days: i64| {
        let date = today.and_then(|today| today.checked_add(days.days()).ok())?;
        let (month, day) = (u8::try_from(date.month()).ok()?, u8::try_from(date.day()).ok()?);
        Some(date_time_ymd(date.year().into(), month, day))
    };
    let unset = || {
        Failure::new(Exit::Refused, "the clock of this machine shows no date that a certificate could have")
    };
    params.not_before = date(-i64::from(DAYS_BEFORE)).ok_or_else(unset)?;
    params.not_after = date(i64::from(days) + 1).ok_or_else(unset)?;
    Ok(())
}

fn failed(error: &rcgen::Error) -> Failure {
    Failure::new(Exit::Refused, format_args!("cannot make a certificate: {error}"))
}

fn unwritten(path: &Path, error: &io::Error) -> Failure {
    Failure::new(Exit::Refused, format_args!("cannot write {}: {error}", path.display()))
}

fn halved(there: &Path, missing: &Path) -> Failure {
    let text = format!(
        "{} is there and {} is not: bring the other half of this CA, or choose another folder with --dir",
        there.display(),
        missing.display()
    );
    Failure::new(Exit::Refused, text)
}

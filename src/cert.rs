//! `adjourn cert`: a small CA and the certificates that it signs, for a private cluster.
//!
//! The CA is two files in a folder, created if they are missing: `ca.pem`, which is public, and `ca.key`, which signs. A
//! node's certificate is for its host names and for `node-N.adjourn`, which proves its number to other nodes.

mod authority;

use std::io;
use std::net::IpAddr;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use rcgen::{CertificateParams, ExtendedKeyUsagePurpose};
use rustls::pki_types::ServerName;

use super::exit::{Exit, Failure};
use super::output::{complain, print};
use super::replace::{self, replace};
use crate::usage::whole;
use adjourn_server::config::NODE_MAX;
use adjourn_transport::tls::node_name;
use authority::{Authority, named, new_key};

const EXAMPLES: &str = "\
Examples:
  adjourn cert node 1 --host queue-1.example      (and 2, 3: on the machine that has ca.key)
  adjourn cert client shop
  adjourn serve --tls-cert certs/node-1.pem --tls-key certs/node-1.key
  adjourn stats --server adjourns://queue-1.example:7440 --tls-ca certs/ca.pem
  adjourn cert revoke certs/shop.pem

The first call creates the CA. Anyone who has ca.key can sign a certificate for any name: keep it off the nodes. The user that runs a
server must be able to read its key: give the file to that user (chown). To renew a certificate, sign it again before it ends: the
new file has the owner and the mode of the old one, and a node uses it within a second.";

/// The suffix of the names of nodes.
const NODE_SUFFIX: &str = ".adjourn";
/// The prefix of the files of nodes.
const NODE_PREFIX: &str = "node-";
/// The file with the list of revoked certificates.
const LIST: &str = "crl.pem";

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
    /// Add certificates to the list of revoked ones, crl.pem
    #[command(after_help = REVOKE_EXAMPLE)]
    Revoke(RevokeArgs),
}

/// What `adjourn cert node` is told.
#[derive(Debug, Args)]
pub(super) struct NodeArgs {
    /// Number of the node
    #[arg(value_name = "N", value_parser = whole(1..=NODE_MAX))]
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

const REVOKE_EXAMPLE: &str = "\
Example:
  adjourn cert revoke certs/shop.pem
  adjourn serve --tls-client-ca certs/ca.pem --tls-client-crl certs/crl.pem ...

Servers trust a certificate until it ends, unless it is in the list that tls_client_crl names (of a node:
peer_tls_crl, on all members). They read a changed list within a second, and refuse new connections; those that are open stay.
A renewed certificate is another one: revoke a file before it is overwritten, or keep a copy.";

/// What `adjourn cert revoke` is told.
#[derive(Debug, Args)]
pub(super) struct RevokeArgs {
    /// The certificates
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    #[command(flatten)]
    folder: FolderArgs,
}

#[derive(Debug, Args)]
struct FolderArgs {
    /// Folder of the CA and of the certificates
    #[arg(long, value_name = "DIR", default_value = "certs")]
    dir: PathBuf,
}

#[derive(Debug, Args)]
struct SigningArgs {
    #[command(flatten)]
    folder: FolderArgs,
    /// Days until the certificate ends
    #[arg(long, value_name = "DAYS", default_value_t = 397, value_parser = whole::<u32>(1..=3650))]
    days: u32,
}

/// Runs `adjourn cert`.
pub(super) fn run(command: CertCommand) -> Result<(), Failure> {
    match command {
        CertCommand::Node(NodeArgs { node, mut hosts, signing }) => {
            refuse_names_of_nodes(&hosts)?;
            hosts.iter().try_for_each(|host| refuse_no_host(host))?;
            hosts.push(node_name(node));
            let usages = [ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
            signing.sign(&format!("{NODE_PREFIX}{node}"), &hosts, &usages)
        }
        CertCommand::Client(ClientArgs { name, signing }) => {
            refuse_names_of_nodes(std::slice::from_ref(&name))?;
            refuse_no_file(&name)?;
            signing.sign(&name, std::slice::from_ref(&name), &[ExtendedKeyUsagePurpose::ClientAuth])
        }
        CertCommand::Revoke(args) => revoke(&args),
    }
}

/// Refuses host names of the form of node names: only the CA assigns those.
fn refuse_names_of_nodes(names: &[String]) -> Result<(), Failure> {
    match names.iter().find(|name| name.to_ascii_lowercase().ends_with(NODE_SUFFIX)) {
        Some(name) => Err(Failure::new(
            Exit::Usage,
            format_args!("{name} is the name of a node: `adjourn cert node N` makes those certificates"),
        )),
        None => Ok(()),
    }
}

/// Refuses a host that no client can dial.
fn refuse_no_host(host: &str) -> Result<(), Failure> {
    let name = host.strip_prefix("*.").unwrap_or(host);
    let is_name = matches!(ServerName::try_from(name), Ok(ServerName::DnsName(_))) && !name.ends_with('.');
    if host.parse::<IpAddr>().is_ok() || is_name {
        return Ok(());
    }
    let text = format!(
        "{host:?} is neither a host name nor an IP address: write it without a port, for example queue-1.example or 10.0.0.5"
    );
    Err(Failure::new(Exit::Usage, text))
}

/// Refuses a client name whose files would replace those of a CA or a node.
fn refuse_no_file(name: &str) -> Result<(), Failure> {
    let lower = name.to_ascii_lowercase();
    let is_taken = ["ca", "crl"].contains(&lower.as_str()) || lower.starts_with(NODE_PREFIX);
    if is_taken {
        let text = format!("{name} is the name of other files in the folder: choose another for the client");
        return Err(Failure::new(Exit::Usage, text));
    }
    if name.is_empty() || name.starts_with('.') || name.contains(['/', '\0']) {
        return Err(Failure::new(Exit::Usage, "a client's name is the name of its files: choose another"));
    }
    Ok(())
}

impl SigningArgs {
    fn sign(&self, file: &str, names: &[String], usages: &[ExtendedKeyUsagePurpose]) -> Result<(), Failure> {
        let unfit =
            |error: rcgen::Error| Failure::new(Exit::Usage, format_args!("{}: {error}", names.join(", ")));
        let mut params = CertificateParams::new(names).map_err(unfit)?;
        params.distinguished_name = named(file);
        params.extended_key_usages = usages.to_vec();
        let dir = &self.folder.dir;
        std::fs::create_dir_all(dir).map_err(|error| unwritten(dir, &error))?;
        let _lock = replace::lock(dir).map_err(|error| unwritten(dir, &error))?;
        let mut written = Vec::new();
        let mut authority = Authority::read(dir)?;
        if authority.is_none() {
            let made = Authority::make()?;
            written.push(self.folder.write("ca.key", &made.key, Secret::Yes)?);
            written.push(self.folder.write("ca.pem", &made.certificate, Secret::No)?);
            authority = Authority::read(dir)?;
        }
        let authority = authority.ok_or_else(|| unwritten(dir, &"the CA is gone"))?;
        let key = new_key()?;
        let certificate = authority.sign(params, self.days, &key)?;
        // A node that reads the files between the two writes finds that they do not match, and reads them again.
        written.push(self.folder.write(&format!("{file}.key"), &key.serialize_pem(), Secret::Yes)?);
        written.push(self.folder.write(&format!("{file}.pem"), &certificate, Secret::No)?);
        print(|out| written.iter().try_for_each(|path| writeln!(out, "wrote {}", path.display())))
    }
}

fn revoke(args: &RevokeArgs) -> Result<(), Failure> {
    let dir = &args.folder.dir;
    let _lock = replace::lock(dir).map_err(|error| unwritten(dir, &error))?;
    let authority = Authority::read(dir)?.ok_or_else(|| {
        let text = format!("{} has no CA: name its folder with --dir", dir.display());
        Failure::new(Exit::Usage, text)
    })?;
    let path = dir.join(LIST);
    let before = match std::fs::read_to_string(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        read => Some(read.map_err(|error| {
            Failure::new(Exit::Refused, format_args!("cannot read {}: {error}", path.display()))
        })?),
    };
    let list = authority.revoke(before.as_deref().map(|text| (text, path.as_path())), &args.files)?;
    let path = args.folder.write(LIST, &list, Secret::No)?;
    print(|out| writeln!(out, "wrote {}", path.display()))
}

/// Whether a file is readable by its owner only.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Secret {
    Yes,
    No,
}

impl FolderArgs {
    /// Replaces a file atomically: a server may be reading the old one.
    fn write(&self, name: &str, text: &str, secret: Secret) -> Result<PathBuf, Failure> {
        let path = self.dir.join(name);
        let mode = if secret == Secret::Yes { 0o600 } else { 0o644 };
        replace(&path, text, mode).map_err(|error| unwritten(&path, &error))?;
        if secret == Secret::Yes && std::fs::metadata(&path).is_ok_and(|file| file.mode() & 0o007 != 0) {
            complain(format_args!(
                "adjourn: every user of this machine may read {}: `chmod o= ` it",
                path.display()
            ));
        }
        Ok(path)
    }
}

fn unwritten(path: &Path, error: &dyn std::fmt::Display) -> Failure {
    Failure::new(Exit::Refused, format_args!("cannot write {}: {error}", path.display()))
}

//! `adjourn token`: changes and shows the file of tokens, one of which a client must show.
//!
//! The commands change only the file: a server that reads it notices within two seconds.

mod text;

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, Subcommand};
use jiff::{SignedDuration, Timestamp};
use serde_json::json;

use super::backup::folder_of;
use super::exit::{Exit, Failure};
use super::output::print;
use super::replace::{self, FolderLock};
use crate::output::table::aligned;
use adjourn_server::tokens::{
    Limits, SecretHash, Text, TokenEntry, TokenError, TokenFile, TokenName, new_secret,
};
use adjourn_types::Grant;

const EXAMPLES: &str = "\
Examples:
  adjourn token create shop --allow push:orders.*
  adjourn token create mailer --allow consume,read:mail --expires-in 90d --connections 20
  adjourn token create operator --allow push,consume,read,manage,admin
  adjourn token list
  adjourn token revoke shop
  adjourn serve --tokens-file tokens.toml

A right is one of push, consume, read, manage and admin, several separated by commas; the topics follow after a colon, as a name,
a prefix and *, or * for all. `create` prints the secret once: the file has only its hash. To rotate a secret, create a
token with another name, give it to the clients, then revoke the old one. Give all members of a cluster the same file.

The user that runs the server must be able to read the file: create it as that user, or give it to that user (chown). `create` and
`revoke` keep its owner, its mode and its comments; a comment right above a token goes with it.";

/// Create, list and revoke the tokens that clients show.
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub(super) enum TokenCommand {
    /// Add a token to the file, and print its secret
    #[command(after_help = EXAMPLES)]
    Create(CreateArgs),
    /// Show the tokens in the file
    #[command(after_help = EXAMPLES)]
    List(ListArgs),
    /// Remove a token from the file, and close its connections
    #[command(after_help = EXAMPLES)]
    Revoke(RevokeArgs),
}

#[derive(Debug, Args)]
struct FileArgs {
    /// File of the tokens
    #[arg(long = "file", env = "ADJOURN_TOKENS_FILE", value_name = "FILE", default_value = "tokens.toml")]
    path: PathBuf,
}

/// What `adjourn token create` is told.
#[derive(Debug, Args)]
pub(super) struct CreateArgs {
    /// Name of the token
    #[arg(value_name = "NAME")]
    name: TokenName,
    /// Its rights, as RIGHTS:TOPICS; repeat it for several
    #[arg(long, value_name = "RIGHTS:TOPICS", required = true)]
    allow: Vec<Grant>,
    /// How long it is valid, for example 90d; if not given, it never expires
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    expires_in: Option<Duration>,
    #[command(flatten)]
    limits: Limits,
    #[command(flatten)]
    file: FileArgs,
}

/// What `adjourn token list` is told.
#[derive(Debug, Args)]
pub(super) struct ListArgs {
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    file: FileArgs,
}

/// What `adjourn token revoke` is told.
#[derive(Debug, Args)]
pub(super) struct RevokeArgs {
    /// Name of the token
    #[arg(value_name = "NAME")]
    name: TokenName,
    #[command(flatten)]
    file: FileArgs,
}

/// Runs `adjourn token`.
pub(super) fn run(command: TokenCommand) -> Result<(), Failure> {
    match command {
        TokenCommand::Create(args) => create(args),
        TokenCommand::List(args) => list(&args),
        TokenCommand::Revoke(args) => revoke(&args),
    }
}

fn create(args: CreateArgs) -> Result<(), Failure> {
    let CreateArgs { name, allow, expires_in, limits, file: FileArgs { path } } = args;
    let Change { text, file, path, _lock } = Change::begin(&path)?;
    if file.tokens.iter().any(|token| token.name == name) {
        let text =
            format!("{} has a token called {name}: revoke it first, or choose another name", path.display());
        return Err(Failure::new(Exit::Refused, text));
    }
    let secret = new_secret().map_err(|error| Failure::new(Exit::Refused, error))?;
    let expires = expires_in.map(expiry).transpose()?.map(Text);
    let allow = allow.into_iter().map(Text).collect();
    let entry = TokenEntry { name, sha256: SecretHash::of(secret.as_bytes()), allow, expires, limits };
    write(&path, text::with(&text, &file, entry))?;
    print(|out| writeln!(out, "{secret}"))
}

fn list(args: &ListArgs) -> Result<(), Failure> {
    let file = TokenFile::read(&args.file.path).map_err(failed)?;
    if args.json {
        let tokens = serde_json::to_value(&file.tokens);
        let tokens = tokens.map_err(|error| Failure::new(Exit::Refused, error))?;
        return print(|out| writeln!(out, "{}", json!({ "tokens": without_hashes(tokens) })));
    }
    let mut rows = vec![["NAME", "ALLOW", "EXPIRES", "LIMITS"].map(str::to_owned)];
    for token in &file.tokens {
        let allow: Vec<String> = token.allow.iter().map(|grant| grant.0.to_string()).collect();
        let expires = token.expires.as_ref().map_or("-".to_owned(), |expires| expires.0.to_string());
        rows.push([token.name.to_string(), allow.join(" "), expires, limits(&token.limits)]);
    }
    print(|out| out.write_all(aligned(&rows).as_bytes()))
}

fn revoke(args: &RevokeArgs) -> Result<(), Failure> {
    let Change { text, file, path, _lock } = Change::begin(&args.file.path)?;
    if !file.tokens.iter().any(|token| token.name == args.name) {
        let text =
            format!("{} has no token called {}: `adjourn token list` shows them", path.display(), args.name);
        return Err(Failure::new(Exit::Nothing, text));
    }
    write(&path, text::without(&text, &file, &args.name))
}

/// A file that is being changed. Other commands wait until that is done.
struct Change {
    text: String,
    file: TokenFile,
    path: PathBuf,
    _lock: FolderLock,
}

impl Change {
    /// Reads the file; a missing file has no tokens.
    fn begin(path: &Path) -> Result<Self, Failure> {
        let path = replace::target(path).map_err(|error| unwritten(path, error))?;
        let lock = replace::lock(folder_of(&path)).map_err(|error| unwritten(&path, error))?;
        let text = match std::fs::read_to_string(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            read => read.map_err(|source| failed(TokenError::Unreadable { path: path.clone(), source }))?,
        };
        let file = TokenFile::parse(&text, &path).map_err(failed)?;
        Ok(Self { text, file, path, _lock: lock })
    }
}

/// A new file is readable by its owner only.
const MODE: u32 = 0o600;

fn write(path: &Path, text: Result<String, toml::ser::Error>) -> Result<(), Failure> {
    let text = text.map_err(|error| unwritten(path, error))?;
    replace::replace(path, &text, MODE).map_err(|error| unwritten(path, error))
}

fn unwritten(path: &Path, error: impl std::fmt::Display) -> Failure {
    Failure::new(Exit::Refused, format_args!("cannot write the tokens to {}: {error}", path.display()))
}

/// The time of expiry, in whole seconds.
fn expiry(time: Duration) -> Result<Timestamp, Failure> {
    let far = || Failure::new(Exit::Usage, "that is too far in the future: leave out --expires-in");
    let time = SignedDuration::try_from(time).map_err(|_| far())?;
    let now = i64::try_from(adjourn_server::wall().0).unwrap_or(i64::MAX) / 1000;
    let now = Timestamp::from_second(now).map_err(|_| far())?;
    now.checked_add(time).map_err(|_| far())
}

/// Removes the hashes, which are never shown.
fn without_hashes(mut tokens: serde_json::Value) -> serde_json::Value {
    for token in tokens.as_array_mut().into_iter().flatten().filter_map(serde_json::Value::as_object_mut) {
        token.remove("sha256");
    }
    tokens
}

fn limits(limits: &Limits) -> String {
    let named = [
        ("connections", limits.connections),
        ("sessions", limits.sessions),
        ("topics", limits.topics),
        ("requests/s", limits.requests_per_second),
        ("jobs/s", limits.jobs_per_second),
        ("bytes/s", limits.bytes_per_second),
        ("body", limits.body_bytes),
    ];
    let set: Vec<String> =
        named.iter().filter_map(|(name, limit)| limit.map(|limit| format!("{name} {limit}"))).collect();
    if set.is_empty() { "-".to_owned() } else { set.join(", ") }
}

fn failed(error: TokenError) -> Failure {
    let exit = match error {
        TokenError::Unreadable { .. } => Exit::Refused,
        _ => Exit::Usage,
    };
    Failure::new(exit, error)
}

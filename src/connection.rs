//! How a command connects to its server, and how it reports errors.
//!
//! A command connects once, sends its requests, prints and ends its session. Every refusal becomes an exit code for
//! scripts and a sentence with the remedy.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use clap::builder::{StringValueParser, TypedValueParser};
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;

use super::exit::{Exit, Failure};
use adjourn_client::{Client, ClientConfig, ClientError, ProtocolFault, TlsFault};
use adjourn_protocol::ErrorCode;
use adjourn_transport::tls::ClientFiles;
use adjourn_types::Secret;

/// The longest wait for the end of the session when a command is done.
const GOODBYE_MAX: Duration = Duration::from_secs(1);

/// Which server, and how to be let in.
#[derive(Clone, Debug, Args)]
pub(super) struct ServerArgs {
    /// The server's address. For a cluster, give the address of any member, or several separated by commas;
    /// write adjourns:// before it for TLS
    #[arg(
        long = "server",
        value_name = "ADDR",
        env = "ADJOURN_SERVER",
        default_value = "127.0.0.1:7440",
        help_heading = "Server"
    )]
    pub(super) address: String,
    /// CA that signed the server's certificate (PEM), for adjourns:// addresses; the default is the CAs that the system trusts
    #[arg(long, value_name = "FILE", env = "ADJOURN_TLS_CA", help_heading = "Server")]
    tls_ca: Option<PathBuf>,
    /// Certificate to show to a server that asks for one
    #[arg(long, value_name = "FILE", env = "ADJOURN_CLIENT_CERT", help_heading = "Server")]
    tls_cert: Option<PathBuf>,
    /// Its key
    #[arg(long, value_name = "FILE", env = "ADJOURN_CLIENT_KEY", help_heading = "Server")]
    tls_key: Option<PathBuf>,
    /// The token that the server requires. Prefer the variable: other users of this machine can see the arguments of a command
    #[arg(
        long,
        value_name = "TOKEN",
        env = "ADJOURN_TOKEN",
        hide_env_values = true,
        help_heading = "Server",
        value_parser = token()
    )]
    token: Option<Secret>,
}

/// A token, without the line end that a file of it may have.
fn token() -> impl TypedValueParser<Value = Secret> {
    StringValueParser::new().map(|text| text.trim_end_matches(['\n', '\r']).into())
}

/// The session of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Session {
    /// It needs none: it pushes a job, looks, or manages, and is over.
    None,
    /// It ends with the command, and so do its leases.
    EndsWithIt,
    /// Its leases run to their deadline: another process settles them.
    LeasesOutliveIt,
}

impl ServerArgs {
    /// Connects, lets `talk` use the client, and ends the session if there is one.
    pub(super) fn with_client<T>(
        &self,
        session: Session,
        talk: impl AsyncFnOnce(&Client) -> Result<T, ClientError>,
    ) -> Result<T, Failure> {
        runtime()?.block_on(async {
            let client = self.connect(session).await?;
            let answer = talk(&client).await;
            if session != Session::None && answer.as_ref().err().is_none_or(|error| error.code().is_some()) {
                goodbye(&client).await;
            }
            answer.map_err(|error| failure(&error))
        })
    }

    /// Opens another connection.
    pub(super) async fn connect(&self, session: Session) -> Result<Client, Failure> {
        Client::connect(self.config(session)).await.map_err(|error| failure(&error))
    }

    /// The configuration of the client.
    pub(super) fn config(&self, session: Session) -> ClientConfig {
        ClientConfig {
            name: concat!("adjourn-cli/", env!("CARGO_PKG_VERSION")).to_owned(),
            token: self.token.clone().unwrap_or_default(),
            tls: ClientFiles {
                ca: self.tls_ca.clone(),
                certificate: self.tls_cert.clone(),
                key: self.tls_key.clone(),
            },
            leases_outlive: session == Session::LeasesOutliveIt,
            without_session: session == Session::None,
            ..ClientConfig::new(&self.address)
        }
    }
}

/// Ends the session of a connection that is in order.
pub(super) async fn goodbye(client: &Client) {
    // All requests are answered. If the server misses this, the session ends after its grace.
    let _ = timeout(GOODBYE_MAX, client.close()).await;
}

/// A runtime of one thread: a command mostly waits.
pub(super) fn runtime() -> Result<Runtime, Failure> {
    let runtime = Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| Failure::new(Exit::Refused, format_args!("cannot start: {error}")))
}

/// The failure of a command after an error of the client.
pub(super) fn failure(error: &ClientError) -> Failure {
    match error {
        ClientError::CannotConnect { server, source } => {
            let no_server = "start a server with `adjourn serve`, or name another with --server";
            let advice = TlsFault::of(source).map_or(no_server, tls_advice);
            Failure::new(Exit::Unreachable, format_args!("cannot connect to {server}: {source}\n{advice}"))
        }
        ClientError::ItemRefused { code, job: Some(job) } => {
            Failure::new(exit_of(*code), format_args!("{} (job {})", refusal_text(*code), job.0))
        }
        ClientError::ItemRefused { code, job: None } => Failure::new(exit_of(*code), refusal_text(*code)),
        ClientError::Refused(reply) if !error.outcome_unknown() => {
            let text = if reply.message.is_empty() { refusal_text(reply.code) } else { reply.to_string() };
            Failure::new(exit_of(reply.code), text)
        }
        ClientError::Address { .. } | ClientError::Protocol(ProtocolFault::Http) => {
            Failure::new(Exit::Usage, error)
        }
        ClientError::TooLarge { .. } => {
            Failure::new(Exit::Refused, format_args!("{}: {error}", ErrorCode::TooLarge))
        }
        _ if error.outcome_unknown() => Failure::new(Exit::OutcomeUnknown, error),
        _ => Failure::new(Exit::Refused, error),
    }
}

/// The remedy for a TLS failure.
fn tls_advice(fault: TlsFault) -> &'static str {
    match fault {
        TlsFault::NoTls => "the server does not use TLS: write adjourn:// before its address",
        TlsFault::Version | TlsFault::Other => "the server must support TLS 1.3",
        TlsFault::OtherCa => "the certificate is from another CA: name the CA that signed it with --tls-ca",
        TlsFault::OtherHost => "use a host name that is in the server's certificate",
        TlsFault::Expired => {
            "the server's certificate has expired, or is not valid yet: renew it there, and compare the clocks"
        }
        TlsFault::Unusable => "the server needs another certificate",
        TlsFault::NoneShown => {
            "the server requires a certificate: name one with --tls-cert and its key with --tls-key"
        }
        TlsFault::OwnExpired => "the certificate of --tls-cert has expired: renew it",
        TlsFault::OwnRevoked => "the certificate of --tls-cert is revoked: use another one",
        TlsFault::OwnRefused => {
            "the server does not trust the certificate of --tls-cert: it must be from the CA that the server requires, and for \
             clients"
        }
    }
}

/// The failure of a command that finds no job.
pub(super) fn not_found() -> Failure {
    Failure::new(exit_of(ErrorCode::NotFound), refusal_text(ErrorCode::NotFound))
}

/// The text for a refused item of a request: its name, its meaning and the remedy.
pub(super) fn refusal_text(code: ErrorCode) -> String {
    format!("{code}: {}", advice(code))
}

/// The exit code of a refusal.
pub(super) fn exit_of(code: ErrorCode) -> Exit {
    match code {
        ErrorCode::NotFound | ErrorCode::Paused => Exit::Nothing,
        ErrorCode::OutcomeUnknown => Exit::OutcomeUnknown,
        _ => Exit::Refused,
    }
}

fn advice(code: ErrorCode) -> &'static str {
    match code {
        ErrorCode::Malformed => "the server does not understand this client: are both of the same version?",
        ErrorCode::Unsupported => "the server does not support this: use a newer server",
        ErrorCode::TooLarge => {
            "larger than the topic or the server allows: send less, or raise body-max of the topic (`adjourn topic show`) or \
             body_bytes_max of the server"
        }
        ErrorCode::Unauthenticated => "the server requires another token: set --token or ADJOURN_TOKEN",
        ErrorCode::Forbidden => {
            "the token lacks the right to do this: use another one, or have the right added to it"
        }
        ErrorCode::Invalid => "a value is out of its range: see --help",
        ErrorCode::NotLeader => "this node does not lead: use the leader's address with --server",
        ErrorCode::NoLeader => "no leader is elected yet: try again in a moment",
        ErrorCode::Busy => "the server is overloaded: try again in a moment",
        ErrorCode::DiskFull => "the server's disk is nearly full: free space there, or finish jobs",
        ErrorCode::Stopping => "the server is stopping: try again when it is back",
        ErrorCode::Unreadable => "the server cannot read it from its disk: tell its operator",
        ErrorCode::Paused => "the topic is paused: `adjourn resume TOPIC` resumes it",
        ErrorCode::Quota => {
            "a limit is reached, of the topic (jobs-max, bytes-max: `adjourn topic show`) or of the server: finish or delete jobs, or \
             raise the limit"
        }
        ErrorCode::StaleLease => {
            "the lease is no longer held: its time to run is over, or the job was settled before"
        }
        ErrorCode::KeyExists => "a job with this key exists: push with --if-exists keep or replace",
        ErrorCode::NotFound => "there is no such job or topic",
        ErrorCode::Reserved => "a consumer holds the job: try again when its lease has ended",
        ErrorCode::WrongState => "the job is in another state: `adjourn get` shows it",
        ErrorCode::SessionUnknown => "the server has forgotten this session: try again",
        ErrorCode::OutcomeUnknown => "it may or may not have been done: check before you repeat it",
        ErrorCode::SequenceReused => "the number was used for another job: give each job a number of its own",
        ErrorCode::Changed => "the job has changed since: `adjourn get` shows it",
        ErrorCode::ExpiresBeforeDue => {
            "it would expire before it is due: use a longer --expires or a shorter delay"
        }
        ErrorCode::Unknown => {
            "the server sent an error code that this client does not know: use a newer client"
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::Arc;

    use super::*;
    use adjourn_protocol::{Applied, ErrorReply};
    use adjourn_types::JobId;

    #[test]
    fn every_failure_has_the_exit_code_that_scripts_expect() {
        let refused =
            |code, applied| ClientError::Refused(ErrorReply { applied, ..ErrorReply::new(code, "") });
        let item = |code| ClientError::ItemRefused { code, job: None };
        let source = Arc::new(io::Error::from(io::ErrorKind::ConnectionRefused));
        for (error, expected) in [
            (ClientError::CannotConnect { server: "there".to_owned(), source }, Exit::Unreachable),
            (refused(ErrorCode::NotFound, Applied::No), Exit::Nothing),
            (refused(ErrorCode::DiskFull, Applied::No), Exit::Refused),
            (refused(ErrorCode::Stopping, Applied::Unknown), Exit::OutcomeUnknown),
            (item(ErrorCode::KeyExists), Exit::Refused),
            (item(ErrorCode::OutcomeUnknown), Exit::OutcomeUnknown),
            (ClientError::OutcomeUnknown, Exit::OutcomeUnknown),
            (ClientError::Timeout { after_ms: 1 }, Exit::OutcomeUnknown),
            (ClientError::Closed, Exit::Refused),
        ] {
            assert_eq!(failure(&error).exit, expected, "{error:?}");
        }
    }

    #[test]
    fn refusals_name_the_code_and_say_what_to_do() {
        let lives = ClientError::ItemRefused { code: ErrorCode::KeyExists, job: Some(JobId(7)) };
        let text = failure(&lives).message;
        assert!(text.starts_with("KEY_EXISTS: ") && text.ends_with("(job 7)"), "{text}");
        let told =
            ClientError::Refused(ErrorReply::new(ErrorCode::Unauthenticated, "wrong token: see auth_token"));
        assert_eq!(failure(&told).message, "UNAUTHENTICATED: wrong token: see auth_token");
        let untold = ClientError::Refused(ErrorReply::new(ErrorCode::Busy, ""));
        assert_eq!(failure(&untold).message, refusal_text(ErrorCode::Busy));
    }
}

//! `adjourn serve`: one node in this process, until a signal stops it.

pub(crate) mod descriptors;
pub(crate) mod files_of_server;
mod harness;
pub(crate) mod logging;
pub(crate) mod memory;

use std::net::SocketAddr;
use std::path::PathBuf;

use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tracing::{info, warn};

use crate::exit::{Exit, Failure};
use crate::output::show;
use adjourn_call_backs::{CallBacks, CallBacksError};
use adjourn_console::PagesConfig;
use adjourn_http::Http;
use adjourn_replica::ReplayError;
use adjourn_server::config::{Config, Settings};
use adjourn_server::{Running, Server, ServerError};
use adjourn_storage::{StorageError, StorageErrorKind};

const EXAMPLES: &str = "\
Examples:
  adjourn serve --data /var/lib/adjourn
  adjourn serve --listen 10.0.0.5:7440 --tls-cert node-1.pem --tls-key node-1.key --tokens-file tokens.toml
  adjourn serve --config /etc/adjourn.toml --log-format json
  adjourn serve --memory --clock manual --listen 127.0.0.1:0 --http-listen 127.0.0.1:0

Clients on other machines reach it only with TLS (`adjourn cert`) and tokens (`adjourn token`), or with --insecure.

Flags override the environment, the environment overrides the file, and the file overrides the defaults.
adjourn.example.toml documents every key. On SIGTERM or SIGINT the server stops when everything that it accepted is durable and answered; a
second signal ends it at once. On SIGHUP it reads the file of tokens again.

With --memory it writes no file, and prints one line on standard output when it serves: its addresses, as JSON.
A test harness starts a server with a pipe as standard input and --end-with-stdin: then it does not outlive the harness.";

/// What `adjourn serve` is told.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct ServeArgs {
    /// Configuration file
    #[arg(long, env = "ADJOURN_CONFIG", value_name = "FILE")]
    config: Option<PathBuf>,
    /// End at once when standard input ends, as a killed server does: for test harnesses
    #[arg(long)]
    end_with_stdin: bool,
    #[command(flatten)]
    settings: Settings,
}

/// Runs a node until a signal comes or the disk fails.
///
/// `remarks` on its environment go into its log.
pub(super) fn run(args: ServeArgs, remarks: &[String]) -> Result<(), Failure> {
    refuse_old_variable()?;
    let mut config = Config::load(args.config.as_deref(), args.settings)
        .map_err(|error| Failure::new(Exit::Usage, error))?;
    let log = logging::start(config.log_level, config.log_format)?;
    for remark in remarks {
        warn!("{remark}");
    }
    files_of_server::warn_of(&config);
    descriptors::divide(&mut config)?;
    let runtime = runtime(config.worker_threads)?;
    runtime.spawn(memory::give_back());
    let outcome = runtime.block_on(async {
        tokio::select! {
            outcome = until_stopped(config) => outcome,
            () = harness::stdin_ended(), if args.end_with_stdin => {
                info!("standard input has ended: the server ends, too");
                Ok(())
            }
        }
    });
    // Tasks that still run, after a failure or a second signal, are not waited for.
    runtime.shutdown_background();
    log.finish();
    outcome
}

/// Refuses the variable of earlier versions: a server that should require tokens must not begin to admit everyone.
fn refuse_old_variable() -> Result<(), Failure> {
    if std::env::var_os(OLD_VARIABLE).is_none() {
        return Ok(());
    }
    let text =
        format!("{OLD_VARIABLE} is replaced by ADJOURN_TOKENS_FILE: `adjourn token create` makes that file");
    Err(Failure::new(Exit::Usage, text))
}

/// The variable that named a file of tokens before tokens had rights.
const OLD_VARIABLE: &str = "ADJOURN_AUTH_TOKENS_FILE";

/// The runtime that serves connections.
pub(super) fn runtime(worker_threads: usize) -> Result<Runtime, Failure> {
    Builder::new_multi_thread()
        .worker_threads(worker_threads)
        .thread_name("adjourn-io")
        .enable_all()
        .build()
        .map_err(|error| Failure::new(Exit::Refused, format_args!("cannot start threads: {error}")))
}

async fn until_stopped(config: Config) -> Result<(), Failure> {
    let mut signals = StopSignals::listen()?;
    let mut hangup = listen(SignalKind::hangup())?;
    let in_memory = config.memory;
    let Started { mut running, call_backs, ports, .. } = tokio::select! {
        started = start(config) => started?,
        name = signals.next() => {
            info!(signal = name, "ended while starting");
            return Ok(());
        }
    };
    if in_memory {
        show(ports);
    }
    loop {
        tokio::select! {
            outcome = running.ended() => return outcome.map_err(failure),
            name = signals.next() => {
                info!(signal = name, "asked to stop");
                break;
            }
            _ = hangup.recv() => running.reload().await,
        }
    }
    tokio::select! {
        () = call_backs.finish() => {}
        outcome = running.ended() => return outcome.map_err(failure),
        name = signals.next() => return Err(came_again(name)),
    }
    stop(running, &mut signals).await
}

/// A node that serves at all its ports.
pub(super) struct Started {
    pub(super) running: Running,
    call_backs: CallBacks,
    /// Its addresses, as a test harness is told.
    ports: String,
    /// The address of the console, if it has one.
    pub(super) console: Option<SocketAddr>,
}

/// Starts a node with everything around it: call-backs, alerts, HTTP, the console.
pub(super) async fn start(config: Config) -> Result<Started, Failure> {
    let call_backs = adjourn_call_backs::Prepared::read(&config).map_err(not_calling)?;
    let alerts = adjourn_alerts::Prepared::read(&config).map_err(|error| Failure::new(Exit::Usage, error))?;
    let http = Http::reserve(&config).await.map_err(failure)?;
    let pages = PagesConfig::of(&config);
    let running = Server::start(config).await.map_err(failure)?;
    let (ports, console) = (harness::addresses(&running, &http), http.console_address());
    let call_backs = call_backs.start(&running, &http.addresses()).map_err(not_calling)?;
    let alerts = alerts.start(&running, call_backs.clone());
    let pages = |state| adjourn_console::router(pages, state);
    http.serve(&running, call_backs.clone(), alerts, pages).map_err(failure)?;
    Ok(Started { running, call_backs, ports, console })
}

/// Stops a node in order, or at once when another signal comes.
pub(super) async fn stop(running: Running, signals: &mut StopSignals) -> Result<(), Failure> {
    tokio::select! {
        outcome = running.stop() => outcome.map_err(failure),
        name = signals.next() => Err(came_again(name)),
    }
}

fn came_again(signal: &str) -> Failure {
    Failure::new(Exit::Killed, format_args!("a second {signal}: ended without waiting"))
}

fn listen(kind: SignalKind) -> Result<Signal, Failure> {
    signal(kind).map_err(|error| Failure::new(Exit::Refused, format_args!("no signals: {error}")))
}

/// SIGTERM and SIGINT, and SIGHUP if that means to stop.
pub(super) struct StopSignals {
    terminate: Signal,
    interrupt: Signal,
    hangup: Option<Signal>,
}

impl StopSignals {
    /// From now on these signals no longer end the process by themselves.
    pub(super) fn listen() -> Result<Self, Failure> {
        let (terminate, interrupt) = (listen(SignalKind::terminate())?, listen(SignalKind::interrupt())?);
        Ok(Self { terminate, interrupt, hangup: None })
    }

    /// Adds SIGHUP.
    pub(super) fn and_hangup(self) -> Result<Self, Failure> {
        Ok(Self { hangup: Some(listen(SignalKind::hangup())?), ..self })
    }

    /// Waits for the next signal and returns its name.
    pub(super) async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
            () = received(self.hangup.as_mut()) => "SIGHUP",
        }
    }
}

/// Waits for a signal; for ever if it is `None`.
async fn received(signal: Option<&mut Signal>) {
    match signal {
        Some(signal) => {
            signal.recv().await;
        }
        None => std::future::pending().await,
    }
}

/// The failure of a process whose server failed.
pub(super) fn failure(error: ServerError) -> Failure {
    let exit = match &error {
        ServerError::Listen { .. } => Exit::Unreachable,
        ServerError::Config(_)
        | ServerError::Exposed { .. }
        | ServerError::FoundsUnasked(_)
        | ServerError::NoAddress { .. }
        | ServerError::Tls(_)
        | ServerError::Tokens(_)
        | ServerError::AuditLog { .. }
        | ServerError::JoinsUnreachably => Exit::Usage,
        ServerError::Join(_)
        | ServerError::Thread(_)
        | ServerError::Entropy(_)
        | ServerError::Panicked(_) => Exit::Refused,
        ServerError::Replay { source: ReplayError::Membership { .. }, .. } => Exit::DataUnusable,
        ServerError::Replay { .. } => Exit::DataDamaged,
        ServerError::Storage(error) => storage_exit(error),
    };
    if let ServerError::Listen { source, .. } = &error
        && source.kind() == std::io::ErrorKind::AddrInUse
    {
        let advice = "another process listens there: stop it, or choose another address with --listen";
        return Failure::new(exit, format_args!("{error}: {advice}"));
    }
    Failure::new(exit, error)
}

/// The failure of a process that cannot make call-backs.
fn not_calling(error: CallBacksError) -> Failure {
    let exit = if matches!(error, CallBacksError::Log { .. }) { Exit::DiskFailed } else { Exit::Usage };
    Failure::new(exit, error)
}

/// The exit code of a process whose data directory cannot be used.
pub(super) fn storage_exit(error: &StorageError) -> Exit {
    match error.kind() {
        StorageErrorKind::Unusable => Exit::DataUnusable,
        StorageErrorKind::Damaged => Exit::DataDamaged,
        StorageErrorKind::DiskFailed => Exit::DiskFailed,
        StorageErrorKind::Shortage => Exit::Refused,
    }
}

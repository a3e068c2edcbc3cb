//! The configuration of a node: the file, the environment and the command line, in one structure.
//!
//! [`Settings`] is one source: every key is optional, and every value is checked as it is read, so that an error in
//! the file is reported with its line. [`Config`] is the result: flags override the environment, the environment the
//! file, the file the defaults. `adjourn.example.toml` documents each key; a test compares it with this file.

mod call_backs;
mod error;
mod in_memory;
mod tls;
mod toml_reason;
mod value;

use std::path::{Path, PathBuf};

use jiff::tz::TimeZone;
use serde::Deserialize;

use adjourn_types::limits::{BODY_BYTES_CEILING, BODY_BYTES_MAX_DEFAULT, SESSION_GRACE_MS_DEFAULT};
use adjourn_types::{FEATURE_LEVEL, RetryDefaults};

pub use call_backs::{Allowed, CallBackConfig, Egress, PortRange};
pub use error::ConfigError;
pub use toml_reason::toml_reason;
pub use value::{
    Attempts, ClockChoice, HostName, HostPort, LogFormat, LogLevel, MaybeHostPort, MemoryBytes, Origin,
    ServerName, ValueError, Waits, Within, ZoneName, nearest,
};

/// The highest number of a node.
pub const NODE_MAX: u64 = 65_535;

/// A connection on which nothing was heard for two heartbeats is lost, and one more may pass since the last proof.
const HEARTBEATS_PER_GRACE: u64 = 3;

/// The complete configuration of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The data directory.
    pub data: PathBuf,
    /// True to keep the data in memory, and nothing on a disk. Not a key: no file should cost a server its data.
    pub memory: bool,
    /// The queue's clock. Not a key either.
    pub clock: ClockChoice,
    /// Address that clients connect to, `HOST:PORT`; port 0 lets the system choose.
    pub listen: String,
    /// Address that clients are told to connect to; `None` for the one listened on.
    pub client_address: Option<String>,
    /// Address for HTTP, `HOST:PORT`; port 0 lets the system choose. `None` for no HTTP.
    pub http_listen: Option<String>,
    /// Host names for HTTP requests without a token, beside addresses and this machine's own names.
    pub http_hosts: Vec<String>,
    /// Origins whose pages may use the JSON API from a browser.
    pub http_cors_origins: Vec<String>,
    /// How long a connection of HTTP may be idle, in milliseconds.
    pub http_keep_alive_ms: u64,
    /// The console.
    pub console: ConsoleConfig,
    /// Address for callers of `ouqiang/delay-queue`. `None` for none.
    pub ouqiang_listen: Option<String>,
    /// Address for callers of Youzan's queue. `None` for none.
    pub youzan_listen: Option<String>,
    /// Address for producers of `php-delayqueue`. `None` for none.
    pub php_delayqueue_listen: Option<String>,
    /// Address for callers of beanstalkd. `None` for none.
    pub beanstalkd_listen: Option<String>,
    /// The time zone of times from `php-delayqueue`; `None` for the system's.
    pub php_delayqueue_time_zone: Option<TimeZone>,
    /// The token of callers of older queues that show none. `None` if they must show one.
    pub dialects_token: Option<String>,
    /// The configuration of call-backs.
    pub call_backs: CallBackConfig,
    /// The file of alerts; `None` for no alerts.
    pub alerts_file: Option<PathBuf>,
    /// This node's number, from 1.
    pub node: u64,
    /// Address that other nodes connect to, `HOST:PORT`; port 0 lets the system choose. `None` for a single node.
    pub peer_listen: Option<String>,
    /// Address that other nodes are told to connect to; `None` for the one listened on.
    pub peer_address: Option<String>,
    /// Peer addresses of the cluster that a node without data joins; empty to found one.
    pub join: Vec<String>,
    /// True to found a new cluster if there is no data, although other members will follow.
    pub found: bool,
    /// The highest feature level that this node supports.
    pub feature_level_max: u32,
    /// Name that the server reports to clients.
    pub server_name: String,
    /// Largest body, in bytes.
    pub body_bytes_max: usize,
    /// How long the leases of a lost connection are kept, in milliseconds.
    pub session_grace_ms: u64,
    /// The queue's defaults for retries while this node leads.
    pub retry_defaults: RetryDefaults,
    /// Longest time between two frames of a client, in milliseconds.
    pub heartbeat_ms: u32,
    /// The file of tokens, one of which a client must show; `None` lets every client do everything.
    pub tokens_file: Option<PathBuf>,
    /// Listen beyond this machine without TLS or tokens.
    pub insecure: bool,
    /// The certificate that clients are shown, in PEM, with those between it and its CA; `None` serves them without TLS.
    pub tls_cert: Option<PathBuf>,
    /// The key of that certificate.
    pub tls_key: Option<PathBuf>,
    /// A client's certificate must be signed by one of these CAs; `None` asks for none.
    pub tls_client_ca: Option<PathBuf>,
    /// Certificates that these CAs have revoked.
    pub tls_client_crl: Option<PathBuf>,
    /// The certificate that other nodes are shown, for `node-N.adjourn`; `None` talks to them without TLS.
    pub peer_tls_cert: Option<PathBuf>,
    /// The key of that certificate.
    pub peer_tls_key: Option<PathBuf>,
    /// The CA of all members.
    pub peer_tls_ca: Option<PathBuf>,
    /// Certificates that this CA has revoked.
    pub peer_tls_crl: Option<PathBuf>,
    /// Most concurrent connections.
    pub connections_max: usize,
    /// Most unauthenticated connections at each port. Not a key: it is a share of the file descriptors.
    pub unauthenticated_max: usize,
    /// Most concurrent connections from one address; 0 for no limit.
    pub connections_per_address_max: usize,
    /// TLS handshakes a second; further clients wait.
    pub handshakes_per_second: u32,
    /// File of the audit log; `None` writes it to the log.
    pub audit_log: Option<PathBuf>,
    /// Size at which the audit log is rotated, in bytes.
    pub audit_log_bytes: u64,
    /// Most unanswered requests per connection.
    pub in_flight_max: u32,
    /// Unsent bytes per connection before deliveries and answers to reads pause.
    pub output_bytes_max: usize,
    /// Longest time in which a started frame must arrive, in milliseconds.
    pub frame_deadline_ms: u64,
    /// Most accepted bytes that are not yet durable; beyond it pushes get `BUSY`.
    pub uncommitted_bytes_max: usize,
    /// Memory limit of the process in bytes; at the limit pushes get `BUSY`. 0 for no limit.
    pub memory_max_bytes: u64,
    /// Log growth in bytes after which a checkpoint is taken and the log truncated; an eighth is enough when the last
    /// one began more than a minute ago.
    pub checkpoint_log_bytes: u64,
    /// Free bytes on the disk below which pushes get `DISK_FULL`; 0 for no check.
    pub disk_free_min_bytes: u64,
    /// Threads that serve connections.
    pub worker_threads: usize,
    /// Lowest level that is logged.
    pub log_level: LogLevel,
    /// Format of the log lines.
    pub log_format: LogFormat,
}

/// The configuration of the console.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConsoleConfig {
    /// Address of its own, `HOST:PORT`. `None` for none.
    pub listen: Option<String>,
    /// Whether the port for HTTP has it, too.
    pub is_at_http: bool,
    /// Whether it only shows the queue, and changes nothing.
    pub is_read_only: bool,
}

impl ConsoleConfig {
    /// Sets every key of the console that `settings` has.
    fn apply(&mut self, settings: &mut Settings) {
        set(&mut self.listen, settings.console_listen.take().map(|listen| listen.0));
        set(&mut self.is_at_http, settings.console);
        set(&mut self.is_read_only, settings.console_read_only);
    }
}

/// One source of configuration. A key that it does not set is left to the next.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, clap::Args)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// Data directory; created if it does not exist
    #[arg(long, env = "ADJOURN_DATA", value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// Keep the data in memory, for tests and trials: writes no file, and loses everything at the end
    #[arg(long, num_args = 0..=1, default_missing_value = "true", value_name = "BOOL")]
    #[serde(skip)]
    pub memory: Option<bool>,
    /// Clock of the queue: `real`, or with --memory `manual`, which only a test moves
    #[arg(long, value_name = "CLOCK")]
    #[serde(skip)]
    pub clock: Option<ClockChoice>,
    /// Address that clients connect to
    #[arg(long, env = "ADJOURN_LISTEN", value_name = "HOST:PORT")]
    pub listen: Option<HostPort>,
    /// Address that clients are told to connect to, if it differs from --listen
    #[arg(long, env = "ADJOURN_CLIENT_ADDRESS", value_name = "HOST:PORT")]
    pub client_address: Option<MaybeHostPort>,
    /// Address for HTTP: the JSON API and metrics; without it there is no HTTP
    #[arg(long, env = "ADJOURN_HTTP_LISTEN", value_name = "HOST:PORT")]
    pub http_listen: Option<MaybeHostPort>,
    /// Host names of this server, for HTTP without TLS and tokens; separate several with commas
    #[arg(long, env = "ADJOURN_HTTP_HOSTS", value_name = "NAME", value_delimiter = ',')]
    pub http_hosts: Option<Vec<HostName>>,
    /// Origins whose pages may use the JSON API from a browser, for example `https://console.example`; between commas
    #[arg(long, env = "ADJOURN_HTTP_CORS_ORIGINS", value_name = "ORIGIN", value_delimiter = ',')]
    pub http_cors_origins: Option<Vec<Origin>>,
    /// How long a connection of HTTP may be idle, in milliseconds
    #[arg(long, env = "ADJOURN_HTTP_KEEP_ALIVE_MS", value_name = "MS")]
    pub http_keep_alive_ms: Option<Within<1_000, 3_600_000>>,
    /// Address for the console, for browsers
    #[arg(long, env = "ADJOURN_CONSOLE_LISTEN", value_name = "HOST:PORT")]
    pub console_listen: Option<MaybeHostPort>,
    /// Serve the console at --http-listen, too, below /console
    #[arg(long, env = "ADJOURN_CONSOLE", num_args = 0..=1, default_missing_value = "true", value_name = "BOOL")]
    pub console: Option<bool>,
    /// Let the console only show the queue, and change nothing
    #[arg(long, env = "ADJOURN_CONSOLE_READ_ONLY", num_args = 0..=1, default_missing_value = "true", value_name = "BOOL")]
    pub console_read_only: Option<bool>,
    /// Address for callers of ouqiang/delay-queue
    #[arg(long, env = "ADJOURN_OUQIANG_LISTEN", value_name = "HOST:PORT")]
    pub ouqiang_listen: Option<MaybeHostPort>,
    /// Address for callers of the delay queue of Youzan's article
    #[arg(long, env = "ADJOURN_YOUZAN_LISTEN", value_name = "HOST:PORT")]
    pub youzan_listen: Option<MaybeHostPort>,
    /// Address for producers of php-delayqueue
    #[arg(long, env = "ADJOURN_PHP_DELAYQUEUE_LISTEN", value_name = "HOST:PORT")]
    pub php_delayqueue_listen: Option<MaybeHostPort>,
    /// Address for callers of beanstalkd
    #[arg(long, env = "ADJOURN_BEANSTALKD_LISTEN", value_name = "HOST:PORT")]
    pub beanstalkd_listen: Option<MaybeHostPort>,
    /// Time zone of php-delayqueue's times, for example Asia/Shanghai; the default is the system's
    #[arg(long, env = "ADJOURN_PHP_DELAYQUEUE_TIME_ZONE", value_name = "NAME")]
    pub php_delayqueue_time_zone: Option<ZoneName>,
    /// Name of the token whose rights callers of older queues without a token get
    #[arg(long, env = "ADJOURN_DIALECTS_TOKEN", value_name = "NAME")]
    pub dialects_token: Option<String>,
    /// Addresses that call-backs may reach in addition to --call-back-allow: `allowlist` (none), `public_only` or `open` (all)
    #[arg(long, env = "ADJOURN_CALL_BACK_EGRESS", value_name = "RULE")]
    pub call_back_egress: Option<Egress>,
    /// Destinations of call-backs: hosts, *.ENDING, IP addresses and networks, separated by commas
    #[arg(long, env = "ADJOURN_CALL_BACK_ALLOW", value_name = "HOST", value_delimiter = ',')]
    pub call_back_allow: Option<Vec<Allowed>>,
    /// Ports that call-backs may reach: numbers and ranges, separated by commas
    #[arg(long, env = "ADJOURN_CALL_BACK_PORTS", value_name = "PORT", value_delimiter = ',')]
    pub call_back_ports: Option<Vec<PortRange>>,
    /// CA of the destinations' certificates; the default is the CAs that the system trusts
    #[arg(long, env = "ADJOURN_CALL_BACK_CA", value_name = "FILE", value_parser = file())]
    pub call_back_ca: Option<PathBuf>,
    /// File of the secrets that sign call-backs
    #[arg(long, env = "ADJOURN_CALL_BACK_SECRETS_FILE", value_name = "FILE", value_parser = file())]
    pub call_back_secrets_file: Option<PathBuf>,
    /// Largest size of the log of call-backs, in bytes
    #[arg(long, env = "ADJOURN_CALL_BACK_LOG_BYTES", value_name = "BYTES")]
    pub call_back_log_bytes: Option<Within<{ 1 << 20 }, { 1 << 30 }>>,
    /// File of the alerts that this node sends
    #[arg(long, env = "ADJOURN_ALERTS_FILE", value_name = "FILE", value_parser = file())]
    pub alerts_file: Option<PathBuf>,
    /// Number of this node
    #[arg(long, env = "ADJOURN_NODE", value_name = "N")]
    pub node: Option<Within<1, NODE_MAX>>,
    /// Address that other nodes connect to; without it this stays a single node
    #[arg(long, env = "ADJOURN_PEER_LISTEN", value_name = "HOST:PORT")]
    pub peer_listen: Option<MaybeHostPort>,
    /// Address that other nodes are told to connect to, if it differs from --peer-listen
    #[arg(long, env = "ADJOURN_PEER_ADDRESS", value_name = "HOST:PORT")]
    pub peer_address: Option<MaybeHostPort>,
    /// Peer addresses of the cluster to join, for a node without data; separate several with commas
    #[arg(long, env = "ADJOURN_JOIN", value_name = "HOST:PORT", value_delimiter = ',')]
    pub join: Option<Vec<HostPort>>,
    /// Found a new cluster, for the first node of all, with --peer-listen and without data. Not a key of the file: after a loss of
    /// the data, a start must not found another cluster
    #[arg(long, env = "ADJOURN_FOUND", num_args = 0..=1, default_missing_value = "true", value_name = "BOOL")]
    #[serde(skip)]
    pub found: Option<bool>,
    /// Highest feature level that this node supports
    #[arg(long, env = "ADJOURN_FEATURE_LEVEL_MAX", value_name = "N")]
    pub feature_level_max: Option<Within<0, { FEATURE_LEVEL as u64 }>>,
    /// Name that the server reports to clients
    #[arg(long, env = "ADJOURN_SERVER_NAME", value_name = "NAME")]
    pub server_name: Option<ServerName>,
    /// Largest body, in bytes
    #[arg(long, env = "ADJOURN_BODY_BYTES_MAX", value_name = "BYTES")]
    pub body_bytes_max: Option<Within<1024, { BODY_BYTES_CEILING as u64 }>>,
    /// How long the leases of a lost connection are kept, in milliseconds
    #[arg(long, env = "ADJOURN_SESSION_GRACE_MS", value_name = "MS")]
    pub session_grace_ms: Option<Within<0, 600_000>>,
    /// Attempts before a job is buried, unless the job or its topic sets them; none for no limit
    #[arg(long, env = "ADJOURN_DEFAULT_ATTEMPTS_MAX", value_name = "N")]
    pub default_attempts_max: Option<Attempts>,
    /// Wait between attempts, unless the job or its topic sets it; none for no wait
    #[arg(long, env = "ADJOURN_DEFAULT_BACKOFF", value_name = "WAITS")]
    pub default_backoff: Option<Waits>,
    /// Longest time between two frames of a client, in milliseconds
    #[arg(long, env = "ADJOURN_HEARTBEAT_MS", value_name = "MS")]
    pub heartbeat_ms: Option<Within<100, 600_000>>,
    /// File of tokens (`adjourn token` makes it): a client must send one, and gets its rights
    #[arg(long, env = "ADJOURN_TOKENS_FILE", value_name = "FILE", value_parser = file())]
    pub tokens_file: Option<PathBuf>,
    /// Listen beyond this machine without TLS or tokens: everyone who reaches the address can use the queue
    #[arg(long, env = "ADJOURN_INSECURE", num_args = 0..=1, default_missing_value = "true", value_name = "BOOL")]
    pub insecure: Option<bool>,
    /// Certificate for clients (PEM); turns on TLS
    #[arg(long, env = "ADJOURN_TLS_CERT", value_name = "FILE", value_parser = file())]
    pub tls_cert: Option<PathBuf>,
    /// Its key
    #[arg(long, env = "ADJOURN_TLS_KEY", value_name = "FILE", value_parser = file())]
    pub tls_key: Option<PathBuf>,
    /// CA whose certificate every client must show
    #[arg(long, env = "ADJOURN_TLS_CLIENT_CA", value_name = "FILE", value_parser = file())]
    pub tls_client_ca: Option<PathBuf>,
    /// Certificates that this CA has revoked
    #[arg(long, env = "ADJOURN_TLS_CLIENT_CRL", value_name = "FILE", value_parser = file())]
    pub tls_client_crl: Option<PathBuf>,
    /// Certificate for other nodes, for the name node-N.adjourn; turns on TLS between nodes
    #[arg(long, env = "ADJOURN_PEER_TLS_CERT", value_name = "FILE", value_parser = file())]
    pub peer_tls_cert: Option<PathBuf>,
    /// Its key
    #[arg(long, env = "ADJOURN_PEER_TLS_KEY", value_name = "FILE", value_parser = file())]
    pub peer_tls_key: Option<PathBuf>,
    /// CA of all members
    #[arg(long, env = "ADJOURN_PEER_TLS_CA", value_name = "FILE", value_parser = file())]
    pub peer_tls_ca: Option<PathBuf>,
    /// Certificates that this CA has revoked
    #[arg(long, env = "ADJOURN_PEER_TLS_CRL", value_name = "FILE", value_parser = file())]
    pub peer_tls_crl: Option<PathBuf>,
    /// Most concurrent connections
    #[arg(long, env = "ADJOURN_CONNECTIONS_MAX", value_name = "N")]
    pub connections_max: Option<Within<1, 1_000_000>>,
    /// Most concurrent connections from one address; 0 for no limit
    #[arg(long, env = "ADJOURN_CONNECTIONS_PER_ADDRESS_MAX", value_name = "N")]
    pub connections_per_address_max: Option<Within<0, 1_000_000>>,
    /// TLS handshakes a second; further clients wait
    #[arg(long, env = "ADJOURN_HANDSHAKES_PER_SECOND", value_name = "N")]
    pub handshakes_per_second: Option<Within<1, 1_000_000>>,
    /// File of the audit log; without one it goes to the log
    #[arg(long, env = "ADJOURN_AUDIT_LOG", value_name = "FILE", value_parser = file())]
    pub audit_log: Option<PathBuf>,
    /// Size at which the audit log is rotated, in bytes
    #[arg(long, env = "ADJOURN_AUDIT_LOG_BYTES", value_name = "BYTES")]
    pub audit_log_bytes: Option<Within<{ 64 << 10 }, { 64 << 30 }>>,
    /// Most unanswered requests per connection
    #[arg(long, env = "ADJOURN_IN_FLIGHT_MAX", value_name = "N")]
    pub in_flight_max: Option<Within<1, 65_536>>,
    /// Unsent bytes per connection before deliveries pause
    #[arg(long, env = "ADJOURN_OUTPUT_BYTES_MAX", value_name = "BYTES")]
    pub output_bytes_max: Option<Within<65_536, { 4 << 30 }>>,
    /// Longest time in which a started frame must arrive, in milliseconds
    #[arg(long, env = "ADJOURN_FRAME_DEADLINE_MS", value_name = "MS")]
    pub frame_deadline_ms: Option<Within<100, 600_000>>,
    /// Most accepted bytes that are not yet durable
    #[arg(long, env = "ADJOURN_UNCOMMITTED_BYTES_MAX", value_name = "BYTES")]
    pub uncommitted_bytes_max: Option<Within<{ 16 << 20 }, { 4 << 30 }>>,
    /// Memory limit of the process in bytes; at the limit pushes are refused; 0 for no limit
    #[arg(long, env = "ADJOURN_MEMORY_MAX_BYTES", value_name = "BYTES")]
    pub memory_max_bytes: Option<MemoryBytes>,
    /// Log growth in bytes after which a checkpoint is taken and the log truncated
    #[arg(long, env = "ADJOURN_CHECKPOINT_LOG_BYTES", value_name = "BYTES")]
    pub checkpoint_log_bytes: Option<Within<{ 64 << 10 }, { 64 << 30 }>>,
    /// Free bytes on the disk below which pushes are refused; 0 for no check
    #[arg(long, env = "ADJOURN_DISK_FREE_MIN_BYTES", value_name = "BYTES")]
    pub disk_free_min_bytes: Option<Within<0, { 1 << 50 }>>,
    /// Threads that serve connections
    #[arg(long, env = "ADJOURN_WORKER_THREADS", value_name = "N")]
    pub worker_threads: Option<Within<1, 256>>,
    /// Log level: error, warn, info, debug or trace
    #[arg(long, env = "ADJOURN_LOG_LEVEL", value_name = "LEVEL")]
    pub log_level: Option<LogLevel>,
    /// Log format: text or json
    #[arg(long, env = "ADJOURN_LOG_FORMAT", value_name = "FORMAT")]
    pub log_format: Option<LogFormat>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            data: PathBuf::from("adjourn-data"),
            memory: false,
            clock: ClockChoice::Real,
            listen: "127.0.0.1:7440".to_owned(),
            client_address: None,
            http_listen: None,
            http_hosts: Vec::new(),
            http_cors_origins: Vec::new(),
            http_keep_alive_ms: 75_000,
            console: ConsoleConfig::default(),
            ouqiang_listen: None,
            youzan_listen: None,
            php_delayqueue_listen: None,
            beanstalkd_listen: None,
            php_delayqueue_time_zone: None,
            dialects_token: None,
            call_backs: CallBackConfig::default(),
            alerts_file: None,
            node: 1,
            peer_listen: None,
            peer_address: None,
            join: Vec::new(),
            found: false,
            feature_level_max: FEATURE_LEVEL,
            server_name: "adjourn".to_owned(),
            body_bytes_max: BODY_BYTES_MAX_DEFAULT,
            session_grace_ms: SESSION_GRACE_MS_DEFAULT,
            retry_defaults: RetryDefaults::default(),
            heartbeat_ms: 3_000,
            tokens_file: None,
            insecure: false,
            tls_cert: None,
            tls_key: None,
            tls_client_ca: None,
            tls_client_crl: None,
            peer_tls_cert: None,
            peer_tls_key: None,
            peer_tls_ca: None,
            peer_tls_crl: None,
            connections_max: 4096,
            unauthenticated_max: 1024,
            connections_per_address_max: 0,
            handshakes_per_second: 1000,
            audit_log: None,
            audit_log_bytes: 16 << 20,
            in_flight_max: 1024,
            output_bytes_max: 8 << 20,
            frame_deadline_ms: 10_000,
            uncommitted_bytes_max: 64 << 20,
            memory_max_bytes: 0,
            checkpoint_log_bytes: 32 << 20,
            disk_free_min_bytes: 256 << 20,
            worker_threads: 2,
            log_level: LogLevel::Info,
            log_format: LogFormat::Text,
        }
    }
}

impl Config {
    /// The configuration from `flags` (the command line over the environment) and, below them, the file.
    pub fn load(file: Option<&Path>, flags: Settings) -> Result<Self, ConfigError> {
        let mut config = Self::default();
        let in_file = file.map(Settings::read).transpose()?.unwrap_or_default();
        if flags.memory == Some(true) {
            in_file.check_memory()?;
            flags.check_memory()?;
        }
        let opened = [
            ("tokens_file", &in_file.tokens_file, &flags.tokens_file),
            ("tls_client_ca", &in_file.tls_client_ca, &flags.tls_client_ca),
        ];
        for (key, below, above) in opened {
            let is_empty = |path: &PathBuf| path.as_os_str().is_empty();
            if above.as_ref().is_some_and(is_empty) && below.as_ref().is_some_and(|path| !is_empty(path)) {
                return Err(ConfigError::OpenedByEmpty { key });
            }
        }
        config.apply(in_file);
        config.apply(flags);
        config.check_memory()?;
        let without_tokens = [
            ("php_delayqueue_listen", &config.php_delayqueue_listen),
            ("beanstalkd_listen", &config.beanstalkd_listen),
        ];
        for (key, _) in without_tokens.into_iter().filter(|(_, address)| address.is_some()) {
            if config.tokens_file.is_some() && config.dialects_token.is_none() {
                return Err(ConfigError::Nameless { key });
            }
        }
        if config.console.is_at_http && config.http_listen.is_none() {
            return Err(ConfigError::Incomplete { set: "console", missing: "http_listen" });
        }
        if config.peer_address.is_some() && config.peer_listen.is_none() {
            return Err(ConfigError::Incomplete { set: "peer_address", missing: "peer_listen" });
        }
        config.tls()?;
        config.peer_tls()?;
        Ok(config)
    }

    /// True if a client that sends something every `heartbeat_ms`, and no more often, can lose a heartbeat, notice, and
    /// reconnect before its leases are given to others.
    pub fn grace_fits_heartbeat(&self) -> bool {
        self.session_grace_ms >= HEARTBEATS_PER_GRACE * u64::from(self.heartbeat_ms)
    }

    /// Sets every key that `settings` has.
    pub fn apply(&mut self, mut settings: Settings) {
        self.call_backs.apply(&mut settings);
        self.console.apply(&mut settings);
        let Settings { data, listen, client_address, node, server_name, .. } = settings;
        set(&mut self.data, data);
        set(&mut self.memory, settings.memory);
        set(&mut self.clock, settings.clock);
        set(&mut self.listen, listen.map(|listen| listen.0));
        set(&mut self.client_address, client_address.map(|address| address.0));
        set(&mut self.http_listen, settings.http_listen.map(|listen| listen.0));
        set(
            &mut self.http_hosts,
            settings.http_hosts.map(|hosts| hosts.into_iter().map(|host| host.0).collect()),
        );
        set(
            &mut self.http_cors_origins,
            settings.http_cors_origins.map(|origins| origins.into_iter().map(|origin| origin.0).collect()),
        );
        set(&mut self.http_keep_alive_ms, settings.http_keep_alive_ms.map(Within::as_u64));
        set(&mut self.ouqiang_listen, settings.ouqiang_listen.map(|listen| listen.0));
        set(&mut self.youzan_listen, settings.youzan_listen.map(|listen| listen.0));
        set(&mut self.php_delayqueue_listen, settings.php_delayqueue_listen.map(|listen| listen.0));
        set(&mut self.beanstalkd_listen, settings.beanstalkd_listen.map(|listen| listen.0));
        set(&mut self.php_delayqueue_time_zone, settings.php_delayqueue_time_zone.map(|zone| zone.0));
        set(
            &mut self.dialects_token,
            settings.dialects_token.map(|name| Some(name).filter(|name| !name.is_empty())),
        );
        set(&mut self.node, node.map(Within::as_u64));
        set(&mut self.peer_listen, settings.peer_listen.map(|listen| listen.0));
        set(&mut self.peer_address, settings.peer_address.map(|address| address.0));
        set(&mut self.join, settings.join.map(|join| join.into_iter().map(|member| member.0).collect()));
        set(&mut self.found, settings.found);
        set(&mut self.feature_level_max, settings.feature_level_max.map(Within::as_u32));
        set(&mut self.server_name, server_name.map(|name| name.0));
        set(&mut self.body_bytes_max, settings.body_bytes_max.map(Within::as_usize));
        set(&mut self.session_grace_ms, settings.session_grace_ms.map(Within::as_u64));
        set(&mut self.retry_defaults.attempts_max, settings.default_attempts_max.map(|attempts| attempts.0));
        set(&mut self.retry_defaults.backoff, settings.default_backoff.map(|waits| waits.0));
        set(&mut self.heartbeat_ms, settings.heartbeat_ms.map(Within::as_u32));
        set(&mut self.connections_max, settings.connections_max.map(Within::as_usize));
        set(&mut self.in_flight_max, settings.in_flight_max.map(Within::as_u32));
        set(&mut self.output_bytes_max, settings.output_bytes_max.map(Within::as_usize));
        set(&mut self.frame_deadline_ms, settings.frame_deadline_ms.map(Within::as_u64));
        set(&mut self.uncommitted_bytes_max, settings.uncommitted_bytes_max.map(Within::as_usize));
        set(&mut self.memory_max_bytes, settings.memory_max_bytes.map(|limit| limit.0));
        set(&mut self.checkpoint_log_bytes, settings.checkpoint_log_bytes.map(Within::as_u64));
        set(&mut self.disk_free_min_bytes, settings.disk_free_min_bytes.map(Within::as_u64));
        set(&mut self.worker_threads, settings.worker_threads.map(Within::as_usize));
        set(&mut self.log_level, settings.log_level);
        set(&mut self.log_format, settings.log_format);
        set_file(&mut self.tls_cert, settings.tls_cert);
        set_file(&mut self.tls_key, settings.tls_key);
        set_file(&mut self.tls_client_ca, settings.tls_client_ca);
        set_file(&mut self.tls_client_crl, settings.tls_client_crl);
        set_file(&mut self.peer_tls_cert, settings.peer_tls_cert);
        set_file(&mut self.peer_tls_key, settings.peer_tls_key);
        set_file(&mut self.peer_tls_ca, settings.peer_tls_ca);
        set_file(&mut self.peer_tls_crl, settings.peer_tls_crl);
        set_file(&mut self.tokens_file, settings.tokens_file);
        set_file(&mut self.audit_log, settings.audit_log);
        set_file(&mut self.alerts_file, settings.alerts_file);
        set(&mut self.insecure, settings.insecure);
        set(
            &mut self.connections_per_address_max,
            settings.connections_per_address_max.map(Within::as_usize),
        );
        set(&mut self.handshakes_per_second, settings.handshakes_per_second.map(Within::as_u32));
        set(&mut self.audit_log_bytes, settings.audit_log_bytes.map(Within::as_u64));
    }
}

impl Settings {
    /// Reads a configuration file.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| ConfigError::Unreadable { path: path.to_owned(), source })?;
        let wrong = |source| ConfigError::Wrong { path: path.to_owned(), source: Box::new(source) };
        let table: toml::Table = toml::from_str(&text).map_err(wrong)?;
        let known = Self::keys();
        if let Some(key) = table.keys().find(|key| !known.contains(key)) {
            let meant = nearest(key, known.iter().map(String::as_str)).map(str::to_owned);
            let line =
                text.lines().take_while(|line| !line.trim_start().starts_with(key.as_str())).count() + 1;
            return Err(ConfigError::UnknownKey { path: path.to_owned(), line, key: key.clone(), meant });
        }
        toml::from_str(&text).map_err(wrong)
    }

    /// The keys of the file: the flags of the command line that the environment may set, too.
    pub fn keys() -> Vec<String> {
        let command = <Self as clap::Args>::augment_args(clap::Command::new(""));
        let keys =
            command.get_arguments().filter(|flag| flag.get_env().is_some() && flag.get_id() != "found");
        keys.map(|flag| flag.get_id().to_string()).collect()
    }
}

/// A file's path, which may be empty: then it names no file, as in the configuration file.
fn file() -> impl clap::builder::TypedValueParser<Value = PathBuf> {
    clap::builder::TypedValueParser::map(clap::builder::OsStringValueParser::new(), PathBuf::from)
}

fn set<T>(place: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *place = value;
    }
}

/// An empty path names no file.
fn set_file(place: &mut Option<PathBuf>, value: Option<PathBuf>) {
    set(place, value.map(|path| Some(path).filter(|path| !path.as_os_str().is_empty())));
}

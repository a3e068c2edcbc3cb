//! Call-backs: the third way to consume. When a job is due, the queue sends an HTTP request to the URL of its topic.
//!
//! To the queue it is a consumer like any other: a [topic] subscribes over a [session](adjourn_server::LocalSession) of this
//! process, and settles leases. So pull, push and call-backs serve one topic at once. If a node fails during a call, the
//! next leader makes the call again when the lease has ended. Only the leader calls.
//!
//! ```text
//!   supervisor -- topics whose settings ask for calls --> topic --> call_request --> client --> destination
//!                                                           |                    |
//!                                        destinations: breaker, rate, room    egress: address of each connection
//!                                                           v
//!                                                verdict --> settler, log
//! ```

mod attempt;
mod breaker;
mod call_request;
mod call_slots;
mod client;
mod counts;
mod destination;
mod destinations;
mod egress;
mod filled;
mod hook;
mod log;
mod lookup;
mod no_call_request;
mod outcome;
pub mod php_time;
mod pieces;
mod secrets;
mod sessions;
mod settler;
mod topic;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::tz::TimeZone;
use tokio::sync::Semaphore;
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::{MissedTickBehavior, interval, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{info, warn};

pub use self::attempt::Attempt;
use self::call_slots::CallSlots;
use self::client::Client;
pub use self::counts::Counted;
use self::counts::Counts;
use self::destination::Destination;
pub use self::destinations::{DestinationSeen, DestinationState, DestinationsSeen};
pub use self::hook::{Hook, HookError, Hooks, PostError};
use self::log::Log;
use self::secrets::Secrets;
pub use self::secrets::SecretsError;
use self::sessions::Sessions;
use self::settler::Settler;
use self::topic::{Topic, no_secrets};
use adjourn_server::config::{CallBackConfig, Config};
use adjourn_server::{CalledBack, Local, Running, wall};
use adjourn_transport::tls::TlsError;
use adjourn_types::{Access, CallBack, JobId, Right, TopicName};

/// The settings of topics are checked this often.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// At a stop, calls under way may take this long.
const FINISH_MAX: Duration = Duration::from_secs(5);
/// Most concurrent reads of the log of attempts: further ones wait.
const LOOKS_MAX: usize = 4;
/// The name under which the requests of call-backs appear; no token can have this name.
const NAME: &str = "(call-backs)";

/// Why a node cannot make call-backs.
#[derive(Debug, thiserror::Error)]
pub enum CallBacksError {
    /// The secrets cannot be used.
    #[error(transparent)]
    Secrets(#[from] SecretsError),
    /// The CA of destinations cannot be used.
    #[error("call_back_ca: {0}")]
    Tls(#[from] TlsError),
    /// The log of attempts cannot be opened.
    #[error("cannot open the log of call-backs in {}: {source}", folder.display())]
    Log {
        /// The folder of the log.
        folder: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
}

/// The files and the configuration of call-backs, read and checked.
#[derive(Debug)]
pub struct Prepared {
    config: CallBackConfig,
    node: u64,
    memory_max_bytes: u64,
    zone: TimeZone,
    secrets: Secrets,
    client: Client,
}

/// The call-backs of this node.
#[derive(Clone, Debug)]
pub struct CallBacks {
    shared: Arc<CallBacksState>,
    topics: Arc<Mutex<BTreeMap<TopicName, Arc<Topic>>>>,
}

/// The state that all topics share.
#[derive(Debug)]
struct CallBacksState {
    local: Local,
    access: Arc<Access>,
    sessions: Sessions,
    client: Client,
    secrets: Secrets,
    settler: Settler,
    log: Log,
    looks: Arc<Semaphore>,
    node: u64,
    room: CallSlots,
    counts: Counts,
    /// The time zone of php-delayqueue.
    zone: TimeZone,
    /// Tracks topics, and jobs until their call has ended and the queue has answered with its outcome.
    tasks: TaskTracker,
    stopped: CancellationToken,
}

/// The answer to whether a destination may be called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked {
    /// The addresses of its host, each with the reason why it may not be called.
    pub addresses: Vec<(std::net::IpAddr, Option<String>)>,
    /// Why it may not be called at all.
    pub refused: Option<String>,
}

/// The state of the call-backs, for monitoring.
#[derive(Clone, Debug)]
pub struct CallBacksSeen {
    /// The counts since the start.
    pub counted: Counted,
    /// Calls under way.
    pub under_way: usize,
    /// Leases that had run out, or were settled by others, when the call ended.
    pub leases_lost: u64,
    /// Lines of the log that were dropped.
    pub lines_left_out: u64,
    /// Topics with call-backs, each with the number of destinations whose breaker is open.
    pub topics: Vec<(TopicName, usize)>,
}

impl Prepared {
    /// Reads the files.
    ///
    /// # Errors
    ///
    /// If a file cannot be used.
    pub fn read(config: &Config) -> Result<Self, CallBacksError> {
        let (node, memory_max_bytes) = (config.node, config.memory_max_bytes);
        let zone = config.php_delayqueue_time_zone.clone().unwrap_or_else(TimeZone::system);
        let config = config.call_backs.clone();
        let secrets = Secrets::read(config.secrets_file.as_deref())?;
        let client = Client::new(&config)?;
        Ok(Self { config, node, memory_max_bytes, zone, secrets, client })
    }

    /// Makes calls until the server stops. The node does not call itself: neither its own ports nor those for HTTP.
    ///
    /// # Errors
    ///
    /// If the log of attempts cannot be opened.
    pub fn start(self, running: &Running, http: &[SocketAddr]) -> Result<CallBacks, CallBacksError> {
        let Self { config, node, memory_max_bytes, zone, secrets, mut client } = self;
        let own = [Some(running.address()), running.peer_address()].into_iter().flatten();
        client.never_call(own.chain(http.iter().copied()).collect());
        let local = running.local();
        let log = match local.call_backs_folder() {
            Some(folder) => Log::open(&folder, config.log_bytes, wall)
                .map_err(|source| CallBacksError::Log { folder, source })?,
            None => Log::none(wall),
        };
        let access = Arc::new(Access { token: NAME.to_owned(), ..Access::open() });
        let shared = CallBacksState {
            settler: Settler::start(local.clone(), Arc::clone(&access)),
            sessions: Sessions::default(),
            looks: Arc::new(Semaphore::new(LOOKS_MAX)),
            node,
            room: CallSlots::new(config.calls_per_reputation_max, memory_max_bytes),
            counts: Counts::default(),
            zone,
            tasks: TaskTracker::new(),
            stopped: local.stopping().child_token(),
            local,
            access,
            client,
            secrets,
            log,
        };
        let call_backs = CallBacks { shared: Arc::new(shared), topics: Arc::default() };
        tokio::spawn(call_backs.clone().supervise());
        Ok(call_backs)
    }
}

impl CallBacks {
    /// Keeps the calling topics in step with the settings.
    async fn supervise(self) {
        let mut ticks = interval(LOOK_EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut looking = None;
        let mut has_looked = false;
        loop {
            tokio::select! {
                biased;
                () = self.shared.stopped.cancelled() => return,
                _ = ticks.tick() => {}
            }
            // While a disk hangs, only one thread waits for it.
            if looking.as_ref().is_none_or(JoinHandle::is_finished) {
                let shared = Arc::clone(&self.shared);
                looking = Some(spawn_blocking(move || shared.secrets.look()));
            }
            self.shared.client.close_idle();
            if let Some(wanted) = self.shared.local.called_back().await {
                self.adapt(wanted, has_looked);
                has_looked = true;
            }
        }
    }

    /// Starts and stops topics by the settings. Logs warnings for those that are new since the node first looked.
    fn adapt(&self, wanted: Vec<CalledBack>, has_looked: bool) {
        let mut topics = self.topics();
        let mut before = std::mem::take(&mut *topics);
        for of in wanted {
            let name = of.topic.clone();
            let is_same = |topic: &Arc<Topic>| topic.of == of && !topic.stopped.is_cancelled();
            let topic = match before.entry(name.clone()) {
                Entry::Occupied(entry) if is_same(entry.get()) => entry.remove(),
                _ => {
                    if has_looked {
                        tokio::spawn(self.clone().warn_of(of.topic.clone(), Arc::clone(&of.call_back)));
                    }
                    Topic::start(of, &self.shared)
                }
            };
            topics.insert(name, topic);
        }
        // Includes topics whose settings have changed.
        for topic in before.into_values() {
            topic.stopped.cancel();
        }
    }

    /// Begins no more calls, and waits a limited time until those under way have ended and the queue knows their outcomes:
    /// a job whose call was cut off is called again.
    pub async fn finish(&self) {
        self.shared.stopped.cancel();
        self.shared.tasks.close();
        if timeout(FINISH_MAX, self.shared.tasks.wait()).await.is_err() {
            info!(jobs = self.shared.tasks.len(), "calls that did not end will be repeated");
        }
    }

    /// The kept attempts of a job that this node made, the first one first. Other members keep those that they made.
    ///
    /// # Errors
    ///
    /// If the log cannot be read.
    pub async fn attempts(&self, job: JobId) -> io::Result<Vec<Attempt>> {
        self.look(move |log| log.attempts(job)).await
    }

    /// The last attempts of this node that failed, of topics that this access may read, the newest first: at most `most`
    /// of those at the end of the log.
    ///
    /// # Errors
    ///
    /// If the log cannot be read.
    pub async fn last_failed(&self, most: usize, access: Arc<Access>) -> io::Result<Vec<Attempt>> {
        self.look(move |log| log.last_failed(most, |topic| access.has(Right::Read, topic))).await
    }

    /// Reads the log on a thread that may wait for the disk.
    async fn look<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Log) -> io::Result<T> + Send + 'static,
    ) -> io::Result<T> {
        // The semaphore is never closed.
        let place = Arc::clone(&self.shared.looks).acquire_owned().await;
        let shared = Arc::clone(&self.shared);
        let read = spawn_blocking(move || {
            let _place = place;
            read(&shared.log)
        });
        read.await.map_err(io::Error::other)?
    }

    /// The number of this node.
    pub fn node(&self) -> u64 {
        self.shared.node
    }

    /// The reasons why calls of a topic with these settings cannot be made, as far as this node knows now.
    pub async fn warnings(&self, topic: &TopicName, set: &CallBack) -> Vec<String> {
        let mut warnings = Vec::new();
        if let Some(url) = &set.url
            && let Some(why) = self.check(url).await.refused
        {
            // These warnings are logged, and a path or a query may contain a secret.
            let called =
                Destination::read(url).map_or_else(|_| "the URL".to_owned(), |read| read.origin.to_string());
            warnings.push(format!("this node does not call {called}: {why}"));
        }
        let secrets = set.secrets.as_ref();
        let missing = secrets.filter(|name| !self.shared.secrets.sign_for(name, topic.as_str()));
        warnings.extend(missing.map(|name| no_secrets(name, topic.as_str())));
        warnings
    }

    async fn warn_of(self, topic: TopicName, set: Arc<CallBack>) {
        for warning in self.warnings(&topic, &set).await {
            warn!(topic = topic.as_str(), "calls are not made: {warning}");
        }
    }

    /// Whether this node would call a URL now, and why not.
    pub async fn check(&self, url: &str) -> Checked {
        let refused = |why: String| Checked { addresses: Vec::new(), refused: Some(why) };
        let destination = match Destination::read(url) {
            Ok(destination) => destination,
            Err(error) => return refused(error.to_string()),
        };
        let addresses = match self.shared.client.check(&destination.origin).await {
            Ok(addresses) => addresses,
            Err(fault) => return refused(fault.to_string()),
        };
        let addresses: Vec<_> = addresses
            .into_iter()
            .map(|(address, checked)| (address, checked.err().map(|refusal| refusal.to_string())))
            .collect();
        let none_may = addresses.iter().all(|(_, refused)| refused.is_some());
        let refused = addresses.first().and_then(|(_, refused)| refused.clone()).filter(|_| none_may);
        Checked { addresses, refused }
    }

    /// The state of the call-backs, for monitoring.
    pub fn seen(&self) -> CallBacksSeen {
        let topics = self.topics();
        let open = topics.iter().map(|(name, topic)| (name.clone(), topic.destinations.open()));
        CallBacksSeen {
            counted: self.shared.counts.counted(),
            under_way: self.shared.room.taken(),
            leases_lost: self.shared.settler.lost(),
            lines_left_out: self.shared.log.left_out(),
            topics: open.collect(),
        }
    }

    /// The destinations of a topic, at most `most` of them, as this node knows them: only the leader calls. `None` if the
    /// topic has no call-backs, or they are paused.
    pub fn destinations(&self, topic: &TopicName, most: usize) -> Option<DestinationsSeen> {
        let topic = self.topics().get(topic).map(Arc::clone)?;
        Some(topic.destinations.seen(most))
    }

    fn topics(&self) -> MutexGuard<'_, BTreeMap<TopicName, Arc<Topic>>> {
        self.topics.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

//! Call-backs: the third way to consume. When a job is due, the queue sends an HTTP request where its topic says.
//!
//! To the queue it is a consumer as any other: a [topic] subscribes over a [session](crate::server::LocalSession) of this
//! process, and settles leases. So pull, push and call-backs serve one topic at once, and a call that a failing node began is made
//! again by the next leader when its lease has run out. Only the leader calls.
//!
//! ```text
//!   supervisor -- topics whose settings ask for calls --> topic --> call_request --> client --> destination
//!                                                           |                    |
//!                                        destinations: breaker, rate, room    egress: address of each connection
//!                                                           v
//!                                                verdict --> settler, log
//! ```

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
mod outcome;
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

use tokio::sync::Semaphore;
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::{MissedTickBehavior, interval, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{info, warn};

use self::call_slots::CallSlots;
use self::client::Client;
pub use self::counts::Counted;
use self::counts::Counts;
use self::destination::Destination;
pub use self::hook::{Hook, HookError, Hooks, PostError};
pub use self::log::Attempt;
use self::log::Log;
use self::secrets::Secrets;
pub use self::secrets::SecretsError;
use self::sessions::Sessions;
use self::settler::Settler;
use self::topic::{Topic, no_secrets};
use crate::server::config::{CallBackConfig, Config};
use crate::server::{CalledBack, Local, Running, wall};
use crate::transport::tls::TlsError;
use crate::types::{Access, CallBack, JobId, TopicName};

/// What the settings of topics ask for is looked at this often.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// When the server stops, calls under way may take so long.
const FINISH_MAX: Duration = Duration::from_secs(5);
/// Looks into the log of attempts at the same time: the others wait.
const LOOKS_MAX: usize = 4;
/// As whom the calls' requests appear to others; no token can have this name.
const NAME: &str = "(call-backs)";

/// Why a node cannot call back.
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
        /// Where it is.
        folder: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// What calling back needs beside the queue, read and checked.
#[derive(Debug)]
pub struct Prepared {
    config: CallBackConfig,
    node: u64,
    memory_max_bytes: u64,
    secrets: Secrets,
    client: Client,
}

/// The calls of this node.
#[derive(Clone, Debug)]
pub struct CallBacks {
    shared: Arc<Shared>,
    topics: Arc<Mutex<BTreeMap<TopicName, Arc<Topic>>>>,
}

/// What all topics share.
#[derive(Debug)]
struct Shared {
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
    /// Topics, and jobs whose calls have not ended or whose outcomes the queue has not answered.
    tasks: TaskTracker,
    stopped: CancellationToken,
}

/// Whether a destination may be called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked {
    /// The addresses of its host, each with the reason why it may not be called.
    pub addresses: Vec<(std::net::IpAddr, Option<String>)>,
    /// Why it may not be called at all.
    pub refused: Option<String>,
}

/// What is to be seen of the calls.
#[derive(Clone, Debug)]
pub struct CallBacksSeen {
    /// Since the start.
    pub counted: Counted,
    /// Calls under way.
    pub under_way: usize,
    /// Leases that others had when the call ended.
    pub leases_lost: u64,
    /// Lines of the log that were left out.
    pub lines_left_out: u64,
    /// Topics whose jobs are called back, each with the number of destinations that are left alone.
    pub topics: Vec<(TopicName, usize)>,
}

impl Prepared {
    /// Reads what calling back needs.
    ///
    /// # Errors
    ///
    /// A file cannot be used.
    pub fn read(config: &Config) -> Result<Self, CallBacksError> {
        let (node, memory_max_bytes) = (config.node, config.memory_max_bytes);
        let config = config.call_backs.clone();
        let secrets = Secrets::read(config.secrets_file.as_deref())?;
        let client = Client::new(&config)?;
        Ok(Self { config, node, memory_max_bytes, secrets, client })
    }

    /// Begins to call, until the server stops. The node itself is not called: neither its own ports nor those for HTTP.
    ///
    /// # Errors
    ///
    /// The log of attempts cannot be opened.
    pub fn start(self, running: &Running, http: &[SocketAddr]) -> Result<CallBacks, CallBacksError> {
        let Self { config, node, memory_max_bytes, secrets, mut client } = self;
        let own = [Some(running.address()), running.peer_address()].into_iter().flatten();
        client.never_call(own.chain(http.iter().copied()).collect());
        let local = running.local();
        let folder = local.call_backs_folder();
        let log = Log::open(&folder, config.log_bytes, wall)
            .map_err(|source| CallBacksError::Log { folder: folder.clone(), source })?;
        let access = Arc::new(Access { token: NAME.to_owned(), ..Access::open() });
        let shared = Shared {
            settler: Settler::start(local.clone(), Arc::clone(&access)),
            sessions: Sessions::default(),
            looks: Arc::new(Semaphore::new(LOOKS_MAX)),
            node,
            room: CallSlots::new(config.calls_per_reputation_max, memory_max_bytes),
            counts: Counts::default(),
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
    /// Keeps the topics that call as the settings have them.
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
            // While a disk hangs, one thread waits for it.
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

    /// Calls as the settings say. The log tells of those that are new since the node looked first, and cannot be followed.
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
        // Those with other settings than now, too.
        for topic in before.into_values() {
            topic.stopped.cancel();
        }
    }

    /// Begins no more calls, and waits for those under way to end and their outcomes to be known to the queue, but not for long: a job
    /// whose call was cut off is called again.
    pub async fn finish(&self) {
        self.shared.stopped.cancel();
        self.shared.tasks.close();
        if timeout(FINISH_MAX, self.shared.tasks.wait()).await.is_err() {
            info!(jobs = self.shared.tasks.len(), "calls that have not ended are made again later");
        }
    }

    /// The attempts of a job that this node made and still keeps, the first one first. Other members keep those that they made.
    ///
    /// # Errors
    ///
    /// The log cannot be read.
    pub async fn attempts(&self, job: JobId) -> io::Result<Vec<Attempt>> {
        // It is never closed.
        let place = Arc::clone(&self.shared.looks).acquire_owned().await;
        let shared = Arc::clone(&self.shared);
        let read = spawn_blocking(move || {
            let _place = place;
            shared.log.attempts(job)
        });
        read.await.map_err(io::Error::other)?
    }

    /// The number of this node.
    pub fn node(&self) -> u64 {
        self.shared.node
    }

    /// What keeps the calls of a topic with these settings from being made, as far as this node knows now.
    pub async fn warnings(&self, topic: &TopicName, set: &CallBack) -> Vec<String> {
        let mut warnings = Vec::new();
        if let Some(url) = &set.url
            && let Some(why) = self.check(url).await.refused
        {
            // The log has these warnings, too, and a path or a query may have a secret.
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

    /// Whether this node would call a URL now.
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

    /// What is to be seen of them.
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

    fn topics(&self) -> MutexGuard<'_, BTreeMap<TopicName, Arc<Topic>>> {
        self.topics.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

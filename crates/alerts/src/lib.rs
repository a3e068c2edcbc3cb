//! Alerts: a node tells people by web hook or e-mail when something is wrong with the queue, and when it is over.
//!
//! Every 5 s the node compares what it [observes](adjourn_server::Observation) with the rules of a [file](mod@file), and
//! remembers for each rule [what is wrong](watch). Every member of a cluster does this, but only the leader sends messages
//! about shared facts; so a new leader knows what was sent before. Facts about one node, such as its disk, are sent by that
//! node.
//!
//! ```text
//!   observation + failing destinations + free disk space
//!        |
//!      rules -- breaches --> watch -- what to tell --> message --> delivery: one queue per target --> web hook, e-mail
//! ```

mod delivery;
mod file;
mod message;
mod rule;
mod target;
mod watch;

use std::collections::{BTreeMap, BTreeSet};
use std::mem;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::{Instant, MissedTickBehavior, interval_at, timeout};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use self::delivery::{Counts, Delivery};
use self::file::AlertFile;
pub use self::file::{AlertsError, Why};
use self::message::Message;
use self::rule::{Facts, Measure, Rule, Speaker};
pub use self::target::SendError;
pub use self::watch::ProblemSeen;
use self::watch::Watch;
use adjourn_call_backs::CallBacks;
use adjourn_server::config::Config;
use adjourn_server::{Local, OBSERVED_TOPICS_MAX, Running, wall};
use adjourn_transport::Mark;
use adjourn_types::{Access, Grant, Right, whole_ms};

/// The rules are checked this often.
const LOOK_EVERY: Duration = Duration::from_secs(5);
/// The longest wait for a check of the file.
const LOOK_MAX: Duration = Duration::from_secs(5);
/// Most problems of a rule that are shown.
const PROBLEMS_MAX: usize = 20;
/// The name under which a node observes itself; no token can have this name.
const NAME: &str = "(alerts)";

/// The rules and targets, read and checked.
#[derive(Debug)]
pub struct Prepared {
    /// `None` for no alerts.
    source: Option<Source>,
    server_name: String,
}

/// The file as it was last read.
#[derive(Debug)]
struct Source {
    path: PathBuf,
    mark: Mark,
    file: AlertFile,
}

/// The alerts of this node.
#[derive(Clone, Debug, Default)]
pub struct Alerts {
    counts: Arc<Counts>,
    is_configured: bool,
    /// The rules as of the last check.
    rules: Arc<Mutex<Vec<RuleSeen>>>,
}

/// The state of the alerts, for monitoring.
#[derive(Clone, Debug)]
pub struct AlertsSeen {
    /// Rules, each with the number of subjects that this node or the leader reported as wrong.
    pub firing: Vec<(String, usize)>,
    /// Messages that a target accepted.
    pub sent: u64,
    /// Messages that were dropped.
    pub failed: u64,
}

/// A rule, as of the last check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleSeen {
    /// Its name.
    pub name: String,
    /// When something is wrong, in the words of the file.
    pub condition: String,
    /// The targets of its messages.
    pub tell: Vec<String>,
    /// The number of subjects that this node or the leader reported as wrong.
    pub reported: usize,
    /// What is wrong now, reported or not: some of it, if it is much.
    pub problems: Vec<ProblemSeen>,
}

/// The result of a test message to one target.
#[derive(Debug)]
pub struct Tested {
    /// The name of the target.
    pub target: String,
    /// The result.
    pub outcome: Result<(), SendError>,
}

impl Prepared {
    /// Reads the file of alerts, if one is configured.
    ///
    /// # Errors
    ///
    /// If the file cannot be used.
    pub fn read(config: &Config) -> Result<Self, AlertsError> {
        let source = config.alerts_file.as_deref().map(Source::read).transpose()?;
        Ok(Self { source, server_name: config.server_name.clone() })
    }

    /// Checks the rules until the server stops.
    pub fn start(self, running: &Running, call_backs: CallBacks) -> Alerts {
        let Self { source, server_name } = self;
        let alerts = Alerts { is_configured: source.is_some(), ..Alerts::default() };
        if let Some(source) = source {
            let (local, alerts) = (running.local(), alerts.clone());
            let stopped = local.stopping();
            let looking = None;
            let watching = Watching { source, server_name, local, call_backs, alerts, looking, stopped };
            tokio::spawn(watching.run());
        }
        alerts
    }
}

impl Source {
    fn read(path: &Path) -> Result<Self, AlertsError> {
        // Before the file is read: later changes are seen at the next check.
        let mark = Mark::of(path);
        Ok(Self { path: path.to_owned(), mark, file: AlertFile::read(path)? })
    }
}

impl Alerts {
    /// The state of the alerts, for monitoring.
    pub fn seen(&self) -> AlertsSeen {
        let rules = self.rules.lock().unwrap_or_else(PoisonError::into_inner);
        let firing: BTreeMap<String, usize> =
            rules.iter().map(|rule| (rule.name.clone(), rule.reported)).collect();
        AlertsSeen {
            firing: firing.into_iter().collect(),
            sent: self.counts.sent.load(Ordering::Relaxed),
            failed: self.counts.failed.load(Ordering::Relaxed),
        }
    }

    /// True if a file of alerts is configured.
    pub fn is_configured(&self) -> bool {
        self.is_configured
    }

    /// The rules, in the order of the file. There are none before the first check.
    pub fn rules(&self) -> Vec<RuleSeen> {
        self.rules.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Sends a test message to all targets of a file, or to those of these names.
///
/// # Errors
///
/// If the file cannot be used, or has no such target.
pub async fn test(path: &Path, only: &[String]) -> Result<Vec<Tested>, AlertsError> {
    let file = AlertFile::read(path)?;
    let targets = file.targets(only).map_err(|why| AlertsError::Wrong { path: path.to_owned(), why })?;
    let message = Message::test(wall());
    let mut tested = Vec::new();
    for target in targets {
        let outcome = target.send(&message).await;
        tested.push(Tested { target: target.name.clone(), outcome });
    }
    Ok(tested)
}

/// The result of reading a file that has changed.
type Look = (Mark, Result<AlertFile, AlertsError>);

/// The task that checks the rules.
struct Watching {
    source: Source,
    server_name: String,
    local: Local,
    call_backs: CallBacks,
    alerts: Alerts,
    /// The check of the file that has not ended.
    looking: Option<JoinHandle<Option<Look>>>,
    stopped: CancellationToken,
}

impl Watching {
    async fn run(mut self) {
        let started = Instant::now();
        let mut watches: BTreeMap<String, Watch> = BTreeMap::new();
        let mut deliveries = self.deliveries(BTreeMap::new());
        let mut access = self.access();
        let (mut told_of_limit, mut leader) = (false, None);
        // By the first tick a cluster has a leader.
        let mut ticks = interval_at(Instant::now() + LOOK_EVERY, LOOK_EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                biased;
                () = self.stopped.cancelled() => return,
                _ = ticks.tick() => {}
            }
            if let Some(before) = self.look_at_file().await {
                // A changed rule starts without a memory.
                let now = &self.source.file;
                let is_same = |rule: &&Rule| now.rules.contains(rule);
                let same: BTreeSet<&str> =
                    before.rules.iter().filter(is_same).map(|rule| rule.name.as_str()).collect();
                watches.retain(|name, _| same.contains(name.as_str()));
                let kept = if before.ca == now.ca { deliveries } else { BTreeMap::new() };
                (deliveries, access) = (self.deliveries(kept), self.access());
            }
            self.source.file.close_idle();
            // A node that hangs is reported at /healthz.
            let Some(facts) = self.facts(&access).await else { continue };
            if facts.observation.topics.len() == OBSERVED_TOPICS_MAX && !told_of_limit {
                told_of_limit = true;
                warn!(OBSERVED_TOPICS_MAX, "alert rules name more topics than are checked: name fewer");
            }
            let now_ms = whole_ms(started.elapsed());
            // The last known leader: an election alone does not mean that it died.
            if facts.has_taken_over_from(leader) {
                for watch in watches.values_mut() {
                    watch.doubt(now_ms);
                }
            }
            leader = facts.observation.cluster.leader.or(leader);
            self.check(&facts, now_ms, &mut watches, &deliveries);
        }
    }

    fn check(
        &self,
        facts: &Facts,
        now_ms: u64,
        watches: &mut BTreeMap<String, Watch>,
        deliveries: &BTreeMap<String, Delivery>,
    ) {
        let mut seen = Vec::new();
        for rule in &self.source.file.rules {
            let watch = watches.entry(rule.name.clone()).or_default();
            let told = match rule.measure.speaker() {
                // Without a leader no node sends: the next leader reports what is wrong then.
                Speaker::Leader if facts.observation.cluster.leader.is_none() => None,
                Speaker::Leader => watch.look(now_ms, rule, rule.breaches(facts)).filter(|_| facts.leads()),
                Speaker::EachNode => watch.look(now_ms, rule, rule.breaches(facts)),
            };
            seen.push(RuleSeen {
                name: rule.name.clone(),
                condition: rule.condition(),
                tell: rule.tell.clone(),
                reported: watch.told(),
                problems: watch.problems(now_ms).take(PROBLEMS_MAX).collect(),
            });
            let Some(told) = told else { continue };
            let node = facts.observation.cluster.node;
            let message = Message::new(&rule.name, node, &self.server_name, wall(), told);
            info!(rule = rule.name, state = message.state(), "alert");
            for target in &rule.tell {
                if let Some(delivery) = deliveries.get(target) {
                    delivery.send(message.clone());
                }
            }
        }
        *self.alerts.rules.lock().unwrap_or_else(PoisonError::into_inner) = seen;
    }

    /// Reads a changed file, and returns the content before. If it cannot be used, nothing changes; the log has the reason.
    async fn look_at_file(&mut self) -> Option<AlertFile> {
        let (path, before) = (self.source.path.clone(), self.source.mark.clone());
        let looking = self.looking.get_or_insert_with(|| {
            spawn_blocking(move || {
                let mark = Mark::of(&path);
                (mark != before).then(|| (mark, AlertFile::read(&path)))
            })
        });
        // While a disk hangs the old content stays, and one thread waits for it.
        let looked = timeout(LOOK_MAX, looking).await.ok()?;
        self.looking = None;
        let (mark, read) = looked.ok()??;
        self.source.mark = mark;
        match read {
            Ok(file) => {
                info!(rules = file.rules.len(), "read changed alerts");
                Some(mem::replace(&mut self.source.file, file))
            }
            Err(error) => {
                warn!(%error, "the changed alerts are invalid: the previous ones stay in use");
                None
            }
        }
    }

    async fn facts(&self, access: &Arc<Access>) -> Option<Facts> {
        let observation = self.local.observe(Arc::clone(access)).await?.observation;
        let failing = self.call_backs.seen().topics;
        let asks = self.source.file.rules.iter().any(|rule| rule.measure == Measure::DiskFree);
        let disk_free_bytes = if asks { self.local.disk_free_bytes().await } else { None };
        Some(Facts { observation, failing, disk_free_bytes })
    }

    /// A delivery for each target. An unchanged target keeps its delivery, so that messages keep their order.
    fn deliveries(&self, mut before: BTreeMap<String, Delivery>) -> BTreeMap<String, Delivery> {
        let targets = self.source.file.targets.iter().map(|target| {
            let kept = before.remove(&target.name).filter(|delivery| delivery.leads_to(target));
            let start = || Delivery::start(Arc::clone(target), Arc::clone(&self.alerts.counts));
            (target.name.clone(), kept.unwrap_or_else(start))
        });
        targets.collect()
    }

    /// The right to read only the topics that rules name: the core counts only those.
    fn access(&self) -> Arc<Access> {
        let rules = self.source.file.rules.iter().filter(|rule| rule.measure.is_of_topics());
        let rights = [Right::Read].into_iter().collect();
        let grants = rules.map(|rule| Grant { rights, topics: rule.topics.clone() }).collect();
        Arc::new(Access { token: NAME.to_owned(), grants, ..Access::open() })
    }
}

//! What the connections of this port do: which tubes they use and watch, who waits, and how many commands there were. It is not
//! part of the queue's state: a restart forgets it, as the original does.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::time::Instant;

use super::command::{Command, Next};
use adjourn_types::TopicName;

/// The commands that the original counts, in the order in which it shows them.
pub(super) const COUNTED: [&str; 22] = [
    "put",
    "peek",
    "peek-ready",
    "peek-delayed",
    "peek-buried",
    "reserve",
    "reserve-with-timeout",
    "delete",
    "release",
    "use",
    "watch",
    "ignore",
    "bury",
    "kick",
    "touch",
    "stats",
    "stats-job",
    "stats-tube",
    "list-tubes",
    "list-tube-used",
    "list-tubes-watched",
    "pause-tube",
];

/// All connections of this port.
#[derive(Debug)]
pub(super) struct Tubes {
    state: Mutex<TubesState>,
    commands: [AtomicU64; COUNTED.len()],
    pub(super) started: Instant,
    /// Drawn at the start: 16 hexadecimal digits.
    pub(super) id: String,
}

#[derive(Debug, Default)]
struct TubesState {
    by_name: BTreeMap<TopicName, TubeUse>,
    connections: ConnectionCounts,
}

/// What the connections do with one tube.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct TubeUse {
    pub(super) using: u64,
    pub(super) watching: u64,
    pub(super) waiting: u64,
    /// How often it was paused here.
    pub(super) pauses: u64,
    /// For how long the last time.
    pub(super) pause_s: u32,
}

/// How many connections there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ConnectionCounts {
    pub(super) open: u64,
    pub(super) producers: u64,
    pub(super) workers: u64,
    pub(super) waiting: u64,
    pub(super) total: u64,
}

/// What one connection does with tubes. It counts among all until it is dropped.
#[derive(Debug)]
pub(super) struct ConnectionTubes {
    tubes: Arc<Tubes>,
    used: TopicName,
    watched: Vec<TopicName>,
    produces: bool,
    works: bool,
}

/// The time in which a connection waits for a job.
pub(super) struct Wait<'a>(&'a ConnectionTubes);

/// The tube that a new connection uses and watches.
pub(super) fn default_tube() -> TopicName {
    match "default".parse() {
        Ok(tube) => tube,
        Err(_) => unreachable!("it is the name of a topic"),
    }
}

impl Tubes {
    pub(super) fn new(id: String) -> Arc<Self> {
        let commands = std::array::from_fn(|_| AtomicU64::new(0));
        Arc::new(Self { state: Mutex::default(), commands, started: Instant::now(), id })
    }

    /// Counts a command.
    pub(super) fn count(&self, command: &Command) {
        let name = match command {
            Command::Put(_) => "put",
            Command::Peek(_) => "peek",
            Command::PeekNext(Next::Ready) => "peek-ready",
            Command::PeekNext(Next::Delayed) => "peek-delayed",
            Command::PeekNext(Next::Buried) => "peek-buried",
            Command::Reserve { timeout_s: None } => "reserve",
            Command::Reserve { timeout_s: Some(_) } => "reserve-with-timeout",
            Command::Delete(_) => "delete",
            Command::Release { .. } => "release",
            Command::Use(_) => "use",
            Command::Watch(_) => "watch",
            Command::Ignore(_) => "ignore",
            Command::Bury { .. } => "bury",
            Command::Kick(_) => "kick",
            Command::Touch(_) => "touch",
            Command::Stats => "stats",
            Command::StatsJob(_) => "stats-job",
            Command::StatsTube(_) => "stats-tube",
            Command::ListTubes => "list-tubes",
            Command::ListTubeUsed => "list-tube-used",
            Command::ListTubesWatched => "list-tubes-watched",
            Command::PauseTube { .. } => "pause-tube",
            // The original counts these nowhere.
            Command::ReserveJob(_) | Command::KickJob(_) | Command::Quit => return,
        };
        let counted = COUNTED.iter().position(|counted| *counted == name);
        if let Some(count) = counted.and_then(|at| self.commands.get(at)) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Each counted command, and how often it was sent.
    pub(super) fn counts(&self) -> impl Iterator<Item = (&'static str, u64)> {
        COUNTED.iter().zip(&self.commands).map(|(name, count)| (*name, count.load(Ordering::Relaxed)))
    }

    pub(super) fn connections(&self) -> ConnectionCounts {
        self.lock().connections
    }

    /// What connections do with a tube.
    pub(super) fn of(&self, tube: &TopicName) -> TubeUse {
        self.lock().by_name.get(tube).copied().unwrap_or_default()
    }

    /// A tube was paused for this time.
    pub(super) fn note_pause(&self, tube: &TopicName, pause_s: u32) {
        self.lock().change(tube, |tube| {
            tube.pauses += 1;
            tube.pause_s = pause_s;
        });
    }

    /// The tubes that a connection uses or watches.
    pub(super) fn in_use(&self) -> Vec<TopicName> {
        let state = self.lock();
        let used = state.by_name.iter().filter(|(_, tube)| tube.using + tube.watching > 0);
        used.map(|(name, _)| name.clone()).collect()
    }

    fn lock(&self) -> MutexGuard<'_, TubesState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TubesState {
    fn change(&mut self, tube: &TopicName, change: impl FnOnce(&mut TubeUse)) {
        let found = self.by_name.entry(tube.clone()).or_default();
        change(found);
        // A tube that nobody uses is as good as gone.
        if found.using + found.watching + found.waiting == 0 {
            self.by_name.remove(tube);
        }
    }
}

impl ConnectionTubes {
    /// A new connection.
    pub(super) fn new(tubes: &Arc<Tubes>) -> Self {
        let used = default_tube();
        let mut state = tubes.lock();
        state.connections.open += 1;
        state.connections.total += 1;
        state.change(&used, |tube| {
            tube.using += 1;
            tube.watching += 1;
        });
        drop(state);
        let watched = vec![used.clone()];
        Self { tubes: Arc::clone(tubes), used, watched, produces: false, works: false }
    }

    /// All connections.
    pub(super) fn all(&self) -> &Arc<Tubes> {
        &self.tubes
    }

    /// The tube that it puts into.
    pub(super) fn used(&self) -> &TopicName {
        &self.used
    }

    /// The tubes that it reserves from; at least one.
    pub(super) fn watched(&self) -> &[TopicName] {
        &self.watched
    }

    /// Chooses another tube to put into.
    pub(super) fn use_tube(&mut self, tube: TopicName) {
        let mut state = self.tubes.lock();
        state.change(&tube, |tube| tube.using += 1);
        state.change(&self.used, |tube| tube.using -= 1);
        drop(state);
        self.used = tube;
    }

    /// Adds a tube to reserve from.
    pub(super) fn watch(&mut self, tube: TopicName) {
        if !self.watched.contains(&tube) {
            self.tubes.lock().change(&tube, |tube| tube.watching += 1);
            self.watched.push(tube);
        }
    }

    /// Takes a tube away; the last one takes its place in the list, as in the original. `false` if it is the only one.
    pub(super) fn ignore(&mut self, tube: &TopicName) -> bool {
        let Some(at) = self.watched.iter().position(|watched| watched == tube) else { return true };
        if self.watched.len() == 1 {
            return false;
        }
        self.watched.swap_remove(at);
        self.tubes.lock().change(tube, |tube| tube.watching -= 1);
        true
    }

    /// It has sent a job.
    pub(super) fn note_producer(&mut self) {
        if !std::mem::replace(&mut self.produces, true) {
            self.tubes.lock().connections.producers += 1;
        }
    }

    /// It has asked for a job.
    pub(super) fn note_worker(&mut self) {
        if !std::mem::replace(&mut self.works, true) {
            self.tubes.lock().connections.workers += 1;
        }
    }

    /// It waits for a job until the result is dropped.
    pub(super) fn wait(&self) -> Wait<'_> {
        self.count_waiting(1);
        Wait(self)
    }

    fn count_waiting(&self, by: i64) {
        let mut state = self.tubes.lock();
        state.connections.waiting = state.connections.waiting.saturating_add_signed(by);
        for tube in &self.watched {
            state.change(tube, |tube| tube.waiting = tube.waiting.saturating_add_signed(by));
        }
    }
}

impl Drop for Wait<'_> {
    fn drop(&mut self) {
        self.0.count_waiting(-1);
    }
}

impl Drop for ConnectionTubes {
    fn drop(&mut self) {
        let mut state = self.tubes.lock();
        state.connections.open -= 1;
        state.connections.producers -= u64::from(self.produces);
        state.connections.workers -= u64::from(self.works);
        state.change(&self.used, |tube| tube.using -= 1);
        for tube in &self.watched {
            state.change(tube, |tube| tube.watching -= 1);
        }
    }
}

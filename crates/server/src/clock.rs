//! The only place of the server that reads the machine's clocks; and the queue's clock, which a test may move.
//! `docs/design/time.md` says what goes by which. Both are one, unless the server runs with `--clock manual`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::config::ClockChoice;
use adjourn_replica::Now;
use adjourn_types::{Millis, whole_ms};

/// Reads both clocks. Copies agree: they count from the same moment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    base: Instant,
}

impl Clock {
    /// A clock whose elapsed time begins now.
    #[expect(clippy::disallowed_methods, reason = "the server's edge: time enters here")]
    pub(super) fn start() -> Self {
        Self { base: Instant::now() }
    }

    /// The time on both clocks.
    pub(super) fn now(self) -> Now {
        Now { elapsed_us: micros(self.elapsed()), wall: wall() }
    }

    /// Time since the clock was started.
    pub(super) fn elapsed(self) -> Duration {
        self.base.elapsed()
    }
}

/// The clocks of a node: the machine's, and that of the queue. Copies agree.
#[derive(Clone, Debug)]
pub(super) struct NodeClock {
    machine: Clock,
    /// If only ADVANCE moves the queue's clock: what the replica has shown last, in microseconds.
    manual_us: Option<Arc<AtomicU64>>,
}

impl NodeClock {
    /// The clocks of a node with this machine's.
    pub(super) fn new(machine: Clock, choice: ClockChoice) -> Self {
        Self { machine, manual_us: (choice == ClockChoice::Manual).then(Arc::default) }
    }

    /// The time on both of the machine's clocks.
    pub(super) fn now(&self) -> Now {
        self.machine.now()
    }

    /// Time since the machine's clock was started.
    pub(super) fn elapsed(&self) -> Duration {
        self.machine.elapsed()
    }

    /// The replica shows the queue's clock, before its answers of that time are sent.
    pub(super) fn show_queue(&self, clock_us: u64) {
        if let Some(manual_us) = &self.manual_us {
            manual_us.store(clock_us, Ordering::Release);
        }
    }

    /// Whether the queue's clock stands still until a test moves it: a client's clock runs on, so it cannot count from this one.
    pub(super) fn stands_still(&self) -> bool {
        self.manual_us.is_some()
    }

    /// The queue's monotonic clock, by which leases end, in milliseconds: rounded up, so that no lease seems to last longer.
    pub(super) fn queue_ms(&self) -> u64 {
        match &self.manual_us {
            None => whole_ms(self.machine.elapsed()) + 1,
            Some(manual_us) => manual_us.load(Ordering::Acquire).div_ceil(1000),
        }
    }
}

/// The machine's wall clock.
#[expect(clippy::disallowed_methods, reason = "the server's edge: time enters here")]
pub fn wall() -> Millis {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Millis(whole_ms(since_epoch))
}

fn micros(elapsed: Duration) -> u64 {
    u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX)
}

//! What kind of world a run plays in: drawn from the seed, or written down for one scenario.

use adjourn_storage::Fault;

use super::cluster::ClusterPlan;
use super::disk::Part;
use super::mutants::Mutant;
use super::random::Random;
use super::time::{HOUR, MS, SECOND, Us};

/// What a process may take of memory where that is limited, in bytes.
pub(super) const MEMORY_BYTES: u64 = 128 << 20;

/// A world before it begins.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) seed: u64,
    pub(super) mutant: Mutant,
    /// Nothing goes wrong, and somebody always waits for jobs.
    pub(super) calm: bool,
    /// Operators edit jobs, too. Not so in runs that were chosen for what they draw otherwise.
    pub(super) edits: bool,
    /// How long the clients work and things go wrong.
    pub(super) turmoil_us: Us,
    pub(super) producers: u64,
    pub(super) pollers: u64,
    /// Consumers with volatile leases.
    pub(super) callers: u64,
    pub(super) subscribers: u64,
    /// Consumers that take more jobs than they can work on.
    pub(super) prefetchers: u64,
    pub(super) operators: u64,
    /// Clients that push without a session.
    pub(super) web_requests: u64,
    /// Clients that only look, all the time.
    pub(super) readers: u64,
    /// Clients that keep schedules. As with edits, there are none in runs that were chosen for what they draw otherwise.
    pub(super) schedulers: u64,
    /// Clients whose jobs belong to groups; as with schedules.
    pub(super) tenants: u64,
    /// Clients that may do nothing, and ask for what others ask for. Others of their kind speak as nodes.
    pub(super) strangers: u64,
    /// Time that a message takes.
    pub(super) network_us: (Us, Us),
    /// Time that the disk takes for one order.
    pub(super) disk_us: (Us, Us),
    /// Time between something that happened and the core's turn to look.
    pub(super) core_us: (Us, Us),
    pub(super) every_us: EveryUs,
    /// What goes wrong at an operation of a part of the disk, counted from the first.
    pub(super) strikes: Vec<(Part, u64, Fault)>,
    /// How much goes on, and for how long jobs wait.
    pub(super) pace: Pace,
    /// The log may grow by so much between two checkpoints.
    pub(super) checkpoint_log_bytes: u64,
    /// Time that the checkpoint thread takes for one step.
    pub(super) checkpoint_us: (Us, Us),
    /// Unsent bytes per connection before grants and reads pause.
    pub(super) output_bytes_max: usize,
    /// Memory limit of the process in bytes; 0 for no limit.
    pub(super) memory_max_bytes: u64,
    /// There are several nodes, like this.
    pub(super) cluster: Option<ClusterPlan>,
    /// Keep every line of the trace.
    pub(super) traced: bool,
}

/// How much goes on, and for how long jobs wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pace {
    /// Some things every second; most jobs wait for seconds.
    Usual,
    /// Some things every minute; most jobs wait for hours, so that they are spilled and loaded again.
    Slow,
    /// As usual, between nights of hours in which all nodes are down. Most jobs wait for hours.
    Nights,
}

impl Pace {
    /// Whether most jobs wait for hours.
    pub(super) fn is_long(self) -> bool {
        self != Self::Usual
    }

    /// How long somebody pauses who would pause so long at the usual pace.
    pub(super) fn stretched(self, pause: Us) -> Us {
        match self {
            Self::Usual | Self::Nights => pause,
            Self::Slow => pause * 300,
        }
    }
}

/// The average time from one fault to the next of its kind, in microseconds; 0 for never.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct EveryUs {
    /// The power fails, or the process is killed.
    pub(super) crash: Us,
    /// Somebody stops the node in good order.
    pub(super) stop: Us,
    /// A write or a sync fails, which ends the process.
    pub(super) disk_failure: Us,
    /// A step or a read in the folder of checkpoints fails, or the power fails there.
    pub(super) folder_failure: Us,
    /// A member crashes, and cannot read its state at the next start.
    pub(super) state_lost: Us,
    /// The disk is nearly full for a while.
    pub(super) disk_low: Us,
    /// A connection breaks.
    pub(super) cut: Us,
    /// The wall clock is set.
    pub(super) step: Us,
    /// The wall clock of every node is set forward, and set right again within seconds.
    pub(super) glitch: Us,
    /// Nodes are cut off from each other, in one direction or in both.
    pub(super) partition: Us,
    /// The connection between two nodes breaks.
    pub(super) peer_lost: Us,
    /// What one node says to another takes long.
    pub(super) slow: Us,
    /// A disk takes very long for something, among others that do not.
    pub(super) disk_hangs: Us,
    /// Somebody moves leadership.
    pub(super) transfer: Us,
    /// A node is lost for good, and another one takes its place.
    pub(super) replace: Us,
    /// A node of an older version is upgraded.
    pub(super) upgrade: Us,
    /// A process takes nearly all memory that it may, for a while.
    pub(super) memory_short: Us,
    /// All nodes go down, and hours pass.
    pub(super) night: Us,
}

impl Plan {
    /// A world with a bit of everything; one in four is calm: nothing goes wrong, so that lateness can be bounded.
    pub(super) fn drawn(seed: u64) -> Self {
        let mut random = Random::new(seed).fork(0x504c_414e);
        let calm = random.percent(25);
        let plan = if calm { Self::calm(seed, &mut random) } else { Self::rough(seed, &mut random) };
        plan.with_glitches()
    }

    /// A slow world of some hours, with small checkpoints, in which jobs are spilled and loaded again.
    pub(super) fn slow(seed: u64) -> Self {
        let mut random = Random::new(seed).fork(0x534c_4f57);
        let plan = if random.percent(25) {
            Self { operators: 1, ..Self::calm(seed, &mut random) }
        } else {
            Self::rough(seed, &mut random)
        };
        let mut slow = plan.every_us;
        let every = [
            &mut slow.crash,
            &mut slow.stop,
            &mut slow.disk_failure,
            &mut slow.folder_failure,
            &mut slow.disk_low,
            &mut slow.cut,
            &mut slow.step,
            &mut slow.memory_short,
        ];
        for pause in every {
            *pause = Pace::Slow.stretched(*pause) / 2;
        }
        Self {
            pace: Pace::Slow,
            turmoil_us: random.within((2, 7)) * HOUR,
            checkpoint_log_bytes: random.within((2, 16)) << 10,
            every_us: slow,
            ..plan
        }
        .with_glitches()
    }

    /// A short one with checkpoints, cuts, chunks that are written again, and spilled jobs.
    pub(super) fn short_slow(seed: u64) -> Self {
        Self {
            pace: Pace::Slow,
            turmoil_us: HOUR / 3,
            operators: 3,
            checkpoint_log_bytes: 3 << 10,
            ..Self::short(seed)
        }
    }

    /// The same world, around something that is broken on purpose.
    pub(super) fn with(self, mutant: Mutant) -> Self {
        let needs_strangers = matches!(mutant, Mutant::StrangersMayAll | Mutant::StrangersHeard);
        let needs_schedulers = matches!(mutant, Mutant::FiringLeftOut | Mutant::FiringRepeated);
        let needs_tenants =
            matches!(mutant, Mutant::GroupLimitLost | Mutant::GroupOrderLost | Mutant::GroupWeightRaised);
        Self {
            mutant,
            strangers: self.strangers.max(u64::from(needs_strangers)),
            schedulers: self.schedulers.max(u64::from(needs_schedulers)),
            tenants: self.tenants.max(u64::from(needs_tenants)),
            ..self
        }
    }

    /// The same one, in which operators edit jobs, somebody keeps schedules, and in every second world somebody has jobs of
    /// groups. In most of the others some consumers have volatile leases: who keeps books of groups cannot take back what was
    /// lost.
    pub(super) fn with_every_client(self) -> Self {
        let tenants = u64::from(self.seed.is_multiple_of(2));
        let callers = if tenants > 0 { 0 } else { Random::new(self.seed).fork(0x4341_4c4c).within((0, 3)) };
        Self { edits: true, schedulers: 1, tenants, callers, ..self }
    }

    /// The same one with these strikes.
    pub(super) fn struck(self, strikes: &[(Part, u64, Fault)]) -> Self {
        Self { strikes: strikes.to_vec(), ..self }
    }

    /// A short one, for a power cut at each of its operations in turn.
    pub(super) fn short(seed: u64) -> Self {
        let calm = Self::calm(seed, &mut Random::new(seed));
        Self {
            calm: false,
            edits: false,
            turmoil_us: 2 * SECOND,
            producers: 2,
            pollers: 1,
            callers: 1,
            subscribers: 1,
            operators: 1,
            ..calm
        }
    }

    /// The same with clocks that are wrong for a moment in half of the worlds, and with consumers that prefetch in as many; in none
    /// of those that a test names by their seeds.
    pub(super) fn with_glitches(self) -> Self {
        let mut random = Random::new(self.seed).fork(0x474c_012d);
        let mut sometimes = |range| if random.percent(50) && !self.calm { random.within(range) } else { 0 };
        let (glitch, prefetchers) = (sometimes((2 * SECOND, 8 * SECOND)), sometimes((1, 2)));
        Self {
            prefetchers,
            every_us: EveryUs { glitch: self.pace.stretched(glitch), ..self.every_us },
            ..self
        }
    }

    /// From now on nothing goes wrong, and nothing is slow.
    pub(super) fn heal(&mut self) {
        self.network_us = (20, 300);
        self.disk_us = (50, 3 * MS);
        self.every_us = EveryUs::default();
        if let Some(cluster) = &mut self.cluster {
            cluster.heal();
        }
    }

    pub(super) fn calm(seed: u64, random: &mut Random) -> Self {
        Self {
            seed,
            mutant: Mutant::None,
            calm: true,
            edits: false,
            turmoil_us: random.within((5, 20)) * SECOND,
            producers: random.within((1, 3)),
            pollers: random.within((0, 2)),
            callers: 0,
            subscribers: random.within((1, 3)),
            prefetchers: 0,
            operators: 0,
            readers: 0,
            schedulers: 0,
            tenants: 0,
            web_requests: u64::from(Random::new(seed).fork(0x5745_4252).percent(25)),
            strangers: u64::from(Random::new(seed).fork(0x5354_5247).percent(50)),
            network_us: (20, 300),
            disk_us: (50, 3 * MS),
            core_us: (0, 200),
            every_us: EveryUs::default(),
            strikes: Vec::new(),
            pace: Pace::Usual,
            checkpoint_log_bytes: *random.pick(&[64 << 20, 64 << 10, 8 << 10]),
            checkpoint_us: (50, 30 * MS),
            output_bytes_max: usize::MAX,
            memory_max_bytes: 0,
            cluster: None,
            traced: false,
        }
    }

    pub(super) fn rough(seed: u64, random: &mut Random) -> Self {
        let mut sometimes = |percent, range| if random.percent(percent) { random.within(range) } else { 0 };
        let every_us = EveryUs {
            crash: sometimes(70, (SECOND, 15 * SECOND)),
            stop: sometimes(40, (4 * SECOND, 15 * SECOND)),
            disk_failure: sometimes(30, (5 * SECOND, 20 * SECOND)),
            folder_failure: sometimes(30, (5 * SECOND, 20 * SECOND)),
            disk_low: sometimes(30, (3 * SECOND, 10 * SECOND)),
            cut: sometimes(80, (SECOND / 4, 5 * SECOND)),
            step: sometimes(60, (SECOND, 8 * SECOND)),
            memory_short: sometimes(40, (2 * SECOND, 10 * SECOND)),
            ..EveryUs::default()
        };
        let (network_max, disk_max) =
            (*random.pick(&[300, 3 * MS, 40 * MS]), *random.pick(&[MS, 15 * MS, 200 * MS]));
        Self {
            calm: false,
            edits: false,
            turmoil_us: random.within((5, 40)) * SECOND,
            producers: random.within((1, 4)),
            pollers: random.within((1, 4)),
            subscribers: random.within((0, 3)),
            operators: random.within((0, 2)),
            network_us: (20, network_max),
            disk_us: (50, disk_max),
            every_us,
            output_bytes_max: *random.pick(&[usize::MAX, 64 << 10, 4 << 10]),
            memory_max_bytes: if every_us.memory_short > 0 { MEMORY_BYTES } else { 0 },
            ..Self::calm(seed, random)
        }
    }
}

//! One stage of the work on a node.

/// How long one stage of the work on a node took, over its last minutes. See `protocol.md` for the stages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StageReport {
    /// The stage's name.
    pub stage: String,
    /// How many durations there are.
    pub count: u64,
    /// The median, in microseconds; like all of these at most 1 % too high, and 0 without a duration.
    pub p50_us: u64,
    /// 99 % of them are at most this.
    pub p99_us: u64,
    /// 99.9 % of them are at most this.
    pub p999_us: u64,
    /// The longest.
    pub max_us: u64,
}

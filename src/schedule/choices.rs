//! Options of a schedule that are one of some words.

use clap::ValueEnum;

use adjourn_types::{Dst, Missed, Overlap};

/// What happens to times that a change of the clocks skips or repeats.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum DstArg {
    /// As cron: a skipped time fires after the gap, a repeated one fires once
    Vixie,
    /// A skipped time does not fire, a repeated one fires twice
    Literal,
}

/// Which of the times that passed unnoticed are fired late.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum MissedArg {
    /// None of them
    None,
    /// The last one
    Last,
    /// All of them, up to a number
    All,
}

/// What a schedule does at a time when an earlier job of it has not ended.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum OverlapArg {
    /// Push another job
    Allow,
    /// Push no job
    Skip,
    /// Push the job when the earlier one has ended
    QueueOne,
    /// Delete the earlier job, even a reserved one, and push another
    Replace,
}

impl From<DstArg> for Dst {
    fn from(mode: DstArg) -> Self {
        match mode {
            DstArg::Vixie => Self::Vixie,
            DstArg::Literal => Self::Literal,
        }
    }
}

impl From<MissedArg> for Missed {
    fn from(rule: MissedArg) -> Self {
        match rule {
            MissedArg::None => Self::None,
            MissedArg::Last => Self::Last,
            MissedArg::All => Self::All,
        }
    }
}

impl From<OverlapArg> for Overlap {
    fn from(rule: OverlapArg) -> Self {
        match rule {
            OverlapArg::Allow => Self::Allow,
            OverlapArg::Skip => Self::Skip,
            OverlapArg::QueueOne => Self::QueueOne,
            OverlapArg::Replace => Self::Replace,
        }
    }
}

/// The word of the command line for a value.
pub(super) fn word<A: ValueEnum + Into<T>, T: PartialEq>(value: &T) -> String {
    let mut variants = A::value_variants().iter();
    let found = variants.find(|variant| (*variant).clone().into() == *value);
    let named = found.and_then(ValueEnum::to_possible_value);
    named.map(|value| value.get_name().to_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_value_has_its_word() {
        let dst = [Dst::Vixie, Dst::Literal].map(|mode| word::<DstArg, _>(&mode));
        assert_eq!(dst, ["vixie", "literal"]);
        let missed = [Missed::None, Missed::Last, Missed::All].map(|rule| word::<MissedArg, _>(&rule));
        assert_eq!(missed, ["none", "last", "all"]);
        let rules = [Overlap::Allow, Overlap::Skip, Overlap::QueueOne, Overlap::Replace];
        let overlap = rules.map(|rule| word::<OverlapArg, _>(&rule));
        assert_eq!(overlap, ["allow", "skip", "queue-one", "replace"]);
    }
}

//! The findings of one rule over time, and when they are reported.
//!
//! ```text
//!             breach           for `for`             no breach
//!   nothing ---------> held ---------------> told ---------------> recovered
//!      ^       no breach |                    |  ^ every `repeat`       |
//!      +-----------------+                    +--+                      | `repeat` after it was told
//!      +----------------------------------------------------------------+
//! ```
//!
//! If a subject is wrong again before its pause is over, it is reported when the pause is over, if it is still wrong. So a
//! subject that goes back and forth makes at most two messages per pause. All subjects of a rule that are due go into one
//! message, and there are 15 s between two messages of a rule.

use std::collections::{BTreeMap, BTreeSet};

use super::rule::{Breach, Rule};

/// After a message of a rule, changes are gathered for this time, in milliseconds.
pub(super) const GATHERED_MS: u64 = 15_000;

/// The death of a leader is noticed, and the next one elected, within this time, in milliseconds.
const DOUBTED_MS: u64 = 15_000;

/// The memory of one rule.
#[derive(Debug, Default)]
pub(super) struct Watch {
    subjects: BTreeMap<String, Subject>,
    told_ms: Option<u64>,
}

#[derive(Debug)]
struct Subject {
    /// When it became wrong; kept until after its recovery.
    since_ms: u64,
    is_wrong: bool,
    finding: String,
    /// When it was last reported as wrong.
    told_ms: Option<u64>,
    /// True if it was reported as wrong, and not yet as recovered.
    is_told: bool,
    /// When it was last reported as recovered.
    end_told_ms: Option<u64>,
}

/// The content of a message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Told {
    pub(super) wrong: Vec<Finding>,
    pub(super) recovered: Vec<String>,
}

/// One problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Finding {
    pub(super) subject: String,
    /// The problem in words.
    pub(super) text: String,
    /// For how long it has been wrong, in milliseconds.
    pub(super) lasted_ms: u64,
}

/// A problem, as a node sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProblemSeen {
    /// A topic, or a node as `node 2`.
    pub subject: String,
    /// For people, for example `3 buried jobs`.
    pub finding: String,
    /// For how long this node has seen it, in milliseconds.
    pub lasted_ms: u64,
    /// True if this node or the leader has sent a message about it.
    pub is_reported: bool,
}

impl Watch {
    /// Takes the present problems. Returns what to report, if anything.
    pub(super) fn look(&mut self, now_ms: u64, rule: &Rule, breaches: Vec<Breach>) -> Option<Told> {
        self.remember(now_ms, breaches);
        self.subjects.retain(|_, subject| {
            let pause_is_over = subject.told_ms.is_none_or(|told| now_ms - told >= rule.repeat_ms);
            let is_in_doubt = is_recent(subject.end_told_ms, now_ms);
            subject.is_wrong || subject.is_told || is_in_doubt || !pause_is_over
        });
        if self.told_ms.is_some_and(|told| now_ms - told < GATHERED_MS) {
            return None;
        }
        let mut told = Told::default();
        for (name, subject) in &mut self.subjects {
            let is_held = subject.is_wrong && now_ms - subject.since_ms >= rule.for_ms;
            let pause_is_over = subject.told_ms.is_none_or(|told| now_ms - told >= rule.repeat_ms);
            if is_held && pause_is_over {
                (subject.told_ms, subject.is_told) = (Some(now_ms), true);
                let lasted_ms = now_ms - subject.since_ms;
                let text = subject.finding.clone();
                told.wrong.push(Finding { subject: name.clone(), text, lasted_ms });
            } else if !subject.is_wrong && subject.is_told {
                (subject.end_told_ms, subject.is_told) = (Some(now_ms), false);
                told.recovered.push(name.clone());
            }
        }
        if told == Told::default() {
            return None;
        }
        self.told_ms = Some(now_ms);
        Some(told)
    }

    /// Messages of a short time ago may have been lost with the leader that was to send them: they are sent again.
    pub(super) fn doubt(&mut self, now_ms: u64) {
        for subject in self.subjects.values_mut() {
            if subject.is_wrong && is_recent(subject.told_ms, now_ms) {
                (subject.told_ms, subject.is_told) = (None, false);
            }
            // Its end may be reported without its beginning: better than the reverse.
            subject.is_told |= !subject.is_wrong && is_recent(subject.end_told_ms, now_ms);
        }
        self.told_ms = self.told_ms.filter(|told| !is_recent(Some(*told), now_ms));
    }

    /// How many subjects are reported as wrong.
    pub(super) fn told(&self) -> usize {
        self.subjects.values().filter(|subject| subject.is_told).count()
    }

    /// What is wrong now, reported or not.
    pub(super) fn problems(&self, now_ms: u64) -> impl Iterator<Item = ProblemSeen> {
        let wrong = self.subjects.iter().filter(|(_, subject)| subject.is_wrong);
        wrong.map(move |(name, subject)| ProblemSeen {
            subject: name.clone(),
            finding: subject.finding.clone(),
            lasted_ms: now_ms.saturating_sub(subject.since_ms),
            is_reported: subject.is_told,
        })
    }

    fn remember(&mut self, now_ms: u64, breaches: Vec<Breach>) {
        let wrong: BTreeSet<&str> = breaches.iter().map(|breach| breach.subject.as_str()).collect();
        for (name, subject) in &mut self.subjects {
            subject.is_wrong &= wrong.contains(name.as_str());
        }
        for Breach { subject: name, finding } in breaches {
            let new = Subject {
                since_ms: now_ms,
                is_wrong: false,
                finding: String::new(),
                told_ms: None,
                is_told: false,
                end_told_ms: None,
            };
            let subject = self.subjects.entry(name).or_insert(new);
            if !subject.is_wrong {
                subject.since_ms = now_ms;
            }
            (subject.is_wrong, subject.finding) = (true, finding);
        }
    }
}

/// True if it was reported so short a time ago that a leader that died since may not have sent it.
fn is_recent(told_ms: Option<u64>, now_ms: u64) -> bool {
    told_ms.is_some_and(|told| now_ms - told < DOUBTED_MS)
}

#[cfg(test)]
mod tests {
    use super::super::rule::Measure;
    use super::*;
    use adjourn_types::TopicPattern;

    const MINUTE: u64 = 60_000;

    fn rule(for_ms: u64, repeat_ms: u64) -> Rule {
        Rule {
            name: "late".to_owned(),
            measure: Measure::Lateness,
            topics: TopicPattern::all(),
            limit: 0,
            for_ms,
            repeat_ms,
            tell: Vec::new(),
        }
    }

    /// The report at a time when these subjects are wrong: the wrong ones, and the recovered ones with a minus.
    fn told(watch: &mut Watch, rule: &Rule, now_ms: u64, wrong: &[&str]) -> Vec<String> {
        let breaches =
            wrong.iter().map(|subject| Breach { subject: (*subject).to_owned(), finding: "late".to_owned() });
        let told = watch.look(now_ms, rule, breaches.collect()).unwrap_or_default();
        let wrong = told.wrong.into_iter().map(|finding| finding.subject);
        wrong.chain(told.recovered.into_iter().map(|subject| format!("-{subject}"))).collect()
    }

    #[test]
    fn what_is_wrong_for_long_enough_is_told_repeated_and_recovers() {
        let (mut watch, rule) = (Watch::default(), rule(30_000, 10 * MINUTE));
        let none: [&str; 0] = [];
        assert_eq!(told(&mut watch, &rule, 0, &["a"]), none);
        assert_eq!(told(&mut watch, &rule, 29_999, &["a"]), none);
        assert_eq!(told(&mut watch, &rule, 30_000, &["a"]), ["a"]);
        assert_eq!(watch.told(), 1);
        let problems: Vec<_> = watch.problems(40_000).map(|one| (one.lasted_ms, one.is_reported)).collect();
        assert_eq!(problems, [(40_000, true)]);
        assert_eq!(told(&mut watch, &rule, 10 * MINUTE, &["a"]), none);
        assert_eq!(told(&mut watch, &rule, 10 * MINUTE + 30_000, &["a"]), ["a"]);
        assert_eq!(told(&mut watch, &rule, 12 * MINUTE, &[]), ["-a"]);
        assert_eq!((watch.told(), watch.problems(12 * MINUTE).count()), (0, 0));
    }

    #[test]
    fn what_is_wrong_for_a_moment_is_not_told() {
        let (mut watch, rule) = (Watch::default(), rule(30_000, MINUTE));
        let none: [&str; 0] = [];
        for now_ms in (0..10 * MINUTE).step_by(20_000) {
            let wrong: &[&str] = if now_ms % 40_000 == 0 { &["a"] } else { &[] };
            assert_eq!(told(&mut watch, &rule, now_ms, wrong), none);
        }
    }

    #[test]
    fn what_goes_back_and_forth_makes_two_messages_per_pause() {
        let (mut watch, rule) = (Watch::default(), rule(0, 60 * MINUTE));
        let mut messages = Vec::new();
        for minute in 0..120 {
            let wrong: &[&str] = if minute % 2 == 0 { &["a"] } else { &[] };
            messages.extend(told(&mut watch, &rule, minute * MINUTE, wrong));
        }
        assert_eq!(messages, ["a", "-a", "a", "-a"]);
    }

    #[test]
    fn subjects_share_a_message_and_messages_keep_apart() {
        let (mut watch, rule) = (Watch::default(), rule(0, 60 * MINUTE));
        let none: [&str; 0] = [];
        assert_eq!(told(&mut watch, &rule, 0, &["a", "b"]), ["a", "b"]);
        assert_eq!(told(&mut watch, &rule, 5_000, &["a", "c"]), none);
        assert_eq!(told(&mut watch, &rule, 10_000, &["a", "c", "d"]), none);
        assert_eq!(told(&mut watch, &rule, GATHERED_MS, &["a", "c", "d"]), ["c", "d", "-b"]);
    }

    #[test]
    fn what_may_not_have_been_told_is_told_again() {
        let (mut watch, rule) = (Watch::default(), rule(0, 60 * MINUTE));
        let none: [&str; 0] = [];
        assert_eq!(told(&mut watch, &rule, 0, &["a"]), ["a"]);
        assert_eq!(told(&mut watch, &rule, MINUTE, &["a", "b"]), ["b"]);
        watch.doubt(MINUTE + 5_000);
        assert_eq!(told(&mut watch, &rule, MINUTE + 5_000, &["a", "b"]), ["b"]);
        assert_eq!(told(&mut watch, &rule, 2 * MINUTE, &["a", "b"]), none);
    }

    #[test]
    fn an_end_that_may_not_have_been_told_is_told_again() {
        let (mut watch, rule) = (Watch::default(), rule(0, MINUTE));
        let none: [&str; 0] = [];
        assert_eq!(told(&mut watch, &rule, 0, &["a"]), ["a"]);
        assert_eq!(told(&mut watch, &rule, 5_000, &[]), none, "it is gathered");
        watch.doubt(10_000);
        assert_eq!(told(&mut watch, &rule, 10_000, &[]), ["-a"]);
        assert_eq!(told(&mut watch, &rule, 2 * MINUTE, &["a"]), ["a"]);
        assert_eq!(told(&mut watch, &rule, 4 * MINUTE, &[]), ["-a"]);
        watch.doubt(4 * MINUTE + 10_000);
        assert_eq!(told(&mut watch, &rule, 4 * MINUTE + 10_000, &[]), ["-a"]);
        watch.doubt(6 * MINUTE);
        assert_eq!(told(&mut watch, &rule, 6 * MINUTE, &[]), none);
    }

    #[test]
    fn subjects_that_are_well_again_are_forgotten() {
        let (mut watch, rule) = (Watch::default(), rule(0, 2 * MINUTE));
        told(&mut watch, &rule, 0, &["a"]);
        told(&mut watch, &rule, MINUTE, &[]);
        assert_eq!(watch.subjects.len(), 1, "its pause is not over");
        told(&mut watch, &rule, 2 * MINUTE, &[]);
        assert!(watch.subjects.is_empty());
    }
}

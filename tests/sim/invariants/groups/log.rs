//! What the committed entries do to jobs and settings of the topics with groups.

use std::sync::{Arc, Mutex, MutexGuard};

use adjourn_engine::{Command, Entry, JobEvent, JobEventKind, Outcome, PushOutcome};
use adjourn_types::{GroupPolicy, JobId, Millis, PolicyChange, Setting};

use super::super::super::clients::{GROUP_TOPICS, group_named};

/// The entries with something of these topics, in order. One invariant writes, others read.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct GroupLog(Arc<Mutex<Vec<Step>>>);

/// One entry.
#[derive(Debug)]
pub(super) struct Step {
    /// Jobs that were pushed, with their groups.
    pub(super) pushed: Vec<(JobId, &'static str)>,
    /// Settings that were changed, before, between or after the events.
    pub(super) settings: Vec<Settings>,
    pub(super) events: Vec<Event>,
}

/// A change of settings.
#[derive(Clone, Debug)]
pub(super) enum Settings {
    Topic { topic: &'static str, set: GroupPolicy, unset: Vec<Setting> },
    Group { topic: &'static str, group: String, weight: Option<u32>, paused: Option<bool> },
}

/// Something that happened to a job.
#[derive(Clone, Copy, Debug)]
pub(super) struct Event {
    pub(super) job: JobId,
    pub(super) topic: &'static str,
    pub(super) kind: JobEventKind,
    /// The engine's, after the entry.
    pub(super) stamp: Millis,
}

impl GroupLog {
    pub(super) fn steps(&self) -> MutexGuard<'_, Vec<Step>> {
        self.0.lock().expect("a run has one thread")
    }

    /// An entry was applied.
    pub(in super::super) fn note(
        &self,
        stamp: Millis,
        entry: &Entry<'_>,
        outcomes: &[Outcome],
        events: Vec<JobEvent>,
    ) {
        let mut step = Step { pushed: Vec::new(), settings: Vec::new(), events: Vec::new() };
        for (command, outcome) in entry.commands.iter().zip(outcomes) {
            step.pushed.extend(pushed(command, outcome));
            step.settings.extend(settings(command).filter(|_| *outcome == Outcome::Done));
        }
        step.events.extend(events.into_iter().filter_map(|JobEvent { job, topic, kind, .. }| {
            Some(Event { job, topic: known(topic.as_str())?, kind, stamp })
        }));
        if !step.events.is_empty() || !step.settings.is_empty() {
            self.steps().push(step);
        }
    }
}

fn known(topic: &str) -> Option<&'static str> {
    GROUP_TOPICS.into_iter().find(|known| *known == topic)
}

fn pushed(command: &Command<'_>, outcome: &Outcome) -> Vec<(JobId, &'static str)> {
    let (Command::Push { topic, jobs, .. }, Outcome::Pushed(results)) = (command, outcome) else {
        return Vec::new();
    };
    let all = jobs.iter().zip(results).filter(|_| known(topic).is_some());
    all.filter_map(|(new, result)| match result {
        PushOutcome::Pushed(job) => Some((*job, group_named(new.body)?)),
        _ => None,
    })
    .collect()
}

fn settings(command: &Command<'_>) -> Option<Settings> {
    match command {
        Command::TopicPolicy { topic, change } => {
            let PolicyChange { set, unset } = PolicyChange::decode(change).ok()?;
            let unset = unset.into_iter().collect();
            Some(Settings::Topic { topic: known(topic)?, set: set.groups, unset })
        }
        Command::GroupSet { topic, group, change } => Some(Settings::Group {
            topic: known(topic)?,
            group: (*group).to_owned(),
            weight: change.weight,
            paused: change.paused,
        }),
        _ => None,
    }
}

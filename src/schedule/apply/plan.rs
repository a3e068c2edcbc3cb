//! What is to be done so that a server has the schedules of a file.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;

use super::file::calendar;
use crate::connection::failure;
use crate::exit::Failure;
use crate::schedule::next::now;
use crate::schedule::settings::{body_text, settings, shortened};
use adjourn_calendar::ZoneData;
use adjourn_client::{Client, ClientError};
use adjourn_protocol::{ErrorCode, IfVersion, ScheduleConditions, ScheduleReport, ScheduleSet};
use adjourn_types::{Millis, ScheduleRules, TopicName};

/// Settings that say when a schedule fires: with other ones a server refuses a schedule that never fires.
const TIMES: [&str; 4] = ["when", "zone", "dst", "from"];

/// The steps, and what the file does not have.
pub(super) struct Plan {
    /// One for each schedule of the file.
    pub(super) steps: Vec<Step>,
    /// The schedules of the topics of the file that the file does not have.
    pub(super) surplus: Vec<(TopicName, String)>,
}

/// A schedule of the file, and how that of the server differs from it.
pub(super) struct Step {
    pub(super) wanted: ScheduleSet,
    pub(super) difference: Difference,
    found: Option<Found>,
}

/// What the server has, as far as the next time depends on it.
struct Found {
    fired: u64,
    origin: Option<Millis>,
}

/// How the schedule of a server differs from that of the file.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Difference {
    /// The server has none.
    New,
    /// It has other settings.
    Changed {
        /// How often it was set.
        version: u32,
        /// What differs.
        changes: Vec<SettingChange>,
    },
    /// It has the same settings.
    Same,
}

/// A setting before and after.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct SettingChange {
    pub(super) name: String,
    pub(super) before: String,
    pub(super) after: String,
}

impl Plan {
    /// Compares the schedules of a file with those of the server.
    pub(super) async fn make(client: &Client, wanted: Vec<ScheduleSet>) -> Result<Self, Failure> {
        let names: BTreeSet<_> = wanted.iter().map(|set| (set.topic.clone(), set.name.clone())).collect();
        let topics: BTreeSet<&TopicName> = names.iter().map(|(topic, _)| topic).collect();
        let mut surplus = Vec::new();
        for topic in topics {
            let listed = client
                .schedules(Some(topic), &ScheduleConditions::default())
                .await
                .map_err(|error| failure(&error))?
                .into_iter()
                .map(|one| (one.topic, one.name));
            surplus.extend(listed.filter(|one| !names.contains(one)));
        }
        let mut steps = Vec::new();
        for wanted in wanted {
            let found = match client.schedule(&wanted.topic, &wanted.name).await {
                Ok(report) => Some(report),
                Err(error) if error.code() == Some(ErrorCode::NotFound) => None,
                Err(error) => return Err(of_one(&wanted.topic, &wanted.name, &error)),
            };
            steps.push(Step::new(wanted, found.as_ref()));
        }
        Ok(Self { steps, surplus })
    }

    /// Why the server would refuse some of the steps.
    pub(super) fn refused(&self, zones: &ZoneData, body_bytes_max: u32) -> Vec<String> {
        let now = now();
        let refused = self.steps.iter().filter_map(|step| {
            let ScheduleSet { topic, name, .. } = &step.wanted;
            Some(format!("schedule {name} of {topic}: {}", step.refused(zones, body_bytes_max, now)?))
        });
        refused.collect()
    }
}

impl Step {
    fn new(wanted: ScheduleSet, found: Option<&ScheduleReport>) -> Self {
        let difference = found.map_or(Difference::New, |found| difference(&wanted, found));
        let found = found.map(|found| Found { fired: found.state.fired, origin: found.rules.origin });
        Self { wanted, difference, found }
    }

    /// The request. It is refused if the schedule has changed since it was looked at.
    pub(super) fn set(self) -> ScheduleSet {
        let if_version = match self.difference {
            Difference::New => IfVersion::New,
            Difference::Same => IfVersion::Any,
            Difference::Changed { version, .. } => {
                NonZeroU32::new(version).map_or(IfVersion::Any, IfVersion::Is)
            }
        };
        ScheduleSet { if_version, ..self.wanted }
    }

    fn refused(&self, zones: &ZoneData, body_bytes_max: u32, now: Millis) -> Option<String> {
        let body_bytes = self.wanted.template.body.len();
        if body_bytes > usize::try_from(body_bytes_max).unwrap_or(usize::MAX) {
            return Some(format!(
                "body: it has {body_bytes} bytes, and the server takes at most {body_bytes_max}"
            ));
        }
        let has_other_times = match &self.difference {
            Difference::New => true,
            Difference::Same => false,
            Difference::Changed { changes, .. } => {
                changes.iter().any(|change| TIMES.contains(&change.name.as_str()))
            }
        };
        let rules = &self.wanted.rules;
        let fired = self.found.as_ref().map_or(0, |found| found.fired);
        if !has_other_times || rules.count.is_some_and(|count| count.get() <= fired) {
            return None;
        }
        let origin = self.found.as_ref().and_then(|found| found.origin).or(rules.start).unwrap_or(now);
        let next = calendar(rules, zones, origin).ok()?.next_after(now);
        next.is_none().then(|| format!("when: it never fires after now: {}", rules.when))
    }
}

/// The failure of a request about one schedule.
pub(super) fn of_one(topic: &TopicName, name: &str, error: &ClientError) -> Failure {
    let Failure { exit, message } = failure(error);
    Failure::new(exit, format_args!("schedule {name} of {topic}: {message}"))
}

fn difference(wanted: &ScheduleSet, found: &ScheduleReport) -> Difference {
    // A server notes an origin with every schedule, and keeps it if the next set says none.
    let origin = found.rules.origin.filter(|_| wanted.rules.origin.is_some());
    let before = texts(settings(&ScheduleRules { origin, ..found.rules.clone() }, &found.template));
    let after = texts(settings(&wanted.rules, &wanted.template));
    let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let shown = |text: Option<&String>| text.map_or_else(|| "-".to_owned(), |text| shortened(text));
    let differs = names.into_iter().filter(|name| before.get(*name) != after.get(*name));
    let mut changes: Vec<SettingChange> = differs
        .map(|name| SettingChange {
            name: name.clone(),
            before: shown(before.get(name)),
            after: shown(after.get(name)),
        })
        .collect();
    let (body, new_body) = (&found.template.body, &wanted.template.body);
    if body != new_body {
        let (before, after) = (body_text(body), body_text(new_body));
        changes.push(SettingChange { name: "body".to_owned(), before, after });
    }
    if changes.is_empty() {
        return Difference::Same;
    }
    Difference::Changed { version: found.state.version, changes }
}

/// The settings by name; the values of a header that is repeated stand in one text.
fn texts(settings: Vec<crate::schedule::settings::Setting>) -> BTreeMap<String, String> {
    let mut texts: BTreeMap<String, String> = BTreeMap::new();
    for (name, value) in settings {
        let text = texts.entry(name.into_owned()).or_default();
        if !text.is_empty() {
            text.push_str(", ");
        }
        text.push_str(&value);
    }
    texts
}

#[cfg(test)]
mod tests {
    use super::*;
    use adjourn_protocol::{JobTemplate, ScheduleState};
    use adjourn_types::{AttributesBuilder, JobId};

    fn set(when: &str, headers: &[(&str, &str)]) -> ScheduleSet {
        let builder = headers
            .iter()
            .fold(AttributesBuilder::default(), |builder, (name, value)| builder.header(name, value));
        let rules = ScheduleRules { when: when.to_owned(), ..ScheduleRules::default() };
        ScheduleSet {
            topic: "reports".parse().expect("a topic"),
            name: "daily".to_owned(),
            rules: Box::new(rules),
            template: JobTemplate { attributes: builder.build().expect("valid"), ..JobTemplate::default() },
            if_version: IfVersion::Any,
        }
    }

    /// The schedule as a server has it.
    fn found(set: &ScheduleSet) -> ScheduleReport {
        ScheduleReport {
            state: ScheduleState {
                id: JobId(7),
                version: 3,
                next: None,
                has_come: false,
                is_held: false,
                paused: None,
                fired: 2,
                running: 0,
                failures: 0,
            },
            pause_note: String::new(),
            rules: ScheduleRules { origin: Some(Millis(1)), ..*set.rules.clone() },
            template: set.template.clone(),
            history: Vec::new(),
        }
    }

    #[test]
    fn what_the_server_adds_and_the_order_of_headers_are_no_difference() {
        let wanted = set("@daily", &[("a", "1"), ("b", "2")]);
        let mut other = found(&set("@daily", &[("b", "2"), ("a", "1")]));
        other.rules.zone = "UTC".to_owned();
        assert_eq!(difference(&wanted, &other), Difference::Same);
        let step = Step::new(wanted.clone(), Some(&other));
        assert!(step.refused(&ZoneData::bundled(), 0, Millis(0)).is_none());
        assert_eq!(Step::new(wanted, None).set().if_version, IfVersion::New);
    }

    #[test]
    fn each_change_is_named_and_the_version_is_expected() {
        let before = found(&set("@daily", &[("a", "1")]));
        let mut wanted = set("@hourly", &[("a", "2"), ("a", "3")]);
        wanted.rules.origin = Some(Millis(1000));
        wanted.template.body = "x".into();
        let step = Step::new(wanted, Some(&before));
        let Difference::Changed { version: 3, changes } = &step.difference else { panic!("changed") };
        let told: Vec<_> = changes
            .iter()
            .map(|change| format!("{}: {} -> {}", change.name, change.before, change.after))
            .collect();
        let expected = [
            "from: 1970-01-01T00:00:00.001Z -> 1970-01-01T00:00:01.000Z",
            "header a: 1 -> 2, 3",
            "when: @daily -> @hourly",
            "body: - -> x",
        ];
        assert_eq!(told, expected);
        assert_eq!(Some(step.set().if_version), NonZeroU32::new(3).map(IfVersion::Is));
    }

    #[test]
    fn a_schedule_that_would_never_fire_is_refused_unless_its_count_is_over() {
        let zones = ZoneData::bundled();
        let past = set("@at 1970-01-01T00:00:01Z", &[]);
        let refused = |step: &Step, now| step.refused(&zones, 0, Millis(now));
        let new = Step::new(past.clone(), None);
        assert_eq!(refused(&new, 0), None);
        assert!(refused(&new, 1000).is_some_and(|why| why.contains("never fires after now: @at")));
        let before = found(&set("@daily", &[]));
        assert!(refused(&Step::new(past.clone(), Some(&before)), 1000).is_some(), "it has other times");
        assert_eq!(refused(&Step::new(past.clone(), Some(&found(&past))), 1000), None, "nothing changes");
        let mut over = past;
        over.rules.count = std::num::NonZeroU64::new(2);
        assert_eq!(refused(&Step::new(over.clone(), Some(&before)), 1000), None);
        over.template.body = "x".into();
        assert!(
            refused(&Step::new(over, Some(&before)), 0).is_some_and(|why| why.starts_with("body: it has 1"))
        );
    }
}

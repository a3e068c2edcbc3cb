//! The firing of schedules: the leader decides with the calendar, and the state takes a decision only once.
//!
//! The engine says which schedules have an instant that has come. For each the leader reads the record, decides what is fired,
//! what is skipped and what comes next, and proposes all of that as one command. A schedule is decided about again when its
//! command is applied, whatever came of it: so what was decided from an old state is decided anew.

use std::collections::{BTreeMap, BTreeSet};
use std::num::{NonZeroU32, NonZeroU64};

use super::Leader;
use super::proposals::Reply;
use super::schedules::{Template, template, unreadable_rules};
use crate::group::Group;
use crate::io::Notice;
use crate::node::Node;
use crate::node::connections::Asker;
use crate::stopping::Stop;
use adjourn_calendar::{Calendar, CatchUp, Decision, jitter_ms};
use adjourn_engine::{Command, JobTemplate, NewFiring, ScheduleView, SkippedInstants, Tick};
use adjourn_protocol::Response;
use adjourn_storage::StorageError;
use adjourn_types::{JobId, Key, Overlap, SCHEDULE_MISSED_DEFAULT, ScheduleRules, SkipReason};

/// Most schedules about which one turn decides.
const FIRED_PER_TURN_MAX: usize = 32;
/// A turn decides about no more schedules after this much work.
const FIRING_WORK: u64 = 256;
/// How many instants that were missed are a unit of work: they are counted one by one.
const INSTANTS_PER_UNIT: u64 = 16;
/// Most of them whose commands are not applied: so many for each millisecond that a command takes, within these limits. More would make
/// entries longer, and fewer would let a slow disk, or a distant member, keep them waiting.
const IN_FLIGHT_PER_MS: usize = 16;
const IN_FLIGHT_MIN: usize = 128;
const IN_FLIGHT_MAX: usize = 4096;
/// The jobs that one command pushes take at most about this many bytes, if they are more than one.
const FIRED_BYTES_MAX: usize = 256 << 10;
/// What a job takes in a command beside its record, in bytes; more than that.
const JOB_BYTES: usize = 128;
/// After this time the leader looks again at a schedule whose rules it could not read, in microseconds.
const LOOK_AGAIN_US: u64 = 60_000_000;

/// The schedules that are being fired.
#[derive(Debug, Default)]
pub(crate) struct Firings {
    /// Those whose commands are not applied, and when these were proposed, on the monotonic clock.
    in_flight: BTreeMap<JobId, u64>,
    /// How long the last command took until it was applied, in microseconds.
    took_us: u64,
    /// Those whose rules this member could not read.
    unreadable: BTreeSet<JobId>,
    /// When it looks at them again, on the monotonic clock.
    look_again_us: u64,
}

impl Firings {
    /// A schedule was set: rules that could not be read may be others by now.
    pub(super) fn look_again(&mut self) {
        self.unreadable.clear();
    }

    /// Leaves a schedule alone for a while. Returns true if it is the first one: the others have the same reason, most likely.
    fn cannot_read(&mut self, schedule: JobId, now_us: u64) -> bool {
        let is_first = self.unreadable.is_empty();
        if is_first {
            self.look_again_us = now_us + LOOK_AGAIN_US;
        }
        self.unreadable.insert(schedule);
        is_first
    }

    /// True if nothing is proposed that is not applied.
    pub(super) fn are_done(&self) -> bool {
        self.in_flight.is_empty()
    }

    /// A command was applied, or is lost: the schedule is decided about again.
    pub(super) fn done(&mut self, schedule: JobId, now_us: u64) {
        if let Some(since_us) = self.in_flight.remove(&schedule) {
            self.took_us = now_us.saturating_sub(since_us);
        }
    }

    /// True if no more commands can be proposed before some are applied.
    fn are_enough(&self) -> bool {
        let took_ms = usize::try_from(self.took_us / 1000).unwrap_or(usize::MAX);
        let most = took_ms.saturating_mul(IN_FLIGHT_PER_MS).clamp(IN_FLIGHT_MIN, IN_FLIGHT_MAX);
        self.in_flight.len() >= most
    }
}

impl Leader {
    /// True if a schedule can be fired now.
    pub(super) fn may_fire(&self, node: &Node, group: &Group) -> bool {
        self.fires(node) && self.to_fire(node, group).next().is_some()
    }

    /// True if a command can be proposed for a schedule.
    fn fires(&self, node: &Node) -> bool {
        node.stop == Stop::No && !self.firings.are_enough() && self.no_room_for_jobs(node).is_none()
    }

    /// The schedules whose instant has come and about which nothing is proposed.
    fn to_fire(&self, node: &Node, group: &Group) -> impl Iterator<Item = JobId> {
        let Firings { in_flight, unreadable, look_again_us, .. } = &self.firings;
        let looks_again = node.now_us >= *look_again_us;
        let waits = move |schedule: &JobId| {
            in_flight.contains_key(schedule) || (!looks_again && unreadable.contains(schedule))
        };
        group.state.engine.schedules_to_fire().filter(move |schedule| !waits(schedule))
    }

    /// Decides about schedules whose instant has come, up to the work of a turn.
    pub(crate) fn fire_schedules(&mut self, node: &mut Node, group: &mut Group) {
        let due: Vec<_> = self.to_fire(node, group).take(FIRED_PER_TURN_MAX).collect();
        if node.now_us >= self.firings.look_again_us {
            self.firings.look_again();
        }
        let until = group.work_done() + FIRING_WORK;
        for schedule in due {
            let view = group.state.engine.schedule(schedule);
            let Some(view) = view.filter(|_| self.fires(node) && group.work_done() < until) else { break };
            group.work.count(1);
            // A client that asks for what cannot be read is told, too. Other schedules go on.
            let template = template(group, &view).map_err(|error| error.to_string());
            let decided =
                template.and_then(|template| Ok((decide(node, group, &view, &template)?, template)));
            match decided {
                Ok((decision, template)) => {
                    let skipped = decision.skipped.map_or(0, |skipped| skipped.instants);
                    group.work.count((skipped + decision.fire.len() as u64) / INSTANTS_PER_UNIT);
                    self.fire(node, group, &view, &template, &decision);
                }
                Err(why) => {
                    if self.firings.cannot_read(view.id, node.now_us) {
                        node.notices.push(Notice::ScheduleUnreadable { schedule: view.id, why });
                    }
                }
            }
        }
    }

    /// Proposes what was decided.
    fn fire(
        &mut self,
        node: &Node,
        group: &Group,
        view: &ScheduleView,
        template: &Template,
        decision: &Decision,
    ) {
        let (Some(instant), Some(rules)) = (view.next, &template.rules) else { return };
        self.firings.in_flight.insert(view.id, node.now_us);
        let keys: Vec<_> =
            decision.fire.iter().map(|instant| rules.key_of(&template.name, *instant)).collect();
        let jobs = decision.fire.iter().zip(&keys).map(|(instant, key)| {
            let late_ms = jitter_ms(&template.name, *instant, rules.jitter_ms.into());
            NewFiring { instant: *instant, due: instant.after(late_ms), key: key.as_ref().map(Key::as_bytes) }
        });
        let firings: Vec<_> = jobs.collect();
        let skipped = decision.skipped.map(|skipped| SkippedInstants {
            first: skipped.first,
            last: skipped.last,
            instants: skipped.instants,
            reason: if view.is_held { SkipReason::Overlap } else { SkipReason::Missed },
        });
        let now = group.state.clock.wall();
        let due = firings.iter().filter(|firing| firing.due <= now).count() as u64;
        if due > 0 {
            self.proposals.add_fresh(view.topic, due);
        }
        let command = Command::ScheduleFire {
            schedule: view.id,
            record_checksum: view.body.checksum,
            tick: Some(Tick { instant, skipped, next: decision.next, left: left(rules, view) }),
            firings,
            template: JobTemplate { attributes: template.attributes.as_bytes(), body: &template.stored.body },
        };
        self.proposals.add_command(node, group, &command, Reply::Fired(view.id));
    }

    /// Pushes a job of a schedule because a user asks for it. Returns the answer if it cannot.
    ///
    /// # Errors
    ///
    /// If the disk cannot be read.
    pub(super) fn run_schedule(
        &mut self,
        node: &Node,
        group: &mut Group,
        asker: Asker,
        view: &ScheduleView,
    ) -> Result<Option<Response>, StorageError> {
        let refusal = node.stopping().or_else(|| self.no_room_for_jobs(node));
        if let Some(refusal) = refusal {
            return Ok(Some(Response::Error(refusal)));
        }
        let template = template(group, view)?;
        let Some(rules) = &template.rules else { return Ok(Some(Response::Error(unreadable_rules()))) };
        let now = group.state.clock.wall();
        // Without a key of its own: the usual one belongs to an instant.
        let firing = NewFiring { instant: now, due: now, key: rules.key.as_ref().map(Key::as_bytes) };
        self.proposals.add_fresh(view.topic, 1);
        let command = Command::ScheduleFire {
            schedule: view.id,
            record_checksum: view.body.checksum,
            tick: None,
            firings: vec![firing],
            template: JobTemplate { attributes: template.attributes.as_bytes(), body: &template.stored.body },
        };
        self.proposals.add_command(node, group, &command, Reply::Request(asker));
        Ok(None)
    }
}

/// At how many instants a schedule may still push a job.
fn left(rules: &ScheduleRules, view: &ScheduleView) -> Option<u64> {
    rules.count.map(|count| count.get().saturating_sub(view.fired))
}

fn decide(node: &Node, group: &Group, view: &ScheduleView, template: &Template) -> Result<Decision, String> {
    let Template { rules, stored, attributes, .. } = template;
    let rules = rules.as_ref().ok_or("this version cannot read them")?;
    let instant = view.next.ok_or("it has no next instant")?;
    // The state says that it has come: this node's clock may have been set back since.
    let now = group.state.clock.wall().max(instant);
    let calendar =
        Calendar::of_rules(rules, instant, &node.config.zones).map_err(|error| error.to_string())?;
    if view.is_held {
        return Ok(calendar.decide_held(instant, now));
    }
    let job_bytes = JOB_BYTES + stored.body.len() + attributes.as_bytes().len();
    let catch_up = CatchUp {
        missed: rules.missed,
        window_ms: rules.window_ms.map(NonZeroU64::get),
        instants_max: rules.missed_max.map_or(SCHEDULE_MISSED_DEFAULT, NonZeroU32::get) as usize,
        together_max: match rules.overlap {
            // The second one waits until the first one has ended.
            Overlap::QueueOne => 1,
            _ => FIRED_BYTES_MAX / job_bytes,
        },
    };
    Ok(calendar.decide(instant, now, &catch_up, left(rules, view)))
}

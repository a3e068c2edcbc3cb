//! Applying an entry: what each command does, and what happens before and after the commands.

mod change;
mod due;
mod edit;
mod push;
mod reserve;
mod schedule;
mod settle;

pub(super) use reserve::Scratch;

use crate::Engine;
use crate::command::{Command, JobSelect};
use crate::entry::Entry;
use crate::key_secret::KeySecret;
use crate::numbers::skipped;
use crate::outcome::{Applied, Outcome, Paused, Reject};
use crate::sessions::Opening;
use crate::store::JobStore;
use crate::topics::groups::GroupChange;
use adjourn_types::limits::{CLIENT_BYTES_MAX, DELAY_MS_MAX};
use adjourn_types::{Member, PolicyChange, SessionId, SessionSecret, first_bytes};

/// An entry collects timers up to this far ahead of its stamp, so that no later entry has to collect all of them.
const PREPARE_AHEAD_MS: u64 = 5000;

/// Most timers that an entry collects ahead.
const PREPARE_STEPS_MAX: usize = 2048;

/// Applies one entry.
pub(super) struct Applier<'a, S> {
    engine: &'a mut Engine,
    store: &'a mut S,
    applied: Applied,
    /// Ready jobs that the entry's reserves took out of the ready order without granting them.
    put_away: usize,
}

impl<'a, S: JobStore> Applier<'a, S> {
    pub(super) fn new(engine: &'a mut Engine, store: &'a mut S) -> Self {
        Self { engine, store, applied: Applied::default(), put_away: 0 }
    }

    /// See [`Engine::apply`].
    pub(super) fn apply(mut self, entry: &Entry<'_>) -> Result<Applied, S::Error> {
        let before = self.engine.stamp();
        let stamp = self.engine.advance(entry.stamp);
        self.engine.turn_back();
        self.move_due(stamp.since(before))?;
        self.engine.forget_old();
        self.applied.outcomes.reserve_exact(entry.commands.len());
        for command in &entry.commands {
            self.engine.load_named(command, self.store)?;
            let outcome = self.carry_out(command).unwrap_or_else(Outcome::Rejected);
            self.applied.outcomes.push(outcome);
        }
        self.applied.topics_gone = self.engine.end_entry();
        let ahead = self.engine.clock.at(stamp.after(PREPARE_AHEAD_MS));
        self.engine.timers.prepare(ahead, PREPARE_STEPS_MAX);
        Ok(self.applied)
    }

    fn carry_out(&mut self, command: &Command<'_>) -> Result<Outcome, Reject> {
        match command {
            Command::Genesis { key_secret } => self.found(*key_secret)?,
            Command::ClockOffset { offset_ms } => self.engine.clock.set_offset(*offset_ms),
            Command::SessionOpen { secret, leases_outlive, client } => {
                return self.open_session(&Opening {
                    secret: *secret,
                    leases_outlive: *leases_outlive,
                    client,
                });
            }
            Command::SessionResume { session, secret } => return self.resume_session(*session, secret),
            Command::SessionLapse { session } => return self.end_session(*session),
            Command::SessionClose { session } => return self.close_session(*session),
            Command::Push { session, sequence, topic, jobs } => {
                return self.push(*session, *sequence, topic, jobs).map(Outcome::Pushed);
            }
            Command::PushIdempotent { .. } => return self.push_idempotent(command),
            Command::Reserve { session, topics, jobs_max, bytes_max } => {
                return self.reserve(*session, topics, *jobs_max, *bytes_max);
            }
            Command::ReserveJob { session, job } => return self.reserve_job(*session, self.select(job)?),
            Command::Delete { job } => return Ok(self.delete(self.select(job)?)),
            Command::Reschedule { job, due, version } => {
                return self.reschedule(self.select(job)?, *due, *version);
            }
            Command::Edit { job, edit, version } => {
                return self.edit(self.select(&JobSelect::Id(*job))?, edit, *version);
            }
            Command::ScheduleSet { topic, schedule, before } => {
                return self.set_schedule(topic, schedule, *before);
            }
            Command::ScheduleFire { schedule, record_checksum, tick, firings, template } => {
                return self.fire_schedule(*schedule, *record_checksum, tick.as_ref(), firings, *template);
            }
            Command::SchedulePause { schedule, paused, note } => {
                self.pause_schedule(*schedule, *paused, note)?;
            }
            Command::ScheduleDelete { schedule } => self.delete_schedule(*schedule)?,
            Command::RunNow { job } => return self.run_now(self.select(job)?),
            Command::Kick { job } => return self.kick(self.select(job)?),
            Command::TopicPause { topic, paused, by, for_ms } => {
                self.pause_topic(topic, paused.then_some(*by), *for_ms)?;
            }
            Command::TopicPolicy { topic, change } => self.change_policy(topic, change)?,
            Command::TopicDelete { topic } => return self.delete_topic(topic),
            Command::GroupSet { topic, group, change } => self.set_group(topic, group, *change)?,
            Command::SkipIds { floor } => self.skip_ids(*floor),
            Command::SkipFences { count } => self.engine.numbers.skip_fences(*count),
            Command::MemberSet { node, storage_id, peer_address, client_address } => {
                let [peer_address, client_address] = [*peer_address, *client_address].map(str::to_owned);
                let member = Member { node: *node, storage_id: *storage_id, peer_address, client_address };
                self.engine.members.set(member, &mut self.engine.sum)?;
            }
            Command::FeatureLevel { level } => self.engine.members.raise_feature_level(*level),
            Command::RetryDefaults { defaults } => self.engine.defaults.set(defaults)?,
            Command::KickMany { topic, jobs_max } => return self.kick_many(topic, *jobs_max),
            Command::Finish { .. }
            | Command::Release { .. }
            | Command::Touch { .. }
            | Command::Bury { .. } => return Ok(self.settle(command)),
            Command::Bulk { topic, change, jobs, conditions } => {
                return Ok(self.change_many(*change, *topic, jobs, conditions));
            }
            Command::Move { from, to, jobs, conditions } => {
                return self.move_many(*from, to, jobs, conditions);
            }
        }
        Ok(Outcome::Done)
    }

    fn skip_ids(&mut self, floor: u64) {
        self.engine.numbers.skip(floor);
        self.engine.sessions.skip(|last| skipped(last, floor));
        self.engine.members.clear(&mut self.engine.sum);
    }

    /// Changes the settings of a topic, which is created if it is new.
    fn change_policy(&mut self, topic: &str, change: &[u8]) -> Result<(), Reject> {
        // The entry decoder refuses entries with a change that this version cannot read.
        let change = PolicyChange::decode(change).map_err(|_| Reject::NotFound)?;
        let topic = self.engine.intern(topic)?;
        self.engine.topics.change_policy(topic, &change);
        Ok(())
    }

    fn found(&mut self, key_secret: [u8; 16]) -> Result<(), Reject> {
        // The keys of existing jobs were hashed with the secret of that time.
        if self.engine.has_genesis() || self.engine.jobs.len() > 0 {
            return Err(Reject::GenesisTwice);
        }
        self.engine.key_secret = KeySecret(Some(key_secret));
        Ok(())
    }

    fn open_session(&mut self, opening: &Opening<'_>) -> Result<Outcome, Reject> {
        let session = self.engine.sessions.open(opening, &mut self.engine.sum)?;
        Ok(Outcome::Session { session })
    }

    fn resume_session(&mut self, session: SessionId, secret: &SessionSecret) -> Result<Outcome, Reject> {
        self.engine.sessions.resume(session, secret)?;
        Ok(Outcome::Session { session })
    }

    /// Changes the settings of a group. Its topic must exist.
    fn set_group(&mut self, topic: &str, group: &str, change: GroupChange) -> Result<(), Reject> {
        let topic = self.engine.existing(topic)?;
        self.engine.topics.set_group(topic, group, change)
    }

    /// Pauses or resumes a topic. Of a pause of a paused topic only the end counts.
    fn pause_topic(&mut self, topic: &str, by: Option<&str>, for_ms: Option<u64>) -> Result<(), Reject> {
        let topic = self.engine.existing(topic)?;
        let since = self.engine.clock.stamp;
        let until = for_ms.map(|for_ms| since.after(for_ms.min(DELAY_MS_MAX)));
        let paused = |by| Paused { since, by: first_bytes(by, CLIENT_BYTES_MAX).to_owned(), until };
        self.engine.topics.pause(topic, by.map(paused));
        Ok(())
    }

    /// Deletes an empty topic; its name is free at once. Requests that wait for its jobs then wait for a new topic of that
    /// name.
    fn delete_topic(&mut self, topic: &str) -> Result<Outcome, Reject> {
        let topic = self.engine.existing(topic)?;
        let found = self.engine.topics.existing(topic);
        if found.is_empty() {
            self.engine.topics.forget(topic, &mut self.engine.sum);
            return Ok(Outcome::Done);
        }
        Ok(Outcome::TopicHasJobs { jobs: found.all_jobs(), schedules: found.schedules.len() as u64 })
    }

    /// Lapses a session: each of its leases counts as a failed attempt. One command gives back a limited number of leases:
    /// the leader repeats it until none is left.
    fn end_session(&mut self, session: SessionId) -> Result<Outcome, Reject> {
        for slot in self.engine.sessions.lapse(session, self.engine.clock.stamp)? {
            self.applied.ended.push(self.engine.jobs[slot].lease());
            self.fail_attempt(slot, None);
        }
        Ok(match self.engine.sessions.lease_count(session) as u64 {
            0 => Outcome::Done,
            leases => Outcome::Lapsing { leases },
        })
    }

    /// As [`Self::end_session`]; once no lease is left, the session is forgotten.
    fn close_session(&mut self, session: SessionId) -> Result<Outcome, Reject> {
        let outcome = self.end_session(session)?;
        if outcome == Outcome::Done {
            self.engine.sessions.forget(session, &mut self.engine.sum);
        }
        Ok(outcome)
    }
}

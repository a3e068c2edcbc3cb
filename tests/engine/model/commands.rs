//! What each command does to the model.

#![expect(clippy::indexing_slicing, reason = "a topic that a job names exists")]

use std::collections::BTreeMap;

use adjourn_engine::{Command, Grant, JobSelect, Outcome, Paused, Reject, Share, TopicOrder};
use adjourn_types::limits::{FINISHED_WINDOW_MAX, FINISHED_WINDOW_MS, REASON_BYTES_MAX};
use adjourn_types::{
    BuryReason, Fence, JobEnd, JobId, Lease, Millis, SessionId, SessionSecret, TopicId, When,
};

use super::naive::{Finished, Job, Model, Session, State, Time, topic_id};

impl Model {
    pub(super) fn command(&mut self, command: &Command<'_>) -> Result<Outcome, Reject> {
        self.follow_groups();
        match command {
            Command::Genesis { .. }
                if self.genesis || !self.jobs.is_empty() || !self.schedules.is_empty() =>
            {
                return Err(Reject::GenesisTwice);
            }
            Command::Genesis { .. } => self.genesis = true,
            Command::ClockOffset { offset_ms } => self.set_offset(*offset_ms),
            Command::SessionOpen { secret, leases_outlive, client } => {
                return Ok(self.open_session(*secret, *leases_outlive, client));
            }
            Command::SessionResume { session, secret } => {
                let found = self.session(*session)?;
                if found.secret != *secret {
                    return Err(Reject::SessionUnknown);
                }
                found.lapsed = None;
                return Ok(Outcome::Session { session: *session });
            }
            Command::SessionLapse { session } => self.lapse(*session)?,
            Command::SessionClose { session } => {
                self.lapse(*session)?;
                self.sessions.retain(|known| known.id != session.0);
            }
            Command::Push { session, sequence, topic, jobs } => {
                return self.push(*session, *sequence, topic, jobs);
            }
            Command::PushIdempotent { owner, key, list_jobs, topic, jobs } => {
                return self.push_idempotent((*owner, *key, *list_jobs), topic, jobs);
            }
            Command::Reserve { session, topics: TopicOrder::OfJobs(topics), jobs_max, bytes_max } => {
                let known: Vec<TopicId> =
                    topics.iter().filter_map(|topic| self.topic(topic, false).ok().map(topic_id)).collect();
                return self.reserve(*session, &known, *jobs_max, *bytes_max);
            }
            Command::Reserve { session, topics: TopicOrder::OfShares(shares), jobs_max, bytes_max } => {
                return self.reserve_weighted(*session, shares, *jobs_max, *bytes_max);
            }
            Command::ReserveJob { session, job } => return self.reserve_job(*session, job),
            Command::Finish { .. }
            | Command::Release { .. }
            | Command::Touch { .. }
            | Command::Bury { .. } => return Ok(self.settling(command)),
            Command::Delete { .. }
            | Command::Reschedule { .. }
            | Command::RunNow { .. }
            | Command::Kick { .. }
            | Command::Edit { .. } => return self.change_one(command),
            Command::ScheduleSet { .. }
            | Command::ScheduleFire { .. }
            | Command::SchedulePause { .. }
            | Command::ScheduleDelete { .. } => return self.about_schedule(command),
            Command::GroupSet { topic, group, change } => self.set_group(topic, group, *change)?,
            Command::TopicPause { .. } => self.pause(command)?,
            Command::SkipIds { .. } | Command::SkipFences { .. } => self.skip(command),
            Command::MemberSet { node, storage_id, .. } => {
                let known = self.members.entry(*node).or_insert(*storage_id);
                if known != storage_id {
                    return Err(Reject::MemberChanged);
                }
            }
            Command::TopicPolicy { topic, change } => self.change_policy(topic, change)?,
            Command::RetryDefaults { defaults } => self.defaults = Some(defaults.clone()),
            Command::FeatureLevel { level } => self.feature_level = self.feature_level.max(*level),
            many => return self.change_jobs(many),
        }
        Ok(Outcome::Done)
    }

    fn skip(&mut self, command: &Command<'_>) {
        if let Command::SkipFences { count } = command {
            self.last_fence += (*count).min(1 << 20);
        }
        let Command::SkipIds { floor } = *command else { return };
        for last in [&mut self.last_job, &mut self.last_fence, &mut self.last_session] {
            *last = if *last < floor { floor } else { *last + (1 << 40) };
        }
        self.members.clear();
    }

    fn pause(&mut self, command: &Command<'_>) -> Result<(), Reject> {
        let Command::TopicPause { topic, paused, by, for_ms } = command else { return Ok(()) };
        let by = paused.then_some(*by);
        let (topic, since) = (self.topic(topic, false)?, Millis(self.stamp));
        let until = for_ms.map(|for_ms| Millis(self.stamp + for_ms));
        let before = self.topics[topic].paused.take();
        self.topics[topic].paused = by.map(|by| {
            let paused = before.unwrap_or_else(|| Paused { since, by: by.to_owned(), until });
            Paused { until, ..paused }
        });
        self.end_pauses();
        Ok(())
    }

    /// Ends the pauses whose time is over.
    pub(super) fn end_pauses(&mut self) {
        let stamp = Millis(self.stamp);
        for topic in &mut self.topics {
            topic.paused =
                topic.paused.take().filter(|paused| paused.until.is_none_or(|until| until > stamp));
        }
    }

    fn change_one(&mut self, command: &Command<'_>) -> Result<Outcome, Reject> {
        match command {
            Command::Delete { job } => self.delete(job),
            Command::Reschedule { job, due, version: None } => self.reschedule(job, *due),
            Command::Reschedule { job, due, version: Some(version) } => {
                self.reschedule_if(job, *due, *version)
            }
            Command::RunNow { job } => self.run_now(job),
            Command::Kick { job } => self.kick(job),
            Command::Edit { job, edit, version } => self.edit(*job, edit, *version),
            other => unreachable!("{other:?} changes not one job"),
        }
    }

    fn settling(&mut self, command: &Command<'_>) -> Outcome {
        match command {
            Command::Finish { leases } => self.settle(leases, Self::finish),
            Command::Release { leases, delay_ms, attempted, reason } => {
                self.settle(leases, |model, lease| model.release(lease, *delay_ms, *attempted, reason))
            }
            Command::Touch { leases, ttr_ms } => {
                self.settle(leases, |model, lease| model.touch(lease, *ttr_ms))
            }
            Command::Bury { leases, reason } => self.settle(leases, |model, lease| model.bury(lease, reason)),
            other => unreachable!("{other:?} settles no leases"),
        }
    }

    fn open_session(&mut self, secret: SessionSecret, outlive: bool, client: &str) -> Outcome {
        self.last_session += 1;
        let id = self.last_session;
        let (pushes, client) = (BTreeMap::new(), client.to_owned());
        self.sessions.push(Session { id, secret, outlive, client, lapsed: None, pushes, low: 1, high: 1 });
        Outcome::Session { session: SessionId(id) }
    }

    fn lapse(&mut self, id: SessionId) -> Result<(), Reject> {
        let stamp = self.stamp;
        let session = self.session(id)?;
        session.lapsed = session.lapsed.or(Some(stamp));
        if session.outlive {
            return Ok(());
        }
        let held: Vec<Lease> = self
            .jobs
            .iter()
            .filter_map(|job| match job.state {
                State::Reserved { fence, session, .. } if session == id.0 => {
                    Some(Lease { job: JobId(job.id), fence: Fence(fence) })
                }
                _ => None,
            })
            .collect();
        for lease in held {
            self.ended.push(lease);
            self.fail(lease.job.0, None);
        }
        Ok(())
    }

    fn reserve(
        &mut self,
        session: SessionId,
        topics: &[TopicId],
        jobs_max: u32,
        bytes_max: u64,
    ) -> Result<Outcome, Reject> {
        if self.session(session)?.lapsed.is_some() {
            return Err(Reject::SessionUnknown);
        }
        let mut grants: Vec<Grant> = Vec::new();
        while grants.len() < jobs_max as usize
            && grants.iter().map(|grant| u64::from(grant.body.body_bytes)).sum::<u64>() < bytes_max
        {
            let Some(id) = self.next_in_turn(topics) else { break };
            grants.extend(self.grant(id, session));
        }
        Ok(Outcome::Granted(grants))
    }

    fn reserve_weighted(
        &mut self,
        session: SessionId,
        shares: &[Share<'_>],
        jobs_max: u32,
        bytes_max: u64,
    ) -> Result<Outcome, Reject> {
        if self.session(session)?.lapsed.is_some() {
            return Err(Reject::SessionUnknown);
        }
        let topics: Vec<Option<TopicId>> =
            shares.iter().map(|share| self.topic(share.topic, false).ok().map(topic_id)).collect();
        let mut advances = vec![0_i64; shares.len()];
        let mut grants: Vec<Grant> = Vec::new();
        while grants.len() < jobs_max as usize
            && grants.iter().map(|grant| u64::from(grant.body.body_bytes)).sum::<u64>() < bytes_max
        {
            let next = |topic: &Option<TopicId>| topic.and_then(|topic| self.next_in_turn(&[topic]));
            let next: Vec<Option<u64>> = topics.iter().map(next).collect();
            let with_job = (0..shares.len()).filter(|nth| next[*nth].is_some());
            let ahead = |nth: usize| shares[nth].standing + advances[nth] + i64::from(shares[nth].weight);
            // The first of those that are furthest ahead.
            let Some(turn) = with_job.clone().rev().max_by_key(|nth| ahead(*nth)) else { break };
            let grant = next[turn].and_then(|id| self.grant(id, session));
            if grant.is_some() {
                let all: i64 = with_job.clone().map(|nth| i64::from(shares[nth].weight)).sum();
                with_job.for_each(|nth| advances[nth] += i64::from(shares[nth].weight));
                advances[turn] -= all;
            }
            grants.extend(grant);
        }
        Ok(Outcome::GrantedByShares { grants, advances })
    }

    /// The first in turn of the ready jobs of these topics.
    fn next_in_turn(&mut self, topics: &[TopicId]) -> Option<u64> {
        let next = topics.iter().filter_map(|topic| self.next_of(topic.0 as usize));
        next.min().map(|(.., id)| id)
    }

    /// A lease on a ready job, unless it is not for delivery by now.
    fn grant(&mut self, id: u64, session: SessionId) -> Option<Grant> {
        let job = self.find(id);
        if self.surely_expired(job) {
            self.expire(id);
            return None;
        }
        if !self.has_come(job.due, self.stamp) || self.expired(job, self.stamp) {
            self.put_away(id);
            return None;
        }
        if self.treat_as_late(id, false) {
            return None;
        }
        Some(self.lease(id, session))
    }

    fn reserve_job(&mut self, session: SessionId, job: &JobSelect<'_>) -> Result<Outcome, Reject> {
        let id = self.select(job)?;
        if self.session(session)?.lapsed.is_some() {
            return Err(Reject::SessionUnknown);
        }
        if self.surely_expired(self.find(id)) {
            self.expire(id);
            return Err(Reject::NotFound);
        }
        match self.find(id).state {
            State::Reserved { .. } => return Err(Reject::Reserved),
            State::Finished { .. } => return Err(Reject::WrongState),
            State::Ready { .. } if self.has_come(self.find(id).due, self.stamp) => {}
            State::Ready { .. } | State::Delayed | State::Buried(_) => {
                self.find_mut(id).due = Time::Stamp(self.stamp);
                self.wait(id);
            }
        }
        Ok(Outcome::Granted(vec![self.lease(id, session)]))
    }

    /// A lease on a job.
    fn lease(&mut self, id: u64, session: SessionId) -> Grant {
        self.note_grant(self.find(id).topic);
        let holds_place = self.note_turn(id);
        self.last_fence += 1;
        let (fence, stamp) = (self.last_fence, self.stamp);
        let client = self.session(session).map(|session| session.client.clone()).unwrap_or_default();
        let job = self.find_mut(id);
        let deadline = stamp + u64::from(job.ttr_ms);
        job.attempts += 1;
        job.holds_place |= holds_place;
        let first = job.past.reserved.as_ref().map_or(stamp, |(first, ..)| *first);
        job.past.reserved = Some((first, stamp, client));
        job.state = State::Reserved { fence, deadline, session: session.0 };
        let job = self.find(id);
        Grant {
            lease: Lease { job: JobId(id), fence: Fence(fence) },
            topic: topic_id(job.topic),
            priority: job.priority,
            attempts: job.attempts,
            due: self.as_wall(job.due),
            deadline: Millis(deadline),
            body: job.reference(),
        }
    }

    fn settle(
        &mut self,
        leases: &[Lease],
        mut one: impl FnMut(&mut Self, Lease) -> Result<(), Reject>,
    ) -> Outcome {
        Outcome::Settled(leases.iter().map(|lease| one(self, *lease)).collect())
    }

    fn held(&self, lease: Lease) -> Result<(), Reject> {
        let holds = |job: &Job| {
            job.id == lease.job.0
                && matches!(job.state, State::Reserved { fence, .. } if fence == lease.fence.0)
        };
        if self.jobs.iter().any(holds) { Ok(()) } else { Err(Reject::StaleLease) }
    }

    fn finish(&mut self, lease: Lease) -> Result<(), Reject> {
        let lately = self.finished.iter().rev().take(FINISHED_WINDOW_MAX);
        let mut lately = lately.filter(|finished| finished.at + FINISHED_WINDOW_MS > self.stamp);
        if lately.any(|finished| finished.lease == lease) {
            return Ok(());
        }
        self.held(lease)?;
        let job = self.find(lease.job.0).clone();
        let of_topic = self.topics[job.topic].rule.policy.retention_ms.unwrap_or(0);
        let retention_ms = if job.retention_ms > 0 { job.retention_ms } else { of_topic };
        self.leave_schedule(job.id, JobEnd::Finished);
        if retention_ms > 0 {
            let at = self.stamp;
            let job = self.find_mut(job.id);
            (job.state, job.retention_ms) = (State::Finished { at }, retention_ms);
        } else {
            self.remove(job.id);
        }
        self.topics[job.topic].finished += 1;
        self.finished.push(Finished { at: self.stamp, lease, topic: job.topic, attempts: job.attempts });
        Ok(())
    }

    fn note_reason(&mut self, lease: Lease, reason: &str) {
        if !reason.is_empty() {
            let kept: String = reason
                .chars()
                .scan(0, |bytes, character| {
                    *bytes += character.len_utf8();
                    (*bytes <= REASON_BYTES_MAX).then_some(character)
                })
                .collect();
            self.find_mut(lease.job.0).past.reason = Some(kept);
        }
    }

    fn release(
        &mut self,
        lease: Lease,
        delay_ms: Option<u64>,
        attempted: bool,
        reason: &str,
    ) -> Result<(), Reject> {
        self.held(lease)?;
        self.note_reason(lease, reason);
        let id = lease.job.0;
        if attempted {
            self.fail(id, delay_ms);
        } else if self.surely_expired(self.find(id)) {
            self.expire(id);
        } else {
            self.find_mut(id).attempts -= 1;
            match delay_ms {
                None | Some(0) => self.wait(id),
                Some(delay_ms) => self.put_off(id, delay_ms),
            }
        }
        Ok(())
    }

    fn touch(&mut self, lease: Lease, ttr_ms: Option<u32>) -> Result<(), Reject> {
        self.held(lease)?;
        let stamp = self.stamp;
        let job = self.find_mut(lease.job.0);
        let runs_ms = u64::from(ttr_ms.unwrap_or(job.ttr_ms));
        if let State::Reserved { deadline, .. } = &mut job.state {
            *deadline = stamp + runs_ms;
        }
        Ok(())
    }

    fn bury(&mut self, lease: Lease, reason: &str) -> Result<(), Reject> {
        self.held(lease)?;
        self.note_reason(lease, reason);
        if self.surely_expired(self.find(lease.job.0)) {
            self.expire(lease.job.0);
        } else {
            self.bury_job(lease.job.0, BuryReason::Consumer);
        }
        Ok(())
    }

    pub(super) fn delete(&mut self, job: &JobSelect<'_>) -> Result<Outcome, Reject> {
        let id = self.select(job)?;
        let outcome = self.changed(id);
        self.leave_schedule(id, JobEnd::Deleted);
        let job = self.remove(id);
        if let State::Reserved { fence, .. } = job.state {
            self.ended.push(Lease { job: JobId(id), fence: Fence(fence) });
        }
        self.topics[job.topic].deleted += u64::from(!is_finished(&job.state));
        Ok(outcome)
    }

    pub(super) fn reschedule(&mut self, job: &JobSelect<'_>, due: When) -> Result<Outcome, Reject> {
        let id = self.select(job)?;
        let due = self.time(due);
        let job = self.find(id);
        match job.state {
            State::Reserved { .. } => return Err(Reject::Reserved),
            State::Buried(_) | State::Finished { .. } => return Err(Reject::WrongState),
            State::Delayed | State::Ready { .. } => {}
        }
        let ready_at = self.as_stamp(due).max(i128::from(self.stamp));
        if job.expires.is_some_and(|expires| self.as_stamp(expires) <= ready_at) {
            return Err(Reject::ExpiresBeforeDue);
        }
        self.find_mut(id).due = due;
        self.wait(id);
        Ok(self.changed(id))
    }

    fn reschedule_if(&mut self, job: &JobSelect<'_>, due: When, version: u64) -> Result<Outcome, Reject> {
        let id = self.select(job)?;
        if self.has_version(id, version) { self.reschedule(job, due) } else { Err(Reject::Changed) }
    }

    pub(super) fn has_version(&self, id: u64, version: u64) -> bool {
        let unchanged = |(at, seen): &(u64, Job)| *at == version && *seen == self.find(id).without_place();
        self.versions.get(&id).is_some_and(unchanged)
    }

    pub(super) fn run_now(&mut self, job: &JobSelect<'_>) -> Result<Outcome, Reject> {
        let id = self.select(job)?;
        match self.find(id).state {
            State::Reserved { .. } => return Err(Reject::Reserved),
            State::Buried(_) | State::Finished { .. } => return Err(Reject::WrongState),
            State::Ready { .. } => {}
            State::Delayed => {
                self.find_mut(id).due = Time::Stamp(self.stamp);
                self.wait(id);
            }
        }
        Ok(self.changed(id))
    }

    pub(super) fn kick(&mut self, job: &JobSelect<'_>) -> Result<Outcome, Reject> {
        let id = self.select(job)?;
        if !matches!(self.find(id).state, State::Buried(_)) {
            return Err(Reject::WrongState);
        }
        let due = Time::Stamp(self.stamp);
        let job = self.find_mut(id);
        (job.due, job.attempts) = (due, 0);
        self.wait(id);
        Ok(self.changed(id))
    }

    pub(super) fn kick_many(&mut self, topic: &str, jobs_max: u32) -> Result<Outcome, Reject> {
        let topic = self.topic(topic, false)?;
        let buried = |job: &&Job| job.topic == topic && matches!(job.state, State::Buried(_));
        let due = |job: &Job| match job.due {
            Time::Stamp(at) | Time::Wall(at) => at,
        };
        let turn = |job: &Job| (job.priority, due(job), job.id);
        let mut turns: Vec<_> = self.jobs.iter().filter(buried).map(turn).collect();
        turns.sort_unstable();
        turns.truncate(usize::try_from(jobs_max).expect("few"));
        for (.., id) in &turns {
            self.kick(&JobSelect::Id(JobId(*id)))?;
        }
        Ok(Outcome::ChangedMany { jobs: u32::try_from(turns.len()).expect("few") })
    }

    pub(super) fn changed(&self, id: u64) -> Outcome {
        let view = self.view(id);
        Outcome::Changed { job: view.id, state: view.state, due: view.due, version: view.version }
    }
}

pub(super) fn is_finished(state: &State) -> bool {
    matches!(state, State::Finished { .. })
}

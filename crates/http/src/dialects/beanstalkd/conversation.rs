//! One connection's commands, carried out as requests to the queue.
//!
//! Commands are carried out one after the other. Puts that came together become one request, and so do reserves and deletes.
//! A connection that reserves jobs has a session of its own, which ends with it: then its jobs go back at once.

use std::collections::BTreeSet;
use std::io::{self, Write as _};
use std::num::NonZeroU64;
use std::time::Duration;

use tokio::time::Instant;

use super::super::super::caller::Caller;
use super::super::super::problem::Problem;
use super::command::{Command, Put};
use super::command_stream::CommandStream;
use super::held_jobs::{HeldJob, HeldJobs};
use super::queue::{Queue, is_about_its_state, new_job};
use super::reply::{
    BAD_FORMAT, DELETED, NOT_FOUND, OUT_OF_MEMORY, Reply, data, found, not_found, refusal, write_job,
};
use super::stats;
use super::tubes::{ConnectionTubes, default_tube};
use adjourn_protocol::{
    Delivered, ErrorCode, JobRef, JobReport, NewJob, PushResult, ReleaseKind, Request, Reserve, SettleResult,
    TopicReport, TopicSet, TopicSettings,
};
use adjourn_types::limits::{DELAY_MS_MAX, RESERVE_TOPICS_MAX, WAIT_MS_MAX};
use adjourn_types::{JobId, TopicName, When, whole_ms};

/// The name of these sessions.
const CLIENT: &str = "beanstalkd";
/// After a release whose priority is another one, the job is delayed for at least this long: meanwhile it gets its new priority.
const EDITED_WITHIN_MS: u64 = 1000;

/// One connection.
pub(super) struct Conversation {
    queue: Queue,
    tubes: ConnectionTubes,
    held: HeldJobs,
}

impl Conversation {
    pub(super) fn new(caller: Caller, tubes: ConnectionTubes) -> Self {
        Self { queue: Queue(caller), tubes, held: HeldJobs::default() }
    }

    /// The connection has ended: its jobs go back.
    pub(super) async fn end(self) {
        self.queue.0.leave().await;
    }

    /// Carries out commands. They are all of one kind if there are several.
    ///
    /// # Errors
    ///
    /// If the connection has ended.
    pub(super) async fn obey(
        &mut self,
        commands: Vec<Command>,
        stream: &mut CommandStream,
    ) -> io::Result<()> {
        for command in &commands {
            self.queue.0.wait_for_turn().await;
            self.tubes.all().count(command);
        }
        let count = commands.len();
        let mut commands = commands.into_iter();
        match commands.next() {
            Some(Command::Put(first)) => {
                let rest = commands.filter_map(|command| match command {
                    Command::Put(put) => Some(put),
                    _ => None,
                });
                let puts = std::iter::once(first).chain(rest).collect();
                self.put(puts, &mut stream.out).await;
            }
            Some(Command::Reserve { timeout_s }) => self.reserve_all(count, timeout_s, stream).await?,
            Some(Command::Delete(first)) => {
                let rest = commands.filter_map(|command| match command {
                    Command::Delete(id) => Some(id),
                    _ => None,
                });
                let ids = std::iter::once(first).chain(rest).collect();
                self.delete_all(ids, &mut stream.out).await;
            }
            Some(command) => {
                let reply = self.obey_one(command).await;
                stream.out.extend_from_slice(&reply.unwrap_or_else(|problem| refusal(&problem).into()));
            }
            None => {}
        }
        Ok(())
    }

    async fn obey_one(&mut self, command: Command) -> Result<Vec<u8>, Problem> {
        let reply = match command {
            Command::Use(tube) => {
                let reply = format!("USING {tube}\r\n");
                self.tubes.use_tube(tube);
                reply
            }
            Command::Watch(tube) => {
                // More topics than a RESERVE may name.
                if self.tubes.watched().len() >= RESERVE_TOPICS_MAX && !self.tubes.watched().contains(&tube) {
                    return Ok(OUT_OF_MEMORY.into());
                }
                self.tubes.watch(tube);
                format!("WATCHING {}\r\n", self.tubes.watched().len())
            }
            Command::Ignore(tube) if self.tubes.ignore(&tube) => {
                format!("WATCHING {}\r\n", self.tubes.watched().len())
            }
            Command::Ignore(_) => "NOT_IGNORED\r\n".to_owned(),
            Command::ReserveJob(id) => return self.reserve_job(id).await,
            Command::Release { id, priority, delay_s } => {
                self.release(id, priority, delay_s).await?.to_owned()
            }
            Command::Bury { id, priority } => self.bury(id, priority).await?.to_owned(),
            Command::Touch(id) => self.touch(id).await?.to_owned(),
            Command::Peek(id) => {
                let job = self.queue.look(id).await?;
                return Ok(self.found(job));
            }
            Command::PeekNext(next) => {
                let job = self.queue.peek_next(self.tubes.used(), next).await?;
                return Ok(self.found(job));
            }
            Command::Kick(bound) => {
                format!("KICKED {}\r\n", self.queue.kick(self.tubes.used(), bound).await?)
            }
            Command::KickJob(id) => self.queue.kick_job(id).await?.to_owned(),
            Command::StatsJob(id) => {
                return Ok(self
                    .queue
                    .look(id)
                    .await?
                    .map_or_else(not_found, |job| data(&stats::of_job(&job))));
            }
            Command::StatsTube(tube) => return self.stats_tube(&tube).await,
            Command::Stats => return self.stats().await,
            Command::ListTubes => return Ok(data(&stats::list(&self.tubes().await?))),
            Command::ListTubeUsed => format!("USING {}\r\n", self.tubes.used()),
            Command::ListTubesWatched => return Ok(data(&stats::list(self.tubes.watched()))),
            Command::PauseTube { tube, for_s } => self.pause(&tube, for_s).await?.to_owned(),
            Command::Put(_) | Command::Reserve { .. } | Command::Delete(_) | Command::Quit => String::new(),
        };
        Ok(reply.into())
    }

    /// Shows a job, if there is memory for its body until it is written.
    fn found(&self, job: Option<JobReport>) -> Vec<u8> {
        match job {
            Some(job) if self.queue.0.take_memory(job.body.len()) => found(&job),
            Some(_) => OUT_OF_MEMORY.into(),
            None => not_found(),
        }
    }

    /// True if its token was changed or has ended, or if its session is lost, with the jobs that it held.
    pub(super) fn is_over(&self) -> bool {
        self.queue.0.has_lost_its_session() || self.queue.0.has_ended()
    }

    async fn put(&mut self, puts: Vec<Put>, out: &mut Vec<u8>) {
        self.tubes.note_producer();
        let jobs: Vec<Option<NewJob>> = puts.into_iter().map(new_job).collect();
        let fits: Vec<bool> = jobs.iter().map(Option::is_some).collect();
        let sent: Vec<NewJob> = jobs.into_iter().flatten().collect();
        let pushed =
            if sent.is_empty() { Ok(Vec::new()) } else { self.queue.push(self.tubes.used(), sent).await };
        let mut results = match pushed {
            Ok(results) => results.into_iter(),
            Err(problem) => {
                let reply = refusal(&problem);
                for fits in fits {
                    out.extend_from_slice(if fits { reply } else { BAD_FORMAT }.as_bytes());
                }
                return;
            }
        };
        for fits in fits {
            let result = if fits { results.next() } else { None };
            // Writing to memory cannot fail.
            let _ = match result {
                None => out.write_all(BAD_FORMAT.as_bytes()),
                Some(PushResult::Pushed(id) | PushResult::Replaced(id)) => {
                    write!(out, "INSERTED {}\r\n", id.0)
                }
                Some(PushResult::Refused(ErrorCode::TooLarge, _)) => out.write_all(b"JOB_TOO_BIG\r\n"),
                Some(_) => out.write_all(OUT_OF_MEMORY.as_bytes()),
            };
        }
    }

    /// Reserves for this many commands with the same timeout.
    async fn reserve_all(
        &mut self,
        count: usize,
        timeout_s: Option<u32>,
        stream: &mut CommandStream,
    ) -> io::Result<()> {
        self.tubes.note_worker();
        let mut left = count;
        while left > 0 {
            stream.flush().await?;
            if let Err(problem) = self.open_session().await {
                stream.out.extend_from_slice(refusal(&problem).as_bytes());
                left -= 1;
                continue;
            }
            left -= self.reserve(left, timeout_s, stream).await?;
        }
        Ok(())
    }

    /// Reserves up to this many jobs. Returns how many commands are answered: at least one.
    async fn reserve(
        &mut self,
        count: usize,
        timeout_s: Option<u32>,
        stream: &mut CommandStream,
    ) -> io::Result<usize> {
        let until = timeout_s.map(|timeout_s| Instant::now() + Duration::from_secs(timeout_s.into()));
        loop {
            let now = Instant::now();
            let soon = self.held.soon(now);
            let by = if stream.has_ended() { Some(now) } else { soon.into_iter().chain(until).min() };
            // Rounded up: it must not be asked again and again during a last millisecond.
            let wait_ms = by.map_or(WAIT_MS_MAX, |by| match by.saturating_duration_since(now) {
                Duration::ZERO => 0,
                wait => whole_ms(wait).saturating_add(1).min(WAIT_MS_MAX),
            });
            let jobs_max = u32::try_from(count).unwrap_or(u32::MAX);
            let topics = self.tubes.watched().to_vec();
            let asking = self.queue.0.ask(Request::Reserve(Reserve {
                topics,
                jobs_max,
                wait_ms,
                weights: Vec::new(),
            }));
            let waiting = self.tubes.wait();
            let asked: Result<Vec<Delivered>, Problem> = tokio::select! {
                biased;
                asked = asking => asked,
                ended = stream.ended(), if wait_ms > 0 => {
                    ended?;
                    // It may still read: a job that is ready is for it.
                    continue;
                }
            };
            drop(waiting);
            match asked {
                Ok(jobs) if !jobs.is_empty() => {
                    let now = Instant::now();
                    for job in &jobs {
                        self.held.add(job, now);
                        write_job(&mut stream.out, "RESERVED", job.lease.job, &job.body);
                    }
                    return Ok(jobs.len());
                }
                Err(problem) if problem.is(ErrorCode::Stopping) => {
                    return Err(io::ErrorKind::ConnectionAborted.into());
                }
                // If all are paused, their jobs may come later.
                Err(problem) if !problem.is(ErrorCode::Paused) => {
                    stream.out.extend_from_slice(refusal(&problem).as_bytes());
                    return if self.queue.0.has_lost_its_session() {
                        Err(io::ErrorKind::ConnectionAborted.into())
                    } else {
                        Ok(1)
                    };
                }
                _ => {}
            }
            let now = Instant::now();
            let reply = if soon.is_some_and(|soon| soon <= now) {
                "DEADLINE_SOON\r\n"
            } else if stream.has_ended() || until.is_some_and(|until| until <= now) {
                "TIMED_OUT\r\n"
            } else {
                continue;
            };
            stream.out.extend_from_slice(reply.as_bytes());
            return Ok(1);
        }
    }

    async fn reserve_job(&mut self, id: u64) -> Result<Vec<u8>, Problem> {
        self.open_session().await?;
        match self.queue.0.ask::<Vec<Delivered>>(Request::ReserveJob(JobRef::Id(JobId(id)))).await {
            Ok(jobs) => {
                self.tubes.note_worker();
                let mut out = Vec::new();
                for job in &jobs {
                    self.held.add(job, Instant::now());
                    write_job(&mut out, "RESERVED", job.lease.job, &job.body);
                }
                // Its lease was over before it came here: nobody has it.
                Ok(if out.is_empty() { not_found() } else { out })
            }
            Err(problem) if is_about_its_state(&problem) => Ok(not_found()),
            Err(problem) => Err(problem),
        }
    }

    /// Opens the session whose leases end with this connection.
    async fn open_session(&mut self) -> Result<(), Problem> {
        Ok(self.queue.0.open_session(CLIENT).await?)
    }

    /// Deletes jobs: those that this connection holds together.
    async fn delete_all(&mut self, ids: Vec<u64>, out: &mut Vec<u8>) {
        let now = Instant::now();
        let held: Vec<HeldJob> = ids.iter().filter_map(|id| self.held.get(*id, now)).collect();
        let finished = if held.is_empty() { Ok(Vec::new()) } else { self.queue.finish(&held).await };
        let results = held.iter().zip(finished.as_deref().unwrap_or_default());
        let done: BTreeSet<JobId> =
            results.filter(|(_, result)| result.is_ok()).map(|(job, _)| job.lease.job).collect();
        for id in ids {
            let was_held = self.held.get(id, now).is_some();
            let reply = match (was_held, &finished) {
                (true, Err(problem)) => refusal(problem),
                (true, Ok(_)) if done.contains(&JobId(id)) => DELETED,
                // Its lease has ended: then it is a job like any other.
                _ => self.queue.delete(id).await.unwrap_or_else(|problem| refusal(&problem)),
            };
            if reply == DELETED || was_held && finished.is_ok() {
                self.held.remove(id);
            }
            out.extend_from_slice(reply.as_bytes());
        }
    }

    /// Settles the lease on a job that this connection holds. `false` if it holds none.
    async fn settle(&mut self, id: u64, settle: impl FnOnce(&HeldJob) -> Request) -> Result<bool, Problem> {
        let Some(job) = self.held.get(id, Instant::now()) else { return Ok(false) };
        let results: Vec<SettleResult> = self.queue.0.ask(settle(&job)).await?;
        let is_settled = results.first().is_some_and(Result::is_ok);
        if !is_settled {
            self.held.remove(id);
        }
        Ok(is_settled)
    }

    async fn release(&mut self, id: u64, priority: u32, seconds: u32) -> Result<Reply, Problem> {
        let Some(held) = self.held.get(id, Instant::now()) else { return Ok(NOT_FOUND) };
        let delay_ms = u64::from(seconds) * 1000;
        if delay_ms > DELAY_MS_MAX {
            return Ok(BAD_FORMAT);
        }
        let is_edited = held.priority != priority;
        let first_ms = if is_edited { delay_ms.max(EDITED_WITHIN_MS) } else { delay_ms };
        let release = |held: &HeldJob| Request::Release {
            kind: ReleaseKind::After(first_ms),
            leases: vec![held.lease],
            reason: None,
        };
        if !self.settle(id, release).await? {
            return Ok(NOT_FOUND);
        }
        self.held.remove(id);
        if is_edited {
            let due = (first_ms != delay_ms).then_some(When::After(delay_ms));
            self.queue.set_priority(id, priority, due).await;
        }
        Ok("RELEASED\r\n")
    }

    async fn bury(&mut self, id: u64, priority: u32) -> Result<Reply, Problem> {
        let Some(held) = self.held.get(id, Instant::now()) else { return Ok(NOT_FOUND) };
        let bury = |held: &HeldJob| Request::Bury { leases: vec![held.lease], reason: None };
        if !self.settle(id, bury).await? {
            return Ok(NOT_FOUND);
        }
        self.held.remove(id);
        if held.priority != priority {
            self.queue.set_priority(id, priority, None).await;
        }
        Ok("BURIED\r\n")
    }

    async fn touch(&mut self, id: u64) -> Result<Reply, Problem> {
        let touch = |held: &HeldJob| Request::Touch { ttr_ms: None, leases: vec![held.lease] };
        if !self.settle(id, touch).await? {
            return Ok(NOT_FOUND);
        }
        self.held.touched(id, Instant::now());
        Ok("TOUCHED\r\n")
    }

    async fn pause(&self, tube: &TopicName, seconds: u32) -> Result<Reply, Problem> {
        if self.is_in_use(tube) {
            // The topic may not exist yet.
            let set = TopicSet { topic: tube.clone(), change: Box::default() };
            self.queue.0.ask::<()>(Request::TopicSet(set)).await?;
        }
        // A pause of 0 ends one.
        let for_ms = NonZeroU64::new(u64::from(seconds) * 1000).or(NonZeroU64::new(1));
        match self.queue.0.ask::<()>(Request::Pause { topic: tube.clone(), for_ms }).await {
            Err(problem) if problem.is(ErrorCode::NotFound) => return Ok(NOT_FOUND),
            paused => paused?,
        }
        self.tubes.all().note_pause(tube, seconds);
        Ok("PAUSED\r\n")
    }

    /// True if the tube exists, even without jobs.
    fn is_in_use(&self, tube: &TopicName) -> bool {
        let used = self.tubes.all().of(tube);
        used.using + used.watching > 0 || *tube == default_tube()
    }

    /// The topics that are tubes: without a job, one is none.
    async fn reports(&self) -> Result<Vec<TopicReport>, Problem> {
        let mut reports: Vec<TopicReport> = self.queue.0.ask(Request::Topics).await?;
        reports.retain(|report| self.is_there(report));
        Ok(reports)
    }

    /// A tube is there while it has a job, or somebody uses it.
    fn is_there(&self, report: &TopicReport) -> bool {
        let totals = &report.totals;
        totals.delayed + totals.ready + totals.reserved + totals.buried > 0 || self.is_in_use(&report.topic)
    }

    /// All tubes, `default` first.
    async fn tubes(&self) -> Result<Vec<TopicName>, Problem> {
        let first = default_tube();
        let with_jobs = self.reports().await?.into_iter().map(|report| report.topic);
        let mut others: Vec<TopicName> =
            with_jobs.chain(self.tubes.all().in_use()).filter(|tube| *tube != first).collect();
        others.sort_unstable();
        others.dedup();
        Ok(std::iter::once(first).chain(others).collect())
    }

    async fn stats_tube(&self, tube: &TopicName) -> Result<Vec<u8>, Problem> {
        let report = self.reports().await?.into_iter().find(|report| report.topic == *tube);
        if report.is_none() && !self.is_in_use(tube) {
            return Ok(not_found());
        }
        let left_ms = match report.as_ref().filter(|report| report.paused) {
            Some(_) => {
                let settings: TopicSettings =
                    self.queue.0.ask(Request::TopicShow { topic: tube.clone() }).await?;
                settings.pause_left_ms
            }
            None => 0,
        };
        Ok(data(&stats::of_tube(tube, report.as_ref(), self.tubes.all().of(tube), left_ms)))
    }

    async fn stats(&self) -> Result<Vec<u8>, Problem> {
        let mut reports: Vec<TopicReport> = self.queue.0.ask(Request::Topics).await?;
        // Also those of tubes that are gone: the count never falls when a connection ends.
        let pushed = reports.iter().map(|report| report.totals.pushed).sum();
        reports.retain(|report| self.is_there(report));
        let body_bytes_max = self.queue.0.body_bytes_max();
        let draining = self.queue.0.state().local().stopping().is_cancelled();
        Ok(data(&stats::of_server(&reports, pushed, self.tubes.all(), body_bytes_max, draining)))
    }
}

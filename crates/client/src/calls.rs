//! The client's calls: one for each request of the protocol.

use std::num::{NonZeroU64, NonZeroU128};
use std::sync::Arc;
use std::time::Duration;

use super::config::ClientConfig;
use super::connection;
use super::error::{ClientError, ProtocolFault};
use super::shared::{ClientState, Handle};
use super::ticket::{PushTicket, SettleTicket, Ticket};
use adjourn_protocol::{
    Advance, Changed, Delivered, Edit, ErrorCode, Idempotency, JobRef, JobReport, Kicked, Leased, NewJob,
    Push, PushResult, ReleaseKind, Request, RequestId, Reserve, Response, SettleResult, StatsReport,
    TopicReport, TopicSet, TopicSettings, Welcome,
};
#[cfg(doc)]
use adjourn_types::limits::REASON_BYTES_MAX;
use adjourn_types::limits::{IDEMPOTENT_LIST_JOBS_MAX, KICK_JOBS_MAX};
use adjourn_types::{JobId, Lease, Millis, PolicyChange, TopicName, When, whole_ms};

/// A client of one queue: a session, and the connection that carries it at the time.
///
/// Cheap to clone; all clones share session and connection. When the last one is dropped, the connection is
/// closed and the session's grace begins; [`close`](Self::close) ends the session at once.
///
/// Every call returns when its answer arrives. Make any number of calls at the same time: their requests share
/// writes, and no answer waits for another.
#[derive(Clone, Debug)]
pub struct Client {
    handle: Arc<Handle>,
}

impl Client {
    /// Connects and opens a session, unless the configuration says [otherwise](ClientConfig::without_session). Must be called
    /// within a tokio runtime: a task of it keeps the connection.
    ///
    /// Fails with [`ClientError::CannotConnect`] when no server answers within
    /// [`connect_timeout_ms`](ClientConfig::connect_timeout_ms), with [`ClientError::Refused`] when one answers but refuses
    /// this client. Once connected, the client reconnects by itself until it is closed.
    pub async fn connect(config: ClientConfig) -> Result<Self, ClientError> {
        connection::open(config).await.map(|handle| Self { handle: Arc::new(handle) })
    }

    /// The server's last WELCOME: the session, the limits, the members of the cluster.
    pub fn welcome(&self) -> Arc<Welcome> {
        self.shared().welcome()
    }

    /// True if there is a connection to the leader that takes requests. While there is none, calls wait. A connection that
    /// has gone silent counts until its heartbeats show that it is lost.
    pub fn is_connected(&self) -> bool {
        self.shared().is_connected()
    }

    /// How often the connection was lost and replaced.
    pub fn reconnects(&self) -> u64 {
        self.shared().reconnects()
    }

    /// Pushes jobs; one result per job, in order. More than fits into one request is sent as several.
    ///
    /// A refusal of one job (for example [`ErrorCode::KeyExists`]) is its [`PushResult`]. If the jobs go in several
    /// requests and an error is returned, the jobs of earlier requests may be in the queue.
    pub async fn push(&self, topic: &TopicName, jobs: Vec<NewJob>) -> Result<Vec<PushResult>, ClientError> {
        let mut jobs = jobs;
        let mut tickets = Vec::new();
        while !jobs.is_empty() {
            let fitting = self.fitting(topic, &jobs)?;
            let rest = jobs.split_off(fitting);
            tickets.push(self.push_detached(topic, jobs)?);
            jobs = rest;
        }
        let mut results = Vec::new();
        for ticket in tickets {
            results.append(&mut ticket.await?);
        }
        Ok(results)
    }

    /// Pushes one job and returns its id, or the id of the existing job if the push has
    /// [`IfExists::Keep`](adjourn_types::IfExists) or `Postpone`. A refusal is a [`ClientError::ItemRefused`].
    pub async fn push_one(&self, topic: &TopicName, job: NewJob) -> Result<JobId, ClientError> {
        let results = self.push_detached(topic, vec![job])?.await?;
        job_id(results.first())
    }

    /// Passes one PUSH to the connection without waiting for its answer: the ticket is the answer. Hold many tickets to
    /// keep many pushes under way. Tickets of one client are carried out in the order of these calls.
    ///
    /// [`ClientError::TooLarge`] if the jobs do not fit into one request; [`push`](Self::push) splits them.
    pub fn push_detached(&self, topic: &TopicName, jobs: Vec<NewJob>) -> Result<PushTicket, ClientError> {
        let push = Request::Push(Push { topic: topic.clone(), sequence: 0, jobs, idempotency: None });
        self.submit(push)
    }

    /// Like [`push_detached`](Self::push_detached), under a key of the caller, and those that follow it: whoever pushes one of these jobs under
    /// its key again, also from another process and beside other jobs, adds nothing, as long as the queue
    /// [remembers](adjourn_protocol::Idempotency) the key. For jobs that are taken over from elsewhere, where a crash leaves open
    /// which of them were pushed.
    pub fn push_under(
        &self,
        key: NonZeroU128,
        topic: &TopicName,
        jobs: Vec<NewJob>,
    ) -> Result<PushTicket, ClientError> {
        // Not their number: a job is the same one beside others.
        let list_jobs = u32::try_from(IDEMPOTENT_LIST_JOBS_MAX).unwrap_or(u32::MAX);
        let idempotency = Some(Idempotency { key, list_jobs });
        self.submit(Request::Push(Push { topic: topic.clone(), sequence: 0, jobs, idempotency }))
    }

    /// Reserves one job, whether it is ready, delayed or buried, and whatever holds its topic or its group back. Fails with
    /// [`ErrorCode::Reserved`] if somebody holds it, and with [`ErrorCode::NotFound`] if there is no such job.
    pub async fn reserve_job(&self, job: JobRef) -> Result<Delivered, ClientError> {
        let jobs: Vec<Delivered> = self.ask(Request::ReserveJob(job)).await?;
        // Its lease was over before it came here.
        jobs.into_iter().next().ok_or(ClientError::ItemRefused { code: ErrorCode::StaleLease, job: None })
    }

    /// Reserves jobs: waits up to `wait_ms` until there are some, and returns up to `jobs_max` of them; none
    /// if the wait ends first. `jobs_max` beyond the server's limit is lowered to it.
    ///
    /// [`ErrorCode::Busy`] at the maximum of waiting calls: half of the server's `in_flight_max`. When the call is
    /// dropped, the client tells the server that it no longer waits.
    pub async fn reserve(&self, reserve: Reserve) -> Result<Vec<Delivered>, ClientError> {
        let mut reserve = reserve;
        reserve.jobs_max = reserve.jobs_max.min(self.shared().limits().reserve_jobs_max);
        let (id, serial, answer) = self.shared().submit_named(Request::Reserve(reserve))?;
        let mut reserving = Reserving { client: self, id, serial, ticket: Ticket::new(answer) };
        (&mut reserving.ticket).await
    }

    /// The leases that this session holds, with their jobs, by job id: jobs that were reserved, or came over a subscription, and
    /// were not settled; jobs that wait in the memory of a [`Subscription`](crate::Subscription) included. Leases that
    /// [outlive](ClientConfig::leases_outlive) their session are not among them, nor those that a call under way settles.
    pub async fn leases(&self) -> Result<Vec<Delivered>, ClientError> {
        let (mut jobs, mut after) = (Vec::new(), JobId(0));
        loop {
            let jobs_max = self.shared().limits().reserve_jobs_max;
            let mut page: Leased = self.ask(Request::Leases { after, jobs_max }).await?;
            // If all jobs of a page are being settled, the page does not tell where the next one begins.
            let Some(last) = page.jobs.last().map(|job| job.lease.job).filter(|_| page.has_more) else {
                jobs.append(&mut page.jobs);
                return Ok(jobs);
            };
            after = last;
            jobs.append(&mut page.jobs);
        }
    }

    /// Finishes jobs: they are removed. One result per lease, in order.
    pub async fn finish(&self, leases: Vec<Lease>) -> Result<Vec<SettleResult>, ClientError> {
        self.settle(leases, |leases| Request::Finish { leases }).await
    }

    /// [`finish`](Self::finish) without waiting for the answer: the ticket is the answer. [`ClientError::TooLarge`] if there
    /// are more leases than one request takes.
    pub fn finish_detached(&self, leases: Vec<Lease>) -> Result<SettleTicket, ClientError> {
        self.settle_detached(leases, |leases| Request::Finish { leases })
    }

    /// Gives jobs back, to be attempted again. One result per lease, in order.
    pub async fn release(
        &self,
        leases: Vec<Lease>,
        kind: ReleaseKind,
    ) -> Result<Vec<SettleResult>, ClientError> {
        self.settle(leases, |leases| Request::Release { leases, kind, reason: None }).await
    }

    /// Like [`release`](Self::release), with a reason: [`get`](Self::get) shows the text as the job's last reason until
    /// another one replaces it. It has at most [`REASON_BYTES_MAX`] bytes; an empty one counts as none.
    pub async fn release_because(
        &self,
        leases: Vec<Lease>,
        kind: ReleaseKind,
        reason: &str,
    ) -> Result<Vec<SettleResult>, ClientError> {
        let reason = reason_of(reason);
        self.settle(leases, |leases| Request::Release { leases, kind, reason: reason.clone() }).await
    }

    /// Renews the leases, to run for `ttr_ms` from now; `None` takes each job's own time. One result per lease, in order.
    pub async fn touch(
        &self,
        leases: Vec<Lease>,
        ttr_ms: Option<u32>,
    ) -> Result<Vec<SettleResult>, ClientError> {
        self.settle(leases, |leases| Request::Touch { leases, ttr_ms }).await
    }

    /// Sets jobs aside until a client kicks them. One result per lease, in order.
    pub async fn bury(&self, leases: Vec<Lease>) -> Result<Vec<SettleResult>, ClientError> {
        self.settle(leases, |leases| Request::Bury { leases, reason: None }).await
    }

    /// Like [`bury`](Self::bury), with a reason as in [`release_because`](Self::release_because).
    pub async fn bury_because(
        &self,
        leases: Vec<Lease>,
        reason: &str,
    ) -> Result<Vec<SettleResult>, ClientError> {
        let reason = reason_of(reason);
        self.settle(leases, |leases| Request::Bury { leases, reason: reason.clone() }).await
    }

    /// Reads one job; `None` if there is no such job: finished, deleted, expired or never pushed. For a minute a finished
    /// job is shown by its id in the state [`Finished`](adjourn_types::JobState::Finished): when, and after how many
    /// attempts, but without key, attributes and body. A [remembered](adjourn_types::AttributesBuilder::dedupe_retention)
    /// job is shown in full for that time, also by its key.
    pub async fn get(&self, job: JobRef) -> Result<Option<JobReport>, ClientError> {
        self.job_or_none(Request::Get(job)).await
    }

    /// Removes one job, whatever its state. [`ErrorCode::NotFound`] if there is none.
    pub async fn delete(&self, job: JobRef) -> Result<Changed, ClientError> {
        self.ask(Request::Delete(job)).await
    }

    /// Gives one delayed or ready job a new due time; a buried one is kicked first.
    pub async fn reschedule(&self, job: JobRef, due: When) -> Result<Changed, ClientError> {
        self.ask(Request::Reschedule { job, due, if_version: None }).await
    }

    /// The same, if the job still has the [version](adjourn_protocol::JobReport::version) that was shown:
    /// [`ErrorCode::Changed`] if not.
    pub async fn reschedule_if(
        &self,
        job: JobRef,
        due: When,
        version: NonZeroU64,
    ) -> Result<Changed, ClientError> {
        self.ask(Request::Reschedule { job, due, if_version: Some(version) }).await
    }

    /// Changes parts of one delayed, ready or buried job; the others stay. [`ErrorCode::Changed`] if it is not of the version
    /// that the edit names, or if another edit came between.
    pub async fn edit(&self, edit: Edit) -> Result<Changed, ClientError> {
        self.ask(Request::Edit(edit)).await
    }

    /// Makes one delayed job ready at once.
    pub async fn run_now(&self, job: JobRef) -> Result<Changed, ClientError> {
        self.ask(Request::RunNow(job)).await
    }

    /// Makes one buried job ready; its attempts start at 0 again.
    pub async fn kick(&self, job: JobRef) -> Result<Changed, ClientError> {
        self.ask(Request::Kick(job)).await
    }

    /// Makes up to `jobs_max` buried jobs of a topic ready, due now: by priority, then by when they were due, then by id.
    /// Their attempts start at 0 again. Returns how many: fewer than `jobs_max` if no more were buried. If they do not fit
    /// into one request, several are sent: when one fails, those before it may have been carried out.
    ///
    /// [`ErrorCode::Unsupported`] while a member of the cluster runs a version without this request.
    pub async fn kick_many(&self, topic: &TopicName, jobs_max: u64) -> Result<u64, ClientError> {
        let mut kicked = 0;
        while kicked < jobs_max {
            let asked = u32::try_from(jobs_max - kicked).unwrap_or(u32::MAX).min(KICK_JOBS_MAX);
            let request = Request::KickMany { topic: topic.clone(), jobs_max: asked };
            let Kicked(jobs) = self.ask(request).await?;
            kicked += u64::from(jobs);
            if jobs < asked {
                break;
            }
        }
        Ok(kicked)
    }

    /// Stops the reserving of a topic's jobs, until it is resumed.
    pub async fn pause(&self, topic: &TopicName) -> Result<(), ClientError> {
        self.ask(Request::Pause { topic: topic.clone(), for_ms: None }).await
    }

    /// Stops the reserving of a topic's jobs for this time, of which at most ten years count. If the topic is paused already,
    /// its pause ends after this time. A time of 0 does nothing else than to resume it.
    pub async fn pause_for(&self, topic: &TopicName, time: Duration) -> Result<(), ClientError> {
        match NonZeroU64::new(whole_ms(time)) {
            Some(for_ms) => self.ask(Request::Pause { topic: topic.clone(), for_ms: Some(for_ms) }).await,
            None => self.resume(topic).await,
        }
    }

    /// Starts the reserving of a topic's jobs again.
    pub async fn resume(&self, topic: &TopicName) -> Result<(), ClientError> {
        self.ask(Request::Resume { topic: topic.clone() }).await
    }

    /// Changes a topic's policy: defaults, limits, rates, and where failed jobs go. The topic is created if it is new.
    pub async fn set_topic(&self, topic: &TopicName, change: PolicyChange) -> Result<(), ClientError> {
        self.ask(Request::TopicSet(TopicSet { topic: topic.clone(), change: Box::new(change) })).await
    }

    /// Reads a topic's policy. Fails with the code [`NotFound`](adjourn_protocol::ErrorCode::NotFound) if there is no such
    /// topic.
    pub async fn topic_settings(&self, topic: &TopicName) -> Result<TopicSettings, ClientError> {
        self.ask(Request::TopicShow { topic: topic.clone() }).await
    }

    /// Reads the next job of a topic without reserving it: the first ready one, else the first delayed
    /// one. `None` if there is neither.
    pub async fn peek(&self, topic: &TopicName) -> Result<Option<JobReport>, ClientError> {
        self.job_or_none(Request::Peek { topic: topic.clone() }).await
    }

    /// Counts by topic.
    pub async fn topics(&self) -> Result<Vec<TopicReport>, ClientError> {
        self.ask(Request::Topics).await
    }

    /// Counts of the whole queue, and by topic.
    pub async fn stats(&self) -> Result<StatsReport, ClientError> {
        self.ask(Request::Stats).await
    }

    /// Checks that the server answers. Returns its wall clock.
    pub async fn ping(&self) -> Result<Millis, ClientError> {
        self.ask(Request::Ping).await
    }

    /// Moves the clock of a server for tests (`adjourn serve --memory --clock manual`). When this returns, everything that is
    /// due by the new time is carried out: jobs are ready, and leases have ended. Returns the server's wall clock.
    ///
    /// [`ErrorCode::Unsupported`] if the server's clock is that of its machine, [`ErrorCode::NotFound`] if no job is
    /// delayed to whose due time it could move.
    pub async fn advance(&self, advance: Advance) -> Result<Millis, ClientError> {
        self.ask(Request::Advance(advance)).await
    }

    /// Stops all workers, as [`Worker::stop`](super::Worker::stop) does, then ends the session after earlier requests are
    /// answered: its leases are given back at once (unless they outlive it). From then on every other call of every clone
    /// fails with [`ClientError::Closed`], and so do waiting reserves.
    ///
    /// If a handler blocks a thread and still runs, the session is not ended: its jobs go to other consumers when their
    /// leases end, or after the session's grace.
    pub async fn close(&self) -> Result<(), ClientError> {
        if !self.shared().workers.stop().await {
            self.handle.stop();
            return Ok(());
        }
        let answer = self.shared().close()?;
        let done = Ticket::new(answer).await;
        self.handle.stop();
        done
    }

    pub(super) fn shared(&self) -> &Arc<ClientState> {
        self.handle.shared()
    }

    /// Releases leased jobs that no handler of this client has begun. Does not wait for the answer.
    pub(super) fn give_back(&self, jobs: &[Delivered]) {
        let leases: Vec<Lease> = jobs.iter().map(|job| job.lease).collect();
        self.shared().give_back(&leases, ReleaseKind::NotStarted);
    }

    /// Hands a request to the connection. `T` is what the answer carries.
    pub(super) fn submit<T>(&self, request: Request) -> Result<Ticket<T>, ClientError> {
        self.shared().submit(request).map(Ticket::new)
    }

    /// [`Self::submit`], and waits for the answer.
    pub(super) async fn ask<T>(&self, request: Request) -> Result<T, ClientError>
    where
        T: TryFrom<Response, Error = Response>,
    {
        self.submit(request)?.await
    }

    async fn settle(
        &self,
        leases: Vec<Lease>,
        request: impl Fn(Vec<Lease>) -> Request,
    ) -> Result<Vec<SettleResult>, ClientError> {
        let leases_max = self.shared().limits().leases_max.max(1);
        if leases.len() <= leases_max {
            return if leases.is_empty() {
                Ok(Vec::new())
            } else {
                self.settle_detached(leases, request)?.await
            };
        }
        let tickets: Result<Vec<_>, _> =
            leases.chunks(leases_max).map(|part| self.settle_detached(part.to_vec(), &request)).collect();
        let mut results = Vec::with_capacity(leases.len());
        for ticket in tickets? {
            results.append(&mut ticket.await?);
        }
        Ok(results)
    }

    fn settle_detached(
        &self,
        leases: Vec<Lease>,
        request: impl Fn(Vec<Lease>) -> Request,
    ) -> Result<SettleTicket, ClientError> {
        self.submit(request(leases))
    }

    async fn job_or_none(&self, request: Request) -> Result<Option<JobReport>, ClientError> {
        match self.ask(request).await {
            Err(ClientError::Refused(reply)) if reply.code == ErrorCode::NotFound => Ok(None),
            found => found.map(Some),
        }
    }

    /// How many of the first jobs fit into one request: at least one.
    fn fitting(&self, topic: &TopicName, jobs: &[NewJob]) -> Result<usize, ClientError> {
        if jobs.len() == 1 {
            return Ok(1);
        }
        let limits = self.shared().limits();
        limits.check_bodies(jobs)?;
        let mut bytes = push_bytes(topic);
        let fits = |job: &&NewJob| {
            bytes += job_bytes(job);
            bytes <= limits.frame_bytes_max
        };
        Ok(jobs.iter().take(limits.push_jobs_max).take_while(fits).count().max(1))
    }
}

fn reason_of(reason: &str) -> Option<String> {
    (!reason.is_empty()).then(|| reason.to_owned())
}

/// A reserve that is waited for. Dropped with its call, it gives back what had come, or ends the wait.
struct Reserving<'a> {
    client: &'a Client,
    id: RequestId,
    serial: u64,
    ticket: Ticket<Vec<Delivered>>,
}

impl Drop for Reserving<'_> {
    fn drop(&mut self) {
        match self.ticket.withdraw() {
            Some(jobs) => self.client.give_back(&jobs),
            // If it was answered, its serial is not in use any more.
            None => self.client.shared().cancel(self.id, self.serial),
        }
    }
}

/// The length field of a PUSH without jobs.
pub(super) fn push_bytes(topic: &TopicName) -> usize {
    const HEADER_AND_FIELDS: usize = 8 + 8 + 1 + 6;
    // Only pushes without a session have one.
    const KEY: usize = 16;
    HEADER_AND_FIELDS + KEY + topic.as_str().len()
}

/// The bytes that a job adds to it.
pub(super) fn job_bytes(job: &NewJob) -> usize {
    const FIXED: usize = 26;
    let key_bytes = job.key.as_ref().map_or(0, |key| key.as_bytes().len());
    FIXED + key_bytes + job.attributes.as_bytes().len() + job.body.len()
}

/// The id in a result.
pub(super) fn job_id(result: Option<&PushResult>) -> Result<JobId, ClientError> {
    match result {
        Some(
            PushResult::Pushed(id)
            | PushResult::Kept(id)
            | PushResult::Replaced(id)
            | PushResult::Postponed(id),
        ) => Ok(*id),
        Some(PushResult::Refused(code, job)) => Err(ClientError::ItemRefused { code: *code, job: *job }),
        None => Err(ClientError::Protocol(ProtocolFault::Items { asked: 1, found: 0 })),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use std::num::NonZeroU128;

    use super::*;
    use adjourn_protocol::{Idempotency, RequestId};

    #[test]
    fn the_size_of_a_push_is_known_before_it_is_encoded() {
        let topic: TopicName = "orders".parse().unwrap();
        let jobs = vec![NewJob::new("body").key("key".parse().unwrap()), NewJob::new("")];
        let idempotency = Some(Idempotency { key: NonZeroU128::MIN, list_jobs: 2 });
        let counted = push_bytes(&topic) + jobs.iter().map(job_bytes).sum::<usize>();
        let frame_bytes = Request::Push(Push { topic, sequence: 0, jobs, idempotency })
            .encode(RequestId(1), &mut bytes::BytesMut::new());
        assert_eq!(counted, frame_bytes - 4);
    }
}

//! The calls of one topic: a subscription like that of any consumer, and a call for each job that comes.
//!
//! A topic with one destination asks for no more jobs than may be called at the same time: a job that cannot be called now
//! stays ready for others. While the breaker is open, or there is no slot, there is no subscription at all. If jobs name
//! their destinations, all jobs come; a job whose destination has an open breaker or no slot goes back for a while,
//! uncounted.

use std::sync::Arc;
use std::time::Duration;

use hyper::header::HeaderName;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};

use super::CallBacksState;
use super::attempt::Attempt;
use super::call_request::{CallRequest, Plan};
use super::client::Deadline;
use super::destination::{Destination, Origin};
use super::destinations::{CallPermit, Destinations, NotPermitted};
use super::outcome::{Fault, Reply, Verdict, health, judge};
use super::settler::Settlement;
use adjourn_protocol::{Delivered, ErrorCode, ErrorReply, Request, Response, Subscribe, TopicSet};
use adjourn_server::{CalledBack, wall};
use adjourn_types::{CallBack, Lease, PolicyChange, TopicPolicy, whole_ms};

/// Most jobs at a time of a topic whose jobs name their destinations.
const OF_JOBS_MAX: u32 = 2048;
/// Most bytes of bodies that a topic holds at a time, unless its share of the memory for them is less.
const BODIES_MAX: u64 = 16 << 20;
/// A topic without a leader tries again after this time.
const LOOK_AGAIN: Duration = Duration::from_millis(500);
/// The remaining time of a lease when a call ends by its timeout.
const SPARE: Duration = Duration::from_secs(1);
/// A call waits this long for its destination's rate, then the job goes back.
const RATE_WAIT_MAX: Duration = Duration::from_secs(1);
/// Jobs that go back return at multiples of this time, in milliseconds.
const GROUPED_MS: u64 = 100;

/// The calls of one topic.
#[derive(Debug)]
pub(super) struct Topic {
    pub(super) of: CalledBack,
    plan: Plan,
    /// The only destination, if there is one.
    only: Option<Origin>,
    pub(super) destinations: Destinations,
    shared: Arc<CallBacksState>,
    /// Signalled when the only destination has changed its state.
    changed: Notify,
    pub(super) stopped: CancellationToken,
}

impl Topic {
    /// Begins to make calls.
    pub(super) fn start(of: CalledBack, shared: &Arc<CallBacksState>) -> Arc<Self> {
        let plan = Plan::new(&of.call_back).in_zone(shared.zone.clone());
        // A host has no placeholders, so the template itself has it.
        let only = of.call_back.url.as_ref().filter(|_| plan.has_one_destination());
        let only = only.and_then(|url| Destination::read(url).ok()).map(|destination| destination.origin);
        let destinations =
            Destinations::new(plan.concurrency, plan.per_second_max, shared.room.share_of_topic());
        let stopped = shared.stopped.child_token();
        let topic = Self {
            of,
            plan,
            only,
            destinations,
            shared: Arc::clone(shared),
            changed: Notify::new(),
            stopped,
        };
        let topic = Arc::new(topic);
        shared.tasks.spawn(Arc::clone(&topic).run());
        topic
    }

    async fn run(self: Arc<Self>) {
        debug!(topic = self.of.topic.as_str(), "calls back");
        while !self.stopped.is_cancelled() {
            if let Err(error) = self.subscribe().await {
                if !matches!(error.code, ErrorCode::NotLeader | ErrorCode::NoLeader) {
                    debug!(topic = self.of.topic.as_str(), %error, "no jobs to call back");
                }
                tokio::select! {
                    () = self.stopped.cancelled() => return,
                    () = sleep(LOOK_AGAIN) => {}
                }
            }
        }
    }

    /// Takes jobs until the breaker opens or there is no slot, the settings change, or this node loses the lead.
    async fn subscribe(self: &Arc<Self>) -> Result<(), ErrorReply> {
        let until = self.rests_until();
        while let Some(until) = until.filter(|until| *until > Instant::now()) {
            if let Some(left) = self.only.as_ref().and_then(|only| self.destinations.suspended_for(only)) {
                self.shared.local.calls_suspended(&self.of.topic, left);
            }
            tokio::select! {
                () = self.stopped.cancelled() => return Ok(()),
                () = sleep_until(until.min(Instant::now() + LOOK_AGAIN)) => {}
            }
        }
        let session = self.shared.sessions.take(&self.shared).await?;
        let mut credit = self.credit();
        let topics = vec![self.of.topic.clone()];
        let credit_bytes = BODIES_MAX.min(self.destinations.bodies_bytes_max());
        let subscribe = Subscribe { topics, credit_jobs: credit, credit_bytes, weights: Vec::new() };
        let queue =
            session.welcome().map(|welcome| u128::from_be_bytes(welcome.cluster_id)).unwrap_or_default();
        let mut jobs = session.subscribe(Request::Subscribe(subscribe)).await?;
        loop {
            tokio::select! {
                biased;
                () = self.stopped.cancelled() => return Ok(()),
                () = self.changed.notified() => {
                    if self.rests_until().is_some() {
                        return Ok(());
                    }
                    let wanted = self.credit();
                    if wanted > credit {
                        let (subscription, credit_jobs) = (jobs.number, wanted - credit);
                        credit = wanted;
                        session.ask(None, Request::Credit { subscription, credit_jobs, credit_bytes: 0 }).await?;
                    }
                }
                answer = jobs.next() => match answer {
                    Some(Response::Deliver(jobs)) => {
                        for job in jobs {
                            self.shared.tasks.spawn(Arc::clone(self).handle(job, queue));
                        }
                    }
                    Some(Response::Error(error)) => return Err(error),
                    Some(_) => {}
                    None => return Err(ErrorReply::new(ErrorCode::NoLeader, "the session has ended")),
                }
            }
        }
    }

    /// The time until which the only destination takes no calls.
    fn rests_until(&self) -> Option<Instant> {
        self.destinations.rests_until(self.only.as_ref()?)
    }

    /// Most jobs that may be held at the same time.
    fn credit(&self) -> u32 {
        let Some(only) = &self.only else { return OF_JOBS_MAX };
        if !self.destinations.takes_more(only) {
            return 1;
        }
        // More jobs would only wait.
        self.plan.concurrency.min(self.plan.per_second_max.unwrap_or(u32::MAX))
    }

    async fn handle(self: Arc<Self>, job: Delivered, queue: u128) {
        if let Some(settlement) = self.attempt(&job, queue).await {
            self.shared.settler.settle(job.lease, settlement, self.shared.tasks.token());
        }
    }

    /// Makes a call. Returns how the lease is settled; `None` leaves it to the receiver, or lets it run out.
    async fn attempt(&self, job: &Delivered, queue: u128) -> Option<Settlement> {
        let came = Instant::now();
        let mut call = match self.plan.request(job) {
            Ok(call) => call,
            Err(error) => {
                self.shared.counts.count("buried");
                return Some(Settlement::Bury { reason: error.to_string() });
            }
        };
        let origin = call.destination.origin.clone();
        let pass = match self.destinations.pass(&origin, call.bodies_bytes, &self.shared.room) {
            Ok(pass) => pass,
            Err(NotPermitted::Open(pause) | NotPermitted::Full(pause)) => {
                self.changed.notify_one();
                // A topic with one destination ends its subscription: without a pause the job stays ready for others.
                let pause = if self.only.is_some() { Duration::ZERO } else { pause };
                return Some(self.not_tried(job, pause));
            }
        };
        if pass.was_cramped() {
            self.changed.notify_one();
        }
        while let Some(wait) = pass.wait_for_rate() {
            if self.stopped.is_cancelled() || came.elapsed() + wait > RATE_WAIT_MAX {
                return Some(self.not_tried(job, wait));
            }
            let _ = self.stopped.run_until_cancelled(sleep(wait)).await;
        }
        let deadline = match self.hold(job).await {
            Ok(_) if self.stopped.is_cancelled() => return Some(self.not_tried(job, Duration::ZERO)),
            Ok(deadline) => deadline,
            // Another consumer has the job by now.
            Err(ErrorCode::StaleLease) => return None,
            Err(_) => return Some(self.not_tried(job, LOOK_AGAIN)),
        };
        let (begun, at) = (Instant::now(), wall());
        let called = match self.sign(&mut call, job, queue) {
            Ok(()) => self.shared.client.call(pass.reputation, &origin, &call.request, deadline).await,
            Err(fault) => Err(fault),
        };
        let took = begun.elapsed();
        self.shared.counts.took(took);
        let verdict = judge(&self.plan, &called, wall());
        let (settlement, outcome) = self.conclude(pass, job, &call, &called, verdict).await;
        self.shared.counts.count(outcome);
        let reason = match &settlement {
            Some(
                Settlement::Retry { reason, .. }
                | Settlement::Return { reason, .. }
                | Settlement::Bury { reason },
            ) => Some(reason.clone()),
            Some(Settlement::Finish | Settlement::Keep) | None => None,
        };
        self.shared.log.write(Attempt {
            job: job.lease.job.0,
            topic: job.topic.as_str().to_owned(),
            attempt: job.attempts,
            at: adjourn_json::values::time_text(at),
            method: self.plan.method().to_owned(),
            url: format!("{origin}{}", call.request.uri().path()),
            status: called.as_ref().ok().map(|reply| reply.status.as_u16()),
            outcome: outcome.to_owned(),
            reason,
            took_ms: whole_ms(took),
            until_ms: at.0.saturating_add(self.plan.log_ms),
        });
        settlement
    }

    fn not_tried(&self, job: &Delivered, pause: Duration) -> Settlement {
        self.shared.counts.count("not_tried");
        returned(pause, job.lease, String::new())
    }

    /// Ensures that the lease outlasts the call, and returns the deadline of the call. The lease has run since the core
    /// granted it, and the call must end before the lease whenever it begins.
    async fn hold(&self, job: &Delivered) -> Result<Deadline, ErrorCode> {
        let mut until = Instant::now() + self.shared.local.lease_left(job);
        loop {
            let deadline = Deadline::of(self.plan.timeout);
            if deadline.by() + SPARE <= until {
                return Ok(deadline);
            }
            let (asked, ttr) = (Instant::now(), self.plan.timeout + 2 * SPARE);
            let ttr_ms = u32::try_from(whole_ms(ttr)).unwrap_or(u32::MAX);
            let touch = Request::Touch { ttr_ms: Some(ttr_ms), leases: vec![job.lease] };
            let session = self.shared.local.session(&self.shared.access).await.map_err(|error| error.code)?;
            if let Response::Settled(results) = session.ask(None, touch).await.map_err(|error| error.code)? {
                results.into_iter().collect::<Result<(), _>>()?;
            }
            until = asked + ttr;
        }
    }

    /// Adds the id of the job and of its queue, and signs the call.
    fn sign(&self, call: &mut CallRequest, job: &Delivered, queue: u128) -> Result<(), Fault> {
        let (id, timestamp) = (format!("job_{queue:032x}_{}", job.lease.job.0), wall().0 / 1000);
        let headers = call.request.headers_mut();
        let mut put = |name: &'static str, value: &str| {
            if let Ok(value) = value.parse() {
                headers.insert(HeaderName::from_static(name), value);
            }
        };
        put("webhook-id", &id);
        put("webhook-timestamp", &timestamp.to_string());
        let Some(name) = &self.plan.secrets else { return Ok(()) };
        let (topic, body) = (self.of.topic.as_str(), &call.body);
        let signature = self.shared.secrets.sign(name, topic, &id, timestamp, body);
        let signature = signature.ok_or_else(|| Fault::NotReady(no_secrets(name, topic)))?;
        put("webhook-signature", &signature);
        Ok(())
    }

    /// Applies the outcome to the destination and to the job.
    async fn conclude(
        &self,
        pass: CallPermit,
        job: &Delivered,
        call: &CallRequest,
        called: &Result<Reply, Fault>,
        verdict: Verdict,
    ) -> (Option<Settlement>, &'static str) {
        let (is_probe, health) = (pass.is_probe(), health(called));
        let asked = called.as_ref().ok().and_then(|reply| reply.pause(wall()));
        let pause = pass.ended(health, asked);
        if let Some(pause) = pause {
            info!(topic = self.of.topic.as_str(), destination = %call.destination.origin, pause = ?pause, "a destination fails: calls to it are suspended");
        }
        if is_probe || pause.is_some() {
            self.changed.notify_one();
        }
        match verdict {
            Verdict::Finish => (Some(Settlement::Finish), "finished"),
            Verdict::Keep => (Some(Settlement::Keep), "kept"),
            Verdict::Bury { reason } => (Some(Settlement::Bury { reason }), "buried"),
            Verdict::Park { pause: own, reason } => {
                (Some(returned(pause.unwrap_or(own), job.lease, reason)), "not_tried")
            }
            Verdict::Gone { reason } if call.is_of_job => (Some(Settlement::Bury { reason }), "buried"),
            Verdict::Gone { reason } => {
                self.pause(&reason).await;
                // When calls begin again, other jobs come first.
                (Some(Settlement::Retry { after_ms: self.wait_ms(job, None), reason }), "paused")
            }
            Verdict::Retry { after, reason } => {
                (Some(Settlement::Retry { after_ms: self.wait_ms(job, after), reason }), "retried")
            }
        }
    }

    /// The wait of a failed job: its backoff, or longer if the destination asks for that. `None` leaves it to the queue.
    fn wait_ms(&self, job: &Delivered, asked: Option<Duration>) -> Option<u64> {
        let of_job = job.attributes.policy().backoff;
        let backoff = of_job.as_ref().or(self.of.backoff.as_ref());
        asked.map(|asked| whole_ms(asked).max(backoff.map_or(0, |backoff| backoff.wait_ms(job.attempts))))
    }

    /// Pauses the topic's calls, because the destination wants no more, until an operator resumes them.
    async fn pause(&self, reason: &str) {
        warn!(topic = self.of.topic.as_str(), reason, "the destination answered 410: its calls are paused");
        let set = TopicPolicy { call_back: Some(Arc::new(CallBack::pause())), ..TopicPolicy::default() };
        let change = Box::new(PolicyChange { set, ..PolicyChange::default() });
        let request = Request::TopicSet(TopicSet { topic: self.of.topic.clone(), change });
        let asked = async { self.shared.local.session(&self.shared.access).await?.ask(None, request).await };
        if let Err(error) = asked.await {
            warn!(topic = self.of.topic.as_str(), %error, "calls are not paused: the next one tries again");
        }
        // The list of topics shows the change a moment later.
        self.stopped.cancel();
    }
}

/// Why calls of a topic are not signed.
pub(super) fn no_secrets(name: &str, topic: &str) -> String {
    format!("this node has no secrets named {name} for the topic {topic}: see call_back_secrets_file")
}

/// The settlement of a job that was not tried. Jobs of the same destination return in a few groups: not all at once, but
/// not one by one either, since those of a group are settled together.
fn returned(pause: Duration, lease: Lease, reason: String) -> Settlement {
    let group = lease.job.0.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 61;
    let after_ms = whole_ms(pause) + group * whole_ms(pause) / 32;
    Settlement::Return { after_ms: after_ms.next_multiple_of(GROUPED_MS), reason }
}

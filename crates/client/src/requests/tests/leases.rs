//! How long leases are the client's own.

use std::time::SystemTime;

use super::*;
use crate::cancelled::Cancelled;

const GRACE_MS: u64 = 4_000;
/// The part of a grace that is deducted because clocks differ in speed.
const DRIFT_MS: u64 = 4;

fn short() -> Welcome {
    Welcome { session_grace_ms: 4_000, ..welcome() }
}

/// A client with a subscription, and its feed.
fn subscribed(welcome: Welcome) -> (Client, Arc<Feed>) {
    let mut client = Client::new(welcome);
    client.requests.heartbeats.stop_asking();
    let feed = Arc::new(Feed::new(8));
    let subscribe = Subscribe {
        topics: vec!["t".parse().unwrap()],
        credit_jobs: 8,
        credit_bytes: 1_000,
        weights: Vec::new(),
    };
    let (id, _call) = client.requests.subscribe(client.now, subscribe, Arc::clone(&feed)).unwrap();
    assert_eq!(id, RequestId(1));
    client.requests.pump(client.now, &mut client.answers);
    client.answer(1, Response::Subscribed);
    client.sent();
    (client, feed)
}

impl Client {
    /// Moves to `ms` milliseconds after the start, and sends a heartbeat if it is time. A frame arrives at that moment.
    fn at(&mut self, start: Instant, ms: u64) -> Beat {
        self.now = start + Duration::from_millis(ms);
        self.requests.look(self.now, SystemTime::UNIX_EPOCH, &mut self.answers);
        self.requests.heartbeats.heard(self.now);
        self.requests.beat(self.now)
    }

    fn pong(&mut self, clock_ms: u64) {
        let oldest = self.requests.heartbeats.unanswered.front().map(|(id, _)| id.0);
        self.answer(oldest.unwrap(), Response::Pong { now: adjourn_types::Millis(1), clock_ms });
    }

    fn deliver(&mut self, job: u64, deadline_ms: u64) {
        let job = adjourn_protocol::Delivered { deadline_ms, ..delivered(job) };
        self.answer(1, Response::Deliver(vec![job]));
    }

    fn reason(&self) -> Option<Cancelled> {
        *self.requests.leases.lost().borrow()
    }
}

#[test]
fn leases_are_presumed_lost_a_grace_after_the_last_answered_request_was_sent() {
    let (mut client, feed) = subscribed(short());
    let start = client.now;
    client.deliver(1, 0);
    client.at(start, 1_000);
    assert_eq!(client.sent(), [ping(0)]);
    client.at(start, 1_900);
    client.pong(0);
    client.at(start, 2_900);
    assert_eq!(client.sent(), [ping(1)]);
    // Frames arrive, but no answer: the other direction is cut.
    for ms in (3_000..1_000 + GRACE_MS - DRIFT_MS).step_by(50) {
        assert!(matches!(client.at(start, ms), Beat::Quiet(_)), "{ms}");
        assert_eq!((client.reason(), client.answers.stray.len()), (None, 0), "{ms}");
    }
    let next = client.requests.leases.next_look(client.now);
    assert_eq!(next, Some(start + Duration::from_millis(1_000 + GRACE_MS - DRIFT_MS)));
    client.at(start, 1_000 + GRACE_MS - DRIFT_MS);
    assert_eq!(client.reason(), Some(Cancelled::ConnectionLost));
    assert_eq!(client.answers.stray.iter().map(|lease| lease.job.0).collect::<Vec<_>>(), [1]);
    assert!(feed.leave().is_empty());
}

#[test]
fn what_was_sent_before_the_loss_proves_nothing() {
    let (mut client, _feed) = subscribed(short());
    let start = client.now;
    client.at(start, GRACE_MS - 10);
    assert_eq!(client.sent(), [ping(0)]);
    client.at(start, GRACE_MS);
    client.pong(0);
    client.deliver(1, 0);
    assert_eq!(client.answers.stray.len(), 1, "given back at once");
    client.at(start, GRACE_MS + 1_000);
    assert_eq!(client.sent(), [ping(1)]);
    client.pong(0);
    client.answers.stray.clear();
    client.deliver(2, 0);
    assert_eq!(client.answers.stray.len(), 0);
}

#[test]
fn a_session_that_is_resumed_in_time_keeps_its_leases_and_asks_for_a_proof() {
    let (mut client, feed) = subscribed(short());
    let start = client.now;
    client.deliver(1, 0);
    client.at(start, 3_000);
    client.sent();
    client.reconnect(Welcome { resumed: true, leases_kept: true, ..short() });
    client.requests.heartbeats.stop_asking();
    client.sent();
    assert_eq!(client.reason(), None);
    client.at(start, 4_000 - DRIFT_MS);
    assert_eq!(client.reason(), Some(Cancelled::ConnectionLost), "WELCOME proves nothing");
    assert!(feed.leave().is_empty());
}

#[test]
fn what_is_left_of_a_lease_counts_from_when_the_server_wrote_it() {
    let (mut client, feed) = subscribed(Welcome { clock_ms: 500, ..short() });
    let start = client.now;
    client.at(start, 1_000);
    client.sent();
    client.at(start, 1_200);
    client.pong(7_050);
    client.at(start, 2_000);
    // It states 60 s, but it was written long ago, when the server's clock was far below 9,050.
    client.deliver(1, 9_050);
    client.deliver(2, 8_050);
    let left: Vec<_> = feed.leave().iter().map(|job| (job.lease.job.0, job.ttr_left_ms)).collect();
    assert_eq!(left, [(1, 999)], "one is over: the server showed 7,050 at 1,000 or later");
    assert_eq!(client.answers.stray.len(), 0, "there is nothing to be given back");
}

#[test]
fn a_machine_that_has_slept_knows_nothing_of_its_leases() {
    let (mut client, _feed) = subscribed(short());
    let look = |client: &mut Client, wall_s| {
        let wall = SystemTime::UNIX_EPOCH + Duration::from_secs(wall_s);
        client.requests.look(client.now, wall, &mut client.answers);
        client.reason()
    };
    assert_eq!([100, 101, 90, 91].map(|wall_s| look(&mut client, wall_s)), [None; 4]);
    assert_eq!(look(&mut client, 93), Some(Cancelled::ConnectionLost));
}

#[test]
fn leases_that_outlive_their_session_are_not_presumed_lost() {
    let now = Instant::now();
    let mut requests = Requests::new(now, now, short(), None, true);
    let later = now + Duration::from_hours(1);
    requests.look(later, SystemTime::UNIX_EPOCH, &mut Answers::default());
    assert_eq!((requests.leases.are_over(later), requests.leases.next_look(later)), (false, None));
}

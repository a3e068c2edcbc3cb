//! Leases whose jobs never arrived, and reserves whose callers have left.

use super::*;
use adjourn_protocol::{Delivered, Leased};

/// A client with a subscription under id 1.
fn subscribed() -> Client {
    let mut client = Client::new(welcome());
    client.requests.heartbeats.stop_asking();
    let (topics, weights) = (vec!["t".parse().unwrap()], Vec::new());
    let subscribe = Subscribe { topics, credit_jobs: 8, credit_bytes: 1_000, weights };
    let (id, _call) = client.requests.subscribe(client.now, subscribe, Arc::new(Feed::new(8))).unwrap();
    client.requests.pump(client.now, &mut client.answers);
    client.answer(id.0, Response::Subscribed);
    client.sent_all();
    client
}

impl Client {
    fn bring(&mut self, fences: &[u64]) {
        self.answer(1, Response::Deliver(jobs(fences)));
    }

    /// Answers LEASES, which must be among the sent requests. Returns the request.
    fn leased(&mut self, fences: &[u64], has_more: bool) -> Request {
        let sent = self.sent_all();
        let asked = sent.into_iter().find(|(_, request)| matches!(request, Request::Leases { .. }));
        let (id, request) = asked.expect("it asks for its leases");
        self.answer(id.0, Response::Leased(Leased { has_more, jobs: jobs(fences) }));
        request
    }

    fn given_back(&mut self) -> Vec<u64> {
        self.answers.stray.drain(..).map(|lease| lease.fence.0).collect()
    }
}

/// A job has the number of its fence.
fn jobs(fences: &[u64]) -> Vec<Delivered> {
    fences.iter().map(|fence| delivered(*fence)).collect()
}

fn asks(after: u64) -> Request {
    Request::Leases { after: JobId(after), jobs_max: 100 }
}

#[test]
fn leases_that_never_came_over_the_lost_connection_are_given_back() {
    let mut client = subscribed();
    client.bring(&[1, 2]);
    client.reconnect(resumed());
    let before = client.requests.line.len();
    assert_eq!(before, 0, "it is asked at once");
    client.bring(&[6]);
    assert_eq!(client.leased(&[1, 2, 3], true), asks(0));
    assert_eq!(client.given_back(), [3]);
    client.bring(&[7]);
    assert_eq!(client.leased(&[4, 6, 7], false), asks(3));
    assert_eq!(client.given_back(), [4], "what the new connection has brought is held");
    client.bring(&[9]);
    client.reconnect(resumed());
    client.leased(&[2, 7, 9], false);
    assert_eq!(client.given_back(), [0; 0]);
}

#[test]
fn a_question_that_was_cut_off_is_asked_anew() {
    let mut client = subscribed();
    client.bring(&[2]);
    client.reconnect(resumed());
    client.bring(&[5]);
    client.reconnect(resumed());
    assert_eq!(client.leased(&[2, 3, 5, 6], false), asks(0));
    assert_eq!(client.given_back(), [3, 6]);
    assert!(client.sent_all().iter().all(|(_, request)| !matches!(request, Request::Leases { .. })), "once");
}

#[test]
fn nobody_asks_for_leases_who_has_none_or_whose_server_does_not_know_the_question() {
    let mut client = Client::new(welcome());
    let _push = client.push(1);
    client.reconnect(resumed());
    assert_eq!(client.sent_all().len(), 1, "a producer");
    let mut client = subscribed();
    client.bring(&[1]);
    client.reconnect(Welcome { leases_kept: false, ..resumed() });
    assert_eq!(client.sent_all().len(), 1, "it has lost its leases");
    client.reconnect(resumed());
    let (id, _) = client.sent_all().into_iter().find(|(_, request)| *request == asks(0)).unwrap();
    client.bring(&[4]);
    client.refuse(id.0, ErrorCode::Unsupported);
    client.bring(&[5]);
    client.reconnect(resumed());
    client.leased(&[4, 5, 6], false);
    assert_eq!(client.given_back(), [6], "another server knows it");
}

#[test]
fn whoever_asks_for_leases_holds_what_is_shown() {
    let mut client = subscribed();
    client.bring(&[1, 2]);
    client.reconnect(resumed());
    let (own, _) = client.sent_all().into_iter().find(|(_, request)| *request == asks(0)).unwrap();
    let call = client.call(asks(0));
    let leases = vec![delivered(2).lease];
    let _finish = client.call(Request::Finish { leases });
    let (id, _) = client.sent_all().into_iter().find(|(_, request)| *request == asks(0)).unwrap();
    client.answer(id.0, Response::Leased(Leased { has_more: false, jobs: jobs(&[1, 2, 3]) }));
    let Ok(Response::Leased(page)) = outcome(call) else { panic!("a page") };
    let shown: Vec<u64> = page.jobs.iter().map(|job| job.lease.fence.0).collect();
    assert_eq!(shown, [1, 3], "what is being finished is not held any more");
    client.answer(own.0, Response::Leased(Leased { has_more: false, jobs: jobs(&[1, 2, 3, 4]) }));
    assert_eq!(client.given_back(), [4]);
}

#[test]
fn a_reserve_is_cancelled_when_nobody_waits_for_it_any_more() {
    let mut client = Client::new(welcome());
    let begin = |client: &mut Client| {
        let (id, serial, call) = client.requests.accept_named(client.now, reserve(10_000)).unwrap();
        client.requests.pump(client.now, &mut client.answers);
        (id, serial, call)
    };
    let leave = |client: &mut Client, (id, serial, call): (RequestId, u64, Call)| {
        drop(call);
        client.requests.cancel(client.now, id, serial);
        client.requests.pump(client.now, &mut client.answers);
    };
    let cancels = |client: &mut Client| {
        let sent = client.sent_all().into_iter();
        sent.filter_map(|(id, request)| match request {
            Request::Cancel { request } => Some((id.0, request)),
            _ => None,
        })
        .collect::<Vec<_>>()
    };
    let first = begin(&mut client);
    leave(&mut client, first);
    assert_eq!(cancels(&mut client), [(2, 1)]);
    // If jobs arrive nevertheless, they are given back when answers are handled; the id is free after that.
    client.answer(1, Response::Reserved(Vec::new()));
    client.answer(2, Response::Done);
    assert_eq!(client.requests.wire.in_flight, 0);
    let answered = begin(&mut client);
    client.answer(answered.0.0, Response::Reserved(jobs(&[9])));
    let other = begin(&mut client);
    assert_eq!(other.0, answered.0, "the id has another owner");
    leave(&mut client, answered);
    assert_eq!(cancels(&mut client), []);
    leave(&mut client, other);
    let cancelled = cancels(&mut client);
    let [(id, _)] = cancelled[..] else { panic!("{cancelled:?}") };
    client.refuse(id, ErrorCode::Unsupported);
    let third = begin(&mut client);
    leave(&mut client, third);
    assert_eq!(cancels(&mut client), [], "this server does not know it");
    client.reconnect(resumed());
    let waiting = begin(&mut client);
    leave(&mut client, waiting);
    assert_eq!(cancels(&mut client).len(), 1, "the next one may");
    client.reconnect(resumed());
    assert_eq!(cancels(&mut client), [], "a connection that is gone waits for nothing");
}

#[test]
fn a_client_that_an_operator_sent_away_takes_its_time() {
    let mut client = Client::new(welcome());
    let message = "closed".to_owned();
    client.answer(0, Response::GoingAway { message, reason: GoingAway::Disconnected });
    assert!(client.requests.elsewhere.retry_after_ms >= 1_000);
}

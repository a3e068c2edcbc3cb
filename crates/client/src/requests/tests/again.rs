//! Requests that are sent again: reserves answered too early, requests hit by a broken frame, and subscriptions.

use super::*;

#[test]
fn a_reserve_that_was_answered_too_early_asks_for_the_rest_of_its_wait() {
    let mut client = Client::new(welcome());
    let (call, at_once) = (client.call(reserve(10_000)), client.call(reserve(0)));
    client.sent();
    client.now += Duration::from_secs(4);
    client.answer(1, Response::Reserved(Vec::new()));
    assert_eq!(client.sent(), [(RequestId(1), reserve(6_000))]);
    client.answer(2, Response::Reserved(Vec::new()));
    assert_eq!(outcome(at_once), Ok(Response::Reserved(Vec::new())), "it was not to wait");
    // The connection is about to be closed: the next one carries the request.
    client.answer(0, Response::GoingAway { message: String::new(), reason: GoingAway::Stopping });
    client.answer(1, Response::Reserved(Vec::new()));
    client.requests.wire.out.clear();
    assert_eq!(client.sent(), []);
    client.reconnect(resumed());
    assert_eq!(client.sent(), [(RequestId(1), reserve(6_000))]);
    client.now += Duration::from_secs(6);
    client.answer(1, Response::Reserved(Vec::new()));
    assert_eq!(outcome(call), Ok(Response::Reserved(Vec::new())), "its wait is over");
}

#[test]
fn a_reserve_whose_jobs_are_all_over_is_sent_again() {
    let mut client = Client::new(Welcome { clock_ms: 1_000, ..welcome() });
    let call = client.call(reserve(10_000));
    client.sent();
    client.now += Duration::from_secs(3);
    let over = adjourn_protocol::Delivered { deadline_ms: 2_000, ..delivered(1) };
    client.answer(1, Response::Reserved(vec![over]));
    assert_eq!(client.sent(), [(RequestId(1), reserve(7_000))]);
    client.answer(1, Response::Reserved(vec![delivered(2)]));
    assert!(matches!(outcome(call), Ok(Response::Reserved(jobs)) if jobs.len() == 1));
}

#[test]
fn a_broken_frame_costs_only_what_cannot_be_repeated() {
    let broken = ProtocolFault::Frame(adjourn_protocol::FrameError::TooShort { length: 3 });
    let mut client = Client::new(welcome());
    let (read, pushed_one, kick) =
        (client.call(Request::Stats), client.push(1), client.call(Request::Kick(JobRef::Id(JobId(1)))));
    client.sent();
    for times in 1..=3 {
        client.requests.down(Some(&broken), &mut client.answers);
        client.requests.up(client.now, client.now, resumed(), &mut client.answers).unwrap();
        client.tell();
        assert_eq!(client.sent().len(), if times < 3 { 2 } else { 0 }, "after {times} times");
    }
    assert!(outcome(kick).unwrap_err().starts_with("Protocol(Frame"));
    assert!(outcome(read).unwrap_err().starts_with("Protocol(Frame"), "its answer may be what is broken");
    assert!(outcome(pushed_one).unwrap_err().starts_with("Protocol(Frame"));
}

#[test]
fn a_subscription_stands_while_its_connection_does() {
    let mut client = Client::new(welcome());
    let feed = Arc::new(Feed::new(8));
    let topics = vec!["t".parse().unwrap()];
    let subscribe = Subscribe { topics, credit_jobs: 8, credit_bytes: 1_000, weights: Vec::new() };
    let _call = client.requests.subscribe(client.now, subscribe, Arc::clone(&feed)).unwrap();
    client.requests.pump(client.now, &mut client.answers);
    assert!(!feed.is_standing());
    client.answer(1, Response::Subscribed);
    assert!(feed.is_standing());
    client.reconnect(resumed());
    assert!(!feed.is_standing(), "it is asked for anew");
    client.answer(1, Response::Subscribed);
    assert!(feed.is_standing());
    feed.leave();
    assert!(!feed.is_standing());
}

//! Pushes that replace a reserved job, or postpone one, in a cluster with one older member: they are refused before they
//! are proposed.

use adjourn::protocol::{Applied, ErrorCode, NewJob, Push, PushResult, Request, Response};
use adjourn::types::{FEATURE_PUSH_MODES, IfExists};

use super::rig::{Rig, refusal};

fn push(mode: IfExists) -> Request {
    let key = Some("shop-3".parse().expect("a key"));
    let jobs = vec![NewJob::new("plain"), NewJob { if_exists: mode, key, ..NewJob::new("keyed") }];
    Request::Push(Push { topic: "jobs".parse().expect("a topic"), sequence: 0, jobs, idempotency: None })
}

#[test]
fn later_modes_wait_for_every_member() {
    let mut rig = Rig::of(&[0, 0, 0]);
    rig.change_version(3, FEATURE_PUSH_MODES - 1);
    let leader = rig.elect();
    let client = rig.connect(leader);
    for (id, mode) in (1..).zip([IfExists::ReplaceReserved, IfExists::Postpone]) {
        let error = refusal(rig.ask(leader, client, id, push(mode)));
        assert_eq!((error.code, error.applied), (ErrorCode::Unsupported, Applied::No));
        assert!(error.message.contains("upgrade the others"), "{error}");
    }
    let Response::Pushed(results) = rig.ask(leader, client, 3, push(IfExists::Replace)) else {
        panic!("pushed")
    };
    let [_, PushResult::Pushed(job)] = results[..] else { panic!("nothing was there: {results:?}") };

    rig.change_version(3, FEATURE_PUSH_MODES);
    rig.pass(2_000);
    let leader = rig.elect();
    let client = rig.connect(leader);
    let Response::Pushed(results) = rig.ask(leader, client, 1, push(IfExists::Postpone)) else {
        panic!("pushed")
    };
    assert!(matches!(results[..], [_, PushResult::Postponed(same)] if same == job), "{results:?}");
}

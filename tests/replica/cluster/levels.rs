//! A request that an older member does not know: it is refused before it is proposed, until that member is upgraded.

use adjourn_protocol::{Applied, ErrorCode, Request, Response};
use adjourn_types::FEATURE_KICK_MANY;

use super::rig::{Rig, refusal};

fn kick_many() -> Request {
    Request::KickMany { topic: "jobs".parse().expect("a topic"), jobs_max: 10 }
}

#[test]
fn what_a_member_does_not_know_waits_for_it() {
    let mut rig = Rig::of(&[0, 0, 0]);
    rig.change_version(3, FEATURE_KICK_MANY - 1);
    let leader = rig.elect();
    let client = rig.connect(leader);
    rig.push(leader, client, 1, 0);
    rig.answer(leader, client, 1);
    let error = refusal(rig.ask(leader, client, 2, kick_many()));
    assert_eq!((error.code, error.applied), (ErrorCode::Unsupported, Applied::No));
    assert!(error.message.contains("upgrade the others"), "{error}");

    rig.change_version(3, FEATURE_KICK_MANY);
    rig.pass(2_000);
    let leader = rig.elect();
    let client = rig.connect(leader);
    let kicked = rig.ask(leader, client, 1, kick_many());
    assert_eq!(kicked, Response::Kicked { jobs: 0 });
}

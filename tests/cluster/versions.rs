//! Nodes of two versions in one cluster: they understand each other, and new commands wait until all nodes know them.

use adjourn_client::{Client, ClientConfig, ClientError};
use adjourn_protocol::{ErrorCode, JobRef, NewJob, PushResult, Request, Reserve};
use adjourn_types::{FEATURE_LEVEL, Lease, TopicName};
use tokio::runtime::Runtime;

use super::ARGUMENTS;
use super::load::Load;
use super::proxy::Gates;
use super::report::{Pauses, finish};
use super::rig::Cluster;
use crate::server_rig::topic;

const PREVIOUS: [&str; 2] = ["--feature-level-max", "0"];

#[test]
fn what_is_new_waits_until_the_last_member_knows_it() {
    let newest: Vec<String> = ARGUMENTS.iter().map(ToString::to_string).collect();
    let previous = [&ARGUMENTS[..], &PREVIOUS].concat();
    let mut cluster = Cluster::founded(Gates::default(), &previous);
    add(&mut cluster, 2);
    let previous = std::mem::replace(&mut cluster.arguments, newest.clone());
    add(&mut cluster, 3);
    cluster.await_voters(3);
    let load = Load::start(&cluster.addresses());
    let runtime = Runtime::new().expect("a runtime");
    let client = Client::connect(ClientConfig::new(cluster.addresses()));
    let client = runtime.block_on(client).expect("some node answers");
    let broken = topic("broken");
    runtime.block_on(bury(&client, &broken));

    // A leader of either version refuses a command that one of the nodes does not know.
    for leader in [1, 3] {
        cluster.ask_leader(&Request::ClusterTransfer { node: leader }).expect("it takes over");
        cluster.wait_for("the other leader", |cluster| {
            cluster.leader_report().filter(|report| report.node == leader).map(drop)
        });
        load.await_pushes(100);
        let refused = runtime.block_on(client.kick_many(&broken, 2)).expect_err("two do not know it");
        let ClientError::Refused(reply) = refused else { panic!("{refused:?}") };
        assert_eq!(reply.code, ErrorCode::Unsupported);
        assert!(reply.message.contains("every member must run a version that knows"), "{reply}");
        assert_eq!(cluster.await_voters(3).feature_level, 0);
    }

    // One after the other comes back as the newest version.
    for number in [1, 2] {
        assert_eq!(cluster.await_voters(3).feature_level, 0);
        stop(&mut cluster, number);
        cluster.start(number);
        load.await_pushes(100);
    }
    cluster.wait_for("the level to rise", |cluster| {
        cluster.leader_report().filter(|report| report.feature_level == FEATURE_LEVEL).map(drop)
    });
    assert_eq!(runtime.block_on(client.kick_many(&broken, 2)).expect("all know it"), 2);
    assert_eq!(runtime.block_on(client.kick_many(&broken, 100_000)).expect("all know it"), 7);
    runtime.block_on(finish_all(&client, &broken));

    // There is no way back, and a node of the previous version cannot join.
    cluster.wait_for("all to know of it", |cluster| {
        cluster.report(2).filter(|report| report.feature_level == FEATURE_LEVEL).map(drop)
    });
    stop(&mut cluster, 2);
    cluster.arguments.clone_from(&previous);
    let (code, log) = cluster.try_start(2).expect_err("its data is of the newest level");
    let newest_data = format!("the data is of feature level {FEATURE_LEVEL}");
    assert!(code != Some(0) && log.contains(&newest_data), "{code:?}: {log}");
    cluster.prepare(4);
    cluster.start(4);
    let refused = cluster.add(4).expect_err("it goes up to level 0");
    let too_low = format!("goes up to feature level 0, and the cluster is at {FEATURE_LEVEL}");
    assert!(refused.message.contains(&too_low), "{refused}");
    cluster.nodes.retain(|node| node.number != 4);
    cluster.arguments = newest;
    cluster.start(2);
    finish("Two versions in one cluster", &cluster, load, Pauses::default(), &[]);
}

fn add(cluster: &mut Cluster<Gates>, number: u64) {
    cluster.prepare(number);
    cluster.start(number);
    cluster.add(number).expect("it is added");
}

fn stop(cluster: &mut Cluster<Gates>, number: u64) {
    let process = cluster.node(number).process.take().expect("it runs");
    assert_eq!(process.terminate().code(), Some(0));
}

/// Buries ten jobs, and kicks one, as ever.
async fn bury(client: &Client, topic: &TopicName) {
    let jobs = (0..10_u8).map(|number| NewJob::new(vec![number])).collect();
    let pushed = client.push(topic, jobs).await.expect("pushed");
    let leases = reserve_all(client, topic).await;
    let buried = client.bury(leases).await.expect("buried");
    assert!(buried.iter().all(Result::is_ok), "{buried:?}");
    let Some(PushResult::Pushed(first)) = pushed.first() else { panic!("{pushed:?}") };
    client.kick(JobRef::Id(*first)).await.expect("kicked");
}

async fn finish_all(client: &Client, topic: &TopicName) {
    let leases = reserve_all(client, topic).await;
    let finished = client.finish(leases).await.expect("finished");
    assert!(finished.iter().all(Result::is_ok), "{finished:?}");
}

/// Leases on the ten jobs, which are ready.
async fn reserve_all(client: &Client, topic: &TopicName) -> Vec<Lease> {
    let reserve = Reserve { topics: vec![topic.clone()], jobs_max: 10, wait_ms: 60_000, weights: Vec::new() };
    let reserved = client.reserve(reserve).await.expect("reserved");
    assert_eq!(reserved.len(), 10);
    reserved.iter().map(|job| job.lease).collect()
}

//! Call-backs while the leader changes: a call that was begun is neither lost nor, if its leader lives, made again.

use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::ARGUMENTS;
use super::ports::free_port;
use super::proxy::Gates;
use super::rig::Cluster;
use crate::call_backs::{Answer, Receiver};
use crate::http::Web;

/// Three members that vote and may call this machine.
fn site() -> (Cluster<Gates>, std::net::SocketAddr) {
    site_with(&["--call-back-allow", "127.0.0.0/8", "--call-back-ports", "1-65535"])
}

/// Three members that vote, with more arguments. The second one speaks HTTP.
pub(super) fn site_with(more: &[&str]) -> (Cluster<Gates>, std::net::SocketAddr) {
    let web = free_port();
    let arguments = [&ARGUMENTS, more].concat();
    let mut cluster = Cluster::founded(Gates::default(), &arguments);
    let listen = web.to_string();
    for number in [2, 3] {
        let http: &[&str] = if number == 2 { &["--http-listen", &listen] } else { &[] };
        cluster.arguments = [&arguments, http].concat().iter().map(ToString::to_string).collect();
        cluster.prepare(number);
        cluster.start(number);
        cluster.add(number).expect("it is added");
    }
    cluster.await_voters(3);
    (cluster, web)
}

/// Asks until a leader answers.
fn ask(cluster: &Cluster<Gates>, web: std::net::SocketAddr, method: &str, path: &str, body: &Value) -> Value {
    cluster.wait_for("an answer", |_| {
        let reply = Web::try_connect(web)?.ask(method, path, Some(body));
        (reply.status < 300).then(|| if reply.body.is_empty() { Value::Null } else { reply.json() })
    })
}

fn await_done(cluster: &Cluster<Gates>, web: std::net::SocketAddr, job: &Value) {
    cluster.wait_for("the end of the job", |_| {
        let shown = Web::try_connect(web)?.get(&format!("/v1/jobs/{job}"));
        (shown.status == 200 && shown.json().get("state") == Some(&json!("finished"))).then_some(())
    });
}

#[test]
fn a_call_that_ends_when_another_leads_counts() {
    let (cluster, web) = site();
    assert_eq!(cluster.await_leader(), 1);
    let (tell, when) = channel();
    let receiver = Receiver::always(Answer::When(Arc::new(Mutex::new(when))));
    ask(&cluster, web, "PATCH", "/v1/topics/t", &json!({"call_back": receiver.url("/")}));
    let job = ask(&cluster, web, "POST", "/v1/topics/t/jobs", &json!({"body": "a"}));
    let job = job.get("id").expect("an id");
    receiver.call();
    ask(&cluster, web, "POST", "/v1/cluster/transfer", &json!({"node": 2}));
    assert_eq!(cluster.await_other_leader(1), 2);
    tell.send(200).expect("sent");
    await_done(&cluster, web, job);
    assert!(receiver.more().is_empty(), "it is called once");
    // A member knows of its own calls alone, and says so.
    let told = Web::connect(web).get(&format!("/v1/jobs/{job}/attempts")).json();
    assert_eq!(told, json!({"attempts": [], "node": 2, "complete": false}));
    // The new leader calls, too.
    let next = ask(&cluster, web, "POST", "/v1/topics/t/jobs", &json!({"body": "b"}));
    receiver.call();
    tell.send(200).expect("sent");
    await_done(&cluster, web, next.get("id").expect("an id"));
}

#[test]
fn a_call_whose_node_dies_is_made_again() {
    let (mut cluster, web) = site();
    assert_eq!(cluster.await_leader(), 1);
    let receiver = Receiver::new(|call| {
        if call.header("adjourn-attempt") == "1" { Answer::Hang } else { Answer::Reply(200, "", "") }
    });
    let settings = json!({"call_back": receiver.url("/"), "call_back_timeout": "500ms"});
    ask(&cluster, web, "PATCH", "/v1/topics/t", &settings);
    let pushed = ask(&cluster, web, "POST", "/v1/topics/t/jobs", &json!({"body": "a", "ttr": "2s"}));
    let first = receiver.call();
    cluster.kill(1);
    cluster.await_other_leader(1);
    let second = receiver.call();
    assert_eq!((first.job(), second.header("adjourn-attempt")), (second.job(), "2"));
    await_done(&cluster, web, pushed.get("id").expect("an id"));
    assert!(receiver.more().is_empty());
}

//! HTTP at nodes that do not lead: the leader answers, as if it had been asked itself.

#![expect(clippy::indexing_slicing, reason = "a test that panics has failed, as it should")]

use std::net::SocketAddr;

use serde_json::{Value, json};

use super::ARGUMENTS;
use super::ports::free_port;
use super::proxy::Gates;
use super::rig::Cluster;
use crate::http::{Web, tokens_in};

/// Three members that vote, each with HTTP; the third alone wants tokens, the second has a port for an older queue.
struct Site {
    cluster: Cluster<Gates>,
    webs: [SocketAddr; 3],
    older: SocketAddr,
    tokens: [String; 2],
    _folder: tempfile::TempDir,
}

impl Site {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("tokens.toml");
        let tokens = tokens_in(&file, [&["--allow", "push,consume,read:orders.*"], &["--allow", "read"]]);
        let [webs @ .., older] = [free_port(), free_port(), free_port(), free_port()];
        let [one, two, three] = webs.map(|web| web.to_string());
        let own = |more: &[&str]| [&ARGUMENTS, more].concat().iter().map(ToString::to_string).collect();
        let mut cluster =
            Cluster::founded(Gates::default(), &[&ARGUMENTS, &["--http-listen", &one][..]].concat());
        let file = file.to_str().expect("a path");
        let arguments: [Vec<String>; 2] = [
            own(&["--http-listen", &two, "--ouqiang-listen", &older.to_string()]),
            own(&["--http-listen", &three, "--tokens-file", file]),
        ];
        for (number, arguments) in [2, 3].into_iter().zip(arguments) {
            cluster.arguments = arguments;
            cluster.prepare(number);
            cluster.start(number);
            cluster.add(number).expect("it is added");
        }
        cluster.await_voters(3);
        Self { cluster, webs, older, tokens, _folder: folder }
    }

    fn web(&self, number: usize) -> Web {
        Web::connect(self.webs[number - 1])
    }
}

/// Asks until a node answers: leadership may just be moving.
fn until_done(site: &Site, number: usize, path: &str, body: Option<&Value>) -> Value {
    site.cluster.wait_for("an answer", |_| {
        let reply = Web::try_connect(site.webs[number - 1])?.ask("POST", path, body);
        (reply.status < 300).then(|| if reply.body.is_empty() { Value::Null } else { reply.json() })
    })
}

#[test]
fn a_follower_has_the_leader_answer() {
    let site = Site::new();
    assert_eq!(site.cluster.await_leader(), 1);
    // A poll waits at one follower for what is pushed at the other.
    let mut waiting = site.web(2);
    waiting.send(b"POST /v1/reserve?topics=orders.eu&wait=30s HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n");
    let [shop, reader] = &site.tokens;
    let mut third = site.web(3).with_token(shop);
    let pushed = third.post("/v1/topics/orders.eu/jobs", &json!({"body": "close order 17"}));
    assert_eq!(pushed.status, 201);
    let reserved = waiting.reply().expect("an answer").json();
    assert_eq!(reserved["jobs"][0]["body"], json!("close order 17"));
    let lease = reserved["jobs"][0]["lease"].as_str().expect("a lease");
    assert_eq!(third.ask("POST", &format!("/v1/leases/{lease}/finish"), None).status, 204);
    assert_eq!(site.web(1).get("/v1/jobs/count?topic=orders.eu").json(), json!({"count": 0}));
    // The leader is told what the token at the follower allows.
    let denied = third.post("/v1/topics/mails/jobs", &json!({}));
    assert_eq!(denied.refusal(), (403, "FORBIDDEN".to_owned()));
    let mut reading = site.web(3).with_token(reader);
    assert_eq!(reading.post("/v1/topics/orders.eu/jobs", &json!({})).refusal().0, 403);
    assert_eq!(reading.get("/v1/jobs/count").json(), json!({"count": 0}));
    assert_eq!(site.web(3).get("/v1/jobs/count").refusal().0, 401);
}

#[test]
fn a_follower_finds_the_next_leader() {
    let mut site = Site::new();
    let pushed = until_done(&site, 2, "/v1/topics/orders.eu/jobs", Some(&json!({"body": "a"})));
    let lease = until_done(&site, 2, "/v1/reserve?topics=orders.eu", None);
    assert_eq!(lease["jobs"][0]["id"], pushed["id"]);
    let lease = lease["jobs"][0]["lease"].as_str().expect("a lease").to_owned();
    site.cluster.kill(1);
    until_done(&site, 2, &format!("/v1/leases/{lease}/finish"), None);
    until_done(&site, 2, "/v1/topics/orders.eu/jobs", Some(&json!({"body": "b"})));
    assert_eq!(site.web(2).get("/v1/jobs/count?topic=orders.eu").json(), json!({"count": 1}));
    site.cluster.arguments.truncate(ARGUMENTS.len());
    site.cluster.arguments.extend(["--http-listen".to_owned(), site.webs[0].to_string()]);
    site.cluster.start(1);
    until_done(&site, 1, "/v1/topics/orders.eu/jobs", Some(&json!({"body": "c"})));
    assert_eq!(site.web(1).get("/v1/jobs/count?topic=orders.eu").json(), json!({"count": 2}));
    watch_without_others(&mut site);
}

#[test]
fn an_id_is_found_by_the_next_leader() {
    let mut site = Site::new();
    let until_said = |site: &Site, path: &str, body: &Value, said: &str| {
        site.cluster.wait_for(said, |_| {
            let reply = Web::try_connect(site.older)?.ask("POST", path, Some(body));
            assert_eq!(reply.status, 200, "{reply}");
            String::from_utf8_lossy(&reply.body).contains(said).then_some(())
        });
    };
    let push = |topic: &str| json!({"topic": topic, "id": "17", "delay": 3600, "ttr": 60, "body": format!("to {topic}")});
    until_said(&site, "/push", &push("orders"), "添加成功");
    until_said(&site, "/push", &push("mails"), "添加成功");
    site.cluster.kill(1);
    until_said(&site, "/get", &json!({"id": "17"}), "to mails");
    until_said(&site, "/push", &push("orders"), "添加成功");
    until_said(&site, "/get", &json!({"id": "17"}), "to orders");
    assert_eq!(site.web(2).get("/v1/jobs/count").json(), json!({"count": 1}));
    until_said(&site, "/delete", &json!({"id": "17"}), "操作成功");
    until_said(&site, "/get", &json!({"id": "17"}), r#""data":null"#);
}

/// A node shows how it is while it follows, and while nobody leads.
fn watch_without_others(site: &mut Site) {
    let leads = |web: &mut Web| {
        String::from_utf8(web.get("/metrics").body).expect("text").contains("\nadjourn_raft_leads 1\n")
    };
    let shown = [1, 2].map(|number| leads(&mut site.web(number)));
    assert!(!(shown[0] && shown[1]), "one leads at most: {shown:?}");
    assert_eq!(site.web(1).get("/readyz").status, 200);
    site.cluster.kill(2);
    site.cluster.kill(3);
    let told = site.cluster.wait_for("a node without a leader", |_| {
        let told = site.web(1).get("/readyz");
        (told.status == 503).then_some(told.body)
    });
    assert!(String::from_utf8_lossy(&told).contains("no node leads"));
    assert_eq!(site.web(1).get("/healthz").status, 200);
    assert_eq!(site.web(1).get("/metrics").status, 200);
}

//! Alerts of a cluster: one member tells what all of them see, whoever leads.

#![expect(clippy::indexing_slicing, reason = "a test that panics has failed, as it should")]

use serde_json::json;

use super::call_backs::site_with;
use crate::call_backs::{Answer, Receiver};
use crate::http::Web;

#[test]
fn a_member_that_is_down_is_told_once() {
    let receiver = Receiver::always(Answer::Reply(200, "", ""));
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("alerts.toml");
    let target = format!("[[target]]\nname = \"chat\"\nwebhook = \"{}\"\n", receiver.url("/"));
    let rule = "[[rule]]\nname = \"down\"\nwhen = \"member_down\"\nfor = \"5s\"\n";
    std::fs::write(&file, format!("{target}{rule}")).expect("written");
    let file = file.to_str().expect("a path");
    let (mut cluster, web) = site_with(&["--alerts-file", file]);
    assert_eq!(cluster.await_leader(), 1);
    cluster.kill(3);
    let told = || serde_json::from_slice::<serde_json::Value>(&receiver.call().body).expect("JSON");
    let firing = told();
    assert_eq!((&firing["state"], &firing["node"]), (&json!("firing"), &json!(1)), "{firing}");
    assert_eq!(firing["firing"][0]["subject"], json!("node 3"));
    // The others find the same, and say nothing.
    cluster.wait_for("the second node", |_| {
        let metrics = String::from_utf8(Web::try_connect(web)?.get("/metrics").body).ok()?;
        metrics.contains("adjourn_alerts_firing{rule=\"down\"} 1").then_some(())
    });
    // So the new leader knows that this was told.
    cluster.ask_leader(&adjourn_protocol::Request::ClusterTransfer { node: 2 }).expect("it is transferred");
    assert_eq!(cluster.await_other_leader(1), 2);
    cluster.start(3);
    let recovered = told();
    assert_eq!((&recovered["state"], &recovered["node"]), (&json!("recovered"), &json!(2)), "{recovered}");
    assert_eq!(recovered["recovered"], json!(["node 3"]));
    assert!(receiver.more().is_empty());
}

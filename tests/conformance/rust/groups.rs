//! The operator's commands about groups, and about what holds jobs back.

use adjourn_client::Client;
use adjourn_protocol::{GroupReport, JobRef, Reason};
use adjourn_types::{GroupName, Millis};
use serde_json::{Value, json};

use super::operator::{done, failed, topic};
use super::shown::{self, Failure};
use super::text;

pub(super) async fn obey(client: &Client, command: &Value) -> Result<Value, Failure> {
    let topic = topic(command)?;
    let named = || text(command, "group").parse::<GroupName>();
    match text(command, "do") {
        "group_set" => {
            let group = named().map_err(|error| shown::usage(error.to_string()))?;
            let weight = command["weight"].as_u64().and_then(|weight| u32::try_from(weight).ok());
            done(client.set_group(&topic, &group, weight, command["paused"].as_bool()).await)
        }
        "group_list" => {
            let groups = client.groups(&topic, text(command, "prefix")).await.map_err(failed)?;
            Ok(json!({ "groups": groups.iter().map(group_json).collect::<Vec<_>>() }))
        }
        "topic_why" => {
            let why = client.why_topic(&topic, named().ok().as_ref()).await;
            Ok(reasons_json(&why.map_err(failed)?))
        }
        other => Err(shown::usage(format!("no command {other}"))),
    }
}

pub(super) async fn why(client: &Client, job: JobRef) -> Result<Value, Failure> {
    Ok(reasons_json(&client.why(job).await.map_err(failed)?))
}

fn group_json(group: &GroupReport) -> Value {
    json!({
        "name": group.name,
        "ready": group.ready.to_string(),
        "reserved": group.reserved.to_string(),
        "weight": group.weight,
        "paused": group.paused,
        "hold": group.hold.name(),
    })
}

fn reasons_json(reasons: &[Reason]) -> Value {
    let shown = |reason: &Reason| {
        let until = reason.until.unwrap_or(Millis(0)).0.to_string();
        json!({ "why": reason.why.name(), "jobs": reason.jobs.to_string(), "until_ms": until })
    };
    json!({ "reasons": reasons.iter().map(shown).collect::<Vec<_>>() })
}

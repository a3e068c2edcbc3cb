//! The operator's commands: one job, topics, many jobs, and the connections of others.

use adjourn_client::{Changed, Client, ClientError};
use adjourn_protocol::{ConnectionList, Request, Response, StageReport, TopicSet, Totals};
use adjourn_types::TopicName;
use serde_json::{Value, json};

use super::groups;
use super::schedules;
use super::shown::{
    self, Failure, client_failure, delivered_json, fields_of, report_json, request_of, state_name,
};
use super::{number, text, with_default};

/// What becomes of each job of a bulk change, by its number on the wire.
const CHANGES: [&str; 5] = ["delete", "kick", "run_now", "reschedule", "move"];

/// The parts of an edit, by their bits.
const EDITED: [&str; 10] = [
    "due",
    "priority",
    "ttr",
    "body",
    "headers",
    "expires",
    "attempts_max",
    "backoff",
    "dedupe_retention",
    "group",
];

pub(super) async fn obey(client: &Client, command: &Value) -> Result<Value, Failure> {
    match text(command, "do") {
        "peek" => {
            let report = client.peek(&topic(command)?).await.map_err(failed)?;
            Ok(json!({ "job": report_json(report.ok_or_else(shown::not_found)?)? }))
        }
        "run_now" | "kick" | "reschedule" | "edit" => one_job(client, command).await,
        "kick_many" => {
            let jobs_max = command["jobs_max"].as_u64().unwrap_or_default();
            let jobs = client.kick_many(&topic(command)?, jobs_max).await.map_err(failed)?;
            Ok(json!({ "jobs": jobs }))
        }
        "pause" => done(client.pause(&topic(command)?).await),
        "resume" => done(client.resume(&topic(command)?).await),
        "topic_delete" => done(client.delete_topic(&topic(command)?).await),
        "topic_set" => {
            let Request::TopicSet(TopicSet { topic, change }) = request_of("TOPIC_SET", command)? else {
                return Err(shown::usage("settings"));
            };
            done(client.set_topic(&topic, *change).await)
        }
        "topic_show" => {
            let settings = client.topic_settings(&topic(command)?).await.map_err(failed)?;
            let paused = settings.paused;
            let mut fields = fields_of(&Response::TopicSettings(Box::new(settings)))?;
            fields["paused"] = json!(paused);
            Ok(fields)
        }
        "topics" => {
            let topics = client.topics().await.map_err(failed)?;
            let topics = topics.iter().map(|one| {
                let mut counts = counts_json(&one.totals);
                counts["topic"] = json!(one.topic.as_str());
                counts["paused"] = json!(one.paused);
                counts
            });
            Ok(json!({ "topics": topics.collect::<Vec<_>>() }))
        }
        "stats" => {
            let stats = client.stats().await.map_err(failed)?;
            let mut counts = counts_json(&stats.totals);
            counts["stages"] = stats.stages.iter().map(stage_json).collect();
            Ok(counts)
        }
        "bulk" => bulk(client, command).await,
        "leases" => {
            let jobs = client.leases().await.map_err(failed)?;
            let jobs: Result<Vec<Value>, _> = jobs.into_iter().map(delivered_json).collect();
            Ok(json!({ "jobs": jobs? }))
        }
        "connections" => {
            let connections = client.connections().await.map_err(failed)?;
            fields_of(&Response::Connections(ConnectionList { has_more: false, connections }))
        }
        "disconnect" => {
            let ends_session = command["ends_session"] == true;
            done(client.disconnect(number(command, "connection"), ends_session).await)
        }
        "why" => match request_of("WHY", &shown::reference(command))? {
            Request::Why(job) => groups::why(client, job).await,
            _ => Err(shown::usage("a job")),
        },
        "group_set" | "group_list" | "topic_why" => groups::obey(client, command).await,
        _ => schedules::obey(client, command).await,
    }
}

async fn one_job(client: &Client, command: &Value) -> Result<Value, Failure> {
    let mut fields = shown::reference(command);
    (fields["due_ms"], fields["due_kind"]) = shown::due(command);
    let changed = match text(command, "do") {
        "run_now" => match request_of("RUN_NOW", &fields)? {
            Request::RunNow(job) => client.run_now(job).await,
            _ => return Err(shown::usage("a job")),
        },
        "kick" => match request_of("KICK", &fields)? {
            Request::Kick(job) => client.kick(job).await,
            _ => return Err(shown::usage("a job")),
        },
        "edit" => match edit_of(command, fields)? {
            Request::Edit(edit) => client.edit(edit).await,
            _ => return Err(shown::usage("a job and what changes")),
        },
        _ => match request_of("RESCHEDULE", &fields)? {
            Request::Reschedule { job, due, if_version: None } => client.reschedule(job, due).await,
            _ => return Err(shown::usage("a job and a due time")),
        },
    };
    let Changed { job, state, due, .. } = changed.map_err(failed)?;
    let state = state.and_then(|state| state_name(state as u64));
    Ok(json!({ "job": job.0.to_string(), "state": state, "due_ms": due.0.to_string() }))
}

/// An edit: the names of the parts that change are bits of the request.
fn edit_of(command: &Value, mut fields: Value) -> Result<Request, Failure> {
    let named = command["edited"].as_array().into_iter().flatten();
    let bits = named.map(|name| {
        let bit = EDITED.iter().position(|part| name == *part).ok_or_else(|| shown::usage("no such part"))?;
        Ok(1_u16 << bit)
    });
    fields["edited"] = json!(bits.sum::<Result<u16, Failure>>()?);
    for (name, none) in
        [("priority", json!(0)), ("ttr_ms", json!(0)), ("body", json!("")), ("attributes", json!({}))]
    {
        fields[name] = if command[name].is_null() { none } else { command[name].clone() };
    }
    request_of("EDIT", &fields)
}

/// All steps of a bulk change.
async fn bulk(client: &Client, command: &Value) -> Result<Value, Failure> {
    let mut fields = with_default(command, "jobs_max", 1_024);
    let change = CHANGES.iter().position(|change| command["change"] == **change);
    fields["change"] = json!(change.ok_or_else(|| shown::usage("no such change"))?);
    if command["change"] == "reschedule" {
        fields["due_ms"] = if command["at_ms"].is_null() {
            // The request has a point in time: the server's clock counts.
            let now = client.ping().await.map_err(failed)?;
            json!(now.0.saturating_add(number(command, "delay_ms")).to_string())
        } else {
            command["at_ms"].clone()
        };
    }
    let Request::Bulk(mut bulk) = request_of("BULK", &fields)? else {
        return Err(shown::usage("a change and a filter"));
    };
    let mut jobs = 0;
    loop {
        let step = client.bulk(bulk.clone()).await.map_err(failed)?;
        jobs += u64::from(step.jobs);
        bulk.cursor = step.cursor;
        if bulk.cursor.is_empty() {
            return Ok(json!({ "jobs": jobs.to_string() }));
        }
    }
}

pub(super) fn topic(command: &Value) -> Result<TopicName, Failure> {
    text(command, "topic").parse().map_err(shown::usage)
}

pub(super) fn done(outcome: Result<(), ClientError>) -> Result<Value, Failure> {
    outcome.map(|()| json!({})).map_err(failed)
}

#[expect(clippy::needless_pass_by_value, reason = "it is what map_err calls")]
pub(super) fn failed(error: ClientError) -> Failure {
    client_failure(&error)
}

fn stage_json(stage: &StageReport) -> Value {
    json!({
        "stage": stage.stage,
        "count": stage.count.to_string(),
        "p50_us": stage.p50_us.to_string(),
        "p99_us": stage.p99_us.to_string(),
        "p999_us": stage.p999_us.to_string(),
        "max_us": stage.max_us.to_string(),
    })
}

fn counts_json(totals: &Totals) -> Value {
    json!({
        "delayed": totals.delayed.to_string(),
        "ready": totals.ready.to_string(),
        "reserved": totals.reserved.to_string(),
        "buried": totals.buried.to_string(),
    })
}

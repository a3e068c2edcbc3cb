//! The operator's commands about schedules.

use std::num::NonZeroU32;

use adjourn_client::{Client, ClientError};
use adjourn_json::{FiringJson, ScheduleJson};
use adjourn_protocol::{
    IfVersion, JobTemplate, ListedSchedule, ScheduleConditions, ScheduleSet, ScheduleState, Scheduled,
};
use adjourn_types::limits::PRIORITY_UNSAID;
use adjourn_types::{Fired, Firing, Millis, Missed, Overlap, ScheduleRules, TopicName};
use serde_json::{Value, json};

use super::operator::{done, failed, topic};
use super::shown::{self, Failure};
use super::{number, text};
use crate::wire::{base64_of, bytes_of};

/// What becomes of missed instants, and of those that overlap, by their numbers on the wire.
const MISSED: [&str; 3] = ["last", "none", "all"];
const OVERLAPS: [&str; 4] = ["skip", "allow", "queue_one", "replace"];

pub(super) async fn obey(client: &Client, command: &Value) -> Result<Value, Failure> {
    let (topic, name) = (topic(command)?, text(command, "name"));
    match text(command, "do") {
        "schedule_set" => {
            let set = client.set_schedule(set_of(topic, name, command)?).await;
            let Scheduled { version, next, .. } = set.map_err(failed)?;
            Ok(json!({ "version": version, "next_ms": ms(next) }))
        }
        "schedule_show" => show(client, &topic, name).await.map_err(failed),
        "schedule_list" => list(client, &topic, command).await.map_err(failed),
        "schedule_pause" => done(client.pause_schedule(&topic, name, text(command, "note")).await),
        "schedule_resume" => done(client.resume_schedule(&topic, name).await),
        "schedule_delete" => done(client.delete_schedule(&topic, name).await),
        "schedule_run" => {
            let job = client.run_schedule(&topic, name).await.map_err(failed)?;
            Ok(json!({ "job": job.0.to_string() }))
        }
        other => Err(shown::usage(format!("no command {other}"))),
    }
}

fn set_of(topic: TopicName, name: &str, command: &Value) -> Result<ScheduleSet, Failure> {
    let number_of = |field: &str, names: &[&str]| {
        let place = names.iter().position(|name| command[field] == **name);
        place.and_then(|place| u8::try_from(place).ok())
    };
    let rules = ScheduleRules {
        when: text(command, "when").to_owned(),
        zone: text(command, "zone").to_owned(),
        missed: number_of("missed", &MISSED).and_then(Missed::from_u8).unwrap_or_default(),
        overlap: number_of("overlap", &OVERLAPS).and_then(Overlap::from_u8).unwrap_or_default(),
        ..ScheduleRules::default()
    };
    let version = command["if_version"].as_u64().and_then(|version| u32::try_from(version).ok());
    let if_version = match version.and_then(NonZeroU32::new) {
        Some(version) => IfVersion::Is(version),
        None if command["if_version"] == "new" => IfVersion::New,
        None => IfVersion::Any,
    };
    let body = bytes_of(&command["body"]).map_err(|_| shown::usage("a body is base64"))?;
    let template = JobTemplate { priority: PRIORITY_UNSAID, body: body.into(), ..JobTemplate::default() };
    Ok(ScheduleSet { topic, name: name.to_owned(), rules: Box::new(rules), template, if_version })
}

async fn show(client: &Client, topic: &TopicName, name: &str) -> Result<Value, ClientError> {
    let report = client.schedule(topic, name).await?;
    let mut shown = standing(&report.state, &report.rules);
    shown["paused"] = json!(ScheduleJson::of(topic.as_str(), name, &report).paused);
    shown["pause_note"] = json!(report.pause_note);
    shown["fired"] = json!(report.state.fired.to_string());
    shown["running"] = json!(report.state.running);
    shown["body"] = json!(base64_of(&report.template.body));
    shown["history"] = report.history.iter().map(firing_json).collect();
    Ok(shown)
}

async fn list(client: &Client, topic: &TopicName, command: &Value) -> Result<Value, ClientError> {
    let conditions = ScheduleConditions {
        prefix: text(command, "prefix").to_owned(),
        paused: command["paused"].as_bool(),
        next_before: Some(Millis(number(command, "next_before_ms"))).filter(|before| before.0 > 0),
    };
    let listed = client.schedules(topic, &conditions).await?;
    Ok(json!({ "schedules": listed.iter().map(listed_json).collect::<Vec<_>>() }))
}

fn listed_json(listed: &ListedSchedule) -> Value {
    let mut shown = standing(&listed.state, &listed.rules);
    shown["paused"] = json!(ScheduleJson::listed(listed).paused);
    shown["pause_note"] = json!(listed.pause_note);
    shown["name"] = json!(listed.name);
    shown
}

fn standing(state: &ScheduleState, rules: &ScheduleRules) -> Value {
    json!({ "version": state.version, "when": rules.when, "next_ms": ms(state.next) })
}

fn firing_json(firing: &Firing) -> Value {
    let job = match firing.what {
        Fired::Pushed { job, .. } => job.0,
        Fired::Skipped { .. } => 0,
    };
    let fired = FiringJson::of(firing).fired;
    json!({ "instant_ms": firing.instant.0.to_string(), "job": job.to_string(), "fired": fired })
}

/// A time as a text; 0 stands for none.
fn ms(time: Option<Millis>) -> String {
    time.map_or(0, |time| time.0).to_string()
}

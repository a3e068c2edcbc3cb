//! The operator's commands about schedules.

use std::num::NonZeroU32;

use adjourn_client::{Client, ClientError};
use adjourn_json::{FiringJson, ScheduleJson};
use adjourn_protocol::{
    IfVersion, JobTemplate, ListedSchedule, ScheduleConditions, ScheduleFill, ScheduleFilled,
    SchedulePreview, ScheduleSet, ScheduleState, Scheduled,
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
    match text(command, "do") {
        "schedule_list" => return list(client, command).await,
        "schedule_preview" => return preview(client, command).await.map_err(failed),
        _ => {}
    }
    let (topic, name) = (topic(command)?, text(command, "name"));
    match text(command, "do") {
        "schedule_set" => {
            let set = client.set_schedule(set_of(topic, name, command)?).await;
            let Scheduled { version, next, .. } = set.map_err(failed)?;
            Ok(json!({ "version": version, "next_ms": ms(next) }))
        }
        "schedule_show" => show(client, &topic, name).await.map_err(failed),
        "schedule_fill" => fill(client, topic, name, command).await.map_err(failed),
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

async fn fill(client: &Client, topic: TopicName, name: &str, command: &Value) -> Result<Value, ClientError> {
    let (from, to) = (Millis(number(command, "from_ms")), Millis(number(command, "to_ms")));
    let is_dry_run = command["dry_run"] == true;
    let filled = client.fill_schedule(ScheduleFill { topic, name: name.to_owned(), from, to, is_dry_run });
    let ScheduleFilled { instants, pushed, kept, refused, next, .. } = filled.await?;
    Ok(
        json!({ "instants": instants, "pushed": pushed, "kept": kept, "refused": refused, "next_ms": ms(next) }),
    )
}

async fn preview(client: &Client, command: &Value) -> Result<Value, ClientError> {
    let rules = ScheduleRules {
        when: text(command, "when").to_owned(),
        zone: text(command, "zone").to_owned(),
        ..ScheduleRules::default()
    };
    let from = Some(Millis(number(command, "from_ms"))).filter(|from| from.0 > 0);
    let count = command["count"].as_u64().and_then(|count| u32::try_from(count).ok());
    let asked = SchedulePreview { rules: Box::new(rules), from, instants_max: count.unwrap_or(5) };
    let shown = client.preview_schedule(asked).await?;
    let instant = |(at, local): &(Millis, String)| json!({ "instant_ms": at.0.to_string(), "local": local });
    Ok(json!({ "instants": shown.instants.iter().map(instant).collect::<Vec<_>>() }))
}

async fn list(client: &Client, command: &Value) -> Result<Value, Failure> {
    let topic = if command["topic"].is_null() { None } else { Some(topic(command)?) };
    let conditions = ScheduleConditions {
        prefix: text(command, "prefix").to_owned(),
        paused: command["paused"].as_bool(),
        next_before: Some(Millis(number(command, "next_before_ms"))).filter(|before| before.0 > 0),
    };
    let listed = client.schedules(topic.as_ref(), &conditions).await.map_err(failed)?;
    Ok(json!({ "schedules": listed.iter().map(listed_json).collect::<Vec<_>>() }))
}

fn listed_json(listed: &ListedSchedule) -> Value {
    let mut shown = standing(&listed.state, &listed.rules);
    shown["paused"] = json!(ScheduleJson::listed(listed).paused);
    shown["pause_note"] = json!(listed.pause_note);
    shown["topic"] = json!(listed.topic.as_str());
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

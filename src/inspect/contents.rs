//! The contents of a checkpoint, as `adjourn inspect` and `adjourn backup inspect` show them.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::output::table::aligned;
use adjourn_engine::TopicCounts;
use adjourn_json::values::time_text;
use adjourn_storage::UnreadableJob;
use adjourn_storage::inspect::{CheckpointReport, ChunkReport, PagesReport};

/// A checkpoint as JSON.
#[derive(Serialize)]
pub(crate) struct CheckpointJson<'a> {
    number: u64,
    index: u64,
    term: u64,
    jobs: u64,
    state_hash: String,
    voters: &'a [u64],
    learners: &'a [u64],
    wall: Option<String>,
    topics: BTreeMap<String, CountsJson>,
    chunks: Vec<ChunkJson<'a>>,
    pages: Vec<PagesJson<'a>>,
}

#[derive(Serialize)]
struct CountsJson {
    delayed: u64,
    ready: u64,
    reserved: u64,
    buried: u64,
    paused: bool,
}

#[derive(Serialize)]
struct ChunkJson<'a> {
    name: &'a str,
    rows: u32,
    live: u32,
    far: u32,
    bytes: u64,
    first_due: Option<String>,
    last_due: Option<String>,
    /// Rows by topic.
    topics: BTreeMap<String, u32>,
}

#[derive(Serialize)]
struct PagesJson<'a> {
    name: &'a str,
    entries: u64,
    bytes: u64,
}

/// A checkpoint as JSON, for scripts.
pub(crate) fn checkpoint_json(report: &CheckpointReport) -> CheckpointJson<'_> {
    let chunk = |chunk: &'_ ChunkReport| {
        let topics = chunk.topics.iter().map(|(topic, rows)| (topic_name(report, *topic), *rows));
        (due(chunk), topics.collect())
    };
    CheckpointJson {
        number: report.number,
        index: report.index,
        term: report.term,
        jobs: report.jobs,
        state_hash: format!("{:032x}", report.state_hash),
        voters: &report.voters,
        learners: &report.learners,
        wall: report.wall.map(time_text),
        topics: report.topics.iter().map(|topic| (topic.name.to_string(), counts_json(topic))).collect(),
        chunks: report
            .chunks
            .iter()
            .map(|listed| {
                let ([first_due, last_due], topics) = chunk(listed);
                let ChunkReport { file, rows, live, spilled, .. } = listed;
                let (name, bytes) = (file.name.as_str(), file.bytes);
                ChunkJson {
                    name,
                    rows: *rows,
                    live: *live,
                    far: *spilled,
                    bytes,
                    first_due,
                    last_due,
                    topics,
                }
            })
            .collect(),
        pages: report.pages.iter().map(pages_json).collect(),
    }
}

fn pages_json(pages: &PagesReport) -> PagesJson<'_> {
    PagesJson { name: &pages.file.name, entries: pages.entries, bytes: pages.file.bytes }
}

/// A checkpoint as tables of its topics and of its files, for people.
pub(crate) fn checkpoint_tables(report: &CheckpointReport) -> String {
    let head = ["TOPIC", "DELAYED", "READY", "RESERVED", "BURIED"].map(str::to_owned);
    let mut topics = vec![head];
    topics.extend(report.topics.iter().map(|topic| {
        let name = if topic.paused { format!("{} (paused)", topic.name) } else { topic.name.to_string() };
        let [delayed, ready, reserved, buried] =
            [topic.delayed, topic.ready, topic.reserved, topic.buried].map(|count| count.to_string());
        [name, delayed, ready, reserved, buried]
    }));
    let mut files =
        vec![["FILE", "BYTES", "ROWS", "LIVE", "FAR", "FIRST DUE", "LAST DUE"].map(str::to_owned)];
    files.extend(report.chunks.iter().map(|chunk| {
        let [rows, live, spilled] = [chunk.rows, chunk.live, chunk.spilled].map(|count| count.to_string());
        let [first, last] = due(chunk).map(|due| due.unwrap_or_else(|| "-".to_owned()));
        [chunk.file.name.clone(), chunk.file.bytes.to_string(), rows, live, spilled, first, last]
    }));
    files.extend(report.pages.iter().map(|pages| {
        let none = || "-".to_owned();
        let (name, bytes) = (pages.file.name.clone(), pages.file.bytes.to_string());
        [name, bytes, pages.entries.to_string(), none(), none(), none(), none()]
    }));
    format!("{}\n{}", aligned(&topics), aligned(&files))
}

/// A number of jobs with the word.
pub(crate) fn jobs_text(jobs: u64) -> String {
    if jobs == 1 { "1 job".to_owned() } else { format!("{jobs} jobs") }
}

/// An unreadable job, as a line.
pub(crate) fn unreadable_text(job: &UnreadableJob) -> String {
    let UnreadableJob { id, topic, keyed, due } = job;
    let topic =
        topic.as_ref().map_or_else(|| "a topic without a name".to_owned(), |topic| format!("topic {topic}"));
    let keyed = if *keyed { ", with a key" } else { "" };
    format!("  job {id} of {topic}, due {}{keyed}", time_text(*due))
}
fn counts_json(topic: &TopicCounts) -> CountsJson {
    let TopicCounts { delayed, ready, reserved, buried, paused, .. } = *topic;
    CountsJson { delayed, ready, reserved, buried, paused }
}

fn due(chunk: &ChunkReport) -> [Option<String>; 2] {
    chunk.due.map_or([None, None], |due| due.map(|at| Some(time_text(at))))
}

/// The name of a topic if the state still has it; else its number.
fn topic_name(report: &CheckpointReport, topic: u32) -> String {
    let known = report.topics.iter().find(|known| known.id.0 == topic);
    known.map_or_else(|| format!("#{topic}"), |topic| topic.name.to_string())
}

//! Adjourn's JSON API over HTTP, with keep-alive and without a client library.

use std::io::{self, BufRead as _, BufReader, Read as _};
use std::net::TcpStream;

use bytes::{BufMut as _, BytesMut};
use serde_json::{Value, json};

use super::connection::{Dialect, Due, unexpected};

/// A conversation over HTTP. All jobs go to one topic.
pub(crate) struct Http {
    body: String,
}

impl Dialect for Http {
    type Id = String;

    fn open(_: &mut TcpStream, body_bytes: usize) -> io::Result<Self> {
        Ok(Self { body: "x".repeat(body_bytes) })
    }

    fn write_push(&mut self, out: &mut BytesMut, jobs: usize, due: Due) {
        let delay_ms = match due {
            Due::Now => 0,
            Due::InAnHour => 3_600_000,
        };
        let job = json!({"body": self.body, "delay": delay_ms});
        let jobs = if jobs == 1 { job } else { Value::from(vec![job; jobs]) };
        write(out, "/v1/topics/load/jobs", &jobs);
    }

    fn read_pushed(&mut self, answers: &mut BufReader<TcpStream>) -> io::Result<()> {
        let answer = read(answers)?;
        let is_new = |one: &Value| one.get("result").is_some_and(|result| result == "pushed");
        let all_new = match answer.get("results").and_then(Value::as_array) {
            Some(results) => results.iter().all(is_new),
            None => is_new(&answer),
        };
        if all_new { Ok(()) } else { Err(unexpected(&answer.to_string())) }
    }

    fn write_reserve(&mut self, out: &mut BytesMut, jobs: usize, wait_s: u32) {
        write(out, &format!("/v1/reserve?topics=load&max={jobs}&wait={wait_s}s"), &Value::Null);
    }

    fn read_reserved(&mut self, answers: &mut BufReader<TcpStream>) -> io::Result<Vec<String>> {
        let answer = read(answers)?;
        let jobs = answer.get("jobs").and_then(Value::as_array);
        let jobs = jobs.ok_or_else(|| unexpected(&answer.to_string()))?;
        let leases = jobs.iter().map(|job| Some(job.get("lease")?.as_str()?.to_owned()));
        leases.collect::<Option<_>>().ok_or_else(|| unexpected(&answer.to_string()))
    }

    fn write_finish(&mut self, out: &mut BytesMut, jobs: &[String]) {
        write(out, "/v1/leases", &json!({"finish": jobs}));
    }

    fn read_finished(&mut self, answers: &mut BufReader<TcpStream>) -> io::Result<()> {
        let answer = read(answers)?;
        let failed = answer.get("failed").and_then(Value::as_array);
        if failed.is_some_and(Vec::is_empty) { Ok(()) } else { Err(unexpected(&answer.to_string())) }
    }
}

/// A POST with JSON, or with nothing.
fn write(out: &mut BytesMut, path: &str, body: &Value) {
    let (kind, body) = match body {
        Value::Null => ("", String::new()),
        body => ("Content-Type: application/json\r\n", body.to_string()),
    };
    let head =
        format!("POST {path} HTTP/1.1\r\nHost: localhost\r\n{kind}Content-Length: {}\r\n\r\n", body.len());
    out.put_slice(head.as_bytes());
    out.put_slice(body.as_bytes());
}

/// The next answer, which must be good.
fn read(answers: &mut BufReader<TcpStream>) -> io::Result<Value> {
    let (mut head, mut length, mut line) = (String::new(), 0, String::new());
    loop {
        line.clear();
        if answers.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let text = line.trim_end();
        if head.is_empty() {
            text.clone_into(&mut head);
        } else if text.is_empty() {
            break;
        } else if let Some((_, value)) =
            text.split_once(':').filter(|(name, _)| name.eq_ignore_ascii_case("content-length"))
        {
            length = value.trim().parse().map_err(io::Error::other)?;
        }
    }
    let mut body = vec![0; length];
    answers.read_exact(&mut body)?;
    let is_good = head.split(' ').nth(1).is_some_and(|status| status.starts_with('2'));
    if !is_good {
        return Err(unexpected(&format!("{head}: {}", String::from_utf8_lossy(&body))));
    }
    serde_json::from_slice(&body).map_err(io::Error::other)
}

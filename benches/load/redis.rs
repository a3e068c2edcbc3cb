//! Redis as a delay queue, as lean as it can be built: a sorted set of jobs by due time and one by lease deadline,
//! a job's body in its member, each step one script, so that it happens whole and by one clock. A consumer that found no job
//! waits for the bell, which is rung when a job is pushed that is due at once.

use std::fmt::Write as _;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;

use bytes::BytesMut;

use super::connection::{Dialect, Due, unexpected};

const PUSH: &str = "\
local t = redis.call('TIME')
local due = t[1] * 1000 + math.floor(t[2] / 1000) + ARGV[1]
for i = 2, #ARGV do redis.call('ZADD', 'due', due, ARGV[i]) end
if ARGV[1] == '0' then redis.call('ZADD', 'bell', 0, 'rung') end
return 'OK'";

const RESERVE: &str = "\
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local jobs = redis.call('ZRANGEBYSCORE', 'due', '-inf', now, 'LIMIT', 0, ARGV[1])
for i, job in ipairs(jobs) do
  redis.call('ZREM', 'due', job)
  redis.call('ZADD', 'leased', now + 60000, job)
end
return jobs";

const FINISH: &str = "return redis.call('ZREM', 'leased', unpack(ARGV))";

/// A conversation with Redis.
pub(crate) struct Redis {
    body: String,
    /// Makes the members different: a number of the connection's own, and one of the job's.
    port: u16,
    next: u64,
    push: String,
    reserve: String,
    finish: String,
    /// The last reserve found no job.
    found_none: bool,
    /// The reserve under way waits for the bell first.
    waits: bool,
}

/// What Redis answers.
enum Value {
    Text(String),
    List(Vec<Value>),
}

impl Dialect for Redis {
    type Id = String;

    fn open(stream: &mut TcpStream, body_bytes: usize) -> io::Result<Self> {
        let mut answers = BufReader::new(stream.try_clone()?);
        let mut load = |script: &str| {
            let mut out = BytesMut::new();
            write_command(&mut out, &["SCRIPT", "LOAD", script]);
            stream.write_all(&out)?;
            match read_value(&mut answers)? {
                Value::Text(sha) => Ok(sha),
                Value::List(_) => Err(unexpected("a list")),
            }
        };
        let (push, reserve, finish) = (load(PUSH)?, load(RESERVE)?, load(FINISH)?);
        let port = stream.local_addr()?.port();
        Ok(Self {
            body: "x".repeat(body_bytes),
            port,
            next: 0,
            push,
            reserve,
            finish,
            found_none: false,
            waits: false,
        })
    }

    fn write_push(&mut self, out: &mut BytesMut, jobs: usize, due: Due) {
        let delay_ms = match due {
            Due::Now => "0",
            Due::InAnHour => "3600000",
        };
        let mut members = Vec::with_capacity(jobs);
        for _ in 0..jobs {
            members.push(format!("{}-{}:{}", self.port, self.next, self.body));
            self.next += 1;
        }
        let mut words = vec!["EVALSHA", &self.push, "0", delay_ms];
        words.extend(members.iter().map(String::as_str));
        write_command(out, &words);
    }

    fn read_pushed(&mut self, answers: &mut BufReader<TcpStream>) -> io::Result<()> {
        read_value(answers).map(drop)
    }

    fn write_reserve(&mut self, out: &mut BytesMut, jobs: usize, wait_s: u32) {
        self.waits = wait_s > 0 && self.found_none;
        if self.waits {
            write_command(out, &["BZPOPMIN", "bell", &wait_s.to_string()]);
        }
        write_command(out, &["EVALSHA", &self.reserve, "0", &jobs.to_string()]);
    }

    fn read_reserved(&mut self, answers: &mut BufReader<TcpStream>) -> io::Result<Vec<String>> {
        if self.waits {
            read_value(answers)?;
        }
        let Value::List(values) = read_value(answers)? else { return Err(unexpected("no list")) };
        self.found_none = values.is_empty();
        let text = |value| match value {
            Value::Text(text) => Ok(text),
            Value::List(_) => Err(unexpected("a list in a list")),
        };
        values.into_iter().map(text).collect()
    }

    fn write_finish(&mut self, out: &mut BytesMut, jobs: &[String]) {
        let mut words = vec!["EVALSHA", &self.finish, "0"];
        words.extend(jobs.iter().map(String::as_str));
        write_command(out, &words);
    }

    fn read_finished(&mut self, answers: &mut BufReader<TcpStream>) -> io::Result<()> {
        read_value(answers).map(drop)
    }
}

fn write_command(out: &mut BytesMut, words: &[&str]) {
    // Writing to memory cannot fail.
    let _ = write!(out, "*{}\r\n", words.len());
    for word in words {
        let _ = write!(out, "${}\r\n{word}\r\n", word.len());
    }
}

fn read_value(answers: &mut BufReader<TcpStream>) -> io::Result<Value> {
    let mut line = String::new();
    answers.read_line(&mut line)?;
    let line = line.trim_end();
    let (kind, rest) = line.split_at_checked(1).ok_or_else(|| unexpected(line))?;
    let size = || rest.parse::<usize>().map_err(|_| unexpected(line));
    match kind {
        "+" | ":" => Ok(Value::Text(rest.to_owned())),
        "$" => {
            let mut bytes = vec![0; size()? + 2];
            answers.read_exact(&mut bytes)?;
            bytes.truncate(bytes.len() - 2);
            String::from_utf8(bytes).map(Value::Text).map_err(|_| unexpected("bytes"))
        }
        "*" if rest == "-1" => Ok(Value::List(Vec::new())),
        "*" => (0..size()?).map(|_| read_value(answers)).collect::<io::Result<_>>().map(Value::List),
        _ => Err(unexpected(line)),
    }
}

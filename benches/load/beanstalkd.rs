//! beanstalkd's protocol: lines, and bodies behind them.

use std::fmt::Write as _;
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::net::TcpStream;

use bytes::BytesMut;

use super::connection::{Dialect, Due, unexpected};

/// A conversation with beanstalkd. Delayed jobs go to one tube, jobs that are due at once to another.
pub(crate) struct Beanstalkd {
    body: String,
}

impl Dialect for Beanstalkd {
    type Id = String;

    fn open(_stream: &mut TcpStream, body_bytes: usize) -> io::Result<Self> {
        Ok(Self { body: "x".repeat(body_bytes) })
    }

    fn write_push(&mut self, out: &mut BytesMut, jobs: usize, due: Due) {
        let delay_s = match due {
            Due::Now => 0,
            Due::InAnHour => 3600,
        };
        for _ in 0..jobs {
            let body = &self.body;
            // Writing to memory cannot fail.
            let _ = write!(out, "put 1024 {delay_s} 60 {}\r\n{body}\r\n", body.len());
        }
    }

    fn read_pushed(&mut self, answers: &mut BufReader<TcpStream>) -> io::Result<()> {
        expect(answers, "INSERTED ").map(drop)
    }

    fn write_reserve(&mut self, out: &mut BytesMut, _jobs: usize, wait_s: u32) {
        let _ = write!(out, "reserve-with-timeout {wait_s}\r\n");
    }

    fn read_reserved(&mut self, answers: &mut BufReader<TcpStream>) -> io::Result<Vec<String>> {
        let line = line(answers)?;
        if line == "TIMED_OUT" {
            return Ok(Vec::new());
        }
        let (id, bytes) = line
            .strip_prefix("RESERVED ")
            .and_then(|rest| rest.split_once(' '))
            .ok_or_else(|| unexpected(&line))?;
        let bytes: usize = bytes.parse().map_err(|_| unexpected(&line))?;
        answers.read_exact(&mut vec![0; bytes + 2])?;
        Ok(vec![id.to_owned()])
    }

    fn write_finish(&mut self, out: &mut BytesMut, jobs: &[String]) {
        for id in jobs {
            let _ = write!(out, "delete {id}\r\n");
        }
    }

    fn read_finished(&mut self, answers: &mut BufReader<TcpStream>) -> io::Result<()> {
        expect(answers, "DELETED").map(drop)
    }
}

fn expect(answers: &mut BufReader<TcpStream>, begin: &str) -> io::Result<String> {
    let line = line(answers)?;
    if line.starts_with(begin) { Ok(line) } else { Err(unexpected(&line)) }
}

fn line(answers: &mut BufReader<TcpStream>) -> io::Result<String> {
    let mut line = String::new();
    answers.read_line(&mut line)?;
    line.strip_suffix("\r\n").map(str::to_owned).ok_or_else(|| unexpected(&line))
}

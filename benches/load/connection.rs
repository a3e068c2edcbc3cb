//! One connection with a window of requests under way, whatever language it speaks.

use std::collections::VecDeque;
use std::io::{self, BufReader, Write as _};
use std::net::TcpStream;

use bytes::BytesMut;

/// How long a long poll may last.
const WAIT_S: u32 = 60;

/// When a pushed job is due.
#[derive(Clone, Copy)]
pub(crate) enum Due {
    Now,
    InAnHour,
}

/// How a queue is spoken to. Answers are read in the order of the requests.
pub(crate) trait Dialect: Send + Sized {
    /// How the queue names a job that is reserved.
    type Id: Send;

    /// Begins a conversation; bodies are to have `body_bytes`.
    fn open(stream: &mut TcpStream, body_bytes: usize) -> io::Result<Self>;
    /// Writes a request that pushes `jobs` jobs.
    fn write_push(&mut self, out: &mut BytesMut, jobs: usize, due: Due);
    /// Reads its answer.
    fn read_pushed(&mut self, answers: &mut BufReader<TcpStream>) -> io::Result<()>;
    /// Writes a request that reserves at most `jobs` jobs. If none is ready, the queue waits for one: a long poll.
    fn write_reserve(&mut self, out: &mut BytesMut, jobs: usize, wait_s: u32);
    /// Reads its answer; empty when no job was ready.
    fn read_reserved(&mut self, answers: &mut BufReader<TcpStream>) -> io::Result<Vec<Self::Id>>;
    /// Writes a request that finishes jobs.
    fn write_finish(&mut self, out: &mut BytesMut, jobs: &[Self::Id]);
    /// Reads its answer.
    fn read_finished(&mut self, answers: &mut BufReader<TcpStream>) -> io::Result<()>;
}

/// A connection.
pub(crate) struct Connection<D> {
    dialect: D,
    stream: TcpStream,
    answers: BufReader<TcpStream>,
    out: BytesMut,
}

/// What an answer is awaited to.
enum Awaited {
    Push(usize),
    Reserve,
    Finish(usize),
}

impl<D: Dialect> Connection<D> {
    /// Connects.
    pub(crate) fn open(address: &str, body_bytes: usize) -> io::Result<Self> {
        let mut stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        let dialect = D::open(&mut stream, body_bytes)?;
        let answers = BufReader::with_capacity(64 << 10, stream.try_clone()?);
        Ok(Self { dialect, stream, answers, out: BytesMut::new() })
    }

    /// Pushes `jobs` jobs, and returns how many were acknowledged.
    pub(crate) fn push(&mut self, jobs: usize, due: Due, window: usize, batch: usize) -> io::Result<usize> {
        let (mut sent, mut done) = (0, 0);
        let mut under_way = VecDeque::new();
        while done < jobs {
            while sent < jobs && under_way.len() < window {
                let size = batch.min(jobs - sent);
                self.dialect.write_push(&mut self.out, size, due);
                under_way.push_back(Awaited::Push(size));
                sent += size;
            }
            self.flush()?;
            while under_way.len() > window / 2 || sent == jobs && !under_way.is_empty() {
                done += self.read_answer(&mut under_way)?;
            }
        }
        Ok(done)
    }

    /// Reserves and finishes until no job is ready, and returns how many were finished.
    pub(crate) fn finish_all(&mut self, window: usize, batch: usize) -> io::Result<usize> {
        let mut done = 0;
        let mut under_way = VecDeque::new();
        let mut dry = false;
        loop {
            while !dry && under_way.len() < window {
                self.dialect.write_reserve(&mut self.out, batch, 0);
                under_way.push_back(Awaited::Reserve);
            }
            self.flush()?;
            if under_way.is_empty() {
                return Ok(done);
            }
            for _ in 0..under_way.len().div_ceil(2) {
                let before = under_way.len();
                let was_reserve = matches!(under_way.front(), Some(Awaited::Reserve));
                done += self.read_answer(&mut under_way)?;
                // A reserve that brought something has its finish under way in its place.
                dry |= was_reserve && under_way.len() < before;
            }
        }
    }

    /// Pushes a job that is due at once, reserves one by a long poll and finishes it, `jobs` times, each request after the answer to
    /// the one before.
    pub(crate) fn turns(&mut self, jobs: usize) -> io::Result<usize> {
        for _ in 0..jobs {
            self.push(1, Due::Now, 1, 1)?;
            let mut reserved = Vec::new();
            while reserved.is_empty() {
                self.dialect.write_reserve(&mut self.out, 1, WAIT_S);
                self.flush()?;
                reserved = self.dialect.read_reserved(&mut self.answers)?;
            }
            self.dialect.write_finish(&mut self.out, &reserved);
            self.flush()?;
            self.dialect.read_finished(&mut self.answers)?;
        }
        Ok(jobs)
    }

    fn read_answer(&mut self, under_way: &mut VecDeque<Awaited>) -> io::Result<usize> {
        match under_way.pop_front() {
            Some(Awaited::Push(jobs)) => self.dialect.read_pushed(&mut self.answers).map(|()| jobs),
            Some(Awaited::Finish(jobs)) => self.dialect.read_finished(&mut self.answers).map(|()| jobs),
            Some(Awaited::Reserve) => {
                let jobs = self.dialect.read_reserved(&mut self.answers)?;
                if !jobs.is_empty() {
                    self.dialect.write_finish(&mut self.out, &jobs);
                    under_way.push_back(Awaited::Finish(jobs.len()));
                }
                Ok(0)
            }
            None => Ok(0),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.write_all(&self.out)?;
        self.out.clear();
        Ok(())
    }
}

/// An answer that makes no sense here.
pub(crate) fn unexpected(answer: &str) -> io::Error {
    io::Error::other(format!("unexpected answer: {answer}"))
}

//! One connection with a window of requests under way, whatever language it speaks.

use std::collections::VecDeque;
use std::io::{self, BufReader, Write as _};
use std::net::TcpStream;

/// When a pushed job is due.
#[derive(Clone, Copy)]
pub(crate) enum Due {
    Now,
    InAnHour,
}

/// How a queue is spoken to. Answers come in the order of the requests.
pub(crate) trait Dialect: Send + Sized {
    /// How the queue names a job that is reserved.
    type Id: Send;

    /// Begins a conversation; bodies are to have `body_bytes`.
    fn open(stream: &mut TcpStream, body_bytes: usize) -> io::Result<Self>;
    /// Writes a request that pushes `jobs` jobs.
    fn write_push(&self, out: &mut Vec<u8>, jobs: usize, due: Due);
    /// Reads its answer.
    fn read_pushed(&self, answers: &mut BufReader<TcpStream>) -> io::Result<()>;
    /// Writes a request that reserves at most `jobs` jobs without waiting.
    fn write_reserve(&self, out: &mut Vec<u8>, jobs: usize);
    /// Reads its answer; empty when no job was ready.
    fn read_reserved(&self, answers: &mut BufReader<TcpStream>) -> io::Result<Vec<Self::Id>>;
    /// Writes a request that finishes jobs.
    fn write_finish(&self, out: &mut Vec<u8>, jobs: &[Self::Id]);
    /// Reads its answer.
    fn read_finished(&self, answers: &mut BufReader<TcpStream>) -> io::Result<()>;
}

/// A connection.
pub(crate) struct Connection<D> {
    dialect: D,
    stream: TcpStream,
    answers: BufReader<TcpStream>,
    out: Vec<u8>,
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
        Ok(Self { dialect, stream, answers, out: Vec::new() })
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
                self.dialect.write_reserve(&mut self.out, batch);
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

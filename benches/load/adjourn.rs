//! Adjourn's protocol, with the crate's own codec and without its client.

use std::collections::BTreeMap;
use std::io::{self, BufReader, Write as _};
use std::net::TcpStream;

use adjourn_protocol::frame::HEADER_BYTES;
use adjourn_protocol::{
    Frame, FrameHeader, Hello, NewJob, Push, PushResult, Request, RequestId, Reserve, Response, VERSION,
    VERSION_MIN,
};
use adjourn_types::limits::HEARTBEAT_MS_MAX;
use adjourn_types::{Lease, TopicName};
use bytes::{Bytes, BytesMut};

use super::connection::{Dialect, Due, unexpected};

/// A conversation with Adjourn. All jobs go to one topic.
pub(crate) struct Adjourn {
    topic: TopicName,
    body: Bytes,
    /// Of the next job that is pushed: a repeated push is known by it, as with every client.
    sequence: u64,
    sent: RequestId,
    read: RequestId,
    /// Answers that came before their turn.
    early: BTreeMap<RequestId, Response>,
}

impl Dialect for Adjourn {
    type Id = Lease;

    fn open(stream: &mut TcpStream, body_bytes: usize) -> io::Result<Self> {
        let mut adjourn = Self {
            topic: "load".parse().map_err(io::Error::other)?,
            body: vec![b'x'; body_bytes].into(),
            sequence: 1,
            sent: RequestId(0),
            read: RequestId(0),
            early: BTreeMap::new(),
        };
        let mut out = BytesMut::new();
        // A connection that is done with its share is silent until the others are, too.
        let heartbeat_ms = HEARTBEAT_MS_MAX;
        let (version_min, version_max) = (VERSION_MIN, VERSION);
        let client_name = "load".to_owned();
        let hello = Hello { version_min, version_max, client_name, heartbeat_ms, ..Hello::default() };
        adjourn.write(&mut out, &Request::Hello(hello));
        stream.write_all(&out)?;
        match adjourn.answer(&mut BufReader::new(stream))? {
            Response::Welcome(_) => Ok(adjourn),
            other => Err(unexpected(&format!("{other:?}"))),
        }
    }

    fn write_push(&mut self, out: &mut BytesMut, jobs: usize, due: Due) {
        let delay_ms = match due {
            Due::Now => 0,
            Due::InAnHour => 3_600_000,
        };
        let new = || NewJob::new(self.body.clone()).after(delay_ms);
        let jobs: Vec<NewJob> = (0..jobs).map(|_| new()).collect();
        let sequence = self.sequence;
        self.sequence += jobs.len() as u64;
        let topic = self.topic.clone();
        self.write(out, &Request::Push(Push { topic, sequence, jobs, idempotency: None }));
    }

    fn read_pushed(&mut self, answers: &mut BufReader<TcpStream>) -> io::Result<()> {
        let is_new = |result: &PushResult| matches!(result, PushResult::Pushed(_));
        match self.answer(answers)? {
            Response::Pushed(results) if results.iter().all(is_new) => Ok(()),
            other => Err(unexpected(&format!("{other:?}"))),
        }
    }

    fn write_reserve(&mut self, out: &mut BytesMut, jobs: usize, wait_s: u32) {
        let reserve = Reserve {
            topics: vec![self.topic.clone()],
            jobs_max: u32::try_from(jobs).unwrap_or(u32::MAX),
            wait_ms: u64::from(wait_s) * 1000,
            weights: Vec::new(),
        };
        self.write(out, &Request::Reserve(reserve));
    }

    fn read_reserved(&mut self, answers: &mut BufReader<TcpStream>) -> io::Result<Vec<Lease>> {
        match self.answer(answers)? {
            Response::Reserved(jobs) => Ok(jobs.into_iter().map(|job| job.lease).collect()),
            other => Err(unexpected(&format!("{other:?}"))),
        }
    }

    fn write_finish(&mut self, out: &mut BytesMut, jobs: &[Lease]) {
        self.write(out, &Request::Finish { leases: jobs.to_vec() });
    }

    fn read_finished(&mut self, answers: &mut BufReader<TcpStream>) -> io::Result<()> {
        match self.answer(answers)? {
            Response::Settled(results) if results.iter().all(Result::is_ok) => Ok(()),
            other => Err(unexpected(&format!("{other:?}"))),
        }
    }
}

impl Adjourn {
    fn write(&mut self, out: &mut BytesMut, request: &Request) {
        self.sent.0 += 1;
        request.encode(self.sent, out);
    }

    /// The answer to the first request that is not answered yet. They come in any order.
    fn answer(&mut self, answers: &mut impl io::Read) -> io::Result<Response> {
        self.read.0 += 1;
        if let Some(response) = self.early.remove(&self.read) {
            return Ok(response);
        }
        loop {
            let frame = read_frame(answers)?;
            let response = Response::decode(&frame).map_err(io::Error::other)?;
            if frame.header.id == self.read {
                return Ok(response);
            }
            // What nobody asked for, such as GOING_AWAY, has the number 0.
            if frame.header.id < self.read {
                return Err(unexpected(&format!("{response:?}")));
            }
            self.early.insert(frame.header.id, response);
        }
    }
}

fn read_frame(answers: &mut impl io::Read) -> io::Result<Frame> {
    let mut header = [0; HEADER_BYTES];
    answers.read_exact(&mut header)?;
    let header = FrameHeader::read(&header).ok_or_else(|| unexpected("a header that is cut off"))?;
    let payload_bytes = (header.length as usize + 4).saturating_sub(HEADER_BYTES);
    let mut payload = vec![0; payload_bytes];
    answers.read_exact(&mut payload)?;
    Ok(Frame { header, payload: payload.into() })
}

//! The stream of a connection, with limits on its other side: it must send each request and read each answer in time.
//!
//! hyper reads nothing while a request is processed, so it does not notice that a caller has left. While an answer is for
//! its caller alone, the stream reads ahead itself, and breaks when the caller closes its side.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep, sleep_until};

use adjourn_transport::Stream;

/// What is read ahead while an answer is for its caller alone, in bytes. Behind more, a caller that leaves is not noticed.
const AHEAD_BYTES_MAX: usize = 512;

/// The progress of a connection's requests: they set it, and the stream sets its limits by it.
#[derive(Debug)]
pub(super) struct Progress {
    phase: Mutex<Phase>,
    /// Answers under way that are for their caller alone.
    watches: AtomicUsize,
}

/// The states of a connection: each follows the one above it, and `Idle` the last one.
#[derive(Clone, Copy, Debug)]
enum Phase {
    /// No request has begun.
    Idle,
    /// Some of a request's head has arrived.
    Head,
    /// A request is being processed.
    Request,
    /// It is answered. The next one must begin within this time.
    Answered {
        idle_max: Duration,
        /// The request had a body: some of it may not have been read.
        had_body: bool,
    },
}

/// Marks the answer under way as one for its caller alone, until it is dropped.
#[derive(Debug)]
pub(super) struct CallerWatch(Arc<Progress>);

/// A stream with time limits.
pub(super) struct Patient {
    stream: Stream,
    patience: Duration,
    /// Runs while a write waits.
    timer: Pin<Box<Sleep>>,
    waits: bool,
    /// `None` if its user limits the time of reads.
    requests: Option<RequestReads>,
}

/// The limits of reads.
struct RequestReads {
    progress: Arc<Progress>,
    head_within: Duration,
    /// By when the next request must begin, or its head be complete.
    by: Instant,
    timer: Pin<Box<Sleep>>,
    /// Bytes that were read ahead.
    ahead: Vec<u8>,
}

impl Progress {
    /// The progress of a connection on which nothing has arrived.
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self { phase: Mutex::new(Phase::Idle), watches: AtomicUsize::new(0) })
    }

    /// The head of a request is complete.
    pub(super) fn begin(&self) {
        *self.lock() = Phase::Request;
    }

    /// The request is answered. The next one must begin within this time. If the request had no body, all that comes is the
    /// next one.
    pub(super) fn answer(&self, idle_max: Duration, had_body: bool) {
        *self.lock() = Phase::Answered { idle_max, had_body };
    }

    /// Until the result is dropped, the request ends when its caller closes its side of the connection.
    pub(super) fn watch(self: &Arc<Self>) -> CallerWatch {
        self.watches.fetch_add(1, Ordering::Relaxed);
        CallerWatch(Arc::clone(self))
    }

    fn lock(&self) -> MutexGuard<'_, Phase> {
        self.phase.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for CallerWatch {
    fn drop(&mut self) {
        self.0.watches.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Patient {
    /// A stream on which a write may wait for this time.
    pub(super) fn new(stream: Stream, patience: Duration) -> Self {
        Self { stream, patience, timer: Box::pin(sleep(patience)), waits: false, requests: None }
    }

    /// The same for requests: their heads must be complete this time after their first byte, and the first one must begin
    /// within it.
    pub(super) fn with_requests(self, progress: Arc<Progress>, head_within: Duration) -> Self {
        let by = Instant::now() + head_within;
        let timer = Box::pin(sleep_until(by));
        Self { requests: Some(RequestReads { progress, head_within, by, timer, ahead: Vec::new() }), ..self }
    }

    /// The result of a write. An error when it has waited for too long, or when it is for a caller that has left.
    fn in_time<T>(&mut self, context: &mut Context<'_>, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if self.has_left(context) {
            return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
        }
        if written.is_ready() {
            self.waits = false;
            return written;
        }
        if !self.waits {
            self.waits = true;
            self.timer.as_mut().reset(Instant::now() + self.patience);
        }
        ready!(self.timer.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }

    /// True if the answer under way is for its caller alone, and the caller has closed its side. What it sends is kept.
    ///
    /// hyper flushes its stream whenever a connection's task runs, so this is called, and the task is woken, in time.
    fn has_left(&mut self, context: &mut Context<'_>) -> bool {
        let Some(requests) = &mut self.requests else { return false };
        if requests.progress.watches.load(Ordering::Relaxed) == 0 {
            return false;
        }
        while requests.ahead.len() < AHEAD_BYTES_MAX {
            let mut bytes = [0; AHEAD_BYTES_MAX];
            let mut buffer = ReadBuf::new(&mut bytes);
            match Pin::new(&mut self.stream).poll_read(context, &mut buffer) {
                Poll::Pending => return false,
                Poll::Ready(Ok(())) if !buffer.filled().is_empty() => {
                    requests.ahead.extend_from_slice(buffer.filled());
                }
                Poll::Ready(_) => return true,
            }
        }
        false
    }
}

impl RequestReads {
    /// Takes what was read ahead, if there is anything.
    fn take_ahead(&mut self, buffer: &mut ReadBuf<'_>) -> bool {
        let taken = self.ahead.len().min(buffer.remaining());
        buffer.put_slice(self.ahead.get(..taken).unwrap_or_default());
        self.ahead.drain(..taken);
        taken > 0
    }

    /// The result of a read. When the next request has not begun in time, the end of the stream; when its head is late, an
    /// error.
    fn in_time(
        &mut self,
        context: &mut Context<'_>,
        read: Poll<io::Result<()>>,
        has_come: bool,
    ) -> Poll<io::Result<()>> {
        let mut phase = self.progress.lock();
        match *phase {
            Phase::Request => return read,
            // What comes now may be the rest of a body that no one has read.
            Phase::Answered { idle_max, had_body } if had_body || !has_come => {
                *phase = Phase::Idle;
                self.by = Instant::now() + idle_max;
            }
            Phase::Answered { .. } | Phase::Idle if has_come => {
                *phase = Phase::Head;
                self.by = Instant::now() + self.head_within;
            }
            Phase::Answered { .. } | Phase::Idle | Phase::Head => {}
        }
        if read.is_ready() {
            return read;
        }
        if self.timer.deadline() != self.by {
            self.timer.as_mut().reset(self.by);
        }
        ready!(self.timer.as_mut().poll(context));
        match *phase {
            Phase::Head => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            _ => Poll::Ready(Ok(())),
        }
    }
}

impl AsyncRead for Patient {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let Self { stream, requests, .. } = self.get_mut();
        let Some(requests) = requests else { return Pin::new(stream).poll_read(context, buffer) };
        let before = buffer.filled().len();
        let read = if requests.take_ahead(buffer) {
            Poll::Ready(Ok(()))
        } else {
            Pin::new(stream).poll_read(context, buffer)
        };
        requests.in_time(context, read, buffer.filled().len() > before)
    }
}

impl AsyncWrite for Patient {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.in_time(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, parts);
        self.in_time(context, written)
    }

    /// Vectored: answers are written from where they are, without a copy.
    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        self.in_time(context, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let closed = Pin::new(&mut self.stream).poll_shutdown(context);
        self.in_time(context, closed)
    }
}

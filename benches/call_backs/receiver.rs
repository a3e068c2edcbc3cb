//! Receivers of calls: as little HTTP as a test of speed needs.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Mutex;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::timeout;

use super::{Outcome, now_ms};

/// A call that does not come within this time is missing.
const PATIENCE: Duration = Duration::from_mins(1);
const REPLY: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";

pub(super) struct Receiver {
    pub(super) port: u16,
    /// How late each call was, in milliseconds.
    calls: Mutex<UnboundedReceiver<u64>>,
    connections: Arc<AtomicUsize>,
}

impl Receiver {
    /// One that answers every call with 200.
    pub(super) async fn answering(address: &str) -> io::Result<Self> {
        Self::start(address, true).await
    }

    /// One that takes connections, and nothing else.
    pub(super) async fn hanging(address: &str) -> io::Result<Self> {
        Self::start(address, false).await
    }

    async fn start(address: &str, answers: bool) -> io::Result<Self> {
        let listener = TcpListener::bind(address).await?;
        let port = listener.local_addr()?.port();
        let (told, calls) = unbounded_channel();
        let connections = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&connections);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                counted.fetch_add(1, Ordering::Relaxed);
                let told = told.clone();
                tokio::spawn(
                    async move { if answers { serve(stream, told).await } else { hang(stream).await } },
                );
            }
        });
        Ok(Self { port, calls: Mutex::new(calls), connections })
    }

    /// Waits for so many calls.
    pub(super) async fn take(&self, count: usize) -> Outcome<Vec<u64>> {
        let mut calls = self.calls.lock().await;
        let mut late = Vec::with_capacity(count);
        while late.len() < count {
            let call = timeout(PATIENCE, calls.recv()).await;
            late.push(
                call.map_err(|_| format!("only {} of {count} calls came", late.len()))?
                    .ok_or("it has ended")?,
            );
        }
        Ok(late)
    }

    pub(super) fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }
}

/// Answers calls until the connection ends. The body of each says when it was due.
async fn serve(mut stream: TcpStream, told: UnboundedSender<u64>) -> Option<()> {
    stream.set_nodelay(true).ok()?;
    let mut read = Vec::with_capacity(4096);
    loop {
        while let Some((call, due_ms)) = first_call(&read) {
            let _ = told.send(now_ms().saturating_sub(due_ms));
            read.drain(..call);
            stream.write_all(REPLY).await.ok()?;
        }
        if stream.read_buf(&mut read).await.ok()? == 0 {
            return None;
        }
    }
}

async fn hang(mut stream: TcpStream) -> Option<()> {
    let mut read = [0; 4096];
    while stream.read(&mut read).await.ok()? > 0 {}
    None
}

/// The length of the first call, if it is all there, and the number in its body.
fn first_call(read: &[u8]) -> Option<(usize, u64)> {
    let head = read.windows(4).position(|end| end == b"\r\n\r\n")? + 4;
    let text = std::str::from_utf8(read.get(..head)?).ok()?.to_ascii_lowercase();
    let length =
        text.lines().find_map(|line| line.strip_prefix("content-length: "))?.trim().parse::<usize>().ok()?;
    let body = read.get(head..head + length)?;
    Some((head + length, std::str::from_utf8(body).ok()?.parse().ok()?))
}

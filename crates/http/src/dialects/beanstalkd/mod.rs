//! The protocol of beanstalkd 1.13, as in its `doc/protocol.txt` and, where that is silent, its `prot.c`.
//!
//! A tube is a topic of the same name, and a job's number is its id. Every other way into the queue works beside it.

mod command;
mod command_stream;
mod conversation;
mod held_jobs;
mod input;
mod queue;
mod reply;
mod stats;
mod tubes;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use rustix::net::sockopt;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tracing::debug;

use self::command::Command;
pub use self::command::Put;
use self::command_stream::CommandStream;
use self::conversation::Conversation;
use self::input::Sent;
pub use self::queue::new_job;
use self::tubes::{ConnectionTubes, Tubes};
use super::super::caller::{Caller, HttpState};
use super::super::connection::HttpConnection;
use super::super::listener::TAKES_WITHIN;
use super::super::patience::Patient;
use adjourn_server::{Accepted, NoEntropy, entropy};
use adjourn_transport::Stream;

/// A silent connection is probed after this time, so often, and is lost after so many probes without an answer.
const SILENT_MAX: Duration = Duration::from_mins(1);
const PROBED_EVERY: Duration = Duration::from_secs(10);
const PROBES_MAX: u32 = 3;
/// When the server stops, commands that come within this time are answered.
const UNDER_WAY: Duration = Duration::from_millis(100);
/// Commands of one kind that are carried out together.
const TOGETHER_MAX: usize = 256;
/// The bodies of puts that are carried out together have at most this many bytes, or there is one.
const TOGETHER_BYTES_MAX: usize = 1 << 20;

/// The port for callers of beanstalkd.
#[derive(Clone, Debug)]
pub(crate) struct Beanstalkd {
    state: HttpState,
    tubes: Arc<Tubes>,
}

impl Beanstalkd {
    /// A port without connections.
    ///
    /// # Errors
    ///
    /// If the system has no random bytes for its id.
    pub(crate) fn new(state: HttpState) -> Result<Self, NoEntropy> {
        let id = u64::from_le_bytes(entropy::draw()?);
        Ok(Self { state, tubes: Tubes::new(format!("{id:016x}")) })
    }

    /// Serves one connection to its end.
    pub(crate) async fn serve(self, accepted: Accepted) {
        let Accepted { stream, hold } = accepted;
        let (address, loss, stopping) = (hold.address(), hold.loss(), hold.stopping());
        let deadline = self.state.local().request_deadline();
        let connection = Arc::new(HttpConnection::new(hold));
        if let Err(error) = keep_alive(&stream) {
            debug!(%address, %error, "a connection cannot be kept alive");
        }
        let stream = Patient::new(stream, TAKES_WITHIN);
        let mut stream = CommandStream::new(stream, Arc::clone(&connection), deadline);
        let mut conversation = None;
        let ended = tokio::select! {
            biased;
            ended = self.talk(&connection, &mut stream, &mut conversation, &stopping) => ended,
            () = loss.cancelled() => Ok(()),
        };
        if let Some(conversation) = conversation {
            conversation.end().await;
        }
        if let Err(error) = ended {
            debug!(%address, %error, "a connection of beanstalkd broke");
        }
    }

    async fn talk(
        &self,
        connection: &Arc<HttpConnection>,
        stream: &mut CommandStream,
        conversation: &mut Option<Conversation>,
        stopping: &CancellationToken,
    ) -> io::Result<()> {
        // The connection counts as unauthenticated until something has come.
        if !read_until_stopped(stream, stopping).await? {
            return Ok(());
        }
        let caller = Caller::without_token(connection, &self.state).map_err(|error| {
            debug!(%error, "a caller of beanstalkd is refused");
            io::ErrorKind::PermissionDenied
        })?;
        stream.set_body_bytes_max(caller.body_bytes_max());
        let token = caller.clone();
        let conversation = conversation.insert(Conversation::new(caller, ConnectionTubes::new(&self.tubes)));
        tokio::select! {
            biased;
            ended = converse(conversation, stream, stopping) => ended,
            () = token.ended() => Ok(()),
        }
    }
}

/// Carries out what a connection sends, to its end.
async fn converse(
    conversation: &mut Conversation,
    stream: &mut CommandStream,
    stopping: &CancellationToken,
) -> io::Result<()> {
    let mut next = None;
    loop {
        if stream.is_full() {
            stream.flush().await?;
        }
        let Some(sent) = next.take().or_else(|| stream.take()) else {
            stream.flush().await?;
            if stream.has_ended() || !read_until_stopped(stream, stopping).await? {
                return Ok(());
            }
            continue;
        };
        match sent {
            Sent::Refused(reply) => stream.out.extend_from_slice(reply.as_bytes()),
            Sent::Foreign => {
                debug!("something speaks HTTP at the port of beanstalkd");
                return Ok(());
            }
            Sent::Command(Command::Quit) => return stream.flush().await,
            Sent::Command(first) => {
                let (commands, behind) = together(first, stream);
                next = behind;
                if !conversation.is_over() {
                    conversation.obey(commands, stream).await?;
                }
                if conversation.is_over() {
                    return Err(io::ErrorKind::ConnectionAborted.into());
                }
            }
        }
    }
}

/// Lets the system notice that the other side is gone: a connection may be silent for as long as it likes.
fn keep_alive(stream: &Stream) -> io::Result<()> {
    let Stream::Plain(stream) = stream else { return Ok(()) };
    sockopt::set_socket_keepalive(stream, true)?;
    sockopt::set_tcp_keepidle(stream, SILENT_MAX)?;
    sockopt::set_tcp_keepintvl(stream, PROBED_EVERY)?;
    Ok(sockopt::set_tcp_keepcnt(stream, PROBES_MAX)?)
}

/// Waits until more was sent. `false` if nothing more comes, or the server stops: what was under way by then is still read, so that
/// a put is told of it.
async fn read_until_stopped(stream: &mut CommandStream, stopping: &CancellationToken) -> io::Result<bool> {
    tokio::select! {
        biased;
        read = stream.read() => return read,
        () = stopping.cancelled() => {}
    }
    timeout(UNDER_WAY, stream.read()).await.unwrap_or(Ok(false))
}

/// The commands that have come and are of the same kind, and what has come behind them.
fn together(first: Command, stream: &mut CommandStream) -> (Vec<Command>, Option<Sent>) {
    let mut bytes = body_bytes(&first);
    let mut commands = vec![first];
    while commands.len() < TOGETHER_MAX && bytes < TOGETHER_BYTES_MAX {
        match (commands.first(), stream.take()) {
            (Some(first), Some(Sent::Command(command))) if are_alike(first, &command) => {
                bytes += body_bytes(&command);
                commands.push(command);
            }
            (_, behind) => return (commands, behind),
        }
    }
    (commands, None)
}

fn are_alike(one: &Command, other: &Command) -> bool {
    match (one, other) {
        (Command::Put(_), Command::Put(_)) | (Command::Delete(_), Command::Delete(_)) => true,
        (Command::Reserve { timeout_s: one }, Command::Reserve { timeout_s: other }) => one == other,
        _ => false,
    }
}

fn body_bytes(command: &Command) -> usize {
    match command {
        Command::Put(put) => put.body.len(),
        _ => 0,
    }
}

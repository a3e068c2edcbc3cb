//! The side of a client in beanstalkd's protocol, as far as an import needs it.

use std::collections::BTreeMap;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

/// A server that does not answer within this time counts as lost.
const ANSWER_MAX: Duration = Duration::from_secs(30);

/// A connection to beanstalkd.
pub(super) struct Beanstalkd {
    stream: TcpStream,
    replies: BufReader<TcpStream>,
}

/// A job of beanstalkd.
pub(super) struct FoundJob {
    pub(super) id: u64,
    pub(super) body: Vec<u8>,
}

/// What a server, a tube or a job shows.
pub(super) struct Stats(BTreeMap<String, String>);

impl Beanstalkd {
    pub(super) fn connect(address: &str) -> io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(ANSWER_MAX))?;
        stream.set_write_timeout(Some(ANSWER_MAX))?;
        let replies = BufReader::new(stream.try_clone()?);
        Ok(Self { stream, replies })
    }

    /// Sends a command. Its reply is the next one.
    pub(super) fn send(&mut self, command: &str) -> io::Result<()> {
        self.stream.write_all(format!("{command}\r\n").as_bytes())
    }

    /// The first line of the next reply.
    pub(super) fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        if self.replies.read_line(&mut line)? == 0 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "it closed the connection"));
        }
        Ok(line.trim_end_matches("\r\n").to_owned())
    }

    /// The reply to a command.
    pub(super) fn ask(&mut self, command: &str) -> io::Result<String> {
        self.send(command)?;
        self.line()
    }

    /// The job in the reply to a command; `None` if there is none.
    pub(super) fn job(&mut self, command: &str) -> io::Result<Option<FoundJob>> {
        let line = self.ask(command)?;
        let mut words = line.split(' ');
        match (words.next(), words.next(), words.next()) {
            (Some("FOUND" | "RESERVED"), Some(id), Some(bytes)) => {
                let id = id.parse().map_err(|_| unexpected(&line))?;
                let body = self.data(bytes.parse().map_err(|_| unexpected(&line))?)?;
                Ok(Some(FoundJob { id, body }))
            }
            (Some("NOT_FOUND" | "TIMED_OUT" | "DEADLINE_SOON"), None, None) => Ok(None),
            _ => Err(unexpected(&line)),
        }
    }

    /// The data in the reply to a command; `None` if what it is about does not exist.
    fn text(&mut self, command: &str) -> io::Result<Option<String>> {
        let line = self.ask(command)?;
        if line == "NOT_FOUND" {
            return Ok(None);
        }
        let bytes = line.strip_prefix("OK ").and_then(|bytes| bytes.parse().ok());
        let data = self.data(bytes.ok_or_else(|| unexpected(&line))?)?;
        String::from_utf8(data).map(Some).map_err(|_| unexpected(command))
    }

    /// What a server, a tube or a job shows; `None` if there is none.
    pub(super) fn stats(&mut self, command: &str) -> io::Result<Option<Stats>> {
        let text = self.text(command)?;
        let fields = |text: String| {
            let pairs = text.lines().filter_map(|line| {
                line.split_once(": ").map(|(name, value)| (name.to_owned(), value.to_owned()))
            });
            Stats(pairs.collect())
        };
        Ok(text.map(fields))
    }

    /// The names of all tubes.
    pub(super) fn tubes(&mut self) -> io::Result<Vec<String>> {
        let text = self.text("list-tubes")?.unwrap_or_default();
        Ok(text.lines().filter_map(|line| line.strip_prefix("- ")).map(str::to_owned).collect())
    }

    /// So many bytes, and a line end behind them.
    fn data(&mut self, bytes: usize) -> io::Result<Vec<u8>> {
        let mut data = vec![0; bytes + 2];
        self.replies.read_exact(&mut data)?;
        data.truncate(bytes);
        Ok(data)
    }
}

impl Stats {
    /// A number; 0 if it is not shown.
    pub(super) fn number(&self, name: &str) -> u64 {
        self.text(name).parse().unwrap_or(0)
    }

    /// A text, without quotes; empty if it is not shown.
    pub(super) fn text(&self, name: &str) -> &str {
        self.0.get(name).map(|value| value.trim_matches('"')).unwrap_or_default()
    }
}

fn unexpected(reply: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("it says {reply:?}"))
}

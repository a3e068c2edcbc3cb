//! What a connection has sent: lines, and bodies behind them.

use bytes::{Buf as _, Bytes, BytesMut};

use super::command::{Command, Line, Put, read};

/// The longest line, with its end, in bytes.
const LINE_BYTES_MAX: usize = 224;
const LINE_END: &[u8] = b"\r\n";
/// Room for what comes next, in bytes.
const READ_BYTES: usize = 16 << 10;

/// What was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Sent {
    /// A command.
    Command(Command),
    /// Something that is refused with this reply.
    Refused(&'static str),
    /// The line of another protocol: it is HTTP, which a browser may send for any web page.
    Foreign,
}

/// The bytes that have not been read, and what they belong to.
pub(super) struct Input {
    pub(super) unread: BytesMut,
    state: State,
    /// Largest body of a job, in bytes.
    body_bytes_max: usize,
}

enum State {
    /// A line comes.
    Line,
    /// The rest of a line that is too long comes.
    LongLine,
    /// The body of a put comes.
    Body { put: Put, bytes: usize },
    /// Bytes that are thrown away come. Then this is the reply.
    Skipped { bytes: u64, reply: &'static str },
}

impl Input {
    /// Nothing was sent, and no body is allowed until it is known who sends.
    pub(super) fn new() -> Self {
        Self { unread: BytesMut::new(), state: State::Line, body_bytes_max: 0 }
    }

    /// True if nothing was sent that is still incomplete.
    pub(super) fn is_between_commands(&self) -> bool {
        matches!(self.state, State::Line) && self.unread.is_empty()
    }

    /// The bytes that the body under way needs, its end included; 0 if none is.
    pub(super) fn body_bytes(&self) -> usize {
        match &self.state {
            State::Body { bytes, .. } => bytes + LINE_END.len(),
            _ => 0,
        }
    }

    /// Throws the body under way away, and refuses its put with this reply.
    pub(super) fn refuse_body(&mut self, reply: &'static str) {
        if let State::Body { bytes, .. } = self.state {
            self.state = State::Skipped { bytes: (bytes + LINE_END.len()) as u64, reply };
        }
    }

    /// A body may have at most so many bytes from now on.
    pub(super) fn set_body_bytes_max(&mut self, body_bytes_max: usize) {
        self.body_bytes_max = body_bytes_max;
    }

    /// Gives the memory of a large body back.
    pub(super) fn shrink(&mut self, bytes_max: usize) {
        if self.unread.is_empty() && self.unread.capacity() > bytes_max {
            self.unread = BytesMut::new();
        }
    }

    /// Makes room for what comes next.
    pub(super) fn make_room(&mut self) {
        let missing = self.body_bytes().saturating_sub(self.unread.len());
        self.unread.reserve(missing.max(READ_BYTES));
    }

    /// The next thing that was sent whole.
    pub(super) fn next(&mut self) -> Option<Sent> {
        loop {
            match &mut self.state {
                State::Line => match find_end(&self.unread) {
                    Some(length) if length + LINE_END.len() <= LINE_BYTES_MAX => {
                        let line = self.unread.split_to(length);
                        self.unread.advance(LINE_END.len());
                        match read(&line, self.body_bytes_max) {
                            Line::Command(command) => return Some(Sent::Command(command)),
                            Line::Body { put, bytes } => self.state = State::Body { put, bytes },
                            Line::TooLarge { bytes } => {
                                let bytes = bytes + LINE_END.len() as u64;
                                self.state = State::Skipped { bytes, reply: "JOB_TOO_BIG\r\n" };
                            }
                            Line::BadFormat => return Some(Sent::Refused("BAD_FORMAT\r\n")),
                            Line::Unknown if is_http(&line) => return Some(Sent::Foreign),
                            Line::Unknown => return Some(Sent::Refused("UNKNOWN_COMMAND\r\n")),
                        }
                    }
                    None if self.unread.len() < LINE_BYTES_MAX => return None,
                    _ => self.state = State::LongLine,
                },
                State::LongLine => {
                    let Some(length) = find_end(&self.unread) else {
                        // The last byte may be half of the line's end.
                        self.unread.advance(self.unread.len().saturating_sub(1));
                        return None;
                    };
                    self.unread.advance(length + LINE_END.len());
                    self.state = State::Line;
                    return Some(Sent::Refused("BAD_FORMAT\r\n"));
                }
                State::Body { bytes, .. } => {
                    let bytes = *bytes;
                    if self.unread.len() < bytes + LINE_END.len() {
                        return None;
                    }
                    return Some(self.body(bytes));
                }
                State::Skipped { bytes, reply } => {
                    let reply = *reply;
                    let skipped = usize::try_from(*bytes).unwrap_or(usize::MAX).min(self.unread.len());
                    self.unread.advance(skipped);
                    *bytes -= skipped as u64;
                    if *bytes > 0 {
                        return None;
                    }
                    self.state = State::Line;
                    return Some(Sent::Refused(reply));
                }
            }
        }
    }

    /// The put whose body is complete.
    fn body(&mut self, bytes: usize) -> Sent {
        // Copied: a job must not keep the rest of the buffer alive.
        let body = Bytes::copy_from_slice(self.unread.get(..bytes).unwrap_or_default());
        self.unread.advance(bytes);
        let ends = self.unread.starts_with(LINE_END);
        self.unread.advance(LINE_END.len());
        match std::mem::replace(&mut self.state, State::Line) {
            State::Body { put, .. } if ends => Sent::Command(Command::Put(Put { body, ..put })),
            _ => Sent::Refused("EXPECTED_CRLF\r\n"),
        }
    }
}

/// Whether a line is the first one of a request of HTTP.
fn is_http(line: &[u8]) -> bool {
    const VERSION: &[u8] = b" HTTP/";
    line.windows(VERSION.len()).any(|found| found == VERSION)
}

/// Where the first line ends.
fn find_end(bytes: &[u8]) -> Option<usize> {
    bytes.windows(LINE_END.len()).position(|pair| pair == LINE_END)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn all(parts: &[&[u8]]) -> Vec<Sent> {
        let (mut input, mut sent) = (Input::new(), Vec::new());
        input.set_body_bytes_max(8);
        for part in parts {
            input.unread.extend_from_slice(part);
            while let Some(next) = input.next() {
                sent.push(next);
            }
        }
        sent
    }

    #[test]
    fn a_request_of_http_is_known() {
        for line in ["GET / HTTP/1.1", "post /x HTTP/1.0"] {
            assert_eq!(all(&[format!("{line}\r\n").as_bytes()]), [Sent::Foreign], "{line}");
        }
        assert_eq!(all(&[b"PUT 1\r\n"]), [Sent::Refused("UNKNOWN_COMMAND\r\n")]);
        assert!(matches!(
            all(&[b"delete 1\r\n", b"put 1 1 1 1\r\na\r\n"])[..],
            [Sent::Command(_), Sent::Command(_)]
        ));
    }

    #[test]
    fn what_is_refused_ends_where_the_original_says() {
        let refused = |parts: &[&[u8]]| -> Vec<&str> {
            let refusals = all(parts).into_iter().filter_map(|sent| match sent {
                Sent::Refused(reply) => Some(reply.trim_end()),
                Sent::Command(_) | Sent::Foreign => None,
            });
            refusals.collect()
        };
        assert_eq!(refused(&[b"put 0 0 1 9\r\n123456789", b"\r\nx\r\n"]), ["JOB_TOO_BIG", "UNKNOWN_COMMAND"]);
        assert_eq!(refused(&[b"put 0 0 1 3\r\nabcdef\r\n"]), ["EXPECTED_CRLF", "UNKNOWN_COMMAND"]);
        assert_eq!(refused(&[b"put 0 0 1 3 \r\nabc\r\n"]), ["BAD_FORMAT", "UNKNOWN_COMMAND"]);
        let long = "x".repeat(300);
        assert_eq!(refused(&[long.as_bytes(), b"x\r", b"\nx\r\n"]), ["BAD_FORMAT", "UNKNOWN_COMMAND"]);
        let longest = format!("use {}\r\n", "x".repeat(218));
        assert_eq!(refused(&[longest.as_bytes()]), ["BAD_FORMAT"]);
        assert_eq!(all(&[b"stats\n"]), []);
    }

    proptest! {
        #[test]
        fn packets_do_not_matter(cuts in proptest::collection::vec(0_usize..200, 0..6)) {
            let text = format!(
                "use a\r\nput 1 2 3 4\r\n\r\n\r\n\r\nput 1 2 3 99\r\n{}\r\ndelete 7\r\nbad\r\nput 0 0 0 0\r\n\r\nquit\r\n",
                "x".repeat(99)
            );
            let text = text.as_bytes();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(text.len())).collect();
            cuts.extend([0, text.len()]);
            cuts.sort_unstable();
            let parts: Vec<&[u8]> = cuts.windows(2).filter_map(|pair| text.get(*pair.first()?..*pair.last()?)).collect();
            prop_assert_eq!(all(&parts), all(&[text]));
            prop_assert_eq!(all(&parts).len(), 7);
        }
    }
}

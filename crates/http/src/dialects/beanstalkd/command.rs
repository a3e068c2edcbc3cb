//! The commands of beanstalkd's protocol, read from their lines. What counts as a command, a number or a name, and what is
//! checked first, is as in `prot.c` of beanstalkd 1.13.

use bytes::Bytes;

use adjourn_types::TopicName;
use adjourn_types::limits::PRIORITY_UNSAID;

/// The longest name of a tube, in bytes.
const TUBE_BYTES_MAX: usize = 200;

/// A command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Command {
    /// Pushes a job.
    Put(Put),
    /// Chooses the tube of later puts.
    Use(TopicName),
    /// Gets a job from a watched tube.
    Reserve {
        /// How long to wait; without an end if it is `None`.
        timeout_s: Option<u32>,
    },
    /// Gets this job.
    ReserveJob(u64),
    /// Removes a job.
    Delete(u64),
    /// Gives a job back.
    Release { id: u64, priority: u32, delay_s: u32 },
    /// Sets a job aside.
    Bury { id: u64, priority: u32 },
    /// Starts a job's time to run anew.
    Touch(u64),
    /// Adds a tube to those that jobs are reserved from.
    Watch(TopicName),
    /// Takes one away.
    Ignore(TopicName),
    /// Shows a job.
    Peek(u64),
    /// Shows the next job of the used tube.
    PeekNext(Next),
    /// Makes buried or delayed jobs of the used tube ready.
    Kick(u32),
    /// Makes one buried or delayed job ready.
    KickJob(u64),
    /// Shows the numbers of a job.
    StatsJob(u64),
    /// Shows the numbers of a tube.
    StatsTube(TopicName),
    /// Shows the numbers of the server.
    Stats,
    /// Lists all tubes.
    ListTubes,
    /// Shows the used tube.
    ListTubeUsed,
    /// Lists the watched tubes.
    ListTubesWatched,
    /// Stops the delivery of a tube's jobs for a time.
    PauseTube { tube: TopicName, for_s: u32 },
    /// Ends the connection.
    Quit,
}

/// A job of beanstalkd.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Put {
    /// A lower number is reserved first.
    pub priority: u32,
    /// How long until it is ready, in seconds.
    pub delay_s: u32,
    /// How long a worker may have it, in seconds; 0 counts as 1.
    pub ttr_s: u32,
    /// Opaque.
    pub body: Bytes,
}

/// The state of a job to look for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// Of those that are ready.
    Ready,
    /// Of those that are delayed.
    Delayed,
    /// Of those that are buried.
    Buried,
}

/// What a line says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// A whole command.
    Command(Command),
    /// A put, whose body of this many bytes follows.
    Body { put: Put, bytes: usize },
    /// A put whose body of this many bytes is too large.
    TooLarge { bytes: u64 },
    /// A command with wrong arguments.
    BadFormat,
    /// No command.
    Unknown,
}

/// The arguments are wrong.
#[derive(Debug)]
struct BadFormat;

/// What is left of a line.
struct Rest<'a>(&'a [u8]);

type Read = Result<Command, BadFormat>;
type Reader = fn(&mut Rest<'_>) -> Read;

/// The commands but for `put` and `quit`. The first one that a line begins with is meant.
const COMMANDS: [(&str, Reader); 24] = [
    ("peek ", |rest| Ok(Command::Peek(rest.last_id()?))),
    ("peek-ready", |rest| rest.none(Command::PeekNext(Next::Ready))),
    ("peek-delayed", |rest| rest.none(Command::PeekNext(Next::Delayed))),
    ("peek-buried", |rest| rest.none(Command::PeekNext(Next::Buried))),
    // What follows the number does not matter.
    ("reserve-with-timeout ", |rest| Ok(Command::Reserve { timeout_s: Some(rest.whole(i32::MAX as u32)?) })),
    ("reserve-job ", |rest| Ok(Command::ReserveJob(rest.last_id()?))),
    ("reserve", |rest| rest.none(Command::Reserve { timeout_s: None })),
    ("delete ", |rest| Ok(Command::Delete(rest.last_id()?))),
    ("release ", |rest| {
        let (id, priority, delay_s) = (rest.id()?, rest.priority()?, rest.whole(u32::MAX)?);
        rest.none(Command::Release { id, priority, delay_s })
    }),
    ("bury ", |rest| {
        let (id, priority) = (rest.id()?, rest.priority()?);
        rest.none(Command::Bury { id, priority })
    }),
    ("kick ", |rest| Ok(Command::Kick(rest.kicks()?))),
    ("kick-job ", |rest| Ok(Command::KickJob(rest.last_id()?))),
    ("touch ", |rest| Ok(Command::Touch(rest.last_id()?))),
    ("stats-job ", |rest| Ok(Command::StatsJob(rest.last_id()?))),
    ("stats-tube ", |rest| Ok(Command::StatsTube(rest.tube()?))),
    ("stats", |rest| rest.none(Command::Stats)),
    ("use ", |rest| Ok(Command::Use(rest.tube()?))),
    ("watch ", |rest| Ok(Command::Watch(rest.tube()?))),
    ("ignore ", |rest| Ok(Command::Ignore(rest.tube()?))),
    ("list-tubes-watched", |rest| rest.none(Command::ListTubesWatched)),
    ("list-tube-used", |rest| rest.none(Command::ListTubeUsed)),
    ("list-tubes", |rest| rest.none(Command::ListTubes)),
    ("quit", |_| Ok(Command::Quit)),
    ("pause-tube", |rest| {
        let name = rest.name_before_a_number();
        let for_s = rest.whole(u32::MAX)?;
        let pause = Command::PauseTube { tube: tube(name)?, for_s };
        rest.none(pause)
    }),
];

/// The priority here for one of beanstalkd. The largest number means something else here; the one before it is as good as the same.
pub(super) fn priority_of(theirs: u32) -> u32 {
    theirs.min(PRIORITY_UNSAID - 1)
}

/// Reads a line, without its end. A body may have at most `body_bytes_max` bytes.
pub(super) fn read(line: &[u8], body_bytes_max: usize) -> Line {
    if line.contains(&0) {
        return Line::BadFormat;
    }
    if let Some(rest) = line.strip_prefix(b"put ") {
        return read_put(Rest(rest), body_bytes_max).unwrap_or(Line::BadFormat);
    }
    let found =
        COMMANDS.iter().find_map(|(begin, reader)| Some((line.strip_prefix(begin.as_bytes())?, reader)));
    match found {
        Some((rest, reader)) => reader(&mut Rest(rest)).map_or(Line::BadFormat, Line::Command),
        None => Line::Unknown,
    }
}

fn read_put(mut rest: Rest<'_>, body_bytes_max: usize) -> Result<Line, BadFormat> {
    let [priority, delay_s, ttr_s, bytes] =
        [rest.whole(u32::MAX)?, rest.whole(u32::MAX)?, rest.whole(u32::MAX)?, rest.whole(u32::MAX)?];
    let fits = usize::try_from(bytes).ok().filter(|bytes| *bytes <= body_bytes_max);
    let Some(bytes) = fits else { return Ok(Line::TooLarge { bytes: bytes.into() }) };
    let put = Put { priority, delay_s, ttr_s, body: Bytes::new() };
    if rest.0.is_empty() { Ok(Line::Body { put, bytes }) } else { Err(BadFormat) }
}

/// The topic of a tube.
fn tube(name: &[u8]) -> Result<TopicName, BadFormat> {
    if name.len() > TUBE_BYTES_MAX || !name.iter().copied().all(is_of_tube) {
        return Err(BadFormat);
    }
    TopicName::new(Bytes::copy_from_slice(name)).map_err(|_| BadFormat)
}

fn is_of_tube(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-+/;.$_()".contains(&byte)
}

impl<'a> Rest<'a> {
    /// Skips bytes.
    fn skip(&mut self, which: impl Fn(u8) -> bool) -> &'a [u8] {
        let count = self.0.iter().take_while(|byte| which(**byte)).count();
        let (skipped, rest) = self.0.split_at_checked(count).unwrap_or_default();
        self.0 = rest;
        skipped
    }

    /// Spaces, and digits behind them.
    fn number(&mut self) -> Result<u64, BadFormat> {
        self.skip(|byte| byte == b' ');
        let digits = std::str::from_utf8(self.skip(|byte| byte.is_ascii_digit())).map_err(|_| BadFormat)?;
        digits.parse().map_err(|_| BadFormat)
    }

    /// The number of a job.
    fn id(&mut self) -> Result<u64, BadFormat> {
        self.number()
    }

    fn whole(&mut self, max: u32) -> Result<u32, BadFormat> {
        u32::try_from(self.number()?).ok().filter(|number| *number <= max).ok_or(BadFormat)
    }

    /// A new priority.
    fn priority(&mut self) -> Result<u32, BadFormat> {
        self.whole(u32::MAX).map(priority_of)
    }

    /// The number of a job, which ends the line.
    fn last_id(&mut self) -> Result<u64, BadFormat> {
        let id = self.id()?;
        if self.0.is_empty() { Ok(id) } else { Err(BadFormat) }
    }

    /// Nothing more.
    fn none(&self, command: Command) -> Read {
        if self.0.is_empty() { Ok(command) } else { Err(BadFormat) }
    }

    fn tube(&self) -> Result<TopicName, BadFormat> {
        tube(self.0)
    }

    fn name_before_a_number(&mut self) -> &'a [u8] {
        self.skip(|byte| byte == b' ');
        self.skip(is_of_tube)
    }

    /// A number as C's `strtoul` reads it: a sign may precede it, anything may follow it, and only its lowest 32 bits count.
    fn kicks(&mut self) -> Result<u32, BadFormat> {
        self.skip(|byte| b" \t\x0b\x0c".contains(&byte));
        let (negative, digits) = match self.0.split_first() {
            Some((b'-', rest)) => (true, rest),
            Some((b'+', rest)) => (false, rest),
            _ => (false, self.0),
        };
        if !digits.first().is_some_and(u8::is_ascii_digit) {
            return Err(BadFormat);
        }
        self.0 = digits;
        let number = self.number()?;
        let number = if negative { number.wrapping_neg() } else { number };
        let lowest = number & u64::from(u32::MAX);
        u32::try_from(lowest).map_err(|_| BadFormat)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(line: &str) -> Option<Command> {
        match read(line.as_bytes(), 65_535) {
            Line::Command(command) => Some(command),
            _ => None,
        }
    }

    fn is_bad(line: &str) -> bool {
        read(line.as_bytes(), 65_535) == Line::BadFormat
    }

    #[test]
    fn a_prefix_decides_which_command_is_meant() {
        for line in
            ["", " stats", "PUT 1 2 3 4", "put", "use", "peek", "peek-r", "list-tube", "delete", "kick"]
        {
            assert_eq!(read(line.as_bytes(), 1), Line::Unknown, "{line:?}");
        }
        for line in [
            "reserve ",
            "reserved",
            "reserve-with-timeout",
            "statsx",
            "stats-job",
            "list-tubesx",
            "peek-ready ",
        ] {
            assert!(is_bad(line), "{line:?}");
        }
        assert_eq!(command("quitter"), Some(Command::Quit));
        assert_eq!(command("peek-buried"), Some(Command::PeekNext(Next::Buried)));
        assert!(is_bad("stats\0"));
    }

    #[test]
    fn numbers_are_digits_behind_spaces() {
        assert_eq!(command("delete   007"), Some(Command::Delete(7)));
        assert_eq!(command("delete 18446744073709551615"), Some(Command::Delete(u64::MAX)));
        for line in
            ["delete ", "delete -1", "delete +1", "delete 1 ", "delete 0x1", "delete 18446744073709551616"]
        {
            assert!(is_bad(line), "{line:?}");
        }
        let release = Command::Release { id: 1, priority: u32::MAX - 1, delay_s: 3 };
        assert_eq!(command("release 1 4294967295 3"), Some(release));
        assert!(is_bad("release 1 4294967296 3") && is_bad("release 1 2") && is_bad("release 1 2 3 4"));
        assert_eq!(command("reserve-with-timeout 5x 9"), Some(Command::Reserve { timeout_s: Some(5) }));
        assert!(is_bad("reserve-with-timeout 2147483648") && is_bad("reserve-with-timeout -1"));
    }

    #[test]
    fn kicks_are_read_as_c_does() {
        let kicks = |text: &str| match command(&format!("kick {text}")) {
            Some(Command::Kick(number)) => Some(number),
            _ => None,
        };
        assert_eq!((kicks(" \t+12x"), kicks("-1"), kicks("4294967297")), (Some(12), Some(u32::MAX), Some(1)));
        assert_eq!((kicks("x"), kicks("- 1"), kicks("18446744073709551616")), (None, None, None));
    }

    #[test]
    fn a_put_is_checked_in_order() {
        let put = Put { priority: 1, delay_s: 2, ttr_s: 0, body: Bytes::new() };
        assert_eq!(read(b"put 1 2 0 9", 9), Line::Body { put, bytes: 9 });
        assert_eq!(read(b"put 1 2 3 10 and more", 9), Line::TooLarge { bytes: 10 });
        assert_eq!(read(b"put 1 2 3 9 ", 9), Line::BadFormat);
        assert_eq!(read(b"put 1 2 3", 9), Line::BadFormat);
    }

    #[test]
    fn tubes_have_the_names_of_the_original() {
        let long = "t".repeat(TUBE_BYTES_MAX);
        for name in ["a", "A-z+/;.$_()09", &long] {
            assert!(
                matches!(command(&format!("use {name}")), Some(Command::Use(tube)) if tube.as_str() == name)
            );
        }
        for name in ["", "-a", " a", "a ", "a:b", "ж", &format!("{long}t")] {
            assert!(is_bad(&format!("watch {name}")), "{name:?}");
        }
        let pause = |line: &str| match command(line) {
            Some(Command::PauseTube { tube, for_s }) => Some((tube.as_str().to_owned(), for_s)),
            _ => None,
        };
        assert_eq!(pause("pause-tubea 3"), Some(("a".to_owned(), 3)));
        assert_eq!(pause("pause-tube  a  3"), Some(("a".to_owned(), 3)));
        assert_eq!(
            (pause("pause-tube a"), pause("pause-tube a 3 "), pause("pause-tube -a 3")),
            (None, None, None)
        );
    }
}

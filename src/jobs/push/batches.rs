//! Splits input into batches of lines, each small enough for one PUSH.
//!
//! Memory is bounded for any input: a line larger than the server accepts is read to its end, but not kept. It knows
//! no connection.

use std::io::{self, BufRead, BufReader, Read};

use bytes::Bytes;

use adjourn_protocol::{NewJob, Welcome};

/// Most lines in one batch.
const BATCH_LINES_MAX: usize = 1024;
/// Most bytes in one batch, unless a single line has more.
const BATCH_BYTES_MAX: usize = 256 << 10;
/// Upper bound of a job's bytes in a PUSH beside its body and attributes.
const JOB_BYTES: usize = 64;
/// Upper bound of a PUSH's bytes beside its jobs.
const PUSH_BYTES: usize = 512;
/// The size of one read, in bytes.
const INPUT_BUFFER_BYTES: usize = 256 << 10;

/// The lines of one PUSH.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Batch {
    /// The lines, without line breaks.
    pub(super) lines: Vec<Bytes>,
    /// Their length in the input.
    pub(super) input_bytes: u64,
    /// True if the next line was larger than a body may be, and was left out.
    pub(super) too_long: bool,
}

/// The limits of a batch.
#[derive(Clone, Copy, Debug)]
pub(super) struct BatchLimits {
    lines_max: usize,
    line_bytes_max: usize,
    /// The bytes of each line in the request, beside the line itself.
    line_overhead_bytes: usize,
    batch_bytes_max: usize,
}

impl BatchLimits {
    /// The limits for a server and jobs like `job`.
    pub(super) fn of(welcome: &Welcome, job: &NewJob) -> Self {
        let size = |number| usize::try_from(number).unwrap_or(usize::MAX);
        Self {
            lines_max: size(welcome.push_jobs_max).min(BATCH_LINES_MAX),
            line_bytes_max: size(welcome.body_bytes_max),
            line_overhead_bytes: JOB_BYTES + job.attributes.as_bytes().len(),
            batch_bytes_max: size(welcome.frame_bytes_max).saturating_sub(PUSH_BYTES).min(BATCH_BYTES_MAX),
        }
    }
}

/// Reads the input batch by batch.
#[derive(Debug)]
pub(super) struct BatchReader<R> {
    input: BufReader<R>,
    limits: BatchLimits,
    /// A line that did not fit into the previous batch, and its length in the input.
    held: Option<(Bytes, u64)>,
}

/// One line of the input.
enum Line {
    Whole(Bytes, u64),
    TooLong(u64),
    None,
}

impl<R: Read> BatchReader<R> {
    /// A reader of `input`.
    pub(super) fn new(input: R, limits: BatchLimits) -> Self {
        Self { input: BufReader::with_capacity(INPUT_BUFFER_BYTES, input), limits, held: None }
    }

    /// The next lines; `None` at the end of the input. Waits for the first line only.
    pub(super) fn next_batch(&mut self) -> io::Result<Option<Batch>> {
        let mut batch = Batch::default();
        let mut batch_bytes = 0;
        while batch.lines.len() < self.limits.lines_max && (batch.lines.is_empty() || self.line_at_hand()) {
            match self.next_line()? {
                Line::Whole(line, input_bytes) => {
                    batch_bytes += line.len() + self.limits.line_overhead_bytes;
                    if batch_bytes > self.limits.batch_bytes_max && !batch.lines.is_empty() {
                        self.held = Some((line, input_bytes));
                        break;
                    }
                    batch.lines.push(line);
                    batch.input_bytes += input_bytes;
                }
                Line::TooLong(input_bytes) => {
                    batch.input_bytes += input_bytes;
                    batch.too_long = true;
                    break;
                }
                Line::None => break,
            }
        }
        Ok((!batch.lines.is_empty() || batch.too_long).then_some(batch))
    }

    fn line_at_hand(&self) -> bool {
        self.input.buffer().contains(&b'\n')
    }

    fn next_line(&mut self) -> io::Result<Line> {
        if let Some((line, input_bytes)) = self.held.take() {
            return Ok(Line::Whole(line, input_bytes));
        }
        let mut line = Vec::new();
        // A line break takes two bytes at most.
        let limit = u64::try_from(self.limits.line_bytes_max).unwrap_or(u64::MAX).saturating_add(2);
        let read = self.input.by_ref().take(limit).read_until(b'\n', &mut line)? as u64;
        if read == 0 {
            return Ok(Line::None);
        }
        let ended = line.last() == Some(&b'\n');
        if ended {
            line.pop();
            if line.last() == Some(&b'\r') {
                line.pop();
            }
        }
        let skipped = if ended || read < limit { 0 } else { self.skip_line()? };
        if skipped > 0 || line.len() > self.limits.line_bytes_max {
            return Ok(Line::TooLong(read + skipped));
        }
        Ok(Line::Whole(line.into(), read))
    }

    /// Skips the rest of the line. Returns its length.
    fn skip_line(&mut self) -> io::Result<u64> {
        let mut skipped = 0;
        loop {
            let buffer = match self.input.fill_buf() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                buffer => buffer?,
            };
            let end = buffer.iter().position(|byte| *byte == b'\n');
            let taken = end.map_or(buffer.len(), |end| end + 1);
            self.input.consume(taken);
            skipped += taken as u64;
            if end.is_some() || taken == 0 {
                return Ok(skipped);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;

    const LIMITS: BatchLimits = BatchLimits {
        lines_max: 1024,
        line_bytes_max: 1 << 20,
        line_overhead_bytes: 64,
        batch_bytes_max: 256 << 10,
    };

    fn batches(input: impl Read, limits: BatchLimits) -> Vec<Batch> {
        let mut reader = BatchReader::new(input, limits);
        std::iter::from_fn(|| reader.next_batch().expect("readable")).collect()
    }

    fn lines(batches: &[Batch]) -> Vec<&[u8]> {
        batches.iter().flat_map(|batch| &batch.lines).map(|line| &line[..]).collect()
    }

    #[test]
    fn lines_lose_their_ends_and_nothing_else() {
        assert_eq!(batches(&b""[..], LIMITS), []);
        let input = b"a\r\n\n b \n\rc\nno end";
        let cut = batches(&input[..], LIMITS);
        assert_eq!(lines(&cut), [&b"a"[..], b"", b" b ", b"\rc", b"no end"]);
        assert_eq!(cut.iter().map(|batch| batch.input_bytes).sum::<u64>(), input.len() as u64);
    }

    #[test]
    fn batches_have_bounds_and_keep_the_order() {
        let many: Vec<String> = (0..3000).map(|number| number.to_string()).collect();
        let cut = batches(many.join("\n").as_bytes(), LIMITS);
        assert!(cut.iter().all(|batch| batch.lines.len() <= 1024) && cut.len() <= 4, "{}", cut.len());
        assert!(lines(&cut).into_iter().eq(many.iter().map(String::as_bytes)));

        let wide = format!("{}\n", "x".repeat(100 << 10)).repeat(5);
        let cut = batches(wide.as_bytes(), LIMITS);
        let bytes = |batch: &Batch| batch.lines.iter().map(|line| line.len() + 64).sum::<usize>();
        assert!(cut.iter().all(|batch| bytes(batch) <= LIMITS.batch_bytes_max));
        assert_eq!(lines(&cut).len(), 5);
    }

    #[test]
    fn a_line_as_large_as_a_body_may_be_stands_alone() {
        let largest = "x".repeat(LIMITS.line_bytes_max);
        let cut = batches(format!("a\n{largest}\r\nb\n{largest}").as_bytes(), LIMITS);
        assert_eq!(lines(&cut), [b"a", largest.as_bytes(), b"b", largest.as_bytes()]);
        assert!(cut.iter().all(|batch| batch.lines.len() == 1 && !batch.too_long));
    }

    #[test]
    fn longer_lines_leave_their_place() {
        let limits = BatchLimits { line_bytes_max: 4, ..LIMITS };
        let shape = |input: &str| -> Vec<(usize, bool)> {
            batches(input.as_bytes(), limits)
                .iter()
                .map(|batch| (batch.lines.len(), batch.too_long))
                .collect()
        };
        assert_eq!(shape("1234\n12345\n1\n"), [(1, true), (1, false)]);
        assert_eq!(shape("12345\n123456\r\n1234567890"), [(0, true), (0, true), (0, true)]);
        assert_eq!(shape("1234\r\n12345\r"), [(1, false), (0, true)]);
        let endless = io::repeat(b'x').take(10 << 20).chain(&b"\nend"[..]);
        assert_eq!(lines(&batches(endless, limits)), [b"end"]);
    }

    /// Hands out one piece per read, as a terminal does.
    struct Pieces(VecDeque<&'static [u8]>);

    impl Read for Pieces {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.0.pop_front().map_or(Ok(0), |mut piece| piece.read(buffer))
        }
    }

    #[test]
    fn a_batch_does_not_wait_for_a_second_line() {
        let pieces: [&[u8]; 4] = [b"one\ntwo\nthr", b"ee\n", b"four", b"\n"];
        let cut = batches(Pieces(pieces.into()), LIMITS);
        assert_eq!(cut.iter().map(|batch| batch.lines.len()).collect::<Vec<_>>(), [2, 1, 1]);
        assert_eq!(lines(&cut), [&b"one"[..], b"two", b"three", b"four"]);
    }
}

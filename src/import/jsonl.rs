//! `adjourn import jsonl`: the jobs of an export.
//!
//! The file is read twice: first all of it is checked, so that a mistake in it changes nothing, then its jobs are pushed in their order.
//! Each job has a number of its own in every attempt, so a repeat of lines whose push was under way at a crash adds nothing.

use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io::{BufRead as _, BufReader, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use clap::Args;

use super::part::Part;
use super::progress::Progress;
use super::sink::{Counts, Sent, is_buried, send};
use crate::connection::{ServerArgs, Session, failure, goodbye, refusal_text, runtime};
use crate::exit::{Exit, Failure};
use crate::output::print;
use adjourn_client::Client;
use adjourn_http::{ExportedJob, exported_job};
use adjourn_types::TopicName;

pub(super) const EXAMPLES: &str = "\
Each line is a job as `adjourn export` writes it: what a push takes, with its topic, and `buried` with a reason if the job is buried. The whole
file is checked before the first job is pushed. How far the import has come stands in FILE.imported: run the command again to go on after a stop,
and no job is pushed twice if that is within a day. Lines that the queue refuses are copied to FILE.refused. A job whose key its topic has is not pushed:
the one that is there stays.

Example:
  adjourn import jsonl all.jsonl --dry-run
  adjourn import jsonl all.jsonl";

/// Pushes that may wait for their answer. The queue remembers more jobs than these have.
const UNDER_WAY_MAX: usize = 8;
/// Most wrong or refused lines that are told.
const TOLD_MAX: usize = 10;

/// What `adjourn import jsonl` is told.
#[derive(Debug, Args)]
pub(crate) struct JsonlArgs {
    /// The lines of an export
    file: PathBuf,
    /// Check the file and count its jobs, and push none
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    server: ServerArgs,
}

/// The lines of a file.
struct Lines {
    input: BufReader<File>,
    /// The next line, from 0.
    next: u64,
    offset: u64,
}

/// Runs `adjourn import jsonl`.
pub(super) fn run(args: &JsonlArgs) -> Result<(), Failure> {
    let bytes = std::fs::metadata(&args.file).map_err(|error| unreadable(&args.file, &error))?.len();
    let counts = check(&args.file)?;
    if args.dry_run {
        return print(|out| {
            counts.iter().try_for_each(|(topic, [all, buried])| {
                writeln!(out, "{topic}: {all} jobs to push, {buried} of them to bury")
            })
        });
    }
    let mut progress = Progress::of(&args.file, bytes)?;
    let (lines, offset) = progress.done();
    if offset == bytes {
        let path = progress.path().display();
        return print(|out| {
            writeln!(out, "all {lines} lines are imported already: delete {path} to import them again")
        });
    }
    let mut input = Lines::open(&args.file)?;
    input.input.seek(SeekFrom::Start(offset)).map_err(|error| unreadable(&args.file, &error))?;
    (input.next, input.offset) = (lines, offset);
    runtime()?.block_on(async {
        let client = args.server.connect(Session::EndsWithIt).await?;
        let mut counts = Counts::default();
        let mut refused = Vec::new();
        let pushed = push_all(&client, &args.file, input, &mut progress, &mut counts, &mut refused).await;
        goodbye(&client).await;
        let Counts { pushed: new, kept, buried } = counts;
        print(|out| {
            writeln!(out, "pushed {new} jobs, {buried} of them buried; kept {kept} that were there")
        })?;
        pushed?;
        if refused.is_empty() {
            return Ok(());
        }
        let told = refused.iter().take(TOLD_MAX).map(|(line, why)| format!("\nline {}: {why}", line + 1));
        let told = told.collect::<Vec<_>>().concat();
        let (jobs, kept) = (refused.len(), progress.refused().display());
        let message = format!("the queue refused {jobs} jobs: {kept} has their lines{told}");
        Err(Failure::new(Exit::Refused, message))
    })
}

async fn push_all(
    client: &Client,
    file: &Path,
    mut lines: Lines,
    progress: &mut Progress,
    counts: &mut Counts,
    refused: &mut Vec<(u64, String)>,
) -> Result<(), Failure> {
    let mut under_way: VecDeque<(Part, Sent)> = VecDeque::new();
    let mut rest = None;
    loop {
        let part = if under_way.len() < UNDER_WAY_MAX { lines.part(file, &mut rest)? } else { None };
        if let Some(mut part) = part {
            let jobs = std::mem::take(&mut part.jobs);
            let sent = send(client, progress.number(part.first), &part.topic, jobs);
            under_way.push_back((part, sent));
            continue;
        }
        let Some((part, sent)) = under_way.pop_front() else {
            // Empty lines may follow the last job.
            return progress.advance(lines.next, lines.offset, b"");
        };
        let results = sent.done(client, counts).await.map_err(|error| failure(&error))?;
        let (pushed, mut kept) = (results.len() as u64, Vec::new());
        for (line, text, code) in part.refused(&results) {
            refused.push((line, refusal_text(code)));
            kept.extend([text.trim_ascii_end(), b"\n"].concat());
        }
        progress.advance(part.first + pushed, part.end, &kept)?;
    }
}

/// Checks all lines. Returns how many jobs of each topic are to be pushed, and how many of them buried.
fn check(file: &Path) -> Result<BTreeMap<TopicName, [u64; 2]>, Failure> {
    let (mut lines, mut counts, mut wrong) = (Lines::open(file)?, BTreeMap::new(), Vec::new());
    while let Some((line, text)) = lines.line(file)? {
        match exported_job(&text) {
            Ok(ExportedJob { topic, job }) => {
                let of_topic: &mut [u64; 2] = counts.entry(topic).or_default();
                let [all, buried] = of_topic;
                *all += 1;
                *buried += u64::from(is_buried(&job));
            }
            Err(problem) => wrong.push(format!("\nline {}: {}", line + 1, problem.detail())),
        }
    }
    if wrong.is_empty() {
        return Ok(counts);
    }
    let told: String = wrong.iter().take(TOLD_MAX).map(String::as_str).collect();
    let message = format!("{}: nothing was pushed, {} lines are wrong{told}", file.display(), wrong.len());
    Err(Failure::new(Exit::Usage, message))
}

impl Lines {
    fn open(file: &Path) -> Result<Self, Failure> {
        let input = File::open(file).map_err(|error| unreadable(file, &error))?;
        Ok(Self { input: BufReader::new(input), next: 0, offset: 0 })
    }

    /// The next line that is not empty, and its number from 0. An empty line counts as one.
    fn line(&mut self, file: &Path) -> Result<Option<(u64, Vec<u8>)>, Failure> {
        loop {
            let mut text = Vec::new();
            let read = self.input.read_until(b'\n', &mut text).map_err(|error| unreadable(file, &error))?;
            if read == 0 {
                return Ok(None);
            }
            let line = self.next;
            self.next += 1;
            self.offset += read as u64;
            if !text.trim_ascii().is_empty() {
                return Ok(Some((line, text)));
            }
        }
    }

    /// The next lines that are pushed together. `rest` is the line behind them, which was read already.
    fn part(&mut self, file: &Path, rest: &mut Option<Part>) -> Result<Option<Part>, Failure> {
        let mut part = rest.take();
        while let Some((line, text)) = self.line(file)? {
            let next = Part::of(text, line, self.offset)?;
            match &mut part {
                Some(part) => {
                    if let Some(next) = part.add(next) {
                        *rest = Some(next);
                        break;
                    }
                }
                None => part = Some(next),
            }
        }
        Ok(part)
    }
}

fn unreadable(file: &Path, error: &std::io::Error) -> Failure {
    Failure::new(Exit::Usage, format_args!("cannot read {}: {error}", file.display()))
}

//! Takes jobs out of Redis, each once.
//!
//! A script takes jobs out of their place, if they are as they were read, and puts them into a list of the import's own: lines of an
//! export behind a number drawn at random. The jobs are pushed under that number, so a repeat adds nothing; then the list is deleted.
//! Wherever an import is stopped, a job is in its place, in such a list, or in the queue, and the next import goes on with the lists.

use std::collections::BTreeMap;

use indicatif::ProgressBar;
use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};

use super::super::numbers::Numbers;
use super::super::part::Part;
use super::super::progress_bar;
use super::super::sink::{Counts, send};
use super::place::{Entry, Found, FoundJob, Order, Page, Place};
use super::server::Redis;
use crate::connection::{failure, refusal_text};
use crate::exit::{Exit, Failure};
use crate::output::print;
use adjourn_client::Client;
use adjourn_http::exported_job;
use adjourn_json::ExportedJson;
use adjourn_protocol::PushResult;
use adjourn_types::{TopicName, When};

/// What the names of the import's lists begin with.
pub(super) const STAGED: &str = "adjourn-import:";
/// The end of every script that takes jobs.
const CLAIM: &str = include_str!("lua/claim.lua");
const PUSHED: &str = include_str!("lua/pushed.lua");
/// Lines that one script takes have at most this many bytes together, or there is one.
const CLAIM_BYTES_MAX: usize = 4 << 20;
/// Most refused jobs that are told.
const TOLD_MAX: usize = 10;
/// Longest name of an entry that is told, in characters.
const NAME_MAX: usize = 80;

/// How an older queue keeps its jobs in Redis.
pub(super) trait Layout {
    /// The places that have jobs now.
    fn places(&mut self, redis: &mut Redis) -> Result<Vec<Place>, Failure>;

    /// What becomes of entries of a place: one for each, in their order.
    fn look(&mut self, redis: &mut Redis, place: &Place, entries: &[Entry]) -> Result<Vec<Found>, Failure>;

    /// How jobs are taken out of a place.
    fn claim(&self, place: &Place) -> Claim;

    /// What to say if there are no places.
    fn absent(&self) -> String;
}

/// How jobs are taken out of a place.
pub(super) struct Claim {
    /// Defines `take`: see `claim.lua`.
    pub(super) script: &'static str,
    /// Those behind the list of the import.
    pub(super) keys: Vec<Vec<u8>>,
    /// Those that are common to all jobs.
    pub(super) arguments: Vec<Vec<u8>>,
}

/// A takeover under way.
pub(super) struct Takeover<'a> {
    client: &'a Client,
    redis: Redis,
    counts: Counts,
    /// By list of the import: why the queue has refused the jobs that stay in it.
    refused: BTreeMap<Vec<u8>, Vec<String>>,
    stays: Stays,
    /// One of the jobs that were left out for their key.
    left_out: Option<String>,
    /// What to say if nothing was found.
    absent: Option<String>,
    progress: ProgressBar,
}

/// What stays in Redis.
struct Stays {
    /// What the queue takes.
    body_bytes_max: usize,
    /// By why: how many, and one of them.
    reasons: BTreeMap<String, (u64, String)>,
    held: u64,
    /// They were not as they had been read when a script was to take them.
    changed: u64,
}

/// A job that can be taken.
struct Candidate {
    topic: TopicName,
    is_due: bool,
    /// What the script compares, and the line for the list of the import.
    arguments: Vec<Vec<u8>>,
}

impl Candidate {
    /// Says why the queue cannot have it.
    fn of(found: FoundJob, body_bytes_max: usize) -> Result<Self, String> {
        let FoundJob { topic, job, read } = found;
        if job.body.len() > body_bytes_max {
            return Err(format!(
                "its body has more bytes than body_bytes_max of the server, {body_bytes_max}"
            ));
        }
        let line =
            serde_json::to_vec(&ExportedJson::of_new(&topic, &job)).map_err(|error| error.to_string())?;
        // What cannot be read back would be stuck once it is taken out.
        exported_job(&line).map_err(|problem| problem.detail().clone())?;
        let is_due = job.due == When::After(0);
        Ok(Self { topic, is_due, arguments: [read, vec![line]].concat() })
    }
}

/// The entries of a place, page by page.
struct Pages<'a> {
    place: &'a Place,
    /// Where the next one begins; `None` at the end.
    next: Option<u64>,
}

impl<'a> Pages<'a> {
    fn of(place: &'a Place) -> Self {
        Self { place, next: Some(0) }
    }

    fn read(&mut self, redis: &mut Redis) -> Result<Option<Vec<Entry>>, Failure> {
        let Some(at) = self.next else { return Ok(None) };
        let Page { entries, cursor } = redis.page(self.place, at)?;
        self.next = match cursor {
            Some(cursor) => Some(cursor).filter(|cursor| *cursor > 0),
            None => Some(at + entries.len() as u64).filter(|_| !entries.is_empty()),
        };
        Ok(Some(entries))
    }

    /// So many of them have left the place.
    fn taken(&mut self, jobs: u64) {
        if !self.place.order.is_scanned() {
            self.next = self.next.map(|next| next.saturating_sub(jobs));
        }
    }
}

/// The SHA-1 of a value, as scripts of Redis say it.
pub(super) fn sha1(value: &[u8]) -> Vec<u8> {
    let digest = digest(&SHA1_FOR_LEGACY_USE_ONLY, value);
    digest.as_ref().iter().flat_map(|byte| format!("{byte:02x}").into_bytes()).collect()
}

/// The import's list for jobs of a key: in a cluster, on the same node.
fn staged(key: &[u8]) -> Vec<u8> {
    let tag = |key: &[u8]| {
        let begin = key.iter().position(|byte| *byte == b'{')? + 1;
        let length = key.get(begin..)?.iter().position(|byte| *byte == b'}')?;
        key.get(begin..begin + length).filter(|tag| !tag.is_empty()).map(<[u8]>::to_vec)
    };
    let tag = tag(key).unwrap_or_else(|| key.to_vec());
    [STAGED.as_bytes(), b"{", &tag, b"}:", key].concat()
}

/// Says how many jobs would be taken.
pub(super) fn count(client: &Client, redis: &mut Redis, layout: &mut dyn Layout) -> Result<(), Failure> {
    let (mut topics, mut stays) = (BTreeMap::<TopicName, [u64; 2]>::new(), Stays::none(client));
    let places = layout.places(redis)?;
    for place in &places {
        let mut pages = Pages::of(place);
        while let Some(entries) = pages.read(redis)? {
            let found = layout.look(redis, place, &entries)?;
            for candidate in stays.candidates(place, &entries, found) {
                let [due, later] = topics.entry(candidate.topic).or_default();
                *(if candidate.is_due { due } else { later }) += 1;
            }
        }
    }
    let left = redis.staged()?;
    print(|out| {
        if places.is_empty() {
            writeln!(out, "{}", layout.absent())?;
        }
        for (topic, [due, later]) in &topics {
            writeln!(out, "{topic}: {due} jobs due, {later} later")?;
        }
        for key in &left {
            let key = String::from_utf8_lossy(key);
            writeln!(out, "{key}: jobs that an import before has taken out and not pushed yet")?;
        }
        stays.write(out)
    })
}

impl Stays {
    fn none(client: &Client) -> Self {
        let body_bytes_max = usize::try_from(client.welcome().body_bytes_max).unwrap_or(usize::MAX);
        Self { body_bytes_max, reasons: BTreeMap::new(), held: 0, changed: 0 }
    }

    /// The jobs that can be taken; counts the others.
    fn candidates(&mut self, place: &Place, entries: &[Entry], found: Vec<Found>) -> Vec<Candidate> {
        let mut candidates = Vec::new();
        for (entry, found) in entries.iter().zip(found) {
            let why = match found {
                Found::Job(job) => match Candidate::of(*job, self.body_bytes_max) {
                    Ok(candidate) => {
                        candidates.push(candidate);
                        continue;
                    }
                    Err(why) => why,
                },
                Found::Stays(why) => why,
                Found::Held => {
                    self.held += 1;
                    continue;
                }
                Found::Nothing => continue,
            };
            let one = || {
                let name = String::from_utf8_lossy(&entry.name);
                let name: String = name.chars().take(NAME_MAX).collect();
                let key = String::from_utf8_lossy(&place.key);
                if place.order == Order::Keys { name } else { format!("{name} in {key}") }
            };
            self.reasons.entry(why).or_insert_with(|| (0, one())).0 += 1;
        }
        candidates
    }

    fn write(&self, out: &mut dyn std::io::Write) -> std::io::Result<()> {
        for (why, (jobs, one)) in &self.reasons {
            writeln!(out, "{jobs} stay, such as {one}: {why}")?;
        }
        if self.held > 0 {
            let held = self.held;
            writeln!(out, "{held} stay: workers have them, or had them when they were stopped")?;
        }
        if self.changed > 0 {
            writeln!(out, "{} were no longer as they had been read: run this again", self.changed)?;
        }
        Ok(())
    }

    fn jobs(&self) -> u64 {
        self.reasons.values().map(|(jobs, _)| jobs).sum::<u64>() + self.held + self.changed
    }
}

impl<'a> Takeover<'a> {
    pub(super) fn new(client: &'a Client, redis: Redis) -> Self {
        let (counts, progress) = (Counts::default(), progress_bar());
        Self {
            client,
            redis,
            counts,
            refused: BTreeMap::new(),
            stays: Stays::none(client),
            left_out: None,
            absent: None,
            progress,
        }
    }

    /// Takes jobs until nothing more comes.
    pub(super) async fn run(&mut self, layout: &mut dyn Layout) -> Result<(), Failure> {
        for key in self.redis.staged()? {
            self.push_staged(&key).await?;
        }
        loop {
            self.stays = Stays::none(self.client);
            let places = layout.places(&mut self.redis)?;
            if places.is_empty() && self.counts == Counts::default() && self.refused.is_empty() {
                self.absent = Some(layout.absent());
            }
            let mut taken = 0;
            for place in &places {
                taken += self.empty(layout, place).await?;
            }
            if taken == 0 {
                return self.refused();
            }
        }
    }

    /// An error if the queue has refused jobs.
    fn refused(&self) -> Result<(), Failure> {
        if self.refused.is_empty() {
            return Ok(());
        }
        let jobs: usize = self.refused.values().map(Vec::len).sum();
        let lists: Vec<_> = self.refused.keys().map(|key| String::from_utf8_lossy(key)).collect();
        let told = self.refused.values().flatten().take(TOLD_MAX).map(|told| format!("\n{told}"));
        let message = format!(
            "the queue refused {jobs} jobs, which stay in {} in Redis: run this again when it takes them, or give up one with LSET LIST PLACE \"\"{}",
            lists.join(", "),
            told.collect::<String>()
        );
        Err(Failure::new(Exit::Refused, message))
    }

    /// Takes the jobs of a place. Returns how many there were.
    async fn empty(&mut self, layout: &mut dyn Layout, place: &Place) -> Result<u64, Failure> {
        let (staged, mut pages, mut all) = (staged(&place.key), Pages::of(place), 0);
        // A list that has jobs which the queue does not take keeps its place closed.
        while !self.refused.contains_key(&staged)
            && let Some(entries) = pages.read(&mut self.redis)?
        {
            let found = layout.look(&mut self.redis, place, &entries)?;
            let candidates = self.stays.candidates(place, &entries, found);
            let jobs = candidates.len() as u64;
            let taken = self.take(&layout.claim(place), &staged, candidates).await?;
            self.stays.changed += jobs - taken;
            pages.taken(taken);
            all += taken;
        }
        Ok(all)
    }

    /// Takes jobs, and pushes them. Returns how many they were: those that were changed meanwhile are not among them.
    async fn take(
        &mut self,
        claim: &Claim,
        staged: &[u8],
        candidates: Vec<Candidate>,
    ) -> Result<u64, Failure> {
        let (mut taken, mut jobs, mut bytes) = (0, Vec::new(), 0);
        for Candidate { arguments, .. } in candidates {
            let more: usize = arguments.iter().map(Vec::len).sum();
            if bytes + more > CLAIM_BYTES_MAX && bytes > 0 {
                taken += self.claim(claim, staged, std::mem::take(&mut jobs)).await?;
                bytes = 0;
            }
            bytes += more;
            jobs.push(arguments);
        }
        if !jobs.is_empty() {
            taken += self.claim(claim, staged, jobs).await?;
        }
        Ok(taken)
    }

    async fn claim(&mut self, claim: &Claim, staged: &[u8], jobs: Vec<Vec<Vec<u8>>>) -> Result<u64, Failure> {
        let script = ["local clean\n", claim.script, CLAIM].concat();
        let keys = [&[staged.to_vec()], claim.keys.as_slice()].concat();
        let (width, first) = (jobs.first().map_or(1, Vec::len), 4 + claim.arguments.len());
        let numbers = String::from(draw()?).into_bytes();
        let mut arguments = vec![numbers, width.to_string().into(), first.to_string().into()];
        arguments.extend(claim.arguments.iter().cloned());
        arguments.extend(jobs.into_iter().flatten());
        loop {
            let claimed = self.redis.run(&script, &keys, &arguments);
            // It may have taken some before it failed.
            self.push_staged(staged).await?;
            let claimed = claimed?;
            if self.refused.contains_key(staged) || claimed >= 0 {
                return Ok(u64::try_from(claimed).unwrap_or(0));
            }
        }
    }

    /// Pushes the jobs of a list of the import.
    async fn push_staged(&mut self, staged: &[u8]) -> Result<(), Failure> {
        let mut elements = self.redis.list(staged)?.into_iter();
        let Some(number) = elements.next() else { return Ok(()) };
        let numbers = Numbers::try_from(String::from_utf8_lossy(&number).into_owned());
        let key = String::from_utf8_lossy(staged);
        let numbers = numbers.map_err(|_| {
            Failure::new(Exit::Refused, format_args!("{key} in Redis is no list of an import: rename it"))
        })?;
        let mut refused = BTreeMap::new();
        self.push_lines(numbers, elements, &mut refused).await.map_err(|error| {
            // Whether they were pushed does not matter: the next run pushes them under the same numbers.
            let lost = error.exit == Exit::OutcomeUnknown;
            let why =
                if lost { "the connection to the queue was lost".to_owned() } else { error.to_string() };
            let there =
                format_args!("{why}\n{key} in Redis has jobs that are taken out already: run this again");
            Failure::new(error.exit, there)
        })?;
        let places = refused.keys().map(|line| (line + 1).to_string().into_bytes());
        let arguments: Vec<Vec<u8>> = std::iter::once(number).chain(places).collect();
        let stays = self.redis.run(PUSHED, &[staged.to_vec()], &arguments)?;
        // Another import may have pushed them meanwhile.
        if stays > 0 {
            let told = refused.iter().map(|(line, why)| format!("place {}: {why}", line + 1));
            self.refused.insert(staged.to_vec(), told.collect());
        }
        Ok(())
    }

    /// Pushes lines. Adds those that the queue refuses to others, each with why.
    async fn push_lines(
        &mut self,
        numbers: Numbers,
        lines: impl Iterator<Item = Vec<u8>>,
        refused: &mut BTreeMap<u64, String>,
    ) -> Result<(), Failure> {
        let mut part: Option<Part> = None;
        // An empty one was pushed before.
        for (nth, line) in (0..).zip(lines).filter(|(_, line)| !line.is_empty()) {
            let next = match Part::of(line, nth, nth + 1) {
                Ok(next) => next,
                Err(error) => {
                    refused.insert(nth, error.to_string());
                    continue;
                }
            };
            let Some(open) = &mut part else {
                part = Some(next);
                continue;
            };
            if let Some(next) = open.add(next) {
                let full = std::mem::replace(open, next);
                self.push(numbers, full, refused).await?;
            }
        }
        match part {
            Some(last) => self.push(numbers, last, refused).await,
            None => Ok(()),
        }
    }

    async fn push(
        &mut self,
        numbers: Numbers,
        mut part: Part,
        refused: &mut BTreeMap<u64, String>,
    ) -> Result<(), Failure> {
        let jobs = std::mem::take(&mut part.jobs);
        let keys: Vec<_> = jobs.iter().map(|exported| exported.job.key.clone()).collect();
        let sent = send(self.client, numbers.nth(part.first), &part.topic, jobs);
        let results = sent.done(self.client, &mut self.counts).await.map_err(|error| failure(&error))?;
        self.progress.inc(results.len() as u64);
        for (key, result) in keys.iter().zip(&results) {
            if let (Some(key), PushResult::Kept(_), None) = (key, result, &self.left_out) {
                self.left_out = Some(format!(", such as {} of {}", key.as_str(), part.topic));
            }
        }
        let told = |code| format!("{}: {}", part.topic, refusal_text(code));
        refused.extend(part.refused(&results).map(|(line, _, code)| (line, told(code))));
        Ok(())
    }

    /// Says what was taken, and what stays.
    pub(super) fn report(self, outcome: Result<(), Failure>) -> Result<(), Failure> {
        self.progress.finish_and_clear();
        let Counts { pushed, kept, .. } = self.counts;
        let left_out = self.left_out.unwrap_or_default();
        print(|out| {
            if let Some(absent) = &self.absent {
                writeln!(out, "{absent}")?;
            }
            writeln!(
                out,
                "took over {pushed} jobs; left out {kept} with the key of one that was there{left_out}"
            )?;
            if outcome.is_ok() { self.stays.write(out) } else { Ok(()) }
        })?;
        outcome?;
        match self.stays.jobs() {
            0 => Ok(()),
            jobs => Err(Failure::new(Exit::Nothing, format_args!("{jobs} jobs stay in Redis"))),
        }
    }
}

fn draw() -> Result<Numbers, Failure> {
    Numbers::draw().map_err(|error| Failure::new(Exit::Refused, format_args!("no random number: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_the_import_is_on_the_node_of_its_key() {
        for (key, expected) in [
            ("bull:mail:wait", "adjourn-import:{bull:mail:wait}:bull:mail:wait"),
            ("{bull}:mail:wait", "adjourn-import:{bull}:{bull}:mail:wait"),
            ("queues:{high}:delayed", "adjourn-import:{high}:queues:{high}:delayed"),
        ] {
            assert_eq!(String::from_utf8_lossy(&staged(key.as_bytes())), expected);
        }
    }

    #[test]
    fn digests_are_those_of_redis() {
        assert_eq!(sha1(b"abc"), b"a9993e364706816aba3e25717850c26c9cd0d89d");
    }
}

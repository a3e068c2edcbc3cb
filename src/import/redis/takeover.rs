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
use super::place::{Entry, Found, FoundJob, Order, Place};
use super::server::Redis;
use crate::connection::{failure, refusal_text};
use crate::exit::{Exit, Failure};
use crate::output::print;
use adjourn_client::Client;
use adjourn_json::ExportedJson;
use adjourn_types::{TopicName, When};

/// What the names of the import's lists begin with.
pub(super) const STAGED: &[u8] = b"adjourn-import:";
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
    /// What to say if nothing was found.
    absent: Option<String>,
    progress: ProgressBar,
}

/// What stays in Redis.
#[derive(Default)]
struct Stays {
    /// By why: how many, and one of them.
    reasons: BTreeMap<String, (u64, String)>,
    held: u64,
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
    [STAGED, b"{", &tag, b"}:", key].concat()
}

/// Says how many jobs would be taken.
pub(super) fn count(redis: &mut Redis, layout: &mut dyn Layout) -> Result<(), Failure> {
    let (mut topics, mut stays) = (BTreeMap::<TopicName, [u64; 2]>::new(), Stays::default());
    let places = layout.places(redis)?;
    for place in &places {
        let mut at = 0;
        loop {
            let page = redis.page(place, at)?;
            for (entry, found) in page.entries.iter().zip(layout.look(redis, place, &page.entries)?) {
                if let Some(found) = stays.filter(place, entry, found) {
                    let [due, later] = topics.entry(found.topic.clone()).or_default();
                    *(if found.job.due == When::After(0) { due } else { later }) += 1;
                }
            }
            match page.cursor {
                None if page.entries.is_empty() => break,
                Some(0) => break,
                cursor => at = cursor.unwrap_or(at + page.entries.len() as u64),
            }
        }
    }
    let left = redis.keys(&[STAGED, b"*"].concat())?;
    print(|out| {
        if places.is_empty() {
            writeln!(out, "{}", layout.absent())?;
        }
        for (topic, [due, later]) in &topics {
            writeln!(out, "{topic}: {due} jobs due, {later} later")?;
        }
        for key in left.keys() {
            writeln!(out, "{}: jobs that an import before has not pushed yet", String::from_utf8_lossy(key))?;
        }
        stays.write(out)
    })
}

impl Stays {
    /// The job, if it is to be taken; counts it if it stays.
    fn filter(&mut self, place: &Place, entry: &Entry, found: Found) -> Option<FoundJob> {
        match found {
            Found::Job(job) => return Some(*job),
            Found::Held => self.held += 1,
            Found::Stays(why) => {
                let one = || {
                    let name = String::from_utf8_lossy(&entry.name);
                    let name: String = name.chars().take(NAME_MAX).collect();
                    let key = String::from_utf8_lossy(&place.key);
                    if place.order == Order::Keys { name } else { format!("{name} in {key}") }
                };
                self.reasons.entry(why).or_insert_with(|| (0, one())).0 += 1;
            }
            Found::Nothing => {}
        }
        None
    }

    fn write(&self, out: &mut dyn std::io::Write) -> std::io::Result<()> {
        for (why, (jobs, one)) in &self.reasons {
            writeln!(out, "{jobs} stay, such as {one}: {why}")?;
        }
        if self.held > 0 {
            let held = self.held;
            writeln!(out, "{held} stay: workers have them, or had them when they were stopped")?;
        }
        Ok(())
    }

    fn jobs(&self) -> u64 {
        self.reasons.values().map(|(jobs, _)| jobs).sum::<u64>() + self.held
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
            stays: Stays::default(),
            absent: None,
            progress,
        }
    }

    /// Takes jobs until nothing more comes.
    pub(super) async fn run(&mut self, layout: &mut dyn Layout) -> Result<(), Failure> {
        for (key, kind) in self.redis.keys(&[STAGED, b"*"].concat())? {
            if kind == "list" {
                self.push_staged(&key).await?;
            }
        }
        loop {
            self.stays = Stays::default();
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
            "the queue refused {jobs} jobs, which stay in {} in Redis: run this again when it takes them{}",
            lists.join(", "),
            told.collect::<String>()
        );
        Err(Failure::new(Exit::Refused, message))
    }

    /// Takes the jobs of a place. Returns how many there were.
    async fn empty(&mut self, layout: &mut dyn Layout, place: &Place) -> Result<u64, Failure> {
        let (claim, staged, mut at, mut all) = (layout.claim(place), staged(&place.key), 0, 0);
        // Its list has jobs that the queue does not take.
        while !self.refused.contains_key(&staged) {
            let page = self.redis.page(place, at)?;
            let mut jobs = Vec::new();
            for (entry, found) in
                page.entries.iter().zip(layout.look(&mut self.redis, place, &page.entries)?)
            {
                jobs.extend(self.stays.filter(place, entry, found));
            }
            let taken = self.take(&claim, &staged, jobs).await?;
            all += taken;
            match page.cursor {
                None if page.entries.is_empty() => break,
                Some(0) => break,
                // Those that were taken have left the place.
                cursor => at = cursor.unwrap_or((at + page.entries.len() as u64).saturating_sub(taken)),
            }
        }
        Ok(all)
    }

    /// Takes jobs, and pushes them. Returns how many they were: those that were changed meanwhile are not among them.
    async fn take(&mut self, claim: &Claim, staged: &[u8], jobs: Vec<FoundJob>) -> Result<u64, Failure> {
        let (mut taken, mut arguments, mut bytes, mut width) = (0, Vec::new(), 0, 0);
        for job in jobs {
            let line = serde_json::to_vec(&ExportedJson::of_new(&job.topic, &job.job))
                .map_err(|error| Failure::new(Exit::Refused, error))?;
            if bytes + line.len() > CLAIM_BYTES_MAX && bytes > 0 {
                taken += self.claim(claim, staged, width, std::mem::take(&mut arguments)).await?;
                bytes = 0;
            }
            bytes += line.len();
            width = job.read.len() + 1;
            arguments.extend(job.read);
            arguments.push(line);
        }
        if !arguments.is_empty() {
            taken += self.claim(claim, staged, width, arguments).await?;
        }
        Ok(taken)
    }

    async fn claim(
        &mut self,
        claim: &Claim,
        staged: &[u8],
        width: usize,
        jobs: Vec<Vec<u8>>,
    ) -> Result<u64, Failure> {
        let script = [claim.script, CLAIM].concat();
        let keys = [&[staged.to_vec()], claim.keys.as_slice()].concat();
        let first = 4 + claim.arguments.len();
        let numbers = String::from(draw()?).into_bytes();
        let mut arguments = vec![numbers, width.to_string().into(), first.to_string().into()];
        arguments.extend(claim.arguments.iter().cloned());
        arguments.extend(jobs);
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
        let key = String::from_utf8_lossy(staged);
        let there = |error: &Failure| {
            Failure::new(
                error.exit,
                format_args!("{error}\n{key} in Redis has jobs that are taken out already: run this again"),
            )
        };
        let mut elements = self.redis.list(staged)?.into_iter();
        let Some(number) = elements.next() else { return Ok(()) };
        let numbers = Numbers::try_from(String::from_utf8_lossy(&number).into_owned());
        let numbers = numbers.map_err(|_| {
            Failure::new(Exit::Refused, format_args!("{key} in Redis is no list of an import: rename it"))
        })?;
        let (mut part, mut refused): (Option<Part>, Vec<(Vec<u8>, String)>) = (None, Vec::new());
        for (nth, line) in (0..).zip(elements) {
            let next = Part::of(line, nth, nth + 1).map_err(|error| there(&error))?;
            let Some(next) = (match &mut part {
                Some(part) => part.add(next),
                None => Some(next),
            }) else {
                continue;
            };
            if let Some(full) = part.replace(next) {
                self.push(numbers, full, &mut refused).await.map_err(|error| there(&error))?;
            }
        }
        if let Some(last) = part {
            self.push(numbers, last, &mut refused).await.map_err(|error| there(&error))?;
        }
        let mut arguments = vec![number];
        if !refused.is_empty() {
            arguments.push(String::from(draw()?).into());
            self.refused.insert(staged.to_vec(), refused.iter().map(|(_, why)| why.clone()).collect());
            arguments.extend(refused.into_iter().map(|(line, _)| line));
        }
        self.redis.run(PUSHED, &[staged.to_vec()], &arguments)?;
        Ok(())
    }

    /// Pushes some of them. Adds the lines that the queue refuses to others, each with why.
    async fn push(
        &mut self,
        numbers: Numbers,
        mut part: Part,
        refused: &mut Vec<(Vec<u8>, String)>,
    ) -> Result<(), Failure> {
        let jobs = std::mem::take(&mut part.jobs);
        let sent = send(self.client, numbers.nth(part.first), &part.topic, jobs);
        let results = sent.done(self.client, &mut self.counts).await.map_err(|error| failure(&error))?;
        self.progress.inc(results.len() as u64);
        let told = |code| format!("{}: {}", part.topic, refusal_text(code));
        refused.extend(part.refused(&results).map(|(_, line, code)| (line.to_vec(), told(code))));
        Ok(())
    }

    /// Says what was taken, and what stays.
    pub(super) fn report(self, outcome: Result<(), Failure>) -> Result<(), Failure> {
        self.progress.finish_and_clear();
        let Counts { pushed, kept, .. } = self.counts;
        print(|out| {
            if let Some(absent) = &self.absent {
                writeln!(out, "{absent}")?;
            }
            writeln!(out, "took over {pushed} jobs; left out {kept} with the key of one that was there")?;
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

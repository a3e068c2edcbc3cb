//! A mixed soak: jobs pushed in one language, worked on in another, while servers, proxies and clients are broken.
//!
//! At the end each job that was acknowledged was worked on, none is in the queue twice, and each start of a handler had a higher fence than
//! the one before. `ADJOURN_SOAK_SECONDS` says for how long; `ADJOURN_SOAK_SEED` repeats a sequence of blows; `ADJOURN_SOAK_ON=cluster`
//! takes three nodes instead of one server.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader};
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};

use super::clients::Client;
use super::harness::{Harness, PATIENCE};
use super::rig::now;
use super::server_rig::adjourn;
use super::site::Site;
use super::tls::{Tls, secured};
use super::wire::base64_of;

/// How long it takes if nobody says it.
const SECONDS_DEFAULT: u64 = 5;
/// A blow falls at most this often.
const BETWEEN_BLOWS: Duration = Duration::from_millis(250);
/// Jobs in one push.
const BATCH: usize = 5;
/// Acknowledged jobs that nobody has worked on, while more are pushed.
const WAITING_MAX: usize = 200;
/// Pushes of one producer without an answer.
const PUSHES_MAX: usize = 4;

/// One process of one client.
struct Member<'a> {
    client: &'a Client,
    harness: Harness,
    /// Answers that are awaited: which keys each push had.
    pushes: BTreeMap<u64, Vec<String>>,
}

struct Soak<'a> {
    site: Site<'a>,
    /// How its clients speak TLS, if they do.
    tls: Option<&'a Tls>,
    producers: Vec<Member<'a>>,
    workers: Vec<Member<'a>>,
    /// Keys of the jobs, by what is known of their push.
    acknowledged: BTreeSet<String>,
    doubtful: BTreeSet<String>,
    /// The fences under which handlers of a job began, each with the number of the attempt.
    starts: BTreeMap<String, BTreeMap<u64, u64>>,
    done: BTreeSet<String>,
    next_key: u64,
    random: u64,
    blows: u64,
}

/// Runs it with these clients, all of which have the level worker.
pub(crate) fn run(clients: &[&Client], tls: Option<&Tls>) -> Result<String, String> {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let seconds = number("ADJOURN_SOAK_SECONDS").unwrap_or(SECONDS_DEFAULT);
    let seed = number("ADJOURN_SOAK_SEED").unwrap_or(0x5EED);
    let site = match std::env::var("ADJOURN_SOAK_ON").as_deref() {
        Err(_) | Ok("" | "server") => Site::server(tls),
        Ok("cluster") => Site::cluster(tls),
        Ok(other) => return Err(format!("ADJOURN_SOAK_ON={other}: it is server or cluster")),
    };
    let mut soak = Soak {
        site,
        tls,
        producers: Vec::new(),
        workers: Vec::new(),
        acknowledged: BTreeSet::new(),
        doubtful: BTreeSet::new(),
        starts: BTreeMap::new(),
        done: BTreeSet::new(),
        next_key: 0,
        random: seed | 1,
        blows: 0,
    };
    soak.play(clients, Duration::from_secs(seconds)).map_err(|why| format!("ADJOURN_SOAK_SEED={seed}: {why}"))
}

impl<'a> Soak<'a> {
    fn play(&mut self, clients: &[&'a Client], time: Duration) -> Result<String, String> {
        for client in clients {
            let producer = self.join(client, false)?;
            self.producers.push(producer);
            let worker = self.join(client, true)?;
            self.workers.push(worker);
        }
        let begun = now();
        let mut last_blow = now();
        while begun.elapsed() < time {
            self.push()?;
            self.listen(Duration::from_millis(20))?;
            if last_blow.elapsed() > BETWEEN_BLOWS {
                self.blow(clients)?;
                last_blow = now();
            }
        }
        self.site.mend()?;
        self.drain()?;
        self.judge()
    }

    /// Starts a process and connects it.
    fn join(&self, client: &'a Client, works: bool) -> Result<Member<'a>, String> {
        let mut harness = client.start()?;
        let addresses = self.site.addresses();
        let mut connect =
            json!({ "do": "connect", "client": "c", "addresses": addresses, "connect_timeout_ms": 5_000 });
        if let Some(tls) = self.tls {
            tls.secure(&mut connect);
        }
        // While the server is down, a client may give up at once, or wait all the time for a node that is frozen.
        let begun = now();
        loop {
            let answer = harness.ask(&connect)?;
            if answer["error"].is_null() {
                break;
            }
            if begun.elapsed() > PATIENCE {
                return Err(format!("{} does not connect: {answer}", client.name));
            }
        }
        if works {
            let start = json!({ "do": "worker_start", "client": "c", "worker": "w", "topics": ["soak"], "concurrency": 4, "prefetch": 4 });
            let answer = harness.ask(&start)?;
            if !answer["error"].is_null() {
                return Err(format!("{} does not work: {answer}", client.name));
            }
        }
        Ok(Member { client, harness, pushes: BTreeMap::new() })
    }

    /// Each producer pushes while few of its pushes are unanswered, and few jobs wait.
    fn push(&mut self) -> Result<(), String> {
        if self.acknowledged.len() > self.done.len() + WAITING_MAX {
            return Ok(());
        }
        for at in 0..self.producers.len() {
            let Some(producer) = self.producers.get_mut(at) else { continue };
            if producer.pushes.len() >= PUSHES_MAX {
                continue;
            }
            let keys: Vec<String> =
                (0..BATCH).map(|offset| format!("{}", self.next_key + offset as u64)).collect();
            self.next_key += BATCH as u64;
            let jobs: Vec<Value> = keys.iter().map(|key| job(key)).collect();
            let command = json!({ "do": "push", "client": "c", "topic": "soak", "jobs": jobs });
            let id = producer.harness.send(&command)?;
            producer.pushes.insert(id, keys);
        }
        Ok(())
    }

    /// Hears answers and events.
    fn listen(&mut self, patience: Duration) -> Result<(), String> {
        for producer in &mut self.producers {
            for (id, answer) in producer.harness.answers() {
                let keys = producer.pushes.remove(&id).unwrap_or_default();
                let results = answer["ok"]["results"].as_array().cloned().unwrap_or_default();
                for (at, key) in keys.into_iter().enumerate() {
                    let result = results.get(at).unwrap_or(&answer);
                    if result["outcome"] == "pushed" {
                        self.acknowledged.insert(key);
                    } else if result["error"]["applied"] != "no" {
                        self.doubtful.insert(key);
                    }
                }
            }
        }
        for at in 0..self.workers.len() {
            let Some(worker) = self.workers.get(at) else { continue };
            let name = worker.client.name.clone();
            for event in worker.harness.events(patience / 4) {
                self.hear(&name, &event)?;
            }
        }
        Ok(())
    }

    fn hear(&mut self, name: &str, event: &Value) -> Result<(), String> {
        let job = event["job"].as_str().unwrap_or_default().to_owned();
        let fence: u64 = event["fence"].as_str().and_then(|fence| fence.parse().ok()).unwrap_or_default();
        if event["event"] == "started" {
            let attempts = event["attempts"].as_u64().unwrap_or_default();
            let fences = self.starts.entry(job.clone()).or_default();
            if fences.insert(fence, attempts).is_some() {
                return Err(format!("{name}: job {job} began twice under fence {fence}"));
            }
            // Processes are heard of in any order, but a later attempt has a higher fence.
            let before = fences.range(..fence).next_back().is_none_or(|(_, earlier)| *earlier < attempts);
            let behind = fences.range(fence + 1..).next().is_none_or(|(_, later)| *later > attempts);
            if !before || !behind {
                return Err(format!(
                    "{name}: the fences of job {job} do not rise with its attempts: {fences:?}"
                ));
            }
        } else if event["result"] == "ok" {
            self.done.insert(job);
        }
        Ok(())
    }

    /// Breaks something.
    fn blow(&mut self, clients: &[&'a Client]) -> Result<(), String> {
        self.blows += 1;
        let (nth, which) = (self.draw(self.site.proxies()), self.draw(6));
        match self.draw(9) {
            0 | 1 => self.site.hurt(which),
            2 => self.site.with_proxy(nth, |proxy| proxy.obey("cut")),
            3 => self.site.with_proxy(nth, |proxy| proxy.trap("PUSHED", "half")),
            4 => self.site.with_proxy(nth, |proxy| proxy.trap("SETTLED", "cut")),
            5 => self.site.with_proxy(nth, |proxy| proxy.trap("DELIVER", "half")),
            6 => self.site.with_proxy(nth, |proxy| proxy.trap("PUSH", "cut-behind")),
            7 => self.replace(clients, true),
            _ => self.replace(clients, false),
        }
    }

    /// Ends a worker, in order or as `kill -9` does, and has another one come.
    fn replace(&mut self, clients: &[&'a Client], kills: bool) -> Result<(), String> {
        let at = self.draw(self.workers.len());
        let mut worker = self.workers.remove(at);
        if kills {
            worker.harness.kill();
        } else {
            worker.harness.terminate()?;
        }
        // What it said before its end counts.
        let name = worker.client.name.clone();
        loop {
            let events = worker.harness.events(PATIENCE);
            if events.is_empty() {
                break;
            }
            for event in events {
                self.hear(&name, &event)?;
            }
        }
        let next = self.draw(clients.len());
        let joined = self.join(clients.get(next).ok_or("no clients")?, true)?;
        self.workers.push(joined);
        Ok(())
    }

    /// Waits until the queue is empty.
    fn drain(&mut self) -> Result<(), String> {
        let begun = now();
        loop {
            self.listen(Duration::from_millis(20))?;
            let waiting = self.producers.iter().any(|producer| !producer.pushes.is_empty());
            let Some(producer) = self.producers.first_mut() else { return Ok(()) };
            if !waiting {
                let count = producer
                    .harness
                    .ask(&json!({ "do": "count", "client": "c", "filter": { "topic": "soak" } }))?;
                if count["ok"]["jobs"] == "0" {
                    break;
                }
            }
            if begun.elapsed() > PATIENCE {
                let left = producer
                    .harness
                    .ask(&json!({ "do": "list", "client": "c", "filter": {}, "jobs_max": 10 }))?;
                return Err(format!("the queue does not become empty: {left}"));
            }
        }
        self.listen(Duration::from_millis(20))
    }

    /// Nothing lost, nothing doubled.
    fn judge(&mut self) -> Result<String, String> {
        let mut pushed: BTreeMap<String, u64> = BTreeMap::new();
        self.finished(|id, key| {
            *pushed.entry(key.to_owned()).or_default() += 1;
            let is_known = self.starts.contains_key(id);
            if is_known { Ok(()) } else { Err(format!("nobody began job {id}, and it is finished")) }
        })?;
        if let Some((key, times)) = pushed.iter().find(|(_, times)| **times > 1) {
            return Err(format!("job {key} was pushed {times} times"));
        }
        if let Some(lost) = self.acknowledged.iter().find(|key| !pushed.contains_key(*key)) {
            return Err(format!("job {lost} was acknowledged, and is lost"));
        }
        let known = |key: &str| self.acknowledged.contains(key) || self.doubtful.contains(key);
        if let Some(strange) = pushed.keys().find(|key| !known(key)) {
            return Err(format!("job {strange} was refused, and is in the queue"));
        }
        if self.acknowledged.is_empty() || self.done.is_empty() || self.blows == 0 {
            return Err("nothing happened".to_owned());
        }
        let starts: usize = self.starts.values().map(BTreeMap::len).sum();
        Ok(format!(
            "{} jobs acknowledged, {} in doubt, {starts} handlers begun, {} blows",
            self.acknowledged.len(),
            self.doubtful.len(),
            self.blows
        ))
    }

    /// Calls `visit` with the id and the number of each finished job. The command line lists them one by one: after hours they
    /// would be too much for one answer of a harness.
    fn finished(&self, mut visit: impl FnMut(&str, &str) -> Result<(), String>) -> Result<(), String> {
        let addresses = self.site.addresses().join(",");
        let servers = if self.tls.is_some() { secured(&addresses) } else { addresses };
        let mut list = adjourn(&["list", "--server", &servers, "--topic", "soak", "--state", "finished"]);
        list.args(self.tls.iter().flat_map(|tls| tls.believing()));
        list.args(["--all", "--json"]).stdout(Stdio::piped());
        let mut list = list.spawn().map_err(|error| error.to_string())?;
        for line in BufReader::new(list.stdout.take().expect("piped")).lines() {
            let line = line.map_err(|error| error.to_string())?;
            let job: Value = serde_json::from_str(&line).map_err(|error| format!("{line}: {error}"))?;
            visit(&job["id"].to_string(), job["headers"]["number"].as_str().unwrap_or_default())?;
        }
        let status = list.wait().map_err(|error| error.to_string())?;
        if status.success() { Ok(()) } else { Err(format!("the list ended with {status}")) }
    }

    /// The next random number below `bound`: xorshift.
    fn draw(&mut self, bound: usize) -> usize {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        usize::try_from(self.random % bound.max(1) as u64).unwrap_or_default()
    }
}

/// A job that stays visible after it is finished. Its number stands in a header, not in a key: a key would hide a second push.
fn job(key: &str) -> Value {
    json!({
        "body": base64_of(br#"{"after_ms": 2}"#),
        "attributes": { "headers": [["number", key]], "dedupe_retention_ms": "86400000" },
    })
}

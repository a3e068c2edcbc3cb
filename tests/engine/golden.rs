//! Golden scripts: what the engine answers, for a person to read.
//!
//! Each file in `tests/golden` is a script with its answers beneath each line. `@STAMP COMMAND` is an entry, `& COMMAND` one
//! more command of it, `? QUESTION` asks a reader's question. With `UPDATE_GOLDEN=1` the answers are written anew.
//!
//! A lease is written as `JOB-FENCE`, a job as its number or as `TOPIC/KEY`, a backoff as its curve's name and numbers.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use adjourn_engine::{
    Command, Engine, Entry, Grant, GroupChange, GroupView, JobSelect, JobStore, JobTemplate, JobView,
    NewFiring, NewJob, NewSchedule, Outcome, PushOutcome, Record, ScheduleView, Share, SkippedInstants, Tick,
    TopicOrder, TopicView,
};
use adjourn_types::limits::PRIORITY_DEFAULT;
use adjourn_types::{
    AttributesBuilder, Backoff, BackoffCurve, Fired, Firing, GroupId, GroupPolicy, IfExists, JobId, Late,
    LateAction, Lease, Millis, OnBury, Overlap, PolicyChange, ScheduleBefore, SessionId, SessionSecret,
    SkipReason, TopicPolicy, When,
};

use crate::kept_bodies::{KeptBodies, peek};

/// One command as it is written: words, and `name=value` pairs.
#[derive(Debug)]
pub(crate) struct Written {
    verb: String,
    words: Vec<String>,
    named: BTreeMap<String, String>,
    attributes: Vec<u8>,
}

/// Commands between bars.
pub(crate) fn commands(script: &str) -> Vec<Written> {
    script.split('|').map(Written::parse).collect()
}

impl Written {
    fn parse(text: &str) -> Self {
        let (named, mut words): (Vec<&str>, Vec<&str>) =
            text.split_whitespace().partition(|word| word.contains('='));
        let named: BTreeMap<String, String> = named
            .iter()
            .filter_map(|pair| pair.split_once('='))
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        let verb = words.remove(0).to_owned();
        let words = words.into_iter().map(str::to_owned).collect();
        let attributes = if verb == "policy" { policy(&named) } else { attributes(&named) };
        Self { verb, words, named, attributes }
    }

    pub(crate) fn as_command(&self) -> Command<'_> {
        match self.verb.as_str() {
            "genesis" => Command::Genesis { key_secret: [1; 16] },
            "offset" => Command::ClockOffset { offset_ms: self.word(0).parse().expect("milliseconds") },
            "level" => Command::FeatureLevel { level: self.word(0).parse().expect("a feature level") },
            "skip" => Command::SkipIds { floor: self.number("floor").unwrap_or(0) },
            "skipfences" => Command::SkipFences { count: self.number("count").unwrap_or(0) },
            "open" => Command::SessionOpen {
                secret: SessionSecret([5; 16]),
                leases_outlive: self.words.first().is_some_and(|word| word == "outlive"),
                client: "",
            },
            "resume" => {
                let secret = SessionSecret([self.number("secret").map_or(5, |_| 9); 16]);
                Command::SessionResume { session: self.session(), secret }
            }
            "lapse" => Command::SessionLapse { session: self.session() },
            "close" => Command::SessionClose { session: self.session() },
            "push" => Command::Push {
                session: SessionId(self.number("session").unwrap_or(0)),
                sequence: self.number("seq").unwrap_or(0),
                topic: self.word(0),
                jobs: vec![self.job(); usize::try_from(self.number("count").unwrap_or(1)).expect("few")],
            },
            "reserve" => Command::Reserve {
                session: self.session(),
                topics: self.topics(),
                jobs_max: u32::try_from(self.number("max").unwrap_or(1)).expect("few"),
                bytes_max: self.number("bytes").unwrap_or(u64::MAX),
            },
            "finish" => Command::Finish { leases: self.leases() },
            "release" => Command::Release {
                leases: self.leases(),
                delay_ms: self.number("delay"),
                attempted: self.words.get(1).is_none_or(|word| word != "undelivered"),
                reason: "",
            },
            "touch" => Command::Touch {
                leases: self.leases(),
                ttr_ms: self.number("ttr").map(|ttr| u32::try_from(ttr).expect("short")),
            },
            "bury" => Command::Bury { leases: self.leases(), reason: "" },
            "delete" => Command::Delete { job: self.selected(0) },
            "reschedule" => Command::Reschedule { job: self.selected(0), due: self.due(), version: None },
            "runnow" => Command::RunNow { job: self.selected(0) },
            "kickmany" => Command::KickMany {
                topic: self.word(0),
                jobs_max: u32::try_from(self.number("max").unwrap_or(1)).expect("few"),
            },
            "kick" => Command::Kick { job: self.selected(0) },
            "policy" => Command::TopicPolicy { topic: self.word(0), change: &self.attributes },
            "pause" | "unpause" => {
                let (paused, for_ms) = (self.verb == "pause", self.number("for"));
                Command::TopicPause { topic: self.word(0), paused, by: "", for_ms }
            }
            "reservejob" => Command::ReserveJob { session: self.session(), job: self.selected(1) },
            "deletetopic" => Command::TopicDelete { topic: self.word(0) },
            _ => self.about_schedule(),
        }
    }

    fn about_schedule(&self) -> Command<'_> {
        match self.verb.as_str() {
            "schedule" => Command::ScheduleSet {
                topic: self.word(0),
                schedule: NewSchedule {
                    name: self.word(1).as_bytes(),
                    priority: PRIORITY_DEFAULT,
                    ttr_ms: 60_000,
                    overlap: self.overlap(),
                    failures_max: u32::try_from(self.number("failures").unwrap_or(0)).expect("few"),
                    next: self.number("next").map(Millis),
                    attributes: &[],
                    body: self.body(),
                },
                before: self.schedule_before(),
            },
            "fire" => Command::ScheduleFire {
                schedule: self.schedule(),
                record_checksum: self.record_checksum(),
                tick: self.number("tick").map(|instant| Tick {
                    instant: Millis(instant),
                    skipped: self.skipped(),
                    next: self.number("next").map(Millis),
                    left: self.number("left"),
                }),
                firings: self.firings(),
                template: JobTemplate { attributes: &self.attributes, body: self.body() },
            },
            "stop" => Command::SchedulePause { schedule: self.schedule(), paused: true, note: "" },
            "go" => Command::SchedulePause { schedule: self.schedule(), paused: false, note: "" },
            "group" => Command::GroupSet {
                topic: self.word(0),
                group: self.word(1),
                change: GroupChange {
                    weight: self.number("weight").map(|weight| u32::try_from(weight).expect("small")),
                    paused: self.named.get("paused").map(|paused| paused == "yes"),
                },
            },
            "unschedule" => Command::ScheduleDelete { schedule: self.schedule() },
            other => panic!("no command {other:?}"),
        }
    }

    fn job(&self) -> NewJob<'_> {
        NewJob {
            due: self.due(),
            priority: self.number("priority").map_or(PRIORITY_DEFAULT, |n| u32::try_from(n).expect("small")),
            ttr_ms: u32::try_from(self.number("ttr").unwrap_or(60_000)).expect("short"),
            if_exists: match self.named.get("if").map(String::as_str) {
                Some("keep") => IfExists::Keep,
                Some("replace") => IfExists::Replace,
                Some("replace-any") => IfExists::ReplaceReserved,
                Some("postpone") => IfExists::Postpone,
                _ => IfExists::Reject,
            },
            key: self.named.get("key").map(String::as_bytes),
            attributes: &self.attributes,
            body: self.body(),
        }
    }

    fn body(&self) -> &[u8] {
        self.named.get("body").map(String::as_bytes).unwrap_or_default()
    }

    fn schedule(&self) -> JobId {
        JobId(self.word(0).parse().expect("a schedule's number"))
    }

    fn overlap(&self) -> Overlap {
        match self.named.get("overlap").map(String::as_str) {
            None | Some("skip") => Overlap::Skip,
            Some("allow") => Overlap::Allow,
            Some("queue-one") => Overlap::QueueOne,
            Some("replace") => Overlap::Replace,
            Some(other) => panic!("no overlap {other:?}"),
        }
    }

    /// The checksum of the record of a schedule with this name and body.
    fn record_checksum(&self) -> u32 {
        let name = self.named.get("name").map(String::as_bytes);
        let record = Record { key: name, attributes: &[], body: self.body() };
        KeptBodies::default().keep(record).checksum
    }

    /// Instants, each with the key of its job.
    fn firings(&self) -> Vec<NewFiring<'_>> {
        let instants = self.named.get("for").into_iter().flat_map(|instants| instants.split(','));
        instants
            .map(|written| {
                let (instant, key) =
                    written.split_once(':').map_or((written, None), |(at, key)| (at, Some(key)));
                let instant = Millis(instant.parse().expect("an instant"));
                let late = self.number("jitter").unwrap_or(0);
                NewFiring { instant, due: instant.after(late), key: key.map(str::as_bytes) }
            })
            .collect()
    }

    /// `before=SCHEDULE:VERSION:NEXT`.
    fn schedule_before(&self) -> Option<ScheduleBefore> {
        let numbers = self.named.get("before")?.split(':').map(|number| number.parse().expect("a number"));
        let [schedule, version, next] = numbers.collect::<Vec<u64>>().try_into().expect("three numbers");
        let version = u32::try_from(version).expect("few");
        Some(ScheduleBefore { schedule: JobId(schedule), version, next: Some(Millis(next)) })
    }

    /// `skip=FIRST:LAST:INSTANTS`, of instants that were missed.
    fn skipped(&self) -> Option<SkippedInstants> {
        let numbers = self.named.get("skip")?.split(':').map(|number| number.parse().expect("a number"));
        let [first, last, instants] = numbers.collect::<Vec<_>>().try_into().expect("three numbers");
        Some(SkippedInstants {
            first: Millis(first),
            last: Millis(last),
            instants,
            reason: SkipReason::Missed,
        })
    }

    fn due(&self) -> When {
        match self.number("at") {
            Some(at) => When::At(Millis(at)),
            None => When::After(self.number("after").unwrap_or(0)),
        }
    }

    fn selected(&self, nth: usize) -> JobSelect<'_> {
        match self.word(nth).split_once('/') {
            Some((topic, key)) => JobSelect::Key { topic, key: key.as_bytes() },
            None => JobSelect::Id(JobId(self.word(nth).parse().expect("a job's number"))),
        }
    }

    fn leases(&self) -> Vec<Lease> {
        self.word(0).split(',').map(|lease| lease.parse().expect("a lease")).collect()
    }

    fn topics(&self) -> TopicOrder<'_> {
        if self.named.contains_key("weights") {
            TopicOrder::OfShares(self.shares())
        } else {
            TopicOrder::OfJobs(self.word(1).split(',').collect())
        }
    }

    /// Weights and standings are in the order of the topics; a topic without a standing is not ahead.
    fn shares(&self) -> Vec<Share<'_>> {
        let numbers = |name: &str| -> Vec<i64> {
            let written = self.named.get(name).map(|numbers| numbers.split(','));
            written.into_iter().flatten().map(|number| number.parse().expect("a number")).collect()
        };
        let standings = numbers("standings").into_iter().chain(std::iter::repeat(0));
        let topics = self.word(1).split(',').zip(numbers("weights")).zip(standings);
        let share = |((topic, weight), standing)| {
            let weight = u16::try_from(weight).expect("a weight");
            Share { topic, weight, standing }
        };
        topics.map(share).collect()
    }

    fn session(&self) -> SessionId {
        SessionId(self.word(0).parse().expect("a session's number"))
    }

    fn word(&self, nth: usize) -> &str {
        self.words.get(nth).expect("one more word")
    }

    fn number(&self, name: &str) -> Option<u64> {
        self.named.get(name).map(|value| value.parse().expect("a number"))
    }
}

fn attributes(named: &BTreeMap<String, String>) -> Vec<u8> {
    let number = |text: &str| text.parse::<u32>().expect("a number");
    let mut builder = AttributesBuilder::default();
    if let Some(expires) = named.get("expires") {
        builder = builder.expires(When::After(number(expires).into()));
    }
    if let Some(expires) = named.get("expires_at") {
        builder = builder.expires(When::At(Millis(number(expires).into())));
    }
    if let Some(attempts) = named.get("attempts") {
        builder = builder.attempts_max(number(attempts));
    }
    if let Some((name, waits)) = named.get("backoff").and_then(|backoff| backoff.split_once(':')) {
        let waits: Vec<u32> = waits.split(':').map(number).collect();
        let curve = match (name, waits.as_slice()) {
            ("fixed", [wait_ms]) => BackoffCurve::Fixed(*wait_ms),
            ("linear", [step_ms, max_ms]) => BackoffCurve::Linear { step_ms: *step_ms, max_ms: *max_ms },
            ("exponential", [first_ms, max_ms]) => {
                BackoffCurve::Exponential { first_ms: *first_ms, max_ms: *max_ms }
            }
            ("list", _) => BackoffCurve::List(waits),
            other => panic!("no backoff {other:?}"),
        };
        builder = builder.backoff(&Backoff { curve, jitter_percent: 0 });
    }
    if let Some(group) = named.get("group") {
        builder = builder.group(group);
    }
    if let Some(reason) = named.get("buried") {
        builder = builder.buried(reason);
    }
    if let Some(max_ms) = named.get("cap") {
        builder = builder.postpone_max(max_ms.parse().expect("milliseconds"));
    }
    builder.build().expect("valid").as_bytes().to_vec()
}

/// Settings of a topic: `late=drop:500`, `fair=yes`, `group-leases=2`, `group-rate=5`, `burst=2`, `order=fifo`, `on-bury=continue`.
fn policy(named: &BTreeMap<String, String>) -> Vec<u8> {
    let late = named.get("late").and_then(|late| late.split_once(':')).map(|(then, after_ms)| {
        let then = match then {
            "drop" => LateAction::Drop,
            "bury" => LateAction::Bury,
            other => panic!("no action {other:?}"),
        };
        Late { after_ms: after_ms.parse().expect("milliseconds"), then }
    });
    let number = |name: &str| named.get(name).map(|number| number.parse().expect("a number"));
    let groups = GroupPolicy {
        fair: named.contains_key("fair"),
        leases_max: number("group-leases"),
        per_second_max: number("group-rate"),
        burst: number("burst"),
        fifo: named.contains_key("order"),
        on_bury: named.get("on-bury").map(|_| OnBury::Continue),
    };
    let set = TopicPolicy { late, groups, leases_max: number("leases"), ..TopicPolicy::default() };
    PolicyChange { set, ..PolicyChange::default() }.encode()
}

/// An engine that a script talks to.
struct Talk {
    engine: Engine,
    bodies: KeptBodies,
}

impl Talk {
    /// The script with what the engine answers beneath each line.
    fn run(script: &str) -> String {
        let mut talk = Self { engine: Engine::new(GroupId(0)), bodies: KeptBodies::default() };
        let mut lines = script.lines().filter(|line| !line.starts_with("  ")).peekable();
        let mut told = String::new();
        while let Some(line) = lines.next() {
            if let Some(question) = line.strip_prefix("? ") {
                writeln!(told, "{line}").expect("memory");
                for answer in talk.answer(question) {
                    writeln!(told, "  {answer}").expect("memory");
                }
                continue;
            }
            let Some(entry) = line.strip_prefix('@') else {
                writeln!(told, "{line}").expect("memory");
                continue;
            };
            let (stamp, first) = entry.split_once(' ').expect("@STAMP COMMAND");
            let mut written = vec![(line, first)];
            while let Some(line) = lines.next_if(|line| line.starts_with("& ")) {
                written.push((line, &line[2..]));
            }
            for (line, answers) in talk.apply(stamp.parse().expect("a stamp"), &written) {
                writeln!(told, "{line}").expect("memory");
                for answer in answers {
                    writeln!(told, "  {answer}").expect("memory");
                }
            }
            talk.engine.verify(&mut talk.bodies);
            assert_eq!(talk.bodies.len() as u64, talk.engine.jobs(), "a record is kept for each job");
        }
        told
    }

    fn apply<'a>(&mut self, stamp: u64, lines: &[(&'a str, &str)]) -> Vec<(&'a str, Vec<String>)> {
        let mut commands = Vec::new();
        for (_, text) in lines.iter().filter(|(_, text)| *text != "tick") {
            commands.push(Written::parse(text));
        }
        let entry =
            Entry { stamp: Millis(stamp), commands: commands.iter().map(Written::as_command).collect() };
        let Ok(applied) = self.engine.apply(&entry, &mut self.bodies);
        let mut outcomes = applied.outcomes.iter();
        let mut told: Vec<(&str, Vec<String>)> = Vec::new();
        for (line, text) in lines {
            let outcome = (*text != "tick").then(|| outcomes.next().expect("an outcome per command"));
            told.push((line, outcome.map(|outcome| self.tell(outcome)).unwrap_or_default()));
        }
        if let Some((_, last)) = told.last_mut() {
            last.extend(applied.ended.iter().map(|lease| format!("ended {lease}")));
        }
        told
    }

    fn tell(&self, outcome: &Outcome) -> Vec<String> {
        match outcome {
            Outcome::Done => vec!["done".to_owned()],
            Outcome::Session { session } => vec![format!("session {}", session.0)],
            Outcome::Pushed(jobs) => grouped(jobs.iter().map(tell_push)),
            Outcome::Granted(grants) if grants.is_empty() => vec!["nothing".to_owned()],
            Outcome::Granted(grants) => grants.iter().map(|grant| self.tell_grant(grant)).collect(),
            Outcome::GrantedByShares { grants, advances } => {
                let advances: Vec<String> = advances.iter().map(ToString::to_string).collect();
                let advances = format!("advances {}", advances.join(","));
                grants.iter().map(|grant| self.tell_grant(grant)).chain([advances]).collect()
            }
            Outcome::Settled(results) => results
                .iter()
                .map(|result| {
                    result.map_or_else(|reject| format!("refused {reject:?}"), |()| "settled".into())
                })
                .collect(),
            Outcome::Changed { job, state, due, .. } => vec![format!("changed {job} {state} due={due}")],
            Outcome::ChangedMany { jobs } => vec![format!("kicked {jobs}")],
            Outcome::Moved { jobs, in_the_way } => vec![format!("moved {jobs}, in the way {in_the_way}")],
            Outcome::TopicHasJobs { jobs, schedules: 0 } => vec![format!("has {jobs} jobs")],
            Outcome::TopicHasJobs { jobs, schedules } => {
                vec![format!("has {jobs} jobs, {schedules} schedules")]
            }
            Outcome::ScheduleSet { schedule, version, .. } => {
                vec![format!("schedule {schedule} version={version}")]
            }
            Outcome::Fired(jobs) => {
                let one = |fired: &Result<JobId, SkipReason>| match fired {
                    Ok(job) => format!("fired {job}"),
                    Err(reason) => format!("skipped, {reason:?}"),
                };
                grouped(jobs.iter().map(one))
            }
            Outcome::Lapsing { leases } => vec![format!("lapsing, leases={leases}")],
            Outcome::Rejected(reject) => vec![format!("rejected {reject:?}")],
        }
    }

    fn tell_grant(&self, grant: &Grant) -> String {
        let topic = self.engine.topic(grant.topic).expect("it exists").name;
        let (lease, due, deadline) = (grant.lease, grant.due, grant.deadline);
        let (priority, attempts) = (grant.priority, grant.attempts);
        format!("granted {lease} {topic} priority={priority} attempts={attempts} due={due} until={deadline}")
    }

    fn answer(&mut self, question: &str) -> Vec<String> {
        let (verb, rest) = question.split_once(' ').unwrap_or((question, ""));
        let time = || Millis(rest.parse().expect("a stamp"));
        match verb {
            "job" => {
                let written = Written::parse(question);
                let Ok(view) = self.engine.job(&written.selected(0), &mut self.bodies);
                vec![view.map_or_else(|| "none".to_owned(), |view| self.describe(&view))]
            }
            "peek" => {
                let topic = self.engine.topic_id(rest).expect("a topic");
                let view = peek(&self.engine, topic, &mut self.bodies);
                vec![view.map_or_else(|| "none".to_owned(), |view| self.describe(&view))]
            }
            "next" => {
                let next = self.engine.next_deadline_after(time());
                vec![next.map_or_else(|| "never".to_owned(), |next| next.to_string())]
            }
            "due" => {
                let mut topics = Vec::new();
                self.engine.due_topics(time(), &mut |topic| topics.push(topic));
                grouped(
                    topics.iter().map(|topic| self.engine.topic(*topic).expect("it exists").name.to_string()),
                )
            }
            "schedule" => {
                let schedule = JobId(rest.parse().expect("a schedule's number"));
                let view = self.engine.schedule(schedule);
                view.map_or_else(|| vec!["none".to_owned()], |view| tell_schedule(&view))
            }
            "tofire" => grouped(self.engine.schedules_to_fire().map(|schedule| schedule.to_string())),
            "groups" => {
                let topic = self.engine.topic_id(rest).expect("a topic");
                self.engine.groups_after(topic, "", "").map(|group| tell_group(&group)).collect()
            }
            "why" => {
                let Ok(view) = self.engine.job(&Written::parse(question).selected(0), &mut self.bodies);
                let holds = view.map(|view| self.engine.holds_of_job(&view)).unwrap_or_default();
                holds.iter().map(|hold| format!("{hold:?}")).collect()
            }
            "topics" => self.engine.topics().map(|view| tell_topic(&view)).collect(),
            "sessions" => {
                let live = self.engine.sessions().map(|view| {
                    let outlive = if view.leases_outlive { " (its leases outlive it)" } else { "" };
                    format!("live {}{outlive}", view.id.0)
                });
                let known = self.engine.session_count();
                live.chain([format!("known {known}")]).collect()
            }
            other => panic!("no question {other:?}"),
        }
    }

    fn describe(&self, view: &JobView) -> String {
        let topic = self.engine.topic(view.topic).expect("it exists").name;
        let body = String::from_utf8_lossy(&self.bodies.read(view.body).body).into_owned();
        let mut told =
            format!("job {} {topic} {} due={} attempts={}", view.id, view.state, view.due, view.attempts);
        if let Some((fence, deadline)) = view.lease {
            write!(told, " fence={} until={deadline}", fence.0).expect("memory");
        }
        if let Some(reason) = view.buried {
            write!(told, " ({reason})").expect("memory");
        }
        told + " body=" + &body
    }
}

fn tell_push(outcome: &PushOutcome) -> String {
    match outcome {
        PushOutcome::Pushed(job) => format!("pushed {job}"),
        PushOutcome::Kept(job) => format!("kept {job}"),
        PushOutcome::Replaced(job) => format!("replaced by {job}"),
        PushOutcome::Postponed(job) => format!("postponed {job}"),
        PushOutcome::Refused(reject, Some(job)) => format!("refused {reject:?} {job}"),
        PushOutcome::Refused(reject, None) => format!("refused {reject:?}"),
    }
}

fn tell_schedule(view: &ScheduleView) -> Vec<String> {
    let next = view.next.map_or("none".to_owned(), |next| next.to_string());
    let paused = view.paused.map(|by| format!(" paused by {by:?}")).unwrap_or_default();
    let comes = match (view.is_held, view.is_to_fire) {
        (true, false) => " held",
        (true, true) => " held, to fire",
        (false, true) => " to fire",
        (false, false) => "",
    };
    let (fired, running, failures) = (view.fired, view.running, view.failures);
    let state = format!("next={next}{paused}{comes} fired={fired} running={running} failures={failures}");
    let history = view.history.iter().map(|Firing { instant, at, what }| match what {
        Fired::Pushed { job, end: None } => format!("{instant} at {at}: job {job}"),
        Fired::Pushed { job, end: Some(end) } => format!("{instant} at {at}: job {job}, {end:?}"),
        Fired::Skipped { last, instants, reason } => {
            format!("{instant} to {last} at {at}: {instants} skipped, {reason:?}")
        }
    });
    [state].into_iter().chain(history).collect()
}

fn tell_group(view: &GroupView<'_>) -> String {
    let GroupView { name, ready, reserved, weight, hold, .. } = view;
    format!("{name} ready={ready} reserved={reserved} weight={weight} {hold:?}")
}

fn tell_topic(view: &TopicView<'_>) -> String {
    let paused = if view.paused.is_some() { " paused" } else { "" };
    let since = view.ready_since.map(|since| format!(" ready_since={since}")).unwrap_or_default();
    let TopicView { name, delayed, ready, reserved, buried, pushed, finished, deleted, expired, .. } = view;
    let counts = format!("delayed={delayed} ready={ready} reserved={reserved} buried={buried}");
    format!(
        "{name}{paused} {counts} pushed={pushed} finished={finished} deleted={deleted} expired={expired}{since}"
    )
}

/// Long runs in short: the first, the last, and how many.
fn grouped(lines: impl Iterator<Item = String>) -> Vec<String> {
    let lines: Vec<String> = lines.collect();
    match lines.as_slice() {
        [first, .., last] if lines.len() > 8 => vec![format!("{first} .. {last} ({} in all)", lines.len())],
        [] => vec!["none".to_owned()],
        _ => lines,
    }
}

#[test]
fn the_scripts_answer_as_they_are_written() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let update = std::env::var_os("UPDATE_GOLDEN").is_some();
    let mut scripts = 0;
    for file in std::fs::read_dir(&directory).expect("the scripts") {
        let path = file.expect("a file").path();
        let script = std::fs::read_to_string(&path).expect("a text");
        let told = Talk::run(&script);
        if update {
            std::fs::write(&path, told).expect("written");
        } else {
            assert_eq!(told, script, "{} (UPDATE_GOLDEN=1 writes the answers anew)", path.display());
        }
        scripts += 1;
    }
    assert!(scripts >= 9, "{scripts} scripts in {}", directory.display());
}

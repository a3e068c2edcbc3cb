//! Lists and counts over resident and spilled jobs, beside checkpoints that move them, against a list of all jobs.

#![expect(clippy::indexing_slicing, reason = "what is indexed was made here")]

use proptest::prelude::*;

use super::*;
use crate::Walk;
use adjourn_engine::{BulkChange, Conditions, JobView};
use adjourn_types::{Access, DueBars, Filter, JobId, JobState, ListOrder, Position, States, TopicName};

/// The parameters of a list.
#[derive(Clone, Debug, Default)]
struct Asked {
    topic: Option<usize>,
    states: States,
    due: (Option<u64>, Option<u64>),
    key_prefix: Option<String>,
    attempts_min: Option<u32>,
    order: ListOrder,
    jobs_max: usize,
    /// How many jobs it may check between two changes.
    budget: usize,
    /// True if one pass makes all pages.
    keeps_the_pass: bool,
    /// The number of checked jobs after which it ends a page by due time.
    looks_max: Option<usize>,
    /// The parts of the time in which it counts.
    bars: Option<DueBars>,
}

const TOPICS: [&str; 3] = ["t", "rare", "empty"];

fn asked() -> impl Strategy<Value = Asked> {
    let states = prop_oneof![
        Just(States::ALL),
        (1..16_u8).prop_map(|bits| States::from_bits(bits).expect("some states"))
    ];
    let due = proptest::option::of(0..6 * DAY_MS);
    let order = prop_oneof![Just(ListOrder::Due), Just(ListOrder::Id), Just(ListOrder::Key)];
    (
        proptest::option::of(0..TOPICS.len()),
        states,
        (due.clone(), due),
        proptest::option::of("k[0-9]{0,2}"),
        proptest::option::of(0..2_u32),
        order,
        (1..40_usize, 1..5000_usize, any::<bool>()),
        proptest::option::of((0..7 * DAY_MS, 1..3 * DAY_MS, 1..6_u32)),
    )
        .prop_map(|(topic, states, due, key_prefix, attempts_min, order, rest, bars)| Asked {
            topic,
            states,
            due,
            key_prefix,
            attempts_min,
            order,
            jobs_max: rest.0,
            budget: rest.1,
            keeps_the_pass: rest.2,
            looks_max: None,
            bars: bars.map(|(from, width_ms, count)| DueBars { from: Millis(from), width_ms, count }),
        })
}

impl Asked {
    fn filter(&self) -> Filter {
        Filter {
            topic: self.topic.map(|topic| TOPICS[topic].parse().expect("a topic")),
            states: self.states,
            due_from: self.due.0.map(Millis),
            due_before: self.due.1.map(Millis),
            key_prefix: self.key_prefix.clone().map(Into::into),
            attempts_min: self.attempts_min,
            ..Filter::default()
        }
    }
}

/// A queue with jobs in all states and of both timelines, the later of them spilled, and a wall clock that is ahead.
fn filled() -> Queue {
    let mut queue = Queue::new();
    queue.apply(Command::ClockOffset { offset_ms: 5000 });
    let secret = SessionSecret([1; 16]);
    let Outcome::Session { session } =
        queue.apply(Command::SessionOpen { secret, leases_outlive: false, client: "" })
    else {
        panic!("no session")
    };
    for round in 0..3_u64 {
        for nth in 0..40_u64 {
            let delay_ms = (nth % 7) * (DAY_MS + nth);
            let due = if nth % 3 == 0 { When::At(Millis(delay_ms)) } else { When::After(delay_ms) };
            let key = (nth % 4 != 0).then(|| format!("k{}", nth * 7 % 100 + round * 100));
            let topic = if nth % 10 == 9 { "rare" } else { "t" };
            let body = vec![7; 100];
            let key = key.as_ref().map(String::as_bytes);
            let jobs = vec![NewJob { due, key, ..new_job(0, &body) }];
            queue.apply(Command::Push { session: SessionId::NONE, sequence: 0, topic, jobs });
        }
        let granted = queue.apply(Command::Reserve {
            session,
            topics: TopicOrder::OfJobs(vec!["t", "rare"]),
            jobs_max: 4,
            bytes_max: u64::MAX,
        });
        let Outcome::Granted(grants) = granted else { panic!("{granted:?}") };
        let leases: Vec<_> = grants.iter().map(|grant| grant.lease).collect();
        assert!(leases.len() > 2, "{leases:?}");
        queue.apply(Command::Bury { leases: leases[..1].to_vec(), reason: "" });
        let delay_ms = Some(3 * DAY_MS);
        let leases = leases[1..2].to_vec();
        queue.apply(Command::Release { leases, delay_ms, attempted: true, reason: "" });
        queue.checkpoint(Vec::new());
    }
    // One is due at the last of all times.
    let last = When::At(Millis(u64::MAX));
    let jobs = vec![NewJob { due: last, ..new_job(0, b"last") }];
    queue.apply(Command::Push { session: SessionId::NONE, sequence: 0, topic: "t", jobs });
    queue.checkpoint(Vec::new());
    let view = |queue: &mut Queue, id| queue.view(id).expect("it is there");
    assert!(queue.engine.spilled_jobs() > 60);
    assert_eq!(view(&mut queue, 1).attempts, 1);
    queue
}

impl Queue {
    fn view(&mut self, id: u64) -> Option<JobView> {
        self.engine.job(&JobSelect::Id(JobId(id)), &mut self.records).expect("read")
    }

    /// Every job that matches, in order.
    fn expected(&mut self, asked: &Asked) -> Vec<(Position, JobId)> {
        let mut expected = Vec::new();
        for id in 1..=self.engine.jobs() + 10 {
            let Some(view) = self.view(id) else { continue };
            let key = self.records.record(view.body).expect("read").key;
            let topic = self.engine.topic(view.topic).expect("it is there").name.clone();
            let prefix = asked.key_prefix.as_deref().unwrap_or_default();
            let has_prefix = key.as_ref().is_some_and(|key| key.starts_with(prefix.as_bytes()));
            let matches = asked.topic.is_none_or(|wanted| topic.as_str() == TOPICS[wanted])
                && asked.states.contains(view.state)
                && asked.due.0.is_none_or(|from| view.due.0 >= from)
                && asked.due.1.is_none_or(|before| view.due.0 < before)
                && asked.attempts_min.is_none_or(|min| view.attempts >= min)
                && (asked.key_prefix.is_none() || has_prefix);
            let position = match (asked.order, key) {
                (ListOrder::Due, _) => Position::Due(view.due, view.id),
                (ListOrder::Id, _) => Position::Id(view.id),
                (ListOrder::Key, Some(key)) => Position::Key(key.to_vec(), view.id),
                (ListOrder::Key, None) => continue,
            };
            if matches {
                expected.push((position, view.id));
            }
        }
        expected.sort();
        expected
    }

    /// The count of each part, with `between` called each time the budget is used up.
    fn count_by_due(&mut self, asked: &Asked, mut between: impl FnMut(&mut Self)) -> Vec<u64> {
        let Some(mut listing) = Listing::count(&self.engine, asked.filter(), asked.bars) else {
            return vec![0; asked.bars.map_or(1, DueBars::parts)];
        };
        loop {
            let Self { engine, records, .. } = self;
            match engine.list(&mut listing, &mut asked.budget.clone(), records).expect("read") {
                Listed::End { counts, .. } => return counts,
                Listed::NotYet => between(self),
                Listed::Job(view) => panic!("a count shows {view:?}"),
            }
        }
    }

    /// All pages of a list, with `between` called each time the budget is used up, and between two pages.
    fn list(&mut self, asked: &Asked, mut between: impl FnMut(&mut Self)) -> Vec<JobId> {
        let (mut all, mut after, mut kept) = (Vec::new(), None, None::<Listing<_>>);
        loop {
            let filter = asked.filter();
            let mut listing = match kept.take() {
                Some(mut listing) if asked.keeps_the_pass => {
                    listing.next_page(&self.engine, asked.jobs_max);
                    listing
                }
                _ => match Listing::page(&self.engine, filter, asked.order, after.take(), asked.jobs_max) {
                    Some(listing) => listing,
                    None => return all,
                },
            };
            asked.looks_max.into_iter().for_each(|looks_max| listing.set_looks_max(looks_max));
            let before = all.len();
            after = loop {
                let Self { engine, records, .. } = self;
                match engine.list(&mut listing, &mut asked.budget.clone(), records).expect("read") {
                    Listed::Job(view) => all.push(view.id),
                    Listed::NotYet => between(self),
                    Listed::End { next, .. } => break next,
                }
            };
            assert!(all.len() - before <= asked.jobs_max);
            assert!(after.is_none() || after.as_ref() == listing.position());
            if after.is_none() {
                return all;
            }
            kept = Some(listing);
            between(self);
        }
    }
}

/// How many of these jobs are in each part of the time.
fn by_due(expected: &[(Position, JobId)], bars: Option<DueBars>) -> Vec<u64> {
    let bounds: Vec<Millis> = bars.into_iter().flat_map(DueBars::bounds).collect();
    let mut counts = vec![0; bounds.len() + 1];
    for (position, _) in expected {
        let Position::Due(at, _) = position else { panic!("{position:?}") };
        counts[bounds.iter().filter(|bound| *bound <= at).count()] += 1;
    }
    counts
}

fn ids(expected: &[(Position, JobId)]) -> Vec<JobId> {
    expected.iter().map(|(_, id)| *id).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    #[test]
    fn a_list_shows_what_matches_in_its_order(lists in proptest::collection::vec(asked(), 8)) {
        let mut queue = filled();
        for asked in lists {
            let expected = queue.expected(&asked);
            prop_assert_eq!(queue.list(&asked, |_| ()), ids(&expected), "{:?}", asked);

            let counted = queue.count_by_due(&asked, |_| ());
            if asked.order != ListOrder::Key {
                let asked_by_due = Asked { order: ListOrder::Due, ..asked.clone() };
                prop_assert_eq!(&counted, &by_due(&queue.expected(&asked_by_due), asked.bars), "{:?}", asked);
                let jobs: u64 = counted.iter().sum();
                prop_assert_eq!(jobs, expected.len() as u64);
                let by_state = queue.engine.count_by_state(&asked.filter());
                prop_assert!(by_state.is_none_or(|by_state| by_state == jobs), "{:?}", asked);
            }
        }
    }

    #[test]
    fn a_list_misses_nothing_while_jobs_move(
        asked in asked(),
        looks_max in proptest::option::of(1..200_usize),
        rewrite in any::<bool>(),
        loaded_days in 1..9_u64,
    ) {
        let mut queue = filled();
        let asked = Asked { budget: asked.budget % 200 + 1, looks_max, ..asked };
        let expected = ids(&queue.expected(&asked));
        let (mut done, mut taken_over) = (0, None);
        let found = queue.list(&asked, |queue| {
            done += 1;
            // Loads spilled jobs without changing them, or rewrites all chunks, and adopts the new ones in steps.
            match (done, &mut taken_over) {
                (2, _) => {
                    let until = Millis(loaded_days * DAY_MS);
                    queue.engine.load_ahead(&mut queue.records, until, 1000).expect("read");
                }
                (4, _) => {
                    let numbers = if rewrite { queue.numbers() } else { Vec::new() };
                    taken_over = Some((queue.write_checkpoint(numbers), 0));
                }
                (_, Some((checkpoint, rows))) if *rows < checkpoint.written.len() => {
                    let until = (*rows + 9).min(checkpoint.written.len());
                    queue.adopt(checkpoint, *rows..until);
                    *rows = until;
                    if until == checkpoint.written.len() {
                        queue.adopted(checkpoint);
                    }
                }
                _ => {}
            }
        });
        prop_assert_eq!(found, expected);
    }
}

#[test]
fn the_first_spilled_job_of_a_topic_is_found_behind_those_of_others() {
    for (chunk_bytes, others) in [(CHUNK_BYTES, 300), (1 << 20, 3000)] {
        let mut queue = Queue { chunk_bytes, ..Queue::new() };
        queue.push_to("others", others, 2 * DAY_MS, 10);
        for delay_ms in [5 * DAY_MS, 3 * DAY_MS, 4 * DAY_MS] {
            queue.push_to("wanted", 1, delay_ms, 10);
        }
        queue.checkpoint(Vec::new());
        assert_eq!(queue.engine.spilled_jobs(), others as u64 + 3);
        let wanted = queue.engine.topic_id("wanted").expect("there is one");
        let Ok(Listed::Job(first)) = queue.peek(wanted) else { panic!("there is one") };
        assert_eq!(first.due, Millis(1 + 3 * DAY_MS));
    }
}

#[test]
fn a_count_is_of_the_chunks_at_its_beginning() {
    let bars = |from: u64, width_ms, count| Some(DueBars { from: Millis(from), width_ms, count });
    // Few and many bars beside the pieces of an index; all topics, and each of two in the same chunks.
    let many = bars(2 * DAY_MS, 1, 1024);
    for (topic, bars) in [None, Some(0), Some(1)]
        .into_iter()
        .flat_map(|topic| [(topic, bars(DAY_MS, DAY_MS, 3)), (topic, many)])
    {
        let mut queue = Queue { chunk_bytes: 1 << 20, ..Queue::new() };
        for _ in 0..2 {
            (0..3).for_each(|nth| queue.push_to("t", 1000, 2 * DAY_MS + nth * 100, 10));
            queue.push_to("rare", 40, 3 * DAY_MS, 10);
            queue.checkpoint(Vec::new());
        }
        let states = States::of([JobState::Delayed]);
        let due = (Some(DAY_MS), topic.map(|_| 4 * DAY_MS));
        let asked = Asked { topic, states, due, bars, budget: 1, ..Asked::default() };
        let expected = by_due(&queue.expected(&asked), bars);
        let mut steps = 0;
        let counted = queue.count_by_due(&asked, |queue| {
            steps += 1;
            if steps % 3 == 0 && steps < 10 {
                queue.checkpoint(queue.numbers());
            }
        });
        assert!(steps > 2, "{asked:?} took {steps} steps");
        assert_eq!(counted, expected, "{asked:?}");
    }
}

#[test]
fn a_bulk_change_meets_spilled_jobs_and_leaves_alone_what_has_gone_on() {
    let mut queue = filled();
    let all: Vec<JobId> = (1..=queue.engine.jobs()).map(JobId).collect();
    let delayed = Filter { states: States::of([JobState::Delayed]), ..Filter::default() };
    let before = Filter { due_before: Some(Millis(3 * DAY_MS)), ..delayed.clone() };
    let count = |queue: &Queue, filter: &Filter| queue.engine.count_by_state(filter).expect("by state");
    let near_in_time = queue.list(
        &Asked {
            topic: None,
            states: before.states,
            due: (None, Some(3 * DAY_MS)),
            key_prefix: None,
            attempts_min: None,
            order: ListOrder::Id,
            jobs_max: 1000,
            budget: 1000,
            keeps_the_pass: false,
            looks_max: None,
            bars: None,
        },
        |_| (),
    );
    let was = count(&queue, &delayed);
    let bulk = |change, filter| Command::Bulk {
        topic: None,
        change,
        jobs: all.clone(),
        conditions: Conditions::of(filter),
    };
    let outcome = queue.apply(bulk(BulkChange::Delete, &before));
    assert_eq!(outcome, Outcome::ChangedMany { jobs: u32::try_from(near_in_time.len()).expect("few") });
    assert_eq!(count(&queue, &delayed), was - near_in_time.len() as u64);
    let due = Millis(9 * DAY_MS);
    let rest = u32::try_from(count(&queue, &delayed)).expect("few");
    let moved = Outcome::ChangedMany { jobs: rest };
    assert_eq!(queue.apply(bulk(BulkChange::Reschedule { due }, &delayed)), moved);
    let again = Outcome::ChangedMany { jobs: 0 };
    assert_eq!(queue.apply(bulk(BulkChange::Reschedule { due }, &delayed)), again, "they are due then");
    queue.checkpoint(Vec::new());
    assert_eq!(queue.engine.spilled_jobs(), u64::from(rest));
}

#[test]
fn a_page_that_has_looked_at_enough_comes_back_short_and_goes_on() {
    let mut queue = Queue { chunk_bytes: 1 << 20, ..Queue::new() };
    for _ in 0..3 {
        // Pieces of the index without a job of the topic, and one at their end.
        (0..10).for_each(|_| queue.push_to("others", 4000, 2 * DAY_MS, 10));
        queue.push_to("rare", 1, 3 * DAY_MS, 10);
        queue.checkpoint(Vec::new());
    }
    let rare: TopicName = "rare".parse().expect("a topic");
    let filter = Filter { topic: Some(rare), states: States::of([JobState::Delayed]), ..Filter::default() };
    let (mut pages, mut jobs, mut after) = (0, 0, None);
    loop {
        let Queue { engine, records, .. } = &mut queue;
        let mut listing =
            Listing::page(engine, filter.clone(), ListOrder::Due, after.take(), 10).expect("there is one");
        listing.set_looks_max(1);
        after = loop {
            match engine.list(&mut listing, &mut 5000, records).expect("read") {
                Listed::Job(_) => jobs += 1,
                Listed::NotYet => {}
                Listed::End { next, .. } => break next,
            }
        };
        pages += 1;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(jobs, 3);
    assert!(pages > 1, "{pages} pages");
}

/// The jobs of one page.
fn page(queue: &mut Queue, listing: &mut Listing<Walk>, jobs_max: usize) -> Vec<u64> {
    let Queue { engine, records, .. } = queue;
    listing.next_page(engine, jobs_max);
    let mut jobs = Vec::new();
    loop {
        match engine.list(listing, &mut 100_000, records).expect("read") {
            Listed::Job(view) => jobs.push(view.id.0),
            Listed::NotYet => {}
            Listed::End { .. } => return jobs,
        }
    }
}

#[test]
fn a_job_that_is_put_off_between_two_pages_comes_where_it_stands_then() {
    for spilled in [false, true] {
        let mut queue = Queue::new();
        (1..=6).for_each(|day| queue.push_to("t", 1, day * DAY_MS, 10));
        if spilled {
            queue.checkpoint(Vec::new());
        }
        let listing = Listing::page(&queue.engine, Filter::default(), ListOrder::Due, None, 1);
        let mut listing = listing.expect("there is one");
        assert_eq!(page(&mut queue, &mut listing, 1), [1]);
        assert_eq!(page(&mut queue, &mut listing, 1), [2]);
        let due = When::At(Millis(5 * DAY_MS + DAY_MS / 2));
        queue.apply(Command::Reschedule { job: JobSelect::Id(JobId(3)), due, version: None });
        assert_eq!(page(&mut queue, &mut listing, 9), [4, 5, 3, 6], "spilled: {spilled}");
    }
}

#[test]
fn a_pass_that_was_kept_for_too_long_scans_again() {
    let mut queue = Queue::new();
    queue.push(4, DAY_MS, 10);
    let listing = Listing::page(&queue.engine, Filter::default(), ListOrder::Id, None, 1);
    let mut listing = listing.expect("there is one");
    assert_eq!(page(&mut queue, &mut listing, 1), [1]);
    assert_eq!(page(&mut queue, &mut listing, 1), [2]);
    queue.push(1, DAY_MS, 10);
    assert_eq!(page(&mut queue, &mut listing, 1), [3], "its window ends with the fourth job");
    let late = Entry { stamp: Millis(120_000), commands: Vec::new() };
    queue.engine.apply(&late, &mut queue.records).expect("applied");
    assert_eq!(page(&mut queue, &mut listing, 9), [4, 5]);
}

#[test]
fn a_pass_for_some_topics_shows_nothing_of_others() {
    for (order, spilled) in
        [ListOrder::Due, ListOrder::Id].into_iter().flat_map(|order| [(order, false), (order, true)])
    {
        let mut queue = Queue::new();
        for (topic, day) in [("mine", 1), ("others", 2), ("mine", 3), ("others", 4)] {
            queue.push_to(topic, 1, day * DAY_MS, 10);
        }
        if spilled {
            queue.checkpoint(Vec::new());
        }
        let grants = vec!["read:mine".parse().expect("a grant")];
        let access = Arc::new(Access { grants, ..Access::open() });
        let listing = Listing::page(&queue.engine, Filter::default(), order, None, 9);
        let mut listing = listing.expect("there is one").shown_to(access);
        assert_eq!(page(&mut queue, &mut listing, 9), [1, 3], "{order:?}, spilled: {spilled}");
    }
}

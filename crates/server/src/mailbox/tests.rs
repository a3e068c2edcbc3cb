//! An actor that reports its turns, and threads that compete for it.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{JoinHandle, ThreadId};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};

use super::*;

/// Anything that takes longer has failed. Tests do not wait for it to pass.
const PATIENCE: Duration = Duration::from_secs(30);

type Step = Box<dyn FnOnce(&mut Recorder) -> bool + Send>;

/// Does what its inputs command.
struct Recorder {
    turns: Sender<ThreadId>,
    /// Gets the number of inputs that were not handled.
    ended: Sender<usize>,
    clock: Clock,
    due: Option<Duration>,
}

impl Actor for Recorder {
    type Input = Step;

    fn turn(&mut self, inputs: &mut VecDeque<Step>, _: &dyn Fn() -> bool) -> bool {
        if self.due.is_some_and(|due| due <= self.clock.elapsed()) {
            self.due = None;
        }
        // The test may have ended.
        let _ = self.turns.send(thread::current().id());
        inputs.pop_front().is_none_or(|step| step(self))
    }

    fn wakes_at(&mut self) -> Duration {
        self.due.unwrap_or(Duration::MAX)
    }

    fn end(self, unhandled: VecDeque<Step>) {
        self.ended.send(unhandled.len()).expect("the test listens");
    }
}

struct Rig {
    mailbox: Mailbox<Recorder>,
    thread: JoinHandle<()>,
    task: tokio::task::JoinHandle<()>,
    runtime: Runtime,
    turns: Receiver<ThreadId>,
    ended: Receiver<usize>,
}

impl Rig {
    /// An actor that has had its first turn and rests, and a task that waits for brief inputs.
    fn start() -> Self {
        let ((turns, told), (ended, end)) = (mpsc::channel(), mpsc::channel());
        let clock = Clock::start();
        let (mailbox, runner) = mailbox(clock);
        let runtime = Builder::new_multi_thread().worker_threads(1).build().expect("a runtime");
        let task = runtime.spawn(mailbox.clone().serve());
        let thread = thread::spawn(move || runner.run(Recorder { turns, ended, clock, due: None }));
        let rig = Self { mailbox, thread, task, runtime, turns: told, ended: end };
        assert!(rig.is_turn_of_thread(), "the first turn");
        rig.wait_until(|state| state.resting.is_some() && state.task.is_some());
        rig
    }

    /// True if the actor's thread has run the next turn.
    fn is_turn_of_thread(&self) -> bool {
        self.turns.recv_timeout(PATIENCE).expect("a turn") == self.thread.thread().id()
    }

    fn wait_until(&self, holds: impl Fn(&State<Recorder>) -> bool) {
        wait_until(&self.mailbox.shared, holds);
    }

    fn send(&self, step: impl FnOnce(&mut Recorder) -> bool + Send + 'static) {
        self.mailbox.send(Box::new(step)).expect("open");
    }

    fn send_brief(&self, step: impl FnOnce(&mut Recorder) -> bool + Send + 'static) {
        self.mailbox.send_brief(Box::new(step)).expect("open");
    }
}

fn wait_until(shared: &MailboxState<Recorder>, holds: impl Fn(&State<Recorder>) -> bool) {
    let begun = shared.clock.elapsed();
    while !holds(&shared.lock()) {
        assert!(shared.clock.elapsed() < begun + PATIENCE, "it does not come to that");
        thread::yield_now();
    }
}

#[test]
fn the_task_runs_what_is_brief_and_the_thread_all_else() {
    let rig = Rig::start();
    for _ in 0..100 {
        rig.send_brief(|_| true);
        assert!(!rig.is_turn_of_thread());
        rig.wait_until(|state| state.resting.is_some());
        rig.send(|_| true);
        assert!(rig.is_turn_of_thread());
        rig.wait_until(|state| state.resting.is_some());
    }
}

#[test]
fn what_is_not_brief_goes_to_the_thread_from_a_turn_of_the_task_too() {
    let rig = Rig::start();
    let mailbox = rig.mailbox.clone();
    rig.send_brief(move |_| {
        mailbox.send_brief(Box::new(|_| true)).expect("open");
        mailbox.send(Box::new(|_| true)).expect("open");
        true
    });
    assert!(!rig.is_turn_of_thread());
    assert!(rig.is_turn_of_thread(), "with what came before it");
}

#[test]
fn without_a_task_the_thread_runs_everything() {
    let rig = Rig::start();
    // As when its runtime ends.
    rig.task.abort();
    rig.wait_until(|state| state.task.is_none());
    rig.send_brief(|_| true);
    assert!(rig.is_turn_of_thread());
}

#[test]
fn a_crowd_of_brief_inputs_is_for_the_thread() {
    let rig = Rig::start();
    let mailbox = rig.mailbox.clone();
    rig.send_brief(move |_| {
        for _ in 0..CROWD {
            mailbox.send_brief(Box::new(|_| true)).expect("open");
        }
        true
    });
    assert!(!rig.is_turn_of_thread());
    for _ in 0..CROWD {
        assert!(rig.is_turn_of_thread());
    }
}

#[test]
fn while_a_turn_of_the_task_hangs_the_runtime_serves_others() {
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
    let ((turns, _turns), (ended, _end), clock) = (mpsc::channel(), mpsc::channel(), Clock::start());
    let (mailbox, runner) = mailbox(clock);
    runtime.spawn(mailbox.clone().serve());
    // It wakes now and then, as the core does.
    let actor = Recorder { turns, ended, clock, due: None };
    let thread = thread::spawn(move || runner.run(actor));
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).expect("a port");
    let address = listener.local_addr().expect("an address");
    let to_actor = mailbox.clone();
    // For each byte of the first connection, the actor hangs until one has come back over the second.
    let (release, released) = mpsc::channel();
    let released = Arc::new(Mutex::new(released));
    runtime.spawn(async move {
        let (mut first, _) = listener.accept().await.expect("connected");
        let (mut second, _) = listener.accept().await.expect("connected");
        tokio::spawn(async move {
            while let Ok(byte) = second.read_u8().await {
                second.write_u8(byte).await.expect("open");
            }
        });
        while let Ok(byte) = first.read_u8().await {
            let released = Arc::clone(&released);
            let hang = move |actor: &mut Recorder| {
                actor.due = Some(actor.clock.elapsed() + Duration::from_millis(20));
                byte == 0 || released.lock().expect("no panic").recv_timeout(PATIENCE).is_ok()
            };
            to_actor.send_brief(Box::new(hang)).expect("open");
            first.write_u8(byte).await.expect("open");
        }
    });
    let [mut first, mut second] = [(); 2].map(|()| TcpStream::connect(address).expect("connected"));
    second.set_read_timeout(Some(PATIENCE)).expect("set");
    let mut answer = [0];
    // Which thread polls the sockets varies.
    for _ in 0..500 {
        // The actor has a deadline, then hangs.
        first.write_all(&[0]).expect("open");
        first.read_exact(&mut answer).expect("open");
        first.write_all(&[1]).expect("open");
        wait_until(&mailbox.shared, |state| state.resting.is_none());
        second.write_all(&[1]).expect("open");
        second.read_exact(&mut answer).expect("the runtime serves it");
        release.send(()).expect("the actor waits");
        first.read_exact(&mut answer).expect("open");
    }
    mailbox.send(Box::new(|_| false)).expect("open");
    thread.join().expect("no panic");
}

#[test]
fn a_deadline_that_the_task_sets_is_kept_by_the_thread() {
    let rig = Rig::start();
    let soon = |actor: &mut Recorder| {
        actor.due = Some(actor.clock.elapsed() + Duration::from_millis(5));
        true
    };
    rig.send_brief(soon);
    assert!(!rig.is_turn_of_thread());
    assert!(rig.is_turn_of_thread());
    // The thread has one that passes while the task runs the actor.
    rig.send_brief(soon);
    let shared = Arc::clone(&rig.mailbox.shared);
    rig.send_brief(move |actor| {
        wait_until(&shared, |state| state.thread_wakes_at == Duration::MAX);
        soon(actor)
    });
    let mut turns_left = 10;
    while !rig.is_turn_of_thread() {
        turns_left -= 1;
        assert!(turns_left > 0, "it is forgotten");
    }
}

#[test]
fn an_actor_that_does_not_go_on_is_ended_by_its_thread() {
    let rig = Rig::start();
    let mailbox = rig.mailbox.clone();
    rig.send_brief(move |_| {
        mailbox.send_brief(Box::new(|_| panic!("it had its last turn"))).expect("still open");
        false
    });
    assert_eq!(rig.ended.recv_timeout(PATIENCE), Ok(1), "and is told what nobody handled");
    rig.thread.join().expect("no panic");
    assert_eq!(rig.mailbox.send(Box::new(|_| true)), Err(Closed));
    assert_eq!(rig.mailbox.send_brief(Box::new(|_| true)), Err(Closed));
    rig.runtime.block_on(rig.task).expect("the task ends with it");
}

#[test]
fn when_the_task_panics_the_thread_does() {
    let rig = Rig::start();
    rig.send_brief(|_| panic!("the actor was told to panic"));
    rig.thread.join().expect_err("it is told");
    assert_eq!(rig.mailbox.send(Box::new(|_| true)), Err(Closed));
}

/// Counts without synchronization: two threads at a time would lose counts.
struct Counter {
    seen: Vec<u64>,
    result: Sender<Vec<u64>>,
    left: u64,
}

impl Actor for Counter {
    type Input = (usize, u64);

    fn turn(&mut self, inputs: &mut VecDeque<Self::Input>, _: &dyn Fn() -> bool) -> bool {
        for (from, number) in inputs.drain(..) {
            let seen = self.seen.get_mut(from).expect("there is room for each thread");
            assert_eq!(*seen, number, "in the order in which one thread sent them");
            *seen += 1;
            self.left -= 1;
        }
        self.left > 0
    }

    fn wakes_at(&mut self) -> Duration {
        Duration::MAX
    }

    fn end(self, _: VecDeque<Self::Input>) {
        self.result.send(self.seen).expect("the test listens");
    }
}

#[test]
fn every_input_is_handled_once_and_in_order_whoever_runs_the_actor() {
    const THREADS: usize = 6;
    const INPUTS: u64 = 20_000;
    let (result, seen) = mpsc::channel();
    let (mailbox, runner) = mailbox(Clock::start());
    let actor = Counter { seen: vec![0; THREADS], result, left: INPUTS * THREADS as u64 };
    let runtime = Builder::new_multi_thread().worker_threads(2).build().expect("a runtime");
    runtime.spawn(mailbox.clone().serve());
    thread::scope(|scope| {
        scope.spawn(|| runner.run(actor));
        for from in 0..THREADS {
            let mailbox = mailbox.clone();
            scope.spawn(move || {
                for number in 0..INPUTS {
                    let give = if from % 2 == 0 { Mailbox::send_brief } else { Mailbox::send };
                    give(&mailbox, (from, number)).expect("it waits for all of them");
                }
            });
        }
        assert_eq!(seen.recv_timeout(PATIENCE), Ok(vec![INPUTS; THREADS]));
    });
}

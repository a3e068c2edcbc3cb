//! An actor, its waiting inputs, and the thread and the task that run it.
//!
//! One thread at a time runs the actor. It lies in its mailbox while it rests; a runner takes it out, has it alone, and
//! puts it back. There are two runners:
//!
//! - **A task** of the runtime, for brief inputs. These come from tasks, and their results go to tasks: on the same thread,
//!   nothing has to be woken. The task lets tasks run first that are ready, so that it finds all their inputs together.
//! - **A thread** of its own, for everything else: it keeps deadlines to the microsecond, and works beside the runtime's
//!   threads when there is a lot to do. Without a task it does all.
//!
//! A turn of the task should be short: it blocks one thread of the runtime. If it does hang, on a disk, the others go on.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use std::{fmt, mem, thread};

use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::task::yield_now;

use super::clock::Clock;

/// After this many turns for one input each, the task does not yield to others first.
const LONE_TURNS: u32 = 16;

/// This many waiting inputs are not brief together.
const CROWD: usize = 64;

/// Something that handles inputs in turns.
pub(super) trait Actor: Send {
    /// The type of its inputs.
    type Input: Send;

    /// Handles inputs from the front, some or all, and does what follows from them and from the time. `more_wait` is true
    /// if others have come meanwhile. Returns false after its last turn.
    fn turn(&mut self, inputs: &mut VecDeque<Self::Input>, more_wait: &dyn Fn() -> bool) -> bool;

    /// When it needs a turn even without an input. Asked after each turn.
    fn wakes_at(&mut self) -> Duration;

    /// Called after its last turn, with the inputs that were not handled.
    fn end(self, unhandled: VecDeque<Self::Input>);
}

/// A handle that sends inputs to an actor.
pub(super) struct Mailbox<A: Actor> {
    shared: Arc<MailboxState<A>>,
}

/// Runs the actor on its thread. Dropping it closes the mailbox.
pub(super) struct Runner<A: Actor> {
    shared: Arc<MailboxState<A>>,
}

/// The actor has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Closed;

struct MailboxState<A: Actor> {
    state: Mutex<State<A>>,
    /// Signalled when the thread has something to do.
    thread: Condvar,
    /// Signalled when the task has something to do.
    task: Notify,
    clock: Clock,
}

struct State<A: Actor> {
    inputs: VecDeque<A::Input>,
    /// True if some of them are not brief.
    has_long: bool,
    /// The actor while it rests. Otherwise a runner has it, and looks for inputs afterwards.
    resting: Option<TakenOver<A>>,
    /// When the thread wakes without a signal.
    thread_wakes_at: Duration,
    task: Option<Task>,
    end: End,
}

/// The state of the task.
struct Task {
    /// The runtime of the task.
    runtime: Handle,
    /// True if the task was signalled, and will look for inputs. Otherwise it waits for a signal.
    is_told: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Open,
    /// The task panicked while it ran the actor, which is lost.
    Lost,
    Closed,
}

/// An actor, and the inputs that it has taken out of the mailbox.
struct TakenOver<A: Actor> {
    actor: A,
    inputs: VecDeque<A::Input>,
    goes_on: bool,
    wakes_at: Duration,
}

/// A mailbox, and the runner for its actor's thread. Times are by `clock`.
pub(super) fn mailbox<A: Actor>(clock: Clock) -> (Mailbox<A>, Runner<A>) {
    let state = State {
        inputs: VecDeque::new(),
        has_long: false,
        resting: None,
        thread_wakes_at: Duration::MAX,
        task: None,
        end: End::Open,
    };
    let shared =
        MailboxState { state: Mutex::new(state), thread: Condvar::new(), task: Notify::new(), clock };
    let shared = Arc::new(shared);
    (Mailbox { shared: Arc::clone(&shared) }, Runner { shared })
}

impl<A: Actor> Mailbox<A> {
    /// Sends an input for the thread. Never waits.
    pub(super) fn send(&self, input: A::Input) -> Result<(), Closed> {
        self.put(input, false)
    }

    /// Sends an input that takes little time, for the task. Never waits.
    pub(super) fn send_brief(&self, input: A::Input) -> Result<(), Closed> {
        self.put(input, true)
    }

    /// True if no more inputs are taken.
    pub(super) fn is_closed(&self) -> bool {
        self.shared.lock().end == End::Closed
    }

    fn put(&self, input: A::Input, is_brief: bool) -> Result<(), Closed> {
        let mut state = self.shared.lock();
        if state.end == End::Closed {
            return Err(Closed);
        }
        state.inputs.push_back(input);
        state.has_long |= !is_brief || state.inputs.len() >= CROWD;
        let has_long = state.has_long;
        if state.resting.is_none() {
            return Ok(());
        }
        match &mut state.task {
            Some(task) if !has_long => {
                if !mem::replace(&mut task.is_told, true) {
                    drop(state);
                    self.shared.task.notify_one();
                }
            }
            _ => self.shared.thread.notify_one(),
        }
        Ok(())
    }

    /// The task: it runs the actor for brief inputs, until the mailbox is closed. For a runtime of several threads.
    pub(super) async fn serve(self) {
        self.shared.lock().task = Some(Task { runtime: Handle::current(), is_told: false });
        let serving = Serving(&self.shared);
        let mut lone_turns = 0_u32;
        while self.shared.lock().end == End::Open {
            self.shared.task.notified().await;
            loop {
                if lone_turns < LONE_TURNS {
                    yield_now().await;
                }
                let Progress { inputs, more_wait } = self.run_turn();
                lone_turns = if inputs > 1 || more_wait { 0 } else { lone_turns.saturating_add(1) };
                if !more_wait {
                    break;
                }
            }
        }
        drop(serving);
    }

    /// Gives the actor a turn, if it rests and only brief inputs wait.
    fn run_turn(&self) -> Progress {
        let mut state = self.shared.lock();
        state.tell_task(false);
        if state.inputs.is_empty() || state.has_long {
            return Progress::default();
        }
        let Some(mut held) = state.resting.take_if(|held| held.goes_on) else { return Progress::default() };
        state.take_up(&mut held);
        drop(state);
        let inputs = held.inputs.len();
        held.turn(&self.shared);
        let mut state = self.shared.lock();
        let more_wait = !state.inputs.is_empty() && !state.has_long;
        state.tell_task(more_wait);
        if held.has_work() || state.has_long || held.wakes_at < state.thread_wakes_at {
            self.shared.thread.notify_one();
        }
        state.resting = Some(held);
        Progress { inputs, more_wait }
    }
}

/// The progress of one turn of the task.
#[derive(Default)]
struct Progress {
    /// How many inputs the actor was given.
    inputs: usize,
    /// True if others wait.
    more_wait: bool,
}

impl<A: Actor> Runner<A> {
    /// Runs the actor until its last turn. The first turn comes at once.
    pub(super) fn run(self, actor: A) {
        let mut held = TakenOver { actor, inputs: VecDeque::new(), goes_on: true, wakes_at: Duration::ZERO };
        self.shared.lock().take_up(&mut held);
        while held.goes_on {
            held.turn(&self.shared);
            held = self.rest(held);
        }
        let TakenOver { actor, mut inputs, .. } = held;
        inputs.append(&mut self.shared.close());
        actor.end(inputs);
    }

    /// Puts the actor into the mailbox until it has something to do.
    fn rest(&self, held: TakenOver<A>) -> TakenOver<A> {
        let mut state = self.shared.lock();
        let mut held = Some(held);
        loop {
            if let Some(mut held) = held.take().or_else(|| state.resting.take()) {
                let is_due = held.wakes_at <= self.shared.clock.elapsed();
                if held.has_work() || !state.inputs.is_empty() || is_due {
                    state.take_up(&mut held);
                    return held;
                }
                state.thread_wakes_at = held.wakes_at;
                state.resting = Some(held);
            } else {
                // The task has the actor, and signals if anything is left to do.
                state.thread_wakes_at = Duration::MAX;
                state.wake_runtime();
            }
            assert!(state.end != End::Lost, "the task panicked while it ran the actor of this thread");
            let left = state.thread_wakes_at.saturating_sub(self.shared.clock.elapsed());
            state = self.shared.thread.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Takes the next input out, as an actor would: for tests of senders.
    #[cfg(test)]
    pub(super) fn recv_timeout(&self, at_most: Duration) -> Option<A::Input> {
        let until = self.shared.clock.elapsed().saturating_add(at_most);
        loop {
            let input = self.try_recv();
            if input.is_some() || until <= self.shared.clock.elapsed() {
                return input;
            }
            // No actor rests here, so nothing signals the input.
            thread::yield_now();
        }
    }

    /// The same, without waiting.
    #[cfg(test)]
    pub(super) fn try_recv(&self) -> Option<A::Input> {
        self.shared.lock().inputs.pop_front()
    }
}

impl<A: Actor> MailboxState<A> {
    /// No code panics while it holds the lock, or the state stays consistent.
    fn lock(&self) -> MutexGuard<'_, State<A>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Closes the mailbox. Returns the waiting inputs.
    fn close(&self) -> VecDeque<A::Input> {
        let mut state = self.lock();
        state.end = End::Closed;
        self.task.notify_one();
        mem::take(&mut state.inputs)
    }
}

impl<A: Actor> State<A> {
    /// Prepares a runner's turn: hands it all inputs.
    fn take_up(&mut self, held: &mut TakenOver<A>) {
        if held.inputs.is_empty() {
            mem::swap(&mut held.inputs, &mut self.inputs);
            self.has_long = false;
        }
    }

    fn tell_task(&mut self, is_told: bool) {
        if let Some(task) = &mut self.task {
            task.is_told = is_told;
        }
    }

    /// Gives the runtime a task. The thread that runs the mailbox's task may be the one that polls sockets and timers,
    /// while the others sleep: a thread that gets a task polls them afterwards.
    fn wake_runtime(&self) {
        if let Some(task) = &self.task {
            task.runtime.spawn(async {});
        }
    }
}

impl<A: Actor> TakenOver<A> {
    fn turn(&mut self, shared: &MailboxState<A>) {
        self.goes_on = self.actor.turn(&mut self.inputs, &|| !shared.lock().inputs.is_empty());
        self.wakes_at = self.actor.wakes_at();
    }

    /// True if the thread has something to do at once.
    fn has_work(&self) -> bool {
        !self.goes_on || !self.inputs.is_empty()
    }
}

/// The task while it serves. Its drop, also at the end of the runtime, ends that.
struct Serving<'a, A: Actor>(&'a MailboxState<A>);

impl<A: Actor> Drop for Serving<'_, A> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.task = None;
        if thread::panicking() && state.end == End::Open {
            state.end = End::Lost;
        }
        self.0.thread.notify_one();
    }
}

impl<A: Actor> Drop for Runner<A> {
    fn drop(&mut self) {
        self.shared.close();
        // What the actor owns must not outlive its thread.
        let resting = self.shared.lock().resting.take();
        drop(resting);
    }
}

impl<A: Actor> Clone for Mailbox<A> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared) }
    }
}

impl<A: Actor> fmt::Debug for Mailbox<A> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Mailbox").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;

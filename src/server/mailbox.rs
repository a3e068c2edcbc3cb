//! An actor, the inputs that wait for it, and who runs it.
//!
//! One thread at a time runs the actor. It lies in its mailbox while it rests; whoever takes it out has it alone, and puts
//! it back. There are two who do:
//!
//! - **A task** of the runtime, for brief inputs. They come from tasks, and what follows from them goes to tasks: on the same
//!   thread nothing has to be woken. The task lets those run first that are ready, so that it finds all their inputs together.
//! - **A thread** of its own, for everything else: it keeps deadlines to the microsecond, and works beside the runtime's
//!   threads when there is a lot to do. Without a task it does all.
//!
//! A turn of the task should be short: it holds up one thread of the runtime. Should it hang all the same, on a disk, the
//! others go on.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use std::{fmt, mem, thread};

use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::task::yield_now;

use super::clock::Clock;

/// After this many turns for one input each, the task does not let others run first.
const LONE_TURNS: u32 = 16;

/// So many inputs that wait are not brief together.
const CROWD: usize = 64;

/// Something that handles inputs by turns.
pub(super) trait Actor: Send {
    /// What it handles.
    type Input: Send;

    /// Handles inputs from the front, some or all, and does what follows from them and from the time. `more_wait` says
    /// whether others have come meanwhile. Returns whether it goes on: if not, it has no further turn.
    fn turn(&mut self, inputs: &mut VecDeque<Self::Input>, more_wait: &dyn Fn() -> bool) -> bool;

    /// When it has something to do although no input comes. Asked after each turn.
    fn wakes_at(&mut self) -> Duration;

    /// It has had its last turn. These inputs were not handled.
    fn end(self, unhandled: VecDeque<Self::Input>);
}

/// The way to an actor.
pub(super) struct Mailbox<A: Actor> {
    shared: Arc<Shared<A>>,
}

/// The end of the actor's thread. When it is dropped, the mailbox is closed.
pub(super) struct Runner<A: Actor> {
    shared: Arc<Shared<A>>,
}

/// The actor has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Closed;

struct Shared<A: Actor> {
    state: Mutex<State<A>>,
    /// Signalled when the thread has something to do.
    thread: Condvar,
    /// The same for the task.
    task: Notify,
    clock: Clock,
}

struct State<A: Actor> {
    inputs: VecDeque<A::Input>,
    /// Some of them are not brief.
    has_long: bool,
    /// Here while it rests. Otherwise somebody has it, and looks for inputs afterwards.
    resting: Option<TakenOver<A>>,
    /// When the thread wakes by itself.
    thread_wakes_at: Duration,
    task: Option<Task>,
    end: End,
}

/// The task.
struct Task {
    /// What runs it.
    runtime: Handle,
    /// It looks for inputs when it comes to it. Otherwise it waits until it is told.
    is_told: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Open,
    /// The task panicked while it ran the actor, which is gone with it.
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

/// A mailbox, and the end of its actor's thread. Times are by `clock`.
pub(super) fn mailbox<A: Actor>(clock: Clock) -> (Mailbox<A>, Runner<A>) {
    let state = State {
        inputs: VecDeque::new(),
        has_long: false,
        resting: None,
        thread_wakes_at: Duration::MAX,
        task: None,
        end: End::Open,
    };
    let shared = Shared { state: Mutex::new(state), thread: Condvar::new(), task: Notify::new(), clock };
    let shared = Arc::new(shared);
    (Mailbox { shared: Arc::clone(&shared) }, Runner { shared })
}

impl<A: Actor> Mailbox<A> {
    /// Leaves an input for the thread. Never waits.
    pub(super) fn send(&self, input: A::Input) -> Result<(), Closed> {
        self.put(input, false)
    }

    /// Leaves an input that takes little time, for the task. Never waits.
    pub(super) fn send_brief(&self, input: A::Input) -> Result<(), Closed> {
        self.put(input, true)
    }

    /// Whether nothing is taken any more.
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

    /// Gives the actor a turn, if it rests and brief inputs wait.
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

/// What the task has done.
#[derive(Default)]
struct Progress {
    /// How many inputs the actor was given.
    inputs: usize,
    /// Others wait.
    more_wait: bool,
}

impl<A: Actor> Runner<A> {
    /// Runs the actor until it does not go on. It has a turn at once.
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

    /// Lets the actor lie in the mailbox until there is something to do for it.
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
                // The task has it, and tells if anything is left to do.
                state.thread_wakes_at = Duration::MAX;
                state.wake_runtime();
            }
            assert!(state.end != End::Lost, "the task panicked while it ran the actor of this thread");
            let left = state.thread_wakes_at.saturating_sub(self.shared.clock.elapsed());
            state = self.shared.thread.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Takes the next input out, as an actor would: for tests of those who send to it.
    #[cfg(test)]
    pub(super) fn recv_timeout(&self, at_most: Duration) -> Option<A::Input> {
        let until = self.shared.clock.elapsed().saturating_add(at_most);
        loop {
            let input = self.try_recv();
            if input.is_some() || until <= self.shared.clock.elapsed() {
                return input;
            }
            // There is no actor that rests: nobody would signal the input.
            thread::yield_now();
        }
    }

    /// The same, without waiting.
    #[cfg(test)]
    pub(super) fn try_recv(&self) -> Option<A::Input> {
        self.shared.lock().inputs.pop_front()
    }
}

impl<A: Actor> Shared<A> {
    /// No code panics while it holds this, or what it leaves is whole.
    fn lock(&self) -> MutexGuard<'_, State<A>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From here on no input is taken. Returns those that are there.
    fn close(&self) -> VecDeque<A::Input> {
        let mut state = self.lock();
        state.end = End::Closed;
        self.task.notify_one();
        mem::take(&mut state.inputs)
    }
}

impl<A: Actor> State<A> {
    /// The actor is run from here on, with all inputs.
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

    /// The thread that runs the task was perhaps the one that waits for sockets and timers, and the others sleep: one that
    /// is given something to do sees to them afterwards.
    fn wake_runtime(&self) {
        if let Some(task) = &self.task {
            task.runtime.spawn(async {});
        }
    }
}

impl<A: Actor> TakenOver<A> {
    fn turn(&mut self, shared: &Shared<A>) {
        self.goes_on = self.actor.turn(&mut self.inputs, &|| !shared.lock().inputs.is_empty());
        self.wakes_at = self.actor.wakes_at();
    }

    /// There is something to do at once, for the thread alone.
    fn has_work(&self) -> bool {
        !self.goes_on || !self.inputs.is_empty()
    }
}

/// The task, until it is dropped: by its runtime's end, too.
struct Serving<'a, A: Actor>(&'a Shared<A>);

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

//! An actor, the inputs that wait for it, and who runs it.
//!
//! One thread at a time runs the actor. It lies in its mailbox while it rests; whoever takes it out has it alone, and puts
//! it back. There are two who do:
//!
//! - **A task** of the runtime, for brief inputs. They come from tasks, and what follows from them goes to tasks: on the same
//!   thread nothing has to be woken. The task lets those run first that are ready, so that it finds all their inputs together.
//! - **A thread** of its own, for everything else: it keeps deadlines to the microsecond, and works beside the runtime's
//!   threads when there is a lot to do. Without a task it does all.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use std::{fmt, mem, thread};

use tokio::sync::Notify;
use tokio::task::yield_now;

use super::clock::Clock;

/// After this many turns for one input each, the task does not let others run first.
const LONE_TURNS: u32 = 16;

/// Something that handles inputs by turns.
pub(super) trait Actor: Send {
    /// What it handles.
    type Input: Send;

    /// Handles inputs from the front, some or all, and does what follows from them and from the time. `more_wait` says
    /// whether others have come meanwhile. Returns whether it goes on: if not, it has no further turn.
    fn turn(&mut self, inputs: &mut VecDeque<Self::Input>, more_wait: &dyn Fn() -> bool) -> bool;

    /// When it has something to do although no input comes.
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
    /// Here while it rests.
    resting: Option<Held<A>>,
    /// Somebody has it, and looks for inputs afterwards.
    is_running: bool,
    /// When the thread wakes by itself.
    thread_wakes_at: Duration,
    task: Task,
    end: End,
}

/// What the task is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Task {
    /// There is none.
    None,
    /// It waits until it is told.
    Waits,
    /// It was told, and looks for inputs when it comes to it.
    Told,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Open,
    /// The task panicked while it ran the actor, which is gone with it.
    Lost,
    Closed,
}

/// An actor, and the inputs that it has taken out of the mailbox.
struct Held<A: Actor> {
    actor: A,
    inputs: VecDeque<A::Input>,
    goes_on: bool,
}

/// A mailbox, and the end of its actor's thread. Times are by `clock`.
pub(super) fn mailbox<A: Actor>(clock: Clock) -> (Mailbox<A>, Runner<A>) {
    let state = State {
        inputs: VecDeque::new(),
        has_long: false,
        resting: None,
        is_running: false,
        thread_wakes_at: Duration::MAX,
        task: Task::None,
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

    fn put(&self, input: A::Input, is_brief: bool) -> Result<(), Closed> {
        let mut state = self.shared.lock();
        if state.end == End::Closed {
            return Err(Closed);
        }
        state.inputs.push_back(input);
        state.has_long |= !is_brief;
        if state.is_running {
            return Ok(());
        }
        match state.task {
            Task::Waits if is_brief => {
                state.task = Task::Told;
                drop(state);
                self.shared.task.notify_one();
            }
            Task::Told if is_brief => {}
            _ => self.shared.thread.notify_one(),
        }
        Ok(())
    }

    /// The task: it runs the actor for brief inputs, until the mailbox is closed.
    pub(super) async fn serve(self) {
        self.shared.lock().task = Task::Waits;
        let serving = Serving(&self.shared);
        let mut lone_turns = 0_u32;
        while self.shared.lock().end == End::Open {
            self.shared.task.notified().await;
            loop {
                if lone_turns < LONE_TURNS {
                    yield_now().await;
                }
                let Turn { inputs, more_wait } = self.run_turn();
                lone_turns = if inputs > 1 || more_wait { 0 } else { lone_turns.saturating_add(1) };
                if !more_wait {
                    break;
                }
            }
        }
        drop(serving);
    }

    /// Gives the actor a turn, if it rests and brief inputs wait.
    fn run_turn(&self) -> Turn {
        let mut state = self.shared.lock();
        state.task = Task::Waits;
        if state.inputs.is_empty() || state.has_long {
            return Turn::default();
        }
        let Some(mut held) = state.resting.take_if(|held| held.goes_on) else { return Turn::default() };
        state.take_up(&mut held);
        drop(state);
        let inputs = held.inputs.len();
        held.turn(&self.shared);
        let wakes_at = held.actor.wakes_at();
        let mut state = self.shared.lock();
        let more_wait = !state.inputs.is_empty() && !state.has_long;
        if more_wait {
            state.task = Task::Told;
        }
        if held.has_work() || state.has_long || wakes_at < state.thread_wakes_at {
            self.shared.thread.notify_one();
        }
        state.put_back(held);
        Turn { inputs, more_wait }
    }
}

/// What the task has done.
#[derive(Default)]
struct Turn {
    /// How many inputs the actor was given.
    inputs: usize,
    /// Others wait.
    more_wait: bool,
}

impl<A: Actor> Runner<A> {
    /// Runs the actor until it does not go on. It has a turn at once.
    pub(super) fn run(self, actor: A) {
        let mut held = Held { actor, inputs: VecDeque::new(), goes_on: true };
        self.shared.lock().take_up(&mut held);
        while held.goes_on {
            held.turn(&self.shared);
            held = self.rest(held);
        }
        let Held { actor, mut inputs, .. } = held;
        inputs.append(&mut self.shared.close());
        actor.end(inputs);
    }

    /// Lets the actor lie in the mailbox until there is something to do for it.
    fn rest(&self, held: Held<A>) -> Held<A> {
        let mut state = self.shared.lock();
        let mut held = Some(held);
        loop {
            state.thread_wakes_at = match held.take().or_else(|| state.resting.take()) {
                Some(mut held) => {
                    let wakes_at = held.actor.wakes_at();
                    if held.has_work() || !state.inputs.is_empty() || wakes_at <= self.shared.clock.elapsed()
                    {
                        state.take_up(&mut held);
                        return held;
                    }
                    state.put_back(held);
                    wakes_at
                }
                // The task has it, and tells if anything is left to do.
                None => Duration::MAX,
            };
            assert!(state.end != End::Lost, "the task panicked while it ran the actor of this thread");
            state = self.wait(state);
        }
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State<A>>) -> MutexGuard<'a, State<A>> {
        let left = state.thread_wakes_at.saturating_sub(self.shared.clock.elapsed());
        self.shared.thread.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0
    }

    /// Takes the next input out, as an actor would: for tests of those who send to it.
    #[cfg(test)]
    pub(super) fn recv_timeout(&self, at_most: Duration) -> Option<A::Input> {
        let mut state = self.shared.lock();
        state.thread_wakes_at = self.shared.clock.elapsed().saturating_add(at_most);
        loop {
            let input = state.inputs.pop_front();
            if input.is_some() || state.thread_wakes_at <= self.shared.clock.elapsed() {
                return input;
            }
            state = self.wait(state);
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
    fn take_up(&mut self, held: &mut Held<A>) {
        self.is_running = true;
        if held.inputs.is_empty() {
            mem::swap(&mut held.inputs, &mut self.inputs);
            self.has_long = false;
        }
    }

    /// Nobody runs it from here on.
    fn put_back(&mut self, held: Held<A>) {
        self.is_running = false;
        self.resting = Some(held);
    }
}

impl<A: Actor> Held<A> {
    fn turn(&mut self, shared: &Shared<A>) {
        self.goes_on = self.actor.turn(&mut self.inputs, &|| !shared.lock().inputs.is_empty());
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
        state.task = Task::None;
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

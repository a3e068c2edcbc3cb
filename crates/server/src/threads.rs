//! The threads of a node. The end of the disk thread is noticed, and that of any other thread that panics.
//!
//! The task that waits for the node is told, and ends the core. The other threads end when the senders of their work are
//! gone.

use std::thread::{self, JoinHandle};

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, WeakUnboundedSender, unbounded_channel};

use super::ServerError;

/// The threads of one node.
#[derive(Debug)]
pub(super) struct Threads {
    tell: Option<UnboundedSender<End>>,
    ends: UnboundedReceiver<End>,
    running: Vec<JoinHandle<()>>,
    /// How the node ends, as far as it was reported.
    end: Option<End>,
    /// The task that waits for the threads.
    joining: Option<tokio::task::JoinHandle<()>>,
}

/// How the node ends, as one of its threads reports.
type End = Result<(), ServerError>;

/// Reports a panic of its thread.
struct Guard {
    name: &'static str,
    tell: WeakUnboundedSender<End>,
    /// Held by a thread whose end the node waits for.
    _waited_for: Option<UnboundedSender<End>>,
}

impl Drop for Guard {
    fn drop(&mut self) {
        if thread::panicking()
            && let Some(tell) = self.tell.upgrade()
        {
            // If the receiver is gone, the node is ending anyway.
            let _ = tell.send(Err(ServerError::Panicked(self.name)));
        }
    }
}

impl Threads {
    /// No threads yet.
    pub(super) fn new() -> Self {
        let (tell, ends) = unbounded_channel();
        Self { tell: Some(tell), ends, running: Vec::new(), end: None, joining: None }
    }

    /// Starts a thread. If `run` returns `Some`, the node ends with that.
    pub(super) fn spawn(
        &mut self,
        name: &'static str,
        run: impl FnOnce() -> Option<End> + Send + 'static,
    ) -> Result<(), ServerError> {
        let Some(tell) = self.tell.clone() else { return Ok(()) };
        let guard = Guard { name, tell: tell.downgrade(), _waited_for: Some(tell.clone()) };
        let spawned = spawn(guard, move || {
            if let Some(end) = run() {
                // As above.
                let _ = tell.send(end);
            }
        });
        self.running.push(spawned?);
        Ok(())
    }

    /// Starts a thread that the end of the node does not wait for: it may hang.
    pub(super) fn spawn_apart(
        &self,
        name: &'static str,
        run: impl FnOnce() + Send + 'static,
    ) -> Result<(), ServerError> {
        let Some(tell) = &self.tell else { return Ok(()) };
        spawn(Guard { name, tell: tell.downgrade(), _waited_for: None }, run).map(|_| ())
    }

    /// Waits until the node ends, or a thread panics. May be dropped and called again.
    pub(super) async fn first_end(&mut self) {
        // When the last sender is gone, no thread can report an end.
        self.tell = None;
        if self.end.is_none() {
            self.end = self.ends.recv().await;
        }
    }

    /// Waits for the end of all threads except those started apart. Returns how the node ended, or the first failure
    /// reported after that: a panic can be the cause of an end that looks good and was reported before it. May be dropped
    /// and called again.
    pub(super) async fn join(&mut self) -> End {
        if !self.running.is_empty() {
            let running = std::mem::take(&mut self.running);
            // A panic was already reported.
            let join = move || running.into_iter().for_each(|thread| _ = thread.join());
            self.joining = Some(tokio::task::spawn_blocking(join));
        }
        if let Some(joining) = &mut self.joining {
            // A runtime that ends waits for no task.
            let _ = joining.await;
            self.joining = None;
        }
        let later = std::iter::from_fn(|| self.ends.try_recv().ok()).find(Result::is_err);
        self.end.take().unwrap_or(Ok(())).and(later.unwrap_or(Ok(())))
    }
}

fn spawn(guard: Guard, run: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>, ServerError> {
    let builder = thread::Builder::new().name(format!("adjourn-{}", guard.name));
    let guarded = move || {
        let _guard = guard;
        run();
    };
    builder.spawn(guarded).map_err(ServerError::Thread)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[tokio::test]
    async fn a_good_end_that_is_told_first_does_not_hide_a_panic() {
        let mut threads = Threads::new();
        let (go_on, told) = mpsc::channel::<()>();
        threads.spawn("good", || Some(Ok(()))).expect("started");
        threads
            .spawn("bad", move || {
                told.recv().expect_err("it is only dropped");
                panic!("it was told to panic")
            })
            .expect("started");
        threads.first_end().await;
        assert!(matches!(threads.end, Some(Ok(()))));
        drop(go_on);
        assert!(matches!(threads.join().await, Err(ServerError::Panicked("bad"))));
    }

    #[tokio::test]
    async fn no_end_waits_for_a_thread_apart_but_hears_of_its_panic() {
        let mut threads = Threads::new();
        let (go_on, told) = mpsc::channel::<()>();
        threads
            .spawn_apart("stuck", move || {
                told.recv().expect_err("it is only dropped");
            })
            .expect("started");
        threads.spawn("good", || Some(Ok(()))).expect("started");
        threads.first_end().await;
        assert!(matches!(threads.join().await, Ok(())));
        drop(go_on);
        let mut threads = Threads::new();
        let (go_on, told) = mpsc::channel::<()>();
        threads
            .spawn("good", move || {
                told.recv().expect_err("it is only dropped");
                Some(Ok(()))
            })
            .expect("started");
        threads.spawn_apart("bad", || panic!("it was told to panic")).expect("started");
        threads.first_end().await;
        drop(go_on);
        assert!(matches!(threads.join().await, Err(ServerError::Panicked("bad"))));
    }
}

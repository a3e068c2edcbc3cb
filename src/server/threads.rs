//! The threads of a node, and how the end of one is noticed: that of the disk thread, and that of any other if it
//! panics.
//!
//! Whoever waits for the node hears of it, and ends the core. The other threads end when those who have work for them are
//! gone.

use std::thread::{self, JoinHandle};

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::ServerError;

/// The threads of one node.
#[derive(Debug)]
pub(super) struct Threads {
    tell: Option<UnboundedSender<End>>,
    ends: UnboundedReceiver<End>,
    running: Vec<JoinHandle<()>>,
}

/// How the node ends, as one of its threads tells.
type End = Result<(), ServerError>;

/// Tells that a thread panicked, if it does.
struct Guard {
    name: &'static str,
    tell: UnboundedSender<End>,
}

impl Drop for Guard {
    fn drop(&mut self) {
        if thread::panicking() {
            // If the receiver is gone, the node is ending anyway.
            let _ = self.tell.send(Err(ServerError::Panicked(self.name)));
        }
    }
}

impl Threads {
    /// None yet.
    pub(super) fn new() -> Self {
        let (tell, ends) = unbounded_channel();
        Self { tell: Some(tell), ends, running: Vec::new() }
    }

    /// Starts one. With `Some`, what `run` returns is the end of the node.
    pub(super) fn spawn(
        &mut self,
        name: &'static str,
        run: impl FnOnce() -> Option<End> + Send + 'static,
    ) -> Result<(), ServerError> {
        let Some(tell) = self.tell.clone() else { return Ok(()) };
        let builder = thread::Builder::new().name(format!("adjourn-{name}"));
        let spawned = builder.spawn(move || {
            let guard = Guard { name, tell };
            if let Some(end) = run() {
                // As above.
                let _ = guard.tell.send(end);
            }
        });
        self.running.push(spawned.map_err(ServerError::Thread)?);
        Ok(())
    }

    /// Waits until the node ends, or a thread panics; it is told once. May be dropped and called again.
    pub(super) async fn first_end(&mut self) -> Option<End> {
        // When the last sender is gone, no thread can report an end.
        self.tell = None;
        self.ends.recv().await
    }

    /// Waits for the end of all of them. Blocks. Returns the first failure that was told meanwhile: a panic can be the reason
    /// for an end that looks good and was told before it.
    pub(super) fn join(&mut self) -> End {
        for thread in self.running.drain(..) {
            // That it panicked was told.
            let _ = thread.join();
        }
        std::iter::from_fn(|| self.ends.try_recv().ok()).find(Result::is_err).unwrap_or(Ok(()))
    }
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
        assert!(matches!(threads.first_end().await, Some(Ok(()))));
        drop(go_on);
        assert!(matches!(threads.join(), Err(ServerError::Panicked("bad"))));
    }
}

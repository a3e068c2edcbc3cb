//! Decides which failures of handlers are logged: each reason once per job, and a limited number per second.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

use adjourn_types::JobId;

/// Failures of this many jobs are remembered.
const REMEMBERED_MAX: usize = 256;
/// Most lines in a [`WINDOW`].
const LINES_MAX: u32 = 10;
const WINDOW: Duration = Duration::from_secs(1);

/// The recently logged failures.
#[derive(Debug)]
pub(super) struct FailureLog {
    logged: VecDeque<(JobId, String)>,
    window: Instant,
    lines: u32,
    left_out: u64,
}

impl FailureLog {
    pub(super) fn new(now: Instant) -> Self {
        Self { logged: VecDeque::new(), window: now, lines: 0, left_out: 0 }
    }

    /// If this failure is to be logged, the number of unlogged failures since the last line; else `None`.
    pub(super) fn note(&mut self, now: Instant, job: JobId, reason: &str) -> Option<u64> {
        if self.logged.iter().any(|(known, why)| *known == job && why == reason) {
            return None;
        }
        if now.saturating_duration_since(self.window) >= WINDOW {
            (self.window, self.lines) = (now, 0);
        }
        if self.lines >= LINES_MAX {
            self.left_out += 1;
            return None;
        }
        self.lines += 1;
        if self.logged.len() >= REMEMBERED_MAX {
            self.logged.pop_front();
        }
        self.logged.push_back((job, reason.to_owned()));
        Some(std::mem::take(&mut self.left_out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn each_reason_is_logged_once_for_each_job_and_a_flood_is_counted() {
        let begin = Instant::now();
        let mut log = FailureLog::new(begin);
        assert_eq!(log.note(begin, JobId(1), "no paper"), Some(0));
        assert_eq!(log.note(begin, JobId(1), "no paper"), None, "it was said");
        assert_eq!(log.note(begin, JobId(1), "no ink"), Some(0));
        for job in 2..=9 {
            assert_eq!(log.note(begin, JobId(job), "no paper"), Some(0));
        }
        for job in 10..=30 {
            assert_eq!(log.note(begin, JobId(job), "no paper"), None, "too many at once");
        }
        assert_eq!(log.note(begin + WINDOW, JobId(31), "no paper"), Some(21));
        for job in 32..u64::from(LINES_MAX) * REMEMBERED_MAX as u64 {
            let later = begin + WINDOW * u32::try_from(job).unwrap_or(u32::MAX);
            assert_eq!(log.note(later, JobId(job), "no paper"), Some(0));
        }
        assert!(log.logged.len() <= REMEMBERED_MAX);
    }
}

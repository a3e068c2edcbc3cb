//! Many jobs: lists, page by page; counts; and bulk changes, step by step.

use crate::calls::Client;
use crate::error::ClientError;
use adjourn_protocol::{Bulk, Count, Counted, DueBar, List, Page, Request, Step};
use adjourn_types::{DueBars, Filter};

impl Client {
    /// Reads one page of a list. Ask for the next one with its [cursor](Page::cursor), and the same filter and order.
    ///
    /// A job that exists from the first page to the last, and keeps its place in the order, is on exactly one.
    pub async fn list(&self, list: List) -> Result<Page, ClientError> {
        self.ask(Request::List(list)).await
    }

    /// Makes the same change to the jobs that match, at most to as many as the step says. Continue with the
    /// [cursor](Step::cursor) that it returns, and the same filter and change, until it is empty; a program that stops
    /// between two steps, or lost an answer, continues with its last cursor. A job that no longer matches when its turn
    /// comes is left alone.
    pub async fn bulk(&self, bulk: Bulk) -> Result<Step, ClientError> {
        self.ask(Request::Bulk(bulk)).await
    }

    /// Counts the jobs that match. By topic and state the count is exact and costs nothing. With other conditions the
    /// server checks every job that may match, and goes on with its work meanwhile: the count is then not of one moment,
    /// and may be off by the jobs that change, or move between memory and disk.
    pub async fn count(&self, filter: Filter) -> Result<u64, ClientError> {
        let Counted { jobs, .. } = self.ask(Request::Count(filter.into())).await?;
        Ok(jobs)
    }

    /// Counts the jobs that match by when they are due: those that are due before the bars, each bar, and those that are due
    /// after them. [`Self::count`] says how exact that is. It costs little for delayed jobs that are on disk, unless each has
    /// to be read for a condition on its key, its reason, its group or its attempts.
    pub async fn count_by_due(&self, filter: Filter, bars: DueBars) -> Result<Vec<DueBar>, ClientError> {
        let Counted { by_due, .. } = self.ask(Request::Count(Count { filter, bars: Some(bars) })).await?;
        Ok(by_due)
    }
}

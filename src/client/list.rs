//! Many jobs: lists, page by page; counts; and bulk changes, step by step.

use bytes::Bytes;

use super::calls::Client;
use super::error::ClientError;
use crate::protocol::{Bulk, JobReport, List, Request, Response};
use crate::types::Filter;

/// A page of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// The jobs, in the order of the list. There may be none, and more on the next page.
    pub jobs: Vec<JobReport>,
    /// The [cursor](List::cursor) of the next page; empty if this is the last one.
    pub cursor: Bytes,
}

/// The result of a step of a bulk change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// How many jobs it changed.
    pub jobs: u32,
    /// How many jobs it did not [move](crate::protocol::Change::Move), because another job has their key in the target
    /// topic.
    pub in_the_way: u32,
    /// The [cursor](Bulk::cursor) of the next step; empty if this was the last one.
    pub cursor: Bytes,
}

impl Client {
    /// Reads one page of a list. Ask for the next one with its [cursor](Page::cursor), and the same filter and order.
    ///
    /// A job that exists from the first page to the last, and keeps its place in the order, is on exactly one.
    pub async fn list(&self, list: List) -> Result<Page, ClientError> {
        let answer = self.submit(Request::List(list), |response| match response {
            Response::Jobs { jobs, cursor } => Ok(Page { jobs, cursor }),
            other => Err(other),
        });
        answer?.await
    }

    /// Makes the same change to the jobs that match, at most to as many as the step says. Continue with the
    /// [cursor](Step::cursor) that it returns, and the same filter and change, until it is empty; a program that stops
    /// between two steps, or lost an answer, continues with its last cursor. A job that no longer matches when its turn
    /// comes is left alone.
    pub async fn bulk(&self, bulk: Bulk) -> Result<Step, ClientError> {
        let answer = self.submit(Request::Bulk(bulk), |response| match response {
            Response::Bulked { jobs, in_the_way, cursor } => Ok(Step { jobs, in_the_way, cursor }),
            other => Err(other),
        });
        answer?.await
    }

    /// Counts the jobs that match. By topic and state the count is exact and costs nothing. With other conditions the
    /// server checks every job that may match, and goes on with its work meanwhile: the count is then not of one moment,
    /// and may be off by the jobs that change, or move between memory and disk.
    pub async fn count(&self, filter: Filter) -> Result<u64, ClientError> {
        let answer = self.submit(Request::Count(filter), |response| match response {
            Response::Counted { jobs } => Ok(jobs),
            other => Err(other),
        });
        answer?.await
    }
}

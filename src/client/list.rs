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

/// What a step of a bulk change did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// How many jobs it changed.
    pub jobs: u32,
    /// How many jobs it did not [move](crate::protocol::Change::Move), as another job has their key in the topic to which they
    /// were to go.
    pub in_the_way: u32,
    /// The [cursor](Bulk::cursor) of the next step; empty if this was the last one.
    pub cursor: Bytes,
}

impl Client {
    /// Reads one page of a list. Ask for the next one with its [cursor](Page::cursor), and the same filter and order.
    ///
    /// A job that is there from the first page to the last, and does not change its place in the order, is on exactly one.
    pub async fn list(&self, list: List) -> Result<Page, ClientError> {
        let answer = self.submit(Request::List(list), |response| match response {
            Response::Jobs { jobs, cursor } => Ok(Page { jobs, cursor }),
            other => Err(other),
        });
        answer?.await
    }

    /// Does the same to the jobs that match, at most as many as the step says. Go on with the [cursor](Step::cursor) that it
    /// returns, and the same filter and change, until it is empty; a program that stops between two steps, or lost an answer, goes on
    /// with the last cursor that it has. A job that does not match any more when its turn comes is left alone.
    pub async fn bulk(&self, bulk: Bulk) -> Result<Step, ClientError> {
        let answer = self.submit(Request::Bulk(bulk), |response| match response {
            Response::Bulked { jobs, in_the_way, cursor } => Ok(Step { jobs, in_the_way, cursor }),
            other => Err(other),
        });
        answer?.await
    }

    /// Counts the jobs that match. By topic and state the count is exact and costs nothing. With other conditions the server
    /// looks at every job that may match, and goes on with its work meanwhile: the count is then as of no one moment, and may
    /// be off by the jobs that change, or move between memory and disk.
    pub async fn count(&self, filter: Filter) -> Result<u64, ClientError> {
        let answer = self.submit(Request::Count(filter), |response| match response {
            Response::Counted { jobs } => Ok(jobs),
            other => Err(other),
        });
        answer?.await
    }
}

//! Looking at many jobs: lists, a page at a time, and counts.

use bytes::Bytes;

use super::calls::Client;
use super::error::ClientError;
use crate::protocol::{JobReport, List, Request, Response};
use crate::types::Filter;

/// A page of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// The jobs, in the order of the list. There may be none, and more on the next page.
    pub jobs: Vec<JobReport>,
    /// The [cursor](List::cursor) of the next page; empty if this is the last one.
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

    /// Counts the jobs that match. By topic and state the count is exact and costs nothing. With other conditions the server
    /// looks at every job that may match; one that changes meanwhile may be counted once, twice or not at all.
    pub async fn count(&self, filter: Filter) -> Result<u64, ClientError> {
        let answer = self.submit(Request::Count(filter), |response| match response {
            Response::Counted { jobs } => Ok(jobs),
            other => Err(other),
        });
        answer?.await
    }
}

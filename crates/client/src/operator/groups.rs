//! Groups: lists them and changes their settings; and says why nothing is delivered.

use crate::calls::Client;
use crate::error::ClientError;
use adjourn_protocol::{GroupList, GroupPage, GroupReport, GroupSet, JobRef, Reason, Request};
use adjourn_types::limits::{GROUP_BYTES_MAX, GROUPS_LISTED_MAX};
use adjourn_types::{GroupName, TopicName};

impl Client {
    /// The groups of a topic that have a job that is ready or reserved, or settings, and whose names begin with `prefix`; by
    /// name.
    ///
    /// [`ErrorCode::NotFound`](adjourn_protocol::ErrorCode::NotFound) if there is no such topic.
    pub async fn groups(&self, topic: &TopicName, prefix: &str) -> Result<Vec<GroupReport>, ClientError> {
        let (mut groups, mut after) = (Vec::new(), String::new());
        if prefix.len() > GROUP_BYTES_MAX {
            // No name is that long.
            return Ok(groups);
        }
        loop {
            let (topic, prefix) = (topic.clone(), prefix.to_owned());
            let list = GroupList { topic, after, prefix, groups_max: GROUPS_LISTED_MAX };
            let mut page: GroupPage = self.ask(Request::GroupList(list)).await?;
            groups.append(&mut page.groups);
            match page.after {
                Some(name) => after = name,
                None => return Ok(groups),
            }
        }
    }

    /// Changes the weight of a group, or pauses or resumes it; `None` leaves a setting as it is.
    ///
    /// [`ErrorCode::WrongState`](adjourn_protocol::ErrorCode::WrongState) if groups mean nothing in the topic,
    /// [`ErrorCode::NotFound`](adjourn_protocol::ErrorCode::NotFound) if there is no such topic.
    pub async fn set_group(
        &self,
        topic: &TopicName,
        group: &GroupName,
        weight: Option<u32>,
        paused: Option<bool>,
    ) -> Result<(), ClientError> {
        let set = GroupSet { topic: topic.clone(), group: group.clone(), weight, paused };
        self.ask(Request::GroupSet(set)).await
    }

    /// Why a job is not running: the most important reason first.
    ///
    /// [`ErrorCode::NotFound`](adjourn_protocol::ErrorCode::NotFound) if there is no such job.
    pub async fn why(&self, job: JobRef) -> Result<Vec<Reason>, ClientError> {
        self.ask(Request::Why(job)).await
    }

    /// Why a topic, or one group of it, gives no job.
    ///
    /// [`ErrorCode::NotFound`](adjourn_protocol::ErrorCode::NotFound) if there is no such topic.
    pub async fn why_topic(
        &self,
        topic: &TopicName,
        group: Option<&GroupName>,
    ) -> Result<Vec<Reason>, ClientError> {
        let group = group.map(|group| group.as_str().to_owned()).unwrap_or_default();
        self.ask(Request::TopicWhy { topic: topic.clone(), group }).await
    }
}

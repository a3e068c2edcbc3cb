//! Schedules: sets, shows, lists, previews, runs, fills, pauses and deletes them.

use bytes::Bytes;

use crate::calls::Client;
use crate::error::ClientError;
use adjourn_protocol::{
    ListedSchedule, Request, ScheduleConditions, ScheduleFill, ScheduleFilled, ScheduleInstants,
    ScheduleList, SchedulePage, SchedulePreview, ScheduleRan, ScheduleReport, ScheduleSet, Scheduled,
};
use adjourn_types::limits::{SCHEDULE_NAME_BYTES_MAX, SCHEDULES_LISTED_MAX};
use adjourn_types::{JobId, TopicName};

impl Client {
    /// Creates a schedule, or gives the one of this name another content; its history stays.
    ///
    /// [`ErrorCode::Invalid`](adjourn_protocol::ErrorCode::Invalid) if its rules cannot be read or it never fires,
    /// [`ErrorCode::Changed`](adjourn_protocol::ErrorCode::Changed) if it has not the version that was expected.
    pub async fn set_schedule(&self, set: ScheduleSet) -> Result<Scheduled, ClientError> {
        self.ask(Request::ScheduleSet(set)).await
    }

    /// A schedule as it stands, with what it did of late.
    ///
    /// [`ErrorCode::NotFound`](adjourn_protocol::ErrorCode::NotFound) if there is no such schedule.
    pub async fn schedule(&self, topic: &TopicName, name: &str) -> Result<ScheduleReport, ClientError> {
        self.ask(Request::ScheduleShow { topic: topic.clone(), name: name.to_owned() }).await
    }

    /// The schedules that meet these conditions, of a topic or of all that the token may read; those of a topic in the order in which
    /// they were made.
    pub async fn schedules(
        &self,
        topic: Option<&TopicName>,
        conditions: &ScheduleConditions,
    ) -> Result<Vec<ListedSchedule>, ClientError> {
        let (mut schedules, mut cursor) = (Vec::new(), Bytes::new());
        if conditions.prefix.len() > SCHEDULE_NAME_BYTES_MAX {
            // No name is that long.
            return Ok(schedules);
        }
        loop {
            let (topic, conditions) = (topic.cloned(), conditions.clone());
            let list = ScheduleList { topic, conditions, schedules_max: SCHEDULES_LISTED_MAX, cursor };
            let mut page: SchedulePage = self.ask(Request::ScheduleList(list)).await?;
            schedules.append(&mut page.schedules);
            if page.cursor.is_empty() {
                return Ok(schedules);
            }
            cursor = page.cursor;
        }
    }

    /// Pushes a job of a schedule now, whether an earlier one has ended or not. Returns the job's id.
    ///
    /// [`ErrorCode::KeyExists`](adjourn_protocol::ErrorCode::KeyExists) if the topic has a job with the key that it would have.
    pub async fn run_schedule(&self, topic: &TopicName, name: &str) -> Result<JobId, ClientError> {
        let request = Request::ScheduleRun { topic: topic.clone(), name: name.to_owned() };
        self.ask(request).await.map(|ScheduleRan(job)| job)
    }

    /// Pushes jobs for the first instants of a time that has passed, due at once, unless the topic has a job with the key of such an
    /// instant; or counts instants. [`Backfill`](adjourn_protocol::Backfill) goes through the parts of a time.
    ///
    /// [`ErrorCode::Invalid`](adjourn_protocol::ErrorCode::Invalid) if the time is ahead, or all jobs of the schedule have one key.
    pub async fn fill_schedule(&self, fill: ScheduleFill) -> Result<ScheduleFilled, ClientError> {
        self.ask(Request::ScheduleFill(fill)).await
    }

    /// When a schedule with these rules would fire, by the zone data of the leader.
    ///
    /// [`ErrorCode::Invalid`](adjourn_protocol::ErrorCode::Invalid) if the rules cannot be read.
    pub async fn preview_schedule(&self, preview: SchedulePreview) -> Result<ScheduleInstants, ClientError> {
        self.ask(Request::SchedulePreview(preview)).await
    }

    /// Lets a schedule fire no more until it is resumed. The note says why, for people: at most
    /// [`REASON_BYTES_MAX`](adjourn_types::limits::REASON_BYTES_MAX) bytes, or empty.
    pub async fn pause_schedule(&self, topic: &TopicName, name: &str, note: &str) -> Result<(), ClientError> {
        let (topic, name, note) =
            (topic.clone(), name.to_owned(), Some(note.to_owned()).filter(|note| !note.is_empty()));
        self.ask(Request::SchedulePause { topic, name, note }).await
    }

    /// Lets a paused schedule fire again. Its rule for missed instants says what happens to those that passed.
    pub async fn resume_schedule(&self, topic: &TopicName, name: &str) -> Result<(), ClientError> {
        self.ask(Request::ScheduleResume { topic: topic.clone(), name: name.to_owned() }).await
    }

    /// Forgets a schedule. Its jobs stay.
    pub async fn delete_schedule(&self, topic: &TopicName, name: &str) -> Result<(), ClientError> {
        self.ask(Request::ScheduleDelete { topic: topic.clone(), name: name.to_owned() }).await
    }
}

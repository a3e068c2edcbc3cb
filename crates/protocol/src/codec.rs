//! Converts frames to responses and back; [`request`](super::request) does it for requests.
//!
//! Decoding never panics and checks every limit that does not depend on the queue's state. Bytes after the last
//! known field of a payload are skipped: they come from a newer peer. Encoding writes directly into the output
//! buffer.

use bytes::BytesMut;

use super::codes::ResponseOpcode;
use super::decode_error::DecodeError;
use super::frame::{self, Frame};
use super::layout::frames;
use super::response::Response;
use super::wire::Reader;
use super::{
    RequestId, backup, browse, cluster, connections, counts, groups, job, policy, push, reserve, schedule,
    session, settle,
};
use adjourn_types::JobId;

impl Response {
    /// The number of the message.
    pub fn opcode(&self) -> ResponseOpcode {
        match self {
            Self::Welcome(_) => ResponseOpcode::Welcome,
            Self::Pong { .. } => ResponseOpcode::Pong,
            Self::Done => ResponseOpcode::Done,
            Self::Pushed(_) => ResponseOpcode::Pushed,
            Self::Reserved(_) => ResponseOpcode::Reserved,
            Self::Subscribed => ResponseOpcode::Subscribed,
            Self::Deliver(_) => ResponseOpcode::Deliver,
            Self::Leased(_) => ResponseOpcode::Leased,
            Self::Settled(_) => ResponseOpcode::Settled,
            Self::Job(_) => ResponseOpcode::Job,
            Self::Changed { .. } => ResponseOpcode::Changed,
            Self::Kicked { .. } => ResponseOpcode::Kicked,
            Self::Jobs { .. } => ResponseOpcode::Jobs,
            Self::Counted { .. } => ResponseOpcode::Counted,
            Self::Bulked { .. } => ResponseOpcode::Bulked,
            Self::Topics(_) => ResponseOpcode::TopicCounts,
            Self::Stats(_) => ResponseOpcode::QueueStats,
            Self::Connections(_) => ResponseOpcode::ConnectionList,
            Self::TopicSettings(_) => ResponseOpcode::TopicSettings,
            Self::BackupReady(_) => ResponseOpcode::BackupReady,
            Self::BackupData(_) => ResponseOpcode::BackupData,
            Self::Cluster(_) => ResponseOpcode::ClusterReport,
            Self::Groups(_) => ResponseOpcode::Groups,
            Self::Reasons(_) => ResponseOpcode::Reasons,
            Self::Scheduled { .. } => ResponseOpcode::Scheduled,
            Self::Schedule(_) => ResponseOpcode::Schedule,
            Self::Schedules(_) => ResponseOpcode::Schedules,
            Self::ScheduleRan { .. } => ResponseOpcode::ScheduleRan,
            Self::ScheduleFilled(_) => ResponseOpcode::ScheduleFilled,
            Self::Instants(_) => ResponseOpcode::Instants,
            Self::GoingAway { .. } => ResponseOpcode::GoingAway,
            Self::Error(_) => ResponseOpcode::Error,
        }
    }

    /// Appends the whole frame to `out` and returns its length in bytes. Bodies are copied once, directly
    /// into `out`.
    pub fn encode(&self, id: RequestId, out: &mut BytesMut) -> usize {
        frame::write(out, self.opcode() as u8, id, |out| match self {
            Self::Welcome(welcome) => session::encode_welcome(welcome, out),
            Self::Pong { now, clock_ms } => session::encode_pong(*now, *clock_ms, out),
            Self::Pushed(results) => push::encode_pushed(results, out),
            Self::Reserved(jobs) | Self::Deliver(jobs) => reserve::encode_jobs(jobs, out),
            Self::Leased(leased) => reserve::encode_leased(leased, out),
            Self::Settled(results) => settle::encode_settled(results, out),
            Self::Job(report) => job::encode_report(report, out),
            Self::Changed { job, state, due, version } => {
                job::encode_changed(*job, *state, *due, *version, out);
            }
            Self::Kicked { jobs } => job::encode_kicked(*jobs, out),
            Self::Jobs { jobs, cursor } => browse::encode_jobs(jobs, cursor, out),
            Self::Counted { jobs, by_due } => browse::encode_counted(*jobs, by_due, out),
            Self::Bulked { jobs, skipped, cursor } => {
                browse::encode_bulked(*jobs, *skipped, cursor, out);
            }
            Self::Topics(topics) => counts::encode_topics(topics, out),
            Self::Stats(stats) => counts::encode_stats(stats, out),
            Self::Connections(list) => connections::encode_list(list, out),
            Self::TopicSettings(settings) => policy::encode_settings(settings, out),
            Self::BackupReady(ready) => backup::encode_ready(ready, out),
            Self::BackupData(data) => backup::encode_data(data, out),
            Self::Cluster(report) => cluster::encode_report(report, out),
            Self::Groups(page) => groups::encode_page(page, out),
            Self::Reasons(reasons) => groups::encode_reasons(reasons, out),
            Self::Scheduled { schedule, version, next } => {
                schedule::encode_scheduled(*schedule, *version, *next, out);
            }
            Self::Schedule(report) => schedule::encode_report(report, out),
            Self::Schedules(page) => schedule::encode_list(page, out),
            Self::ScheduleRan { job } => frames::ScheduleRan { job: job.0 }.put(out),
            Self::ScheduleFilled(filled) => schedule::encode_filled(filled, out),
            Self::Instants(shown) => schedule::encode_instants(shown, out),
            Self::GoingAway { message, reason } => session::encode_going_away(message, *reason, out),
            Self::Error(error) => session::encode_error(error, out),
            Self::Done | Self::Subscribed => {}
        })
    }

    /// Decodes the response in a frame.
    pub fn decode(frame: &Frame) -> Result<Self, DecodeError> {
        let opcode =
            ResponseOpcode::from_u8(frame.header.opcode).ok_or(DecodeError::Opcode(frame.header.opcode))?;
        let reader = &mut Reader::new(&frame.payload);
        Ok(match opcode {
            ResponseOpcode::Welcome => Self::Welcome(Box::new(session::decode_welcome(reader)?)),
            ResponseOpcode::Pong => session::decode_pong(reader)?,
            ResponseOpcode::Done => Self::Done,
            ResponseOpcode::GoingAway => session::decode_going_away(reader)?,
            ResponseOpcode::Pushed => Self::Pushed(push::decode_pushed(reader)?),
            ResponseOpcode::Reserved => Self::Reserved(reserve::decode_jobs(reader)?),
            ResponseOpcode::Subscribed => Self::Subscribed,
            ResponseOpcode::Deliver => Self::Deliver(reserve::decode_jobs(reader)?),
            ResponseOpcode::Leased => Self::Leased(reserve::decode_leased(reader)?),
            ResponseOpcode::Settled => Self::Settled(settle::decode_settled(reader)?),
            ResponseOpcode::Job => Self::Job(Box::new(job::decode_report(reader)?)),
            ResponseOpcode::Changed => job::decode_changed(reader)?,
            ResponseOpcode::Kicked => job::decode_kicked(reader)?,
            ResponseOpcode::Jobs => browse::decode_jobs(reader)?,
            ResponseOpcode::Counted => browse::decode_counted(reader)?,
            ResponseOpcode::Bulked => browse::decode_bulked(reader)?,
            ResponseOpcode::TopicCounts => Self::Topics(counts::decode_topics(reader)?),
            ResponseOpcode::QueueStats => Self::Stats(Box::new(counts::decode_stats(reader)?)),
            ResponseOpcode::TopicSettings => policy::decode_settings(reader)?,
            ResponseOpcode::ConnectionList => Self::Connections(connections::decode_list(reader)?),
            ResponseOpcode::BackupReady => Self::BackupReady(backup::decode_ready(reader)?),
            ResponseOpcode::BackupData => Self::BackupData(backup::decode_data(reader)?),
            ResponseOpcode::ClusterReport => Self::Cluster(Box::new(cluster::decode_report(reader)?)),
            ResponseOpcode::Groups => Self::Groups(groups::decode_page(reader)?),
            ResponseOpcode::Reasons => Self::Reasons(groups::decode_reasons(reader)?),
            ResponseOpcode::Scheduled => {
                let (schedule, version, next) = schedule::decode_scheduled(reader)?;
                Self::Scheduled { schedule, version, next }
            }
            ResponseOpcode::Schedule => Self::Schedule(Box::new(schedule::decode_report(reader)?)),
            ResponseOpcode::Schedules => Self::Schedules(schedule::decode_list(reader)?),
            ResponseOpcode::ScheduleFilled => Self::ScheduleFilled(schedule::decode_filled(reader)?),
            ResponseOpcode::Instants => Self::Instants(schedule::decode_instants(reader)?),
            ResponseOpcode::ScheduleRan => {
                Self::ScheduleRan { job: JobId(frames::ScheduleRan::take(reader)?.job) }
            }
            ResponseOpcode::Error => Self::Error(session::decode_error(reader)?),
        })
    }
}

//! Converts frames to messages and back.
//!
//! Decoding never panics and checks every limit that does not depend on the queue's state. Bytes after the last
//! known field of a payload are skipped: they come from a newer peer. Encoding writes directly into the output
//! buffer.

use bytes::{BufMut as _, BytesMut};

use super::decode_error::DecodeError;
use super::frame::{self, Frame};
use super::opcode::{RequestOpcode, ResponseOpcode};
use super::request::Request;
use super::response::Response;
use super::wire::{Reader, put_topic8};
use super::{
    RequestId, backup, browse, cluster, connections, counts, job, policy, push, reserve, session, settle,
};
use crate::types::GroupId;

impl Request {
    /// The number of the message.
    pub fn opcode(&self) -> RequestOpcode {
        match self {
            Self::Hello(_) => RequestOpcode::Hello,
            Self::Ping => RequestOpcode::Ping,
            Self::Goodbye => RequestOpcode::Goodbye,
            Self::Push(_) => RequestOpcode::Push,
            Self::Reserve(_) => RequestOpcode::Reserve,
            Self::Subscribe(_) => RequestOpcode::Subscribe,
            Self::Credit { .. } => RequestOpcode::Credit,
            Self::Unsubscribe { .. } => RequestOpcode::Unsubscribe,
            Self::Cancel { .. } => RequestOpcode::Cancel,
            Self::Leases { .. } => RequestOpcode::Leases,
            Self::Finish { .. } => RequestOpcode::Finish,
            Self::Release { .. } => RequestOpcode::Release,
            Self::Touch { .. } => RequestOpcode::Touch,
            Self::Bury { .. } => RequestOpcode::Bury,
            Self::Get(_) => RequestOpcode::Get,
            Self::Delete(_) => RequestOpcode::Delete,
            Self::Reschedule { .. } => RequestOpcode::Reschedule,
            Self::RunNow(_) => RequestOpcode::RunNow,
            Self::Kick(_) => RequestOpcode::Kick,
            Self::KickMany { .. } => RequestOpcode::KickMany,
            Self::Peek { .. } => RequestOpcode::Peek,
            Self::Pause { .. } => RequestOpcode::Pause,
            Self::Resume { .. } => RequestOpcode::Resume,
            Self::TopicSet { .. } => RequestOpcode::TopicSet,
            Self::TopicShow { .. } => RequestOpcode::TopicShow,
            Self::TopicDelete { .. } => RequestOpcode::TopicDelete,
            Self::List(_) => RequestOpcode::List,
            Self::Count(_) => RequestOpcode::Count,
            Self::Bulk(_) => RequestOpcode::Bulk,
            Self::Topics => RequestOpcode::Topics,
            Self::Stats => RequestOpcode::Stats,
            Self::Connections { .. } => RequestOpcode::Connections,
            Self::Disconnect { .. } => RequestOpcode::Disconnect,
            Self::BackupBegin => RequestOpcode::BackupBegin,
            Self::BackupRead { .. } => RequestOpcode::BackupRead,
            Self::BackupEnd => RequestOpcode::BackupEnd,
            Self::ClusterStatus => RequestOpcode::ClusterStatus,
            Self::ClusterAdd { .. } => RequestOpcode::ClusterAdd,
            Self::ClusterRemove { .. } => RequestOpcode::ClusterRemove,
            Self::ClusterTransfer { .. } => RequestOpcode::ClusterTransfer,
        }
    }

    /// Appends the whole frame to `out` and returns how many bytes it took. The caller compares them with the
    /// `frame_bytes_max` of WELCOME before it sends them: a larger frame costs the connection.
    pub fn encode(&self, id: RequestId, out: &mut BytesMut) -> usize {
        frame::write(out, self.opcode() as u8, id, |out| match self {
            Self::Hello(hello) => session::encode_hello(hello, out),
            Self::Push(push) => push::encode_push(push, out),
            Self::Reserve(reserve) => reserve::encode_reserve(reserve, out),
            Self::Subscribe(subscribe) => reserve::encode_subscribe(subscribe, out),
            Self::Credit { subscription, jobs, bytes } => {
                reserve::encode_credit(*subscription, *jobs, *bytes, out);
            }
            Self::Unsubscribe { subscription } => reserve::encode_unsubscribe(*subscription, out),
            Self::Cancel { request } => reserve::encode_cancel(*request, out),
            Self::Leases { after, jobs_max } => reserve::encode_leases(*after, *jobs_max, out),
            Self::Finish { leases } => settle::encode_leases(leases, out),
            Self::Bury { leases, reason } => settle::encode_bury(leases, reason.as_deref(), out),
            Self::Release { leases, kind, reason } => {
                settle::encode_release(leases, *kind, reason.as_deref(), out);
            }
            Self::Touch { leases, ttr_ms } => settle::encode_touch(leases, *ttr_ms, out),
            Self::Get(job) | Self::Delete(job) | Self::RunNow(job) | Self::Kick(job) => {
                job::encode_job_ref(job, out);
            }
            Self::Reschedule { job, due } => job::encode_reschedule(job, *due, out),
            Self::KickMany { topic, jobs_max } => job::encode_kick_many(topic, *jobs_max, out),
            Self::Peek { topic }
            | Self::Pause { topic }
            | Self::Resume { topic }
            | Self::TopicShow { topic }
            | Self::TopicDelete { topic } => put_topic8(out, topic),
            Self::TopicSet { topic, change } => policy::encode_set(topic, change, out),
            Self::List(list) => browse::encode_list(list, out),
            Self::Count(filter) => browse::encode_filter(filter, out),
            Self::Bulk(bulk) => browse::encode_bulk(bulk, out),
            Self::Connections { after, connections_max } => {
                connections::encode_connections(*after, *connections_max, out);
            }
            Self::Disconnect { connection, ends_session } => {
                connections::encode_disconnect(*connection, *ends_session, out);
            }
            Self::BackupRead { offset, bytes } => backup::encode_read(*offset, *bytes, out),
            Self::ClusterAdd { address } => cluster::encode_add(address, out),
            Self::ClusterRemove { node } | Self::ClusterTransfer { node } => cluster::encode_node(*node, out),
            Self::Ping
            | Self::Goodbye
            | Self::Topics
            | Self::Stats
            | Self::BackupBegin
            | Self::BackupEnd
            | Self::ClusterStatus => {}
        })
    }

    /// Reads the request that a frame holds. `body_bytes_max` is the server's setting; one body beyond it
    /// refuses the whole PUSH. On an error the frame is answered under its request id, and the connection
    /// goes on.
    pub fn decode(frame: &Frame, body_bytes_max: usize) -> Result<Self, DecodeError> {
        let opcode =
            RequestOpcode::from_u8(frame.header.opcode).ok_or(DecodeError::Opcode(frame.header.opcode))?;
        if frame.header.id == RequestId(0) {
            return Err(DecodeError::RequestIdZero);
        }
        if frame.header.group != GroupId(0) {
            return Err(DecodeError::Group(frame.header.group.0));
        }
        let reader = &mut Reader::new(&frame.payload);
        Ok(match opcode {
            RequestOpcode::Hello => Self::Hello(session::decode_hello(reader)?),
            RequestOpcode::Ping => Self::Ping,
            RequestOpcode::Goodbye => Self::Goodbye,
            RequestOpcode::Push => Self::Push(push::decode_push(reader, body_bytes_max)?),
            RequestOpcode::Reserve => Self::Reserve(reserve::decode_reserve(reader)?),
            RequestOpcode::Subscribe => Self::Subscribe(reserve::decode_subscribe(reader)?),
            RequestOpcode::Credit => reserve::decode_credit(reader)?,
            RequestOpcode::Unsubscribe => reserve::decode_unsubscribe(reader)?,
            RequestOpcode::Cancel => reserve::decode_cancel(reader)?,
            RequestOpcode::Leases => reserve::decode_leases(reader)?,
            RequestOpcode::Finish => Self::Finish { leases: settle::decode_leases(reader)? },
            RequestOpcode::Release => settle::decode_release(reader)?,
            RequestOpcode::Touch => settle::decode_touch(reader)?,
            RequestOpcode::Bury => settle::decode_bury(reader)?,
            RequestOpcode::Get => Self::Get(job::decode_job_ref(reader)?),
            RequestOpcode::Delete => Self::Delete(job::decode_job_ref(reader)?),
            RequestOpcode::Reschedule => job::decode_reschedule(reader)?,
            RequestOpcode::RunNow => Self::RunNow(job::decode_job_ref(reader)?),
            RequestOpcode::Kick => Self::Kick(job::decode_job_ref(reader)?),
            RequestOpcode::KickMany => job::decode_kick_many(reader)?,
            RequestOpcode::Peek => Self::Peek { topic: reader.topic8()? },
            RequestOpcode::Pause => Self::Pause { topic: reader.topic8()? },
            RequestOpcode::Resume => Self::Resume { topic: reader.topic8()? },
            RequestOpcode::TopicSet => policy::decode_set(reader)?,
            RequestOpcode::TopicShow => Self::TopicShow { topic: reader.topic8()? },
            RequestOpcode::TopicDelete => Self::TopicDelete { topic: reader.topic8()? },
            RequestOpcode::List => Self::List(browse::decode_list(reader)?),
            RequestOpcode::Count => Self::Count(browse::decode_filter(reader)?),
            RequestOpcode::Bulk => Self::Bulk(browse::decode_bulk(reader)?),
            RequestOpcode::Topics => Self::Topics,
            RequestOpcode::Stats => Self::Stats,
            RequestOpcode::Connections => connections::decode_connections(reader)?,
            RequestOpcode::Disconnect => connections::decode_disconnect(reader)?,
            RequestOpcode::BackupBegin => Self::BackupBegin,
            RequestOpcode::BackupRead => backup::decode_read(reader)?,
            RequestOpcode::BackupEnd => Self::BackupEnd,
            RequestOpcode::ClusterStatus => Self::ClusterStatus,
            RequestOpcode::ClusterAdd => cluster::decode_add(reader)?,
            RequestOpcode::ClusterRemove => Self::ClusterRemove { node: cluster::decode_node(reader)? },
            RequestOpcode::ClusterTransfer => Self::ClusterTransfer { node: cluster::decode_node(reader)? },
        })
    }
}

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
            Self::GoingAway { .. } => ResponseOpcode::GoingAway,
            Self::Error(_) => ResponseOpcode::Error,
        }
    }

    /// Appends the whole frame to `out` and returns how many bytes it took. Bodies are copied once, from where
    /// they are into `out`.
    pub fn encode(&self, id: RequestId, out: &mut BytesMut) -> usize {
        frame::write(out, self.opcode() as u8, id, |out| match self {
            Self::Welcome(welcome) => session::encode_welcome(welcome, out),
            Self::Pong { now, clock_ms } => session::encode_pong(*now, *clock_ms, out),
            Self::Pushed(results) => push::encode_pushed(results, out),
            Self::Reserved(jobs) | Self::Deliver(jobs) => reserve::encode_jobs(jobs, out),
            Self::Leased(leased) => reserve::encode_leased(leased, out),
            Self::Settled(results) => settle::encode_settled(results, out),
            Self::Job(report) => job::encode_report(report, out),
            Self::Changed { job, state, due } => job::encode_changed(*job, *state, *due, out),
            Self::Kicked { jobs } => job::encode_kicked(*jobs, out),
            Self::Jobs { jobs, cursor } => browse::encode_jobs(jobs, cursor, out),
            Self::Counted { jobs } => out.put_u64_le(*jobs),
            Self::Bulked { jobs, in_the_way, cursor } => {
                browse::encode_bulked(*jobs, *in_the_way, cursor, out);
            }
            Self::Topics(topics) => counts::encode_topics(topics, out),
            Self::Stats(stats) => counts::encode_stats(stats, out),
            Self::Connections(list) => connections::encode_list(list, out),
            Self::TopicSettings(settings) => policy::encode_settings(settings, out),
            Self::BackupReady(ready) => backup::encode_ready(ready, out),
            Self::BackupData(data) => backup::encode_data(data, out),
            Self::Cluster(report) => cluster::encode_report(report, out),
            Self::GoingAway { message, reason } => session::encode_going_away(message, *reason, out),
            Self::Error(error) => session::encode_error(error, out),
            Self::Done | Self::Subscribed => {}
        })
    }

    /// Reads the response that a frame holds.
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
            ResponseOpcode::Counted => Self::Counted { jobs: reader.u64("jobs")? },
            ResponseOpcode::Bulked => browse::decode_bulked(reader)?,
            ResponseOpcode::TopicCounts => Self::Topics(counts::decode_topics(reader)?),
            ResponseOpcode::QueueStats => Self::Stats(Box::new(counts::decode_stats(reader)?)),
            ResponseOpcode::TopicSettings => policy::decode_settings(reader)?,
            ResponseOpcode::ConnectionList => Self::Connections(connections::decode_list(reader)?),
            ResponseOpcode::BackupReady => Self::BackupReady(backup::decode_ready(reader)?),
            ResponseOpcode::BackupData => Self::BackupData(backup::decode_data(reader)?),
            ResponseOpcode::ClusterReport => Self::Cluster(Box::new(cluster::decode_report(reader)?)),
            ResponseOpcode::Error => Self::Error(session::decode_error(reader)?),
        })
    }
}

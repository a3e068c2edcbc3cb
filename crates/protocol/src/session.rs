//! HELLO, PING, GOODBYE and their answers; `GOING_AWAY` and ERROR.

use bytes::{Bytes, BytesMut};

use super::codes::bits::{error_marks, hello_options, member_marks, welcome_marks};
use super::decode_error::DecodeError;
use super::error::{Applied, ErrorCode, ErrorReply};
use super::field::Field;
use super::layout::{frames, records};
use super::response::{GoingAway, Member, Response, Resume, Welcome};
use super::wire::{Reader, mark, not_longer, some_text, text, text8, text16};
use adjourn_types::limits::{CLIENT_NAME_BYTES_MAX, HEARTBEAT_MS_MAX, HEARTBEAT_MS_MIN, TOKEN_BYTES_MAX};
use adjourn_types::{Millis, Secret, SessionId, SessionSecret};

/// The first bytes of a HELLO's payload, by which other protocols at the port are recognized.
pub const MAGIC: [u8; 4] = *b"ADJ1";

/// The first frame of a connection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hello {
    /// The oldest protocol version that the client understands.
    pub version_min: u16,
    /// The newest protocol version that the client understands.
    pub version_max: u16,
    /// The client's name, for logs.
    pub client_name: String,
    /// The authentication token; empty for none.
    pub token: Secret,
    /// The longest time between two frames from each side, before the connection is lost; 0 lets the server decide.
    pub heartbeat_ms: u32,
    /// The session to resume; `None` opens a new one.
    pub resume: Option<Resume>,
    /// The session's leases run to their deadline when the connection is lost or the session ends.
    pub leases_outlive: bool,
    /// If there is none to resume, none is opened: the connection neither reserves jobs nor numbers its pushes.
    pub without_session: bool,
}

/// The version for two sides: the newest that both understand, `None` if there is none.
pub fn negotiate(version_min: u16, version_max: u16) -> Option<u16> {
    let version = version_max.min(super::VERSION);
    (version >= version_min.max(super::VERSION_MIN)).then_some(version)
}

/// The heartbeat of a connection: the client's wish within bounds, or the server's `usual` one if the wish is 0.
pub fn heartbeat_ms(wish_ms: u32, usual_ms: u32) -> u32 {
    if wish_ms == 0 { usual_ms } else { wish_ms.clamp(HEARTBEAT_MS_MIN, HEARTBEAT_MS_MAX.max(usual_ms)) }
}

impl Field for Hello {
    fn put(&self, out: &mut BytesMut) {
        let resume =
            self.resume.unwrap_or(Resume { session: SessionId::NONE, secret: SessionSecret([0; 16]) });
        let frame = frames::Hello {
            version_min: self.version_min,
            version_max: self.version_max,
            options: mark(self.leases_outlive, hello_options::LEASES_OUTLIVE)
                | mark(self.without_session, hello_options::NO_SESSION),
            heartbeat_ms: self.heartbeat_ms,
            session: resume.session.0,
            secret: resume.secret.0,
            client_name: text8(&self.client_name),
            token: &self.token,
        };
        frame.put(out);
    }

    fn take(reader: &mut Reader<'_>, _: &'static str) -> Result<Self, DecodeError> {
        let hello = frames::Hello::take(reader)?;
        let (session, secret) = (SessionId(hello.session), SessionSecret(hello.secret));
        Ok(Self {
            version_min: hello.version_min,
            version_max: hello.version_max,
            client_name: text(&hello.client_name, "client_name")?,
            token: hello.token.into(),
            heartbeat_ms: hello.heartbeat_ms,
            resume: (session != SessionId::NONE).then_some(Resume { session, secret }),
            leases_outlive: hello.options & hello_options::LEASES_OUTLIVE != 0,
            without_session: hello.options & hello_options::NO_SESSION != 0,
        })
    }

    fn check(&self, _: &'static str, _: usize) -> Result<(), DecodeError> {
        not_longer(self.client_name.len(), CLIENT_NAME_BYTES_MAX, "client_name")?;
        not_longer(self.token.len(), TOKEN_BYTES_MAX, "token")
    }

    fn detach(self) -> Self {
        Self { token: Bytes::copy_from_slice(&self.token).into(), ..self }
    }
}

pub(super) fn encode_welcome(welcome: &Welcome, out: &mut BytesMut) {
    let frame = frames::Welcome {
        version: welcome.version,
        marks: mark(welcome.resumed, welcome_marks::RESUMED)
            | mark(welcome.leases_kept, welcome_marks::LEASES_KEPT),
        cluster_id: welcome.cluster_id,
        session: welcome.session.0,
        secret: welcome.secret.0,
        heartbeat_ms: welcome.heartbeat_ms,
        session_grace_ms: welcome.session_grace_ms,
        frame_bytes_max: welcome.frame_bytes_max,
        body_bytes_max: welcome.body_bytes_max,
        push_jobs_max: welcome.push_jobs_max,
        leases_max: welcome.leases_max,
        reserve_jobs_max: welcome.reserve_jobs_max,
        in_flight_max: welcome.in_flight_max,
        server_name: text8(&welcome.server_name),
        members: welcome.members.iter().map(|member| records::Member {
            node: member.node,
            marks: mark(member.leader, member_marks::LEADS),
            address: text8(&member.address),
        }),
        clock_ms: welcome.clock_ms,
    };
    frame.put(out);
}

pub(super) fn decode_welcome(reader: &mut Reader<'_>) -> Result<Welcome, DecodeError> {
    let welcome = frames::Welcome::take(reader, |member| {
        Ok(Member {
            node: member.node,
            leader: member.marks & member_marks::LEADS != 0,
            address: text(&member.address, "address")?,
        })
    })?;
    Ok(Welcome {
        version: welcome.version,
        server_name: text(&welcome.server_name, "server_name")?,
        cluster_id: welcome.cluster_id,
        session: SessionId(welcome.session),
        secret: SessionSecret(welcome.secret),
        resumed: welcome.marks & welcome_marks::RESUMED != 0,
        leases_kept: welcome.marks & welcome_marks::LEASES_KEPT != 0,
        heartbeat_ms: welcome.heartbeat_ms,
        session_grace_ms: welcome.session_grace_ms,
        frame_bytes_max: welcome.frame_bytes_max,
        body_bytes_max: welcome.body_bytes_max,
        push_jobs_max: welcome.push_jobs_max,
        leases_max: welcome.leases_max,
        reserve_jobs_max: welcome.reserve_jobs_max,
        in_flight_max: welcome.in_flight_max,
        members: welcome.members,
        clock_ms: welcome.clock_ms,
    })
}

pub(super) fn encode_pong(now: Millis, clock_ms: u64, out: &mut BytesMut) {
    frames::Pong { now: now.0, clock_ms }.put(out);
}

pub(super) fn decode_pong(reader: &mut Reader<'_>) -> Result<Response, DecodeError> {
    let frames::Pong { now, clock_ms } = frames::Pong::take(reader)?;
    Ok(Response::Pong { now: Millis(now), clock_ms })
}

pub(super) fn encode_going_away(message: &str, reason: GoingAway, out: &mut BytesMut) {
    frames::GoingAway { message: text16(message), reason: reason as u8 }.put(out);
}

pub(super) fn decode_going_away(reader: &mut Reader<'_>) -> Result<Response, DecodeError> {
    let frames::GoingAway { message, reason } = frames::GoingAway::take(reader)?;
    Ok(Response::GoingAway { message: text(&message, "message")?, reason: GoingAway::from_u8(reason) })
}

pub(super) fn encode_error(error: &ErrorReply, out: &mut BytesMut) {
    let frame = frames::Error {
        code: error.code as u16,
        marks: mark(error.retryable(), error_marks::RETRYABLE),
        applied: error.applied as u8,
        retry_after_ms: error.retry_after_ms,
        leader: text8(error.leader.as_deref().unwrap_or_default()),
        message: text16(&error.message),
    };
    frame.put(out);
}

pub(super) fn decode_error(reader: &mut Reader<'_>) -> Result<ErrorReply, DecodeError> {
    let error = frames::Error::take(reader)?;
    Ok(ErrorReply {
        // A newer server may have other codes. The marks of the error tell what to do.
        code: ErrorCode::from_u16(error.code).unwrap_or(ErrorCode::Unknown),
        is_retryable: error.marks & error_marks::RETRYABLE != 0 || error.retry_after_ms > 0,
        applied: if error.applied == Applied::No as u8 { Applied::No } else { Applied::Unknown },
        retry_after_ms: error.retry_after_ms,
        leader: some_text(&error.leader, "leader")?,
        message: text(&error.message, "message")?,
    })
}

#[cfg(test)]
mod tests {
    use bytes::BufMut as _;

    use super::*;
    use crate::{VERSION, VERSION_MIN};

    #[test]
    fn the_newest_common_version_is_spoken() {
        assert_eq!(negotiate(VERSION_MIN, VERSION), Some(VERSION));
        assert_eq!(negotiate(0, u16::MAX), Some(VERSION));
        assert_eq!(negotiate(VERSION + 1, u16::MAX), None);
        assert_eq!(negotiate(0, VERSION_MIN - 1), None);
        assert_eq!(negotiate(VERSION, VERSION - 1), None, "a range that is none");
    }

    #[test]
    fn a_code_from_the_future_keeps_its_meaning() {
        let decoded = |marks, applied| {
            let mut out = BytesMut::new();
            out.put_slice(&[0x39, 0x30, marks, applied, 0, 0, 0, 0, 0, 0, 0]);
            let payload = out.freeze();
            let error = decode_error(&mut Reader::new(&payload));
            error.map(|error| (error.code, error.retryable(), error.applied))
        };
        assert_eq!(decoded(0, 0), Ok((ErrorCode::Unknown, false, Applied::No)));
        assert_eq!(decoded(1, 7), Ok((ErrorCode::Unknown, true, Applied::Unknown)));
    }
}

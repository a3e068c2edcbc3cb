//! HELLO, PING, GOODBYE and their answers; `GOING_AWAY` and ERROR.

use bytes::{BufMut as _, Bytes, BytesMut};

use super::decode_error::DecodeError;
use super::error::{Applied, ErrorCode, ErrorReply};
use super::field::Field;
use super::response::{GoingAway, Member, Response, Resume, Welcome};
use super::wire::{Fixed, Reader, not_longer, put_list, put_text8, put_text16, shortened};
use adjourn_types::limits::{CLIENT_NAME_BYTES_MAX, HEARTBEAT_MS_MAX, HEARTBEAT_MS_MIN, TOKEN_BYTES_MAX};
use adjourn_types::{Millis, Secret, SessionId, SessionSecret};

/// The first bytes of a HELLO's payload, by which other protocols at the port are recognized.
pub const MAGIC: [u8; 4] = *b"ADJ1";

const OPTION_LEASES_OUTLIVE: u32 = 1;
const OPTION_NO_SESSION: u32 = 2;
const WELCOME_RESUMED: u8 = 1;
const WELCOME_LEASES_KEPT: u8 = 2;
const MEMBER_FIXED_BYTES: usize = 10;
const MEMBER_LEADER: u8 = 1;
const ERROR_RETRYABLE: u8 = 1;

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
        let outlive = if self.leases_outlive { OPTION_LEASES_OUTLIVE } else { 0 };
        let without = if self.without_session { OPTION_NO_SESSION } else { 0 };
        Fixed::<40>::new()
            .array(MAGIC)
            .u16(self.version_min)
            .u16(self.version_max)
            .u32(outlive | without)
            .u32(self.heartbeat_ms)
            .u64(resume.session.0)
            .array(resume.secret.0)
            .write(out);
        put_text8(out, &self.client_name);
        Fixed::<2>::new().length16(self.token.len()).write(out);
        out.put_slice(&self.token);
    }

    fn take(reader: &mut Reader<'_>, _: &'static str) -> Result<Self, DecodeError> {
        if reader.array("magic")? != MAGIC {
            return Err(DecodeError::Magic);
        }
        let version_min = reader.u16("version_min")?;
        let version_max = reader.u16("version_max")?;
        let options = reader.u32("options")?;
        let heartbeat_ms = reader.u32("heartbeat_ms")?;
        let session = SessionId(reader.u64("session")?);
        let secret = SessionSecret(reader.array("secret")?);
        Ok(Self {
            version_min,
            version_max,
            client_name: reader.text8(usize::MAX, "client_name")?,
            token: reader.bytes16(usize::MAX, "token")?.into(),
            heartbeat_ms,
            resume: (session != SessionId::NONE).then_some(Resume { session, secret }),
            leases_outlive: options & OPTION_LEASES_OUTLIVE != 0,
            without_session: options & OPTION_NO_SESSION != 0,
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
    let resumed = if welcome.resumed { WELCOME_RESUMED } else { 0 };
    let kept = if welcome.leases_kept { WELCOME_LEASES_KEPT } else { 0 };
    Fixed::<75>::new()
        .u16(welcome.version)
        .u8(resumed | kept)
        .array(welcome.cluster_id)
        .u64(welcome.session.0)
        .array(welcome.secret.0)
        .u32(welcome.heartbeat_ms)
        .u32(welcome.session_grace_ms)
        .u32(welcome.frame_bytes_max)
        .u32(welcome.body_bytes_max)
        .u32(welcome.push_jobs_max)
        .u32(welcome.leases_max)
        .u32(welcome.reserve_jobs_max)
        .u32(welcome.in_flight_max)
        .write(out);
    put_text8(out, &welcome.server_name);
    put_list(out, MEMBER_FIXED_BYTES, welcome.members.len());
    for member in &welcome.members {
        let address = shortened(&member.address, usize::from(u8::MAX));
        Fixed::<MEMBER_FIXED_BYTES>::new()
            .u64(member.node)
            .u8(if member.leader { MEMBER_LEADER } else { 0 })
            .length8(address.len())
            .write(out);
        out.put_slice(address.as_bytes());
    }
    out.put_u64_le(welcome.clock_ms);
}

pub(super) fn decode_welcome(reader: &mut Reader<'_>) -> Result<Welcome, DecodeError> {
    let version = reader.u16("version")?;
    let marks = reader.u8("marks")?;
    let cluster_id = reader.array("cluster_id")?;
    let session = SessionId(reader.u64("session")?);
    let secret = SessionSecret(reader.array("secret")?);
    Ok(Welcome {
        version,
        cluster_id,
        session,
        secret,
        resumed: marks & WELCOME_RESUMED != 0,
        leases_kept: marks & WELCOME_LEASES_KEPT != 0,
        heartbeat_ms: reader.u32("heartbeat_ms")?,
        session_grace_ms: reader.u32("session_grace_ms")?,
        frame_bytes_max: reader.u32("frame_bytes_max")?,
        body_bytes_max: reader.u32("body_bytes_max")?,
        push_jobs_max: reader.u32("push_jobs_max")?,
        leases_max: reader.u32("leases_max")?,
        reserve_jobs_max: reader.u32("reserve_jobs_max")?,
        in_flight_max: reader.u32("in_flight_max")?,
        server_name: reader.text8(usize::MAX, "server_name")?,
        members: decode_members(reader)?,
        clock_ms: reader.fields_mut().late_u64("clock_ms")?,
    })
}

fn decode_members(reader: &mut Reader<'_>) -> Result<Vec<Member>, DecodeError> {
    let list = reader.list::<MEMBER_FIXED_BYTES>("members", usize::MAX)?;
    reader.items(list, |reader, mut fields| {
        let node = fields.u64("node")?;
        let marks = fields.u8("marks")?;
        let address_bytes = fields.u8("address")?;
        Ok(Member {
            node,
            leader: marks & MEMBER_LEADER != 0,
            address: reader.text(usize::from(address_bytes), usize::MAX, "address")?,
        })
    })
}

pub(super) fn encode_pong(now: Millis, clock_ms: u64, out: &mut BytesMut) {
    Fixed::<16>::new().u64(now.0).u64(clock_ms).write(out);
}

pub(super) fn decode_pong(reader: &mut Reader<'_>) -> Result<Response, DecodeError> {
    let now = Millis(reader.u64("now")?);
    Ok(Response::Pong { now, clock_ms: reader.fields_mut().late_u64("clock_ms")? })
}

pub(super) fn encode_going_away(message: &str, reason: GoingAway, out: &mut BytesMut) {
    put_text16(out, message);
    out.put_u8(reason as u8);
}

pub(super) fn decode_going_away(reader: &mut Reader<'_>) -> Result<Response, DecodeError> {
    let message = reader.text16(usize::MAX, "message")?;
    let reason = reader.fields_mut().late_u8("reason")?;
    Ok(Response::GoingAway { message, reason: GoingAway::from_u8(reason) })
}

pub(super) fn encode_error(error: &ErrorReply, out: &mut BytesMut) {
    Fixed::<8>::new()
        .u16(error.code as u16)
        .u8(if error.retryable() { ERROR_RETRYABLE } else { 0 })
        .u8(error.applied as u8)
        .u32(error.retry_after_ms)
        .write(out);
    put_text8(out, error.leader.as_deref().unwrap_or_default());
    put_text16(out, &error.message);
}

pub(super) fn decode_error(reader: &mut Reader<'_>) -> Result<ErrorReply, DecodeError> {
    let number = reader.u16("code")?;
    let marks = reader.u8("marks")?;
    let applied = reader.u8("applied")?;
    let retry_after_ms = reader.u32("retry_after_ms")?;
    let leader = reader.text8(usize::MAX, "leader")?;
    Ok(ErrorReply {
        // A newer server may have other codes. The marks of the error tell what to do.
        code: ErrorCode::from_u16(number).unwrap_or(ErrorCode::Unknown),
        is_retryable: marks & ERROR_RETRYABLE != 0 || retry_after_ms > 0,
        applied: if applied == Applied::No as u8 { Applied::No } else { Applied::Unknown },
        retry_after_ms,
        leader: (!leader.is_empty()).then_some(leader),
        message: reader.text16(usize::MAX, "message")?,
    })
}

#[cfg(test)]
mod tests {
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

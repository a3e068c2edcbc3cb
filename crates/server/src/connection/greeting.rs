//! The first frame: it decides whether a client may connect. Nothing reaches the core before that.

use super::ConnectionConfig;
use adjourn_protocol::{
    ErrorCode, ErrorReply, Frame, Hello, Request, RequestOpcode, VERSION, VERSION_MIN, negotiate,
};

/// The HELLO in `frame`, if it is one, of a version that this server speaks.
pub(super) fn check(frame: &Frame, config: &ConnectionConfig) -> Result<Hello, ErrorReply> {
    if frame.header.opcode != RequestOpcode::Hello as u8 {
        return Err(ErrorReply::new(ErrorCode::Unauthenticated, "the first frame must be HELLO"));
    }
    let Request::Hello(hello) = Request::decode(frame, config.body_bytes_max)? else {
        return Err(ErrorReply::new(ErrorCode::Unauthenticated, "the first frame must be HELLO"));
    };
    if negotiate(hello.version_min, hello.version_max).is_none() {
        let message = format!(
            "this server speaks versions {VERSION_MIN} to {VERSION} of the protocol, the client {} to {}",
            hello.version_min, hello.version_max
        );
        return Err(ErrorReply::new(ErrorCode::Unsupported, message));
    }
    Ok(hello)
}

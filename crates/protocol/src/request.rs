//! Requests: the messages of a client. One table has all of them, and everything that the server and the client know of each.

use bytes::BytesMut;

use super::RequestId;
use super::decode_error::DecodeError;
use super::error::ErrorCode;
use super::frame::{self, Frame};
use super::response::Response;
use super::wire::Reader;
use adjourn_types::GroupId;

/// Who answers a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It becomes one command of the log, and is answered once that is applied.
    Change,
    /// It is answered from the applied state, when this node has made sure that it still leads.
    Read,
    /// It has a handler of its own.
    Own,
}

/// Whether a client may send a request again when it does not know if the server got it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeat {
    /// Yes: carrying it out twice does no more than carrying it out once. A push is known by its numbers, what settles by the
    /// lease's fence, the others by what they are.
    Safe,
    /// Only if it names a job by its id: under the key there may be another job meanwhile.
    SafeById,
    /// No.
    Unsafe,
}

/// What every request may be told.
pub const ANY_REQUEST: &[ErrorCode] = ErrorCode::ANY;

/// Makes [`Request`] and [`RequestOpcode`] from a table. An entry is
///
/// ```text
/// /// What it does.
/// Name = opcode, "NAME" -> the opcode of its answer, Kind, Repeat, [the Right that it needs], [what it may be told beside ANY_REQUEST] @ FEATURE_LEVEL
/// ```
///
/// (without the last word where every member knows it), and then nothing, a message that has its own file, or the fields in the order of the wire, numbers with their range.
macro_rules! requests {
    ($(
        $(#[$doc:meta])*
        $name:ident = $number:literal, $text:literal -> $answer:ident, $kind:ident, $repeat:ident, [$($right:ident)?], [$($code:ident),*] $(@ $level:literal)?
        $(($message:ident: $message_type:ty))?
        $({ $($(#[$field_doc:meta])* $field:ident: $field_type:ty $(= $range:expr)?,)+ })?
    )+) => {
        /// One request. Each is answered once, under its request id, in any order.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum Request {
            $($(#[$doc])* $name $(($message_type))? $({ $($(#[$field_doc])* $field: $field_type,)+ })?,)+
        }

        opcodes! {
            /// What a client may send.
            RequestOpcode { $($(#[$doc])* $name = $number, $text;)+ }
        }

        impl RequestOpcode {
            /// What it is answered with, unless it is refused.
            pub fn answer(self) -> ResponseOpcode {
                match self {
                    $(Self::$name => ResponseOpcode::$answer,)+
                }
            }

            /// Who answers it.
            pub fn kind(self) -> Kind {
                match self {
                    $(Self::$name => Kind::$kind,)+
                }
            }

            /// Whether it may be sent again.
            pub fn repeat(self) -> Repeat {
                match self {
                    $(Self::$name => Repeat::$repeat,)+
                }
            }

            /// The right that a client needs for it, to the topic that it is about if there is one.
            pub fn right(self) -> Option<Right> {
                match self {
                    $(Self::$name => None$(.or(Some(Right::$right)))?,)+
                }
            }

            /// The feature level that all members must have before it is proposed.
            pub fn level(self) -> u32 {
                match self {
                    $(Self::$name => 0 $(+ $level)?,)+
                }
            }

            /// What this request may be told beside [`ANY_REQUEST`](crate::ANY_REQUEST), its items included. `protocol.md` has the same table, and the
            /// simulator sees that no server says anything else.
            pub fn refusals(self) -> &'static [ErrorCode] {
                match self {
                    $(Self::$name => &[$(ErrorCode::$code),*],)+
                }
            }
        }

        impl Request {
            /// The number of the message.
            pub fn opcode(&self) -> RequestOpcode {
                match self {
                    $(Self::$name { .. } => RequestOpcode::$name,)+
                }
            }

            pub(crate) fn encode_payload(&self, out: &mut BytesMut) {
                match self {
                    $(Self::$name { $(0: $message)? $($($field,)+)? } => {
                        $($message.put(out);)?
                        $($($field.put(out);)+)?
                    })+
                }
            }

            pub(crate) fn decode_payload(opcode: RequestOpcode, reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
                Ok(match opcode {
                    $(RequestOpcode::$name => Self::$name {
                        $(0: field::take(reader, stringify!($message))?)?
                        $($($field: {
                            let value: $field_type = field::take(reader, stringify!($field))?;
                            $(in_range(value, $range, stringify!($field))?;)?
                            value
                        },)+)?
                    },)+
                })
            }

            /// Refuses what a server with this limit of a body does not accept: exactly what [`Self::decode`] refuses, with the
            /// same error, and texts that encoding would cut. Values with two forms on the wire are left as they are: no new
            /// time to run and one of 0 mean the same, and so do no reason and an empty one.
            pub fn validate(&self, body_bytes_max: usize) -> Result<(), DecodeError> {
                match self {
                    $(Self::$name { $(0: $message)? $($($field,)+)? } => {
                        $($message.check(stringify!($message), body_bytes_max)?;)?
                        $($(
                            $field.check(stringify!($field), body_bytes_max)?;
                            $(in_range(*$field, $range, stringify!($field))?;)?
                        )+)?
                    })+
                }
                Ok(())
            }

            /// What it names of the queue, as the types of its fields say it.
            pub fn subject(&mut self) -> Subject<'_> {
                match self {
                    $(Self::$name { $(0: $message)? $($($field,)+)? } => {
                        Subject::Nothing $(.or($message.subject()))? $($(.or($field.subject()))+)?
                    })+
                }
            }

            /// The leases in it.
            pub fn leases(&self) -> &[Lease] {
                match self {
                    $(Self::$name { $(0: $message)? $($($field,)+)? } => {
                        let found: &[&[Lease]] = &[&[], $($message.leases(),)? $($($field.leases(),)+)?];
                        found.iter().copied().find(|leases| !leases.is_empty()).unwrap_or_default()
                    })+
                }
            }

            /// A copy that does not keep alive the buffer it was read from.
            #[must_use]
            pub fn detached(self) -> Self {
                match self {
                    $(Self::$name { $(0: $message)? $($($field,)+)? } => Self::$name {
                        $(0: $message.detach())?
                        $($($field: $field.detach(),)+)?
                    },)+
                }
            }
        }
    };
}

#[rustfmt::skip]
#[expect(clippy::doc_markdown, reason = "doc texts are those of protocol.md")]
mod table;

pub use table::{Request, RequestOpcode};

impl RequestOpcode {
    /// Whether this may be the answer: what was asked for, or an error that the table has.
    pub fn may_be_answered_with(self, response: &Response) -> bool {
        match response {
            Response::Error(error) => self.may_be_told(error.code),
            response => response.opcode() == self.answer(),
        }
    }

    /// Whether it may be told this.
    pub fn may_be_told(self, code: ErrorCode) -> bool {
        ANY_REQUEST.contains(&code) || self.refusals().contains(&code)
    }
}

impl Request {
    /// True if the connection must have a session for it: it leases jobs, or numbers the jobs that it pushes.
    pub fn needs_session(&self) -> bool {
        match self {
            Self::Reserve(_) | Self::ReserveJob(_) | Self::Subscribe(_) | Self::Leases { .. } => true,
            Self::Push(push) => push.sequence > 0,
            _ => false,
        }
    }

    /// Appends the whole frame to `out` and returns how many bytes it took. The caller compares them with the
    /// `frame_bytes_max` of WELCOME before it sends them: a larger frame costs the connection.
    pub fn encode(&self, id: RequestId, out: &mut BytesMut) -> usize {
        frame::write(out, self.opcode() as u8, id, |out| self.encode_payload(out))
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
        if frame.header.group != GroupId::ONLY {
            return Err(DecodeError::Group(frame.header.group.0));
        }
        Self::decode_payload(opcode, &mut Reader::of_request(&frame.payload, body_bytes_max))
    }
}

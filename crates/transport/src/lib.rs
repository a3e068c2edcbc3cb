//! The byte streams between clients, servers and nodes: TCP, plain or under TLS, as one type.
//!
//! Code that uses a [`Stream`] does not know which of the two it is. TLS is version 1.3 only, which all clients of Adjourn
//! have, and which knows no renegotiation; 1.2 is used only with servers of others, which may not have 1.3. Files of
//! certificates and keys are [read again](fresh) when they change.

mod fresh;
mod stream;
pub mod tls;

pub use fresh::Mark;
pub use stream::{ReadHalf, Stream, WriteHalf};

//! The byte streams between clients, servers and nodes: TCP, plain or under TLS, as one type.
//!
//! Code that uses a [`Stream`] does not know which of the two it is. TLS is version 1.3 only, which all clients of Adjourn
//! have, and which knows no renegotiation; 1.2 is used only with servers of others, which may not have 1.3. Files of
//! certificates and keys are [read again](tls::Mark) when they change.

mod stream;
pub mod tls;

pub use stream::{ReadHalf, Stream, WriteHalf};
pub use tls::Mark;

//! The byte streams between clients, servers and nodes: TCP, plain or under TLS, as one type.
//!
//! Whoever reads and writes a [`Stream`] does not know which of the two it is. TLS is version 1.3 alone: every client of ours has
//! it, and it knows no renegotiation; only with servers of others, which may not have it, 1.2 is spoken too. What the files of
//! certificates and keys say is [read anew](fresh) when they change.

mod fresh;
mod stream;
pub mod tls;

pub use fresh::Mark;
pub use stream::{ReadHalf, Stream, WriteHalf};

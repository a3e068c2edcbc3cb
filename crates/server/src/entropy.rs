//! The only place of the server that draws random bytes.

/// The system has no random bytes to give.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the system gives no random bytes: {0}")]
pub struct NoEntropy(getrandom::Error);

/// Fresh random bytes from the system.
#[expect(clippy::disallowed_methods, reason = "the server's edge: chance enters here")]
pub(super) fn draw<const N: usize>() -> Result<[u8; N], NoEntropy> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(NoEntropy)?;
    Ok(bytes)
}

//! The only place of the server and of the command line that draws random bytes.

/// The system has no random bytes to give.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the system has no random bytes: {0}")]
pub struct NoEntropy(getrandom::Error);

/// Fresh random bytes from the system.
///
/// # Errors
///
/// If the system has none.
#[expect(clippy::disallowed_methods, reason = "the server's edge: chance enters here")]
pub fn draw<const N: usize>() -> Result<[u8; N], NoEntropy> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(NoEntropy)?;
    Ok(bytes)
}

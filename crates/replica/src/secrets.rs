//! Hashing of session secrets: the state keeps only the hash.

use ring::digest::{Context, SHA256};

use adjourn_types::SessionSecret;

/// The hash of a session's secret, bound to the token that opened the session.
pub(super) fn hash_of(secret: SessionSecret, token: &str) -> SessionSecret {
    let mut context = Context::new(&SHA256);
    context.update(b"adjourn session\0");
    context.update(&secret.0);
    context.update(token.as_bytes());
    SessionSecret(context.finish().as_ref().first_chunk().copied().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_is_of_one_token_and_cannot_be_shown_as_the_secret() {
        let secret = SessionSecret([7; 16]);
        let hash = hash_of(secret, "shop");
        assert!(hash == hash_of(secret, "shop") && hash != hash_of(secret, "mail") && hash != secret);
        assert!(hash_of(hash, "shop") != hash);
    }
}

//! Secrets of sessions, and the hashes of them that the state has.

use ring::digest::{Context, SHA256};

use crate::types::SessionSecret;

/// The last byte of every hash of a secret, and of no secret: nobody resumes a session with its hash.
const HASH_MARK: u8 = 0xa5;

/// A fresh secret that is not taken for a hash.
pub(super) fn unmarked(mut secret: SessionSecret) -> SessionSecret {
    if is_hash(secret) {
        secret.0[15] = !HASH_MARK;
    }
    secret
}

pub(super) fn is_hash(secret: SessionSecret) -> bool {
    secret.0[15] == HASH_MARK
}

/// What the state has of the secret of a token's session.
pub(super) fn hash_of(secret: SessionSecret, token: &str) -> SessionSecret {
    let mut context = Context::new(&SHA256);
    context.update(b"adjourn session\0");
    context.update(&secret.0);
    context.update(token.as_bytes());
    let digest = context.finish();
    let mut hash: [u8; 16] = digest.as_ref().first_chunk().copied().unwrap_or_default();
    hash[15] = HASH_MARK;
    SessionSecret(hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_is_of_one_token_and_never_a_secret() {
        let secret = SessionSecret([7; 16]);
        let hash = hash_of(secret, "shop");
        assert!(hash == hash_of(secret, "shop") && hash != hash_of(secret, "mail") && hash != secret);
        assert!(is_hash(hash) && hash_of(hash, "shop") != hash);
        assert!(unmarked(secret) == secret && !is_hash(unmarked(hash)));
    }
}

//! Texts that are cut to a limit.

/// The first bytes of a text, at most `bytes_max`, without half a character.
pub fn first_bytes(text: &str, bytes_max: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes_max)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_character_is_cut() {
        for (bytes_max, first) in [(0, ""), (1, ""), (2, "ü"), (3, "üb"), (4, "übe"), (9, "übe")] {
            assert_eq!(first_bytes("übe", bytes_max), first);
        }
    }
}

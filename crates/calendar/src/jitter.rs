//! A delay that spreads the firings of many schedules, the same on every member.

use adjourn_types::Millis;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// How long after `instant` the schedule `name` fires: 0 to `max_ms`, drawn from both by XXH3.
///
/// Members of different versions must agree, so this function never changes.
pub fn jitter_ms(name: &str, instant: Millis, max_ms: u64) -> u64 {
    let drawn = xxh3_64_with_seed(name.as_bytes(), instant.0);
    max_ms.checked_add(1).map_or(drawn, |choices| drawn % choices)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_frozen() {
        let at = Millis(1_800_000_000_000);
        let drawn = [("a", at), ("b", at), ("a", Millis(at.0 + 1)), ("", Millis(0))]
            .map(|(name, at)| jitter_ms(name, at, 59_999));
        assert_eq!(drawn, [55_654, 13_061, 13_837, 43_138]);
        assert_eq!(jitter_ms("a", at, 0), 0);
        assert_eq!(jitter_ms("", Millis(0), u64::MAX), 0x2d06_8005_38d3_94c2, "XXH3 of nothing");
    }

    #[test]
    fn it_is_spread_evenly() {
        let mut counts = [0_u32; 10];
        for minute in 0..10_000 {
            let drawn = usize::try_from(jitter_ms("report", Millis(minute * 60_000), 9)).expect("small");
            *counts.get_mut(drawn).expect("at most 9") += 1;
        }
        assert!(counts.iter().all(|count| (850..1150).contains(count)), "{counts:?}");
    }
}

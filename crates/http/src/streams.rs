//! Limits of open event streams, for each token and in total.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Most open event streams.
const STREAMS_MAX: usize = 64;
/// Most open event streams of one token, so that it leaves some to the others.
const OF_TOKEN_MAX: usize = 16;

/// The numbers of open streams, by the name of their token, which is empty without tokens.
#[derive(Clone, Debug, Default)]
pub(super) struct Streams(Arc<Mutex<BTreeMap<String, usize>>>);

/// A slot for an open stream, until it is dropped.
#[derive(Debug)]
pub(super) struct StreamSlot {
    streams: Streams,
    token: String,
}

impl Streams {
    /// A slot for one more stream, if there is one.
    pub(super) fn take(&self, token: &str) -> Option<StreamSlot> {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let of_token = open.get(token).copied().unwrap_or(0);
        let is_full = open.values().sum::<usize>() >= STREAMS_MAX;
        if is_full || (of_token >= OF_TOKEN_MAX && !token.is_empty()) {
            return None;
        }
        open.insert(token.to_owned(), of_token + 1);
        Some(StreamSlot { streams: self.clone(), token: token.to_owned() })
    }
}

impl Drop for StreamSlot {
    fn drop(&mut self) {
        let mut open = self.streams.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(of_token) = open.get_mut(&self.token) {
            *of_token -= 1;
            if *of_token == 0 {
                open.remove(&self.token);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_token_takes_all_places() {
        let streams = Streams::default();
        let mut of_a: Vec<StreamSlot> =
            (0..OF_TOKEN_MAX).map(|_| streams.take("a").expect("a place")).collect();
        assert!(streams.take("a").is_none() && streams.take("b").is_some());
        of_a.pop();
        of_a.push(streams.take("a").expect("it is free again"));
        let others: Vec<StreamSlot> = std::iter::from_fn(|| streams.take("")).collect();
        assert_eq!(others.len(), STREAMS_MAX - OF_TOKEN_MAX);
        assert!(streams.take("b").is_none());
        drop((of_a, others));
        assert!(streams.0.lock().expect("unpoisoned").is_empty());
    }
}

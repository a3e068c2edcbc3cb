//! What an operator asks of many jobs: lists, and changes of some at a time.

use adjourn_protocol::{Bulk, Change, List};
use adjourn_types::{Filter, ListOrder, Millis, States, When};
use bytes::Bytes;

use super::super::plan::Pace;
use super::super::random::Random;
use super::producer::{due, key};
use super::{Endpoint, any_topic};

pub(super) fn filter(random: &mut Random) -> Filter {
    let bits = u8::try_from(random.within((1, 15))).expect("it is small");
    let states = if random.percent(60) { States::ALL } else { States::from_bits(bits).expect("some states") };
    Filter {
        topic: random.percent(60).then(|| any_topic(random)),
        states,
        key_prefix: random.percent(20).then(|| Bytes::copy_from_slice(key(random).as_bytes())),
        attempts_min: random.percent(10).then_some(1),
        ..Filter::default()
    }
}

pub(super) fn list(random: &mut Random) -> List {
    List {
        filter: filter(random),
        order: *random.pick(&[ListOrder::Due, ListOrder::Id, ListOrder::Key]),
        jobs_max: *random.pick(&[1, 3, 10, 100]),
        with_bodies: random.percent(20),
        cursor: Bytes::new(),
    }
}

/// It meets few jobs, so that much is known of what it may have done.
pub(super) fn bulk(endpoint: &mut Endpoint, pace: Pace) -> Bulk {
    let change = match endpoint.random.below(10) {
        0..=2 => Change::Delete,
        3 | 4 => Change::Kick,
        5 => Change::RunNow,
        6 | 7 => {
            let at = match due(&mut endpoint.random, endpoint.wall, false, pace) {
                When::At(at) => at,
                When::After(delay_ms) => Millis(endpoint.wall.0 + delay_ms),
            };
            Change::Reschedule { due: at }
        }
        _ => Change::Move { to: any_topic(&mut endpoint.random) },
    };
    let jobs_max = *endpoint.random.pick(&[1, 2, 4]);
    Bulk { change, filter: filter(&mut endpoint.random), jobs_max, cursor: Bytes::new() }
}

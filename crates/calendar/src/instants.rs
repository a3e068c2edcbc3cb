//! A list of instants. They know no zone.

use adjourn_types::Millis;

/// Most instants in one list.
pub const INSTANTS_MAX: usize = 1000;

/// Instants, sorted and without repeats.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instants(Box<[Millis]>);

/// Why a list of instants is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InstantsError {
    /// A list without instants.
    #[error("a list of times has at least one")]
    Empty,
    /// A list with too many instants.
    #[error(
        "a list of times has at most {INSTANTS_MAX}: this one has {0}. Write a cron expression, or several schedules"
    )]
    TooMany(usize),
}

impl Instants {
    /// Sorts the instants, and drops repeats.
    pub fn new(mut instants: Vec<Millis>) -> Result<Self, InstantsError> {
        instants.sort_unstable();
        instants.dedup();
        match instants.len() {
            0 => Err(InstantsError::Empty),
            1..=INSTANTS_MAX => Ok(Self(instants.into_boxed_slice())),
            count => Err(InstantsError::TooMany(count)),
        }
    }

    pub(crate) fn next_after(&self, instant: Millis) -> Option<Millis> {
        self.0.get(self.0.partition_point(|at| *at <= instant)).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_come_in_order_and_once() {
        let instants = Instants::new([30, 10, 20, 10].map(Millis).to_vec()).expect("a list");
        for (after, expected) in [(0, Some(10)), (9, Some(10)), (10, Some(20)), (29, Some(30)), (30, None)] {
            assert_eq!(instants.next_after(Millis(after)), expected.map(Millis), "{after}");
        }
    }

    #[test]
    fn a_list_has_bounds() {
        let list = |count: u64| Instants::new((0..count).map(Millis).collect()).map(|_| ());
        assert_eq!((list(1), list(1000)), (Ok(()), Ok(())));
        assert_eq!((list(0), list(1001)), (Err(InstantsError::Empty), Err(InstantsError::TooMany(1001))));
        let repeated = Instants::new(vec![Millis(7); 5000]);
        assert!(repeated.is_ok(), "repeats do not count");
    }
}

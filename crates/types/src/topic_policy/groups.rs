//! What the groups of a topic's jobs mean: fair turns, limits and order of each group.

use super::{PolicyError, Setting};
use crate::attributes::read_u32;

/// The settings of a topic about the groups of its jobs. Without any, groups mean nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GroupPolicy {
    /// Groups take turns. So they do if there is any other one of these settings.
    pub fair: bool,
    /// Most jobs of one group that are reserved at the same time.
    pub leases_max: Option<u32>,
    /// Most jobs of one group that are delivered per second.
    pub per_second_max: Option<u32>,
    /// How many of them may be delivered at once, after the group was quiet for long enough.
    pub burst: Option<u32>,
    /// One job of a group at a time, in order: the next one is delivered when the one before has ended.
    pub fifo: bool,
    /// What a buried job means in a group in order; [`OnBury::Block`] if nothing is set.
    pub on_bury: Option<OnBury>,
}

/// What a buried job means to a group whose jobs are delivered one at a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnBury {
    /// The jobs behind it wait until it is kicked or deleted.
    #[default]
    Block,
    /// The next job is delivered.
    Continue,
}

/// The one order of a group's jobs that can be set.
const FIFO: &str = "fifo";

impl OnBury {
    const ALL: [Self; 2] = [Self::Block, Self::Continue];

    /// Its name in settings.
    pub fn name(self) -> &'static str {
        match self {
            Self::Block => "block",
            Self::Continue => "continue",
        }
    }
}

impl GroupPolicy {
    /// True if anything is set: then the groups of the topic take turns.
    pub fn is_on(&self) -> bool {
        *self != Self::default()
    }

    pub(super) fn value(&self, setting: Setting) -> Option<Vec<u8>> {
        let number = |value: Option<u32>| value.map(|value| value.to_le_bytes().to_vec());
        match setting {
            Setting::Fair => self.fair.then(|| vec![1]),
            Setting::GroupLeasesMax => number(self.leases_max),
            Setting::GroupRate => number(self.per_second_max),
            Setting::GroupBurst => number(self.burst),
            Setting::GroupOrder => self.fifo.then(|| FIFO.into()),
            Setting::GroupOnBury => self.on_bury.map(|on_bury| on_bury.name().into()),
            _ => None,
        }
    }

    pub(super) fn put(&mut self, setting: Setting, value: &[u8]) -> Result<(), PolicyError> {
        let wrong = PolicyError::OutOfRange { setting };
        let number = || setting.bounded(read_u32(value));
        match setting {
            Setting::Fair if value == [1] => self.fair = true,
            Setting::GroupLeasesMax => self.leases_max = Some(number()?),
            Setting::GroupRate => self.per_second_max = Some(number()?),
            Setting::GroupBurst => self.burst = Some(number()?),
            Setting::GroupOrder if value == FIFO.as_bytes() => self.fifo = true,
            Setting::GroupOnBury => {
                let known = OnBury::ALL.into_iter().find(|known| known.name().as_bytes() == value);
                self.on_bury = Some(known.ok_or(wrong)?);
            }
            _ => return Err(wrong),
        }
        Ok(())
    }

    pub(super) fn take(&mut self, setting: Setting) {
        match setting {
            Setting::Fair => self.fair = false,
            Setting::GroupLeasesMax => self.leases_max = None,
            Setting::GroupRate => self.per_second_max = None,
            Setting::GroupBurst => self.burst = None,
            Setting::GroupOrder => self.fifo = false,
            Setting::GroupOnBury => self.on_bury = None,
            _ => {}
        }
    }
}

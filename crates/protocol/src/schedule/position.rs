//! Where a page of schedules begins: what the server writes into a cursor.

use bytes::Bytes;

use adjourn_types::{JobId, TopicId};

/// The place after which a page of schedules begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SchedulePosition {
    /// The topic of the last schedule before the page; `None` in a list of one topic.
    pub topic: Option<TopicId>,
    /// The last schedule before the page.
    pub schedule: JobId,
}

impl SchedulePosition {
    /// The place as a cursor.
    pub fn to_cursor(self) -> Bytes {
        let topic = self.topic.map(|topic| topic.0.to_be_bytes());
        let topic = topic.iter().flatten();
        topic.copied().chain(self.schedule.0.to_be_bytes()).collect()
    }

    /// The place that a cursor names; `None` if this is no cursor.
    pub fn from_cursor(cursor: &[u8]) -> Option<Self> {
        let (rest, schedule) = cursor.split_last_chunk()?;
        let topic = match rest {
            [] => None,
            topic => Some(TopicId(u32::from_be_bytes(topic.try_into().ok()?))),
        };
        Some(Self { topic, schedule: JobId(u64::from_be_bytes(*schedule)) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_names_its_place() {
        for topic in [None, Some(TopicId(0)), Some(TopicId(u32::MAX))] {
            let place = SchedulePosition { topic, schedule: JobId(7) };
            assert_eq!(SchedulePosition::from_cursor(&place.to_cursor()), Some(place));
        }
        for length in [0, 7, 9, 11, 13] {
            assert_eq!(SchedulePosition::from_cursor(&vec![1; length]), None, "{length} bytes");
        }
    }
}

//! Why a job, a topic or a group gives nothing to a consumer now.

/// A reason that holds a job back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Why {
    /// Nothing holds it back.
    #[default]
    Next = 0,
    /// Its due time has not come.
    Delayed = 1,
    /// The topic is paused.
    TopicPaused = 2,
    /// The topic has as many leases as it may.
    TopicLeases = 3,
    /// The topic has used up its rate.
    TopicRate = 4,
    /// Its group is paused.
    GroupPaused = 5,
    /// Its group has as many leases as it may.
    GroupLeases = 6,
    /// Its group has used up its rate.
    GroupRate = 7,
    /// A job of its group is reserved, and they go one at a time.
    GroupReserved = 8,
    /// A job of its group waits for its next attempt, and they go one at a time.
    GroupRetry = 9,
    /// A job of its group is buried, and they go one at a time.
    GroupBuried = 10,
    /// Jobs of its topic, or of its group, come first.
    Behind = 11,
    /// No consumer waits on the topic.
    NoConsumer = 12,
    /// The calls of the topic are paused.
    CallBackPaused = 13,
    /// A consumer has it.
    Reserved = 14,
    /// It is buried.
    Buried = 15,
    /// It is finished, and remembered.
    Finished = 16,
    /// No job is ready.
    Empty = 17,
    /// The destination of the topic's calls failed: calls are suspended.
    CallBackSuspended = 18,
    /// A reason that only a newer server knows.
    Other = 255,
}

impl Why {
    /// The reasons that this version knows, by number, with their names in HTTP and on the command line.
    pub const ALL: [(Self, &'static str); 19] = [
        (Self::Next, "next"),
        (Self::Delayed, "delayed"),
        (Self::TopicPaused, "topic_paused"),
        (Self::TopicLeases, "topic_leases"),
        (Self::TopicRate, "topic_rate"),
        (Self::GroupPaused, "group_paused"),
        (Self::GroupLeases, "group_leases"),
        (Self::GroupRate, "group_rate"),
        (Self::GroupReserved, "group_reserved"),
        (Self::GroupRetry, "group_retry"),
        (Self::GroupBuried, "group_buried"),
        (Self::Behind, "behind"),
        (Self::NoConsumer, "no_consumer"),
        (Self::CallBackPaused, "call_back_paused"),
        (Self::Reserved, "reserved"),
        (Self::Buried, "buried"),
        (Self::Finished, "finished"),
        (Self::Empty, "empty"),
        (Self::CallBackSuspended, "call_back_suspended"),
    ];

    /// The reason with this number.
    pub fn from_u8(number: u8) -> Self {
        Self::ALL.get(usize::from(number)).map_or(Self::Other, |(why, _)| *why)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::ALL.get(self as usize).map_or("other", |(_, name)| name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_read_as_it_is_written() {
        for (why, name) in Why::ALL {
            assert_eq!((Why::from_u8(why as u8), why.name()), (why, name));
        }
        assert_eq!(
            (Why::from_u8(19), Why::from_u8(255), Why::Other.name()),
            (Why::Other, Why::Other, "other")
        );
    }
}

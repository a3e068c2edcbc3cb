//! The number of each response, and what requests need for theirs. Requests are below 0x80, responses at or above it.
//!
//! The high digit is the group of messages, the low digit counts within it. A number is never reused for another
//! message.

/// Makes an enum of opcodes from their numbers and names.
macro_rules! opcodes {
    ($(#[$meta:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $number:literal, $text:literal;)+ }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum $name {
            $($(#[$doc])* $variant = $number,)+
        }

        impl $name {
            /// Every opcode of this version, for tables and tests.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// The opcode with this number, if it is one of this version's.
            pub fn from_u8(number: u8) -> Option<Self> {
                match number {
                    $($number => Some(Self::$variant),)+
                    _ => None,
                }
            }

            /// The name that `protocol.md` gives it.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)+
                }
            }
        }
    };
}

pub(super) use opcodes;

opcodes! {
    /// What a server may send.
    ResponseOpcode {
        /// The answer to HELLO.
        Welcome = 0x81, "WELCOME";
        /// The answer to PING.
        Pong = 0x82, "PONG";
        /// It is done.
        Done = 0x83, "DONE";
        /// The server is about to close.
        GoingAway = 0x84, "GOING_AWAY";
        /// The outcomes of a PUSH.
        Pushed = 0x90, "PUSHED";
        /// The jobs of a RESERVE.
        Reserved = 0xA0, "RESERVED";
        /// The answer to SUBSCRIBE.
        Subscribed = 0xA1, "SUBSCRIBED";
        /// Jobs of a subscription.
        Deliver = 0xA2, "DELIVER";
        /// Leases of the session.
        Leased = 0xA3, "LEASED";
        /// The outcomes of settling leases.
        Settled = 0xB0, "SETTLED";
        /// One job as it stands.
        Job = 0xC0, "JOB";
        /// One job was changed.
        Changed = 0xC1, "CHANGED";
        /// Jobs were kicked.
        Kicked = 0xC2, "KICKED";
        /// A page of jobs.
        Jobs = 0xC3, "JOBS";
        /// How many jobs there are.
        Counted = 0xC4, "COUNTED";
        /// How many jobs were changed.
        Bulked = 0xC5, "BULKED";
        /// Counts by topic.
        TopicCounts = 0xD0, "TOPIC_COUNTS";
        /// Counts of the queue.
        QueueStats = 0xD1, "QUEUE_STATS";
        /// Clients' connections.
        ConnectionList = 0xD2, "CONNECTION_LIST";
        /// A topic's policy.
        TopicSettings = 0xD3, "TOPIC_SETTINGS";
        /// A backup can be read.
        BackupReady = 0xE0, "BACKUP_READY";
        /// A part of a backup.
        BackupData = 0xE1, "BACKUP_DATA";
        /// The members of the cluster.
        ClusterReport = 0xF0, "CLUSTER_REPORT";
        /// The request failed as a whole.
        Error = 0xFF, "ERROR";
    }
}

#[cfg(test)]
mod tests {
    use super::super::request::RequestOpcode;
    use super::*;

    #[test]
    fn numbers_and_opcodes_are_one_to_one() {
        for number in 0..=u8::MAX {
            let request = RequestOpcode::from_u8(number);
            let response = ResponseOpcode::from_u8(number);
            assert!(request.is_none_or(|opcode| opcode as u8 == number && number < 0x80), "{number:#04x}");
            assert!(response.is_none_or(|opcode| opcode as u8 == number && number >= 0x80), "{number:#04x}");
        }
        let known = (0..=u8::MAX).filter_map(RequestOpcode::from_u8).count();
        assert_eq!(known, RequestOpcode::ALL.len());
        let known = (0..=u8::MAX).filter_map(ResponseOpcode::from_u8).count();
        assert_eq!(known, ResponseOpcode::ALL.len());
    }
}

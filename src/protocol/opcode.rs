//! The number of each message. Requests are below 0x80, responses at or above it.
//!
//! The high digit is the group of messages, the low digit counts within it. A number is never reused for another
//! message.

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

opcodes! {
    /// What a client may send.
    RequestOpcode {
        /// Opens the conversation.
        Hello = 0x01, "HELLO";
        /// Asks for a PONG.
        Ping = 0x02, "PING";
        /// Ends the session.
        Goodbye = 0x03, "GOODBYE";
        /// Adds jobs.
        Push = 0x10, "PUSH";
        /// Waits for jobs.
        Reserve = 0x20, "RESERVE";
        /// Asks for jobs to be sent.
        Subscribe = 0x21, "SUBSCRIBE";
        /// Adds credit.
        Credit = 0x22, "CREDIT";
        /// Ends a subscription.
        Unsubscribe = 0x23, "UNSUBSCRIBE";
        /// Ends the wait of a RESERVE.
        Cancel = 0x24, "CANCEL";
        /// Reads the leases of the session.
        Leases = 0x25, "LEASES";
        /// Jobs are done.
        Finish = 0x30, "FINISH";
        /// Gives jobs back.
        Release = 0x31, "RELEASE";
        /// Leases start anew.
        Touch = 0x32, "TOUCH";
        /// Sets jobs aside.
        Bury = 0x33, "BURY";
        /// Reads one job.
        Get = 0x40, "GET";
        /// Removes one job.
        Delete = 0x41, "DELETE";
        /// Gives one job a new due time.
        Reschedule = 0x42, "RESCHEDULE";
        /// Makes a delayed job ready.
        RunNow = 0x43, "RUN_NOW";
        /// Makes a buried job ready.
        Kick = 0x44, "KICK";
        /// Reads a topic's next job.
        Peek = 0x45, "PEEK";
        /// Makes buried jobs ready.
        KickMany = 0x46, "KICK_MANY";
        /// Shows jobs.
        List = 0x47, "LIST";
        /// Counts jobs.
        Count = 0x48, "COUNT";
        /// Changes jobs.
        Bulk = 0x49, "BULK";
        /// Stops a topic.
        Pause = 0x50, "PAUSE";
        /// Starts a topic again.
        Resume = 0x51, "RESUME";
        /// Counts by topic.
        Topics = 0x52, "TOPICS";
        /// Counts of the queue.
        Stats = 0x53, "STATS";
        /// Lists the clients' connections.
        Connections = 0x54, "CONNECTIONS";
        /// Closes a client's connection.
        Disconnect = 0x55, "DISCONNECT";
        /// Changes a topic's policy.
        TopicSet = 0x56, "TOPIC_SET";
        /// Frees the name of a topic.
        TopicDelete = 0x57, "TOPIC_DELETE";
        /// Reads a topic's policy.
        TopicShow = 0x58, "TOPIC_SHOW";
        /// Asks for a backup.
        BackupBegin = 0x60, "BACKUP_BEGIN";
        /// Reads a part of it.
        BackupRead = 0x61, "BACKUP_READ";
        /// Lets go of it.
        BackupEnd = 0x62, "BACKUP_END";
        /// Asks for the members of the cluster.
        ClusterStatus = 0x70, "CLUSTER_STATUS";
        /// Adds a member.
        ClusterAdd = 0x71, "CLUSTER_ADD";
        /// Removes a member.
        ClusterRemove = 0x72, "CLUSTER_REMOVE";
        /// Hands leadership to a member.
        ClusterTransfer = 0x73, "CLUSTER_TRANSFER";
    }
}

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

<?php

// Generated from schema/*.toml by `make generate`. Do not edit.

declare(strict_types=1);

namespace Adjourn\Protocol;

/** The kinds of frames. Requests are below 0x80, responses at or above. */
enum Opcode: int
{
    /** Opens the conversation; the first frame on every connection. */
    case Hello = 0x01;
    /** Asks for a PONG. */
    case Ping = 0x02;
    /** Ends the session: its leases are given back at once (unless they outlive it). */
    case Goodbye = 0x03;
    /** Adds jobs to one topic. */
    case Push = 0x10;
    /** Long-poll: waits for jobs of some topics. */
    case Reserve = 0x20;
    /** Asks for jobs to be sent as they become ready. */
    case Subscribe = 0x21;
    /** Adds credit to a subscription. */
    case Credit = 0x22;
    /** Ends a subscription; jobs already sent stay leased. */
    case Unsubscribe = 0x23;
    /** Ends the wait of a RESERVE of this connection: it is answered with the jobs that it has got by then, mostly none. */
    case Cancel = 0x24;
    /** Reads the leases that this session holds, in the order of the job ids. Those that outlive their session are not among them. */
    case Leases = 0x25;
    /** Reserves one job, whether it is ready, delayed or buried, and whatever holds its topic or its group back. */
    case ReserveJob = 0x26;
    /** Says that jobs are done: they are removed. */
    case Finish = 0x30;
    /** Gives jobs back, to be attempted again. */
    case Release = 0x31;
    /** Starts the time to run anew. */
    case Touch = 0x32;
    /** Sets jobs aside until somebody kicks them. */
    case Bury = 0x33;
    /** Reads one job. */
    case Get = 0x40;
    /** Removes one job, whatever its state. */
    case Delete = 0x41;
    /** Gives one delayed or ready job a new due time; a buried one is kicked first. */
    case Reschedule = 0x42;
    /** Makes one delayed job ready at once. */
    case RunNow = 0x43;
    /** Makes one buried job ready. */
    case Kick = 0x44;
    /** Reads the next job of a topic without reserving it: the first ready one, else the first delayed. */
    case Peek = 0x45;
    /** Makes buried jobs of a topic ready: by priority, then by when they were due, then by id. */
    case KickMany = 0x46;
    /** Shows jobs, a page at a time. */
    case List = 0x47;
    /** Counts the jobs that match, all together or by when they are due. */
    case Count = 0x48;
    /** Does the same to many jobs, a bounded number with each request. */
    case Bulk = 0x49;
    /** Changes parts of one delayed, ready or buried job. */
    case Edit = 0x4A;
    /** Stops the reserving of a topic's jobs. */
    case Pause = 0x50;
    /** Starts it again. */
    case Resume = 0x51;
    /** Counts by topic. */
    case Topics = 0x52;
    /** Counts of the whole queue, and by topic. */
    case Stats = 0x53;
    /** Lists the clients that are connected to this node, by number. */
    case Connections = 0x54;
    /** Closes the connection of another client to this node. */
    case Disconnect = 0x55;
    /** Changes what a topic decides for its jobs. The topic is made if it is new. */
    case TopicSet = 0x56;
    /** Forgets a topic that has no jobs, with its settings. */
    case TopicDelete = 0x57;
    /** Reads what a topic decides for its jobs. */
    case TopicShow = 0x58;
    /** Moves the clock of a server for tests. Answered when everything that is due by then is carried out. */
    case Advance = 0x59;
    /** Asks for a backup of the state as it is now, to be read over this connection. */
    case BackupBegin = 0x60;
    /** Reads a part of that backup. */
    case BackupRead = 0x61;
    /** Lets go of it. The end of the connection does the same. */
    case BackupEnd = 0x62;
    /** Says when a schedule with these rules would fire, without setting it. */
    case SchedulePreview = 0x6F;
    /** Asks for the members of the cluster and how far each is. Any node answers, also one that is not ready for anything else. */
    case ClusterStatus = 0x70;
    /** Adds the node that listens for its peers at an address; it votes when it has caught up. */
    case ClusterAdd = 0x71;
    /** Removes a member. It cannot come back under its number. */
    case ClusterRemove = 0x72;
    /** Hands leadership to another member. */
    case ClusterTransfer = 0x73;
    /** Changes the settings of one group. With weight 1 and not paused it has none. */
    case GroupSet = 0x74;
    /** Lists the groups of a topic that have a job that is ready or reserved, or settings, a page at a time, by name. */
    case GroupList = 0x75;
    /** Says why a job is not running. */
    case Why = 0x76;
    /** Says why a topic, or one of its groups, gives no job. */
    case TopicWhy = 0x77;
    /** Creates a schedule, or gives the one of this name another content. The topic is made if it is new. */
    case ScheduleSet = 0x78;
    /** Reads one schedule, and what it did of late. */
    case ScheduleShow = 0x79;
    /**
     * Lists schedules of a topic, or of all topics that the token may read, a page at a time: those of a topic in the order in which
     * they were made.
     */
    case ScheduleList = 0x7A;
    /** Forgets a schedule. Its jobs stay. */
    case ScheduleDelete = 0x7B;
    /** Lets a schedule fire no more until it is resumed. */
    case SchedulePause = 0x7C;
    /** Lets a paused schedule fire again. *missed* says what happens to the instants that passed. */
    case ScheduleResume = 0x7D;
    /** Pushes a job of a schedule now, whether an earlier one has ended or not. Its next instant stays. */
    case ScheduleRun = 0x7E;
    /**
     * Pushes jobs for instants of a schedule in a time that has passed, a part at a time: due at once, unless the topic has a job
     * with the key of the instant.
     */
    case ScheduleFill = 0x7F;
    /** The answer to HELLO. */
    case Welcome = 0x81;
    /** The answer to PING: at some moment after it was sent this node led, and the session was connected to it. */
    case Pong = 0x82;
    /** It is done. */
    case Done = 0x83;
    /** Unasked, under request id 0: the server is about to close the connection. */
    case GoingAway = 0x84;
    /** The outcomes of a PUSH: one per job, in order. */
    case Pushed = 0x90;
    /** The jobs of a RESERVE; none when the wait was over first. */
    case Reserved = 0xA0;
    /** The answer to SUBSCRIBE. Jobs follow as DELIVER. */
    case Subscribed = 0xA1;
    /** Unasked, under the request id of the SUBSCRIBE: jobs that are now leased to this session. */
    case Deliver = 0xA2;
    /** A page of the leases that the session holds. */
    case Leased = 0xA3;
    /** The outcomes of FINISH, RELEASE, TOUCH and BURY: one per lease, in order. */
    case Settled = 0xB0;
    /** One job as it stands. */
    case Job = 0xC0;
    /** One job was changed. */
    case Changed = 0xC1;
    /** Jobs were kicked. */
    case Kicked = 0xC2;
    /** A page of jobs. */
    case Jobs = 0xC3;
    /** How many jobs match. */
    case Counted = 0xC4;
    /** How many jobs were changed. */
    case Bulked = 0xC5;
    /** Counts by topic. */
    case TopicCounts = 0xD0;
    /** Counts of the queue. */
    case QueueStats = 0xD1;
    /** Clients' connections. */
    case ConnectionList = 0xD2;
    /** A topic's policy. */
    case TopicSettings = 0xD3;
    /** A backup can be read. */
    case BackupReady = 0xE0;
    /** A part of a backup. */
    case BackupData = 0xE1;
    /** When a schedule would fire. */
    case Instants = 0xEF;
    /** The members of the cluster, as one node sees them. */
    case ClusterReport = 0xF0;
    /** A page of groups. */
    case Groups = 0xF5;
    /** Why a job, a topic or a group gives nothing to a consumer. */
    case Reasons = 0xF6;
    /** A schedule is set. */
    case Scheduled = 0xF8;
    /** One schedule as it stands. */
    case Schedule = 0xF9;
    /** A page of schedules. */
    case Schedules = 0xFA;
    /** A schedule pushed a job. */
    case ScheduleRan = 0xFB;
    /** A part of a time that has passed is filled, or counted. */
    case ScheduleFilled = 0xFC;
    /** The request failed as a whole. */
    case Error = 0xFF;

    /** The response that answers this request. Any request may be answered by Error instead. */
    public function answer(): self
    {
        return match ($this) {
            self::Hello => self::Welcome,
            self::Ping, self::Advance => self::Pong,
            self::Goodbye, self::Credit, self::Unsubscribe, self::Cancel, self::Pause, self::Resume, self::Disconnect, self::TopicSet, self::TopicDelete, self::BackupEnd, self::ClusterAdd, self::ClusterRemove, self::ClusterTransfer, self::GroupSet, self::ScheduleDelete, self::SchedulePause, self::ScheduleResume => self::Done,
            self::Push => self::Pushed,
            self::Reserve, self::ReserveJob => self::Reserved,
            self::Subscribe => self::Subscribed,
            self::Leases => self::Leased,
            self::Finish, self::Release, self::Touch, self::Bury => self::Settled,
            self::Get, self::Peek => self::Job,
            self::Delete, self::Reschedule, self::RunNow, self::Kick, self::Edit => self::Changed,
            self::KickMany => self::Kicked,
            self::List => self::Jobs,
            self::Count => self::Counted,
            self::Bulk => self::Bulked,
            self::Topics => self::TopicCounts,
            self::Stats => self::QueueStats,
            self::Connections => self::ConnectionList,
            self::TopicShow => self::TopicSettings,
            self::BackupBegin => self::BackupReady,
            self::BackupRead => self::BackupData,
            self::SchedulePreview => self::Instants,
            self::ClusterStatus => self::ClusterReport,
            self::GroupList => self::Groups,
            self::Why, self::TopicWhy => self::Reasons,
            self::ScheduleSet => self::Scheduled,
            self::ScheduleShow => self::Schedule,
            self::ScheduleList => self::Schedules,
            self::ScheduleRun => self::ScheduleRan,
            self::ScheduleFill => self::ScheduleFilled,
            default => self::Error,
        };
    }

    /**
     * Whether sending this request twice does no more than sending it once. That of DELETE holds if it names the job by its id,
     * that of PUSH if its jobs have numbers or a key.
     */
    public function isRepeatable(): bool
    {
        return match ($this) {
            self::Ping, self::Goodbye, self::Push, self::Reserve, self::Subscribe, self::Leases, self::Finish, self::Release,
            self::Touch, self::Bury, self::Get, self::Delete, self::Peek, self::List, self::Count, self::Pause,
            self::Resume, self::Topics, self::Stats, self::Connections, self::TopicSet, self::TopicShow, self::SchedulePreview, self::ClusterStatus,
            self::GroupSet, self::GroupList, self::Why, self::TopicWhy, self::ScheduleShow, self::ScheduleList, self::SchedulePause, self::ScheduleResume,
                => true,
            default => false,
        };
    }

    /**
     * Whether this response proves that the session was connected to the leader after the request was sent. RESERVED and
     * DELIVER do only if they have a job.
     */
    public function isProof(): bool
    {
        return match ($this) {
            self::Pong, self::Pushed, self::Reserved, self::Deliver, self::Leased, self::Settled, self::Job, self::Changed,
            self::Kicked, self::TopicCounts, self::QueueStats, self::ConnectionList, self::Instants, self::Groups, self::Reasons, self::Scheduled,
            self::Schedule, self::Schedules, self::ScheduleRan, self::ScheduleFilled,
                => true,
            default => false,
        };
    }
}

<?php

declare(strict_types=1);

namespace Adjourn\Protocol;

/** The kinds of frames. Requests are below 0x80, responses at or above. */
enum Opcode: int
{
    case Hello = 0x01;
    case Ping = 0x02;
    case Goodbye = 0x03;
    case Push = 0x10;
    case Reserve = 0x20;
    case Subscribe = 0x21;
    case Credit = 0x22;
    case Unsubscribe = 0x23;
    case Cancel = 0x24;
    case Leases = 0x25;
    case Finish = 0x30;
    case Release = 0x31;
    case Touch = 0x32;
    case Bury = 0x33;
    case Get = 0x40;
    case Delete = 0x41;
    case Reschedule = 0x42;
    case RunNow = 0x43;
    case Kick = 0x44;
    case Peek = 0x45;
    case KickMany = 0x46;
    case ListJobs = 0x47;
    case Count = 0x48;
    case Bulk = 0x49;
    case Pause = 0x50;
    case Resume = 0x51;
    case Topics = 0x52;
    case Stats = 0x53;
    case Connections = 0x54;
    case Disconnect = 0x55;
    case TopicSet = 0x56;
    case TopicDelete = 0x57;
    case TopicShow = 0x58;
    case BackupBegin = 0x60;
    case BackupRead = 0x61;
    case BackupEnd = 0x62;
    case ClusterStatus = 0x70;
    case ClusterAdd = 0x71;
    case ClusterRemove = 0x72;
    case ClusterTransfer = 0x73;

    case Welcome = 0x81;
    case Pong = 0x82;
    case Done = 0x83;
    case GoingAway = 0x84;
    case Pushed = 0x90;
    case Reserved = 0xA0;
    case Subscribed = 0xA1;
    case Deliver = 0xA2;
    case Leased = 0xA3;
    case Settled = 0xB0;
    case Job = 0xC0;
    case Changed = 0xC1;
    case Kicked = 0xC2;
    case Jobs = 0xC3;
    case Counted = 0xC4;
    case Bulked = 0xC5;
    case TopicCounts = 0xD0;
    case QueueStats = 0xD1;
    case ConnectionList = 0xD2;
    case TopicSettings = 0xD3;
    case BackupReady = 0xE0;
    case BackupData = 0xE1;
    case ClusterReport = 0xF0;
    case Error = 0xFF;

    /** The response that answers this request. Any request may be answered by Error instead. */
    public function answer(): self
    {
        return match ($this) {
            self::Hello => self::Welcome,
            self::Ping => self::Pong,
            self::Push => self::Pushed,
            self::Reserve => self::Reserved,
            self::Subscribe => self::Subscribed,
            self::Leases => self::Leased,
            self::Finish, self::Release, self::Touch, self::Bury => self::Settled,
            self::Get, self::Peek => self::Job,
            self::Delete, self::Reschedule, self::RunNow, self::Kick => self::Changed,
            self::KickMany => self::Kicked,
            self::ListJobs => self::Jobs,
            self::Count => self::Counted,
            self::Bulk => self::Bulked,
            self::Topics => self::TopicCounts,
            self::Stats => self::QueueStats,
            self::Connections => self::ConnectionList,
            self::TopicShow => self::TopicSettings,
            self::BackupBegin => self::BackupReady,
            self::BackupRead => self::BackupData,
            self::ClusterStatus => self::ClusterReport,
            default => self::Done,
        };
    }

    /**
     * Whether sending it twice does no more than sending it once: PUSH by its numbers, what settles by the lease's
     * fence, the others by what they are. DELETE by key and PUSH without numbers are exceptions: see Request.
     */
    public function isRepeatable(): bool
    {
        return match ($this) {
            self::Push, self::Reserve, self::Subscribe, self::Leases,
            self::Finish, self::Release, self::Touch, self::Bury,
            self::Get, self::Delete, self::Peek, self::ListJobs, self::Count,
            self::Pause, self::Resume, self::Topics, self::Stats, self::Connections,
            self::TopicSet, self::TopicShow, self::ClusterStatus, self::Goodbye, self::Ping => true,
            default => false,
        };
    }

    /** Whether it changes nothing: a time-out leaves no outcome unknown. */
    public function isRead(): bool
    {
        return match ($this) {
            self::Get, self::Peek, self::ListJobs, self::Count, self::Leases, self::Topics, self::Stats,
            self::Connections, self::TopicShow, self::ClusterStatus, self::Ping, self::Reserve, self::Subscribe,
            self::BackupBegin, self::BackupRead, self::BackupEnd, self::Cancel, self::Unsubscribe, self::Credit,
            self::Goodbye => true,
            default => false,
        };
    }

    /** Whether this response proves that the session was connected to the leader after the request was sent. */
    public function isProof(): bool
    {
        return match ($this) {
            self::Pong, self::Pushed, self::Settled, self::Job, self::Changed, self::Kicked, self::Leased,
            self::TopicCounts, self::QueueStats, self::ConnectionList => true,
            default => false,
        };
    }
}

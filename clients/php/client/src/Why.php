<?php

declare(strict_types=1);

namespace Adjourn;

use Adjourn\Protocol\ClusterFrames;

/** Why a job, a topic or a group gives nothing to a consumer now. */
enum Why: int
{
    /** Nothing holds it back. */
    case Next = ClusterFrames::WHY_NEXT;
    /** Its due time has not come. */
    case Delayed = ClusterFrames::WHY_DELAYED;
    /** The topic is paused. */
    case TopicPaused = ClusterFrames::WHY_TOPIC_PAUSED;
    /** The topic has as many leases as it may. */
    case TopicLeases = ClusterFrames::WHY_TOPIC_LEASES;
    /** The topic has used up its rate. */
    case TopicRate = ClusterFrames::WHY_TOPIC_RATE;
    /** Its group is paused. */
    case GroupPaused = ClusterFrames::WHY_GROUP_PAUSED;
    /** Its group has as many leases as it may. */
    case GroupLeases = ClusterFrames::WHY_GROUP_LEASES;
    /** Its group has used up its rate. */
    case GroupRate = ClusterFrames::WHY_GROUP_RATE;
    /** A job of its group is reserved, and they go one at a time. */
    case GroupReserved = ClusterFrames::WHY_GROUP_RESERVED;
    /** A job of its group waits for its next attempt, and they go one at a time. */
    case GroupRetry = ClusterFrames::WHY_GROUP_RETRY;
    /** A job of its group is buried, and they go one at a time. */
    case GroupBuried = ClusterFrames::WHY_GROUP_BURIED;
    /** Jobs of its topic, or of its group, come first. */
    case Behind = ClusterFrames::WHY_BEHIND;
    /** No consumer waits on the topic. */
    case NoConsumer = ClusterFrames::WHY_NO_CONSUMER;
    /** The calls of the topic are paused. */
    case CallBackPaused = ClusterFrames::WHY_CALL_BACK_PAUSED;
    /** A consumer has it. */
    case Reserved = ClusterFrames::WHY_RESERVED;
    /** It is buried. */
    case Buried = ClusterFrames::WHY_BURIED;
    /** It is finished, and remembered. */
    case Finished = ClusterFrames::WHY_FINISHED;
    /** No job is ready. */
    case Empty = ClusterFrames::WHY_EMPTY;
    /** The destination of the topic's calls failed: calls are suspended. */
    case CallBackSuspended = ClusterFrames::WHY_CALL_BACK_SUSPENDED;
    /** A reason that only a newer server knows. No frame has this number. */
    case Unknown = -1;

    public static function of(int $number): self
    {
        return self::tryFrom($number) ?? self::Unknown;
    }
}

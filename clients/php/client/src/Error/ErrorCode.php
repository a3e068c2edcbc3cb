<?php

declare(strict_types=1);

namespace Adjourn\Error;

/** Error codes of the protocol. */
enum ErrorCode: int
{
    case Malformed = 1;
    case Unsupported = 2;
    case TooLarge = 3;
    case Unauthorised = 4;
    case Invalid = 5;
    case NotLeader = 16;
    case NoLeader = 17;
    case Busy = 18;
    case DiskFull = 19;
    case Stopping = 20;
    case Unreadable = 21;
    case Paused = 32;
    case Quota = 33;
    case StaleLease = 34;
    case KeyExists = 35;
    case NotFound = 36;
    case Reserved = 37;
    case WrongState = 38;
    case SessionUnknown = 39;
    case OutcomeUnknown = 40;
    case ExpiresBeforeDue = 41;
    case SequenceReused = 42;
    case Changed = 43;

    /** Whether the client leaves this server and continues at another, or here with a new session. */
    public function movesOn(): bool
    {
        return match ($this) {
            self::NotLeader, self::NoLeader, self::Stopping, self::SessionUnknown => true,
            default => false,
        };
    }

    public function isRetryable(): bool
    {
        return match ($this) {
            self::NotLeader, self::NoLeader, self::Busy, self::DiskFull, self::Stopping, self::Paused => true,
            default => false,
        };
    }
}

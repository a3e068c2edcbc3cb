<?php

declare(strict_types=1);

namespace Adjourn;

/** Why a lease is over before its job was settled. */
enum LeaseEnd: string
{
    /** The server said so: to a touch, or after a reconnect that came too late. */
    case Stale = 'the server has ended it';
    /** Its deadline passed. */
    case TimeOver = 'its time is over';
    /** No server vouched for the session within its grace. */
    case PresumedLost = 'no server vouched for it in time';
}

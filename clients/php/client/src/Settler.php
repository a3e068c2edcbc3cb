<?php

declare(strict_types=1);

namespace Adjourn;

/** Acts on leases. Each call throws StaleLease if the lease has ended. */
interface Settler
{
    public function finish(Lease|Job $lease): void;

    public function release(Lease|Job $lease, ?Release $how = null, string $reason = ''): void;

    /** Restarts the lease: its deadline is now plus ttrMs, or plus the job's own ttr. */
    public function touch(Lease|Job $lease, ?int $ttrMs = null): void;

    public function bury(Lease|Job $lease, string $reason = ''): void;
}

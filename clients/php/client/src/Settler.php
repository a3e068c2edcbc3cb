<?php

declare(strict_types=1);

namespace Adjourn;

/** Acts on leases. A call for one lease throws StaleLease if the lease has ended. */
interface Settler
{
    public function finish(Lease|Job $lease): void;

    public function release(Lease|Job $lease, ?Release $how = null, string $reason = ''): void;

    /**
     * Finishes many jobs with one request. A refusal does not affect the others.
     *
     * @param iterable<Lease|Job> $leases
     * @return list<Error\AdjournError|null> per lease why it was refused; a lease that is lost is not sent
     */
    public function finishMany(iterable $leases): array;

    /**
     * Releases many jobs with one request, as `finishMany` finishes them.
     *
     * @param iterable<Lease|Job> $leases
     * @return list<Error\AdjournError|null>
     */
    public function releaseMany(iterable $leases, ?Release $how = null, string $reason = ''): array;

    /** Restarts the lease: its deadline is now plus ttrMs, or plus the job's own ttr. */
    public function touch(Lease|Job $lease, ?int $ttrMs = null): void;

    public function bury(Lease|Job $lease, string $reason = ''): void;
}

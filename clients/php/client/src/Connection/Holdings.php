<?php

declare(strict_types=1);

namespace Adjourn\Connection;

/** The leases that this client has, and those that the server may hold for it although their jobs never came. */
final class Holdings
{
    private const PRUNE_MIN = 1024;

    /** @var array<string, array{job: int, fence: int, until_ms: int}> leases that end with the session */
    private array $held = [];
    private int $pruneAt = self::PRUNE_MIN;
    /** @var list<array{job: int, fence: int}> leases that were presumed lost, and that the server may still hold for this client */
    private array $owed = [];
    public Unseen $unseen;

    public function __construct(
        private readonly LeaseClock $leases,
        private readonly bool $areOutliving,
    ) {
        $this->unseen = new Unseen();
    }

    /**
     * Adds to each job how long it is the client's own, and leaves out those whose lease is over.
     *
     * @param list<array<string, mixed>> $jobs
     * @return list<array<string, mixed>>
     */
    public function receive(array $jobs, int $now): array
    {
        $own = [];
        foreach ($jobs as $job) {
            $this->unseen->came($job['fence']);
            $left = $this->leases->leftMs($now, $job['ttr_left_ms'], $job['deadline_ms']);
            if ($left > 0) {
                $own[] = $job + ['left_ms' => $left, 'until_ms' => $now + $left, 'epoch' => $this->leases->epoch];
                if (!$this->areOutliving) {
                    $this->hold($job, $now, $now + $left);
                }
            }
        }

        return $own;
    }

    /** @param list<array{job: int, fence: int}> $leases that were finished, released or buried */
    public function settled(array $leases): void
    {
        foreach ($leases as $lease) {
            unset($this->held[self::name($lease)]);
        }
    }

    /** They are presumed lost. */
    public function lose(): void
    {
        $this->owed = array_merge($this->owed, array_map(self::lease(...), array_values($this->held)));
        $this->held = [];
    }

    /** The server has taken them back. */
    public function forget(): void
    {
        $this->held = [];
    }

    /** @return list<array{job: int, fence: int}> what was presumed lost and is to be given back, once */
    public function takeOwed(): array
    {
        $owed = $this->owed;
        $this->owed = [];

        return $owed;
    }

    /**
     * Those of the leases in LEASED whose jobs never came, and that no open request settles.
     *
     * @param list<array<string, mixed>> $shown
     * @param array<int, Call> $open
     * @return list<array{job: int, fence: int}>
     */
    public function neverCame(array $shown, array $open): array
    {
        $settling = [];
        foreach ($open as $call) {
            foreach ($call->settles() as $lease) {
                $settling[self::name($lease)] = true;
            }
        }
        $unseen = array_filter($shown, fn (array $job): bool => $this->unseen->isUnseen($job['fence'])
            && !isset($settling[self::name($job)]));

        return array_values(array_map(self::lease(...), $unseen));
    }

    /**
     * @param array{job: int, fence: int} $job
     * @return array{job: int, fence: int}
     */
    public static function lease(array $job): array
    {
        return ['job' => $job['job'], 'fence' => $job['fence']];
    }

    /** @param array{job: int, fence: int} $lease */
    public static function name(array $lease): string
    {
        return "{$lease['job']}-{$lease['fence']}";
    }

    /** @param array<string, mixed> $job */
    private function hold(array $job, int $now, int $untilMs): void
    {
        if (count($this->held) >= $this->pruneAt) {
            // Leases that ended without a word.
            $this->held = array_filter($this->held, static fn (array $lease): bool => $lease['until_ms'] > $now);
            $this->pruneAt = max(self::PRUNE_MIN, 2 * count($this->held));
        }
        $this->held[self::name($job)] = self::lease($job) + ['until_ms' => $untilMs];
    }
}

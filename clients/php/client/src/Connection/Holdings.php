<?php

declare(strict_types=1);

namespace Adjourn\Connection;

use Adjourn\Protocol\Codec;
use Adjourn\Protocol\DeliveryFrames;
use Adjourn\Protocol\Opcode;

/** The leases that this client has, and those that the server may hold for it although their jobs never came. */
final class Holdings
{
    private const PRUNE_MIN = 1024;

    /** @var array<string, array{job: int, fence: int, until_ms: int}> leases that end with the session */
    private array $held = [];
    private int $pruneAt = self::PRUNE_MIN;
    /** @var list<array{job: int, fence: int}> leases that were presumed lost, and that the server may still hold for this client */
    private array $owed = [];
    private readonly Unseen $unseen;

    public function __construct(
        private readonly LeaseClock $leases,
        private readonly Calls $calls,
        private readonly bool $areOutliving,
    ) {
        $this->unseen = new Unseen();
    }

    /**
     * Adds to each job how long it is the client's own, and leaves out those whose lease is over. While leases are presumed
     * lost, everything goes back.
     *
     * @param list<array<string, mixed>> $jobs
     * @return list<array<string, mixed>>
     */
    public function receive(array $jobs, int $now): array
    {
        if ($this->leases->areLost()) {
            $this->giveBack($jobs);

            return [];
        }
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

    /**
     * Gives jobs back that no handler has started. Nobody waits for the answer.
     *
     * @param list<array{job: int, fence: int}> $jobs
     */
    public function giveBack(array $jobs, int $delayMs = Codec::RELEASE_NOT_STARTED): void
    {
        if ($jobs === []) {
            return;
        }
        foreach (array_chunk(array_map(self::lease(...), $jobs), max(1, $this->calls->limits->leasesMax)) as $part) {
            $this->calls->add(Opcode::Release, ['delay_ms' => $delayMs, 'leases' => $part], isOwn: true);
        }
    }

    /** Gives back, once, what was presumed lost: a handler may have begun it. */
    public function giveBackOwed(): void
    {
        $owed = $this->owed;
        $this->owed = [];
        $this->giveBack($owed, 0);
    }

    /** After a resume that kept the leases: asks which ones there are. */
    public function askForUnseen(): void
    {
        $this->unseen->ask();
        $this->ask(0);
    }

    /** The server's leases are no longer compared with those that came. */
    public function trustAll(): void
    {
        $this->unseen->close();
    }

    /**
     * LEASED came. Gives back what never came, and asks for the next page.
     *
     * @param array<string, mixed> $page
     */
    public function shown(array $page): void
    {
        $this->giveBack($this->neverCame($page['jobs']));
        if (($page['marks'] & DeliveryFrames::PAGE_MARKS_MORE) !== 0) {
            $last = end($page['jobs']);
            $this->ask($last === false ? 0 : $last['job']);
        } else {
            $this->unseen->close();
        }
    }

    private function ask(int $after): void
    {
        $fields = ['after' => $after, 'jobs_max' => $this->calls->limits->reserveJobsMax];
        $this->calls->add(Opcode::Leases, $fields, isOwn: true, isFirst: true);
    }

    /**
     * Those of the leases in LEASED whose jobs never came, and that no open request settles.
     *
     * @param list<array<string, mixed>> $shown
     * @return list<array<string, mixed>>
     */
    private function neverCame(array $shown): array
    {
        $settling = [];
        foreach ($this->calls->open as $call) {
            foreach ($call->settles() as $lease) {
                $settling[self::name($lease)] = true;
            }
        }

        return array_values(array_filter($shown, fn (array $job): bool => $this->unseen->isUnseen($job['fence'])
            && !isset($settling[self::name($job)])));
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

    /**
     * @param array{job: int, fence: int} $job
     * @return array{job: int, fence: int}
     */
    private static function lease(array $job): array
    {
        return ['job' => $job['job'], 'fence' => $job['fence']];
    }

    /** @param array{job: int, fence: int} $lease */
    private static function name(array $lease): string
    {
        return "{$lease['job']}-{$lease['fence']}";
    }
}

<?php

// Generated from schema/*.toml by `make generate`. Do not edit.

declare(strict_types=1);

namespace Adjourn\Protocol;

use function count;
use function strlen;

/**
 * Frames about leases.
 *
 * @phpstan-type Lease array{
 *     job: int, // The job's id.
 *     fence: int, // The lease's number, larger for each lease of a job.
 * }
 *
 * @phpstan-type SettleResult array{
 *     code: int, // 0: done; else an error code.
 * }
 */
final class SettleFrames
{
    /**
     * FINISH: Says that jobs are done: they are removed.
     *
     * @param array{
     *     leases: list<Lease>, // 1 to `leases_max` leases.
     * } $f
     */
    public static function encodeFinish(array $f): string
    {
        return self::encodeListOfLease($f['leases']);
    }

    /**
     * RELEASE: Gives jobs back, to be attempted again.
     *
     * @param array{
     *     delay_ms: int, // Whether the attempt counts, and when the next one is: 0 to ten years, or one of the values that `RELEASE_` begins.
     *     leases: list<Lease>, // 1 to `leases_max` leases.
     *     reason?: string, // What each job shows as its last reason from now on, at most 1,024 bytes; empty for none.
     * } $f
     */
    public static function encodeRelease(array $f): string
    {
        $late = '';
        $reason = $f['reason'] ?? '';
        if ($reason !== '') {
            if (strlen($reason) >> 16 !== 0) {
                throw Codec::outOfRange(['reason' => [strlen($reason), 16]]);
            }
            $late = pack('v', strlen($reason)) . $reason;
        }

        return pack('P', $f['delay_ms'])
            . self::encodeListOfLease($f['leases'])
            . $late;
    }

    /**
     * TOUCH: Starts the time to run anew.
     *
     * @param array{
     *     ttr_ms: int, // The leases' new time to run, 100 to 604,800,000; 0 takes the jobs' own.
     *     leases: list<Lease>, // 1 to `leases_max` leases.
     * } $f
     */
    public static function encodeTouch(array $f): string
    {
        if ($f['ttr_ms'] >> 32 !== 0) {
            throw Codec::outOfRange(['ttr_ms' => [$f['ttr_ms'], 32]]);
        }

        return pack('V', $f['ttr_ms'])
            . self::encodeListOfLease($f['leases']);
    }

    /**
     * BURY: Sets jobs aside until somebody kicks them.
     *
     * @param array{
     *     leases: list<Lease>, // 1 to `leases_max` leases.
     *     reason?: string, // As in RELEASE.
     * } $f
     */
    public static function encodeBury(array $f): string
    {
        $late = '';
        $reason = $f['reason'] ?? '';
        if ($reason !== '') {
            if (strlen($reason) >> 16 !== 0) {
                throw Codec::outOfRange(['reason' => [strlen($reason), 16]]);
            }
            $late = pack('v', strlen($reason)) . $reason;
        }

        return self::encodeListOfLease($f['leases'])
            . $late;
    }

    /**
     * SETTLED: The outcomes of FINISH, RELEASE, TOUCH and BURY: one per lease, in order.
     *
     * @return array{
     *     results: list<SettleResult>, // One result per lease, in order.
     * }
     */
    public static function decodeSettled(string $frame): array
    {
        $at = Codec::HEAD_BYTES;
        $f = [];
        $f['results'] = self::decodeListOfSettleResult($frame, $at);

        return $f;
    }

    /**
     * A lease on a job.
     *
     * @param list<Lease> $items
     */
    private static function encodeListOfLease(array $items): string
    {
        $out = pack('vV', 16, count($items));
        foreach ($items as $item) {
            $out .= pack('PP', $item['job'], $item['fence']);
        }

        return $out;
    }

    /**
     * What became of one lease.
     *
     * @return list<SettleResult>
     */
    private static function decodeListOfSettleResult(string $frame, int &$at): array
    {
        [$fixed, $count] = Codec::listHead($frame, $at, 2);
        for ($items = []; $count > 0; --$count) {
            $item = unpack('vcode', $frame, $at);
            $at += $fixed;
            $items[] = $item;
        }

        return $items;
    }
}

<?php

// Generated from schema/*.toml by `make generate`. Do not edit.

declare(strict_types=1);

namespace Adjourn\Protocol;

use function count;
use function strlen;

/**
 * PUSH and its answer.
 *
 * @phpstan-type NewJob array{
 *     due_ms: int, // With due_kind: the due point.
 *     priority: int, // Lower numbers are reserved first; 4,294,967,295 means the topic's default, or 1,024.
 *     ttr_ms: int, // How long a consumer may hold it, 100 to 604,800,000; 0 means the topic's default, or 60,000.
 *     due_kind: int, // How due_ms counts.
 *     if_exists: int, // What happens if a job with this key exists.
 *     key: string, // The user's own id; empty for none.
 *     attributes: string, // Its attributes; empty for none.
 *     body: string, // What the consumer gets; at most `body_bytes_max` bytes.
 * }
 *
 * @phpstan-type PushResult array{
 *     outcome: int, // What became of it.
 *     code: int, // Why it was refused: an error code; else 0.
 *     job: int, // The id that the table of outcomes says, or 0.
 * }
 */
final class PushFrames
{
    /** Milliseconds after the queue accepts the request. */
    public const DUE_KIND_AFTER = 0;
    /** On the wall clock. */
    public const DUE_KIND_AT = 1;

    /**
     * PUSH: Adds jobs to one topic.
     *
     * @param array{
     *     sequence: int, // Number of the first job, see exactly-once push; 0 for no protection against repeats.
     *     topic: string, // The topic of all jobs.
     *     jobs: list<NewJob>, // 1 to `push_jobs_max` jobs.
     *     idempotency?: string, // Instead of a sequence: a number under which a repeat is known, see idempotency keys. Absent or 0 for none.
     *     list_jobs?: int, // How many jobs the list has, if it goes in several PUSHes under one idempotency key. Absent or 0: this PUSH is the whole list.
     * } $f
     */
    public static function encodePush(array $f): string
    {
        if (strlen($f['topic']) >> 8 !== 0) {
            throw Codec::outOfRange(['topic' => [strlen($f['topic']), 8]]);
        }
        $late = '';
        $listJobs = $f['list_jobs'] ?? 0;
        if ($listJobs !== 0) {
            if ($listJobs >> 32 !== 0) {
                throw Codec::outOfRange(['list_jobs' => [$listJobs, 32]]);
            }
            $late = pack('V', $listJobs);
        }
        $idempotency = $f['idempotency'] ?? Codec::NONE;
        if ($late !== '' || $idempotency !== Codec::NONE) {
            if ((strlen($idempotency) ^ 16) !== 0) {
                throw Codec::outOfRange(['idempotency' => [(strlen($idempotency) ^ 16), 0]]);
            }
            $late = pack('a16', $idempotency) . $late;
        }

        return pack('PC', $f['sequence'], strlen($f['topic']))
            . $f['topic']
            . self::encodeListOfNewJob($f['jobs'])
            . $late;
    }

    /**
     * PUSHED: The outcomes of a PUSH: one per job, in order.
     *
     * @return array{
     *     results: list<PushResult>, // One result per job, in order.
     * }
     */
    public static function decodePushed(string $frame): array
    {
        $at = Codec::HEAD_BYTES;
        $f = [];
        $f['results'] = self::decodeListOfPushResult($frame, $at);

        return $f;
    }

    /**
     * One job to push.
     *
     * @param list<NewJob> $items
     */
    private static function encodeListOfNewJob(array $items): string
    {
        $out = pack('vV', 26, count($items));
        foreach ($items as $item) {
            if (
                (($item['due_kind'] | $item['if_exists']) >> 8
                | (strlen($item['key']) | strlen($item['attributes'])) >> 16
                | ($item['priority'] | $item['ttr_ms']) >> 32) !== 0
            ) {
                throw Codec::outOfRange([
                    'priority' => [$item['priority'], 32],
                    'ttr_ms' => [$item['ttr_ms'], 32],
                    'due_kind' => [$item['due_kind'], 8],
                    'if_exists' => [$item['if_exists'], 8],
                    'key' => [strlen($item['key']), 16],
                    'attributes' => [strlen($item['attributes']), 16],
                ]);
            }
            $out .= pack(
                'PVVCCvvV',
                $item['due_ms'],
                $item['priority'],
                $item['ttr_ms'],
                $item['due_kind'],
                $item['if_exists'],
                strlen($item['key']),
                strlen($item['attributes']),
                strlen($item['body']),
            ) . $item['key'] . $item['attributes'] . $item['body'];
        }

        return $out;
    }

    /**
     * What became of one pushed job.
     *
     * @return list<PushResult>
     */
    private static function decodeListOfPushResult(string $frame, int &$at): array
    {
        [$fixed, $count] = Codec::listHead($frame, $at, 11);
        for ($items = []; $count > 0; --$count) {
            $item = unpack('Coutcome/vcode/Pjob', $frame, $at);
            $at += $fixed;
            $items[] = $item;
        }

        return $items;
    }
}

<?php

// Generated from schema/*.toml by `make generate`. Do not edit.

declare(strict_types=1);

namespace Adjourn\Protocol;

use function chr;
use function count;
use function strlen;
use function substr;

/**
 * Frames that get jobs.
 *
 * @phpstan-type Delivered array{
 *     job: int, // Its id; with fence, the lease: send both to settle the job.
 *     fence: int, // The number of the lease.
 *     due_ms: int, // When it was due, on the wall clock.
 *     priority: int, // As pushed.
 *     attempts: int, // Number of times it was reserved, including this one.
 *     ttr_left_ms: int, // Remaining time of the lease when the frame is written.
 *     topic: string, // Its topic.
 *     key: string, // The user's own id; empty for none.
 *     attributes: string, // Its attributes; empty for none.
 *     body: string, // As pushed.
 *     deadline_ms?: int, // When the lease ends, on the clock that WELCOME and PONG of this connection show as `clock_ms`; 0: not shown.
 * }
 */
final class DeliveryFrames
{
    /** There are more. */
    public const PAGE_MARKS_MORE = 1;

    /**
     * RESERVE: Long-poll: waits for jobs of some topics.
     *
     * @param array{
     *     wait_ms: int, // Answer without a job after this time; at most 3,600,000. 0 does not wait: such a RESERVE is ordered like a change.
     *     jobs_max: int, // 1 to `reserve_jobs_max`.
     *     topics: list<string>, // 1 to 64 topics.
     *     weights?: list<int>, // One per topic, in the same order, each at least 1; empty or absent for no weights.
     * } $f
     */
    public static function encodeReserve(array $f): string
    {
        if ($f['jobs_max'] >> 32 !== 0) {
            throw Codec::outOfRange(['jobs_max' => [$f['jobs_max'], 32]]);
        }
        $late = '';
        $weights = $f['weights'] ?? [];
        if ($weights !== []) {
            $late = self::encodeListOfNumbers($weights);
        }

        return pack('PV', $f['wait_ms'], $f['jobs_max'])
            . self::encodeListOfTexts($f['topics'])
            . $late;
    }

    /**
     * SUBSCRIBE: Asks for jobs to be sent as they become ready.
     *
     * @param array{
     *     credit_jobs: int, // Most jobs held at once, at most 65,536.
     *     credit_bytes: int, // Most bytes of bodies held at once, at most 268,435,456.
     *     topics: list<string>, // As in RESERVE.
     *     weights?: list<int>, // As in RESERVE.
     * } $f
     */
    public static function encodeSubscribe(array $f): string
    {
        if ($f['credit_jobs'] >> 32 !== 0) {
            throw Codec::outOfRange(['credit_jobs' => [$f['credit_jobs'], 32]]);
        }
        $late = '';
        $weights = $f['weights'] ?? [];
        if ($weights !== []) {
            $late = self::encodeListOfNumbers($weights);
        }

        return pack('VP', $f['credit_jobs'], $f['credit_bytes'])
            . self::encodeListOfTexts($f['topics'])
            . $late;
    }

    /**
     * CREDIT: Adds credit to a subscription.
     *
     * @param array{
     *     subscription: int, // The request id of SUBSCRIBE.
     *     credit_jobs: int, // More jobs, at most 65,536.
     *     credit_bytes: int, // More bytes, at most 268,435,456.
     * } $f
     */
    public static function encodeCredit(array $f): string
    {
        if (($f['subscription'] | $f['credit_jobs']) >> 32 !== 0) {
            throw Codec::outOfRange(['subscription' => [$f['subscription'], 32], 'credit_jobs' => [$f['credit_jobs'], 32]]);
        }

        return pack('VVP', $f['subscription'], $f['credit_jobs'], $f['credit_bytes']);
    }

    /**
     * UNSUBSCRIBE: Ends a subscription; jobs already sent stay leased.
     *
     * @param array{
     *     subscription: int, // The request id of SUBSCRIBE.
     * } $f
     */
    public static function encodeUnsubscribe(array $f): string
    {
        if ($f['subscription'] >> 32 !== 0) {
            throw Codec::outOfRange(['subscription' => [$f['subscription'], 32]]);
        }

        return pack('V', $f['subscription']);
    }

    /**
     * CANCEL: Ends the wait of a RESERVE of this connection: it is answered with the jobs that it has got by then, mostly none.
     *
     * @param array{
     *     request: int, // The request id of RESERVE.
     * } $f
     */
    public static function encodeCancel(array $f): string
    {
        if ($f['request'] >> 32 !== 0) {
            throw Codec::outOfRange(['request' => [$f['request'], 32]]);
        }

        return pack('V', $f['request']);
    }

    /**
     * LEASES: Reads the leases that this session holds, in the order of the job ids. Those that outlive their session are not among
     * them.
     *
     * @param array{
     *     after: int, // A job id: list only later ones. 0 for the first page.
     *     jobs_max: int, // 1 to `reserve_jobs_max`.
     * } $f
     */
    public static function encodeLeases(array $f): string
    {
        if ($f['jobs_max'] >> 32 !== 0) {
            throw Codec::outOfRange(['jobs_max' => [$f['jobs_max'], 32]]);
        }

        return pack('PV', $f['after'], $f['jobs_max']);
    }

    /**
     * RESERVE_JOB: Reserves one job, whether it is ready, delayed or buried, and whatever holds its topic or its group back.
     *
     * @param array{
     *     ref: array{job: int}|array{topic: string, key: string}, // The job.
     * } $f
     */
    public static function encodeReserveJob(array $f): string
    {
        return self::encodeReference($f['ref']);
    }

    /**
     * RESERVED: The jobs of a RESERVE; none when the wait was over first.
     *
     * @return array{
     *     jobs: list<Delivered>, // The jobs.
     * }
     */
    public static function decodeReserved(string $frame): array
    {
        $at = Codec::HEAD_BYTES;
        $f = [];
        $f['jobs'] = self::decodeListOfDelivered($frame, $at);

        return $f;
    }

    /**
     * DELIVER: Unasked, under the request id of the SUBSCRIBE: jobs that are now leased to this session.
     *
     * @return array{
     *     jobs: list<Delivered>, // The jobs.
     * }
     */
    public static function decodeDeliver(string $frame): array
    {
        $at = Codec::HEAD_BYTES;
        $f = [];
        $f['jobs'] = self::decodeListOfDelivered($frame, $at);

        return $f;
    }

    /**
     * LEASED: A page of the leases that the session holds.
     *
     * @return array{
     *     marks: int, // What is so.
     *     jobs: list<Delivered>, // The jobs, by id.
     * }
     */
    public static function decodeLeased(string $frame): array
    {
        $at = Codec::HEAD_BYTES;
        $f = Codec::fixed('Cmarks', 1, $frame, $at);
        $f['jobs'] = self::decodeListOfDelivered($frame, $at);

        return $f;
    }

    /** @param list<string> $texts */
    private static function encodeListOfTexts(array $texts): string
    {
        $out = pack('vV', 1, count($texts));
        foreach ($texts as $text) {
            $out .= chr(Codec::narrow(strlen($text), 8, 'a text')) . $text;
        }

        return $out;
    }

    /** @param list<int> $numbers */
    private static function encodeListOfNumbers(array $numbers): string
    {
        $out = pack('vV', 2, count($numbers));
        foreach ($numbers as $number) {
            $out .= pack('v', Codec::narrow($number, 16, 'a number'));
        }

        return $out;
    }

    /** @param array{job: int}|array{topic: string, key: string} $ref */
    private static function encodeReference(array $ref): string
    {
        if (isset($ref['job'])) {
            return pack('CP', 0, $ref['job']);
        }
        if (strlen($ref['topic']) >> 8 !== 0 || strlen($ref['key']) >> 16 !== 0) {
            throw Codec::outOfRange(['topic' => [strlen($ref['topic']), 8], 'key' => [strlen($ref['key']), 16]]);
        }

        return pack('CC', 1, strlen($ref['topic'])) . $ref['topic'] . pack('v', strlen($ref['key'])) . $ref['key'];
    }

    /**
     * A job that is now leased to the session.
     *
     * @return list<Delivered>
     */
    private static function decodeListOfDelivered(string $frame, int &$at): array
    {
        [$fixed, $count] = Codec::listHead($frame, $at, 45);
        $format = 'Pjob/Pfence/Pdue_ms/Vpriority/Vattempts/Vttr_left_ms/Ctopic/vkey/vattributes/Vbody';
        [$late, $absent] = match (true) {
            $fixed >= 53 => ['/Pdeadline_ms', []],
            $fixed === 45 => ['', ['deadline_ms' => 0]],
            default => throw Malformed::cutOff(),
        };
        $format .= $late;
        $end = strlen($frame);
        for ($items = []; $count > 0; --$count) {
            if ($fixed > $end - $at) {
                throw Malformed::cutOff();
            }
            $item = unpack($format, $frame, $at);
            if ($absent !== []) {
                $item += $absent;
            }
            $at += $fixed;
            if ($item['topic'] + $item['key'] + $item['attributes'] + $item['body'] > $end - $at) {
                throw Malformed::cutOff();
            }
            $bytes = $item['topic'];
            $item['topic'] = substr($frame, $at, $bytes);
            $at += $bytes;
            if ($bytes !== 0 && preg_match('//u', $item['topic']) !== 1) {
                throw Malformed::noText();
            }
            $bytes = $item['key'];
            $item['key'] = substr($frame, $at, $bytes);
            $at += $bytes;
            if ($bytes !== 0 && preg_match('//u', $item['key']) !== 1) {
                throw Malformed::noText();
            }
            $bytes = $item['attributes'];
            $item['attributes'] = substr($frame, $at, $bytes);
            $at += $bytes;
            $bytes = $item['body'];
            $item['body'] = substr($frame, $at, $bytes);
            $at += $bytes;
            $items[] = $item;
        }

        return $items;
    }
}

<?php

// Generated from schema/*.toml by `make generate`. Do not edit.

declare(strict_types=1);

namespace Adjourn\Protocol;

use function chr;
use function in_array;
use function ord;
use function strlen;
use function substr;

/** The attributes of a job, by name. Those that this version does not know are kept as they came, in `unknown`. */
final class AttributesCodec
{
    /** One wait, always the same. */
    public const BACKOFF_KIND_FIXED = 0;
    /** Step, maximum: a step more after each attempt. */
    public const BACKOFF_KIND_LINEAR = 1;
    /** First, maximum: twice as long after each attempt. */
    public const BACKOFF_KIND_EXPONENTIAL = 2;
    /** 1 to 32 waits, one after the other; the last one repeats. */
    public const BACKOFF_KIND_LIST = 3;

    /**
     * @param array{
     *     headers?: list<array{string, string}>, // Name length `u8`, name of at least 1 byte, value; all texts. At most 1,024 bytes of names and values in total (`TOO_LARGE`).
     *     expires?: array{kind: int, ms: int}, // Kind `u8` (0 after, 1 at), `u64` milliseconds; *after* at most `DELAY_MS_MAX`. The job is dropped at that time; if it is reserved then, it is dropped when its lease ends without FINISH; if a clock was set forward past it, it is dropped later. It must be later than the due time, or the job is refused with `EXPIRES_BEFORE_DUE`.
     *     attempts_max?: int, // `u32`, at least 1. After this many failed attempts the job is buried; see retries.
     *     backoff?: array{kind: int, jitter: int, waits_ms: list<int>}, // Kind `u8`, jitter `u8` (0 to 100 percent), then `u32` milliseconds: 0 fixed: the wait; 1 linear: step, maximum; 2 exponential: first, maximum; 3 list: 1 to 32 waits, the last one repeats.
     *     group?: string, // Text, 1 to `GROUP_BYTES_MAX` bytes without control characters (`INVALID`): the group that the job belongs to, such as a tenant.
     *     dedupe_retention_ms?: int, // `u64` milliseconds, at most `DEDUPE_RETENTION_MS_MAX` (`INVALID`): how long the job is remembered after FINISH. 0 is as if the attribute were not there.
     *     created_at_ms?: int, // `u64`, set by the producer.
     *     schedule_reference?: string, // Opaque.
     *     postpone_max_ms?: int, // `u64` milliseconds, at most `DELAY_MS_MAX` (`INVALID`): see PUSH. It only means something in a push that postpones.
     *     buried?: string, // Text, at most `REASON_BYTES_MAX` bytes, may be empty: the job is buried from the start, for this reason, as one is that comes from elsewhere and was set aside there. Broken or longer: `MALFORMED`. It only means something in a push; the job itself does not have it, and a schedule cannot (`INVALID`).
     *     unknown?: list<array{int, string}>, // Tags and values that this version does not know.
     * } $a
     */
    public static function encode(array $a): string
    {
        $out = '';
        foreach ($a['headers'] ?? [] as $one) {
            $out .= self::element(0x0001, self::encodeHeader($one));
        }
        if (isset($a['expires'])) {
            $out .= self::element(0x8002, self::encodeExpiry($a['expires']));
        }
        if (isset($a['attempts_max'])) {
            $out .= self::element(0x8003, pack('V', Codec::narrow($a['attempts_max'], 32, 'attempts_max')));
        }
        if (isset($a['backoff'])) {
            $out .= self::element(0x8004, self::encodeBackoff($a['backoff']));
        }
        if (isset($a['group'])) {
            $out .= self::element(0x0005, $a['group']);
        }
        if (isset($a['dedupe_retention_ms'])) {
            $out .= self::element(0x0006, pack('P', $a['dedupe_retention_ms']));
        }
        if (isset($a['created_at_ms'])) {
            $out .= self::element(0x0007, pack('P', $a['created_at_ms']));
        }
        if (isset($a['schedule_reference'])) {
            $out .= self::element(0x0008, $a['schedule_reference']);
        }
        if (isset($a['postpone_max_ms'])) {
            $out .= self::element(0x0009, pack('P', $a['postpone_max_ms']));
        }
        if (isset($a['buried'])) {
            $out .= self::element(0x800B, $a['buried']);
        }

        return ($a['unknown'] ?? []) === [] ? $out : Tagged::merge($out, $a['unknown']);
    }

    /**
     * What `encode` was given.
     *
     * @return array<string, mixed>
     * @throws Malformed
     */
    public static function decode(string $bytes): array
    {
        $a = [];
        foreach (Tagged::decode($bytes) as [$tag, $value]) {
            switch ($tag) {
                case 0x0001:
                    $a['headers'][] = self::decodeHeader($value);
                    break;
                case 0x8002:
                    $a['expires'] = self::decodeExpiry($value);
                    break;
                case 0x8003:
                    $a['attempts_max'] = Tagged::number('V', $value);
                    break;
                case 0x8004:
                    if (($known = self::decodeBackoff($value)) !== null) {
                        $a['backoff'] = $known;
                    } else {
                        $a['unknown'][] = [$tag, $value];
                    }
                    break;
                case 0x0005:
                    $a['group'] = $value;
                    break;
                case 0x0006:
                    $a['dedupe_retention_ms'] = Tagged::number('P', $value);
                    break;
                case 0x0007:
                    $a['created_at_ms'] = Tagged::number('P', $value);
                    break;
                case 0x0008:
                    $a['schedule_reference'] = $value;
                    break;
                case 0x0009:
                    $a['postpone_max_ms'] = Tagged::number('P', $value);
                    break;
                case 0x800B:
                    $a['buried'] = $value;
                    break;
                default:
                    $a['unknown'][] = [$tag, $value];
            }
        }

        return $a;
    }

    /**
     * One header.
     *
     * @param array{string, string} $of
     */
    private static function encodeHeader(array $of): string
    {
        return chr(Codec::narrow(strlen($of[0]), 8, 'name')) . $of[0] . $of[1];
    }

    /**
     * One header.
     *
     * @return array{string, string}
     */
    private static function decodeHeader(string $value): array
    {
        $bytes = $value === '' ? 256 : ord($value[0]);
        if (strlen($value) <= $bytes) {
            throw Malformed::element('header');
        }

        return [substr($value, 1, $bytes), substr($value, 1 + $bytes)];
    }

    /**
     * When a job expires.
     *
     * @param array{kind: int, ms: int} $of
     */
    private static function encodeExpiry(array $of): string
    {
        return pack('CP', Codec::narrow($of['kind'], 8, 'kind'), $of['ms']);
    }

    /**
     * When a job expires.
     *
     * @return array{kind: int, ms: int}
     */
    private static function decodeExpiry(string $value): array
    {
        if (strlen($value) !== 9) {
            throw Malformed::element('expiry');
        }
        $of = unpack('Ckind/Pms', $value);

        return $of;
    }

    /**
     * The wait between attempts.
     *
     * @param array{kind: int, jitter: int, waits_ms: list<int>} $of
     */
    private static function encodeBackoff(array $of): string
    {
        return pack('CC', Codec::narrow($of['kind'], 8, 'kind'), Codec::narrow($of['jitter'], 8, 'jitter')) . pack('V*', ...$of['waits_ms']);
    }

    /**
     * The wait between attempts.
     * Null if its kind is one that only a newer server knows.
     *
     * @return array{kind: int, jitter: int, waits_ms: list<int>}|null
     */
    private static function decodeBackoff(string $value): ?array
    {
        if (strlen($value) < 2) {
            throw Malformed::element('backoff');
        }
        $of = unpack('Ckind/Cjitter', $value);
        if (!in_array($of['kind'], [0, 1, 2, 3], true)) {
            return null;
        }
        $bytes = strlen($value) - 2;
        if ($bytes % 4 !== 0 || $bytes < 4 || $bytes > 128) {
            throw Malformed::element('backoff');
        }
        $of['waits_ms'] = array_values(unpack('V*', $value, 2));

        return $of;
    }

    private static function element(int $tag, string $value): string
    {
        return pack('vv', $tag, strlen($value)) . $value;
    }
}

<?php

// Generated from schema/*.toml by `make generate`. Do not edit.

declare(strict_types=1);

namespace Adjourn\Protocol;

use function array_key_exists;
use function in_array;
use function strlen;

/** The settings of a topic, by name. Null takes a setting away. Those that this version does not know are skipped. */
final class SettingsCodec
{
    /** Late jobs come due no faster than this many per second. */
    public const LATE_ACTION_RATE = 0;
    /** It becomes due anew within this many milliseconds. */
    public const LATE_ACTION_SPREAD = 1;
    /** It is buried; the value is 0. */
    public const LATE_ACTION_BURY = 2;
    /** It is dropped, and counted as expired; the value is 0. */
    public const LATE_ACTION_DROP = 3;

    /**
     * @param array{
     *     ttr_ms?: int|null, // The time to run of a job that is pushed with ttr_ms 0.
     *     priority?: int|null, // The priority of a job that is pushed with 4,294,967,295, up to 4,294,967,294.
     *     attempts_max?: int|null, // The *attempts max* of a job that has none, at least 1.
     *     backoff?: array{kind: int, jitter: int, waits_ms: list<int>}|null, // The backoff of a job that has none.
     *     expires_after_ms?: int|null, // A job without an expiry expires this long after it is due, in milliseconds, up to `DELAY_MS_MAX`.
     *     jobs_max?: int|null, // A push that would add a job beyond this number is refused with `QUOTA`.
     *     bytes_max?: int|null, // A push that would take *bytes* beyond this is refused with `QUOTA`.
     *     body_max?: int|null, // A larger body is refused with `TOO_LARGE`.
     *     leases_max?: int|null, // No more jobs are reserved at the same time.
     *     rate?: int|null, // Deliveries per second, 1 to 1,000,000, evenly spread: at most a tenth of a second's worth comes at once.
     *     late?: array{after_ms: int, action: int, value: int}|null, // A job is late when it was due longer ago than the first value, in milliseconds; what happens then, and the number that belongs to it.
     *     dead_letters?: string|null, // The topic that takes the jobs that would be buried here.
     *     remember_ms?: int|null, // How long a finished job is remembered that does not say it, in milliseconds, up to `DEDUPE_RETENTION_MS_MAX`.
     *     call_back?: string|null, // The URL that the server calls when a job is due: `http://` or `https://`, a name or an IP address, perhaps a port from 1 to 65535, and a path without `.` and `..`.
     *     call_back_method?: string|null, // `GET`, `POST`, `PUT`, `PATCH` or `DELETE`; POST without it.
     *     call_back_headers?: string|null, // Lines of `Name: value`, none of a header that frames a request, of `Adjourn-*` or of `Webhook-*`.
     *     call_back_body?: string|null, // What is sent in place of the job's body.
     *     call_back_timeout_ms?: int|null, // How long a call may take, in milliseconds.
     *     call_back_concurrency?: int|null, // Calls at the same time, from 1.
     *     call_back_rate?: int|null, // Calls per second, evenly spread, 1 to 1,000,000.
     *     call_back_secrets?: string|null, // Under which name the servers have the secrets that sign calls: `A-Z a-z 0-9 . _ -`.
     *     call_back_refused?: string|null, // `bury` or `retry`: what becomes of a job whose call gets a status from 400 to 499.
     *     call_back_retry_if?: string|null, // A condition on the reply under which the call counts as failed.
     *     call_back_success?: string|null, // `status` or `reply`: what success is known by.
     *     call_back_of_job?: bool|null, // A job may name the URL itself, in its header `call-back`.
     *     call_back_log_ms?: int|null, // How long attempts can be looked up, in milliseconds, from 1.
     *     call_back_paused?: bool|null, // No calls are made.
     *     call_back_delay_ms?: int|null, // How long a job waits that a caller of php-delayqueue pushes without a time, in milliseconds, up to `DELAY_MS_MAX`.
     *     fair?: bool|null, // Groups take turns. So they do with any of the settings below.
     *     group_leases_max?: int|null, // Most jobs of one group that are reserved at the same time, at least 1.
     *     group_per_second_max?: int|null, // Most jobs of one group that are delivered per second, 1 to `RATE_PER_SECOND_MAX`.
     *     group_burst?: int|null, // How many of them may be delivered at once, 1 to `RATE_PER_SECOND_MAX`; without it a tenth of the rate, at least 1.
     *     group_order?: string|null, // `fifo`: one job of a group at a time, and the next one when that has ended.
     *     group_on_bury?: string|null, // With `fifo`, what a buried job means to those behind it: `block` (the default) or `continue`.
     * } $a
     */
    public static function encode(array $a): string
    {
        $out = '';
        if (array_key_exists('ttr_ms', $a)) {
            $out .= self::element(0x0001, $a['ttr_ms'] === null ? '' : pack('V', Codec::narrow($a['ttr_ms'], 32, 'ttr_ms')));
        }
        if (array_key_exists('priority', $a)) {
            $out .= self::element(0x0002, $a['priority'] === null ? '' : pack('V', Codec::narrow($a['priority'], 32, 'priority')));
        }
        if (array_key_exists('attempts_max', $a)) {
            $out .= self::element(0x0003, $a['attempts_max'] === null ? '' : pack('V', Codec::narrow($a['attempts_max'], 32, 'attempts_max')));
        }
        if (array_key_exists('backoff', $a)) {
            $out .= self::element(0x0004, $a['backoff'] === null ? '' : self::encodeBackoff($a['backoff']));
        }
        if (array_key_exists('expires_after_ms', $a)) {
            $out .= self::element(0x0005, $a['expires_after_ms'] === null ? '' : pack('P', $a['expires_after_ms']));
        }
        if (array_key_exists('jobs_max', $a)) {
            $out .= self::element(0x0006, $a['jobs_max'] === null ? '' : pack('P', $a['jobs_max']));
        }
        if (array_key_exists('bytes_max', $a)) {
            $out .= self::element(0x0007, $a['bytes_max'] === null ? '' : pack('P', $a['bytes_max']));
        }
        if (array_key_exists('body_max', $a)) {
            $out .= self::element(0x0008, $a['body_max'] === null ? '' : pack('V', Codec::narrow($a['body_max'], 32, 'body_max')));
        }
        if (array_key_exists('leases_max', $a)) {
            $out .= self::element(0x0009, $a['leases_max'] === null ? '' : pack('V', Codec::narrow($a['leases_max'], 32, 'leases_max')));
        }
        if (array_key_exists('rate', $a)) {
            $out .= self::element(0x000A, $a['rate'] === null ? '' : pack('V', Codec::narrow($a['rate'], 32, 'rate')));
        }
        if (array_key_exists('late', $a)) {
            $out .= self::element(0x000B, $a['late'] === null ? '' : self::encodeLate($a['late']));
        }
        if (array_key_exists('dead_letters', $a)) {
            $out .= self::element(0x000C, $a['dead_letters'] === null ? '' : $a['dead_letters']);
        }
        if (array_key_exists('remember_ms', $a)) {
            $out .= self::element(0x000D, $a['remember_ms'] === null ? '' : pack('P', $a['remember_ms']));
        }
        if (array_key_exists('call_back', $a)) {
            $out .= self::element(0x000E, $a['call_back'] === null ? '' : $a['call_back']);
        }
        if (array_key_exists('call_back_method', $a)) {
            $out .= self::element(0x000F, $a['call_back_method'] === null ? '' : $a['call_back_method']);
        }
        if (array_key_exists('call_back_headers', $a)) {
            $out .= self::element(0x0010, $a['call_back_headers'] === null ? '' : $a['call_back_headers']);
        }
        if (array_key_exists('call_back_body', $a)) {
            $out .= self::element(0x0011, $a['call_back_body'] === null ? '' : $a['call_back_body']);
        }
        if (array_key_exists('call_back_timeout_ms', $a)) {
            $out .= self::element(0x0012, $a['call_back_timeout_ms'] === null ? '' : pack('V', Codec::narrow($a['call_back_timeout_ms'], 32, 'call_back_timeout_ms')));
        }
        if (array_key_exists('call_back_concurrency', $a)) {
            $out .= self::element(0x0013, $a['call_back_concurrency'] === null ? '' : pack('V', Codec::narrow($a['call_back_concurrency'], 32, 'call_back_concurrency')));
        }
        if (array_key_exists('call_back_rate', $a)) {
            $out .= self::element(0x0014, $a['call_back_rate'] === null ? '' : pack('V', Codec::narrow($a['call_back_rate'], 32, 'call_back_rate')));
        }
        if (array_key_exists('call_back_secrets', $a)) {
            $out .= self::element(0x0015, $a['call_back_secrets'] === null ? '' : $a['call_back_secrets']);
        }
        if (array_key_exists('call_back_refused', $a)) {
            $out .= self::element(0x0016, $a['call_back_refused'] === null ? '' : $a['call_back_refused']);
        }
        if (array_key_exists('call_back_retry_if', $a)) {
            $out .= self::element(0x0017, $a['call_back_retry_if'] === null ? '' : $a['call_back_retry_if']);
        }
        if (array_key_exists('call_back_success', $a)) {
            $out .= self::element(0x0018, $a['call_back_success'] === null ? '' : $a['call_back_success']);
        }
        if (array_key_exists('call_back_of_job', $a)) {
            $out .= self::element(0x0019, $a['call_back_of_job'] === null ? '' : ($a['call_back_of_job'] ? "\x01" : ''));
        }
        if (array_key_exists('call_back_log_ms', $a)) {
            $out .= self::element(0x001A, $a['call_back_log_ms'] === null ? '' : pack('P', $a['call_back_log_ms']));
        }
        if (array_key_exists('call_back_paused', $a)) {
            $out .= self::element(0x001B, $a['call_back_paused'] === null ? '' : ($a['call_back_paused'] ? "\x01" : ''));
        }
        if (array_key_exists('call_back_delay_ms', $a)) {
            $out .= self::element(0x001C, $a['call_back_delay_ms'] === null ? '' : pack('P', $a['call_back_delay_ms']));
        }
        if (array_key_exists('fair', $a)) {
            $out .= self::element(0x001D, $a['fair'] === null ? '' : ($a['fair'] ? "\x01" : ''));
        }
        if (array_key_exists('group_leases_max', $a)) {
            $out .= self::element(0x001E, $a['group_leases_max'] === null ? '' : pack('V', Codec::narrow($a['group_leases_max'], 32, 'group_leases_max')));
        }
        if (array_key_exists('group_per_second_max', $a)) {
            $out .= self::element(0x001F, $a['group_per_second_max'] === null ? '' : pack('V', Codec::narrow($a['group_per_second_max'], 32, 'group_per_second_max')));
        }
        if (array_key_exists('group_burst', $a)) {
            $out .= self::element(0x0020, $a['group_burst'] === null ? '' : pack('V', Codec::narrow($a['group_burst'], 32, 'group_burst')));
        }
        if (array_key_exists('group_order', $a)) {
            $out .= self::element(0x0021, $a['group_order'] === null ? '' : $a['group_order']);
        }
        if (array_key_exists('group_on_bury', $a)) {
            $out .= self::element(0x0022, $a['group_on_bury'] === null ? '' : $a['group_on_bury']);
        }

        return $out;
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
                    $a['ttr_ms'] = $value === '' ? null : Tagged::number('V', $value);
                    break;
                case 0x0002:
                    $a['priority'] = $value === '' ? null : Tagged::number('V', $value);
                    break;
                case 0x0003:
                    $a['attempts_max'] = $value === '' ? null : Tagged::number('V', $value);
                    break;
                case 0x0004:
                    if ($value === '') {
                        $a['backoff'] = null;
                    } elseif (($known = self::decodeBackoff($value)) !== null) {
                        $a['backoff'] = $known;
                    }
                    break;
                case 0x0005:
                    $a['expires_after_ms'] = $value === '' ? null : Tagged::number('P', $value);
                    break;
                case 0x0006:
                    $a['jobs_max'] = $value === '' ? null : Tagged::number('P', $value);
                    break;
                case 0x0007:
                    $a['bytes_max'] = $value === '' ? null : Tagged::number('P', $value);
                    break;
                case 0x0008:
                    $a['body_max'] = $value === '' ? null : Tagged::number('V', $value);
                    break;
                case 0x0009:
                    $a['leases_max'] = $value === '' ? null : Tagged::number('V', $value);
                    break;
                case 0x000A:
                    $a['rate'] = $value === '' ? null : Tagged::number('V', $value);
                    break;
                case 0x000B:
                    if ($value === '') {
                        $a['late'] = null;
                    } elseif (($known = self::decodeLate($value)) !== null) {
                        $a['late'] = $known;
                    }
                    break;
                case 0x000C:
                    $a['dead_letters'] = $value === '' ? null : $value;
                    break;
                case 0x000D:
                    $a['remember_ms'] = $value === '' ? null : Tagged::number('P', $value);
                    break;
                case 0x000E:
                    $a['call_back'] = $value === '' ? null : $value;
                    break;
                case 0x000F:
                    $a['call_back_method'] = $value === '' ? null : $value;
                    break;
                case 0x0010:
                    $a['call_back_headers'] = $value === '' ? null : $value;
                    break;
                case 0x0011:
                    $a['call_back_body'] = $value === '' ? null : $value;
                    break;
                case 0x0012:
                    $a['call_back_timeout_ms'] = $value === '' ? null : Tagged::number('V', $value);
                    break;
                case 0x0013:
                    $a['call_back_concurrency'] = $value === '' ? null : Tagged::number('V', $value);
                    break;
                case 0x0014:
                    $a['call_back_rate'] = $value === '' ? null : Tagged::number('V', $value);
                    break;
                case 0x0015:
                    $a['call_back_secrets'] = $value === '' ? null : $value;
                    break;
                case 0x0016:
                    $a['call_back_refused'] = $value === '' ? null : $value;
                    break;
                case 0x0017:
                    $a['call_back_retry_if'] = $value === '' ? null : $value;
                    break;
                case 0x0018:
                    $a['call_back_success'] = $value === '' ? null : $value;
                    break;
                case 0x0019:
                    $a['call_back_of_job'] = $value === '' ? null : Tagged::number('C', $value) === 1;
                    break;
                case 0x001A:
                    $a['call_back_log_ms'] = $value === '' ? null : Tagged::number('P', $value);
                    break;
                case 0x001B:
                    $a['call_back_paused'] = $value === '' ? null : Tagged::number('C', $value) === 1;
                    break;
                case 0x001C:
                    $a['call_back_delay_ms'] = $value === '' ? null : Tagged::number('P', $value);
                    break;
                case 0x001D:
                    $a['fair'] = $value === '' ? null : Tagged::number('C', $value) === 1;
                    break;
                case 0x001E:
                    $a['group_leases_max'] = $value === '' ? null : Tagged::number('V', $value);
                    break;
                case 0x001F:
                    $a['group_per_second_max'] = $value === '' ? null : Tagged::number('V', $value);
                    break;
                case 0x0020:
                    $a['group_burst'] = $value === '' ? null : Tagged::number('V', $value);
                    break;
                case 0x0021:
                    $a['group_order'] = $value === '' ? null : $value;
                    break;
                case 0x0022:
                    $a['group_on_bury'] = $value === '' ? null : $value;
                    break;
            }
        }

        return $a;
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

    /**
     * What happens to late jobs.
     *
     * @param array{after_ms: int, action: int, value: int} $of
     */
    private static function encodeLate(array $of): string
    {
        return pack('PCP', $of['after_ms'], Codec::narrow($of['action'], 8, 'action'), $of['value']);
    }

    /**
     * What happens to late jobs.
     * Null if its action is one that only a newer server knows.
     *
     * @return array{after_ms: int, action: int, value: int}|null
     */
    private static function decodeLate(string $value): ?array
    {
        if (strlen($value) !== 17) {
            throw Malformed::element('late');
        }
        $of = unpack('Pafter_ms/Caction/Pvalue', $value);
        if (!in_array($of['action'], [0, 1, 2, 3], true)) {
            return null;
        }

        return $of;
    }

    private static function element(int $tag, string $value): string
    {
        return pack('vv', $tag, strlen($value)) . $value;
    }
}

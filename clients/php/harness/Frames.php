<?php

declare(strict_types=1);

namespace Adjourn\Harness;

use Adjourn\Attributes;
use Adjourn\Backoff;
use Adjourn\BuriedReason;
use Adjourn\Due;
use Adjourn\Filter;
use Adjourn\JobReport;
use Adjourn\JobState;
use Adjourn\LatePolicy;
use Adjourn\Protocol\Codec;
use Adjourn\Protocol\Layout;
use Adjourn\Protocol\Malformed;
use Adjourn\Protocol\Opcode;
use Adjourn\Protocol\Tagged;
use Adjourn\PushResult;
use Adjourn\Time;
use Adjourn\TopicPolicy;
use Adjourn\U64;

/** Frames as the conformance suite writes them, in JSON. */
final class Frames
{
    private const TOTALS = ['delayed', 'ready', 'reserved', 'buried', 'pushed', 'finished', 'deleted', 'expired', 'oldest_ready_ms'];
    private const POLICY = [
        'ttr_ms' => 'ttrMs', 'priority' => 'priority', 'attempts_max' => 'attemptsMax', 'backoff' => 'backoff',
        'expires_after_ms' => 'expiresAfterMs', 'jobs_max' => 'jobsMax', 'bytes_max' => 'bytesMax', 'body_max' => 'bodyBytesMax',
        'leases_max' => 'leasesMax', 'rate' => 'ratePerSecond', 'late' => 'late', 'dead_letters' => 'deadLetters', 'remember_ms' => 'rememberMs',
    ];
    private const POLICY_WIDE = ['expires_after_ms', 'jobs_max', 'bytes_max', 'remember_ms'];
    /** Tag, pack code (none for bytes). */
    private const FILTER = [
        'topic' => [1, ''], 'states' => [2, 'C'], 'due_from_ms' => [3, 'P'], 'due_before_ms' => [4, 'P'], 'key_prefix' => [5, 'base64'],
        'attempts_min' => [6, 'V'], 'attempts_max' => [7, 'V'], 'buried' => [8, 'C'], 'reason' => [9, ''],
    ];
    private const MARKS = ['Welcome' => 3];

    /** @param array<string, mixed> $frame */
    public static function encode(array $frame): string
    {
        $opcode = self::opcode($frame['opcode']);
        $given = $frame['fields'];
        $fields = [];
        foreach (Layout::of($opcode) as $name => $type) {
            $fields[$name] = match (true) {
                $name === 'magic' => 'ADJ1',
                $type === 'jobref' => ($given['job_kind'] ?? 0) === 1
                    ? ['topic' => $given['topic'], 'key' => $given['key']]
                    : ['job' => U64::parse($given['job'])],
                is_array($type) && $type[0] === 'record' => self::itemIn($type[1], $given),
                is_array($type) => isset($given[$name]) ? array_map(static fn (mixed $item): array => self::itemIn($type[1], $item), $given[$name]) : null,
                default => self::valueIn(rtrim($type, '?'), $name, self::given($given, $name)),
            };
        }
        if ($opcode === Opcode::Bulk && ($given['to'] ?? '') === '') {
            $fields['to'] = null;
        }

        return Codec::encode($opcode, $frame['request_id'], $fields);
    }

    /**
     * @param string $side `request` or `response`
     * @return array<string, mixed>
     */
    public static function decode(string $side, string $bytes): array
    {
        $length = strlen($bytes) < 4 ? -1 : unpack('V', $bytes)[1];
        if ($length !== strlen($bytes) - 4) {
            throw new Malformed('The length is not that of the frame.');
        }
        $frame = substr($bytes, 4);
        $message = Codec::decode($frame);
        if ($side === 'request') {
            Requests::check($frame, $message);
        }
        if ($message === null) {
            return ['request_id' => unpack('V', $frame, 4)[1], 'opcode' => ord($frame[0]), 'fields' => new \stdClass()];
        }
        $fields = [];
        foreach (Layout::of($message->opcode) as $name => $type) {
            $value = $message->fields[$name];
            if ($type === 'jobref') {
                $fields += isset($value['key'])
                    ? ['job_kind' => 1] + $value
                    : ['job_kind' => 0, 'job' => U64::toString($value['job'])];
            } elseif (is_array($type) && $type[0] === 'record') {
                $fields += self::itemOut($type[1], $value);
            } elseif (is_array($type)) {
                $fields[$name] = array_map(static fn (array $item): mixed => self::flat(self::itemOut($type[1], $item)), $value ?? []);
            } elseif ($name !== 'magic') {
                $fields[self::jsonName($name)] = self::valueOut(rtrim($type, '?'), $name, $value, $message->opcode);
            }
        }
        if ($message->opcode === Opcode::Pushed) {
            $fields['results'] = array_map(self::pushResult(...), $message->fields['results']);
        }
        // A client must be able to show every job.
        match ($message->opcode) {
            Opcode::Job => JobReport::of($message->fields['shown'] + $message->fields),
            Opcode::Jobs => array_map(JobReport::of(...), $message->fields['jobs']),
            Opcode::Changed => JobState::of($message->fields['state']),
            default => null,
        };
        if ($message->opcode === Opcode::QueueStats) {
            $fields['totals'] = array_intersect_key($fields, array_flip(self::TOTALS));
        }
        if ($message->opcode === Opcode::Error) {
            $fields['applied'] = min(1, $fields['applied']);
        }

        return ['request_id' => $message->requestId, 'opcode' => self::name($message->opcode), 'fields' => (object) $fields];
    }

    /** @return array<string, mixed> */
    public static function attributes(Attributes $a): array
    {
        $headers = [];
        foreach ($a->headers as $name => $value) {
            $headers[] = [(string) $name, $value];
        }

        return array_filter([
            'headers' => $headers === [] ? null : [...$headers, ...$a->repeatedHeaders],
            'expires' => $a->expires === null ? null : ['kind' => $a->expires->kind, 'ms' => U64::toString($a->expires->ms)],
            'attempts_max' => $a->attemptsMax,
            'backoff' => self::backoffOut($a->backoff),
            'fairness_key' => $a->fairnessKey,
            'dedupe_retention_ms' => self::wide($a->retentionMs),
            'created_at_ms' => self::wide($a->createdAtMs),
            'schedule_reference' => $a->scheduleReference === null ? null : base64_encode($a->scheduleReference),
            'postpone_max_ms' => self::wide($a->postponeMaxMs),
            'unknown' => $a->unknown === [] ? null : array_map(
                static fn (array $u): array => ['tag' => $u[0], 'value' => base64_encode($u[1])],
                $a->unknown,
            ),
        ], static fn (mixed $value): bool => $value !== null);
    }

    /** @param array<string, mixed> $a */
    public static function attributesIn(array $a): Attributes
    {
        $number = static fn (?string $text): ?int => $text === null ? null : U64::parse($text);

        $headers = [];
        $repeated = [];
        foreach ($a['headers'] ?? [] as [$name, $value]) {
            if (isset($headers[$name])) {
                $repeated[] = [$name, $value];
            } else {
                $headers[$name] = $value;
            }
        }

        return new Attributes(
            repeatedHeaders: $repeated,
            headers: $headers,
            expires: isset($a['expires']) ? Due::ofWire($a['expires']['kind'], U64::parse($a['expires']['ms'])) : null,
            attemptsMax: $a['attempts_max'] ?? null,
            backoff: self::backoffIn($a['backoff'] ?? null),
            fairnessKey: $a['fairness_key'] ?? null,
            retentionMs: $number($a['dedupe_retention_ms'] ?? null),
            createdAtMs: $number($a['created_at_ms'] ?? null),
            scheduleReference: isset($a['schedule_reference']) ? base64_decode($a['schedule_reference']) : null,
            postponeMaxMs: $number($a['postpone_max_ms'] ?? null),
            unknown: array_map(static fn (array $u): array => [$u['tag'], base64_decode($u['value'])], $a['unknown'] ?? []),
        );
    }

    /** @param array<string, mixed> $f */
    public static function filterIn(array $f): string
    {
        $elements = [];
        foreach (self::FILTER as $name => [$tag, $code]) {
            if (isset($f[$name])) {
                $elements[] = [$tag, match ($code) {
                    '' => $f[$name],
                    'base64' => base64_decode($f[$name]),
                    'P' => pack('P', U64::parse($f[$name])),
                    default => pack($code, $f[$name]),
                }];
            }
        }

        return Tagged::encode($elements);
    }

    /** @param array<string, mixed> $f */
    public static function filterOf(array $f): Filter
    {
        $time = static fn (?string $ms): ?\DateTimeInterface => $ms === null ? null : Time::at(U64::parse($ms));
        $states = isset($f['states'])
            ? array_values(array_filter(JobState::cases(), static fn (JobState $state): bool => $state !== JobState::Unknown && ($f['states'] >> $state->value & 1) === 1))
            : null;

        return new Filter(
            $f['topic'] ?? null,
            $states,
            $time($f['due_from_ms'] ?? null),
            $time($f['due_before_ms'] ?? null),
            isset($f['key_prefix']) ? base64_decode($f['key_prefix']) : null,
            $f['attempts_min'] ?? null,
            $f['attempts_max'] ?? null,
            isset($f['buried']) ? BuriedReason::from($f['buried']) : null,
            $f['reason'] ?? null,
        );
    }

    /** @param array<string, mixed> $settings */
    public static function policyIn(array $settings): TopicPolicy
    {
        $arguments = ['unset' => []];
        foreach ($settings as $name => $value) {
            $argument = self::POLICY[$name];
            if ($value === null) {
                $arguments['unset'][] = $argument;
                continue;
            }
            $arguments[$argument] = match (true) {
                $name === 'backoff' => self::backoffIn($value),
                $name === 'late' => LatePolicy::decode(pack('PCP', U64::parse($value['after_ms']), $value['action'], U64::parse($value['value']))),
                in_array($name, self::POLICY_WIDE, true) => U64::parse($value),
                default => $value,
            };
        }

        return new TopicPolicy(...$arguments);
    }

    /** @return array<string, mixed> */
    public static function policy(TopicPolicy $policy): array
    {
        $out = [];
        foreach (self::POLICY as $name => $property) {
            $value = $policy->$property;
            if (in_array($property, $policy->unset, true)) {
                $out[$name] = null;
            } elseif ($value !== null) {
                $out[$name] = match (true) {
                    $name === 'backoff' => self::backoffOut($value),
                    $name === 'late' => [
                        'after_ms' => U64::toString($value->afterMs), 'action' => $value->action, 'value' => U64::toString($value->value),
                    ],
                    in_array($name, self::POLICY_WIDE, true) => U64::toString($value),
                    default => $value,
                };
            }
        }

        return $out;
    }

    /** @param array<string, mixed>|null $b */
    public static function backoffIn(?array $b): ?Backoff
    {
        return $b === null ? null : Backoff::decode(pack('CCV*', $b['kind'], $b['jitter'], ...$b['waits_ms']));
    }

    /** @param array{outcome: int, code: int, job: int} $fields */
    private static function pushResult(array $fields): array
    {
        $result = PushResult::of($fields);

        return ['outcome' => $result->outcome->value, 'code' => $result->code, 'job' => U64::toString($result->job ?? 0)];
    }

    private static function opcode(string $name): Opcode
    {
        foreach (Opcode::cases() as $opcode) {
            if (self::name($opcode) === $name) {
                return $opcode;
            }
        }
        throw new \InvalidArgumentException("$name is no opcode.");
    }

    private static function name(Opcode $opcode): string
    {
        return $opcode === Opcode::ListJobs ? 'LIST' : strtoupper(preg_replace('/(?<!^)[A-Z]/', '_$0', $opcode->name));
    }

    private static function jsonName(string $name): string
    {
        return $name === 'now_ms' ? 'now' : $name;
    }

    /** @param array<string, mixed> $given */
    private static function given(array $given, string $name): mixed
    {
        return $given[self::jsonName($name)] ?? $given['totals'][$name] ?? null;
    }

    /** @param array<string, string> $fixed */
    private static function itemIn(array $fixed, mixed $item): array
    {
        if (!is_array($item)) {
            return [array_key_first($fixed) => $item];
        }
        $fields = [];
        foreach ($fixed as $name => $type) {
            $fields[$name] = self::valueIn(trim($type, '>?'), $name, $item[$name] ?? null);
        }

        return $fields;
    }

    private static function itemOut(array $fixed, array $item): array
    {
        $fields = [];
        foreach ($fixed as $name => $type) {
            $fields[$name] = self::valueOut(trim($type, '>?'), $name, $item[$name], null);
        }

        return $fields;
    }

    /** A list of topics or weights has texts or numbers as its items. */
    private static function flat(array $item): mixed
    {
        $name = array_key_first($item);

        return count($item) === 1 && in_array($name, ['topic', 'weight'], true) ? $item[$name] : $item;
    }

    private static function valueIn(string $type, string $name, mixed $value): mixed
    {
        if ($name === 'state_hash' || $name === 'idempotency') {
            return self::u128In($value ?? '0');
        }

        return match (true) {
            $name === 'attributes' => self::attributesIn($value ?? [])->encode(),
            $name === 'filter' => self::filterIn($value ?? []),
            $name === 'settings' => self::policyIn($value ?? [])->encode(),
            $value === null => in_array($type, ['u8', 'u16', 'u32', 'u64', 'i64'], true) ? 0 : '',
            $type === 'u64' => U64::parse($value),
            $type === 'i64' => (int) $value,
            in_array($type, ['raw16', 'bytes16', 'bytes32'], true) => base64_decode($value),
            default => $value,
        };
    }

    private static function valueOut(string $type, string $name, mixed $value, ?Opcode $opcode): mixed
    {
        return match (true) {
            $name === 'state_hash' || $name === 'idempotency' => self::u128Out($value ?? str_repeat("\0", 16)),
            $name === 'attributes' => (object) self::attributes(Attributes::decode($value)),
            $name === 'filter' => (object) self::filterOut($value),
            $name === 'settings' => (object) self::policy(TopicPolicy::decode($value)),
            $name === 'marks' && $type === 'u8' => $value & (self::MARKS[$opcode?->name] ?? ($opcode === null ? 0x3F : 1)),
            $type === 'u64' => U64::toString($value ?? 0),
            $type === 'i64' => (string) $value,
            in_array($type, ['u8', 'u16', 'u32'], true) => $value ?? 0,
            in_array($type, ['raw16', 'bytes16', 'bytes32'], true) => base64_encode($value ?? ''),
            default => $value ?? '',
        };
    }

    private static function backoffOut(?Backoff $b): ?array
    {
        return $b === null ? null : ['kind' => $b->kind, 'jitter' => $b->jitterPercent, 'waits_ms' => $b->valuesMs];
    }

    private static function filterOut(string $bytes): array
    {
        $out = [];
        foreach (Tagged::decode($bytes) as [$tag, $value]) {
            foreach (self::FILTER as $name => [$known, $code]) {
                if ($known === $tag) {
                    $out[$name] = match ($code) {
                        '' => $value,
                        'base64' => base64_encode($value),
                        'P' => U64::toString(Tagged::number('P', $value)),
                        default => Tagged::number($code, $value),
                    };
                }
            }
        }

        return $out;
    }

    private static function wide(?int $value): ?string
    {
        return $value === null ? null : U64::toString($value);
    }

    private static function u128Out(string $bytes): string
    {
        $digits = [0];
        foreach (array_reverse(str_split($bytes)) as $byte) {
            $carry = ord($byte);
            foreach ($digits as $place => $digit) {
                $sum = $digit * 256 + $carry;
                $digits[$place] = $sum % 10;
                $carry = intdiv($sum, 10);
            }
            for (; $carry > 0; $carry = intdiv($carry, 10)) {
                $digits[] = $carry % 10;
            }
        }

        return strrev(implode('', $digits));
    }

    private static function u128In(string $decimal): string
    {
        $bytes = array_fill(0, 16, 0);
        foreach (str_split($decimal) as $digit) {
            $carry = (int) $digit;
            foreach ($bytes as $place => $byte) {
                $sum = $byte * 10 + $carry;
                $bytes[$place] = $sum & 0xFF;
                $carry = $sum >> 8;
            }
        }

        return pack('C*', ...$bytes);
    }
}

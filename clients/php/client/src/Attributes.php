<?php

declare(strict_types=1);

namespace Adjourn;

use Adjourn\Protocol\Malformed;
use Adjourn\Protocol\Tagged;

/** What a job carries beside key and body. Unknown attributes are kept as they came. */
final readonly class Attributes
{
    private const HEADER = 0x0001;
    private const EXPIRES = 0x8002;
    private const ATTEMPTS_MAX = 0x8003;
    private const BACKOFF = 0x8004;
    private const FAIRNESS_KEY = 0x0005;
    private const RETENTION = 0x0006;
    private const CREATED_AT = 0x0007;
    private const SCHEDULE = 0x0008;
    private const POSTPONE_MAX = 0x0009;
    private const HEADERS_BYTES_MAX = 1024;

    /**
     * @param array<string, string> $headers
     * @param list<array{int, string}> $unknown tags and values
     * @param list<array{string, string}> $repeatedHeaders names and values of headers whose name came before
     */
    public function __construct(
        public array $headers = [],
        public ?Due $expires = null,
        public ?int $attemptsMax = null,
        public ?Backoff $backoff = null,
        public ?string $fairnessKey = null,
        public ?int $retentionMs = null,
        public ?int $createdAtMs = null,
        public ?string $scheduleReference = null,
        public ?int $postponeMaxMs = null,
        public array $unknown = [],
        public array $repeatedHeaders = [],
    ) {
        if ($attemptsMax !== null && ($attemptsMax < 1 || $attemptsMax > 0xFFFFFFFF)) {
            throw new Error\UsageError('attemptsMax is at least 1.');
        }
    }

    public function encode(): string
    {
        $elements = $this->unknown;
        $bytes = 0;
        $headers = array_map(static fn (int|string $name, string $value): array => [(string) $name, $value], array_keys($this->headers), $this->headers);
        foreach ([...$headers, ...$this->repeatedHeaders] as [$name, $value]) {
            $bytes += strlen($name) + strlen($value);
            if (strlen($name) > 255 || preg_match('//u', $name . $value) !== 1) {
                throw new Error\UsageError("The header \"$name\" is no text, or its name is longer than 255 bytes.");
            }
            $elements[] = [self::HEADER, chr(strlen($name)) . $name . $value];
        }
        if ($bytes > self::HEADERS_BYTES_MAX) {
            throw new Error\UsageError("The headers have $bytes bytes; at most " . self::HEADERS_BYTES_MAX . ' are allowed.');
        }
        if ($this->expires !== null) {
            $elements[] = [self::EXPIRES, pack('CP', $this->expires->kind, $this->expires->ms)];
        }
        foreach ([
            [self::ATTEMPTS_MAX, 'V', $this->attemptsMax],
            [self::RETENTION, 'P', $this->retentionMs],
            [self::CREATED_AT, 'P', $this->createdAtMs],
            [self::POSTPONE_MAX, 'P', $this->postponeMaxMs],
        ] as [$tag, $code, $number]) {
            if ($number !== null) {
                $elements[] = [$tag, pack($code, $number)];
            }
        }
        foreach ([
            [self::BACKOFF, $this->backoff?->encode()],
            [self::FAIRNESS_KEY, $this->fairnessKey],
            [self::SCHEDULE, $this->scheduleReference],
        ] as [$tag, $value]) {
            if ($value !== null) {
                $elements[] = [$tag, $value];
            }
        }
        // The sort is stable: headers keep their order.
        usort($elements, static fn (array $a, array $b): int => ($a[0] & 0x7FFF) <=> ($b[0] & 0x7FFF));

        return Tagged::encode($elements);
    }

    /** @throws Malformed */
    public static function decode(string $bytes): self
    {
        $found = ['headers' => [], 'unknown' => []];
        foreach (Tagged::decode($bytes) as [$tag, $value]) {
            switch ($tag) {
                case self::HEADER:
                    $length = $value === '' ? 256 : ord($value[0]);
                    if (strlen($value) <= $length) {
                        throw new Malformed('A header is cut off.');
                    }
                    $name = substr($value, 1, $length);
                    $text = substr($value, 1 + $length);
                    if (isset($found['headers'][$name])) {
                        $found['repeatedHeaders'][] = [$name, $text];
                    } else {
                        $found['headers'][$name] = $text;
                    }
                    break;
                case self::EXPIRES:
                    $ms = Tagged::number('P', substr($value, 1));
                    $found['expires'] = Due::ofWire(ord($value[0]), $ms);
                    break;
                case self::ATTEMPTS_MAX:
                    $found['attemptsMax'] = Tagged::number('V', $value);
                    break;
                case self::BACKOFF:
                    if (Backoff::hasKnownKind($value)) {
                        $found['backoff'] = Backoff::decode($value);
                    } else {
                        $found['unknown'][] = [$tag, $value];
                    }
                    break;
                case self::FAIRNESS_KEY:
                    $found['fairnessKey'] = $value;
                    break;
                case self::RETENTION:
                    $found['retentionMs'] = Tagged::number('P', $value);
                    break;
                case self::CREATED_AT:
                    $found['createdAtMs'] = Tagged::number('P', $value);
                    break;
                case self::SCHEDULE:
                    $found['scheduleReference'] = $value;
                    break;
                case self::POSTPONE_MAX:
                    $found['postponeMaxMs'] = Tagged::number('P', $value);
                    break;
                default:
                    $found['unknown'][] = [$tag, $value];
            }
        }

        return new self(...$found);
    }
}

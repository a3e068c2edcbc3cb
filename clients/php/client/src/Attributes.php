<?php

declare(strict_types=1);

namespace Adjourn;

use Adjourn\Error\UsageError;
use Adjourn\Protocol\AttributesCodec;
use Adjourn\Protocol\Malformed;

/** What a job carries beside key and body. Unknown attributes are kept as they came. */
final readonly class Attributes
{
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
        public ?string $group = null,
        public ?int $retentionMs = null,
        public ?int $createdAtMs = null,
        public ?string $scheduleReference = null,
        public ?int $postponeMaxMs = null,
        public ?string $buried = null,
        public array $unknown = [],
        public array $repeatedHeaders = [],
    ) {
        if ($attemptsMax !== null && ($attemptsMax < 1 || $attemptsMax > 0xFFFFFFFF)) {
            throw new UsageError('attemptsMax is at least 1.');
        }
    }

    public function encode(): string
    {
        $bytes = 0;
        $elements = $this->wire();
        foreach ($elements['headers'] as [$name, $value]) {
            $bytes += strlen($name) + strlen($value);
            if (strlen($name) > 255 || preg_match('//u', $name . $value) !== 1) {
                throw new UsageError("The header \"$name\" is no text, or its name is longer than 255 bytes.");
            }
        }
        if ($bytes > Limit::HEADERS_BYTES_MAX) {
            throw new UsageError("The headers have $bytes bytes; at most " . Limit::HEADERS_BYTES_MAX . ' are allowed.');
        }

        return AttributesCodec::encode($elements);
    }

    /** @throws Malformed */
    public static function decode(string $bytes): self
    {
        static $none = null;

        return $bytes === '' ? $none ??= new self() : self::ofWire(AttributesCodec::decode($bytes));
    }

    /**
     * @internal The attributes by their names in the protocol; null for those that are not there.
     *
     * @return array<string, mixed>
     */
    public function wire(): array
    {
        $headers = [];
        foreach ($this->headers as $name => $value) {
            $headers[] = [(string) $name, $value];
        }

        return [
            'headers' => $this->repeatedHeaders === [] ? $headers : [...$headers, ...$this->repeatedHeaders],
            'expires' => $this->expires === null ? null : ['kind' => $this->expires->kind, 'ms' => $this->expires->ms],
            'attempts_max' => $this->attemptsMax,
            'backoff' => $this->backoff?->wire(),
            'group' => $this->group,
            'dedupe_retention_ms' => $this->retentionMs,
            'created_at_ms' => $this->createdAtMs,
            'schedule_reference' => $this->scheduleReference,
            'postpone_max_ms' => $this->postponeMaxMs,
            'buried' => $this->buried,
            'unknown' => $this->unknown,
        ];
    }

    /**
     * @internal
     *
     * @param array<string, mixed> $elements by their names in the protocol
     */
    public static function ofWire(array $elements): self
    {
        $headers = [];
        $repeated = [];
        foreach ($elements['headers'] ?? [] as [$name, $value]) {
            if (isset($headers[$name])) {
                $repeated[] = [$name, $value];
            } else {
                $headers[$name] = $value;
            }
        }

        return new self(
            $headers,
            isset($elements['expires']) ? Due::ofWire($elements['expires']['kind'], $elements['expires']['ms']) : null,
            $elements['attempts_max'] ?? null,
            isset($elements['backoff']) ? Backoff::ofWire($elements['backoff']) : null,
            $elements['group'] ?? null,
            $elements['dedupe_retention_ms'] ?? null,
            $elements['created_at_ms'] ?? null,
            $elements['schedule_reference'] ?? null,
            $elements['postpone_max_ms'] ?? null,
            $elements['buried'] ?? null,
            $elements['unknown'] ?? [],
            $repeated,
        );
    }
}

<?php

declare(strict_types=1);

namespace Adjourn;

use Adjourn\Protocol\Malformed;
use Adjourn\Protocol\Tagged;

/**
 * Settings of a topic. To change some, give these; the others stay as they are. To take settings away, name them in
 * `unset`.
 */
final readonly class TopicPolicy
{
    /** Property, tag and pack code of the settings that are one number. */
    private const NUMBERS = [
        'ttrMs' => [1, 'V'], 'priority' => [2, 'V'], 'attemptsMax' => [3, 'V'], 'expiresAfterMs' => [5, 'P'],
        'jobsMax' => [6, 'P'], 'bytesMax' => [7, 'P'], 'bodyBytesMax' => [8, 'V'], 'leasesMax' => [9, 'V'],
        'ratePerSecond' => [10, 'V'], 'rememberMs' => [13, 'P'],
    ];
    private const BACKOFF = 4;
    private const LATE = 11;
    private const DEAD_LETTERS = 12;

    /** @param list<string> $unset names of the parameters above it */
    public function __construct(
        public ?int $ttrMs = null,
        public ?int $priority = null,
        public ?int $attemptsMax = null,
        public ?Backoff $backoff = null,
        public ?int $expiresAfterMs = null,
        public ?int $jobsMax = null,
        public ?int $bytesMax = null,
        public ?int $bodyBytesMax = null,
        public ?int $leasesMax = null,
        public ?int $ratePerSecond = null,
        public ?LatePolicy $late = null,
        public ?string $deadLetters = null,
        public ?int $rememberMs = null,
        public array $unset = [],
    ) {
        foreach ($unset as $name) {
            if (!isset(self::tags()[$name])) {
                throw new Error\UsageError("\"$name\" is no setting of a topic.");
            }
        }
    }

    public function encode(): string
    {
        $elements = [];
        foreach (self::NUMBERS as $name => [$tag, $code]) {
            if ($this->$name !== null) {
                $elements[$tag] = [$tag, pack($code, $this->$name)];
            }
        }
        foreach ([
            self::BACKOFF => $this->backoff?->encode(),
            self::LATE => $this->late?->encode(),
            self::DEAD_LETTERS => $this->deadLetters,
        ] as $tag => $value) {
            if ($value !== null) {
                $elements[$tag] = [$tag, $value];
            }
        }
        foreach ($this->unset as $name) {
            $tag = self::tags()[$name];
            if (isset($elements[$tag])) {
                throw new Error\UsageError("\"$name\" cannot be set and taken away at once.");
            }
            $elements[$tag] = [$tag, ''];
        }
        ksort($elements);

        return Tagged::encode(array_values($elements));
    }

    public static function decode(string $settings): self
    {
        $names = array_flip(self::tags());
        $found = ['unset' => []];
        foreach (Tagged::decode($settings) as [$tag, $value]) {
            $name = $names[$tag] ?? null;
            if ($name === null) {
                continue;
            }
            if ($value === '') {
                $found['unset'][] = $name;
                continue;
            }
            $found[$name] = match ($tag) {
                self::BACKOFF => Backoff::hasKnownKind($value) ? Backoff::decode($value) : null,
                self::LATE => LatePolicy::decode($value),
                self::DEAD_LETTERS => $value,
                default => Tagged::number(self::NUMBERS[$name][1], $value),
            };
        }

        return new self(...$found);
    }

    /** @return array<string, int> */
    private static function tags(): array
    {
        return array_map(static fn (array $entry): int => $entry[0], self::NUMBERS)
            + ['backoff' => self::BACKOFF, 'late' => self::LATE, 'deadLetters' => self::DEAD_LETTERS];
    }
}

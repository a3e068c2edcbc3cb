<?php

declare(strict_types=1);

namespace Adjourn;

use Adjourn\Worker\ErrorLog;
use Psr\Log\LoggerInterface;

/** Has another tracing surround pushes and handlers: each runs once, with its own outcome, whatever the tracing does. */
final class SafeTracing implements Tracing
{
    private readonly TracingFaults $faults;

    public function __construct(private readonly Tracing $tracing, LoggerInterface $logger = new ErrorLog())
    {
        $this->faults = new TracingFaults($logger);
    }

    public function push(string $topic, ?int $jobs, \Closure $push): array
    {
        return $this->once($push, fn (\Closure $once) => $this->tracing->push(
            $topic,
            $jobs,
            static fn (array $headers): array => $once(array_filter($headers, self::isHeader(...), ARRAY_FILTER_USE_BOTH)),
        ), []);
    }

    public function process(Job $job, \Closure $handle): mixed
    {
        return $this->once($handle, fn (\Closure $once) => $this->tracing->process($job, static fn (): mixed => $once()));
    }

    /** @param \Closure(\Closure): mixed $trace surrounds what it is given */
    private function once(\Closure $work, \Closure $trace, mixed ...$withoutTrace): mixed
    {
        $outcome = null;
        $once = static function (mixed ...$arguments) use ($work, &$outcome): mixed {
            if ($outcome === null) {
                try {
                    $outcome = [$work(...$arguments), null];
                } catch (\Throwable $error) {
                    $outcome = [null, $error];
                }
            }

            return $outcome[1] === null ? $outcome[0] : throw $outcome[1];
        };
        try {
            $trace($once);
        } catch (\Throwable $fault) {
            if ($fault !== ($outcome[1] ?? null)) {
                $this->faults->log($fault);
            }
        }

        return $once(...$withoutTrace);
    }

    private static function isHeader(mixed $value, int|string $name): bool
    {
        return is_string($value) && strlen((string) $name) <= 255 && preg_match('//u', $name . $value) === 1;
    }
}

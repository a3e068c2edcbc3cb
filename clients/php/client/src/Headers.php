<?php

declare(strict_types=1);

namespace Adjourn;

/** @internal Headers of a job. Their names are compared without case. */
final class Headers
{
    /** @param array<string, string> $headers */
    public static function get(array $headers, string $name): ?string
    {
        return $headers[$name] ?? array_change_key_case($headers)[$name] ?? null;
    }

    /**
     * Adds the headers of a trace. A push does not fail for them: what does not fit is left out, and all of them if `traceparent` does not fit. A job
     * with a `traceparent` of its own is in another trace.
     *
     * @param array<string, string> $headers all that the job has otherwise
     * @param array<string, string> $trace
     * @return array<string, string>
     */
    public static function withTrace(array $headers, array $trace): array
    {
        if ($trace === [] || self::get($headers, 'traceparent') !== null) {
            return $headers;
        }
        $names = array_change_key_case($headers);
        $left = Limit::HEADERS_BYTES_MAX - strlen(implode('', array_keys($headers)) . implode('', $headers));
        uksort($trace, static fn (int|string $a, int|string $b): int => self::isParent($b) <=> self::isParent($a));
        foreach ($trace as $name => $value) {
            $bytes = strlen((string) $name) + strlen($value);
            if ($bytes <= $left && !isset($names[strtolower((string) $name)])) {
                $headers[$name] = $names[strtolower((string) $name)] = $value;
                $left -= $bytes;
            } elseif (self::isParent($name)) {
                break;
            }
        }

        return $headers;
    }

    private static function isParent(int|string $name): bool
    {
        return strcasecmp((string) $name, 'traceparent') === 0;
    }
}

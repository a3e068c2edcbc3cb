<?php

declare(strict_types=1);

namespace Adjourn\Tests;

/** Runs code in a child process that shares nothing with PHPUnit's end. */
final class Processes
{
    /** @return array{int, resource} the child's process id, and a stream of what it says */
    public static function fork(\Closure $code): array
    {
        [$here, $there] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
        $child = pcntl_fork();
        if ($child === 0) {
            fclose($here);
            try {
                $code(static fn (mixed $what) => fwrite($there, json_encode($what) . "\n"));
            } catch (\Throwable $error) {
                fwrite($there, json_encode('FAILED: ' . $error::class . ': ' . $error->getMessage()) . "\n");
            }
            // SIGKILL: neither destructors nor PHPUnit's own end run.
            posix_kill(getmypid(), SIGKILL);
        }
        fclose($there);
        stream_set_timeout($here, 20);

        return [$child, $here];
    }

    /** @param resource $stream */
    public static function said($stream): mixed
    {
        $line = fgets($stream);

        return $line === false ? null : json_decode($line, true);
    }

    public static function wait(int $child): int
    {
        try {
            Eventually::holds(
                static function () use ($child, &$status): bool {
                    return pcntl_waitpid($child, $status, WNOHANG) === $child;
                },
                'A child process does not end.',
            );
        } catch (\RuntimeException $error) {
            posix_kill($child, SIGKILL);
            throw $error;
        }

        return $status;
    }
}

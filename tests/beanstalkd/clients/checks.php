<?php

declare(strict_types=1);

// These packages are from before PHP 8.2: its deprecations are not ours.
error_reporting(E_ALL & ~E_DEPRECATED);
set_error_handler(static function (int $level, string $message, string $file, int $line): bool {
    if ((error_reporting() & $level) !== 0) {
        throw new ErrorException($message, 0, $level, $file, $line);
    }

    return false;
});

/** What must happen soon has happened by then, however busy the machine is. */
const PATIENCE_S = 30;
/** It does not pass during a check. */
const LONG_S = 3600;
const CHECK_MAX_S = 60;
const BODY_BYTES = 60_000;

/** Thrown if a check fails. */
final class CheckFailed extends Exception
{
}

/** Checks of a client: each public method is one, and gets a tube of its own. */
abstract class Checks
{
    protected string $tube = '';

    public function __construct(protected readonly string $host, protected readonly int $port)
    {
    }

    /** Runs all checks of a client, which is in this Debian package, one after another. Ends the process. */
    public function run(string $client, string $package): never
    {
        $failed = false;
        $count = 0;
        foreach ((new ReflectionClass($this))->getMethods(ReflectionMethod::IS_PUBLIC) as $method) {
            if ($method->class === self::class) {
                continue;
            }
            $count++;
            fwrite(STDERR, "$method->name\n");
            $this->tube = "$client-" . bin2hex(random_bytes(4)) . "-$method->name";
            $this->begin();
            try {
                $method->invoke($this);
            } catch (Throwable $error) {
                $failed = true;
                fwrite(STDERR, "$client: $method->name FAILED\n$error\n");
            }
            pcntl_alarm(0);
        }
        if (!$failed) {
            $version = trim((string) shell_exec('dpkg-query -W -f \'${Version}\' ' . escapeshellarg($package) . ' 2>&1'));
            echo "$client $version: $count checks passed\n";
        }
        exit($failed ? 1 : 0);
    }

    /** Prepares a check. */
    protected function begin(): void
    {
        pcntl_async_signals(true);
        // A system call that waits is interrupted.
        pcntl_signal(SIGALRM, static fn () => throw new CheckFailed('no end after ' . CHECK_MAX_S . ' s'), false);
        pcntl_alarm(CHECK_MAX_S);
    }

    protected static function equal(mixed $found, mixed $expected, string $what = 'a value'): void
    {
        if ($found !== $expected) {
            throw new CheckFailed("$what is " . var_export($found, true) . ' instead of ' . var_export($expected, true));
        }
    }

    protected static function isTrue(bool $condition, string $what): void
    {
        $condition || throw new CheckFailed("it is not so: $what");
    }

    /** The call throws an exception of exactly this class. */
    protected static function throws(string $class, callable $call): Throwable
    {
        try {
            $call();
        } catch (Throwable $error) {
            self::equal($error::class, $class, 'the exception');

            return $error;
        }
        throw new CheckFailed("there was no $class");
    }

    /** Waits for a condition that only the server can tell. */
    protected static function until(callable $condition): void
    {
        for ($tries = 0; $tries < PATIENCE_S * 100; $tries++) {
            if ($condition()) {
                return;
            }
            usleep(10_000);
        }
        throw new CheckFailed('the condition did not become true');
    }

    /**
     * Runs a call in a process of its own. Connections of this process are not to be used there.
     *
     * @return callable(): string Waits for the end of the process; returns what the call returned
     */
    protected static function inProcess(callable $call): callable
    {
        [$own, $others] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
        $process = pcntl_fork();
        if ($process === 0) {
            fclose($own);
            pcntl_alarm(CHECK_MAX_S);
            try {
                fwrite($others, $call());
            } catch (Throwable $error) {
                fwrite(STDERR, "$error\n");
            }
            fclose($others);
            // Nothing of the parent's is closed properly here.
            posix_kill(posix_getpid(), SIGKILL);
        }
        fclose($others);

        return static function () use ($own, $process): string {
            $said = (string) stream_get_contents($own);
            pcntl_waitpid($process, $status);

            return $said;
        };
    }
}

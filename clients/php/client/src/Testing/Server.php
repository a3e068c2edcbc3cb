<?php

declare(strict_types=1);

namespace Adjourn\Testing;

/**
 * A process of `adjourn serve` in memory, with a clock that only ADVANCE moves. It ends with this object, and with the process that started it: its standard
 * input is a pipe, which the system closes however that process ends. No variable `ADJOURN_*` of the environment reaches it: those are for another server.
 *
 * A child after fork() has a copy of the pipe, which the programs that it runs do not inherit. It closes its copy with its first call of `stop`, or at its end.
 */
final class Server
{
    private const START_MS_MAX = 10_000;
    private const SIGKILL = 9;

    public readonly string $address;
    /** @var resource|null */
    private $process;
    /** @var array<int, resource> */
    private array $pipes = [];
    private readonly int $owner;

    /** @throws NoServer */
    public function __construct()
    {
        $command = [self::binary(), 'serve', '--memory', '--clock', 'manual', '--listen', '127.0.0.1:0', '--end-with-stdin'];
        $log = tmpfile();
        $this->owner = getmypid();
        // Neither destructors nor PHPUnit's `after` run when PHP ends with an error, and a child with a copy of the pipe may live on.
        $server = \WeakReference::create($this);
        register_shutdown_function(static fn () => $server->get()?->stop());
        $this->process = proc_open($command, [['pipe', 'r'], ['pipe', 'w'], $log], $this->pipes, null, self::environment());
        $read = [$this->pipes[1]];
        $none = null;
        $line = stream_select($read, $none, $none, intdiv(self::START_MS_MAX, 1000)) === 1 ? fgets($this->pipes[1]) : false;
        $listen = $line === false ? null : json_decode($line, true)['listen'] ?? null;
        if ($listen === null) {
            $this->stop();
            rewind($log);
            throw new NoServer('The server did not start. It takes an Adjourn that knows --end-with-stdin. ' . trim(stream_get_contents($log)));
        }
        $this->address = "adjourn://$listen";
    }

    public function __destruct()
    {
        $this->stop();
    }

    /** Ends it at once. Nothing is left of it. A child after fork() leaves it to its parent. */
    public function stop(): void
    {
        array_map(fclose(...), $this->pipes);
        $this->pipes = [];
        if ($this->process !== null && $this->owner === getmypid()) {
            proc_terminate($this->process, self::SIGKILL);
            proc_close($this->process);
            $this->process = null;
        }
    }

    /** @return array<string, string> */
    private static function environment(): array
    {
        return array_filter(getenv(), static fn (string $name): bool => !str_starts_with($name, 'ADJOURN_'), ARRAY_FILTER_USE_KEY);
    }

    private static function binary(): string
    {
        $named = (string) getenv('ADJOURN_BIN');
        if ($named !== '') {
            return is_executable($named) ? $named : throw new NoServer("ADJOURN_BIN names $named, which is no program.");
        }
        foreach (explode(PATH_SEPARATOR, (string) getenv('PATH')) as $folder) {
            if (is_file("$folder/adjourn") && is_executable("$folder/adjourn")) {
                return "$folder/adjourn";
            }
        }
        throw new NoServer('There is no server for tests: install adjourn so that it is in PATH, or set ADJOURN_BIN to its file.');
    }
}

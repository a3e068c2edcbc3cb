<?php

declare(strict_types=1);

namespace Adjourn\Testing;

/**
 * A process of `adjourn serve` in memory, with a clock that only ADVANCE moves. It ends with this object, and with the process that started it. No variable
 * `ADJOURN_*` of the environment reaches it: those are for another server.
 */
final class Server
{
    private const START_MS_MAX = 10_000;
    /**
     * Ends the server when a line comes or when the pipe is closed, which the system does however this process ends. A signal to the whole process group
     * does not end the shell before it has ended the server.
     */
    private const WATCH = 'trap "" HUP INT TERM; "$@" & exec >&-; read -r _; kill -9 $! 2>&-; wait';

    public readonly string $address;
    /** @var resource|null */
    private $process;
    /** @var array<int, resource> */
    private array $pipes = [];
    private readonly int $owner;

    /** @throws NoServer */
    public function __construct()
    {
        $command = [self::binary(), 'serve', '--memory', '--clock', 'manual', '--listen', '127.0.0.1:0'];
        $log = tmpfile();
        $this->owner = getmypid();
        $shell = ['sh', '-c', self::WATCH, 'sh', ...$command];
        $this->process = proc_open($shell, [['pipe', 'r'], ['pipe', 'w'], $log], $this->pipes, null, self::environment());
        $read = [$this->pipes[1]];
        $none = null;
        $line = stream_select($read, $none, $none, intdiv(self::START_MS_MAX, 1000)) === 1 ? fgets($this->pipes[1]) : false;
        $listen = $line === false ? null : json_decode($line, true)['listen'] ?? null;
        if ($listen === null) {
            $this->stop();
            rewind($log);
            throw new NoServer('The server did not start. It takes an Adjourn that knows --clock manual. ' . trim(stream_get_contents($log)));
        }
        $this->address = "adjourn://$listen";
    }

    public function __destruct()
    {
        $this->stop();
    }

    /** Ends it at once. Nothing is left of it. */
    public function stop(): void
    {
        // A child after fork() leaves it to its parent.
        if ($this->process === null || $this->owner !== getmypid()) {
            return;
        }
        // A child may have the pipe, too: a line ends the server all the same.
        @fwrite($this->pipes[0], "\n");
        array_map(fclose(...), $this->pipes);
        proc_close($this->process);
        $this->process = null;
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

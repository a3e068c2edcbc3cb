<?php

declare(strict_types=1);

namespace Adjourn\Tests;

/** A real server on a free port, with its data in a temporary folder. */
final class TestServer
{
    /** @var resource|null */
    private $process = null;
    private readonly string $folder;

    /** @param list<string> $flags */
    private function __construct(
        public readonly int $port,
        private readonly array $flags,
    ) {
        $this->folder = sys_get_temp_dir() . '/adjourn-php-' . getmypid() . '-' . bin2hex(random_bytes(4));
        mkdir($this->folder);
    }

    /** @param list<string> $flags */
    public static function start(array $flags = [], ?int $port = null): self
    {
        $server = new self($port ?? self::freePort(), $flags);
        $server->run();

        return $server;
    }

    public static function freePort(): int
    {
        $socket = stream_socket_server('tcp://127.0.0.1:0');
        $port = (int) substr(strrchr(stream_socket_get_name($socket, false), ':'), 1);
        fclose($socket);

        return $port;
    }

    public function address(): string
    {
        return "127.0.0.1:$this->port";
    }

    public function run(bool $waits = true): void
    {
        $log = ['file', "$this->folder/log", 'a'];
        $this->process = proc_open(
            ['nice', '-n', '5', Repository::server(), 'serve', '--data', "$this->folder/data", '--listen', $this->address(), ...$this->flags],
            [['file', '/dev/null', 'r'], $log, $log],
            $pipes,
        );
        if ($waits) {
            Eventually::holds(function (): bool {
                if (!proc_get_status($this->process)['running']) {
                    throw new \RuntimeException('The server has ended: ' . file_get_contents("$this->folder/log"));
                }

                return $this->listens();
            }, 'The server does not listen.');
        }
    }

    public function kill(): void
    {
        $this->end(SIGKILL);
    }

    public function terminate(): void
    {
        $this->end(SIGTERM);
    }

    public function pid(): int
    {
        return proc_get_status($this->process)['pid'];
    }

    /** Forgets the data: the next start is another queue. */
    public function wipe(): void
    {
        $this->remove("$this->folder/data");
    }

    public function __destruct()
    {
        $this->end(SIGKILL);
        $this->remove($this->folder);
    }

    private function end(int $signal): void
    {
        if ($this->process !== null) {
            posix_kill($this->pid(), $signal);
            proc_close($this->process);
            $this->process = null;
        }
    }

    private function listens(): bool
    {
        $socket = @stream_socket_client('tcp://' . $this->address(), timeout: 1);

        return $socket !== false && fclose($socket);
    }

    private function remove(string $path): void
    {
        if (is_dir($path)) {
            foreach (array_diff(scandir($path), ['.', '..']) as $name) {
                $this->remove("$path/$name");
            }
            rmdir($path);
        } elseif (file_exists($path)) {
            unlink($path);
        }
    }
}

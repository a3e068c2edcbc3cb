<?php

declare(strict_types=1);

namespace Adjourn\Tests;

/** A server that does what a script says, in a process of its own. The script gets the listening socket. */
final class ScriptedServer
{
    private int $child;
    public readonly int $port;
    /** @var resource */
    private $reports;

    /** @param \Closure(Listener): void $script what it reports is read with `report` */
    public function __construct(\Closure $script)
    {
        $socket = stream_socket_server('tcp://127.0.0.1:0');
        $this->port = (int) substr(strrchr(stream_socket_get_name($socket, false), ':'), 1);
        [$this->reports, $toTest] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
        $this->child = pcntl_fork();
        if ($this->child === 0) {
            try {
                $script(new Listener($socket, $toTest));
            } catch (\Throwable $error) {
                fwrite($toTest, json_encode('FAILED: ' . $error->getMessage() . ' ' . $error->getTraceAsString()) . "\n");
            }
            // Nothing of the test's process is to run here: no destructors, no shutdown functions.
            posix_kill(getmypid(), SIGKILL);
        }
        fclose($toTest);
        fclose($socket);
    }

    public function address(): string
    {
        return "127.0.0.1:$this->port";
    }

    /** The next report of the script. */
    public function report(): mixed
    {
        stream_set_timeout($this->reports, 15);
        $line = fgets($this->reports);

        return $line === false ? null : json_decode($line, true);
    }

    public function __destruct()
    {
        posix_kill($this->child, SIGKILL);
        pcntl_waitpid($this->child, $status);
    }
}

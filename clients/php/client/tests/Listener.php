<?php

declare(strict_types=1);

namespace Adjourn\Tests;

/** The listening socket of a scripted server. */
final class Listener
{
    /**
     * @param resource $socket
     * @param resource $reports
     */
    public function __construct(
        private $socket,
        private $reports,
    ) {
    }

    public function accept(): Peer
    {
        return new Peer(stream_socket_accept($this->socket, 30));
    }

    public function report(mixed $what): void
    {
        fwrite($this->reports, json_encode($what) . "\n");
    }

    /** Forwards one connection to a real server; `$keep` sees the frames of the server, and drops those it answers false for. Ends when it returns null. */
    public function forward(int $port, \Closure $keep): void
    {
        $client = $this->accept();
        $server = new Peer(stream_socket_client("tcp://127.0.0.1:$port"));
        while (true) {
            $read = [$client->stream, $server->stream];
            $none = null;
            stream_select($read, $none, $none, 30);
            foreach ($read as $stream) {
                $bytes = fread($stream, 65_536);
                if ($bytes === '' || $bytes === false) {
                    $client->close();
                    $server->close();

                    return;
                }
                if ($stream === $client->stream) {
                    fwrite($server->stream, $bytes);
                    continue;
                }
                foreach ($server->frames($bytes) as $frame) {
                    $answer = $keep($frame);
                    if ($answer === null) {
                        $client->close();
                        $server->close();

                        return;
                    }
                    if ($answer) {
                        fwrite($client->stream, pack('V', strlen($frame)) . $frame);
                    }
                }
            }
        }
    }
}

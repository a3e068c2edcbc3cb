<?php

declare(strict_types=1);

namespace Adjourn\Connection;

use Adjourn\Error\ConnectionError;

final class TcpDialer implements Dialer
{
    public function dial(Address $address, int $timeoutMs): Transport
    {
        $context = stream_context_create(['socket' => ['tcp_nodelay' => true]]);
        $stream = @stream_socket_client(
            "tcp://$address",
            $code,
            $message,
            max($timeoutMs, 1) / 1000,
            STREAM_CLIENT_CONNECT,
            $context,
        );
        if ($stream === false) {
            throw new ConnectionError("$address cannot be reached: " . ($message !== '' ? $message : "error $code") . '.');
        }

        return new TcpTransport($stream);
    }
}

<?php

declare(strict_types=1);

namespace Adjourn\Connection;

use Adjourn\Error\ConnectionError;
use Adjourn\Tls;

/** Connects over TCP, and speaks TLS 1.3 if it is told how. */
final class TcpDialer implements Dialer
{
    public function __construct(private readonly ?Tls $tls = null)
    {
    }

    public function dial(Address $address, int $timeoutMs): Transport
    {
        $untilNs = hrtime(true) + max($timeoutMs, 1) * 1_000_000;
        $context = stream_context_create(['socket' => ['tcp_nodelay' => true], 'ssl' => $this->tls?->contextOptions($address->host) ?? []]);
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
        if ($this->tls !== null) {
            $this->secure($stream, $address, $untilNs);
        }

        return new TcpTransport($stream);
    }

    /**
     * The handshake, within the time.
     *
     * @param resource $stream
     */
    private function secure($stream, Address $address, int $untilNs): void
    {
        stream_set_blocking($stream, false);
        $why = '';
        // PHP tells the reason as a warning.
        set_error_handler(static function (int $level, string $message) use (&$why): bool {
            $why = $why === '' ? $message : $why;

            return true;
        });
        try {
            while (($is = stream_socket_enable_crypto($stream, true, STREAM_CRYPTO_METHOD_TLSv1_3_CLIENT)) === 0) {
                $leftUs = intdiv($untilNs - hrtime(true), 1000);
                if ($leftUs <= 0) {
                    $why = 'no answer in time';
                    break;
                }
                $read = [$stream];
                $none = null;
                stream_select($read, $none, $none, intdiv($leftUs, 1_000_000), $leftUs % 1_000_000);
            }
        } finally {
            restore_error_handler();
        }
        if ($is !== true) {
            throw new ConnectionError("$address: TLS failed: " . TcpTransport::reason($why) . '.');
        }
    }
}

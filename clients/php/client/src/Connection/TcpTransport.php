<?php

declare(strict_types=1);

namespace Adjourn\Connection;

use Adjourn\Error\ConnectionError;

/** A socket, plain or under TLS. */
final class TcpTransport implements Transport
{
    private const READ_BYTES = 65_536;
    /** What a server says of a certificate, as OpenSSL writes it. It says nothing of that when the handshake is over. */
    private const REFUSALS = '~alert (certificate |bad certificate|no certificate|unsupported certificate|unknown ca|access denied|decrypt error|handshake failure)~';

    /** @param resource $stream */
    public function __construct(private $stream)
    {
        stream_set_blocking($stream, false);
        // select() sees the socket, not PHP's own buffer: there must be nothing in it.
        stream_set_read_buffer($stream, 0);
        stream_set_write_buffer($stream, 0);
    }

    public function read(): ?string
    {
        error_clear_last();
        $bytes = @fread($this->stream, self::READ_BYTES);
        if ($bytes === false || $bytes === '') {
            $why = error_get_last()['message'] ?? '';
            if (str_contains($why, 'SSL')) {
                // A server that wants a certificate says so behind the handshake.
                $message = 'TLS failed: ' . self::reason($why) . '.';
                throw preg_match(self::REFUSALS, $why) === 1 ? new CertificateRefused($message) : new ConnectionError($message);
            }

            return feof($this->stream) ? null : '';
        }

        return $bytes;
    }

    public function write(string $bytes): ?int
    {
        error_clear_last();
        $sent = @fwrite($this->stream, $bytes);
        if ($sent === false && str_contains(error_get_last()['message'] ?? '', 'temporarily unavailable')) {
            // The buffer of the socket is full.
            return 0;
        }

        return $sent === false ? null : $sent;
    }

    public function wait(bool $toWrite, int $ms): void
    {
        $read = [$this->stream];
        $write = $toWrite ? [$this->stream] : null;
        $except = null;
        // A signal ends it with a warning: the caller looks at its clock again.
        @stream_select($read, $write, $except, intdiv($ms, 1000), $ms % 1000 * 1000);
    }

    /** What OpenSSL says, without what PHP says around it. */
    public static function reason(string $warning): string
    {
        $reason = preg_replace('~^.*?(?:OpenSSL Error messages:\s*|\(\): )~s', '', $warning);

        return rtrim($reason === '' ? 'the connection was closed' : $reason, '.');
    }

    public function close(): void
    {
        if (is_resource($this->stream)) {
            fclose($this->stream);
        }
    }
}

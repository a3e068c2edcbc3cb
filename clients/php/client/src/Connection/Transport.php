<?php

declare(strict_types=1);

namespace Adjourn\Connection;

/** A stream of bytes to one server. */
interface Transport
{
    /**
     * What has come, without waiting; null at the end of the stream.
     *
     * @throws \Adjourn\Error\ConnectionError if the stream has failed, with the reason
     * @throws CertificateRefused if the server did not let this client in, and has read nothing
     */
    public function read(): ?string;

    /** Sends what it can without waiting; the number of bytes, or null if the stream is broken. */
    public function write(string $bytes): ?int;

    /** Waits until bytes come, or can be sent if that is wanted, or the time is over, or a signal comes. */
    public function wait(bool $toWrite, int $ms): void;

    /** Closes this process's end. Says nothing to the server: after a fork the parent goes on with the stream. */
    public function close(): void;
}

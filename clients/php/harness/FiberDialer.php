<?php

declare(strict_types=1);

namespace Adjourn\Harness;

use Adjourn\Connection\Address;
use Adjourn\Connection\Dialer;
use Adjourn\Connection\TcpDialer;
use Adjourn\Connection\Transport;
use Adjourn\Tls;

/** Lets other fibers run while one waits for its socket. */
final class FiberDialer implements Dialer
{
    public function __construct(private readonly ?Tls $tls)
    {
    }

    public function dial(Address $address, int $timeoutMs): Transport
    {
        return new class((new TcpDialer($this->tls))->dial($address, $timeoutMs)) implements Transport {
            public function __construct(private readonly Transport $inner)
            {
            }

            public function read(): ?string
            {
                return $this->inner->read();
            }

            public function write(string $bytes): ?int
            {
                return $this->inner->write($bytes);
            }

            public function wait(bool $toWrite, int $ms): void
            {
                \Fiber::getCurrent() === null ? $this->inner->wait($toWrite, $ms) : \Fiber::suspend();
            }

            public function close(): void
            {
                $this->inner->close();
            }
        };
    }
}

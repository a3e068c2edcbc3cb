<?php

declare(strict_types=1);

namespace Adjourn\Messenger\Tests;

use Adjourn\Connection\Address;
use Adjourn\Connection\Dialer;
use Adjourn\Connection\TcpDialer;
use Adjourn\Connection\Transport;

/** Sends one byte at a time, and lets something happen after each. */
final class InterruptingDialer implements Dialer
{
    public ?\Closure $between = null;

    public function dial(Address $address, int $timeoutMs): Transport
    {
        return new class((new TcpDialer())->dial($address, $timeoutMs), $this) implements Transport {
            public function __construct(private Transport $inner, private InterruptingDialer $dialer)
            {
            }

            public function read(): ?string
            {
                return $this->inner->read();
            }

            public function write(string $bytes): ?int
            {
                if ($this->dialer->between === null) {
                    return $this->inner->write($bytes);
                }
                $sent = $this->inner->write($bytes[0]);
                ($this->dialer->between)();

                return $sent;
            }

            public function wait(bool $toWrite, int $ms): void
            {
                $this->inner->wait($toWrite, $ms);
            }

            public function close(): void
            {
                $this->inner->close();
            }
        };
    }
}

<?php

declare(strict_types=1);

namespace Adjourn\Tests;

use Adjourn\Connection\Pulse;
use PHPUnit\Framework\TestCase;

/** When a silence counts against the server, and when the client was only not there to hear. */
final class PulseTest extends TestCase
{
    private const HEARTBEAT_MS = 100;

    public function testAWaitThatEndsALittleLateIsNoAbsence(): void
    {
        $pulse = new Pulse(0, self::HEARTBEAT_MS, null);
        for ($now = 0; $now < 10 * self::HEARTBEAT_MS; $now = $wakeAt + 5) {
            self::assertFalse($pulse->looks($now));
            $wakeAt = $now + self::HEARTBEAT_MS;
            $pulse->waited($wakeAt, $wakeAt + 5);
        }
        self::assertSame(2 * self::HEARTBEAT_MS, $pulse->lostAtMs(), 'Nothing came since 0.');
    }

    public function testATimeInAHandlerSaysNothingOfTheServer(): void
    {
        $pulse = new Pulse(0, self::HEARTBEAT_MS, null);
        self::assertTrue($pulse->looks(5000));
        self::assertSame(5000 + 2 * self::HEARTBEAT_MS, $pulse->lostAtMs());
    }

    public function testAProcessThatWasStoppedWhileItWaitedAsksFirst(): void
    {
        $pulse = new Pulse(0, self::HEARTBEAT_MS, null);
        $pulse->waited(50, 5000);
        self::assertSame(5000 + 2 * self::HEARTBEAT_MS, $pulse->lostAtMs());
        self::assertLessThanOrEqual(5000, $pulse->pingAtMs(null));
    }
}

<?php

declare(strict_types=1);

namespace Adjourn\Tests;

use Adjourn\Client;

final class ClientTest extends QueueContract
{
    private static TestServer $server;

    public static function setUpBeforeClass(): void
    {
        self::$server = TestServer::start();
    }

    public static function tearDownAfterClass(): void
    {
        self::$server->kill();
    }

    protected function setUp(): void
    {
        $this->queue = new Client(self::$server->address());
        $this->topic = 't' . bin2hex(random_bytes(4));
    }

    protected function passes(int $ms): void
    {
        usleep($ms * 1000);
    }
}

<?php

declare(strict_types=1);

namespace Adjourn\Tests;

use Adjourn\Testing\FakeQueue;

final class FakeQueueTest extends QueueContract
{
    protected function setUp(): void
    {
        $this->queue = new FakeQueue();
        $this->topic = 't';
    }

    protected function passes(int $ms): void
    {
        $this->queue->clock->advance($ms);
    }
}

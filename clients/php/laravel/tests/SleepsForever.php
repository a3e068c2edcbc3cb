<?php

declare(strict_types=1);

namespace Adjourn\Laravel\Tests;

class SleepsForever
{
    public function fire(object $job, mixed $data): void
    {
        while (true) {
            usleep(10_000);
        }
    }
}

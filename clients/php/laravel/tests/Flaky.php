<?php

declare(strict_types=1);

namespace Adjourn\Laravel\Tests;

/** A job that fails until what it needs is there again. */
class Flaky extends Recorder
{
    public static bool $isDown = true;

    public function handle(): void
    {
        parent::handle();
        if (self::$isDown) {
            throw new \RuntimeException("$this->name fails");
        }
    }
}

<?php

declare(strict_types=1);

namespace Adjourn\Laravel\Tests;

use Illuminate\Contracts\Queue\ShouldBeUnique;

class UniqueRecorder extends Recorder implements ShouldBeUnique
{
    public static ?\Closure $whileHandled = null;

    public function handle(): void
    {
        parent::handle();
        self::$whileHandled === null || (self::$whileHandled)();
    }

    public function uniqueId(): string
    {
        return $this->name;
    }
}

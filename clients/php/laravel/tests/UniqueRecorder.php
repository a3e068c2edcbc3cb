<?php

declare(strict_types=1);

namespace Adjourn\Laravel\Tests;

use Illuminate\Contracts\Queue\ShouldBeUnique;

class UniqueRecorder extends Recorder implements ShouldBeUnique
{
    public function uniqueId(): string
    {
        return $this->name;
    }
}

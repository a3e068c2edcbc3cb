<?php

declare(strict_types=1);

namespace Adjourn\Laravel\Tests;

/** A job that belongs to a group. */
final class GroupedRecorder extends Recorder
{
    /** What `onGroup` of Laravel 12 sets. */
    public $messageGroup;

    public function messageGroup(): string
    {
        return 'bob';
    }
}

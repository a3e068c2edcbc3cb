<?php

declare(strict_types=1);

namespace Adjourn\Messenger\Tests;

final class Note
{
    public function __construct(public string $text)
    {
    }
}
